// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/tasks/numbers.h"

#include "libguest/kernel/kernel.h"
#include "libguest/kernel/layout.h"
#include "libguest/memory/memory.h"
#include "libguest/tasks/processes.h"
#include "libguest/tasks/threads.h"
#include "libutil/error.h"
#include "vmop/guest-numbers.h"

/* arch/x86/include/asm/thread_info.h: TOP_OF_KERNEL_STACK_PADDING with CONFIG_X86_FRED */
#define FRED_PADDING_BYTES 16u

/* arch/arm64/include/uapi/asm/ptrace.h: struct user_pt_regs */
#define ARM64_USER_REGS_BYTES (34u * 8)

static uint32_t offset(const struct vmop_layout *layout, enum vmop_layout_field field)
{
	return vmop_layout_has(layout, field) ? vmop_layout_value(layout, field)
					      : VMOP_GUEST_NO_OFFSET;
}

static void find_offsets(const struct vmop_layout *layout, struct vmop_guest_numbers *ret)
{
	ret->page_compound_head = offset(layout, VMOP_LAYOUT_PAGE_COMPOUND_HEAD);
	if (ret->page_compound_head == VMOP_GUEST_NO_OFFSET)
		ret->page_compound_head = offset(layout, VMOP_LAYOUT_PAGE_COMPOUND_INFO);
	ret->page_mapping = offset(layout, VMOP_LAYOUT_PAGE_MAPPING);
	ret->page_index = offset(layout, VMOP_LAYOUT_PAGE_INDEX);
	if (ret->page_index == VMOP_GUEST_NO_OFFSET)
		ret->page_index = offset(layout, VMOP_LAYOUT_FOLIO_INDEX);
	ret->mapping_host = offset(layout, VMOP_LAYOUT_MAPPING_HOST);
	ret->inode_number = offset(layout, VMOP_LAYOUT_INODE_NUMBER);
	ret->inode_superblock = offset(layout, VMOP_LAYOUT_INODE_SUPER);
	ret->inode_generation = offset(layout, VMOP_LAYOUT_INODE_GENERATION);
	ret->task_pid = offset(layout, VMOP_LAYOUT_TASK_PID);
	ret->task_tgid = offset(layout, VMOP_LAYOUT_TASK_TGID);
	ret->task_group_leader = offset(layout, VMOP_LAYOUT_TASK_LEADER);
	ret->task_comm = offset(layout, VMOP_LAYOUT_TASK_COMM);
	ret->task_start_time = offset(layout, VMOP_LAYOUT_TASK_START);
	ret->task_stack = offset(layout, VMOP_LAYOUT_TASK_STACK);
	ret->task_mm = offset(layout, VMOP_LAYOUT_TASK_MM);
	ret->mm_pgd = offset(layout, VMOP_LAYOUT_MM_PGD);
}

/*
 * Find the map of all RAM, from the first byte of RAM to the last. Addresses behind it are mapped
 * later (memory that is added), or belong to something else (vmalloc).
 */
static void find_direct_map(struct vmop_guest_kernel *kernel, struct vmop_guest_numbers *ret)
{
	uint64_t base, start, end, vmalloc = vmop_guest_kernel_symbol(kernel, "vmalloc_base");
	bool is_x86 = kernel->space.paging.arch == VMOP_PAGING_X86_64;
	if (!vmop_guest_kernel_direct_map(kernel, &base) ||
	    !vmop_guest_memory_range(kernel->space.memory, &start, &end))
		return;
	vmalloc = is_x86 && vmalloc ? vmop_guest_space_u64(&kernel->space, vmalloc) : 0;
	if (is_x86)
		start = 0;
	ret->direct_map = base + start;
	ret->direct_map_gpa = start;
	ret->direct_map_bytes = end - start;
	if (vmalloc > base && vmalloc - base < ret->direct_map_bytes)
		ret->direct_map_bytes = vmalloc - base;
}

/*
 * Find struct page's numbers. Where the page structs of huge pages may be shared between pages, the
 * word of a tail page is a mask from the kernel on that names it compound_info (include/linux/
 * page-flags.h: compound_info_has_mask).
 */
