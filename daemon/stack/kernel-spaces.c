// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/stack/kernel-spaces.h"

#include <stdlib.h>

#include "libutil/clock.h"

/* Spaces that wait for an update. The others are noted at their next sample. */
#define WANTED_MAX 1024
/* Spaces that make room for one update. */
#define PUSHED_MAX 8
/* The pause of a space for which the kernel has no room. */
#define REFUSED_PAUSE_NS VMOP_NS_PER_S

struct space {
	uint32_t pid;	     /* with a next_free of 0: in use */
	uint32_t next_free;  /* index + 1 of the next free one */
	uint32_t last_used;  /* interval */
	uint32_t kernel_age; /* of the tables, at the update */
	/*
	 * Generations from first to last are true unless an address got another meaning after
	 * version. last 0: the kernel does not have the space.
	 */
	uint64_t first, last;
	uint64_t version;	/* of the regions, at the update */
	uint64_t not_before_ns; /* time of the next update */
	bool is_used, is_wanted;
};

struct vmop_kernel_spaces {
	struct vmop_unwind_maps *maps;
	struct vmop_processes *processes;
	const struct vmop_stack_tables *tables;
	struct space *at;   /* VMOP_KERNEL_SPACES_MAX; only used ones take memory */
	uint32_t n_touched; /* those beyond were never used */
	uint32_t free;	    /* index + 1 */
	uint32_t wanted[WANTED_MAX], n_wanted;
	uint32_t interval;
	uint64_t generation;		     /* the last one given */
	uint64_t mappings_left, refilled_ns; /* the bound of all updates together */
	struct vmop_kernel_spaces_facts facts;
	struct vmop_unwind_mapping mappings[VMOP_REGIONS_MAX];
};

struct vmop_error *vmop_kernel_spaces_create(struct vmop_unwind_maps *maps,
					     struct vmop_processes *processes,
					     const struct vmop_stack_tables *tables,
					     struct vmop_kernel_spaces **ret)
{
	struct vmop_kernel_spaces *spaces = calloc(1, sizeof(*spaces));
	if (!spaces)
		return &vmop_error_no_memory;
	spaces->at = calloc(VMOP_KERNEL_SPACES_MAX, sizeof(*spaces->at));
	if (!spaces->at) {
		free(spaces);
		return &vmop_error_no_memory;
	}
	spaces->maps = maps;
	spaces->processes = processes;
	spaces->tables = tables;
	spaces->interval = 1;
	/* Greater than those of an earlier set, whose stacks may still be in the ring. */
	spaces->generation = vmop_clock_ns(CLOCK_MONOTONIC);
	*ret = spaces;
	return NULL;
}

void vmop_kernel_spaces_destroy(struct vmop_kernel_spaces *spaces)
{
	if (!spaces)
		return;
	vmop_kernel_spaces_forget(spaces);
	free(spaces->at);
	free(spaces);
}

/* ---- the set --------------------------------------------------------------- */

/* Return the space of process, or NULL. */
static struct space *space_of(const struct vmop_kernel_spaces *spaces,
			      const struct vmop_process *process)
{
	return process->kernel_space ? &spaces->at[process->kernel_space - 1] : NULL;
}

/* Return the process of a space, or NULL: it ended, and another one may have its pid. */
static struct vmop_process *process_of(const struct vmop_kernel_spaces *spaces,
				       const struct space *space)
{
	struct vmop_process *process = vmop_processes_get(spaces->processes, space->pid);
	bool is_its = process && process->kernel_space == (uint32_t)(space - spaces->at) + 1;
	return is_its ? process : NULL;
}

/* Give process a space, if there is room. */
static struct space *begin(struct vmop_kernel_spaces *spaces, struct vmop_process *process)
{
	uint32_t index = spaces->free ? spaces->free - 1 : spaces->n_touched;
	if (index == VMOP_KERNEL_SPACES_MAX)
		return NULL;
	struct space *space = &spaces->at[index];
	if (spaces->free)
		spaces->free = space->next_free;
	else
		spaces->n_touched++;
	/* A space that ended can still be in the list of wanted ones. */
	*space =
		(struct space){.pid = process->pid, .is_used = true, .is_wanted = space->is_wanted};
	process->kernel_space = index + 1;
	spaces->facts.n++;
	return space;
}

