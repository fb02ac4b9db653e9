// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmopstat --io: the I/O of a command or a process, counted by a BPF program (exact, for all
 * programs), else by a preloaded library (for commands that load it).
 *
 * The order of calls, for each run: prepare, before the command's process is made; begin, before it
 * executes; read any number of times; end.
 */
#ifndef VMOP_LIBVMOP_STAT_IO_IO_H
#define VMOP_LIBVMOP_STAT_IO_IO_H

#include <stdbool.h>
#include <sys/types.h>

#include "hv-interface/bpf/appio.h"
#include "libutil/error.h"
#include "libvmop/stat/io/account.h"

enum vmop_stat_io_way { VMOP_STAT_IO_BEST, VMOP_STAT_IO_BPF, VMOP_STAT_IO_PRELOAD };

struct vmop_stat_io_settings {
	bool is_wanted, has_times;
	enum vmop_stat_io_way way;
};

struct vmop_stat_io_preload;

struct vmop_stat_io {
	const struct vmop_stat_io_settings *settings;
	enum vmop_stat_io_way way; /* the one in use */
	struct vmop_appio *bpf;
	struct vmop_stat_io_preload *preload;
	char *no_bpf; /* NULL, or why it is not BPF */
	/* The cost for other processes: of a system call, and of one of I/O. */
	double others_ns, others_io_ns;

	/* As of the last read. */
	struct vmop_stat_io_account account;
	struct vmop_stat_io_totals totals;
	struct vmop_appio_facts facts;
};

/* Parse the argument of --io: words with commas between them, or NULL. */
struct vmop_error *vmop_stat_io_settings_parse(const char *text, struct vmop_stat_io_settings *ret);

/*
 * Choose the way, and load what it needs. The environment then lets children that are made until
 * vmop_stat_io_begin load a library, if need be. is_command: one that does not execute yet.
 */
struct vmop_error *vmop_stat_io_prepare(const struct vmop_stat_io_settings *settings,
					bool is_command, struct vmop_stat_io *ret);

/* Count a process: from its next execve(2) on, or from now on. */
struct vmop_error *vmop_stat_io_begin(struct vmop_stat_io *io, pid_t pid, bool on_exec);

/* Read everything since the start into account, totals and facts. */
struct vmop_error *vmop_stat_io_read(struct vmop_stat_io *io);

/* Stop counting. What was read stays until the next prepare or deinit. */
void vmop_stat_io_end(struct vmop_stat_io *io);
void vmop_stat_io_deinit(struct vmop_stat_io *io);

#endif
