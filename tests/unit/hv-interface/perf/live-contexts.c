// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The contexts of a real KVM guest's samples, captured by the machine's own kernel; and the source
 * on kernels that refuse them, each in a child. --wrap=vmop_cpus_watch_check hides
 * CPUs from the source until they come online on command.
 */
#include "config.h"

#include <cap-ng.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hv-interface/bpf/guest-maps.h"
#include "hv-interface/cpus.h"
#include "hv-interface/perf/perf.h"
#include "hv-interface/source.h"
#include "libutil/clock.h"

enum {
	PERIOD_NS = 1000000,
	SETTLE_NS = 2000000, /* younger records wait for the next drain */
	PC = VMOP_GUEST_REGS - 1,
};

/* The guest's code, in one page: tests/fixtures/kvm-guest.c. */
#define CODE UINT64_C(0x7f1200400000)
#define CODE_GPA UINT64_C(0x8000)
#define PAGE_MASK (~UINT64_C(4095))

static const char *online; /* the list of CPUs; NULL: the real list */

struct vmop_error *__wrap_vmop_cpus_watch_check(struct vmop_cpus_watch *watch, bool *ret_changed,
						struct vmop_cpus *ret);
struct vmop_error *__real_vmop_cpus_watch_check(struct vmop_cpus_watch *watch, bool *ret_changed,
						struct vmop_cpus *ret);

struct vmop_error *__wrap_vmop_cpus_watch_check(struct vmop_cpus_watch *watch, bool *ret_changed,
						struct vmop_cpus *ret)
{
	if (!online)
		return __real_vmop_cpus_watch_check(watch, ret_changed, ret);
	*ret_changed = true;
	return vmop_cpus_parse(online, ret);
}

static int guest_cpu = -1; /* on which the guest runs; -1: any */

struct seen {
	pid_t pid;
	uint64_t guest, with_context, vmm_user, vmm_stacks, states;
};

static void look_at_context(const struct vmop_record *record,
			    const struct vmop_guest_context *context)
{
	const struct vmop_sample *sample = &record->sample;
	assert_true(sample->flags & VMOP_SAMPLE_USER);
	assert_true(sample->flags & VMOP_SAMPLE_MODE_KNOWN);
	assert_int_equal(sample->weight_events, PERIOD_NS);
	assert_int_equal(sample->event, 0);
	assert_int_equal(context->vmm_pid, sample->pid);
	assert_int_equal(context->vcpu, 0);
	assert_true(context->parts & VMOP_GUEST_IS_USER);
	assert_true(context->parts & VMOP_GUEST_HAS_REGS);
	assert_true(context->regs[PC] == sample->ip);
	assert_true((sample->ip & PAGE_MASK) == CODE);
	assert_int_equal(context->generation, 0); /* nothing is known of its kernel */
	if (context->parts & VMOP_GUEST_HAS_GPA)
		assert_true((context->gpa & PAGE_MASK) == CODE_GPA);
}

static void look(void *arg, const struct vmop_record *record,
		 const struct vmop_stack_capture *stack)
{
	struct seen *seen = arg;
	if (record->type == VMOP_RECORD_GUEST_STATE) {
		assert_non_null(stack);
		assert_non_null(stack->guest);
		seen->states += record->guest_state.pid == (uint32_t)seen->pid;
	}
	if (record->type != VMOP_RECORD_SAMPLE || record->sample.pid != (uint32_t)seen->pid)
		return;
	if (record->sample.flags & VMOP_SAMPLE_GUEST) {
		seen->guest++;
		seen->with_context += stack != NULL;
		if (stack) {
			assert_non_null(stack->guest);
			look_at_context(record, stack->guest);
		}
	} else if (record->sample.flags & VMOP_SAMPLE_USER) {
		seen->vmm_user++;
		seen->vmm_stacks += stack && !stack->guest && stack->user_regs;
	}
}

