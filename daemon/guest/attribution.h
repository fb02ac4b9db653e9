// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whose a guest sample is: the rules, and nothing else.
 *
 * perf tells a guest sample's address and vCPU, and nothing of the guest's task.
 * What there is to go by is which processes map the address executable, and what the
 * vCPUs were seen to run before and after.  *Seen* below: by the reading of the
 * sample's vCPU that is nearest in time; *certain*: the readings before and after it
 * agree, on the process and on its page table, which execve(2) changes.
 *
 * | user sample                                               | it is                 |
 * |-----------------------------------------------------------|-----------------------|
 * | one process maps the address, and is seen, for certain    | its, EXACT            |
 * | one of several that map it is seen; or the one, not for   |                       |
 * | certain                                                   | its, LIKELY           |
 * | seen for certain is a process that no list knows (it      |                       |
 * | began and ended between two)                              | nobody's, EXACT       |
 * | one process maps it, and another, or nothing, is seen     | its, LIKELY           |
 * | the same, and what is seen no list knows                  | its, AMBIGUOUS        |
 * | several map it, and readings of the last seconds show     | of the one seen most  |
 * | some of them, on this vCPU or else on another             | often, AMBIGUOUS      |
 * | several map it, none was ever seen, and all of them map   |                       |
 * | one file there                                            | the file's, LIKELY    |
 * | the same, with different files                            | nobody's, AMBIGUOUS   |
 * | none maps it                                              | nobody's, EXACT       |
 *
 * | kernel sample (its image is always exact)                 |                       |
 * |-----------------------------------------------------------|-----------------------|
 * | a task is seen for certain                                | its, LIKELY           |
 * | a task is seen                                            | its, AMBIGUOUS        |
 * | none is seen, or one that no list knows                   | nobody's, EXACT       |
 *
 * Lists are the newest one and the one before it, so that a process that ended since
 * the sample is found.  EXACT is what two independent readings agree on.  A program
 * that began and ended between two readings can still pass for another at the same
 * address; only registers taken with the sample exclude that.
 */
#ifndef VMOP_DAEMON_GUEST_ATTRIBUTION_H
#define VMOP_DAEMON_GUEST_ATTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/guest/view.h"
#include "vmop/domain.h"

/* Who maps a page of addresses executable, by the newest of a view's lists that knows anybody. */
struct vmop_guest_page {
	uint64_t number; /* address / 4096 */
	int32_t vcpu;
	uint32_t n_owners;
	const struct vmop_guest_process *owner; /* the first one; NULL: nobody */
	const struct vmop_guest_vma *vma;	/* its mapping */
	bool is_one_file; /* all of them map the same place of the same file there */
	bool has_vote;
	const struct vmop_guest_process *vote; /* of several, who was seen most; NULL: none was */
};

#define VMOP_GUEST_PLACER_PAGES 256

/* Remembers pages, because samples crowd in few of them. Zeroed: knows nothing. */
struct vmop_guest_placer {
	const struct vmop_guest_view *view; /* NULL: none */
	struct vmop_guest_page pages[VMOP_GUEST_PLACER_PAGES];
};

/* From here on by view (NULL is allowed), which must outlive its use. */
void vmop_guest_placer_take(struct vmop_guest_placer *placer, const struct vmop_guest_view *view);

struct vmop_guest_verdict {
	const struct vmop_guest_process *process; /* NULL: nobody, or it isn't known who */
	const struct vmop_guest_vma *vma;	  /* of user samples; NULL: not known */
	bool is_idle;				  /* kernel samples: the idle task */
	bool is_contested; /* different files are mapped there, and nobody of theirs was seen */
	enum vmop_certainty certainty;
};

/* vcpu: -1 not known. time_ns: CLOCK_MONOTONIC. */
struct vmop_guest_verdict vmop_guest_place_user(struct vmop_guest_placer *placer, int32_t vcpu,
						uint64_t time_ns, uint64_t address);
struct vmop_guest_verdict vmop_guest_place_kernel(const struct vmop_guest_placer *placer,
						  int32_t vcpu, uint64_t time_ns);

#endif
