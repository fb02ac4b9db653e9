// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/cpus.h"
#include "libutil/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"

struct vmop_cpus_watch {
	int fd;
	char *path;
	bool was_read;
	char seen[4096]; /* sysfs files have at most a page */
};

void vmop_cpus_deinit(struct vmop_cpus *cpus)
{
	free(cpus->cpus);
	*cpus = (struct vmop_cpus){0};
}

static struct vmop_error *bad_list(const char *text)
{
	return vmop_error_new(VMOP_ERROR_CORRUPT, "'%.*s' is no list of CPUs",
			      (int)strcspn(text, "\n"), text);
}

/* Parse one number at *at. strtoul by itself would accept blanks and signs. */
static bool parse_number(const char **at, unsigned *ret)
{
	if (**at < '0' || **at > '9')
		return false;
	char *end;
	errno = 0;
	unsigned long value = strtoul(*at, &end, 10);
	if (errno || value >= VMOP_CPUS_MAX)
		return false;
	*at = end;
	*ret = (unsigned)value;
	return true;
}

static bool append_range(struct vmop_cpus *cpus, unsigned first, unsigned last)
{
	size_t n = cpus->n + (last - first + 1);
	if (!vmop_array_reserve(cpus->cpus, cpus->capacity, n))
		return false;
	for (unsigned cpu = first; cpu <= last; cpu++)
		cpus->cpus[cpus->n++] = cpu;
	return true;
}

struct vmop_error *vmop_cpus_parse(const char *text, struct vmop_cpus *ret)
{
	_cleanup_(vmop_cpus_deinit) struct vmop_cpus cpus = {0};
	const char *at = text;
	unsigned lowest = 0; /* ascending, so the list can't be longer than VMOP_CPUS_MAX */
	while (*at && *at != '\n') {
		unsigned first, last;
		if (!parse_number(&at, &first))
			return bad_list(text);
		last = first;
		if (*at == '-') {
			at++;
			if (!parse_number(&at, &last))
				return bad_list(text);
		}
		if (first < lowest || last < first)
			return bad_list(text);
		if (!append_range(&cpus, first, last))
			return &vmop_error_no_memory;
		lowest = last + 1;
		if (*at == ',' && at[1] && at[1] != '\n')
			at++;
		else if (*at && *at != '\n')
			return bad_list(text);
	}
	*ret = cpus;
	cpus = (struct vmop_cpus){0};
	return NULL;
}

bool vmop_cpus_has(const struct vmop_cpus *cpus, unsigned cpu)
{
	for (size_t i = 0; i < cpus->n; i++) {
		if (cpus->cpus[i] == cpu)
			return true;
	}
	return false;
}

struct vmop_error *vmop_cpus_watch_create(const char *path, struct vmop_cpus_watch **ret)
{
	struct vmop_cpus_watch *watch = calloc(1, sizeof(*watch));
	char *copy = strdup(path);
	if (!watch || !copy) {
		free(watch);
		free(copy);
		return &vmop_error_no_memory;
	}
	watch->path = copy;
	watch->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (watch->fd < 0) {
		struct vmop_error *err = vmop_error_os(errno, "%s", path);
		vmop_cpus_watch_destroy(watch);
		return err;
	}
	*ret = watch;
	return NULL;
}

void vmop_cpus_watch_destroy(struct vmop_cpus_watch *watch)
{
	if (!watch)
		return;
	if (watch->fd >= 0)
		close(watch->fd);
	free(watch->path);
	free(watch);
}

struct vmop_error *vmop_cpus_watch_check(struct vmop_cpus_watch *watch, bool *ret_changed,
					 struct vmop_cpus *ret)
{
	char text[sizeof(watch->seen)];
	*ret_changed = false;
	ssize_t len = vmop_io_pread_full(watch->fd, text, sizeof(text) - 1, 0);
	if (len < 0)
		return vmop_error_os(errno, "%s", watch->path);
	text[len] = '\0';
	if (watch->was_read && !strcmp(text, watch->seen))
		return NULL;
	struct vmop_error *err = vmop_cpus_parse(text, ret);
	if (err)
		return vmop_error_prefix(err, "%s", watch->path);
	strcpy(watch->seen, text);
	watch->was_read = true;
	*ret_changed = true;
	return NULL;
}
