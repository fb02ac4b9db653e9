// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The part of the watching thread (daemon/guest/watch.h) that answers requests for tables, done at
 * once by the caller's thread: for programs that unwind samples without it. Link them with the
 * --wrap options of $(guest_tables_at_once) in tests/daemon.mk; no vmop_guest_watch exists then.
 */
#ifndef VMOP_TESTS_UNIT_DAEMON_GUEST_STACKS_TABLES_AT_ONCE_H
#define VMOP_TESTS_UNIT_DAEMON_GUEST_STACKS_TABLES_AT_ONCE_H

struct vmop_guest;

/* The guest whose files tables are made of; the program sets it. NULL: no file can be read. */
extern struct vmop_guest *tables_at_once_guest;

#endif
