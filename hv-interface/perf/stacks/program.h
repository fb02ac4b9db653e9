// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The BPF program of the plan's events, with the parts that the machine permits (bpf/program.h).
 */
#ifndef VMOP_HV_INTERFACE_PERF_STACKS_PROGRAM_H
#define VMOP_HV_INTERFACE_PERF_STACKS_PROGRAM_H

#include <stdbool.h>

#include "hv-interface/bpf/program.h"
#include "libutil/error.h"

struct vmop_perf_program {
	struct vmop_bpf_program *bpf; /* NULL: no part is used */
	bool unwinds;		      /* the host's user stacks */
	bool captures_guests;	      /* contexts of guests' samples */
	/* The reason why a part is not used that was wanted; NULL: it is used, or not wanted. */
	char *no_unwinding, *no_guests;
};

/*
 * Load the program with the wanted parts. *program must be empty; free it with
 * vmop_perf_program_deinit, also after an error. The only error is lack of memory: parts that the
 * machine refuses are left out with a reason.
 */
struct vmop_error *vmop_perf_program_load(struct vmop_perf_program *program, bool unwinds,
					  bool captures_guests);
void vmop_perf_program_deinit(struct vmop_perf_program *program);

/* Do without a part, which may not have been wanted. reason: copied. */
struct vmop_error *vmop_perf_program_leave_unwinding(struct vmop_perf_program *program,
						     const char *reason);
struct vmop_error *vmop_perf_program_leave_guests(struct vmop_perf_program *program,
						  const char *reason);

#endif
