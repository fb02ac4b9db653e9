// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/guests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/guest/images.h"
#include "daemon/host/task.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"

/* Samples that are held at a time: at first, and at most (88 bytes each). */
#define HELD_FIRST 8192u
#define HELD_MAX (128u * 1024)

/* How long the first samples of a guest wait until its kernel and processes are found. */
#define FIRST_WAIT_NS (15 * VMOP_NS_PER_S)

/* How long a sample waits for the tick that begins to watch its guest. */
#define WATCH_WAIT_NS (3 * VMOP_NS_PER_S)

/* ---- guests come and go ------------------------------------------------------- */

struct vmop_error *vmop_guests_create(struct vmop_domains *domains, struct vmop_images *images,
				      struct vmop_tasks *tasks, unsigned cpu_permille,
				      const struct vmop_off_cpu *off_cpu, struct vmop_guests **ret)
{
	struct vmop_guests *guests = calloc(1, sizeof(*guests));
	if (!guests)
		return &vmop_error_no_memory;
	guests->domains = domains;
	guests->images = images;
	guests->tasks = tasks;
	guests->has_blocked = off_cpu && off_cpu->hz;
	struct vmop_guest_watch_options options = {
		.cpu_permille = cpu_permille,
		.profiles = VMOP_GUEST_PROFILES,
		.off_cpu = off_cpu ? *off_cpu : (struct vmop_off_cpu){0},
	};
	struct vmop_error *err = NULL;
	if (!vmop_held_samples_reserve(&guests->held, HELD_FIRST, 0))
		err = &vmop_error_no_memory;
	if (!err)
		err = vmop_guest_watch_create(&options, &guests->watch);
	if (err) {
		vmop_held_samples_deinit(&guests->held);
		free(guests);
		return err;
	}
	*ret = guests;
	return NULL;
}

static void stop_watching(struct vmop_guests *guests, struct vmop_domain *domain)
{
	struct vmop_watched_guest *watched = domain->watched;
	if (!watched)
		return;
	vmop_guest_watch_remove(guests->watch, domain->id);
	vmop_guest_view_unref(watched->view);
	vmop_guest_tasks_table_deinit(&watched->tasks);
	free(watched);
	vmop_domain_set_watched(domain, NULL);
}

void vmop_guests_destroy(struct vmop_guests *guests)
{
	if (!guests)
		return;
	for (uint32_t i = 1; i < guests->domains->n; i++)
		stop_watching(guests, guests->domains->at[i]);
	vmop_guest_watch_destroy(guests->watch);
	vmop_held_samples_deinit(&guests->held);
	free(guests);
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
	vmop_domain_set_watched(domain, watched);
}

void vmop_guests_tick(struct vmop_guests *guests)
{
	for (uint32_t i = 1; i < guests->domains->n; i++) {
		struct vmop_domain *domain = guests->domains->at[i];
		bool is_wanted = domain->is_running && domain->kind == VMOP_DOMAIN_PASSIVE;
		if (is_wanted && !domain->watched)
			begin_watching(guests, domain);
		else if (!domain->is_running && domain->watched && !guests->held.n &&
			 (!guests->has_blocked || domain->watched->has_all_blocked))
			stop_watching(guests, domain);
	}
}

/* ---- 1. hold a sample ------------------------------------------------- */

bool vmop_guests_hold(struct vmop_guests *guests, struct vmop_domain *domain,
		      const struct vmop_sample_key *key, const struct vmop_record *record,
		      int32_t vcpu, const struct vmop_guest_context *context)
{
	struct vmop_held_sample sample = {
		.domain = domain,
		.ip = record->sample.ip,
		.time_ns = record->time_ns,
		.weight_events = record->sample.weight_events,
		.vcpu = vcpu,
	};
	(void)context;
	/* Byte by byte, because its padding is hashed later. */
	memcpy(&sample.key, key, sizeof(*key));
	return vmop_held_samples_add(&guests->held, &sample, NULL);
}

bool vmop_guests_want_flush(const struct vmop_guests *guests)
{
	return guests->held.n > guests->held.capacity / 4 * 3;
}

uint32_t vmop_guests_n_held(const struct vmop_guests *guests)
{
	return (uint32_t)guests->held.n;
}

/* ---- 2. the flush: take the views of the watching thread --------------------- */

