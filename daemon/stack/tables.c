// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/stack/tables.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "daemon/host/image-file.h"
#include "daemon/host/maps.h"
#include "daemon/stack/kernel-tables.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/log.h"
#include "libutil/readers.h"

/* The time of a build before its file counts as hanging: the CPU limit, on a busy machine. */
#define BUILD_MS 8000
/* The number of tables that are requested at once. The others are requested at their next sample.
 */
#define WANTED_MAX 1024
/* Places whose files have answered. The oldest one is forgotten: its next build finds it again. */
#define PLACES_MAX 64
/* Intervals before a file is read again that could not be opened, or had no room. */
#define RETRY_INTERVALS 10

/*
 * The threads that build. A file on a place that has not answered yet can hang, and then only
 * delays the builds of other such files.
 */
enum lane { KNOWN_PLACES, NEW_PLACES, N_LANES };

enum state { NONE, PENDING, READY, NO_CFI, UNREADABLE };

/* The table of the image in that slot. */
struct entry {
	struct vmop_cfi_table *table;
	size_t bytes;
	uint32_t last_used; /* interval */
	uint32_t retry;	    /* UNREADABLE: interval of the next try; 0: never */
	/* With --callgraph=bpf; the number is VMOP_UNWIND_NOT_YET as long as the age is 0. */
	uint32_t kernel_number, kernel_age;
	uint8_t state;
	bool is_building; /* a job exists, which may hang */
	bool is_copying;  /* into the kernel */
};

struct vmop_stack_tables {
	struct vmop_images *images;
	const struct vmop_image *vdso;
	const char *root;
	struct vmop_stack_tables_limits limits;
	struct vmop_readers *lanes[N_LANES]; /* NULL: no files */
	struct vmop_kernel_tables *kernel;   /* NULL: no tables in the kernel */
	uint32_t kernel_age;
	uint64_t n_kernel_removed;
	uint64_t places[PLACES_MAX]; /* that have answered; 0: none */
	unsigned next_place;
	struct vmop_cfi_table *vdso_table; /* NULL unless VMOP_CODE_HAS_TABLE */
	enum vmop_code_state vdso_state;
	struct entry *entries; /* by slot; each that is not NONE has a reference to its image */
	uint32_t wanted[WANTED_MAX], n_wanted; /* slots */
	uint32_t interval;
	uint32_t counts[UNREADABLE + 1]; /* by state */
	size_t bytes;
	uint64_t n_evicted;
	bool has_changed;
};

static void set_state(struct vmop_stack_tables *tables, struct entry *entry, enum state state)
{
	tables->counts[entry->state]--;
	tables->counts[state]++;
	tables->has_changed |= entry->state == PENDING;
	entry->state = state;
}

static struct vmop_image *image_of(const struct vmop_stack_tables *tables,
				   const struct entry *entry)
{
	return tables->images->slots[entry - tables->entries];
}

/* ---- the kernel's tables --------------------------------------------------- */

/* Begin to copy table, which is that of entry, into the kernel. */
static void copy_to_kernel(struct vmop_stack_tables *tables, struct entry *entry,
			   const struct vmop_cfi_table *table)
{
	struct vmop_image_slot slot = {(uint32_t)(entry - tables->entries)};
	entry->is_copying = tables->kernel && vmop_kernel_tables_put(tables->kernel, slot, table);
}

static void set_kernel_number(struct vmop_stack_tables *tables, struct entry *entry,
			      uint32_t number)
{
	entry->kernel_number = number;
	entry->kernel_age = number == VMOP_UNWIND_NOT_YET ? 0 : ++tables->kernel_age;
}

static void finish_copy(void *arg, struct vmop_image_slot image, uint32_t number)
{
	struct vmop_stack_tables *tables = arg;
	struct entry *entry = &tables->entries[image.at];
	entry->is_copying = false;
	set_kernel_number(tables, entry, number);
}

