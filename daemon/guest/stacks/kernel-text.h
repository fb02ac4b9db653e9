// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The code of a guest's kernel and its modules, copied, and where its functions begin. On x86-64
 * for stacks whose stack pointer is not known (libstack/kernel/search.h): some 16 MiB of code,
 * which is copied only where it is needed, and 4 bytes a function. On arm64 only the functions are
 * used, for callers in the link register.
 *
 * Thread: of functions with a vmop_guest, that of the guest. A text is immutable, and any thread
 * may read it.
 */
#ifndef VMOP_DAEMON_GUEST_STACKS_KERNEL_TEXT_H
#define VMOP_DAEMON_GUEST_STACKS_KERNEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libguest/guest.h"
#include "libstack/kernel/calls.h"

struct vmop_guest_kernel_text;

/*
 * Read the text of the kernel that was found, with its code if has_code. Once libguest has dropped
 * the kernel's symbols, the functions of the kernel are those of `before`, which may be NULL. NULL:
 * out of memory.
 */
struct vmop_guest_kernel_text *
vmop_guest_kernel_text_create(struct vmop_guest *guest, bool has_code,
			      const struct vmop_guest_kernel_text *before);
void vmop_guest_kernel_text_destroy(struct vmop_guest_kernel_text *text); /* NULL is allowed */

/* Return whether stacks can be searched by the text: it has code and functions of the kernel. */
bool vmop_guest_kernel_text_is_usable(const struct vmop_guest_kernel_text *text);

/* Set *ret to what searches need; text must outlive it. */
void vmop_guest_kernel_text_view(const struct vmop_guest_kernel_text *text,
				 struct vmop_kernel_text *ret);

#endif
