// SPDX-License-Identifier: GPL-2.0-or-later
/* The form in which the BPF program reads an unwind table: pages (layout.h). */
#ifndef VMOP_HV_INTERFACE_BPF_PAGES_H
#define VMOP_HV_INTERFACE_BPF_PAGES_H

#include <stddef.h>

#include "hv-interface/bpf/layout.h"

/*
 * Pack a table into *ret_n pages, which the caller frees. NULL: no memory, or a table that pages
 * can't express: blocks out of order, more rows in a block than it has bytes, or too many pages.
 */
union vmop_bpf_page *vmop_bpf_pages_pack(const struct vmop_unwind_table *table, size_t *ret_n);

#endif
