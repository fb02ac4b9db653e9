// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config.h"
#include "libsym/resolver.h"

static struct vmop_resolver *create(enum vmop_demangle demangle)
{
	const struct vmop_resolver_options options = {.demangle = demangle};
	struct vmop_resolver *resolver;
	assert_null(vmop_resolver_create(&options, &resolver));
	return resolver;
}

/* The references are c++filt (-p for names without parameters) and rustfilt. */
static const struct {
	const char *mangled, *smart, *full;
} names[] = {
	{"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back",
	 "std::vector<int, std::allocator<int> >::push_back(int const&)"},
	{"_ZN3foo3barEv", "foo::bar", "foo::bar()"},
	{"_ZNK3foo3barEv", "foo::bar", "foo::bar() const"},
	{"_Z1fIiEvT_", "f<int>", "void f<int>(int)"},
	{"_ZN3foo3barEv.cold", "foo::bar [clone .cold]", "foo::bar() [clone .cold]"},
	{"_ZN3foo3barEv.isra.0", "foo::bar [clone .isra.0]", "foo::bar() [clone .isra.0]"},
	{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad",
	 "core::fmt::Formatter::pad"},
	{"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h"
	 "0123456789abcdefE",
	 "<Test + 'static as foo::Bar<Test>>::bar", "<Test + 'static as foo::Bar<Test>>::bar"},
	{"_RNvCs1234_7mycrate3foo", "mycrate::foo", "mycrate::foo"},
	{"main", "main", "main"},
	{"_Zebra", "_Zebra", "_Zebra"},
	{"_Z", "_Z", "_Z"},
	{"_R", "_R", "_R"},
	{"", "", ""},
	{"_ZN3foo3barEv garbage", "_ZN3foo3barEv garbage", "_ZN3foo3barEv garbage"},
	{"_ZN3foo3barEv@plt", "foo::bar@plt", "foo::bar()@plt"},
	{"_ZN3foo3barEv@@V_1.2", "foo::bar@@V_1.2", "foo::bar()@@V_1.2"},
	{"_ZN3foo3barEv.cold@plt", "foo::bar [clone .cold]@plt", "foo::bar() [clone .cold]@plt"},
	{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE@plt", "core::fmt::Formatter::pad@plt",
	 "core::fmt::Formatter::pad@plt"},
	{"puts@plt", "puts@plt", "puts@plt"},
	{"entry_SYSCALL_64", "entry_SYSCALL_64", "entry_SYSCALL_64"},
};

static void names_are_shown_as_the_options_say(void **state)
{
	(void)state;
#ifndef HAVE_IBERTY
	skip();
#endif
	struct vmop_resolver *none = create(VMOP_DEMANGLE_NONE);
	struct vmop_resolver *smart = create(VMOP_DEMANGLE_SMART);
	struct vmop_resolver *full = create(VMOP_DEMANGLE_FULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_string_equal(vmop_resolver_name(none, names[i].mangled), names[i].mangled);
		assert_string_equal(vmop_resolver_name(smart, names[i].mangled), names[i].smart);
		assert_string_equal(vmop_resolver_name(full, names[i].mangled), names[i].full);
	}
	vmop_resolver_destroy(none);
	vmop_resolver_destroy(smart);
	vmop_resolver_destroy(full);
}

static void the_same_text_is_the_same_pointer(void **state)
{
	(void)state;
	struct vmop_resolver *smart = create(VMOP_DEMANGLE_SMART);
	char copy[] = "_ZN3foo3barEv";
	const char *first = vmop_resolver_name(smart, "_ZN3foo3barEv");
	assert_ptr_equal(vmop_resolver_name(smart, copy), first);
	assert_ptr_not_equal(first, copy);
#ifdef HAVE_IBERTY
	/* Two names that are shown as the same text: a report adds them up. */
	assert_ptr_equal(vmop_resolver_name(smart, "_ZN3foo3barEi"), first);
	assert_ptr_equal(vmop_resolver_name(smart, "foo::bar"), first);
#endif
	vmop_resolver_destroy(smart);
}

