// SPDX-License-Identifier: GPL-2.0-or-later
/* An active domain's calls to Xen among dom0's: what works, and what each may leave behind. */
#include <cmocka.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "hv-interface-xen-model.h"
#include "hv-interface/active-agent.h"
#include "hv-interface/active-group.h"
#include "hv-interface/xen-user.h"
#include "hv-interface/xen.h"
#include "hv-interface/xenoprof-control.h"

enum { DOM0, DOMU };

struct rig {
	struct model *model;
	struct vmop_xenoprof dom0, domu;
	struct vmop_xen_domain active;
};

static void ok(struct vmop_error *err)
{
	if (err)
		fail_msg("%s", err->message);
}

static int begin(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	if (!rig)
		return -1;
	rig->model = model_new(2);
	rig->active.id = DOMU;
	*state = rig;
	return 0;
}

static int end(void **state)
{
	struct rig *rig = *state;
	rig->model->caller = DOMU;
	if (rig->domu.link)
		vmop_error_destroy(vmop_xenoprof_leave(&rig->domu));
	rig->model->caller = DOM0;
	if (rig->dom0.link)
		vmop_xenoprof_close(&rig->dom0);
	free(rig->model);
	free(rig);
	return 0;
}

static void as(struct rig *rig, unsigned domain)
{
	rig->model->caller = domain;
}

static struct vmop_error *dom0_prepares(struct rig *rig)
{
	const struct vmop_xen_event event = {.period_events = 1000, .code = 0x3c};
	const struct vmop_xen_plan plan = {
		.events = &event,
		.n_events = 1,
		.active = &rig->active,
		.n_active = 1,
		.max_samples = 16,
	};
	as(rig, DOM0);
	return vmop_xenoprof_prepare(&rig->dom0, &plan);
}

static void dom0_begins(struct rig *rig)
{
	as(rig, DOM0);
	ok(vmop_xenoprof_open(&rig->dom0, &rig->model->base));
	ok(dom0_prepares(rig));
}

static bool domu_joins(struct rig *rig)
{
	bool is_stuck;
	as(rig, DOMU);
	ok(vmop_xenoprof_join(&rig->domu, &rig->model->base, 16, &is_stuck));
	return !is_stuck;
}

static void sampling(struct rig *rig)
{
	dom0_begins(rig);
	assert_int_equal(rig->active.error, 0);
	assert_true(domu_joins(rig));
	ok(vmop_xenoprof_make_ready(&rig->domu));
	as(rig, DOM0);
	ok(vmop_xenoprof_start(&rig->dom0));
}

static void dom0_ends(struct rig *rig)
{
	as(rig, DOM0);
	vmop_xenoprof_close(&rig->dom0);
}

/* As they should: dom0 stops, its active domain leaves, and nothing stays in Xen. */
static void both_end(struct rig *rig)
{
	ok(vmop_xenoprof_stop(&rig->dom0));
	as(rig, DOMU);
	ok(vmop_xenoprof_leave(&rig->domu));
	dom0_ends(rig);
	assert_true(model_is_clean(rig->model));
}

static void count(void *arg, const struct vmop_xenoprof_ring *ring,
		  const struct vmop_xenoprof_entry *entry, bool is_caller)
{
	(void)ring;
	(void)is_caller;
	*(uint64_t *)arg += entry->ip;
}

static void each_takes_its_own(void **state)
{
	struct rig *rig = *state;
	for (unsigned session = 0; session < 3; session++) {
		uint64_t sum = 0, of_dom0 = 0;
		bool is_corrupt;
		sampling(rig);
		model_sample(rig->model, DOMU, 1, 40, VMOP_XENOPROF_MODE_USER, 0);
		model_sample(rig->model, DOMU, 1, 2, VMOP_XENOPROF_MODE_XEN, 0);
		assert_int_equal(rig->domu.n_sets, 1);
		for (uint32_t i = 0; i < rig->domu.sets[0].n_rings; i++)
			vmop_xenoprof_ring_take(&rig->domu.sets[0].rings[i], count, &sum,
						&is_corrupt);
		for (uint32_t i = 0; i < rig->dom0.sets[0].n_rings; i++)
			vmop_xenoprof_ring_take(&rig->dom0.sets[0].rings[i], count, &of_dom0,
						&is_corrupt);
		assert_int_equal(sum, 42);
		assert_int_equal(of_dom0, 0);
		as(rig, DOM0);
		both_end(rig);
	}
}

