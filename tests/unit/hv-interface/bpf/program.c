// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The source on a kernel that refuses the BPF program: it delivers copies, a reason, and every
 * sample once. The refusals are real, each in a child.
 */
#include "config.h"

#ifdef HAVE_BPF
#include <bpf/bpf.h>
#endif
#include <cap-ng.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hv-interface/bpf/program.h"
#include "hv-interface/perf/perf.h"
#include "hv-interface/source.h"

static struct vmop_error *open_source(const char *event, struct vmop_source **ret)
{
	struct vmop_event_request request;
	assert_null(vmop_event_request_parse(event, &request));
	const struct vmop_source_setup setup = {
		.events = &request,
		.n_events = 1,
		.stacks = {.mode = VMOP_STACKS_BPF,
			   .user_stack_bytes = VMOP_USER_STACK_BYTES,
			   .max_frames = VMOP_STACK_FRAMES_MAX},
	};
	struct vmop_error *err = vmop_source_open(&vmop_source_perf_ops, &setup, ret);
	vmop_event_request_deinit(&request);
	return err;
}

/* Sample for a moment. Return the number of samples, or -1 if not all have a copy. */
struct counts {
	uint64_t samples, unwound;
};

static void count(void *arg, const struct vmop_record *record,
		  const struct vmop_stack_capture *stack)
{
	struct counts *counts = arg;
	if (record->type != VMOP_RECORD_SAMPLE)
		return;
	counts->samples++;
	counts->unwound += stack && stack->user_generation;
}

/* Return whether the source works with copies and has the reason in its note. */
static bool copies_because(const char *event, const char *reason)
{
	struct vmop_source *source;
	struct vmop_error *err = open_source(event, &source);
	struct counts counts = {0};
	const struct vmop_sink sink = {count, &counts};
	const char *note;
	if (err) {
		printf("%s\n", err->message);
		return false;
	}
	bool is_cfi = vmop_source_stacks(source, &note)->mode == VMOP_STACKS_CFI;
	bool has_reason = note && strstr(note, "not by BPF, because ") && strstr(note, reason);
	printf("note: %s\n", note ? note : "none");
	bool works = !vmop_source_start(source);
	for (volatile unsigned long i = 0; i < 100000000; i++)
		;
	works &= !vmop_source_stop(source) && !vmop_source_drain(source, UINT64_MAX, &sink, NULL);
	bool has_maps = vmop_source_unwind_maps(source) != NULL;
	vmop_source_close(source);
	return is_cfi && has_reason && works && !has_maps && counts.samples && !counts.unwound;
}

/* Run the refusal and the check in a child. */
static void refused_by(bool (*refuse)(void), const char *reason)
{
	pid_t child = fork();
	int status;
	assert_true(child >= 0);
	if (child == 0) {
		if (!refuse())
			_exit(77);
		_exit(copies_because("cpu-clock:1000Hz", reason) ? 0 : 1);
	}
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

static bool filter_bpf(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	return filter && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(bpf), 0) == 0 &&
	       seccomp_load(filter) == 0;
}

/* Refuse only bpf(BPF_LINK_CREATE), so that loading works and attaching does not. */
static bool filter_links(void)
{
	enum { LINK_CREATE = 28 }; /* in enum bpf_cmd of linux/bpf.h */
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	return filter && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       seccomp_rule_add(filter, SCMP_ACT_ERRNO(EBUSY), SCMP_SYS(bpf), 1,
				SCMP_A0(SCMP_CMP_EQ, LINK_CREATE)) == 0 &&
	       seccomp_load(filter) == 0;
}

/* Refuse only bpf(BPF_PROG_LOAD), as without CAP_PERFMON. */
static bool filter_programs(void)
{
	enum { PROG_LOAD = 5 };
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	return filter && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(bpf), 1,
				SCMP_A0(SCMP_CMP_EQ, PROG_LOAD)) == 0 &&
	       seccomp_load(filter) == 0;
}

/* Show this process a kernel that is locked down: only its own mounts change. */
static bool lock_down(void)
{
	static const char state[] = "none integrity [confidentiality]\n";
	if (unshare(CLONE_NEWNS) < 0 || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("vmop-test", "/sys/kernel/security", "tmpfs", 0, NULL) < 0)
		return false;
	FILE *file = fopen("/sys/kernel/security/lockdown", "we");
	return file && fputs(state, file) >= 0 && fclose(file) == 0;
}

static void without_the_capability(void **state)
{
	(void)state;
	refused_by(drop_cap_bpf, "CAP_BPF");
}

static void with_a_filter_of_system_calls(void **state)
{
	(void)state;
	refused_by(filter_bpf, "seccomp");
	refused_by(filter_programs, "programs on perf events are not permitted");
}

static void where_the_kernel_is_locked_down(void **state)
{
	(void)state;
	refused_by(lock_down, "locked down (confidentiality)");
}

static void where_attaching_is_refused(void **state)
{
	(void)state;
	refused_by(filter_links, "attaching a BPF program");
}

