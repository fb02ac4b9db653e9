// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/stack/stacks.h"

#include <elf.h>
#include <stdlib.h>

#include "libutil/clock.h"

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

/* Bounds; tree.h has those of the tree. */
#define TABLE_MAX_BYTES ((size_t)64 << 20)
#define TABLE_MAX_CPU_NS (2 * VMOP_NS_PER_S)
#define TABLES_MAX_BYTES ((size_t)256 << 20)
#define WAITING_MAX_BYTES ((size_t)64 << 20)
#define DEFERRED_MAX_BYTES ((size_t)16 << 20)

/* A node of the tree with its slots, while the hash table grows; and a useful number of them. */
#define NODE_BYTES 56
#define NODES_LEAST (64 * 1024)

/* Processes whose last stack is remembered, a power of two. */
#define PATHS 64

/* The last stack of a process. Its next one has most of the outer frames in common. */
struct path {
	uint32_t pid;
	uint32_t n; /* frames; 0: none */
	enum vmop_stack_end end;
	struct vmop_stack_id root; /* the node below the outermost frame */
	/* Outermost first. */
	struct vmop_stack_caller at[VMOP_STACK_FRAMES_MAX];
	struct vmop_stack_node nodes[VMOP_STACK_FRAMES_MAX];
	/*
	 * If the kernel unwound it: the addresses of the first n_given frames, by which they are
	 * known again, and the version of the process's regions.
	 */
	uint32_t n_given;
	uint64_t version;
	uint64_t given[VMOP_STACK_FRAMES_MAX];
};

struct vmop_stacks {
	struct vmop_stacks_options options;
	struct vmop_stack_tables *tables;
	struct vmop_stack_tree *tree;
	struct vmop_waiting_stacks *waiting;
	struct vmop_deferred_stacks *deferred;
	bool has_new_deferred; /* since the last release */
	struct vmop_unwinder *unwinder;
	struct vmop_kernel_spaces *spaces; /* NULL: the kernel does not unwind */
	uint64_t n_kernel_removed;	   /* tables, when the spaces were last looked at */
	struct vmop_stack_framer framer;
	struct vmop_stack_frames frames; /* of the present sample */
	struct path paths[PATHS];
	bool is_last_try; /* no sample waits any longer */
	bool lacks_kernel_text;
	uint64_t n_by_end[VMOP_N_STACK_ENDS];
	uint64_t n_waited, n_queue_full, n_by_kernel, n_copied;
};

/* Return max_bytes, or a share of the memory for all tables if that is less. */
static size_t bound(const struct vmop_stacks *stacks, size_t max_bytes, unsigned part)
{
	uint64_t memory_bytes = stacks->options.memory_bytes;
	return memory_bytes && memory_bytes / part < max_bytes ? memory_bytes / part : max_bytes;
}

/* Return the bound of the tree's nodes. */
static uint32_t max_nodes(const struct vmop_stacks *stacks)
{
	uint32_t max = VMOP_STACK_TREE_NODES_MAX;
	size_t bytes = bound(stacks, (size_t)max * NODE_BYTES, 4);
	while (max > NODES_LEAST && (size_t)max * NODE_BYTES > bytes)
		max /= 2;
	return max;
}

