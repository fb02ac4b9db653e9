// SPDX-License-Identifier: GPL-2.0-or-later
/* KVM's guests, each a process of this machine (domain.h finds them); also machines without any. */
#ifndef VMOP_DAEMON_GUEST_KVM_PROVIDER_H
#define VMOP_DAEMON_GUEST_KVM_PROVIDER_H

#include "daemon/guest/provider.h"

extern const struct vmop_domain_provider_ops vmop_kvm_provider_ops;

#endif
