// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/waits/task-times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "opreport/arrange/session.h"
#include "opreport/query/event-name.h"
#include "opreport/waits/waits.h"

/* A longer time is divided by fewer slots, each of several intervals. */
#define TIME_SLOTS 4096

static const double z = 1.959964; /* 95 % of a normal distribution lie within z deviations */

/* The time of a guest's vCPUs in a slot of time. */
struct slot_time {
	uint32_t domain, slot;
	double running_ns, exit_ns;
};

/* The samples of a task of a guest in a slot of time. */
struct slot_samples {
	uint32_t domain, slot, task;
	struct vmop_count count;
};

/* The parts while they are read and joined. */
struct joining {
	struct vmop_task_times *ret;
	size_t session; /* that is being read */
	struct slot_time *times;
	struct slot_samples *samples;
	size_t n_times, times_capacity, n_samples;
};

static void joining_deinit(struct joining *joining)
{
	free(joining->times);
	free(joining->samples);
}

double vmop_task_time_error(uint64_t x, uint64_t n, double square_ns)
{
	double share = ((double)x + z * z / 2) / ((double)n + z * z);
	return z * sqrt(share * (1 - share) * square_ns);
}

/* ---- the samples ------------------------------------------------------------------------ */

/* Return whether an event's samples come in proportion to the CPU time of all code. */
static bool goes_with_time(const struct vmop_event_item *event)
{
	if (*vmop_event_modifiers(event->name))
		return false;
	return strcmp(event->unit, "ns") == 0 || vmop_event_role(event->name) == VMOP_EVENT_CYCLES;
}

static struct vmop_error *find_event(struct vmop_task_times *ret)
{
	for (size_t e = 0; e < ret->result.n_events; e++) {
		if (goes_with_time(vmop_result_event(&ret->result, e))) {
			ret->event = e;
			return NULL;
		}
	}
	return vmop_error_new(VMOP_ERROR_CANT,
			      "no event of the session goes with time, so its samples show no time "
			      "of guests' tasks: record cpu-clock or cycles");
}

/* Take the samples of guests out of the rows. */
static struct vmop_error *take_samples(struct joining *joining)
{
	const struct vmop_result *result = &joining->ret->result;
	joining->samples = calloc(result->n_rows + 1, sizeof(*joining->samples));
	if (!joining->samples)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < result->n_rows; i++) {
		const struct vmop_row *row = &result->rows[i];
		struct vmop_count count = vmop_result_sum(result, row->counts, joining->ret->event);
		if (vmop_row_domain(result, row)->is_host || !count.samples || !row->group->time)
			continue;
		joining->samples[joining->n_samples++] = (struct slot_samples){
			.domain = vmop_row_domain(result, row)->row,
			.slot = row->group->time - 1,
			.task = row->group->task ? row->group->task - 1 : 0,
			.count = count,
		};
	}
	return NULL;
}

/* ---- the time ----------------------------------------------------------------------------- */

static struct vmop_error *take_wait(void *arg, const struct vmop_db_interval *interval,
				    const struct vmop_db_wait *wait)
{
	struct joining *joining = arg;
	struct vmop_task_times *ret = joining->ret;
	const struct vmop_catalog *catalog = &ret->result.catalog;
	uint32_t slot = vmop_time_slots_find(&ret->result.times, joining->session, interval);
	size_t at = vmop_catalog_find_domain(catalog, joining->session, wait->domain);
	bool is_exit = wait->state == VMOP_WAIT_EXIT;
	if ((wait->state != VMOP_WAIT_RUNNING && !is_exit) || !wait->time_ns ||
	    slot == VMOP_NO_TIME_SLOT || !at || !vmop_catalog_domain(catalog, at)->selected)
		return NULL;
	if (interval->len_ns > ret->longest_ns)
		ret->longest_ns = interval->len_ns;
	if (!vmop_array_reserve(joining->times, joining->times_capacity, joining->n_times + 1))
		return &vmop_error_no_memory;
	joining->times[joining->n_times++] = (struct slot_time){
		.domain = vmop_catalog_domain(catalog, at)->row,
		.slot = slot,
		.running_ns = is_exit ? 0 : (double)wait->time_ns,
		.exit_ns = is_exit ? (double)wait->time_ns : 0,
	};
	return NULL;
}

