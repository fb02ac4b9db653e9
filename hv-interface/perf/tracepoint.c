// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/tracepoint.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/parse.h"

static const char *const mounts[] = {"/sys/kernel/tracing/events",
				     "/sys/kernel/debug/tracing/events"};

static bool is_word(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '-')
			return false;
	}
	return len > 0 && text[0] != '-';
}

/*
 * Return whether name is "WORD:WORD". A word that begins with a digit, as in 9p:9p_client_req, has
 * an underscore.
 */

bool vmop_perf_tracepoint_is_name(const char *name)
{
	size_t len = strcspn(name, ":");
	const char *event = name + len + 1;
	return name[len] == ':' && is_word(name, len) && is_word(event, strlen(event)) &&
	       (!isdigit((unsigned char)*event) || strchr(event, '_'));
}

/* Find the events/ folder of tracefs, which may be mounted inside debugfs on older systems. */
static struct vmop_error *find_events(const char *root, char ret[PATH_MAX])
{
	int os_errno = ENOENT;
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		if (snprintf(ret, PATH_MAX, "%s%s", root, mounts[i]) >= PATH_MAX)
			continue;
		if (access(ret, R_OK | X_OK) == 0)
			return NULL;
		if (errno != ENOENT)
			os_errno = errno;
	}
	if (os_errno != ENOENT)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "tracepoints need root: tracefs can't be read (%s)",
				      strerror(os_errno));
	return vmop_error_new(VMOP_ERROR_CANT,
			      "tracepoints need tracefs, which is not mounted: mount -t tracefs "
			      "tracefs /sys/kernel/tracing");
}

struct vmop_error *vmop_perf_tracepoint_id(const char *root, const char *name, uint64_t *ret)
{
	char events[PATH_MAX];
	_cleanup_free_ char *path = NULL, *text = NULL;
	size_t len = strcspn(name, ":");
	struct vmop_error *err = find_events(root, events);
	if (err)
		return err;
	if (asprintf(&path, "%s/%.*s/%s/id", events, (int)len, name, name + len + 1) < 0) {
		path = NULL;
		return &vmop_error_no_memory;
	}
	err = vmop_io_read_file(path, 64, &text, NULL);
	if (err && (err->os_errno == ENOENT || err->os_errno == ENOTDIR)) {
		vmop_error_destroy(err);
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "no tracepoint '%s'", name);
	}
	if (err)
		return err;
	text[strcspn(text, "\n")] = '\0';
	if (!vmop_parse_u64(text, 10, ret))
		return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: '%s' is not a number", path, text);
	return NULL;
}

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void each_of_system(const char *events, const char *system,
			   void (*each)(void *arg, const char *name), void *arg)
{
	char path[PATH_MAX], name[2 * NAME_MAX + 2];
	struct dirent **list;
	if (snprintf(path, sizeof(path), "%s/%s", events, system) >= (int)sizeof(path))
		return;
	int n = scandir(path, &list, is_shown, by_name);
	for (int i = 0; i < n; i++) {
		/* ftrace's own records cannot be sampled and have no number. */
		size_t path_len = strlen(path);
		snprintf(name, sizeof(name), "%s:%s", system, list[i]->d_name);
		snprintf(path + path_len, sizeof(path) - path_len, "/%s/id", list[i]->d_name);
		if (access(path, F_OK) == 0)
			each(arg, name);
		path[path_len] = '\0';
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

struct vmop_error *vmop_perf_tracepoint_for_each(const char *root,
						 void (*each)(void *arg, const char *name),
						 void *arg)
{
	char events[PATH_MAX];
	struct dirent **list;
	struct vmop_error *err = find_events(root, events);
	if (err)
		return err;
	int n = scandir(events, &list, is_shown, by_name);
	for (int i = 0; i < n; i++) {
		if (list[i]->d_type == DT_DIR)
			each_of_system(events, list[i]->d_name, each, arg);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	return NULL;
}
