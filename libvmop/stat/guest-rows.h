// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counts that a vmopstat in a guest printed with --json: one object a line. The guest may send
 * anything: every number is checked, and the sizes have bounds.
 */
#ifndef VMOP_LIBVMOP_STAT_GUEST_ROWS_H
#define VMOP_LIBVMOP_STAT_GUEST_ROWS_H

#include <stddef.h>

#include "libutil/error.h"
#include "libvmop/stat/output.h"

/* The longest text, and the most rows, that are read. */
#define VMOP_GUEST_ROWS_BYTES (1 << 20)
#define VMOP_GUEST_ROWS_MAX 256

struct vmop_guest_rows {
	struct vmop_stat_row *rows; /* with names and reasons of their own */
	size_t n;
};

/*
 * Parse text of len_bytes. VMOP_ERROR_CANT: it is not what vmopstat prints, or there is no row.
 * Free with vmop_guest_rows_deinit.
 */
struct vmop_error *vmop_guest_rows_parse(const char *text, size_t len_bytes,
					 struct vmop_guest_rows *ret);
void vmop_guest_rows_deinit(struct vmop_guest_rows *rows);

#endif