static void dom0_waits_for_it(void **state)
{
	struct rig *rig = *state;
	dom0_begins(rig);
	struct vmop_error *err = vmop_xenoprof_start(&rig->dom0);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "an active domain is not ready"));
	vmop_error_destroy(err);
	assert_true(domu_joins(rig));
	ok(vmop_xenoprof_make_ready(&rig->domu));
	as(rig, DOM0);
	ok(vmop_xenoprof_start(&rig->dom0));
}

static void nobody_asked_for_it(void **state)
{
	struct rig *rig = *state;
	assert_true(domu_joins(rig));
	struct vmop_error *err = vmop_xenoprof_make_ready(&rig->domu);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "not put this domain on its list"));
	vmop_error_destroy(err);
	/* Nothing gives the buffer back but dom0's next list. */
	err = vmop_xenoprof_leave(&rig->domu);
	assert_non_null(err);
	vmop_error_destroy(err);
	dom0_begins(rig);
	assert_false(domu_joins(rig));
	as(rig, DOM0);
	vmop_xenoprof_release(&rig->dom0);
	ok(dom0_prepares(rig));
	assert_true(domu_joins(rig));
	ok(vmop_xenoprof_make_ready(&rig->domu));
	as(rig, DOM0);
	ok(vmop_xenoprof_start(&rig->dom0));
}

/* It leaves too early, or dies: the buffer is free again within dom0's next session. */
static void a_buffer_left_behind(void **state)
{
	struct rig *rig = *state;
	sampling(rig);
	as(rig, DOMU);
	struct vmop_error *err = vmop_xenoprof_leave(&rig->domu);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "dom0 still samples"));
	vmop_error_destroy(err);
	dom0_ends(rig);
	assert_false(rig->model->has_panicked);
	dom0_begins(rig);
	assert_false(domu_joins(rig)); /* but it is given back */
	as(rig, DOM0);
	vmop_xenoprof_release(&rig->dom0);
	ok(dom0_prepares(rig));
	assert_true(domu_joins(rig));
	ok(vmop_xenoprof_make_ready(&rig->domu));
	as(rig, DOM0);
	ok(vmop_xenoprof_start(&rig->dom0));
	both_end(rig);
}

/* Whatever an active domain calls, and when, Xen stays up: INIT is not among it. */
static void xen_survives_it_at_any_time(void **state)
{
	struct rig *rig = *state;
	sampling(rig);
	for (unsigned i = 0; i < 3; i++) {
		bool is_stuck = false;
		as(rig, DOMU);
		vmop_error_destroy(vmop_xenoprof_leave(&rig->domu));
		vmop_error_destroy(
			vmop_xenoprof_join(&rig->domu, &rig->model->base, 16, &is_stuck));
	}
	dom0_ends(rig);
	assert_false(rig->model->has_panicked);
}

static void no_xenoprof(void **state)
{
	struct rig *rig = *state;
	bool is_stuck;
	rig->model->refusals[VMOP_XENOPROF_GET_BUFFER] = -ENOSYS;
	as(rig, DOMU);
	struct vmop_error *err = vmop_xenoprof_join(&rig->domu, &rig->model->base, 16, &is_stuck);
	assert_non_null(err);
	assert_string_equal(err->message, "this Xen has no xenoprof");
	vmop_error_destroy(err);
	assert_false(is_stuck);
}

/* ---- the source and an agent that does at once what it is told ---------------------- */

struct scripted {
	struct vmop_active_store store;
	struct model *model;
	unsigned domain;
	char up[VMOP_ACTIVE_MESSAGE_BYTES], down[VMOP_ACTIVE_MESSAGE_BYTES];
	struct vmop_active_store of_agent_store;
	struct vmop_active_agent agent;
	struct vmop_xenoprof xenoprof;
	char events[VMOP_ACTIVE_TEXT_BYTES];
	unsigned joins, leaves, pauses;
	bool is_dead, is_open;
	bool fails; /* to join, always */
	uint64_t now_ns;
};

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

