// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The BPF program's reader of guests, while what it reads changes: memory slots, the owner of a
 * page, the CPU of the vCPU's thread; and a guest of many vCPUs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "libutil/clock.h"
#include "tests/unit/hv-interface/bpf/guest-samples.h"

#ifdef __x86_64__

/* The leader's second page is in a slot that comes and goes. */
#define MOVING_GPA (UINT64_C(0x1000000000))
enum { MOVING_BYTES = 16 * 4096 };
static uint8_t *moving;

static void check_moving(struct seen *seen, const struct vmop_guest_context *context)
{
	if (!(context->parts & VMOP_GUEST_HAS_TASK)) {
		assert_true(context->gap == VMOP_GUEST_GAP_NO_SLOT ||
			    context->gap == VMOP_GUEST_GAP_ABSENT);
		return;
	}
	check_task(seen, context);
}

static void set_secret(void)
{
	for (size_t at = 0; at < MOVING_BYTES; at += 8) {
		uint64_t secret = SECRET;
		memcpy(moving + at, &secret, sizeof(secret));
	}
}

/* Remove the slot, use its memory for something else, and bring both back. */
static void move_slot(struct seen *seen)
{
	static uint8_t content[MOVING_BYTES];
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + 20000000;
	memcpy(content, moving, sizeof(content));
	while (vmop_clock_ns(CLOCK_MONOTONIC) < end_ns) {
		assert_true(known_guest_set_slot(seen->guest, 2, MOVING_GPA, 0, NULL));
		set_secret();
		usleep(100);
		memcpy(moving, content, sizeof(content));
		assert_true(known_guest_set_slot(seen->guest, 2, MOVING_GPA, MOVING_BYTES, moving));
		usleep(300);
	}
}

