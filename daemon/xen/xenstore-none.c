// SPDX-License-Identifier: GPL-2.0-or-later
/* Without libxenstore at the build: every function fails or does nothing. */
#include "daemon/xen/xenstore.h"

struct vmop_error *vmop_xenstore_open(struct vmop_xenstore **ret)
{
	(void)ret;
	return vmop_error_new(VMOP_ERROR_CANT, "vmop was built without libxenstore (libxen-dev)");
}

void vmop_xenstore_close(struct vmop_xenstore *store)
{
	(void)store;
}

struct vmop_xenstore_listing *vmop_xenstore_take(struct vmop_xenstore *store)
{
	(void)store;
	return NULL;
}

unsigned vmop_xenstore_silent_s(struct vmop_xenstore *store)
{
	(void)store;
	return 0;
}
