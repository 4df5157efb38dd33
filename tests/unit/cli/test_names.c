/* Shortening of names and places; cleaning, measuring and padding of text; the nearest name. */
#include "base/names.h"
#include "base/text.h"
#include "check.h"
#include "cli/nearest.h"

#include <locale.h>

static void check_name(const char *name, size_t columns, const char *wanted)
{
	struct hs_text text = {0};
	hs_name_short(&text, name, columns, false);
	CHECK_TEXT(text.bytes, wanted);
	CHECK(hs_text_columns(text.bytes) <= columns);
	hs_text_free(&text);
}

static void test_names(void)
{
	check_name("main", 20, "main");
	/* template arguments, parameters, qualifiers, return types */
	check_name("std::vector<int, std::allocator<int> >::push_back(int const&)", 80,
		   "std::vector<...>::push_back");
	check_name("void f<int>(int)", 80, "f<...>");
	check_name("std::map<int, int> const& Table::rows<char>() const", 80, "Table::rows<...>");
	check_name("Table::find(char const*) const [clone .isra.0]", 80, "Table::find");
	check_name("char* copy(char const*)", 80, "copy");
	check_name("(anonymous namespace)::helper(int)", 80, "(anonymous namespace)::helper");
	check_name("f(int)::{lambda(int, int)#1}::operator()(int, int) const", 80,
		   "f::{lambda(int, int)#1}::operator()");
	check_name("f(int)::Local::g(int)", 80, "f::Local::g");
	/* operators */
	check_name("operator new(unsigned long)", 80, "operator new");
	check_name("operator delete[](void*)", 80, "operator delete[]");
	check_name("bool operator< <int>(A<int> const&)", 80, "operator< <...>");
	check_name("std::ostream& operator<<(std::ostream&, Row<int>)", 80, "operator<<");
	check_name("Row::operator->() const", 80, "Row::operator->");
	check_name("Row::operator unsigned long() const", 80, "Row::operator unsigned long");
	check_name("Row::operator()(int)", 80, "Row::operator()");
	check_name("my_operator(int)", 80, "my_operator");
	check_name("__GI___strdup", 80, "__strdup"); /* glibc's second name */
	/* Rust */
	check_name("<alloc::vec::Vec<u8> as core::clone::Clone>::clone", 80, "<Vec<...> as Clone>::clone");
	check_name("logparse::parse::<&str>", 80, "logparse::parse<...>");
	check_name("logparse::main::{closure#0}", 80, "logparse::main::{closure#0}");
	check_name("<F as core::ops::FnOnce<(A,)>>::call_once", 80, "<F as FnOnce<...>>::call_once");
	check_name("run::<fn(u8) -> u8>", 80, "run<...>");
	check_name("<&mut a::b::Row as core::fmt::Debug>::fmt", 80, "<&mut Row as Debug>::fmt");
	check_name("<(a::B, c::D) as core::fmt::Debug>::fmt", 80, "<(B, D) as Debug>::fmt");
	check_name("<<a::B as c::D>::E as f::G>::h", 80, "<E as G>::h");
	check_name("core::fmt::<impl core::fmt::Debug for a::B>::fmt", 80,
		   "core::fmt::<impl Debug for B>::fmt");
	check_name("parser::tokens::Lexer::next::{closure#0}", 29, "...::Lexer::next::{closure#0}");
	/* not balanced, empty, hostile */
	check_name("broken<int", 80, "broken<int");
	check_name("", 80, "");
	check_name("a\033[31mb\nc", 80, "a?[31mb?c");
	check_name("(((", 80, "(((");
	/* too wide: outer scopes go first, then the middle of the last */
	check_name("database::storage::Engine::insert_row", 30, "...::Engine::insert_row");
	check_name("database::storage::Engine::insert_row", 36, "...::storage::Engine::insert_row");
	check_name("a_function_with_quite_a_long_name", 20, "a_functio...ong_name");
	check_name("scope::a_function_with_quite_a_long_name", 20, "...::a_func...g_name");
	check_name("abcdef", 5, "a...f");
	check_name("abcdef", 2, "..");
	struct hs_text text = {0};
	hs_name_short(&text, "f<int>::abcdefghij", 9, true);
	CHECK_TEXT(text.bytes, "abcd…ghij");
	hs_text_free(&text);
}

