// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Readers of a guest's Linux for the code that runs: its task, its page, the file of that page, and
 * the stacks. Every value is the guest's, and any value can be in it.
 */
#ifndef VMOP_HV_INTERFACE_BPF_GUEST_KERNEL_BPF_H
#define VMOP_HV_INTERFACE_BPF_GUEST_KERNEL_BPF_H

#include "hv-interface/bpf/guest-memory.bpf.h"
#include "hv-interface/bpf/machine.bpf.h"
#if defined(__TARGET_ARCH_x86)
#include "hv-interface/bpf/guest-x86.bpf.h"
#else
#include "hv-interface/bpf/guest-arm64.bpf.h"
#endif

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

/* Set *ret to the base of a CPU's data in the guest's kernel. */
static __always_inline int find_per_cpu(struct guest_work *work, uint32_t cpu, uint64_t *ret)
{
	struct kept_facts *kept = &work->kept;
	if (!kept->per_cpu || kept->per_cpu_of != cpu) {
		int gap = read_guest(work->numbers.per_cpu_offsets + cpu * sizeof(uint64_t), 8);
		if (gap)
			return gap;
		kept->per_cpu = work->words[0];
		kept->per_cpu_of = cpu;
	}
	*ret = kept->per_cpu;
	return 0;
}

/*
 * Find the current task: a register has it, or the CPU's data, whose base is per_cpu, or 0: that of
 * the CPU whose number is the vCPU's rank. Linux numbers CPUs as it finds them, in the order in
 * which a VMM makes its vCPUs; KVM's number is the id of a local APIC, which may leave numbers out.
 */
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
	if (work->task) {
		context->task = work->task;
		return 0;
	}
	if (!(per_cpu >> 63)) {
		/* A kernel's register is there. The memory of one that a reset has ended is there,
		 * too. */
		if (HOST.virtualisation == VMOP_BPF_SVM && !(context->parts & VMOP_GUEST_IS_USER))
			return VMOP_GUEST_GAP_BOOT;
		if (!numbers->per_cpu_offsets || work->kept.vcpu_idx >= numbers->n_cpus)
			return VMOP_GUEST_GAP_NO_TASK;
		gap = find_per_cpu(work, work->kept.vcpu_idx, &per_cpu);
		if (gap)
			return gap;
	}
	work->per_cpu = per_cpu;
	gap = read_guest(per_cpu + numbers->current_in_per_cpu, 8);
	if (gap)
		return gap;
	context->task = work->words[0];
	return context->task >> 63 ? 0 : VMOP_GUEST_GAP_NO_TASK;
}

/* Fill the context with what a thread's group leader has. */
static __always_inline int read_leader(struct guest_work *work, struct vmop_guest_context *context,
				       uint64_t leader)
{
	const struct vmop_guest_numbers *numbers = &work->numbers;
	const struct vmop_bpf_span *span = &work->spans.task;
	uint64_t comm[2];
	if (!(leader >> 63))
		return VMOP_GUEST_GAP_NO_TASK;
	int gap = leader == context->task ? 0 : read_span(leader, span);
	if (!gap)
		gap = member(work, leader, span, numbers->task_start_time, &context->start_time_ns);
	if (!gap)
		gap = member(work, leader, span, numbers->task_comm, &comm[0]);
	if (!gap)
		gap = member(work, leader, span, numbers->task_comm + 8, &comm[1]);
	__builtin_memcpy(context->comm, comm, sizeof(comm));
	return gap;
}

/* Fill the context with what context->task and its group leader have. */
__attribute__((noinline)) int read_task(void)
{
	struct guest_work *work = guest_work();
	if (!work)
		return VMOP_GUEST_GAP_NO_TASK;
	struct vmop_guest_context *context = context_of(work);
	const struct vmop_guest_numbers *numbers = &work->numbers;
	const struct vmop_bpf_span *span = &work->spans.task;
	uint64_t task = context->task, tid, pid, leader;
	int gap = read_span(task, span);
	if (!gap)
		gap = member(work, task, span, numbers->task_pid, &tid);
	if (!gap)
		gap = member(work, task, span, numbers->task_tgid, &pid);
	if (!gap)
		gap = member(work, task, span, numbers->task_group_leader, &leader);
	work->task_mm = 0;
	if (!gap && is_known(numbers->task_mm))
		gap = member(work, task, span, numbers->task_mm, &work->task_mm);
	if (!gap)
		gap = read_leader(work, context, leader);
	if (gap)
		return gap;
	context->tid = (uint32_t)tid;
	context->pid = (uint32_t)pid;
	context->parts |= VMOP_GUEST_HAS_TASK;
	return 0;
}

