/* Tells plumbing from code that somebody wrote for the program, by the function's demangled name: the name of
 * the function itself, not what stands in its return type, template arguments or parameters. */
#include "fold.h"

#include "base/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const struct hs_fold_group hs_fold_groups[] = {
	{HS_FOLD_C, "c",
	 "malloc and its kin; xmalloc, g_malloc and other wrappers that end the program on failure"},
	{HS_FOLD_CXX, "c++", "operator new; libstdc++ and libc++"},
	{HS_FOLD_RUST, "rust", "alloc, core, std and hashbrown"},
	{HS_FOLD_LOOPS, "loops",
	 "what calls the program's own code back: tokio, futures, rayon, asio, main loops"},
	{0},
};

#define C(how, text, example)                                                                                \
	{                                                                                                    \
		HS_FOLD_C, HS_FOLD_##how, text, example                                                      \
	}
#define CXX(how, text, example)                                                                              \
	{                                                                                                    \
		HS_FOLD_CXX, HS_FOLD_##how, text, example                                                    \
	}
#define LOOPS(how, text, example)                                                                            \
	{                                                                                                    \
		HS_FOLD_LOOPS, HS_FOLD_##how, text, example                                                  \
	}
#define RUST(how, text, example)                                                                             \
	{                                                                                                    \
		HS_FOLD_RUST, HS_FOLD_##how, text, example                                                   \
	}

/* Functions of libc that allocate for their caller (strdup, getline, fopen) are no plumbing: their names say
 * what happens. The line of the user's own code is found beyond them all the same (hs_site.own_frame). */
