// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/guests.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/guest/context/code.h"
#include "daemon/guest/context/frames.h"
#include "daemon/guest/context/given-numbers.h"
#include "daemon/guest/context/samples.h"
#include "daemon/guest/context/states.h"
#include "daemon/guest/images.h"
#include "daemon/guest/watched.h"
#include "daemon/host/kernel-address.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"

/* Samples that are held at a time: at first, and at most (88 bytes each). */
#define HELD_FIRST 8192u
#define HELD_MAX (128u * 1024)

/* How long the first samples of a guest wait until its kernel and processes are found. */
#define FIRST_WAIT_NS (15 * VMOP_NS_PER_S)

/* How long a file that was gone shows that its guest deletes such files. */
#define LOSSES_LAST_NS (10 * VMOP_NS_PER_S)

/* How long a sample waits for the tick that begins to watch its guest. */
#define WATCH_WAIT_NS (3 * VMOP_NS_PER_S)

/* The longest wait for answers at the end of a session, twice. */
#define LAST_WAIT_MS 250

/* Frames of callers for which there is room, for each held sample. */
#define FRAMES_A_SAMPLE 16

static void take_view(struct vmop_guests *guests, struct vmop_domain *domain);

/* ---- guests come and go ------------------------------------------------------- */

struct vmop_error *vmop_guests_create(struct vmop_domains *domains, struct vmop_images *images,
				      struct vmop_tasks *tasks, unsigned cpu_permille,
				      const struct vmop_off_cpu *off_cpu,
				      struct vmop_guest_watch **watch, struct vmop_guests **ret)
{
	struct vmop_guests *guests = calloc(1, sizeof(*guests));
	if (!guests)
		return &vmop_error_no_memory;
	guests->domains = domains;
	guests->images = images;
	guests->tasks = tasks;
	guests->has_blocked = off_cpu && off_cpu->hz;
	guests->begun_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	struct vmop_guest_watch_options options = {
		.cpu_permille = cpu_permille,
		.profiles = VMOP_GUEST_PROFILES,
		.off_cpu = off_cpu ? *off_cpu : (struct vmop_off_cpu){0},
	};
	struct vmop_error *err = NULL;
	if (!vmop_held_samples_reserve(&guests->held, HELD_FIRST, 0, 0))
		err = &vmop_error_no_memory;
	if (watch)
		guests->watch = vmop_steal(watch);
	if (!err && !guests->watch)
		err = vmop_guest_watch_create(&options, &guests->watch);
	if (err) {
		vmop_guest_watch_destroy(guests->watch);
		vmop_held_samples_deinit(&guests->held);
		free(guests);
		return err;
	}
	*ret = guests;
	return NULL;
}

/* Free what belongs to the session. The watching thread and the source go on with the guest. */
static void leave_guest(struct vmop_guests *guests, struct vmop_domain *domain)
{
	struct vmop_watched_guest *watched = domain->watched;
	if (!watched)
		return;
	vmop_guest_sample_unwinder_destroy(watched->unwinder);
	vmop_guest_files_deinit(&watched->files, guests->images);
	vmop_guest_processes_deinit(&watched->processes, guests->images);
	vmop_guest_view_unref(watched->view);
	vmop_guest_tasks_table_deinit(&watched->tasks);
	free(watched);
	vmop_domain_set_watched(domain, NULL);
}

static void stop_watching(struct vmop_guests *guests, struct vmop_domain *domain)
{
	vmop_guest_watch_remove(guests->watch, domain->id);
	vmop_given_numbers_remove(guests, domain->watched);
	leave_guest(guests, domain);
}

struct vmop_guest_watch *vmop_guests_end_session(struct vmop_guests *guests)
{
	struct vmop_guest_watch *watch = guests->watch;
	vmop_guest_watch_park(watch);
	for (uint32_t i = 1; i < guests->domains->n; i++)
		leave_guest(guests, guests->domains->at[i]);
	vmop_held_samples_deinit(&guests->held);
	vmop_guest_states_deinit(&guests->states);
	free(guests);
	return watch;
}

void vmop_guests_destroy(struct vmop_guests *guests)
{
	if (guests)
		vmop_guest_watch_destroy(vmop_guests_end_session(guests));
}