static void remove_from_kernel(struct vmop_stack_tables *tables, struct entry *entry)
{
	if (entry->kernel_age && entry->kernel_number != VMOP_UNWIND_NO_TABLE) {
		tables->n_kernel_removed++;
		vmop_kernel_tables_remove(tables->kernel, entry->kernel_number);
	}
	set_kernel_number(tables, entry, VMOP_UNWIND_NOT_YET);
}

struct vmop_error *vmop_stack_tables_copy_to(struct vmop_stack_tables *tables,
					     struct vmop_unwind_maps *maps)
{
	struct vmop_error *err = vmop_kernel_tables_create(maps, &tables->kernel);
	if (!err && tables->vdso_table && tables->vdso->slot.at < tables->limits.max_images)
		copy_to_kernel(tables, &tables->entries[tables->vdso->slot.at], tables->vdso_table);
	return err;
}

/* Return the entry with the kernel's number for an image, or NULL: it never has a table. */
static const struct entry *kernel_entry(const struct vmop_stack_tables *tables,
					const struct vmop_image *image)
{
	bool is_vdso = image == tables->vdso && image->kind == VMOP_IMAGE_VDSO;
	if (image->slot.at >= tables->limits.max_images ||
	    (is_vdso ? tables->vdso_state == VMOP_CODE_NO_TABLE : image->kind != VMOP_IMAGE_FILE))
		return NULL;
	return &tables->entries[image->slot.at];
}

uint32_t vmop_stack_tables_kernel_number(const struct vmop_stack_tables *tables,
					 const struct vmop_region *region)
{
	const struct entry *entry = kernel_entry(tables, vmop_image_canonical(region->image));
	if (!entry)
		return VMOP_UNWIND_NO_TABLE;
	return entry->kernel_age ? entry->kernel_number : VMOP_UNWIND_NOT_YET;
}

uint32_t vmop_stack_tables_kernel_age(const struct vmop_stack_tables *tables,
				      const struct vmop_region *region)
{
	const struct entry *entry = kernel_entry(tables, vmop_image_canonical(region->image));
	return entry ? entry->kernel_age : 0;
}

void vmop_stack_tables_forgotten(struct vmop_stack_tables *tables)
{
	if (tables->kernel)
		vmop_kernel_tables_forgotten(tables->kernel);
}

void vmop_stack_tables_touch(struct vmop_stack_tables *tables, struct vmop_image *image)
{
	uint32_t at = vmop_image_canonical(image)->slot.at;
	if (at < tables->limits.max_images)
		tables->entries[at].last_used = tables->interval;
}

/* ---- images ---------------------------------------------------------------- */

/* Return whether a thread uses the entry, or will. */
static bool is_busy(const struct entry *entry)
{
	return entry->state == PENDING || entry->is_building || entry->is_copying;
}

/* Forget the image of entry, and free its table. */
static void release(struct vmop_stack_tables *tables, struct entry *entry)
{
	if (tables->kernel)
		remove_from_kernel(tables, entry);
	tables->n_evicted += entry->state == READY;
	tables->bytes -= entry->bytes;
	vmop_cfi_table_destroy(entry->table);
	entry->table = NULL;
	entry->bytes = 0;
	set_state(tables, entry, NONE);
	vmop_image_unref(tables->images, image_of(tables, entry));
}

/* ---- building -------------------------------------------------------------- */

struct build {
	struct vmop_read_job job;
	struct vmop_image *image; /* the owner's, referenced */
	struct vmop_image_file file;
	struct vmop_cfi_limits limits;
	/* The result. */
	struct vmop_cfi_table *table;
	struct vmop_error *err;
	bool is_open;
};

static void run_build(struct vmop_read_job *job)
{
	struct build *build = (struct build *)job;
	_cleanup_close_ int fd = -1;
	build->err = vmop_image_file_open(&build->file, &fd);
	if (build->err)
		return;
	build->is_open = true;
	build->err = vmop_cfi_table_build(fd, &build->limits, &build->table);
}

