// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages between an initiator and the agent of each active domain, in the form of
 * hv-interface/active-message.h: lines in xenstore, in the only folder of a domain that the domain
 * may write.
 *
 *	/local/domain/ID/data/vmop/initiator
 *	/local/domain/ID/data/vmop/agent
 *
 * The lines by which they agree on a window (window-line.h) lie beside them. They wait while others
 * are hurried:
 *
 *	/local/domain/ID/data/vmop/fetch
 *	/local/domain/ID/data/vmop/window
 *
 * A thread writes and reads them several times a second, because libxenstore waits for ever if
 * xenstored hangs.  A line that is passed to a store is written a moment later; of several lines
 * only the latest is written.  A store returns the line that the thread read last.
 */
#ifndef VMOP_DAEMON_XEN_AGENT_MESSAGES_H
#define VMOP_DAEMON_XEN_AGENT_MESSAGES_H

#include "hv-interface/active-group.h"
#include "libutil/error.h"

struct vmop_agent_messages;

/*
 * Start the thread.  round_ms: the time between two reads of the other side's lines.
 * VMOP_ERROR_CANT: xenstore cannot be opened, or vmop was built without libxenstore.
 */
struct vmop_error *vmop_agent_messages_open(unsigned round_ms, struct vmop_agent_messages **ret);
/* Write the pending lines, if xenstored takes them within a second, and end the thread. */
void vmop_agent_messages_close(struct vmop_agent_messages *messages);

/* Set whether the thread reads every few ms, because a caller waits for an answer. */
void vmop_agent_messages_hurry(struct vmop_agent_messages *messages, bool is_on);

/*
 * Return the opener of the stores of all domains, for dom0.  It is valid as long as messages, which
 * must outlive every store that it opens.
 */
const struct vmop_active_opener *vmop_agent_messages_opener(struct vmop_agent_messages *messages);

/* Do the same for the stores of lines about windows. */
const struct vmop_active_opener *
vmop_agent_messages_window_opener(struct vmop_agent_messages *messages);

/* Open the store of the domain that this is, for its agent. It is owned by messages. */
struct vmop_error *vmop_agent_messages_own(struct vmop_agent_messages *messages,
					   struct vmop_active_store **ret);
/* Do the same for the lines about windows. */
struct vmop_error *vmop_agent_messages_own_window(struct vmop_agent_messages *messages,
						  struct vmop_active_store **ret);

#endif
