// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Learning from /proc, /sys and debugfs who a guest is: name, uuid, VMM, vCPU threads; and who the
 * machine itself is, which may be another machine's guest.
 */
#ifndef VMOP_DAEMON_GUEST_IDENTIFY_H
#define VMOP_DAEMON_GUEST_IDENTIFY_H

#include "daemon/guest/domain.h"

/*
 * Asks anew.  A guest whose name is known for the first time is then selected or not
 * (--passive-domains), and its passive image read.
 */
void vmop_identify(struct vmop_domains *domains, struct vmop_domain *domain);

/* Its name and what selected it are known: names its images, reads the kernel given for it. */
void vmop_identify_named(struct vmop_domains *domains, struct vmop_domain *domain);

/*
 * The machine's own UUID: as Xen tells a guest, or the firmware (which in a guest is the VMM's
 * doing, so that it is what the host knows the guest by).  Lower case; "": there is none to
 * be read, or one that only fills the place.
 */
void vmop_identify_machine(const char *root, char ret[VMOP_UUID_BYTES]);

/* The process that thread tid is of; 0: not known. */
uint32_t vmop_identify_tgid(const char *root, uint32_t tid);

/* How many vCPUs process pid has mapped (the highest number + 1); 0: it runs no guest. */
uint32_t vmop_identify_count_vcpus(const struct vmop_processes *processes, uint32_t pid);

#endif
