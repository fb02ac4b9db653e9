// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/active/links.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "daemon/active/link.h"
#include "daemon/active/tunnel.h"
#include "daemon/active/vsock.h"

/* Ports below this one need a privilege in the guest. */
#define PRIVILEGED_PORTS 1024

/* CIDs up to this one are no guest's: hypervisor, loopback, host (vsock(7)). */
#define LAST_RESERVED_CID 2

/* Reads of a connection in one call, of VMOP_ACTIVE_PUMP_BYTES each, if its tunnel brings bytes. */
#define PUMPS_MAX 16

/* Where a connection comes from: the CID of a guest, or the pid of a VMM with this bit. */
#define IS_SERIAL (UINT64_C(1) << 32)

enum stage {
	FREE,
	CHALLENGED, /* the agent owes the proof */
	CLAIMED,    /* the proof waits for its check */
	BOUND,	    /* to the guest of vmm_pid */
};

struct slot {
	enum stage stage;
	struct vmop_active_link link;
	struct vmop_tunnel tunnel; /* by virtio-serial */
	uint64_t source;	   /* see below; 0: FREE */
	uint64_t since_ns;	   /* of the stage */
	uint64_t heard_ns;	   /* when bytes came */
	struct vmop_active_claim claim;
	uint32_t vmm_pid;
	int pidfd;
	char line[VMOP_ACTIVE_MESSAGE_BYTES];
	bool has_asked;
	struct vmop_active_ask ask; /* the last one */
};

/* A source whose connections were ended against its will. */
struct ban {
	uint64_t source; /* 0: none */
	uint64_t until_ns, pause_ns;
};

/* A guest's store. */
struct box {
	struct vmop_active_store base;
	struct vmop_active_links *links;
	uint32_t vmm_pid;
};

struct vmop_active_links {
	int listener_fd;
	struct slot slots[VMOP_ACTIVE_LINKS_MAX];
	struct ban bans[VMOP_ACTIVE_LINKS_MAX];
	struct vmop_active_opener opener;
	struct vmop_active_links_clock clock; /* NULL: agents do not ask */
	struct vmop_active_losses losses;
};

/* ---- bans ------------------------------------------------------------------------- */

static struct ban *find_ban(struct vmop_active_links *links, uint64_t source)
{
	for (size_t i = 0; i < VMOP_ACTIVE_LINKS_MAX; i++)
		if (links->bans[i].source == source)
			return &links->bans[i];
	return NULL;
}

/* Return the place for a new ban: a free one, or that of the ban that ends first. */
static struct ban *find_room(struct vmop_active_links *links)
{
	struct ban *best = &links->bans[0];
	for (size_t i = 0; i < VMOP_ACTIVE_LINKS_MAX; i++) {
		struct ban *ban = &links->bans[i];
		if (!ban->source)
			return ban;
		if (ban->until_ns < best->until_ns)
			best = ban;
	}
	return best;
}

/* Do not admit a guest for a while. grows: for twice as long as the last time. */
static void ban(struct vmop_active_links *links, uint64_t source, bool grows, uint64_t now_ns)
{
	struct ban *ban = find_ban(links, source);
	uint64_t pause_ns = ban ? ban->pause_ns : VMOP_ACTIVE_FIRST_BAN_NS;
	if (ban && grows)
		pause_ns *= 2;
	if (!ban)
		ban = find_room(links);
	if (pause_ns > VMOP_ACTIVE_LONGEST_BAN_NS)
		pause_ns = VMOP_ACTIVE_LONGEST_BAN_NS;
	*ban = (struct ban){.source = source, .pause_ns = pause_ns, .until_ns = now_ns + pause_ns};
}

static void forgive(struct vmop_active_links *links, uint64_t source)
{
	struct ban *ban = find_ban(links, source);
	if (ban)
		*ban = (struct ban){0};
}

/* ---- connections -------------------------------------------------------------------- */

static void free_slot(struct slot *slot)
{
	vmop_tunnel_reset(&slot->tunnel);
	vmop_active_link_end(&slot->link);
	if (slot->pidfd >= 0)
		close(slot->pidfd);
	slot->pidfd = -1;
	slot->vmm_pid = 0;
	slot->source = 0;
	slot->stage = FREE;
	slot->has_asked = false;
	*slot->line = '\0';
}

