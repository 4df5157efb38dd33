/* Names of each language, the forms that compilers give to copies of functions, and names made to cost time
 * or memory. */
#include "symbols/names.h"
#include "symbols/symbols.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct expectation {
	const char *symbol;
	const char *readable; /* NULL: not mangled */
};

static const struct expectation names[] = {
	/* C++: what c++filt prints, without the return type of template functions */
	{"_Znwm", "operator new(unsigned long)"},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t",
	 "operator new(unsigned long, std::align_val_t, std::nothrow_t const&)"},
	{"_ZN3app12_GLOBAL__N_16hiddenEv", "app::(anonymous namespace)::hidden()"},
	{"_ZZN3app3runEvENKUliE_clEi", "app::run()::{lambda(int)#1}::operator()(int) const"},
	{"_Z4pickIjET_S0_", "pick<unsigned int>(unsigned int)"},
	{"_ZN5StoreC2Ei", "Store::Store(int)"},
	{"_ZN5StoreD0Ev", "Store::~Store()"},
	{"_ZNSt6vectorIiSaIiEE9push_backERKi",
	 "std::vector<int, std::allocator<int> >::push_back(int const&)"},
	{"_GLOBAL__sub_I__ZN3app3runEi", "global constructors keyed to app::run(int)"},
	{"_GLOBAL__sub_I_server.cc", "global constructors keyed to server.cc"},
	{"_GLOBAL__sub_D__Z1fv", "global destructors keyed to f()"},
	{"_GLOBAL__I__Z1fv", "global constructors keyed to f()"},
	/* copies of functions, versions */
	{"_ZN3foo3barEv.constprop.0", "foo::bar()"},
	{"_ZN3foo3barEv.isra.0.cold", "foo::bar()"},
	{"_ZN3foo3barEv.part.12", "foo::bar()"},
	{"_ZN3foo3barEv.llvm.1234567890", "foo::bar()"},
	{"_ZN3foo3barEv.__uniq.123.llvm.456", "foo::bar()"},
	{"_ZN3foo3barEv@@LIBFOO_1.0", "foo::bar()"},
	/* Rust, legacy: without the hash */
	{"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"},
	{"_ZN4core3fmt5write17h0123456789abcdefE.llvm.99", "core::fmt::write"},
	{"_ZN70_$LT$alloc..vec..Vec$LT$T$C$A$GT$$u20$as$u20$core..ops..drop..Drop$GT$"
	 "4drop17h0123456789abcdefE",
	 "<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop"},
	{"_ZN3app4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", "app::main::{{closure}}"},
	/* Rust, v0: without the crates' hashes */
	{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
	{"_RINvCs1234_7mycrate4keepyEB2_", "mycrate::keep::<u64>"},
	{"_RNCNvCs1234_7mycrate4main0B3_", "mycrate::main::{closure#0}"},
	/* D */
	{"_D4core6memory2GC6mallocFNbmkxC8TypeInfoZPv",
	 "core.memory.GC.malloc(ulong, uint, const(TypeInfo))"},
	{"_D3app4Node5buildMFiZv", "app.Node.build(int)"},
	{"_Dmain", "D main"},
	/* no mangled names */
	{"malloc", NULL},
	{"main.part.0", NULL},
	{"", NULL},
	{"_", NULL},
	{"_Z", NULL},
	{"_R", NULL},
	{"_D", NULL},
	{"_Zebra", NULL},
	{"_Result", NULL},
	/* a binder of 62^9 lifetimes in the path of an impl: hours in libiberty */
	{"_RMIC0DGRCI000CC00C0C0_GLOBIC0DIC0C0RIC0I", NULL},
	{"_RMIC1aDGzzzzzzzzz_EL_Ey", NULL},
	{"_ZN3foo", NULL},
};

static void check(const char *symbol, const char *got, const char *wanted)
{
	if (strcmp(got ? got : "(NULL)", wanted ? wanted : "(NULL)") == 0)
		return;
	fprintf(stderr, "%s: got %s, wanted %s\n", symbol, got ? got : "(NULL)", wanted ? wanted : "(NULL)");
	exit(1);
}

static void test_names(void)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *got = hs_demangle(names[i].symbol);
		check(names[i].symbol, got, names[i].readable);
		free(got);
	}
}

/* What a report shows: C names too are rid of what compilers append, and nothing else. */
static void test_readable(void)
{
	static const struct expectation shown[] = {
		{"parse.part.0", "parse"},
		{"parse.constprop.0.isra.0", "parse"},
		{"parse.cold", "parse"},
		{"nested.12", "nested"},
		{"memcpy@@GLIBC_2.14", "memcpy"},
		{"memcpy@GLIBC_2.2.5", "memcpy"},
		{"odd.name", "odd.name"},
		{".hidden", ".hidden"},
		{"@x", "@x"},
		{"_ZN3foo3barEv.cold", "foo::bar()"},
		{"_Zebra", "_Zebra"},
	};
	struct hs_names table;
	hs_names_init(&table);
	for (int pass = 0; pass < 2; pass++) /* the second time from what is remembered */
		for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
			check(shown[i].symbol, table.texts.items[hs_names_readable(&table, shown[i].symbol)],
			      shown[i].readable);
	hs_names_free(&table);
}

