// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "libsym/resolver.h"

static struct vmop_resolver *create(enum vmop_demangle demangle)
{
	const struct vmop_resolver_options options = {.demangle = demangle};
	struct vmop_resolver *resolver;
	assert_null(vmop_resolver_create(&options, &resolver));
	return resolver;
}

/* The references are c++filt's (-p for those without parameters) and rustfilt's. */
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
	{"_ZN3foo3barEv garbage", "foo::bar", "_ZN3foo3barEv garbage"},
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
	/* Two names that are shown alike: they add up in a report. */
	assert_ptr_equal(vmop_resolver_name(smart, "_ZN3foo3barEi"), first);
	assert_ptr_equal(vmop_resolver_name(smart, "foo::bar"), first);
#endif
	vmop_resolver_destroy(smart);
}

/* 1: text that doubles with each step; 2: deep nesting; 3: just long. */
static char *hostile(int kind, size_t steps)
{
	char *text = calloc(1, 64 + steps * 32);
	size_t at = 0;
	switch (kind) {
	case 1:
		at = (size_t)sprintf(text, "_Z1fI1AIiiE");
		for (size_t i = 0; i < steps; i++) {
			char id[8] = "";
			if (i)
				snprintf(id, sizeof(id), "%c", (int)(i <= 10 ? '0' + i - 1
									     : 'A' + i - 11));
			at += (size_t)sprintf(text + at, "S_IS%s_S%s_E", id, id);
		}
		sprintf(text + at, "EvT_");
		break;
	case 2:
		at = (size_t)sprintf(text, "_Z1f");
		for (size_t i = 0; i < steps; i++)
			at += (size_t)sprintf(text + at, "P");
		sprintf(text + at, "i");
		break;
	default:
		at = (size_t)sprintf(text, "_ZN%zu", steps);
		memset(text + at, 'a', steps);
		strcpy(text + at + steps, "Ev");
	}
	return text;
}

static void hostile_names_end(void **state)
{
	(void)state;
	static const size_t steps[] = {3, 20, 30, 36, 500, 1000, 4000, 10000, 1000000};
	struct vmop_resolver *const resolvers[] = {create(VMOP_DEMANGLE_SMART),
						   create(VMOP_DEMANGLE_FULL)};
	for (int kind = 1; kind <= 3; kind++) {
		for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
			if (kind == 1 && steps[i] > 36)
				break;
			char *text = hostile(kind, steps[i]);
			for (int j = 0; j < 2; j++) {
				const char *shown = vmop_resolver_name(resolvers[j], text);
				assert_true(strlen(shown) < 65536 || strcmp(shown, text) == 0);
			}
			free(text);
		}
	}
	/* Rust v0's back references, each to twice the one before. */
	char rust[256] = "_RNvC1a1f";
	vmop_resolver_name(resolvers[0], rust);
	strcpy(rust, "_RINvC1a1fTTTTTTTTTuuEB8_EB7_EB6_EB5_EB4_EB3_EB2_EB1_EE");
	vmop_resolver_name(resolvers[0], rust);
	vmop_resolver_destroy(resolvers[0]);
	vmop_resolver_destroy(resolvers[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_shown_as_the_options_say),
		cmocka_unit_test(the_same_text_is_the_same_pointer),
		cmocka_unit_test(hostile_names_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
