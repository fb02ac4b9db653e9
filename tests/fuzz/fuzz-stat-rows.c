// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any text as the counts that a guest sends: whatever is accepted has bounded numbers, and is
 * printed in each format without a control character.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libvmop/stat/comparison.h"
#include "libvmop/stat/guest-rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void check_row(const struct vmop_stat_row *row)
{
	if (!row->name || !*row->name || (!row->reason && row->values.n < 1) ||
	    !isfinite(row->values.mean) || row->values.mean < 0 ||
	    !isfinite(vmop_spread_half_width(&row->values)) || row->running_ns < 0 ||
	    row->enabled_ns < 0 || !isfinite(row->ratios.mean))
		abort();
}

static void print(const struct vmop_guest_rows *rows, enum vmop_stat_format format)
{
	static struct vmop_stat_pair pairs[2 * VMOP_GUEST_ROWS_MAX];
	char *text = NULL;
	size_t len;
	const struct vmop_stat_writer writer = {
		.format = format, .separator = ",", .out = open_memstream(&text, &len)};
	if (!writer.out)
		abort();
	for (size_t i = 0; i < rows->n; i++)
		vmop_stat_write_row(&writer, &rows->rows[i], 0);
	/* Against a part of itself. */
	size_t n = vmop_stat_pairs_join(rows->rows, rows->n / 2, rows->rows, rows->n, pairs);
	if (n < rows->n || vmop_stat_pairs_write(&writer, "fuzz", pairs, n) ||
	    fclose(writer.out) != 0)
		abort();
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)text[i] < ' ' && text[i] != '\n')
			abort();
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct vmop_guest_rows rows;
	struct vmop_error *err = vmop_guest_rows_parse((const char *)data, len_bytes, &rows);
	if (err) {
		if (!err->message[0] || strchr(err->message, '\n'))
			abort();
		vmop_error_destroy(err);
		return 0;
	}
	for (size_t i = 0; i < rows.n; i++)
		check_row(&rows.rows[i]);
	for (int format = VMOP_STAT_TABLE; format <= VMOP_STAT_JSON; format++)
		print(&rows, (enum vmop_stat_format)format);
	vmop_guest_rows_deinit(&rows);
	return 0;
}
