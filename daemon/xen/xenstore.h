// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen's domains by name, as xenstore lists them: one thread asks it every second, since a
 * xenstored that hangs lets libxenstore wait for ever, and whoever samples must not.
 *
 *	/local/domain		a child for each domain, named by its id
 *	/local/domain/ID/name	(xl's; can change)
 *	/local/domain/ID/vm	/vm/UUID
 *	/libxl/ID/type		pv, pvh or hvm (libxl's)
 *
 * Domains write below their own paths; what is read here is dom0's alone on a Xen that is set up
 * as usual, and is taken for hostile all the same.
 */
#ifndef VMOP_DAEMON_XEN_XENSTORE_H
#define VMOP_DAEMON_XEN_XENSTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/guest/vmm.h"
#include "libutil/error.h"

#define VMOP_XENSTORE_DOMAINS_MAX 1024

enum vmop_xen_type { VMOP_XEN_TYPE_UNKNOWN, VMOP_XEN_PV, VMOP_XEN_PVH, VMOP_XEN_HVM };

struct vmop_xenstore_domain {
	uint32_t domid;
	enum vmop_xen_type type;
	char name[VMOP_GUEST_NAME_BYTES]; /* "": it has none (so far) */
	char uuid[VMOP_UUID_BYTES];	  /* lower case; "": not known */
};

/* All domains but dom0 at one moment, by rising id. */
struct vmop_xenstore_listing {
	size_t n;
	size_t n_left_off; /* beyond VMOP_XENSTORE_DOMAINS_MAX */
	struct vmop_xenstore_domain at[];
};

struct vmop_xenstore;

/*
 * Begins to ask, and waits until there is a first listing.  VMOP_ERROR_CANT: there is no
 * xenstored, it has not answered for some seconds, or vmop was built without libxenstore.
 */
struct vmop_error *vmop_xenstore_open(struct vmop_xenstore **ret);
void vmop_xenstore_close(struct vmop_xenstore *store); /* NULL is allowed */

/* A listing that is newer than the one taken before, the caller's to free; NULL: none. */
struct vmop_xenstore_listing *vmop_xenstore_take(struct vmop_xenstore *store);

/* Seconds since xenstored last answered. */
unsigned vmop_xenstore_silent_s(struct vmop_xenstore *store);

/* --- the parts that read what is there, for tests ------------------------------ */

/* A domain's id as xenstore names it: decimal, without signs or zeros before. */
bool vmop_xenstore_parse_domid(const char *text, uint32_t *ret);
/* The uuid of "/vm/UUID"; false, and "": it is none.  xl appends "-N" while it renames domains. */
bool vmop_xenstore_parse_vm(const char *text, char ret[VMOP_UUID_BYTES]);
enum vmop_xen_type vmop_xenstore_parse_type(const char *text);

#endif
