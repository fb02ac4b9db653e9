// SPDX-License-Identifier: GPL-2.0-or-later
/* The xen source over a model of Xen, and scripted agents that follow commands at once or fail. */
#include <cmocka.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "hv-interface/active-agent.h"
#include "hv-interface/active-group.h"
#include "hv-interface/active-peer.h"
#include "hv-interface/xen/user-space.h"
#include "hv-interface/xen/xen.h"
#include "hv-interface/xen/xenoprof-control.h"
#include "tests/unit/hv-interface/xen/model.h"

static void ok(struct vmop_error *err)
{
	if (err)
		fail_msg("%s", err->message);
}

/* A faster clock, so that tests do not wait as long as the source does. */
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int status = __real_clock_gettime(clock, ret);
	uint64_t ns = 25 * ((uint64_t)ret->tv_sec * 1000000000 + (uint64_t)ret->tv_nsec);
	*ret = (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
				 .tv_nsec = (long)(ns % 1000000000)};
	return status;
}

/* ---- agents --------------------------------------------------------------------------- */

struct scripted {
	struct vmop_active_store store;
	struct model *model;
	unsigned domain;
	char up[VMOP_ACTIVE_MESSAGE_BYTES], down[VMOP_ACTIVE_MESSAGE_BYTES];
	struct vmop_active_store of_agent_store;
	struct vmop_active_agent agent;
	struct vmop_xenoprof xenoprof;
	char events[VMOP_ACTIVE_TEXT_BYTES];
	unsigned opens, joins, leaves, pauses;
	bool is_dead, is_open;
	const char *fails_at; /* "open" or "join": always */
	unsigned slow_looks;  /* looks until it reads 'alert'; Xen samples dom0 meanwhile */
	unsigned deaf_to;     /* enum vmop_active_word: hangs from that command on */
	enum model_state state_at_open;
	uint64_t now_ns;
};

/* The model's ring has room for 253. */
enum { SAMPLES_A_LOOK = 9, SLOW_LOOKS = 34 };

static struct scripted *agents[MODEL_DOMAINS]; /* by domain */

static struct scripted *of_agent_store(struct vmop_active_store *store)
{
	return (struct scripted *)((char *)store - offsetof(struct scripted, of_agent_store));
}

static bool agent_read(struct vmop_active_store *store, char buf[VMOP_ACTIVE_MESSAGE_BYTES])
{
	memcpy(buf, of_agent_store(store)->down, VMOP_ACTIVE_MESSAGE_BYTES);
	return true;
}

static bool agent_write(struct vmop_active_store *store, const char *line)
{
	snprintf(of_agent_store(store)->up, VMOP_ACTIVE_MESSAGE_BYTES, "%s", line);
	return true;
}

static const struct vmop_active_store_ops agent_store_ops = {agent_read, agent_write};

static bool fails_at(struct scripted *scripted, const char *step)
{
	bool fails = scripted->fails_at && !strcmp(scripted->fails_at, step);
	if (fails)
		vmop_active_agent_answer(&scripted->agent, VMOP_ACTIVE_FAILED, "no disk");
	return fails;
}

/* An agent's work here takes long: Xen must not be stopped for it. */
static void do_open(struct scripted *scripted, const char *events)
{
	memcpy(scripted->events, events, VMOP_ACTIVE_TEXT_BYTES);
	scripted->opens++;
	scripted->state_at_open = scripted->model->state;
	if (!fails_at(scripted, "open"))
		vmop_active_agent_answer(&scripted->agent, VMOP_ACTIVE_OPENED, NULL);
}

static void do_join(struct scripted *scripted)
{
	bool is_stuck = false;
	if (fails_at(scripted, "join"))
		return;
	ok(vmop_xenoprof_join(&scripted->xenoprof, &scripted->model->base, 16, &is_stuck));
	if (!is_stuck)
		ok(vmop_xenoprof_make_ready(&scripted->xenoprof));
	scripted->joins += !is_stuck;
	vmop_active_agent_answer(&scripted->agent, is_stuck ? VMOP_ACTIVE_STUCK : VMOP_ACTIVE_READY,
				 NULL);
}

