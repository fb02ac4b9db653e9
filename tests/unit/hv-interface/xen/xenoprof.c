// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen's buffers with any content, and the order of the calls: Xen is clean after every session,
 * however it ended.
 */
#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "hv-interface/xen/owner-file.h"
#include "hv-interface/xen/user-space.h"
#include "hv-interface/xen/xenoprof-control.h"
#include "libutil/dirs/run-dir.h"
#include "tests/unit/hv-interface/xen/model.h"

/* ---- buffers -------------------------------------------------------------------- */

#define ENTRIES 8
#define BUFFER_BYTES (48 + ENTRIES * 16)

struct taken {
	unsigned n, n_callers;
	uint64_t last_ip;
};

static void take(void *arg, const struct vmop_xenoprof_ring *ring,
		 const struct vmop_xenoprof_entry *entry, bool is_caller)
{
	struct taken *taken = arg;
	(void)ring;
	taken->n += !is_caller;
	taken->n_callers += is_caller;
	taken->last_ip = entry->ip;
}

static struct vmop_xenoprof_buffer *new_buffer(struct vmop_xenoprof_ring *ring)
{
	struct vmop_xenoprof_buffer *buffer = calloc(1, BUFFER_BYTES);
	assert_non_null(buffer);
	assert_true(vmop_xenoprof_ring_init(ring, buffer, BUFFER_BYTES, 0, 1, BUFFER_BYTES));
	assert_int_equal(ring->n_entries, ENTRIES);
	vmop_xenoprof_ring_begin(ring);
	return buffer;
}

static void push(struct vmop_xenoprof_buffer *buffer, uint64_t ip, uint8_t event)
{
	buffer->entries[buffer->head] = (struct vmop_xenoprof_entry){.ip = ip, .event = event};
	buffer->head = (buffer->head + 1) % ENTRIES;
}

static void test_ring_goes_round(void **state)
{
	struct vmop_xenoprof_ring ring;
	struct vmop_xenoprof_buffer *buffer = new_buffer(&ring);
	struct taken taken = {0};
	bool is_corrupt;
	(void)state;
	for (unsigned i = 0; i < 5 * ENTRIES; i++) {
		push(buffer, i, 0);
		if (i % 3 == 2)
			vmop_xenoprof_ring_take(&ring, take, &taken, &is_corrupt);
		assert_true(i % 3 != 2 || (taken.n == i + 1 && taken.last_ip == i));
	}
	vmop_xenoprof_ring_take(&ring, take, &taken, &is_corrupt);
	assert_int_equal(taken.n, 5 * ENTRIES);
	assert_int_equal(buffer->tail, buffer->head);
	assert_int_equal(vmop_xenoprof_ring_take(&ring, take, &taken, &is_corrupt), 0);
	assert_false(is_corrupt);
	free(buffer);
}

/* XSA-313: a value that another domain writes must not lead outside the buffer. */
static void test_ring_is_hostile(void **state)
{
	struct vmop_xenoprof_ring ring;
	struct vmop_xenoprof_buffer *buffer = new_buffer(&ring);
	struct taken taken = {0};
	bool is_corrupt;
	(void)state;
	static const uint32_t heads[] = {ENTRIES, ENTRIES + 1, UINT32_MAX, 1u << 31};
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		buffer->head = heads[i];
		assert_int_equal(vmop_xenoprof_ring_take(&ring, take, &taken, &is_corrupt), 0);
		assert_true(is_corrupt);
	}
	/*
	 * The shared size and tail are not used: they neither lead outside nor yield more entries.
	 */
	buffer->size = UINT32_MAX;
	buffer->tail = 0xffffff;
	buffer->head = ENTRIES - 1;
	assert_int_equal(vmop_xenoprof_ring_take(&ring, take, &taken, &is_corrupt), ENTRIES - 1);
	assert_false(is_corrupt);
	assert_int_equal(buffer->tail, ENTRIES - 1);
	buffer->tail = UINT32_MAX;
	vmop_xenoprof_ring_begin(&ring);
	assert_true(ring.tail < ENTRIES);
	free(buffer);
}