static struct vmop_error *create_parts(struct vmop_stacks *stacks)
{
	struct vmop_processes *processes = stacks->options.processes;
	uint32_t max_images = processes->images->max;
	const struct vmop_stack_tables_limits tables_limits = {
		.image = {.max_bytes = bound(stacks, TABLE_MAX_BYTES, 8),
			  .max_cpu_ns = TABLE_MAX_CPU_NS},
		.max_bytes = bound(stacks, TABLES_MAX_BYTES, 4),
		.max_images = max_images,
	};
	const struct vmop_stack_tree_limits tree_limits = {
		.max_nodes = max_nodes(stacks),
		.max_interval = max_nodes(stacks) /
				(VMOP_STACK_TREE_NODES_MAX / VMOP_STACK_TREE_INTERVAL_MAX),
		.max_images = max_images,
	};
	struct vmop_error *err =
		vmop_stack_tables_create(processes->images, stacks->options.vdso, processes->root,
					 &tables_limits, &stacks->tables);
	if (!err)
		err = vmop_stack_tree_create(processes->images, &tree_limits, &stacks->tree);
	if (!err)
		err = vmop_waiting_stacks_create(bound(stacks, WAITING_MAX_BYTES, 8),
						 &stacks->waiting);
	if (!err)
		err = vmop_deferred_stacks_create(bound(stacks, DEFERRED_MAX_BYTES, 16),
						  &stacks->deferred);
	if (!err)
		err = vmop_unwinder_create(MACHINE, &stacks->unwinder);
	if (!err && stacks->options.unwind_maps)
		err = vmop_stack_tables_copy_to(stacks->tables, stacks->options.unwind_maps);
	if (!err && stacks->options.unwind_maps)
		err = vmop_kernel_spaces_create(stacks->options.unwind_maps, processes,
						stacks->tables, &stacks->spaces);
	return err;
}

struct vmop_error *vmop_stacks_create(const struct vmop_stacks_options *options,
				      struct vmop_stacks **ret)
{
	struct vmop_stacks *stacks = calloc(1, sizeof(*stacks));
	if (!stacks)
		return &vmop_error_no_memory;
	stacks->options = *options;
	struct vmop_error *err = create_parts(stacks);
	if (err) {
		vmop_stacks_destroy(stacks);
		return err;
	}
	stacks->framer = (struct vmop_stack_framer){
		.images = options->processes->images,
		.kernel = options->kernel,
		.tables = stacks->tables,
		.unwinder = stacks->unwinder,
		.deferred = stacks->deferred,
		.max_frames = options->max_frames,
		.has_user_parts = options->has_user_parts,
	};
	*ret = stacks;
	return NULL;
}

static void unref_regions(struct vmop_stacks *stacks, struct vmop_regions *regions)
{
	struct vmop_processes *processes = stacks->options.processes;
	vmop_regions_unref(regions, processes->images, &processes->budget);
}

static bool give_up(void *arg, struct vmop_waiting_stack *stack)
{
	unref_regions(arg, stack->regions);
	return true;
}

void vmop_stacks_destroy(struct vmop_stacks *stacks)
{
	if (!stacks)
		return;
	if (stacks->waiting)
		vmop_waiting_stacks_release(stacks->waiting, give_up, stacks);
	vmop_waiting_stacks_destroy(stacks->waiting);
	vmop_deferred_stacks_destroy(stacks->deferred);
	vmop_unwinder_destroy(stacks->unwinder);
	vmop_kernel_spaces_destroy(stacks->spaces);
	vmop_stack_tree_destroy(stacks->tree);
	vmop_stack_tables_destroy(stacks->tables);
	free(stacks);
}

/* ---- the per-sample path --------------------------------------------------- */

/* Return how many of the outer frames are also those of path. */
static size_t common(const struct path *path, const struct vmop_stack_frames *frames)
{
	size_t n = path->n < frames->n ? path->n : frames->n, i = 0;
	const struct vmop_stack_caller *caller = frames->at + frames->n;
	for (; i < n; i++) {
		caller--;
		if (caller->offset != path->at[i].offset || caller->image != path->at[i].image)
			break;
		vmop_image_mark_sampled(caller->image);
	}
	return i;
}

/*
 * Return the node below the outermost frame of a stack that ends with `end`: the guest's frame for
 * which it works, unless an unknown number of the host's frames is missing in between.
 */
static struct vmop_stack_node root_of(struct vmop_stacks *stacks, struct vmop_stack_node below,
				      enum vmop_stack_end end)
{
	bool has_all = end == VMOP_STACK_COMPLETE || end == VMOP_STACK_NOT_RECORDED;
	return below.id.number && has_all ? below : vmop_stack_tree_end(stacks->tree, end);
}

/*
 * Return the stack of the frames, whose outermost one is the last. n_known: they are below that
 * many frames of the process's path. below: see struct vmop_stack_sample.
 */
