// SPDX-License-Identifier: GPL-2.0-or-later
/* An active domain's calls to Xen among dom0's: the working order, and the remains of others. */
#include <cmocka.h>

#include "hv-interface/xen/user-space.h"
#include "hv-interface/xen/xen.h"
#include "hv-interface/xen/xenoprof-control.h"
#include "tests/unit/hv-interface/xen/model.h"

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

/* End both in order: dom0 stops, its active domain leaves, and nothing stays in Xen. */
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

static void it_was_not_requested(void **state)
{
	struct rig *rig = *state;
	assert_true(domu_joins(rig));
	struct vmop_error *err = vmop_xenoprof_make_ready(&rig->domu);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "not put this domain on its list"));
	vmop_error_destroy(err);
	/* Only dom0's next list gives the buffer back. */
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

/* The domain leaves too early, or dies: the buffer is free again in dom0's next session. */
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
	assert_false(domu_joins(rig)); /* but the buffer is given back */
	as(rig, DOM0);
	vmop_xenoprof_release(&rig->dom0);
	ok(dom0_prepares(rig));
	assert_true(domu_joins(rig));
	ok(vmop_xenoprof_make_ready(&rig->domu));
	as(rig, DOM0);
	ok(vmop_xenoprof_start(&rig->dom0));
	both_end(rig);
}

/* Xen survives any call of an active domain at any time: INIT is not among them. */
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

/* ---- the source within the domain ----------------------------------------------------- */

struct gathered {
	unsigned n;
	uint64_t ip, weight_events;
	uint32_t domain;
	unsigned flags;
};

static void gather(void *arg, const struct vmop_record *record,
		   const struct vmop_stack_capture *stack)
{
	(void)stack;
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
	struct vmop_xen_transport *transport;
	ok(vmop_event_request_parse(event, &request));
	const struct vmop_source_setup setup = {.events = &request, .n_events = 1};
	ok(vmop_xen_active_open(&model->base, &machine, &transport));
	struct vmop_error *err = vmop_xen_open_over(transport, &machine, NULL, &setup, ret);
	vmop_event_request_deinit(&request);
	return err;
}

/* Drain, stop and close the source. */
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
	unsigned calls = rig->model->calls;
	ok(open_within(rig->model, "no-such-event-here:4711", &source));
	assert_string_equal(vmop_source_event(source, 0)->name, "no-such-event-here");
	ok(vmop_source_start(source));
	/* all this happens while Xen samples the others */
	assert_int_equal(rig->model->calls, calls);
	ok(vmop_source_resume(source));
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

/* dom0's lists change in the middle: the domain's own session stays open, and no sample is lost. */
static void a_source_that_pauses(void **state)
{
	struct rig *rig = *state;
	struct vmop_source *source;
	dom0_begins(rig);
	as(rig, DOMU);
	ok(open_within(rig->model, "cycles:4711", &source));
	ok(vmop_source_start(source));
	ok(vmop_source_resume(source));
	for (unsigned i = 0; i < 3; i++) {
		as(rig, DOM0);
		ok(vmop_xenoprof_start(&rig->dom0));
		model_sample(rig->model, DOMU, 0, 0x1000 + i, VMOP_XENOPROF_MODE_KERNEL, 0);
		ok(vmop_xenoprof_stop(&rig->dom0));
		as(rig, DOMU);
		ok(vmop_source_pause(source));
		ok(vmop_source_check_cpus(source)); /* and resumes only on request */
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
	ok(open_within(rig->model, "cycles:6000", &source));
	ok(vmop_source_start(source));
	struct vmop_error *err = vmop_source_resume(source);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_BUSY);
	vmop_error_destroy(err);
	vmop_source_close(source);
	err = open_within(rig->model, "cycles", &source); /* dom0 would have sent the period */
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	vmop_error_destroy(err);
	dom0_ends(rig);
	assert_true(model_is_clean(rig->model));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_takes_its_own),
		TEST(dom0_waits_for_it),
		TEST(it_was_not_requested),
		TEST(a_buffer_left_behind),
		TEST(xen_survives_it_at_any_time),
		TEST(no_xenoprof),
		TEST(a_source_within),
		TEST(a_source_that_pauses),
		TEST(a_source_that_is_stuck),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
