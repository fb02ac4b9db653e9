// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thread that carries the bytes of one connection through a window (window.h), of either side.
 * Its owner never waits for the other side. It has the priority of the daemon: its work is a copy,
 * and in a busy domain each turn that it waits for delays the whole transfer.
 */
#ifndef VMOP_DAEMON_XEN_CARRIER_H
#define VMOP_DAEMON_XEN_CARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/xen/grants.h"
#include "libutil/error.h"

struct vmop_carrier;

struct vmop_carrier_options {
	const struct vmop_grants_ops *grants;
	enum vmop_window_side side;
	int fd; /* the end of a pair of sockets, non-blocking; passes to the carrier */
	/* AGENT: the memory, which passes to the carrier. */
	struct vmop_granted granted;
	/* HOST: the domain and the references of the memory, which the thread maps. */
	uint32_t domain;
	uint32_t refs[VMOP_WINDOW_PAGES];
};

/* After an error the socket is closed and the memory released, too. */
struct vmop_error *vmop_carrier_begin(const struct vmop_carrier_options *options,
				      struct vmop_carrier **ret);
/* Interrupt it if it goes on, and free it. NULL is allowed. */
void vmop_carrier_end(struct vmop_carrier *carrier);

/*
 * Return whether it has ended. Set *ret_err to the reason, which passes to the caller, or to NULL:
 * all bytes passed, or the reason was returned before.
 */
bool vmop_carrier_has_ended(struct vmop_carrier *carrier, struct vmop_error **ret_err);

#endif