static struct vmop_stack_id intern(struct vmop_stacks *stacks, uint32_t pid,
				   struct vmop_stack_frames *frames, size_t n_known,
				   struct vmop_stack_node below)
{
	struct path *path = &stacks->paths[pid % PATHS];
	struct vmop_stack_node root = root_of(stacks, below, frames->end);
	bool is_same =
		path->pid == pid && path->end == frames->end && path->root.number == root.id.number;
	size_t first = n_known ? n_known : is_same ? common(path, frames) : 0;
	size_t n = n_known + frames->n;
	struct vmop_stack_node node = first ? path->nodes[first - 1] : root;
	path->pid = pid;
	path->end = frames->end;
	path->root = root.id;
	path->n_given = (uint32_t)n_known;
	for (size_t i = first; i < n; i++) {
		path->at[i] = frames->at[n - 1 - i];
		vmop_image_mark_sampled(path->at[i].image);
		if (stacks->spaces)
			vmop_stack_tables_touch(stacks->tables, path->at[i].image);
	}
	path->n = (uint32_t)(first + vmop_stack_tree_add(stacks->tree, node, path->at + first,
							 n - first, path->nodes + first));
	if (path->n < n) {
		frames->end = VMOP_STACK_TOO_MANY;
		node = vmop_stack_tree_end(stacks->tree, VMOP_STACK_TOO_MANY);
	} else if (path->n) {
		node = path->nodes[path->n - 1];
	}
	stacks->n_by_end[frames->end]++;
	return node.id;
}

struct vmop_stack_id vmop_stacks_intern(struct vmop_stacks *stacks, uint32_t pid,
					struct vmop_stack_frames *frames)
{
	return intern(stacks, pid, frames, 0, (struct vmop_stack_node){0});
}

struct vmop_stack_node vmop_stacks_intern_guest(struct vmop_stacks *stacks,
						const struct vmop_stack_frames *frames)
{
	struct vmop_stack_caller outermost_first[VMOP_STACK_FRAMES_MAX];
	struct vmop_stack_node nodes[VMOP_STACK_FRAMES_MAX];
	for (size_t i = 0; i < frames->n; i++) {
		outermost_first[i] = frames->at[frames->n - 1 - i];
		vmop_image_mark_sampled(outermost_first[i].image);
	}
	struct vmop_stack_node end = vmop_stack_tree_end(stacks->tree, frames->end);
	size_t n = vmop_stack_tree_add(stacks->tree, end, outermost_first, frames->n, nodes);
	return n && n == frames->n ? nodes[n - 1] : (struct vmop_stack_node){0};
}

static bool hold(struct vmop_stacks *stacks, const struct vmop_stack_sample *sample,
		 const struct vmop_process *process)
{
	const struct vmop_stacks_options *options = &stacks->options;
	return process && process->jitdump_at && options->hold &&
	       options->hold(options->arg, sample, process, &stacks->frames);
}

enum outcome {
	FOUND, /* the sample has its stack */
	HELD,
	LACKING, /* something that may come */
};

/* Find the stack of sample, or give it away. */
static enum outcome try(struct vmop_stacks *stacks, const struct vmop_stack_task *task,
			const struct vmop_process *process,
			const struct vmop_stack_capture *capture, bool is_kernel,
			struct vmop_stack_sample *sample)
{
	vmop_stack_framer_resolve(&stacks->framer, task, capture, is_kernel, &stacks->frames);
	if (stacks->frames.lacks && !stacks->is_last_try)
		return LACKING;
	if (hold(stacks, sample, process))
		return HELD;
	sample->key.stack = intern(stacks, task->pid, &stacks->frames, 0, sample->below);
	return FOUND;
}

/*
 * Return how many of the outer frames that the kernel unwound are those of the process's path. All
 * frames must be within the depth limit.
 */