/* End a connection and count it. */
static void end_badly(struct vmop_active_links *links, struct slot *slot, uint64_t *counter,
		      uint64_t now_ns)
{
	++*counter;
	/* After an upgrade, an agent of another version is a good one. */
	ban(links, slot->source, counter != &links->losses.n_versions, now_ns);
	free_slot(slot);
}

/*
 * End a connection whose agent has not proved where it runs. By virtio-serial the host connects
 * although perhaps no agent is there, which is no offence of the guest.
 */
static void end_unproven(struct vmop_active_links *links, struct slot *slot, uint64_t now_ns)
{
	if (slot->source & IS_SERIAL)
		free_slot(slot);
	else
		end_badly(links, slot, &links->losses.n_unproven, now_ns);
}

static struct slot *find_slot(struct vmop_active_links *links, uint64_t source)
{
	for (size_t i = 0; i < VMOP_ACTIVE_LINKS_MAX; i++)
		if (links->slots[i].stage != FREE && links->slots[i].source == source)
			return &links->slots[i];
	return NULL;
}

static struct slot *find_free(struct vmop_active_links *links)
{
	for (size_t i = 0; i < VMOP_ACTIVE_LINKS_MAX; i++)
		if (links->slots[i].stage == FREE)
			return &links->slots[i];
	return NULL;
}

static const struct slot *find_bound(const struct vmop_active_links *links, uint32_t vmm_pid)
{
	for (size_t i = 0; i < VMOP_ACTIVE_LINKS_MAX; i++)
		if (links->slots[i].stage == BOUND && links->slots[i].vmm_pid == vmm_pid)
			return &links->slots[i];
	return NULL;
}

static bool is_admitted(struct vmop_active_links *links, uint64_t source, uint64_t now_ns)
{
	const struct ban *ban = find_ban(links, source);
	return !find_slot(links, source) && !(ban && now_ns < ban->until_ns);
}

static bool challenge(struct slot *slot)
{
	return getrandom(slot->claim.nonce, sizeof(slot->claim.nonce), GRND_NONBLOCK) ==
		       (ssize_t)sizeof(slot->claim.nonce) &&
	       vmop_active_link_send(&slot->link, VMOP_ACTIVE_FRAME_CHALLENGE, slot->claim.nonce,
				     sizeof(slot->claim.nonce));
}

/* Add a connection, and challenge it. vmm_pid: of the only guest that it can be; 0: not known. */
static bool add(struct vmop_active_links *links, int fd, uint64_t source, uint32_t vmm_pid,
		uint64_t now_ns)
{
	struct slot *slot = is_admitted(links, source, now_ns) ? find_free(links) : NULL;
	if (!slot) {
		links->losses.n_refused++;
		close(fd);
		return false;
	}
	vmop_active_link_begin(&slot->link, fd);
	slot->stage = CHALLENGED;
	slot->source = source;
	slot->since_ns = slot->heard_ns = now_ns;
	slot->claim = (struct vmop_active_claim){.link = (unsigned)(slot - links->slots),
						 .cid = vmm_pid ? 0 : (uint32_t)source,
						 .vmm_pid = vmm_pid};
	if (challenge(slot))
		return true;
	links->losses.n_refused++;
	free_slot(slot);
	return false;
}

bool vmop_active_links_add(struct vmop_active_links *links, int fd, uint32_t cid, uint32_t port,
			   uint64_t now_ns)
{
	if (cid > LAST_RESERVED_CID && port < PRIVILEGED_PORTS)
		return add(links, fd, cid, 0, now_ns);
	links->losses.n_refused++;
	close(fd);
	return false;
}

bool vmop_active_links_add_serial(struct vmop_active_links *links, int fd, uint32_t vmm_pid,
				  uint64_t now_ns)
{
	return add(links, fd, IS_SERIAL | vmm_pid, vmm_pid, now_ns);
}

bool vmop_active_links_has_serial(const struct vmop_active_links *links, uint32_t vmm_pid)
{
	return find_slot((struct vmop_active_links *)links, IS_SERIAL | vmm_pid) != NULL;
}

/* ---- their frames --------------------------------------------------------------------- */

static bool take_proof(struct slot *slot, const struct vmop_active_frame *frame, uint64_t now_ns)
{
	if (slot->stage != CHALLENGED ||
	    !vmop_active_proof_decode(frame->payload, &slot->claim.proof))
		return false;
	slot->stage = CLAIMED;
	slot->since_ns = slot->claim.claimed_ns = now_ns;
	return true;
}

