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
#include <sys/stat.h>
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
	unsigned types_on[8]; /* the last hardware event's type and config on each CPU */
	uint64_t configs_on[8];
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
	mediated_vpmu = max_sample_rate = paranoid = NULL;
	return 0;
}

static const char *root; /* before /sys; NULL: as it is */

/* events: one, or several with blanks between. */
static struct vmop_error *try_open(const char *events, struct vmop_source **ret)
{
	struct vmop_event_request requests[4];
	char copy[256], *next = copy;
	size_t n = 0;
	snprintf(copy, sizeof(copy), "%s", events);
	while (next && n < 4)
		assert_null(vmop_event_request_parse(strsep(&next, " "), &requests[n++]));
	const struct vmop_source_setup setup = {
		.events = requests, .n_events = n, .buffer_bytes = 1 << 16, .root = root};
	struct vmop_error *err = vmop_source_open(&vmop_source_perf_ops, &setup, ret);
	while (n > 0)
		vmop_event_request_deinit(&requests[--n]);
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
	static const char *const levels[][2] = {
		{"-1\n", "it is -1, which leaves others everything"},
		{"0\n", "it is 0, which leaves others all but raw tracepoints"},
		{"1\n", "it is 1, which leaves others their own processes, the kernel's"},
		{"2\n", "it is 2, which leaves others their own processes' user code alone"},
		{"3\n", "it is 3, which leaves others nothing"},
	};
	refuse(all, EACCES);
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		paranoid = levels[i][0];
		must_fail("cpu-clock", VMOP_ERROR_CANT, levels[i][1]);
		must_fail("cpu-clock", VMOP_ERROR_CANT, "kernel.perf_event_paranoid to 0 or -1");
	}
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
	const uint64_t known = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return attr->build_id || attr->read_format & ~known;
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
	static const char *const events[] = {"default",	      "llc-misses",
					     "cpu-clock",     "page-faults:1",
					     "instructions:pp", "cycles cpu-clock page-faults"};
	unsigned before = n_open_files();
	for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++) {
		for (size_t j = 0; j < sizeof(events) / sizeof(events[0]); j++) {
			for (unsigned call = 1; call <= 4 * n_cpus() + 1 && call < 16; call++) {
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

/* Of which kind is refused, for a CPU that comes back: nothing is left open, and it is told once. */
static void a_refusal_when_a_cpu_comes_back_is_told_once_and_tried_again(void **state)
{
	(void)state;
	static const int errnos[] = {EOPNOTSUPP, EBUSY, ENOENT, EMFILE, ENOSPC, EACCES};
	struct rlimit before, all_files;
	if (n_cpus() < 2)
		return; /* nothing can go */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	all_files = before;
	all_files.rlim_cur = before.rlim_max; /* so that EMFILE is the last word */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all_files), 0);
	for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++) {
		for (unsigned call = 1; call <= 3; call++) { /* the dummy, the first, the second */
			char text[64] = "";
			unsigned n_tries = 0;
			refuse(NULL, 0);
			online = "0-1";
			struct vmop_source *source = must_open("cpu-clock page-faults");
			unsigned open_files = n_open_files();
			assert_null(vmop_source_start(source));
			assert_null(vmop_source_check_cpus(source));
			online = "0";
			assert_null(vmop_source_check_cpus(source));
			assert_cpus(source, text, "-1", 1);
			unsigned without = n_open_files();
			online = "0-1";
			for (unsigned check = 0; check < 40; check++) {
				refuse(NULL, errnos[i]);
				layer.at_call = call;
				struct vmop_error *err = vmop_source_check_cpus(source);
				n_tries += layer.n_calls > 0;
				assert_int_equal(err != NULL, check == 0);
				if (err)
					assert_non_null(strstr(err->message, "CPU 1 came online and "
									     "is not sampled"));
				vmop_error_destroy(err);
				assert_int_equal(n_open_files(), without);
			}
			/* At checks 0, 1, 3, 7, 15 and 31. */
			assert_int_equal(n_tries, 6);
			assert_cpus(source, text, "-1", 1);
			refuse(NULL, 0);
			for (unsigned check = 0; check < 32; check++)
				assert_null(vmop_source_check_cpus(source));
			assert_cpus(source, text, "-1+1", 2);
			assert_int_equal(n_open_files(), open_files);
			vmop_source_close(source);
		}
	}
	setrlimit(RLIMIT_NOFILE, &before);
}

