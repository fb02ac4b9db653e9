// SPDX-License-Identifier: GPL-2.0-or-later
/* Symbols of a kernel file, within the caller's budget. Inside libsym only. */
#ifndef VMOP_LIBSYM_KERNEL_IMAGE_H
#define VMOP_LIBSYM_KERNEL_IMAGE_H

#include "libsym/budget.h"
#include "libsym/symtab.h"

/* Do the same as vmop_symtab_read_kernel_image(), within budget. */
struct vmop_error *vmop_kernel_image_read(const char *path, struct vmop_sym_budget *budget,
					  struct vmop_symtab **ret);

#endif
