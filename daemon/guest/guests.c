// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/guests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/guest/attribution.h"
#include "daemon/guest/tasks.h"
#include "daemon/guest/watch.h"
#include "daemon/host/task.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"

/* Samples held at a time: at first, and at the most (48 bytes each). */
#define HELD_FIRST 8192u
#define HELD_MAX (128u * 1024)

/* How long a guest's first samples wait for its kernel and processes to be found. */
static const uint64_t first_wait_ns = 15000000000;

/* How long a sample waits for the tick with which its guest comes to be looked into. */
static const uint64_t enter_wait_ns = 3000000000;

struct held {
	struct vmop_db_chunk_key key;
	struct vmop_domain *domain;
	uint64_t ip, time_ns, weight_events;
	int32_t vcpu;
};

/* What the sampling thread knows of one guest. */
struct vmop_guest_inside {
	struct vmop_guest_view *view;		    /* NULL: none so far */
	uint64_t entered_ns;			    /* CLOCK_MONOTONIC */
	uint32_t text_generation, tasks_generation; /* taken up from views */
	struct vmop_guest_tasks_table tasks;
	struct vmop_guest_placer placer; /* by view */
	/* The mapping of the last look-up and its image, valid for tasks_generation. */
	const struct vmop_guest_vma *last_vma;
	struct vmop_image *last_image;
};

struct vmop_guests {
	struct vmop_domains *domains;
	struct vmop_images *images;
	struct vmop_tasks *tasks;
	struct vmop_guest_watch *watch;
	struct held *held;
	uint32_t n_held, max_held;
	bool is_ending;
};

/* ---- coming and going ------------------------------------------------------ */

static bool grow_held(struct vmop_guests *guests, uint32_t max)
{
	struct held *grown = realloc(guests->held, max * sizeof(*grown));
	if (!grown)
		return false;
	guests->held = grown;
	guests->max_held = max;
	return true;
}

struct vmop_error *vmop_guests_create(struct vmop_domains *domains, struct vmop_images *images,
				      struct vmop_tasks *tasks, unsigned cpu_permille,
				      struct vmop_guests **ret)
{
	struct vmop_guests *guests = calloc(1, sizeof(*guests));
	if (!guests)
		return &vmop_error_no_memory;
	guests->domains = domains;
	guests->images = images;
	guests->tasks = tasks;
	struct vmop_guest_watch_options options = {.cpu_permille = cpu_permille,
						   .profiles = VMOP_GUEST_PROFILES};
	struct vmop_error *err = grow_held(guests, HELD_FIRST) ? NULL : &vmop_error_no_memory;
	if (!err)
		err = vmop_guest_watch_create(&options, &guests->watch);
	if (err) {
		free(guests->held);
		free(guests);
		return err;
	}
	*ret = guests;
	return NULL;
}

static void leave(struct vmop_guests *guests, struct vmop_domain *domain)
{
	struct vmop_guest_inside *inside = domain->inside;
	if (!inside)
		return;
	vmop_guest_watch_remove(guests->watch, domain->id);
	vmop_guest_view_unref(inside->view);
	vmop_guest_tasks_table_deinit(&inside->tasks);
	free(inside);
	domain->inside = NULL;
}

void vmop_guests_destroy(struct vmop_guests *guests)
{
	if (!guests)
		return;
	for (uint32_t i = 1; i < guests->domains->n; i++)
		leave(guests, guests->domains->at[i]);
	vmop_guest_watch_destroy(guests->watch);
	free(guests->held);
	free(guests);
}

static void enter(struct vmop_guests *guests, struct vmop_domain *domain)
{
	struct vmop_guest_inside *inside = calloc(1, sizeof(*inside));
	if (!inside)
		return;
	struct vmop_guest_holder holder = {
		.is_xen = domain->source_id != VMOP_NO_SOURCE_ID,
		.number = domain->source_id != VMOP_NO_SOURCE_ID ? domain->source_id
								 : domain->vmm_pid,
	};
	struct vmop_error *err = vmop_guest_watch_add(guests->watch, domain->id, holder);
	if (err) {
		vmop_error_destroy(err);
		free(inside);
		return;
	}
	vmop_guest_tasks_table_init(&inside->tasks, domain->id, guests->tasks);
	inside->entered_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	domain->inside = inside;
}

