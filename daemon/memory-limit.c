// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/memory-limit.h"

#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/parse.h"

#define FILE_MAX_BYTES (64 << 10)
#define LEVELS_MAX 32

/* At least this much stays for what an interval needs while it is stored. */
#define RESERVE_BYTES ((uint64_t)2 << 20)

/* The names of one version of cgroups. */
struct version {
	const char *fs_type, *mount_option; /* NULL: any */
	const char *limits[2];		    /* files; the smaller one counts */
	const char *usage;
	const char *reclaimable[4]; /* rows of memory.stat that the kernel can take back */
};

static const struct version versions[] = {
	{.fs_type = "cgroup",
	 .mount_option = "memory",
	 .limits = {"memory.limit_in_bytes"},
	 .usage = "memory.usage_in_bytes",
	 .reclaimable = {"total_inactive_file", "total_active_file"}},
	{.fs_type = "cgroup2",
	 .limits = {"memory.max", "memory.high"},
	 .usage = "memory.current",
	 .reclaimable = {"inactive_file", "active_file", "slab_reclaimable"}},
};

/* Read a small file of a cgroup. NULL: it cannot be read. */
static char *read_file(const char *dir, const char *name)
{
	char path[PATH_MAX];
	char *text = NULL;
	size_t len;
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) >= sizeof(path))
		return NULL;
	vmop_error_destroy(vmop_io_read_file(path, FILE_MAX_BYTES, &text, &len));
	return text;
}

/* Return the number in a file, or UINT64_MAX: no such file, or "max". */
static uint64_t read_number(const char *dir, const char *name)
{
	_cleanup_free_ char *text = read_file(dir, name);
	uint64_t number;
	if (!text)
		return UINT64_MAX;
	text[strcspn(text, "\n")] = '\0';
	return vmop_parse_u64(text, 10, &number) ? number : UINT64_MAX;
}

static uint64_t sum_reclaimable(const char *dir, const struct version *version)
{
	_cleanup_free_ char *text = read_file(dir, "memory.stat");
	uint64_t sum = 0;
	char *state = NULL;
	for (char *line = text ? strtok_r(text, "\n", &state) : NULL; line;
	     line = strtok_r(NULL, "\n", &state)) {
		char *value = strchr(line, ' ');
		uint64_t bytes;
		if (!value)
			continue;
		*value++ = '\0';
		for (size_t i = 0; i < 4 && version->reclaimable[i]; i++)
			if (!strcmp(line, version->reclaimable[i]) &&
			    vmop_parse_u64(value, 10, &bytes))
				sum += bytes;
	}
	return sum;
}

/* Take the limit of the cgroup at dir if it leaves less memory than *ret does. */
static void look_at(const char *dir, const struct version *version, struct vmop_memory_limit *ret)
{
	uint64_t limit = read_number(dir, version->limits[0]);
	if (version->limits[1]) {
		uint64_t other = read_number(dir, version->limits[1]);
		limit = other < limit ? other : limit;
	}
	/* Without a limit v1 has the greatest number of whole pages. */
	if (limit >= INT64_MAX / 2)
		return;
	uint64_t usage = read_number(dir, version->usage);
	if (usage == UINT64_MAX)
		return;
	uint64_t reclaimable = sum_reclaimable(dir, version);
	usage = usage > reclaimable ? usage - reclaimable : 0;
	uint64_t left = limit > usage ? limit - usage : 0;
	if (!ret->limit_bytes || left < ret->left_bytes)
		*ret = (struct vmop_memory_limit){.limit_bytes = limit, .left_bytes = left};
}

/* Return whether `option` is one of the words in a list with commas. */
static bool has_word(const char *list, const char *option)
{
	size_t len = strlen(option);
	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, option, len) && (!at[len] || strchr(",:\n", at[len])))
			return true;
	}
	return false;
}

/* Set *ret to the mount point of the version's hierarchy for memory. */
static bool find_mount(const char *root, const struct version *version, char ret[PATH_MAX])
{
	char path[PATH_MAX], buffer[PATH_MAX];
	struct mntent entry;
	bool is_found = false;
	snprintf(path, sizeof(path), "%s/proc/self/mounts", root);
	FILE *mounts = setmntent(path, "re");
	if (!mounts)
		return false;
	while (!is_found && getmntent_r(mounts, &entry, buffer, sizeof(buffer)))
		is_found = !strcmp(entry.mnt_type, version->fs_type) &&
			   (!version->mount_option ||
			    has_word(entry.mnt_opts, version->mount_option)) &&
			   (size_t)snprintf(ret, PATH_MAX, "%s%s", root, entry.mnt_dir) < PATH_MAX;
	endmntent(mounts);
	return is_found;
}

