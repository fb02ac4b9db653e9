// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/label.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"

static void names_that_look_like_words_of_ours(void **state)
{
	static const struct {
		enum vmop_label kind;
		const char *name, *label;
	} labels[] = {
		{VMOP_LABEL_NAME, "cat", "cat"},
		{VMOP_LABEL_NAME, "", ""},
		{VMOP_LABEL_NAME, "[kernel]", "'[kernel]'"},
		{VMOP_LABEL_NAME, "[", "'['"},
		{VMOP_LABEL_NAME, "'[kernel]'", "''[kernel]''"},
		{VMOP_LABEL_NAME, "a[kernel]", "a[kernel]"},
		{VMOP_LABEL_NAME, "host", "host"},
		{VMOP_LABEL_SYMBOL, "(no symbols)", "'(no symbols)'"},
		{VMOP_LABEL_SYMBOL, "(anonymous namespace)::f", "(anonymous namespace)::f"},
		{VMOP_LABEL_SYMBOL, "[idle]", "'[idle]'"},
		{VMOP_LABEL_SYMBOL, "[plt]", "[plt]"},
		{VMOP_LABEL_DOMAIN, "g1", "g1"},
		{VMOP_LABEL_DOMAIN, "host", "'host'"},
		{VMOP_LABEL_DOMAIN, "xen", "'xen'"},
		{VMOP_LABEL_DOMAIN, "[unknown]", "'[unknown]'"},
		{VMOP_LABEL_DOMAIN, "g1 #2", "'g1 #2'"},
		{VMOP_LABEL_DOMAIN, "g1#2", "g1#2"},
		{VMOP_LABEL_DOMAIN, "g1 (current)", "'g1 (current)'"},
		{VMOP_LABEL_MODULE, "[nf_tables]", "[nf_tables]"},
		{VMOP_LABEL_MODULE, "[kernel]", "['kernel']"},
		{VMOP_LABEL_MODULE, "[no mapping]", "['no mapping']"},
		{VMOP_LABEL_MODULE, "[]", "['']"},
		{VMOP_LABEL_MODULE, "[", "'['"},
		{VMOP_LABEL_MODULE, "kvm", "kvm"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		_cleanup_free_ char *label = vmop_label(labels[i].kind, labels[i].name);
		assert_string_equal(label, labels[i].label);
		assert_int_equal(vmop_label_is_quoted(labels[i].kind, labels[i].name),
				 strcmp(label, labels[i].name) != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_look_like_words_of_ours),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
