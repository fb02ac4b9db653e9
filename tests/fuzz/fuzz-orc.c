// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any ORC tables, registers and stack of a guest's kernel, the same stack by frame pointers and by
 * frame records, and searched without its stack pointer, with the same bytes as the kernel's code.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libstack/kernel/orc.h"
#include "libstack/kernel/search.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

#define TEXT UINT64_C(0xffffffff81000000)
#define STACK UINT64_C(0xffffc90000010000)

enum { MAX_FRAMES = 64, HEADER_BYTES = 8, MAX_ENTRIES = 64 };

struct stack {
	const uint8_t *bytes;
	size_t len_bytes;
};

static bool read_stack(void *arg, uint64_t address, void *buf, size_t len_bytes)
{
	const struct stack *stack = arg;
	uint64_t offset = address - STACK;
	if (offset > stack->len_bytes || len_bytes > stack->len_bytes - offset)
		return false;
	memcpy(buf, stack->bytes + offset, len_bytes);
	return true;
}

/* The code of the kernel: functions of 32 bytes, every fourth one a part of another. */
static const uint8_t *find_code(void *arg, uint64_t address, size_t len_bytes)
{
	const struct stack *text = arg;
	uint64_t offset = address - TEXT;
	if (offset > text->len_bytes || len_bytes > text->len_bytes - offset)
		return NULL;
	return text->bytes + offset;
}

static bool find_function(void *arg, uint64_t address, struct vmop_kernel_function *ret)
{
	const struct stack *text = arg;
	uint64_t offset = address - TEXT;
	if (offset >= text->len_bytes)
		return false;
	*ret = (struct vmop_kernel_function){.start = TEXT + (offset & ~UINT64_C(31)),
					     .end = TEXT + (offset | 31) + 1,
					     .is_cold = offset / 32 % 4 == 3,
					     .is_only_named = offset / 32 % 2};
	return true;
}

static void check(const struct vmop_kernel_unwound *unwound)
{
	if (!unwound->n_frames || unwound->n_frames > MAX_FRAMES)
		abort();
}

static void unwind_all(const struct vmop_orc *orc, const struct vmop_kernel_regs *regs,
		       struct stack *stack)
{
	const struct vmop_kernel_memory memory = {.read = read_stack, .arg = stack};
	struct vmop_stack_frame frames[MAX_FRAMES];
	struct vmop_kernel_unwound unwound;
	vmop_orc_unwind(orc, regs, &memory, frames, MAX_FRAMES, &unwound);
	check(&unwound);
	vmop_kernel_frame_pointers_unwind(regs, &memory, frames, MAX_FRAMES, &unwound);
	check(&unwound);
	for (uint32_t kind_at = 0; kind_at <= 312; kind_at += 312) {
		const struct vmop_frame_records records = {.va_bits = 48, .kind_at = kind_at};
		vmop_frame_records_unwind(regs, &records, &memory, frames, MAX_FRAMES, &unwound);
		check(&unwound);
	}
}

static void search(const struct vmop_orc *orc, const struct vmop_kernel_regs *regs,
		   struct stack *stack)
{
	static struct vmop_kernel_searcher *searcher;
	const struct vmop_kernel_text text = {
		.code = find_code, .find_function = find_function, .arg = stack};
	struct vmop_kernel_search search = {
		.orc = orc,
		.regs = *regs,
		.memory = {.read = read_stack, .arg = stack},
		.text = &text,
		.stacks = {{STACK, STACK + stack->len_bytes}, {UINT64_MAX - 64, UINT64_MAX}},
		.n_stacks = 2,
		.has_all_stacks = regs->fp & 1,
		.user_pc = 0x401000,
	};
	struct vmop_stack_frame frames[MAX_FRAMES];
	struct vmop_kernel_unwound unwound;
	struct vmop_kernel_found found;
	if (!searcher && vmop_kernel_searcher_create(&searcher))
		abort();
	vmop_kernel_searcher_reset(searcher);
	for (int has_user = 0; has_user < 2; has_user++) {
		search.has_user = has_user;
		bool is_found =
			vmop_kernel_search(searcher, &search, frames, MAX_FRAMES, &unwound, &found);
		check(&unwound);
		if (!is_found && unwound.end != VMOP_STACK_NOT_RECORDED)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	if (len_bytes < HEADER_BYTES)
		return 0;
	const struct vmop_orc_format format = {.type_bit = data[0] & 1 ? 40 : data[0] >> 1,
					       .type_bits = data[1] & 1 ? 2 : 3,
					       .end_bit = data[2] & 1 ? 42 : data[2] >> 1};
	size_t n = data[3] % MAX_ENTRIES;
	if (len_bytes < HEADER_BYTES + n * VMOP_ORC_BYTES)
		return 0;
	const uint8_t *tables = data + HEADER_BYTES;
	const struct vmop_orc_section sections[] = {
		{.text_start = TEXT,
		 .text_end = TEXT + 4096,
		 .ip_address = TEXT,
		 .n = n / 2,
		 .ips = tables,
		 .entries = tables + 4 * n},
		{.text_start = TEXT - 4096,
		 .text_end = TEXT,
		 .ip_address = TEXT,
		 .n = n - n / 2,
		 .ips = tables + 4 * (n / 2),
		 .entries = tables + 4 * n + 6 * (n / 2)},
	};
	struct vmop_orc *orc;
	struct vmop_error *err = vmop_orc_create(&format, sections, 2, &orc);
	if (err) {
		vmop_error_destroy(err);
		return 0;
	}
	struct stack stack = {.bytes = tables + n * VMOP_ORC_BYTES,
			      .len_bytes = len_bytes - HEADER_BYTES - n * VMOP_ORC_BYTES};
	const struct vmop_kernel_regs regs = {.pc = TEXT + data[4],
					      .sp = STACK + 8 * (uint64_t)data[5],
					      .fp = STACK + data[6],
					      .is_interrupted = data[7] & 1,
					      .has_others = data[7] & 2,
					      .r10 = STACK + data[7]};
	unwind_all(orc, &regs, &stack);
	search(orc, &regs, &stack);
	vmop_orc_destroy(orc);
	return 0;
}
