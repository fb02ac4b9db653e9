// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The state of guests.h, open to the files that implement it: guests.c, images.c, context/ and
 * off-cpu/.
 */
#ifndef VMOP_DAEMON_GUEST_WATCHED_H
#define VMOP_DAEMON_GUEST_WATCHED_H

#include "daemon/guest/attribution.h"
#include "daemon/guest/context/files.h"
#include "daemon/guest/context/processes.h"
#include "daemon/guest/context/states.h"
#include "daemon/guest/domain.h"
#include "daemon/guest/guest-sample.h"
#include "daemon/guest/held-samples.h"
#include "daemon/guest/off-cpu/batch.h"
#include "daemon/guest/stacks/sample-unwinder.h"
#include "daemon/guest/tasks.h"
#include "daemon/guest/view.h"
#include "daemon/guest/watch.h"
#include "daemon/host/code/code-store.h"
#include "daemon/host/jit/code-names.h"
#include "hv-interface/bpf/guest-maps.h"
#include "vmop/stack.h"

/* The sampling thread's state of one watched guest. */
struct vmop_watched_guest {
	struct vmop_guest_view *view;		    /* NULL: none yet */
	uint64_t begun_ns;			    /* CLOCK_MONOTONIC: when watching began */
	uint32_t code_generation, tasks_generation; /* of the last view */
	bool lacks_symbols; /* the kernel was known before the session, and its symbols come */
	struct vmop_guest_tasks_table tasks;
	struct vmop_guest_attributor attributor; /* by view */
	/* The mapping of the last look-up and its image, valid for tasks_generation. */
	const struct vmop_guest_vma *last_vma;
	struct vmop_image *last_image;

	/* With contexts. */
	uint64_t put_generation; /* of the numbers that guest_maps has; 0: none */
	uint32_t vmm_pid;	 /* under which it has them */
	struct vmop_guest_files files;
	struct vmop_guest_processes processes;
	struct vmop_guest_sample_unwinder *unwinder; /* NULL: no stacks */
	uint64_t vdso_gpa;			     /* of the vDSO's first page; 0: not known */
	uint64_t lost_ns; /* CLOCK_MONOTONIC: when a file was last looked for too late; 0: never */
	uint64_t vdso_generation; /* of the kernel that vdso_gpa is of */
	/* Samples in this interval: with the guest's task, and without one by the reason. */
	uint64_t n_with_task, n_without_context, n_by_gap[VMOP_GUEST_N_GAPS];

	unsigned n_code_requests; /* in this interval */

	/* With --off-cpu. */
	struct vmop_blocked_facts blocked; /* of the last take */
	bool has_all_blocked;		   /* they were taken after the guest ended */
};

struct vmop_guests {
	struct vmop_domains *domains;
	struct vmop_images *images;
	struct vmop_tasks *tasks;
	struct vmop_guest_watch *watch;
	struct vmop_held_samples held;
	bool is_ending;
	uint64_t n_symbols_unread; /* files, when the session ended */
	uint64_t begun_ns;	   /* CLOCK_MONOTONIC */
	bool has_own_numbers; /* maps has no numbers of a session before but of watched guests */

	struct vmop_guest_maps *maps; /* NULL: no contexts are captured */
	struct vmop_stack_options stacks;
	struct vmop_code_names code_names; /* of generated code */
	struct vmop_code_store *code;	   /* NULL: no code is stored */
	struct vmop_guest_callers unwound; /* of the present sample */
	bool has_unwound;
	struct vmop_stack_frames frames; /* of the sample that is released */
	struct vmop_guest_states states; /* with stacks */

	bool has_blocked;	   /* blocked threads are sampled (--off-cpu) */
	uint64_t n_blocked_missed; /* rounds, of all guests */
	uint64_t n_blocked_refused, n_blocked_torn;
	struct vmop_guest_blocked present; /* the one that is released */
};

#endif
