// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen's own text and its symbols, which are stored at once, as the host kernel's are.  They come
 * from, in this order:
 *	the file given (--xen): xen-syms, or its map
 *	/proc/xen/xensyms, the running Xen's own table
 *	XENPF_get_symbol, the same by hypercalls
 *	xen-syms beside the boot image, if its build-id is the running Xen's
 */
#ifndef VMOP_DAEMON_XEN_SYMBOLS_H
#define VMOP_DAEMON_XEN_SYMBOLS_H

#include "daemon/xen/domains.h"
#include "libsym/build-id.h"
#include "libutil/error.h"

/*
 * Gives Xen's own domain its text.  path: NULL, or the file given, which must outlive domains.
 * VMOP_ERROR_USAGE: that can't be read, or is not the running Xen's.  Where nothing else can be
 * had, its samples stay addresses, and symbols_from says why.
 */
struct vmop_error *vmop_xen_text_load(struct vmop_xen_domains *xen, const char *path);

/*
 * Whether a symbol table is the running Xen's: by build-id where both have one, else by
 * the addresses of what both name.  NULL running, or no ids: not known, which is no error.
 */
struct vmop_error *vmop_xen_text_check(const char *path, const struct vmop_symtab *symtab,
				       const struct vmop_build_id *id,
				       const struct vmop_symtab *running,
				       const struct vmop_build_id *running_id);

#endif
