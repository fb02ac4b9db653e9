// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading the code of a guest's kernel and of its processes by virtual addresses. */
#include "libguest/guest-internal.h"
#include "libguest/kernel/kernel.h"
#include "libguest/memory/memory.h"
#include "libguest/tasks/processes.h"

bool vmop_guest_read_kernel(struct vmop_guest *guest, uint64_t address, void *buf, size_t len_bytes)
{
	if (!guest->kernel || !vmop_guest_space_is_kernel(&guest->kernel->space, address))
		return false;
	struct vmop_guest_space *space = &guest->kernel->space;
	vmop_guest_begin(guest, VMOP_GUEST_CALL_BYTES, VMOP_GUEST_CALL_STEPS);
	bool is_read = vmop_guest_space_read(space, address, buf, len_bytes);
	vmop_guest_space_take_fault(space);
	vmop_guest_end(guest);
	return is_read;
}

/* Read memory of a process by the page table that it has now. The budget is that of the call. */
static bool read_process(struct vmop_guest *guest, uint64_t leader, uint64_t address, void *buf,
			 size_t len_bytes)
{
	struct vmop_guest_space space;
	uint64_t pgd_gpa = vmop_guest_processes_page_table(guest->kernel, &guest->layout, leader);
	if (!pgd_gpa)
		return false;
	vmop_guest_space_init(&space, guest->memory, &guest->budget,
			      vmop_paging_of_user(&guest->kernel->space.paging, pgd_gpa));
	return vmop_guest_space_read(&space, address, buf, len_bytes) &&
	       vmop_guest_processes_page_table(guest->kernel, &guest->layout, leader) == pgd_gpa;
}

bool vmop_guest_read_process(struct vmop_guest *guest, uint64_t task, uint32_t pid,
			     uint64_t start_time_ns, uint64_t address, void *buf, size_t len_bytes)
{
	if (!guest->kernel || vmop_guest_space_is_kernel(&guest->kernel->space, address))
		return false;
	vmop_guest_begin(guest, VMOP_GUEST_CALL_BYTES, VMOP_GUEST_CALL_STEPS);
	uint64_t leader = vmop_guest_processes_leader(guest->kernel, &guest->layout, task, pid,
						      start_time_ns);
	/* The tables of a process that ended meanwhile may be another's. */
	bool is_read = leader && read_process(guest, leader, address, buf, len_bytes) &&
		       vmop_guest_processes_leader(guest->kernel, &guest->layout, task, pid,
						   start_time_ns) == leader;
	vmop_guest_end(guest);
	return is_read;
}