void vmop_guests_tick(struct vmop_guests *guests)
{
	for (uint32_t i = 1; i < guests->domains->n; i++) {
		struct vmop_domain *domain = guests->domains->at[i];
		bool is_wanted = domain->is_running && domain->kind == VMOP_DOMAIN_PASSIVE;
		if (is_wanted && !domain->inside)
			enter(guests, domain);
		else if (!domain->is_running && domain->inside && !guests->n_held)
			leave(guests, domain);
	}
}

/* ---- samples --------------------------------------------------------------- */

bool vmop_guests_hold(struct vmop_guests *guests, struct vmop_domain *domain,
		      const struct vmop_db_chunk_key *key, const struct vmop_record *record,
		      int32_t vcpu)
{
	if (guests->n_held == guests->max_held)
		return false;
	struct held *held = &guests->held[guests->n_held++];
	/* Byte by byte, because its padding is hashed later. */
	memcpy(&held->key, key, sizeof(*key));
	held->domain = domain;
	held->ip = record->sample.ip;
	held->time_ns = record->time_ns;
	held->weight_events = record->sample.weight_events;
	held->vcpu = vcpu;
	return true;
}

bool vmop_guests_want_flush(const struct vmop_guests *guests)
{
	return guests->max_held && guests->n_held > guests->max_held / 4 * 3;
}

/* ---- taking up what was found ------------------------------------------------ */

static struct vmop_image *new_text_image(struct vmop_guests *guests,
					 const struct vmop_domain *domain,
					 const struct vmop_guest_text_image *from)
{
	struct vmop_image *image =
		vmop_images_new(guests->images, domain->id, from->kind, from->name, from->start,
				from->end - from->start);
	if (image->kind != from->kind)
		return image; /* there was no room */
	if (from->kind == VMOP_IMAGE_GUEST_KERNEL)
		vmop_domain_name_image(domain, image, "kernel");
	vmop_image_set_build_id(image, from->build_id, from->build_id_len_bytes);
	if (from->symbols)
		vmop_image_copy_symbols(image, from->symbols, from->n_symbols, 0);
	return image;
}

/* The image that lies in map just as `from` does: a module that stayed. NULL: none. */
static struct vmop_image *unchanged(const struct vmop_text_map *map,
				    const struct vmop_guest_text_image *from)
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

/*
 * What the domain has for kernel addresses without an image of their own is, from now on, what
 * lies outside of those that are known. What it has got so far lies wherever it was.
 */
static void begin_unknown_text(struct vmop_guests *guests, struct vmop_domain *domain)
{
	struct vmop_image *old = domain->kernel;
	if (old->id || old->is_sampled) {
		struct vmop_image *made = vmop_images_new(guests->images, domain->id,
							  VMOP_IMAGE_GUEST_KERNEL, "", 0, 0);
		bool has_room = made->kind == VMOP_IMAGE_GUEST_KERNEL;
		if (has_room) {
			vmop_domain_name_image(domain, old, "kernel, not yet found");
			domain->kernel = made;
		}
		vmop_image_unref(guests->images, has_room ? old : made);
	}
	vmop_domain_name_image(domain, domain->kernel, "unknown kernel text");
}

static void take_text(struct vmop_guests *guests, struct vmop_domain *domain,
		      const struct vmop_guest_text *text)
{
	struct vmop_text_map map = {0};
	if (!domain->text.n)
		begin_unknown_text(guests, domain);
	for (size_t i = 0; i < text->n_images; i++) {
		const struct vmop_guest_text_image *from = &text->images[i];
		struct vmop_image *image = unchanged(&domain->text, from);
		struct vmop_text_piece piece = {
			.start = from->start,
			.end = from->end,
			.image = image ? vmop_image_ref(image)
				       : new_text_image(guests, domain, from)};
		vmop_text_map_put(&map, guests->images, &piece);
	}
	vmop_text_map_deinit(&domain->text, guests->images);
	domain->text = map;
	domain->symbols_from = "its memory";
	domain->is_stored = false;
}

static void take_view(struct vmop_guests *guests, struct vmop_domain *domain)
{
	struct vmop_guest_inside *inside = domain->inside;
	struct vmop_guest_view *view = vmop_guest_watch_view(guests->watch, domain->id);
	if (!view)
		return;
	bool has_own_image = domain->pattern && domain->pattern->image_path;
	if (view->text && view->text->generation != inside->text_generation && !has_own_image)
		take_text(guests, domain, view->text);
	if (view->text && view->text->generation != inside->text_generation) {
		inside->text_generation = view->text->generation;
		vmop_guest_watch_took_text(guests->watch, domain->id, inside->text_generation);
	}
	if (view->tasks && view->tasks->generation != inside->tasks_generation) {
		vmop_guest_tasks_table_sweep(&inside->tasks, view);
		inside->tasks_generation = view->tasks->generation;
	}
	if (!domain->text.n)
		domain->symbols_from = view->state;
	inside->last_vma = NULL;
	vmop_guest_placer_take(&inside->placer, view);
	vmop_guest_view_unref(inside->view);
	inside->view = view;
}

