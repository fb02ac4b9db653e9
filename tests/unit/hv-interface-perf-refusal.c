// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The perf source where perf_event_open refuses.  Linked with
 * --wrap=syscall, so that the calls go through a layer which makes them fail
 * as told, pretends a PMU, and looks at what is asked of the kernel; with
 * --wrap=vmop_cpus_watch_check, so that CPUs come and go as told; and with
 * --wrap=vmop_io_read_file, so that the kernel's settings are as told.
 */
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hv-interface/cpus.h"
#include "hv-interface/source.h"
#include "libutil/io.h"

/* What the layer does. */
static struct {
	bool (*refuses)(const struct perf_event_attr *attr, int cpu); /* NULL: nothing */
	int os_errno;
	unsigned at_call; /* that call alone, from 1; 0: every one that refuses() */
	unsigned n_calls;
	struct perf_event_attr last_dummy, last_hardware;
} layer;

static bool is_dummy(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY;
}

static bool is_hardware(const struct perf_event_attr *attr)
{
	return attr->type != PERF_TYPE_SOFTWARE;
}

long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);

/* Only perf_event_open goes through here in what this program links. */
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
	if (is_dummy(attr))
		layer.last_dummy = *attr;
	struct perf_event_attr real = *attr;
	if (is_hardware(attr)) { /* the clock pretends to be a PMU */
		layer.last_hardware = *attr;
		real.type = PERF_TYPE_SOFTWARE;
		real.config = PERF_COUNT_SW_CPU_CLOCK;
		real.exclude_host = real.exclude_guest = 0;
	}
	return __real_syscall(number, &real, pid, cpu, group, flags);
}

static const char *online; /* NULL: as it is */

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

/* What files under /proc and /sys say; NULL: what they really say. */
static const char *mediated_vpmu, *max_sample_rate;

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
	if (!text)
		return __real_vmop_io_read_file(path, max_bytes, ret, ret_len_bytes);
	*ret = strdup(text);
	assert_null(ret_len_bytes);
	return NULL;
}

static void refuse(bool (*refuses)(const struct perf_event_attr *, int), int os_errno)
{
	memset(&layer, 0, sizeof(layer));
	layer.refuses = refuses;
	layer.os_errno = os_errno;
}

static int reset(void **state)
{
	(void)state;
	refuse(NULL, 0);
	online = NULL;
	mediated_vpmu = max_sample_rate = NULL;
	return 0;
}

static struct vmop_error *try_open(const char *event, struct vmop_source **ret)
{
	struct vmop_event_request request;
	struct vmop_error *err = vmop_event_request_parse(event, &request);
	assert_null(err);
	const struct vmop_source_setup setup = {
		.events = &request, .n_events = 1, .buffer_bytes = 1 << 16};
	err = vmop_source_open(&vmop_source_perf_ops, &setup, ret);
	vmop_event_request_deinit(&request);
	return err;
}

static struct vmop_source *must_open(const char *event)
{
	struct vmop_source *source;
	struct vmop_error *err = try_open(event, &source);
	if (err)
		fail_msg("%s", err->message);
	return source;
}

static void must_fail(const char *event, enum vmop_error_code code, const char *words)
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

static void assert_event(struct vmop_source *source, size_t i, const char *name, const char *note)
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

static bool all_hardware(const struct perf_event_attr *attr, int cpu)
{
	(void)cpu;
	return is_hardware(attr);
}

static bool all(const struct perf_event_attr *attr, int cpu)
{
	(void)attr;
	(void)cpu;
	return true;
}

static void a_pmu_is_used_where_there_is_one(void **state)
{
	(void)state;
	struct vmop_source *source = must_open("default");
	assert_int_equal(vmop_source_n_events(source), 1);
	assert_event(source, 0, "cycles", NULL);
	assert_string_equal(vmop_source_event(source, 0)->unit, "events");
	assert_int_equal(vmop_source_event(source, 0)->frequency_hz, 999);
	assert_true(layer.last_hardware.freq && layer.last_hardware.use_clockid);
	assert_false(layer.last_hardware.exclude_guest);
	vmop_source_close(source);
}

