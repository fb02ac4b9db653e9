// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/hypervisor/runstate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define __XEN_TOOLS__ 1 /* NOLINT: required by xen/domctl.h */
#include <xen/xen.h>
/* These need the definitions of xen.h. */
#include <xen/domctl.h>
#include <xen/vcpu.h>
#include <xencall.h>

#include "libutil/cleanup.h"
#include "libutil/xen/domctl.h"
#include "libutil/xen/silence.h"

#define IDENTITY (UINT64_C(1) << 32)
#define DOMAINS_MAX 32752u /* DOMID_FIRST_RESERVED is 0x7ff0 */
#define VCPUS_MAX 8192u	   /* HVM_MAX_VCPUS and MAX_VIRT_CPUS are lower */
#define N_STATES 4

static const char *const states[N_STATES] = {
	[RUNSTATE_running] = "running",
	[RUNSTATE_runnable] = "runnable",
	[RUNSTATE_blocked] = "blocked",
	[RUNSTATE_offline] = "offline",
};

struct vmop_hv_runstates {
	bool is_dom0;
	xencall_handle *call;		 /* for hypercalls about the own domain */
	struct vcpu_runstate_info *info; /* in memory that a hypercall can reach */
	struct vmop_xen_domctl domctl;	 /* of dom0 */
};

/* One vCPU, as far as Xen reports it. */
struct vcpu {
	uint32_t domid, number;
	bool is_own; /* all times are known, else only the first */
	uint64_t times_ns[N_STATES];
	const char *state;
};

typedef struct vmop_error *vcpu_fn(void *arg, const struct vcpu *vcpu);

void vmop_hv_runstates_close(struct vmop_hv_runstates *runstates)
{
	if (!runstates)
		return;
	vmop_xen_domctl_close(&runstates->domctl);
	if (runstates->info)
		xencall_free_buffer(runstates->call, runstates->info);
	if (runstates->call)
		xencall_close(runstates->call);
	free(runstates);
}

static void runstates_cleanup(struct vmop_hv_runstates **runstates)
{
	vmop_hv_runstates_close(*runstates);
}

/* Read an own vCPU. Return false with errno without such a vCPU, or without the right. */
static bool read_own(struct vmop_hv_runstates *runstates, uint32_t number, struct vcpu *ret)
{
	struct vcpu_runstate_info *info = runstates->info;
	memset(info, 0, sizeof(*info));
	if (xencall3(runstates->call, __HYPERVISOR_vcpu_op, VCPUOP_get_runstate_info, number,
		     (uintptr_t)info) < 0)
		return false;
	*ret = (struct vcpu){.number = number, .is_own = true, .state = "?"};
	for (size_t i = 0; i < N_STATES; i++)
		ret->times_ns[i] = info->time[i];
	if (info->state >= 0 && info->state < N_STATES)
		ret->state = states[info->state];
	return true;
}

struct vmop_error *vmop_hv_runstates_open(const struct vmop_hv *hv, struct vmop_hv_runstates **ret)
{
	struct vcpu vcpu;
	_cleanup_(runstates_cleanup) struct vmop_hv_runstates *runstates =
		calloc(1, sizeof(*runstates));
	if (!runstates)
		return &vmop_error_no_memory;
	runstates->is_dom0 = hv->role == VMOP_HV_ROLE_DOM0;
	runstates->call = xencall_open(vmop_xen_silence(), 0);
	if (!runstates->call)
		return vmop_error_os(errno, "/dev/xen/privcmd");
	runstates->info = xencall_alloc_buffer(runstates->call, sizeof(*runstates->info));
	if (!runstates->info)
		return &vmop_error_no_memory;
	if (!read_own(runstates, 0, &vcpu))
		return vmop_error_os(errno, "%s",
				     runstates->is_dom0
					     ? "hypercalls"
					     : "hypercalls, which a domU's kernel forbids but with "
					       "xen-privcmd's unrestricted=1");
	if (runstates->is_dom0) {
		struct vmop_error *err = vmop_xen_domctl_open(&runstates->domctl);
		if (err)
			return err;
	}
	*ret = vmop_steal(&runstates);
	return NULL;
}

static struct vmop_error *each_own(struct vmop_hv_runstates *runstates, vcpu_fn *each, void *arg)
{
	struct vmop_error *err = NULL;
	struct vcpu vcpu;
	/* The numbers have no gaps: Xen allocates a domain's vCPUs at once. */
	for (uint32_t i = 0; !err && i < VCPUS_MAX && read_own(runstates, i, &vcpu); i++)
		err = each(arg, &vcpu);
	return err;
}