/* Symbols that the watcher read out of a guest's page cache go to their image. */
static void take_symbols(struct vmop_guests *guests)
{
	struct vmop_guest_file_symbols found;
	while (vmop_guest_watch_take_symbols(guests->watch, &found)) {
		struct vmop_image *image = found.image < guests->images->max
						   ? guests->images->slots[found.image]
						   : NULL;
		if (image && found.symtab && image->domain == found.domain && !image->symbols) {
			size_t n;
			const struct vmop_symbol *symbols = vmop_symtab_symbols(found.symtab, &n);
			vmop_image_copy_symbols(image, symbols, n, 0);
			vmop_image_mark_sampled(image); /* so that it is stored */
		}
		if (image)
			vmop_image_unref(guests->images, image); /* see want_symbols */
		vmop_symtab_destroy(found.symtab);
	}
}

/* ---- placing ----------------------------------------------------------------- */

static bool is_file(const struct vmop_guest_vma *vma)
{
	return vma->path[0] == '/' && vma->path[1] != '/';
}

static void want_symbols(struct vmop_guests *guests, const struct vmop_domain *domain,
			 struct vmop_image *image, const struct vmop_guest_vma *vma)
{
	if (image->is_wanted || !vma->file)
		return;
	vmop_image_mark_wanted(
		image, vmop_guest_watch_want_symbols(guests->watch, domain->id, image->slot, vma));
	if (image->is_wanted)
		vmop_image_ref(image); /* its slot stays its own until the answer comes */
}

/* process: whose mapping it is; NULL where it is several processes' and a file. */
static struct vmop_image *image_of_vma(struct vmop_guests *guests, struct vmop_domain *domain,
				       const struct vmop_guest_process *process,
				       const struct vmop_guest_vma *vma)
{
	struct vmop_guest_inside *inside = domain->inside;
	if (vma == inside->last_vma)
		return inside->last_image;
	struct vmop_image *image;
	if (is_file(vma)) {
		struct vmop_build_id id = {.len_bytes = vma->build_id_len_bytes};
		memcpy(id.bytes, vma->build_id, vma->build_id_len_bytes);
		image = vmop_images_guest_file(guests->images, domain->id, vma->path, &id);
		want_symbols(guests, domain, image, vma);
	} else if (!strcmp(vma->path, "[vdso]")) {
		image = vmop_images_named(guests->images, domain->id, VMOP_IMAGE_VDSO, "[vdso]", 0,
					  0);
	} else {
		char name[64];
		snprintf(name, sizeof(name), "[anon:%.15s]", process->comm);
		image = vmop_images_named(guests->images, domain->id, VMOP_IMAGE_ANON, name, 0, 0);
	}
	/* Marked as sampled it stays until the interval is stored. */
	vmop_image_mark_sampled(image);
	vmop_image_unref(guests->images, image);
	inside->last_vma = vma;
	inside->last_image = image;
	return image;
}

/* For addresses that are several programs', none of which is known to have run. */
static struct vmop_image *contested_image(struct vmop_guests *guests,
					  const struct vmop_domain *domain)
{
	char name[VMOP_GUEST_NAME_BYTES + 64];
	snprintf(name, sizeof(name), "[guest %s user, several programs]", domain->name);
	struct vmop_image *image =
		vmop_images_named(guests->images, domain->id, VMOP_IMAGE_GUEST_USER, name, 0, 0);
	vmop_image_mark_sampled(image); /* as in image_of_vma */
	vmop_image_unref(guests->images, image);
	return image;
}

static void place_user(struct vmop_guests *guests, const struct held *held,
		       struct vmop_guest_placed *placed)
{
	struct vmop_domain *domain = held->domain;
	struct vmop_guest_inside *inside = domain->inside;
	struct vmop_guest_verdict verdict =
		vmop_guest_place_user(&inside->placer, held->vcpu, held->time_ns, held->ip);
	placed->key.certainty = (uint8_t)verdict.certainty;
	if (verdict.is_contested)
		placed->image = contested_image(guests, domain);
	if (!verdict.vma)
		return;
	placed->image = image_of_vma(guests, domain, verdict.process, verdict.vma);
	if (placed->image->kind != VMOP_IMAGE_ANON)
		placed->offset += verdict.vma->file_offset_bytes - verdict.vma->start;
	if (verdict.process)
		placed->key.task =
			vmop_guest_tasks_table_id(&inside->tasks, verdict.process, placed->image);
}

