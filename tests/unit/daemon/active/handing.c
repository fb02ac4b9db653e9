// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples on their way from the host's profiler to the feed of an agent, over a pair of sockets:
 * queue, batches, the clock, and a guest that does not read.
 */
#include "daemon/active/handing.h"

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/active/agent-link.h"
#include "daemon/active/links.h"
#include "daemon/guest/stacks/sample-unwinder.h"
#include "tests/unit/ok.h"

#define VMM 4711 /* the pid of a VMM: only a number to the links */
#define DIFFERENCE_NS (7 * VMOP_NS_PER_S)

static struct vmop_active_links *links;
static struct vmop_handing *handing;
static struct vmop_agent_link *agent;
static struct vmop_handed_feed *feed;
static uint64_t last_ns; /* of the last sample */
static bool is_nested;	 /* the next samples are of a nested guest */

static uint64_t host_ns(void)
{
	return vmop_clock_ns(CLOCK_MONOTONIC) + DIFFERENCE_NS;
}

static void read_clock(void *arg, uint32_t vmm_pid, struct vmop_active_clock *ret)
{
	(void)arg;
	assert_int_equal(vmm_pid, VMM);
	ret->host_ns = host_ns();
}

static int dial(void)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0)
		return -1;
	vmop_active_links_add(links, pair[0], 7, 700, vmop_clock_ns(CLOCK_MONOTONIC));
	return pair[1];
}

static void agent_looks(void)
{
	char line[VMOP_ACTIVE_MESSAGE_BYTES];
	struct vmop_active_store *store = vmop_agent_link_store(agent);
	store->ops->read(store, line);
}

static void host_looks(void)
{
	vmop_active_links_pump(links, vmop_clock_ns(CLOCK_MONOTONIC));
}

static void accept_agent(void)
{
	struct vmop_active_claim claim;
	unsigned at = 0;
	for (unsigned i = 0; i < 5; i++) {
		agent_looks();
		host_looks();
	}
	assert_true(vmop_active_links_claim(links, &at, &claim));
	int pidfd = (int)syscall(SYS_pidfd_open, getppid(), 0);
	assert_true(vmop_active_links_accept(links, &claim, VMM, pidfd,
					     vmop_clock_ns(CLOCK_MONOTONIC)));
}

/* Send the host's first line, after which the agent takes part. */
static void send_line(void)
{
	const struct vmop_active_opener *opener = vmop_active_links_opener(links);
	struct vmop_active_store *store;
	assert_ok(opener->open(opener->arg, VMM, &store));
	assert_true(store->ops->write(store, "a line"));
	opener->close(opener->arg, store);
	agent_looks();
}

static int begin_with(const char *events)
{
	const struct vmop_active_links_clock clock = {.read = read_clock};
	last_ns = 1000;
	is_nested = false;
	assert_ok(vmop_active_links_create(-1, &links));
	vmop_active_links_set_clock(links, &clock);
	assert_ok(vmop_handing_create(&handing));
	assert_ok(vmop_handed_feed_create(events, &feed));
	assert_ok(vmop_agent_link_create(dial, &agent));
	accept_agent();
	send_line();
	return 0;
}

static int begin(void **state)
{
	(void)state;
	return begin_with("host 1000000:0:ns:cpu-clock");
}

static int begin_with_stacks(void **state)
{
	(void)state;
	return begin_with("host stacks 1000000:0:ns:cpu-clock");
}

static int end(void **state)
{
	(void)state;
	vmop_agent_link_destroy(agent);
	vmop_handed_feed_destroy(feed);
	vmop_handing_destroy(handing);
	vmop_active_links_destroy(links);
	return 0;
}

static void sample_with(uint32_t vmm_pid, uint64_t time_ns,
			const struct vmop_guest_callers *callers)
{
	const struct vmop_sample_copy copy = vmop_handing_copy(handing);
	const struct vmop_record record = {
		.type = VMOP_RECORD_SAMPLE,
		.time_ns = time_ns,
		.sample = {.ip = 0x401000 + time_ns % 64, .weight_events = 1000000},
	};
	const struct vmop_copied_sample copied = {
		.vmm_pid = vmm_pid, .record = &record, .callers = callers, .is_nested = is_nested};
	copy.take(copy.arg, &copied);
}

static void sample(uint32_t vmm_pid, uint64_t time_ns)
{
	sample_with(vmm_pid, time_ns, NULL);
}

static void samples(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sample(VMM, last_ns += 1000000);
}

