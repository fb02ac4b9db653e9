// SPDX-License-Identifier: GPL-2.0-or-later
/* The place of a kernel's offset 0 in its file. Inside libsym only. */
#ifndef VMOP_LIBSYM_LINK_BASE_H
#define VMOP_LIBSYM_LINK_BASE_H

#include "libsym/resolver.h"

/*
 * Set *ret to the address of the kernel's _text, or else _stext, as its file was linked. A running
 * kernel has another one, by address space randomization. *ret_reason is NULL, or a constant if the
 * file has neither.
 */
struct vmop_error *vmop_link_base(struct vmop_resolver *resolver, const struct vmop_image_ref *ref,
				  uint64_t *ret, const char **ret_reason);

#endif
