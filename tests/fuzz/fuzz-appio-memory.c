// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer target: what a counted program can write into the memory that it shares with vmopstat
 * --io=preload. Each 32 bytes of input are a slot's key, or change a word anywhere. The counts are
 * then read, grouped and printed in all formats.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libvmop/stat/io/preload.h"
#include "libvmop/stat/io/report.h"
#include "libvmop/stat/io/rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct vmop_preload memory;

static void change(const uint8_t record[32])
{
	uint32_t at;
	uint64_t value;
	memcpy(&at, record, sizeof(at));
	memcpy(&value, record + 8, sizeof(value));
	if (at % 4 == 0) {
		memcpy((char *)&memory + at % (sizeof(memory) / 8) * 8, &value, sizeof(value));
		return;
	}
	struct vmop_preload_slot *slot = &memory.slots[at / 4 % VMOP_PRELOAD_MAX_SLOTS];
	slot->state = VMOP_PRELOAD_READY;
	memcpy(&slot->key, record + 8, sizeof(slot->key));
	memset(&slot->entry, record[4], sizeof(slot->entry));
	/* Most are those of few threads, else all would be refused. */
	if (record[5] % 2)
		slot->key.task %= 4;
	if (memory.n_tasks < 4)
		memory.n_tasks = record[6];
}

static void report(struct vmop_stat_io *io, FILE *out)
{
	struct vmop_stat_io_rows rows = {0};
	vmop_stat_io_rows_add(&rows, io, 0.5);
	for (enum vmop_stat_format format = VMOP_STAT_TABLE; format <= VMOP_STAT_JSON; format++) {
		const struct vmop_stat_writer writer = {
			.format = format, .separator = ",", .out = out};
		for (size_t i = 0; i < rows.n; i++)
			vmop_stat_write_row(&writer, &rows.rows[i], 0);
		if (format == VMOP_STAT_TABLE)
			vmop_stat_io_report_sums(&writer, io, 0.5);
		if (vmop_stat_io_report_parts(&writer, io))
			abort();
		vmop_stat_io_report_facts(&writer, io);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *out;
	const struct vmop_stat_io_settings settings = {.is_wanted = true,
						       .has_times = size % 2 == 0};
	struct vmop_stat_io io = {.settings = &settings, .way = VMOP_STAT_IO_PRELOAD};
	const struct vmop_appio_sink sink = {&io.account, vmop_stat_io_account_put_task,
					     vmop_stat_io_account_put_entry};
	if (!out)
		out = fopen("/dev/null", "we");
	if (!out)
		abort();
	memset(&memory, 0, sizeof(memory));
	for (size_t at = 0; at + 32 <= size; at += 32)
		change(data + at);
	if (vmop_stat_io_preload_pass(&memory, &sink, &io.facts))
		abort();
	vmop_stat_io_account_totals(&io.account, &io.totals);
	for (size_t i = 0; i < io.account.n_items; i++) {
		if (io.account.items[i].key.task > io.account.n_tasks)
			abort();
	}
	report(&io, out);
	vmop_stat_io_account_deinit(&io.account);
	return 0;
}
