// SPDX-License-Identifier: GPL-2.0-or-later
/* Pairs the passive domains of the set-up with their images, for the profiler's options. */
#ifndef VMOP_DAEMON_PAIRING_H
#define VMOP_DAEMON_PAIRING_H

#include "daemon/profile/profiler.h"
#include "libutil/setup.h"

struct vmop_pairing {
	const char *const *domains;	   /* the set-up's strings */
	struct vmop_passive_image *images; /* n of them, paths owned; NULL: none given */
	size_t n;
};

/* setup must outlive pairing, and must have passed vmop_setup_check. */
struct vmop_error *vmop_pairing_init(struct vmop_pairing *pairing, const struct vmop_setup *setup);
void vmop_pairing_deinit(struct vmop_pairing *pairing);

#endif