/* A child of a child is the first process in the new pid namespace. */
static void in_a_pid_namespace(void **state)
{
	(void)state;
	pid_t child = fork();
	int status;
	assert_true(child >= 0);
	if (child == 0) {
		if (unshare(CLONE_NEWPID) < 0)
			_exit(77);
		pid_t inner = fork();
		if (inner == 0)
			_exit(copies_because("cpu-clock:1000Hz", "pid namespace") ? 0 : 1);
		waitpid(inner, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void on_an_event_that_has_a_program(void **state)
{
	(void)state;
	struct vmop_bpf_program *program;
	struct vmop_bpf_request request = {.wants_unwinding = true};
	assert_null(vmop_bpf_program_load(&request, &program));
	assert_non_null(program);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	assert_true(fd >= 0);
	int link = vmop_bpf_program_attach(program, fd, 0, 10, true);
	assert_true(link >= 0);
	assert_int_equal(vmop_bpf_program_attach(program, fd, 1, 10, true), -1);
	assert_int_equal(errno, EEXIST);
#ifdef HAVE_BPF
	/* No other program can detach it (bpf_perf_link_lops in kernel/bpf/syscall.c). */
	assert_true(bpf_link_detach(link) < 0);
	assert_int_equal(errno, EOPNOTSUPP);
#endif
	close(link);
	link = vmop_bpf_program_attach(program, fd, 1, 10, true);
	assert_true(link >= 0);
	close(link);
	close(fd);
	vmop_bpf_program_destroy(program);
}

/* Load both parts in a child after the refusal. Return its exit status: bit 0 guests, bit 1 not. */
static int parts_after(bool (*refuse)(void), const char *reason)
{
	pid_t child = fork();
	int status;
	assert_true(child >= 0);
	if (child == 0) {
		struct vmop_bpf_request request = {.wants_unwinding = true, .wants_guests = true};
		struct vmop_bpf_program *program;
		if (!refuse() || vmop_bpf_program_load(&request, &program))
			_exit(77);
		bool has_guests = program && vmop_bpf_program_guest_maps(program);
		bool has_unwinding = program && vmop_bpf_program_maps(program);
		if (request.no_guests)
			printf("guest contexts: not captured, because %s\n",
			       request.no_guests->message);
		bool has_reason = request.no_guests && strstr(request.no_guests->message, reason);
		fflush(stdout);
		_exit((has_guests ? 1 : 0) | (has_unwinding ? 2 : 0) | (has_reason ? 4 : 0));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	return WEXITSTATUS(status);
}

static void guests_are_refused_with_a_reason(void **state)
{
	(void)state;
	assert_int_equal(parts_after(drop_cap_bpf, "CAP_BPF"), 4);
	assert_int_equal(parts_after(filter_bpf, "seccomp"), 4);
	assert_int_equal(parts_after(lock_down, "locked down (confidentiality)"), 4);
	assert_int_equal(parts_after(filter_programs, "programs on perf events are not permitted"),
			 4);
}

/* Keep only what the program needs. */
static bool keep_two_capabilities(void)
{
	capng_clear(CAPNG_SELECT_BOTH);
	capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_PERFMON);
	capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_BPF);
	return capng_apply(CAPNG_SELECT_CAPS) == 0;
}

static void two_capabilities_suffice_for_guests(void **state)
{
	(void)state;
	int parts = parts_after(keep_two_capabilities, "KVM");
	assert_true(parts & 2);
	if (parts & 4)
		skip(); /* no KVM on this machine */
	assert_int_equal(parts, 1 | 2);
}

static bool refuse_nothing(void)
{
	return true;
}

/* Each part is there or not, whatever the other is. */
static void a_part_that_is_not_wanted_is_not_loaded(void **state)
{
	(void)state;
	struct vmop_bpf_program *program;
	if (!(parts_after(refuse_nothing, "") & 1))
		skip();
	struct vmop_bpf_request request = {.wants_guests = true};
	assert_null(vmop_bpf_program_load(&request, &program));
	assert_null(request.no_guests);
	assert_null(request.no_unwinding);
	assert_null(vmop_bpf_program_maps(program));
	assert_non_null(vmop_bpf_program_guest_maps(program));
	vmop_bpf_program_destroy(program);
	request = (struct vmop_bpf_request){.wants_unwinding = true};
	assert_null(vmop_bpf_program_load(&request, &program));
	assert_non_null(vmop_bpf_program_maps(program));
	assert_null(vmop_bpf_program_guest_maps(program));
	vmop_bpf_program_destroy(program);
	request = (struct vmop_bpf_request){0};
	assert_null(vmop_bpf_program_load(&request, &program));
	assert_null(program);
}

static void tracepoints_are_left_to_copies(void **state)
{
	(void)state;
	if (access("/sys/kernel/tracing/events/sched/sched_switch/id", R_OK) < 0)
		skip();
	assert_true(copies_because("sched:sched_switch:1", "tracepoints"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_the_capability),
		cmocka_unit_test(with_a_filter_of_system_calls),
		cmocka_unit_test(where_the_kernel_is_locked_down),
		cmocka_unit_test(where_attaching_is_refused),
		cmocka_unit_test(in_a_pid_namespace),
		cmocka_unit_test(on_an_event_that_has_a_program),
		cmocka_unit_test(guests_are_refused_with_a_reason),
		cmocka_unit_test(two_capabilities_suffice_for_guests),
		cmocka_unit_test(a_part_that_is_not_wanted_is_not_loaded),
		cmocka_unit_test(tracepoints_are_left_to_copies),
	};
	struct vmop_source *source;
	const char *note;
	struct vmop_error *err = open_source("cpu-clock", &source);
	if (err) {
		printf("skipped: %s\n", err->message);
		return 77;
	}
	if (vmop_source_stacks(source, &note)->mode != VMOP_STACKS_BPF) {
		printf("skipped: %s\n", note);
		return 77;
	}
	vmop_source_close(source);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
