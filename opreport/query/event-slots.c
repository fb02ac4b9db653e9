// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/event-slots.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"

/* How to compare events that may share a column. */
struct naming {
	const struct vmop_catalog *catalog;
	bool without_unit_mask;
};

static int compare_names(const struct naming *naming, const struct vmop_event_item *a,
			 const struct vmop_event_item *b)
{
	int order = strcmp(a->unit, b->unit);
	if (order || !naming->without_unit_mask)
		return order ? order : strcmp(a->label, b->label);
	size_t x = strcspn(a->name, ":"), y = strcspn(b->name, ":");
	order = memcmp(a->name, b->name, x < y ? x : y);
	return order ? order : (x > y) - (x < y);
}

static int compare_events(const void *a, const void *b, void *arg)
{
	const struct naming *naming = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = compare_names(naming, vmop_catalog_event(naming->catalog, x),
				  vmop_catalog_event(naming->catalog, y));
	return order ? order : (x > y) - (x < y);
}

/*
 * Set the slot of events list[0..n), which compare equal and are in the table's order, to the index
 * of the event whose column they share.  Events of one session share a column only if unit masks
 * are merged.
 */
static void find_column(const struct naming *naming, const uint32_t *list, size_t n)
{
	const struct vmop_event_item *first = vmop_catalog_event(naming->catalog, list[0]);
	for (size_t i = 0; i < n; i++) {
		struct vmop_event_item *event = vmop_catalog_event(naming->catalog, list[i]);
		bool is_same = naming->without_unit_mask || event->session != first->session;
		event->slot = is_same ? list[0] : list[i];
	}
}

static struct vmop_error *find_columns(const struct naming *naming)
{
	size_t n = 0, n_events = naming->catalog->events.n;
	_cleanup_free_ uint32_t *list = calloc(n_events, sizeof(*list));
	if (!list)
		return &vmop_error_no_memory;
	for (size_t i = 1; i < n_events; i++) {
		if (vmop_catalog_event(naming->catalog, i)->selected)
			list[n++] = (uint32_t)i;
	}
	qsort_r(list, n, sizeof(*list), compare_events, (void *)naming);
	for (size_t first = 0, end; first < n; first = end) {
		const struct vmop_event_item *of = vmop_catalog_event(naming->catalog, list[first]);
		for (end = first + 1; end < n; end++) {
			if (compare_names(naming, of,
					  vmop_catalog_event(naming->catalog, list[end])) != 0)
				break;
		}
		find_column(naming, list + first, end - first);
	}
	return NULL;
}

struct vmop_error *vmop_result_assign_slots(struct vmop_result *result, unsigned merge)
{
	struct vmop_catalog *catalog = &result->catalog;
	const struct naming naming = {catalog, merge & VMOP_MERGE_UNITMASK};
	result->events = calloc(VMOP_COLUMNS_MAX, sizeof(*result->events));
	if (!result->events)
		return &vmop_error_no_memory;
	struct vmop_error *err = find_columns(&naming);
	if (err)
		return err;
	result->left_out.events = catalog->n_events_left_out;
	vmop_catalog_event(catalog, 0)->slot = VMOP_NO_SLOT;
	for (size_t i = 1; i < catalog->events.n; i++) {
		struct vmop_event_item *event = vmop_catalog_event(catalog, i);
		if (!event->selected) {
			event->slot = VMOP_NO_SLOT;
		} else if (event->slot != i) {
			event->slot = vmop_catalog_event(catalog, event->slot)->slot;
		} else if (result->n_events < VMOP_COLUMNS_MAX) {
			event->slot = (uint32_t)result->n_events;
			result->events[result->n_events++] = i;
		} else {
			event->slot = VMOP_NO_SLOT;
		}
		result->left_out.events += event->selected && event->slot == VMOP_NO_SLOT;
	}
	if (!result->n_events)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "the session has no events yet");
	return NULL;
}
