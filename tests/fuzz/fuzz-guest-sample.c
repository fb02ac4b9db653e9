// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any context of a guest's sample: registers, and windows with any content and at any address, as a
 * decoder passes them on. The kernel's ORC table is the input's too; the tables of user code are
 * those of this program's file.
 *
 * Input: 8 bytes of lengths and choices, the context's numbers, the ORC table, the windows.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/guest/stacks/orc-tables.h"
#include "daemon/guest/stacks/sample-unwinder.h"
#include "libstack/kernel/orc.h"
#include "tests/unit/daemon/guest/stacks/tables-at-once.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

#define TEXT UINT64_C(0xffffffff81000000)
#define STACK UINT64_C(0xffffc90000010000)
#define CODE UINT64_C(0x555500000000)

enum { HEADER_BYTES = 8, N_ENTRIES = 16, MAX_WINDOW_BYTES = 4096 };

static enum vmop_code_state build_table(const struct vmop_guest_code_mapping *mapping,
					struct vmop_cfi_table **ret)
{
	(void)mapping;
	return tables_at_once_build_path("/proc/self/exe", ret);
}

/* ---- one sample -------------------------------------------------------------- */

static const struct vmop_guest_vma vmas[] = {
	{.start = CODE,
	 .end = CODE + (1 << 20),
	 .path = "/bin/a",
	 .file = 1,
	 .build_id_len_bytes = 1},
	{.start = CODE + (1 << 20), .end = CODE + (2 << 20), .path = "//anon"},
	{.start = CODE + (2 << 20), .end = CODE + (3 << 20), .path = "/bin/b", .file = 2},
};

static const struct vmop_guest_process process = {
	.pid = 1, .pgd_gpa = 4096, .vmas = vmas, .vma_count = 3};

static struct vmop_orc *make_orc(const uint8_t *tables)
{
	static const struct vmop_orc_format format = {.type_bit = 40, .type_bits = 3};
	const struct vmop_orc_section section = {.text_start = TEXT,
						 .text_end = TEXT + 4096,
						 .ip_address = TEXT,
						 .n = N_ENTRIES,
						 .ips = tables,
						 .entries = tables + 4 * N_ENTRIES};
	struct vmop_orc *orc;
	if (vmop_orc_create(&format, &section, 1, &orc))
		abort();
	return orc;
}

/* Make some of the registers lie where something is, because few of any values do. */
static void aim(struct vmop_guest_context *context, uint8_t choice)
{
	uint64_t *pc = &context->regs[VMOP_GUEST_REGS - 1], *sp = &context->regs[7];
	if (choice & 1)
		*pc = context->parts & VMOP_GUEST_IS_USER ? CODE + *pc % (3 << 20)
							  : TEXT + *pc % 4096;
	if (choice & 2)
		*sp = context->parts & VMOP_GUEST_IS_USER ? 0x7ffc00000000 : STACK;
	if (choice & 4)
		context->window_address[VMOP_GUEST_KERNEL_WINDOW] = STACK;
	if (choice & 8)
		context->window_address[VMOP_GUEST_USER_WINDOW] = 0x7ffc00000000;
	if (choice & 16)
		context->user_regs[VMOP_GUEST_REGS - 1] = CODE + *pc % (3 << 20);
	if (choice & 32)
		context->user_regs[7] = 0x7ffc00000000;
}

static void unwind(struct vmop_guest_sample_unwinder *unwinder,
		   const struct vmop_guest_context *context, struct vmop_orc *orc)
{
	struct vmop_guest_orc_tables tables = {.refs = 1, .orc = orc, .records = {.va_bits = 48}};
	const struct vmop_guest_view view = {.orc = &tables};
	struct vmop_guest_callers callers;
	for (int i = 0; i < 8; i++) {
		tables.orc = i & 1 ? NULL : orc;
		tables.is_arm64 = i & 2;
		tables.records.kind_at = i & 4 ? 312 : 0;
		vmop_guest_sample_unwinder_unwind(unwinder, &view, i & 4 ? NULL : &process, context,
						  &callers);
		if (callers.n > VMOP_STACK_FRAMES_MAX || !callers.end ||
		    callers.end >= VMOP_N_STACK_ENDS)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static struct vmop_guest_sample_unwinder *unwinder;
	struct vmop_guest_context *context;
	size_t tables_at = HEADER_BYTES + sizeof(*context);
	size_t windows_at = tables_at + N_ENTRIES * VMOP_ORC_BYTES;
	if (len_bytes < windows_at)
		return 0;
	if (!unwinder &&
	    vmop_guest_sample_unwinder_create(NULL, NULL, (struct vmop_domain_id){0}, &unwinder))
		abort();
	tables_at_once.build = build_table;
	size_t left = (len_bytes - windows_at) & ~(size_t)7, used = 0;
	/* Allocate the exact size, so that a read behind it is found. */
	context = malloc(sizeof(*context) + left);
	if (!context)
		return 0;
	memcpy(context, data + HEADER_BYTES, sizeof(*context));
	context->parts &= VMOP_GUEST_ALL_PARTS;
	for (size_t i = 0; i < VMOP_GUEST_N_WINDOWS; i++) {
		size_t bytes =
			32 * (size_t)data[i] < left - used ? 32 * (size_t)data[i] : left - used;
		context->window_bytes[i] = (uint32_t)bytes & ~7u;
		used += context->window_bytes[i];
	}
	memcpy(context + 1, data + windows_at, left);
	aim(context, data[3]);
	struct vmop_orc *orc = make_orc(data + tables_at);
	unwind(unwinder, context, orc);
	vmop_orc_destroy(orc);
	free(context);
	return 0;
}