static void destroy_build(struct vmop_read_job *job)
{
	struct build *build = (struct build *)job;
	vmop_cfi_table_destroy(build->table);
	vmop_error_destroy(build->err);
	vmop_image_file_deinit(&build->file);
	free(build);
}

/* Return the ready table that was not used for the longest time, or NULL: all are in use. */
static struct entry *least_recently_used(struct vmop_stack_tables *tables)
{
	struct entry *least = NULL;
	for (uint32_t i = 0; i < tables->limits.max_images; i++) {
		struct entry *entry = &tables->entries[i];
		if (entry->state == READY && !is_busy(entry) &&
		    entry->last_used != tables->interval &&
		    (!least || entry->last_used < least->last_used))
			least = entry;
	}
	return least;
}

static bool make_room(struct vmop_stack_tables *tables, size_t bytes)
{
	while (tables->bytes + bytes > tables->limits.max_bytes) {
		struct entry *entry = least_recently_used(tables);
		if (!entry)
			return false;
		release(tables, entry);
	}
	return true;
}

static void set_unreadable(struct vmop_stack_tables *tables, struct entry *entry, bool may_retry)
{
	set_state(tables, entry, UNREADABLE);
	entry->retry = may_retry ? tables->interval + RETRY_INTERVALS : 0;
}

static void take_table(struct vmop_stack_tables *tables, struct entry *entry, struct build *build)
{
	struct vmop_cfi_facts facts;
	vmop_cfi_table_facts(build->table, &facts);
	if (!make_room(tables, facts.table_bytes)) {
		vmop_log_debug("%s: no room for its unwind table", build->file.name);
		set_unreadable(tables, entry, true);
		return;
	}
	entry->table = vmop_steal(&build->table);
	entry->bytes = facts.table_bytes;
	tables->bytes += entry->bytes;
	set_state(tables, entry, READY);
	copy_to_kernel(tables, entry, entry->table);
}

/* Return the entry of a place that has answered, or NULL. */
static uint64_t *find_place(struct vmop_stack_tables *tables, uint64_t place)
{
	for (unsigned i = 0; place && i < PLACES_MAX; i++)
		if (tables->places[i] == place)
			return &tables->places[i];
	return NULL;
}

/* Note whether the files of a place answer. */
static void note_place(struct vmop_stack_tables *tables, uint64_t place, bool answers)
{
	uint64_t *known = find_place(tables, place);
	if (known && !answers)
		*known = 0;
	else if (!known && answers)
		tables->places[tables->next_place++ % PLACES_MAX] = place;
}

static void finish_build(struct vmop_read_job *job, enum vmop_read_outcome outcome, void *arg)
{
	struct build *build = (struct build *)job;
	struct vmop_stack_tables *tables = arg;
	struct entry *entry = &tables->entries[build->image->slot.at];
	if (outcome != VMOP_READ_REFUSED)
		note_place(tables, job->place, outcome == VMOP_READ_DONE && build->is_open);
	if (outcome == VMOP_READ_HUNG) { /* the build keeps its reference and the entry */
		set_unreadable(tables, entry, false);
		return;
	}
	entry->is_building = false;
	if (build->table) {
		take_table(tables, entry, build);
	} else if (build->err && build->err->code == VMOP_ERROR_NOT_FOUND && build->is_open) {
		set_state(tables, entry, NO_CFI);
		set_kernel_number(tables, entry, VMOP_UNWIND_NO_TABLE);
	} else {
		if (build->err)
			vmop_log_debug("%s: no unwind table: %s", build->file.name,
				       build->err->message);
		set_unreadable(tables, entry, !build->is_open);
	}
}

static const struct vmop_read_job_ops build_ops = {
	.run = run_build,
	.finish = finish_build,
	.destroy = destroy_build,
};

