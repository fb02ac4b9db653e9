// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The two lines by which dom0 and the agent of an active domain agree on a window (window.h), in
 * xenstore beside those of the commands:
 *
 *	data/vmop/fetch		dom0: "1 NUMBER", it wants a window; empty: none
 *	data/vmop/window	agent: "1 NUMBER REF...", the references of its granted pages, in
 *				their order; or "1 NUMBER none REASON"
 *
 * 1 is the version. NUMBER is random, 16 hexadecimal digits, and another one for each window, so
 * that the line of a dead process is never taken for an answer. A REF has at most 8 hexadecimal
 * digits. REASON is printable ASCII. Each side treats the other side's line as hostile input.
 */
#ifndef VMOP_DAEMON_XEN_WINDOW_LINE_H
#define VMOP_DAEMON_XEN_WINDOW_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/xen/window.h"
#include "hv-interface/active-message.h"

/* A line of either side. */
struct vmop_window_line {
	uint64_t number;
	uint32_t refs[VMOP_WINDOW_PAGES];
	bool has_refs;
	char reason[200]; /* "": none */
};

/* Write a line. Replace unprintable characters of the reason by '?'. */
void vmop_window_line_format(const struct vmop_window_line *line,
			     char ret[VMOP_ACTIVE_MESSAGE_BYTES]);
/* Parse a line. Return false, and leave *ret unchanged, if neither side writes such a line. */
bool vmop_window_line_parse(const char *text, struct vmop_window_line *ret);

/* Return a random number that is not 0. */
uint64_t vmop_window_number(void);

#endif
