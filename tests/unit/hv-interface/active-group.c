// SPDX-License-Identifier: GPL-2.0-or-later
/* The text of OPEN for agents with and without the ability to take call stacks. */
#include "hv-interface/active-group.h"

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "hv-interface/active-agent.h"
#include "libutil/clock.h"
#include "tests/unit/ok.h"

enum { N_AGENTS = 2 };

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
};

static struct domain domains[N_AGENTS];
static struct vmop_active_group *group;

static bool lines_read(struct vmop_active_store *store, char buf[VMOP_ACTIVE_MESSAGE_BYTES])
{
	memcpy(buf, ((struct lines *)store)->theirs, VMOP_ACTIVE_MESSAGE_BYTES);
	return true;
}

static bool lines_write(struct vmop_active_store *store, const char *line)
{
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

/* Let both agents begin a session. */
static void begin_sessions(void)
{
	static const uint32_t wanted[N_AGENTS] = {0, 1};
	for (unsigned turn = 0; turn < 10; turn++) {
		assert_ok(vmop_active_group_want(group, wanted, N_AGENTS));
		for (unsigned i = 0; i < N_AGENTS; i++)
			agent_looks(&domains[i]);
	}
	for (unsigned i = 0; i < N_AGENTS; i++)
		assert_int_equal(vmop_active_group_presence(group, i), VMOP_ACTIVE_THERE);
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
	agent_looks(&domains[0]);
	agent_looks(&domains[1]);
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
		TEST(an_older_agent_gets_no_stacks),
		TEST(a_host_without_stacks),
		TEST(an_agent_that_becomes_older),
		TEST(a_text_that_is_too_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
