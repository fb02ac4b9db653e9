// SPDX-License-Identifier: GPL-2.0-or-later
/* Print to stdout or to a file. */
#ifndef VMOP_OPREPORT_OUTPUT_PRINTING_H
#define VMOP_OPREPORT_OUTPUT_PRINTING_H

#include <stddef.h>
#include <stdio.h>

#include "libutil/error.h"

/* A function that prints. Returns errors other than those of out, which the caller checks. */
typedef struct vmop_error *vmop_print_fn(const void *arg, FILE *out);

/*
 * Call print(arg, out) for the file at path (libutil/dirs/safe-dir.h, vmop_open_output), or for
 * stdout if path is NULL. A reader that closes the pipe at stdout, such as head(1), is no error.
 */
struct vmop_error *vmop_print_to(const char *path, vmop_print_fn *print, const void *arg);

/* Return the columns of the terminal at fd, or 0 if fd is no terminal. */
size_t vmop_terminal_columns(int fd);

#endif
