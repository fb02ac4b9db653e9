// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The profiler, open to the files that implement profiler.h: profiler-create.c, profiler.c and
 * flush.c.
 */
#ifndef VMOP_DAEMON_PROFILE_PROFILER_OPEN_H
#define VMOP_DAEMON_PROFILE_PROFILER_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/guest/provider.h"
#include "daemon/guest/waits.h"
#include "daemon/host/code/code-store.h"
#include "daemon/host/code/kernel-code.h"
#include "daemon/host/examine.h"
#include "daemon/host/jit/code-pages.h"
#include "daemon/host/jit/jitdumps.h"
#include "daemon/host/jit/perf-maps.h"
#include "daemon/host/short-lived.h"
#include "daemon/profile/attribute.h"
#include "daemon/profile/jit-samples.h"
#include "daemon/profile/losses.h"
#include "daemon/profile/profiler.h"
#include "daemon/profile/stacked-chunk.h"
#include "daemon/stack/stacks.h"

struct vmop_profiler {
	char *root; /* of /proc and /sys; NULL: this machine is not examined */
	struct vmop_source *source;
	struct vmop_db *db;
	struct vmop_images images;
	struct vmop_tasks tasks;
	struct vmop_short_lived short_lived;
	bool keeps_tasks;   /* short-lived tasks keep their rows */
	bool wants_context; /* the source was asked for the contexts of guests' samples */
	uint64_t n_short_lived;
	struct vmop_processes processes;
	struct vmop_kernel kernel;
	struct vmop_domain_patterns passive;
	struct vmop_domains domains;
	struct vmop_aggregate aggregate;
	struct vmop_attribution attribution;
	struct vmop_guests *guests;	   /* NULL: guests are not introspected */
	struct vmop_guest_watch *watch;	   /* of a detached profiler, for the next one; or NULL */
	struct vmop_guest_waits *waits;	   /* NULL: the time of vCPUs is not divided */
	char *no_waits;			   /* the reason, if the set-up asks for it; or NULL */
	struct vmop_stacks *stacks;	   /* NULL: call stacks are not kept */
	struct vmop_stacked_chunk stacked; /* of the interval that is being stored */
	struct vmop_domain_provider *provider;
	struct vmop_losses losses;
	struct vmop_event_info blocked; /* the event of blocked threads */
	bool has_blocked;
	struct vmop_image *vdso;
	struct vmop_proc_text *proc_text;
	struct vmop_examiner *examiner;
	struct vmop_code_names code_names;
	struct vmop_perf_maps *perf_maps;
	struct vmop_code_store *code; /* NULL: no code is stored */
	struct vmop_code_pages *code_pages;
	struct vmop_kernel_code *kernel_code; /* NULL: the kernel's code can't be read */
	struct vmop_jitdumps *jitdumps;
	struct vmop_jit_samples *jit_samples; /* NULL: this machine is not examined */
	int64_t monotonic_to_realtime_ns;
	bool is_ending;	       /* the next flush is the last */
	bool is_store_failing; /* the last flush failed */
	bool rejected_was_logged;
	uint64_t no_room_counted;
	uint64_t storing, last_stored; /* samples of the open interval, and of the last one */
	struct vmop_source_stats
		begun; /* the source's counters at the start: it may have run before */
};

/*
 * Return the first number of cells: the CPUs fill no more between two checks of the room. A small
 * table stays in the cache, and grows with the load.
 */
uint32_t vmop_profiler_first_cells(void);

/* Put a row for each event: those of the source, then that of blocked threads. */
struct vmop_error *vmop_profiler_put_events(struct vmop_profiler *profiler);

#endif
