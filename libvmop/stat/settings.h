// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line of vmopstat. */
#ifndef VMOP_LIBVMOP_STAT_SETTINGS_H
#define VMOP_LIBVMOP_STAT_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libutil/error.h"
#include "libvmop/stat/io/io.h"

struct vmop_stat_settings {
	char *events;	      /* NULL: none, only with is_time */
	uint64_t interval_ms; /* 0: only the total */
	uint64_t n_runs;
	pid_t pid;	    /* 0: the command, or with is_all every CPU */
	const char *domain; /* NULL, or the guest whose vCPUs' threads are counted */
	bool is_all, is_json;
	bool is_time;			 /* times, also without steal */
	bool is_net, is_hypervisor;	 /* in place of events */
	const char *net_words;		 /* "all", or patterns of interfaces; NULL: neither */
	struct vmop_stat_io_settings io; /* beside events */
	const char *separator;		 /* NULL: the table */
	const char *output;		 /* NULL: stderr, or log_fd */
	int log_fd;			 /* -1: none */
	/* Run the command in this guest; NULL: on the host. transport: see guest-run.h. */
	const char *guest, *transport;
	bool is_compared; /* run it in both */
	char **command;	  /* NULL: none */
};

/* Parse; --help and --version end the program. Free with vmop_stat_settings_deinit. */
struct vmop_error *vmop_stat_settings_parse(int argc, char **argv, struct vmop_stat_settings *ret);
void vmop_stat_settings_deinit(struct vmop_stat_settings *settings);

#endif
