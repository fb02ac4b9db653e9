// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The open sets that have pages. The kernel does not give perf's pages to the child of a fork, so
 * the child forgets them before it can read one. Thread-safe.
 */
#ifndef VMOP_LIBVMOP_LIVE_SETS_H
#define VMOP_LIBVMOP_LIVE_SETS_H

#include "libvmop/counters.h"

/* Add a set that has pages, or remove it before its pages are unmapped. Neither can fail. */
void vmop_live_sets_add(struct vmop_counters *counters);
void vmop_live_sets_remove(struct vmop_counters *counters);

#endif
