/* Which functions are internal: names as the demangler gives them for real programs (g++ 12, clang with
 * libc++, rustc). */
#include "check.h"
#include "profile/fold.h"

static const char *const internal[] = {
	/* C */
	"malloc",
	"calloc",
	"posix_memalign",
	"reallocarray",
	"__libc_malloc",
	"xmalloc",
	"xrealloc.part.0",
	"xstrdup",
	"g_malloc0_n",
	"g_strdup",
	"g_slice_alloc0",
	/* C++: operator new */
	"operator new(unsigned long)",
	"operator new[](unsigned long)",
	"operator new(unsigned long, std::align_val_t)",
	"operator new(unsigned long, std::nothrow_t const&)",
	"operator new[](unsigned long, std::align_val_t, std::nothrow_t const&)",
	"_Znwm",
	"__cxa_allocate_exception",
	/* libstdc++ */
	"std::__new_allocator<char>::allocate(unsigned long, void const*)",
	"__gnu_cxx::new_allocator<std::_Rb_tree_node<std::pair<int const, int> > >::allocate(unsigned long, "
	"void const*)",
	"void std::vector<int, std::allocator<int> >::_M_realloc_insert<int "
	"const&>(__gnu_cxx::__normal_iterator<int*, "
	"std::vector<int, std::allocator<int> > >, int const&)",
	"std::vector<app::Widget, std::allocator<app::Widget> >::push_back(app::Widget const&)",
	"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_create(unsigned "
	"long&, unsigned "
	"long)",
	"std::__cxx11::to_string(int)",
	"std::__allocated_ptr<std::allocator<std::_Sp_counted_ptr_inplace<app::S, std::allocator<void>, "
	"(__gnu_cxx::_Lock_policy)2> > > "
	"std::__allocate_guarded<std::allocator<std::_Sp_counted_ptr_inplace<app::S, "
	"std::allocator<void>, (__gnu_cxx::_Lock_policy)2> > "
	">(std::allocator<std::_Sp_counted_ptr_inplace<app::S, "
	"std::allocator<void>, (__gnu_cxx::_Lock_policy)2> >&)",
	"std::_Function_handler<std::__cxx11::basic_string<char, std::char_traits<char>, "
	"std::allocator<char> > (int), "
	"main::{lambda(int)#1}>::_M_invoke(std::_Any_data const&, int&&)",
	"void std::__invoke_impl<void, main::{lambda()#2}&>(std::__invoke_other, main::{lambda()#2}&)",
	"main::{lambda()#2}&& "
	"std::forward<main::{lambda()#2}>(std::remove_reference<main::{lambda()#2}>::type&)",
	"__gnu_cxx::__normal_iterator<unsigned long*, std::vector<unsigned long, std::allocator<unsigned "
	"long> > "
	">::difference_type __gnu_cxx::operator-<unsigned long*, std::vector<unsigned long, "
	"std::allocator<unsigned long> > "
	">(__gnu_cxx::__normal_iterator<unsigned long*, std::vector<unsigned long> > const&)",
	"bool std::operator< <char, std::char_traits<char>, std::allocator<char> "
	">(std::__cxx11::basic_string<char> const&, "
	"std::__cxx11::basic_string<char> const&)",
	"std::basic_ostream<char, std::char_traits<char> >& std::operator<< <std::char_traits<char> "
	">(std::basic_ostream<char, "
	"std::char_traits<char> >&, char const*)",
	"decltype ((std::declval<int>)()) std::__something<int>(int)",
	"virtual thunk to std::__cxx11::basic_ostringstream<char, std::char_traits<char>, "
	"std::allocator<char> "
	">::~basic_ostringstream()",
	"__cxxabiv1::(anonymous namespace)::pool::allocate(unsigned long)",
	"std::__detail::_Compiler<std::__cxx11::regex_traits<char> >::_M_expression_term<true, "
	"false>(std::pair<bool, char>&) "
	"[clone .isra.0]",
	/* libc++ */
	"std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char> >::__init(char "
	"const*, unsigned "
	"long)",
	"void std::__1::vector<int, std::__1::allocator<int> >::__push_back_slow_path<int>(int&&)",
	"void* std::__1::__libcpp_operator_new[abi:v15000]<unsigned long>(unsigned long)",
	"std::__1::__function::__func<main::$_0, std::__1::allocator<main::$_0>, void ()>::operator()()",
	/* Rust, v0 (with and without the crate's hash) and legacy */
	"__rust_alloc",
	"__rdl_alloc_zeroed",
	"__rg_realloc",
	"__rustc::__rust_alloc",
	"__rustc[b7974e8690430dd9]::__rdl_alloc",
	"alloc::alloc::alloc",
	"alloc::alloc::exchange_malloc",
	"alloc::raw_vec::finish_grow::<alloc::alloc::Global>",
	"alloc::raw_vec::RawVec<T,A>::grow_one",
	"alloc[fdfd2bd8633a6659]::raw_vec::finish_grow",
	"<alloc::raw_vec::RawVecInner>::try_allocate_in",
	"<alloc[fdfd2bd8633a6659]::raw_vec::RawVec<(std[e28293b1aa0f68bd]::ffi::os_str::OsString, "
	"std[e28293b1aa0f68bd]::ffi::os_str::OsString)>>::grow_one",
	"<alloc::vec::Vec<u64> as "
	"core::iter::traits::collect::FromIterator<u64>>::from_iter::<core::iter::adapters::map::Map<"
	"core::ops::range::Range<u64>, main::{closure#0}>>",
	"<alloc::vec::Vec<T> as alloc::vec::spec_from_iter::SpecFromIter<T,I>>::from_iter",
	"<T as alloc::vec::spec_from_elem::SpecFromElem>::from_elem",
	"<str as alloc::string::ToString>::to_string",
	"<str as alloc::string::SpecToString>::spec_to_string",
	"<u64 as <[_]>::to_vec_in::ConvertVec>::to_vec::<alloc::alloc::Global>",
	"<core::panic::unwind_safe::AssertUnwindSafe<std::thread::lifecycle::spawn_unchecked<r::main::{"
	"closure#1}, "
	"usize>::{closure#1}::{closure#0}> as core::ops::function::FnOnce<()>>::call_once",
	"__rust_try",
	"<[u8] as alloc::slice::<impl [T]>::to_vec_in::ConvertVec>::to_vec",
	"<[app::Item]>::to_vec",
	"alloc::slice::<impl [T]>::to_vec",
	"<&str as core::convert::Into<alloc::string::String>>::into",
	"<&alloc::alloc::Global as core::alloc::Allocator>::allocate",
	"<<alloc::vec::into_iter::IntoIter<_, _> as core::ops::drop::Drop>::drop::DropGuard<u64, "
	"alloc::alloc::Global> as "
	"core::ops::drop::Drop>::drop",
	"core::iter::traits::iterator::Iterator::collect",
	"core::ops::function::FnOnce::call_once::<fn(u32) -> alloc::string::String, (u32,)>",
	"<alloc::boxed::Box<dyn core::ops::function::FnOnce<()>> as "
	"core::ops::function::FnOnce<()>>::call_once",
	"<&'a mut alloc::vec::Vec<u8> as std::io::Write>::write_all",
	"std::thread::Builder::spawn_unchecked_",
	"<std::collections::hash::map::HashMap<alloc::string::String, app::Entry>>::insert",
	"<hashbrown::raw::RawTable<(alloc::string::String, u32)>>::reserve_rehash::<app::hasher>",
	"hashbrown::raw::RawTable<T,A>::reserve_rehash",
};