/* Submit the build of a wanted table. */
static void ask(struct vmop_stack_tables *tables, struct entry *entry)
{
	struct vmop_image *image = image_of(tables, entry);
	struct build *build = tables->root ? calloc(1, sizeof(*build)) : NULL;
	if (!build || !vmop_image_file_init(&build->file, image, tables->root)) {
		free(build);
		set_unreadable(tables, entry, tables->root != NULL);
		return;
	}
	build->job = (struct vmop_read_job){.ops = &build_ops, .place = build->file.place};
	build->image = image;
	build->limits = tables->limits.image;
	entry->is_building = true;
	enum lane lane = find_place(tables, build->job.place) ? KNOWN_PLACES : NEW_PLACES;
	vmop_readers_submit(tables->lanes[lane], &build->job);
}

bool vmop_stack_tables_collect(struct vmop_stack_tables *tables, unsigned wait_ms)
{
	tables->has_changed = false;
	for (uint32_t i = 0; i < tables->n_wanted; i++)
		ask(tables, &tables->entries[tables->wanted[i]]);
	tables->n_wanted = 0;
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + wait_ms * VMOP_NS_PER_MS;
	for (unsigned i = 0; i < N_LANES && tables->lanes[i]; i++) {
		uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
		uint64_t left_ns = wait_ms && now_ns < end_ns ? end_ns - now_ns : 0;
		vmop_readers_collect(tables->lanes[i], (unsigned)(left_ns / VMOP_NS_PER_MS));
	}
	if (tables->kernel)
		vmop_kernel_tables_collect(tables->kernel, finish_copy, tables);
	return tables->has_changed;
}

/* ---- finding --------------------------------------------------------------- */

/* Note that the table of image, mapped in region of process pid, must be built. */
static void want(struct vmop_stack_tables *tables, struct entry *entry, struct vmop_image *image,
		 const struct vmop_region *region, uint32_t pid)
{
	if (tables->n_wanted == WANTED_MAX || entry->is_building)
		return;
	if (entry->state == NONE)
		vmop_image_ref(image);
	vmop_image_set_mapping(image, pid, region->start, region->end);
	set_state(tables, entry, PENDING);
	tables->wanted[tables->n_wanted++] = image->slot.at;
}

static enum vmop_code_state code_state(enum state state)
{
	switch (state) {
	case READY:
		return VMOP_CODE_HAS_TABLE;
	case NO_CFI:
		return VMOP_CODE_NO_TABLE;
	case UNREADABLE:
		return VMOP_CODE_UNREADABLE;
	case NONE: /* requested at the next sample */
	case PENDING:
		break;
	}
	return VMOP_CODE_PENDING;
}

enum vmop_code_state vmop_stack_tables_find(struct vmop_stack_tables *tables,
					    const struct vmop_region *region, uint32_t pid,
					    const struct vmop_cfi_table **ret)
{
	struct vmop_image *image = vmop_image_canonical(region->image);
	*ret = NULL;
	if (image->kind == VMOP_IMAGE_VDSO && image == tables->vdso) {
		*ret = tables->vdso_table;
		return tables->vdso_state;
	}
	if (image->kind != VMOP_IMAGE_FILE || image->slot.at >= tables->limits.max_images)
		return VMOP_CODE_NO_TABLE;
	struct entry *entry = &tables->entries[image->slot.at];
	entry->last_used = tables->interval;
	if (entry->state == NONE || (entry->state == UNREADABLE && entry->retry &&
				     (int32_t)(tables->interval - entry->retry) >= 0))
		want(tables, entry, image, region, pid);
	*ret = entry->table;
	return code_state(entry->state);
}

/* ---- life ------------------------------------------------------------------ */

static void find_own_vdso(void *arg, const struct vmop_maps_line *line)
{
	uint64_t *range = arg;
	if (line->start == range[0])
		range[1] = line->end;
}

