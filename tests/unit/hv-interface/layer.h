// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A layer under perf_event_open. Programs that include this are linked with --wrap options:
 * - --wrap=syscall: the calls go through a layer that can refuse them, pretends a PMU, and records
 *   the attributes.
 * - --wrap=vmop_cpus_watch_check: CPUs come and go on command.
 * - --wrap=vmop_io_read_file: the kernel's settings have chosen values.
 * - --wrap=vmop_perf_guest_exit_init: the machine can pretend to be arm64 with KVM.
 */
#ifndef VMOP_TESTS_HV_INTERFACE_LAYER_H
#define VMOP_TESTS_HV_INTERFACE_LAYER_H

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hv-interface/cpus.h"
#include "hv-interface/perf/guest-exit.h"
#include "hv-interface/perf/perf.h"
#include "hv-interface/source.h"
#include "libutil/io.h"

/* The settings and records of the layer. */
static struct {
	bool (*refuses)(const struct perf_event_attr *attr, int cpu); /* NULL: refuse nothing */
	int os_errno;
	unsigned at_call; /* refuse only that call, from 1; 0: every call that refuses() selects */
	bool refuses_siblings; /* refuse all but the first of a group, with EINVAL */
	unsigned n_calls;
	unsigned counters; /* limit of a group's members; 0: no limit */
	unsigned n_group;  /* members of the current group */
	unsigned n_hardware, n_host_only, n_guest_only; /* opened outside of groups */
	struct perf_event_attr last_dummy, last_hardware;
	struct perf_event_attr last_clock;     /* opened on a CPU */
	struct perf_event_attr last_host_only; /* of the hardware events with exclude_guest */
	int last_group_fd;		       /* -1: none */
	unsigned types_on[8]; /* the last hardware event's type and config on each CPU */
	uint64_t configs_on[8];
} layer;

static inline bool is_dummy(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY;
}

static inline bool is_hardware(const struct perf_event_attr *attr)
{
	return attr->type != PERF_TYPE_SOFTWARE;
}

long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);

/* perf_event_open is the only call of syscall() in this program. */
long __wrap_syscall(long number, ...)
{
	va_list args;
	va_start(args, number);
	struct perf_event_attr *attr = va_arg(args, struct perf_event_attr *);
	int pid = va_arg(args, int), cpu = va_arg(args, int), group = va_arg(args, int);
	unsigned long flags = va_arg(args, int);
	va_end(args);
	assert_int_equal(number, SYS_perf_event_open);
	layer.n_calls++;
	if ((layer.at_call == 0 || layer.at_call == layer.n_calls) &&
	    (layer.refuses ? layer.refuses(attr, cpu) : layer.at_call != 0)) {
		errno = layer.os_errno;
		return -1;
	}
	layer.last_group_fd = group;
	if (layer.refuses_siblings && group != -1) {
		errno = EINVAL;
		return -1;
	}
	if (group < 0)
		layer.n_group = 0;
	if (layer.counters && is_hardware(attr) && ++layer.n_group > layer.counters && group >= 0) {
		errno = EINVAL;
		return -1;
	}
	if (is_dummy(attr))
		layer.last_dummy = *attr;
	else if (!is_hardware(attr) && cpu >= 0)
		layer.last_clock = *attr;
	struct perf_event_attr real = *attr;
	if (is_hardware(attr)) { /* the clock pretends to be a PMU */
		layer.last_hardware = *attr;
		if (attr->sample_type) { /* not one of a trial */
			layer.n_hardware++;
			if (attr->exclude_guest)
				layer.last_host_only = *attr;
			layer.n_host_only += attr->exclude_guest;
			layer.n_guest_only += attr->exclude_host;
		}
		if (cpu >= 0 && cpu < 8) {
			layer.types_on[cpu] = attr->type;
			layer.configs_on[cpu] = attr->config;
		}
		real.precise_ip = 0;
		real.type = PERF_TYPE_SOFTWARE;
		real.config = PERF_COUNT_SW_CPU_CLOCK;
		real.exclude_host = real.exclude_guest = 0;
	}
	return __real_syscall(number, &real, pid, cpu, group, flags);
}

static const char *online; /* NULL: the real list */

struct vmop_error *__wrap_vmop_cpus_watch_check(struct vmop_cpus_watch *watch, bool *ret_changed,
						struct vmop_cpus *ret);
struct vmop_error *__real_vmop_cpus_watch_check(struct vmop_cpus_watch *watch, bool *ret_changed,
						struct vmop_cpus *ret);

struct vmop_error *__wrap_vmop_cpus_watch_check(struct vmop_cpus_watch *watch, bool *ret_changed,
						struct vmop_cpus *ret)
{
	if (!online)
		return __real_vmop_cpus_watch_check(watch, ret_changed, ret);
	*ret_changed = true;
	return vmop_cpus_parse(online, ret);
}

