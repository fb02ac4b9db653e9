// SPDX-License-Identifier: GPL-2.0-or-later
/* Where libxenstore was not there when this was built. */
#include "daemon/xen/agent-messages.h"

struct vmop_error *vmop_active_mail_open(unsigned round_ms, struct vmop_active_mail **ret)
{
	(void)round_ms;
	(void)ret;
	return vmop_error_new(VMOP_ERROR_CANT,
			      "active domains: vmop was built without libxenstore (libxen-dev)");
}

void vmop_active_mail_close(struct vmop_active_mail *mail)
{
	(void)mail;
}

void vmop_active_mail_hurry(struct vmop_active_mail *mail, bool is_on)
{
	(void)mail;
	(void)is_on;
}

const struct vmop_active_opener *vmop_active_mail_opener(struct vmop_active_mail *mail)
{
	(void)mail;
	return NULL;
}

struct vmop_error *vmop_active_mail_own(struct vmop_active_mail *mail,
					struct vmop_active_store **ret)
{
	(void)mail;
	(void)ret;
	return vmop_error_new(VMOP_ERROR_CANT, "vmop was built without libxenstore (libxen-dev)");
}