/* Prepare for samples with contexts. Without memory, these have no files and no stacks. */
static void begin_contexts(struct vmop_guests *guests, const struct vmop_domain *domain,
			   struct vmop_watched_guest *watched)
{
	if (!guests->maps || !domain->vmm_pid)
		return;
	vmop_guest_files_init(&watched->files);
	vmop_guest_processes_init(&watched->processes);
	if (guests->stacks.mode != VMOP_STACKS_OFF)
		vmop_error_destroy(vmop_guest_sample_unwinder_create(
			guests->watch, guests->images, domain->id, &watched->unwinder));
}

static void begin_watching(struct vmop_guests *guests, struct vmop_domain *domain)
{
	struct vmop_watched_guest *watched = calloc(1, sizeof(*watched));
	if (!watched)
		return;
	struct vmop_guest_holder holder = {
		.is_xen = domain->source_id != VMOP_NO_SOURCE_ID,
		.number = domain->source_id != VMOP_NO_SOURCE_ID ? domain->source_id
								 : domain->vmm_pid,
	};
	struct vmop_error *err = vmop_guest_watch_add(guests->watch, domain->id, holder);
	if (err) {
		vmop_error_destroy(err);
		free(watched);
		return;
	}
	vmop_guest_tasks_table_init(&watched->tasks, domain->id, guests->tasks);
	watched->begun_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	begin_contexts(guests, domain, watched);
	vmop_domain_set_watched(domain, watched);
	take_view(guests, domain); /* of a guest that the session before knew */
}

/* Return whether a held sample is of the guest, and needs its facts. */
static bool holds_samples_of(const struct vmop_guests *guests, const struct vmop_domain *domain)
{
	for (size_t i = 0; i < guests->held.n; i++)
		if (guests->held.at[i].domain == domain)
			return true;
	return false;
}

void vmop_guests_tick(struct vmop_guests *guests)
{
	for (uint32_t i = 1; i < guests->domains->n; i++) {
		struct vmop_domain *domain = guests->domains->at[i];
		bool is_wanted = domain->is_running && vmop_domain_is_read(domain);
		if (is_wanted && !domain->watched)
			begin_watching(guests, domain);
		else if (!domain->is_running && domain->watched &&
			 !holds_samples_of(guests, domain) &&
			 (!guests->has_blocked || domain->watched->has_all_blocked))
			stop_watching(guests, domain);
	}
	vmop_given_numbers_sweep(guests);
}

/* ---- 1. hold a sample ------------------------------------------------- */

void vmop_guests_set_maps(struct vmop_guests *guests, struct vmop_guest_maps *maps,
			  const struct vmop_stack_options *stacks)
{
	bool has_stacks = stacks->mode != VMOP_STACKS_OFF;
	size_t n = guests->held.capacity;
	guests->maps = maps;
	guests->stacks = *stacks;
	/* Without memory, samples have no contexts or no callers. */
	vmop_held_samples_reserve(&guests->held, n, maps ? n : 0,
				  has_stacks ? n * FRAMES_A_SAMPLE : 0);
	if (maps && has_stacks)
		vmop_guest_states_init(&guests->states);
}

void vmop_guests_set_code(struct vmop_guests *guests, struct vmop_code_store *store)
{
	guests->code = store;
}

/* Return a sample that may be held. */
static struct vmop_held_sample held_sample(struct vmop_domain *domain,
					   const struct vmop_sample_key *key,
					   const struct vmop_record *record, int32_t vcpu)
{
	struct vmop_held_sample sample = {
		.domain = domain,
		.ip = record->sample.ip,
		.time_ns = record->time_ns,
		.weight_events = record->sample.weight_events,
		.vcpu = vcpu,
	};
	/* Byte by byte, because its padding is hashed later. */
	memcpy(&sample.key, key, sizeof(*key));
	return sample;
}

/*
 * Unwind the stacks in a context of process, which may be NULL. watched is NULL if the context is
 * not current. The callers are guests->unwound.
 */
static void unwind(struct vmop_guests *guests, const struct vmop_watched_guest *watched,
		   const struct vmop_guest_process *process,
		   const struct vmop_guest_context *context)
{
	struct vmop_guest_callers *unwound = &guests->unwound;
	unwound->n = 0;
	unwound->end = VMOP_STACK_NOT_RECORDED;
	unwound->is_likely = false;
	if (!watched || !watched->unwinder)
		return;
	vmop_guest_sample_unwinder_unwind(watched->unwinder, watched->view, process, context,
					  unwound);
	if (unwound->n > guests->stacks.max_frames) {
		unwound->n = guests->stacks.max_frames;
		unwound->end = VMOP_STACK_DEPTH_LIMIT;
	}
}

