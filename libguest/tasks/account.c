// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/tasks/account.h"

#include "libguest/kernel/layout.h"
#include "libguest/memory/page-table.h"

struct vmop_guest_account vmop_guest_account_read(struct vmop_guest_space *space,
						  const struct vmop_layout *layout, uint64_t task)
{
	struct vmop_guest_account ret = {.is_known = true};
	const struct {
		enum vmop_layout_field field;
		uint64_t *ret;
	} parts[] = {
		{VMOP_LAYOUT_TASK_RUN_NS, &ret.run_ns},
		{VMOP_LAYOUT_TASK_WAIT_NS, &ret.wait_ns},
		{VMOP_LAYOUT_TASK_RUNS, &ret.n_runs},
		{VMOP_LAYOUT_TASK_USER_NS, &ret.user_ns},
		{VMOP_LAYOUT_TASK_SYSTEM_NS, &ret.system_ns},
	};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!vmop_layout_has(layout, parts[i].field))
			return (struct vmop_guest_account){0};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		*parts[i].ret =
			vmop_guest_space_u64(space, task + (uint32_t)layout->value[parts[i].field]);
	return ret;
}