/* Read a vCPU of another domain. Return false without such a vCPU. */
static bool read_other(struct vmop_hv_runstates *runstates, uint32_t domid, uint32_t number,
		       struct vcpu *ret)
{
	struct xen_domctl *domctl = vmop_xen_domctl_begin(&runstates->domctl);
	domctl->u.getvcpuinfo.vcpu = number;
	if (vmop_xen_domctl_call(&runstates->domctl, domid, XEN_DOMCTL_getvcpuinfo) < 0)
		return false;
	const struct xen_domctl_getvcpuinfo *info = &domctl->u.getvcpuinfo;
	*ret = (struct vcpu){
		.domid = domid,
		.number = number,
		.times_ns = {info->cpu_time},
		.state = !info->online	 ? "offline"
			 : info->running ? "running"
			 : info->blocked ? "blocked"
					 : "runnable, or paused",
	};
	return true;
}

static struct vmop_error *each_of_domain(struct vmop_hv_runstates *runstates, uint32_t domid,
					 uint32_t last, vcpu_fn *each, void *arg)
{
	struct vmop_error *err = NULL;
	struct vcpu vcpu;
	for (uint32_t i = 0; !err && i <= last && i < VCPUS_MAX; i++) {
		if (read_other(runstates, domid, i, &vcpu))
			err = each(arg, &vcpu);
	}
	return err;
}

/* Call each() for the vCPUs of this domain, and in dom0 for those of all others. */
static struct vmop_error *each_vcpu(struct vmop_hv_runstates *runstates, vcpu_fn *each, void *arg)
{
	struct vmop_error *err = each_own(runstates, each, arg);
	for (uint32_t domid = 1; !err && runstates->is_dom0 && domid < DOMAINS_MAX; domid++) {
		struct xen_domctl *domctl = vmop_xen_domctl_begin(&runstates->domctl);
		/* It returns the first domain from this one on. */
		if (vmop_xen_domctl_call(&runstates->domctl, domid, XEN_DOMCTL_getdomaininfo) < 0)
			break;
		uint32_t found = domctl->u.getdomaininfo.domain;
		uint32_t last = domctl->u.getdomaininfo.max_vcpu_id;
		bool is_dying = domctl->u.getdomaininfo.flags & XEN_DOMINF_dying;
		if (found < domid || found >= DOMAINS_MAX)
			break;
		domid = found;
		if (!is_dying)
			err = each_of_domain(runstates, domid, last, each, arg);
	}
	return err;
}

/* Print a vCPU's name as Xen does, "d1v0"; a domU does not know its own number. */
static void print_name(bool is_dom0, const struct vcpu *vcpu, char ret[32])
{
	if (is_dom0)
		snprintf(ret, 32, "d%uv%u", vcpu->domid, vcpu->number);
	else
		snprintf(ret, 32, "v%u", vcpu->number);
}

struct user {
	const struct vmop_hv_runstates *runstates;
	struct vmop_hv_report *report;
	struct vmop_readings *readings;
};

static struct vmop_error *describe_vcpu(void *arg, const struct vcpu *vcpu)
{
	const struct user *user = arg;
	char name[32];
	const uint64_t *ns = vcpu->times_ns;
	print_name(user->runstates->is_dom0, vcpu, name);
	if (vcpu->is_own)
		vmop_hv_report_text(user->report, "runstate", name,
				    "%s: running %.3f s, runnable %.3f s, blocked %.3f s, offline "
				    "%.3f s",
				    vcpu->state, (double)ns[RUNSTATE_running] / 1e9,
				    (double)ns[RUNSTATE_runnable] / 1e9,
				    (double)ns[RUNSTATE_blocked] / 1e9,
				    (double)ns[RUNSTATE_offline] / 1e9);
	else
		vmop_hv_report_text(user->report, "runstate", name,
				    "%s: running %.3f s; Xen reports no more of another domain",
				    vcpu->state, (double)ns[RUNSTATE_running] / 1e9);
	return NULL;
}

struct vmop_error *vmop_hv_describe_runstates(struct vmop_hv_runstates *runstates,
					      struct vmop_hv_report *report)
{
	struct user user = {.runstates = runstates, .report = report};
	return each_vcpu(runstates, describe_vcpu, &user);
}

static struct vmop_error *add_vcpu(void *arg, const struct vcpu *vcpu)
{
	const struct user *user = arg;
	char name[32];
	struct vmop_error *err = NULL;
	print_name(user->runstates->is_dom0, vcpu, name);
	for (size_t i = 0; !err && i < N_STATES; i++) {
		const struct vmop_reading reading = {
			.identity = IDENTITY | vcpu->domid << 16 | vcpu->number,
			.object = name,
			.counter = states[i],
			.kind = VMOP_READING_NS,
			.value = vcpu->times_ns[i],
			.reason = vcpu->is_own || i == RUNSTATE_running
					  ? NULL
					  : "Xen reports to dom0 only how long another domain's "
					    "vCPU ran",
		};
		err = vmop_readings_add(user->readings, &reading);
	}
	return err;
}

struct vmop_error *vmop_hv_read_runstates(struct vmop_hv_runstates *runstates,
					  struct vmop_readings *readings)
{
	struct user user = {.runstates = runstates, .readings = readings};
	return each_vcpu(runstates, add_vcpu, &user);
}