const struct hs_fold_rule hs_fold_rules[] = {
	C(NAME, "malloc", "malloc"),
	C(NAME, "calloc", "calloc"),
	C(NAME, "realloc", "realloc"),
	C(NAME, "reallocarray", "reallocarray"),
	C(NAME, "memalign", "memalign"),
	C(NAME, "aligned_alloc", "aligned_alloc"),
	C(NAME, "posix_memalign", "posix_memalign"),
	C(NAME, "valloc", "valloc"),
	C(NAME, "pvalloc", "pvalloc"),
	/* of heapscope.h: the pool that reports a block stands outside of them */
	C(NAME, "heapscope_pool_alloc", "heapscope_pool_alloc"),
	C(NAME, "heapscope_pool_realloc", "heapscope_pool_realloc"),
	C(NAME, "__libc_malloc", "__libc_malloc"),
	C(NAME, "__libc_calloc", "__libc_calloc"),
	C(NAME, "__libc_realloc", "__libc_realloc"),
	C(NAME, "__libc_memalign", "__libc_memalign"),
	/* gnulib, git, GNU and BSD programs: the plain call that never returns NULL */
	C(NAME, "xmalloc", "xmalloc"),
	C(NAME, "xzalloc", "xzalloc"),
	C(NAME, "xcalloc", "xcalloc"),
	C(NAME, "xrealloc", "xrealloc"),
	C(NAME, "xreallocarray", "xreallocarray"),
	C(NAME, "xnmalloc", "xnmalloc"),
	C(NAME, "xnrealloc", "xnrealloc"),
	C(NAME, "x2realloc", "x2realloc"),
	C(NAME, "x2nrealloc", "x2nrealloc"),
	C(NAME, "xpalloc", "xpalloc"),
	C(NAME, "ximalloc", "ximalloc"),
	C(NAME, "xirealloc", "xirealloc"),
	C(NAME, "xcharalloc", "xcharalloc"),
	C(NAME, "xmallocz", "xmallocz"),
	C(NAME, "xmemdup", "xmemdup"),
	C(NAME, "xmemdupz", "xmemdupz"),
	C(NAME, "xstrdup", "xstrdup"),
	C(NAME, "xstrndup", "xstrndup"),
	C(NAME, "do_xmalloc", "do_xmalloc"),
	C(NAME, "emalloc", "emalloc"),
	C(NAME, "ecalloc", "ecalloc"),
	C(NAME, "erealloc", "erealloc"),
	C(NAME, "safe_malloc", "safe_malloc"),
	C(NAME, "safe_calloc", "safe_calloc"),
	C(NAME, "safe_realloc", "safe_realloc"),
	/* GLib */
	C(START, "g_malloc", "g_malloc0_n"),
	C(START, "g_realloc", "g_realloc_n"),
	C(START, "g_try_malloc", "g_try_malloc0"),
	C(START, "g_try_realloc", "g_try_realloc"),
	C(START, "g_aligned_alloc", "g_aligned_alloc0"),
	C(START, "g_slice_alloc", "g_slice_alloc0"),
	C(NAME, "g_slice_copy", "g_slice_copy"),
	C(NAME, "g_strdup", "g_strdup"),
	C(NAME, "g_strndup", "g_strndup"),
	C(START, "g_memdup", "g_memdup2"),

	CXX(NAME, "operator new", "operator new(unsigned long, std::align_val_t)"),
	CXX(NAME, "operator new[]", "operator new[](unsigned long, std::nothrow_t const&)"),
	CXX(START, "_Znw", "_Znwm"), /* not demangled */
	CXX(START, "_Zna", "_ZnamSt11align_val_t"),
	CXX(NAME, "__cxa_allocate_exception", "__cxa_allocate_exception"),
	CXX(NAME, "__cxa_allocate_dependent_exception", "__cxa_allocate_dependent_exception"),
	/* std covers libc++'s inline namespaces too: std::__1, std::__ndk1 */
	CXX(NAMESPACE, "std", "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int>(int&&)"),
	CXX(NAMESPACE, "__gnu_cxx", "__gnu_cxx::new_allocator<char>::allocate(unsigned long, void const*)"),
	CXX(NAMESPACE, "__gnu_debug", "__gnu_debug::_Safe_sequence_base::_M_attach(void*)"),
	CXX(NAMESPACE, "__cxxabiv1", "__cxxabiv1::(anonymous namespace)::pool::allocate(unsigned long)"),

	RUST(CRATE, "alloc", "<alloc::raw_vec::RawVecInner>::finish_grow"),
	RUST(CRATE, "core", "core::iter::traits::iterator::Iterator::collect"),
	RUST(CRATE, "std", "<std::io::BufReader<std::fs::File>>::new"),
	RUST(CRATE, "hashbrown", "hashbrown::raw::RawTable<T,A>::reserve_rehash"),
	RUST(CRATE, "__rustc", "__rustc::__rust_alloc"),
	RUST(START, "__rust_alloc", "__rust_alloc_zeroed"),
	RUST(START, "__rust_realloc", "__rust_realloc"),
	RUST(NAME, "__rust_try", "__rust_try"), /* catch_unwind */
	RUST(START, "__rg_", "__rg_alloc"),
	RUST(START, "__rdl_", "__rdl_realloc"),

	LOOPS(CRATE, "tokio", "tokio::runtime::scheduler::multi_thread::worker::Context::run_task"),
	LOOPS(CRATE, "futures", "futures::stream::unfold::unfold"),
	LOOPS(CRATE, "futures_core", "futures_core::stream::Stream::size_hint"),
	LOOPS(CRATE, "futures_util", "futures_util::future::future::FutureExt::poll_unpin"),
	LOOPS(CRATE, "futures_executor", "futures_executor::local_pool::run_executor"),
	LOOPS(CRATE, "async_std", "async_std::task::builder::Builder::blocking"),
	LOOPS(CRATE, "async_task", "async_task::raw::RawTask<F,T,S,M>::run"),
	LOOPS(CRATE, "async_executor", "async_executor::Executor::run"),
	LOOPS(CRATE, "async_global_executor", "async_global_executor::executor::block_on"),
	LOOPS(CRATE, "async_io", "async_io::driver::block_on"),
	LOOPS(CRATE, "smol", "smol::spawn::spawn"),
	LOOPS(CRATE, "actix_rt", "actix_rt::system::SystemRunner::block_on"),
	LOOPS(CRATE, "rayon", "rayon::iter::plumbing::bridge_producer_consumer::helper"),
	LOOPS(CRATE, "rayon_core", "rayon_core::join::join_context"),
	LOOPS(CRATE, "tracing", "<tracing::instrument::Instrumented<T>>::inner_mut"),
	LOOPS(NAMESPACE, "boost::asio", "boost::asio::detail::scheduler::run(boost::system::error_code&)"),
	LOOPS(NAMESPACE, "asio", "asio::io_context::run()"),
	LOOPS(NAME, "uv_run", "uv_run"),
	LOOPS(START, "uv__", "uv__io_poll"),
	LOOPS(START, "g_main_", "g_main_context_dispatch"),
	LOOPS(NAME, "event_base_loop", "event_base_loop"),
	{0},
};

/* ---- names ----------------------------------------------------------------------------------------------
 */