static struct vmop_image *new_code_image(struct vmop_guests *guests,
					 const struct vmop_domain *domain,
					 const struct vmop_guest_code_image *from)
{
	struct vmop_image *image =
		vmop_images_new(guests->images, domain->id, from->kind, from->name, from->start,
				from->end - from->start);
	if (image->kind != from->kind)
		return image; /* the table is full: this image stands for all others */
	if (from->kind == VMOP_IMAGE_GUEST_KERNEL)
		vmop_domain_name_image(domain, image, "kernel");
	vmop_image_set_build_id(image, from->build_id, from->build_id_len_bytes);
	if (from->symbols)
		vmop_image_copy_symbols(image, from->symbols, from->n_symbols, 0);
	return image;
}

/* Return the image of map that equals `from`, such as a module that stayed; NULL: none does. */
static struct vmop_image *unchanged(const struct vmop_text_map *map,
				    const struct vmop_guest_code_image *from)
{
	size_t i = vmop_text_map_first_after(map, from->start);
	if (i == map->n || map->at[i].start != from->start || map->at[i].end != from->end)
		return NULL;
	struct vmop_image *image = map->at[i].image;
	bool is_same = image->kind == from->kind &&
		       image->build_id.len_bytes == from->build_id_len_bytes &&
		       !memcmp(image->build_id.bytes, from->build_id, from->build_id_len_bytes) &&
		       (from->kind == VMOP_IMAGE_GUEST_KERNEL || !strcmp(image->name, from->name));
	return is_same ? image : NULL;
}

static void take_code(struct vmop_guests *guests, struct vmop_domain *domain,
		      const struct vmop_guest_code *code)
{
	struct vmop_text_map map = {0};
	if (!domain->code.n)
		vmop_domain_begin_code(guests->domains, domain);
	for (size_t i = 0; i < code->n_images; i++) {
		const struct vmop_guest_code_image *from = &code->images[i];
		struct vmop_image *image = unchanged(&domain->code, from);
		struct vmop_text_piece piece = {
			.start = from->start,
			.end = from->end,
			.image = image ? vmop_image_ref(image)
				       : new_code_image(guests, domain, from)};
		vmop_text_map_put(&map, guests->images, &piece);
	}
	vmop_domain_set_code(guests->domains, domain, &map);
	vmop_domain_set_symbols_from(domain, "its memory");
}

static void take_view(struct vmop_guests *guests, struct vmop_domain *domain)
{
	struct vmop_watched_guest *watched = domain->watched;
	struct vmop_guest_view *view = vmop_guest_watch_view(guests->watch, domain->id);
	if (!view)
		return;
	bool has_own_image = domain->pattern && domain->pattern->image_path;
	if (view->code && view->code->generation != watched->code_generation && !has_own_image)
		take_code(guests, domain, view->code);
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
}

/* Give images the symbols that the watching thread read from a guest's page cache. */
static void take_symbols(struct vmop_guests *guests)
{
	struct vmop_guest_file_symbols found;
	while (vmop_guest_watch_take_symbols(guests->watch, &found)) {
		struct vmop_image *image = found.image.at < guests->images->max
						   ? guests->images->slots[found.image.at]
						   : NULL;
		if (image && found.symtab && vmop_domain_id_equals(image->domain, found.domain) &&
		    !image->symbols) {
			size_t n;
			const struct vmop_symbol *symbols = vmop_symtab_symbols(found.symtab, &n);
			vmop_image_copy_symbols(image, symbols, n, 0);
			vmop_image_mark_sampled(image); /* so that it is stored */
		}
		if (image)
			vmop_image_unref(guests->images, image); /* taken in request_symbols */
		vmop_symtab_destroy(found.symtab);
	}
}

/* ---- 3. attribute a sample by the view --------------------------------------------- */

static bool is_file(const struct vmop_guest_vma *vma)
{
	return vma->path[0] == '/' && vma->path[1] != '/';
}

static void request_symbols(struct vmop_guests *guests, const struct vmop_domain *domain,
			    struct vmop_image *image, const struct vmop_guest_vma *vma)
{
	if (image->is_wanted || !vma->file)
		return;
	vmop_image_mark_wanted(image, vmop_guest_watch_request_symbols(guests->watch, domain->id,
								       image->slot, vma));
	if (image->is_wanted)
		vmop_image_ref(image); /* keeps its slot until the symbols come */
}

