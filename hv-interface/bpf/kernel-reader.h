// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the memory of the running kernel by a BPF program, which needs CAP_BPF and CAP_PERFMON and
 * no right to write: a page of it takes some microseconds and never blocks. The program is attached
 * to nothing; the kernel runs it for each read (BPF_PROG_TEST_RUN of a raw tracepoint, Linux 5.10).
 */
#ifndef VMOP_HV_INTERFACE_BPF_KERNEL_READER_H
#define VMOP_HV_INTERFACE_BPF_KERNEL_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "libutil/error.h"

#define VMOP_KERNEL_READER_BYTES 4096

struct vmop_kernel_reader;

/*
 * Make a reader, which the caller destroys. VMOP_ERROR_CANT, with the reason: the kernel refuses
 * the program, or vmop was built without BPF programs.
 */
struct vmop_error *vmop_kernel_reader_create(struct vmop_kernel_reader **ret);
void vmop_kernel_reader_destroy(struct vmop_kernel_reader *reader); /* NULL is allowed */

/*
 * Read VMOP_KERNEL_READER_BYTES at an address. False: it is not mapped, or not the kernel's; buf is
 * undefined then.
 */
bool vmop_kernel_reader_read(const struct vmop_kernel_reader *reader, uint64_t address, void *buf);

#endif
