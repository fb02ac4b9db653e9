// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counts of a command's I/O, as one read gave them, and their sums: over everything, and by
 * kind, process, thread, descriptor and call.
 */
#ifndef VMOP_LIBVMOP_STAT_IO_ACCOUNT_H
#define VMOP_LIBVMOP_STAT_IO_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "hv-interface/appio-counts.h"
#include "libutil/error.h"

struct vmop_stat_io_item {
	struct vmop_appio_key key;
	struct vmop_appio_entry entry;
};

struct vmop_stat_io_account {
	struct vmop_appio_task *tasks; /* tasks[i] has number i + 1 */
	size_t n_tasks, max_tasks;
	struct vmop_stat_io_item *items;
	size_t n_items, max_items;
};

/* Zeroes are an empty account. Free with vmop_stat_io_account_deinit. */
void vmop_stat_io_account_deinit(struct vmop_stat_io_account *account);

/* Forget everything, but keep the memory. */
void vmop_stat_io_account_clear(struct vmop_stat_io_account *account);

/* Add a thread, whose number is that of those before it and one, and an entry: a sink's functions.
 */
struct vmop_error *vmop_stat_io_account_put_task(void *account, uint32_t number,
						 const struct vmop_appio_task *task);
struct vmop_error *vmop_stat_io_account_put_entry(void *account, const struct vmop_appio_key *key,
						  const struct vmop_appio_entry *entry);

/* Return the thread of an entry, or NULL: it is left out. */
const struct vmop_appio_task *vmop_stat_io_account_task(const struct vmop_stat_io_account *account,
							uint32_t number);

enum vmop_stat_io_sum {
	VMOP_STAT_IO_READS,
	VMOP_STAT_IO_WRITES,
	VMOP_STAT_IO_SEEKS,
	VMOP_STAT_IO_SELECTS,
	VMOP_STAT_IO_OPENS,
	VMOP_STAT_IO_CLOSES,
	VMOP_STAT_IO_URINGS, /* io_uring_enter(2); its requests are reads and writes */
};
#define VMOP_STAT_IO_N_SUMS (VMOP_STAT_IO_URINGS + 1)

struct vmop_stat_io_totals {
	struct vmop_appio_counts sums[VMOP_STAT_IO_N_SUMS];
	uint32_t open_peak; /* of the process with most */
	uint64_t file_faults, major_faults;
};

/* Return the sum that an entry belongs to. */
enum vmop_stat_io_sum vmop_stat_io_sum_of(const struct vmop_appio_key *key);

/* Set *ret to the sums over all entries. */
void vmop_stat_io_account_totals(const struct vmop_stat_io_account *account,
				 struct vmop_stat_io_totals *ret);

enum vmop_stat_io_by {
	VMOP_STAT_IO_BY_KIND,
	VMOP_STAT_IO_BY_PROCESS,
	VMOP_STAT_IO_BY_THREAD,
	VMOP_STAT_IO_BY_DESCRIPTOR,
	VMOP_STAT_IO_BY_CALL, /* all sums; the others have reads and writes only */
};

/*
 * Group the account: sorts its items. Set *ret to *ret_n groups, of which the first items' keys,
 * names and the sums of counts are valid; those with most bytes, then calls, are first. The caller
 * frees *ret.
 */
struct vmop_error *vmop_stat_io_account_group(struct vmop_stat_io_account *account,
					      enum vmop_stat_io_by by,
					      struct vmop_stat_io_item **ret, size_t *ret_n);

#endif
