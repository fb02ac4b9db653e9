// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"

#include "hv-interface/perf/pfm.h"

#ifdef HAVE_PFM
#include <perfmon/pfmlib_perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/parse.h"

static pfm_err_t encode(const char *text, struct perf_event_attr *attr)
{
	pfm_perf_encode_arg_t arg = {.attr = attr, .size = sizeof(arg)};
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	return pfm_get_os_event_encoding(text, PFM_PLM0 | PFM_PLM3 | PFM_PLMH, PFM_OS_PERF_EVENT,
					 &arg);
}

/*
 * Get the i-th unit mask of an event. Return false past the last; *ret->name is NULL for other
 * attributes.
 */
static bool unit_mask_at(int event, int i, pfm_event_attr_info_t *ret)
{
	pfm_event_info_t info = {.size = sizeof(info)};
	if (pfm_get_event_info(event, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS || i >= info.nattrs)
		return false;
	*ret = (pfm_event_attr_info_t){.size = sizeof(*ret)};
	if (pfm_get_event_attr_info(event, i, PFM_OS_PERF_EVENT, ret) != PFM_SUCCESS ||
	    ret->type != PFM_ATTR_UMASK)
		ret->name = NULL;
	return true;
}

/* Return the name of a unit mask by its number, as opcontrol gives it. */
static const char *unit_mask_by_number(int event, uint64_t number)
{
	pfm_event_attr_info_t info;
	for (int i = 0; unit_mask_at(event, i, &info); i++) {
		if (info.name && info.code == number)
			return info.name;
	}
	return NULL;
}

static struct vmop_error *bad_unit_mask(const char *name, const char *unit_mask, int event)
{
	_cleanup_free_ char *list = NULL;
	size_t len;
	_cleanup_fclose_ FILE *out = open_memstream(&list, &len);
	if (!out)
		return &vmop_error_no_memory;
	pfm_event_attr_info_t info;
	unsigned n = 0;
	for (int i = 0; unit_mask_at(event, i, &info); i++) {
		if (info.name)
			fprintf(out, "%s%s (0x%llx)", n++ ? ", " : "", info.name,
				(unsigned long long)info.code);
	}
	if (fflush(out) != 0)
		return &vmop_error_no_memory;
	if (n == 0)
		return vmop_error_new(VMOP_ERROR_USAGE, "event '%s' has no unit masks, so not '%s'",
				      name, unit_mask);
	if (!unit_mask)
		return vmop_error_new(VMOP_ERROR_USAGE, "event '%s' needs a unit mask, one of: %s",
				      name, list);
	return vmop_error_new(VMOP_ERROR_USAGE, "event '%s' has no unit mask '%s'; it has: %s",
			      name, unit_mask, list);
}

/* Find the event's number, and "NAME[:UNIT-MASK]" as libpfm wants it, which the caller frees. */
static struct vmop_error *find_event(const char *name, const char *unit_mask, int *ret_event,
				     char **ret_text)
{
	if (pfm_initialize() != PFM_SUCCESS || (*ret_event = pfm_find_event(name)) < 0)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "no event '%s'", name);
	const char *mask = unit_mask;
	uint64_t number;
	if (mask && vmop_parse_u64(mask, 0, &number)) {
		mask = unit_mask_by_number(*ret_event, number);
		if (!mask && number != 0) /* 0 means the default in opcontrol */
			return bad_unit_mask(name, unit_mask, *ret_event);
	}
	return asprintf(ret_text, mask ? "%s:%s" : "%s", name, mask) < 0 ? &vmop_error_no_memory
									 : NULL;
}

static struct vmop_error *to_error(pfm_err_t status, const char *name, const char *unit_mask,
				   int event)
{
	if (status == PFM_SUCCESS)
		return NULL;
	if (status == PFM_ERR_UMASK || status == PFM_ERR_ATTR || status == PFM_ERR_ATTR_VAL ||
	    status == PFM_ERR_FEATCOMB)
		return bad_unit_mask(name, unit_mask, event);
	return vmop_error_new(VMOP_ERROR_NOT_FOUND, "event '%s': %s", name, pfm_strerror(status));
}

