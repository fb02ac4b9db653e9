// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any registers, stack and rules in the unwinder. The rules, and the CFI that libunwind gets for
 * expressions, are the input's: they need not be ones that a table can have. fuzz-unwind-table has
 * real tables.
 */
#include "tests/fuzz/unwind-world.h"
#include "tests/unit/libstack/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

enum { N_ROWS = 6, CIE_BYTES = 32, FDE_BYTES = 48, ELF_FDE = 0x8000 };

static int32_t take_offset(struct fuzz_input *input)
{
	int8_t byte = (int8_t)fuzz_byte(input);
	return byte == INT8_MIN ? INT32_MIN : byte == INT8_MAX ? INT32_MAX : byte * 8;
}

static void take_rule(struct fuzz_input *input, struct vmop_cfi_rule *ret)
{
	uint8_t kind = fuzz_byte(input), saved = fuzz_byte(input);
	*ret = (struct vmop_cfi_rule){
		.kind = kind % 9,
		.cfa_register = fuzz_byte(input),
		.fp_saved = saved & 3,
		.ra_saved = saved >> 2 & 3,
		.ra_is_signed = saved >> 4 & 1,
		.cfa_offset = take_offset(input),
		.cfa_addend = take_offset(input),
		.extra_saved = saved >> 5 & 3,
		.fp_offset = take_offset(input),
		.ra_offset = take_offset(input),
	};
	ret->extra_offset = (int16_t)ret->cfa_addend;
	if (kind & 128)
		ret->cfa_register = kind & 64 ? 6 : 7;
}

/* Make the CFI of one function out of the input's bytes: only the headers are always right. */
static void take_entry(struct fuzz_input *input, uint8_t *cie, uint8_t *fde,
		       struct vmop_cfi_entry *ret)
{
	static const uint8_t cie_start[] = {CIE_BYTES - 4, 0,	0, 0, 0,    0,	0, 0,	1,
					    'z',	   'R', 0, 1, 0x78, 16, 1, 0x1b};
	uint32_t fde_start[5] = {FDE_BYTES - 4, 4 + CIE_BYTES, (uint32_t)(0x1000 - (ELF_FDE + 8)),
				 0x800, 0};
	fuzz_take(input, cie, CIE_BYTES);
	fuzz_take(input, fde, FDE_BYTES);
	if (!(fuzz_byte(input) & 1))
		memcpy(cie, cie_start, sizeof(cie_start));
	memcpy(fde, fde_start, 17);
	*ret = (struct vmop_cfi_entry){
		.cie = cie,
		.fde = fde,
		.cie_bytes = CIE_BYTES,
		.fde_bytes = FDE_BYTES,
		.cie_address = ELF_FDE - CIE_BYTES,
		.fde_address = ELF_FDE,
		.function_address = 0x1000,
		.function_bytes = 0x800,
	};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct fuzz_input input = {data, len_bytes};
	struct rule_row rows[N_ROWS];
	struct vmop_cfi_entry entry;
	uint8_t flags = fuzz_byte(&input), cie[CIE_BYTES], fde[FDE_BYTES];
	struct vmop_cfi_table table = {.rows = rows, .n_rows = N_ROWS};
	for (size_t i = 0; i < N_ROWS; i++) {
		rows[i].offset = i * 0x800;
		take_rule(&input, &rows[i].rule);
	}
	if (flags & 2) {
		take_entry(&input, cie, fde, &entry);
		table.entry = &entry;
	}
	if (flags & 4)
		table.entry_end = 0x10;
	table.ends_with_zero = flags & 8;
	fuzz_unwind(&input, flags & 1 ? EM_AARCH64 : EM_X86_64, &table);
	return 0;
}
