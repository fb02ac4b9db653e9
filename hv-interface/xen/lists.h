// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen's two lists of the domains that it samples beside dom0, made from the wanted domains and the
 * presence of their agents.
 */
#ifndef VMOP_HV_INTERFACE_XEN_LISTS_H
#define VMOP_HV_INTERFACE_XEN_LISTS_H

#include <stdbool.h>
#include <stddef.h>

#include "hv-interface/active-group.h"
#include "hv-interface/source.h"
#include "hv-interface/xen/transport.h"

/* All zero: only dom0. */
struct vmop_xen_lists {
	struct vmop_xen_domain active[VMOP_XENOPROF_DOMAINS_MAX];
	struct vmop_xen_domain passive[VMOP_XENOPROF_DOMAINS_MAX];
	size_t n_active, n_passive;
};

/*
 * Check the wanted domains. VMOP_ERROR_USAGE: an impossible id. VMOP_ERROR_LIMIT: more domains than
 * Xen accepts.
 */
struct vmop_error *vmop_xen_lists_check(const struct vmop_source_domain *domains, size_t n);

/* Set error and samples of the active domains by the state of their agents. */
void vmop_xen_lists_set_presence(struct vmop_source_domain *domains, size_t n,
				 const struct vmop_active_group *group);

/* Return whether the domains without an error would make other lists. */
bool vmop_xen_lists_differ(const struct vmop_xen_lists *lists,
			   const struct vmop_source_domain *domains, size_t n);
/* Make the lists from checked domains without an error. */
void vmop_xen_lists_set(struct vmop_xen_lists *lists, const struct vmop_source_domain *domains,
			size_t n);

/* Remove the active domains whose agents have disappeared. */
void vmop_xen_lists_drop_absent(struct vmop_xen_lists *lists,
				const struct vmop_active_group *group);

/* Copy Xen's errors to the domains that had no error. ENOLINK: the domain was removed since. */
void vmop_xen_lists_copy_errors(const struct vmop_xen_lists *lists,
				struct vmop_source_domain *domains, size_t n);

#endif