static struct vmop_error *read_session(struct joining *joining, struct vmop_db *db)
{
	struct vmop_task_times *ret = joining->ret;
	_cleanup_free_ char *no_exits = NULL;
	struct vmop_error *err = vmop_db_each_interval_wait(
		db, ret->result.choice.from_ns, ret->result.choice.to_ns, take_wait, joining);
	if (!err)
		err = vmop_db_get_info(db, "no_exits", &no_exits);
	ret->has_exits &= !no_exits;
	return err ? vmop_catalog_blame(err, &ret->result.catalog, joining->session) : NULL;
}

/* ---- joining ------------------------------------------------------------------------------ */

static int compare_slots(uint32_t domain_a, uint32_t slot_a, uint32_t domain_b, uint32_t slot_b)
{
	if (domain_a != domain_b)
		return domain_a < domain_b ? -1 : 1;
	return slot_a < slot_b ? -1 : slot_a > slot_b;
}

static int by_slot(const void *a, const void *b)
{
	const struct slot_time *x = a, *y = b;
	return compare_slots(x->domain, x->slot, y->domain, y->slot);
}

static int by_slot_and_task(const void *a, const void *b)
{
	const struct slot_samples *x = a, *y = b;
	int order = compare_slots(x->domain, x->slot, y->domain, y->slot);
	return order ? order : x->task < y->task ? -1 : x->task > y->task;
}

static void merge_times(struct joining *joining)
{
	size_t n = 0;
	if (joining->n_times)
		qsort(joining->times, joining->n_times, sizeof(*joining->times), by_slot);
	for (size_t i = 0; i < joining->n_times; i++) {
		struct slot_time *last = n ? &joining->times[n - 1] : NULL;
		if (last && by_slot(last, &joining->times[i]) == 0) {
			last->running_ns += joining->times[i].running_ns;
			last->exit_ns += joining->times[i].exit_ns;
		} else {
			joining->times[n++] = joining->times[i];
		}
	}
	joining->n_times = n;
}

static struct vmop_error *add(struct vmop_task_times *times, const struct vmop_task_time *part)
{
	if (!vmop_array_reserve(times->items, times->capacity, times->n + 1))
		return &vmop_error_no_memory;
	times->items[times->n++] = *part;
	return NULL;
}

/* A guest while its slots are joined. */
struct guest {
	uint32_t domain;
	size_t first; /* its first item */
	double running_ns, exit_ns, unsampled_ns;
	double square_ns; /* for vmop_task_time_error() */
	uint64_t samples; /* in slots with time */
};

/* Divide the time of a slot among the tasks with samples in it: samples[0..n). */
static struct vmop_error *divide(struct joining *joining, struct guest *guest,
				 const struct slot_time *time, const struct slot_samples *samples,
				 size_t n)
{
	struct vmop_error *err = NULL;
	struct vmop_count all = {0};
	double exit_ns = fmin(time->exit_ns, time->running_ns);
	double guest_ns = time->running_ns - exit_ns;
	for (size_t i = 0; i < n; i++)
		vmop_count_add(&all, samples[i].count.samples, samples[i].count.weight_events);
	guest->running_ns += time->running_ns;
	guest->exit_ns += exit_ns;
	if (!all.samples || !all.weight_events) {
		guest->unsampled_ns += guest_ns;
		return NULL;
	}
	guest->samples += all.samples;
	guest->square_ns += guest_ns * guest_ns / (double)all.samples;
	for (size_t i = 0; i < n && !err; i++) {
		const struct vmop_task_time part = {
			.domain = time->domain,
			.kind = VMOP_TASK_TIME_TASK,
			.task = samples[i].task,
			.samples = samples[i].count.samples,
			.time_ns = guest_ns * (double)samples[i].count.weight_events /
				   (double)all.weight_events,
		};
		err = add(joining->ret, &part);
	}
	return err;
}

static int by_task(const void *a, const void *b)
{
	const struct vmop_task_time *x = a, *y = b;
	return x->task < y->task ? -1 : x->task > y->task;
}

static int by_time(const void *a, const void *b)
{
	const struct vmop_task_time *x = a, *y = b;
	if (x->time_ns < y->time_ns || x->time_ns > y->time_ns)
		return x->time_ns > y->time_ns ? -1 : 1;
	return x->kind != y->kind ? (x->kind < y->kind ? -1 : 1) : by_task(a, b);
}