struct turn {
	struct vmop_active_links *links;
	struct slot *slot;
	uint64_t now_ns;
	bool has_answered; /* a question */
	bool has_bulk;	   /* bytes of the tunnel came */
};

/* Answer a question for the time: one in a turn, so that many of them cost little. */
static bool take_ask(struct turn *turn, const struct vmop_active_frame *frame)
{
	struct slot *slot = turn->slot;
	const struct vmop_active_links_clock *clock = &turn->links->clock;
	struct vmop_active_clock answer = {0};
	uint8_t payload[VMOP_ACTIVE_CLOCK_BYTES];
	if (slot->stage != BOUND || !vmop_active_ask_decode(frame->payload, &slot->ask))
		return false;
	if (!clock->read)
		return true;
	slot->has_asked = true;
	if (turn->has_answered)
		return true;
	turn->has_answered = true;
	clock->read(clock->arg, slot->vmm_pid, &answer);
	answer.asked_ns = slot->ask.asked_ns;
	vmop_active_clock_encode(&answer, payload);
	/* Without room the agent asks again. */
	vmop_active_link_send(&slot->link, VMOP_ACTIVE_FRAME_CLOCK, payload, sizeof(payload));
	return true;
}

static bool take_frame(void *arg, const struct vmop_active_frame *frame)
{
	struct turn *turn = arg;
	struct slot *slot = turn->slot;
	slot->heard_ns = turn->now_ns;
	switch (frame->type) {
	case VMOP_ACTIVE_FRAME_PROOF:
		return take_proof(slot, frame, turn->now_ns);
	case VMOP_ACTIVE_FRAME_LINE:
		if (slot->stage != BOUND || memchr(frame->payload, '\0', frame->len_bytes))
			return false;
		memcpy(slot->line, frame->payload, frame->len_bytes);
		slot->line[frame->len_bytes] = '\0';
		return true;
	case VMOP_ACTIVE_FRAME_ASK:
		return take_ask(turn, frame);
	case VMOP_ACTIVE_FRAME_BULK:
	case VMOP_ACTIVE_FRAME_END:
		turn->has_bulk = true;
		return vmop_tunnel_take(&slot->tunnel, frame);
	default:
		return false;
	}
}

static bool has_vmm_ended(const struct slot *slot)
{
	struct pollfd pollfd = {.fd = slot->pidfd, .events = POLLIN};
	return slot->pidfd >= 0 && poll(&pollfd, 1, 0) > 0;
}

static bool is_late(const struct slot *slot, uint64_t now_ns)
{
	switch (slot->stage) {
	case CHALLENGED:
		return now_ns - slot->since_ns > VMOP_ACTIVE_PROOF_WAIT_NS;
	case CLAIMED:
		return now_ns - slot->since_ns > VMOP_ACTIVE_CHECK_WAIT_NS;
	default: /* active-peer.h limits the silence of an agent with a session */
		return false;
	}
}

static bool is_silent(const struct slot *slot, uint64_t now_ns)
{
	return slot->stage == BOUND && slot->source & IS_SERIAL && now_ns > slot->heard_ns &&
	       now_ns - slot->heard_ns > VMOP_ACTIVE_SERIAL_SILENCE_NS;
}

/* Send and receive. Where bytes of a tunnel come, more of them probably wait. */
static enum vmop_active_link_state exchange(struct turn *turn)
{
	struct slot *slot = turn->slot;
	enum vmop_active_link_state state = VMOP_ACTIVE_LINK_WORKS;
	turn->has_bulk = true;
	for (unsigned i = 0; i < PUMPS_MAX && turn->has_bulk && state == VMOP_ACTIVE_LINK_WORKS;
	     i++) {
		turn->has_bulk = false;
		if (!vmop_tunnel_pass(&slot->tunnel, &slot->link))
			break;
		state = vmop_active_link_pump(&slot->link, take_frame, turn);
	}
	return state;
}

