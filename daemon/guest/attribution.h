// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rules that find the process of a guest's sample that has no context: on Xen, on hosts whose
 * kernel captures none, and for guests whose kernel's numbers are not known.  Samples with a
 * context follow context/placement.h.
 *
 * Such a sample has an address and a vCPU, but not the guest's task.  The rules use two facts of
 * the view: which processes map the address executable, and what the vCPUs ran before and after the
 * sample.
 *
 * A process is *seen* if the reading of the sample's vCPU that is nearest in time shows it.  It is
 * seen *for certain* if the readings before and after the sample agree on the process and on its
 * page table, which execve(2) changes.
 *
 * | user sample                                               | process, certainty    |
 * |-----------------------------------------------------------|-----------------------|
 * | one process maps the address, and is seen for certain     | this one, EXACT       |
 * | one process maps it, and is seen, but not for certain     | this one, LIKELY      |
 * | several processes map it, and one of them is seen         | this one, LIKELY      |
 * | a process that no list has is seen for certain (it began  |                       |
 * | and ended between two lists)                              | none, EXACT           |
 * | one process maps it, and another one, or none, is seen    | this one, LIKELY      |
 * | one process maps it, and one that no list has is seen     | this one, AMBIGUOUS   |
 * | several map it, and readings of the last seconds show     | the one seen most     |
 * | some of them, on this vCPU or else on another             | often, AMBIGUOUS      |
 * | several map it, none was ever seen, and all of them map   |                       |
 * | one file there                                            | none, file LIKELY     |
 * | the same, with different files                            | none, AMBIGUOUS       |
 * | no process maps it                                        | none, EXACT           |
 *
 * | kernel sample (its image is always exact)                 | process, certainty    |
 * |-----------------------------------------------------------|-----------------------|
 * | a task is seen for certain                                | this one, LIKELY      |
 * | a task is seen                                            | this one, AMBIGUOUS   |
 * | no task is seen, or one that no list has                  | none, EXACT           |
 *
 * The lists are the newest snapshot and the one before it, so that a process that ended since the
 * sample is found.  EXACT means that two independent readings agree.  A program that began and
 * ended between two readings can still be mistaken for another at the same address; only a context
 * excludes that.
 *
 * | with a context (its kernel is that of the view)           | process, certainty    |
 * |-----------------------------------------------------------|-----------------------|
 * | kernel sample                                             | the context's, EXACT  |
 * | user sample                                               | the context's, and    |
 * |                                                           | as the place is known |
 */
#ifndef VMOP_DAEMON_GUEST_ATTRIBUTION_H
#define VMOP_DAEMON_GUEST_ATTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/guest/view.h"
#include "vmop/domain.h"

/* The processes that map a page executable, by the newest of a view's lists that has any. */
struct vmop_guest_page {
	uint64_t number; /* address / 4096 */
	int32_t vcpu;
	uint32_t n_owners;
	const struct vmop_guest_process *owner; /* the first one; NULL: none */
	const struct vmop_guest_vma *vma;	/* its mapping */
	bool is_one_file; /* all of them map the same offset of the same file there */
	bool has_vote;
	const struct vmop_guest_process *vote; /* of several, the one seen most; NULL: none was */
};

#define VMOP_GUEST_ATTRIBUTOR_PAGES 256

/* A cache of pages, because most samples are in few pages.  Call set_view before use. */
struct vmop_guest_attributor {
	const struct vmop_guest_view *view; /* NULL: none */
	struct vmop_guest_page pages[VMOP_GUEST_ATTRIBUTOR_PAGES];
};

/* Use view (NULL is allowed) from now on.  It must outlive its use. */
void vmop_guest_attributor_set_view(struct vmop_guest_attributor *attributor,
				    const struct vmop_guest_view *view);

struct vmop_guest_verdict {
	const struct vmop_guest_process *process; /* NULL: none, or it is not known */
	const struct vmop_guest_vma *vma;	  /* user samples: its mapping; NULL: not known */
	bool is_idle;				  /* kernel samples: the idle task */
	bool is_contested; /* different files are mapped there, and no process of them was seen */
	enum vmop_certainty certainty;
};

/*
 * Attribute a sample in user or kernel mode.  vcpu: -1 if it is not known.  time_ns:
 * CLOCK_MONOTONIC.  The pointers of the verdict are valid as long as the view.
 */
struct vmop_guest_verdict vmop_guest_attribute_user(struct vmop_guest_attributor *attributor,
						    int32_t vcpu, uint64_t time_ns,
						    uint64_t address);
struct vmop_guest_verdict
vmop_guest_attribute_kernel(const struct vmop_guest_attributor *attributor, int32_t vcpu,
			    uint64_t time_ns);

#endif
