// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/waits/exit-reason.h"

#include <cmocka.h>

#include "libdb/types.h"

static void names(void **state)
{
	static const struct {
		enum vmop_exit_machine machine;
		uint32_t reason;
		const char *name;
	} cases[] = {
		{VMOP_EXIT_SVM, 0x60, "interrupt"},
		{VMOP_EXIT_SVM, 0x78, "hlt"},
		{VMOP_EXIT_SVM, 0x7c, "msr"},
		{VMOP_EXIT_SVM, 0x400, "npf"},
		{VMOP_EXIT_SVM, 0x13, "cr3 write"},
		{VMOP_EXIT_SVM, 0x4d, "exception 13"},
		{VMOP_EXIT_SVM, 0xffffffff, "reason 0xffffffff"},
		{VMOP_EXIT_VMX, 12, "hlt"},
		{VMOP_EXIT_VMX, 48, "ept violation"},
		{VMOP_EXIT_VMX, UINT32_C(1) << 31 | 33, "invalid state"},
		{VMOP_EXIT_VMX, 999, "reason 0x3e7"},
		{VMOP_EXIT_ARM64, 0, "interrupt"},
		{VMOP_EXIT_ARM64, 2 << 8 | 0x01, "wfx"},
		{VMOP_EXIT_ARM64, 2 << 8 | 0x24, "data abort"},
		{VMOP_EXIT_ARM64, 2 << 8 | 0xff, "reason 0x2ff"},
		{VMOP_EXIT_N_MACHINES, 1, "reason 0x1"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char name[VMOP_EXIT_REASON_BYTES];
		vmop_exit_reason_name(vmop_db_exit_cause(cases[i].machine, cases[i].reason), name);
		assert_string_equal(name, cases[i].name);
	}
	/* A file may hold any number. */
	for (uint64_t cause = 1; cause; cause <<= 1) {
		char name[VMOP_EXIT_REASON_BYTES];
		vmop_exit_reason_name(cause, name);
		assert_true(name[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
