// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The domains of a machine that runs Xen, in dom0 and in an active domU: two providers, one for
 * samples that Xen's own profiling takes, one for dom0 where only perf samples.
 */
#ifndef VMOP_DAEMON_XEN_PROVIDER_H
#define VMOP_DAEMON_XEN_PROVIDER_H

#include "daemon/guest/provider.h"

extern const struct vmop_domain_provider_ops vmop_xen_provider_ops;
extern const struct vmop_domain_provider_ops vmop_dom0_provider_ops;

#endif
