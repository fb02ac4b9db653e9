// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/jit/jitdumps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/host/image-file.h"
#include "libsym/jit/jitdump.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/procfs.h"
#include "libutil/readers.h"

/* The time until names are stored again. It doubles each time, up to the last one. */
#define FIRST_PAUSE_NS (1 * VMOP_NS_PER_S)
#define LAST_PAUSE_NS (64 * VMOP_NS_PER_S)
/* The number of files that are kept open. The others are opened for each read. */
#define OPEN_FILES_MAX 64
/* A flush's wait for jitdumps. */
#define FLUSH_WAIT_MS 100
#define LAST_WAIT_MS 2000
#define FILE_MS 2000

struct process_key {
	uint64_t start_ns; /* of the process: pids are reused */
	uint64_t pid;	   /* 64 bits, so that the key has no padding */
};

/* A file, and the functions that were read from it. A read owns it while it runs. */
struct followed {
	struct vmop_image_file file;
	int fd; /* -1: not open */
	uid_t owner;
	uint32_t inner_pid;
	bool knows_owner; /* and inner_pid */
	struct vmop_jitdump *dump;
};

struct entry {
	struct process_key key;
	UT_hash_handle hh;
	struct followed followed; /* empty while a read is pending */
	struct vmop_image *image; /* of the functions, referenced; NULL: none was sampled yet */
	char name[64];		  /* of image */
	uint64_t mapped_at;
	uint64_t due_ns, pause_ns; /* of the next names */
	size_t memory_bytes, n_answered, n_named;
	bool wants_addresses; /* images need names by address */
	bool has_news;	      /* samples that the last names did not cover */
	bool is_pending;      /* a read runs or hangs */
	bool is_hung;	      /* it hangs: see note */
	bool is_over;	      /* the pending read is the last one */
	unsigned n_over;      /* flushes since the process ended */
	char note[256];	      /* the reason why the jitdump is not used; "": it is */
};

struct vmop_jitdumps {
	struct vmop_processes *processes;
	struct vmop_code_names *names;
	struct vmop_readers *readers;
	struct entry *entries;
	/* The places that are being resolved. A read of an earlier round is too late for them. */
	struct vmop_jit_place *places;
	uint64_t round;
	size_t memory_bytes, n_open, n_unused;
	bool is_behind; /* a read took longer than the last wait */
};

/* One read of a jitdump. */
struct reading {
	struct vmop_read_job job;
	struct process_key key;
	struct followed followed;
	bool is_gone; /* /proc/PID is gone or belongs to another process */
	bool wants_names, wants_addresses;
	size_t n_named;
	uint64_t round;
	struct vmop_jitdump_query *queries;
	uint32_t *places; /* of the queries */
	size_t n;
	/* The result. */
	struct vmop_symtab *names, *by_address; /* NULL: not wanted, or no news */
	struct vmop_jitdump_facts facts;
	struct vmop_error *err;
};

static void followed_deinit(struct followed *followed)
{
	vmop_image_file_deinit(&followed->file);
	if (followed->fd >= 0)
		close(followed->fd);
	followed->fd = -1;
	vmop_jitdump_destroy(followed->dump);
	followed->dump = NULL;
}

/* ---- on the reader's thread ------------------------------------------------ */

/* Open the file that is mapped, or the one with its name if that is the same. */
static struct vmop_error *open_mapped(struct followed *followed)
{
	const struct vmop_image_file *file = &followed->file;
	struct vmop_error *err = vmop_image_file_open(file, &followed->fd);
	int os_errno = err ? err->os_errno : 0;
	if (os_errno != ELOOP && os_errno != ENOENT)
		return err;
	vmop_error_destroy(err);
	return vmop_error_new(VMOP_ERROR_CANT, "%s: %s", file->name,
			      os_errno == ELOOP ? "not a regular file, but a link"
						: "gone, or another file is in its place");
}

/* Open the file. Refuse a file of another user. */
static struct vmop_error *open_file(struct reading *reading)
{
	struct followed *followed = &reading->followed;
	const struct vmop_image_file *file = &followed->file;
	struct stat st;
	if (!followed->knows_owner && !reading->is_gone)
		followed->knows_owner = vmop_procfs_owner(file->root, file->pid, &followed->owner,
							  &followed->inner_pid);
	if (!followed->knows_owner)
		return vmop_error_new(VMOP_ERROR_CANT, "%s: its program ended before it was read",
				      file->name);
	struct vmop_error *err = followed->fd >= 0 ? NULL : open_mapped(followed);
	if (err)
		return err;
	if (fstat(followed->fd, &st) < 0)
		return vmop_error_os(errno, "%s", file->name);
	if (st.st_uid != followed->owner && st.st_uid != 0)
		return vmop_error_new(VMOP_ERROR_CANT, "%s: belongs to user %u, not to %u",
				      file->name, st.st_uid, followed->owner);
	return NULL;
}