static void a_cpu_that_goes_while_it_is_waited_for_is_forgotten(void **state)
{
	(void)state;
	if (n_cpus() < 2)
		return;
	online = "0";
	struct vmop_source *source = must_open("cpu-clock");
	assert_null(vmop_source_start(source));
	online = "0-1";
	refuse(all, EBUSY);
	struct vmop_error *err = vmop_source_check_cpus(source);
	assert_non_null(err);
	vmop_error_destroy(err);
	online = "0";
	refuse(NULL, 0);
	layer.n_calls = 0;
	for (unsigned check = 0; check < 8; check++)
		assert_null(vmop_source_check_cpus(source));
	/* The one try was before the list said that it has gone; it may have found it there. */
	assert_true(layer.n_calls <= 2);
	vmop_source_close(source);
}

/* Precise levels above 1 are none of this PMU's. */
static bool more_precise_than_1(const struct perf_event_attr *attr, int cpu)
{
	(void)cpu;
	return attr->precise_ip > 1;
}

static bool precise(const struct perf_event_attr *attr, int cpu)
{
	(void)cpu;
	return attr->precise_ip > 0;
}

static void precision_falls_back_with_a_note(void **state)
{
	(void)state;
	struct vmop_source *source = must_open("instructions:ppp:100003");
	assert_int_equal(layer.last_hardware.precise_ip, 3);
	assert_int_equal(layer.last_hardware.sample_period, 100003);
	assert_event(source, 0, "instructions", NULL);
	vmop_source_close(source);
	refuse(more_precise_than_1, EOPNOTSUPP);
	source = must_open("instructions:ppp");
	assert_int_equal(layer.last_hardware.precise_ip, 1);
	assert_event(source, 0, "instructions", "its precise level is 1");
	vmop_source_close(source);
	refuse(precise, EINVAL);
	source = must_open("cycles:p");
	assert_int_equal(layer.last_hardware.precise_ip, 0);
	assert_event(source, 0, "cycles", "a few instructions late");
	vmop_source_close(source);
	refuse(all_hardware, ENOENT); /* no PMU at all */
	source = must_open("cycles:p");
	assert_event(source, 0, "cpu-clock", "no cycles: this machine has no PMU");
	vmop_source_close(source);
	refuse(NULL, 0);
	must_fail("cpu-clock:p", VMOP_ERROR_USAGE, "'p' (precise) is for events of a PMU");
}

/* ---- a made-up /sys ---------------------------------------------------------- */

static char tree[] = "/tmp/vmop-sys.XXXXXX";

