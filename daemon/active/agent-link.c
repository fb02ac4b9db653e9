// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/active/agent-link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/active/link.h"
#include "daemon/active/tunnel.h"
#include "libutil/log.h"

struct vmop_agent_link {
	struct vmop_active_store store;
	int (*dial)(void);
	struct vmop_active_link link;
	bool is_up;	     /* connected; else it may be connecting */
	bool was_challenged; /* on this connection */
	bool was_served;     /* the host accepted this connection, and sent a line */
	bool version_was_logged;
	uint64_t dialled_ns, pause_ns; /* of the last attempt; until the next one */
	struct vmop_tunnel tunnel;
	bool has_server;		  /* connections to it are within the rules */
	void (*serve)(void *arg, int fd); /* NULL: it has ended */
	void *server;
	struct vmop_handed_feed *feed; /* NULL: none now */
	bool had_feed;		       /* samples may still come */
	bool has_more;		       /* the last pump brought samples or bulk */
	uint64_t asked_ns;	       /* when the host's time was last asked for */
	uint8_t *nonce;		       /* a page of its own, which stays in memory */
	char line[VMOP_ACTIVE_MESSAGE_BYTES];
};

#define PAGE_BYTES 4096

/* Reads of at most VMOP_ACTIVE_PUMP_BYTES in one look. */
#define PUMPS_MAX 16

/* Interval of questions for the host's time. */
#define ASK_EVERY_NS (250 * VMOP_NS_PER_MS)

/* Times between reads while round trips are measured. */
#define ANSWER_LOOK_MS 2
#define LEAST_LOOK_MS 50
#define LOOK_SPREAD_MS 100

/* How long a connection may take to be made. */
#define CONNECT_LIMIT_NS (5 * VMOP_NS_PER_S)

static void hang_up(struct vmop_agent_link *link)
{
	vmop_tunnel_reset(&link->tunnel);
	vmop_active_link_end(&link->link);
	*link->line = '\0';
	memset(link->nonce, 0, VMOP_ACTIVE_NONCE_BYTES);
	if (link->was_served)
		link->pause_ns = VMOP_AGENT_LINK_FIRST_PAUSE_NS;
	else if (link->pause_ns < VMOP_AGENT_LINK_LONGEST_PAUSE_NS)
		link->pause_ns *= 2;
	link->is_up = link->was_challenged = link->was_served = false;
	link->had_feed = link->feed != NULL;
}

static void begin_to_connect(struct vmop_agent_link *link, uint64_t now_ns)
{
	if (link->dialled_ns && now_ns - link->dialled_ns < link->pause_ns)
		return;
	link->dialled_ns = now_ns;
	int fd = link->dial();
	if (fd >= 0)
		vmop_active_link_begin(&link->link, fd);
	else
		hang_up(link);
}

