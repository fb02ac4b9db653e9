// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: sample-live PID QMP COUNT
 *
 * Sample a guest that QEMU emulates (tests/rigs/capture-guest --live), with the guest's one vCPU
 * stopped meanwhile: its registers by QMP, and the windows of its stacks from its memory, as the
 * BPF program captures them. Unwinds each sample as the daemon does; those in the kernel a second
 * time with the stack pointer withheld. Prints:
 *
 * - kernel: samples, complete ones, ENDS, samples on other stacks than the task's, samples in a
 *   switch of tasks, which do not count: the stack is already the next task's (sample-unwinder.c);
 * - user: samples, complete ones, ENDS;
 * - withheld: samples on tasks' stacks, those right, those certain, those not found; samples on
 *   other stacks, those right, those wrong; the time of each.
 *
 * A withheld stack has two windows: the task's whole stack, and the top of the stack of interrupts.
 *
 * ENDS: the number of stacks that end for each reason of vmop/stack.h. Exit status 1: fewer kernel
 * stacks than 99.7 % are complete, or fewer than 95 % of those on tasks' stacks are right without
 * the stack pointer; 2: failure. tests/rigs/introspect-run runs it; it is not a test on its own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/guest/stacks/orc-tables.h"
#include "daemon/guest/stacks/sample-unwinder.h"
#include "libutil/clock.h"
#include "tests/unit/daemon/guest/stacks/tables-at-once.h"

enum {
	WINDOW_BYTES = 4096,
	USER_WINDOW_BYTES = 16384,
	STACK_BYTES = 16384,
	PAGE_BYTES = 4096,
	PT_REGS_BYTES = 168,
	MAX_ROUNDS = 10,
	SNAPSHOT_EVERY = 200, /* samples */
	SP = 7,
	PC = 16,
};

static void die(const char *what)
{
	fprintf(stderr, "sample-live: %s\n", what);
	exit(2);
}

static void check(struct vmop_error *err)
{
	if (err)
		die(err->message);
}

/* ---- QMP -------------------------------------------------------------------- */

struct monitor {
	FILE *in;
	int fd;
	char *line;
	size_t size;
};

/* Run a command; its answer is in monitor->line. */
static void command(struct monitor *monitor, const char *text)
{
	if (text && write(monitor->fd, text, strlen(text)) != (ssize_t)strlen(text))
		die("QMP does not take a command");
	do
		if (getline(&monitor->line, &monitor->size, monitor->in) < 0)
			die("QMP has ended");
	while (text && strncmp(monitor->line, "{\"return\"", 9) != 0);
}