static void do_join(struct scripted *scripted)
{
	bool is_stuck = false;
	if (scripted->fails) {
		vmop_active_agent_answer(&scripted->agent, VMOP_ACTIVE_FAILED, "no disk");
		return;
	}
	ok(vmop_xenoprof_join(&scripted->xenoprof, &scripted->model->base, 16, &is_stuck));
	if (!is_stuck)
		ok(vmop_xenoprof_make_ready(&scripted->xenoprof));
	scripted->joins += !is_stuck;
	vmop_active_agent_answer(&scripted->agent, is_stuck ? VMOP_ACTIVE_STUCK : VMOP_ACTIVE_READY,
				 NULL);
}

/* What was written to it is carried out before the initiator goes on, unless it is dead. */
static void carry_out(struct scripted *scripted)
{
	char text[VMOP_ACTIVE_TEXT_BYTES];
	if (scripted->is_dead)
		return;
	unsigned before = scripted->model->caller;
	scripted->model->caller = scripted->domain;
	switch (vmop_active_agent_look(&scripted->agent, ++scripted->now_ns, text)) {
	case VMOP_ACTIVE_DO_JOIN:
		memcpy(scripted->events, text, sizeof(text));
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
	snprintf(scripted->down, sizeof(scripted->down), "%s", line);
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

static const struct vmop_active_opener opener = {open_agent, close_agent, NULL};

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
	struct vmop_xen_way *way;
	struct vmop_source *source;
	ok(vmop_event_request_parse("cycles:100000", &request));
	const struct vmop_source_setup setup = {
		.events = &request, .n_events = 1, .active = &opener};
	ok(vmop_xen_user_open(&model->base, &machine, &way));
	ok(vmop_xen_open_over(way, &machine, &setup, &source));
	vmop_event_request_deinit(&request);
	return source;
}

static int begin_source(void **state)
{
	char dir[] = "/tmp/vmop-xen-active.XXXXXX";
	if (begin(state) || !mkdtemp(dir) || setenv("VMOP_RUNDIR", dir, 1) < 0)
		return -1;
	new_agent(((struct rig *)*state)->model, 1);
	new_agent(((struct rig *)*state)->model, 2);
	return 0;
}

static int end_source(void **state)
{
	rmdir(getenv("VMOP_RUNDIR"));
	free(agents[1]);
	free(agents[2]);
	agents[1] = agents[2] = NULL;
	return end(state);
}

static void the_source_sees_to_it(void **state)
{
	struct rig *rig = *state;
	struct vmop_source_domain domains[] = {{.id = 1, .is_active = true}};
	for (unsigned session = 1; session <= 2; session++) {
		struct vmop_source *source = open_source(rig->model);
		ok(vmop_source_set_domains(source, domains, 1));
		assert_int_equal(domains[0].error, 0);
		ok(vmop_source_start(source));
		assert_int_equal(rig->model->state, MODEL_PROFILING);
		assert_int_equal(agents[1]->joins, session);
		assert_string_equal(agents[1]->events, "cycles:100000");
		assert_int_equal(agents[1]->agent.stage, VMOP_ACTIVE_TAKING);
		ok(vmop_source_check_cpus(source));
		ok(vmop_source_stop(source));
		assert_int_equal(agents[1]->leaves, session);
		vmop_source_close(source);
		assert_true(model_is_clean(rig->model));
	}
}

/* Without starting Xen anew: passive first, then active, then nothing. */
static void a_domain_changes_its_kind(void **state)
{
	struct rig *rig = *state;
	struct vmop_source *source = open_source(rig->model);
	struct vmop_source_domain domains[] = {{.id = 1}, {.id = 2, .is_active = true}};
	ok(vmop_source_set_domains(source, domains, 2));
	ok(vmop_source_start(source));
	assert_true(rig->model->domains[1].is_passive && rig->model->domains[2].is_active);
	domains[0].is_active = true;
	domains[1].is_active = false;
	ok(vmop_source_set_domains(source, domains, 2));
	assert_int_equal(domains[0].error, 0);
	assert_int_equal(domains[1].error, 0);
	assert_true(rig->model->domains[1].is_active && rig->model->domains[2].is_passive);
	assert_int_equal(rig->model->state, MODEL_PROFILING);
	assert_int_equal(agents[2]->leaves, 1);
	assert_false(agents[2]->is_open);
	ok(vmop_source_set_domains(source, domains, 1)); /* one less of them */
	assert_int_equal(agents[1]->joins, 2);
	assert_int_equal(agents[1]->pauses, 1);
	assert_int_equal(agents[2]->pauses, 0);
	vmop_source_close(source);
	assert_true(model_is_clean(rig->model));
}

/* Xen never hears of a domain that nobody answers in. */
static void nobody_answers(void **state)
{
	struct rig *rig = *state;
	struct vmop_source *source = open_source(rig->model);
	struct vmop_source_domain domains[] = {{.id = 2, .is_active = true}};
	agents[2]->is_dead = true;
	struct vmop_error *err = vmop_source_set_domains(source, domains, 1);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	assert_non_null(strstr(err->message, "no vmopd answers in domain 2"));
	vmop_error_destroy(err);
	assert_false(rig->model->domains[2].is_listed);
	vmop_source_close(source);
	assert_true(model_is_clean(rig->model));
}

/* While samples are taken nobody waits for one that comes late. */
static void one_that_comes_late(void **state)
{
	struct rig *rig = *state;
	struct vmop_source *source = open_source(rig->model);
	struct vmop_source_domain domains[] = {{.id = 1, .is_active = true},
					       {.id = 2, .is_active = true}};
	ok(vmop_source_set_domains(source, domains, 1));
	ok(vmop_source_start(source));
	agents[2]->is_dead = true;
	unsigned calls = rig->model->calls;
	ok(vmop_source_set_domains(source, domains, 2));
	assert_int_equal(domains[0].error, 0);
	assert_int_equal(domains[1].error, EAGAIN);
	assert_int_equal(rig->model->calls, calls); /* Xen goes on */
	agents[2]->is_dead = false;
	ok(vmop_source_set_domains(source, domains, 2));
	assert_int_equal(domains[1].error, 0);
	assert_int_equal(rig->model->state, MODEL_PROFILING);
	assert_true(rig->model->domains[1].is_active && rig->model->domains[2].is_active);
	assert_int_equal(agents[1]->pauses, 1);
	calls = rig->model->calls;
	ok(vmop_source_set_domains(source, domains, 2)); /* all is as it should be */
	assert_int_equal(rig->model->calls, calls);
	vmop_source_close(source);
	assert_true(model_is_clean(rig->model));
}

/* Neither dom0 nor the others stand still for one that says it is there and then fails. */
static void one_that_fails_later(void **state)
{
	struct rig *rig = *state;
	struct vmop_source *source = open_source(rig->model);
	struct vmop_source_domain domains[] = {{.id = 1, .is_active = true},
					       {.id = 2, .is_active = true}};
	ok(vmop_source_set_domains(source, domains, 1));
	ok(vmop_source_start(source));
	agents[2]->fails = true;
	ok(vmop_source_set_domains(source, domains, 2));
	assert_int_equal(domains[0].error, 0);
	assert_int_equal(domains[1].error, ENOLINK);
	assert_int_equal(rig->model->state, MODEL_PROFILING);
	assert_true(rig->model->domains[1].is_active);
	assert_false(rig->model->domains[2].is_listed);
	struct vmop_error *err = vmop_source_check_cpus(source);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "domain 2: its vmopd says: no disk"));
	vmop_error_destroy(err);
	ok(vmop_source_check_cpus(source)); /* told once */
	vmop_source_close(source);
	assert_true(model_is_clean(rig->model));
}