struct vmop_image *vmop_guest_image_of_vma(struct vmop_guests *guests, struct vmop_domain *domain,
					   const struct vmop_guest_process *process,
					   const struct vmop_guest_vma *vma)
{
	struct vmop_watched_guest *watched = domain->watched;
	if (vma == watched->last_vma)
		return watched->last_image;
	struct vmop_image *image;
	if (is_file(vma)) {
		struct vmop_build_id id = {.len_bytes = vma->build_id_len_bytes};
		memcpy(id.bytes, vma->build_id, vma->build_id_len_bytes);
		image = vmop_images_guest_file(guests->images, domain->id, vma->path, &id);
		request_symbols(guests, domain, image, vma);
	} else if (!strcmp(vma->path, "[vdso]")) {
		image = vmop_images_named(guests->images, domain->id, VMOP_IMAGE_VDSO, "[vdso]", 0,
					  0);
	} else {
		char name[64];
		snprintf(name, sizeof(name), "[anon:%.15s]", process->comm);
		image = vmop_images_named(guests->images, domain->id, VMOP_IMAGE_ANON, name, 0, 0);
	}
	/* An image that is marked as sampled stays until the interval is stored. */
	vmop_image_mark_sampled(image);
	vmop_image_unref(guests->images, image);
	watched->last_vma = vma;
	watched->last_image = image;
	return image;
}

/* Return the image for addresses that several programs map, none of which was seen to run. */
static struct vmop_image *contested_image(struct vmop_guests *guests,
					  const struct vmop_domain *domain)
{
	char name[VMOP_GUEST_NAME_BYTES + 64];
	snprintf(name, sizeof(name), "[guest %s user, several programs]", domain->name);
	struct vmop_image *image =
		vmop_images_named(guests->images, domain->id, VMOP_IMAGE_GUEST_USER, name, 0, 0);
	vmop_image_mark_sampled(image); /* as in vmop_guest_image_of_vma */
	vmop_image_unref(guests->images, image);
	return image;
}

static void attribute_user(struct vmop_guests *guests, const struct vmop_held_sample *held,
			   struct vmop_guest_sample *sample)
{
	struct vmop_domain *domain = held->domain;
	struct vmop_watched_guest *watched = domain->watched;
	struct vmop_guest_verdict verdict = vmop_guest_attribute_user(
		&watched->attributor, held->vcpu, held->time_ns, held->ip);
	sample->key.certainty = (uint8_t)verdict.certainty;
	if (verdict.is_contested)
		sample->image = contested_image(guests, domain);
	if (!verdict.vma)
		return;
	sample->image = vmop_guest_image_of_vma(guests, domain, verdict.process, verdict.vma);
	if (sample->image->kind != VMOP_IMAGE_ANON)
		sample->offset += verdict.vma->file_offset_bytes - verdict.vma->start;
	if (verdict.process)
		sample->key.task =
			vmop_guest_tasks_table_id(&watched->tasks, verdict.process, sample->image);
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

static void attribute_kernel(const struct vmop_held_sample *held, struct vmop_guest_sample *sample)
{
	struct vmop_watched_guest *watched = held->domain->watched;
	struct vmop_guest_verdict verdict =
		vmop_guest_attribute_kernel(&watched->attributor, held->vcpu, held->time_ns);
	if (verdict.is_idle)
		sample->key.task = vmop_guest_tasks_table_idle(&watched->tasks);
	else if (verdict.process)
		sample->key.task =
			vmop_guest_tasks_table_id(&watched->tasks, verdict.process, NULL);
	if (sample->key.task.number)
		sample->key.certainty = (uint8_t)verdict.certainty;
}

static void attribute(struct vmop_guests *guests, const struct vmop_held_sample *held,
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
	if (!held->domain->watched)
		return;
	if (is_kernel)
		attribute_kernel(held, ret);
	else
		attribute_user(guests, held, ret);
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

static bool release_one(void *arg, const struct vmop_held_sample *held, const uint64_t *frames)
{
	const struct release *release = arg;
	struct vmop_guest_sample sample;
	(void)frames; /* no source delivers the callchain of a guest yet */
	if (is_early(release->guests, held, release->now_ns))
		return false;
	attribute(release->guests, held, &sample);
	release->sink->put(release->sink->arg, &sample);
	return true;
}

void vmop_guests_release(struct vmop_guests *guests, const struct vmop_guest_sink *sink)
{
	take_symbols(guests);
	for (uint32_t i = 1; i < guests->domains->n; i++) {
		if (guests->domains->at[i]->watched)
			take_view(guests, guests->domains->at[i]);
	}
	struct vmop_held_samples *held = &guests->held;
	size_t n = held->n;
	struct release release = {.guests = guests, .sink = sink};
	release.now_ns = n ? vmop_clock_ns(CLOCK_MONOTONIC) : 0;
	vmop_held_samples_release(held, release_one, &release);
	/* They took more than half of the room: make more for the next interval. */
	if (n > held->capacity / 2 && held->capacity < HELD_MAX)
		vmop_held_samples_reserve(held, held->capacity * 2, 0);
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
