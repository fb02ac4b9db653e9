// SPDX-License-Identifier: GPL-2.0-or-later
/* When the set-up's `rotate` wants the next file, and which saved sessions its `keep` removes. */
#ifndef VMOP_DAEMON_ROTATION_H
#define VMOP_DAEMON_ROTATION_H

#include <stdbool.h>
#include <stdint.h>

#include "libutil/setup.h"

struct vmop_rotation {
	uint64_t held_until_ns; /* CLOCK_MONOTONIC: no checkpoint begins; 0: they may */
	bool is_late;		/* it is due, and could not be done without waiting */
	uint64_t tried_ns;	/* CLOCK_MONOTONIC, of the last attempt; 0: none */
	uint64_t expired_ns;	/* CLOCK_MONOTONIC, of the last removal of old sessions; 0: none */
};

/*
 * Return whether a file that began at start_ns, and has disk_bytes, is to be followed by the next
 * one at now_ns (both CLOCK_REALTIME). The local date of now_ns is later than that of start_ns: a
 * clock that was set back ends no day.
 */
bool vmop_rotation_is_due(const struct vmop_setup_rotate *rotate, uint64_t start_ns,
			  uint64_t now_ns, uint64_t disk_bytes);

/*
 * Return the time (CLOCK_REALTIME) before which saved sessions are too old for the set-up's keep at
 * now_ns; 0: no session is.
 */
uint64_t vmop_rotation_expires_before_ns(const struct vmop_setup *setup, uint64_t now_ns);

#endif
