// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory of a guest's processes. */
#include "libguest/guest-internal.h"
#include "libguest/memory/memory.h"
#include "libguest/memory/page-table.h"

/* More than any kernel's has. */
#define VDSO_MAX_BYTES UINT64_C(0x20000)

bool vmop_guest_read_user(struct vmop_guest *guest, uint64_t pgd_gpa, uint64_t address, void *buf,
			  size_t len_bytes)
{
	if (!guest->kernel || vmop_guest_space_is_kernel(&guest->kernel->space, address))
		return false;
	vmop_guest_begin(guest, VMOP_GUEST_CALL_BYTES + len_bytes, VMOP_GUEST_CALL_STEPS);
	struct vmop_guest_space space;
	vmop_guest_space_init(&space, guest->memory, &guest->budget,
			      vmop_paging_of_user(&guest->kernel->space.paging, pgd_gpa));
	bool read = vmop_guest_space_read(&space, address, buf, len_bytes);
	vmop_guest_end(guest);
	return read;
}

/* Set *ret to where the first byte of a vDSO is, by the first of its pages that is present. */
static bool find_vdso(struct vmop_guest_space *space, uint64_t start, uint64_t end, uint64_t *ret)
{
	for (uint64_t at = start; at < end; at += VMOP_GUEST_PAGE_BYTES) {
		if (vmop_guest_space_translate(space, at, ret, NULL)) {
			*ret -= at - start;
			return true;
		}
	}
	return false;
}

bool vmop_guest_read_vdso(struct vmop_guest *guest, uint64_t pgd_gpa, uint64_t start, uint64_t end,
			  uint64_t offset, void *buf, size_t len_bytes)
{
	struct vmop_guest_space space;
	uint64_t size = end - start, gpa;
	if (!guest->kernel || vmop_guest_space_is_kernel(&guest->kernel->space, start) ||
	    end < start || size > VDSO_MAX_BYTES || offset > size || len_bytes > size - offset)
		return false;
	vmop_guest_begin(guest, VMOP_GUEST_CALL_BYTES + len_bytes, VMOP_GUEST_CALL_STEPS);
	vmop_guest_space_init(&space, guest->memory, &guest->budget,
			      vmop_paging_of_user(&guest->kernel->space.paging, pgd_gpa));
	bool is_read = vmop_guest_space_read(&space, start + offset, buf, len_bytes) ||
		       (find_vdso(&space, start, end, &gpa) &&
			vmop_guest_memory_read(guest->memory, gpa + offset, buf, len_bytes));
	vmop_guest_end(guest);
	return is_read;
}
