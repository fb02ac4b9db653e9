// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/gate/shares-json.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "opreport/compare/routine.h"

/* A report while it is read. */
struct reading {
	struct vmop_shares *shares;
	const char *path;
	const json_t *events;
	size_t *of_events;     /* by the report's event: the shares', or SIZE_MAX */
	char (*suffixes)[512]; /* by the report's event: ":EVENT", or "" for its only one */
	size_t n_events;
};

static struct vmop_error *corrupt(const struct reading *reading, const char *what)
{
	return vmop_error_new(VMOP_ERROR_CORRUPT,
			      "%s: %s; a baseline is written by vmopreport --format=json",
			      reading->path, what);
}

/* Return a member's text, or "" without such a text. */
static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	return text ? text : "";
}

/* Set *ret to a member that is a number of things.  Other values are refused. */
static bool number_of(const json_t *object, const char *name, uint64_t *ret)
{
	const json_t *value = json_object_get(object, name);
	*ret = 0;
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*ret = (uint64_t)json_integer_value(value);
	return true;
}

/* ---- events -------------------------------------------------------------------------- */

static struct vmop_error *read_event(struct reading *reading, size_t at)
{
	const json_t *item = json_array_get(reading->events, at);
	struct vmop_shares *shares = reading->shares;
	struct vmop_count all;
	const char *name = text_of(item, "name");
	if (!*name || !number_of(item, "samples", &all.samples) ||
	    !number_of(item, "weight", &all.weight_events))
		return corrupt(reading, "an event without name, samples or weight");
	if (reading->n_events > 1)
		snprintf(reading->suffixes[at], sizeof(*reading->suffixes), ":%s", name);
	size_t e = vmop_shares_find_event(shares, name, text_of(item, "unit"), "");
	reading->of_events[at] = e;
	if (e == SIZE_MAX)
		return NULL;
	if (shares->events[e].all.samples)
		return corrupt(reading, "an event that is there twice");
	shares->events[e].all = all;
	number_of(item, "period", &shares->events[e].period_events);
	number_of(item, "frequency_hz", &shares->events[e].frequency_hz);
	return NULL;
}

static struct vmop_error *read_events(struct reading *reading, const json_t *report)
{
	reading->events = json_object_get(report, "events");
	reading->n_events = json_array_size(reading->events);
	if (!reading->n_events || reading->n_events > VMOP_COLUMNS_MAX)
		return corrupt(reading, "no list of events");
	reading->of_events = calloc(reading->n_events, sizeof(*reading->of_events));
	reading->suffixes = calloc(reading->n_events, sizeof(*reading->suffixes));
	struct vmop_error *err =
		reading->of_events && reading->suffixes ? NULL : &vmop_error_no_memory;
	for (size_t i = 0; i < reading->n_events && !err; i++)
		err = read_event(reading, i);
	return err;
}

/* ---- rows ---------------------------------------------------------------------------- */

static const struct {
	unsigned dimension;
	const char *member, *option;
} named[VMOP_N_COMPARED_NAMES] = {
	[VMOP_COMPARED_DOMAIN] = {VMOP_BY_DOMAIN, "domain", "--by=domain"},
	[VMOP_COMPARED_CGROUP] = {VMOP_BY_CGROUP, "cgroup", "--by=cgroup"},
	[VMOP_COMPARED_TASK] = {VMOP_BY_TASK, "task", "--by=task"},
	[VMOP_COMPARED_IMAGE] = {VMOP_BY_IMAGE, "image", "--by=image"},
	[VMOP_COMPARED_SYMBOL] = {VMOP_BY_SYMBOL, "symbol", "--symbols"},
};

static struct vmop_error *read_names(struct reading *reading, const json_t *row,
				     const char *names[VMOP_N_COMPARED_NAMES])
{
	for (size_t i = 0; i < VMOP_N_COMPARED_NAMES; i++) {
		names[i] = NULL;
		if (!(reading->shares->dimensions & named[i].dimension))
			continue;
		names[i] = json_string_value(json_object_get(row, named[i].member));
		if (!names[i] && named[i].dimension != VMOP_BY_CGROUP)
			return vmop_error_new(
				VMOP_ERROR_USAGE,
				"%s: the baseline's rows have no %s; write it with %s",
				reading->path, named[i].member, named[i].option);
	}
	if (names[VMOP_COMPARED_IMAGE])
		names[VMOP_COMPARED_IMAGE] = vmop_image_base_name(names[VMOP_COMPARED_IMAGE]);
	if (!names[VMOP_COMPARED_SYMBOL])
		return NULL;
	names[VMOP_COMPARED_SYMBOL] =
		vmop_routine_function(&reading->shares->arena, names[VMOP_COMPARED_SYMBOL]);
	return names[VMOP_COMPARED_SYMBOL] ? NULL : &vmop_error_no_memory;
}

/* Read a row's counts of one of the report's events; both are missing where they are 0. */
static struct vmop_error *read_counts(struct reading *reading, const json_t *row, size_t event,
				      struct vmop_count *ret)
{
	const struct vmop_count *all = &reading->shares->events[reading->of_events[event]].all;
	char name[sizeof(*reading->suffixes) + 16];
	*ret = (struct vmop_count){0};
	snprintf(name, sizeof(name), "samples%s", reading->suffixes[event]);
	bool has_samples = number_of(row, name, &ret->samples);
	snprintf(name, sizeof(name), "weight%s", reading->suffixes[event]);
	bool has_weight = number_of(row, name, &ret->weight_events);
	if (has_samples != has_weight || (!has_samples && reading->n_events == 1))
		return corrupt(reading, "a row without samples or weight");
	if (ret->samples > all->samples || ret->weight_events > all->weight_events)
		return corrupt(reading, "a row with more samples than its event");
	return NULL;
}

