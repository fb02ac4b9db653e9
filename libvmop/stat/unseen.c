// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/unseen.h"

#include <string.h>

/*
 * CPU time that the kernel accounts and the counters do not see, before it counts as missing: a
 * share, a floor, and the end of each task, which comes after its counters' (20 to 90 us each on a
 * PC, 500 us in a small virtual machine). A task's last switch is a voluntary one, so there are at
 * most as many tasks.
 */
#define UNSEEN_SHARE 0.05
#define UNSEEN_S 0.01
#define UNSEEN_S_PER_SWITCH 0.0006

/*
 * A task's end takes no page faults without its counters, but a program that starts takes 25 and
 * more. Pages that the kernel fetches for itself (mlock, O_DIRECT, the arguments and the
 * environment of execve) are in the usage only. n_faults is without those of the command's own
 * start, and missing faults prove nothing without missing CPU time.
 */
#define UNSEEN_FAULTS 10

enum { CLOCK, FAULTS, N_EVENTS };

struct vmop_error *vmop_stat_unseen_open(pid_t pid, struct vmop_stat_counts **ret)
{
	return vmop_stat_counts_open_process("task-clock,page-faults", pid, true, ret);
}

static bool has_unseen_time(const struct vmop_stat_command *command, double counted_s)
{
	double used_s = command->user_s + command->system_s;
	double at_ends_s = (double)command->n_switches * UNSEEN_S_PER_SWITCH;
	return counted_s < used_s * (1 - UNSEEN_SHARE) - UNSEEN_S - at_ends_s;
}

/* Return whether all of the page faults are counted, those in the kernel, too. */
static bool counts_all_faults(const struct vmop_stat_counts *witness)
{
	return !vmop_stat_counts_reason(witness, FAULTS) &&
	       strcmp(vmop_stat_counts_name(witness, FAULTS), "page-faults") == 0;
}

struct vmop_error *vmop_stat_unseen_check(struct vmop_stat_counts *witness,
					  const struct vmop_stat_command *command, bool *ret)
{
	struct vmop_stat_count counts[N_EVENTS];
	*ret = false;
	struct vmop_error *err = vmop_stat_counts_read(witness, counts);
	if (err || vmop_stat_counts_reason(witness, CLOCK) ||
	    !has_unseen_time(command, counts[CLOCK].value / 1e9))
		return err;
	*ret = !counts_all_faults(witness) ||
	       (double)command->n_faults - counts[FAULTS].value >= UNSEEN_FAULTS;
	return NULL;
}