/* Return the path of the daemon's cgroup in that hierarchy, a part of text, or NULL if it has none.
 */
static char *find_path(char *text, const struct version *version)
{
	char *state = NULL;
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(++controllers, ':') : NULL;
		if (!path)
			continue;
		bool is_it = version->mount_option ? has_word(controllers, version->mount_option)
						   : path == controllers;
		if (is_it)
			return path + 1;
	}
	return NULL;
}

/* Look at the daemon's cgroup and at those above. */
static void climb(const char *mount, const char *path, const struct version *version,
		  struct vmop_memory_limit *ret)
{
	char dir[PATH_MAX];
	struct stat st;
	/* In a container, the mount can be of the container's cgroup, which the path begins with.
	 */
	if ((size_t)snprintf(dir, sizeof(dir), "%s%s", mount, path) >= sizeof(dir) ||
	    stat(dir, &st) < 0 || strstr(path, ".."))
		snprintf(dir, sizeof(dir), "%s", mount);
	for (int i = 0; i < LEVELS_MAX && strlen(dir) >= strlen(mount); i++) {
		look_at(dir, version, ret);
		char *last = strrchr(dir, '/');
		if (!last)
			return;
		*last = '\0';
	}
}

void vmop_memory_limit_read(const char *root, struct vmop_memory_limit *ret)
{
	char proc[PATH_MAX], mount[PATH_MAX];
	*ret = (struct vmop_memory_limit){0};
	snprintf(proc, sizeof(proc), "%s/proc/self", root);
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		_cleanup_free_ char *text = read_file(proc, "cgroup");
		const char *path = text ? find_path(text, &versions[i]) : NULL;
		if (path && find_mount(root, &versions[i], mount))
			climb(mount, path, &versions[i], ret);
	}
}

struct vmop_error *vmop_memory_limit_check(const struct vmop_memory_limit *limit)
{
	if (!limit->limit_bytes || limit->left_bytes >= VMOP_MEMORY_LEAST_BYTES)
		return NULL;
	return vmop_error_new(
		VMOP_ERROR_LIMIT,
		"the limit of vmopd's cgroup, %" PRIu64 " MiB, leaves %" PRIu64
		" MiB of memory, and a session needs %" PRIu64 ": raise it (MemoryMax=)",
		limit->limit_bytes >> 20, limit->left_bytes >> 20, VMOP_MEMORY_LEAST_BYTES >> 20);
}

bool vmop_memory_limit_is_short(const struct vmop_memory_limit *limit, bool was_short)
{
	return limit->limit_bytes && limit->left_bytes <= limit->limit_bytes / (was_short ? 4 : 8);
}

/* Return the bytes of this process that RLIMIT_DATA counts; 0: unknown. */
static uint64_t own_data_bytes(void)
{
	_cleanup_free_ char *text = read_file("/proc/self", "status");
	const char *line = text ? strstr(text, "\nVmData:") : NULL;
	return line ? strtoull(line + strlen("\nVmData:"), NULL, 10) << 10 : 0;
}

void vmop_memory_limit_guard(const struct vmop_memory_limit *limit)
{
	struct rlimit data;
	if (getrlimit(RLIMIT_DATA, &data) < 0)
		return;
	rlim_t wanted = data.rlim_max;
	uint64_t own = limit->limit_bytes ? own_data_bytes() : 0;
	if (own) {
		/* The other half is for pages of tables that were allocated before. */
		uint64_t left = limit->left_bytes / 2;
		wanted = own + (left > RESERVE_BYTES ? left : RESERVE_BYTES);
	}
	if (wanted > data.rlim_max)
		wanted = data.rlim_max;
	if (wanted == data.rlim_cur)
		return;
	data.rlim_cur = wanted;
	setrlimit(RLIMIT_DATA, &data);
}

void vmop_memory_limit_use_small_pages(bool only_small)
{
	prctl(PR_SET_THP_DISABLE, only_small, 0, 0, 0);
}
