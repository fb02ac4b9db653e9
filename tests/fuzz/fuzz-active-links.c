// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The host's connections to active guests, and a guest that sends anything over one. The input is a
 * list of steps: a byte selects the step, the next one is the length of its payload.
 *	0	the payload as it is
 *	1..4	a frame of that type with the payload, and the right sequence
 *	5	a line that answers the host's last command; the payload is its word and text
 *	6	the host checks the claim, and finds it true
 *	7	so many seconds pass
 *	8	the guest ends its connection, and has a new one: by virtio-serial, if the length is
 *		odd
 *	9..11	a frame of the types 5 to 7 with the payload, filled up to the type's length
 *	12	the host hands over as many samples as the payload has bytes
 *	13	the guest ends the connection within its one by virtio-serial
 *	14	the host begins such a connection, and sends the payload over it
 *	15	the host reads from it, if the length is odd, and ends it otherwise
 *
 * The host drives the guest's agent, if it accepted one, after each step.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/active/links.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

#define VMM 4711

struct scene {
	struct vmop_active_links *links;
	struct vmop_active_group *group;
	int fd;	    /* the guest's end */
	int tunnel; /* the host's end of the connection within it; -1: none */
	uint32_t sequence;
	uint64_t now_ns;
	struct vmop_active_decoder in; /* what the guest reads */
	struct vmop_active_message command;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void connect_guest(struct scene *scene, bool is_serial)
{
	int pair[2];
	if (scene->fd >= 0)
		close(scene->fd);
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
	scene->fd = pair[1];
	scene->sequence = 0;
	memset(&scene->in, 0, sizeof(scene->in));
	if (is_serial)
		vmop_active_links_add_serial(scene->links, pair[0], VMM, scene->now_ns);
	else
		vmop_active_links_add(scene->links, pair[0], 7, 700, scene->now_ns);
}

static void put(struct scene *scene, const void *bytes, size_t n)
{
	check(send(scene->fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT) <= (ssize_t)n);
}

static void put_frame(struct scene *scene, unsigned type, const void *payload, size_t n)
{
	static uint8_t buf[VMOP_ACTIVE_HEADER_BYTES + VMOP_ACTIVE_MESSAGE_BYTES];
	const struct vmop_active_frame frame = {
		.type = type, .payload = payload, .len_bytes = (uint32_t)n};
	size_t len = vmop_active_frame_encode(&frame, scene->sequence, buf, sizeof(buf));
	scene->sequence += len > 0;
	put(scene, buf, len);
}

static void put_answer(struct scene *scene, const uint8_t *payload, size_t n)
{
	char line[VMOP_ACTIVE_MESSAGE_BYTES];
	int len = snprintf(line, sizeof(line), "1 %016llx %u %u %.*s",
			   (unsigned long long)scene->command.token, scene->command.number,
			   scene->sequence, (int)n, (const char *)payload);
	put_frame(scene, VMOP_ACTIVE_FRAME_LINE, line,
		  len < (int)sizeof(line) ? (size_t)len : sizeof(line) - 1);
}

/* Read the host's frames, which must be good ones. */
static void read_commands(struct scene *scene)
{
	struct vmop_active_frame frame;
	uint8_t *into;
	size_t room = vmop_active_decoder_room(&scene->in, &into);
	ssize_t n = recv(scene->fd, into, room, MSG_DONTWAIT);
	vmop_active_decoder_filled(&scene->in, n > 0 ? (size_t)n : 0);
	for (;;) {
		enum vmop_active_decoded outcome = vmop_active_decoder_next(&scene->in, &frame);
		char line[VMOP_ACTIVE_MESSAGE_BYTES];
		check(outcome == VMOP_ACTIVE_IS_FRAME || outcome == VMOP_ACTIVE_NEEDS_MORE);
		if (outcome != VMOP_ACTIVE_IS_FRAME)
			return;
		if (frame.type != VMOP_ACTIVE_FRAME_LINE)
			continue;
		snprintf(line, sizeof(line), "%.*s", (int)frame.len_bytes,
			 (const char *)frame.payload);
		check(vmop_active_parse(line, &scene->command) == VMOP_ACTIVE_UNDERSTOOD);
	}
}

static void accept_claim(struct scene *scene)
{
	struct vmop_active_claim claim;
	unsigned at = 0;
	if (vmop_active_links_claim(scene->links, &at, &claim))
		vmop_active_links_accept(scene->links, &claim, VMM,
					 (int)syscall(SYS_pidfd_open, getpid(), 0), scene->now_ns);
}

/* Put a frame whose payload is filled with zeros as far as its type needs. */
static void put_filled(struct scene *scene, unsigned type, const uint8_t *payload, size_t n)
{
	uint8_t filled[256] = {0};
	memcpy(filled, payload, n);
	if (type == VMOP_ACTIVE_FRAME_ASK)
		n = VMOP_ACTIVE_ASK_BYTES;
	if (type == VMOP_ACTIVE_FRAME_CLOCK)
		n = VMOP_ACTIVE_CLOCK_BYTES;
	put_frame(scene, type, filled, n);
}

static void hand_over(struct scene *scene, size_t n)
{
	struct vmop_active_sample samples[256] = {{.address = 1}};
	const uint64_t frames[] = {0x401000, 0x402000};
	const struct vmop_active_batch batch = {
		.complete_ns = scene->now_ns,
		.n = n,
		.is_extended = vmop_active_group_takes_stacks(scene->group, VMM)};
	samples[0].has_stack = true;
	samples[0].n_frames = 2;
	uint8_t bytes[VMOP_ACTIVE_BATCH_BYTES];
	size_t len;
	vmop_active_batch_encode(&batch, samples, frames, bytes, &len);
	vmop_active_links_hand(scene->links, VMM, bytes, (uint32_t)len);
}

static void read_clock(void *arg, uint32_t vmm_pid, struct vmop_active_clock *ret)
{
	const struct scene *scene = arg;
	check(vmm_pid == VMM);
	ret->host_ns = scene->now_ns;
}

/* The host's connection to the server of sessions. */
static void begin_tunnel(struct scene *scene, const uint8_t *payload, size_t n)
{
	if (scene->tunnel < 0)
		scene->tunnel = vmop_active_links_open_tunnel(scene->links, VMM);
	if (scene->tunnel >= 0)
		check(send(scene->tunnel, payload, n, MSG_NOSIGNAL | MSG_DONTWAIT) <= (ssize_t)n);
}

static void go_on_with_tunnel(struct scene *scene, bool reads)
{
	char bytes[4096];
	if (scene->tunnel >= 0 && reads &&
	    recv(scene->tunnel, bytes, sizeof(bytes), MSG_DONTWAIT) != 0)
		return;
	if (scene->tunnel >= 0)
		close(scene->tunnel);
	scene->tunnel = -1;
}

static void step(struct scene *scene, unsigned kind, const uint8_t *payload, size_t n)
{
	static const uint32_t vmm = VMM;
	if (kind == 0)
		put(scene, payload, n);
	else if (kind <= VMOP_ACTIVE_FRAME_BULK)
		put_frame(scene, kind, payload, n);
	else if (kind == 5)
		put_answer(scene, payload, n);
	else if (kind == 6)
		accept_claim(scene);
	else if (kind == 7)
		scene->now_ns += n * VMOP_NS_PER_S;
	else if (kind >= 9 && kind <= 11)
		put_filled(scene, kind - 9 + VMOP_ACTIVE_FRAME_SAMPLES, payload, n);
	else if (kind == 12)
		hand_over(scene, n);
	else if (kind == 13)
		put_frame(scene, VMOP_ACTIVE_FRAME_END, payload, 0);
	else if (kind == 14)
		begin_tunnel(scene, payload, n);
	else if (kind == 15)
		go_on_with_tunnel(scene, n % 2);
	else
		connect_guest(scene, n % 2);
	vmop_active_links_pump(scene->links, scene->now_ns);
	vmop_active_group_check(scene->group);
	bool is_bound = vmop_active_links_has(scene->links, VMM);
	vmop_error_destroy(vmop_active_group_want(scene->group, &vmm, is_bound));
	vmop_error_destroy(vmop_active_group_take_error(scene->group));
	read_commands(scene);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	check(scene != NULL);
	scene->fd = scene->tunnel = -1;
	scene->now_ns = 1000 * VMOP_NS_PER_S;
	check(!vmop_active_links_create(-1, &scene->links));
	check(!vmop_active_group_create(vmop_active_links_opener(scene->links), "default",
					&scene->group));
	check(!vmop_active_group_set_stacks(scene->group, "host stacks 1:0:ns:x"));
	vmop_active_group_set_independent(scene->group);
	const struct vmop_active_links_clock clock = {.read = read_clock, .arg = scene};
	vmop_active_links_set_clock(scene->links, &clock);
	connect_guest(scene, false);
	for (size_t at = 0; at + 2 <= len_bytes;) {
		size_t n = data[at + 1], left = len_bytes - at - 2;
		n = n < left ? n : left;
		step(scene, data[at] % 16, data + at + 2, n);
		at += 2 + n;
	}
	/* Without a connection, no agent is waited for. */
	close(scene->fd);
	vmop_active_links_pump(scene->links, scene->now_ns);
	vmop_error_destroy(vmop_active_group_want(scene->group, NULL, 0));
	vmop_active_group_destroy(scene->group);
	vmop_active_links_destroy(scene->links);
	go_on_with_tunnel(scene, false);
	free(scene);
	return 0;
}
