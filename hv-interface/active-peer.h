// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The initiator's side of what active-message.h says: one active domain's vmopd, as it looks from
 * where the session is commanded.
 *
 * Nothing here waits: a command is said, and its answer looked for until it is there or
 * its time is over.  Times are CLOCK_MONOTONIC.
 *
 * In which order Xen is to be asked between them (its xen/common/xenoprof.c): a domain that is on
 * the list of active ones and never gets ready keeps a reference for ever, so that it can't be
 * destroyed completely before the machine boots again; hence no domain is listed that has not said
 * "here".  And each ready domain counts: sampling starts only when all of the list are.
 */
#ifndef VMOP_HV_INTERFACE_ACTIVE_PEER_H
#define VMOP_HV_INTERFACE_ACTIVE_PEER_H

#include "hv-interface/active-message.h"
#include "libutil/clock.h"
#include "libutil/error.h"

/*
 * How long an answer may take, and how long an agent may be without a sign while it samples.  In
 * JOIN_WAIT, and in another of leaving for a pause, Xen samples nobody; in the others it goes on.
 * It is no shorter because a domain that is given up after it was listed can't be destroyed
 * completely any more, see above.
 */
#define VMOP_ACTIVE_HELLO_WAIT_NS (5 * VMOP_NS_PER_S)
#define VMOP_ACTIVE_OPEN_WAIT_NS (120 * VMOP_NS_PER_S)
#define VMOP_ACTIVE_ALERT_WAIT_NS (10 * VMOP_NS_PER_S)
#define VMOP_ACTIVE_JOIN_WAIT_NS (10 * VMOP_NS_PER_S)
#define VMOP_ACTIVE_END_WAIT_NS (30 * VMOP_NS_PER_S)
#define VMOP_ACTIVE_SILENCE_NS (15 * VMOP_NS_PER_S)

enum vmop_active_state {
	VMOP_ACTIVE_WAITING,  /* for an answer */
	VMOP_ACTIVE_ANSWERED, /* as the command wants; nothing said yet counts as that, too */
	VMOP_ACTIVE_AGAIN,    /* stuck, and free now: list the domain again */
	VMOP_ACTIVE_GONE,     /* no answer, no sign, or one that says it failed: see error */
};

struct vmop_active_peer {
	struct vmop_active_store *store; /* not owned */
	const char *name;		 /* of the domain, for messages; not owned */
	struct vmop_active_message sent; /* last; its number is 0: nothing yet */
	enum vmop_active_state state;
	uint64_t sent_ns, alive_ns; /* when, and the agent's last sign */
	uint64_t wrote_ns;	    /* our own */
	uint32_t seen_beat;
	uint64_t samples;	  /* as the agent counts them */
	struct vmop_error *error; /* one line, with the domain and what to do; once GONE */
};

/* token: a random number that is not 0, the same for all domains of a session. */
void vmop_active_peer_init(struct vmop_active_peer *peer, struct vmop_active_store *store,
			   const char *name, uint64_t token);
void vmop_active_peer_deinit(struct vmop_active_peer *peer);

/* One that is GONE is to be spoken to again, by HELLO: perhaps there is another vmopd by now. */
void vmop_active_peer_revive(struct vmop_active_peer *peer);

/* Says HELLO, OPEN, ALERT, JOIN, RUN or LEAVE.  One that is GONE is told so too, but stays GONE. */
void vmop_active_peer_send(struct vmop_active_peer *peer, enum vmop_active_word word,
			   const char *text, uint64_t now_ns);

/* What has become of it; to be called now and then also while samples are taken. */
enum vmop_active_state vmop_active_peer_look(struct vmop_active_peer *peer, uint64_t now_ns);

#endif