static void the_clock_stands_in_for_cycles_and_says_why(void **state)
{
	(void)state;
	static const struct {
		int os_errno;
		const char *words;
	} table[] = {
		{ENOENT, "ENOENT"}, {EOPNOTSUPP, "EOPNOTSUPP"}, {EBUSY, "EBUSY"},
		{ENOSPC, "ENOSPC"}, {EINVAL, "EINVAL"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		refuse(all_hardware, table[i].os_errno);
		struct vmop_source *source = must_open("default");
		assert_int_equal(vmop_source_n_events(source), 1);
		assert_event(source, 0, "cpu-clock", table[i].words);
		assert_event(source, 0, "cpu-clock", "no cycles: ");
		assert_string_equal(vmop_source_event(source, 0)->unit, "ns");
		vmop_source_close(source);
		source = must_open("cycles:100003");
		assert_event(source, 0, "cpu-clock", "a cycle is taken for a nanosecond");
		assert_int_equal(vmop_source_event(source, 0)->period_events, 100003);
		vmop_source_close(source);
	}
}

static void nothing_stands_in_for_other_events(void **state)
{
	(void)state;
	static const int errnos[] = {ENOENT, EBUSY, ENOSPC, EINVAL};
	for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++) {
		refuse(all_hardware, errnos[i]);
		must_fail("llc-misses", VMOP_ERROR_CANT, "event 'llc-misses': ");
		must_fail("instructions", VMOP_ERROR_CANT, "event 'instructions': ");
	}
}

static void without_leave_it_says_what_to_do(void **state)
{
	(void)state;
	refuse(all, EACCES);
	must_fail("default", VMOP_ERROR_CANT, "CAP_PERFMON");
	must_fail("default", VMOP_ERROR_CANT, "kernel.perf_event_paranoid");
	refuse(all_hardware, EPERM);
	must_fail("cycles", VMOP_ERROR_CANT, "CAP_PERFMON");
	refuse(all, ENOSYS);
	must_fail("default", VMOP_ERROR_CANT, "no perf events");
}

/* As KVM's mediated vPMU while a guest has it. */
static bool events_that_count_guests(const struct perf_event_attr *attr, int cpu)
{
	(void)cpu;
	return is_hardware(attr) && !attr->exclude_guest;
}

static void a_mediated_vpmu_leaves_the_host(void **state)
{
	(void)state;
	refuse(events_that_count_guests, EOPNOTSUPP);
	struct vmop_source *source = must_open("default");
	assert_int_equal(vmop_source_n_events(source), 2);
	assert_event(source, 0, "cycles", "the host alone");
	assert_event(source, 1, "cpu-clock", "guest time is sampled by cpu-clock");
	assert_true(layer.last_hardware.exclude_guest);
	assert_true(layer.last_hardware.sample_type & PERF_SAMPLE_IDENTIFIER);
	vmop_source_close(source);
	source = must_open("llc-misses");
	assert_int_equal(vmop_source_n_events(source), 1);
	assert_event(source, 0, "llc-misses", "the host alone");
	vmop_source_close(source);
	source = must_open("cycles:::::1:0"); /* guests weren't asked for */
	assert_int_equal(vmop_source_n_events(source), 1);
	assert_event(source, 0, "cycles", NULL);
	vmop_source_close(source);
	source = must_open("cycles:::::0:1");
	assert_int_equal(vmop_source_n_events(source), 1);
	assert_event(source, 0, "cpu-clock", "EOPNOTSUPP");
	vmop_source_close(source);
	must_fail("llc-misses:::::0:1", VMOP_ERROR_CANT, "event 'llc-misses': ");
}

