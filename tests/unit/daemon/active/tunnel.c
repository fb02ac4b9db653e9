// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A connection within a link, between two links over a pair of sockets: bytes of both directions
 * between commands, its ends in any order, and an end that does not read.
 */
#include "daemon/active/tunnel.h"

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct side {
	struct vmop_active_link link;
	struct vmop_tunnel tunnel;
	int fd;		   /* the thread's end; -1: none */
	bool opens;	   /* by the first frame */
	unsigned n_opened; /* in that way */
	unsigned n_lines;  /* that came */
};

static struct side host, guest;

static int begin(void **state)
{
	int pair[2];
	(void)state;
	memset(&host, 0, sizeof(host));
	memset(&guest, 0, sizeof(guest));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0)
		return -1;
	vmop_active_link_begin(&host.link, pair[0]);
	vmop_active_link_begin(&guest.link, pair[1]);
	host.fd = guest.fd = -1;
	guest.opens = true;
	return 0;
}

static void leave(struct side *side)
{
	if (side->fd >= 0)
		close(side->fd);
	side->fd = -1;
}

static int end(void **state)
{
	(void)state;
	leave(&host);
	leave(&guest);
	vmop_tunnel_reset(&host.tunnel);
	vmop_tunnel_reset(&guest.tunnel);
	vmop_active_link_end(&host.link);
	vmop_active_link_end(&guest.link);
	return 0;
}

static bool take(void *arg, const struct vmop_active_frame *frame)
{
	struct side *side = arg;
	if (frame->type == VMOP_ACTIVE_FRAME_LINE) {
		side->n_lines++;
		return true;
	}
	if (side->opens && !vmop_tunnel_is_used(&side->tunnel)) {
		side->fd = vmop_tunnel_open(&side->tunnel);
		side->n_opened++;
	}
	return vmop_tunnel_take(&side->tunnel, frame);
}

/* Return whether the link was pumped. */
static bool go_on(struct side *side)
{
	if (!vmop_tunnel_pass(&side->tunnel, &side->link))
		return false;
	assert_int_equal(vmop_active_link_pump(&side->link, take, side), VMOP_ACTIVE_LINK_WORKS);
	return true;
}

static void both(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		go_on(&host);
		go_on(&guest);
	}
}

static void open_host(void)
{
	host.fd = vmop_tunnel_open(&host.tunnel);
	assert_true(host.fd >= 0);
	assert_int_equal(vmop_tunnel_open(&host.tunnel), -1);
}

/* Open a connection whose first bytes have come. */
static void connect_both(void)
{
	char bytes[8] = "";
	open_host();
	assert_int_equal(send(host.fd, "request", 7, MSG_NOSIGNAL), 7);
	both(2);
	assert_true(guest.fd >= 0);
	assert_int_equal(recv(guest.fd, bytes, sizeof(bytes), 0), 7);
	assert_string_equal(bytes, "request");
}

/* Return the byte at a place of the pattern. */
static uint8_t byte_at(size_t at)
{
	return (uint8_t)(at * 2654435761u >> 13);
}

/* Write as much of the pattern as finds room, from *at on. */
static void write_bytes(int fd, size_t *at, size_t whole)
{
	uint8_t bytes[3000];
	ssize_t n = 0;
	while (*at < whole && n >= 0) {
		size_t len = whole - *at < sizeof(bytes) ? whole - *at : sizeof(bytes);
		for (size_t i = 0; i < len; i++)
			bytes[i] = byte_at(*at + i);
		n = send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		*at += n > 0 ? (size_t)n : 0;
	}
}

/* Read and check all bytes that have come, from *at on. */
static void read_bytes(int fd, size_t *at)
{
	uint8_t bytes[3000];
	ssize_t n;
	while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		for (ssize_t i = 0; i < n; i++)
			assert_int_equal(bytes[i], byte_at((*at)++));
}