static void test_ring_layouts(void **state)
{
	struct vmop_xenoprof_ring ring;
	static _Alignas(8) char memory[8192];
	static const struct {
		uint32_t i, n_buffers, buffer_bytes;
		bool is_good;
	} layouts[] = {
		{0, 1, 8192, true},	  {1, 2, 4096, true},
		{0, 1, 8200, false}, /* beyond the memory */
		{2, 2, 4096, false},	  {0, 2, 8192, false},
		{0, 0, 4096, false},	  {0, 1, 48, false}, /* no entry */
		{0, 1, 4095, false},	  {0, UINT32_MAX, UINT32_MAX - 7, false},
		{0, 1u << 31, 80, false}, {0, 1, 80, true},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		assert_int_equal(vmop_xenoprof_ring_init(&ring, memory, sizeof(memory),
							 layouts[i].i, layouts[i].n_buffers,
							 layouts[i].buffer_bytes),
				 layouts[i].is_good);
}

static void test_ring_counts_differences(void **state)
{
	struct vmop_xenoprof_ring ring;
	struct vmop_xenoprof_buffer *buffer = new_buffer(&ring);
	(void)state;
	buffer->lost_samples = 1000; /* of an earlier session */
	vmop_xenoprof_ring_begin(&ring);
	assert_int_equal(vmop_xenoprof_ring_lost(&ring), 0);
	buffer->lost_samples = 1007;
	assert_int_equal(vmop_xenoprof_ring_lost(&ring), 7);
	assert_int_equal(vmop_xenoprof_ring_lost(&ring), 0);
	buffer->lost_samples = 3; /* counters do not decrease: another domain wrote it */
	assert_int_equal(vmop_xenoprof_ring_lost(&ring), 0);
	buffer->lost_samples = 5;
	assert_int_equal(vmop_xenoprof_ring_lost(&ring), 2);
	free(buffer);
}

static void test_backtraces(void **state)
{
	struct vmop_xenoprof_ring ring;
	struct vmop_xenoprof_buffer *buffer = new_buffer(&ring);
	struct taken taken = {0};
	bool is_corrupt;
	(void)state;
	push(buffer, 0x999, 0); /* without an escape before it, there are no backtraces */
	vmop_xenoprof_ring_take(&ring, take, &taken, &is_corrupt);
	assert_int_equal(taken.n, 1);
	push(buffer, VMOP_XENOPROF_ESCAPE, VMOP_XENOPROF_ESCAPE_TRACE);
	vmop_xenoprof_ring_take(&ring, take, &taken, &is_corrupt);
	taken = (struct taken){0};
	push(buffer, 0x100, 0); /* its sample comes with the next drain */
	push(buffer, 0x200, 0);
	push(buffer, 0x300, 0);
	push(buffer, VMOP_XENOPROF_ESCAPE, 77); /* an unknown escape */
	push(buffer, 0x400, 0);
	vmop_xenoprof_ring_take(&ring, take, &taken, &is_corrupt);
	assert_int_equal(taken.n, 1);
	assert_int_equal(taken.n_callers, 3);
	/* The next session begins without them. */
	vmop_xenoprof_ring_begin(&ring);
	push(buffer, 0x500, 0);
	vmop_xenoprof_ring_take(&ring, take, &taken, &is_corrupt);
	assert_int_equal(taken.n, 2);
	free(buffer);
}

/* ---- the order of calls ------------------------------------------------------------ */

static const struct vmop_xen_event cycles = {
	.period_events = 100000,
	.code = 0x3c,
	.xen = true,
	.kernel = true,
	.user = true,
};

/* Run a whole session over domains 1 and 2; the second may be destroyed in the middle. */
static struct vmop_error *run_session(struct model *model, bool destroys, bool prepares_twice)
{
	struct vmop_xen_machine machine;
	struct vmop_xen_transport *transport;
	struct vmop_xen_domain passive[] = {{.id = 1}, {.id = 2}};
	const struct vmop_xen_plan plan = {
		.events = &cycles,
		.n_events = 1,
		.passive = passive,
		.n_passive = 2,
		.max_samples = 200,
	};
	struct vmop_error *err = vmop_xen_user_open(&model->base, &machine, &transport);
	if (err)
		return err;
	err = transport->ops->prepare(transport, &plan);
	if (!err && prepares_twice) {
		err = transport->ops->release(transport);
		if (!err)
			err = transport->ops->prepare(transport, &plan);
	}
	if (!err)
		err = transport->ops->start(transport);
	if (destroys && model->domains[2].is_passive)
		model->domains[2].is_destroyed = true;
	if (!err)
		err = transport->ops->stop(transport);
	transport->ops->close(transport);
	return err;
}

static void remove_owner_file(void)
{
	char *path = vmop_run_path(VMOP_XEN_OWNER_FILE);
	unlink(path);
	free(path);
}

static void test_session_leaves_nothing(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < 4; variant++) {
		struct model *model = model_new(2);
		assert_null(run_session(model, variant & 1, variant & 2));
		assert_true(model_is_clean(model));
		assert_int_equal(model->counters[0].is_enabled, 1);
		assert_int_equal(model->counters[0].event, 0x3c);
		assert_int_equal(model->counters[1].is_enabled, 0);
		free(model);
	}
}