bool vmop_guests_hold(struct vmop_guests *guests, struct vmop_domain *domain,
		      const struct vmop_sample_key *key, const struct vmop_record *record,
		      int32_t vcpu, const struct vmop_guest_context *context)
{
	struct vmop_held_sample sample = held_sample(domain, key, record, vcpu);
	struct vmop_watched_guest *watched = domain->watched;
	struct vmop_held_context kept;
	/* A state that is there lost its sample. */
	vmop_guest_states_take(&guests->states, record->sample.cpu, record->sample.tid);
	guests->has_unwound = false;
	if (watched)
		vmop_guest_context_count(watched, context);
	if (!context)
		return vmop_held_samples_add(&guests->held, &sample, NULL, NULL);
	vmop_guest_context_keep(context, &kept);
	bool is_current = vmop_guest_context_is_current(watched, kept.generation);
	const struct vmop_guest_process *process =
		is_current ? vmop_guest_context_request(guests, domain, context, &kept, sample.ip,
							sample.time_ns)
			   : NULL;
	if (guests->stacks.mode != VMOP_STACKS_OFF) {
		unwind(guests, is_current ? watched : NULL, process, context);
		guests->has_unwound = sample.has_stack = true;
		sample.stack_end = (uint8_t)guests->unwound.end;
		sample.is_likely = guests->unwound.is_likely;
		sample.n_frames = (uint32_t)guests->unwound.n;
	}
	bool has_room = guests->held.n_contexts < guests->held.context_capacity;
	return vmop_held_samples_add(&guests->held, &sample, has_room ? &kept : NULL,
				     guests->unwound.frames);
}

const struct vmop_guest_callers *vmop_guests_callers(const struct vmop_guests *guests)
{
	return guests->has_unwound ? &guests->unwound : NULL;
}

bool vmop_guests_hold_frames(struct vmop_guests *guests, struct vmop_domain *domain,
			     const struct vmop_sample_key *key, const struct vmop_record *record,
			     int32_t vcpu, const struct vmop_guest_held_frames *frames)
{
	struct vmop_held_sample sample = held_sample(domain, key, record, vcpu);
	size_t most = VMOP_STACK_FRAMES_MAX;
	sample.has_stack = true;
	sample.stack_end = (uint8_t)(frames->n > most ? VMOP_STACK_DEPTH_LIMIT : frames->end);
	sample.n_frames = (uint32_t)(frames->n > most ? most : frames->n);
	return vmop_held_samples_add(&guests->held, &sample, NULL, frames->frames);
}

enum vmop_guest_probed vmop_guests_probe(struct vmop_guests *guests,
					 const struct vmop_domain *domain,
					 const struct vmop_guest_probe *probe,
					 uint8_t ret[VMOP_GUEST_PROBE_BYTES])
{
	return domain->watched ? vmop_guest_watch_probe(guests->watch, domain->id, probe, ret)
			       : VMOP_GUEST_PROBE_ABSENT;
}

bool vmop_guests_want_flush(const struct vmop_guests *guests)
{
	const struct vmop_held_samples *held = &guests->held;
	return held->n > held->capacity / 4 * 3 || held->n_frames > held->frame_capacity / 4 * 3;
}

uint32_t vmop_guests_n_held(const struct vmop_guests *guests)
{
	return (uint32_t)guests->held.n;
}

/* ---- 2. the flush: take the views of the watching thread --------------------- */

static void take_view(struct vmop_guests *guests, struct vmop_domain *domain)
{
	struct vmop_watched_guest *watched = domain->watched;
	struct vmop_guest_view *view = vmop_guest_watch_view(guests->watch, domain->id);
	if (!view)
		return;
	if (view == watched->view) {
		vmop_guest_view_unref(view);
		vmop_given_numbers_put(guests, domain); /* there may have been no room before */
		return;
	}
	bool has_own_image = domain->pattern && domain->pattern->image_path;
	if (view->code && view->code->generation != watched->code_generation && !has_own_image)
		vmop_guest_take_code(guests, domain, view->code);
	if (view->code && view->code->generation != watched->code_generation) {
		watched->code_generation = view->code->generation;
		vmop_guest_watch_drop_symbols(guests->watch, domain->id, watched->code_generation);
	}
	if (view->tasks && view->tasks->generation != watched->tasks_generation) {
		vmop_guest_tasks_table_sweep(&watched->tasks, view);
		watched->tasks_generation = view->tasks->generation;
	}
	if (!domain->code.n)
		vmop_domain_set_symbols_from(domain, view->state);
	watched->last_vma = NULL;
	vmop_guest_attributor_set_view(&watched->attributor, view);
	vmop_guest_view_unref(watched->view);
	watched->view = view;
	vmop_given_numbers_put(guests, domain);
}