static void build_vdso(struct vmop_stack_tables *tables)
{
	uint64_t range[2] = {getauxval(AT_SYSINFO_EHDR), 0};
	if (!range[0] || vmop_maps_read(NULL, "", (uint32_t)getpid(), find_own_vdso, range) ||
	    !range[1])
		return;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives it as a number */
	const void *memory = (const void *)(uintptr_t)range[0];
	struct vmop_error *err = vmop_cfi_table_build_from_memory(
		memory, range[1] - range[0], &tables->limits.image, &tables->vdso_table);
	/* arm64's has no CFI in some kernels, 6.1 for example. */
	if (!err)
		tables->vdso_state = VMOP_CODE_HAS_TABLE;
	else if (err->code == VMOP_ERROR_NOT_FOUND)
		tables->vdso_state = VMOP_CODE_NO_TABLE;
	vmop_log_and_destroy(VMOP_LOG_DEBUG, err);
}

struct vmop_error *vmop_stack_tables_create(struct vmop_images *images,
					    const struct vmop_image *vdso, const char *root,
					    const struct vmop_stack_tables_limits *limits,
					    struct vmop_stack_tables **ret)
{
	struct vmop_stack_tables *tables = calloc(1, sizeof(*tables));
	if (!tables)
		return &vmop_error_no_memory;
	tables->images = images;
	tables->vdso = vdso;
	tables->root = root;
	tables->limits = *limits;
	tables->interval = 1;
	tables->vdso_state = VMOP_CODE_UNREADABLE;
	tables->counts[NONE] = limits->max_images;
	tables->entries = calloc(limits->max_images, sizeof(*tables->entries));
	struct vmop_error *err = tables->entries ? NULL : &vmop_error_no_memory;
	for (unsigned i = 0; !err && root && i < N_LANES; i++)
		err = vmop_readers_create("vmopd-unwind", BUILD_MS, 0, tables, &tables->lanes[i]);
	if (err) {
		vmop_stack_tables_destroy(tables);
		return err;
	}
	if (root && vdso)
		build_vdso(tables);
	*ret = tables;
	return NULL;
}

void vmop_stack_tables_destroy(struct vmop_stack_tables *tables)
{
	if (!tables)
		return;
	for (unsigned i = 0; i < N_LANES; i++)
		vmop_readers_destroy(tables->lanes[i]);
	vmop_kernel_tables_destroy(tables->kernel); /* it reads the tables */
	tables->kernel = NULL;
	for (uint32_t i = 0; tables->entries && i < tables->limits.max_images; i++)
		if (tables->entries[i].state != NONE)
			release(tables, &tables->entries[i]);
	vmop_cfi_table_destroy(tables->vdso_table);
	free(tables->entries);
	free(tables);
}

void vmop_stack_tables_stored(struct vmop_stack_tables *tables)
{
	const struct vmop_images *images = tables->images;
	uint32_t last = tables->interval++;
	if (images->n <= images->max / 4 * 3)
		return;
	for (uint32_t i = 0; i < tables->limits.max_images; i++) {
		struct entry *entry = &tables->entries[i];
		if (entry->state != NONE && !is_busy(entry) && entry->last_used != last)
			release(tables, entry);
	}
}

void vmop_stack_tables_save_memory(struct vmop_stack_tables *tables)
{
	struct entry *entry;
	size_t aim_bytes = tables->bytes / 2;
	while (tables->bytes > aim_bytes && (entry = least_recently_used(tables)))
		release(tables, entry);
}

void vmop_stack_tables_facts(const struct vmop_stack_tables *tables,
			     struct vmop_stack_tables_facts *ret)
{
	*ret = (struct vmop_stack_tables_facts){
		.n_ready = tables->counts[READY],
		.n_pending = tables->counts[PENDING],
		.n_without_cfi = tables->counts[NO_CFI],
		.n_unreadable = tables->counts[UNREADABLE],
		.bytes = tables->bytes,
		.n_evicted = tables->n_evicted,
		.kernel_age = tables->kernel_age,
		.n_kernel_removed = tables->n_kernel_removed,
	};
}
