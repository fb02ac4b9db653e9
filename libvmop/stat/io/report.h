// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The details of a command's I/O: the way of counting, its losses, and the parts by kind,
 * process, thread, descriptor and call. As tables for 80 columns, fields, or one JSON object a
 * line.
 */
#ifndef VMOP_LIBVMOP_STAT_IO_REPORT_H
#define VMOP_LIBVMOP_STAT_IO_REPORT_H

#include "libvmop/stat/io/io.h"
#include "libvmop/stat/output.h"

/* Print the sums as a table. Other formats have rows for them (rows.h). */
void vmop_stat_io_report_sums(const struct vmop_stat_writer *writer, const struct vmop_stat_io *io,
			      double elapsed_s);

/* Print the parts. The table has the largest ones only, and their number. */
struct vmop_error *vmop_stat_io_report_parts(const struct vmop_stat_writer *writer,
					     struct vmop_stat_io *io);

/* Print the way, its cost for others, and everything that is not counted. */
void vmop_stat_io_report_facts(const struct vmop_stat_writer *writer,
			       const struct vmop_stat_io *io);

/* Print value into ret, at most `width` columns wide: with k, M, G, T, P or E if need be. */
void vmop_stat_io_fit(uint64_t value, int width, char ret[24]);

#endif