static bool is_slow(struct scripted *scripted)
{
	struct vmop_active_message message;
	if (!scripted->slow_looks || vmop_active_parse(scripted->down, &message) ||
	    message.word != VMOP_ACTIVE_ALERT)
		return false;
	scripted->slow_looks--;
	for (unsigned i = 0; i < SAMPLES_A_LOOK; i++)
		model_sample(scripted->model, 0, 0, 0x2000, VMOP_XENOPROF_MODE_USER, 0);
	return true;
}

/* Carry out a written command before the initiator continues, unless the agent is dead. */
static void carry_out(struct scripted *scripted)
{
	char text[VMOP_ACTIVE_TEXT_BYTES];
	if (scripted->is_dead || is_slow(scripted))
		return;
	unsigned before = scripted->model->caller;
	scripted->model->caller = scripted->domain;
	switch (vmop_active_agent_look(&scripted->agent, ++scripted->now_ns, text)) {
	case VMOP_ACTIVE_DO_OPEN:
		do_open(scripted, text);
		break;
	case VMOP_ACTIVE_DO_JOIN:
		do_join(scripted);
		break;
	case VMOP_ACTIVE_DO_LEAVE:
		ok(vmop_xenoprof_leave(&scripted->xenoprof));
		scripted->leaves++;
		scripted->pauses += !strcmp(text, "pause");
		vmop_active_agent_answer(&scripted->agent, VMOP_ACTIVE_LEFT, "0");
		break;
	default:
		break;
	}
	scripted->model->caller = before;
}

static bool scripted_write(struct vmop_active_store *store, const char *line)
{
	struct scripted *scripted = (struct scripted *)store;
	struct vmop_active_message message;
	snprintf(scripted->down, sizeof(scripted->down), "%s", line);
	assert_int_equal(vmop_active_parse(line, &message), VMOP_ACTIVE_UNDERSTOOD);
	scripted->is_dead |= scripted->deaf_to && message.word == scripted->deaf_to;
	carry_out(scripted);
	return true;
}

static bool scripted_read(struct vmop_active_store *store, char buf[VMOP_ACTIVE_MESSAGE_BYTES])
{
	carry_out((struct scripted *)store);
	memcpy(buf, ((struct scripted *)store)->up, VMOP_ACTIVE_MESSAGE_BYTES);
	return true;
}

static const struct vmop_active_store_ops scripted_ops = {scripted_read, scripted_write};

static struct vmop_error *open_agent(void *arg, uint32_t domain, struct vmop_active_store **ret)
{
	(void)arg;
	assert_non_null(agents[domain]);
	assert_false(agents[domain]->is_open);
	agents[domain]->is_open = true;
	*ret = &agents[domain]->store;
	return NULL;
}

static void close_agent(void *arg, struct vmop_active_store *store)
{
	(void)arg;
	((struct scripted *)store)->is_open = false;
}

static bool is_hurried;

static void hurry(void *arg, bool is_on)
{
	(void)arg;
	is_hurried = is_on;
}

static const struct vmop_active_opener opener = {
	.open = open_agent, .close = close_agent, .hurry = hurry};

static struct scripted *new_agent(struct model *model, unsigned domain)
{
	struct scripted *scripted = calloc(1, sizeof(*scripted));
	assert_non_null(scripted);
	scripted->store.ops = &scripted_ops;
	scripted->of_agent_store.ops = &agent_store_ops;
	scripted->model = model;
	scripted->domain = domain;
	vmop_active_agent_init(&scripted->agent, &scripted->of_agent_store);
	agents[domain] = scripted;
	return scripted;
}