/* Check whether the connection is made. */
static void await_connection(struct vmop_agent_link *link, uint64_t now_ns)
{
	struct pollfd pollfd = {.fd = link->link.fd, .events = POLLOUT};
	int error = 0;
	socklen_t len = sizeof(error);
	bool is_late = now_ns - link->dialled_ns > CONNECT_LIMIT_NS;
	if (poll(&pollfd, 1, 0) <= 0) {
		if (is_late)
			hang_up(link);
		return;
	}
	/* A port of virtio-serial can be written once the host is connected. */
	if (getsockopt(link->link.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 && errno != ENOTSOCK)
		error = errno;
	if (error || !(pollfd.revents & POLLOUT)) {
		hang_up(link);
		return;
	}
	link->is_up = true;
	vmop_log_info("connected to the host's vmopd");
}

/* Put the host's random bytes where it will read them. */
static bool take_challenge(struct vmop_agent_link *link, const struct vmop_active_frame *frame)
{
	const struct vmop_active_proof proof = {.address = (uintptr_t)link->nonce,
						.pid = (uint32_t)getpid()};
	uint8_t payload[VMOP_ACTIVE_PROOF_BYTES];
	if (link->was_challenged)
		return false;
	link->was_challenged = true;
	memcpy(link->nonce, frame->payload, VMOP_ACTIVE_NONCE_BYTES);
	vmop_active_proof_encode(&proof, payload);
	return vmop_active_link_send(&link->link, VMOP_ACTIVE_FRAME_PROOF, payload,
				     sizeof(payload));
}

/* Take what belongs to the samples. After the session's end it is ignored. */
static bool take_handed(struct vmop_agent_link *link, const struct vmop_active_frame *frame)
{
	if (!link->feed)
		return link->had_feed;
	if (frame->type == VMOP_ACTIVE_FRAME_SAMPLES) {
		link->has_more = true;
		return vmop_handed_feed_batch(link->feed, frame->payload, frame->len_bytes);
	}
	/* An answer may come after the next question, or after the next session's begin. */
	vmop_handed_feed_clock(link->feed, frame->payload);
	return true;
}

/* Take what belongs to a connection to the server, which the first frame begins. */
static bool take_tunneled(struct vmop_agent_link *link, const struct vmop_active_frame *frame)
{
	if (!link->has_server || !link->was_served)
		return false;
	link->has_more = true;
	if (!vmop_tunnel_is_used(&link->tunnel)) {
		int fd = vmop_tunnel_open(&link->tunnel);
		if (fd < 0)
			return false;
		if (link->serve && frame->type == VMOP_ACTIVE_FRAME_BULK)
			link->serve(link->server, fd);
		else
			close(fd);
	}
	return vmop_tunnel_take(&link->tunnel, frame);
}

static bool take_frame(void *arg, const struct vmop_active_frame *frame)
{
	struct vmop_agent_link *link = arg;
	switch (frame->type) {
	case VMOP_ACTIVE_FRAME_CHALLENGE:
		return take_challenge(link, frame);
	case VMOP_ACTIVE_FRAME_LINE:
		if (!link->was_challenged)
			return false;
		memcpy(link->line, frame->payload, frame->len_bytes);
		link->line[frame->len_bytes] = '\0';
		link->was_served = true;
		return true;
	case VMOP_ACTIVE_FRAME_SAMPLES:
	case VMOP_ACTIVE_FRAME_CLOCK:
		return take_handed(link, frame);
	case VMOP_ACTIVE_FRAME_BULK:
	case VMOP_ACTIVE_FRAME_END:
		return take_tunneled(link, frame);
	default:
		return false;
	}
}

/* Ask for the host's time, if a question is due. */
static void ask(struct vmop_agent_link *link)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	uint8_t payload[VMOP_ACTIVE_ASK_BYTES];
	if (!link->feed || !link->was_served || now_ns - link->asked_ns < ASK_EVERY_NS)
		return;
	link->asked_ns = now_ns;
	vmop_handed_feed_ask(link->feed, payload);
	vmop_active_link_send(&link->link, VMOP_ACTIVE_FRAME_ASK, payload, sizeof(payload));
}

/* Send and receive. Where samples or a file go, more of them probably wait. */
static enum vmop_active_link_state pump(struct vmop_agent_link *link)
{
	enum vmop_active_link_state state = VMOP_ACTIVE_LINK_WORKS;
	link->has_more = true;
	for (unsigned i = 0; i < PUMPS_MAX && state == VMOP_ACTIVE_LINK_WORKS && link->has_more;
	     i++) {
		if (!vmop_tunnel_pass(&link->tunnel, &link->link))
			break;
		bool has_bulk = vmop_tunnel_is_used(&link->tunnel) && link->link.n_out;
		link->has_more = false;
		state = vmop_active_link_pump(&link->link, take_frame, link);
		link->has_more |= has_bulk && !link->link.n_out; /* all of it went */
	}
	return state;
}

