// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/active-group.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <utlist.h>

#include "hv-interface/active-peer.h"
#include "libutil/clock.h"

#define POLL_INTERVAL_NS (10 * VMOP_NS_PER_MS)
/* Pause before an absent agent is probed again. Each failure doubles it. */
#define FIRST_PAUSE_NS (5 * VMOP_NS_PER_S)
#define LONGEST_PAUSE_NS (600 * VMOP_NS_PER_S)

#define NAME_BYTES 128

struct member {
	uint32_t domain;
	char name[NAME_BYTES];
	struct vmop_active_store *store;
	struct vmop_active_peer peer;
	enum vmop_active_presence presence;
	bool is_wanted;
	bool is_joined;	  /* in Xen's current session */
	bool is_open;	  /* the agent has a session open, as far as is known */
	bool has_stacks;  /* its session takes call stacks */
	bool is_reported; /* its absence was reported */
	bool may_stir;	  /* its next sign of life is reason enough to probe it */
	uint64_t gone_ns, pause_ns;
	struct member *prev, *next;
};

struct vmop_active_group {
	const struct vmop_active_opener *opener;
	char events[VMOP_ACTIVE_TEXT_BYTES];
	char events_with_stacks[VMOP_ACTIVE_TEXT_BYTES]; /* "": no stacks */
	uint64_t token;
	bool is_independent;
	struct member *members;
};

static struct vmop_error *copy_events(const char *events, char ret[VMOP_ACTIVE_TEXT_BYTES])
{
	if (strlen(events) >= VMOP_ACTIVE_TEXT_BYTES)
		return vmop_error_new(VMOP_ERROR_LIMIT,
				      "the list of events is too long for active domains");
	strcpy(ret, events);
	return NULL;
}

struct vmop_error *vmop_active_group_create(const struct vmop_active_opener *opener,
					    const char *events, struct vmop_active_group **ret)
{
	struct vmop_active_group *group = calloc(1, sizeof(*group));
	struct vmop_error *err = group ? copy_events(events, group->events) : &vmop_error_no_memory;
	if (err) {
		free(group);
		return err;
	}
	group->opener = opener;
	while (!group->token) {
		if (getrandom(&group->token, sizeof(group->token), 0) < 0)
			group->token = vmop_clock_ns(CLOCK_MONOTONIC);
	}
	*ret = group;
	return NULL;
}

struct vmop_error *vmop_active_group_set_stacks(struct vmop_active_group *group, const char *events)
{
	return copy_events(events, group->events_with_stacks);
}

void vmop_active_group_set_independent(struct vmop_active_group *group)
{
	group->is_independent = true;
}

static void member_destroy(struct vmop_active_group *group, struct member *member)
{
	DL_DELETE(group->members, member);
	vmop_active_peer_deinit(&member->peer);
	group->opener->close(group->opener->arg, member->store);
	free(member);
}

void vmop_active_group_destroy(struct vmop_active_group *group)
{
	if (!group)
		return;
	vmop_active_group_leave(group, true);
	while (group->members)
		member_destroy(group, group->members);
	free(group);
}

static struct member *find(const struct vmop_active_group *group, uint32_t domain)
{
	struct member *member;
	DL_SEARCH_SCALAR(group->members, member, domain, domain);
	return member;
}

/* Xen's guests have the wall clock of the hypervisor. */
static const char *run_text(const struct vmop_active_group *group)
{
	return group->is_independent ? VMOP_ACTIVE_WANTS_TIMES : NULL;
}

/* ---- whether it is there ------------------------------------------------------------- */

static void probe(struct vmop_active_group *group, struct member *member, uint64_t now)
{
	char uuid[VMOP_ACTIVE_TEXT_BYTES] = "";
	if (group->opener->uuid)
		group->opener->uuid(group->opener->arg, member->domain, uuid, sizeof(uuid));
	vmop_active_peer_revive(&member->peer);
	vmop_active_peer_send(&member->peer, VMOP_ACTIVE_HELLO, uuid, now);
	member->presence = VMOP_ACTIVE_PROBED;
	member->is_joined = member->is_open = false;
}

