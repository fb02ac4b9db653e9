// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a guest's Linux has in its memory about the code that runs: its task, its page, the file of
 * that page, and the stacks. Every value is the guest's, and any value can be in it.
 */
#ifndef VMOP_HV_INTERFACE_BPF_GUEST_KERNEL_BPF_H
#define VMOP_HV_INTERFACE_BPF_GUEST_KERNEL_BPF_H

#include "hv-interface/bpf/guest-memory.bpf.h"
#include "hv-interface/bpf/guest-x86.bpf.h"
#include "hv-interface/bpf/machine.bpf.h"

enum { MAPPING_FLAGS = 3, MAX_STACK_BYTES = 64 << 10 };

static __always_inline struct vmop_guest_context *context_of(struct guest_work *work)
{
	/* Aligned, though the record around it is packed. */
	return (struct vmop_guest_context *)((uint8_t *)work + offsetof(struct guest_work, record) +
					     offsetof(struct vmop_bpf_guest, context));
}

static __always_inline bool is_known(uint32_t offset)
{
	return offset != VMOP_GUEST_NO_OFFSET;
}

/* Find the current task by the base of the CPU's data, or 0: that of CPU number vcpu_id. */
__attribute__((noinline)) int find_task(uint64_t per_cpu)
{
	struct guest_work *work = guest_work();
	if (!work)
		return VMOP_GUEST_GAP_NO_TASK;
	struct vmop_guest_context *context = context_of(work);
	const struct vmop_guest_numbers *numbers = &work->numbers;
	int gap;
	if (!numbers->current_in_per_cpu || !is_known(numbers->task_pid) ||
	    !is_known(numbers->task_tgid) || !is_known(numbers->task_group_leader) ||
	    !is_known(numbers->task_comm) || !is_known(numbers->task_start_time))
		return VMOP_GUEST_GAP_NO_TASK;
	if (!(per_cpu >> 63)) {
		if (!numbers->per_cpu_offsets || context->vcpu >= numbers->n_cpus)
			return VMOP_GUEST_GAP_NO_TASK;
		gap = read_guest(numbers->per_cpu_offsets + context->vcpu * sizeof(uint64_t), 8);
		if (gap)
			return gap;
		per_cpu = work->words[0];
	}
	work->per_cpu = per_cpu;
	gap = read_guest(per_cpu + numbers->current_in_per_cpu, 8);
	if (gap)
		return gap;
	context->task = work->words[0];
	return context->task >> 63 ? 0 : VMOP_GUEST_GAP_NO_TASK;
}

/* Fill the context with what context->task and its group leader have. */
__attribute__((noinline)) int read_task(void)
{
	struct guest_work *work = guest_work();
	if (!work)
		return VMOP_GUEST_GAP_NO_TASK;
	struct vmop_guest_context *context = context_of(work);
	const struct vmop_guest_numbers *numbers = &work->numbers;
	uint64_t task = context->task, leader;
	int gap = read_guest(task + numbers->task_pid, 8);
	if (gap)
		return gap;
	context->tid = (uint32_t)work->words[0];
	context->pid = (uint32_t)(work->words[0] >> 32);
	if (numbers->task_tgid != numbers->task_pid + 4) {
		gap = read_guest(task + numbers->task_tgid, 4);
		if (gap)
			return gap;
		context->pid = (uint32_t)work->words[0];
	}
	gap = read_guest(task + numbers->task_group_leader, 8);
	if (gap)
		return gap;
	leader = work->words[0];
	if (!(leader >> 63))
		return VMOP_GUEST_GAP_NO_TASK;
	gap = read_guest(leader + numbers->task_start_time, 8);
	if (gap)
		return gap;
	context->start_time_ns = work->words[0];
	gap = read_guest(leader + numbers->task_comm, sizeof(context->comm));
	if (gap)
		return gap;
	__builtin_memcpy(context->comm, work->words, sizeof(context->comm));
	context->parts |= VMOP_GUEST_HAS_TASK;
	return 0;
}