static void find_page_structs(struct vmop_guest_kernel *kernel, const struct vmop_layout *layout,
			      struct vmop_guest_numbers *ret)
{
	if (!vmop_layout_has(layout, VMOP_LAYOUT_PAGE_SIZE))
		return;
	ret->page_bytes = vmop_layout_value(layout, VMOP_LAYOUT_PAGE_SIZE);
	ret->vmemmap = ret->page_bytes ? vmop_guest_kernel_page_structs(kernel) : 0;
	ret->page_compound_is_mask =
		vmop_layout_has(layout, VMOP_LAYOUT_PAGE_COMPOUND_INFO) &&
		(ret->page_bytes & (ret->page_bytes - 1)) == 0 &&
		vmop_guest_kernel_symbol(kernel, "hugetlb_vmemmap_optimize_folios");
}

static uint64_t irq_stack_address(const struct vmop_guest_kernel *kernel,
				  const struct vmop_layout *layout)
{
	uint64_t hot = vmop_guest_kernel_symbol(kernel, "pcpu_hot");
	if (kernel->space.paging.arch == VMOP_PAGING_ARM64)
		return 0;
	if (hot && vmop_layout_has(layout, VMOP_LAYOUT_PCPU_HOT_IRQ_STACK))
		return hot + vmop_layout_value(layout, VMOP_LAYOUT_PCPU_HOT_IRQ_STACK);
	return vmop_guest_kernel_symbol(kernel, "hardirq_stack_ptr");
}

static void find_paging(const struct vmop_paging *kernel, struct vmop_guest_numbers *ret)
{
	for (uint64_t bytes = vmop_paging_page_bytes(kernel); bytes > 1; bytes /= 2)
		ret->page_shift++;
	ret->kernel_va_bits = (uint8_t)kernel->va_bits;
	ret->user_va_bits = (uint8_t)vmop_paging_of_user(kernel, 0).va_bits;
}

/*
 * Return the bytes from the registers of user code to the end of the stack, or
 * VMOP_GUEST_NO_OFFSET. arm64's struct pt_regs goes on after them
 * (arch/arm64/include/asm/ptrace.h).
 */
static uint32_t entry_regs_end(const struct vmop_guest_kernel *kernel,
			       const struct vmop_layout *layout)
{
	if (kernel->space.paging.arch == VMOP_PAGING_ARM64) {
		uint32_t bytes = offset(layout, VMOP_LAYOUT_PT_REGS_BYTES);
		return bytes < ARM64_USER_REGS_BYTES || bytes == VMOP_GUEST_NO_OFFSET
			       ? VMOP_GUEST_NO_OFFSET
			       : bytes - ARM64_USER_REGS_BYTES;
	}
	return vmop_guest_kernel_symbol(kernel, "asm_fred_entrypoint_user") ? FRED_PADDING_BYTES
									    : 0;
}

struct vmop_error *vmop_guest_numbers_find(struct vmop_guest_kernel *kernel,
					   const struct vmop_layout *layout,
					   struct vmop_guest_numbers *ret)
{
	*ret = (struct vmop_guest_numbers){.kernel_page_table_gpa = kernel->info.root_gpa};
	if (!vmop_layout_has_processes(layout))
		return vmop_error_new(VMOP_ERROR_NOT_FOUND,
				      "kernel %s has no BTF, and no profile was given for it",
				      kernel->info.release);
	find_offsets(layout, ret);
	find_paging(&kernel->space.paging, ret);
	/* A part whose numbers cannot be read stays 0. */
	find_direct_map(kernel, ret);
	vmop_guest_space_take_fault(&kernel->space);
	find_page_structs(kernel, layout, ret);
	if (vmop_guest_space_take_fault(&kernel->space))
		ret->vmemmap = 0;
	ret->per_cpu_offsets = vmop_guest_kernel_symbol(kernel, "__per_cpu_offset");
	ret->current_in_per_cpu = vmop_guest_processes_current_address(kernel, layout);
	ret->irq_stack_in_per_cpu = irq_stack_address(kernel, layout);
	ret->n_cpus = kernel->info.cpus;
	ret->stack_bytes = vmop_guest_stack_bytes(kernel);
	ret->entry_regs_end = entry_regs_end(kernel, layout);
	return NULL;
}
