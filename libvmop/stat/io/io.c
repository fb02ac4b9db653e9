// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/io/io.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libutil/clock.h"
#include "libvmop/stat/io/preload.h"

/* The cost for others: the fastest of some loops, because the machine may be busy. */
#define N_LOOPS 24
#define CALLS_PER_LOOP 500

struct vmop_error *vmop_stat_io_settings_parse(const char *text, struct vmop_stat_io_settings *ret)
{
	*ret = (struct vmop_stat_io_settings){.is_wanted = true};
	while (text && *text) {
		size_t len = strcspn(text, ",");
		if (len == 4 && strncmp(text, "time", len) == 0)
			ret->has_times = true;
		else if (len == 3 && strncmp(text, "bpf", len) == 0)
			ret->way = VMOP_STAT_IO_BPF;
		else if (len == 7 && strncmp(text, "preload", len) == 0)
			ret->way = VMOP_STAT_IO_PRELOAD;
		else
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "--io takes time, bpf and preload, not '%.*s'",
					      (int)len, text);
		text += len;
		text += *text == ',';
	}
	return NULL;
}

/* ---- what others pay ---------------------------------------------------------------------- */

/* Return the time of a system call, in ns: of one that fails at once. */
static double call_ns(long number)
{
	uint64_t best_ns = UINT64_MAX;
	for (int i = 0; i < N_LOOPS; i++) {
		uint64_t begin_ns = vmop_clock_ns(CLOCK_MONOTONIC);
		for (int k = 0; k < CALLS_PER_LOOP; k++)
			syscall(number, -1, NULL, 0);
		uint64_t ns = vmop_clock_ns(CLOCK_MONOTONIC) - begin_ns;
		best_ns = ns < best_ns ? ns : best_ns;
	}
	return (double)best_ns / CALLS_PER_LOOP;
}

static double positive(double value)
{
	return value > 0 ? value : 0;
}

/* Load the programs. vmopstat is not counted itself: it pays what all others pay. */
static struct vmop_error *create_bpf(struct vmop_stat_io *io)
{
	double other_ns = call_ns(SYS_getpid), io_ns = call_ns(SYS_read);
	struct vmop_error *err = vmop_appio_create(io->settings->has_times, &io->bpf);
	if (err)
		return err;
	io->others_ns = positive(call_ns(SYS_getpid) - other_ns);
	io->others_io_ns = positive(call_ns(SYS_read) - io_ns);
	return NULL;
}

/* ---- the ways ----------------------------------------------------------------------------- */

static struct vmop_error *choose(struct vmop_stat_io *io, bool is_command)
{
	const struct vmop_stat_io_settings *settings = io->settings;
	if (settings->way != VMOP_STAT_IO_PRELOAD) {
		struct vmop_error *err = create_bpf(io);
		io->way = VMOP_STAT_IO_BPF;
		if (!err || settings->way == VMOP_STAT_IO_BPF || err == &vmop_error_no_memory)
			return err;
		io->no_bpf = strdup(err->message);
		vmop_error_destroy(err);
		if (!io->no_bpf)
			return &vmop_error_no_memory;
	}
	io->way = VMOP_STAT_IO_PRELOAD;
	if (!is_command)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "--io: a running process is counted by BPF only: %s",
				      io->no_bpf ? io->no_bpf : "--io=preload");
	return vmop_stat_io_preload_create(settings->has_times, &io->preload);
}

struct vmop_error *vmop_stat_io_prepare(const struct vmop_stat_io_settings *settings,
					bool is_command, struct vmop_stat_io *ret)
{
	vmop_stat_io_deinit(ret);
	ret->settings = settings;
	return choose(ret, is_command);
}

struct vmop_error *vmop_stat_io_begin(struct vmop_stat_io *io, pid_t pid, bool on_exec)
{
	if (io->way == VMOP_STAT_IO_BPF)
		return vmop_appio_adopt(io->bpf, pid, on_exec);
	vmop_stat_io_preload_begin(io->preload, pid);
	return NULL;
}

struct vmop_error *vmop_stat_io_read(struct vmop_stat_io *io)
{
	const struct vmop_appio_sink sink = {&io->account, vmop_stat_io_account_put_task,
					     vmop_stat_io_account_put_entry};
	vmop_stat_io_account_clear(&io->account);
	struct vmop_error *err =
		io->way == VMOP_STAT_IO_BPF
			? vmop_appio_read(io->bpf, &sink, &io->facts)
			: vmop_stat_io_preload_read(io->preload, &sink, &io->facts);
	if (err)
		return err;
	vmop_stat_io_account_totals(&io->account, &io->totals);
	io->totals.file_faults += io->facts.file_faults;
	io->totals.major_faults += io->facts.major_faults;
	return NULL;
}

void vmop_stat_io_end(struct vmop_stat_io *io)
{
	vmop_appio_destroy(io->bpf);
	vmop_stat_io_preload_destroy(io->preload);
	io->bpf = NULL;
	io->preload = NULL;
}

void vmop_stat_io_deinit(struct vmop_stat_io *io)
{
	vmop_stat_io_end(io);
	vmop_stat_io_account_deinit(&io->account);
	free(io->no_bpf);
	*io = (struct vmop_stat_io){0};
}