struct name {
	const char *start; /* of the qualified name */
	size_t bytes;      /* up to the argument list, or the end */
	bool arguments;    /* C++ functions have an argument list, C and Rust functions none */
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || (unsigned char)c >= 0x80;
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static inline bool opens(char c)
{
	return c == '(' || c == '[' || c == '{' || c == '<';
}

static inline bool closes(char c)
{
	return c == ')' || c == ']' || c == '}' || c == '>';
}

/* Behind the bracket that closes the one at `at`; the end of the text if there is none. */
static const char *skip_bracket(const char *at)
{
	int depth = 0;
	for (; *at; at++) {
		if ((*at == '-' || *at == '=') && at[1] == '>')
			at++; /* no bracket: Rust's `fn(A) -> B` */
		else if (opens(*at))
			depth++;
		else if (closes(*at) && --depth == 0)
			return at + 1;
	}
	return at;
}

/* Behind the symbol of an `operator` at `at`: operator<<, operator(), operator new[], operator bool. */
static const char *skip_operator(const char *at)
{
	static const char *const symbols[] = {"()", "[]", "<<=", "<=>", "<<", "<=", "<", "\"\" ", "\"\""};
	at += strlen("operator");
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (starts(at, symbols[i]))
			return at + strlen(symbols[i]);
	if (*at != ' ')
		return at + strspn(at, "+-*/%^&|~!=>,");
	while (*at && *at != '(') /* new, delete, a type; what it holds in brackets is part of it */
		at = *at == '<' ? skip_bracket(at) : at + 1;
	return at;
}

/* Finds the function's own qualified name: in `R name<T>(A) const` the part before the argument list, without
 * what R says. Blanks within brackets do not count. */
static struct name find_name(const char *function)
{
	static const char *const anonymous = "(anonymous namespace)";
	const char *thunk = strstr(function, "thunk to ");
	const char *at = thunk ? thunk + strlen("thunk to ") : function;
	struct name name = {.start = at};
	while (*at) {
		bool fresh = (*at == 'o' || *at == 'd') && (at == name.start || !is_word(at[-1]));
		if (fresh && *at == 'o' && starts(at, "operator") && !is_word(at[8])) {
			at = skip_operator(at);
		} else if (*at == '(' && starts(at, anonymous)) {
			at += strlen(anonymous);
		} else if (fresh && *at == 'd' && starts(at, "decltype") && strchr("( ", at[8])) {
			at = skip_bracket(at + 8);
		} else if (*at == '(' && at > name.start) {
			name.arguments = true;
			break;
		} else if (opens(*at)) {
			at = skip_bracket(at);
		} else if (*at == ' ' && at[1] == '<') {
			at++; /* operator<< <T>: still the name */
		} else if (*at == ' ' && at[1] == '[') {
			break; /* name [clone .cold] */
		} else if (*at == ' ') {
			name.start = ++at;
		} else {
			at++;
		}
	}
	name.bytes = (size_t)(at - name.start);
	return name;
}

/* Without the template arguments at its end: `operator new`, `xmalloc`. */
static bool name_is(const struct name *name, const char *text)
{
	size_t bytes = strlen(text);
	return name->bytes >= bytes && memcmp(name->start, text, bytes) == 0 &&
	       (name->bytes == bytes || name->start[bytes] == '.' || name->start[bytes] == '<');
}

static bool name_starts(const struct name *name, const char *text)
{
	return name->bytes >= strlen(text) && starts(name->start, text);
}

static bool in_namespace(const struct name *name, const char *space)
{
	return name_starts(name, space) && starts(name->start + strlen(space), "::");
}

/* ---- Rust -----------------------------------------------------------------------------------------------
 */

/* Paths in brackets name a type, `<Type>::function`, or an implementation, `<Type as Trait>::function`. */
enum origin {
	ORIGIN_CRATE,   /* of the crate in question */
	ORIGIN_NOBODY,  /* a primitive type, slice, tuple or type parameter */
	ORIGIN_FOREIGN, /* of another crate */
};

static const char *skip_type_marks(const char *at)
{
	static const char *const marks[] = {"&", "*const ", "*mut ", "mut ", "dyn "};
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		if (*at == '\'' && strchr(at, ' '))
			at = strchr(at, ' ') + 1; /* a lifetime */
		if (starts(at, marks[i])) {
			at += strlen(marks[i]);
			i = (size_t)-1;
		}
	}
	return at;
}

/* Whose is the path at `at`? */
static enum origin path_origin(const char *at, const char *crate)
{
	at = skip_type_marks(at);
	while (*at == '<')
		at = skip_type_marks(at + 1);
	const char *end = at;
	while (is_word(*end))
		end++;
	size_t bytes = (size_t)(end - at);
	if (*end == '[')
		end = skip_bracket(end); /* crate[hash] */
	if (bytes == 0 || !starts(end, "::"))
		return ORIGIN_NOBODY;
	return bytes == strlen(crate) && memcmp(at, crate, bytes) == 0 ? ORIGIN_CRATE : ORIGIN_FOREIGN;
}

/* The trait in `<Type as Trait>`, or NULL. `at` is behind the `<`. */
static const char *find_trait(const char *at)
{
	for (int depth = 0; *at; at++) {
		if (starts(at, "->") || starts(at, "=>")) {
			at++;
		} else if (strchr("([{<", *at)) {
			depth++;
		} else if (strchr(")]}>", *at)) {
			if (depth-- == 0)
				return NULL;
		} else if (depth == 0 && starts(at, " as ")) {
			return at + 4;
		}
	}
	return NULL;
}