/* Kill it at any call, with a domain destroyed meanwhile or not: the next session works. */
static void test_killed_anywhere(void **state)
{
	(void)state;
	for (unsigned variant = 0; variant < 4; variant++) {
		struct model *whole = model_new(2);
		assert_null(run_session(whole, variant & 1, variant & 2));
		unsigned n = whole->calls;
		free(whole);
		assert_in_range(n, 12, 100);
		for (unsigned calls = 0; calls < n; calls++) {
			struct model *model = model_new(2);
			model->calls_left = (int)calls;
			vmop_error_destroy(run_session(model, variant & 1, variant & 2));
			assert_true(model->is_dead);
			model_died(model);
			/* Undo the dead process's later changes of its owner file. */
			char *path = vmop_run_path(VMOP_XEN_OWNER_FILE);
			FILE *mark = fopen(path, "w");
			assert_non_null(mark);
			fclose(mark);
			free(path);
			/* The guest is gone, perhaps before Xen released it. */
			model->domains[2].exists &=
				!model->domains[2].is_destroyed || model->domains[2].is_passive;
			struct vmop_error *err = run_session(model, false, false);
			if (err)
				fail_msg("killed at call %u: %s", calls, err->message);
			if (!model_is_clean(model))
				fail_msg("killed at call %u: Xen is not clean", calls);
			free(model);
		}
	}
}

/* A refusal of any call is reported, and leaves nothing behind. */
static void test_refused_anywhere(void **state)
{
	static const int refused[] = {
		VMOP_XENOPROF_INIT,	   VMOP_XENOPROF_GET_BUFFER,
		VMOP_XENOPROF_SET_ACTIVE,  VMOP_XENOPROF_RESERVE_COUNTERS,
		VMOP_XENOPROF_COUNTER,	   VMOP_XENOPROF_SETUP_EVENTS,
		VMOP_XENOPROF_ENABLE_VIRQ, VMOP_XENOPROF_START,
	};
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct model *model = model_new(2);
		model->refusals[refused[i]] = -ENOMEM;
		struct vmop_error *err = run_session(model, false, false);
		assert_non_null(err);
		vmop_error_destroy(err);
		model->refusals[refused[i]] = 0;
		assert_null(run_session(model, false, false));
		assert_true(model_is_clean(model));
		free(model);
	}
}