/* Find the page table of the task's process, where the vCPU's register can't be read. */
__attribute__((noinline)) int find_page_table(void)
{
	struct guest_work *work = guest_work();
	if (!work)
		return VMOP_GUEST_GAP_NO_TASK;
	struct vmop_guest_context *context = context_of(work);
	const struct vmop_guest_numbers *numbers = &work->numbers;
	if (!is_known(numbers->task_mm) || !is_known(numbers->mm_pgd))
		return VMOP_GUEST_GAP_NO_REGISTERS;
	int gap = read_guest(context->task + numbers->task_mm, 8);
	if (gap)
		return gap;
	if (!(work->words[0] >> 63))
		return VMOP_GUEST_GAP_NO_TASK; /* a kernel thread */
	gap = read_guest(work->words[0] + numbers->mm_pgd, 8);
	if (!gap)
		gap = translate(work, work->words[0]);
	if (gap)
		return gap;
	context->page_table = work->gpa & ENTRY_ADDRESS;
	context->parts |= VMOP_GUEST_HAS_PAGE_TABLE;
	return 0;
}

/* Set *ret to the first struct page of a page's folio. */
static __always_inline int find_folio(struct guest_work *work, uint64_t page, uint64_t *ret)
{
	const struct vmop_guest_numbers *numbers = &work->numbers;
	*ret = page;
	if (!is_known(numbers->page_compound_head))
		return 0;
	int gap = read_guest(page + numbers->page_compound_head, 8);
	if (gap)
		return gap;
	uint64_t word = work->words[0];
	if (word & 1)
		*ret = numbers->page_compound_is_mask ? page & word : word - 1;
	return 0;
}

/* Fill the context with the owner of the code's page, context->gpa. */
__attribute__((noinline)) int read_page(void)
{
	struct guest_work *work = guest_work();
	if (!work)
		return VMOP_GUEST_GAP_NOT_MAPPED;
	struct vmop_guest_context *context = context_of(work);
	const struct vmop_guest_numbers *numbers = &work->numbers;
	uint64_t bytes = numbers->page_bytes, folio, host_inode;
	if (!numbers->vmemmap || !bytes || !is_known(numbers->page_mapping) ||
	    !is_known(numbers->page_index))
		return VMOP_GUEST_GAP_UNKNOWN_KERNEL;
	uint64_t page = numbers->vmemmap + (context->gpa >> (numbers->page_shift & 63)) * bytes;
	int gap = find_folio(work, page, &folio);
	/* Mapping and index are neighbours. */
	if (!gap)
		gap = read_guest(folio + numbers->page_mapping, 16);
	if (gap)
		return gap;
	context->mapping = work->words[0];
	context->index = work->words[1];
	if (numbers->page_index != numbers->page_mapping + 8) {
		gap = read_guest(folio + numbers->page_index, 8);
		if (gap)
			return gap;
		context->index = work->words[0];
	}
	context->index += (page - folio) / bytes;
	context->parts |= VMOP_GUEST_HAS_PAGE;
	if (!context->mapping || context->mapping & MAPPING_FLAGS ||
	    !is_known(numbers->mapping_host))
		return 0; /* anonymous memory, or a page of no file */
	gap = read_guest(context->mapping + numbers->mapping_host, 8);
	if (gap)
		return gap;
	host_inode = work->words[0];
	gap = read_guest(host_inode + numbers->inode_number, 8);
	if (gap)
		return gap;
	context->inode_number = work->words[0];
	gap = read_guest(host_inode + numbers->inode_superblock, 8);
	if (gap)
		return gap;
	context->superblock = work->words[0];
	gap = read_guest(host_inode + numbers->inode_generation, 4);
	if (gap)
		return gap;
	context->inode_generation = (uint32_t)work->words[0];
	context->inode = host_inode;
	context->parts |= VMOP_GUEST_HAS_INODE;
	return 0;
}

/* Return the stack's size in a guest's numbers, at most the largest that there is. */
static __always_inline uint32_t stack_bytes(const struct vmop_guest_numbers *numbers)
{
	return numbers->stack_bytes > MAX_STACK_BYTES ? MAX_STACK_BYTES : numbers->stack_bytes;
}

/* Copy the registers with which user code entered the kernel, from the end of the task's stack. */
__attribute__((noinline)) int read_entry_registers(uint64_t stack)
{
	struct guest_work *work = guest_work();
	if (!work)
		return VMOP_GUEST_GAP_NO_TASK;
	struct vmop_guest_context *context = context_of(work);
	const struct vmop_guest_numbers *numbers = &work->numbers;
	uint64_t at = stack + stack_bytes(numbers) - numbers->entry_regs_end - ENTRY_REGS_BYTES;
	/* At the entry itself they are being saved. */
	if (context->parts & VMOP_GUEST_HAS_SP && context->regs[SP] - at <= ENTRY_REGS_BYTES)
		return 0;
	int gap = translate(work, at);
	if (gap)
		return gap;
	/* They never cross a page's end in a real kernel. */
	if ((at & (PAGE_BYTES - 1)) > PAGE_BYTES - ENTRY_REGS_BYTES)
		return VMOP_GUEST_GAP_NO_TASK;
	if (bpf_probe_read_user(work->registers, ENTRY_REGS_BYTES, (const void *)work->address))
		return VMOP_GUEST_GAP_ABSENT;
	if (take_entry_registers(context, work->registers))
		context->parts |= VMOP_GUEST_HAS_USER_REGS;
	return 0;
}

