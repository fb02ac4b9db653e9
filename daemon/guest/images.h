// SPDX-License-Identifier: GPL-2.0-or-later
/* The images of a passive guest's code. */
#ifndef VMOP_DAEMON_GUEST_IMAGES_H
#define VMOP_DAEMON_GUEST_IMAGES_H

#include "daemon/guest/watched.h"

/*
 * Return the image of a mapping, and request the symbols of its file. process has the mapping;
 * NULL: several processes map this file there. The image has no reference for the caller. It is
 * marked as sampled, so that it stays until the interval is stored.
 */
struct vmop_image *vmop_guest_image_of_vma(struct vmop_guests *guests, struct vmop_domain *domain,
					   const struct vmop_guest_process *process,
					   const struct vmop_guest_vma *vma);

#endif