/* Take all that the watching thread has found. */
static void take_news(struct vmop_guests *guests)
{
	vmop_guest_take_symbols(guests);
	vmop_guest_take_answers(guests);
	for (uint32_t i = 1; i < guests->domains->n; i++) {
		if (guests->domains->at[i]->watched)
			take_view(guests, guests->domains->at[i]);
	}
}

bool vmop_guests_lose_files(const struct vmop_guests *guests)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	for (uint32_t i = 1; i < guests->domains->n; i++) {
		const struct vmop_watched_guest *watched = guests->domains->at[i]->watched;
		if (watched && watched->lost_ns && now_ns - watched->lost_ns < LOSSES_LAST_NS)
			return true;
	}
	return false;
}

void vmop_guests_drained(struct vmop_guests *guests)
{
	if (guests->maps)
		take_news(guests);
}

/* ---- 3. attribute a sample by the view --------------------------------------------- */

/* Set the task of a sample to process, which may be NULL. file: see vmop_guest_task_facts. */
static void put_task(struct vmop_watched_guest *watched, const struct vmop_guest_process *process,
		     struct vmop_image *file, struct vmop_guest_sample *sample)
{
	if (!process)
		return;
	const struct vmop_guest_task_facts facts = {
		.pid = process->pid,
		.start_time_ns = process->start_time_ns,
		.comm = process->comm,
		.cgroup = process->cgroup,
		.file = file,
	};
	sample->key.task = vmop_guest_tasks_table_id(&watched->tasks, &facts);
	sample->pid = process->pid;
}

/* Attribute user code without a context. Return the process, or NULL. */
static const struct vmop_guest_process *attribute_user(struct vmop_guests *guests,
						       const struct vmop_held_sample *held,
						       struct vmop_guest_sample *sample)
{
	struct vmop_domain *domain = held->domain;
	struct vmop_watched_guest *watched = domain->watched;
	struct vmop_guest_verdict verdict = vmop_guest_attribute_user(
		&watched->attributor, held->vcpu, held->time_ns, held->ip);
	sample->key.certainty = (uint8_t)verdict.certainty;
	if (verdict.is_contested)
		sample->image =
			vmop_guest_image_of_reason(guests, domain, "user, several programs");
	if (!verdict.vma)
		return NULL;
	sample->image = vmop_guest_image_of_vma(guests, domain, verdict.process, verdict.vma);
	sample->offset = vmop_guest_offset_in_vma(sample->image, verdict.vma, held->ip);
	put_task(watched, verdict.process, sample->image, sample);
	return verdict.process;
}

/* Find the image of kernel code, which an image that the user gave can contain without a view. */
static void find_kernel_image(const struct vmop_held_sample *held, struct vmop_guest_sample *sample)
{
	struct vmop_image *image = vmop_text_map_find(&held->domain->code, held->ip);
	if (!image)
		return;
	sample->image = image;
	sample->offset = held->ip - image->base;
}

/* Return whether a guest with a known kernel ran none: firmware, a boot loader, or its own
 * decompressor. */
static bool is_boot_code(const struct vmop_held_sample *held)
{
	const struct vmop_watched_guest *watched = held->domain->watched;
	return held->key.mode == VMOP_MODE_KERNEL && !vmop_is_kernel_address(held->ip) && watched &&
	       watched->view && watched->view->code;
}

/* Attribute kernel code without a context. Return the process, or NULL. */
static const struct vmop_guest_process *attribute_kernel(const struct vmop_held_sample *held,
							 struct vmop_guest_sample *sample)
{
	struct vmop_watched_guest *watched = held->domain->watched;
	/* After a reset the memory has the tasks of the kernel from before. */
	if (is_boot_code(held))
		return NULL;
	struct vmop_guest_verdict verdict =
		vmop_guest_attribute_kernel(&watched->attributor, held->vcpu, held->time_ns);
	if (verdict.is_idle)
		sample->key.task = vmop_guest_tasks_table_idle(&watched->tasks);
	else
		put_task(watched, verdict.process, NULL, sample);
	if (sample->key.task.number)
		sample->key.certainty = (uint8_t)verdict.certainty;
	return verdict.process;
}

