// SPDX-License-Identifier: GPL-2.0-or-later
/* The build without libbpf, or without a compiler of BPF programs: no run times. */
#include <stddef.h>

#include "hv-interface/bpf/run-time.h"

enum vmop_subtracts vmop_kernel_subtracts(void)
{
	return VMOP_SUBTRACTS_UNKNOWN;
}

struct vmop_error *vmop_run_time_create(const struct vmop_run_time_options *options,
					struct vmop_run_time **ret)
{
	(void)options;
	*ret = NULL;
	return vmop_error_new(VMOP_ERROR_CANT, "vmop was built without BPF programs");
}

void vmop_run_time_destroy(struct vmop_run_time *run_time)
{
	(void)run_time;
}

enum vmop_subtracts vmop_run_time_subtracts(const struct vmop_run_time *run_time)
{
	(void)run_time;
	return VMOP_SUBTRACTS_UNKNOWN;
}

struct vmop_error *vmop_run_time_read(struct vmop_run_time *run_time)
{
	(void)run_time;
	return NULL;
}

const struct vmop_run_time_task *vmop_run_time_tasks(const struct vmop_run_time *run_time,
						     size_t *ret_n)
{
	(void)run_time;
	*ret_n = 0;
	return NULL;
}

void vmop_run_time_facts(const struct vmop_run_time *run_time, struct vmop_run_time_facts *ret)
{
	(void)run_time;
	*ret = (struct vmop_run_time_facts){0};
}

bool vmop_run_time_own_steal(const struct vmop_run_time *run_time, uint64_t *ret_steal_ns)
{
	(void)run_time;
	(void)ret_steal_ns;
	return false;
}