static struct vmop_error *open_source(const char *event, enum vmop_stack_mode mode,
				      struct vmop_source **ret)
{
	struct vmop_event_request request;
	assert_null(vmop_event_request_parse(event, &request));
	const struct vmop_source_setup setup = {
		.events = &request,
		.n_events = 1,
		.wants_guest_context = true,
		.stacks = {.mode = mode,
			   .user_stack_bytes = VMOP_USER_STACK_BYTES,
			   .max_frames = VMOP_STACK_FRAMES_MAX},
	};
	struct vmop_error *err = vmop_source_open(&vmop_source_perf_ops, &setup, ret);
	vmop_event_request_deinit(&request);
	return err;
}

static pid_t guest(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET(guest_cpu, &set);
		dup2(null, 1);
		if (guest_cpu >= 0)
			sched_setaffinity(0, sizeof(set), &set);
		execl(VMOP_TEST_BUILDDIR "/tests/fixtures/kvm-guest", "kvm-guest", "--seconds", "1",
		      "--spin-vmm", (char *)NULL);
		_exit(1);
	}
	close(null);
	return child;
}

/* Sample a guest until it ends. */
static struct seen sample(struct vmop_source *source)
{
	assert_null(vmop_source_start(source));
	struct seen seen = {.pid = guest()};
	const struct vmop_sink sink = {look, &seen};
	struct vmop_source_stats stats;
	int status;
	while (waitpid(seen.pid, &status, WNOHANG) == 0) {
		struct pollfd ready = {.fd = vmop_source_poll_fd(source), .events = POLLIN};
		poll(&ready, 1, 50);
		assert_null(vmop_source_drain(source, vmop_clock_ns(CLOCK_MONOTONIC) - SETTLE_NS,
					      &sink, NULL));
	}
	assert_null(vmop_source_stop(source));
	assert_null(vmop_source_drain(source, UINT64_MAX, &sink, NULL));
	vmop_source_stats(source, &stats);
	assert_int_equal(stats.malformed_records, 0);
	assert_int_equal(stats.lost_records, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return seen;
}

static void print(const struct seen *seen, const struct vmop_guest_maps_facts *facts)
{
	printf("guest's samples %llu, with context %llu; of the VMM %llu, with stack %llu; states "
	       "%llu; %llu of %llu contexts written, %.2f us each\n",
	       (unsigned long long)seen->guest, (unsigned long long)seen->with_context,
	       (unsigned long long)seen->vmm_user, (unsigned long long)seen->vmm_stacks,
	       (unsigned long long)seen->states, (unsigned long long)facts->n_contexts,
	       (unsigned long long)facts->n_samples,
	       (double)facts->cost_ns / 1000 / (double)(facts->n_samples + facts->n_exited));
}

static void each_sample_of_a_guest_has_a_context(void **state)
{
	(void)state;
	static const enum vmop_stack_mode modes[] = {VMOP_STACKS_OFF, VMOP_STACKS_CFI,
						     VMOP_STACKS_BPF};
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct vmop_source *source;
		struct vmop_guest_maps_facts facts;
		const char *note = "";
		assert_null(open_source("cpu-clock:1000Hz", modes[i], &source));
		struct vmop_guest_maps *maps = vmop_source_guest_maps(source, &note);
		assert_non_null(maps);
		assert_null(note);
		bool has_stacks = vmop_source_stacks(source, NULL)->mode != VMOP_STACKS_OFF;
		struct seen seen = sample(source);
		vmop_guest_maps_facts(maps, &facts);
		vmop_source_close(source);
		print(&seen, &facts);
		assert_true(seen.guest > 10);
		assert_true(seen.with_context * 1000 >= seen.guest * 995);
		assert_true(facts.n_contexts >= seen.with_context); /* other guests may run */
		assert_true(seen.vmm_user > 10);
		assert_true(has_stacks ? seen.vmm_stacks > 0 : seen.vmm_stacks == 0);
		assert_non_null(facts.virtualisation);
	}
}

