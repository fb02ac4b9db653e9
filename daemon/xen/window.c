// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/xen/window.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>

#include "libutil/io.h"

#define MAGIC 0x77706d76u /* "vmpw" */
#define VERSION 1u

#define TO_AGENT_BYTES 2048u
#define TO_HOST_BYTES (128u << 10)

/* The time between two looks at the window: the least, and while nothing passes the most. */
#define LOOK_FIRST_MS 1
#define LOOK_LAST_MS 20

enum { ABSENT, OPEN, CLOSED };

struct marks {
	uint32_t state, n_written, n_read;
	uint8_t zero[52];
};

struct memory {
	uint32_t magic, version;
	uint8_t zero1[56];
	struct marks agent, host;
	uint8_t zero2[1856];
	uint8_t to_agent[TO_AGENT_BYTES];
	uint8_t to_host[TO_HOST_BYTES];
};
_Static_assert(offsetof(struct memory, agent) == 64 && offsetof(struct memory, host) == 128,
	       "as in window.h");
_Static_assert(offsetof(struct memory, to_agent) == 2048 &&
		       offsetof(struct memory, to_host) == 4096,
	       "as in window.h");
_Static_assert(sizeof(struct memory) == VMOP_WINDOW_BYTES, "whole pages");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "Xen's machines are little endian");

/* One direction, as this side sees it. Powers of two, so that the numbers may wrap. */
struct ring {
	uint8_t *bytes;
	uint32_t size;
};

static struct memory *memory_of(const struct vmop_window *window)
{
	return (struct memory *)window->memory;
}

static struct marks *own_marks(const struct vmop_window *window)
{
	struct memory *memory = memory_of(window);
	return window->side == VMOP_WINDOW_AGENT ? &memory->agent : &memory->host;
}

/* Copy the other side's marks, each word read once, the state before the numbers. */
static struct marks read_marks(const struct vmop_window *window)
{
	const struct memory *memory = memory_of(window);
	const struct marks *theirs =
		window->side == VMOP_WINDOW_AGENT ? &memory->host : &memory->agent;
	struct marks marks = {.state = __atomic_load_n(&theirs->state, __ATOMIC_ACQUIRE)};
	marks.n_written = __atomic_load_n(&theirs->n_written, __ATOMIC_ACQUIRE);
	marks.n_read = __atomic_load_n(&theirs->n_read, __ATOMIC_ACQUIRE);
	return marks;
}

static struct ring ring_of(const struct vmop_window *window, bool is_out)
{
	struct memory *memory = memory_of(window);
	return is_out == (window->side == VMOP_WINDOW_AGENT)
		       ? (struct ring){memory->to_host, TO_HOST_BYTES}
		       : (struct ring){memory->to_agent, TO_AGENT_BYTES};
}

void vmop_window_begin(struct vmop_window *window, uint8_t *memory, enum vmop_window_side side,
		       int fd, struct vmop_worker *worker)
{
	*window = (struct vmop_window){.memory = memory,
				       .side = side,
				       .fd = fd,
				       .worker = worker,
				       .open_ns = VMOP_WINDOW_OPEN_NS,
				       .whole_ns = VMOP_WINDOW_WHOLE_NS};
	if (side == VMOP_WINDOW_AGENT) {
		memory_of(window)->magic = MAGIC;
		memory_of(window)->version = VERSION;
	}
}

/* ---- one step ------------------------------------------------------------------------------ */

static bool may_go_on(ssize_t n)
{
	return n > 0 || (n < 0 && vmop_io_may_retry(errno));
}