/* The messages, by Xen's result of each call. */
static void test_messages(void **state)
{
	static const struct {
		int op, answer;
		enum vmop_error_code code;
		const char *text;
	} answers[] = {
		{VMOP_XENOPROF_GET_IBS_CAPS, -ENOSYS, VMOP_ERROR_NOT_FOUND, "no xenoprof"},
		{VMOP_XENOPROF_INIT, -ENODEV, VMOP_ERROR_CANT, "does not support this processor"},
		{VMOP_XENOPROF_INIT, -EPERM, VMOP_ERROR_CANT, "can't be started"},
		{VMOP_XENOPROF_GET_BUFFER, -EBUSY, VMOP_ERROR_CANT, "virtual PMU"},
		{VMOP_XENOPROF_RESERVE_COUNTERS, -EBUSY, VMOP_ERROR_CANT, "watchdog"},
		{VMOP_XENOPROF_START, -EPERM, VMOP_ERROR_CANT, "is not ready"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct model *model = model_new(2);
		model->refusals[answers[i].op] = answers[i].answer;
		struct vmop_error *err = run_session(model, false, false);
		assert_non_null(err);
		assert_int_equal(err->code, answers[i].code);
		if (!strstr(err->message, answers[i].text))
			fail_msg("'%s' lacks '%s'", err->message, answers[i].text);
		vmop_error_destroy(err);
		free(model);
	}
}

/*
 * Another living profiler of this domain is not disturbed; a dead one is ended once the user marks
 * it.
 */
static void test_other_profiler(void **state)
{
	struct model *model = model_new(2);
	struct vmop_xenoprof other;
	struct vmop_xen_domain passive = {.id = 1};
	const struct vmop_xen_plan plan = {
		.events = &cycles, .n_events = 1, .passive = &passive, .n_passive = 1};
	(void)state;
	assert_null(vmop_xenoprof_open(&other, &model->base));
	assert_null(vmop_xenoprof_prepare(&other, &plan));
	assert_null(vmop_xenoprof_start(&other));
	unsigned calls = model->calls;
	struct vmop_error *err = run_session(model, false, false);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	assert_non_null(strstr(err->message, "another profiler"));
	vmop_error_destroy(err);
	assert_int_equal(model->calls, calls + 1); /* it only probed */
	assert_int_equal(model->state, MODEL_PROFILING);
	assert_false(model->has_panicked);
	vmop_xenoprof_close(&other);
	assert_true(model_is_clean(model));
	free(model);
}

static void test_limits(void **state)
{
	struct model *model = model_new(30);
	struct vmop_xenoprof xenoprof;
	struct vmop_xen_domain passive[26];
	struct vmop_xen_plan plan = {
		.events = &cycles, .n_events = 1, .passive = passive, .n_passive = 26};
	(void)state;
	for (uint16_t i = 0; i < 26; i++)
		passive[i] = (struct vmop_xen_domain){.id = (uint16_t)(i + 1)};
	assert_null(vmop_xenoprof_open(&xenoprof, &model->base));
	struct vmop_error *err = vmop_xenoprof_prepare(&xenoprof, &plan);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	vmop_error_destroy(err);
	plan.n_passive = 25;
	passive[3].id = 39; /* no such domain */
	assert_null(vmop_xenoprof_prepare(&xenoprof, &plan));
	assert_int_equal(passive[3].error, EINVAL);
	assert_int_equal(passive[4].error, 0);
	assert_int_equal(xenoprof.n_sets, 25);
	vmop_xenoprof_close(&xenoprof);
	assert_true(model_is_clean(model));
	free(model);
}

static int set_up(void **state)
{
	char *dir = strdup("/tmp/vmop-xenoprof.XXXXXX");
	if (!dir || !mkdtemp(dir) || setenv("VMOP_RUNDIR", dir, 1) < 0)
		return -1;
	*state = dir;
	return 0;
}

static int tear_down(void **state)
{
	remove_owner_file();
	rmdir(*state);
	free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring_goes_round),
		cmocka_unit_test(test_ring_is_hostile),
		cmocka_unit_test(test_ring_layouts),
		cmocka_unit_test(test_ring_counts_differences),
		cmocka_unit_test(test_backtraces),
		cmocka_unit_test(test_session_leaves_nothing),
		cmocka_unit_test(test_killed_anywhere),
		cmocka_unit_test(test_refused_anywhere),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_other_profiler),
		cmocka_unit_test(test_limits),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