static struct vmop_error *member_create(struct vmop_active_group *group, uint32_t domain)
{
	struct member *member = calloc(1, sizeof(*member));
	if (!member)
		return &vmop_error_no_memory;
	member->domain = domain;
	member->pause_ns = FIRST_PAUSE_NS;
	member->may_stir = true;
	if (group->opener->name)
		group->opener->name(group->opener->arg, domain, member->name, sizeof(member->name));
	else
		snprintf(member->name, sizeof(member->name), "%" PRIu32, domain);
	struct vmop_error *err = group->opener->open(group->opener->arg, domain, &member->store);
	if (err) {
		free(member);
		return err;
	}
	vmop_active_peer_init(&member->peer, member->store, member->name, group->token);
	DL_APPEND(group->members, member);
	probe(group, member, vmop_clock_ns(CLOCK_MONOTONIC));
	return NULL;
}

/* Continue after the answer to HELLO or OPEN, and in an independent group to JOIN or RUN. */
static void continue_probe(struct vmop_active_group *group, struct member *member, uint64_t now)
{
	enum vmop_active_word answered = member->peer.sent.word;
	if (answered == VMOP_ACTIVE_HELLO) {
		member->has_stacks = member->peer.takes_stacks && *group->events_with_stacks;
		vmop_active_peer_send(
			&member->peer, VMOP_ACTIVE_OPEN,
			member->has_stacks ? group->events_with_stacks : group->events, now);
		member->is_open = true;
	} else if (answered == VMOP_ACTIVE_OPEN && group->is_independent) {
		vmop_active_peer_send(&member->peer, VMOP_ACTIVE_JOIN, NULL, now);
		member->is_joined = true;
	} else if (answered == VMOP_ACTIVE_JOIN) {
		vmop_active_peer_send(&member->peer, VMOP_ACTIVE_RUN, run_text(group), now);
	} else {
		member->presence = VMOP_ACTIVE_THERE;
		member->is_reported = false;
	}
}

/* Check for an answer to the last command and return the peer's state. */
static enum vmop_active_state look(struct vmop_active_group *group, struct member *member,
				   uint64_t now)
{
	enum vmop_active_state state = vmop_active_peer_look(&member->peer, now);
	if (state == VMOP_ACTIVE_AGAIN && group->is_independent)
		state = vmop_active_peer_refuse(&member->peer, "has no list to leave");
	if (state == VMOP_ACTIVE_GONE && member->presence != VMOP_ACTIVE_ABSENT) {
		member->presence = VMOP_ACTIVE_ABSENT;
		member->gone_ns = now;
		if (member->pause_ns < LONGEST_PAUSE_NS)
			member->pause_ns *= 2;
	} else if (state == VMOP_ACTIVE_ANSWERED && member->presence == VMOP_ACTIVE_PROBED) {
		continue_probe(group, member, now);
	}
	return member->peer.state;
}

/* Remove a member that holds nothing of Xen's. No wait for its end is needed. */
static void dismiss(struct vmop_active_group *group, struct member *member, uint64_t now)
{
	if (member->is_open)
		vmop_active_peer_send(&member->peer, VMOP_ACTIVE_LEAVE, "end", now);
	member_destroy(group, member);
}

/*
 * Probe an absent member again, after its pause. A guest that was suspended has a long one behind
 * it, and ends it by a sign of life; but only one pause, so that signs of life are no way to be
 * probed all the time.
 */
static void probe_again(struct vmop_active_group *group, struct member *member, uint64_t now)
{
	bool is_due = now - member->gone_ns >= member->pause_ns;
	if (!is_due && !(member->may_stir && vmop_active_peer_stirs(&member->peer)))
		return;
	member->may_stir = is_due;
	probe(group, member, now);
}

