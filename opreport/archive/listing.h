// SPDX-License-Identifier: GPL-2.0-or-later
/* List the files of an archive, and the missing ones, for people. */
#ifndef VMOP_OPREPORT_ARCHIVE_LISTING_H
#define VMOP_OPREPORT_ARCHIVE_LISTING_H

#include <stdio.h>

#include "opreport/archive/manifest.h"

/* Print a line for each member, then one for each file that is missing, with its reason. */
void vmop_archive_list(const struct vmop_manifest *manifest, FILE *out);

/* Write "2 sessions, 30 files, 12 source files, 1.2 GiB" to ret. */
void vmop_archive_summary(const struct vmop_manifest *manifest, char *ret, size_t size_bytes);

/* Log how many files are missing; with --verbose each of them. */
void vmop_archive_log_missing(const struct vmop_manifest *manifest);

#endif
