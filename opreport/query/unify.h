// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Find the items of a catalog that are the same thing in several sessions, or in one, and set each
 * item's `row` to the index of the first of them.  identity.h does so for domains; then images are
 * compared within their domain by build-id or name, and tasks by the rules of --merge.
 */
#ifndef VMOP_OPREPORT_QUERY_UNIFY_H
#define VMOP_OPREPORT_QUERY_UNIFY_H

#include "opreport/query/catalog.h"

/*
 * Set row, life, text and is_shared of all items, and the names of domains and events as shown.
 * The catalog is loaded; merge has bits of enum vmop_merge.  Fails only without memory.
 */
struct vmop_error *vmop_catalog_unify(struct vmop_catalog *catalog, unsigned merge);

/* Set cgroup_row of all tasks.  Called after vmop_catalog_unify, for rows by cgroup only. */
struct vmop_error *vmop_catalog_unify_cgroups(struct vmop_catalog *catalog);

#endif