/* Give the socket the bytes that the other side has written. Return their number. */
static uint32_t give(struct vmop_window *window, uint32_t n_written)
{
	const struct ring in = ring_of(window, false);
	uint32_t n_before = window->n_read;
	while (window->n_read != n_written && !window->is_shut) {
		uint32_t at = window->n_read % in.size, len = n_written - window->n_read;
		if (len > in.size - at)
			len = in.size - at;
		ssize_t n = send(window->fd, in.bytes + at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		window->is_shut = !may_go_on(n);
		if (n <= 0)
			break;
		window->n_read += (uint32_t)n;
		__atomic_store_n(&own_marks(window)->n_read, window->n_read, __ATOMIC_RELEASE);
	}
	return window->n_read - n_before;
}

/* Write what the socket has, as far as the ring has room. Return the number of bytes. */
static uint32_t take(struct vmop_window *window, uint32_t n_read)
{
	const struct ring out = ring_of(window, true);
	uint32_t n_before = window->n_written;
	while (window->n_written - n_read < out.size && !window->is_shut) {
		uint32_t at = window->n_written % out.size;
		uint32_t len = out.size - (window->n_written - n_read);
		if (len > out.size - at)
			len = out.size - at;
		ssize_t n = recv(window->fd, out.bytes + at, len, MSG_DONTWAIT);
		window->is_shut = !may_go_on(n);
		if (n <= 0)
			break;
		window->n_written += (uint32_t)n;
		__atomic_store_n(&own_marks(window)->n_written, window->n_written,
				 __ATOMIC_RELEASE);
	}
	return window->n_written - n_before;
}

/* Return an error if no side of vmop has left such marks. */
static struct vmop_error *check(const struct vmop_window *window, const struct marks *theirs)
{
	const struct memory *memory = memory_of(window);
	if (theirs->state > CLOSED ||
	    theirs->n_written - window->n_read > ring_of(window, false).size ||
	    window->n_written - theirs->n_read > ring_of(window, true).size)
		return vmop_error_new(VMOP_ERROR_CANT, "its window has what no vmopd writes");
	if (window->side == VMOP_WINDOW_HOST && theirs->state != ABSENT &&
	    (memory->magic != MAGIC || memory->version != VERSION))
		return vmop_error_new(VMOP_ERROR_CANT, "its window is of another version");
	return NULL;
}

/*
 * Return whether nothing is left to carry. The agent's end of the pair is shut after the last byte
 * of a file: the host must read that yet.
 */
static bool is_over(const struct vmop_window *window, const struct marks *theirs)
{
	if (window->is_shut)
		return window->side == VMOP_WINDOW_HOST || theirs->state == CLOSED ||
		       theirs->n_read == window->n_written;
	return theirs->state == CLOSED && theirs->n_written == window->n_read;
}

/* Wait some ms, and less if the socket gets ready for what the window can take or has. */
static void wait_ms(const struct vmop_window *window, const struct marks *theirs, int ms)
{
	struct pollfd pollfd = {.fd = window->is_shut ? -1 : window->fd};
	if (window->n_written - theirs->n_read < ring_of(window, true).size)
		pollfd.events |= POLLIN;
	if (theirs->n_written != window->n_read)
		pollfd.events |= POLLOUT;
	poll(&pollfd, pollfd.events ? 1 : 0, ms);
}

/* Return an error if the time for what comes next is over. */
static struct vmop_error *check_time(const struct vmop_window *window, const struct marks *theirs,
				     uint64_t begun_ns)
{
	uint64_t spent_ns = vmop_clock_ns(CLOCK_MONOTONIC) - begun_ns;
	if (vmop_worker_is_ending(window->worker))
		return vmop_error_new(VMOP_ERROR_BUSY, "interrupted");
	if (theirs->state == ABSENT && spent_ns >= window->open_ns)
		return vmop_error_new(VMOP_ERROR_BUSY, "it does not open its window");
	if (spent_ns >= window->whole_ns)
		return vmop_error_new(VMOP_ERROR_BUSY, "it took too long");
	return NULL;
}

struct vmop_error *vmop_window_carry(struct vmop_window *window)
{
	uint64_t begun_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	struct vmop_error *err = NULL;
	int look_ms = LOOK_FIRST_MS;
	__atomic_store_n(&own_marks(window)->state, OPEN, __ATOMIC_RELEASE);
	while (!err) {
		const struct marks theirs = read_marks(window);
		err = check(window, &theirs);
		if (err)
			break;
		uint32_t n = give(window, theirs.n_written);
		n += take(window, theirs.n_read);
		if (is_over(window, &theirs))
			break;
		wait_ms(window, &theirs, look_ms);
		look_ms = n ? LOOK_FIRST_MS : 2 * look_ms;
		if (look_ms > LOOK_LAST_MS)
			look_ms = LOOK_LAST_MS;
		err = check_time(window, &theirs, begun_ns);
	}
	__atomic_store_n(&own_marks(window)->state, CLOSED, __ATOMIC_RELEASE);
	return err;
}
