// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An active domain's side of what active-message.h says: which command its vmopd is to carry out
 * next, in an order that holds together whatever the initiator writes.
 *
 * Its owner looks now and then (a second apart is enough, but for what
 * vmop_active_agent_is_alert says), does what it is told and answers.  Nothing here waits.  Times
 * are CLOCK_MONOTONIC.
 */
#ifndef VMOP_HV_INTERFACE_ACTIVE_AGENT_H
#define VMOP_HV_INTERFACE_ACTIVE_AGENT_H

#include "hv-interface/active-message.h"
#include "libutil/clock.h"

/* An initiator that gives no sign for so long is dead: the session ends. */
#define VMOP_ACTIVE_INITIATOR_SILENCE_NS (30 * VMOP_NS_PER_S)

enum vmop_active_stage {
	VMOP_ACTIVE_IDLE,
	VMOP_ACTIVE_OPENING, /* to be answered: opened or failed */
	VMOP_ACTIVE_IS_OPEN, /* the session is; Xen knows nothing of it, or not any more */
	VMOP_ACTIVE_JOINING, /* to be answered: ready, stuck or failed */
	VMOP_ACTIVE_JOINED,
	VMOP_ACTIVE_TAKING, /* samples are taken */
	VMOP_ACTIVE_ENDING, /* to be answered: left or failed */
};

struct vmop_active_agent {
	struct vmop_active_store *store; /* not owned */
	enum vmop_active_stage stage;
	bool is_orphan;	 /* the session that ends has no initiator any more */
	bool is_pausing; /* what ends is not the whole session */
	uint32_t seen_beat;
	uint64_t alive_ns; /* of the initiator */
	/* To the command that was taken last, from its initiator; token is 0: none yet. */
	struct vmop_active_message answer;
	bool has_answer;
};

/* What the owner is to do. */
enum vmop_active_task {
	VMOP_ACTIVE_NOTHING,
	VMOP_ACTIVE_DO_OPEN,  /* a session, its file, what it takes from others than Xen; answer */
	VMOP_ACTIVE_DO_JOIN,  /* buffer, readiness; answer */
	VMOP_ACTIVE_DO_RUN,   /* samples come from now on */
	VMOP_ACTIVE_DO_LEAVE, /* give the buffer back and, at the end, store all; answer */
};

void vmop_active_agent_init(struct vmop_active_agent *agent, struct vmop_active_store *store);

/*
 * Each task is handed out once.  text, of DO_OPEN: the events; of DO_LEAVE "pause" where the
 * session stays open for another DO_JOIN.  DO_LEAVE comes also when the initiator is silent, or
 * another has taken its place; leaving is then answered all the same.
 */
enum vmop_active_task vmop_active_agent_look(struct vmop_active_agent *agent, uint64_t now_ns,
					     char text[VMOP_ACTIVE_TEXT_BYTES]);

/*
 * OPENED, READY, STUCK, LEFT or FAILED to what was handed out.  FAILED makes it idle again, and so
 * does LEFT but to a "pause"; STUCK leaves it as before that JOIN.
 */
void vmop_active_agent_answer(struct vmop_active_agent *agent, enum vmop_active_word answer,
			      const char *text);

/* Xen stands still, or soon does, until its next command: to be looked for every few ms. */
bool vmop_active_agent_is_alert(const struct vmop_active_agent *agent);

/* The owner has ended the session by itself: the initiator hears why, with the next look or now. */
void vmop_active_agent_give_up(struct vmop_active_agent *agent, const char *reason);

/* How many samples there are so far, with the next look. */
void vmop_active_agent_count(struct vmop_active_agent *agent, uint64_t samples);

#endif