static void connect_monitor(struct monitor *monitor, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	monitor->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(monitor->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		die("no QMP");
	monitor->in = fdopen(monitor->fd, "r");
	command(monitor, NULL); /* the greeting */
	command(monitor, "{\"execute\": \"qmp_capabilities\"}\n");
}

static uint64_t value_of(const struct monitor *monitor, const char *name)
{
	const char *at = strstr(monitor->line, name);
	if (!at)
		die(name);
	return strtoull(at + strlen(name), NULL, 16);
}

/* Read the registers in DWARF's order, and return whether the vCPU is in user code. */
static bool read_registers(struct monitor *monitor, uint64_t *regs)
{
	static const char *const names[] = {
		"RAX=", "RDX=", "RCX=", "RBX=", "RSI=", "RDI=", "RBP=", "RSP=", "R8 =",
		"R9 =", "R10=", "R11=", "R12=", "R13=", "R14=", "R15=", "RIP="};
	command(monitor, "{\"execute\": \"human-monitor-command\", \"arguments\": "
			 "{\"command-line\": \"info registers\"}}\n");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		regs[i] = value_of(monitor, names[i]);
	return value_of(monitor, "CPL=") == 3;
}

/* ---- a sample --------------------------------------------------------------- */

struct live {
	struct vmop_guest *guest;
	struct vmop_guest_numbers numbers;
	struct vmop_guest_sample_unwinder *unwinder;
	struct vmop_guest_view view;
	struct vmop_guest_context *context; /* with room for the largest windows */
	size_t n_kernel, n_kernel_complete, n_other, n_switching, n_user, n_user_complete;
	size_t kernel_ends[VMOP_N_STACK_ENDS], user_ends[VMOP_N_STACK_ENDS];
	size_t n_withheld, n_right, n_certain, n_certain_right, n_none;
	size_t n_other_withheld, n_other_right, n_other_wrong;
	uint64_t irq_stack_end;
	uint64_t withheld_ns;
};

/* Append a window of at most max_bytes from address on, as far as its pages are there. */
static void add_window(struct live *live, enum vmop_guest_window_kind kind, uint64_t pgd_gpa,
		       uint64_t address, uint32_t max_bytes)
{
	struct vmop_guest_context *context = live->context;
	uint8_t *to = (uint8_t *)context + vmop_guest_window_offset(context, kind);
	uint32_t n = 0;
	while (n < max_bytes) {
		uint32_t len = PAGE_BYTES - (uint32_t)((address + n) % PAGE_BYTES);
		len = len < max_bytes - n ? len : max_bytes - n;
		if (pgd_gpa ? !vmop_guest_read_user(live->guest, pgd_gpa, address + n, to + n, len)
			    : !vmop_guest_read_kernel(live->guest, address + n, to + n, len))
			break;
		n += len;
	}
	context->window_address[kind] = address;
	context->window_bytes[kind] = n & ~7u;
}

static uint64_t read_u64(struct live *live, uint64_t address)
{
	uint64_t value = 0;
	vmop_guest_read_kernel(live->guest, address, &value, sizeof(value));
	return value;
}

/* Set user_regs to those where the task's stack begins (struct pt_regs). */
static void read_user_regs(struct live *live, uint64_t stack_end)
{
	/* Indexes of rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip. */
	static const uint8_t at[] = {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16};
	uint64_t saved[PT_REGS_BYTES / 8];
	uint64_t address = stack_end - live->numbers.entry_regs_end - sizeof(saved);
	if (!vmop_guest_read_kernel(live->guest, address, saved, sizeof(saved)))
		return;
	for (size_t i = 0; i < sizeof(at); i++)
		live->context->user_regs[i] = saved[at[i]];
	live->context->parts |= VMOP_GUEST_HAS_USER_REGS;
}

static void unwind(struct live *live, const struct vmop_guest_process *process,
		   struct vmop_guest_callers *ret)
{
	int rounds = 0;
	do
		vmop_guest_sample_unwinder_unwind(live->unwinder, &live->view, process,
						  live->context, ret);
	while (ret->end == VMOP_STACK_TABLE_LATE && rounds++ < MAX_ROUNDS);
}

static size_t n_kernel_frames(const struct vmop_guest_callers *callers)
{
	size_t n = 0;
	while (n < callers->n && callers->frames[n] >> 63)
		n++;
	return n;
}

/* Unwind again without the stack pointer, with the whole stack of the task as the window. */
static void withhold(struct live *live, const struct vmop_guest_process *process,
		     uint64_t stack_start, bool is_on_task, const struct vmop_guest_callers *truth)
{
	struct vmop_guest_context *context = live->context;
	struct vmop_guest_callers callers;
	uint64_t sp = context->regs[SP];
	context->parts &= ~(uint32_t)VMOP_GUEST_HAS_SP;
	context->regs[SP] = 0;
	memset(context->window_bytes, 0, sizeof(context->window_bytes));
	add_window(live, VMOP_GUEST_KERNEL_WINDOW, 0, stack_start, STACK_BYTES);
	add_window(live, VMOP_GUEST_TASK_WINDOW, 0, live->irq_stack_end - WINDOW_BYTES,
		   WINDOW_BYTES);
	uint64_t begun = vmop_clock_ns(CLOCK_MONOTONIC);
	vmop_guest_sample_unwinder_unwind(live->unwinder, &live->view, process, context, &callers);
	live->withheld_ns += vmop_clock_ns(CLOCK_MONOTONIC) - begun;
	size_t n = n_kernel_frames(truth);
	bool is_found = callers.end == VMOP_STACK_COMPLETE || n_kernel_frames(&callers) ||
			callers.end == VMOP_STACK_NOT_RECORDED;
	bool is_right = n_kernel_frames(&callers) == n &&
			memcmp(callers.frames, truth->frames, n * sizeof(callers.frames[0])) == 0;
	if (!is_on_task) {
		live->n_other_withheld++;
		live->n_other_right += is_right;
		live->n_other_wrong += !is_right && n_kernel_frames(&callers);
		return;
	}
	live->n_withheld++;
	live->n_right += is_right;
	live->n_none += !is_found || (!is_right && !n_kernel_frames(&callers));
	live->n_certain += !callers.is_likely;
	live->n_certain_right += !callers.is_likely && is_right;
	if (is_right)
		return;
	printf("%" PRIx64 " sp %" PRIx64 ":", context->regs[PC], sp);
	for (size_t i = 0; i < n_kernel_frames(&callers); i++)
		printf(" %" PRIx64, vmop_guest_frame_address(callers.frames[i]));
	printf(" and with sp:");
	for (size_t i = 0; i < n; i++)
		printf(" %" PRIx64, vmop_guest_frame_address(truth->frames[i]));
	printf("\n");
}

static void sample_user(struct live *live, const struct vmop_guest_process *process)
{
	struct vmop_guest_callers callers;
	add_window(live, VMOP_GUEST_USER_WINDOW, process->pgd_gpa, live->context->regs[SP],
		   USER_WINDOW_BYTES);
	unwind(live, process, &callers);
	live->n_user++;
	live->n_user_complete += callers.end == VMOP_STACK_COMPLETE;
	live->user_ends[callers.end]++;
}

static void sample_kernel(struct live *live, const struct vmop_guest_process *process,
			  uint64_t task)
{
	struct vmop_guest_context *context = live->context;
	struct vmop_guest_callers callers;
	uint64_t stack_start = read_u64(live, task + live->numbers.task_stack);
	uint64_t stack_end = stack_start + live->numbers.stack_bytes;
	bool is_on_task = context->regs[SP] - stack_start < live->numbers.stack_bytes;
	uint64_t left = stack_end - context->regs[SP];
	add_window(live, VMOP_GUEST_KERNEL_WINDOW, 0, context->regs[SP],
		   is_on_task && left < WINDOW_BYTES ? (uint32_t)left : WINDOW_BYTES);
	if (!is_on_task)
		add_window(live, VMOP_GUEST_TASK_WINDOW, 0, stack_end - WINDOW_BYTES, WINDOW_BYTES);
	read_user_regs(live, stack_end);
	if (process && process->pgd_gpa)
		add_window(live, VMOP_GUEST_USER_WINDOW, process->pgd_gpa, context->user_regs[SP],
			   USER_WINDOW_BYTES);
	unwind(live, process, &callers);
	if (!is_on_task && callers.end == VMOP_STACK_NOT_RECORDED) {
		live->n_switching++;
		return;
	}
	/* The user part does not count here: it may end anywhere. */
	bool is_complete =
		callers.end == VMOP_STACK_COMPLETE || n_kernel_frames(&callers) < callers.n;
	live->n_kernel++;
	live->n_kernel_complete += is_complete;
	live->n_other += !is_on_task;
	live->kernel_ends[is_complete ? VMOP_STACK_COMPLETE : callers.end]++;
	if (is_complete && process && process->pgd_gpa) {
		live->n_user++;
		live->n_user_complete += callers.end == VMOP_STACK_COMPLETE;
		live->user_ends[callers.end]++;
	}
	if (!is_complete)
		printf("%" PRIx64 ": ends for reason %d after %zu frames\n", context->regs[PC],
		       callers.end, callers.n);
	else
		withhold(live, process, stack_start, is_on_task, &callers);
}

static void take_sample(struct live *live, struct monitor *monitor)
{
	struct vmop_guest_context *context = live->context;
	struct vmop_guest_current current;
	size_t n;
	command(monitor, "{\"execute\": \"stop\"}\n");
	*context = (struct vmop_guest_context){.parts = VMOP_GUEST_HAS_REGS | VMOP_GUEST_HAS_SP};
	bool is_user = read_registers(monitor, context->regs);
	check(vmop_guest_current_tasks(live->guest, &current, 1, &n));
	const struct vmop_guest_process *process =
		n ? vmop_guest_snapshot_by_pid(live->view.tasks->snapshot, current.pid) : NULL;
	if (process && process->pgd_gpa && process->pgd_gpa != current.pgd_gpa)
		process = NULL; /* another one has its pid */
	if (is_user && process) {
		context->parts |= VMOP_GUEST_IS_USER;
		sample_user(live, process);
	} else if (n && !is_user && (process || !current.pgd_gpa)) {
		sample_kernel(live, process, current.task);
	}
	command(monitor, "{\"execute\": \"cont\"}\n");
}

/* ---- all ---------------------------------------------------------------------- */

static void take_snapshot(struct live *live)
{
	struct vmop_guest_snapshot *snapshot;
	vmop_guest_tasks_unref(live->view.tasks);
	check(vmop_guest_snapshot_processes(live->guest, 0, &snapshot));
	live->view.tasks = vmop_guest_tasks_create(snapshot, 1);
}

/* Find the end of CPU 0's stack for interrupts, as the BPF program does. */
static void find_irq_stack(struct live *live)
{
	uint64_t per_cpu = read_u64(live, live->numbers.per_cpu_offsets);
	uint64_t pointer = read_u64(live, per_cpu + live->numbers.irq_stack_in_per_cpu);
	if (!pointer || !live->numbers.irq_stack_in_per_cpu)
		die("no stack for interrupts");
	live->irq_stack_end = (pointer + 8) & ~(uint64_t)(PAGE_BYTES - 1);
}

static double percent(size_t n, size_t of)
{
	return of ? 100 * (double)n / (double)of : 100;
}

static void print_ends(const size_t *ends)
{
	for (size_t i = 0; i < VMOP_N_STACK_ENDS; i++)
		if (ends[i])
			printf(", %zu for %zu", ends[i], i);
}

static void print_all(const struct live *live)
{
	printf("kernel: %zu samples, %zu complete (%.2f %%)", live->n_kernel,
	       live->n_kernel_complete, percent(live->n_kernel_complete, live->n_kernel));
	print_ends(live->kernel_ends);
	printf("; %zu on other stacks; %zu in a switch\nuser: %zu samples, %zu complete (%.2f %%)",
	       live->n_other, live->n_switching, live->n_user, live->n_user_complete,
	       percent(live->n_user_complete, live->n_user));
	print_ends(live->user_ends);
	size_t n = live->n_withheld + live->n_other_withheld;
	printf("\nwithheld: %zu on tasks' stacks, %zu right (%.2f %%), %zu of %zu certain, %zu not "
	       "found; %zu on other stacks, %zu right, %zu wrong; %.0f us each\n",
	       live->n_withheld, live->n_right, percent(live->n_right, live->n_withheld),
	       live->n_certain_right, live->n_certain, live->n_none, live->n_other_withheld,
	       live->n_other_right, live->n_other_wrong,
	       n ? (double)live->withheld_ns / 1e3 / (double)n : 0);
}

int main(int argc, char **argv)
{
	struct live live = {0};
	struct monitor monitor = {0};
	if (argc != 4)
		return 2;
	check(vmop_guest_open_pid(atoi(argv[1]), NULL, &live.guest));
	check(vmop_guest_find_kernel(live.guest));
	check(vmop_guest_sample_numbers(live.guest, &live.numbers));
	find_irq_stack(&live);
	tables_at_once_guest = live.guest;
	check(vmop_guest_sample_unwinder_create(NULL, NULL, (struct vmop_domain_id){0},
						&live.unwinder));
	live.view.orc = vmop_guest_orc_tables_publish(live.guest, 1, true, NULL);
	live.context = malloc(sizeof(*live.context) + 3 * STACK_BYTES);
	if (!live.view.orc || !live.context || live.numbers.stack_bytes != STACK_BYTES)
		die("no tables");
	connect_monitor(&monitor, argv[2]);
	for (long i = 0, count = atol(argv[3]); i < count; i++) {
		if (i % SNAPSHOT_EVERY == 0)
			take_snapshot(&live);
		take_sample(&live, &monitor);
		usleep(1000 + (useconds_t)(i * 7919 % 3000));
	}
	print_all(&live);
	free(live.context);
	vmop_guest_sample_unwinder_destroy(live.unwinder);
	vmop_guest_orc_tables_unref(live.view.orc);
	vmop_guest_tasks_unref(live.view.tasks);
	vmop_guest_close(live.guest);
	fclose(monitor.in);
	free(monitor.line);
	return percent(live.n_kernel_complete, live.n_kernel) < 99.7 ||
	       percent(live.n_right, live.n_withheld) < 95;
}