static struct vmop_error *read_row(struct reading *reading, const json_t *item)
{
	const char *names[VMOP_N_COMPARED_NAMES];
	struct vmop_shares_row *row;
	if (!json_is_object(item))
		return corrupt(reading, "a row that is no object");
	struct vmop_error *err = read_names(reading, item, names);
	if (!err)
		err = vmop_shares_add(reading->shares, names, &row);
	for (size_t i = 0; i < reading->n_events && !err; i++) {
		struct vmop_count count;
		if (reading->of_events[i] == SIZE_MAX)
			continue;
		err = read_counts(reading, item, i, &count);
		if (!err)
			row->counts[reading->of_events[i]] = count;
	}
	return err;
}

/* Refuse sums that exceed the event's: else shares would be above 100 %. */
static struct vmop_error *check_sums(const struct reading *reading)
{
	const struct vmop_shares *shares = reading->shares;
	for (size_t e = 0; e < shares->n_events; e++) {
		const struct vmop_count *all = &shares->events[e].all;
		struct vmop_count left = *all;
		for (size_t i = 0; i < shares->n_rows; i++) {
			const struct vmop_count *count = &shares->rows[i].counts[e];
			if (count->samples > left.samples ||
			    count->weight_events > left.weight_events)
				return corrupt(reading, "rows with more samples than their event");
			left.samples -= count->samples;
			left.weight_events -= count->weight_events;
		}
	}
	return NULL;
}

static struct vmop_error *read_report(struct reading *reading, const json_t *report)
{
	static const char *const incomplete[] = {"hidden_rows", "left_out_samples", "left_out_rows",
						 "left_out_symbols"};
	const json_t *rows = json_object_get(report, "rows");
	const json_t *session = json_object_get(report, "session");
	size_t i;
	const json_t *row;
	if (!json_is_array(rows) || !json_is_object(session))
		return corrupt(reading, "no report");
	for (i = 0; i < sizeof(incomplete) / sizeof(*incomplete); i++) {
		uint64_t n;
		if (number_of(session, incomplete[i], &n) && n)
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "%s: the baseline lacks rows (%s); write it without "
					      "--top and --threshold, or of fewer samples",
					      reading->path, incomplete[i]);
	}
	struct vmop_error *err = read_events(reading, report);
	json_array_foreach (rows, i, row) {
		if (err)
			break;
		err = read_row(reading, row);
	}
	if (!err)
		err = check_sums(reading);
	vmop_shares_merge(reading->shares);
	return err;
}

struct vmop_error *vmop_shares_of_json(struct vmop_shares *ret, const char *path, const char *text,
				       size_t len_bytes, const struct vmop_shares *like)
{
	struct reading reading = {.shares = ret, .path = path};
	json_error_t where;
	struct vmop_error *err = vmop_shares_init_like(ret, like);
	if (err)
		return err;
	json_auto_t *report = json_loadb(text, len_bytes, JSON_REJECT_DUPLICATES, &where);
	if (!report && json_error_code(&where) == json_error_out_of_memory)
		return &vmop_error_no_memory;
	if (!report)
		return vmop_error_new(VMOP_ERROR_CORRUPT,
				      "%s:%d: %s; a baseline is written by vmopreport "
				      "--format=json",
				      path, where.line, where.text);
	err = read_report(&reading, report);
	free(reading.of_events);
	free(reading.suffixes);
	return err;
}

/* ---- files --------------------------------------------------------------------------- */

static struct vmop_error *read_file(int fd, const char *path, size_t len_bytes, char *text)
{
	for (size_t at = 0; at < len_bytes;) {
		ssize_t got = read(fd, text + at, len_bytes - at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return vmop_error_os(errno, "baseline %s", path);
		if (!got)
			return vmop_error_new(VMOP_ERROR_CORRUPT,
					      "baseline %s became shorter while it was read", path);
		at += (size_t)got;
	}
	return NULL;
}

static struct vmop_error *read_all(int fd, const char *path, char **ret, size_t *ret_len_bytes)
{
	struct stat st;
	if (fstat(fd, &st))
		return vmop_error_os(errno, "baseline %s", path);
	if (!S_ISREG(st.st_mode))
		return vmop_error_new(VMOP_ERROR_CANT, "baseline %s is no regular file", path);
	if ((uint64_t)st.st_size > VMOP_SHARES_JSON_MAX_BYTES)
		return vmop_error_new(VMOP_ERROR_LIMIT,
				      "baseline %s is larger than %zu MiB; use a session, or a "
				      "report by image",
				      path, VMOP_SHARES_JSON_MAX_BYTES >> 20);
	*ret_len_bytes = (size_t)st.st_size;
	*ret = malloc(*ret_len_bytes + 1);
	return *ret ? read_file(fd, path, *ret_len_bytes, *ret) : &vmop_error_no_memory;
}

struct vmop_error *vmop_shares_of_file(struct vmop_shares *ret, const char *path,
				       const struct vmop_shares *like)
{
	_cleanup_free_ char *text = NULL;
	size_t len_bytes = 0;
	*ret = (struct vmop_shares){0};
	/* A FIFO would block. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return vmop_error_os(errno, "baseline %s", path);
	struct vmop_error *err = read_all(fd, path, &text, &len_bytes);
	close(fd);
	return err ? err : vmop_shares_of_json(ret, path, text, len_bytes, like);
}