static struct vmop_error *read_names(struct reading *reading)
{
	struct vmop_jitdump *dump = reading->followed.dump;
	struct vmop_error *err = NULL;
	if (reading->facts.n_answered != reading->n_named)
		err = vmop_jitdump_answered(dump, &reading->names);
	if (!err && reading->wants_addresses)
		err = vmop_jitdump_by_address(dump, &reading->by_address);
	return err;
}

static void run_reading(struct vmop_read_job *job)
{
	struct reading *reading = (struct reading *)job;
	struct followed *followed = &reading->followed;
	reading->err = open_file(reading);
	if (!reading->err && !followed->dump)
		reading->err = vmop_jitdump_create(&followed->dump);
	if (reading->err) /* of this file nothing is known */
		return;
	const struct vmop_jitdump_input input = {
		.fd = followed->fd,
		.path = followed->file.name,
		.pid = followed->inner_pid,
		.process_start_ns = reading->key.start_ns,
	};
	reading->err = vmop_jitdump_advance(followed->dump, &input, reading->queries, reading->n);
	vmop_jitdump_facts(followed->dump, &reading->facts);
	/* After an error, these are the last names. */
	if (reading->err || reading->wants_names) {
		struct vmop_error *err = read_names(reading);
		if (reading->err)
			vmop_error_destroy(err);
		else
			reading->err = err;
	}
}

static void destroy_reading(struct vmop_read_job *job)
{
	struct reading *reading = (struct reading *)job;
	vmop_symtab_destroy(reading->names);
	vmop_symtab_destroy(reading->by_address);
	vmop_error_destroy(reading->err);
	followed_deinit(&reading->followed);
	free(reading->queries);
	free(reading->places);
	free(reading);
}

/* ---- on the sampling thread ------------------------------------------------ */

static bool is_of(const struct vmop_image *image, const struct process_key *key)
{
	return image && image->kind == VMOP_IMAGE_ANON && vmop_domain_id_is_host(image->domain) &&
	       image->pid == key->pid && image->process_start_ns == key->start_ns;
}

static struct entry *find(struct vmop_jitdumps *dumps, const struct process_key *key)
{
	struct entry *entry;
	HASH_FIND(hh, dumps->entries, key, sizeof(*key), entry);
	return entry;
}

static void forget(struct vmop_jitdumps *dumps, struct entry *entry)
{
	dumps->n_open -= entry->followed.fd >= 0;
	dumps->memory_bytes -= entry->memory_bytes;
	dumps->n_unused -= *entry->note != '\0';
	followed_deinit(&entry->followed);
	vmop_image_unref(dumps->processes->images, entry->image);
	HASH_DEL(dumps->entries, entry);
	free(entry);
}

/* Stop using the jitdump, and note why. */
static void set_unused(struct vmop_jitdumps *dumps, struct entry *entry, const char *why)
{
	dumps->n_unused += *entry->note == '\0';
	snprintf(entry->note, sizeof(entry->note), "the jitdump of its program was not used: %s",
		 why);
}

/* Return the image of the functions, or NULL if there is no room for it. */
static struct vmop_image *image_of(struct vmop_jitdumps *dumps, struct entry *entry)
{
	struct vmop_images *images = dumps->processes->images;
	if (entry->image)
		return entry->image;
	struct vmop_image *image =
		vmop_images_new(images, VMOP_DOMAIN_ID_HOST, VMOP_IMAGE_ANON, entry->name, 0, 0);
	if (image->kind != VMOP_IMAGE_ANON) {
		vmop_image_unref(images, image);
		return NULL;
	}
	/* The note of a row that is stored before its names. */
	vmop_image_set_note(image, "its names were not stored before the session ended");
	return entry->image = image;
}

static void take_answers(struct vmop_jitdumps *dumps, struct entry *entry,
			 const struct reading *reading)
{
	if (reading->round != dumps->round || !dumps->places)
		return;
	for (size_t i = 0; i < reading->n; i++) {
		const struct vmop_jitdump_query *query = &reading->queries[i];
		struct vmop_image *image = query->is_found ? image_of(dumps, entry) : NULL;
		if (!image)
			continue;
		dumps->places[reading->places[i]].image = image;
		dumps->places[reading->places[i]].offset = query->code_offset;
	}
}

