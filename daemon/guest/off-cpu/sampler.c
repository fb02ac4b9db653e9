// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/off-cpu/sampler.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "daemon/guest/off-cpu/scheduler-code.h"
#include "daemon/guest/stacks/user-stacks.h"
#include "daemon/guest/stacks/waiting-stacks.h"
#include "libutil/array.h"
#include "libutil/clock.h"

/* CPU time that is saved up: enough to read the files of the first processes. */
#define MAX_CREDIT_NS ((int64_t)(500 * VMOP_NS_PER_MS))

/* CPU time in which one round may begin to read files. */
#define FILES_NS (20 * VMOP_NS_PER_MS)

/* Limits on the tries for a stack that lacks a process or a file, and on the requests for a list.
 */
#define MAX_TRIES 20
#define MAX_LIST_TRIES 3

/* A thread that waited when it was last seen. */
struct thread {
	uint64_t task; /* its key */
	uint32_t pid, tid;
	uint64_t pgd_gpa; /* 0: a kernel thread */
	uint64_t switches;
	char state;
	uint8_t n_tries;
	bool is_complete; /* its stack need not be read again until it has run */
	uint64_t round;	  /* in which it was last seen */
	uint64_t *frames; /* as in struct vmop_blocked_thread */
	uint32_t n_frames, n_kernel;
	enum vmop_stack_end end;
	/* The batch that has it, at index, with the stack of that hash. */
	uint64_t batch, batch_hash;
	size_t index;
	UT_hash_handle hh;
};

/* A thread whose user stack is read after the walk over all threads. */
struct user_part {
	struct thread *thread;
	uint64_t regs[VMOP_USER_REGS];
};

struct vmop_blocked_sampler {
	struct vmop_guest *guest;
	struct vmop_off_cpu options;
	struct vmop_scheduler_code scheduler;
	struct vmop_user_stacks *users;
	struct thread *threads; /* uthash, by task */
	struct user_part *user_parts;
	size_t n_user_parts, user_parts_capacity;

	uint64_t period_ns, begun_ns; /* of the grid; begun_ns 0: no round yet */
	uint64_t next;		      /* the number of the next point of the grid */
	uint64_t due_ns, last_ns;
	int64_t credit_ns;
	uint64_t random;

	uint64_t round; /* number of the last one that read threads */
	uint64_t elapsed_ns;
	uint64_t switches; /* of all CPUs, before that round */
	bool has_switches, is_incomplete, wants_list, is_fresh;
	uint64_t batch; /* number of the present one */
	struct vmop_blocked_facts facts;
};

/* ---- creation --------------------------------------------------------------- */

static void remove_thread(struct vmop_blocked_sampler *sampler, struct thread *thread)
{
	HASH_DEL(sampler->threads, thread);
	free(thread->frames);
	free(thread);
}

void vmop_blocked_sampler_destroy(struct vmop_blocked_sampler *sampler)
{
	if (!sampler)
		return;
	struct thread *thread, *next;
	HASH_ITER (hh, sampler->threads, thread, next)
		remove_thread(sampler, thread);
	vmop_user_stacks_destroy(sampler->users);
	free(sampler->user_parts);
	free(sampler);
}

struct vmop_error *vmop_blocked_sampler_create(struct vmop_guest *guest,
					       const struct vmop_off_cpu *options,
					       struct vmop_blocked_sampler **ret)
{
	struct vmop_blocked_sampler *sampler = calloc(1, sizeof(*sampler));
	if (!sampler)
		return &vmop_error_no_memory;
	sampler->guest = guest;
	sampler->options = *options;
	sampler->period_ns = VMOP_NS_PER_S / options->hz;
	sampler->credit_ns = MAX_CREDIT_NS;
	struct vmop_error *err = vmop_user_stacks_create(guest, false, &sampler->users);
	if (err) {
		vmop_blocked_sampler_destroy(sampler);
		return err;
	}
	vmop_scheduler_code_find(guest, &sampler->scheduler);
	*ret = sampler;
	return NULL;
}

/* ---- one round: the threads --------------------------------------------------- */

static bool counts(const struct vmop_blocked_sampler *sampler, char state, bool is_kernel_thread)
{
	switch (state) {
	case 'D':
		return sampler->options.states & VMOP_OFF_CPU_UNINTERRUPTIBLE;
	case 'S':
		return sampler->options.states &
		       (is_kernel_thread ? VMOP_OFF_CPU_KERNEL_SLEEPING : VMOP_OFF_CPU_SLEEPING);
	case 'I':
		return sampler->options.states & VMOP_OFF_CPU_IDLE;
	case 'T':
	case 't':
		return sampler->options.states & VMOP_OFF_CPU_STOPPED;
	case 'R':
		return sampler->options.states & VMOP_OFF_CPU_READY;
	default:
		return false;
	}
}

