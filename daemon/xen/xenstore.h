// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen's domains by name, as xenstore lists them.  A thread reads the list every second, because
 * libxenstore waits for ever if xenstored hangs, and the sampling thread must not.
 *
 *	/local/domain		one child for each domain, named by its id
 *	/local/domain/ID/name	by xl; can change
 *	/local/domain/ID/vm	/vm/UUID
 *	/libxl/ID/type		pv, pvh or hvm; by libxl
 *
 * Only dom0 writes these nodes on a Xen with the usual permissions.  They are parsed as hostile
 * all the same, because domains can write below their own paths.
 */
#ifndef VMOP_DAEMON_XEN_XENSTORE_H
#define VMOP_DAEMON_XEN_XENSTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "libutil/vmm.h"

#define VMOP_XENSTORE_DOMAINS_MAX 1024

enum vmop_xen_type { VMOP_XEN_TYPE_UNKNOWN, VMOP_XEN_PV, VMOP_XEN_PVH, VMOP_XEN_HVM };

struct vmop_xenstore_domain {
	uint32_t domid;
	enum vmop_xen_type type;
	char name[VMOP_GUEST_NAME_BYTES]; /* "": none yet */
	char uuid[VMOP_UUID_BYTES];	  /* lower case; "": not known */
};

/* All domains except dom0 at one moment, by ascending id. */
struct vmop_xenstore_listing {
	size_t n;
	size_t n_left_off; /* beyond VMOP_XENSTORE_DOMAINS_MAX */
	struct vmop_xenstore_domain at[];
};

struct vmop_xenstore;

/*
 * Start the thread, and wait for the first listing.  VMOP_ERROR_CANT: xenstored does not run, it
 * has not answered for some seconds, or vmop was built without libxenstore.
 */
struct vmop_error *vmop_xenstore_open(struct vmop_xenstore **ret);
void vmop_xenstore_close(struct vmop_xenstore *store); /* NULL is allowed */

/* Take the latest listing, which the caller frees; NULL: it was taken before. */
struct vmop_xenstore_listing *vmop_xenstore_take(struct vmop_xenstore *store);

/* Return the seconds since xenstored last answered. */
unsigned vmop_xenstore_silent_s(struct vmop_xenstore *store);

/* ---- parsers, for tests ------------------------------ */

/* Parse a domain's id: decimal, without sign or leading zeros. */
bool vmop_xenstore_parse_domid(const char *text, uint32_t *ret);
/* Parse "/vm/UUID" or, while xl renames the domain, "/vm/UUID-N".  False: ret is "". */
bool vmop_xenstore_parse_vm(const char *text, char ret[VMOP_UUID_BYTES]);
enum vmop_xen_type vmop_xenstore_parse_type(const char *text);

#endif
