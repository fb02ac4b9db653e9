// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"

#include "libvmop/counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/error.h"
#include "libvmop/live-sets.h"
#include "libvmop/open-event.h"
#include "libvmop/targets.h"
#include "libvmop/user-read.h"

/* Listing and opening again, while threads of the process come and go. */
#define TRIES 10

const struct perf_event_mmap_page vmop_no_page;

static void close_all(struct vmop_counters *counters)
{
	for (size_t i = 0; i < counters->n_targets * counters->events.n; i++) {
		if (counters->fds[i] >= 0)
			close(counters->fds[i]);
	}
	free(counters->fds);
	counters->fds = NULL;
	counters->n_targets = 0;
}

void vmop_counters_unmap(struct vmop_counters *counters)
{
	if (!counters->owner)
		return;
	vmop_live_sets_remove(counters);
	for (size_t i = 0; i < counters->events.n; i++) {
		if (counters->pages[i] != &vmop_no_page)
			munmap((void *)counters->pages[i], (size_t)sysconf(_SC_PAGESIZE));
		counters->pages[i] = &vmop_no_page;
	}
	counters->owner = 0;
}

void vmop_counters_close(struct vmop_counters *counters)
{
	if (!counters)
		return;
	vmop_counters_unmap(counters);
	close_all(counters);
	vmop_event_set_deinit(&counters->events);
	free(counters->counters);
	free(counters->group);
	free(counters->pages);
	free(counters->ended);
	free(counters);
}

static void counters_cleanup(struct vmop_counters **counters)
{
	vmop_counters_close(*counters);
}

/* Open all events for the threads in targets. */
static struct vmop_error *open_targets(struct vmop_counters *counters,
				       const struct vmop_counters_options *options,
				       const struct vmop_targets *targets)
{
	size_t n = counters->events.n;
	counters->fds = malloc(targets->n * n * sizeof(*counters->fds));
	if (!counters->fds)
		return &vmop_error_no_memory;
	counters->n_targets = targets->n;
	for (size_t i = 0; i < targets->n * n; i++)
		counters->fds[i] = -1;
	struct vmop_error *err = NULL;
	for (size_t i = 0; !err && i < targets->n; i++)
		err = vmop_open_events(&counters->events, options, targets->tids[i],
				       &counters->fds[i * n]);
	/* An event that a later thread refused is not counted on any. */
	for (size_t i = 0; i < targets->n * n; i++) {
		if (counters->fds[i] >= 0 && counters->events.events[i % n].reason) {
			close(counters->fds[i]);
			counters->fds[i] = -1;
		}
	}
	return err;
}

/*
 * Open a process: its threads are listed before and after, and must be the same. A thread that was
 * made in between is counted either by inheritance or not at all, and there is no way to find out.
 */
static struct vmop_error *open_process(struct vmop_counters *counters,
				       const struct vmop_counters_options *options)
{
	for (unsigned i = 0; i < TRIES; i++) {
		struct vmop_targets before = {0}, after = {0};
		struct vmop_error *err = vmop_targets_read(options->id, &before);
		if (!err)
			err = open_targets(counters, options, &before);
		bool is_gone = err && err->os_errno == ESRCH;
		if (is_gone) {
			vmop_error_destroy(err);
			err = NULL;
		}
		if (!err)
			err = vmop_targets_read(options->id, &after);
		bool is_same = !err && !is_gone && vmop_targets_equal(&before, &after);
		vmop_targets_deinit(&before);
		vmop_targets_deinit(&after);
		if (err || is_same)
			return err;
		close_all(counters);
	}
	return vmop_error_new(VMOP_ERROR_LIMIT,
			      "process %d makes and ends threads faster than they can be counted; "
			      "start the program under the counters instead",
			      (int)options->id);
}

static struct vmop_error *open_scope(struct vmop_counters *counters,
				     const struct vmop_counters_options *options)
{
	if (options->scope == VMOP_SCOPE_PROCESS)
		return open_process(counters, options);
	pid_t tid = options->scope == VMOP_SCOPE_CPU ? -1 : options->id;
	const struct vmop_targets one = {.tids = &tid, .n = 1};
	return open_targets(counters, options, &one);
}

/* Map the pages of those counters that may be read by the calling thread. */
static void map_pages(struct vmop_counters *counters)
{
	size_t len_bytes = (size_t)sysconf(_SC_PAGESIZE);
	bool has_any = false;
	for (size_t i = 0; i < counters->events.n; i++) {
		int fd = counters->fds[i];
		if (fd < 0 || !counters->events.events[i].is_pmus)
			continue;
		/* No page is no error: read(2) does without. */
		struct perf_event_mmap_page *page =
			mmap(NULL, len_bytes, PROT_READ, MAP_SHARED, fd, 0);
		if (page == MAP_FAILED)
			continue;
		if (page->cap_user_rdpmc) {
			counters->pages[i] = page;
			has_any = true;
		} else {
			munmap(page, len_bytes);
		}
	}
	if (!has_any)
		return;
	vmop_user_read_prepare();
	counters->owner = vmop_thread_self();
	vmop_live_sets_add(counters);
}

