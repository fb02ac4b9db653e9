// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/hypervisor/hypervisor.h"

#include <errno.h>

#include "libutil/cleanup.h"
#include "libvmop/stat/hypervisor/machine.h"
#include "libvmop/stat/hypervisor/pmu.h"
#include "libvmop/stat/hypervisor/runstate.h"
#include "libvmop/stat/hypervisor/steal.h"
#include "libvmop/stat/hypervisor/vmware.h"
#include "libvmop/stat/meter.h"

/* The sources of times for the intervals. */
struct times {
	const struct vmop_hv *hv;
	bool has_steal;
	struct vmop_hv_runstates *runstates; /* NULL: none */
};

static struct vmop_error *open_runstates(const struct vmop_hv *hv, struct vmop_hv_runstates **ret)
{
	*ret = NULL;
	if (hv->kind != VMOP_HV_XEN)
		return vmop_error_new(VMOP_ERROR_CANT, "this is no domain of Xen");
	return vmop_hv_runstates_open(hv, ret);
}

static void describe_runstates(const struct vmop_hv *hv, struct vmop_hv_report *report)
{
	struct vmop_hv_runstates *runstates = NULL;
	if (hv->kind != VMOP_HV_XEN)
		return;
	_cleanup_(vmop_error_cleanup) struct vmop_error *err =
		vmop_hv_runstates_open(hv, &runstates);
	if (!err)
		err = vmop_hv_describe_runstates(runstates, report);
	if (err)
		vmop_hv_report_missing(report, "runstate", "times", "%s", err->message);
	vmop_hv_runstates_close(runstates);
}

static struct vmop_error *describe(const struct vmop_hv *hv, const struct vmop_stat_writer *writer)
{
	_cleanup_(vmop_hv_report_deinit) struct vmop_hv_report report;
	vmop_hv_report_init(&report);
	vmop_hv_describe(hv, &report);
	vmop_hv_describe_kvm(hv, &report);
	vmop_hv_describe_cpus(hv, &report);
	vmop_hv_describe_clock(hv, &report);
	vmop_hv_describe_steal(hv, &report);
	describe_runstates(hv, &report);
	vmop_hv_describe_vmware(hv, &report);
	vmop_hv_describe_pmu(hv, &report);
	struct vmop_error *err =
		vmop_hv_report_print(&report, writer->format == VMOP_STAT_JSON, writer->out);
	if (!err && fflush(writer->out) != 0)
		err = vmop_error_os(errno, "writing the description");
	return err;
}

static struct vmop_error *read_times(void *arg, struct vmop_readings *readings)
{
	const struct times *times = arg;
	struct vmop_error *err = times->has_steal ? vmop_hv_read_steal(times->hv, readings) : NULL;
	if (!err && times->runstates)
		err = vmop_hv_read_runstates(times->runstates, readings);
	return err ? err : vmop_hv_read_vmware(readings);
}

static struct vmop_error *count_times(const struct vmop_hv *hv,
				      const struct vmop_stat_settings *settings,
				      struct vmop_stat_writer *writer, int *ret_status)
{
	struct vmop_hv_vmware vmware;
	const char *no_steal = vmop_hv_steal_reason(hv);
	struct times times = {.hv = hv, .has_steal = !no_steal};
	struct vmop_stat_meter meter = {
		.read = read_times, .arg = &times, .what = "the hypervisor"};
	struct vmop_error *no_runstates = open_runstates(hv, &times.runstates), *err;
	vmop_hv_vmware_read(&vmware);
	if (no_steal && no_runstates && !vmop_hv_vmware_has_any(&vmware))
		err = vmop_error_new(VMOP_ERROR_CANT,
				     "the hypervisor reports no times. Steal: %s. "
				     "Xen's runstates: %s. VMware's clocks: %s",
				     no_steal, no_runstates->message,
				     hv->read_cpuid(0, 0).a ? "rdpmc faults" : "only x86 has them");
	else
		err = vmop_stat_meter_run(&meter, settings, writer, ret_status);
	vmop_error_destroy(no_runstates);
	vmop_hv_runstates_close(times.runstates);
	return err;
}

struct vmop_error *vmop_hv_run(const struct vmop_stat_settings *settings,
			       struct vmop_stat_writer *writer, int *ret_status)
{
	struct vmop_hv hv;
	vmop_hv_detect("", vmop_cpuid, &hv);
	if (settings->command || settings->interval_ms)
		return count_times(&hv, settings, writer, ret_status);
	return describe(&hv, writer);
}
