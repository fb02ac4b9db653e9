// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The part of the watching thread (daemon/guest/watch.h) that answers requests for tables, done at
 * once by the caller's thread: for programs that unwind samples without it. Link them with the
 * --wrap options of $(guest_tables_at_once) in tests/daemon.mk; no vmop_guest_watch exists then.
 */
#ifndef VMOP_TESTS_UNIT_DAEMON_GUEST_STACKS_TABLES_AT_ONCE_H
#define VMOP_TESTS_UNIT_DAEMON_GUEST_STACKS_TABLES_AT_ONCE_H

#include <stdbool.h>

#include "daemon/guest/stacks/file-tables.h"
#include "daemon/guest/stacks/table-queue.h"

struct vmop_guest;

/* The guest whose files tables are made of; the program sets it. NULL: no file can be read. */
extern struct vmop_guest *tables_at_once_guest;

/* Zeroed: tables are made of the guest's files. */
extern struct tables_at_once {
	/* Build a table in place of vmop_guest_table_build(); NULL: that does. */
	enum vmop_code_state (*build)(const struct vmop_guest_code_mapping *mapping,
				      struct vmop_cfi_table **ret);
	bool is_late; /* requests wait until the program resets it */
	struct vmop_guest_table_queue queue;
	unsigned n_requested; /* tables, in all */
	unsigned n_wants_stacks, n_wants_code;
} tables_at_once;

/* Build the table of a file of this machine. */
enum vmop_code_state tables_at_once_build_path(const char *path, struct vmop_cfi_table **ret);

#endif
