// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The identity of a KVM guest, read from /proc, /sys and debugfs: name, uuid, VMM and vCPU threads.
 * Also the identity of this machine, which may be another machine's guest.
 */
#ifndef VMOP_DAEMON_GUEST_IDENTIFY_H
#define VMOP_DAEMON_GUEST_IDENTIFY_H

#include "daemon/guest/domain.h"

/*
 * Read the name, uuid, VMM and vCPU threads of domain.  The first time, this also selects it by
 * --passive-domains, and reads the kernel image that the user gave for it.
 */
void vmop_identify(struct vmop_domains *domains, struct vmop_domain *domain);

/*
 * Name the images of a domain that was identified and selected by other means, and read the kernel
 * image that the user gave for it.
 */
void vmop_identify_named(struct vmop_domains *domains, struct vmop_domain *domain);

/*
 * Read the UUID of this machine into ret, in lower case; "": none, or only a dummy.  Xen exports it
 * to a guest.  Elsewhere it is the firmware's; in a guest the VMM sets that, so that host and guest
 * agree on it.  A guest without firmware (arm64 with a kernel from the VMM, or a small VMM) has
 * only given, the UUID from its host; NULL: none.
 */
void vmop_identify_machine(const char *root, const char *given, char ret[VMOP_UUID_BYTES]);

/* Return the pid of the process that has thread tid; 0: not known. */
uint32_t vmop_identify_tgid(const char *root, uint32_t tid);

/* Return how many vCPUs process pid has mapped: the highest number + 1; 0: it runs no guest. */
uint32_t vmop_identify_count_vcpus(const struct vmop_processes *processes, uint32_t pid);

#endif
