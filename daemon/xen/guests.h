// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen's domains in a session: which there are (by xenstore), which of them are passive,
 * active or left out, and the source's knowledge of that.
 *
 * On Xen a domain is known by its id while it lives; one that is created anew has another id and
 * the name and uuid of before, and is another domain of the session, as a restarted VMM is.
 */
#ifndef VMOP_DAEMON_XEN_GUESTS_H
#define VMOP_DAEMON_XEN_GUESTS_H

#include "daemon/guest/domain.h"
#include "hv-interface/source.h"
#include "libutil/error.h"

struct vmop_xen_domains;
struct vmop_xen_guests;

/* What Xen's lists of either kind hold (MAX_OPROF_DOMAINS, xen/xenoprof.h); dom0 is active itself.
 */
#define VMOP_XEN_PASSIVE_MAX 25
#define VMOP_XEN_ACTIVE_MAX 24

/*
 * Meets the domains that run, selects among them and tells the source; active may be empty.
 * VMOP_ERROR_USAGE: a pattern names no domain that runs (it lists those that do), or more
 * are named than Xen takes.  Where xenstore doesn't answer, domains go by their ids, and only those
 * that are named by id are sampled: that is said.  All but guests is not owned and must outlive it.
 */
struct vmop_error *vmop_xen_guests_create(struct vmop_xen_domains *xen,
					  const struct vmop_passive *active,
					  struct vmop_source *source, struct vmop_xen_guests **ret);
void vmop_xen_guests_destroy(struct vmop_xen_guests *guests); /* NULL is allowed */

/*
 * Every second or so: takes up what came, went or was renamed, and tells the source.  An error
 * is one line for the operator; what can go on does.
 */
struct vmop_error *vmop_xen_guests_tick(struct vmop_xen_guests *guests);

#endif
