// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/hypervisor/pmu.h"

#include <stdio.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/procfs.h"
#include "libvmop/vmop.h"

#define GROUP "pmu"
#define DEVICES "/sys/bus/event_source/devices"
#define LEAF_PERFMON 0xau /* Intel's */
#define LEAF_EXTENDED 0x80000000u
#define LEAF_AMD_FEATURES 0x80000001u
#define AMD_CORE_COUNTERS (1u << 23) /* c: six counters */
#define LEAF_AMD_PERFMON 0x80000022u
#define AMD_PERFMON_V2 1u /* a */

/* Report Intel's leaf (SDM, "Architectural Performance Monitoring Leaf"). */
static bool describe_perfmon(const struct vmop_hv *hv, struct vmop_hv_report *report)
{
	if (hv->read_cpuid(0, 0).a < LEAF_PERFMON)
		return false;
	struct vmop_cpuid_words words = hv->read_cpuid(LEAF_PERFMON, 0);
	if (!(words.a & 0xff))
		return false;
	vmop_hv_report_number(report, GROUP, "version", words.a & 0xff);
	vmop_hv_report_number(report, GROUP, "counters", words.a >> 8 & 0xff);
	vmop_hv_report_number(report, GROUP, "bits of a counter", words.a >> 16 & 0xff);
	if ((words.a & 0xff) >= 2)
		vmop_hv_report_number(report, GROUP, "fixed counters", words.d & 0x1f);
	return true;
}

/* Report AMD's (APM 3, CPUID 0x80000001 and 0x80000022). */
static bool describe_amd(const struct vmop_hv *hv, struct vmop_hv_report *report)
{
	uint32_t last = hv->read_cpuid(LEAF_EXTENDED, 0).a;
	if (last < LEAF_AMD_FEATURES ||
	    !(hv->read_cpuid(LEAF_AMD_FEATURES, 0).c & AMD_CORE_COUNTERS))
		return false;
	unsigned counters = 6;
	if (last >= LEAF_AMD_PERFMON) {
		struct vmop_cpuid_words words = hv->read_cpuid(LEAF_AMD_PERFMON, 0);
		if (words.a & AMD_PERFMON_V2) {
			vmop_hv_report_number(report, GROUP, "version", 2);
			counters = words.b & 0xf;
		}
	}
	vmop_hv_report_number(report, GROUP, "counters", counters);
	return true;
}

static void describe_devices(const struct vmop_hv *hv, struct vmop_hv_report *report)
{
	static const char *const caps[] = {"pmu_name", "max_precise", "branches"};
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(hv->root, DEVICES);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		vmop_hv_report_append(report, GROUP, "devices", entry->d_name);
		if (strncmp(entry->d_name, "cpu", 3) != 0 && strncmp(entry->d_name, "armv", 4) != 0)
			continue;
		for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
			char path[512], text[64];
			snprintf(path, sizeof(path), DEVICES "/%s/caps/%s", entry->d_name, caps[i]);
			if (vmop_hv_line(hv, path, text, sizeof(text)))
				vmop_hv_report_text(report, GROUP, caps[i], "%s", text);
		}
	}
}

/* Keep the CPU busy for some ms, with branches that are hard to predict and memory accesses. */
static void work(void)
{
	static volatile unsigned char table[1 << 20];
	unsigned state = 1;
	for (unsigned i = 0; i < 200000; i++) {
		state = state * 1103515245 + 12345;
		if (state & 0x10000)
			table[state >> 12]++;
	}
}

/* Count one event over the work. Return NULL, or why it does not count. */
static struct vmop_error *count_once(const char *event, int *ret_way)
{
	const struct vmop_counters_options options = {.size = sizeof(options),
						      .flags = VMOP_COUNTERS_USER_IF_NEEDED};
	struct vmop_counters *counters = NULL;
	struct vmop_count count = {0};
	uint64_t value;
	struct vmop_error *err = vmop_counters_open(event, &options, &counters);
	if (!err)
		err = vmop_counters_start(counters);
	if (!err) {
		work();
		*ret_way = vmop_counters_value(counters, 0, &value);
		err = vmop_counters_read(counters, &count, 1);
	}
	if (!err && (count.flags & VMOP_COUNT_NOT_RUN))
		err = vmop_error_new(VMOP_ERROR_CANT, "it is never on a counter");
	else if (!err && !count.value)
		err = vmop_error_new(VMOP_ERROR_CANT, "it is accepted, but counts nothing");
	vmop_counters_close(counters);
	return err;
}

static void describe_events(struct vmop_hv_report *report)
{
	static const char *const events[] = {
		"cycles",
		"instructions",
		"branches",
		"branch-misses",
		"cache-references",
		"cache-misses",
		"ref-cycles",
		"bus-cycles",
		"stalled-cycles-frontend",
		"stalled-cycles-backend",
	};
	int way = VMOP_BY_NOTHING;
	bool is_by_page = false, is_counted = false;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		char text[512];
		struct vmop_error *err = count_once(events[i], &way);
		if (!err) {
			vmop_hv_report_append(report, GROUP, "counts", events[i]);
			is_by_page |= way == VMOP_BY_PAGE;
			is_counted = true;
			continue;
		}
		/* An error names its event. */
		bool is_named = strstr(err->message, events[i]) != NULL;
		snprintf(text, sizeof(text), "%s%s%s", is_named ? "" : events[i],
			 is_named ? "" : ": ", err->message);
		vmop_hv_report_append(report, GROUP, "does not count", text);
		vmop_error_destroy(err);
	}
	if (is_counted)
		vmop_hv_report_flag(report, GROUP, "read in user mode", is_by_page);
	else
		vmop_hv_report_missing(report, GROUP, "counts", "no hardware event");
}

void vmop_hv_describe_pmu(const struct vmop_hv *hv, struct vmop_hv_report *report)
{
	if (hv->read_cpuid(0, 0).a && !describe_perfmon(hv, report) && !describe_amd(hv, report))
		vmop_hv_report_missing(report, GROUP, "counters",
				       "CPUID announces none (nor does it announce the four of "
				       "AMD's first CPUs)");
	describe_devices(hv, report);
	describe_events(report);
}