/* Remove a space from the kernel and, unless it is to stay, from the set. */
static void remove_space(struct vmop_kernel_spaces *spaces, struct space *space, bool stays)
{
	struct vmop_process *process = process_of(spaces, space);
	const struct vmop_process *now = vmop_processes_get(spaces->processes, space->pid);
	/* A later process of that pid has replaced the space in the kernel, or will. */
	if (space->last && (process || !now || !now->kernel_space))
		vmop_unwind_maps_remove_process(spaces->maps, space->pid);
	space->last = 0;
	if (stays)
		return;
	if (process)
		process->kernel_space = 0;
	space->is_used = false;
	space->next_free = spaces->free;
	spaces->free = (uint32_t)(space - spaces->at) + 1;
	spaces->facts.n--;
}

void vmop_kernel_spaces_gone(struct vmop_kernel_spaces *spaces, struct vmop_process *process)
{
	struct space *space = space_of(spaces, process);
	if (space)
		remove_space(spaces, space, !process->has_exited);
}

void vmop_kernel_spaces_forget(struct vmop_kernel_spaces *spaces)
{
	for (uint32_t i = 0; i < spaces->n_touched; i++)
		if (spaces->at[i].is_used)
			remove_space(spaces, &spaces->at[i], false);
}

void vmop_kernel_spaces_stored(struct vmop_kernel_spaces *spaces)
{
	for (uint32_t i = 0; i < spaces->n_touched; i++) {
		struct space *space = &spaces->at[i];
		const struct vmop_process *process =
			space->is_used ? process_of(spaces, space) : NULL;
		if (space->is_used && (!process || process->has_exited))
			remove_space(spaces, space, false);
	}
	spaces->interval++;
}

/* Remove the space that was not used for the longest time. False: all were in this interval. */
static bool push_one(struct vmop_kernel_spaces *spaces)
{
	struct space *oldest = NULL;
	for (uint32_t i = 0; i < spaces->n_touched; i++) {
		struct space *space = &spaces->at[i];
		if (space->is_used && space->last_used != spaces->interval &&
		    (!oldest || space->last_used < oldest->last_used))
			oldest = space;
	}
	if (!oldest)
		return false;
	remove_space(spaces, oldest, false);
	spaces->facts.n_pushed++;
	return true;
}

/* ---- the per-sample path --------------------------------------------------- */

/* Note that the space of process needs an update; kernel_age as in vmop_kernel_spaces_copied. */
static void want(struct vmop_kernel_spaces *spaces, struct vmop_process *process,
		 uint32_t kernel_age)
{
	struct space *space = space_of(spaces, process);
	if (!process->regions || process->has_exited || process->maps != VMOP_MAPS_KNOWN)
		return;
	if (!space && !(space = begin(spaces, process)))
		return;
	space->last_used = spaces->interval;
	if (space->is_wanted || spaces->n_wanted == WANTED_MAX ||
	    (space->last && space->version == process->regions->version &&
	     kernel_age <= space->kernel_age))
		return;
	space->is_wanted = true;
	spaces->wanted[spaces->n_wanted++] = (uint32_t)(space - spaces->at);
}

bool vmop_kernel_spaces_believe(struct vmop_kernel_spaces *spaces, struct vmop_process *process,
				uint64_t generation)
{
	struct space *space = space_of(spaces, process);
	if (space && process->regions && generation >= space->first && generation <= space->last &&
	    space->version >= process->regions->replaced_version) {
		space->last_used = spaces->interval;
		return true;
	}
	want(spaces, process, 0);
	return false;
}

void vmop_kernel_spaces_copied(struct vmop_kernel_spaces *spaces, struct vmop_process *process,
			       uint32_t kernel_age)
{
	want(spaces, process, kernel_age);
}

/* ---- updates --------------------------------------------------------------- */

