// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A window: memory that an active domain of Xen shares with dom0, through which the bytes of one
 * connection pass: the transfer of the domain's session (hv-interface/active-file.h). Each side
 * carries them between its end of a pair of sockets and the window.
 *
 * The memory is zero at first. All numbers are little endian.
 *
 * 	0	u32	magic, written by the agent
 * 	4	u32	version of the window
 * 	64	agent's marks
 * 	128	host's marks
 * 	2048	ring of 2 KiB: bytes for the agent
 * 	4096	ring of 128 KiB: bytes for the host
 *
 * 	marks: u32 state (0: not there yet, 1: open, 2: closed)
 * 		u32 bytes that this side has written, u32 bytes that it has read, both modulo 2^32
 *
 * Each side writes only its own marks and the ring of its bytes, and keeps its own numbers to
 * itself. The other side is hostile: its numbers are read once a step, and must fit the rings. The
 * bytes go to the socket by one copy, and are checked behind it. Nobody is woken: both sides look
 * every few milliseconds, and less often while nothing passes.
 */
#ifndef VMOP_DAEMON_XEN_WINDOW_H
#define VMOP_DAEMON_XEN_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "libutil/clock.h"
#include "libutil/error.h"
#include "libutil/worker.h"

#define VMOP_WINDOW_PAGES 33u
#define VMOP_WINDOW_BYTES (VMOP_WINDOW_PAGES * 4096u)

/* How long one side waits for the other one's first mark, and for the end of the whole. */
#define VMOP_WINDOW_OPEN_NS (10 * VMOP_NS_PER_S)
#define VMOP_WINDOW_WHOLE_NS (75 * VMOP_NS_PER_S)

enum vmop_window_side { VMOP_WINDOW_AGENT, VMOP_WINDOW_HOST };

struct vmop_window {
	uint8_t *memory; /* VMOP_WINDOW_BYTES, aligned to a page; not owned */
	enum vmop_window_side side;
	int fd;			    /* of the pair of sockets, non-blocking; not owned */
	struct vmop_worker *worker; /* of the calling thread, which ends early if the owner asks */
	uint64_t open_ns, whole_ns; /* spans. Tests set shorter ones. */
	uint32_t n_written, n_read; /* own numbers */
	bool is_shut;		    /* the thread at the other end of the pair has ended */
};

/* Begin with memory. The agent's side writes the magic. */
void vmop_window_begin(struct vmop_window *window, uint8_t *memory, enum vmop_window_side side,
		       int fd, struct vmop_worker *worker);

/*
 * Carry bytes both ways until one side ends, and all bytes before its end were passed on. Waits;
 * for a thread of its own. An error is one line about the other side, without its name.
 */
struct vmop_error *vmop_window_carry(struct vmop_window *window);

#endif
