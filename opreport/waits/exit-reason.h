// SPDX-License-Identifier: GPL-2.0-or-later
/* The reasons of VM exits by name. */
#ifndef VMOP_OPREPORT_WAITS_EXIT_REASON_H
#define VMOP_OPREPORT_WAITS_EXIT_REASON_H

#include <stddef.h>
#include <stdint.h>

#define VMOP_EXIT_REASON_BYTES 48

/*
 * Write the name of a cause as libdb stores it (vmop_db_exit_cause) to ret: as the kernel's own
 * tools name it, in lower case; "reason 0x..." for one that is not known.
 */
void vmop_exit_reason_name(uint64_t cause, char ret[VMOP_EXIT_REASON_BYTES]);

#endif