static __always_inline void copy_into(struct guest_work *work, enum vmop_guest_window_kind kind,
				      uint64_t address, uint32_t bytes)
{
	struct vmop_guest_context *context = context_of(work);
	int copied = copy_window(address, bytes);
	if (copied <= 0)
		return;
	context->window_address[kind] = address;
	context->window_bytes[kind] = (uint32_t)copied;
}

/*
 * Copy what may have the frames of code whose stack pointer is not known: the task's whole stack,
 * and the top of the CPU's stack for interrupts, which goes on in the task's.
 */
static __always_inline void copy_whole_stacks(struct guest_work *work, uint64_t stack,
					      uint32_t size)
{
	const struct vmop_guest_numbers *numbers = &work->numbers;
	uint64_t end = stack + size;
	if (size > VMOP_GUEST_UNKNOWN_SP_WINDOW_MAX)
		size = VMOP_GUEST_UNKNOWN_SP_WINDOW_MAX;
	if (!stack)
		return;
	copy_into(work, VMOP_GUEST_KERNEL_WINDOW, end - size, size);
	if (!numbers->irq_stack_in_per_cpu || !work->per_cpu ||
	    read_guest(work->per_cpu + numbers->irq_stack_in_per_cpu, 8) || !work->words[0])
		return;
	end = (work->words[0] + 8) & ~(uint64_t)(PAGE_BYTES - 1);
	copy_into(work, VMOP_GUEST_TASK_WINDOW, end - PAGE_BYTES, PAGE_BYTES);
}

/* Copy the windows on the kernel's stacks. stack is the task's, or 0: unknown. */
__attribute__((noinline)) int copy_kernel_windows(uint64_t stack)
{
	struct guest_work *work = guest_work();
	if (!work)
		return 0;
	struct vmop_guest_context *context = context_of(work);
	const struct vmop_guest_numbers *numbers = &work->numbers;
	uint32_t size = stack_bytes(numbers), wanted = numbers->kernel_window_bytes;
	uint64_t sp = context->regs[SP] & ~UINT64_C(7), end = stack + size;
	if (wanted > VMOP_GUEST_KERNEL_WINDOW_MAX)
		wanted = VMOP_GUEST_KERNEL_WINDOW_MAX;
	if (!(context->parts & VMOP_GUEST_HAS_SP)) {
		copy_whole_stacks(work, stack, size);
		return 0;
	}
	if (stack && sp - stack < size) {
		copy_into(work, VMOP_GUEST_KERNEL_WINDOW, sp,
			  end - sp < wanted ? (uint32_t)(end - sp) : wanted);
		return 0;
	}
	if (sp >> 63)
		copy_into(work, VMOP_GUEST_KERNEL_WINDOW, sp, wanted);
	if (wanted > size)
		wanted = size;
	if (stack)
		copy_into(work, VMOP_GUEST_TASK_WINDOW, end - wanted, wanted);
	return 0;
}

/* Copy the window on the user stack, by the process's page table. */
__attribute__((noinline)) int copy_user_window(void)
{
	struct guest_work *work = guest_work();
	if (!work)
		return 0;
	struct vmop_guest_context *context = context_of(work);
	uint32_t wanted = work->numbers.user_window_bytes;
	uint64_t sp = context->regs[SP];
	if (wanted > VMOP_GUEST_USER_WINDOW_MAX)
		wanted = VMOP_GUEST_USER_WINDOW_MAX;
	bool has_sp = context->parts & VMOP_GUEST_HAS_SP;
	/* At its edges, the kernel's code has the user's stack pointer still, or again. */
	if (!(context->parts & VMOP_GUEST_IS_USER) && (!has_sp || sp >> 63)) {
		has_sp = context->parts & VMOP_GUEST_HAS_USER_REGS;
		sp = context->user_regs[SP];
	}
	if (has_sp && !(sp >> 63))
		copy_into(work, VMOP_GUEST_USER_WINDOW, sp & ~UINT64_C(7), wanted);
	return 0;
}

#endif