static bool is_counted(const struct vmop_blocked_sampler *sampler, const struct thread *thread)
{
	return thread->round == sampler->round && thread->n_frames &&
	       counts(sampler, thread->state, !thread->pgd_gpa);
}

static struct thread *find(const struct vmop_blocked_sampler *sampler, uint64_t task)
{
	struct thread *thread;
	HASH_FIND(hh, sampler->threads, &task, sizeof(task), thread);
	return thread;
}

static bool is_known(const struct vmop_guest_thread *seen, void *arg)
{
	const struct vmop_blocked_sampler *sampler = arg;
	const struct thread *thread = find(sampler, seen->task);
	return thread && thread->tid == seen->tid && thread->pid == seen->pid &&
	       thread->switches == seen->switches &&
	       (thread->is_complete || !counts(sampler, seen->state, !thread->pgd_gpa));
}

/* Return the entry of a thread, new ones included; NULL: no room. */
static struct thread *take(struct vmop_blocked_sampler *sampler, uint64_t task)
{
	struct thread *thread = find(sampler, task);
	if (thread)
		return thread;
	if (HASH_COUNT(sampler->threads) >= VMOP_BLOCKED_THREADS_MAX)
		return NULL;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->task = task;
	HASH_ADD(hh, sampler->threads, task, sizeof(thread->task), thread);
	if (thread->hh.tbl)
		return thread;
	free(thread); /* out of memory */
	return NULL;
}

/* Append n frames to those of thread. False: out of memory, and it has none. */
static bool append(struct vmop_blocked_sampler *sampler, struct thread *thread,
		   const struct vmop_stack_frame *frames, size_t n)
{
	size_t before = thread->n_frames, max = VMOP_STACK_FRAMES_MAX;
	if (n > max - before) {
		n = max - before;
		thread->end = VMOP_STACK_DEPTH_LIMIT;
	}
	uint64_t *grown = reallocarray(thread->frames, before + n + 1, sizeof(*grown));
	if (!grown) {
		thread->n_frames = 0;
		sampler->facts.n_refused++;
		return false;
	}
	thread->frames = grown;
	/* After a call of a function that does not return, the next function may begin. */
	for (size_t i = 0; i < n; i++)
		grown[before + i] = frames[i].address - !frames[i].is_interrupted;
	thread->n_frames += (uint32_t)n;
	return true;
}

static void note_user_part(struct vmop_blocked_sampler *sampler, struct thread *thread,
			   const struct vmop_waiting_thread *waiting)
{
	if (!vmop_array_reserve(sampler->user_parts, sampler->user_parts_capacity,
				sampler->n_user_parts + 1))
		return; /* its stack ends in the kernel */
	struct user_part *part = &sampler->user_parts[sampler->n_user_parts++];
	part->thread = thread;
	memcpy(part->regs, waiting->user_regs, sizeof(part->regs));
}

/* Keep the stack of a thread that has run since it was last seen. */
static void keep(struct vmop_blocked_sampler *sampler, const struct vmop_waiting_thread *waiting)
{
	const struct vmop_guest_thread *seen = waiting->thread;
	struct thread *thread = take(sampler, seen->task);
	if (!thread) {
		sampler->facts.n_refused++;
		return;
	}
	if (thread->round == sampler->round)
		return; /* a hostile guest lists it twice */
	bool is_same = thread->tid == seen->tid && thread->switches == seen->switches;
	thread->n_tries = is_same && thread->n_tries < MAX_TRIES ? thread->n_tries + 1 : 0;
	thread->pid = seen->pid;
	thread->tid = seen->tid;
	thread->pgd_gpa = seen->pgd_gpa;
	thread->switches = seen->switches;
	thread->state = seen->state;
	thread->round = sampler->round;
	thread->n_frames = 0;
	thread->end = waiting->unwound.end;
	thread->is_complete = true;
	size_t skip = vmop_scheduler_code_skip(&sampler->scheduler, waiting->frames,
					       waiting->unwound.n_frames);
	sampler->facts.n_new++;
	if (!append(sampler, thread, waiting->frames + skip, waiting->unwound.n_frames - skip))
		return;
	thread->n_kernel = thread->n_frames;
	if (!thread->pgd_gpa || thread->end != VMOP_STACK_COMPLETE)
		return;
	thread->end = VMOP_STACK_UNREADABLE;
	thread->is_complete = counts(sampler, thread->state, false);
	if (waiting->has_user_regs && thread->is_complete)
		note_user_part(sampler, thread, waiting);
}

