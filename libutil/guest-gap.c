// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/guest-gap.h"

#include "vmop/guest-context.h"

static const struct {
	const char *text, *word;
} gaps[VMOP_GUEST_N_GAPS] = {
	[VMOP_GUEST_GAP_NONE] = {"nothing is missing", "none"},
	[VMOP_GUEST_GAP_UNKNOWN_KERNEL] = {"the guest's kernel is not known", "unknown_kernel"},
	[VMOP_GUEST_GAP_NESTED] = {"the vCPU ran a guest of its own", "nested"},
	[VMOP_GUEST_GAP_ENCRYPTED] = {"the guest is encrypted", "encrypted"},
	[VMOP_GUEST_GAP_NO_REGISTERS] = {"registers that can't be read", "no_registers"},
	[VMOP_GUEST_GAP_NOT_MAPPED] = {"a page that the guest has not mapped", "not_mapped"},
	[VMOP_GUEST_GAP_NO_SLOT] = {"an address that is not RAM", "no_slot"},
	[VMOP_GUEST_GAP_ABSENT] = {"a page of the VMM that is not in memory", "absent"},
	[VMOP_GUEST_GAP_NO_TASK] = {"no current task", "no_task"},
	[VMOP_GUEST_GAP_OTHER_TASK] = {"the vCPU's number is not that of the guest's CPU",
				       "other_task"},
	[VMOP_GUEST_GAP_BOOT] = {"firmware or boot code", "boot"},
};

_Static_assert(VMOP_GUEST_N_GAPS == VMOP_GUEST_GAP_BOOT + 1, "each has words");

const char *vmop_guest_gap_text(unsigned gap)
{
	return gap < VMOP_GUEST_N_GAPS ? gaps[gap].text : "an unknown reason";
}

const char *vmop_guest_gap_word(unsigned gap)
{
	return gap < VMOP_GUEST_N_GAPS ? gaps[gap].word : "unknown";
}
