// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The perf source where perf_event_open refuses, or events have to share counters. --wrap=read
 * beside the layer's options sets an event's times.
 */
#include <cmocka.h>
#include <dirent.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/unit/hv-interface/layer.h"

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
		assert_event(source, 0, "cpu-clock", "a cycle counts as a nanosecond");
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

static void without_permission_the_error_names_the_remedy(void **state)
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
		{"2\n", "it is 2, which leaves others only their own processes' user code"},
		{"3\n", "it is 3, which leaves others nothing"},
	};
	refuse(all, EACCES);
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		paranoid = levels[i][0];
		must_fail("cpu-clock", VMOP_ERROR_CANT, levels[i][1]);
		must_fail("cpu-clock", VMOP_ERROR_CANT, "kernel.perf_event_paranoid to 0 or -1");
	}
}

/* Refuse like KVM's mediated vPMU while a guest has it. */
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
	assert_event(source, 0, "cycles:H", "only the host");
	assert_event(source, 1, "cpu-clock:G", "cpu-clock samples guest time");
	assert_true(layer.last_hardware.exclude_guest);
	assert_true(layer.last_hardware.sample_type & PERF_SAMPLE_IDENTIFIER);
	vmop_source_close(source);
	source = must_open("llc-misses");
	assert_int_equal(vmop_source_n_events(source), 1);
	assert_event(source, 0, "llc-misses:H", "only the host");
	vmop_source_close(source);
	source = must_open("cycles:::::1:0"); /* guests were not requested */
	assert_int_equal(vmop_source_n_events(source), 1);
	assert_event(source, 0, "cycles:H", NULL);
	vmop_source_close(source);
	source = must_open("cycles:::::0:1");
	assert_int_equal(vmop_source_n_events(source), 1);
	assert_event(source, 0, "cpu-clock:G", "EOPNOTSUPP");
	vmop_source_close(source);
	must_fail("llc-misses:::::0:1", VMOP_ERROR_CANT, "event 'llc-misses': ");
}

/* Switched on, without a VM yet: a VM must not find the PMU taken. */
static void a_mediated_vpmu_that_may_be_used_is_spared(void **state)
{
	(void)state;
	mediated_vpmu = "Y\n";
	struct vmop_source *source = must_open("default");
	assert_int_equal(vmop_source_n_events(source), 2);
	assert_event(source, 0, "cycles:H", "--active-domains");
	assert_event(source, 1, "cpu-clock:G", "cpu-clock samples guest time");
	assert_true(layer.last_hardware.exclude_guest);
	assert_null(vmop_source_check_cpus(source));
	vmop_source_close(source);
	source = must_open("cycles:::::0:1");
	assert_int_equal(vmop_source_n_events(source), 1);
	assert_event(source, 0, "cpu-clock:G", "mediated vPMU");
	vmop_source_close(source);
	must_fail("llc-misses:::::0:1", VMOP_ERROR_CANT, "--active-domains");
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
	assert_null(vmop_source_check_cpus(source)); /* reported only once */
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
	source = must_open("cycles:100003"); /* the clock's limit is lower */
	assert_int_equal(vmop_source_event(source, 0)->period_events, 2000000);
	vmop_source_close(source);
}

