// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/time/stops.h"

#include <inttypes.h>
#include <stdio.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/error.h"
#include "libutil/io.h"

/* A stop that is noticed. */
#define STOP_NS (500 * VMOP_NS_PER_MS)

static bool read_delay(uint64_t *ret)
{
	_cleanup_free_ char *text = NULL;
	uint64_t run_ns;
	struct vmop_error *err = vmop_io_read_file("/proc/self/schedstat", 256, &text, NULL);
	bool is_read = !err && sscanf(text, "%" SCNu64 " %" SCNu64, &run_ns, ret) == 2;
	vmop_error_destroy(err);
	return is_read;
}

bool vmop_stat_accounts_read(struct vmop_stat_accounts *ret)
{
	ret->now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	return vmop_machine_time_read(&ret->machine) && read_delay(&ret->delay_ns);
}

static uint64_t accounted_ns(const struct vmop_machine_time *machine)
{
	return machine->busy_ns + machine->steal_ns + machine->idle_ns;
}

/*
 * Return the time for which the CPUs were neither busy, idle nor stolen. The kernel counts busy
 * time by ticks, and there are none while the machine stands still. A CPU that was idle then has
 * that time as idle.
 */
static uint64_t missing_ns(const struct vmop_stat_accounts *before,
			   const struct vmop_stat_accounts *after)
{
	uint32_t n_cpus = after->machine.n_cpus;
	if (before->machine.n_cpus != n_cpus)
		return 0;
	return vmop_clock_between_ns(accounted_ns(&after->machine) - accounted_ns(&before->machine),
				     vmop_clock_between_ns(before->now_ns, after->now_ns) * n_cpus);
}

uint64_t vmop_stat_stop_between(const struct vmop_stat_accounts *before,
				const struct vmop_stat_accounts *after, uint64_t late_ns)
{
	uint64_t steal_ns =
		vmop_clock_between_ns(before->machine.steal_ns, after->machine.steal_ns);
	uint64_t delay_ns = vmop_clock_between_ns(before->delay_ns, after->delay_ns);
	uint64_t unexplained_ns = vmop_clock_between_ns(delay_ns + steal_ns, late_ns);
	if (unexplained_ns > STOP_NS)
		return unexplained_ns;
	/* If this program waited for a CPU when the machine stopped, its wait explains all. */
	uint64_t missing = missing_ns(before, after);
	if (missing <= STOP_NS || late_ns <= STOP_NS)
		return 0;
	return missing < late_ns ? missing : late_ns;
}