/* Add up the parts of each task of a guest, and add the time that was not divided. */
static struct vmop_error *finish_guest(struct vmop_task_times *times, const struct guest *guest)
{
	const struct vmop_task_time rests[] = {
		{.kind = VMOP_TASK_TIME_EXITS, .time_ns = guest->exit_ns},
		{.kind = VMOP_TASK_TIME_UNSAMPLED, .time_ns = guest->unsampled_ns},
	};
	struct vmop_task_time *items = times->items + guest->first;
	size_t n = 0, n_parts = times->n - guest->first;
	struct vmop_error *err = NULL;
	if (n_parts)
		qsort(items, n_parts, sizeof(*items), by_task);
	for (size_t i = 0; i < n_parts; i++) {
		if (n && items[n - 1].task == items[i].task) {
			items[n - 1].time_ns += items[i].time_ns;
			items[n - 1].samples += items[i].samples;
		} else {
			items[n++] = items[i];
		}
	}
	for (size_t i = 0; i < n; i++)
		items[i].error_ns =
			vmop_task_time_error(items[i].samples, guest->samples, guest->square_ns);
	times->n = guest->first + n;
	for (size_t i = 0; i < sizeof(rests) / sizeof(*rests) && !err; i++)
		if (rests[i].time_ns > 0)
			err = add(times, &rests[i]);
	if (err)
		return err;
	items = times->items + guest->first;
	n = times->n - guest->first;
	for (size_t i = 0; i < n; i++) {
		items[i].domain = guest->domain;
		items[i].running_ns = guest->running_ns;
	}
	if (n)
		qsort(items, n, sizeof(*items), by_time);
	return NULL;
}

/* Join times and samples, both sorted by guest and slot. */
static struct vmop_error *join(struct joining *joining)
{
	struct vmop_task_times *ret = joining->ret;
	struct vmop_error *err = NULL;
	size_t sample = 0;
	merge_times(joining);
	if (joining->n_samples)
		qsort(joining->samples, joining->n_samples, sizeof(*joining->samples),
		      by_slot_and_task);
	for (size_t i = 0; i < joining->n_times && !err;) {
		struct guest guest = {.domain = joining->times[i].domain, .first = ret->n};
		for (; i < joining->n_times && joining->times[i].domain == guest.domain && !err;
		     i++) {
			const struct slot_time *time = &joining->times[i];
			const struct slot_samples *of = joining->samples;
			while (sample < joining->n_samples &&
			       compare_slots(of[sample].domain, of[sample].slot, time->domain,
					     time->slot) < 0)
				sample++; /* the time was not measured then */
			size_t end = sample;
			while (end < joining->n_samples && of[end].domain == time->domain &&
			       of[end].slot == time->slot)
				end++;
			err = divide(joining, &guest, time, of + sample, end - sample);
			sample = end;
		}
		if (!err)
			err = finish_guest(ret, &guest);
	}
	return err;
}

/* ---- loading ------------------------------------------------------------------------------ */

static struct vmop_error *load(const struct vmop_spec *spec, struct vmop_sessions *sessions,
			       struct joining *joining)
{
	struct vmop_task_times *ret = joining->ret;
	const struct vmop_query query = {
		.dimensions = VMOP_BY_DOMAIN | VMOP_BY_TASK | VMOP_BY_TIME,
		.accounting = VMOP_ACCOUNTING_CPU,
		.merge = VMOP_MERGE_TID,
		.time_slots = TIME_SLOTS,
	};
	struct vmop_error *err = vmop_waits_check_spec(spec);
	if (!err && spec->vcpus.n)
		err = vmop_error_new(VMOP_ERROR_USAGE,
				     "the time of guests' tasks has no vcpu: (session:, domain: "
				     "and time: select it)");
	if (!err)
		err = vmop_sessions_open(spec, sessions);
	if (!err)
		err = vmop_query_run(&query, spec, sessions->items, sessions->n, &ret->result);
	if (!err)
		err = find_event(ret);
	if (!err)
		err = take_samples(joining);
	for (size_t i = 0; i < sessions->n && !err; i++) {
		joining->session = i;
		err = read_session(joining, sessions->items[i].db);
	}
	return err ? err : join(joining);
}

struct vmop_error *vmop_task_times_load(const struct vmop_spec *spec, struct vmop_task_times *ret)
{
	_cleanup_(joining_deinit) struct joining joining = {.ret = ret};
	struct vmop_sessions sessions = {0};
	*ret = (struct vmop_task_times){.has_exits = true};
	struct vmop_error *err = load(spec, &sessions, &joining);
	vmop_sessions_deinit(&sessions);
	if (err)
		return err;
	return ret->n ? NULL : vmop_waits_none(spec);
}

void vmop_task_times_deinit(struct vmop_task_times *times)
{
	free(times->items);
	vmop_result_deinit(&times->result);
}