static size_t count_known(struct vmop_stacks *stacks, const struct path *path,
			  const struct vmop_stack_task *task,
			  const struct vmop_stack_capture *capture, struct vmop_stack_node below)
{
	size_t i = 0, n = capture->n_user_frames;
	if (path->pid != task->pid || path->end != capture->user_end || !task->regions ||
	    path->root.number != root_of(stacks, below, capture->user_end).id.number ||
	    path->version != task->regions->version ||
	    capture->n_kernel_frames + n > stacks->options.max_frames)
		return 0;
	size_t max = path->n_given < path->n ? path->n_given : path->n;
	/* The innermost frame is not a caller, or has another form of address. */
	while (i < max && i + 1 < n && path->given[i] == capture->user_frames[n - 1 - i])
		i++;
	return i;
}

/* Note the addresses of the process's path, which the kernel unwound, from frame `first` on. */
static void note_given(struct path *path, const struct vmop_stack_task *task,
		       const struct vmop_stack_capture *capture, size_t first)
{
	size_t i = first, n = capture->n_user_frames;
	for (; i + 1 < n && i < VMOP_STACK_FRAMES_MAX; i++)
		path->given[i] = capture->user_frames[n - 1 - i];
	path->n_given = (uint32_t)i;
	path->version = task->regions->version;
}

/* Do the same as try() with a stack that the kernel unwound, for fewer frames. */
static enum outcome try_given(struct vmop_stacks *stacks, const struct vmop_stack_task *task,
			      const struct vmop_process *process,
			      const struct vmop_stack_capture *capture, bool is_kernel,
			      struct vmop_stack_sample *sample)
{
	struct path *path = &stacks->paths[task->pid % PATHS];
	size_t n_known = count_known(stacks, path, task, capture, sample->below);
	struct vmop_stack_capture rest = *capture;
	struct vmop_stack_task inner = *task;
	rest.n_user_frames -= n_known;
	inner.is_end_known = n_known > 0;
	vmop_stack_framer_resolve(&stacks->framer, &inner, &rest, is_kernel, &stacks->frames);
	if (stacks->frames.lacks && !stacks->is_last_try)
		return LACKING;
	bool is_whole = stacks->frames.end == capture->user_end;
	if (!is_whole && n_known)
		return try(stacks, task, process, capture, is_kernel, sample);
	sample->key.stack = intern(stacks, task->pid, &stacks->frames, n_known, sample->below);
	if (is_whole &&
	    capture->n_kernel_frames + capture->n_user_frames <= stacks->options.max_frames)
		note_given(path, task, capture, n_known);
	return FOUND;
}

/* Let a sample wait. False: the queue is full. */
static bool keep(struct vmop_stacks *stacks, const struct vmop_stack_sample *sample,
		 const struct vmop_stack_task *task, const struct vmop_stack_capture *capture,
		 bool is_kernel)
{
	const struct vmop_waiting_stack stack = {
		.sample = *sample,
		.pid = task->pid,
		.regions = vmop_regions_ref(task->regions),
		.is_kernel = is_kernel,
		.is_kernel_thread = task->is_kernel_thread,
		.is_outdated = task->is_outdated,
		.capture = *capture,
	};
	if (vmop_waiting_stacks_add(stacks->waiting, &stack)) {
		stacks->n_waited++;
		stacks->lacks_kernel_text |=
			(stacks->frames.lacks & VMOP_STACK_LACKS_KERNEL_TEXT) != 0;
		return true;
	}
	stacks->n_queue_full++;
	unref_regions(stacks, task->regions);
	return false;
}

/* Return whether the kernel unwound the user part by mappings that do not hold. */
static bool is_outdated(struct vmop_stacks *stacks, struct vmop_process *process,
			const struct vmop_stack_capture *capture)
{
	if (!stacks->spaces || !capture->user_generation)
		return false;
	stacks->n_by_kernel++;
	return !process ||
	       !vmop_kernel_spaces_believe(stacks->spaces, process, capture->user_generation);
}