static void serve(struct vmop_active_links *links, struct slot *slot, uint64_t now_ns)
{
	struct turn turn = {.links = links, .slot = slot, .now_ns = now_ns};
	if (slot->stage == FREE)
		return;
	if (has_vmm_ended(slot)) {
		free_slot(slot);
		return;
	}
	switch (exchange(&turn)) {
	case VMOP_ACTIVE_LINK_WORKS:
		if (is_silent(slot, now_ns)) {
			free_slot(slot);
			return;
		}
		if (is_late(slot, now_ns))
			end_unproven(links, slot, now_ns);
		return;
	case VMOP_ACTIVE_LINK_CLOSED:
		if (slot->stage == BOUND)
			free_slot(slot);
		else
			end_unproven(links, slot, now_ns);
		return;
	case VMOP_ACTIVE_LINK_OTHER_VERSION:
		end_badly(links, slot, &links->losses.n_versions, now_ns);
		return;
	case VMOP_ACTIVE_LINK_RUBBISH:
		end_badly(links, slot, &links->losses.n_rubbish, now_ns);
		return;
	}
}

void vmop_active_links_pump(struct vmop_active_links *links, uint64_t now_ns)
{
	uint32_t cid, port;
	int fd = 0;
	for (unsigned i = 0; i < VMOP_ACTIVE_ACCEPTS_MAX && links->listener_fd >= 0 && fd >= 0;
	     i++) {
		fd = vmop_active_vsock_accept(links->listener_fd, &cid, &port);
		if (fd >= 0)
			vmop_active_links_add(links, fd, cid, port, now_ns);
	}
	for (size_t i = 0; i < VMOP_ACTIVE_LINKS_MAX; i++)
		serve(links, &links->slots[i], now_ns);
}

/* ---- claims ---------------------------------------------------------------------------- */

bool vmop_active_links_claim(const struct vmop_active_links *links, unsigned *at,
			     struct vmop_active_claim *ret)
{
	for (; *at < VMOP_ACTIVE_LINKS_MAX; ++*at) {
		if (links->slots[*at].stage != CLAIMED)
			continue;
		*ret = links->slots[(*at)++].claim;
		return true;
	}
	return false;
}

/* Return the connection of a claim; NULL: it has ended meanwhile. */
static struct slot *slot_of(struct vmop_active_links *links, const struct vmop_active_claim *claim)
{
	struct slot *slot = claim->link < VMOP_ACTIVE_LINKS_MAX ? &links->slots[claim->link] : NULL;
	return slot && slot->stage == CLAIMED &&
			       !memcmp(slot->claim.nonce, claim->nonce, sizeof(claim->nonce))
		       ? slot
		       : NULL;
}

void vmop_active_links_hold(struct vmop_active_links *links, const struct vmop_active_claim *claim,
			    uint64_t now_ns)
{
	struct slot *slot = slot_of(links, claim);
	if (slot && now_ns - claim->claimed_ns < VMOP_ACTIVE_HOLD_NS)
		slot->since_ns = now_ns;
}

void vmop_active_links_refuse(struct vmop_active_links *links,
			      const struct vmop_active_claim *claim, uint64_t now_ns)
{
	struct slot *slot = slot_of(links, claim);
	if (slot)
		end_unproven(links, slot, now_ns);
}

bool vmop_active_links_accept(struct vmop_active_links *links,
			      const struct vmop_active_claim *claim, uint32_t vmm_pid, int pidfd,
			      uint64_t now_ns)
{
	struct slot *slot = slot_of(links, claim);
	if (!slot || find_bound(links, vmm_pid)) {
		close(pidfd);
		vmop_active_links_refuse(links, claim, now_ns);
		return false;
	}
	forgive(links, slot->source);
	slot->stage = BOUND;
	slot->heard_ns = now_ns;
	slot->since_ns = now_ns;
	slot->vmm_pid = vmm_pid;
	slot->pidfd = pidfd;
	return true;
}

bool vmop_active_links_has(const struct vmop_active_links *links, uint32_t vmm_pid)
{
	return find_bound(links, vmm_pid) != NULL;
}

bool vmop_active_links_address(const struct vmop_active_links *links, uint32_t vmm_pid,
			       uint32_t *ret_cid, int *ret_pidfd)
{
	const struct slot *slot = find_bound(links, vmm_pid);
	if (!slot)
		return false;
	*ret_cid = slot->claim.cid;
	*ret_pidfd = slot->pidfd;
	return true;
}

int vmop_active_links_open_tunnel(struct vmop_active_links *links, uint32_t vmm_pid)
{
	struct slot *slot = (struct slot *)find_bound(links, vmm_pid);
	return slot && slot->source & IS_SERIAL ? vmop_tunnel_open(&slot->tunnel) : -1;
}

bool vmop_active_links_has_tunnel(const struct vmop_active_links *links, uint32_t vmm_pid)
{
	const struct slot *slot = find_bound(links, vmm_pid);
	return slot && vmop_tunnel_is_used(&slot->tunnel);
}