static void exchange(struct vmop_agent_link *link)
{
	ask(link);
	enum vmop_active_link_state state = pump(link);
	if (state == VMOP_ACTIVE_LINK_WORKS)
		return;
	if (state == VMOP_ACTIVE_LINK_OTHER_VERSION && !link->version_was_logged) {
		vmop_log_warning(
			"the host's vmopd is of another version; install the same in both");
		link->version_was_logged = true;
	}
	hang_up(link);
}

static bool link_read(struct vmop_active_store *store, char buf[VMOP_ACTIVE_MESSAGE_BYTES])
{
	struct vmop_agent_link *link = (struct vmop_agent_link *)store;
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	if (link->link.fd < 0)
		begin_to_connect(link, now_ns);
	if (link->link.fd >= 0 && !link->is_up)
		await_connection(link, now_ns);
	if (link->is_up)
		exchange(link);
	memcpy(buf, link->line, VMOP_ACTIVE_MESSAGE_BYTES);
	return true;
}

/*
 * Send a line. One that finds no room is dropped: the next one replaces it. Before the host's first
 * line the agent sends no line: the answer to an earlier session is no proof.
 */
static bool link_write(struct vmop_active_store *store, const char *line)
{
	struct vmop_agent_link *link = (struct vmop_agent_link *)store;
	if (!link->is_up || !link->was_served)
		return false;
	vmop_active_link_send(&link->link, VMOP_ACTIVE_FRAME_LINE, line, (uint32_t)strlen(line));
	exchange(link);
	return link->is_up;
}

static const struct vmop_active_store_ops store_ops = {link_read, link_write};

struct vmop_error *vmop_agent_link_create(int (*dial)(void), struct vmop_agent_link **ret)
{
	struct vmop_agent_link *link = calloc(1, sizeof(*link));
	if (!link)
		return &vmop_error_no_memory;
	link->nonce =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (link->nonce == MAP_FAILED) {
		free(link);
		return &vmop_error_no_memory;
	}
	/* A page in swap is not seen from the host, which then refuses: try again. */
	(void)mlock(link->nonce, PAGE_BYTES);
	link->store.ops = &store_ops;
	link->dial = dial;
	link->link.fd = -1;
	link->pause_ns = VMOP_AGENT_LINK_FIRST_PAUSE_NS;
	*ret = link;
	return NULL;
}

void vmop_agent_link_destroy(struct vmop_agent_link *link)
{
	if (!link)
		return;
	if (link->is_up)
		exchange(link);
	vmop_tunnel_reset(&link->tunnel);
	vmop_active_link_end(&link->link);
	munmap(link->nonce, PAGE_BYTES);
	free(link);
}

struct vmop_active_store *vmop_agent_link_store(struct vmop_agent_link *link)
{
	return &link->store;
}

void vmop_agent_link_set_feed(struct vmop_agent_link *link, struct vmop_handed_feed *feed)
{
	link->feed = feed;
	link->had_feed |= feed != NULL;
	link->asked_ns = 0;
}

void vmop_agent_link_set_server(struct vmop_agent_link *link, void (*take)(void *arg, int fd),
				void *arg)
{
	link->has_server |= take != NULL;
	link->serve = take;
	link->server = arg;
}

bool vmop_agent_link_is_serving(const struct vmop_agent_link *link)
{
	return vmop_tunnel_is_used(&link->tunnel);
}

unsigned vmop_agent_link_measure_ms(const struct vmop_agent_link *link)
{
	if (!link->feed || !link->is_up || !link->feed->clock.is_by_round_trips)
		return 0;
	if (link->feed->clock.is_asked)
		return ANSWER_LOOK_MS;
	return LEAST_LOOK_MS + (unsigned)(vmop_clock_ns(CLOCK_MONOTONIC) / 1000 % LOOK_SPREAD_MS);
}

bool vmop_agent_link_is_up(const struct vmop_agent_link *link)
{
	return link->is_up;
}
