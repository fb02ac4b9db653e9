// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/pmu.h"
#include "libutil/array.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/parse.h"

#define DEVICES "/sys/bus/event_source/devices"

enum {
	FILE_BYTES = 4096,	/* sysfs files have at most a page */
	DEPTH = 3,		/* longest chain of events that name events */
	LARGEST_LIST = 1 << 16, /* entries of a directory */
};

void vmop_perf_pmus_deinit(struct vmop_perf_pmus *pmus)
{
	for (size_t i = 0; i < pmus->n; i++) {
		free(pmus->pmus[i].name);
		vmop_cpus_deinit(&pmus->pmus[i].cpus);
	}
	free(pmus->pmus);
	*pmus = (struct vmop_perf_pmus){0};
}

/*
 * Read a file of one line, without its newline. Return NULL if it cannot be read. The caller frees.
 */
static char *read_line(const char *root, const char *pmu, const char *dir, const char *file)
{
	_cleanup_free_ char *path = NULL;
	char *text;
	if (asprintf(&path, "%s" DEVICES "/%s/%s%s%s", root, pmu, dir, *dir ? "/" : "", file) < 0) {
		path = NULL;
		return NULL;
	}
	struct vmop_error *err = vmop_io_read_file(path, FILE_BYTES, &text, NULL);
	vmop_error_destroy(err);
	if (err)
		return NULL;
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* Read "cpus" of a core PMU, or "cpumask" of a PMU beside the cores. */
static void read_cpus(const char *root, struct vmop_perf_pmu *pmu)
{
	_cleanup_free_ char *text = read_line(root, pmu->name, "", "cpus");
	pmu->is_core = text != NULL;
	if (!text)
		text = read_line(root, pmu->name, "", "cpumask");
	if (!text || !*text) {
		pmu->is_core = false;
		return;
	}
	struct vmop_error *err = vmop_cpus_parse(text, &pmu->cpus);
	pmu->has_cpus = !err;
	pmu->is_core &= !err;
	vmop_error_destroy(err);
}

static struct vmop_error *add_pmu(struct vmop_perf_pmus *pmus, const char *root, const char *name)
{
	_cleanup_free_ char *text = read_line(root, name, "", "type");
	uint64_t type;
	if (!text || !vmop_parse_u64(text, 10, &type) || type > INT32_MAX)
		return NULL; /* not a PMU */
	if (!vmop_array_reserve(pmus->pmus, pmus->capacity, pmus->n + 1))
		return &vmop_error_no_memory;
	struct vmop_perf_pmu *pmu = &pmus->pmus[pmus->n];
	*pmu = (struct vmop_perf_pmu){.name = strdup(name), .type = (uint32_t)type};
	if (!pmu->name)
		return &vmop_error_no_memory;
	read_cpus(root, pmu);
	pmus->n++;
	return NULL;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* List the names in a directory. Set *ret_n to 0 if it does not exist. */
static void list_dir(const char *path, struct dirent ***ret, size_t *ret_n)
{
	int n = scandir(path, ret, is_shown, by_name);
	*ret_n = n > 0 ? (size_t)n : 0;
	if (n < 0)
		*ret = NULL;
}

static void free_list(struct dirent **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

struct vmop_error *vmop_perf_pmus_read(const char *root, struct vmop_perf_pmus *ret)
{
	_cleanup_free_ char *path = NULL;
	struct vmop_perf_pmus pmus = {0};
	struct vmop_error *err = NULL;
	struct dirent **list;
	size_t n;
	if (asprintf(&path, "%s" DEVICES, root) < 0) {
		path = NULL;
		return &vmop_error_no_memory;
	}
	list_dir(path, &list, &n);
	for (size_t i = 0; !err && i < n && i < LARGEST_LIST; i++)
		err = add_pmu(&pmus, root, list[i]->d_name);
	free_list(list, n);
	if (err)
		vmop_perf_pmus_deinit(&pmus);
	*ret = pmus;
	return err;
}

const struct vmop_perf_pmu *vmop_perf_pmus_find(const struct vmop_perf_pmus *pmus, const char *name)
{
	for (size_t i = 0; i < pmus->n; i++) {
		if (!strcmp(pmus->pmus[i].name, name))
			return &pmus->pmus[i];
	}
	return NULL;
}

const struct vmop_perf_pmu *vmop_perf_pmus_find_type(const struct vmop_perf_pmus *pmus,
						     uint32_t type)
{
	for (size_t i = 0; i < pmus->n; i++) {
		if (pmus->pmus[i].type == type)
			return &pmus->pmus[i];
	}
	return NULL;
}

bool vmop_perf_pmu_is_x86_hybrid(const struct vmop_perf_pmu *pmu)
{
	return pmu->is_core && !strncmp(pmu->name, "cpu_", 4);
}

bool vmop_perf_pmu_is_tracer(const struct vmop_perf_pmu *pmu)
{
	static const char *const prefixes[] = {"intel_pt", "intel_bts", "arm_spe",
					       "cs_etm",   "hisi_ptt",	"arm_trbe"};
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (!strncmp(pmu->name, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

/* ---- terms ------------------------------------------------------------------ */

/* Write value into the bits of a word that "0-7,32-35" names, the lowest first. */
static bool scatter(const char *bits, uint64_t value, uint64_t *word)
{
	while (*bits) {
		char *end;
		if (*bits < '0' || *bits > '9')
			return false;
		unsigned long first = strtoul(bits, &end, 10), last = first;
		if (*end == '-') {
			bits = end + 1;
			if (*bits < '0' || *bits > '9')
				return false;
			last = strtoul(bits, &end, 10);
		}
		if (first > last || last > 63)
			return false;
		for (unsigned long bit = first; bit <= last; bit++, value >>= 1) {
			*word &= ~(UINT64_C(1) << bit);
			*word |= (value & 1) << bit;
		}
		if (*end && *end != ',')
			return false;
		bits = *end ? end + 1 : end;
	}
	return value == 0; /* no bits may be left over */
}

static uint64_t *config_of(struct perf_event_attr *attr, const char *name, size_t len)
{
	if (len == 6 && !strncmp(name, "config", 6))
		return (uint64_t *)&attr->config;
	if (len == 7 && !strncmp(name, "config1", 7))
		return (uint64_t *)&attr->config1;
	return len == 7 && !strncmp(name, "config2", 7) ? (uint64_t *)&attr->config2 : NULL;
}

/* Join the names in format/ or events/: "a, b, c", or "none". The caller frees. */
static char *names_in(const char *root, const char *pmu, const char *dir)
{
	enum { MOST = 24 };
	_cleanup_free_ char *path = NULL;
	char *text = NULL;
	size_t len, n;
	struct dirent **list;
	if (asprintf(&path, "%s" DEVICES "/%s/%s", root, pmu, dir) < 0) {
		path = NULL;
		return NULL;
	}
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	list_dir(path, &list, &n);
	for (size_t i = 0; i < n && i < MOST; i++)
		fprintf(out, "%s%s", i ? ", " : "", list[i]->d_name);
	fputs(n == 0 ? "none" : n > MOST ? ", ..." : "", out);
	free_list(list, n);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static struct vmop_error *bad_term(const char *root, const struct vmop_perf_pmu *pmu,
				   const char *term)
{
	_cleanup_free_ char *formats = names_in(root, pmu->name, "format");
	_cleanup_free_ char *events = names_in(root, pmu->name, "events");
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "PMU %s has neither a field nor an event '%s'; fields: config, "
			      "config1, config2, %s; events: %s",
			      pmu->name, term, formats ? formats : "?", events ? events : "?");
}

static struct vmop_error *encode_field(const struct vmop_perf_pmu *pmu, const char *term,
				       const char *format, const char *value,
				       struct perf_event_attr *attr)
{
	size_t len = strcspn(format, ":");
	uint64_t *word = config_of(attr, format, len);
	uint64_t number = 1;
	if (value && !vmop_parse_u64(value, 0, &number))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "PMU %s: '%s' of '%s' is not a number, such as 0x3c",
				      pmu->name, value, term);
	if (!word || (format[len] && !scatter(format + len + 1, number, word)))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "PMU %s: the value of '%s' does not fit its field (%s)",
				      pmu->name, term, format);
	if (!format[len])
		*word = number;
	return NULL;
}

static struct vmop_error *encode_terms(const char *root, const struct vmop_perf_pmu *pmu,
				       const char *terms, unsigned depth,
				       struct perf_event_attr *attr);

static struct vmop_error *encode_term(const char *root, const struct vmop_perf_pmu *pmu, char *term,
				      unsigned depth, struct perf_event_attr *attr)
{
	_cleanup_free_ char *whole = strdup(term);
	if (!whole)
		return &vmop_error_no_memory;
	char *value = strchr(term, '=');
	if (value)
		*value++ = '\0';
	if (!*term || strchr(term, '/') || term[0] == '.')
		return bad_term(root, pmu, whole);
	if (value && config_of(attr, term, strlen(term)))
		return encode_field(pmu, whole, term, value, attr);
	_cleanup_free_ char *format = read_line(root, pmu->name, "format", term);
	if (format)
		return encode_field(pmu, whole, format, value, attr);
	_cleanup_free_ char *event = value ? NULL : read_line(root, pmu->name, "events", term);
	if (!event || depth == DEPTH)
		return bad_term(root, pmu, whole);
	return encode_terms(root, pmu, event, depth + 1, attr);
}

static struct vmop_error *encode_terms(const char *root, const struct vmop_perf_pmu *pmu,
				       const char *terms, unsigned depth,
				       struct perf_event_attr *attr)
{
	_cleanup_free_ char *copy = strdup(terms);
	if (!copy)
		return &vmop_error_no_memory;
	struct vmop_error *err = NULL;
	char *next = copy;
	while (!err && next) {
		char *term = strsep(&next, ",");
		err = encode_term(root, pmu, term, depth, attr);
	}
	return err;
}

struct vmop_error *vmop_perf_pmu_encode(const char *root, const struct vmop_perf_pmu *pmu,
					const char *terms, struct perf_event_attr *attr)
{
	attr->type = pmu->type;
	return *terms ? encode_terms(root, pmu, terms, 0, attr) : NULL;
}

struct vmop_error *
vmop_perf_pmu_for_each(const char *root, const struct vmop_perf_pmu *pmu,
		       void (*each)(void *arg, const char *event, const char *terms), void *arg)
{
	_cleanup_free_ char *path = NULL;
	struct dirent **list;
	size_t n;
	if (asprintf(&path, "%s" DEVICES "/%s/events", root, pmu->name) < 0) {
		path = NULL;
		return &vmop_error_no_memory;
	}
	list_dir(path, &list, &n);
	for (size_t i = 0; i < n && i < LARGEST_LIST; i++) {
		/* NAME.scale, .unit and .snapshot only describe NAME. */
		_cleanup_free_ char *terms =
			strchr(list[i]->d_name, '.')
				? NULL
				: read_line(root, pmu->name, "events", list[i]->d_name);
		if (terms)
			each(arg, list[i]->d_name, terms);
	}
	free_list(list, n);
	return NULL;
}
