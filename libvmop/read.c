// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading a set: by the pages where possible, else by read(2), one call for each group and thread.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "libutil/error.h"
#include "libvmop/counters.h"
#include "libvmop/page.h"

/* read(2)'s result for a single event and for a group (enum perf_event_read_format). */
struct single {
	uint64_t value, enabled_ns, running_ns;
};
enum { GROUP_N, GROUP_ENABLED, GROUP_RUNNING, GROUP_VALUES };

static struct vmop_error *read_failed(const struct vmop_counters *counters, size_t i, ssize_t n)
{
	const char *name = counters->events.events[i].name;
	if (n < 0)
		return vmop_error_os(errno, "counter of %s", name);
	return vmop_error_new(VMOP_ERROR_CANT, "counter of %s: the kernel has taken it away", name);
}

static void add_single(struct vmop_count *count, uint64_t value, uint64_t enabled_ns,
		       uint64_t running_ns)
{
	count->value += value;
	count->enabled_ns += enabled_ns;
	count->running_ns += running_ns;
}

/* Read one target's single event, or its group into counters->group. */
static inline struct vmop_error *read_target(struct vmop_counters *counters, size_t target,
					     size_t leader, size_t n_group, struct single *ret)
{
	int fd = vmop_counters_fd(counters, target, leader);
	if (n_group == 1) {
		ssize_t n = read(fd, ret, sizeof(*ret));
		return n == sizeof(*ret) ? NULL : read_failed(counters, leader, n);
	}
	uint64_t *group = counters->group;
	size_t len_bytes = (n_group + GROUP_VALUES) * sizeof(*group);
	ssize_t n = read(fd, group, len_bytes);
	if (n != (ssize_t)len_bytes || group[GROUP_N] != n_group)
		return read_failed(counters, leader, n < 0 ? n : 0);
	return NULL;
}

/* Add the counts of one target's group, or of its single event. */
static struct vmop_error *add_target(struct vmop_counters *counters, size_t target, size_t leader,
				     size_t n_group, struct vmop_count *counts)
{
	struct single single;
	struct vmop_error *err = read_target(counters, target, leader, n_group, &single);
	if (!err && n_group == 1)
		add_single(&counts[leader], single.value, single.enabled_ns, single.running_ns);
	const uint64_t *group = counters->group;
	for (size_t i = 0; !err && n_group > 1 && i < n_group; i++)
		add_single(&counts[leader + i], group[GROUP_VALUES + i], group[GROUP_ENABLED],
			   group[GROUP_RUNNING]);
	return err;
}

/* Read a group, or a single event, without a system call. Return false if that is impossible. */
static bool read_pages(struct vmop_counters *counters, size_t leader, size_t n_group,
		       struct vmop_count *counts)
{
	if (!counters->owner || counters->owner != vmop_thread_self())
		return false;
	for (size_t i = leader; i < leader + n_group; i++) {
		struct vmop_page_read read;
		enum vmop_page_result result = vmop_page_read(counters->pages[i], &read);
		if (result == VMOP_PAGE_REFUSED)
			vmop_counters_unmap(counters);
		if (result != VMOP_PAGE_READ)
			return false;
		counts[i] = (struct vmop_count){.value = read.value,
						.enabled_ns = read.enabled_ns,
						.running_ns = read.running_ns,
						.way = VMOP_BY_PAGE};
	}
	return true;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Set estimate and flags, and keep what never goes back. */
static void finish(struct vmop_count *count, struct vmop_count *last)
{
	count->value = later(count->value, last->value);
	count->enabled_ns = later(count->enabled_ns, last->enabled_ns);
	count->running_ns = later(count->running_ns, last->running_ns);
	count->estimate = count->value;
	if (count->running_ns == 0) {
		count->flags |= VMOP_COUNT_NOT_RUN;
	} else if (count->running_ns < count->enabled_ns) {
		count->flags |= VMOP_COUNT_ESTIMATE;
		count->estimate = (uint64_t)((unsigned __int128)count->value * count->enabled_ns /
					     count->running_ns);
	}
	if (count->estimate < last->estimate) {
		count->flags |= VMOP_COUNT_CLAMPED;
		count->estimate = last->estimate;
	}
	*last = *count;
}

static struct vmop_error *read_group(struct vmop_counters *counters, size_t leader, size_t n_group,
				     struct vmop_count *counts)
{
	if (counters->events.events[leader].reason) {
		for (size_t i = leader; i < leader + n_group; i++)
			counts[i] = (struct vmop_count){.flags = VMOP_COUNT_UNAVAILABLE};
		return NULL;
	}
	if (!read_pages(counters, leader, n_group, counts)) {
		memset(&counts[leader], 0, n_group * sizeof(*counts));
		for (size_t target = 0; target < counters->n_targets; target++) {
			struct vmop_error *err =
				add_target(counters, target, leader, n_group, counts);
			if (err)
				return err;
		}
		for (size_t i = leader; i < leader + n_group; i++)
			counts[i].way = VMOP_BY_READ;
	}
	for (size_t i = leader; i < leader + n_group; i++)
		finish(&counts[i], &counters->counters[i].last);
	return NULL;
}

struct vmop_error *vmop_counters_read(struct vmop_counters *counters, struct vmop_count *counts,
				      size_t n)
{
	if (n < counters->events.n)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "room for %zu counts, and there are %zu events", n,
				      counters->events.n);
	for (size_t i = 0, n_group; i < counters->events.n; i += n_group) {
		n_group = vmop_event_set_group_size(&counters->events, i);
		struct vmop_error *err = read_group(counters, i, n_group, counts);
		if (err)
			return err;
	}
	return NULL;
}

/* Read one value by read(2). */
static int value_by_read(struct vmop_counters *counters, size_t i, uint64_t *ret)
{
	if (i >= counters->events.n || counters->events.events[i].reason)
		return VMOP_BY_NOTHING;
	size_t leader = counters->events.events[i].leader;
	size_t n_group = vmop_event_set_group_size(&counters->events, leader);
	uint64_t value = 0;
	for (size_t target = 0; target < counters->n_targets; target++) {
		struct single single;
		struct vmop_error *err = read_target(counters, target, leader, n_group, &single);
		if (err) {
			vmop_error_destroy(err);
			return VMOP_BY_NOTHING;
		}
		value += n_group == 1 ? single.value : counters->group[GROUP_VALUES + i - leader];
	}
	*ret = value;
	return VMOP_BY_READ;
}

/* Read by the page once more, for it was just changed, or by read(2). */
static __attribute__((noinline)) int value_slowly(struct vmop_counters *counters, size_t i,
						  uint64_t *ret)
{
	if (i < counters->events.n && counters->owner == vmop_thread_self()) {
		enum vmop_page_result result = vmop_page_value(counters->pages[i], ret);
		if (result == VMOP_PAGE_READ)
			return VMOP_BY_PAGE;
		if (result == VMOP_PAGE_REFUSED)
			vmop_counters_unmap(counters);
	}
	return value_by_read(counters, i, ret);
}

/* The usual case has at most 40 instructions on arm64 (tests/rigs/scenarios/counters.check). */
int vmop_counters_value(struct vmop_counters *counters, size_t i, uint64_t *ret)
{
	/* One branch for both conditions. */
	bool is_own = (i < counters->n_pages) & (counters->owner == vmop_thread_self());
	if (is_own && vmop_page_try(counters->pages[i], ret) == VMOP_PAGE_READ)
		return VMOP_BY_PAGE;
	return value_slowly(counters, i, ret);
}
