// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A logger for Xen's libraries that discards all messages. Without a logger they write to stderr;
 * vmop reports failures by its own errors.
 */
#ifndef VMOP_LIBUTIL_XEN_SILENCE_H
#define VMOP_LIBUTIL_XEN_SILENCE_H

struct xentoollog_logger;

/* Return the logger. It is static: do not destroy it. Any thread may use it. */
struct xentoollog_logger *vmop_xen_silence(void);

#endif