/* By the kernel's text, which may be known from an image given by hand when nothing else is. */
static void place_kernel_text(const struct held *held, struct vmop_guest_placed *placed)
{
	struct vmop_image *image = vmop_text_map_find(&held->domain->text, held->ip);
	if (!image)
		return;
	placed->image = image;
	placed->offset = held->ip - image->base;
}

static void place_kernel_task(const struct held *held, struct vmop_guest_placed *placed)
{
	struct vmop_guest_inside *inside = held->domain->inside;
	struct vmop_guest_verdict verdict =
		vmop_guest_place_kernel(&inside->placer, held->vcpu, held->time_ns);
	if (verdict.is_idle)
		placed->key.task = vmop_guest_tasks_table_idle(&inside->tasks);
	else if (verdict.process)
		placed->key.task = vmop_guest_tasks_table_id(&inside->tasks, verdict.process, NULL);
	if (placed->key.task)
		placed->key.certainty = (uint8_t)verdict.certainty;
}

static void place(struct vmop_guests *guests, const struct held *held,
		  struct vmop_guest_placed *placed)
{
	bool is_kernel = held->key.mode == VMOP_MODE_KERNEL;
	*placed = (struct vmop_guest_placed){
		.image = is_kernel ? held->domain->kernel : held->domain->user,
		.offset = held->ip,
		.weight_events = held->weight_events,
	};
	memcpy(&placed->key, &held->key, sizeof(held->key));
	if (is_kernel)
		place_kernel_text(held, placed);
	if (!held->domain->inside)
		return;
	if (is_kernel)
		place_kernel_task(held, placed);
	else
		place_user(guests, held, placed);
}

/*
 * Samples of a guest that is still being searched wait a little. Of one that may be booting those
 * of its kernel do: where its programs are nobody will know.
 */
static bool is_early(const struct vmop_guests *guests, const struct held *held, uint64_t now_ns)
{
	const struct vmop_domain *domain = held->domain;
	const struct vmop_guest_inside *inside = domain->inside;
	if (!domain->is_running || guests->is_ending || vmop_guests_want_flush(guests))
		return false;
	if (!inside)
		return now_ns - held->time_ns < enter_wait_ns;
	if (now_ns - inside->entered_ns > first_wait_ns)
		return false;
	const struct vmop_guest_view *view = inside->view;
	if (!view)
		return true;
	if (!view->text)
		return view->may_be_booting && held->key.mode == VMOP_MODE_KERNEL;
	return view->text->kernel.has_processes && !view->tasks;
}

void vmop_guests_set_ending(struct vmop_guests *guests, bool is_ending)
{
	guests->is_ending = is_ending;
}

uint32_t vmop_guests_n_held(const struct vmop_guests *guests)
{
	return guests->n_held;
}

void vmop_guests_settle(struct vmop_guests *guests,
			void (*put)(void *arg, const struct vmop_guest_placed *placed), void *arg)
{
	take_symbols(guests);
	for (uint32_t i = 1; i < guests->domains->n; i++) {
		if (guests->domains->at[i]->inside)
			take_view(guests, guests->domains->at[i]);
	}
	uint32_t n_early = 0, n = guests->n_held;
	uint64_t now_ns = n ? vmop_clock_ns(CLOCK_MONOTONIC) : 0;
	for (uint32_t i = 0; i < n; i++) {
		struct vmop_guest_placed placed;
		if (is_early(guests, &guests->held[i], now_ns)) {
			memmove(&guests->held[n_early++], &guests->held[i],
				sizeof(guests->held[i]));
			continue;
		}
		place(guests, &guests->held[i], &placed);
		put(arg, &placed);
	}
	/* More came than half of what there is room for: make more. */
	if (n > guests->max_held / 2 && guests->max_held < HELD_MAX)
		grow_held(guests, guests->max_held * 2);
	guests->n_held = n_early;
}

const struct vmop_guest_view *vmop_guests_view(const struct vmop_guests *guests,
					       const struct vmop_domain *domain)
{
	return guests && domain->inside ? domain->inside->view : NULL;
}
