// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/jit/perf-maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libsym/jit/perf-map.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/procfs.h"
#include "libutil/readers.h"

/* The time until a map is read again. It doubles with each read, up to the last one. */
#define FIRST_PAUSE_NS (2 * VMOP_NS_PER_S)
#define LAST_PAUSE_NS (64 * VMOP_NS_PER_S)
/* The number of open folders. A container's folder disappears with its last process. */
#define OPEN_FOLDERS_MAX 64
#define LAST_WAIT_MS 2000
#define MAP_MS 2000
/* Tolerance for a clock that was set, and for the rounding of file systems. */
#define START_SLACK_NS (2 * VMOP_NS_PER_S)

struct map_key {
	uint64_t start_ns; /* of the process: pids are reused */
	uint64_t pid;	   /* 64 bits, so that the key has no padding */
};

/* State that is kept between two reads of a process's map. */
struct sight {
	int folder_fd; /* its /tmp; -1: not open */
	uint32_t inner_pid;
	uid_t owner;
	bool knows_owner; /* and inner_pid */
	struct vmop_perf_map_state state;
};

struct perf_map {
	struct map_key key;
	UT_hash_handle hh;
	uint64_t due_ns, pause_ns;
	bool has_news;	 /* samples since the last read was submitted */
	bool wants_all;	 /* an image needs the parts that were read before, too */
	bool is_pending; /* a read runs or hangs */
	bool is_over;	 /* the pending read is the last one */
	struct sight sight;
};

struct vmop_perf_maps {
	struct vmop_processes *processes;
	struct vmop_readers *readers;
	struct perf_map *maps;
	uint64_t monotonic_to_realtime_ns;
	struct vmop_code_names *names;
	size_t n_folders;
};

/* One read of a map. */
struct reading {
	struct vmop_read_job job;
	struct map_key key;
	char *root;
	uint64_t not_before_ns; /* start of the process, CLOCK_REALTIME; 0: not known */
	bool is_over;		/* /proc/PID is gone or belongs to another process */
	struct sight sight;
	/* The result. */
	struct vmop_symtab *symtab; /* NULL: see note; without a note, the map is unchanged */
	char note[256];
};

/* ---- on the reader's thread ------------------------------------------------ */

/* Read the user of the process, and its pid in its own namespace. */
static bool read_owner(const struct reading *reading, struct sight *sight)
{
	uid_t uid;
	if (!vmop_procfs_owner(reading->root, (uint32_t)reading->key.pid, &uid, &sight->inner_pid))
		return false;
	sight->owner = uid;
	sight->knows_owner = true;
	return true;
}