/* A session that begins with one that fails is none. */
static void one_that_fails_at_once(void **state)
{
	struct rig *rig = *state;
	struct vmop_source *source = open_source(rig->model);
	struct vmop_source_domain domains[] = {{.id = 1, .is_active = true},
					       {.id = 2, .is_active = true}};
	agents[2]->fails = true;
	ok(vmop_source_set_domains(source, domains, 2));
	struct vmop_error *err = vmop_source_start(source);
	assert_non_null(err);
	assert_string_equal(err->message, "domain 2: its vmopd says: no disk");
	vmop_error_destroy(err);
	assert_int_equal(agents[1]->joins, 1);
	assert_int_equal(agents[1]->agent.stage, VMOP_ACTIVE_IDLE);
	vmop_source_close(source);
	assert_true(model_is_clean(rig->model));
}

/* One that gives up in the middle is left out, and is back when it answers again. */
static void one_that_gives_up(void **state)
{
	struct rig *rig = *state;
	struct vmop_source *source = open_source(rig->model);
	struct vmop_source_domain domain = {.id = 1, .is_active = true};
	ok(vmop_source_set_domains(source, &domain, 1));
	ok(vmop_source_start(source));
	vmop_active_agent_give_up(&agents[1]->agent, "ended there");
	struct vmop_error *err = vmop_source_check_cpus(source);
	assert_non_null(err);
	assert_string_equal(err->message, "domain 1: its vmopd says: ended there");
	vmop_error_destroy(err);
	ok(vmop_source_set_domains(source, &domain, 1));
	assert_int_equal(domain.error, ENOLINK);
	assert_int_equal(rig->model->state, MODEL_PROFILING);
	assert_false(rig->model->domains[1].is_listed);
	vmop_source_close(source);
	/* What it left in Xen is its successor's to give back. */
	assert_int_equal(rig->model->state, MODEL_IDLE);
	assert_true(rig->model->domains[1].is_shared);
	as(rig, DOMU);
	vmop_error_destroy(vmop_xenoprof_leave(&agents[1]->xenoprof));
}