/* Content of files under /proc and /sys; NULL: the real content. */
static const char *mediated_vpmu, *max_sample_rate, *paranoid;

struct vmop_error *__wrap_vmop_io_read_file(const char *path, size_t max_bytes, char **ret,
					    size_t *ret_len_bytes);
struct vmop_error *__real_vmop_io_read_file(const char *path, size_t max_bytes, char **ret,
					    size_t *ret_len_bytes);

struct vmop_error *__wrap_vmop_io_read_file(const char *path, size_t max_bytes, char **ret,
					    size_t *ret_len_bytes)
{
	const char *text = NULL;
	if (!strcmp(path, "/sys/module/kvm_amd/parameters/enable_mediated_pmu"))
		text = mediated_vpmu;
	else if (!strcmp(path, "/proc/sys/kernel/perf_event_max_sample_rate"))
		text = max_sample_rate;
	else if (!strcmp(path, "/proc/sys/kernel/perf_event_paranoid"))
		text = paranoid;
	if (!text)
		return __real_vmop_io_read_file(path, max_bytes, ret, ret_len_bytes);
	*ret = strdup(text);
	assert_null(ret_len_bytes);
	return NULL;
}

static bool is_arm64_kvm;

void __wrap_vmop_perf_guest_exit_init(struct vmop_perf_guest_exit *ret);

void __wrap_vmop_perf_guest_exit_init(struct vmop_perf_guest_exit *ret)
{
	*ret = (struct vmop_perf_guest_exit){.is_here = is_arm64_kvm};
}

/* The call stacks of the source's set-up. */
static struct vmop_stack_options stacks;

static inline void refuse(bool (*refuses)(const struct perf_event_attr *, int), int os_errno)
{
	memset(&layer, 0, sizeof(layer));
	layer.refuses = refuses;
	layer.os_errno = os_errno;
}

static inline int reset(void **state)
{
	(void)state;
	refuse(NULL, 0);
	online = NULL;
	is_arm64_kvm = false;
	stacks = (struct vmop_stack_options){.mode = VMOP_STACKS_OFF};
	mediated_vpmu = max_sample_rate = paranoid = NULL;
	return 0;
}

static const char *root; /* prefix for /sys; NULL: "" */

/* Open a source for events: one, or several with blanks between. */
static inline struct vmop_error *try_open(const char *events, struct vmop_source **ret)
{
	struct vmop_event_request requests[4];
	char copy[256], *next = copy;
	size_t n = 0;
	snprintf(copy, sizeof(copy), "%s", events);
	while (next && n < 4)
		assert_null(vmop_event_request_parse(strsep(&next, " "), &requests[n++]));
	const struct vmop_source_setup setup = {
		.events = requests,
		.n_events = n,
		.buffer_bytes = stacks.mode == VMOP_STACKS_OFF ? 1 << 16 : 0,
		.stacks = stacks,
		.root = root,
	};
	struct vmop_error *err = vmop_source_open(&vmop_source_perf_ops, &setup, ret);
	while (n > 0)
		vmop_event_request_deinit(&requests[--n]);
	return err;
}

static inline struct vmop_source *must_open(const char *event)
{
	struct vmop_source *source;
	struct vmop_error *err = try_open(event, &source);
	if (err)
		fail_msg("%s", err->message);
	return source;
}

static inline void must_fail(const char *event, enum vmop_error_code code, const char *words)
{
	struct vmop_source *source;
	struct vmop_error *err = try_open(event, &source);
	if (!err)
		fail_msg("%s was opened", event);
	assert_int_equal(err->code, code);
	if (!strstr(err->message, words))
		fail_msg("'%s' lacks '%s'", err->message, words);
	vmop_error_destroy(err);
}

static inline void assert_event(struct vmop_source *source, size_t i, const char *name,
				const char *note)
{
	const struct vmop_event_info *info = vmop_source_event(source, i);
	assert_string_equal(info->name, name);
	if (!note) {
		assert_null(info->note);
	} else {
		assert_non_null(info->note);
		if (!strstr(info->note, note))
			fail_msg("'%s' lacks '%s'", info->note, note);
	}
}

static inline bool all_hardware(const struct perf_event_attr *attr, int cpu)
{
	(void)cpu;
	return is_hardware(attr);
}

static inline bool all(const struct perf_event_attr *attr, int cpu)
{
	(void)attr;
	(void)cpu;
	return true;
}

static inline unsigned n_cpus(void)
{
	return (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
}

static inline int may_sample(void **state)
{
	(void)state;
	struct vmop_source *source;
	struct vmop_error *err = try_open("cpu-clock", &source);
	if (err) {
		printf("skipped: %s\n", err->message);
		exit(77);
	}
	vmop_source_close(source);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup(name, reset)

#endif
