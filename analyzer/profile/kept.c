/* What libc, the loader and the runtimes of C++ and Rust keep until the end on purpose, as recordings on
 * Debian 12 show it. Functions of libc that are not exported have names only where its debug symbols are
 * installed, so the functions that a program calls are listed too, unless they return memory to it. */
#include "suppressions.h"

const char *const hs_kept_by_names[HS_KEPT_BY_COUNT] = {
	[HS_KEPT_BY_ANY] = "any code",        [HS_KEPT_BY_LIBC] = "libc",
	[HS_KEPT_BY_LOADER] = "the loader",   [HS_KEPT_BY_LIBSTDCXX] = "libstdc++",
	[HS_KEPT_BY_RUST_STD] = "Rust's std",
};

#define ANY HS_KEPT_BY_ANY
#define LIBC HS_KEPT_BY_LIBC
#define LOADER HS_KEPT_BY_LOADER
#define LIBSTDCXX HS_KEPT_BY_LIBSTDCXX
#define RUST_STD HS_KEPT_BY_RUST_STD

const struct hs_kept hs_kept[] = {
	{LOADER, NULL, ANY, "the loader's records of libraries and of threads' TLS"},

	{LIBC, "^_IO_*doallocate$", ANY, "stdio's buffers"},
	{LIBC, "^setlocale$", ANY, "the locale that setlocale loaded"},
	{LIBC, "^_nl_", ANY, "locale data and message catalogues"},
	{LIBC, "gettext", ANY, "message catalogues"},
	{LIBC, "textdomain", ANY, "message catalogues"},
	{LIBC, "^set_binding_values", ANY, "message catalogues"},
	{LIBC, "^tz", ANY, "the time zone"},
	{LIBC, "^__tz", ANY, "the time zone"},
	{LIBC, "^localtime", ANY, "the time zone"},
	{LIBC, "^gmtime", ANY, "the time zone"},
	{LIBC, "^mktime$", ANY, "the time zone"},
	{LIBC, "^timelocal$", ANY, "the time zone"},
	{LIBC, "ctime", ANY, "the time zone"},
	{LIBC, "strftime", ANY, "the time zone"},
	{LIBC, "^__add_to_environ$", ANY, "the environment"},
	{LIBC, "^setenv$", ANY, "the environment"},
	{LIBC, "^putenv$", ANY, "the environment"},
	{LIBC, "^__new_exitfn$", ANY, "the list of exit handlers"},
	{LIBC, "^__cxa_*atexit$", ANY, "the list of exit handlers"},
	{LIBC, "^on_exit$", ANY, "the list of exit handlers"},
	{LIBC, "^__nss_", ANY, "the name services' configuration"},
	{LIBC, "^nss_", ANY, "the name services' configuration"},
	{LIBC, "^get*by*", ANY, "the static answer of a name service"},
	{LIBC, "^getpw", ANY, "the static answer of a name service"},
	{LIBC, "^getgr", ANY, "the static answer of a name service"},
	{LIBC, "^getsp", ANY, "the static answer of a name service"},
	{LIBC, "^get*ent$", ANY, "the static answer of a name service"},
	{LIBC, "resolv_conf_", ANY, "the resolver's configuration"},
	{LIBC, "^__res_", ANY, "the resolver's configuration"},
	{LIBC, "^ttyname$", ANY, "the static answer of ttyname"},
	{LIBC, "^__gconv_lookup_cache$", ANY, "modules of iconv"},
	{LIBC, "^__gconv_find_", ANY, "modules of iconv"},
	{LIBC, "^__wcsmbs_", ANY, "the locale's character conversion"},
	{LIBC, "^fwide$", ANY, "the locale's character conversion"},
	{LIBC, "^btowc$", ANY, "the locale's character conversion"},
	{LIBC, "^wctob$", ANY, "the locale's character conversion"},
	{LIBC, "mbrtowc$", ANY, "the locale's character conversion"},
	{LIBC, "wcrtomb$", ANY, "the locale's character conversion"},
	{LIBC, "mbs*rtowcs$", ANY, "the locale's character conversion"},
	{LIBC, "wcs*rtombs$", ANY, "the locale's character conversion"},
	{LIBC, "dlerror", ANY, "the last message of dlerror"},
	{LIBC, "^dlsym$", ANY, "the last message of dlerror"},
	{LIBC, "^dlvsym$", ANY, "the last message of dlerror"},
	{LIBC, "^dlopen$", ANY, "the last message of dlerror"},
	{LIBC, "^dlclose$", ANY, "the last message of dlerror"},
	{LIBC, "^strerror", ANY, "the last message of strerror"},
	{LIBC, "^strsignal$", ANY, "the last message of strsignal"},

	{LIBSTDCXX, NULL, LOADER, "the emergency pool for exceptions"},
	{ANY, "^global constructors keyed to eh_alloc.cc$", ANY,
	 "the emergency pool for exceptions, linked statically"},
	{ANY, "std::ios_base::sync_with_stdio(", ANY, "the buffers of cin, cout and cerr"},
	{LIBSTDCXX, "^std::locale::locale(char const", ANY,
	 "the parts of a locale, which the global one keeps"},
	{ANY, "^std::locale::_Impl::", ANY, "the parts of a locale, which the global one keeps"},
	{LIBSTDCXX, "^std::num_put<", ANY, "a locale's cache"},
	{LIBSTDCXX, "^std::num_get<", ANY, "a locale's cache"},

	{RUST_STD, "^std::rt::init", ANY, "the main thread's records of Rust's std"},
	{RUST_STD, "^std::thread::current", ANY, "the main thread's records of Rust's std"},
	{RUST_STD, "^std::io::stdio::std", ANY, "the buffers of Rust's standard streams"},
	{ANY, "std::backtrace_rs::symbolize", ANY, "names that Rust's backtraces looked up"},
	{0},
};