/* CPU 1 comes online while the source is open, goes, and comes back. */
static void a_cpu_that_comes_later_has_contexts(void **state)
{
	(void)state;
	struct vmop_source *source;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	online = "0";
	assert_null(open_source("cpu-clock:1000Hz", VMOP_STACKS_BPF, &source));
	assert_non_null(vmop_source_guest_maps(source, NULL));
	static const char *const lists[] = {"0-1", "0", "0-1"};
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		online = lists[i];
		assert_null(vmop_source_check_cpus(source));
	}
	guest_cpu = 1;
	struct seen seen = sample(source);
	guest_cpu = -1;
	online = NULL;
	vmop_source_close(source);
	printf("guest's samples %llu, with context %llu\n", (unsigned long long)seen.guest,
	       (unsigned long long)seen.with_context);
	assert_true(seen.guest > 10);
	assert_true(seen.with_context * 1000 >= seen.guest * 995);
}

/* Without guests among the event's samples nothing is loaded. */
static void events_of_the_host_need_no_program(void **state)
{
	(void)state;
	struct vmop_source *source;
	const char *note;
	assert_null(open_source("cpu-clock:1000Hz:0:1:1:1:0", VMOP_STACKS_OFF, &source));
	assert_null(vmop_source_guest_maps(source, &note));
	assert_non_null(strstr(note, "no event samples guests"));
	vmop_source_close(source);
}

/* Return whether guests' samples are perf's own, and the reason is noted. */
static bool are_perfs_because(const char *reason)
{
	struct vmop_source *source;
	const char *note = NULL;
	struct vmop_error *err = open_source("cpu-clock:1000Hz", VMOP_STACKS_OFF, &source);
	if (err) {
		printf("%s\n", err->message);
		return false;
	}
	bool is_off = !vmop_source_guest_maps(source, &note);
	bool has_reason = note && strstr(note, reason);
	printf("note: %s\n", note ? note : "none");
	struct seen seen = sample(source);
	vmop_source_close(source);
	return is_off && has_reason && seen.guest > 10 && !seen.with_context && !seen.states;
}

/* Run the refusal and the check in a child. */
static void refused_by(bool (*refuse)(void), const char *reason)
{
	pid_t child = fork();
	int status;
	assert_true(child >= 0);
	if (child == 0)
		_exit(!refuse() ? 77 : are_perfs_because(reason) ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Keep only what perf needs. */
static bool drop_cap_bpf(void)
{
	capng_clear(CAPNG_SELECT_BOTH);
	capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_PERFMON);
	capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_IPC_LOCK);
	return capng_apply(CAPNG_SELECT_CAPS) == 0;
}

/* Refuse one command of bpf(): enum bpf_cmd in linux/bpf.h. */
static bool filter_command(unsigned command, uint32_t os_errno)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	return filter && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       seccomp_rule_add(filter, SCMP_ACT_ERRNO(os_errno), SCMP_SYS(bpf), 1,
				SCMP_A0(SCMP_CMP_EQ, command)) == 0 &&
	       seccomp_load(filter) == 0;
}

static bool filter_maps(void)
{
	enum { MAP_CREATE = 0 };
	return filter_command(MAP_CREATE, EPERM);
}

static bool filter_programs(void)
{
	enum { PROG_LOAD = 5 };
	return filter_command(PROG_LOAD, EPERM);
}

static bool filter_links(void)
{
	enum { LINK_CREATE = 28 };
	return filter_command(LINK_CREATE, EEXIST);
}

static void refusals_leave_perfs_samples(void **state)
{
	(void)state;
	refused_by(drop_cap_bpf, "CAP_BPF");
	refused_by(filter_maps, "bpf() is not permitted");
	refused_by(filter_programs, "programs on perf events are not permitted");
	refused_by(filter_links, "attaching a BPF program on CPU");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sample_of_a_guest_has_a_context),
		cmocka_unit_test(a_cpu_that_comes_later_has_contexts),
		cmocka_unit_test(events_of_the_host_need_no_program),
		cmocka_unit_test(refusals_leave_perfs_samples),
	};
	struct vmop_source *source;
	const char *note = NULL;
	struct vmop_error *err = open_source("cpu-clock", VMOP_STACKS_OFF, &source);
	if (err) {
		printf("skipped: %s\n", err->message);
		return 77;
	}
	if (!vmop_source_guest_maps(source, &note)) {
		printf("skipped: %s\n", note);
		return 77;
	}
	vmop_source_close(source);
	if (access("/dev/kvm", R_OK | W_OK) < 0) {
		printf("skipped: no /dev/kvm\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