static bool visit(const struct vmop_waiting_thread *waiting, void *arg)
{
	struct vmop_blocked_sampler *sampler = arg;
	const struct vmop_guest_thread *seen = waiting->thread;
	sampler->facts.n_threads++;
	struct thread *thread = seen->is_known ? find(sampler, seen->task) : NULL;
	if (thread) {
		thread->state = seen->state;
		thread->round = sampler->round;
	} else if (waiting->unwound.n_frames) {
		keep(sampler, waiting);
	} else {
		sampler->facts.n_running += seen->is_running || seen->is_torn;
	}
	return true;
}

/* ---- one round: user stacks ---------------------------------------------------- */

static void unwind_user_part(struct vmop_blocked_sampler *sampler, const struct user_part *part,
			     const struct vmop_guest_snapshot *snapshot)
{
	struct vmop_stack_frame frames[VMOP_STACK_FRAMES_MAX];
	struct vmop_unwound unwound;
	struct thread *thread = part->thread;
	const struct vmop_guest_process *process =
		vmop_guest_snapshot_by_pid(snapshot, thread->pid);
	bool is_listed = process && process->pgd_gpa == thread->pgd_gpa;
	if (is_listed) {
		vmop_user_stacks_unwind(sampler->users, thread->pid, thread->pgd_gpa, part->regs,
					frames, VMOP_STACK_FRAMES_MAX, &unwound);
		thread->end = unwound.end;
		if (!vmop_guest_thread_waits(sampler->guest, thread->task, thread->switches)) {
			thread->end = VMOP_STACK_TORN;
			sampler->facts.n_torn++;
		} else {
			append(sampler, thread, frames, unwound.n_frames);
		}
	}
	bool is_late = !is_listed || thread->end == VMOP_STACK_TABLE_LATE;
	thread->is_complete = !is_late || thread->n_tries == MAX_TRIES;
	sampler->is_incomplete |= !thread->is_complete;
	sampler->wants_list |= !is_listed && thread->n_tries < MAX_LIST_TRIES;
}

static void forget_the_gone(struct vmop_blocked_sampler *sampler)
{
	struct thread *thread, *next;
	sampler->facts.n_counted = 0;
	HASH_ITER (hh, sampler->threads, thread, next) {
		if (thread->round != sampler->round)
			remove_thread(sampler, thread);
		else
			sampler->facts.n_counted += is_counted(sampler, thread);
	}
}

static struct vmop_error *read_threads(struct vmop_blocked_sampler *sampler,
				       const struct vmop_guest_orc_tables *tables,
				       const struct vmop_guest_snapshot *snapshot)
{
	size_t n_torn = 0;
	sampler->round++;
	sampler->is_incomplete = sampler->wants_list = false;
	sampler->n_user_parts = 0;
	sampler->facts.n_threads = sampler->facts.n_running = sampler->facts.n_new = 0;
	struct vmop_error *err = vmop_waiting_stacks_each_new(sampler->guest, tables, is_known,
							      visit, sampler, &n_torn);
	if (err) {
		sampler->has_switches = false;
		sampler->facts.n_missed++;
		return err;
	}
	sampler->facts.n_torn += n_torn;
	vmop_user_stacks_begin(sampler->users, snapshot, FILES_NS);
	for (size_t i = 0; i < sampler->n_user_parts; i++)
		unwind_user_part(sampler, &sampler->user_parts[i], snapshot);
	forget_the_gone(sampler);
	return NULL;
}

/* Return whether no thread has begun or ended to run since the last round. */
static bool has_nothing_run(struct vmop_blocked_sampler *sampler)
{
	uint64_t switches = 0;
	bool is_read = vmop_guest_switches(sampler->guest, &switches);
	bool is_same = is_read && sampler->has_switches && switches == sampler->switches;
	sampler->has_switches = is_read;
	sampler->switches = switches;
	return is_same && !sampler->is_incomplete;
}

/* ---- the time of rounds --------------------------------------------------------- */

/* xorshift64: Marsaglia, Xorshift RNGs, 2003 */
static uint64_t next_random(struct vmop_blocked_sampler *sampler)
{
	sampler->random ^= sampler->random << 13;
	sampler->random ^= sampler->random >> 7;
	sampler->random ^= sampler->random << 17;
	return sampler->random;
}

static void begin_grid(struct vmop_blocked_sampler *sampler, uint64_t now_ns)
{
	sampler->begun_ns = now_ns;
	sampler->last_ns = now_ns - sampler->period_ns;
	sampler->random = now_ns | 1;
}