/* Make sure that each of the domains has a member. */
static struct vmop_error *find_or_create(struct vmop_active_group *group, const uint32_t *domains,
					 size_t n)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < n && !err; i++)
		err = find(group, domains[i]) ? NULL : member_create(group, domains[i]);
	return err;
}

struct vmop_error *vmop_active_group_want(struct vmop_active_group *group, const uint32_t *domains,
					  size_t n)
{
	struct member *member, *next;
	struct vmop_error *err = find_or_create(group, domains, n);
	uint64_t now = vmop_clock_ns(CLOCK_MONOTONIC);
	if (!err) {
		DL_FOREACH (group->members, member)
			member->is_wanted = false;
		for (size_t i = 0; i < n; i++)
			find(group, domains[i])->is_wanted = true;
	}
	DL_FOREACH_SAFE(group->members, member, next)
	{
		if (!member->is_wanted && (!member->is_joined || group->is_independent))
			dismiss(group, member, now);
		else if (member->presence == VMOP_ACTIVE_PROBED)
			look(group, member, now);
		else if (member->presence == VMOP_ACTIVE_ABSENT && member->is_wanted)
			probe_again(group, member, now);
	}
	return err;
}

enum vmop_active_presence vmop_active_group_presence(const struct vmop_active_group *group,
						     uint32_t domain)
{
	const struct member *member = find(group, domain);
	return member ? member->presence : VMOP_ACTIVE_ABSENT;
}

bool vmop_active_group_takes_stacks(const struct vmop_active_group *group, uint32_t domain)
{
	const struct member *member = find(group, domain);
	return member && member->peer.takes_stacks;
}

bool vmop_active_group_has_stacks(const struct vmop_active_group *group, uint32_t domain)
{
	const struct member *member = find(group, domain);
	return member && member->has_stacks;
}

bool vmop_active_group_wants_join(const struct vmop_active_group *group)
{
	const struct member *member;
	DL_FOREACH (group->members, member) {
		if (member->is_wanted && member->presence == VMOP_ACTIVE_THERE &&
		    !member->is_joined)
			return true;
	}
	return false;
}

struct vmop_error *vmop_active_group_take_error(struct vmop_active_group *group)
{
	struct member *member;
	DL_FOREACH (group->members, member) {
		if (member->presence != VMOP_ACTIVE_ABSENT || member->is_reported)
			continue;
		member->is_reported = true;
		struct vmop_error *err = member->peer.error;
		member->peer.error = NULL;
		return err ? err : &vmop_error_no_memory;
	}
	return NULL;
}

/* ---- together ----------------------------------------------------------------------- */

/*
 * Count the agents that still owe an answer: the probed ones, or the rest. Each agent also gets its
 * sign of life here.
 */
static size_t count_waiting(struct vmop_active_group *group, bool are_probed)
{
	struct member *member;
	uint64_t now = vmop_clock_ns(CLOCK_MONOTONIC);
	size_t n = 0;
	DL_FOREACH (group->members, member) {
		bool counts = (member->presence == VMOP_ACTIVE_PROBED) == are_probed;
		n += look(group, member, now) == VMOP_ACTIVE_WAITING && counts;
	}
	return n;
}

/* Wait until no agent owes an answer. The time limits of the peers bound the wait. */
static void wait_for(struct vmop_active_group *group, bool are_probed, void (*meanwhile)(void *arg),
		     void *arg)
{
	const struct timespec pause = {.tv_nsec = POLL_INTERVAL_NS};
	if (!count_waiting(group, are_probed))
		return;
	group->opener->hurry(group->opener->arg, true);
	for (unsigned round = 1; count_waiting(group, are_probed); round++) {
		nanosleep(&pause, NULL);
		if (meanwhile && round % 10 == 0)
			meanwhile(arg);
	}
	group->opener->hurry(group->opener->arg, false);
}

struct vmop_error *vmop_active_group_wait(struct vmop_active_group *group)
{
	wait_for(group, true, NULL, NULL);
	return vmop_active_group_take_error(group);
}