static bool cpu_1(const struct perf_event_attr *attr, int cpu)
{
	(void)attr;
	return cpu == 1;
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

static bool newer_than_5_19(const struct perf_event_attr *attr, int cpu)
{
	(void)cpu;
	const uint64_t known = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return attr->read_format & ~known;
}

static bool newer_than_5_0(const struct perf_event_attr *attr, int cpu)
{
	return attr->ksymbol || newer_than_5_19(attr, cpu);
}

static void older_kernels_get_supported_attributes(void **state)
{
	(void)state;
	struct vmop_source *source = must_open("cpu-clock");
	vmop_source_close(source);
	assert_true(layer.last_dummy.ksymbol && layer.last_dummy.comm_exec);
	assert_false(layer.last_dummy.build_id); /* it would spoil other profilers' records */
	refuse(newer_than_5_19, EINVAL);
	source = must_open("cpu-clock");
	assert_true(layer.last_dummy.ksymbol && newer_than_5_19(&layer.last_dummy, 0) == false);
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

/* Refuse each errno at each call: open works or returns an error, and leaves nothing behind. */
static void any_refusal_at_any_call(void **state)
{
	(void)state;
	static const int errnos[] = {EOPNOTSUPP, EBUSY,	 ENOENT, EMFILE, ENFILE, ENOSPC, EACCES,
				     EPERM,	 EINVAL, ENODEV, E2BIG,	 ENOMEM, EIO,	 ENOSYS};
	static const char *const events[] = {"default",
					     "llc-misses",
					     "cpu-clock",
					     "page-faults:1",
					     "instructions:pp",
					     "cycles cpu-clock page-faults",
					     "{cycles instructions llc-misses}"};
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

/* The outcome of "cycles llc-misses" after one refused call. */
struct outcome {
	int os_errno;
	const char *words; /* of the error; NULL: open works */
	const char *name;  /* then: name of the refused event */
	const char *note;  /* and its note; NULL: none */
};

/* call: 1 the dummy, 2 cycles, 3 llc-misses; all on the first CPU. */
static void assert_outcomes(unsigned call, const struct outcome *outcomes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct vmop_source *source = NULL;
		refuse(NULL, outcomes[i].os_errno);
		layer.at_call = call;
		struct vmop_error *err = try_open("cycles llc-misses", &source);
		if (outcomes[i].words) {
			if (!err || !strstr(err->message, outcomes[i].words))
				fail_msg("%s at call %u: %s", strerror(outcomes[i].os_errno), call,
					 err ? err->message : "it works");
			vmop_error_destroy(err);
			continue;
		}
		if (err)
			fail_msg("%s at call %u: %s", strerror(outcomes[i].os_errno), call,
				 err->message);
		assert_event(source, call == 3 ? 1 : 0, outcomes[i].name, outcomes[i].note);
		vmop_source_close(source);
	}
}

/* Raise the limit so that EMFILE is final. The caller restores the old limit. */
static struct rlimit allow_all_files(void)
{
	struct rlimit before, all_files;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	all_files = before;
	all_files.rlim_cur = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all_files), 0);
	return before;
}

static void each_refusal_has_its_behaviour(void **state)
{
	(void)state;
	static const struct outcome of_the_dummy[] = {
		{EACCES, "CAP_PERFMON", NULL, NULL},
		{EPERM, "CAP_PERFMON", NULL, NULL},
		{EMFILE, "too many open files", NULL, NULL},
		{ENFILE, "too many open files", NULL, NULL},
		{ENOSYS, "no perf events", NULL, NULL},
		{EINVAL, NULL, "cycles", NULL}, /* with less precision it works */
		{E2BIG, NULL, "cycles", NULL},
		{EOPNOTSUPP, "Linux 4.3 or later is needed", NULL, NULL},
		{EBUSY, "Linux 4.3 or later is needed", NULL, NULL},
		{ENOENT, "Linux 4.3 or later is needed", NULL, NULL},
		{ENOSPC, "Linux 4.3 or later is needed", NULL, NULL},
	};
	static const struct outcome of_cycles[] = {
		{EACCES, "CAP_PERFMON", NULL, NULL},
		{EPERM, "CAP_PERFMON", NULL, NULL},
		{EMFILE, "sampling needs 3 of them for each CPU", NULL, NULL},
		{EOPNOTSUPP, NULL, "cycles:H", "only the host"},
		{EBUSY, NULL, "cpu-clock", "the PMU is in use (EBUSY)"},
		{ENOENT, NULL, "cpu-clock", "no PMU that counts it (ENOENT)"},
		{ENODEV, NULL, "cpu-clock", "no PMU that counts it"},
		{ENOSPC, NULL, "cpu-clock", "no counter is free (ENOSPC)"},
		{EINVAL, NULL, "cpu-clock", "the kernel refuses it (EINVAL)"},
		{EIO, "event 'cycles': perf_event_open", NULL, NULL},
	};
	static const struct outcome of_others[] = {
		{EACCES, "CAP_PERFMON", NULL, NULL},
		{EPERM, "CAP_PERFMON", NULL, NULL},
		{EMFILE, "sampling needs 3 of them for each CPU", NULL, NULL},
		{EOPNOTSUPP, NULL, "llc-misses:H", "only the host"},
		{EBUSY, "event 'llc-misses': the PMU is in use (EBUSY)", NULL, NULL},
		{ENOENT, "event 'llc-misses': this machine has no PMU that counts it", NULL, NULL},
		{ENODEV, "event 'llc-misses': this machine has no PMU that counts it", NULL, NULL},
		{ENOSPC, "event 'llc-misses': no counter is free (ENOSPC)", NULL, NULL},
		{EINVAL, "event 'llc-misses': the kernel refuses it (EINVAL)", NULL, NULL},
		{EIO, "event 'llc-misses': perf_event_open", NULL, NULL},
	};
	struct rlimit before = allow_all_files();
	assert_outcomes(1, of_the_dummy, sizeof(of_the_dummy) / sizeof(of_the_dummy[0]));
	assert_outcomes(2, of_cycles, sizeof(of_cycles) / sizeof(of_cycles[0]));
	assert_outcomes(3, of_others, sizeof(of_others) / sizeof(of_others[0]));
	setrlimit(RLIMIT_NOFILE, &before);
}

