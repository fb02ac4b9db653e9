// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"

#include "libvmop/stat/hypervisor/steal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_LIBBPF
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#endif

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/procfs.h"
#include "libvmop/stat/hypervisor/machine.h"

#define GROUP "steal"
#define STAT_MAX_BYTES (2 << 20) /* the lines of CPUs precede the longest one, of interrupts */

/* Call each() with the number of each CPU and its steal time. */
static struct vmop_error *
each_cpu(const struct vmop_hv *hv,
	 struct vmop_error *(*each)(void *arg, unsigned cpu, uint64_t steal_ns), void *arg)
{
	_cleanup_free_ char *text = malloc(STAT_MAX_BYTES);
	if (!text)
		return &vmop_error_no_memory;
	if (vmop_procfs_read(hv->root, text, STAT_MAX_BYTES, "/proc/stat") <= 0)
		return vmop_error_new(VMOP_ERROR_CANT, "/proc/stat cannot be read");
	uint64_t tick_ns = VMOP_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	struct vmop_error *err = NULL;
	char *rest = text, *line;
	while (!err && (line = strsep(&rest, "\n"))) {
		unsigned cpu;
		uint64_t steal;
		/* The sum of all CPUs is "cpu  ". proc(5): user, nice, system, idle, iowait, irq,
		 * softirq, steal */
		if (strncmp(line, "cpu", 3) == 0 && line[3] != ' ' &&
		    sscanf(line, "cpu%u %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &cpu, &steal) == 2)
			err = each(arg, cpu, steal * tick_ns);
	}
	return err;
}

static struct vmop_error *add_steal(void *arg, unsigned cpu, uint64_t steal_ns)
{
	uint64_t *sum_ns = arg;
	(void)cpu;
	*sum_ns += steal_ns;
	return NULL;
}

static bool was_switched_off(const struct vmop_hv *hv)
{
	char text[4096];
	return vmop_hv_line(hv, "/proc/cmdline", text, sizeof(text)) &&
	       strstr(text, "no-steal-acc");
}

const char *vmop_hv_steal_reason(const struct vmop_hv *hv)
{
	uint64_t sum_ns = 0;
	vmop_error_destroy(each_cpu(hv, add_steal, &sum_ns));
	if (sum_ns)
		return NULL;
	if (hv->role == VMOP_HV_ROLE_HOST)
		return "no hypervisor is seen that could steal time";
	if (was_switched_off(hv))
		return "the kernel's parameter no-steal-acc switches it off";
	if (hv->kind == VMOP_HV_KVM && vmop_hv_cpuid_block(&hv->cpuid, VMOP_HV_KVM))
		return vmop_hv_kvm_features(hv) & VMOP_HV_KVM_STEAL_TIME
			       ? NULL
			       : "KVM offers no steal clock (CPUID: kvm-steal-time=off)";
	if (hv->kind == VMOP_HV_XEN)
		return NULL;
	return "there has been none since the boot; the hypervisor does not show whether it offers "
	       "a steal "
	       "clock";
}

#ifdef HAVE_LIBBPF
/* Return whether a struct of the kernel has the member; -1: its BTF has no such struct. */
static int struct_has(const struct btf *btf, const char *type, const char *member)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *found = id > 0 ? btf__type_by_id(btf, (unsigned)id) : NULL;
	if (!found)
		return -1;
	const struct btf_member *members = btf_members(found);
	for (unsigned i = 0; i < btf_vlen(found); i++) {
		const char *name = btf__name_by_offset(btf, members[i].name_off);
		if (name && !strcmp(name, member))
			return 1;
	}
	return 0;
}

static int be_silent(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level, (void)format, (void)arguments;
	return 0;
}

/*
 * Report whether the kernel takes stolen time out of the time of tasks: its run queues have this
 * member with PARAVIRT_TIME_ACCOUNTING only.
 */
static void describe_accounting(struct vmop_hv_report *report)
{
	libbpf_set_print(be_silent);
	struct btf *btf = btf__load_vmlinux_btf();
	int has = btf ? struct_has(btf, "rq", "prev_steal_time_rq") : -1;
	btf__free(btf);
	if (has < 0)
		vmop_hv_report_missing(report, GROUP, "left out of tasks' time",
				       "the kernel has no BTF that shows it");
	else
		vmop_hv_report_text(
			report, GROUP, "left out of tasks' time", "%s",
			has ? "yes (PARAVIRT_TIME_ACCOUNTING)"
			    : "no (kernel without PARAVIRT_TIME_ACCOUNTING): the time of "
			      "a task contains what was stolen from it");
}
#else
static void describe_accounting(struct vmop_hv_report *report)
{
	vmop_hv_report_missing(report, GROUP, "left out of tasks' time",
			       "this vmopstat was built without libbpf");
}
#endif

static struct vmop_error *describe_cpu(void *arg, unsigned cpu, uint64_t steal_ns)
{
	char name[32];
	snprintf(name, sizeof(name), "cpu%u", cpu);
	vmop_hv_report_text(arg, GROUP, name, "%.2f s", (double)steal_ns / 1e9);
	return NULL;
}

void vmop_hv_describe_steal(const struct vmop_hv *hv, struct vmop_hv_report *report)
{
	const char *reason = vmop_hv_steal_reason(hv);
	if (reason) {
		vmop_hv_report_missing(report, GROUP, "clock", "%s", reason);
		return;
	}
	vmop_hv_report_text(report, GROUP, "clock", "present");
	describe_accounting(report);
	vmop_error_destroy(each_cpu(hv, describe_cpu, report));
}

static struct vmop_error *add_reading(void *arg, unsigned cpu, uint64_t steal_ns)
{
	char name[32];
	snprintf(name, sizeof(name), "cpu%u", cpu);
	const struct vmop_reading reading = {
		.identity = cpu,
		.object = name,
		.counter = "steal",
		.kind = VMOP_READING_NS,
		.value = steal_ns,
	};
	return vmop_readings_add(arg, &reading);
}

struct vmop_error *vmop_hv_read_steal(const struct vmop_hv *hv, struct vmop_readings *readings)
{
	return each_cpu(hv, add_reading, readings);
}
