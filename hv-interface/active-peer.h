// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The initiator's side of the protocol in active-message.h: one active guest's agent, as the
 * initiator sees it.
 *
 * No function waits. A command is sent; later looks find its answer, or that its time is over.
 * Times are CLOCK_MONOTONIC. One thread.
 *
 * Xen limits the order of steps (its xen/common/xenoprof.c). A domain on the active list that never
 * gets ready keeps a reference until the machine reboots, and cannot be destroyed completely. So a
 * domain is listed only after its agent has answered "here". And sampling starts only when every
 * domain on the list is ready.
 */
#ifndef VMOP_HV_INTERFACE_ACTIVE_PEER_H
#define VMOP_HV_INTERFACE_ACTIVE_PEER_H

#include "hv-interface/active-message.h"
#include "libutil/clock.h"
#include "libutil/error.h"

/*
 * Time limits of answers, and the longest silence of an agent that samples. During JOIN_WAIT and
 * during a leave for a pause Xen samples no domain; during the others it continues. Shorter limits
 * would give up domains after they were listed, see above.
 */
#define VMOP_ACTIVE_HELLO_WAIT_NS (5 * VMOP_NS_PER_S)
#define VMOP_ACTIVE_OPEN_WAIT_NS (120 * VMOP_NS_PER_S)
#define VMOP_ACTIVE_ALERT_WAIT_NS (10 * VMOP_NS_PER_S)
#define VMOP_ACTIVE_JOIN_WAIT_NS (10 * VMOP_NS_PER_S)
#define VMOP_ACTIVE_END_WAIT_NS (30 * VMOP_NS_PER_S)
#define VMOP_ACTIVE_SILENCE_NS (15 * VMOP_NS_PER_S)

enum vmop_active_state {
	VMOP_ACTIVE_WAITING,  /* for an answer */
	VMOP_ACTIVE_ANSWERED, /* as the command requires; also before the first command */
	VMOP_ACTIVE_AGAIN,    /* the domain was stuck and is free now: list it again */
	VMOP_ACTIVE_GONE,     /* no answer, no sign of life, or a failure: see error */
};

struct vmop_active_peer {
	struct vmop_active_store *store; /* not owned */
	const char *name;		 /* of the domain, for messages; not owned */
	struct vmop_active_message sent; /* the last message; number 0: no message yet */
	enum vmop_active_state state;
	uint64_t sent_ns, alive_ns; /* when it was sent; when the agent last gave a sign of life */
	uint64_t wrote_ns;	    /* when the initiator last wrote */
	uint32_t seen_beat;
	bool is_silent;			 /* GONE because it wrote nothing new */
	uint32_t last_number, last_beat; /* of the agent's last line; 0: none */
	/* As the agent reports it, and when it did so last; 0: not since it began to sample. */
	struct vmop_active_report report;
	uint64_t reported_ns;
	bool takes_stacks;	  /* as its last answer to HELLO has it */
	struct vmop_error *error; /* set once GONE: one line with the domain and the remedy */
};

/*
 * Initialise a peer. store and name must outlive it. token is a random number other than 0, the
 * same for all domains of a session.
 */
void vmop_active_peer_init(struct vmop_active_peer *peer, struct vmop_active_store *store,
			   const char *name, uint64_t token);
void vmop_active_peer_deinit(struct vmop_active_peer *peer);

/* Allow HELLO to a peer that is GONE: the guest may have a new agent by now. */
void vmop_active_peer_revive(struct vmop_active_peer *peer);

/*
 * Return whether the agent of a peer that is GONE by its silence has written something new since:
 * its guest was suspended and goes on. True once for each line.
 */
bool vmop_active_peer_stirs(struct vmop_active_peer *peer);

/* Give up a peer whose answer makes no sense: it is GONE. */
enum vmop_active_state vmop_active_peer_refuse(struct vmop_active_peer *peer, const char *reason);

/*
 * Send HELLO, OPEN, ALERT, JOIN, RUN or LEAVE. text may be NULL. A peer that is GONE gets the
 * message but stays GONE.
 */
void vmop_active_peer_send(struct vmop_active_peer *peer, enum vmop_active_word word,
			   const char *text, uint64_t now_ns);

/*
 * Read the agent's line and return the new state. Call it from time to time, also while Xen
 * samples.
 */
enum vmop_active_state vmop_active_peer_look(struct vmop_active_peer *peer, uint64_t now_ns);

#endif