/* Note that the kernel copied the user part, if it did. */
static void note_copy(struct vmop_stacks *stacks, struct vmop_process *process,
		      const struct vmop_stack_capture *capture)
{
	if (!stacks->spaces || !process || !capture->user_regs || capture->is_compat ||
	    capture->user_generation)
		return;
	stacks->n_copied++;
	vmop_kernel_spaces_copied(stacks->spaces, process, stacks->frames.kernel_age);
}

bool vmop_stacks_find(struct vmop_stacks *stacks, struct vmop_stack_sample *sample,
		      struct vmop_process *process, const struct vmop_stack_capture *capture,
		      bool is_kernel)
{
	const struct vmop_stack_task task = {
		.pid = process ? process->pid : UINT32_MAX,
		.regions = process ? process->regions : NULL,
		.is_unread = process && process->maps == VMOP_MAPS_UNREAD,
		.is_kernel_thread = process && (process->is_kthread || !process->pid),
		.is_outdated = is_outdated(stacks, process, capture),
	};
	/* The frames of a sample that may be held are needed in full. */
	bool is_given = capture->user_generation && !task.is_outdated && task.regions &&
			!process->jitdump_at;
	enum outcome outcome =
		is_given ? try_given(stacks, &task, process, capture, is_kernel, sample)
			 : try(stacks, &task, process, capture, is_kernel, sample);
	note_copy(stacks, process, capture);
	if (outcome != LACKING)
		return outcome == FOUND;
	if (keep(stacks, sample, &task, capture, is_kernel))
		return false;
	sample->key.stack = intern(stacks, task.pid, &stacks->frames, 0, sample->below);
	return true;
}

void vmop_stacks_add_user_part(struct vmop_stacks *stacks, uint64_t cookie,
			       const struct vmop_stack_capture *capture)
{
	if (vmop_deferred_stacks_add(stacks->deferred, cookie, capture->user_frames,
				     capture->n_user_frames))
		stacks->has_new_deferred = true;
	else
		stacks->n_queue_full++;
}

/* ---- waiting samples ------------------------------------------------------- */

/* Return the mappings of a waiting sample's process, which may be read meanwhile. */
static struct vmop_regions *regions_of(const struct vmop_stacks *stacks,
				       const struct vmop_waiting_stack *stack)
{
	const struct vmop_process *process =
		stack->regions ? NULL : vmop_processes_get(stacks->options.processes, stack->pid);
	return process ? process->regions : stack->regions;
}

static bool release(void *arg, struct vmop_waiting_stack *stack)
{
	struct vmop_stacks *stacks = arg;
	const struct vmop_stack_task task = {
		.pid = stack->pid,
		.regions = regions_of(stacks, stack),
		.is_unread = !stack->regions,
		.is_kernel_thread = stack->is_kernel_thread,
		.is_outdated = stack->is_outdated,
	};
	const struct vmop_process *process =
		vmop_processes_get(stacks->options.processes, stack->pid);
	enum outcome outcome =
		try(stacks, &task, process, &stack->capture, stack->is_kernel, &stack->sample);
	if (outcome == LACKING)
		return false;
	if (outcome == FOUND)
		stacks->options.release(stacks->options.arg, &stack->sample);
	unref_regions(stacks, stack->regions);
	return true;
}

/* Forget the kernel's spaces if tables were removed whose numbers they have. */
static void check_removed(struct vmop_stacks *stacks)
{
	struct vmop_stack_tables_facts facts;
	if (!stacks->spaces)
		return;
	vmop_stack_tables_facts(stacks->tables, &facts);
	if (facts.n_kernel_removed == stacks->n_kernel_removed)
		return;
	stacks->n_kernel_removed = facts.n_kernel_removed;
	vmop_kernel_spaces_forget(stacks->spaces);
	vmop_stack_tables_forgotten(stacks->tables);
}

/* Begin and finish the building of tables. Return whether waiting stacks may be complete now. */
static bool collect_tables(struct vmop_stacks *stacks, unsigned wait_ms)
{
	bool has_changed = vmop_stack_tables_collect(stacks->tables, wait_ms);
	check_removed(stacks);
	return has_changed;
}

