// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call stacks that the machine's own kernel captures: of a program that recurses to a known depth,
 * and none of a guest.
 */
#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hv-interface/perf/perf.h"
#include "hv-interface/perf/stacks/capture.h"
#include "hv-interface/source.h"
#include "libutil/clock.h"

extern char __executable_start, etext; /* the linker's */

enum {
	DEPTH = 40,
	BURN_MS = 400,
	COPY_BYTES = 16384,
	SETTLE_NS = 2000000,		/* younger records wait for the next drain */
	PC = VMOP_PERF_N_USER_REGS - 1, /* the last register in DWARF's order, on both machines */
};

/* The address to which each level of the recursion returns. In memory shared with the child. */
static uint64_t *return_address;

static uint64_t cpu_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Use time in user mode and in the kernel. */
static __attribute__((noinline)) void burn(void)
{
	static char buffer[1 << 18];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	while (cpu_ms() < BURN_MS) {
		for (volatile unsigned i = 0; i < 100000; i++)
			;
		for (unsigned i = 0; i < 10; i++) {
			if (read(fd, buffer, sizeof(buffer)) < 0)
				_exit(1);
		}
	}
	close(fd);
}

static __attribute__((noinline)) unsigned recurse(unsigned depth)
{
	if (depth == 0) {
		*return_address = (uint64_t)(uintptr_t)__builtin_return_address(0);
		burn();
		return 0;
	}
	unsigned below = recurse(depth - 1);
	__asm__ volatile("" : "+r"(below)); /* no tail call */
	return below + 1;
}

static pid_t recursing_child(void)
{
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(recurse(DEPTH) == DEPTH ? 0 : 1);
	return child;
}

struct seen {
	pid_t pid;
	uint64_t samples, user, kernel, in_program, whole;
	uint64_t guest, guest_with_stack;
	uint64_t without_chain; /* of the kernel's samples */
};

/* Return how often the copy has the return address of the recursion. */
static unsigned levels(const struct vmop_stack_capture *stack)
{
	unsigned n = 0;
	for (size_t i = 0; i + 8 <= stack->user_stack_bytes; i += 8) {
		uint64_t word;
		memcpy(&word, stack->user_stack + i, sizeof(word));
		n += word == *return_address;
	}
	return n;
}

static void look_at_kernel(const struct vmop_sample *sample, const struct vmop_stack_capture *stack,
			   struct seen *seen)
{
	for (size_t i = 0; i < stack->n_kernel_frames; i++)
		assert_true(stack->kernel_frames[i] >> 63);
	if (!(sample->flags & VMOP_SAMPLE_KERNEL))
		return;
	seen->kernel++;
	seen->without_chain += !stack->n_kernel_frames;
	assert_true(!stack->n_kernel_frames || stack->kernel_frames[0] == sample->ip);
}

static void look(void *arg, const struct vmop_record *record,
		 const struct vmop_stack_capture *stack)
{
	struct seen *seen = arg;
	const struct vmop_sample *sample = &record->sample;
	if (record->type != VMOP_RECORD_SAMPLE) {
		assert_null(stack);
		return;
	}
	if (sample->pid != (uint32_t)seen->pid)
		return;
	if (sample->flags & VMOP_SAMPLE_GUEST) {
		seen->guest++;
		seen->guest_with_stack += stack != NULL;
		return;
	}
	seen->samples++;
	assert_non_null(stack);
	look_at_kernel(sample, stack, seen);
	if (!stack->user_regs)
		return;
	assert_false(stack->is_compat);
	assert_true(stack->user_stack_bytes <= stack->user_stack_asked_bytes);
	if (sample->flags & VMOP_SAMPLE_USER) {
		assert_true(stack->user_regs[PC] == sample->ip);
		seen->user++;
	}
	seen->in_program += stack->user_regs[PC] >= (uint64_t)(uintptr_t)&__executable_start &&
			    stack->user_regs[PC] < (uint64_t)(uintptr_t)&etext;
	seen->whole += levels(stack) == DEPTH;
}

static struct vmop_source *open_source(enum vmop_stack_mode mode)
{
	struct vmop_event_request request;
	struct vmop_source *source;
	assert_null(vmop_event_request_parse("cpu-clock:1000Hz", &request));
	const struct vmop_source_setup setup = {
		.events = &request,
		.n_events = 1,
		.stacks = {.mode = mode,
			   .user_stack_bytes = COPY_BYTES,
			   .max_frames = VMOP_STACK_FRAMES_MAX},
	};
	struct vmop_error *err = vmop_source_open(&vmop_source_perf_ops, &setup, &source);
	vmop_event_request_deinit(&request);
	if (err) {
		printf("skipped: %s\n", err->message);
		exit(77);
	}
	const char *note;
	if (vmop_source_stacks(source, &note)->mode != mode) {
		printf("skipped: %s\n", note);
		exit(77);
	}
	return source;
}

