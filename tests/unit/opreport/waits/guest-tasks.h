// SPDX-License-Identifier: GPL-2.0-or-later
/* A session with the time of a guest's vCPUs and samples of its tasks. */
#ifndef VMOP_TESTS_UNIT_OPREPORT_WAITS_GUEST_TASKS_H
#define VMOP_TESTS_UNIT_OPREPORT_WAITS_GUEST_TASKS_H

#include "opreport/waits/task-times.h"
#include "tests/unit/libdb/common.h"

/* The tasks of the guest g1. */
enum { TASK_A = 11, TASK_B = 12 };

static inline void put_wait(struct vmop_db *db, uint32_t vcpu, enum vmop_wait_state state,
			    uint64_t cause, uint64_t time_ns)
{
	const struct vmop_db_wait wait = {.domain = {1},
					  .vcpu = vcpu,
					  .state = state,
					  .cause = cause,
					  .count = 1,
					  .time_ns = time_ns};
	assert_ok(vmop_db_put_wait(db, &wait));
}

/* Put samples of user code; task 1 is the host's. */
static inline void put_samples(struct vmop_db *db, uint32_t task, uint64_t samples)
{
	struct vmop_db_chunk_key key = key_of(task, 2);
	const struct vmop_db_cell cell = {0x1000, samples, samples * 1000000};
	key.domain = (struct vmop_domain_id){task == 1 ? 0 : 1};
	if (samples)
		assert_ok(vmop_db_put_chunk(db, &key, &cell, 1));
}

/* A second: the running time of two vCPUs and their exits, and the samples of two tasks. */
struct second {
	uint64_t running_ns[2], exit_ns[2], a, b;
};

static inline void put_one_second(struct vmop_db *db, unsigned i, const struct second *second)
{
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS + i * VMOP_NS_PER_S, VMOP_NS_PER_S));
	for (uint32_t vcpu = 0; vcpu < 2; vcpu++) {
		put_wait(db, vcpu, VMOP_WAIT_RUNNING, 0, second->running_ns[vcpu]);
		put_wait(db, vcpu, VMOP_WAIT_EXIT, vmop_db_exit_cause(VMOP_EXIT_SVM, 0x60),
			 second->exit_ns[vcpu]);
		put_wait(db, vcpu, VMOP_WAIT_HALTED, 0, 777);
	}
	put_samples(db, 1, 1000); /* the host's are no part of the guest's */
	put_samples(db, TASK_A, second->a);
	put_samples(db, TASK_B, second->b);
	assert_ok(vmop_db_commit(db));
}

/* Write a session. no_exits: its reason, or NULL. */
static inline void write_guest_tasks(const char *name, const struct second *seconds, unsigned n,
				     const char *no_exits)
{
	struct vmop_db *db;
	assert_ok(vmop_db_create(test_path(name), &db));
	put_facts(db);
	if (no_exits)
		assert_ok(vmop_db_put_info(db, "no_exits", no_exits));
	for (uint32_t id = TASK_A; id <= TASK_B; id++)
		assert_ok(vmop_db_put_task(
			db, &(struct vmop_db_task){.id = {id},
						   .domain = {1},
						   .pid = id * 100,
						   .tid = id * 100,
						   .comm = id == TASK_A ? "alpha" : "beta",
						   .exe_image = {2}}));
	for (unsigned i = 0; i < n; i++)
		put_one_second(db, i, &seconds[i]);
	assert_ok(vmop_db_finish(db));
}

static inline void parse_spec(struct vmop_spec *spec, const char *name, const char *more)
{
	char text[PATH_MAX + 80];
	*spec = (struct vmop_spec){0};
	snprintf(text, sizeof(text), "session:%s", test_path(name));
	assert_ok(vmop_spec_parse(spec, text));
	if (more)
		assert_ok(vmop_spec_parse(spec, more));
}

#endif
