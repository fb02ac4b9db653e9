// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/list-events.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "daemon/inspect.h"
#include "hv-interface/event-list.h"
#include "hv-interface/source-list.h"
#include "libutil/cleanup.h"
#include "libutil/escape.h"
#include "libutil/json.h"
#include "libutil/protocol.h"

enum { NAME_WIDTH = 26, COUNT_WIDTH = 9, TEXT_COLUMN = 2 + NAME_WIDTH + 1 + COUNT_WIDTH + 2 };

static const struct {
	const char *word, *title;
} groups[VMOP_N_EVENT_GROUPS] = {
	[VMOP_EVENTS_SOFTWARE] = {"software", "Counted by the kernel, on every machine"},
	[VMOP_EVENTS_HARDWARE] = {"hardware", "Counted by the CPU's PMU, under perf's names"},
	[VMOP_EVENTS_CACHE] = {"cache", "Its caches and buffers"},
	[VMOP_EVENTS_PMU] = {"pmu",
			     "PMUs as the kernel describes them: PMU/EVENT/, PMU/FIELD=.../"},
	[VMOP_EVENTS_LIBPFM4] = {"libpfm4", "PMUs as libpfm4 knows them: EVENT or PMU::EVENT"},
	[VMOP_EVENTS_OPCONTROL] = {"opcontrol",
				   "Names of opcontrol, for what perf calls otherwise"},
	[VMOP_EVENTS_TRACEPOINT] = {"tracepoint", "Tracepoints of the kernel"},
	[VMOP_EVENTS_XEN] = {"xen", "Counted by the CPU's PMU for Xen, as libpfm4 names it"},
};

struct listing {
	bool json, all;
	json_t *events;	  /* with json */
	unsigned columns; /* of the terminal */
	unsigned n[VMOP_N_EVENT_GROUPS], n_lacking[VMOP_N_EVENT_GROUPS];
	int group;	  /* of the last printed title; -1: none */
	bool has_cycles;  /* the PMU counts cycles: they are "default" */
	bool is_skipping; /* skip the unit masks of an event that isn't shown */
};

/* ---- text --------------------------------------------------------------------- */

static unsigned terminal_columns(void)
{
	struct winsize size;
	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
	    size.ws_col > TEXT_COLUMN + 20)
		return size.ws_col;
	return 80;
}

/* Print text from `column` on, with line breaks at blanks, right of the left column. */
static void put_text(const struct listing *listing, unsigned left, unsigned column,
		     const char *text)
{
	while (*text) {
		size_t blanks = strspn(text, " "), len = strcspn(text + blanks, " ");
		if (column > left && column + blanks + len > listing->columns) {
			printf("\n%*s", (int)left, "");
			column = left;
			text += blanks;
			blanks = 0;
		}
		vmop_escape_print(text, blanks + len, vmop_escape_locale(), stdout);
		text += blanks + len;
		column += (unsigned)(blanks + len);
	}
	putchar('\n');
}

static void put_title(struct listing *listing, enum vmop_event_group group)
{
	if (listing->group == (int)group)
		return;
	listing->group = (int)group;
	printf("\n%s\n", groups[group].title);
}

/* Print name and lowest count, then the description, on a new line if the former are long. */
static void put_row(const struct listing *listing, const char *name, const char *count,
		    const char *description)
{
	char shown[256];
	vmop_escape_into(shown, sizeof(shown), name, vmop_escape_locale());
	int used = printf("  %-*s", NAME_WIDTH, shown);
	if (used > 2 + NAME_WIDTH)
		printf("\n%*s", 2 + NAME_WIDTH, "");
	if (!description) {
		printf(" %*s\n", COUNT_WIDTH, count);
		return;
	}
	used = printf(" %*s  ", COUNT_WIDTH, count);
	put_text(listing, TEXT_COLUMN, 2 + NAME_WIDTH + (unsigned)used, description);
}

static void put_entry(struct listing *listing, const struct vmop_event_entry *entry)
{
	char count[32], name[128];
	if (!entry->unit_mask)
		listing->is_skipping = !entry->is_available && !listing->all;
	if (listing->is_skipping)
		return;
	if ((entry->unit_mask || entry->group == VMOP_EVENTS_TRACEPOINT) && !listing->all)
		return;
	put_title(listing, entry->group);
	if (entry->unit_mask) {
		snprintf(name, sizeof(name), "  :%s", entry->unit_mask);
		snprintf(count, sizeof(count), "0x%" PRIx64, entry->unit_mask_code);
		put_row(listing, name, count, entry->description);
		return;
	}
	snprintf(count, sizeof(count), "%" PRIu64 "%s", entry->lowest_count,
		 !strcmp(entry->unit, "ns") ? " ns" : "");
	put_row(listing, entry->name, entry->is_available ? count : "-", entry->description);
}

static void put_source_summary(const struct listing *listing, const char *hint)
{
	putchar('\n');
	if (!listing->all)
		put_text(listing, 0, 0, "--verbose also lists unit masks.");
	put_text(listing, 0, 0, "Raw events: rNNN, the PMU's own number in hexadecimal.");
	put_text(listing, 0, 0, hint);
}