/* Append a CPU record to a text such as "-1+1". */
static void note_cpu(void *arg, const struct vmop_record *record,
		     const struct vmop_stack_capture *stack)
{
	(void)stack;
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
		return; /* no CPU may go */
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

/* A returning CPU with one refused call: nothing is left open, and the error comes once. */
static void a_refusal_when_a_cpu_comes_back_is_reported_once_and_tried_again(void **state)
{
	(void)state;
	static const int errnos[] = {EOPNOTSUPP, EBUSY, ENOENT, EMFILE, ENOSPC, EACCES};
	if (n_cpus() < 2)
		return; /* no CPU may go */
	struct rlimit before = allow_all_files();
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
					assert_non_null(strstr(err->message,
							       "CPU 1 came online and "
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
	/* The CPU may have been tried once before the list showed that it was offline. */
	assert_true(layer.n_calls <= 2);
	vmop_source_close(source);
}

/* This PMU has no precise levels above 1. */
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
#ifdef __aarch64__
	assert_int_equal(layer.last_hardware.precise_ip, 0);
	assert_event(source, 0, "instructions", "no precise");
	vmop_source_close(source);
	return;
#endif
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

/* ---- names -------------------------------------------------------------------- */

static void modes_are_in_names(void **state)
{
	(void)state;
	static const char *const names[][2] = {
		{"cycles", "cycles"},
		{"cycles:6007::0:1", "cycles:u"},
		{"cycles:6007::1:0", "cycles:k"},
		{"cycles:6007::::0:1", "cycles:G"},
		{"cycles:::0:1:1:0", "cycles:uH"},
		{"page-faults:1::1:0:0:1", "page-faults:kG"},
		{"CPU_CLK_UNHALTED:6007::0", "cycles:u"},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct vmop_source *source = must_open(names[i][0]);
		assert_string_equal(vmop_source_event(source, 0)->name, names[i][1]);
		vmop_source_close(source);
	}
}

static void the_requested_name_is_kept(void **state)
{
	(void)state;
	struct vmop_source *source = must_open("CPU_CLK_UNHALTED cycles default page-faults");
	assert_string_equal(vmop_source_event(source, 0)->asked, "CPU_CLK_UNHALTED");
	for (size_t i = 1; i < 4; i++)
		assert_null(vmop_source_event(source, i)->asked);
	vmop_source_close(source);
	refuse(all_hardware, ENOENT); /* the clock does not replace cycles in a ratio */
	source = must_open("CPU_CLK_UNHALTED");
	assert_event(source, 0, "cpu-clock", "no cycles");
	assert_null(vmop_source_event(source, 0)->asked);
	vmop_source_close(source);
}

/* ---- groups ------------------------------------------------------------------- */

static void a_group_has_one_leader(void **state)
{
	(void)state;
	struct vmop_source *source = must_open("{cycles instructions}");
	assert_true(layer.last_group_fd >= 0);
	/* else the kernel does not check whether it fits */
	assert_false(layer.last_hardware.disabled);
	assert_event(source, 0, "cycles", NULL);
	assert_event(source, 1, "instructions", NULL);
	/* it counts: the clock pretends to be both events */
	assert_null(vmop_source_start(source));
	assert_null(vmop_source_check_cpus(source));
	assert_null(vmop_source_stop(source));
	for (size_t i = 0; i < 2; i++) {
		const struct vmop_event_info *info = vmop_source_event(source, i);
		assert_true(info->enabled_ns > 0 && info->running_ns == info->enabled_ns);
	}
	vmop_source_close(source);
	source = must_open("{cycles instructions} page-faults"); /* outside of the group */
	assert_int_equal(layer.last_group_fd, -1);
	vmop_source_close(source);
	source = must_open("{cycles} {instructions}"); /* groups of one */
	assert_int_equal(layer.last_group_fd, -1);
	assert_true(layer.last_hardware.disabled && layer.last_hardware.enable_on_exec);
	vmop_source_close(source);
}

static void a_group_that_does_not_fit_is_counted_in_turn(void **state)
{
	(void)state;
	layer.refuses_siblings = true;
	struct vmop_source *source = must_open("{cycles CPU_CLK_UNHALTED instructions} llc-misses");
	assert_int_equal(vmop_source_n_events(source), 4);
	assert_event(source, 0, "cycles", "can't be counted at the same time");
	assert_event(source, 1, "cycles", "stands for CPU_CLK_UNHALTED; its group can't be");
	assert_event(source, 2, "instructions", "each event is counted separately");
	assert_event(source, 3, "llc-misses", NULL);
	assert_int_equal(layer.last_group_fd, -1);
	vmop_source_close(source);
	reset(state);
	refuse(all_hardware, EINVAL); /* refused also without a group */
	must_fail("{page-faults instructions}", VMOP_ERROR_CANT, "event 'instructions': ");
}

static void braces_must_match(void **state)
{
	(void)state;
	must_fail("{cycles instructions", VMOP_ERROR_USAGE, "its group has no '}'");
	must_fail("cycles instructions}", VMOP_ERROR_USAGE, "and none began");
	must_fail("{cycles} instructions}", VMOP_ERROR_USAGE, "and none began");
	must_fail("{cycles {instructions}", VMOP_ERROR_USAGE, "can't begin within a group");
}

/* ---- events that share counters ------------------------------------------------ */

static unsigned running_percent; /* of hardware events, which the clock pretends; 0: the real one */

ssize_t __wrap_read(int fd, void *buf, size_t len_bytes);
ssize_t __real_read(int fd, void *buf, size_t len_bytes);

/* The layout of perf_event_open's read_format: count, enabled, running, lost. */
ssize_t __wrap_read(int fd, void *buf, size_t len_bytes)
{
	ssize_t len = __real_read(fd, buf, len_bytes);
	uint64_t *words = buf;
	if (running_percent && len == 32)
		words[2] = words[1] / 100 * running_percent;
	return len;
}

static void events_that_share_counters_are_noted(void **state)
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
	for (unsigned check = 0; check < 8; check++) /* the times are read only every few checks */
		assert_null(vmop_source_check_cpus(source));
	running_percent = 0;
	assert_non_null(info->note);
	assert_non_null(strstr(info->note, "25.0 % of the time, scale x4.00"));
	assert_true(info->running_ns < info->enabled_ns / 3);
	assert_true(vmop_event_scale(info) > 3.9 && vmop_event_scale(info) < 4.1);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_pmu_is_used_where_there_is_one),
		TEST(the_clock_stands_in_for_cycles_and_says_why),
		TEST(nothing_stands_in_for_other_events),
		TEST(without_permission_the_error_names_the_remedy),
		TEST(a_mediated_vpmu_leaves_the_host),
		TEST(a_mediated_vpmu_that_may_be_used_is_spared),
		TEST(the_kernels_limit_is_kept),
		TEST(a_cpu_that_went_is_left_out),
		TEST(older_kernels_get_supported_attributes),
		TEST(a_soft_limit_on_open_files_is_raised),
		TEST(any_refusal_at_any_call),
		TEST(each_refusal_has_its_behaviour),
		TEST(cpus_that_come_and_go_are_followed),
		TEST(a_refusal_when_a_cpu_comes_back_is_reported_once_and_tried_again),
		TEST(a_cpu_that_goes_while_it_is_waited_for_is_forgotten),
		TEST(precision_falls_back_with_a_note),
		TEST(modes_are_in_names),
		TEST(the_requested_name_is_kept),
		TEST(a_group_has_one_leader),
		TEST(a_group_that_does_not_fit_is_counted_in_turn),
		TEST(braces_must_match),
		TEST(events_that_share_counters_are_noted),
	};
	return cmocka_run_group_tests(tests, may_sample, NULL);
}