/* Send and receive until nothing waits. Return whether that came to pass. */
static bool exchange(unsigned turns)
{
	bool is_done = false;
	for (unsigned i = 0; i < turns && !is_done; i++) {
		is_done = vmop_handing_send(handing, links, VMM);
		agent_looks();
		host_looks();
	}
	return is_done;
}

/* Let the agent read all that was sent. */
static void receive(void)
{
	uint64_t before;
	do {
		before = feed->counts.n_received;
		agent_looks();
	} while (feed->counts.n_received != before);
}

/* ---- tests -------------------------------------------------------------------------------- */

static void samples_come_to_the_feed(void **state)
{
	(void)state;
	vmop_agent_link_set_feed(agent, feed);
	vmop_handing_set(handing, VMM, VMOP_HANDING_SAMPLES);
	samples(3000);
	sample(VMM, 5);		  /* late: it takes the time of the one before */
	sample(VMM + 1, last_ns); /* of a guest without an agent */
	vmop_handing_complete(handing, last_ns + 7);
	assert_true(exchange(20));
	agent_looks();
	assert_int_equal(feed->counts.n_received, 3001);
	assert_int_equal(feed->complete_ns, last_ns + 7);
	for (unsigned i = 0; i < 3001; i++) {
		const struct vmop_active_sample *next = vmop_handed_feed_peek(feed);
		assert_non_null(next);
		assert_int_equal(next->time_ns, 1000 + (i < 3000 ? i + 1 : 3000) * 1000000ull);
		vmop_handed_feed_take(feed);
	}
	/* Nothing new is nothing to send. */
	assert_true(vmop_handing_send(handing, links, VMM));
}

/* Return the next of random numbers, below n. */
static uint64_t random_below(uint64_t n)
{
	static uint64_t state = 1;
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (state >> 33) % n;
}

/* Return an address as programs have them: most in the program, some in libc and the kernel. */
static uint64_t any_address(bool *ret_is_kernel)
{
	uint64_t place = random_below(100);
	*ret_is_kernel = place >= 85;
	if (*ret_is_kernel)
		return 0xffffffff81000000 + random_below(16 << 20);
	return place < 65 ? 0x55d0c0de1000 + random_below(1 << 20)
			  : 0x7f1234500000 + random_below(1 << 21);
}

static void put_random_sample(unsigned n_vcpus)
{
	const struct vmop_sample_copy copy = vmop_handing_copy(handing);
	struct vmop_record record = {
		.type = VMOP_RECORD_SAMPLE,
		.time_ns = last_ns,
		.sample = {.weight_events = 1000000},
	};
	struct vmop_copied_sample copied = {
		.vmm_pid = VMM, .record = &record, .vcpu = (int32_t)random_below(n_vcpus)};
	record.sample.ip = any_address(&copied.is_kernel);
	copy.take(copy.arg, &copied);
}

/* Send what the daemon would send in its step each 100 ms. Return whether it was anything. */
static bool step(void)
{
	if (!vmop_handing_is_due(handing, VMM))
		return false;
	assert_true(exchange(20));
	receive();
	while (vmop_handed_feed_peek(feed))
		vmop_handed_feed_take(feed);
	return true;
}

/* Return the bytes a sample on the channel, with the frames, in steps of 100 ms. */
static double bytes_a_sample(unsigned n_vcpus, uint64_t rate_hz)
{
	struct vmop_handing_sums sums;
	vmop_handing_set(handing, VMM, VMOP_HANDING_OFF);
	vmop_handing_set(handing, VMM, VMOP_HANDING_EXTENDED);
	uint64_t every_ns = VMOP_NS_PER_S / rate_hz / n_vcpus;
	unsigned n_waiting = 0; /* steps without a batch */
	for (unsigned i_step = 0; i_step < 50; i_step++) {
		for (uint64_t i = 0; i < rate_hz * n_vcpus / 10; i++) {
			last_ns += every_ns / 2 + random_below(every_ns);
			put_random_sample(n_vcpus);
		}
		vmop_handing_complete(handing, last_ns + 7);
		n_waiting = step() ? 0 : n_waiting + 1;
		assert_in_range(n_waiting, 0, 3);
	}
	assert_true(exchange(20));
	assert_true(vmop_handing_sums(handing, VMM, &sums));
	assert_int_equal(sums.n_samples, 50 * (rate_hz * n_vcpus / 10));
	assert_int_equal(sums.n_lost, 0);
	return (double)sums.n_bytes / (double)sums.n_samples;
}