/* Attribute a sample by its context or by the view. Return the process, or NULL. */
static const struct vmop_guest_process *attribute_task(struct vmop_guests *guests,
						       const struct vmop_held_sample *held,
						       const struct vmop_held_context *context,
						       struct vmop_guest_sample *sample)
{
	const struct vmop_watched_guest *watched = held->domain->watched;
	if (!watched)
		return NULL;
	if (context && context->parts & VMOP_GUEST_HAS_TASK &&
	    vmop_guest_context_is_current(watched, context->generation))
		return vmop_guest_context_attribute(guests, held, context, sample);
	return held->key.mode == VMOP_MODE_KERNEL ? attribute_kernel(held, sample)
						  : attribute_user(guests, held, sample);
}

static void attribute(struct vmop_guests *guests, const struct vmop_held_sample *held,
		      const struct vmop_held_context *context, const uint64_t *frames,
		      struct vmop_guest_sample *ret)
{
	bool is_kernel = held->key.mode == VMOP_MODE_KERNEL;
	*ret = (struct vmop_guest_sample){
		.image = is_kernel ? held->domain->kernel : held->domain->user,
		.offset = held->ip,
		.weight_events = held->weight_events,
	};
	memcpy(&ret->key, &held->key, sizeof(held->key));
	if (is_kernel)
		find_kernel_image(held, ret);
	if (is_boot_code(held))
		ret->image =
			vmop_guest_image_of_reason(guests, held->domain, "firmware or boot code");
	const struct vmop_guest_process *process = attribute_task(guests, held, context, ret);
	if (guests->code && held->domain->watched)
		vmop_guest_code_sampled(guests, held, context, process, ret);
	if (!held->has_stack)
		return;
	vmop_guest_resolve_frames(guests, held->domain, process, frames, held->n_frames,
				  (enum vmop_stack_end)held->stack_end, &guests->frames);
	ret->callers = &guests->frames;
	if (held->is_likely && ret->key.certainty == VMOP_CERTAIN_EXACT)
		ret->key.certainty = VMOP_CERTAIN_LIKELY;
}

/* ---- 4. release the samples into the sink --------------------------------------------- */

/*
 * Return whether a sample must wait for a later flush, because its guest is still being searched.
 * If the guest may be booting, only its kernel samples wait: the programs that ran then stay
 * unknown.
 */
static bool is_early(const struct vmop_guests *guests, const struct vmop_held_sample *held,
		     uint64_t now_ns)
{
	const struct vmop_domain *domain = held->domain;
	const struct vmop_watched_guest *watched = domain->watched;
	if (!domain->is_running || guests->is_ending || vmop_guests_want_flush(guests))
		return false;
	if (!watched)
		return now_ns - held->time_ns < WATCH_WAIT_NS;
	if (now_ns - watched->begun_ns > FIRST_WAIT_NS)
		return false;
	const struct vmop_guest_view *view = watched->view;
	if (!view)
		return true;
	if (!view->code)
		return view->may_be_booting && held->key.mode == VMOP_MODE_KERNEL;
	return view->code->kernel.has_processes && !view->tasks;
}

struct release {
	struct vmop_guests *guests;
	const struct vmop_guest_sink *sink;
	uint64_t now_ns;
};

/* Return whether an answer for a sample is awaited, which comes soon. */
static bool waits(const struct vmop_guests *guests, const struct vmop_held_sample *held,
		  const struct vmop_held_context *context)
{
	const struct vmop_watched_guest *watched = held->domain->watched;
	return context && held->domain->is_running && !guests->is_ending &&
	       !vmop_guests_want_flush(guests) &&
	       vmop_guest_context_is_current(watched, context->generation) &&
	       vmop_guest_context_waits(watched, held, context);
}

static bool release_one(void *arg, const struct vmop_held_sample *held,
			const struct vmop_held_context *context, const uint64_t *frames)
{
	const struct release *release = arg;
	struct vmop_guest_sample sample;
	if (is_early(release->guests, held, release->now_ns) ||
	    waits(release->guests, held, context))
		return false;
	attribute(release->guests, held, context, frames, &sample);
	release->sink->put(release->sink->arg, &sample);
	return true;
}

/* Wait for the last answers, and for the symbols of the files that they name. */
static void take_last_news(struct vmop_guests *guests)
{
	for (unsigned i = 0; i < 2; i++) {
		vmop_guest_watch_await_answers(guests->watch, LAST_WAIT_MS);
		take_news(guests);
	}
}