static const char *const users[] = {
	"",
	"main",
	"xmalloc_statistics",
	"strdup", /* says what happens; libc's */
	"getline",
	"my_malloc",
	"mallocator::run()",
	/* C++ whose arguments, result or enclosing function speak of std */
	"parse(std::vector<int, std::allocator<int> > const&)",
	"std::vector<int, std::allocator<int> > app::make<int>(std::function<int (int)>)",
	"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > "
	"app::join<std::vector<int> "
	">(std::vector<int> const&)",
	"app::(anonymous namespace)::Hidden::fill(std::vector<int, std::allocator<int> > const&)",
	"(anonymous namespace)::helper(std::string const&)",
	"main::{lambda(int)#1}::operator()(int) const",
	"main::$_0::operator()() const",
	"app::S::operator new(unsigned long)",
	"app::S::operator std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >() "
	"const",
	"app::S::operator()[abi:cxx11](int)",
	"app::operator<<(std::basic_ostream<char, std::char_traits<char> >&, app::S const&)",
	"bool app::operator==<std::__cxx11::basic_string<char> "
	">(std::vector<std::__cxx11::basic_string<char> > const&, app::S "
	"const&)",
	"decltype ({parm#1}+{parm#1}) app::deduce<double>(double)",
	"std::ostream& operator<< <int>(std::ostream&, app::Box<int> const&)",
	"unsigned long std_like::count<std::string>(std::string const&)",
	"stdx::vector<int>::grow()",
	"non-virtual thunk to app::Stream::write(std::string const&)",
	/* C++ namespaces that are called like Rust's crates */
	"core::Engine::load(char const*)",
	"alloc::Pool::take(unsigned long)",
	"void core::visit<alloc::Pool>(alloc::Pool&)",
	/* Rust: whoever wrote the implementation */
	"main::main",
	"app::keep::<app::Config>",
	"app[4dd80272b5a2d1fc]::main::{closure#0}",
	"<app::Config as core::clone::Clone>::clone",
	"<app[4dd80272b5a2d1fc]::Config as core[c1f1a4ba060b9bfa]::fmt::Display>::fmt",
	"<&app::Config as core::iter::traits::collect::IntoIterator>::into_iter",
	"<&'a app::Config as core::iter::traits::collect::IntoIterator>::into_iter",
	"<alloc::vec::Vec<u8> as app::Encode>::encode",
	"<[u32] as app::Encode>::encode::{closure#0}",
	"<app::Table<alloc::string::String>>::insert",
	"<dyn app::Shape>::area",
	"<T as app::Encode>::encode",
	"<u64 as <app::Table>::convert::Convert>::run",
	"core_utils::run",
	"stdx::fs::read",
	"<app::main::{closure#0} as core::ops::function::FnOnce<()>>::call_once::{shim:vtable#0}",
};

