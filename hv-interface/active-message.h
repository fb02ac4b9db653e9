// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the initiator of a session and the vmopd of an active domain say to each other: one line
 * of text each way, the latest that was said.
 *
 *	1 TOKEN NUMBER BEAT WORD[ TEXT]
 *
 * 1 is the version of all this; a reader that doesn't know it can say so.  TOKEN (16 hexadecimal
 * digits) is one initiator's session, NUMBER counts its commands, and an answer bears the TOKEN
 * and NUMBER of its command, so that what somebody who died left behind is never taken for an
 * answer.  BEAT grows as long as who writes it lives.  TEXT is printable ASCII.
 *
 *	initiator	hello	is anybody there?
 *	agent		here
 *	initiator	open	begin a session, all but what Xen has to do with it; TEXT: the
 *				events, as "NAME:PERIOD" each with a blank between
 *	agent		opened, or failed and why
 *	initiator	alert	Xen's lists are about to change: leave or join follow at once,
 *				look often until then
 *	agent		alerted
 *	initiator	join	the domain is on the list, take the buffer and be ready
 *	agent		ready, stuck (a buffer is left of one that died: it is free now, list the
 *			domain again), or failed and why
 *	initiator	run	samples are taken
 *	agent		sampling; TEXT: how many so far
 *	initiator	leave	no more are taken; TEXT: "pause" (give the buffer back; a join may
 *				follow, or "end"), or "end" (store what there is)
 *	agent		left; TEXT: how many there were; or failed and why
 *
 * From alert or leave to run Xen samples nobody, or soon doesn't: what takes time is open's and
 * the end's.
 *
 * Either side can write what it wants: all of it is hostile.
 */
#ifndef VMOP_HV_INTERFACE_ACTIVE_MESSAGE_H
#define VMOP_HV_INTERFACE_ACTIVE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VMOP_ACTIVE_VERSION 1
#define VMOP_ACTIVE_TEXT_BYTES 512    /* with the NUL */
#define VMOP_ACTIVE_MESSAGE_BYTES 640 /* a whole line, with the NUL */

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

enum vmop_active_parse {
	VMOP_ACTIVE_UNDERSTOOD,
	VMOP_ACTIVE_OTHER_VERSION, /* a later vmop's: nothing but that is known of it */
	VMOP_ACTIVE_GARBLED,
};

/* ret is set only when it was understood. */
enum vmop_active_parse vmop_active_parse(const char *line, struct vmop_active_message *ret);

/* What of text can't be said becomes '?', what is too long is cut off. */
void vmop_active_format(const struct vmop_active_message *message,
			char ret[VMOP_ACTIVE_MESSAGE_BYTES]);

const char *vmop_active_word_name(enum vmop_active_word word);

/* Where lines are left for the other side.  The functions return false when it can't be had. */
struct vmop_active_store;
struct vmop_active_store_ops {
	/* The other side's latest line into buf, cut to fit; "" when there is none. */
	bool (*read)(struct vmop_active_store *store, char buf[VMOP_ACTIVE_MESSAGE_BYTES]);
	bool (*write)(struct vmop_active_store *store, const char *line);
};
struct vmop_active_store {
	const struct vmop_active_store_ops *ops;
};

/* Says message, with a new sign of life; false: it can't be written. */
bool vmop_active_send(struct vmop_active_store *store, struct vmop_active_message *message);

#endif