/* Below 12 bytes a sample, for one vCPU at 100 Hz as for 16 at 1 kHz. */
static void a_sample_takes_few_bytes(void **state)
{
	static const struct {
		unsigned n_vcpus;
		uint64_t rate_hz;
	} guests[] = {{1, 100}, {1, 250}, {1, 1000}, {4, 250}, {4, 4000}, {16, 1000}};
	(void)state;
	vmop_agent_link_set_feed(agent, feed);
	for (size_t i = 0; i < sizeof(guests) / sizeof(*guests); i++) {
		double bytes = bytes_a_sample(guests[i].n_vcpus, guests[i].rate_hz);
		print_message("%u vCPUs at %u Hz: %.1f bytes a sample\n", guests[i].n_vcpus,
			      (unsigned)guests[i].rate_hz, bytes);
		assert_true(bytes > 4 && bytes < 12);
	}
}

/* A guest without samples learns three times a second how far the host is, instead of ten times. */
static void an_idle_guest_costs_little(void **state)
{
	struct vmop_handing_sums before, after;
	unsigned n_sent = 0;
	(void)state;
	vmop_agent_link_set_feed(agent, feed);
	vmop_handing_set(handing, VMM, VMOP_HANDING_EXTENDED);
	assert_true(vmop_handing_sums(handing, VMM, &before));
	for (unsigned i = 0; i < 30; i++) {
		last_ns += 100 * VMOP_NS_PER_MS;
		vmop_handing_complete(handing, last_ns);
		n_sent += step();
	}
	assert_true(vmop_handing_sums(handing, VMM, &after));
	assert_int_equal(n_sent, 10);
	assert_int_equal(after.n_samples, before.n_samples);
	assert_in_range(after.n_bytes - before.n_bytes, 10 * 20, 10 * 40);
	assert_true(feed->complete_ns + 300 * VMOP_NS_PER_MS > last_ns);
}

static void the_agent_learns_the_hosts_time(void **state)
{
	struct vmop_active_ask ask;
	uint64_t ns, error_ns;
	(void)state;
	assert_false(vmop_active_links_asked(links, VMM, &ask));
	vmop_agent_link_set_feed(agent, feed);
	agent_looks();
	host_looks();
	agent_looks();
	assert_true(vmop_active_links_asked(links, VMM, &ask));
	assert_int_equal(feed->clock.n_points, 1);
	/* This host does not know the guest's counter. */
	assert_in_range(vmop_agent_link_measure_ms(agent), 50, 149);
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	assert_true(
		vmop_handed_clock_convert(&feed->clock, now_ns + DIFFERENCE_NS, &ns, &error_ns));
	assert_true((ns > now_ns ? ns - now_ns : now_ns - ns) <= error_ns);
}

static void a_queue_that_is_full_counts(void **state)
{
	(void)state;
	vmop_agent_link_set_feed(agent, feed);
	vmop_handing_set(handing, VMM, VMOP_HANDING_SAMPLES);
	samples(VMOP_HANDING_SAMPLES_MAX + 10);
	assert_true(exchange(200));
	receive();
	assert_int_equal(feed->counts.n_received, VMOP_HANDING_SAMPLES_MAX);
	assert_int_equal(feed->n_lost, 10);
}

/* The host waits for no guest: a step sends what the connection takes, and returns. */
static void a_guest_that_does_not_read(void **state)
{
	(void)state;
	vmop_agent_link_set_feed(agent, feed);
	vmop_handing_set(handing, VMM, VMOP_HANDING_SAMPLES);
	bool is_done = true;
	for (unsigned i = 0; i < 2000 && is_done; i++) {
		samples(4000);
		is_done = vmop_handing_send(handing, links, VMM);
		host_looks();
	}
	assert_false(is_done);
	for (unsigned i = 0; i < 100; i++)
		samples(4000);
	assert_true(vmop_active_links_has(links, VMM));
	/* It reads again: the kept samples come, and the rest was counted. */
	assert_true(exchange(5000));
	receive();
	assert_true(feed->n_lost > 0);
	assert_int_equal((last_ns - 1000) / 1000000, feed->counts.n_received + feed->n_lost);
}

/* ---- stacks ------------------------------------------------------------------------------- */

/* The callers of sample i: their number and addresses depend on it. */
static void make_callers(unsigned i, struct vmop_guest_callers *ret)
{
	ret->n = i % 30;
	ret->end = i % 2 ? VMOP_STACK_COMPLETE : VMOP_STACK_NO_CFI;
	ret->is_likely = i % 5 == 0;
	for (size_t k = 0; k < ret->n; k++)
		ret->frames[k] = 0x401000 + k * 64 + i % 3;
}

static void samples_with_stacks(unsigned first, unsigned n)
{
	struct vmop_guest_callers callers;
	for (unsigned i = first; i < first + n; i++) {
		make_callers(i, &callers);
		sample_with(VMM, last_ns += 1000000, i % 7 ? &callers : NULL);
	}
}