static void name_image(struct vmop_jitdumps *dumps, struct vmop_image *image,
		       const struct vmop_symtab *symtab, uint64_t start, uint64_t end, bool is_full)
{
	enum vmop_code_names_outcome outcome =
		vmop_code_names_give(dumps->names, image, symtab, start, end);
	const char *note = is_full ? "its program's jitdump is too large: some functions have no "
				     "name"
				   : NULL;
	if (outcome == VMOP_CODE_NAMES_NO_ROOM)
		note = VMOP_CODE_NAMES_NO_ROOM_NOTE;
	else if (outcome == VMOP_CODE_NAMES_NONE && !note && !image->has_names)
		note = "the jitdump of its program has no function there";
	vmop_image_set_map_applied(image, outcome == VMOP_CODE_NAMES_GIVEN);
	vmop_image_set_note(image, note);
}

static void take_names(struct vmop_jitdumps *dumps, struct entry *entry,
		       const struct reading *reading)
{
	const struct vmop_images *images = dumps->processes->images;
	if (reading->names && entry->image) {
		name_image(dumps, entry->image, reading->names, 0, UINT64_MAX,
			   reading->facts.is_full);
		entry->n_named = reading->facts.n_answered;
	}
	for (uint32_t i = 0; reading->by_address && i < images->n_slots; i++)
		if (is_of(images->slots[i], &entry->key))
			name_image(dumps, images->slots[i], reading->by_address,
				   images->slots[i]->map_start, images->slots[i]->map_end,
				   reading->facts.is_full);
}

/* Take the file back, and close it if too many are open. */
static void take_back(struct vmop_jitdumps *dumps, struct entry *entry, struct followed *followed)
{
	entry->followed = *followed;
	*followed = (struct followed){.fd = -1};
	if (entry->followed.fd >= 0 && dumps->n_open == OPEN_FILES_MAX) {
		close(entry->followed.fd);
		entry->followed.fd = -1;
	}
	dumps->n_open += entry->followed.fd >= 0;
}

/* Count the memory of the functions. Beyond the limit of all jitdumps, forget those of this one. */
static void charge(struct vmop_jitdumps *dumps, struct entry *entry, size_t memory_bytes)
{
	dumps->memory_bytes -= entry->memory_bytes;
	entry->memory_bytes = 0;
	if (dumps->memory_bytes + memory_bytes > VMOP_JITDUMPS_MAX_BYTES) {
		set_unused(dumps, entry, "those of all programs take too much memory");
		vmop_jitdump_destroy(entry->followed.dump);
		entry->followed.dump = NULL;
		return;
	}
	dumps->memory_bytes += memory_bytes;
	entry->memory_bytes = memory_bytes;
}

static void finish_reading(struct vmop_read_job *job, enum vmop_read_outcome outcome, void *arg)
{
	struct reading *reading = (struct reading *)job;
	struct vmop_jitdumps *dumps = arg;
	struct entry *entry = find(dumps, &reading->key);
	if (!entry)
		return;
	if (outcome == VMOP_READ_HUNG) {
		set_unused(dumps, entry, "it did not answer when it was read");
		entry->is_hung = true;
		return;
	}
	if (entry->is_hung) { /* it has answered */
		entry->is_hung = false;
		dumps->n_unused--;
		*entry->note = '\0';
	}
	entry->is_pending = false;
	take_back(dumps, entry, &reading->followed);
	if (outcome == VMOP_READ_REFUSED) {
		set_unused(dumps, entry, "too many files hang when they are read");
	} else {
		entry->n_answered = reading->facts.n_answered;
		take_answers(dumps, entry, reading);
		take_names(dumps, entry, reading);
		if (reading->wants_names)
			entry->has_news = false;
		charge(dumps, entry, reading->facts.memory_bytes);
		if (reading->err)
			set_unused(dumps, entry, reading->err->message);
	}
	if (entry->is_over)
		forget(dumps, entry);
}

static const struct vmop_read_job_ops reading_ops = {
	.run = run_reading,
	.finish = finish_reading,
	.destroy = destroy_reading,
};

static bool is_process_over(const struct vmop_jitdumps *dumps, const struct entry *entry)
{
	const struct vmop_process *process =
		vmop_processes_get(dumps->processes, (uint32_t)entry->key.pid);
	return !process || process->has_exited || process->start_ns != entry->key.start_ns;
}

