// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory of a session, within the limit of the daemon's cgroup. */
#include <inttypes.h>
#include <malloc.h>

#include "daemon/session-open.h"
#include "libutil/log.h"

struct vmop_error *vmop_session_measure_memory(struct vmop_session *session)
{
	if (session->is_replay)
		return NULL;
	vmop_memory_limit_read("", &session->memory.limit);
	/* Tables are address space at first, which counts as if all of it were in use. */
	vmop_memory_limit_guard(&(struct vmop_memory_limit){0});
	return vmop_memory_limit_check(&session->memory.limit);
}

static void log_change(const struct vmop_session_memory *memory)
{
	if (memory->is_short && memory->n_shortages == 1)
		vmop_log_warning("the cgroup of vmopd has %" PRIu64 " of %" PRIu64
				 " MiB of memory left: sampling goes on with less, and counts what "
				 "it drops (memory-limit)",
				 memory->limit.left_bytes >> 20, memory->limit.limit_bytes >> 20);
	else
		vmop_log_info("memory of vmopd's cgroup: %" PRIu64 " of %" PRIu64 " MiB left",
			      memory->limit.left_bytes >> 20, memory->limit.limit_bytes >> 20);
}

void vmop_session_limit_memory(struct vmop_session *session)
{
	struct vmop_session_memory *memory = &session->memory;
	if (session->is_replay)
		return;
	vmop_memory_limit_read("", &memory->limit);
	bool is_short = vmop_memory_limit_is_short(&memory->limit, memory->is_short);
	if (is_short != memory->is_short) {
		memory->is_short = is_short;
		memory->n_shortages += is_short;
		vmop_memory_limit_use_small_pages(is_short);
		log_change(memory);
	}
	vmop_profiler_save_memory(session->profiler, is_short);
	if (is_short) {
		malloc_trim(0);
		vmop_memory_limit_read("", &memory->limit);
	}
	vmop_memory_limit_guard(&memory->limit);
}
