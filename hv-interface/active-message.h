// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The protocol between the initiator of a session and the agent of an active guest. Each side has
 * one line of text in the store (xenstore): its latest message.
 *
 * 	1 TOKEN NUMBER BEAT WORD[ TEXT]
 *
 * 1 is the version of the protocol, so that a reader can report another version. TOKEN (16
 * hexadecimal digits) identifies one initiator's session. NUMBER counts its commands. An answer has
 * the TOKEN and NUMBER of its command, so that the line of a dead process is never taken for an
 * answer. BEAT grows as long as the writer lives. TEXT is printable ASCII.
 *
 * 	initiator	hello	is an agent present? TEXT: the guest's UUID, from the
 * 				command line of its VMM, or nothing
 * 	agent		here; TEXT: words for what it can do beyond the first agents of this
 * 				version: "stacks", it takes samples with call stacks, and
 * 				those of nested guests as such
 * 	initiator	open	begin a session except for Xen's part; TEXT: the events, as
 * 				"NAME:PERIOD" each with a blank between; or those of the host, whose
 * 				samples are handed over (handed/events.h), with call stacks only to
 * 				agents that take them
 * 	agent		opened, or failed (TEXT: the reason)
 * 	initiator	alert	Xen's lists are about to change: leave or join follows at once,
 * 				look often until then
 * 	agent		alerted
 * 	initiator	join	the domain is on the list: take the buffer and get ready
 * 	agent		ready, stuck (a dead agent's buffer was still there; it is free now:
 * 			list the domain again), or failed (TEXT: the reason)
 * 	initiator	run	Xen takes samples; TEXT: "times", if it wants those of the agent
 * 	agent		sampling; TEXT: the number of samples; to "times" also the time of its
 * 			session now, and that of its start (CLOCK_REALTIME, ns)
 * 	initiator	leave	Xen has stopped; TEXT: "pause" (give the buffer back; a join or
 * 				"end" follows), or "end" (store all)
 * 	agent		left; TEXT: the number of samples; or failed (TEXT: the reason)
 *
 * Between alert or leave and run Xen samples no domain, or soon will not. Slow work therefore
 * belongs to open and to the end.
 *
 * Each side treats the other side's line as hostile input.
 */
#ifndef VMOP_HV_INTERFACE_ACTIVE_MESSAGE_H
#define VMOP_HV_INTERFACE_ACTIVE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VMOP_ACTIVE_VERSION 1
#define VMOP_ACTIVE_TEXT_BYTES 512    /* with the NUL */
#define VMOP_ACTIVE_MESSAGE_BYTES 640 /* a whole line, with the NUL */

#define VMOP_ACTIVE_TAKES_STACKS "stacks" /* a word of "here" */

#define VMOP_ACTIVE_WANTS_TIMES "times" /* the text of "run" */

enum vmop_active_word {
	VMOP_ACTIVE_HELLO,
	VMOP_ACTIVE_OPEN,
	VMOP_ACTIVE_ALERT,
	VMOP_ACTIVE_JOIN,
	VMOP_ACTIVE_RUN,
	VMOP_ACTIVE_LEAVE,
	VMOP_ACTIVE_HERE,
	VMOP_ACTIVE_OPENED,
	VMOP_ACTIVE_ALERTED,
	VMOP_ACTIVE_READY,
	VMOP_ACTIVE_STUCK,
	VMOP_ACTIVE_SAMPLING,
	VMOP_ACTIVE_LEFT,
	VMOP_ACTIVE_FAILED,
	VMOP_ACTIVE_N_WORDS,
};

struct vmop_active_message {
	uint64_t token; /* not 0 */
	uint32_t number, beat;
	enum vmop_active_word word;
	char text[VMOP_ACTIVE_TEXT_BYTES]; /* "" for none */
};

/* The text of "sampling". */
struct vmop_active_report {
	uint64_t samples;
	uint64_t now_ns, start_ns; /* of the agent's session; start_ns 0: both are not known */
};

void vmop_active_report_format(const struct vmop_active_report *report,
			       char ret[VMOP_ACTIVE_TEXT_BYTES]);
/* Return false, and leave *ret unchanged, if no agent writes such a text. */
bool vmop_active_report_parse(const char *text, struct vmop_active_report *ret);

enum vmop_active_parse {
	VMOP_ACTIVE_UNDERSTOOD,
	VMOP_ACTIVE_OTHER_VERSION, /* from another version of vmop; the rest is not parsed */
	VMOP_ACTIVE_GARBLED,
};

/* Parse a line. Set *ret only for UNDERSTOOD. */
enum vmop_active_parse vmop_active_parse(const char *line, struct vmop_active_message *ret);

/*
 * Format a message. Replace unprintable characters of its text by '?'; cut a text that is too long.
 */
void vmop_active_format(const struct vmop_active_message *message,
			char ret[VMOP_ACTIVE_MESSAGE_BYTES]);

const char *vmop_active_word_name(enum vmop_active_word word);

/* The place of both sides' lines. The functions return false when it is not accessible. */
struct vmop_active_store;
struct vmop_active_store_ops {
	/* Copy the other side's latest line into buf, cut to fit; "" when there is no line. */
	bool (*read)(struct vmop_active_store *store, char buf[VMOP_ACTIVE_MESSAGE_BYTES]);
	bool (*write)(struct vmop_active_store *store, const char *line);
};
struct vmop_active_store {
	const struct vmop_active_store_ops *ops;
};

/* Write message with a new BEAT. Return false if it cannot be written. */
bool vmop_active_send(struct vmop_active_store *store, struct vmop_active_message *message);

#endif