static struct vmop_source *open_source(struct model *model)
{
	struct vmop_event_request request;
	struct vmop_xen_machine machine;
	struct vmop_xen_transport *transport;
	struct vmop_source *source;
	ok(vmop_event_request_parse("cycles:100000", &request));
	const struct vmop_source_setup setup = {
		.events = &request, .n_events = 1, .active = &opener};
	ok(vmop_xen_user_open(&model->base, &machine, &transport));
	ok(vmop_xen_open_over(transport, &machine, NULL, &setup, &source));
	vmop_event_request_deinit(&request);
	return source;
}

/* Set the domains once a second until every agent has answered or is absent. */
static void set_domains(struct vmop_source *source, struct vmop_source_domain *domains, size_t n)
{
	bool is_waiting = true;
	while (is_waiting) {
		is_waiting = false;
		ok(vmop_source_set_domains(source, domains, n));
		for (size_t i = 0; i < n; i++)
			is_waiting |= domains[i].error == EAGAIN;
	}
	assert_false(is_hurried);
}

/* Begin with two active domains; only the first takes part at first. */
static struct vmop_source *begin_with_one(struct model *model, struct vmop_source_domain domains[2])
{
	struct vmop_source *source = open_source(model);
	for (uint32_t i = 0; i < 2; i++)
		domains[i] = (struct vmop_source_domain){.id = i + 1, .is_active = true};
	set_domains(source, domains, 1);
	ok(vmop_source_start(source));
	return source;
}

/* Close the source and check that nothing stays in Xen. */
static void close_all(struct vmop_source *source, struct model *model)
{
	vmop_source_close(source);
	assert_true(model_is_clean(model));
}

static struct vmop_source_stats stats_of(const struct vmop_source *source)
{
	struct vmop_source_stats stats;
	vmop_source_stats(source, &stats);
	return stats;
}

static int begin(void **state)
{
	char dir[] = "/tmp/vmop-xen-group.XXXXXX";
	struct model *model = model_new(2);
	if (!mkdtemp(dir) || setenv("VMOP_RUNDIR", dir, 1) < 0)
		return -1;
	new_agent(model, 1);
	new_agent(model, 2);
	*state = model;
	return 0;
}

static int end(void **state)
{
	rmdir(getenv("VMOP_RUNDIR"));
	free(agents[1]);
	free(agents[2]);
	agents[1] = agents[2] = NULL;
	free(*state);
	return 0;
}

/* ---- the source ------------------------------------------------------------------------- */

struct gathered {
	unsigned n;
	uint64_t ip;
};

static void gather(void *arg, const struct vmop_record *record,
		   const struct vmop_stack_capture *stack)
{
	(void)stack;
	struct gathered *gathered = arg;
	gathered->n++;
	gathered->ip = record->sample.ip;
}

static void the_source_sees_to_it(void **state)
{
	struct model *model = *state;
	struct vmop_source_domain domains[] = {{.id = 1, .is_active = true}};
	for (unsigned session = 1; session <= 2; session++) {
		struct vmop_source *source = open_source(model);
		ok(vmop_source_set_domains(source, domains, 1));
		assert_int_equal(domains[0].error, 0);
		ok(vmop_source_start(source));
		assert_int_equal(model->state, MODEL_PROFILING);
		assert_int_equal(agents[1]->joins, session);
		assert_string_equal(agents[1]->events, "cycles:100000");
		assert_int_equal(agents[1]->agent.stage, VMOP_ACTIVE_TAKING);
		ok(vmop_source_check_cpus(source));
		ok(vmop_source_stop(source));
		assert_int_equal(agents[1]->leaves, session);
		close_all(source, model);
	}
}