/* Open /tmp in the root of the process. Before Linux 5.6 a link there is not followed. */
static void open_folder(const struct reading *reading, struct sight *sight)
{
	static const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/proc/%u/root", reading->root,
			 (uint32_t)reading->key.pid);
	if (n < 0 || (size_t)n >= sizeof(path))
		return;
	_cleanup_close_ int root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return;
	sight->folder_fd = (int)syscall(SYS_openat2, root_fd, "tmp", &how, sizeof(how));
	if (sight->folder_fd < 0 && errno == ENOSYS)
		sight->folder_fd =
			openat(root_fd, "tmp", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void set_note(struct reading *reading, const char *note)
{
	snprintf(reading->note, sizeof(reading->note), "%s", note);
}

static void note_error(struct reading *reading, struct vmop_error *err)
{
	if (err->os_errno == ENOENT)
		set_note(reading, "its program left no perf map");
	else
		snprintf(reading->note, sizeof(reading->note),
			 "the perf map of its program was not used: %s", err->message);
	vmop_error_destroy(err);
}

static bool is_before_process(const struct reading *reading)
{
	uint64_t modified_ns = reading->sight.state.modified_ns;
	return reading->not_before_ns && modified_ns + START_SLACK_NS < reading->not_before_ns;
}

static void run_reading(struct vmop_read_job *job)
{
	struct reading *reading = (struct reading *)job;
	struct sight *sight = &reading->sight;
	char name[48];
	if (!reading->is_over && read_owner(reading, sight) && sight->folder_fd < 0)
		open_folder(reading, sight);
	if (!sight->knows_owner || sight->folder_fd < 0) {
		set_note(reading, sight->knows_owner && !reading->is_over
					  ? "its program left no perf map: it has no /tmp"
					  : "its program ended before its perf map was read");
		return;
	}
	snprintf(name, sizeof(name), "perf-%" PRIu32 ".map", sight->inner_pid);
	struct vmop_error *err = vmop_perf_map_read(sight->folder_fd, name, sight->owner,
						    &sight->state, &reading->symtab);
	if (err) {
		note_error(reading, err);
	} else if (is_before_process(reading)) {
		vmop_symtab_destroy(reading->symtab);
		reading->symtab = NULL;
		set_note(reading, "its program left no perf map: the one that is there is older");
	} else if (sight->state.is_cut) {
		set_note(reading, "its program's perf map is too large: what is beyond the first "
				  "functions has no name");
	}
}

static void destroy_reading(struct vmop_read_job *job)
{
	struct reading *reading = (struct reading *)job;
	vmop_symtab_destroy(reading->symtab);
	if (reading->sight.folder_fd >= 0)
		close(reading->sight.folder_fd);
	free(reading->root);
	free(reading);
}

/* ---- on the sampling thread ------------------------------------------------ */

static bool is_of(const struct vmop_image *image, const struct map_key *key)
{
	return image && image->kind == VMOP_IMAGE_ANON && vmop_domain_id_is_host(image->domain) &&
	       image->pid == key->pid && image->process_start_ns == key->start_ns;
}

/* Give image the names of a map that was just read. */
static void name_image(struct vmop_perf_maps *maps, const struct reading *reading,
		       struct vmop_image *image)
{
	const char *note = *reading->note ? reading->note : NULL;
	enum vmop_code_names_outcome outcome = vmop_code_names_give(
		maps->names, image, reading->symtab, image->map_start, image->map_end);
	if (outcome == VMOP_CODE_NAMES_NO_ROOM)
		note = VMOP_CODE_NAMES_NO_ROOM_NOTE;
	else if (outcome == VMOP_CODE_NAMES_NONE && !note && !image->has_names)
		note = "the perf map of its program has no function there";
	vmop_image_set_map_applied(image, outcome == VMOP_CODE_NAMES_GIVEN);
	vmop_image_set_note(image, note);
}

static void note_images(struct vmop_perf_maps *maps, const struct map_key *key, const char *note)
{
	struct vmop_images *images = maps->processes->images;
	for (uint32_t i = 0; i < images->n_slots; i++)
		if (is_of(images->slots[i], key) && !images->slots[i]->has_names)
			vmop_image_set_note(images->slots[i], note);
}

static void forget(struct vmop_perf_maps *maps, struct perf_map *map)
{
	if (map->sight.folder_fd >= 0) {
		close(map->sight.folder_fd);
		maps->n_folders--;
	}
	HASH_DEL(maps->maps, map);
	free(map);
}

/* Keep the result for the next read, and the open folder unless there are too many. */
static void keep_sight(struct vmop_perf_maps *maps, struct perf_map *map, struct sight *sight)
{
	map->sight = *sight;
	map->sight.folder_fd = -1;
	if (sight->folder_fd < 0 || maps->n_folders == OPEN_FOLDERS_MAX)
		return;
	map->sight.folder_fd = vmop_steal_fd(&sight->folder_fd);
	maps->n_folders++;
}

static void finish_reading(struct vmop_read_job *job, enum vmop_read_outcome outcome, void *arg)
{
	struct reading *reading = (struct reading *)job;
	struct vmop_perf_maps *maps = arg;
	struct perf_map *map;
	if (outcome == VMOP_READ_HUNG) {
		note_images(maps, &reading->key,
			    "the perf map of its program did not answer when it was read");
		return;
	}
	HASH_FIND(hh, maps->maps, &reading->key, sizeof(reading->key), map);
	if (outcome == VMOP_READ_REFUSED) {
		note_images(maps, &reading->key,
			    "the perf map of its program was not read: too "
			    "many files hang when they are read");
	} else if (reading->symtab) {
		struct vmop_images *images = maps->processes->images;
		for (uint32_t i = 0; i < images->n_slots; i++)
			if (is_of(images->slots[i], &reading->key))
				name_image(maps, reading, images->slots[i]);
	} else if (*reading->note) { /* earlier names stay valid after the file is gone */
		note_images(maps, &reading->key, reading->note);
	}
	if (!map)
		return;
	keep_sight(maps, map, &reading->sight);
	map->is_pending = false;
	if (map->is_over)
		forget(maps, map);
}

static const struct vmop_read_job_ops reading_ops = {
	.run = run_reading,
	.finish = finish_reading,
	.destroy = destroy_reading,
};

static bool is_process_over(const struct vmop_perf_maps *maps, const struct perf_map *map)
{
	const struct vmop_process *process =
		vmop_processes_get(maps->processes, (uint32_t)map->key.pid);
	return !process || process->has_exited || process->start_ns != map->key.start_ns;
}

static void ask(struct vmop_perf_maps *maps, struct perf_map *map, uint64_t now_ns)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	char *root = strdup(maps->processes->root);
	if (!reading || !root) {
		free(reading);
		free(root);
		return;
	}
	uint64_t start_ns = map->key.start_ns;
	*reading = (struct reading){
		.job.ops = &reading_ops,
		.key = map->key,
		.root = root,
		.not_before_ns = start_ns ? start_ns + maps->monotonic_to_realtime_ns : 0,
		.is_over = is_process_over(maps, map),
		.sight = map->sight,
	};
	if (map->wants_all)
		reading->sight.state = (struct vmop_perf_map_state){0};
	if (map->sight.folder_fd >= 0)
		maps->n_folders--; /* the job owns it until it is finished */
	map->sight.folder_fd = -1;
	map->is_pending = true;
	map->has_news = map->wants_all = false;
	map->due_ns = now_ns + map->pause_ns;
	if (map->pause_ns < LAST_PAUSE_NS)
		map->pause_ns *= 2;
	vmop_readers_submit(maps->readers, &reading->job);
}