/* Submit a read that answers n queries. Takes over the arrays. */
static void submit(struct vmop_jitdumps *dumps, struct entry *entry,
		   struct vmop_jitdump_query *queries, uint32_t *places, size_t n, bool is_last)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	struct reading *reading = calloc(1, sizeof(*reading));
	if (!reading) {
		free(queries);
		free(places);
		return;
	}
	*reading = (struct reading){
		.job.ops = &reading_ops,
		.key = entry->key,
		.followed = entry->followed,
		.is_gone = is_process_over(dumps, entry),
		.wants_names = is_last || now_ns >= entry->due_ns,
		.wants_addresses = entry->wants_addresses,
		.n_named = entry->n_named,
		.round = dumps->round,
		.queries = queries,
		.places = places,
		.n = n,
	};
	dumps->n_open -= entry->followed.fd >= 0;
	entry->followed = (struct followed){.fd = -1};
	entry->is_pending = true;
	if (reading->wants_names) {
		entry->due_ns = now_ns + entry->pause_ns;
		if (entry->pause_ns < LAST_PAUSE_NS)
			entry->pause_ns *= 2;
	}
	vmop_readers_submit(dumps->readers, &reading->job);
}

/* Add an entry for the jitdump in region. NULL: no room. */
static struct entry *add(struct vmop_jitdumps *dumps, const struct process_key *key,
			 const struct vmop_process *process, const struct vmop_region *region)
{
	struct entry *entry =
		HASH_COUNT(dumps->entries) < VMOP_JITDUMPS_MAX ? calloc(1, sizeof(*entry)) : NULL;
	if (!entry)
		return NULL;
	*entry = (struct entry){.key = *key,
				.pause_ns = FIRST_PAUSE_NS,
				.mapped_at = region->start,
				.followed.fd = -1};
	snprintf(entry->name, sizeof(entry->name), "[jitdump %s %u]", process->task.comm,
		 process->pid);
	if (!vmop_image_file_init(&entry->followed.file, region->image, dumps->processes->root)) {
		free(entry);
		return NULL;
	}
	entry->followed.file.pid = process->pid;
	entry->followed.file.map_start = region->start;
	entry->followed.file.map_end = region->end;
	entry->followed.file.is_strict = true;
	HASH_ADD(hh, dumps->entries, key, sizeof(entry->key), entry);
	if (entry->hh.tbl)
		return entry;
	followed_deinit(&entry->followed); /* no memory for the table */
	free(entry);
	return NULL;
}

/* Find or add the entry of a process. NULL: it has no jitdump, or there is no room. */
static struct entry *follow(struct vmop_jitdumps *dumps, const struct process_key *key)
{
	struct entry *entry = find(dumps, key);
	const struct vmop_process *process =
		vmop_processes_get(dumps->processes, (uint32_t)key->pid);
	if (!process || process->start_ns != key->start_ns || !process->jitdump_at)
		return entry;
	/* A forked child has its parent's jitdump until it maps its own. */
	if (entry && (entry->mapped_at == process->jitdump_at || entry->is_pending))
		return entry;
	const struct vmop_region *region = vmop_regions_find(process->regions, process->jitdump_at);
	if (!region || !region->image->is_jitdump)
		return entry;
	if (entry)
		forget(dumps, entry);
	return add(dumps, key, process, region);
}

static struct process_key key_of(const struct vmop_image *image)
{
	return (struct process_key){.start_ns = image->process_start_ns, .pid = image->pid};
}

/* Order places by process, then by time. */
static int compare_places(const void *a, const void *b, void *arg)
{
	const struct vmop_jit_place *places = arg;
	const struct vmop_jit_place *x = &places[*(const uint32_t *)a];
	const struct vmop_jit_place *y = &places[*(const uint32_t *)b];
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->process_start_ns != y->process_start_ns)
		return x->process_start_ns < y->process_start_ns ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Submit the places of one process, n of them in this order. */
static void ask(struct vmop_jitdumps *dumps, const uint32_t *order, size_t n, bool is_last)
{
	const struct process_key key = {.start_ns = dumps->places[order[0]].process_start_ns,
					.pid = dumps->places[order[0]].pid};
	struct entry *entry = follow(dumps, &key);
	if (!entry || entry->is_pending || *entry->note)
		return;
	struct vmop_jitdump_query *queries = calloc(n, sizeof(*queries));
	uint32_t *places = calloc(n, sizeof(*places));
	if (!queries || !places) {
		free(queries);
		free(places);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		places[i] = order[i];
		queries[i] = (struct vmop_jitdump_query){
			.time_ns = dumps->places[order[i]].time_ns,
			.address = dumps->places[order[i]].offset,
		};
	}
	entry->has_news = true;
	submit(dumps, entry, queries, places, n, is_last);
}