/* What dom0 leaves out of its own samples, active domains leave out of theirs. */
static void modes_are_told(void **state)
{
	struct rig *rig = *state;
	struct vmop_event_request requests[2];
	struct vmop_xen_machine machine;
	struct vmop_xen_way *way;
	struct vmop_source *source;
	struct vmop_source_domain domain = {.id = 1, .is_active = true};
	ok(vmop_event_request_parse("cycles:100000", &requests[0]));
	ok(vmop_event_request_parse("r2e:7000:0:0:1", &requests[1]));
	const struct vmop_source_setup setup = {
		.events = requests, .n_events = 2, .active = &opener};
	ok(vmop_xen_user_open(&rig->model->base, &machine, &way));
	ok(vmop_xen_open_over(way, &machine, &setup, &source));
	ok(vmop_source_set_domains(source, &domain, 1));
	ok(vmop_source_start(source));
	assert_string_equal(agents[1]->events, "cycles:100000 r2e:7000:0:0:1");
	vmop_source_close(source);
	vmop_event_request_deinit(&requests[0]);
	vmop_event_request_deinit(&requests[1]);
}

/* The buffer of one that died is given back, and the session begins all the same. */
static void one_that_died_before(void **state)
{
	struct rig *rig = *state;
	struct vmop_source_domain domains[] = {{.id = 1, .is_active = true}};
	rig->model->domains[1].is_shared = true;
	struct vmop_source *source = open_source(rig->model);
	ok(vmop_source_set_domains(source, domains, 1));
	ok(vmop_source_start(source));
	assert_int_equal(agents[1]->joins, 1);
	vmop_source_close(source);
	assert_true(model_is_clean(rig->model));
}

/* ---- the source within the domain ----------------------------------------------------- */

struct gathered {
	unsigned n;
	uint64_t ip, weight_events;
	uint32_t domain;
	unsigned flags;
};

static void gather(void *arg, const struct vmop_record *record)
{
	struct gathered *gathered = arg;
	gathered->n++;
	gathered->ip = record->sample.ip;
	gathered->weight_events = record->sample.weight_events;
	gathered->domain = record->sample.source_domain;
	gathered->flags |= record->sample.flags;
}

static struct vmop_error *open_within(struct model *model, const char *event,
				      struct vmop_source **ret)
{
	struct vmop_event_request request;
	struct vmop_xen_machine machine;
	struct vmop_xen_way *way;
	ok(vmop_event_request_parse(event, &request));
	const struct vmop_source_setup setup = {.events = &request, .n_events = 1};
	ok(vmop_xen_active_open(&model->base, &machine, &way));
	struct vmop_error *err = vmop_xen_open_over(way, &machine, &setup, ret);
	vmop_event_request_deinit(&request);
	return err;
}

/* Stops and closes it. */
static struct gathered all_of(struct vmop_source *source)
{
	struct gathered gathered = {0};
	const struct vmop_sink sink = {gather, &gathered};
	bool has_ended;
	ok(vmop_source_stop(source));
	ok(vmop_source_drain(source, UINT64_MAX, &sink, &has_ended));
	vmop_source_close(source);
	return gathered;
}