/* Sample the process until it ends. */
static struct seen sample(struct vmop_source *source, pid_t pid)
{
	struct seen seen = {.pid = pid};
	const struct vmop_sink sink = {look, &seen};
	struct vmop_source_stats stats;
	int status;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		struct pollfd ready = {.fd = vmop_source_poll_fd(source), .events = POLLIN};
		poll(&ready, 1, 100);
		assert_null(vmop_source_drain(source, vmop_clock_ns(CLOCK_MONOTONIC) - SETTLE_NS,
					      &sink, NULL));
	}
	assert_null(vmop_source_stop(source));
	assert_null(vmop_source_drain(source, UINT64_MAX, &sink, NULL));
	vmop_source_stats(source, &stats);
	assert_int_equal(stats.malformed_records, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		printf("skipped: no guest can run here\n");
		exit(77);
	}
	return seen;
}

static void a_recursion_is_captured(void **state)
{
	(void)state;
	struct vmop_source *source = open_source(VMOP_STACKS_CFI);
	assert_null(vmop_source_start(source));
	struct seen seen = sample(source, recursing_child());
	vmop_source_close(source);
	assert_true(seen.user > 10 && seen.kernel > 10);
	assert_int_equal(seen.without_chain, 0);
	assert_true(seen.in_program > 10);
	assert_in_range(seen.whole, 10, seen.samples);
#ifndef __SANITIZE_ADDRESS__ /* with it, the child is long outside of the recursion, too */
	/* All but those from before and after the recursion. */
	assert_in_range(seen.whole, seen.samples / 10 * 9, seen.samples);
#endif
}

/* The frames of a chain; the test's program may have no frame pointers. */
struct chains {
	pid_t pid;
	uint64_t user, kernel;
};

static void look_at_chain(void *arg, const struct vmop_record *record,
			  const struct vmop_stack_capture *stack)
{
	struct chains *chains = arg;
	const struct vmop_sample *sample = &record->sample;
	if (record->type != VMOP_RECORD_SAMPLE || sample->pid != (uint32_t)chains->pid)
		return;
	assert_non_null(stack);
	assert_null(stack->user_regs);
	assert_null(stack->user_stack);
	if (sample->flags & VMOP_SAMPLE_USER && stack->n_user_frames) {
		assert_true(stack->user_frames[0] == sample->ip);
		chains->user++;
	}
	if (sample->flags & VMOP_SAMPLE_KERNEL) {
		assert_true(stack->n_kernel_frames > 0);
		chains->kernel++;
	}
}

static struct chains sample_chains(enum vmop_stack_mode mode)
{
	struct vmop_source *source = open_source(mode);
	assert_null(vmop_source_start(source));
	struct chains chains = {.pid = recursing_child()};
	const struct vmop_sink sink = {look_at_chain, &chains};
	assert_int_equal(waitpid(chains.pid, NULL, 0), chains.pid);
	assert_null(vmop_source_stop(source));
	assert_null(vmop_source_drain(source, UINT64_MAX, &sink, NULL));
	vmop_source_close(source);
	return chains;
}

static void chains_have_the_parts_that_were_asked_for(void **state)
{
	(void)state;
	struct chains by_fp = sample_chains(VMOP_STACKS_FP);
	assert_true(by_fp.user > 10 && by_fp.kernel > 10);
	struct chains of_kernel = sample_chains(VMOP_STACKS_KERNEL);
	assert_int_equal(of_kernel.user, 0);
	assert_true(of_kernel.kernel > 10);
}

static pid_t guest(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(null, 1);
		execl(VMOP_TEST_BUILDDIR "/tests/fixtures/kvm-guest", "kvm-guest", "--seconds", "1",
		      "--spin-vmm", (char *)NULL);
		_exit(1);
	}
	close(null);
	return child;
}

static void a_guests_samples_carry_no_stack(void **state)
{
	(void)state;
	struct vmop_source *source = open_source(VMOP_STACKS_CFI);
	assert_null(vmop_source_start(source));
	struct seen seen = sample(source, guest());
	vmop_source_close(source);
	assert_true(seen.guest > 10); /* from the vCPU */
	assert_int_equal(seen.guest_with_stack, 0);
	assert_true(seen.user > 10); /* from the VMM's thread */
				     /*
				      * arm64's Linux takes the host's work while a vCPU is loaded for the guest's, which has no
				      * chain; the source knows better (perf/guest-exit.h).
				      */
#ifdef __aarch64__
	assert_in_range(seen.without_chain, 0, seen.samples / 10);
#else
	assert_int_equal(seen.without_chain, 0);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recursion_is_captured),
		cmocka_unit_test(chains_have_the_parts_that_were_asked_for),
		cmocka_unit_test(a_guests_samples_carry_no_stack),
	};
	return_address = mmap(NULL, sizeof(*return_address), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (return_address == MAP_FAILED)
		return 1;
	if (!VMOP_PERF_N_USER_REGS) {
		printf("skipped: user stacks are not copied on this machine\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