void vmop_active_group_alert(struct vmop_active_group *group, void (*meanwhile)(void *arg),
			     void *arg)
{
	struct member *member;
	uint64_t now = vmop_clock_ns(CLOCK_MONOTONIC);
	DL_FOREACH (group->members, member) {
		if (member->presence == VMOP_ACTIVE_THERE)
			vmop_active_peer_send(&member->peer, VMOP_ACTIVE_ALERT, NULL, now);
	}
	wait_for(group, false, meanwhile, arg);
}

/* Send LEAVE to the members that Xen lists and, with is_end, to all with an open session. */
static void leave(struct vmop_active_group *group, bool is_end)
{
	struct member *member;
	uint64_t now = vmop_clock_ns(CLOCK_MONOTONIC);
	DL_FOREACH (group->members, member) {
		if (!member->is_joined && !(is_end && member->is_open))
			continue;
		vmop_active_peer_send(&member->peer, VMOP_ACTIVE_LEAVE, is_end ? "end" : "pause",
				      now);
		member->is_joined = false;
		member->is_open = !is_end;
	}
	wait_for(group, false, NULL, NULL);
}

enum vmop_active_joined vmop_active_group_join(struct vmop_active_group *group)
{
	enum vmop_active_joined outcome = VMOP_ACTIVE_ALL_READY;
	struct member *member;
	uint64_t now = vmop_clock_ns(CLOCK_MONOTONIC);
	DL_FOREACH (group->members, member) {
		if (!member->is_wanted || member->presence != VMOP_ACTIVE_THERE)
			continue;
		vmop_active_peer_send(&member->peer, VMOP_ACTIVE_JOIN, NULL, now);
		member->is_joined = true; /* until its answer shows otherwise */
	}
	wait_for(group, false, NULL, NULL);
	DL_FOREACH (group->members, member) {
		if (!member->is_joined || member->peer.state == VMOP_ACTIVE_ANSWERED)
			continue;
		member->is_joined = false;
		if (member->peer.state == VMOP_ACTIVE_GONE)
			outcome = VMOP_ACTIVE_ONE_IS_GONE;
		else if (outcome == VMOP_ACTIVE_ALL_READY)
			outcome = VMOP_ACTIVE_ONE_WAS_STUCK;
	}
	if (outcome != VMOP_ACTIVE_ALL_READY)
		leave(group, false);
	return outcome;
}

void vmop_active_group_run(struct vmop_active_group *group)
{
	struct member *member;
	uint64_t now = vmop_clock_ns(CLOCK_MONOTONIC);
	DL_FOREACH (group->members, member) {
		if (member->is_joined)
			vmop_active_peer_send(&member->peer, VMOP_ACTIVE_RUN, run_text(group), now);
	}
}

void vmop_active_group_check(struct vmop_active_group *group)
{
	struct member *member;
	uint64_t now = vmop_clock_ns(CLOCK_MONOTONIC);
	DL_FOREACH (group->members, member)
		look(group, member, now);
}

void vmop_active_group_leave(struct vmop_active_group *group, bool is_end)
{
	struct member *member, *next;
	leave(group, is_end);
	uint64_t now = vmop_clock_ns(CLOCK_MONOTONIC);
	DL_FOREACH_SAFE(group->members, member, next)
	{
		if (!member->is_wanted)
			dismiss(group, member, now);
	}
}

uint64_t vmop_active_group_token(const struct vmop_active_group *group)
{
	return group->token;
}

uint64_t vmop_active_group_samples(const struct vmop_active_group *group, uint32_t domain)
{
	const struct member *member = find(group, domain);
	return member ? member->peer.report.samples : 0;
}

uint64_t vmop_active_group_report(const struct vmop_active_group *group, uint32_t domain,
				  struct vmop_active_report *ret)
{
	const struct member *member = find(group, domain);
	if (!member || !member->peer.report.start_ns)
		return 0;
	*ret = member->peer.report;
	return member->peer.reported_ns;
}