/* Without a new start of Xen: passive first, then active, then not listed. */
static void a_domain_changes_its_kind(void **state)
{
	struct model *model = *state;
	struct vmop_source *source = open_source(model);
	struct vmop_source_domain domains[] = {{.id = 1}, {.id = 2, .is_active = true}};
	set_domains(source, domains, 2);
	ok(vmop_source_start(source));
	assert_true(model->domains[1].is_passive && model->domains[2].is_active);
	domains[0].is_active = true;
	domains[1].is_active = false;
	set_domains(source, domains, 2);
	assert_int_equal(domains[0].error, 0);
	assert_int_equal(domains[1].error, 0);
	assert_true(model->domains[1].is_active && model->domains[2].is_passive);
	assert_int_equal(model->state, MODEL_PROFILING);
	/* Its samples are stored when Xen samples again. */
	assert_int_equal(agents[2]->pauses, 1);
	assert_int_equal(agents[2]->leaves, 2);
	assert_int_equal(agents[2]->agent.stage, VMOP_ACTIVE_IDLE);
	assert_false(agents[2]->is_open);
	unsigned joins = agents[1]->joins, pauses = agents[1]->pauses;
	set_domains(source, domains, 1); /* now without the second */
	assert_int_equal(agents[1]->joins, joins + 1);
	assert_int_equal(agents[1]->pauses, pauses + 1);
	assert_int_equal(agents[1]->opens, 1);
	close_all(source, model);
}

/* Xen never lists a domain without an agent. */
static void no_agent_answers(void **state)
{
	struct model *model = *state;
	struct vmop_source *source = open_source(model);
	struct vmop_source_domain domains[] = {{.id = 2, .is_active = true}};
	agents[2]->is_dead = true;
	struct vmop_error *err = vmop_source_set_domains(source, domains, 1);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	assert_non_null(strstr(err->message, "no vmopd answers in domain 2"));
	vmop_error_destroy(err);
	assert_false(model->domains[2].is_listed);
	close_all(source, model);
}

/* While samples are taken, an agent that answers late delays nothing. */
static void one_that_comes_late(void **state)
{
	struct model *model = *state;
	struct vmop_source_domain domains[2];
	struct vmop_source *source = begin_with_one(model, domains);
	agents[2]->is_dead = true;
	unsigned calls = model->calls;
	ok(vmop_source_set_domains(source, domains, 2));
	assert_int_equal(domains[0].error, 0);
	assert_int_equal(domains[1].error, EAGAIN);
	assert_int_equal(model->calls, calls); /* Xen samples on */
	agents[2]->is_dead = false;
	ok(vmop_source_set_domains(source, domains, 2)); /* present, and about to open a session */
	assert_int_equal(domains[1].error, EAGAIN);
	assert_int_equal(model->calls, calls);
	set_domains(source, domains, 2);
	assert_int_equal(agents[2]->state_at_open, MODEL_PROFILING);
	assert_int_equal(domains[1].error, 0);
	assert_int_equal(model->state, MODEL_PROFILING);
	assert_true(model->domains[1].is_active && model->domains[2].is_active);
	assert_int_equal(agents[1]->pauses, 1);
	assert_int_equal(agents[1]->opens, 1);
	assert_int_equal(stats_of(source).pauses, 1);
	assert_true(stats_of(source).paused_ns > 0);
	calls = model->calls;
	ok(vmop_source_set_domains(source, domains, 2)); /* all is as it should be */
	assert_int_equal(model->calls, calls);
	assert_int_equal(stats_of(source).pauses, 1);
	close_all(source, model);
}

static void expect_report(struct vmop_source *source, const char *text)
{
	struct vmop_error *err = vmop_source_check_cpus(source);
	assert_non_null(err);
	if (!strstr(err->message, text))
		fail_msg("%s", err->message);
	vmop_error_destroy(err);
	ok(vmop_source_check_cpus(source)); /* reported once */
}

/* Add a second domain that fails: the first continues without it. */
static void add_one_in_vain(struct vmop_source *source, struct vmop_source_domain domains[2],
			    const char *reason)
{
	set_domains(source, domains, 2);
	assert_int_equal(domains[0].error, 0);
	assert_int_equal(domains[1].error, ENOLINK);
	assert_int_equal(agents[1]->model->state, MODEL_PROFILING);
	assert_true(agents[1]->model->domains[1].is_active);
	expect_report(source, reason);
}

