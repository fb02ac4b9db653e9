// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/active-group.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "hv-interface/active-peer.h"
#include "libutil/cleanup.h"

#define LOOK_EVERY_NS 20000000l

struct member {
	uint32_t domain;
	char name[16]; /* its id: all that a user can always give to xl */
	struct vmop_active_store *store;
	struct vmop_active_peer peer;
	bool is_told; /* that it is gone */
};

struct vmop_active_group {
	const struct vmop_active_opener *opener;
	char events[VMOP_ACTIVE_TEXT_BYTES];
	uint64_t token;
	struct member **members; /* n; those behind the first n_current are still to leave */
	size_t n, n_current;
	bool is_running;
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct vmop_error *vmop_active_group_create(const struct vmop_active_opener *opener,
					    const char *events, struct vmop_active_group **ret)
{
	struct vmop_active_group *group = calloc(1, sizeof(*group));
	if (!group)
		return &vmop_error_no_memory;
	group->opener = opener;
	snprintf(group->events, sizeof(group->events), "%s", events);
	while (!group->token) {
		if (getrandom(&group->token, sizeof(group->token), 0) < 0)
			group->token = now_ns();
	}
	*ret = group;
	return NULL;
}

static void member_destroy(const struct vmop_active_group *group, struct member *member)
{
	if (!member)
		return;
	vmop_active_peer_deinit(&member->peer);
	if (member->store)
		group->opener->close(group->opener->arg, member->store);
	free(member);
}

void vmop_active_group_destroy(struct vmop_active_group *group)
{
	if (!group)
		return;
	vmop_active_group_leave(group, true);
	for (size_t i = 0; i < group->n; i++)
		member_destroy(group, group->members[i]);
	free(group->members);
	free(group);
}

/* ---- together ----------------------------------------------------------------------- */

static void say(struct member *const *members, size_t n, enum vmop_active_word word,
		const char *text)
{
	uint64_t now = now_ns();
	for (size_t i = 0; i < n; i++)
		vmop_active_peer_say(&members[i]->peer, word, text, now);
}

/* Until none of them is waited for any more: the peers' own time limits see to an end. */
static void wait_for(struct member *const *members, size_t n)
{
	const struct timespec pause = {.tv_nsec = LOOK_EVERY_NS};
	for (;;) {
		size_t n_waiting = 0;
		uint64_t now = now_ns();
		for (size_t i = 0; i < n; i++)
			n_waiting += vmop_active_peer_look(&members[i]->peer, now) ==
				     VMOP_ACTIVE_WAITING;
		if (!n_waiting)
			return;
		nanosleep(&pause, NULL);
	}
}

/* The error of the first that is gone, which is told by that; NULL: none is. */
static struct vmop_error *first_gone(struct member *const *members, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct vmop_active_peer *peer = &members[i]->peer;
		if (peer->state != VMOP_ACTIVE_GONE || members[i]->is_told)
			continue;
		members[i]->is_told = true;
		struct vmop_error *err = peer->error;
		peer->error = NULL;
		return err ? err : &vmop_error_no_memory;
	}
	return NULL;
}

/* ---- who -------------------------------------------------------------------------------- */

static struct member *find(const struct vmop_active_group *group, uint32_t domain)
{
	for (size_t i = 0; i < group->n; i++) {
		if (group->members[i]->domain == domain)
			return group->members[i];
	}
	return NULL;
}

static struct vmop_error *member_create(struct vmop_active_group *group, uint32_t domain,
					struct member **ret)
{
	struct member *member = calloc(1, sizeof(*member));
	if (!member)
		return &vmop_error_no_memory;
	member->domain = domain;
	snprintf(member->name, sizeof(member->name), "%" PRIu32, domain);
	struct vmop_error *err = group->opener->open(group->opener->arg, domain, &member->store);
	if (err) {
		free(member);
		return err;
	}
	vmop_active_peer_init(&member->peer, member->store, member->name, group->token);
	*ret = member;
	return NULL;
}

