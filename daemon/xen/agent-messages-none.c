// SPDX-License-Identifier: GPL-2.0-or-later
/* Without libxenstore at the build: every function fails or does nothing. */
#include "daemon/xen/agent-messages.h"

struct vmop_error *vmop_agent_messages_open(unsigned round_ms, struct vmop_agent_messages **ret)
{
	(void)round_ms;
	(void)ret;
	return vmop_error_new(VMOP_ERROR_CANT,
			      "active domains: vmop was built without libxenstore (libxen-dev)");
}

void vmop_agent_messages_close(struct vmop_agent_messages *messages)
{
	(void)messages;
}

void vmop_agent_messages_hurry(struct vmop_agent_messages *messages, bool is_on)
{
	(void)messages;
	(void)is_on;
}

const struct vmop_active_opener *vmop_agent_messages_opener(struct vmop_agent_messages *messages)
{
	(void)messages;
	return NULL;
}

const struct vmop_active_opener *
vmop_agent_messages_window_opener(struct vmop_agent_messages *messages)
{
	return vmop_agent_messages_opener(messages);
}

struct vmop_error *vmop_agent_messages_own(struct vmop_agent_messages *messages,
					   struct vmop_active_store **ret)
{
	(void)messages;
	(void)ret;
	return vmop_error_new(VMOP_ERROR_CANT, "vmop was built without libxenstore (libxen-dev)");
}

struct vmop_error *vmop_agent_messages_own_window(struct vmop_agent_messages *messages,
						  struct vmop_active_store **ret)
{
	return vmop_agent_messages_own(messages, ret);
}
