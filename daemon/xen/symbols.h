// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The code and symbols of the hypervisor.  They are stored at once, like those of the host's
 * kernel.
 *
 * The sources, in this order:
 *	the file that --xen names: xen-syms, or its map
 *	/proc/xen/xensyms, the table of the running Xen
 *	XENPF_get_symbol, the same by hypercalls
 *	xen-syms beside the boot image, if its build-id is the running Xen's
 */
#ifndef VMOP_DAEMON_XEN_SYMBOLS_H
#define VMOP_DAEMON_XEN_SYMBOLS_H

#include "daemon/xen/domains.h"
#include "libsym/build-id.h"
#include "libutil/error.h"

/*
 * Add the code of the hypervisor to its domain.  path: the file of --xen, which must outlive the
 * domains; NULL: none.  VMOP_ERROR_USAGE: the file cannot be read, or is not the running Xen's.  If
 * no source has symbols, samples stay addresses, and symbols_from has the reason.
 */
struct vmop_error *vmop_xen_symbols_load(struct vmop_xen_domains *xen, const char *path);

/*
 * Check that symtab is the running Xen's: by build-id if both have one, else by the addresses of
 * the symbols that both have.  Without build-ids, and with running NULL, there is no error.
 */
struct vmop_error *vmop_xen_symbols_check(const char *path, const struct vmop_symtab *symtab,
					  const struct vmop_build_id *id,
					  const struct vmop_symtab *running,
					  const struct vmop_build_id *running_id);

#endif
