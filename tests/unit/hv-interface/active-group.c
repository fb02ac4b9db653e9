// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Many agents at a time: how soon they sample together, and what one costs the others that does not
 * answer. The text of OPEN for agents with and without the ability to take call stacks.
 */
#include "hv-interface/active-group.h"

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "hv-interface/active-agent.h"
#include "hv-interface/active-peer.h"
#include "libutil/clock.h"
#include "tests/unit/ok.h"

enum { N_AGENTS = 10 };

struct lines {
	struct vmop_active_store store;
	char *mine, *theirs;
};

/* An agent in this process, with the lines of both sides. */
struct domain {
	char up[VMOP_ACTIVE_MESSAGE_BYTES], down[VMOP_ACTIVE_MESSAGE_BYTES];
	struct lines of_group, of_agent;
	struct vmop_active_agent agent;
	char opened[VMOP_ACTIVE_TEXT_BYTES]; /* the text of the last OPEN */
	unsigned n_commands;		     /* different lines of the group, but for their beats */
	uint32_t last_number;
};

static struct domain domains[N_AGENTS];
static struct vmop_active_group *group;

/* Shift the clock by which the group measures silence. */
static uint64_t leapt_ns;
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int status = __real_clock_gettime(clock, ret);
	uint64_t ns = (uint64_t)ret->tv_nsec + leapt_ns;
	ret->tv_sec += (time_t)(ns / VMOP_NS_PER_S);
	ret->tv_nsec = (long)(ns % VMOP_NS_PER_S);
	return status;
}

static bool lines_read(struct vmop_active_store *store, char buf[VMOP_ACTIVE_MESSAGE_BYTES])
{
	memcpy(buf, ((struct lines *)store)->theirs, VMOP_ACTIVE_MESSAGE_BYTES);
	return true;
}

static bool lines_write(struct vmop_active_store *store, const char *line)
{
	struct vmop_active_message message;
	for (unsigned i = 0; i < N_AGENTS; i++) {
		if (store != &domains[i].of_group.store)
			continue;
		assert_int_equal(vmop_active_parse(line, &message), VMOP_ACTIVE_UNDERSTOOD);
		domains[i].n_commands += message.number != domains[i].last_number;
		domains[i].last_number = message.number;
	}
	snprintf(((struct lines *)store)->mine, VMOP_ACTIVE_MESSAGE_BYTES, "%s", line);
	return true;
}

static const struct vmop_active_store_ops lines_ops = {lines_read, lines_write};

static struct vmop_error *open_store(void *arg, uint32_t domain, struct vmop_active_store **ret)
{
	(void)arg;
	*ret = &domains[domain].of_group.store;
	return NULL;
}

static void close_store(void *arg, struct vmop_active_store *store)
{
	(void)arg;
	(void)store;
}

static void hurry(void *arg, bool is_on)
{
	(void)arg;
	(void)is_on;
}

static const struct vmop_active_opener opener = {
	.open = open_store, .close = close_store, .hurry = hurry};

static int begin(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_AGENTS; i++) {
		struct domain *domain = &domains[i];
		*domain = (struct domain){0};
		domain->of_group = (struct lines){{&lines_ops}, domain->down, domain->up};
		domain->of_agent = (struct lines){{&lines_ops}, domain->up, domain->down};
		vmop_active_agent_init(&domain->agent, &domain->of_agent.store);
	}
	assert_ok(vmop_active_group_create(&opener, "host 1:0:ns:x", &group));
	vmop_active_group_set_independent(group);
	return 0;
}

static void agent_looks(struct domain *domain)
{
	char text[VMOP_ACTIVE_TEXT_BYTES];
	switch (vmop_active_agent_look(&domain->agent, vmop_clock_ns(CLOCK_MONOTONIC), text)) {
	case VMOP_ACTIVE_DO_OPEN:
		memcpy(domain->opened, text, sizeof(text));
		vmop_active_agent_answer(&domain->agent, VMOP_ACTIVE_OPENED, NULL);
		break;
	case VMOP_ACTIVE_DO_JOIN:
		vmop_active_agent_answer(&domain->agent, VMOP_ACTIVE_READY, NULL);
		break;
	case VMOP_ACTIVE_DO_LEAVE:
		vmop_active_agent_answer(&domain->agent, VMOP_ACTIVE_LEFT, "0");
		break;
	case VMOP_ACTIVE_DO_RUN:
	case VMOP_ACTIVE_NOTHING:
		break;
	}
}

