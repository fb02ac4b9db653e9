// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This machine, really profiled: a child that spins in one function, and a KVM guest if one can run
 * here.
 */
#include "hv-interface/perf/perf.h"
#include "tests/unit/daemon/common.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define SKIP 77
#define MIN_SAMPLES 50

/* The child spends nearly all of its time in this function. */
static void __attribute__((noinline, used)) spin_here(volatile uint64_t *counter)
{
	for (;;)
		++*counter;
}

static pid_t start_spinner(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		volatile uint64_t counter = 0;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "spinner");
		spin_here(&counter);
	}
	assert_true(pid > 0);
	return pid;
}

/* Start the test's guest. *ret_pid is 0 if it can't run here. Its output ends with it. */
static int start_guest(const char *const *arguments, pid_t *ret_pid)
{
	int out[2];
	char text[256];
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	*ret_pid = fork();
	if (*ret_pid == 0) {
		dup2(out[1], STDOUT_FILENO);
		execv(VMOP_TEST_BUILDDIR "/tests/fixtures/kvm-guest",
		      (char *const *)(uintptr_t)arguments);
		_exit(126);
	}
	assert_true(*ret_pid > 0);
	close(out[1]);
	ssize_t n = read(out[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	if (strncmp(text, "pid ", 4) != 0) {
		printf("no guest: %s\n", text);
		waitpid(*ret_pid, NULL, 0);
		*ret_pid = 0;
	}
	return out[0];
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static struct vmop_source *source;

static struct vmop_error *open_source(void)
{
	struct vmop_event_request request = {.name = (char *)"cpu-clock",
					     .frequency_hz = 997,
					     .kernel = true,
					     .user = true,
					     .host = true,
					     .guest = true};
	struct vmop_source_setup setup = {.events = &request, .n_events = 1};
	return vmop_source_open(&vmop_source_perf_ops, &setup, &source);
}

/* Sample until *condition is true, for at most `rounds` rounds of about a second. */
static void profile(struct rig *rig, bool (*is_enough)(const struct rig *rig), int rounds)
{
	struct vmop_sink sink = rig->sink;
	ok(vmop_source_start(source));
	ok(vmop_profiler_scan(rig->profiler));
	do {
		for (int i = 0; i < 4; i++) {
			poll(NULL, 0, 250);
			struct timespec now;
			clock_gettime(CLOCK_MONOTONIC, &now);
			ok(vmop_source_drain(
				source, (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec,
				&sink, NULL));
		}
		ok(vmop_profiler_tick(rig->profiler));
		rig_flush(rig);
	} while (!is_enough(rig) && --rounds);
	ok(vmop_source_stop(source));
	ok(vmop_source_drain(source, UINT64_MAX, &sink, NULL));
	rig_flush(rig);
	if (!is_enough(rig))
		fail_msg("too few samples");
}

static void rig_real(struct rig *rig, struct vmop_profiler_options options)
{
	rig_folder(rig);
	options.proc_root = "";
	ok(open_source());
	ok(rig_create(rig, &options, source));
}

static void rig_real_end(struct rig *rig)
{
	rig_end(rig);
	vmop_source_close(source);
}

static bool has_spinner(const struct rig *rig)
{
	return samples_of(&rig->session, NULL, "spinner") >= MIN_SAMPLES;
}

static void a_spinning_function_gets_its_samples(void **state)
{
	struct rig rig;
	char exe[512];
	(void)state;
	pid_t pid = start_spinner();
	rig_real(&rig, (struct vmop_profiler_options){0});
	profile(&rig, has_spinner, 20);
	stop(pid);
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	assert_true(n > 0);
	exe[n] = '\0';
	/* File offsets are compared by the low bits that mapping can't change. */
	uint64_t page_offset = (uint64_t)(uintptr_t)spin_here & 4095, here = 0, all = 0;
	for (size_t i = 0; i < rig.session.n; i++) {
		const struct row *row = &rig.session.rows[i];
		if (strcmp(row->comm, "spinner") != 0)
			continue;
		assert_int_equal(row->pid, pid);
		assert_string_equal(row->exe, exe);
		/* The share of the kernel depends on the load of the machine. */
		all += strcmp(row->image, "[kernel]") ? row->samples : 0;
		if (!strcmp(row->image, exe) && ((row->offset - page_offset) & 4095) < 128)
			here += row->samples;
		if (!strcmp(row->image, exe))
			assert_int_equal(row->build_id_len_bytes, 20);
	}
	if (here * 10 < all * 9)
		fail_msg("%llu of %llu samples in spin_here", (unsigned long long)here,
			 (unsigned long long)all);
	/*
	 * Only samples of processes that ended too early have no name. Other tests start thousands
	 * of programs meanwhile.
	 */
	struct vmop_profiler_stats stats;
	vmop_profiler_stats(rig.profiler, &stats);
	assert_int_equal(stats.samples, samples_of(&rig.session, NULL, NULL));
	uint64_t over = samples_of(&rig.session, "[exited before its maps were read]", NULL);
	if ((stats.unattributed - over) * 20 >= stats.samples)
		fail_msg("%llu of %llu samples are not attributed",
			 (unsigned long long)(stats.unattributed - over),
			 (unsigned long long)stats.samples);
	assert_true(samples_of(&rig.session, "[kernel]", NULL) > 0);
	rig_real_end(&rig);
}

static uint32_t domain_of(const struct rig *rig, const char *name)
{
	for (size_t i = 0; i < rig->session.n_domains; i++)
		if (!strcmp(rig->session.domains[i].name, name))
			return rig->session.domains[i].id.number;
	return 0;
}

static uint64_t billed(const struct rig *rig, const char *guest, enum vmop_bill bill)
{
	uint32_t id = domain_of(rig, guest);
	uint64_t sum = 0;
	for (size_t i = 0; id && i < rig->session.n; i++)
		if (rig->session.rows[i].key.billed.number == id &&
		    rig->session.rows[i].key.bill == bill)
			sum += rig->session.rows[i].samples;
	return sum;
}

static bool has_both_guests(const struct rig *rig)
{
	return billed(rig, "one", VMOP_BILL_SELF) >= MIN_SAMPLES &&
	       billed(rig, "two", VMOP_BILL_SELF) >= MIN_SAMPLES &&
	       billed(rig, "one", VMOP_BILL_VMM) >= MIN_SAMPLES;
}

static void guests_are_found_named_and_billed(void **state)
{
	static const char *const one[] = {"kvm-guest", "--id", "one",	     "--vcpus", "2",
					  "--seconds", "120",  "--spin-vmm", NULL};
	static const char *const two[] = {"kvm-guest", "--id", "two", "--seconds", "120", NULL};
	static const char *const selected[] = {"one"};
	struct rig rig;
	pid_t pids[2];
	(void)state;
	int out_one = start_guest(one, &pids[0]);
	if (!pids[0]) {
		close(out_one);
		return;
	}
	int out_two = start_guest(two, &pids[1]);
	assert_true(pids[1] > 0);
	rig_real(&rig, (struct vmop_profiler_options){
			       .setup = &(struct vmop_setup){.separate = VMOP_SETUP_SEPARATE_CPU},
			       .passive_domains = selected,
			       .n_passive_domains = 1});
	profile(&rig, has_both_guests, 30);
	uint32_t id_one = domain_of(&rig, "one"), id_two = domain_of(&rig, "two");
	for (size_t i = 0; i < rig.session.n; i++) {
		const struct row *row = &rig.session.rows[i];
		if (row->key.domain.number == id_one) {
			assert_string_equal(row->image, "[guest one user]");
			assert_int_equal(row->key.mode, VMOP_MODE_USER);
			assert_true(row->offset - 0x7f1200400000 < 8);
			assert_in_range(row->key.vcpu, 0, 1);
		} else if (row->key.domain.number == id_two) {
			assert_string_equal(row->image, "[unselected guest]");
			assert_int_equal(row->offset, 0);
		} else if (row->key.billed.number == id_one && row->key.bill == VMOP_BILL_VMM) {
			if (row->key.mode == VMOP_MODE_USER)
				assert_int_equal(row->pid, pids[0]);
		}
	}
	/* Other users may run guests on this machine, too. */
	size_t n_vcpus = 0;
	for (size_t i = 0; i < rig.session.n_vcpus; i++)
		n_vcpus += rig.session.vcpus[i].domain.number == id_one ||
			   rig.session.vcpus[i].domain.number == id_two;
	assert_int_equal(n_vcpus, 3);
	/* The guest dies while vmopd reads it. */
	stop(pids[0]);
	stop(pids[1]);
	struct vmop_domain_stats stats;
	/* Its exit record was not drained: each tick checks some processes in /proc. */
	for (int tick = 0; tick < 1024; tick++)
		ok(vmop_profiler_tick(rig.profiler));
	for (size_t i = 0; vmop_profiler_domain(rig.profiler, i, &stats); i++)
		if (stats.id.number == id_one || stats.id.number == id_two)
			assert_false(stats.is_running);
	close(out_one);
	close(out_two);
	rig_real_end(&rig);
}

static bool has_late_guest(const struct rig *rig)
{
	return billed(rig, "late", VMOP_BILL_SELF) >= MIN_SAMPLES;
}

static void a_guest_that_starts_during_a_session(void **state)
{
	static const char *const late[] = {"kvm-guest", "--id", "late", "--seconds", "120", NULL};
	struct rig rig;
	pid_t pid;
	(void)state;
	rig_real(&rig, (struct vmop_profiler_options){0});
	ok(vmop_profiler_scan(rig.profiler));
	int out = start_guest(late, &pid);
	if (pid) {
		profile(&rig, has_late_guest, 20);
		stop(pid);
	}
	close(out);
	rig_real_end(&rig);
}

int main(void)
{
	struct vmop_error *err = open_source();
	if (err) {
		printf("skipped: no perf events: %s\n", err->message);
		vmop_error_destroy(err);
		return SKIP;
	}
	vmop_source_close(source);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_spinning_function_gets_its_samples),
		cmocka_unit_test(guests_are_found_named_and_billed),
		cmocka_unit_test(a_guest_that_starts_during_a_session),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
