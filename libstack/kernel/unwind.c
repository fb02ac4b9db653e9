// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/kernel/unwind.h"

#include <endian.h>
#include <string.h>

#include "libstack/kernel/pt-regs.h"

bool vmop_kernel_memory_u64(const struct vmop_kernel_memory *memory, uint64_t address,
			    uint64_t *ret)
{
	uint64_t value;
	if (!memory->read(memory->arg, address, &value, sizeof(value)))
		return false;
	*ret = le64toh(value);
	return true;
}

bool vmop_kernel_saved_regs(const struct vmop_kernel_memory *memory, uint64_t address,
			    struct vmop_kernel_regs *ret, struct vmop_kernel_entry *ret_entry)
{
	uint64_t saved[VMOP_PT_REGS];
	if (!memory->read(memory->arg, address, saved, sizeof(saved)))
		return false;
	for (size_t i = 0; i < VMOP_PT_REGS; i++)
		saved[i] = le64toh(saved[i]);
	*ret_entry = (struct vmop_kernel_entry){
		.is_known = (saved[VMOP_PT_CS] & 3) != 0, /* the privilege level */
		.address = address,
		.pc = saved[VMOP_PT_IP],
		.sp = saved[VMOP_PT_SP],
		.fp = saved[VMOP_PT_BP],
	};
	*ret = (struct vmop_kernel_regs){
		.pc = saved[VMOP_PT_IP],
		.sp = saved[VMOP_PT_SP],
		.fp = saved[VMOP_PT_BP],
		.is_interrupted = true,
		.has_others = true,
		.r10 = saved[VMOP_PT_R10],
		.r13 = saved[VMOP_PT_R13],
		.di = saved[VMOP_PT_DI],
		.dx = saved[VMOP_PT_DX],
	};
	return true;
}