/* Switched on, with no VM yet: none must find the PMU taken. */
static void a_mediated_vpmu_that_may_be_used_is_spared(void **state)
{
	(void)state;
	mediated_vpmu = "Y\n";
	struct vmop_source *source = must_open("default");
	assert_int_equal(vmop_source_n_events(source), 2);
	assert_event(source, 0, "cycles", "the host alone");
	assert_event(source, 1, "cpu-clock", "guest time is sampled by cpu-clock");
	assert_true(layer.last_hardware.exclude_guest);
	assert_null(vmop_source_check_cpus(source));
	vmop_source_close(source);
	source = must_open("cycles:::::0:1");
	assert_int_equal(vmop_source_n_events(source), 1);
	assert_event(source, 0, "cpu-clock", "mediated vPMU");
	vmop_source_close(source);
	must_fail("llc-misses:::::0:1", VMOP_ERROR_CANT, "mediated vPMU");
	mediated_vpmu = "N\n";
	source = must_open("default");
	assert_int_equal(vmop_source_n_events(source), 1);
	assert_event(source, 0, "cycles", NULL);
	assert_null(vmop_source_check_cpus(source));
	mediated_vpmu = "Y\n"; /* kvm.ko was loaded again */
	struct vmop_error *err = vmop_source_check_cpus(source);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "VMs that use it can't start"));
	vmop_error_destroy(err);
	assert_null(vmop_source_check_cpus(source)); /* said once */
	vmop_source_close(source);
}

static void the_kernels_limit_is_kept(void **state)
{
	(void)state;
	max_sample_rate = "500\n";
	struct vmop_source *source = must_open("default");
	assert_int_equal(vmop_source_event(source, 0)->frequency_hz, 500);
	vmop_source_close(source);
	must_fail("cycles:501Hz", VMOP_ERROR_USAGE, "limit of 500");
	must_fail("cpu-clock:1999999", VMOP_ERROR_USAGE, "the lowest is 2000000 ns");
	refuse(all_hardware, ENOENT);
	source = must_open("cycles:100003"); /* the clock may not tick as often */
	assert_int_equal(vmop_source_event(source, 0)->period_events, 2000000);
	vmop_source_close(source);
}

static bool cpu_1(const struct perf_event_attr *attr, int cpu)
{
	(void)attr;
	return cpu == 1;
}