static void begin_interval(struct vmop_guests *guests)
{
	for (uint32_t i = 1; i < guests->domains->n; i++) {
		if (guests->domains->at[i]->watched)
			guests->domains->at[i]->watched->n_code_requests = 0;
		if (guests->domains->at[i]->watched && guests->maps)
			vmop_guest_context_next_interval(guests, guests->domains->at[i]);
	}
}

void vmop_guests_release(struct vmop_guests *guests, const struct vmop_guest_sink *sink)
{
	struct vmop_held_samples *held = &guests->held;
	size_t n = held->n, n_frames = held->n_frames;
	take_news(guests);
	if (guests->maps && guests->is_ending)
		take_last_news(guests);
	struct release release = {.guests = guests, .sink = sink};
	release.now_ns = n ? vmop_clock_ns(CLOCK_MONOTONIC) : 0;
	vmop_held_samples_release(held, release_one, &release);
	if (guests->code && guests->is_ending) /* for the code of the last samples */
		take_last_news(guests);
	begin_interval(guests);
	/* They took more than half of the room: make more for the next interval. */
	if ((n > held->capacity / 2 || n_frames > held->frame_capacity / 2) &&
	    held->capacity < HELD_MAX)
		vmop_held_samples_reserve(held, held->capacity * 2, held->context_capacity * 2,
					  held->frame_capacity * 2);
}

/* ---- the states that guests left ---------------------------------------------- */

void vmop_guests_keep_state(struct vmop_guests *guests, struct vmop_domain *domain, uint32_t cpu,
			    uint32_t tid, const struct vmop_guest_context *context)
{
	struct vmop_guest_state *state = vmop_guest_states_of(&guests->states, cpu);
	const struct vmop_guest_callers *callers = &guests->unwound;
	if (!state)
		return;
	state->is_kept = false;
	vmop_guest_context_keep(context, &state->context);
	if (!(context->parts & VMOP_GUEST_HAS_REGS) ||
	    !vmop_guest_context_is_current(domain->watched, context->generation))
		return;
	uint64_t address = context->regs[VMOP_GUEST_REGS - 1]; /* the instruction pointer */
	const struct vmop_guest_process *process = vmop_guest_context_request(
		guests, domain, context, &state->context, address, vmop_clock_ns(CLOCK_MONOTONIC));
	unwind(guests, domain->watched, process, context);
	state->frames[0] = vmop_guest_frame_pack(address, true);
	state->n = callers->n < VMOP_STACK_FRAMES_MAX ? callers->n : VMOP_STACK_FRAMES_MAX - 1;
	memcpy(state->frames + 1, callers->frames, state->n * sizeof(*state->frames));
	state->n++;
	state->end = callers->end;
	state->domain = domain;
	state->tid = tid;
	state->is_kept = true;
}

const struct vmop_stack_frames *vmop_guests_take_state(struct vmop_guests *guests, uint32_t cpu,
						       uint32_t tid)
{
	const struct vmop_guest_state *state = vmop_guest_states_take(&guests->states, cpu, tid);
	if (!state ||
	    !vmop_guest_context_is_current(state->domain->watched, state->context.generation))
		return NULL;
	vmop_guest_resolve_known_frames(
		guests, state->domain,
		vmop_guest_context_process(state->domain->watched, &state->context), state->frames,
		state->n, state->end, &guests->frames);
	vmop_guest_context_place_known(state->domain->watched, &state->context,
				       vmop_guest_frame_address(state->frames[0]),
				       &guests->frames.at[0]);
	return &guests->frames;
}

void vmop_guests_take_last_symbols(struct vmop_guests *guests)
{
	guests->n_symbols_unread = vmop_guest_watch_await_symbols(guests->watch, LAST_WAIT_MS);
	vmop_guest_take_symbols(guests);
	vmop_guest_take_answers(guests);
}

uint64_t vmop_guests_n_symbols_unread(const struct vmop_guests *guests)
{
	return guests->n_symbols_unread;
}

void vmop_guests_set_ending(struct vmop_guests *guests, bool is_ending)
{
	guests->is_ending = is_ending;
}

const struct vmop_guest_view *vmop_guests_view(const struct vmop_guests *guests,
					       const struct vmop_domain *domain)
{
	return guests && domain->watched ? domain->watched->view : NULL;
}
