// SPDX-License-Identifier: GPL-2.0-or-later
/* In place of runstate.c, in a build without Xen's libraries. */
#include "libvmop/stat/hypervisor/runstate.h"

struct vmop_error *vmop_hv_runstates_open(const struct vmop_hv *hv, struct vmop_hv_runstates **ret)
{
	(void)hv;
	*ret = NULL;
	return vmop_error_new(VMOP_ERROR_CANT, "this vmopstat was built without Xen's libraries");
}

void vmop_hv_runstates_close(struct vmop_hv_runstates *runstates)
{
	(void)runstates;
}

struct vmop_error *vmop_hv_describe_runstates(struct vmop_hv_runstates *runstates,
					      struct vmop_hv_report *report)
{
	(void)runstates, (void)report;
	return NULL;
}

struct vmop_error *vmop_hv_read_runstates(struct vmop_hv_runstates *runstates,
					  struct vmop_readings *readings)
{
	(void)runstates, (void)readings;
	return NULL;
}