static struct vmop_error *check_options(const struct vmop_counters_options *given,
					struct vmop_counters_options *ret)
{
	*ret = (struct vmop_counters_options){.size = sizeof(*ret)};
	if (!given)
		return NULL;
	if (given->size < offsetof(struct vmop_counters_options, reserved) || given->size > 4096)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "the options' size is not that of the struct");
	memcpy(ret, given, given->size < sizeof(*ret) ? given->size : sizeof(*ret));
	if (ret->scope > VMOP_SCOPE_CPU || ret->flags > 63)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "a scope or a flag that libvmop " PACKAGE_VERSION
				      " does not know");
	if (ret->id < 0)
		return vmop_error_new(VMOP_ERROR_USAGE, "no thread, process or CPU has number %d",
				      ret->id);
	return NULL;
}

/* Make room for the counters, and for reads of groups and regions. */
static struct vmop_error *allocate(struct vmop_counters *counters)
{
	size_t largest = 1;
	for (size_t i = 0; i < counters->events.n; i++) {
		size_t n = vmop_event_set_group_size(&counters->events, i);
		largest = n > largest ? n : largest;
	}
	counters->counters = calloc(counters->events.n, sizeof(*counters->counters));
	counters->group = calloc(largest + 3, sizeof(*counters->group));
	counters->ended = calloc(counters->events.n, sizeof(*counters->ended));
	counters->pages = calloc(counters->events.n, sizeof(*counters->pages));
	if (!counters->pages)
		return &vmop_error_no_memory;
	counters->n_pages = counters->events.n;
	for (size_t i = 0; i < counters->n_pages; i++)
		counters->pages[i] = &vmop_no_page;
	return counters->counters && counters->group && counters->ended ? NULL
									: &vmop_error_no_memory;
}

struct vmop_error *vmop_counters_open(const char *events,
				      const struct vmop_counters_options *options,
				      struct vmop_counters **ret)
{
	struct vmop_counters_options checked;
	struct vmop_error *err = check_options(options, &checked);
	if (err)
		return err;
	_cleanup_(counters_cleanup) struct vmop_counters *counters = calloc(1, sizeof(*counters));
	if (!counters)
		return &vmop_error_no_memory;
	err = vmop_event_set_resolve(events, checked.scope == VMOP_SCOPE_CPU ? checked.id : -1,
				     !(checked.flags & VMOP_COUNTERS_SOME), &counters->events);
	if (!err)
		err = allocate(counters);
	if (!err)
		err = open_scope(counters, &checked);
	if (err)
		return err;
	if (checked.scope == VMOP_SCOPE_THREAD && checked.id == 0 &&
	    !(checked.flags & VMOP_COUNTERS_NO_PAGE))
		map_pages(counters);
	*ret = vmop_steal(&counters);
	return NULL;
}

/* Apply an ioctl to each group and each single event of all targets. */
static struct vmop_error *switch_all(struct vmop_counters *counters, unsigned long request)
{
	for (size_t i = 0; i < counters->n_targets * counters->events.n; i++) {
		size_t event = i % counters->events.n;
		if (counters->fds[i] < 0 || counters->events.events[event].leader != event)
			continue;
		if (ioctl(counters->fds[i], request, PERF_IOC_FLAG_GROUP) != 0)
			return vmop_error_os(errno, "counter of %s",
					     counters->events.events[event].name);
	}
	return NULL;
}

struct vmop_error *vmop_counters_start(struct vmop_counters *counters)
{
	counters->is_started = true;
	return switch_all(counters, PERF_EVENT_IOC_ENABLE);
}

struct vmop_error *vmop_counters_stop(struct vmop_counters *counters)
{
	counters->is_started = false;
	return switch_all(counters, PERF_EVENT_IOC_DISABLE);
}

size_t vmop_counters_n(const struct vmop_counters *counters)
{
	return counters->events.n;
}

const char *vmop_counters_name(const struct vmop_counters *counters, size_t i)
{
	return i < counters->events.n ? counters->events.events[i].name : NULL;
}

const char *vmop_counters_unit(const struct vmop_counters *counters, size_t i)
{
	return i < counters->events.n ? counters->events.events[i].unit : NULL;
}

const char *vmop_counters_reason(const struct vmop_counters *counters, size_t i)
{
	return i < counters->events.n ? counters->events.events[i].reason : NULL;
}