/* Set *ret to the page table of a process. */
static __always_inline int read_root(struct guest_work *work, uint64_t mm, uint64_t *ret)
{
	struct kept_facts *kept = &work->kept;
	int gap = read_guest(mm + work->numbers.mm_pgd, 8);
	if (!gap)
		gap = translate(work, work->words[0]);
	if (gap)
		return gap;
	kept->mm = mm;
	*ret = kept->mm_root = work->gpa & ROOT_ADDRESS;
	return 0;
}

/* Find the page table of the task's process, where the vCPU's register can't be read. */
static __always_inline int find_page_table(struct guest_work *work,
					   struct vmop_guest_context *context)
{
	if (!is_known(work->numbers.task_mm) || !is_known(work->numbers.mm_pgd))
		return VMOP_GUEST_GAP_NO_REGISTERS;
	if (!(work->task_mm >> 63))
		return VMOP_GUEST_GAP_NO_TASK; /* a kernel thread */
	int gap = read_root(work, work->task_mm, &context->page_table);
	if (!gap)
		context->parts |= VMOP_GUEST_HAS_PAGE_TABLE;
	return gap;
}

/*
 * Compare the vCPU's page table with that of the task's process. They always agree for user code: a
 * task with another one is not the vCPU's. The kernel's code switches the page table before the
 * task, and uses others for moments. Kernel threads use any.
 */
static __always_inline int check_page_table(struct guest_work *work,
					    struct vmop_guest_context *context)
{
	const struct kept_facts *kept = &work->kept;
	uint64_t mm = work->task_mm, root = 0;
	if (!is_known(work->numbers.task_mm) || !is_known(work->numbers.mm_pgd))
		return 0;
	if (mm && mm == kept->mm && !((kept->mm_root ^ context->page_table) & KERNEL_HALF))
		return 0;
	if (!(mm >> 63))
		return context->parts & VMOP_GUEST_IS_USER ? VMOP_GUEST_GAP_OTHER_TASK : 0;
	int gap = read_root(work, mm, &root);
	if (gap || !((root ^ context->page_table) & KERNEL_HALF))
		return gap;
	if (context->parts & VMOP_GUEST_IS_USER)
		return VMOP_GUEST_GAP_OTHER_TASK;
	context->page_table = root;
	context->parts |= VMOP_GUEST_IS_SWITCHING;
	return 0;
}

/*
 * Find or check the page table of the process whose task was found. is_by_rank: the task is that of
 * a CPU's number, which may be wrong.
 */
__attribute__((noinline)) int compare_page_table(uint32_t is_by_rank)
{
	struct guest_work *work = guest_work();
	if (!work)
		return VMOP_GUEST_GAP_NO_TASK;
	struct vmop_guest_context *context = context_of(work);
	if (!(context->parts & VMOP_GUEST_HAS_PAGE_TABLE))
		return find_page_table(work, context);
	if (context->parts & VMOP_GUEST_IS_USER && !is_by_rank)
		return 0;
	int gap = check_page_table(work, context);
	if (gap == VMOP_GUEST_GAP_OTHER_TASK)
		context->parts &= ~VMOP_GUEST_HAS_TASK;
	return gap;
}

