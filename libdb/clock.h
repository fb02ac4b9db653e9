// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The times of a session file, as a reader gets them: with a clock (vmop_db_set_clock) they are
 * those of another machine. db.h has the functions for callers outside of libdb.
 */
#ifndef VMOP_LIBDB_CLOCK_H
#define VMOP_LIBDB_CLOCK_H

#include "libdb/connection.h"
#include "libdb/db.h"

/*
 * Return the time in the file that stands for a reader's time; the other way round it is
 * vmop_db_time. 0 and UINT64_MAX, which bounds can have, stay as they are.
 */
uint64_t vmop_db_file_time(const struct vmop_db *db, uint64_t time_ns);

#endif