static const uint32_t all[N_AGENTS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

static unsigned n_there(void)
{
	unsigned n = 0;
	for (unsigned i = 0; i < N_AGENTS; i++)
		n += vmop_active_group_presence(group, i) == VMOP_ACTIVE_THERE;
	return n;
}

/*
 * Let the group and the agents, except those in a set, exchange lines until n agents sample. Return
 * how often: once is a round trip.
 */
static unsigned turns_until(unsigned n, unsigned silent)
{
	for (unsigned turn = 0; turn < 20; turn++) {
		assert_ok(vmop_active_group_want(group, all, N_AGENTS));
		if (n_there() == n)
			return turn;
		for (unsigned i = 0; i < N_AGENTS; i++)
			if (!(silent & 1u << i))
				agent_looks(&domains[i]);
	}
	fail_msg("%u sample, not %u", n_there(), n);
	return 0;
}

/* Let all agents begin a session. */
static void begin_sessions(void)
{
	turns_until(N_AGENTS, 0);
}

/* ---- many agents ---------------------------------------------------------------------------- */

/* Hello, open, join and run: ten agents need as many round trips as one. */
static void all_begin_in_four_round_trips(void **state)
{
	(void)state;
	assert_int_equal(turns_until(N_AGENTS, 0), 4);
	for (unsigned i = 0; i < N_AGENTS; i++)
		assert_int_equal(domains[i].n_commands, 4);
}

/* Let all but the first agent go on for some time. Return whether the first one was given up. */
static bool is_given_up_after(uint64_t seconds)
{
	for (uint64_t second = 0; second < seconds; second++) {
		leapt_ns += VMOP_NS_PER_S;
		vmop_active_group_check(group);
		for (unsigned i = 1; i < N_AGENTS; i++)
			agent_looks(&domains[i]);
	}
	return vmop_active_group_presence(group, 0) == VMOP_ACTIVE_ABSENT;
}

/* An agent that is silent at a step delays no other one, and is given up when its time is over. */
static void one_stops_at(unsigned step, uint64_t limit_ns)
{
	for (unsigned turn = 0; turn < step; turn++) {
		assert_ok(vmop_active_group_want(group, all, N_AGENTS));
		agent_looks(&domains[0]);
	}
	assert_int_equal(turns_until(N_AGENTS - 1, 1), 4);
	assert_int_equal(vmop_active_group_presence(group, 0), VMOP_ACTIVE_PROBED);
	assert_false(is_given_up_after(limit_ns / VMOP_NS_PER_S - 1)); /* the test takes less */
	assert_true(is_given_up_after(2));
	assert_int_equal(n_there(), N_AGENTS - 1);
	struct vmop_error *err = vmop_active_group_take_error(group);
	assert_non_null(err);
	vmop_error_destroy(err);
}

static void one_is_silent_from_the_begin(void **state)
{
	(void)state;
	one_stops_at(0, VMOP_ACTIVE_HELLO_WAIT_NS);
}

static void one_does_not_open(void **state)
{
	(void)state;
	one_stops_at(1, VMOP_ACTIVE_OPEN_WAIT_NS);
}

static void one_does_not_join(void **state)
{
	(void)state;
	one_stops_at(2, VMOP_ACTIVE_JOIN_WAIT_NS);
}

/* The agents end on their own, so that nothing waits for them. */
static int end(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_AGENTS; i++)
		vmop_active_agent_give_up(&domains[i].agent, "the test ends");
	vmop_active_group_check(group);
	vmop_active_group_destroy(group);
	return 0;
}

static void an_older_agent_gets_no_stacks(void **state)
{
	(void)state;
	domains[0].agent.here = VMOP_ACTIVE_TAKES_STACKS;
	assert_ok(vmop_active_group_set_stacks(group, "host stacks 1:0:ns:x"));
	begin_sessions();
	assert_string_equal(domains[0].opened, "host stacks 1:0:ns:x");
	assert_true(vmop_active_group_has_stacks(group, 0));
	assert_string_equal(domains[1].opened, "host 1:0:ns:x");
	assert_false(vmop_active_group_has_stacks(group, 1));
	assert_false(vmop_active_group_takes_stacks(group, 1));
	assert_false(vmop_active_group_has_stacks(group, 7));
}

static void a_host_without_stacks(void **state)
{
	(void)state;
	domains[0].agent.here = VMOP_ACTIVE_TAKES_STACKS;
	begin_sessions();
	assert_string_equal(domains[0].opened, "host 1:0:ns:x");
	assert_false(vmop_active_group_has_stacks(group, 0));
	assert_true(vmop_active_group_takes_stacks(group, 0));
	assert_false(vmop_active_group_takes_stacks(group, 1));
}

/* The agent of a guest is replaced by an older one between two sessions. */
static void an_agent_that_becomes_older(void **state)
{
	(void)state;
	domains[0].agent.here = domains[1].agent.here = VMOP_ACTIVE_TAKES_STACKS;
	assert_ok(vmop_active_group_set_stacks(group, "host stacks 1:0:ns:x"));
	begin_sessions();
	assert_true(vmop_active_group_has_stacks(group, 1));
	assert_ok(vmop_active_group_want(group, NULL, 0));
	for (unsigned i = 0; i < N_AGENTS; i++)
		agent_looks(&domains[i]);
	domains[1].agent.here = NULL;
	begin_sessions();
	assert_true(vmop_active_group_has_stacks(group, 0));
	assert_false(vmop_active_group_has_stacks(group, 1));
	assert_string_equal(domains[1].opened, "host 1:0:ns:x");
}

static void a_text_that_is_too_long(void **state)
{
	char text[VMOP_ACTIVE_TEXT_BYTES + 1];
	(void)state;
	memset(text, 'x', VMOP_ACTIVE_TEXT_BYTES);
	text[VMOP_ACTIVE_TEXT_BYTES] = 0;
	struct vmop_error *err = vmop_active_group_set_stacks(group, text);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_LIMIT);
	vmop_error_destroy(err);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_begin_in_four_round_trips),
		TEST(one_is_silent_from_the_begin),
		TEST(one_does_not_open),
		TEST(one_does_not_join),
		TEST(an_older_agent_gets_no_stacks),
		TEST(a_host_without_stacks),
		TEST(an_agent_that_becomes_older),
		TEST(a_text_that_is_too_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