/* Note a round at now_ns: count the points of the grid that it came too late for. */
static void pass(struct vmop_blocked_sampler *sampler, uint64_t now_ns)
{
	if (!sampler->begun_ns)
		begin_grid(sampler, now_ns);
	uint64_t point = (now_ns - sampler->begun_ns) / sampler->period_ns;
	if (point > sampler->next) {
		sampler->facts.n_missed += point - sampler->next;
		sampler->next = point;
	}
	sampler->next++;
	sampler->elapsed_ns = now_ns - sampler->last_ns;
	sampler->last_ns = now_ns;
	sampler->facts.n_rounds++;
}

/* Set the time of the next round, after one that took cpu_ns. */
static void schedule(struct vmop_blocked_sampler *sampler, unsigned share_permille, uint64_t cpu_ns)
{
	uint64_t jitter_ns = next_random(sampler) % (sampler->period_ns / 2);
	sampler->due_ns = sampler->begun_ns + sampler->next * sampler->period_ns + jitter_ns;
	sampler->credit_ns += (int64_t)(sampler->elapsed_ns / 1000 * share_permille);
	if (sampler->credit_ns > MAX_CREDIT_NS)
		sampler->credit_ns = MAX_CREDIT_NS;
	sampler->credit_ns -= (int64_t)cpu_ns;
	sampler->facts.cpu_ns += cpu_ns;
	if (sampler->credit_ns >= 0 || !share_permille)
		return;
	uint64_t allowed_ns =
		sampler->last_ns + (uint64_t)-sampler->credit_ns * 1000 / share_permille;
	if (allowed_ns > sampler->due_ns)
		sampler->due_ns = allowed_ns;
}

uint64_t vmop_blocked_sampler_due_ns(const struct vmop_blocked_sampler *sampler)
{
	return sampler->due_ns;
}

struct vmop_error *vmop_blocked_sampler_round(struct vmop_blocked_sampler *sampler,
					      const struct vmop_guest_orc_tables *tables,
					      const struct vmop_guest_snapshot *snapshot,
					      unsigned share_permille, uint64_t now_ns)
{
	struct vmop_error *err = NULL;
	uint64_t begun_cpu_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	pass(sampler, now_ns);
	if (has_nothing_run(sampler))
		sampler->facts.n_reused++;
	else
		err = read_threads(sampler, tables, snapshot);
	sampler->is_fresh = !err;
	schedule(sampler, share_permille, vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_cpu_ns);
	return err;
}

bool vmop_blocked_sampler_wants_list(const struct vmop_blocked_sampler *sampler)
{
	return sampler->wants_list;
}

/* ---- results ------------------------------------------------------------------- */

/* Return a hash of the thread's identity and stack (FNV-1a, in words). */
static uint64_t hash_of(const struct thread *thread)
{
	uint64_t hash = 14695981039346656037u;
	const uint64_t words[] = {thread->pid, thread->tid, thread->pgd_gpa, thread->n_kernel,
				  (uint64_t)thread->end};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hash = (hash ^ words[i]) * 1099511628211u;
	for (uint32_t i = 0; i < thread->n_frames; i++)
		hash = (hash ^ thread->frames[i]) * 1099511628211u;
	return hash;
}

static void publish_thread(struct vmop_blocked_sampler *sampler, struct thread *thread,
			   struct vmop_blocked_batch *batch)
{
	const struct vmop_blocked_time time = {.n_samples = 1, .ns = sampler->elapsed_ns};
	uint64_t hash = hash_of(thread);
	if (thread->batch == sampler->batch && thread->batch_hash == hash) {
		vmop_blocked_batch_extend(batch, thread->index, time);
		return;
	}
	const struct vmop_blocked_thread blocked = {
		.pid = thread->pid,
		.pgd_gpa = thread->pgd_gpa,
		.frames = thread->frames,
		.n_frames = thread->n_frames,
		.n_kernel = thread->n_kernel,
		.end = thread->end,
	};
	thread->batch = 0;
	if (vmop_blocked_batch_add(batch, &blocked, time, &thread->index)) {
		thread->batch = sampler->batch;
		thread->batch_hash = hash;
	} else {
		sampler->facts.n_refused++;
	}
}

void vmop_blocked_sampler_publish(struct vmop_blocked_sampler *sampler,
				  struct vmop_blocked_batch **batch)
{
	struct thread *thread, *next;
	if (!sampler->is_fresh)
		return;
	sampler->is_fresh = false;
	if (!*batch) {
		sampler->batch++;
		*batch = vmop_blocked_batch_create();
	}
	if (!*batch)
		return;
	HASH_ITER (hh, sampler->threads, thread, next) {
		if (is_counted(sampler, thread))
			publish_thread(sampler, thread, *batch);
	}
}

void vmop_blocked_sampler_facts(const struct vmop_blocked_sampler *sampler,
				struct vmop_blocked_facts *ret)
{
	*ret = sampler->facts;
}