/* Take a sample from the feed, which must have the callers of sample i. */
static void assert_next_stack(unsigned i)
{
	struct vmop_guest_callers callers;
	const struct vmop_active_sample *next = vmop_handed_feed_peek(feed);
	make_callers(i, &callers);
	assert_non_null(next);
	assert_int_equal(next->has_stack, i % 7 != 0);
	if (next->has_stack) {
		assert_int_equal(next->n_frames, callers.n);
		assert_int_equal(next->stack_end, callers.end);
		assert_int_equal(next->is_stack_likely, callers.is_likely);
		for (size_t k = 0; k < callers.n; k++)
			assert_int_equal(vmop_handed_feed_frame(feed, next, k), callers.frames[k]);
	}
	vmop_handed_feed_take(feed);
}

static void stacks_come_to_the_feed(void **state)
{
	(void)state;
	vmop_agent_link_set_feed(agent, feed);
	vmop_handing_set(handing, VMM, VMOP_HANDING_STACKS);
	samples_with_stacks(0, 3000);
	assert_true(exchange(50));
	receive();
	assert_int_equal(feed->counts.n_received, 3000);
	for (unsigned i = 0; i < 3000; i++)
		assert_next_stack(i);
	assert_null(vmop_handed_feed_peek(feed));
}

/* A part of the samples is sent, and the stacks of the rest still belong to it. */
static void stacks_of_samples_that_wait(void **state)
{
	unsigned n_made = 0, n_taken = 0;
	bool is_done = true;
	(void)state;
	vmop_agent_link_set_feed(agent, feed);
	vmop_handing_set(handing, VMM, VMOP_HANDING_STACKS);
	for (; n_made < 100000 && is_done; n_made += 4000) {
		samples_with_stacks(n_made, 4000);
		is_done = vmop_handing_send(handing, links, VMM);
		host_looks();
	}
	assert_false(is_done);
	for (unsigned turn = 0; turn < 5000 && n_taken < n_made; turn++) {
		vmop_handing_send(handing, links, VMM);
		agent_looks();
		host_looks();
		for (; vmop_handed_feed_peek(feed); n_taken++)
			assert_next_stack(n_taken);
	}
	assert_int_equal(n_taken, n_made);
	assert_int_equal(feed->n_lost, 0);
}

static void stacks_that_find_no_room_are_counted(void **state)
{
	enum { DEPTH = VMOP_STACK_FRAMES_MAX, N = VMOP_HANDING_FRAMES_MAX / DEPTH };
	struct vmop_guest_callers callers = {.n = DEPTH, .end = VMOP_STACK_COMPLETE};
	struct vmop_handing_sums sums;
	(void)state;
	for (size_t k = 0; k < DEPTH; k++)
		callers.frames[k] = 0x401000 + k * 64;
	vmop_agent_link_set_feed(agent, feed);
	vmop_handing_set(handing, VMM, VMOP_HANDING_STACKS);
	for (unsigned i = 0; i < N + 3; i++)
		sample_with(VMM, last_ns += 1000000, &callers);
	assert_true(vmop_handing_sums(handing, VMM, &sums));
	assert_int_equal(sums.n_stacks_lost, 3);
	assert_int_equal(sums.n_lost, 0);
	assert_true(exchange(200));
	receive();
	for (unsigned i = 0; i < N + 3; i++) {
		const struct vmop_active_sample *next = vmop_handed_feed_peek(feed);
		assert_int_equal(next->n_frames, i < N ? DEPTH : 0);
		assert_int_equal(next->stack_end,
				 i < N ? VMOP_STACK_COMPLETE : VMOP_STACK_TOO_MANY);
		vmop_handed_feed_take(feed);
	}
}

/* Impossible callers are cut off, so that the agent does not refuse the batch. */
static void a_stack_with_impossible_callers(void **state)
{
	struct vmop_guest_callers callers = {
		.n = 3,
		.end = VMOP_STACK_COMPLETE,
		.frames = {0x401000, UINT64_C(0xffffffff81000000), 0x402000}};
	(void)state;
	vmop_agent_link_set_feed(agent, feed);
	vmop_handing_set(handing, VMM, VMOP_HANDING_STACKS);
	sample_with(VMM, last_ns += 1000000, &callers);
	assert_true(exchange(5));
	receive();
	const struct vmop_active_sample *next = vmop_handed_feed_peek(feed);
	assert_non_null(next);
	assert_int_equal(next->n_frames, 1);
	assert_int_equal(next->stack_end, VMOP_STACK_TORN);
	assert_true(vmop_agent_link_is_up(agent));
}

