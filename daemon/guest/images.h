// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The images of a passive guest's code: files, the vDSO, generated code, kernel code, and images
 * whose name is the reason for none.
 *
 * A returned image has no reference for the caller. It is marked as sampled, so that it stays until
 * the interval is stored. Functions may allocate: not for the per-sample path.
 */
#ifndef VMOP_DAEMON_GUEST_IMAGES_H
#define VMOP_DAEMON_GUEST_IMAGES_H

#include <string.h>

#include "daemon/guest/watched.h"

/*
 * Return the image of a mapping, and request the symbols of its file. process has the mapping;
 * NULL: several processes map this file there.
 */
struct vmop_image *vmop_guest_image_of_vma(struct vmop_guests *guests, struct vmop_domain *domain,
					   const struct vmop_guest_process *process,
					   const struct vmop_guest_vma *vma);

/* Return the offset of address in that image. */
uint64_t vmop_guest_offset_in_vma(const struct vmop_image *image, const struct vmop_guest_vma *vma,
				  uint64_t address);

/* Return the image of generated code of programs with this name. */
struct vmop_image *vmop_guest_image_of_generated(struct vmop_guests *guests,
						 const struct vmop_domain *domain,
						 const char *comm);

/* Return the image of the vDSO. */
struct vmop_image *vmop_guest_image_of_vdso(struct vmop_guests *guests,
					    const struct vmop_domain *domain);

/* Return the image "[guest NAME what]" for user code without a known place. */
struct vmop_image *vmop_guest_image_of_reason(struct vmop_guests *guests,
					      const struct vmop_domain *domain, const char *what);

/* Make the code of a guest's kernel the domain's. */
void vmop_guest_take_code(struct vmop_guests *guests, struct vmop_domain *domain,
			  const struct vmop_guest_code *code);

/* Give an image the functions of its file. */
void vmop_guest_image_give_symbols(struct vmop_image *image, const struct vmop_symtab *symtab);

/* Give images the symbols that the watching thread read from a guest's page cache. */
void vmop_guest_take_symbols(struct vmop_guests *guests);

#endif