/* Find or add a map. NULL: no room. */
static struct perf_map *follow(struct vmop_perf_maps *maps, const struct map_key *key)
{
	struct perf_map *map;
	HASH_FIND(hh, maps->maps, key, sizeof(*key), map);
	if (map || HASH_COUNT(maps->maps) >= VMOP_PERF_MAPS_MAX)
		return map;
	map = calloc(1, sizeof(*map));
	if (!map)
		return NULL;
	*map = (struct perf_map){.key = *key, .pause_ns = FIRST_PAUSE_NS, .sight.folder_fd = -1};
	HASH_ADD(hh, maps->maps, key, sizeof(map->key), map);
	if (map->hh.tbl)
		return map;
	free(map); /* no memory for the table */
	return NULL;
}

void vmop_perf_maps_sampled(struct vmop_perf_maps *maps, struct vmop_image *image)
{
	struct map_key key = {.start_ns = image->process_start_ns, .pid = image->pid};
	if (!maps->readers || !is_of(image, &key) || !key.pid)
		return;
	struct perf_map *map = follow(maps, &key);
	if (!map) {
		if (!image->note)
			vmop_image_set_note(image, "perf maps of too many programs were wanted");
		return;
	}
	map->has_news = true;
	if (image->is_map_applied)
		return;
	map->wants_all = true;
	if (!image->note) /* the note of a row that is stored before the map is read */
		vmop_image_set_note(image, "the perf map of its program was not read before the "
					   "session ended");
}

void vmop_perf_maps_collect(struct vmop_perf_maps *maps, bool is_last)
{
	struct perf_map *map, *next;
	if (!maps->readers)
		return;
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	vmop_readers_collect(maps->readers,
			     is_last && vmop_readers_pending(maps->readers) ? LAST_WAIT_MS : 0);
	HASH_ITER (hh, maps->maps, map, next) {
		if (map->is_pending)
			continue;
		map->is_over = is_last || is_process_over(maps, map);
		if (map->is_over || (map->has_news && now_ns >= map->due_ns))
			ask(maps, map, now_ns);
	}
	if (is_last)
		vmop_readers_collect_last(maps->readers, LAST_WAIT_MS);
}

struct vmop_error *vmop_perf_maps_create(struct vmop_processes *processes,
					 struct vmop_code_names *names, struct vmop_perf_maps **ret)
{
	struct vmop_perf_maps *maps = calloc(1, sizeof(*maps));
	if (!maps)
		return &vmop_error_no_memory;
	maps->processes = processes;
	maps->names = names;
	/* Not that of now at each look: after a suspend, a process would seem younger than its map.
	 */
	maps->monotonic_to_realtime_ns = (uint64_t)vmop_clock_monotonic_to_realtime_ns();
	struct vmop_error *err =
		processes->root ? vmop_readers_create("vmopd-maps", MAP_MS, processes->reader_nice,
						      maps, &maps->readers)
				: NULL;
	if (err) {
		free(maps);
		return err;
	}
	*ret = maps;
	return NULL;
}

void vmop_perf_maps_destroy(struct vmop_perf_maps *maps)
{
	struct perf_map *map, *next;
	if (!maps)
		return;
	vmop_readers_destroy(maps->readers);
	HASH_ITER (hh, maps->maps, map, next)
		forget(maps, map);
	free(maps);
}