/* Legacy Rust symbols do not tell instances apart; DW_AT_name does. */
static void test_rust_arguments(void)
{
	static const struct {
		const char *symbol, *plain, *wanted;
	} cases[] = {
		{"_ZN3app4keep17h0123456789abcdefE", "keep<u64>", "app::keep::<u64>"},
		{"_ZN3app4keep17h0123456789abcdefE", "keep", "app::keep"},
		{"_ZN3app4keep17h0123456789abcdefE", NULL, "app::keep"},
		{"_ZN3app4keep17h0123456789abcdefE", "{closure#0}<u64>", "app::keep"},
		{"_RINvCs1234_7mycrate4keepyEB2_", "keep<u64>", "mycrate::keep::<u64>"},
		{"_Z4pickIjET_S0_", "pick<unsigned int>", "pick<unsigned int>(unsigned int)"},
	};
	struct hs_names table;
	hs_names_init(&table);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint32_t index = hs_names_with_rust_arguments(&table, cases[i].symbol, cases[i].plain);
		check(cases[i].symbol, table.texts.items[index], cases[i].wanted);
	}
	hs_names_free(&table);
}

static char *repeat(char *end, const char *piece, int times)
{
	for (int i = 0; i < times; i++)
		end = stpcpy(end, piece);
	return end;
}

/* f(A<int, int>, A<A<int, int>, A<int, int> >, ...): each parameter twice as long as the one before. */
static void write_doubling(char *name)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *end = stpcpy(name, "_Z1f1AIiiE");
	for (int i = 0; i < 30; i++)
		end += sprintf(end, "S_IS%c_S%c_E", digits[i], digits[i]);
}

/* Associative arrays of two back references each. */
static void write_dlang_doubling(char *name)
{
	char *end = stpcpy(name, "_D1fFHii"), *last = end - 3;
	for (int i = 0; i < 60; i++) {
		char *start = end;
		*end++ = 'H';
		for (int side = 0; side < 2; side++) {
			int distance = (int)(end - last);
			end += sprintf(end, distance < 26 ? "Q%c" : "QB%c", 'a' + distance % 26);
		}
		last = start;
	}
	strcpy(end, "Zv");
}

static void check_bounded(const char *name)
{
	char *got = hs_demangle(name);
	if (got && strlen(got) > 20000) {
		fprintf(stderr, "%.40s...: %zu characters\n", name, strlen(got));
		exit(1);
	}
	free(got);
}

/* One gigabyte of memory and ten seconds for all of them. */
static void *test_hostile(void *unused)
{
	static char name[40000];
	struct rlimit memory = {1 << 30, 1 << 30};
#if !defined(__SANITIZE_ADDRESS__)
	setrlimit(RLIMIT_AS, &memory);
#endif
	(void)memory;
	alarm(10);
	static const char *const repeated[][4] = {
		{"_Z1f", "P", "i"},      {"_Z1f", "1AI", "i"},
		{"_Z1f", "PFv", "i"},    {"_Z1f", "DpT_", ""},
		{"_ZN", "1a", "E"},      {"_RIC1f", "R", "uE"},
		{"_R", "Nv", "C1a"},     {"_RIC1f", "TS", "E"},
		{"_D1fF", "P", "iZv"},   {"_D1fF", "H", "Zv"},
		{"_D", "1a", "FZv"},     {"_D1fF", "Qb", "Zv"},
		{"_Z", "L", "1f"},       {"_Z1fI", "X", "E"},
		{"_Z1fIXad", "ad", "E"}, {"_ZN4$u7b", "$u7b$", "17h0123456789abcdefE"},
	};
	for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++)
		for (int length = 250; length <= 32000; length *= 2) {
			char *end = stpcpy(name, repeated[i][0]);
			end = repeat(end, repeated[i][1], length / (int)strlen(repeated[i][1]));
			strcpy(end, repeated[i][2]);
			check_bounded(name);
		}
	write_doubling(name);
	check_bounded(name);
	write_dlang_doubling(name);
	check_bounded(name);
	alarm(0);
	return unused;
}

/* A quarter of the usual stack is enough. */
static void test_hostile_with_small_stack(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 2 << 20);
	if (pthread_create(&thread, &attributes, test_hostile, NULL) != 0)
		exit(1);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

int main(void)
{
	test_names();
	test_readable();
	test_rust_arguments();
	test_hostile_with_small_stack();
	return 0;
}