/* ---- samples and the clock --------------------------------------------------------------- */

void vmop_active_links_set_clock(struct vmop_active_links *links,
				 const struct vmop_active_links_clock *clock)
{
	links->clock = *clock;
}

bool vmop_active_links_asked(const struct vmop_active_links *links, uint32_t vmm_pid,
			     struct vmop_active_ask *ret)
{
	const struct slot *slot = find_bound(links, vmm_pid);
	if (!slot || !slot->has_asked)
		return false;
	*ret = slot->ask;
	return true;
}

bool vmop_active_links_hand(struct vmop_active_links *links, uint32_t vmm_pid,
			    const uint8_t *payload, uint32_t len_bytes)
{
	struct slot *slot = (struct slot *)find_bound(links, vmm_pid);
	if (!slot ||
	    !vmop_active_link_send(&slot->link, VMOP_ACTIVE_FRAME_SAMPLES, payload, len_bytes))
		return false;
	serve(links, slot, vmop_clock_ns(CLOCK_MONOTONIC));
	return true;
}

/* ---- stores ---------------------------------------------------------------------------- */

static bool box_read(struct vmop_active_store *store, char buf[VMOP_ACTIVE_MESSAGE_BYTES])
{
	struct box *box = (struct box *)store;
	struct slot *slot = (struct slot *)find_bound(box->links, box->vmm_pid);
	if (slot)
		serve(box->links, slot, vmop_clock_ns(CLOCK_MONOTONIC));
	bool is_bound = slot && slot->stage == BOUND;
	memset(buf, 0, VMOP_ACTIVE_MESSAGE_BYTES);
	if (is_bound)
		memcpy(buf, slot->line, VMOP_ACTIVE_MESSAGE_BYTES);
	return is_bound;
}

/* A line that finds no room is dropped: the next one replaces it. */
static bool box_write(struct vmop_active_store *store, const char *line)
{
	struct box *box = (struct box *)store;
	struct slot *slot = (struct slot *)find_bound(box->links, box->vmm_pid);
	if (!slot)
		return false;
	vmop_active_link_send(&slot->link, VMOP_ACTIVE_FRAME_LINE, line, (uint32_t)strlen(line));
	serve(box->links, slot, vmop_clock_ns(CLOCK_MONOTONIC));
	return slot->stage == BOUND;
}

static const struct vmop_active_store_ops box_ops = {box_read, box_write};

static struct vmop_error *open_box(void *arg, uint32_t vmm_pid, struct vmop_active_store **ret)
{
	struct box *box = calloc(1, sizeof(*box));
	if (!box)
		return &vmop_error_no_memory;
	*box = (struct box){.base.ops = &box_ops, .links = arg, .vmm_pid = vmm_pid};
	*ret = &box->base;
	return NULL;
}

static void close_box(void *arg, struct vmop_active_store *store)
{
	(void)arg;
	free(store);
}

/* Nothing to hurry: each read of a store looks at the connection itself. */
static void hurry(void *arg, bool is_on)
{
	(void)arg;
	(void)is_on;
}

const struct vmop_active_opener *vmop_active_links_opener(struct vmop_active_links *links)
{
	return &links->opener;
}

const struct vmop_active_losses *vmop_active_links_losses(const struct vmop_active_links *links)
{
	return &links->losses;
}

/* ---- life ------------------------------------------------------------------------------- */

struct vmop_error *vmop_active_links_create(int listener_fd, struct vmop_active_links **ret)
{
	struct vmop_active_links *links = calloc(1, sizeof(*links));
	if (!links) {
		if (listener_fd >= 0)
			close(listener_fd);
		return &vmop_error_no_memory;
	}
	links->listener_fd = listener_fd;
	links->opener = (struct vmop_active_opener){
		.open = open_box, .close = close_box, .hurry = hurry, .arg = links};
	for (size_t i = 0; i < VMOP_ACTIVE_LINKS_MAX; i++)
		links->slots[i].link.fd = links->slots[i].pidfd = -1;
	*ret = links;
	return NULL;
}

void vmop_active_links_destroy(struct vmop_active_links *links)
{
	if (!links)
		return;
	for (size_t i = 0; i < VMOP_ACTIVE_LINKS_MAX; i++)
		free_slot(&links->slots[i]);
	if (links->listener_fd >= 0)
		close(links->listener_fd);
	free(links);
}