/* Write the n-th substitution of the Itanium ABI: "S_", "S0_", ... "SZ_". */
static size_t put_substitution(char *text, unsigned n)
{
	if (n == 0)
		return (size_t)sprintf(text, "S_");
	return (size_t)sprintf(text, "S%c_", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[n - 1]);
}

/* f<A<int, int>, A<previous, previous>, ...>: the length doubles with each step. */
static char *doubling(unsigned steps)
{
	char *text = calloc(1, 64 + steps * 32);
	size_t at = (size_t)sprintf(text, "_Z1fI1AIiiE");
	for (unsigned i = 0; i < steps; i++) {
		at += (size_t)sprintf(text + at, "S0_I");
		at += put_substitution(text + at, 2 + i);
		at += put_substitution(text + at, 2 + i);
		at += (size_t)sprintf(text + at, "E");
	}
	sprintf(text + at, "EvT_");
	return text;
}

static char *nested(size_t steps)
{
	char *text = calloc(1, steps + 16);
	strcpy(text, "_Z1f");
	memset(text + 4, 'P', steps);
	strcpy(text + 4 + steps, "i");
	return text;
}

static char *long_name(size_t steps)
{
	char *text = calloc(1, steps + 32);
	size_t at = (size_t)sprintf(text, "_ZN%zu", steps);
	memset(text + at, 'a', steps);
	strcpy(text + at + steps, "Ev");
	return text;
}

static void show(struct vmop_resolver *resolver, char *text)
{
	const char *shown = vmop_resolver_name(resolver, text);
	assert_true(strlen(shown) < 65536 || strcmp(shown, text) == 0);
	free(text);
}

static void hostile_names_end(void **state)
{
	(void)state;
	static const size_t steps[] = {1, 100, 1000, 2000, 4000, 10000, 1000000};
	struct vmop_resolver *const resolvers[] = {create(VMOP_DEMANGLE_SMART),
						   create(VMOP_DEMANGLE_FULL)};
	for (int i = 0; i < 2; i++) {
		for (size_t j = 0; j < sizeof(steps) / sizeof(steps[0]); j++) {
			show(resolvers[i], nested(steps[j]));
			show(resolvers[i], long_name(steps[j]));
		}
		/* would expand to 2^33 pieces of text */
		for (unsigned n = 1; n < 34; n++)
			show(resolvers[i], doubling(n));
	}
#ifdef HAVE_IBERTY
	char *three = doubling(3);
	assert_string_equal(vmop_resolver_name(resolvers[0], three),
			    "f<A<int, int>, A<A<int, int>, A<int, int> >, A<A<A<int, int>, "
			    "A<int, int> >, A<A<int, int>, A<int, int> > >, A<A<A<A<int, int>, "
			    "A<int, int> >, A<A<int, int>, A<int, int> > >, A<A<A<int, int>, "
			    "A<int, int> >, A<A<int, int>, A<int, int> > > > >");
	free(three);
#endif
	vmop_resolver_destroy(resolvers[0]);
	vmop_resolver_destroy(resolvers[1]);
}

/*
 * Each name expands to more than the limit for one name: the limit for all names applies as well.
 */
static void many_hostile_names_end(void **state)
{
	(void)state;
	struct vmop_resolver *resolver = create(VMOP_DEMANGLE_SMART);
	clock_t begin = clock();
	for (unsigned i = 0; i < 20000; i++) {
		char *text = doubling(33), *name = calloc(1, strlen(text) + 16);
		sprintf(name, "_Z8f%07u%s", i, text + 4);
		show(resolver, name);
		free(text);
	}
	double cpu_s = (double)(clock() - begin) / CLOCKS_PER_SEC;
	fprintf(stderr, "%.2f s of CPU time\n", cpu_s);
	/* Without a bound, each of them takes hours. An emulated machine takes 20 times as long as
	 * a real one. */
	assert_true(cpu_s < 60);
	vmop_resolver_destroy(resolver);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_shown_as_the_options_say),
		cmocka_unit_test(the_same_text_is_the_same_pointer),
		cmocka_unit_test(hostile_names_end),
		cmocka_unit_test(many_hostile_names_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
