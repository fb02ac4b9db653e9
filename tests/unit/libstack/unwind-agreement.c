// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind-agreement.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "processes.h"
#include "reference.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

enum { WARM_ROUNDS = 8 };

static const size_t sizes_bytes[AGREEMENT_SIZES] = {8 << 10, 16 << 10, 32 << 10};

/* A stack by both unwinders. */
struct pair {
	const struct process *process;
	struct vmop_stack_frame frames[AGREEMENT_FRAMES];
	struct vmop_unwound unwound;
	uint64_t others[AGREEMENT_FRAMES];
	size_t n_others;
};

static uint64_t cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Return the CPU time that reading the clock takes. */
static uint64_t clock_ns(void)
{
	enum { N = 1000 };
	uint64_t begun_ns = cpu_ns();
	for (unsigned i = 0; i < N; i++)
		cpu_ns();
	return (cpu_ns() - begun_ns) / N;
}

static void print_address(const struct process *process, uint64_t address, FILE *out)
{
	const struct mapping *mapping = process_find(process, address);
	fprintf(out, "%s+%#" PRIx64, mapping && mapping->image ? mapping->image->path : "?",
		mapping ? address - mapping->bias : address);
}

static void print_pair(const struct pair *pair, size_t n_common, const char *what, FILE *out)
{
	fprintf(out, "%s after %zu of %zu and %zu frames, end %d: ", what, n_common,
		pair->unwound.n_frames, pair->n_others, pair->unwound.end);
	for (size_t i = n_common > 2 ? n_common - 2 : 0; i < n_common; i++) {
		print_address(pair->process, pair->frames[i].address, out);
		fputs(" <- ", out);
	}
	if (n_common < pair->unwound.n_frames)
		print_address(pair->process, pair->frames[n_common].address, out);
	fputs(" | ", out);
	if (n_common < pair->n_others)
		print_address(pair->process, pair->others[n_common], out);
	fputc('\n', out);
}

static void compare(struct agreement *agreement, const struct pair *pair, FILE *differences)
{
	size_t n = pair->unwound.n_frames, n_others = pair->n_others, i = 0;
	const char *what = NULL;
	while (i < n && i < n_others && pair->frames[i].address == pair->others[i])
		i++;
	if (pair->unwound.end == VMOP_STACK_TORN || pair->unwound.end == VMOP_STACK_NO_CFI)
		what = "broken";
	if (i == n && i == n_others)
		agreement->n_same++;
	else if (i == n_others)
		agreement->n_longer++, what = "longer";
	else if (i == n)
		agreement->n_shorter++, what = "shorter";
	else
		agreement->n_different++, what = "different";
	if (what && differences)
		print_pair(pair, i, what, differences);
}

static void unwind(struct vmop_unwinder *unwinder, struct process *process,
		   const struct sampled *record, size_t max_bytes, struct pair *pair)
{
	const struct vmop_code_space space = {process_find_code, process};
	struct vmop_stack_capture capture = {
		.user_regs = record->regs,
		.user_stack = record->stack,
		.user_stack_bytes = record->stack_bytes,
		.user_stack_asked_bytes = record->asked_bytes,
		.is_compat = record->is_compat,
	};
	if (capture.user_stack_bytes > max_bytes)
		capture.user_stack_bytes = max_bytes;
	if (capture.user_stack_asked_bytes > max_bytes)
		capture.user_stack_asked_bytes = max_bytes;
	vmop_unwind(unwinder, &space, &capture, pair->frames, AGREEMENT_FRAMES, &pair->unwound);
	pair->process = process;
}

static void count(struct agreement *agreement, struct vmop_unwinder *unwinder,
		  struct process *process, const struct sampled *record, struct pair *pair)
{
	uint64_t begun_ns = cpu_ns();
	unwind(unwinder, process, record, SIZE_MAX, pair);
	uint64_t first_ns = cpu_ns() - begun_ns;
	for (size_t i = 0; i < AGREEMENT_SIZES; i++) {
		unwind(unwinder, process, record, sizes_bytes[i], pair);
		agreement->n_complete[i] += pair->unwound.end == VMOP_STACK_COMPLETE;
	}
	begun_ns = cpu_ns();
	for (unsigned i = 0; i < WARM_ROUNDS; i++)
		unwind(unwinder, process, record, SIZE_MAX, pair);
	agreement->warm_ns += (cpu_ns() - begun_ns) / WARM_ROUNDS;
	agreement->ns += first_ns;
	agreement->n_stacks++;
	agreement->n_frames += pair->unwound.n_frames;
	agreement->n_by_frame_pointer += pair->unwound.n_by_frame_pointer;
	agreement->n_by_expression += pair->unwound.n_by_expression;
	agreement->ends[pair->unwound.end]++;
}

bool agreement_add(struct agreement *agreement, const struct recording *recording,
		   FILE *differences)
{
	struct processes processes = {0};
	struct reference *reference = reference_create();
	struct vmop_unwinder *unwinder;
	struct pair pair;
	uint64_t overhead_ns = clock_ns(), n_before = agreement->n_stacks;
	if (vmop_unwinder_create(MACHINE, &unwinder))
		abort();
	for (size_t i = 0; i < recording->n_records; i++) {
		const struct sampled *record = &recording->records[i];
		if (record->kind != SAMPLED_STACK) {
			processes_apply(&processes, record);
			continue;
		}
		struct process *process = processes_get(&processes, record->pid);
		if (!process->n_mappings)
			continue; /* before the program began */
		count(agreement, unwinder, process, record, &pair);
		if (!reference)
			continue;
		pair.n_others =
			reference_unwind(reference, process, record, pair.others, AGREEMENT_FRAMES);
		compare(agreement, &pair, differences);
	}
	agreement->ns -= overhead_ns * (agreement->n_stacks - n_before);
	vmop_unwinder_destroy(unwinder);
	processes_free(&processes);
	if (reference)
		reference_destroy(reference);
	return reference != NULL;
}