/* Every rule fires for its own example, and only with its own group. */
static void test_table(void)
{
	unsigned seen = 0;
	for (const struct hs_fold_rule *rule = hs_fold_rules; rule->group; rule++) {
		seen |= rule->group;
		if (!hs_fold_is_internal(rule->example, rule->group)) {
			fprintf(stderr, "the rule \"%s\" does not fire for \"%s\"\n", rule->text,
				rule->example);
			failures++;
		}
	}
	CHECK_NUMBER(seen, HS_FOLD_ALL);
	for (const struct hs_fold_group *group = hs_fold_groups; group->group; group++)
		seen &= ~group->group;
	CHECK_NUMBER(seen, 0);
	CHECK(!hs_fold_is_internal("malloc", HS_FOLD_CXX | HS_FOLD_RUST));
	CHECK(!hs_fold_is_internal("operator new(unsigned long)", HS_FOLD_C | HS_FOLD_RUST));
	CHECK(!hs_fold_is_internal("alloc::alloc::alloc", HS_FOLD_C | HS_FOLD_CXX));
	CHECK(!hs_fold_is_internal("<[app::Item]>::to_vec", HS_FOLD_C | HS_FOLD_CXX));
}

/* Names that no demangler writes must not lead beyond their end. */
static void test_nonsense(void)
{
	static const char *const names[] = {
		"<",         "<<<<",      "<&",      "<'",        "<'a",      "<dyn ",     "operator",
		"operator ", "operator<", "(",       "()",        "a(",       "a<b",       "{[(<",
		">>)",       "<a as ",    "<a as b", "thunk to ", "decltype", "decltype(", "decltype ",
		"alloc[",    "<alloc[",   "std::",   "->",        "<->",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t bytes;
		hs_fold_is_internal(names[i], HS_FOLD_ALL);
		hs_fold_crate(names[i], &bytes);
	}
}

/* Polls of executors and adaptors, and the user's own futures between them. */
static void test_loops(void)
{
	static const char *const loops[] = {
		"tokio::runtime::task::core::Core<T,S>::poll",
		"<futures_util::future::future::map::Map<F> as core::future::future::Future>::poll",
		"<tracing::instrument::Instrumented<T> as core::future::future::Future>::poll",
		"boost::asio::io_context::run()",
		"rayon_core::registry::WorkerThread::wait_until_cold",
	};
	static const char *const own[] = {
		"<app::Connection as core::future::future::Future>::poll",
		"<app::Codec as tokio::io::AsyncRead>::poll_read",
		"app::serve::{{closure}}",
		"tokio_postgres::connect::connect",
		"uv_runner",
		"app::asio::run()",
	};
	for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
		CHECK(hs_fold_is_internal(loops[i], HS_FOLD_ALL));
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		CHECK(!hs_fold_is_internal(own[i], HS_FOLD_ALL));
	CHECK(!hs_fold_is_internal("tokio::task::spawn::spawn", HS_FOLD_ALL & ~HS_FOLD_LOOPS));
}

static void test_crates(void)
{
	static const char *const names[][2] = {
		{"logparse::parse_owned", "logparse"},
		{"logparse[1a2b]::parse", "logparse"},
		{"<app::Item as core::clone::Clone>::clone", "app"},
		{"<alloc::vec::Vec<T> as app::Ext>::grow", "app"},
		{"<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop", "alloc"},
		{"<&mut app::Reader as std::io::Read>::read", "app"},
		{"<[u8]>::to_vec", "core"},
		{"<hashbrown::raw::RawTable<T>>::reserve", "hashbrown"},
		{"<u8 as app::Word>::make", "app"},
		{"main", NULL},
		{"malloc", NULL},
		{"ns::Thing::make(int)", NULL},
		{"", NULL},
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t bytes = 0;
		const char *crate = hs_fold_crate(names[i][0], &bytes);
		char text[64] = "(none)";
		if (crate)
			snprintf(text, sizeof text, "%.*s", (int)bytes, crate);
		CHECK_TEXT(text, names[i][1] ? names[i][1] : "(none)");
	}
}

int main(void)
{
	for (size_t i = 0; i < sizeof internal / sizeof *internal; i++) {
		if (!hs_fold_is_internal(internal[i], HS_FOLD_ALL)) {
			fprintf(stderr, "taken for the user's code: %s\n", internal[i]);
			failures++;
		}
	}
	for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
		if (hs_fold_is_internal(users[i], HS_FOLD_ALL)) {
			fprintf(stderr, "taken for internal: %s\n", users[i]);
			failures++;
		}
	}
	test_table();
	test_nonsense();
	test_loops();
	test_crates();
	return check_failures();
}