static void put(const char *path, const char *text)
{
	char command[512];
	assert_true(snprintf(command, sizeof(command), "%s/%s", tree, path) < 512);
	for (char *slash = command + strlen(tree) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(command, 0755);
		*slash = '/';
	}
	FILE *file = fopen(command, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

#define DEVICES "sys/bus/event_source/devices/"

/* CPU 0 is of the one kind, CPU 1 of the other. */
static int make_hybrid(void **state)
{
	reset(state);
	strcpy(tree, "/tmp/vmop-sys.XXXXXX");
	assert_non_null(mkdtemp(tree));
	put(DEVICES "cpu_core/type", "4\n");
	put(DEVICES "cpu_core/cpus", "0\n");
	put(DEVICES "cpu_core/format/event", "config:0-7\n");
	put(DEVICES "cpu_core/format/umask", "config:8-15,40-47\n");
	put(DEVICES "cpu_core/format/any", "config:21\n");
	put(DEVICES "cpu_core/format/ldlat", "config1:0-15\n");
	put(DEVICES "cpu_core/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	put(DEVICES "cpu_core/events/mem-loads.scale", "1\n");
	put(DEVICES "cpu_core/events/circle", "circle\n");
	put(DEVICES "cpu_atom/type", "10\n");
	put(DEVICES "cpu_atom/cpus", "1-7\n");
	put(DEVICES "ibs_op/type", "11\n");
	put(DEVICES "ibs_op/format/cnt_ctl", "config:19\n");
	put(DEVICES "uncore/type", "12\n");
	put(DEVICES "uncore/cpumask", "1\n");
	put(DEVICES "far/type", "13\n");
	put(DEVICES "far/cpus", "7000\n");
	put(DEVICES "arm_spe_0/type", "14\n");
	put("sys/kernel/tracing/events/sched/sched_switch/id", "316\n");
	put("sys/kernel/tracing/events/ftrace/print/format", "\n");
	root = tree;
	return 0;
}

static int remove_tree(void **state)
{
	char command[64];
	(void)state;
	root = NULL;
	snprintf(command, sizeof(command), "rm -rf %s", tree);
	return system(command);
}

static void assert_on(unsigned cpu, uint32_t type, uint64_t config)
{
	assert_int_equal(layer.types_on[cpu], type);
	assert_int_equal(layer.configs_on[cpu], config);
}

static void a_hybrid_machine_counts_on_each_of_its_pmus(void **state)
{
	(void)state;
	if (n_cpus() < 2)
		return;
	online = "0-1";
	struct vmop_source *source = must_open("instructions");
	assert_on(0, PERF_TYPE_HARDWARE, 1 | UINT64_C(4) << 32);
	assert_on(1, PERF_TYPE_HARDWARE, 1 | UINT64_C(10) << 32);
	vmop_source_close(source);
	source = must_open("LLC-loads");
	assert_on(1, PERF_TYPE_HW_CACHE, 2 | UINT64_C(10) << 32);
	vmop_source_close(source);
	source = must_open("r1c2");
	assert_on(0, 4, 0x1c2);
	assert_on(1, 10, 0x1c2);
	vmop_source_close(source);
	refuse(all_hardware, ENOENT); /* the clock that stands in is on all CPUs */
	source = must_open("cycles");
	assert_event(source, 0, "cpu-clock", "no cycles");
	assert_null(vmop_source_start(source));
	assert_null(vmop_source_stop(source));
	vmop_source_close(source);
}

static void a_pmu_is_opened_on_its_own_cpus_alone(void **state)
{
	(void)state;
	if (n_cpus() < 2)
		return;
	online = "0-1";
	struct vmop_source *source = must_open("cpu_core/event=0x3c,umask=0x1fe,any/:100003 cpu-clock");
	assert_on(0, 4, 0x3c | 0xfe << 8 | UINT64_C(1) << 40 | 1 << 21);
	assert_on(1, 0, 0);
	assert_null(vmop_source_start(source));
	assert_null(vmop_source_check_cpus(source));
	assert_int_equal(vmop_source_event(source, 0)->period_events, 100003);
	assert_null(vmop_source_stop(source));
	vmop_source_close(source);
	reset(NULL);
	online = "0-1";
	source = must_open("cpu_core/mem-loads/:p:2000");
	assert_on(0, 4, 0x1cd);
	assert_int_equal(layer.last_hardware.config1, 3);
	assert_int_equal(layer.last_hardware.precise_ip, 1);
	vmop_source_close(source);
	source = must_open("ibs_op/cnt_ctl=1/");
	assert_on(0, 11, 1 << 19);
	assert_on(1, 11, 1 << 19);
	vmop_source_close(source);
	source = must_open("ibs_op//");
	assert_on(1, 11, 0);
	vmop_source_close(source);
	source = must_open("uncore/config=0x10,config1=7/");
	assert_on(1, 12, 0x10);
	assert_int_equal(layer.last_hardware.config1, 7);
	vmop_source_close(source);
	must_fail("far/config=1/", VMOP_ERROR_CANT, "its PMU has no CPU that is online");
}

static void what_pmus_refuse(void **state)
{
	(void)state;
	static const char *const table[][2] = {
		{"nopmu/config=1/", "no PMU 'nopmu'; it has: arm_spe_0, cpu_atom, cpu_core, far"},
		{"cpu_core/nonsense/", "neither a field nor an event 'nonsense': fields: config, "
				       "config1, config2, any, event, ldlat, umask; events: circle"},
		{"cpu_core/event=x/", "'x' of 'event=x' is no number"},
		{"cpu_core/event=0x100/", "the value of 'event=0x100' does not fit its field "
					  "(config:0-7)"},
		{"cpu_core/circle/", "neither a field nor an event 'circle'"},
		{"cpu_core/event=1", "it is PMU/TERM,.../"},
		{"cpu_core/../", "neither a field nor an event '..'"},
		{"cpu_core/event=1/:499", "the lowest is 500"},
		{"cpu_core/mem-loads/::0x1", "has no unit masks"},
		{"arm_spe_0/config=1/", "hands out traces (AUX), no samples"},
		{"sched:no_such", "there is no such tracepoint, and 'no_such' is no count"},
		{"cycles:often", "'often' is no count"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		must_fail(table[i][0], VMOP_ERROR_USAGE, table[i][1]);
}

static void tracepoints_go_by_their_number(void **state)
{
	(void)state;
	struct vmop_source *source = must_open("sched:sched_switch:7");
	assert_int_equal(layer.last_hardware.type, PERF_TYPE_TRACEPOINT);
	assert_int_equal(layer.last_hardware.config, 316);
	assert_event(source, 0, "sched:sched_switch", NULL);
	assert_int_equal(vmop_source_event(source, 0)->period_events, 7);
	vmop_source_close(source);
	refuse(all_hardware, EACCES);
	must_fail("sched:sched_switch", VMOP_ERROR_CANT, "kernel.perf_event_paranoid to -1 (it is");
	put("sys/kernel/tracing/events/sched/sched_switch/id", "many\n");
	must_fail("sched:sched_switch", VMOP_ERROR_CORRUPT, "'many' is no number");
	char command[128];
	snprintf(command, sizeof(command), "rm -r %s/sys/kernel", tree);
	assert_int_equal(system(command), 0);
	must_fail("sched:sched_switch", VMOP_ERROR_CANT, "mount -t tracefs");
}

/* ---- events that share counters ------------------------------------------------ */

static unsigned running_percent; /* of hardware events, which the clock pretends; 0: as it is */

ssize_t __wrap_read(int fd, void *buf, size_t len_bytes);
ssize_t __real_read(int fd, void *buf, size_t len_bytes);

/* What perf_event_open's read_format lays out: count, enabled, running, lost. */
ssize_t __wrap_read(int fd, void *buf, size_t len_bytes)
{
	ssize_t len = __real_read(fd, buf, len_bytes);
	uint64_t *words = buf;
	if (running_percent && len == 32)
		words[2] = words[1] / 100 * running_percent;
	return len;
}

static void events_that_share_counters_are_told_of(void **state)
{
	(void)state;
	struct vmop_source *source = must_open("cycles instructions");
	assert_null(vmop_source_start(source));
	struct timespec moment = {.tv_nsec = 20000000};
	nanosleep(&moment, NULL);
	assert_null(vmop_source_check_cpus(source));
	const struct vmop_event_info *info = vmop_source_event(source, 1);
	assert_true(info->enabled_ns >= 20000000);
	assert_null(info->note);
	running_percent = 25;
	for (unsigned check = 0; check < 8; check++) /* the times are looked at now and then */
		assert_null(vmop_source_check_cpus(source));
	running_percent = 0;
	assert_non_null(info->note);
	assert_non_null(strstr(info->note, "25.0 % of the time, scale x4.00"));
	assert_true(info->running_ns < info->enabled_ns / 3);
	vmop_source_close(source);
	refuse(all_hardware, ENOENT);
	source = must_open("cycles"); /* the clock takes no counter; its note stays */
	running_percent = 25;
	assert_null(vmop_source_start(source));
	assert_null(vmop_source_check_cpus(source));
	running_percent = 0;
	assert_null(strstr(vmop_source_event(source, 0)->note, "multiplexed"));
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
		TEST(a_refusal_when_a_cpu_comes_back_is_told_once_and_tried_again),
		TEST(a_cpu_that_goes_while_it_is_waited_for_is_forgotten),
		TEST(precision_falls_back_with_a_note),
		cmocka_unit_test_setup_teardown(a_hybrid_machine_counts_on_each_of_its_pmus,
						make_hybrid, remove_tree),
		cmocka_unit_test_setup_teardown(a_pmu_is_opened_on_its_own_cpus_alone, make_hybrid,
						remove_tree),
		cmocka_unit_test_setup_teardown(what_pmus_refuse, make_hybrid, remove_tree),
		cmocka_unit_test_setup_teardown(tracepoints_go_by_their_number, make_hybrid,
						remove_tree),
		TEST(events_that_share_counters_are_told_of),
	};
	return cmocka_run_group_tests(tests, may_sample, NULL);
}
