// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a row is of, apart from its symbol: the dimensions asked for, those left
 * out being 0.  Groups are interned: equal ones have one number.
 */
#ifndef VMOP_OPREPORT_QUERY_GROUP_H
#define VMOP_OPREPORT_QUERY_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

/* Fields are 1 + an index into the catalog's tables; cpu and vcpu are 2 + number, 1 for none. */
struct vmop_group {
	uint32_t domain, image, task, cgroup;
	uint16_t mode, certainty; /* 1 + the value */
	uint32_t cpu, vcpu;
	uint32_t session;
};
/* A flag in mode, of cells by symbol only: samples of a host's idle task. */
#define VMOP_GROUP_IDLE 0x100
_Static_assert(sizeof(struct vmop_group) == 32, "hashed as bytes: no padding");

/* Whether they are of one CPU, one vCPU. */
static inline bool vmop_group_has_cpu(const struct vmop_group *group)
{
	return group->cpu >= 2;
}

static inline bool vmop_group_has_vcpu(const struct vmop_group *group)
{
	return group->vcpu >= 2;
}

#define VMOP_GROUPS_MAX ((size_t)4 << 20) /* 200 MB */

struct vmop_groups {
	size_t n, capacity;
	struct vmop_group *items;
	uint32_t *buckets;
	size_t n_buckets;
};

/* *ret is VMOP_NO_GROUP (tally.h) for a new one where there are VMOP_GROUPS_MAX. */
struct vmop_error *vmop_groups_intern(struct vmop_groups *groups, const struct vmop_group *group,
				      uint32_t *ret);
void vmop_groups_deinit(struct vmop_groups *groups);

#endif