static unsigned n_cpus(void)
{
	return (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
}

static void a_cpu_that_went_is_left_out(void **state)
{
	(void)state;
	refuse(cpu_1, ENODEV);
	struct vmop_source *source = must_open("cpu-clock");
	struct vmop_source_stats stats;
	vmop_source_stats(source, &stats);
	assert_int_equal(stats.cpus_online, n_cpus() > 1 ? n_cpus() - 1 : n_cpus());
	vmop_source_close(source);
}

static bool newer_than_5_11(const struct perf_event_attr *attr, int cpu)
{
	(void)cpu;
	return attr->build_id || attr->read_format & ~(uint64_t)PERF_FORMAT_TOTAL_TIME_ENABLED;
}

static bool newer_than_5_0(const struct perf_event_attr *attr, int cpu)
{
	return attr->ksymbol || newer_than_5_11(attr, cpu);
}

static void older_kernels_get_what_they_know(void **state)
{
	(void)state;
	struct vmop_source *source = must_open("cpu-clock");
	vmop_source_close(source);
	assert_true(layer.last_dummy.ksymbol && layer.last_dummy.comm_exec);
	refuse(newer_than_5_11, EINVAL);
	source = must_open("cpu-clock");
	assert_true(layer.last_dummy.ksymbol && !layer.last_dummy.build_id);
	assert_true(layer.last_dummy.mmap2 && layer.last_dummy.task && layer.last_dummy.comm);
	vmop_source_close(source);
	refuse(newer_than_5_0, E2BIG);
	source = must_open("cpu-clock");
	assert_true(!layer.last_dummy.ksymbol && layer.last_dummy.mmap2);
	assert_null(vmop_source_start(source));
	assert_null(vmop_source_stop(source));
	vmop_source_close(source);
	refuse(all, EINVAL);
	must_fail("cpu-clock", VMOP_ERROR_OS, "Linux 4.3 or later");
}

static unsigned n_open_files(void)
{
	unsigned n = 0;
	DIR *dir = opendir("/proc/self/fd");
	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void a_soft_limit_on_open_files_is_raised(void **state)
{
	(void)state;
	struct rlimit before, low;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	int lowest_free = dup(0);
	close(lowest_free);
	low = before;
	low.rlim_cur = (rlim_t)lowest_free + 3; /* the epoll, the CPU list, one dummy event */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	struct vmop_source *source;
	struct vmop_error *err = try_open("cpu-clock", &source);
	setrlimit(RLIMIT_NOFILE, &before);
	if (err)
		fail_msg("%s", err->message);
	vmop_source_close(source);
	refuse(all, EMFILE);
	must_fail("cpu-clock", VMOP_ERROR_CANT, "too many open files");
}

/* Each of them at each call: open works or says why, and leaves nothing behind. */
static void any_refusal_at_any_call(void **state)
{
	(void)state;
	static const int errnos[] = {EOPNOTSUPP, EBUSY,	 ENOENT, EMFILE, ENFILE, ENOSPC, EACCES,
				     EPERM,	 EINVAL, ENODEV, E2BIG,	 ENOMEM, EIO,	 ENOSYS};
	static const char *const events[] = {"default", "llc-misses", "cpu-clock", "page-faults:1"};
	unsigned before = n_open_files();
	for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++) {
		for (size_t j = 0; j < sizeof(events) / sizeof(events[0]); j++) {
			for (unsigned call = 1; call <= 2 * n_cpus() + 1 && call < 10; call++) {
				struct vmop_source *source = NULL;
				refuse(NULL, errnos[i]);
				layer.at_call = call;
				struct vmop_error *err = try_open(events[j], &source);
				if (err)
					assert_true(strlen(err->message) > 0);
				else
					assert_true(vmop_source_n_events(source) > 0);
				vmop_error_destroy(err);
				vmop_source_close(source);
				assert_int_equal(n_open_files(), before);
			}
		}
	}
}

/* Which CPU records came, as "-1+1". */
static void note_cpu(void *arg, const struct vmop_record *record)
{
	if (record->type != VMOP_RECORD_CPU)
		return;
	char *text = arg;
	sprintf(text + strlen(text), "%c%u", record->cpu.is_online ? '+' : '-', record->cpu.cpu);
}

static void assert_cpus(struct vmop_source *source, char *text, const char *want, unsigned n)
{
	const struct vmop_sink sink = {note_cpu, text};
	struct vmop_source_stats stats;
	assert_null(vmop_source_drain(source, UINT64_MAX, &sink, NULL));
	assert_string_equal(text, want);
	vmop_source_stats(source, &stats);
	assert_int_equal(stats.cpus_online, n);
}

static void cpus_that_come_and_go_are_followed(void **state)
{
	(void)state;
	char text[64] = "";
	if (n_cpus() < 2)
		return; /* nothing can go */
	online = "0-1";
	struct vmop_source *source = must_open("cpu-clock");
	unsigned open_files = n_open_files();
	assert_null(vmop_source_start(source));
	assert_null(vmop_source_check_cpus(source));
	assert_cpus(source, text, "", 2);
	online = "0";
	assert_null(vmop_source_check_cpus(source));
	assert_cpus(source, text, "-1", 1);
	assert_null(vmop_source_check_cpus(source));
	assert_cpus(source, text, "-1", 1);
	assert_true(n_open_files() < open_files);
	online = "0-1";
	refuse(all, EBUSY);
	struct vmop_error *err = vmop_source_check_cpus(source);
	assert_non_null(strstr(err->message, "CPU 1 came online and is not sampled"));
	vmop_error_destroy(err);
	refuse(NULL, 0);
	assert_null(vmop_source_check_cpus(source));
	assert_cpus(source, text, "-1+1", 2);
	assert_int_equal(n_open_files(), open_files);
	assert_null(vmop_source_stop(source));
	vmop_source_close(source);
}

static int may_sample(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_pmu_is_used_where_there_is_one),
		TEST(the_clock_stands_in_for_cycles_and_says_why),
		TEST(nothing_stands_in_for_other_events),
		TEST(without_leave_it_says_what_to_do),
		TEST(a_mediated_vpmu_leaves_the_host),
		TEST(a_mediated_vpmu_that_may_be_used_is_spared),
		TEST(the_kernels_limit_is_kept),
		TEST(a_cpu_that_went_is_left_out),
		TEST(older_kernels_get_what_they_know),
		TEST(a_soft_limit_on_open_files_is_raised),
		TEST(any_refusal_at_any_call),
		TEST(cpus_that_come_and_go_are_followed),
	};
	return cmocka_run_group_tests(tests, may_sample, NULL);
}