void vmop_jitdumps_resolve(struct vmop_jitdumps *dumps, struct vmop_jit_place *places, size_t n,
			   bool is_last)
{
	_cleanup_free_ uint32_t *order = n ? calloc(n, sizeof(*order)) : NULL;
	if (!order || !dumps->readers)
		return;
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), compare_places, places);
	dumps->places = places;
	dumps->round++;
	for (size_t first = 0, i = 1; i <= n; i++) {
		const struct vmop_jit_place *place = &places[order[first]];
		if (i < n && places[order[i]].pid == place->pid &&
		    places[order[i]].process_start_ns == place->process_start_ns)
			continue;
		ask(dumps, order + first, i - first, is_last);
		first = i;
	}
	unsigned wait_ms = is_last ? LAST_WAIT_MS : dumps->is_behind ? 0 : FLUSH_WAIT_MS;
	dumps->is_behind = !vmop_readers_collect(dumps->readers, wait_ms);
	dumps->places = NULL;
}

bool vmop_jitdumps_sampled(struct vmop_jitdumps *dumps, struct vmop_image *image)
{
	const struct process_key key = key_of(image);
	struct entry *entry = key.pid ? find(dumps, &key) : NULL;
	if (!entry || *entry->note)
		return false;
	entry->has_news = entry->wants_addresses = true;
	if (!image->note && !image->has_names)
		vmop_image_set_note(image, "the jitdump of its program was not read before the "
					   "session ended");
	return true;
}

/* Note why jitdumps are not used, where no perf map has the names. */
static void note_unused(struct vmop_jitdumps *dumps)
{
	const struct vmop_images *images = dumps->processes->images;
	for (uint32_t i = 0; dumps->n_unused && i < images->n_slots; i++) {
		struct vmop_image *image = images->slots[i];
		if (!image || image->kind != VMOP_IMAGE_ANON || !image->pid || image->has_names)
			continue;
		const struct process_key key = key_of(image);
		const struct entry *entry = find(dumps, &key);
		if (entry && *entry->note && is_of(image, &key))
			vmop_image_set_note(image, entry->note);
	}
}

void vmop_jitdumps_collect(struct vmop_jitdumps *dumps, bool is_last)
{
	struct entry *entry, *next;
	if (!dumps->readers)
		return;
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	vmop_readers_collect(dumps->readers,
			     is_last && vmop_readers_pending(dumps->readers) ? LAST_WAIT_MS : 0);
	note_unused(dumps);
	HASH_ITER (hh, dumps->entries, entry, next) {
		if (entry->is_pending)
			continue;
		bool is_used = entry->has_news || entry->wants_addresses;
		entry->is_over = is_last || is_process_over(dumps, entry);
		/* The note must outlast that of the perf map, whose last read is finished later. */
		if (entry->is_over && *entry->note && !is_last && entry->n_over++ < 2)
			continue;
		if (entry->is_over && (*entry->note || !is_used))
			forget(dumps, entry);
		else if (!*entry->note && is_used &&
			 (entry->is_over || (entry->has_news && now_ns >= entry->due_ns)))
			submit(dumps, entry, NULL, NULL, 0, entry->is_over);
	}
	if (is_last)
		vmop_readers_collect_last(dumps->readers, LAST_WAIT_MS);
	note_unused(dumps);
}

struct vmop_error *vmop_jitdumps_create(struct vmop_processes *processes,
					struct vmop_code_names *names, struct vmop_jitdumps **ret)
{
	struct vmop_jitdumps *dumps = calloc(1, sizeof(*dumps));
	if (!dumps)
		return &vmop_error_no_memory;
	dumps->processes = processes;
	dumps->names = names;
	struct vmop_error *err = processes->root ? vmop_readers_create("vmopd-jitdumps", FILE_MS,
								       processes->reader_nice,
								       dumps, &dumps->readers)
						 : NULL;
	if (err) {
		free(dumps);
		return err;
	}
	*ret = dumps;
	return NULL;
}

void vmop_jitdumps_destroy(struct vmop_jitdumps *dumps)
{
	struct entry *entry, *next;
	if (!dumps)
		return;
	vmop_readers_destroy(dumps->readers);
	HASH_ITER (hh, dumps->entries, entry, next)
		forget(dumps, entry);
	free(dumps);
}

int vmop_jitdumps_open_file(const struct vmop_jitdumps *dumps, const struct vmop_image *image)
{
	struct entry *entry, *next;
	HASH_ITER (hh, dumps->entries, entry, next)
		if (entry->image == image && entry->followed.fd >= 0 && !*entry->note)
			return fcntl(entry->followed.fd, F_DUPFD_CLOEXEC, 0);
	return -1;
}