/* An agent that cannot open a session fails without stopping Xen. */
static void one_that_fails_later(void **state)
{
	struct model *model = *state;
	struct vmop_source_domain domains[2];
	struct vmop_source *source = begin_with_one(model, domains);
	agents[2]->fails_at = "open";
	unsigned calls = model->calls;
	add_one_in_vain(source, domains, "domain 2: its vmopd reports: no disk");
	assert_int_equal(model->calls, calls);
	assert_int_equal(stats_of(source).pauses, 0);
	close_all(source, model);
}

/* An agent that fails after Xen has listed it stops dom0 and the others only for a short time. */
static void one_that_fails_to_join(void **state)
{
	struct model *model = *state;
	struct vmop_source_domain domains[2];
	struct vmop_source *source = begin_with_one(model, domains);
	agents[2]->fails_at = "join";
	add_one_in_vain(source, domains, "domain 2: its vmopd reports: no disk");
	assert_false(model->domains[2].is_listed);
	assert_int_equal(stats_of(source).pauses, 1);
	close_all(source, model);
}

/* A hanging agent is found before Xen stops: a change of other domains goes on without it. */
static void one_that_hangs(void **state)
{
	struct model *model = *state;
	struct vmop_source_domain domains[2];
	struct vmop_source *source = begin_with_one(model, domains);
	agents[2]->deaf_to = VMOP_ACTIVE_ALERT;
	unsigned calls = model->calls;
	add_one_in_vain(source, domains, "domain 2: its vmopd does not answer 'alert' any more");
	assert_int_equal(model->calls, calls);
	assert_int_equal(stats_of(source).pauses, 0);
	assert_int_equal(agents[1]->agent.stage, VMOP_ACTIVE_TAKING);
	close_all(source, model);
}

/* The worst case: the agent answers the alert, and hangs when Xen is stopped for it. */
static void one_that_hangs_when_joining(void **state)
{
	struct model *model = *state;
	struct vmop_source_domain domains[2];
	struct vmop_source *source = begin_with_one(model, domains);
	agents[2]->deaf_to = VMOP_ACTIVE_JOIN;
	add_one_in_vain(source, domains, "domain 2: its vmopd does not answer 'join' any more");
	assert_int_equal(stats_of(source).pauses, 1);
	assert_true(stats_of(source).paused_ns >= VMOP_ACTIVE_JOIN_WAIT_NS);
	close_all(source, model);
}

/* Samples that Xen takes while agents are alerted are kept without a drain. */
static void samples_until_the_change(void **state)
{
	struct model *model = *state;
	struct gathered gathered = {0};
	const struct vmop_sink sink = {gather, &gathered};
	struct vmop_source *source = open_source(model);
	struct vmop_source_domain domains[] = {{.id = 1, .is_active = true}, {.id = 2}};
	set_domains(source, domains, 1);
	ok(vmop_source_start(source));
	model_sample(model, 0, 0, 0x1000, VMOP_XENOPROF_MODE_KERNEL, 0);
	agents[1]->slow_looks = SLOW_LOOKS;
	set_domains(source, domains, 2);
	assert_int_equal(stats_of(source).pauses, 1);
	assert_true(model->domains[2].is_passive);
	ok(vmop_source_drain(source, UINT64_MAX, &sink, NULL));
	assert_int_equal(gathered.n, 1 + SLOW_LOOKS * SAMPLES_A_LOOK);
	close_all(source, model);
}

/* A session does not begin if one of its first agents fails. */
static void one_that_fails_at_once(void **state)
{
	struct model *model = *state;
	struct vmop_source *source = open_source(model);
	struct vmop_source_domain domains[] = {{.id = 1, .is_active = true},
					       {.id = 2, .is_active = true}};
	agents[2]->fails_at = "join";
	ok(vmop_source_set_domains(source, domains, 2));
	struct vmop_error *err = vmop_source_start(source);
	assert_non_null(err);
	assert_string_equal(err->message, "domain 2: its vmopd reports: no disk");
	vmop_error_destroy(err);
	assert_int_equal(agents[1]->joins, 1);
	assert_int_equal(agents[1]->agent.stage, VMOP_ACTIVE_IDLE);
	close_all(source, model);
}

