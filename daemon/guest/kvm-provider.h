// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The provider for KVM hosts, whose guests are processes (domain.h finds them), and for machines
 * without guests.
 */
#ifndef VMOP_DAEMON_GUEST_KVM_PROVIDER_H
#define VMOP_DAEMON_GUEST_KVM_PROVIDER_H

#include "daemon/guest/provider.h"

extern const struct vmop_domain_provider_ops vmop_kvm_provider_ops;

#endif