static void start_moving(struct seen *seen)
{
	start(seen, 4, KNOWN_USER);
	seen->check = check_moving;
	moving =
		mmap(NULL, MOVING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(moving != MAP_FAILED);
	uint64_t *entry = known_guest_entry(&guest, guest.kernel_root, KNOWN_LEADER_PAGE);
	memcpy(moving, known_guest_at(&guest, *entry & UINT64_C(0xffffffffff000)), 4096);
	*entry = MOVING_GPA | 7;
	assert_true(known_guest_set_slot(&guest, 2, MOVING_GPA, MOVING_BYTES, moving));
	put(seen);
	go(seen);
}

static void a_slot_that_vanishes_is_not_read(void **state)
{
	struct seen seen;
	(void)state;
	start_moving(&seen);
	for (int i = 0; i < 4; i++) {
		sample(&seen, move_slot);
	}
	assert_true(seen.with_task > 0);
	munmap(moving, MOVING_BYTES);
}

/* The VMM's page is not mapped any more, and the program must not bring it back. */
static void drop_page(struct seen *seen)
{
	(void)seen;
	assert_int_equal(madvise(moving, MOVING_BYTES, MADV_DONTNEED), 0);
	usleep(20000);
}

static void an_absent_page_stays_absent(void **state)
{
	struct seen seen;
	(void)state;
	start_moving(&seen);
	drop_page(&seen);
	sample(&seen, drop_page);
	assert_int_equal(seen.with_task, 0);
	assert_int_equal(seen.gaps[VMOP_GUEST_GAP_ABSENT], seen.contexts);
	munmap(moving, MOVING_BYTES);
}

/* ---- the owner of a page ----------------------------------------------------- */

/* A thread that gives the code's page from one file to another, as often as it can. */
static struct {
	pthread_t thread;
	uint64_t *mapping, owners[2], n;
	bool is_over; /* atomic */
} giver;

static void *give(void *arg)
{
	(void)arg;
	for (; !__atomic_load_n(&giver.is_over, __ATOMIC_RELAXED); giver.n++)
		__atomic_store_n(giver.mapping, giver.owners[giver.n % 2], __ATOMIC_RELAXED);
	return NULL;
}

/* Each record has facts of one file only. */
static void check_one_owner(struct seen *seen, const struct vmop_guest_context *context)
{
	bool is_other = context->mapping == seen->guest->other_mapping;
	assert_true(context->parts & VMOP_GUEST_HAS_INODE);
	assert_true(is_other || context->mapping == seen->guest->mapping);
	assert_true(context->inode == (is_other ? seen->guest->other_inode : seen->guest->inode));
	assert_true(context->inode_number == FILE_INODE + is_other);
	assert_int_equal(context->inode_generation, FILE_GENERATION + is_other);
	seen->elsewhere += is_other;
}

static void a_page_that_changes_its_owner_has_one(void **state)
{
	struct seen seen;
	(void)state;
	start(&seen, 4, KNOWN_USER);
	seen.check = check_one_owner;
	giver.mapping = known_guest_make_other_file(&guest);
	giver.owners[0] = guest.other_mapping;
	giver.owners[1] = guest.mapping;
	giver.n = 0;
	giver.is_over = false;
	put(&seen);
	go(&seen);
	assert_int_equal(pthread_create(&giver.thread, NULL, give, NULL), 0);
	uint64_t all = 0;
	for (int i = 0; i < 10; i++) {
		sample(&seen, NULL);
		all += seen.contexts;
	}
	__atomic_store_n(&giver.is_over, true, __ATOMIC_RELAXED);
	pthread_join(giver.thread, NULL);
	printf("%llu changes, %llu of %llu samples of the other file\n",
	       (unsigned long long)giver.n, (unsigned long long)seen.elsewhere,
	       (unsigned long long)all);
	assert_true(giver.n > all);
	assert_in_range(seen.elsewhere, 1, all - 1);
}

/* ---- the vCPU's thread --------------------------------------------------------- */

/* Move the vCPU's thread to the next of this process's CPUs. */
static void move_thread(struct seen *seen)
{
	static int cpu;
	cpu_set_t allowed, next;
	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	do
		cpu = (cpu + 1) % CPU_SETSIZE;
	while (!CPU_ISSET(cpu, &allowed));
	CPU_ZERO(&next);
	CPU_SET(cpu, &next);
	assert_int_equal(pthread_setaffinity_np(seen->guest->thread, sizeof(next), &next), 0);
	usleep(3000);
}

static void check_moved(struct seen *seen, const struct vmop_guest_context *context)
{
	check_registers(seen, context);
	check_code(seen, context);
	check_task(seen, context);
	check_file(seen, context);
}

static void a_vcpu_moves_between_cpus(void **state)
{
	struct seen seen;
	cpu_set_t allowed;
	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	if (CPU_COUNT(&allowed) < 2)
		skip();
	start(&seen, 4, KNOWN_USER);
	seen.check = check_moved;
	seen.numbers.user_window_bytes = 4096;
	put(&seen);
	go(&seen);
	for (int i = 0; i < 4; i++)
		sample(&seen, move_thread);
	assert_true(__builtin_popcountll(seen.cpus) >= 2);
}

/* ---- many vCPUs ---------------------------------------------------------------- */

enum { N_OTHERS = 199 };

static void check_no_task(struct seen *seen, const struct vmop_guest_context *context)
{
	assert_int_equal(context->parts & VMOP_GUEST_HAS_TASK, 0);
	assert_int_equal(context->gap, VMOP_GUEST_GAP_NO_TASK);
	check_registers(seen, context);
	check_code(seen, context);
}

static void the_last_of_200_vcpus_has_its_task(void **state)
{
	struct seen seen;
	(void)state;
	start_last(&seen, N_OTHERS);
	seen.check = check_moved;
	put(&seen);
	go(&seen);
	sample(&seen, NULL);
	/* The guest's kernel has fewer CPUs than that. */
	seen.check = check_no_task;
	seen.numbers.n_cpus = N_OTHERS;
	put(&seen);
	usleep(50000);
	sample(&seen, NULL);
}

#endif

int main(void)
{
#ifdef __x86_64__
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_slot_that_vanishes_is_not_read, clean),
		cmocka_unit_test_teardown(an_absent_page_stays_absent, clean),
		cmocka_unit_test_teardown(a_page_that_changes_its_owner_has_one, clean),
		cmocka_unit_test_teardown(a_vcpu_moves_between_cpus, clean),
		cmocka_unit_test_teardown(the_last_of_200_vcpus_has_its_task, clean),
	};
	int status = begin_guest_tests();
	if (status)
		return status;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	end_guest_tests();
	return status;
#else
	puts("skipped: the guest is written for x86-64");
	return 77;
#endif
}
