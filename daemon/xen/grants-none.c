// SPDX-License-Identifier: GPL-2.0-or-later
/* Without libxengnttab at the build: nothing can be granted or mapped. */
#include "daemon/xen/grants.h"

static struct vmop_error *share(uint32_t refs[VMOP_WINDOW_PAGES], struct vmop_granted *ret)
{
	(void)refs;
	(void)ret;
	return vmop_error_new(VMOP_ERROR_CANT, "vmop was built without libxengnttab (libxen-dev)");
}

static struct vmop_error *map(uint32_t domain, const uint32_t refs[VMOP_WINDOW_PAGES],
			      struct vmop_granted *ret)
{
	(void)domain;
	(void)refs;
	(void)ret;
	return vmop_error_new(VMOP_ERROR_CANT, "vmop was built without libxengnttab (libxen-dev)");
}

static void nothing(struct vmop_granted *granted)
{
	(void)granted;
}

const struct vmop_grants_ops vmop_grants_ops = {share, nothing, map, nothing};