void vmop_stacks_process_gone(struct vmop_stacks *stacks, struct vmop_process *process)
{
	if (stacks->spaces)
		vmop_kernel_spaces_gone(stacks->spaces, process);
}

void vmop_stacks_advance(struct vmop_stacks *stacks)
{
	bool has_changed = collect_tables(stacks, 0) || stacks->has_new_deferred;
	if (has_changed && vmop_waiting_stacks_n(stacks->waiting))
		vmop_waiting_stacks_release(stacks->waiting, release, stacks);
	stacks->has_new_deferred = false;
	if (stacks->spaces)
		vmop_kernel_spaces_advance(stacks->spaces, vmop_clock_ns(CLOCK_MONOTONIC));
}

void vmop_stacks_release_all(struct vmop_stacks *stacks, unsigned wait_ms)
{
	/* A table may show that a stack needs another one, so this is more than one wait. */
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + wait_ms * VMOP_NS_PER_MS;
	collect_tables(stacks, 0);
	while (vmop_waiting_stacks_n(stacks->waiting)) {
		uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
		stacks->is_last_try = now_ns >= end_ns;
		vmop_waiting_stacks_release(stacks->waiting, release, stacks);
		if (!stacks->is_last_try)
			stacks->is_last_try = !collect_tables(
				stacks, (unsigned)((end_ns - now_ns) / VMOP_NS_PER_MS));
		if (stacks->is_last_try)
			vmop_waiting_stacks_release(stacks->waiting, release, stacks);
	}
	stacks->is_last_try = stacks->lacks_kernel_text = false;
}

bool vmop_stacks_lack_kernel_text(const struct vmop_stacks *stacks)
{
	return stacks->lacks_kernel_text;
}

size_t vmop_stacks_waiting(const struct vmop_stacks *stacks)
{
	return vmop_waiting_stacks_n(stacks->waiting);
}

/* ---- the store ------------------------------------------------------------- */

bool vmop_stacks_want_flush(const struct vmop_stacks *stacks)
{
	return vmop_stack_tree_wants_flush(stacks->tree);
}

struct vmop_error *vmop_stacks_store(struct vmop_stacks *stacks, struct vmop_db *db)
{
	return vmop_stack_tree_store(stacks->tree, db);
}

void vmop_stacks_save_memory(struct vmop_stacks *stacks, bool is_short)
{
	for (size_t i = 0; i < PATHS; i++)
		stacks->paths[i].n = 0; /* as in vmop_stacks_stored */
	vmop_stack_tree_save_memory(stacks->tree, is_short);
	if (is_short)
		vmop_stack_tables_save_memory(stacks->tables);
	check_removed(stacks);
}

void vmop_stacks_stored(struct vmop_stacks *stacks)
{
	for (size_t i = 0; i < PATHS; i++)
		stacks->paths[i].n = 0; /* ids and images may be gone */
	vmop_deferred_stacks_clear(stacks->deferred);
	vmop_stack_tree_stored(stacks->tree);
	vmop_stack_tables_stored(stacks->tables);
	check_removed(stacks);
	if (stacks->spaces)
		vmop_kernel_spaces_stored(stacks->spaces);
}

void vmop_stacks_facts(const struct vmop_stacks *stacks, struct vmop_stacks_facts *ret)
{
	*ret = (struct vmop_stacks_facts){.n_waited = stacks->n_waited,
					  .n_queue_full = stacks->n_queue_full,
					  .n_by_kernel = stacks->n_by_kernel,
					  .n_copied = stacks->n_copied};
	for (size_t i = 0; i < VMOP_N_STACK_ENDS; i++) {
		ret->n_by_end[i] = stacks->n_by_end[i];
		ret->n_stacks += stacks->n_by_end[i];
	}
	vmop_stack_tree_facts(stacks->tree, &ret->tree);
	vmop_stack_tables_facts(stacks->tables, &ret->tables);
	if (!stacks->spaces)
		return;
	vmop_kernel_spaces_facts(stacks->spaces, &ret->spaces);
	vmop_unwind_maps_facts(stacks->options.unwind_maps, &ret->maps);
}
