// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An active guest's side of the protocol in active-message.h. It decides which command the agent
 * carries out next, in a consistent order whatever the initiator writes.
 *
 * The owner (daemon/agent.c) looks for a command, carries it out and answers. One look a second is
 * enough, except while vmop_active_agent_is_alert. No function waits. Times are CLOCK_MONOTONIC.
 * One thread.
 */
#ifndef VMOP_HV_INTERFACE_ACTIVE_AGENT_H
#define VMOP_HV_INTERFACE_ACTIVE_AGENT_H

#include "hv-interface/active-message.h"
#include "libutil/clock.h"

/* An initiator without a sign of life for this long is dead: its session ends. */
#define VMOP_ACTIVE_INITIATOR_SILENCE_NS (30 * VMOP_NS_PER_S)

enum vmop_active_stage {
	VMOP_ACTIVE_IDLE,
	VMOP_ACTIVE_OPENING, /* the owner must answer OPENED or FAILED */
	VMOP_ACTIVE_IS_OPEN, /* a session is open, but Xen does not sample for it */
	VMOP_ACTIVE_JOINING, /* the owner must answer READY, STUCK or FAILED */
	VMOP_ACTIVE_JOINED,
	VMOP_ACTIVE_TAKING, /* Xen takes samples */
	VMOP_ACTIVE_ENDING, /* the owner must answer LEFT or FAILED */
};

struct vmop_active_agent {
	struct vmop_active_store *store; /* not owned */
	enum vmop_active_stage stage;
	bool is_orphan;	  /* the session that ends has lost its initiator */
	bool is_pausing;  /* only Xen's part of the session ends */
	bool wants_times; /* the initiator, of the session */
	uint32_t seen_beat;
	uint64_t alive_ns; /* when the initiator last gave a sign of life */
	/*
	 * The answer to the last accepted command and that command's token. Token 0: no command
	 * yet.
	 */
	struct vmop_active_message answer;
	bool has_answer;
	char hello[VMOP_ACTIVE_TEXT_BYTES]; /* the text of the last HELLO */
	const char *here; /* the text of HERE, which the owner sets and keeps; NULL: none */
};

/* The owner's next task. */
enum vmop_active_task {
	VMOP_ACTIVE_NOTHING,
	VMOP_ACTIVE_DO_OPEN,  /* open a session and its file, follow tasks; then answer */
	VMOP_ACTIVE_DO_JOIN,  /* take Xen's buffer and get ready; then answer */
	VMOP_ACTIVE_DO_RUN,   /* expect samples from now on */
	VMOP_ACTIVE_DO_LEAVE, /* give the buffer back and, unless "pause", store all; then answer */
};

void vmop_active_agent_init(struct vmop_active_agent *agent, struct vmop_active_store *store);

/*
 * Return the next task, each task once. Write into text: the events for DO_OPEN; "pause" for
 * DO_LEAVE when the session stays open for another DO_JOIN; else "".
 *
 * DO_LEAVE also comes when the initiator is silent or another one has replaced it. The owner
 * answers that DO_LEAVE like any other.
 */
enum vmop_active_task vmop_active_agent_look(struct vmop_active_agent *agent, uint64_t now_ns,
					     char text[VMOP_ACTIVE_TEXT_BYTES]);

/*
 * Answer the last task with OPENED, READY, STUCK, LEFT or FAILED. FAILED returns the agent to idle,
 * and so does LEFT unless the task was a "pause". STUCK undoes the DO_JOIN. text may be NULL.
 */
void vmop_active_agent_answer(struct vmop_active_agent *agent, enum vmop_active_word answer,
			      const char *text);

/* Return whether Xen is paused, or soon will be, until the next command. Look every few ms then. */
bool vmop_active_agent_is_alert(const struct vmop_active_agent *agent);

/* Report that the owner has ended the session on its own. The initiator reads the reason. */
void vmop_active_agent_give_up(struct vmop_active_agent *agent, const char *reason);

/* Set the report of the session. The next look sends it, its times only if they are wanted. */
void vmop_active_agent_report(struct vmop_active_agent *agent,
			      const struct vmop_active_report *report);

#endif
