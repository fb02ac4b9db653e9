// SPDX-License-Identifier: GPL-2.0-or-later
/* The gaps in guests' contexts (vmop/guest-context.h) in words. */
#ifndef VMOP_LIBUTIL_GUEST_GAP_H
#define VMOP_LIBUTIL_GUEST_GAP_H

/*
 * Return the reason why a part of a context is missing, for any value of enum vmop_guest_gap: "the
 * guest's kernel is not known".
 */
const char *vmop_guest_gap_text(unsigned gap);

/* Return the same for programs: "unknown_kernel". */
const char *vmop_guest_gap_word(unsigned gap);

#endif