static void a_source_within(void **state)
{
	struct rig *rig = *state;
	struct vmop_source *source;
	dom0_begins(rig);
	as(rig, DOMU);
	ok(open_within(rig->model, "no-such-event-here:4711", &source));
	assert_string_equal(vmop_source_event(source, 0)->name, "no-such-event-here");
	ok(vmop_source_start(source));
	as(rig, DOM0);
	ok(vmop_xenoprof_start(&rig->dom0));
	model_sample(rig->model, DOMU, 0, 0x1000, VMOP_XENOPROF_MODE_XEN, 0);
	model_sample(rig->model, DOMU, 1, 0x401000, VMOP_XENOPROF_MODE_USER, 0);
	ok(vmop_xenoprof_stop(&rig->dom0));
	as(rig, DOMU);
	struct gathered gathered = all_of(source);
	assert_int_equal(gathered.n, 2);
	assert_int_equal(gathered.ip, 0x401000);
	assert_int_equal(gathered.weight_events, 4711);
	assert_int_equal(gathered.domain, 0);
	assert_int_equal(gathered.flags, VMOP_SAMPLE_USER | VMOP_SAMPLE_HYPERVISOR);
	dom0_ends(rig);
	assert_true(model_is_clean(rig->model));
}

/* dom0's lists change in the middle: the domain's own session stays open, and nothing is lost. */
static void a_source_that_pauses(void **state)
{
	struct rig *rig = *state;
	struct vmop_source *source;
	dom0_begins(rig);
	as(rig, DOMU);
	ok(open_within(rig->model, "cycles:4711", &source));
	ok(vmop_source_start(source));
	for (unsigned i = 0; i < 3; i++) {
		as(rig, DOM0);
		ok(vmop_xenoprof_start(&rig->dom0));
		model_sample(rig->model, DOMU, 0, 0x1000 + i, VMOP_XENOPROF_MODE_KERNEL, 0);
		ok(vmop_xenoprof_stop(&rig->dom0));
		as(rig, DOMU);
		ok(vmop_source_pause(source));
		ok(vmop_source_check_cpus(source)); /* and doesn't go on by itself */
		as(rig, DOM0);
		vmop_xenoprof_release(&rig->dom0);
		ok(dom0_prepares(rig));
		as(rig, DOMU);
		ok(vmop_source_resume(source));
	}
	ok(vmop_source_pause(source));
	struct gathered gathered = all_of(source);
	assert_int_equal(gathered.n, 3);
	assert_int_equal(gathered.ip, 0x1002);
	dom0_ends(rig);
	assert_true(model_is_clean(rig->model));
}

static void a_source_that_is_stuck(void **state)
{
	struct rig *rig = *state;
	struct vmop_source *source;
	rig->model->domains[DOMU].is_shared = true;
	dom0_begins(rig);
	as(rig, DOMU);
	struct vmop_error *err = open_within(rig->model, "cycles:6000", &source);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_BUSY);
	vmop_error_destroy(err);
	err = open_within(rig->model, "cycles", &source); /* dom0 would have said how many */
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	vmop_error_destroy(err);
	dom0_ends(rig);
	assert_true(model_is_clean(rig->model));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define SOURCE_TEST(name) cmocka_unit_test_setup_teardown(name, begin_source, end_source)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_takes_its_own),
		TEST(dom0_waits_for_it),
		TEST(nobody_asked_for_it),
		TEST(a_buffer_left_behind),
		TEST(xen_survives_it_at_any_time),
		TEST(no_xenoprof),
		TEST(a_source_within),
		TEST(a_source_that_pauses),
		TEST(a_source_that_is_stuck),
		SOURCE_TEST(the_source_sees_to_it),
		SOURCE_TEST(a_domain_changes_its_kind),
		SOURCE_TEST(nobody_answers),
		SOURCE_TEST(one_that_died_before),
		SOURCE_TEST(one_that_comes_late),
		SOURCE_TEST(one_that_fails_later),
		SOURCE_TEST(one_that_fails_at_once),
		SOURCE_TEST(one_that_gives_up),
		SOURCE_TEST(modes_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
