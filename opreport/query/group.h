// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The key of a row without its symbol: one field for each dimension of the query, and 0 for other
 * dimensions.  Groups are interned: equal groups have one number.
 */
#ifndef VMOP_OPREPORT_QUERY_GROUP_H
#define VMOP_OPREPORT_QUERY_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

/* Fields are 1 + an index of the catalog's table; cpu and vcpu are 2 + number, or 1 for none. */
struct vmop_group {
	uint32_t domain, image, task, cgroup;
	uint16_t mode, certainty; /* 1 + the value */
	uint32_t cpu, vcpu;
	uint32_t session;
	uint32_t time; /* 1 + index of its slot: time-slots.h */
};
/* A flag in the mode of cells that are read by symbol: samples of a host's idle task. */
#define VMOP_GROUP_IDLE 0x100
_Static_assert(sizeof(struct vmop_group) == 36, "hashed as bytes: no padding");

/* Return whether all samples of the group are of one CPU, or of one vCPU. */
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

/* Set *ret to the number of group, or to VMOP_NO_GROUP (tally.h) if it is new and all are taken. */
struct vmop_error *vmop_groups_intern(struct vmop_groups *groups, const struct vmop_group *group,
				      uint32_t *ret);
void vmop_groups_deinit(struct vmop_groups *groups);

#endif
