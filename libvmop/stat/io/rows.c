// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/io/rows.h"

#include <stddef.h>

/* A row: a field of a sum. */
struct column {
	const char *name;
	enum vmop_stat_io_sum sum;
	size_t field; /* in struct vmop_appio_counts */
};

#define FIELD(name) offsetof(struct vmop_appio_counts, name)

static const struct column columns[] = {
	{"io-read-calls", VMOP_STAT_IO_READS, FIELD(calls)},
	{"io-read-bytes", VMOP_STAT_IO_READS, FIELD(bytes)},
	{"io-read-errors", VMOP_STAT_IO_READS, FIELD(errors)},
	{"io-read-short", VMOP_STAT_IO_READS, FIELD(shorts)},
	{"io-read-eof", VMOP_STAT_IO_READS, FIELD(ends)},
	{"io-read-interrupted", VMOP_STAT_IO_READS, FIELD(interrupted)},
	{"io-read-would-block", VMOP_STAT_IO_READS, FIELD(would_block)},
	{"io-read-time", VMOP_STAT_IO_READS, FIELD(time_ns)},
	{"io-write-calls", VMOP_STAT_IO_WRITES, FIELD(calls)},
	{"io-write-bytes", VMOP_STAT_IO_WRITES, FIELD(bytes)},
	{"io-write-errors", VMOP_STAT_IO_WRITES, FIELD(errors)},
	{"io-write-short", VMOP_STAT_IO_WRITES, FIELD(shorts)},
	{"io-write-interrupted", VMOP_STAT_IO_WRITES, FIELD(interrupted)},
	{"io-write-would-block", VMOP_STAT_IO_WRITES, FIELD(would_block)},
	{"io-write-time", VMOP_STAT_IO_WRITES, FIELD(time_ns)},
	{"io-seek-calls", VMOP_STAT_IO_SEEKS, FIELD(calls)},
	{"io-seek-errors", VMOP_STAT_IO_SEEKS, FIELD(errors)},
	{"io-seek-time", VMOP_STAT_IO_SEEKS, FIELD(time_ns)},
	{"io-select-calls", VMOP_STAT_IO_SELECTS, FIELD(calls)},
	{"io-select-timeouts", VMOP_STAT_IO_SELECTS, FIELD(ends)},
	{"io-select-interrupted", VMOP_STAT_IO_SELECTS, FIELD(interrupted)},
	{"io-select-time", VMOP_STAT_IO_SELECTS, FIELD(time_ns)},
	{"io-open-calls", VMOP_STAT_IO_OPENS, FIELD(calls)},
	{"io-open-errors", VMOP_STAT_IO_OPENS, FIELD(errors)},
	{"io-close-calls", VMOP_STAT_IO_CLOSES, FIELD(calls)},
	{"io-uring-enters", VMOP_STAT_IO_URINGS, FIELD(calls)},
};
#define N_COLUMNS (sizeof(columns) / sizeof(*columns))
_Static_assert(N_COLUMNS + 5 <= VMOP_STAT_IO_MAX_ROWS, "with those that are no sums");

static uint64_t value_of(const struct vmop_stat_io_totals *totals, const struct column *column)
{
	return *(const uint64_t *)((const char *)&totals->sums[column->sum] + column->field);
}

void vmop_stat_io_rows_clear(struct vmop_stat_io_rows *rows)
{
	rows->n = 0;
}

/* Return the row of a name: the next one in the first run, afterwards the one that was made then.
 */
static struct vmop_stat_row *row_at(struct vmop_stat_io_rows *rows, size_t i, const char *name)
{
	if (i == rows->n) {
		rows->rows[i] = (struct vmop_stat_row){.name = name};
		rows->n++;
	}
	/* Every event was counted all the time. */
	rows->rows[i].running_ns = rows->rows[i].enabled_ns = 1;
	return &rows->rows[i];
}

static void add_block_size(struct vmop_stat_row *row, const struct vmop_appio_counts *now,
			   const struct vmop_appio_counts *before)
{
	uint64_t n_failed = now->errors + now->interrupted + now->would_block -
			    (before->errors + before->interrupted + before->would_block);
	uint64_t n = now->calls - before->calls - n_failed;
	if (n)
		vmop_spread_add(&row->values, (double)(now->bytes - before->bytes) / (double)n);
	else
		row->reason = "no transfer was made";
}

static void add_column(struct vmop_stat_row *row, const struct column *column, double value,
		       double elapsed_s)
{
	row->is_time = column->field == FIELD(time_ns);
	vmop_spread_add(&row->values, value);
	if (elapsed_s > 0 && (column->field == FIELD(calls) || column->field == FIELD(bytes))) {
		row->ratio_unit = "/sec";
		vmop_spread_add(&row->ratios, value / elapsed_s);
	}
}

/* Add a value that has a reason not to be there. */
static void add_or_reason(struct vmop_stat_row *row, const char *reason, uint64_t value)
{
	row->reason = reason;
	if (!reason)
		vmop_spread_add(&row->values, (double)value);
}

void vmop_stat_io_rows_add(struct vmop_stat_io_rows *rows, const struct vmop_stat_io *io,
			   double elapsed_s)
{
	const struct vmop_stat_io_totals *now = &io->totals, *before = &rows->before;
	size_t n = 0;
	for (size_t i = 0; i < N_COLUMNS; i++) {
		const struct column *column = &columns[i];
		if (column->field == FIELD(time_ns) && !io->settings->has_times)
			continue;
		double value = (double)(value_of(now, column) - value_of(before, column));
		add_column(row_at(rows, n++, column->name), column, value, elapsed_s);
	}
	add_block_size(row_at(rows, n++, "io-read-block-size"), &now->sums[VMOP_STAT_IO_READS],
		       &before->sums[VMOP_STAT_IO_READS]);
	add_block_size(row_at(rows, n++, "io-write-block-size"), &now->sums[VMOP_STAT_IO_WRITES],
		       &before->sums[VMOP_STAT_IO_WRITES]);
	const struct vmop_appio_facts *facts = &io->facts;
	add_or_reason(row_at(rows, n++, "io-open-descriptors"), facts->no_open_peak,
		      now->open_peak);
	add_or_reason(row_at(rows, n++, "io-file-faults"), facts->no_faults,
		      now->file_faults - before->file_faults);
	add_or_reason(row_at(rows, n++, "io-file-faults-major"),
		      facts->no_faults ? facts->no_faults : facts->no_major_faults,
		      now->major_faults - before->major_faults);
	for (size_t i = 0; facts->no_counts && i < n; i++)
		rows->rows[i].reason = facts->no_counts;
}