/* Members for domains; those of them that are new are also in fresh. */
static struct vmop_error *gather(struct vmop_active_group *group, const uint32_t *domains, size_t n,
				 struct member **members, struct member **fresh,
				 size_t *ret_n_fresh)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < n && !err; i++) {
		members[i] = find(group, domains[i]);
		if (members[i])
			continue;
		err = member_create(group, domains[i], &members[i]);
		if (!err)
			fresh[(*ret_n_fresh)++] = members[i];
	}
	return err;
}

static bool is_among(const struct member *member, struct member *const *members, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (members[i] == member)
			return true;
	}
	return false;
}

struct vmop_error *vmop_active_group_set(struct vmop_active_group *group, const uint32_t *domains,
					 size_t n)
{
	struct member **members = calloc(n + group->n + 1, sizeof(*members));
	_cleanup_free_ struct member **fresh = calloc(n + 1, sizeof(*fresh));
	size_t n_fresh = 0;
	if (!members || !fresh) {
		free(members);
		return &vmop_error_no_memory;
	}
	struct vmop_error *err = gather(group, domains, n, members, fresh, &n_fresh);
	if (!err) {
		say(fresh, n_fresh, VMOP_ACTIVE_HELLO, NULL);
		wait_for(fresh, n_fresh);
		err = first_gone(fresh, n_fresh);
	}
	if (err) {
		for (size_t i = 0; i < n_fresh; i++)
			member_destroy(group, fresh[i]);
		free(members);
		return err;
	}
	size_t n_all = n;
	for (size_t i = 0; i < group->n; i++) {
		struct member *member = group->members[i];
		if (is_among(member, members, n))
			continue;
		if (group->is_running)
			members[n_all++] = member;
		else
			member_destroy(group, member);
	}
	free(group->members);
	group->members = members;
	group->n_current = n;
	group->n = n_all;
	return NULL;
}

/* ---- a session of Xen's ------------------------------------------------------------------ */

struct vmop_error *vmop_active_group_join(struct vmop_active_group *group, bool *ret_again)
{
	*ret_again = false;
	say(group->members, group->n_current, VMOP_ACTIVE_JOIN, group->events);
	wait_for(group->members, group->n_current);
	struct vmop_error *err = first_gone(group->members, group->n_current);
	for (size_t i = 0; i < group->n_current; i++)
		*ret_again |= group->members[i]->peer.state == VMOP_ACTIVE_AGAIN;
	group->is_running = true; /* those that are ready are to be told of an end */
	if (err || *ret_again)
		vmop_active_group_leave(group, err != NULL);
	return err;
}

void vmop_active_group_run(struct vmop_active_group *group)
{
	group->is_running = true;
	say(group->members, group->n_current, VMOP_ACTIVE_RUN, NULL);
}

struct vmop_error *vmop_active_group_check(struct vmop_active_group *group)
{
	uint64_t now = now_ns();
	for (size_t i = 0; i < group->n; i++)
		vmop_active_peer_look(&group->members[i]->peer, now);
	return first_gone(group->members, group->n);
}

void vmop_active_group_leave(struct vmop_active_group *group, bool is_end)
{
	if (!group->is_running)
		return;
	group->is_running = false;
	say(group->members, group->n_current, VMOP_ACTIVE_LEAVE, is_end ? "end" : "pause");
	say(group->members + group->n_current, group->n - group->n_current, VMOP_ACTIVE_LEAVE,
	    "end");
	wait_for(group->members, group->n);
	for (size_t i = group->n_current; i < group->n; i++)
		member_destroy(group, group->members[i]);
	group->n = group->n_current;
}

uint64_t vmop_active_group_samples(const struct vmop_active_group *group, uint32_t domain)
{
	const struct member *member = find(group, domain);
	return member ? member->peer.samples : 0;
}