static void one_that_can_not_open(void **state)
{
	struct model *model = *state;
	struct vmop_source *source = open_source(model);
	struct vmop_source_domain domains[] = {{.id = 1, .is_active = true},
					       {.id = 2, .is_active = true}};
	agents[2]->fails_at = "open";
	struct vmop_error *err = vmop_source_set_domains(source, domains, 2);
	assert_non_null(err);
	assert_string_equal(err->message, "domain 2: its vmopd reports: no disk");
	vmop_error_destroy(err);
	assert_false(model->domains[2].is_listed);
	vmop_source_close(source);
	assert_int_equal(agents[1]->agent.stage, VMOP_ACTIVE_IDLE);
	assert_true(model_is_clean(model));
}

/* An agent that gives up is left out, and returns when it answers again. */
static void one_that_gives_up(void **state)
{
	struct model *model = *state;
	struct vmop_source *source = open_source(model);
	struct vmop_source_domain domain = {.id = 1, .is_active = true};
	ok(vmop_source_set_domains(source, &domain, 1));
	ok(vmop_source_start(source));
	vmop_active_agent_give_up(&agents[1]->agent, "ended there");
	struct vmop_error *err = vmop_source_check_cpus(source);
	assert_non_null(err);
	assert_string_equal(err->message, "domain 1: its vmopd reports: ended there");
	vmop_error_destroy(err);
	ok(vmop_source_set_domains(source, &domain, 1));
	assert_int_equal(domain.error, ENOLINK);
	assert_int_equal(model->state, MODEL_PROFILING);
	assert_false(model->domains[1].is_listed);
	vmop_source_close(source);
	/* Its remains in Xen are its successor's to give back. */
	assert_int_equal(model->state, MODEL_IDLE);
	assert_true(model->domains[1].is_shared);
	model->caller = 1;
	vmop_error_destroy(vmop_xenoprof_leave(&agents[1]->xenoprof));
}

/* Active domains leave out the same modes as dom0. */
static void modes_are_reported(void **state)
{
	struct model *model = *state;
	struct vmop_event_request requests[2];
	struct vmop_xen_machine machine;
	struct vmop_xen_transport *transport;
	struct vmop_source *source;
	struct vmop_source_domain domain = {.id = 1, .is_active = true};
	ok(vmop_event_request_parse("cycles:100000", &requests[0]));
	ok(vmop_event_request_parse("r2e:7000:0:0:1", &requests[1]));
	const struct vmop_source_setup setup = {
		.events = requests, .n_events = 2, .active = &opener};
	ok(vmop_xen_user_open(&model->base, &machine, &transport));
	ok(vmop_xen_open_over(transport, &machine, NULL, &setup, &source));
	ok(vmop_source_set_domains(source, &domain, 1));
	ok(vmop_source_start(source));
	assert_string_equal(agents[1]->events, "cycles:100000 r2e:7000:0:0:1");
	vmop_source_close(source);
	vmop_event_request_deinit(&requests[0]);
	vmop_event_request_deinit(&requests[1]);
}

/* The buffer of a dead agent is given back, and the session begins nevertheless. */
static void one_that_died_before(void **state)
{
	struct model *model = *state;
	struct vmop_source_domain domains[] = {{.id = 1, .is_active = true}};
	model->domains[1].is_shared = true;
	struct vmop_source *source = open_source(model);
	ok(vmop_source_set_domains(source, domains, 1));
	ok(vmop_source_start(source));
	assert_int_equal(agents[1]->joins, 1);
	close_all(source, model);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_source_sees_to_it),	TEST(a_domain_changes_its_kind),
		TEST(no_agent_answers),		TEST(one_that_died_before),
		TEST(one_that_comes_late),	TEST(one_that_fails_later),
		TEST(one_that_fails_to_join),	TEST(one_that_can_not_open),
		TEST(one_that_hangs),		TEST(one_that_hangs_when_joining),
		TEST(samples_until_the_change), TEST(one_that_fails_at_once),
		TEST(one_that_gives_up),	TEST(modes_are_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
