// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/dom0.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "hv-interface/perf/permission.h"
#include "hv-interface/xen/link.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"

/* xen/include/public/arch-x86/xen-x86_64.h: HYPERVISOR_VIRT_START and _END. */
#define XEN_START UINT64_C(0xffff800000000000)
#define XEN_END UINT64_C(0xffff880000000000)

#define CS_USER 3 /* bits of the code segment's privilege level */

static enum vmop_source_reach view_of_mode(const char *root)
{
	char path[256];
	_cleanup_free_ char *text = NULL;
	size_t len_bytes;
	snprintf(path, sizeof(path), "%s/sys/hypervisor/pmu/pmu_mode", root);
	struct vmop_error *err = vmop_io_read_file(path, 4096, &text, &len_bytes);
	enum vmop_source_reach view = VMOP_REACH_OWN;
	if (!err && !strncmp(text, "all", 3))
		view = VMOP_REACH_UNDIVIDED;
	else if (!err && !strncmp(text, "hv", 2))
		view = VMOP_REACH_OWN_AND_HYPERVISOR;
	vmop_error_destroy(err); /* the kernel does not support it */
	return view;
}

void vmop_perf_dom0_init(const char *root, struct vmop_perf_dom0 *ret)
{
	*ret = (struct vmop_perf_dom0){.view = VMOP_REACH_ALL};
	if (!vmop_xen_is_control_domain(root))
		return;
	ret->view = view_of_mode(root ? root : "");
#ifdef __x86_64__
	ret->has_regs = vmop_perf_gives_registers(VMOP_PERF_DOM0_REGS);
#endif
}

static void be_unknown_task(struct vmop_sample *sample)
{
	sample->pid = sample->tid = UINT32_MAX;
}

/*
 * Correct a sample of an event outside the PMU: Linux reports the address of the PMU's last sample
 * instead.
 */
static void correct_by_registers(const struct vmop_perf_dom0_regs *regs, struct vmop_sample *sample)
{
	bool has_regs = regs && regs->abi != PERF_SAMPLE_REGS_ABI_NONE;
	if (!has_regs && !(sample->flags & VMOP_SAMPLE_GUEST))
		return;
	sample->ip = has_regs ? regs->ip : 0;
	sample->flags = VMOP_SAMPLE_NO_IP | VMOP_SAMPLE_KERNEL;
	if (has_regs)
		sample->flags = regs->cs & CS_USER ? VMOP_SAMPLE_USER : VMOP_SAMPLE_KERNEL;
}

void vmop_perf_dom0_correct(const struct vmop_perf_dom0 *dom0, bool is_by_pmu,
			    const struct vmop_perf_dom0_regs *regs, struct vmop_sample *sample)
{
	bool is_undivided = dom0->view == VMOP_REACH_UNDIVIDED;
	if (!is_by_pmu) {
		correct_by_registers(dom0->has_regs ? regs : NULL, sample);
	} else if (sample->ip >= XEN_START && sample->ip < XEN_END) {
		sample->flags = VMOP_SAMPLE_HYPERVISOR;
		/* Else Xen ran for dom0, or for no domain. */
		sample->source_domain = is_undivided ? VMOP_SOURCE_DOMAIN_UNKNOWN : 0;
		be_unknown_task(sample);
	} else if (sample->flags & VMOP_SAMPLE_GUEST) {
		sample->flags |= VMOP_SAMPLE_MODE_KNOWN;
		sample->source_domain = VMOP_SOURCE_DOMAIN_UNKNOWN;
		be_unknown_task(sample);
	}
}

const char *vmop_perf_dom0_transport(enum vmop_source_reach view)
{
	switch (view) {
	case VMOP_REACH_ALL:
		break;
	case VMOP_REACH_OWN:
		return "dom0's kernel: it samples only dom0";
	case VMOP_REACH_OWN_AND_HYPERVISOR:
		return "dom0's kernel: it samples dom0 and Xen (vPMU mode hv)";
	case VMOP_REACH_UNDIVIDED:
		return "dom0's kernel: it samples all domains without distinguishing them (vPMU "
		       "mode all)";
	}
	return NULL;
}
