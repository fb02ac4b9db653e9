// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: compare-stacks [-p PID | -x DOMID] DIRECTORY
 *
 * Compare the stacks of a captured guest's waiting threads (tests/rigs/capture-guest) with the
 * guest's own /proc/PID/task/TID/stack in DIRECTORY/truth. Threads that were switched since they
 * reported their stack are only counted. Prints every difference, and at the end:
 *
 *	THREADS threads, COMPLETE complete; EQUAL of COMPARED equal, CHANGED changed; CPU_MS ms
 *
 * Exit status 1: there are differences; 2: failure. tests/rigs/introspect-run runs it; it is not a
 * test on its own.
 *
 *	-p PID	of the VMM: read the guest while it runs
 *	-x DOMID	of Xen's domain: the same
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/guest/stacks/waiting-stacks.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"

enum { TEXT_BYTES = 1 << 16 };

struct counts {
	struct vmop_guest *guest;
	const char *root;
	uint64_t scheduler_start, scheduler_end; /* text that /proc leaves out of a stack */
	size_t n_waiting, n_complete, n_compared, n_equal, n_changed;
};

static void die(struct vmop_error *err)
{
	fprintf(stderr, "compare-stacks: %s\n", err->message);
	exit(2);
}

/* Read a file of the truth. Return NULL if the guest did not report it. */
static char *read_truth(const char *root, const struct vmop_guest_thread *thread, const char *name)
{
	char path[512], *text = NULL;
	snprintf(path, sizeof(path), "%s/truth/proc/%u/%s", root, thread->pid, name);
	struct vmop_error *err = vmop_io_read_file(path, TEXT_BYTES, &text, NULL);
	vmop_error_destroy(err);
	return err ? NULL : text;
}

/* Return the number of switches in /proc/PID/status, or UINT64_MAX. */
static uint64_t switches_in(const char *status)
{
	static const char *const names[] = {"\nvoluntary_ctxt_switches:",
					    "\nnonvoluntary_ctxt_switches:"};
	uint64_t sum = 0;
	for (size_t i = 0; i < 2; i++) {
		const char *at = status ? strstr(status, names[i]) : NULL;
		if (!at)
			return UINT64_MAX;
		sum += strtoull(at + strlen(names[i]), NULL, 10);
	}
	return sum;
}

/* Write the stack as /proc shows it, without sizes of functions: "FUNCTION+0xOFFSET" lines. */
static void format_stack(const struct counts *counts, const struct vmop_waiting_thread *waiting,
			 FILE *out)
{
	bool is_top = true;
	for (size_t i = 0; i < waiting->unwound.n_frames; i++) {
		uint64_t address = waiting->frames[i].address;
		struct vmop_guest_symbol symbol;
		is_top = is_top && address >= counts->scheduler_start &&
			 address < counts->scheduler_end;
		if (is_top)
			continue;
		/* /proc looks up the return address itself. */
		if (vmop_guest_symbol_at(counts->guest, address, &symbol))
			fprintf(out, "%s+0x%" PRIx64 "\n", symbol.name, address - symbol.address);
		else
			fprintf(out, "0x%" PRIx64 "\n", address);
	}
}

/* Keep "FUNCTION+0xOFFSET" of each line "[<0>] FUNCTION+0xOFFSET/0xSIZE [MODULE]". */
static void format_truth(char *text, FILE *out)
{
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n"));) {
		char *name = strchr(line, ' ');
		if (!name)
			continue;
		name++;
		name[strcspn(name, "/ ")] = '\0';
		fprintf(out, "%s\n", name);
	}
}

static void compare(struct counts *counts, const struct vmop_waiting_thread *waiting, char *truth)
{
	_cleanup_free_ char *ours = NULL, *theirs = NULL;
	size_t size;
	FILE *out = open_memstream(&ours, &size);
	format_stack(counts, waiting, out);
	fclose(out);
	out = open_memstream(&theirs, &size);
	format_truth(truth, out);
	fclose(out);
	counts->n_compared++;
	if (strcmp(ours, theirs) == 0)
		counts->n_equal++;
	else
		printf("%u %s %c: vmop reads\n%sand the guest reports\n%s", waiting->thread->tid,
		       waiting->thread->comm, waiting->thread->state, ours, theirs);
}

static bool take(const struct vmop_waiting_thread *waiting, void *arg)
{
	struct counts *counts = arg;
	const struct vmop_guest_thread *thread = waiting->thread;
	char name[64];
	if (!waiting->unwound.n_frames)
		return true;
	counts->n_waiting++;
	counts->n_complete += waiting->unwound.end == VMOP_STACK_COMPLETE;
	if (waiting->unwound.end != VMOP_STACK_COMPLETE)
		printf("%u %s: its stack ends for reason %d\n", thread->tid, thread->comm,
		       waiting->unwound.end);
	snprintf(name, sizeof(name), "task/%u.stack", thread->tid);
	_cleanup_free_ char *truth = read_truth(counts->root, thread, name);
	_cleanup_free_ char *status = read_truth(counts->root, thread, "status");
	if (!truth || !*truth)
		return true;
	if (thread->tid != thread->pid || switches_in(status) != thread->switches)
		counts->n_changed++;
	else
		compare(counts, waiting, truth);
	return true;
}

static bool skip(const struct vmop_waiting_thread *waiting, void *arg)
{
	(void)waiting;
	(void)arg;
	return true;
}

int main(int argc, char **argv)
{
	struct counts counts = {0};
	struct vmop_waiting_cost cost;
	struct vmop_error *err;
	char path[512];
	int pid = 0, domid = 0, option;
	while ((option = getopt(argc, argv, "p:x:")) != -1) {
		if (option == 'p')
			pid = atoi(optarg);
		else if (option == 'x')
			domid = atoi(optarg);
		else
			return 2;
	}
	if (optind + 1 != argc)
		return 2;
	counts.root = argv[optind];
	snprintf(path, sizeof(path), "%s/ram", counts.root);
	err = domid ? vmop_guest_open_xen((uint32_t)domid, NULL, &counts.guest)
	      : pid ? vmop_guest_open_pid(pid, NULL, &counts.guest)
		    : vmop_guest_open_file(path, NULL, &counts.guest);
	if (!err)
		err = vmop_guest_find_kernel(counts.guest);
	if (err)
		die(err);
	vmop_guest_symbol_address(counts.guest, "__sched_text_start", &counts.scheduler_start);
	vmop_guest_symbol_address(counts.guest, "__sched_text_end", &counts.scheduler_end);
	err = vmop_waiting_stacks_each(counts.guest, take, &counts, &cost);
	if (!err) /* the cost without the comparison */
		err = vmop_waiting_stacks_each(counts.guest, skip, NULL, &cost);
	if (err)
		die(err);
	vmop_guest_close(counts.guest);
	printf("%zu threads, %zu complete; %zu of %zu equal, %zu changed; %.1f ms\n",
	       counts.n_waiting, counts.n_complete, counts.n_equal, counts.n_compared,
	       counts.n_changed, (double)cost.threads_cpu_ns / 1e6);

	return counts.n_complete < counts.n_waiting || counts.n_equal < counts.n_compared ||
	       !counts.n_compared;
}
