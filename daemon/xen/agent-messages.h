// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where an initiator and the vmopd of an active domain leave each other their lines
 * (hv-interface/active-message.h): in xenstore, below the one folder of a domain that it may
 * write to.
 *
 *	/local/domain/ID/data/vmop/initiator
 *	/local/domain/ID/data/vmop/agent
 *
 * A thread does the writing and reading, several times a second, since a xenstored that hangs lets
 * libxenstore wait for ever.  What is said is on its way a moment later, the latest of several
 * lines alone; what is heard is what it read last.
 */
#ifndef VMOP_DAEMON_XEN_AGENT_MESSAGES_H
#define VMOP_DAEMON_XEN_AGENT_MESSAGES_H

#include "hv-interface/active-group.h"
#include "libutil/error.h"

struct vmop_active_mail;

/*
 * round_ms: between two looks at what the others say.  VMOP_ERROR_CANT: there is no xenstore to
 * be had, or vmop was built without libxenstore.
 */
struct vmop_error *vmop_active_mail_open(unsigned round_ms, struct vmop_active_mail **ret);
/* Says what is still to be said, if xenstored takes it within a second.  NULL is allowed. */
void vmop_active_mail_close(struct vmop_active_mail *mail);

/* Looks every few ms until told otherwise: somebody waits for what is said. */
void vmop_active_mail_hurry(struct vmop_active_mail *mail, bool is_on);

/* dom0's: any domain's.  Valid as long as mail, which must outlive every store that it opens. */
const struct vmop_active_opener *vmop_active_mail_opener(struct vmop_active_mail *mail);

/* In a domain: its own, where the initiator's lines come and the agent's go; owned by mail. */
struct vmop_error *vmop_active_mail_own(struct vmop_active_mail *mail,
					struct vmop_active_store **ret);

#endif
