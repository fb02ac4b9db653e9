// SPDX-License-Identifier: GPL-2.0-or-later
/* The sessions of active guests that a session fetches: those of KVM, and of Xen's domains. */
#include "daemon/session-open.h"

/* The time between two steps while sessions of domains come. */
static const uint64_t step_every_us = 100000;

struct vmop_error *vmop_session_open_fetching(struct vmop_session *session)
{
	if (!session->mail || !session->setup.fetch_bytes)
		return NULL;
	const struct vmop_xen_fetching_options options = {
		.setup = &session->setup,
		.source = session->source,
		.windows = vmop_agent_messages_window_opener(session->mail),
		.grants = &vmop_grants_ops,
	};
	return vmop_xen_fetching_create(&options, &session->xen_fetching);
}

static int on_fetching_due(sd_event_source *timer, uint64_t due_us, void *arg)
{
	struct vmop_session *session = arg;
	(void)due_us;
	if (vmop_xen_fetching_step(session->xen_fetching,
				   vmop_profiler_domains(session->profiler))) {
		sd_event_source_set_time_relative(timer, step_every_us);
		sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
	}
	return 0;
}

/* Set the timer for the next step. */
static void arm(struct vmop_session *session)
{
	int status = 0;
	if (!session->fetch_timer)
		status = sd_event_add_time_relative(session->loop, &session->fetch_timer,
						    CLOCK_MONOTONIC, 0, 1000, on_fetching_due,
						    session);
	else
		status = sd_event_source_set_time_relative(session->fetch_timer, 0);
	if (status >= 0)
		status = sd_event_source_set_enabled(session->fetch_timer, SD_EVENT_ONESHOT);
	if (status < 0)
		vmop_session_note_failure(session, vmop_error_os(-status, "event loop"));
}

void vmop_session_fetch(struct vmop_session *session)
{
	if (session->active)
		vmop_active_guests_fetch(session->active);
	if (!session->xen_fetching)
		return;
	vmop_xen_fetching_begin(session->xen_fetching, vmop_profiler_domains(session->profiler));
	arm(session);
}

void vmop_session_leave_file(struct vmop_session *session, const char *path)
{
	if (session->active)
		vmop_active_guests_leave_session(session->active, path);
	if (session->xen_fetching)
		vmop_xen_fetching_leave_session(session->xen_fetching, path);
}

void vmop_session_end_fetching(struct vmop_session *session)
{
	if (session->active)
		vmop_active_guests_end(session->active);
	if (session->xen_fetching)
		vmop_xen_fetching_end(session->xen_fetching,
				      vmop_profiler_domains(session->profiler));
}

void vmop_session_close_fetching(struct vmop_session *session)
{
	sd_event_source_disable_unref(session->fetch_timer);
	vmop_xen_fetching_destroy(session->xen_fetching);
	vmop_active_guests_destroy(session->active);
}