static bool is_closed(int fd)
{
	char byte;
	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static void are_free(void)
{
	assert_false(vmop_tunnel_is_used(&host.tunnel));
	assert_false(vmop_tunnel_is_used(&guest.tunnel));
}

/* ---- bytes ---------------------------------------------------------------------------------- */

static void bytes_between_commands(void **state)
{
	size_t whole = 3 << 20, out = 0, in = 0, back_out = 0, back_in = 0;
	unsigned n_lines = 0, n = 0;
	(void)state;
	connect_both();
	for (; in < whole || back_in < whole / 8; n++) {
		assert_true(n < 10000);
		write_bytes(guest.fd, &out, whole);
		write_bytes(host.fd, &back_out, whole / 8);
		/* The link is full of bulk, and a command finds room. */
		vmop_tunnel_pass(&guest.tunnel, &guest.link);
		vmop_tunnel_pass(&host.tunnel, &host.link);
		assert_true(vmop_active_link_send(&guest.link, VMOP_ACTIVE_FRAME_LINE, "x", 1));
		assert_true(vmop_active_link_send(&host.link, VMOP_ACTIVE_FRAME_LINE, "x", 1));
		n_lines++;
		both(1);
		read_bytes(host.fd, &in);
		read_bytes(guest.fd, &back_in);
	}
	assert_int_equal(in, whole);
	assert_int_equal(back_in, whole / 8);
	both(2);
	assert_int_equal(host.n_lines, n_lines);
	assert_int_equal(guest.n_lines, n_lines);
	assert_int_equal(guest.n_opened, 1);
}

/* An end that does not read stops the other one, and no byte is lost. */
static void an_end_that_does_not_read(void **state)
{
	size_t whole = 4 << 20, out = 0, in = 0;
	(void)state;
	connect_both();
	for (unsigned i = 0; i < 1000; i++) {
		write_bytes(guest.fd, &out, whole);
		both(1);
	}
	assert_false(go_on(&host));
	assert_true(out < whole / 2);
	assert_true(host.tunnel.n_held <= VMOP_TUNNEL_HELD_BYTES);
	for (unsigned i = 0; i < 10000 && in < whole; i++) {
		read_bytes(host.fd, &in);
		write_bytes(guest.fd, &out, whole);
		both(1);
	}
	assert_int_equal(in, whole);
}

/* ---- ends -------------------------------------------------------------------------------------
 */

/* The guest's thread has sent all, and ends. */
static void the_guest_ends(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		size_t whole = 100000, out = 0, in = 0;
		connect_both();
		while (out < whole) {
			write_bytes(guest.fd, &out, whole);
			both(1);
			read_bytes(host.fd, &in);
		}
		leave(&guest);
		for (unsigned n = 0; n < 20; n++) {
			both(1);
			read_bytes(host.fd, &in);
		}
		assert_int_equal(in, whole);
		assert_true(is_closed(host.fd));
		leave(&host);
		both(2);
		are_free();
	}
}

/* The host's thread ends in the middle. What comes after that is not of the next connection. */
static void the_host_ends(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		size_t out = 0;
		connect_both();
		write_bytes(guest.fd, &out, 60000);
		go_on(&guest);
		leave(&host);
		go_on(&host);
		assert_int_equal(vmop_tunnel_open(&host.tunnel), -1);
		both(10);
		are_free();
		assert_true(send(guest.fd, "x", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE);
		leave(&guest);
		both(2);
	}
}

static void both_end(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		connect_both();
		leave(&host);
		leave(&guest);
		vmop_tunnel_pass(&host.tunnel, &host.link);
		vmop_tunnel_pass(&guest.tunnel, &guest.link);
		both(2);
		are_free();
	}
}

/* The link ends: so do the threads' ends. */
static void the_link_ends(void **state)
{
	(void)state;
	connect_both();
	vmop_tunnel_reset(&host.tunnel);
	vmop_tunnel_reset(&guest.tunnel);
	assert_true(is_closed(host.fd));
	assert_true(is_closed(guest.fd));
	are_free();
}

/* ---- against the rules --------------------------------------------------------------------------
 */

static bool takes(struct side *side, enum vmop_active_frame_type type)
{
	static const uint8_t bytes[4] = "xxx";
	const struct vmop_active_frame frame = {.type = type,
						.payload = bytes,
						.len_bytes =
							type == VMOP_ACTIVE_FRAME_BULK ? 4 : 0};
	return vmop_tunnel_take(&side->tunnel, &frame);
}

static void frames_that_must_not_come(void **state)
{
	(void)state;
	/* Nothing is open. */
	assert_false(takes(&host, VMOP_ACTIVE_FRAME_BULK));
	assert_false(takes(&host, VMOP_ACTIVE_FRAME_END));
	/* After the other side's end. */
	open_host();
	assert_true(takes(&host, VMOP_ACTIVE_FRAME_BULK));
	assert_true(takes(&host, VMOP_ACTIVE_FRAME_END));
	assert_false(takes(&host, VMOP_ACTIVE_FRAME_BULK));
	assert_false(takes(&host, VMOP_ACTIVE_FRAME_END));
	/* More than one pump can bring. */
	leave(&host);
	vmop_tunnel_reset(&host.tunnel);
	open_host();
	size_t n = 0;
	while (takes(&host, VMOP_ACTIVE_FRAME_BULK))
		n += 4;
	assert_int_equal(n, VMOP_TUNNEL_HELD_BYTES / 4 * 4);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(bytes_between_commands),
		UNIT(an_end_that_does_not_read),
		UNIT(the_guest_ends),
		UNIT(the_host_ends),
		UNIT(both_end),
		UNIT(the_link_ends),
		UNIT(frames_that_must_not_come),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