/* Set *ret to the first struct page of a page's folio, and read it. */
static __always_inline int read_folio(struct guest_work *work, uint64_t page, uint64_t *ret)
{
	const struct vmop_guest_numbers *numbers = &work->numbers;
	const struct vmop_bpf_span *span = &work->spans.page;
	uint64_t word = 0;
	*ret = page;
	int gap = read_span(page, span);
	if (!gap && is_known(numbers->page_compound_head))
		gap = member(work, page, span, numbers->page_compound_head, &word);
	if (gap || !(word & 1))
		return gap;
	*ret = numbers->page_compound_is_mask ? page & word : word - 1;
	return read_span(*ret, span);
}

/*
 * Read the inode of context->mapping together with the mapping, which is mostly a part of it.
 * Return the inode's address, or 0: the mapping refers to another one.
 */
static __always_inline uint64_t guess_inode(struct guest_work *work, uint64_t mapping)
{
	const struct vmop_bpf_span *span = &work->spans.inode;
	uint32_t mapping_in_inode = work->kept.mapping_in_inode;
	uint32_t host = mapping_in_inode + work->numbers.mapping_host - span->first;
	uint64_t inode = mapping - mapping_in_inode, owner = 0;
	if (!mapping_in_inode || !span->bytes || host < span->bytes || host > READ_MAX - 8)
		return 0;
	if (read_guest(inode + span->first, host + 8))
		return 0;
	member(work, inode, span, span->first + host, &owner);
	return owner == inode ? inode : 0;
}

/* Read the mapping, and then its inode. */
static __always_inline int find_inode(struct guest_work *work, uint64_t mapping, uint64_t *ret)
{
	int gap = read_guest(mapping + work->numbers.mapping_host, 8);
	if (gap)
		return gap;
	*ret = work->words[0];
	work->kept.mapping_in_inode = mapping - *ret < READ_MAX ? (uint32_t)(mapping - *ret) : 0;
	return read_span(*ret, &work->spans.inode);
}

/* Fill the context with the inode of context->mapping. */
static __always_inline int read_inode(struct guest_work *work, struct vmop_guest_context *context)
{
	const struct vmop_guest_numbers *numbers = &work->numbers;
	const struct vmop_bpf_span *span = &work->spans.inode;
	uint64_t inode = guess_inode(work, context->mapping), generation = 0;
	int gap = inode ? 0 : find_inode(work, context->mapping, &inode);
	if (!gap)
		gap = member(work, inode, span, numbers->inode_number, &context->inode_number);
	if (!gap)
		gap = member(work, inode, span, numbers->inode_superblock, &context->superblock);
	if (!gap)
		gap = member(work, inode, span, numbers->inode_generation, &generation);
	if (gap)
		return gap;
	context->inode_generation = (uint32_t)generation;
	context->inode = inode;
	context->parts |= VMOP_GUEST_HAS_INODE;
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
	const struct vmop_bpf_span *span = &work->spans.page;
	uint64_t bytes = numbers->page_bytes, folio;
	if (!numbers->vmemmap || !bytes || !is_known(numbers->page_mapping) ||
	    !is_known(numbers->page_index))
		return VMOP_GUEST_GAP_UNKNOWN_KERNEL;
	uint64_t page = numbers->vmemmap + (context->gpa >> (numbers->page_shift & 63)) * bytes;
	work->area = PAGE_AREA;
	int gap = read_folio(work, page, &folio);
	work->area = TASK_AREA;
	if (!gap)
		gap = member(work, folio, span, numbers->page_mapping, &context->mapping);
	if (!gap)
		gap = member(work, folio, span, numbers->page_index, &context->index);
	if (gap)
		return gap;
	if (folio != page)
		context->index += (page - folio) / bytes;
	context->parts |= VMOP_GUEST_HAS_PAGE;
	/* Anonymous memory, and pages of no file, have no inode. */
	return !context->mapping || context->mapping & MAPPING_FLAGS ||
			       !is_known(numbers->mapping_host)
		       ? 0
		       : read_inode(work, context);
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
	if (!is_known(numbers->entry_regs_end) || is_entering(context, at))
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
	uint64_t sp, end = stack + size;
	if (wanted > VMOP_GUEST_KERNEL_WINDOW_MAX)
		wanted = VMOP_GUEST_KERNEL_WINDOW_MAX;
	if (!find_stack_start(context, &sp)) {
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