/* Collect the mappings of process. Return their number. */
static size_t collect(struct vmop_kernel_spaces *spaces, const struct vmop_process *process)
{
	const struct vmop_regions *regions = process->regions;
	for (uint32_t i = 0; i < regions->n; i++) {
		const struct vmop_region *region = &regions->at[i];
		spaces->mappings[i] = (struct vmop_unwind_mapping){
			.start = region->start,
			.end = region->end,
			.offset = region->offset,
			.table = vmop_stack_tables_kernel_number(spaces->tables, region),
		};
	}
	return regions->n;
}

/* Put the n collected mappings into the kernel, perhaps in place of other processes'. */
static bool put(struct vmop_kernel_spaces *spaces, const struct space *space, size_t n)
{
	for (unsigned i = 0; i <= PUSHED_MAX; i++) {
		if (vmop_unwind_maps_put_process(spaces->maps, space->pid, spaces->generation,
						 spaces->mappings, n))
			return true;
		if (!push_one(spaces))
			return false;
	}
	return false;
}

static void update(struct vmop_kernel_spaces *spaces, struct space *space,
		   const struct vmop_process *process, uint64_t now_ns)
{
	struct vmop_stack_tables_facts facts;
	vmop_stack_tables_facts(spaces->tables, &facts);
	space->last_used = spaces->interval; /* it makes no room for itself */
	size_t n = collect(spaces, process);
	uint64_t cost = n + VMOP_KERNEL_SPACE_COST;
	spaces->mappings_left -= cost < spaces->mappings_left ? cost : spaces->mappings_left;
	spaces->generation++;
	if (!put(spaces, space, n)) {
		spaces->facts.n_refused++;
		/* The kernel may have removed the earlier mappings, or not. */
		remove_space(spaces, space, true);
		space->not_before_ns = now_ns + REFUSED_PAUSE_NS;
		return;
	}
	spaces->facts.n_updates++;
	if (!space->last || process->regions->replaced_version > space->version)
		space->first = spaces->generation;
	space->last = spaces->generation;
	space->version = process->regions->version;
	space->kernel_age = facts.kernel_age;
	space->not_before_ns = now_ns + VMOP_KERNEL_SPACE_PAUSE_NS;
}

/* Let the bound of all updates grow with the time, up to that of a second. */
static void refill(struct vmop_kernel_spaces *spaces, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - spaces->refilled_ns,
		 max = VMOP_KERNEL_SPACE_MAPPINGS_A_SECOND;
	if (passed_ns > VMOP_NS_PER_S)
		passed_ns = VMOP_NS_PER_S;
	uint64_t more = passed_ns * max / VMOP_NS_PER_S;
	if (!more)
		return;
	spaces->refilled_ns = now_ns;
	spaces->mappings_left += more;
	if (spaces->mappings_left > max)
		spaces->mappings_left = max;
}

/*
 * Let a space wait for its update. The kernel keeps its mappings only if they are true: without
 * them it copies the stacks.
 */
static void postpone(struct vmop_kernel_spaces *spaces, struct space *space,
		     const struct vmop_process *process)
{
	if (space->last && space->version < process->regions->replaced_version)
		remove_space(spaces, space, true);
}

void vmop_kernel_spaces_advance(struct vmop_kernel_spaces *spaces, uint64_t now_ns)
{
	uint32_t n_kept = 0;
	if (!spaces->n_wanted)
		return;
	refill(spaces, now_ns);
	for (uint32_t i = 0; i < spaces->n_wanted; i++) {
		struct space *space = &spaces->at[spaces->wanted[i]];
		const struct vmop_process *process =
			space->is_used ? process_of(spaces, space) : NULL;
		bool is_alive = process && process->regions && !process->has_exited;
		if (is_alive && (now_ns < space->not_before_ns || !spaces->mappings_left)) {
			postpone(spaces, space, process);
			spaces->wanted[n_kept++] = spaces->wanted[i];
			continue;
		}
		space->is_wanted = false;
		if (is_alive)
			update(spaces, space, process, now_ns);
	}
	spaces->n_wanted = n_kept;
}

void vmop_kernel_spaces_facts(const struct vmop_kernel_spaces *spaces,
			      struct vmop_kernel_spaces_facts *ret)
{
	*ret = spaces->facts;
}
