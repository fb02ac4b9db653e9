// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signals that end a program early: work stops at the next check, so that temporary files are
 * removed.
 */
#ifndef VMOP_OPREPORT_ARCHIVE_INTERRUPT_H
#define VMOP_OPREPORT_ARCHIVE_INTERRUPT_H

#include <stdbool.h>

#include "libutil/error.h"

/* Note SIGINT, SIGTERM and SIGHUP from now on, unless they are ignored. Ignore SIGPIPE. */
void vmop_interrupt_catch(void);

/* Return whether one of the signals came. */
bool vmop_interrupt_came(void);

/* Return an error if one of the signals came. */
struct vmop_error *vmop_interrupt_check(void);

#endif