/* Whether any rule's crate owns the path. */
static enum origin owner(const char *path, unsigned groups)
{
	enum origin result = ORIGIN_NOBODY;
	for (const struct hs_fold_rule *rule = hs_fold_rules; rule->group; rule++) {
		if (rule->how != HS_FOLD_CRATE || !(rule->group & groups))
			continue;
		enum origin origin = path_origin(path, rule->text);
		if (origin == ORIGIN_CRATE)
			return origin;
		if (origin == ORIGIN_FOREIGN)
			result = origin;
	}
	return result;
}

/* An implementation belongs to whoever wrote it: with a trait or a type of another crate in it, that one.
 * Only the standard library may implement its traits for primitive types. */
static bool is_rust_internal(const char *function, unsigned groups)
{
	if (!(groups & (HS_FOLD_RUST | HS_FOLD_LOOPS)))
		return false;
	if (*function != '<')
		return owner(function, groups) == ORIGIN_CRATE;
	enum origin type = owner(function + 1, groups);
	const char *trait = find_trait(function + 1);
	if (trait) {
		enum origin origin = owner(trait, groups);
		/* a trait within an implementation for a primitive type: `<u8 as
		 * <[_]>::to_vec_in::ConvertVec>` */
		bool primitive = origin == ORIGIN_NOBODY && *trait == '<';
		return (origin == ORIGIN_CRATE || primitive) && type != ORIGIN_FOREIGN;
	}
	return type != ORIGIN_FOREIGN;
}

/* The crate of the path at `at`, or NULL. */
static const char *path_crate(const char *at, size_t *bytes)
{
	at = skip_type_marks(at);
	while (*at == '<')
		at = skip_type_marks(at + 1);
	const char *end = at;
	while (is_word(*end))
		end++;
	*bytes = (size_t)(end - at);
	if (*end == '[')
		end = skip_bracket(end);
	return *bytes && starts(end, "::") ? at : NULL;
}

static bool is_standard_crate(const char *crate, size_t bytes)
{
	static const char *const standard[] = {"core", "alloc", "std"};
	for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
		if (bytes == strlen(standard[i]) && memcmp(crate, standard[i], bytes) == 0)
			return true;
	return false;
}

const char *hs_fold_crate(const char *function, size_t *bytes)
{
	if (find_name(function).arguments)
		return NULL;
	if (*function != '<')
		return path_crate(function, bytes);
	const char *crate = path_crate(function + 1, bytes), *trait = find_trait(function + 1);
	size_t trait_bytes = 0;
	const char *trait_crate = trait ? path_crate(trait, &trait_bytes) : NULL;
	if (trait_crate &&
	    (!crate || (is_standard_crate(crate, *bytes) && !is_standard_crate(trait_crate, trait_bytes)))) {
		*bytes = trait_bytes;
		return trait_crate;
	}
	if (!crate)
		*bytes = strlen("core"); /* of a primitive type: <[u8]>::to_vec */
	return crate ? crate : "core";
}

/* ---- all ------------------------------------------------------------------------------------------------
 */

static bool is_internal(const char *function, const struct name *name, unsigned groups)
{
	for (const struct hs_fold_rule *rule = hs_fold_rules; rule->group; rule++) {
		if (!(rule->group & groups) || *rule->text != *name->start)
			continue;
		if (rule->how == HS_FOLD_NAME && name_is(name, rule->text))
			return true;
		if (rule->how == HS_FOLD_START && name_starts(name, rule->text))
			return true;
		if (rule->how == HS_FOLD_NAMESPACE && in_namespace(name, rule->text))
			return true;
	}
	/* A C++ namespace may be called core or alloc: Rust names have no argument list. */
	return !name->arguments && is_rust_internal(function, groups);
}

bool hs_fold_is_internal(const char *function, unsigned groups)
{
	struct name name = find_name(function);
	return is_internal(function, &name, groups);
}

void hs_fold_mark(struct hs_profile *profile, unsigned groups)
{
	enum { KNOWN = 1, INTERNAL = 2, RUST = 4 };
	uint8_t *known = hs_allocate_zero(profile->strings.count, sizeof *known);
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		struct hs_frame *frame = &profile->frames[i];
		uint8_t *answer = &known[frame->function];
		if (!*answer) {
			const char *function = profile->strings.items[frame->function];
			struct name name = find_name(function);
			*answer = (uint8_t)(KNOWN + INTERNAL * is_internal(function, &name, groups) +
					    RUST * is_internal(function, &name, HS_FOLD_RUST));
		}
		frame->internal = *answer & INTERNAL;
		frame->rust = *answer & RUST;
	}
	free(known);
}
