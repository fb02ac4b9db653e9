// SPDX-License-Identifier: GPL-2.0-or-later
/* An active domain's calls to Xen among dom0's: what works, and what each may leave behind. */
#include <cmocka.h>
#include <stdio.h>

#include "hv-interface-xen-model.h"
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

static bool domu_joins(struct rig *rig)
{
	bool is_stuck;
	as(rig, DOMU);
	ok(vmop_xenoprof_join(&rig->domu, &rig->model->base, 16, &is_stuck));
	return !is_stuck;
}

static void sampling(struct rig *rig)
{
	as(rig, DOM0);
	ok(vmop_xenoprof_open(&rig->dom0, &rig->model->base));
	ok(dom0_prepares(rig));
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
		ok(vmop_xenoprof_stop(&rig->dom0));
		as(rig, DOMU);
		ok(vmop_xenoprof_leave(&rig->domu));
		dom0_ends(rig);
		assert_true(model_is_clean(rig->model));
	}
}

static void dom0_waits_for_it(void **state)
{
	struct rig *rig = *state;
	as(rig, DOM0);
	ok(vmop_xenoprof_open(&rig->dom0, &rig->model->base));
	ok(dom0_prepares(rig));
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
	as(rig, DOM0);
	ok(vmop_xenoprof_open(&rig->dom0, &rig->model->base));
	ok(dom0_prepares(rig));
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
	as(rig, DOM0);
	ok(vmop_xenoprof_open(&rig->dom0, &rig->model->base));
	ok(dom0_prepares(rig));
	assert_false(domu_joins(rig)); /* but it is given back */
	as(rig, DOM0);
	vmop_xenoprof_release(&rig->dom0);
	ok(dom0_prepares(rig));
	assert_true(domu_joins(rig));
	ok(vmop_xenoprof_make_ready(&rig->domu));
	as(rig, DOM0);
	ok(vmop_xenoprof_start(&rig->dom0));
	ok(vmop_xenoprof_stop(&rig->dom0));
	as(rig, DOMU);
	ok(vmop_xenoprof_leave(&rig->domu));
	dom0_ends(rig);
	assert_true(model_is_clean(rig->model));
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_takes_its_own),	   TEST(dom0_waits_for_it),
		TEST(nobody_asked_for_it),	   TEST(a_buffer_left_behind),
		TEST(xen_survives_it_at_any_time), TEST(no_xenoprof),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