/* Samples of a guest's guests come as such, without a stack, to an agent that takes them. */
static void samples_of_nested_guests(void **state)
{
	static const enum vmop_handing_kind kinds[] = {VMOP_HANDING_SAMPLES, VMOP_HANDING_EXTENDED,
						       VMOP_HANDING_STACKS};
	(void)state;
	vmop_agent_link_set_feed(agent, feed);
	is_nested = true;
	for (unsigned i = 0; i < 3; i++) {
		vmop_handing_set(handing, VMM, kinds[i]);
		samples_with_stacks(1, 1);
		assert_true(exchange(5));
		receive();
		const struct vmop_active_sample *next = vmop_handed_feed_peek(feed);
		assert_non_null(next);
		assert_int_equal(next->is_nested, kinds[i] != VMOP_HANDING_SAMPLES);
		assert_false(next->has_stack);
		vmop_handed_feed_take(feed);
	}
	assert_true(vmop_agent_link_is_up(agent));
}

/* A guest whose agent takes no stacks gets only the samples. */
static void a_guest_without_stacks(void **state)
{
	(void)state;
	vmop_agent_link_set_feed(agent, feed);
	vmop_handing_set(handing, VMM, VMOP_HANDING_SAMPLES);
	samples_with_stacks(0, 100);
	assert_true(exchange(10));
	receive();
	assert_int_equal(feed->counts.n_received, 100);
	assert_false(vmop_handed_feed_peek(feed)->has_stack);
	assert_false(vmop_handed_feed_peek(feed)->is_nested);
	/* Its next agent takes them. */
	vmop_handing_set(handing, VMM, VMOP_HANDING_STACKS);
	samples_with_stacks(1, 1);
	/* This one has not announced it, and ends the connection. */
	exchange(5);
	receive();
	assert_false(vmop_agent_link_is_up(agent));
}

static void a_queue_that_ended_takes_nothing(void **state)
{
	(void)state;
	vmop_agent_link_set_feed(agent, feed);
	vmop_handing_set(handing, VMM, VMOP_HANDING_SAMPLES);
	samples(5);
	vmop_handing_set(handing, VMM, VMOP_HANDING_OFF);
	samples(5);
	assert_true(exchange(3));
	assert_int_equal(feed->counts.n_received, 0);
}

/* Samples for a session that has ended are no error, but those before any session are. */
static void samples_without_a_session(void **state)
{
	(void)state;
	vmop_agent_link_set_feed(agent, feed);
	vmop_agent_link_set_feed(agent, NULL);
	vmop_handing_set(handing, VMM, VMOP_HANDING_SAMPLES);
	samples(5);
	assert_true(exchange(3));
	agent_looks();
	assert_true(vmop_agent_link_is_up(agent));
}

static void samples_before_a_session(void **state)
{
	(void)state;
	vmop_handing_set(handing, VMM, VMOP_HANDING_SAMPLES);
	samples(5);
	vmop_handing_send(handing, links, VMM);
	agent_looks();
	assert_false(vmop_agent_link_is_up(agent));
}

/* A question that is left of another host's session has no answer, and costs the guest nothing. */
static void a_question_without_an_answer(void **state)
{
	const struct vmop_active_links_clock none = {0};
	(void)state;
	vmop_active_links_set_clock(links, &none);
	vmop_agent_link_set_feed(agent, feed);
	agent_looks();
	host_looks();
	assert_int_equal(vmop_active_links_losses(links)->n_rubbish, 0);
	assert_true(vmop_active_links_has(links, VMM));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define TEST_WITH_STACKS(name) cmocka_unit_test_setup_teardown(name, begin_with_stacks, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(samples_come_to_the_feed),
		TEST(a_sample_takes_few_bytes),
		TEST(an_idle_guest_costs_little),
		TEST(the_agent_learns_the_hosts_time),
		TEST(a_queue_that_is_full_counts),
		TEST(a_guest_that_does_not_read),
		TEST(a_queue_that_ended_takes_nothing),
		TEST(samples_without_a_session),
		TEST(samples_before_a_session),
		TEST(a_question_without_an_answer),
		TEST_WITH_STACKS(stacks_come_to_the_feed),
		TEST_WITH_STACKS(stacks_of_samples_that_wait),
		TEST_WITH_STACKS(stacks_that_find_no_room_are_counted),
		TEST_WITH_STACKS(a_stack_with_impossible_callers),
		TEST_WITH_STACKS(samples_of_nested_guests),
		TEST(a_guest_without_stacks),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