/* A megabyte of brackets or scopes is as much work as any other megabyte. */
static void test_long_names(void)
{
	static const char *const pieces[] = {"<", "(", "a<b>::", "a::", "operator<", "{(<[", "x", "\xc3\xa9"};
	for (unsigned i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct hs_text name = {0}, text = {0};
		hs_text_repeat(&name, pieces[i], (1 << 20) / strlen(pieces[i]));
		hs_name_short(&text, name.bytes, 30, true);
		CHECK(text.count && hs_text_columns(text.bytes) <= 30);
		hs_text_free(&text);
		hs_place_short(&text, name.bytes, 7, "/", 30, true);
		CHECK(hs_text_columns(text.bytes) <= 30);
		hs_text_free(&text);
		hs_text_free(&name);
	}
}

static void check_place(const char *path, uint32_t line, const char *directory, size_t columns,
			const char *wanted)
{
	struct hs_text text = {0};
	hs_place_short(&text, path, line, directory, columns, false);
	CHECK_TEXT(text.bytes, wanted);
	hs_text_free(&text);
}

static void test_places(void)
{
	check_place("/home/me/server/src/table.c", 118, "/home/me/server", 40, "src/table.c:118");
	check_place("/home/me/server/src/table.c", 118, "/home/me/server", 12, "table.c:118");
	check_place("/home/me/server/build/../src/./table.c", 118, "/home/me/server", 40, "src/table.c:118");
	check_place("/home/me/servers/table.c", 1, "/home/me/server", 40, "servers/table.c:1");
	check_place("/usr/include/c++/12/bits/vector.tcc", 1234, "/home/me", 40, "bits/vector.tcc:1234");
	check_place("/usr/include/c++/12/bits/vector.tcc", 1234, NULL, 16, "vector.tcc:1234");
	check_place("table.c", 7, "/home/me", 40, "table.c:7");
	check_place("../table.c", 7, "/home/me", 40, "../table.c:7");
	check_place("/table.c", 0, "/", 40, "table.c");
	/* the line is never cut */
	check_place("/a/a_very_long_file_name.c", 123456, NULL, 16, "a_v...e.c:123456");
	check_place("", 3, NULL, 16, ":3");
	check_place("/", 0, NULL, 16, "");
}

static void test_text(void)
{
	struct hs_text text = {0};
	CHECK(hs_text_columns("abc") == 3);
	CHECK(hs_text_columns(HS_BOLD "abc" HS_PLAIN) == 3);
	CHECK(hs_text_columns("h\xc3\xa9") == 2);
	CHECK(hs_text_columns("\xe4\xb8\xad") == 2); /* a wide character */
	hs_text_clean(&text, "ok h\xc3\xa9 \xff \xc3 \xc0\x80 \xed\xa0\x80 \xc2\x9b \xe2\x80\xae\x7f\t");
	CHECK_TEXT(text.bytes, "ok h\xc3\xa9 ? ? ?? ??? ? ???");
	hs_text_free(&text);

	hs_text_right(&text, "h\xc3\xa9", 4);
	hs_text_left(&text, HS_DIM "x" HS_PLAIN, 3);
	hs_text_add(&text, "|");
	hs_text_strip_colour(&text);
	CHECK_TEXT(text.bytes, "  h\xc3\xa9x  |");
	hs_text_free(&text);

	hs_text_addf(&text, "%s %d", "many", 5);
	hs_text_repeat(&text, "-", 300);
	CHECK(text.count == 306 && strlen(text.bytes) == 306);
	hs_text_free(&text);
}

static const char *nearest(const char *typed)
{
	static const char *const names[] = {"run", "print", "export", "help", NULL};
	struct hs_nearest nearest = {0};
	for (unsigned i = 0; names[i]; i++)
		hs_nearest_offer(&nearest, typed, names[i]);
	return nearest.name;
}

static void test_nearest(void)
{
	CHECK(hs_edit_distance("kitten", "sitting") == 3);
	CHECK(hs_edit_distance("pirnt", "print") == 1); /* neighbours swapped */
	CHECK(hs_edit_distance("", "abc") == 3);
	CHECK_TEXT(nearest("pirnt"), "print");
	CHECK_TEXT(nearest("prin"), "print");
	CHECK_TEXT(nearest("exprot"), "export");
	CHECK_TEXT(nearest("ex"), "export");
	CHECK_TEXT(nearest("rnu"), "run");
	CHECK(nearest("frobnicate") == NULL);
	CHECK(nearest("x") == NULL);
}

int main(void)
{
	CHECK(setlocale(LC_CTYPE, "C.UTF-8"));
	test_names();
	test_long_names();
	test_places();
	test_text();
	test_nearest();
	return 0;
}
