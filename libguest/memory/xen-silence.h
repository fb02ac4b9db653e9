// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The logger that Xen's libraries get here.  Without one they write to stderr by themselves; what
 * goes wrong is told by vmop's own errors.
 */
#ifndef VMOP_LIBGUEST_MEMORY_XEN_SILENCE_H
#define VMOP_LIBGUEST_MEMORY_XEN_SILENCE_H

struct xentoollog_logger;

/* Says nothing.  Static: not to be destroyed, any thread. */
struct xentoollog_logger *vmop_xen_silence(void);

#endif