static void put_summary(const struct listing *listing, const struct vmop_error *no_tracepoints)
{
	unsigned n_pmu = 0, n_lacking = 0;
	for (int group = VMOP_EVENTS_HARDWARE; group <= VMOP_EVENTS_CACHE; group++) {
		n_pmu += listing->n[group];
		n_lacking += listing->n_lacking[group];
	}
	putchar('\n');
	if (listing->all)
		puts("A '-' where the lowest count stands: this machine can't sample it.");
	if (n_pmu == n_lacking)
		put_text(listing, 0, 0,
			 "This machine has no PMU for hardware events: cpu-clock stands in for "
			 "cycles.");
	else if (n_lacking && !listing->all)
		put_text(listing, 0, 0, "--verbose also lists what this machine's PMU lacks.");
	if (no_tracepoints)
		put_text(listing, 0, 0, no_tracepoints->message);
	else if (!listing->all)
		printf("Tracepoints: %u, SYSTEM:NAME each; --verbose lists them.\n",
		       listing->n[VMOP_EVENTS_TRACEPOINT]);
	put_text(listing, 0, 0, "Raw events: rNNN, the PMU's own number in hexadecimal.");
	printf("default: %s\n", listing->has_cycles ? "cycles" : "cpu-clock");
	put_text(listing, 0, 0,
		 "Each is followed by a count between samples or a frequency: "
		 "--event=NAME:COUNT, --event=NAME:4000Hz; vmop-events(7) has the rest.");
}

/* ---- JSON ----------------------------------------------------------------------- */

static void add_json(struct listing *listing, const struct vmop_event_entry *entry)
{
	json_t *object = json_object();
	if (entry->unit_mask) {
		size_t n = json_array_size(listing->events);
		json_t *event = json_array_get(listing->events, n ? n - 1 : 0);
		json_t *masks = json_object_get(event, "unit_masks");
		if (!masks) {
			masks = json_array();
			json_object_set(event, "unit_masks", masks);
			json_decref(masks);
		}
		vmop_json_put_text(object, "name", entry->unit_mask);
		vmop_json_put_number(object, "code", entry->unit_mask_code);
		vmop_json_put_text(object, "description", entry->description);
		json_array_append_new(masks, object);
		return;
	}
	vmop_json_put_text(object, "group", groups[entry->group].word);
	vmop_json_put_text(object, "name", entry->name);
	vmop_json_put_text(object, "description", entry->description);
	vmop_json_put_text(object, "unit", entry->unit);
	vmop_json_put_number(object, "lowest_count", entry->lowest_count);
	json_object_set_new(object, "available", json_boolean(entry->is_available));
	json_array_append_new(listing->events, object);
}

static void put_json(const struct listing *listing, const struct vmop_error *no_tracepoints)
{
	_cleanup_(vmop_json_cleanup) json_t *whole = json_object();
	vmop_json_put_text(whole, "default", listing->has_cycles ? "cycles" : "cpu-clock");
	vmop_json_put_text(whole, "no_tracepoints",
			   no_tracepoints ? no_tracepoints->message : NULL);
	json_object_set(whole, "events", listing->events);
	vmop_error_destroy(vmop_json_print(whole, JSON_INDENT(2), stdout));
}

/* ------------------------------------------------------------------------------------ */

static void take_entry(void *arg, const struct vmop_event_entry *entry)
{
	struct listing *listing = arg;
	if (!entry->unit_mask) {
		listing->n[entry->group]++;
		listing->n_lacking[entry->group] += !entry->is_available;
		if ((entry->group == VMOP_EVENTS_HARDWARE || entry->group == VMOP_EVENTS_XEN) &&
		    !strcmp(entry->name, "cycles"))
			listing->has_cycles = entry->is_available;
	}
	if (listing->json)
		add_json(listing, entry);
	else
		put_entry(listing, entry);
}

struct vmop_error *vmop_list_events(bool json, bool all)
{
	_cleanup_(vmop_error_cleanup) struct vmop_error *no_tracepoints = NULL;
	_cleanup_(vmop_json_cleanup) json_t *events = json_array();
	struct listing listing = {
		.json = json,
		.all = all,
		.events = events,
		.columns = terminal_columns(),
		.group = -1,
	};
	if (!json)
		printf("  %-*s %*s  %s\n", NAME_WIDTH, "NAME", COUNT_WIDTH, "LOWEST", "A COUNT IS");
	const char *note;
	const struct vmop_source_ops *source = vmop_source_pick(&note);
	struct vmop_error *err = NULL;
	if (source->list_events)
		source->list_events(take_entry, &listing);
	else
		err = vmop_event_list("", take_entry, &listing, &no_tracepoints);
	if (err)
		return err;
	if (json)
		put_json(&listing, no_tracepoints);
	else if (source->list_events)
		put_source_summary(&listing, source->events_hint);
	else
		put_summary(&listing, no_tracepoints);
	return fflush(stdout) == 0 ? NULL : vmop_error_os(errno, "standard output");
}