struct vmop_error *vmop_pfm_encode(const char *name, const char *unit_mask,
				   struct vmop_pfm_event *ret)
{
	int event;
	_cleanup_free_ char *text = NULL;
	struct perf_event_attr attr;
	struct vmop_error *err = find_event(name, unit_mask, &event, &text);
	if (!err)
		err = to_error(encode(text, &attr), name, unit_mask, event);
	if (err)
		return err;
	*ret = (struct vmop_pfm_event){
		.type = attr.type,
		.config = attr.config,
		.config1 = attr.config1,
		.config2 = attr.config2,
	};
	return NULL;
}

struct vmop_error *vmop_pfm_encode_raw(const char *name, const char *unit_mask, uint64_t *ret)
{
	int event;
	_cleanup_free_ char *text = NULL;
	pfm_pmu_encode_arg_t arg = {.size = sizeof(arg)};
	struct vmop_error *err = find_event(name, unit_mask, &event, &text);
	if (!err)
		err = to_error(
			pfm_get_os_event_encoding(text, PFM_PLM0 | PFM_PLM3, PFM_OS_NONE, &arg),
			name, unit_mask, event);
	if (!err && arg.count < 1)
		err = vmop_error_new(VMOP_ERROR_NOT_FOUND, "event '%s' has no code", name);
	if (!err)
		*ret = arg.codes[0];
	free(arg.codes);
	return err;
}

static void list_unit_masks(struct vmop_pfm_entry *entry, int event,
			    void (*each)(void *arg, const struct vmop_pfm_entry *entry), void *arg)
{
	pfm_event_attr_info_t info;
	for (int i = 0; unit_mask_at(event, i, &info); i++) {
		if (!info.name)
			continue;
		entry->unit_mask = info.name;
		entry->code = info.code;
		entry->description = info.desc;
		each(arg, entry);
	}
}

static void list_pmu(pfm_pmu_t pmu, void (*each)(void *arg, const struct vmop_pfm_entry *entry),
		     void *arg)
{
	pfm_pmu_info_t pmu_info = {.size = sizeof(pmu_info)};
	if (pfm_get_pmu_info(pmu, &pmu_info) != PFM_SUCCESS || !pmu_info.is_present)
		return;
	for (int i = pmu_info.first_event; i != -1; i = pfm_get_event_next(i)) {
		pfm_event_info_t info = {.size = sizeof(info)};
		if (pfm_get_event_info(i, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS)
			continue;
		struct vmop_pfm_entry entry = {
			.pmu = pmu_info.name,
			.pmu_description = pmu_info.desc,
			.event = info.name,
			.code = info.code,
			.description = info.desc,
			.is_core = pmu_info.type == PFM_PMU_TYPE_CORE,
		};
		each(arg, &entry);
		list_unit_masks(&entry, i, each, arg);
	}
}

void vmop_pfm_list(void (*each)(void *arg, const struct vmop_pfm_entry *entry), void *arg)
{
	if (pfm_initialize() != PFM_SUCCESS)
		return;
	for (int pmu = PFM_PMU_NONE; pmu < PFM_PMU_MAX; pmu++) {
		/* libpfm has perf's own events on every machine: leave them out. */
		if (pmu != PFM_PMU_PERF_EVENT && pmu != PFM_PMU_PERF_EVENT_RAW)
			list_pmu((pfm_pmu_t)pmu, each, arg);
	}
}

struct names {
	void (*each)(void *arg, const char *name);
	void *arg;
};

static void each_name(void *arg, const struct vmop_pfm_entry *entry)
{
	const struct names *names = arg;
	if (!entry->unit_mask)
		names->each(names->arg, entry->event);
}

void vmop_pfm_for_each(void (*each)(void *arg, const char *name), void *arg)
{
	struct names names = {each, arg};
	vmop_pfm_list(each_name, &names);
}

#else

struct vmop_error *vmop_pfm_encode(const char *name, const char *unit_mask,
				   struct vmop_pfm_event *ret)
{
	(void)unit_mask;
	(void)ret;
	return vmop_error_new(VMOP_ERROR_NOT_FOUND, "no event '%s'", name);
}

struct vmop_error *vmop_pfm_encode_raw(const char *name, const char *unit_mask, uint64_t *ret)
{
	(void)unit_mask;
	(void)ret;
	return vmop_error_new(VMOP_ERROR_NOT_FOUND, "no event '%s'", name);
}

void vmop_pfm_for_each(void (*each)(void *arg, const char *name), void *arg)
{
	(void)each;
	(void)arg;
}

void vmop_pfm_list(void (*each)(void *arg, const struct vmop_pfm_entry *entry), void *arg)
{
	(void)each;
	(void)arg;
}
#endif
