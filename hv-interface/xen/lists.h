// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which domains Xen is to sample beside dom0: its two lists, made of what the source is told and
 * of whose agents are there.
 */
#ifndef VMOP_HV_INTERFACE_XEN_LISTS_H
#define VMOP_HV_INTERFACE_XEN_LISTS_H

#include <stdbool.h>
#include <stddef.h>

#include "hv-interface/active-group.h"
#include "hv-interface/source.h"
#include "hv-interface/xen/transport.h"

/* All zero: dom0 alone. */
struct vmop_xen_lists {
	struct vmop_xen_domain active[VMOP_XENOPROF_DOMAINS_MAX];
	struct vmop_xen_domain passive[VMOP_XENOPROF_DOMAINS_MAX];
	size_t n_active, n_passive;
};

/* VMOP_ERROR_USAGE: an id that no domain can have; VMOP_ERROR_LIMIT: more than Xen takes. */
struct vmop_error *vmop_xen_lists_check(const struct vmop_source_domain *domains, size_t n);

/* Sets error and samples of the active ones among domains by how their agents are. */
void vmop_xen_lists_set_presence(struct vmop_source_domain *domains, size_t n,
				 const struct vmop_active_group *group);

/* Whether the lists are other than domains, those with an error left out, would make them. */
bool vmop_xen_lists_differ(const struct vmop_xen_lists *lists,
			   const struct vmop_source_domain *domains, size_t n);
/* Makes them so; domains were checked. */
void vmop_xen_lists_set(struct vmop_xen_lists *lists, const struct vmop_source_domain *domains,
			size_t n);

/* Leaves out the active ones whose agents are not there any more. */
void vmop_xen_lists_drop_absent(struct vmop_xen_lists *lists,
				const struct vmop_active_group *group);

/* Xen's answers, to those that had no error; ENOLINK: it was left out since. */
void vmop_xen_lists_copy_errors(const struct vmop_xen_lists *lists,
				struct vmop_source_domain *domains, size_t n);

#endif
