// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of the sample sources in this build, and the choice among them for this machine. A new
 * source adds a folder and one line to the table in source-list.c.
 */
#ifndef VMOP_HV_INTERFACE_SOURCE_LIST_H
#define VMOP_HV_INTERFACE_SOURCE_LIST_H

#include "hv-interface/source.h"

/* Return the source called name, or NULL. */
const struct vmop_source_ops *vmop_source_find(const char *name);

/*
 * Return the source for this machine: xen in the dom0 of a Xen with xenoprof, else perf.
 * Set *ret_note to the reason where an operator would expect another source, else to NULL; the
 * text is static.
 */
const struct vmop_source_ops *vmop_source_pick(const char **ret_note);

#endif
