// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/agent.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/active/agent-link.h"
#include "daemon/active/serial.h"
#include "daemon/active/session-server.h"
#include "daemon/active/vsock.h"
#include "daemon/xen/agent-messages.h"
#include "daemon/xen/window-server.h"
#include "hv-interface/active-agent.h"
#include "hv-interface/active-check.h"
#include "hv-interface/handed/events.h"
#include "hv-interface/handed/feed.h"
#include "hv-interface/source-list.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/log.h"

#ifndef VMOP_AGENT_LOOK_EVERY_MS /* tests set a shorter time */
#define VMOP_AGENT_LOOK_EVERY_MS 500
#endif
#define ALERT_LOOK_EVERY_MS 20
#define CONNECTED_LOOK_EVERY_MS 100

struct vmop_agent {
	struct vmop_daemon *daemon;
	struct vmop_agent_messages *mail;   /* in a domain of Xen; else NULL */
	struct vmop_window_server *windows; /* likewise; NULL: none could be created */
	struct vmop_agent_link *link;	    /* in a guest of KVM; else NULL */
	struct vmop_session_server *server; /* NULL: none could be created */
	uint64_t session_token;		    /* of the host's session that began the last one */
	const struct vmop_source_ops *own_source; /* of sessions with samples of this guest */
	struct vmop_handed_feed *feed;		  /* of the session with the host's; or NULL */
	struct vmop_active_agent active;
	sd_event_source *timer;
};

static struct vmop_active_report report_of(const struct vmop_agent *agent)
{
	struct vmop_session_status status;
	vmop_session_status(agent->daemon->session, &status);
	return (struct vmop_active_report){.samples = status.profiler_stats.samples,
					   .now_ns = status.start_ns + status.uptime_ns,
					   .start_ns = status.start_ns};
}

/* ---- the initiator's commands -----------------------------------------------------------------
 */

/* The events of the next session. */
static struct vmop_error *take_events(struct vmop_agent *agent, const char *text)
{
	char words[VMOP_ACTIVE_TEXT_BYTES], *rest = words;
	const char *word;
	bool append = false;
	struct vmop_error *err = NULL;
	snprintf(words, sizeof(words), "%s", text);
	while (!err && (word = strsep(&rest, " "))) {
		err = vmop_setup_set(&agent->daemon->setup, "event", word, append);
		append = true;
	}
	return err ? vmop_error_prefix(err, "the host's events") : NULL;
}

static void end_feed(struct vmop_agent *agent)
{
	if (agent->link)
		vmop_agent_link_set_feed(agent->link, NULL);
	vmop_handed_feed_destroy(agent->feed);
	agent->feed = agent->daemon->feed = NULL;
}

/* End the feed of a session that has ended: the next host must get no question. */
static void end_unused_feed(struct vmop_agent *agent)
{
	if (agent->feed && !agent->daemon->session)
		end_feed(agent);
}

/* Prepare for a session with the host's samples. */
static struct vmop_error *take_feed(struct vmop_agent *agent, const char *text)
{
	if (agent->mail)
		return vmop_error_new(VMOP_ERROR_CANT, "the host's samples are for guests of KVM");
	struct vmop_error *err = vmop_handed_feed_create(text, &agent->feed);
	if (err)
		return err;
	agent->daemon->feed = agent->feed;
	agent->daemon->source = vmop_source_find("handed");
	if (agent->link)
		vmop_agent_link_set_feed(agent->link, agent->feed);
	return NULL;
}

/* Prepare for a session as the host's text of OPEN describes it. */
static struct vmop_error *take_text(struct vmop_agent *agent, const char *text)
{
	end_feed(agent);
	if (vmop_handed_events_are(text))
		return take_feed(agent, text);
	agent->daemon->source = agent->own_source;
	return take_events(agent, text);
}

/*
 * Do all that takes time before the initiator begins sampling; Xen samples the other domains
 * meanwhile. A perf source samples from here on.
 */
static struct vmop_error *open_session(struct vmop_agent *agent, const char *text)
{
	struct vmop_error *err = vmop_daemon_stop(agent->daemon);
	if (!err)
		err = take_text(agent, text);
	if (!err)
		err = vmop_daemon_start(agent->daemon, NULL, 0);
	agent->session_token = err ? 0 : agent->active.answer.token;
	return err;
}

/* Offer the host its session: the one that goes on, or the last one. */
static void offer_session(void *arg, struct vmop_offered_session *ret)
{
	const struct vmop_agent *agent = arg;
	struct vmop_session_status status = {.path = agent->daemon->last_session};
	if (agent->daemon->session) {
		vmop_log_and_destroy(VMOP_LOG_WARNING, vmop_session_dump(agent->daemon->session));
		vmop_session_status(agent->daemon->session, &status);
	}
	*ret = (struct vmop_offered_session){.token = agent->session_token,
					     .path = status.path ? strdup(status.path) : NULL};
}

/* End the session and report err, if there is one, to the initiator. */
static void answer(struct vmop_agent *agent, enum vmop_active_word word, struct vmop_error *err)
{
	if (err) {
		vmop_log_warning("the host's session does not begin here: %s", err->message);
		vmop_log_and_destroy(VMOP_LOG_WARNING, vmop_daemon_stop(agent->daemon));
	}
	vmop_active_agent_answer(&agent->active, err ? VMOP_ACTIVE_FAILED : word,
				 err ? err->message : NULL);
	vmop_error_destroy(err);
}

static void do_join(struct vmop_agent *agent)
{
	struct vmop_error *err = vmop_session_resume(agent->daemon->session);
	if (!err || err->code != VMOP_ERROR_BUSY) {
		answer(agent, VMOP_ACTIVE_READY, err);
		return;
	}
	vmop_log_and_destroy(VMOP_LOG_INFO, err);
	vmop_active_agent_answer(&agent->active, VMOP_ACTIVE_STUCK, NULL);
}

/*
 * Release Xen's buffer first, because dom0 waits for it. Do nothing else for a pause, because Xen
 * samples no domain until the answer.
 */
static struct vmop_error *end(struct vmop_agent *agent, bool pauses, uint64_t *ret_samples)
{
	*ret_samples = 0;
	if (!agent->daemon->session) /* it ended before the command */
		return NULL;
	struct vmop_error *err = vmop_session_pause(agent->daemon->session);
	if (!err && !pauses)
		err = vmop_session_dump(agent->daemon->session);
	*ret_samples = report_of(agent).samples;
	if (pauses && !err)
		return NULL;
	err = vmop_error_first(err, vmop_daemon_stop(agent->daemon));
	end_unused_feed(agent);
	return err;
}

static void do_leave(struct vmop_agent *agent, const char *text)
{
	char samples[24];
	uint64_t n;
	_cleanup_(vmop_error_cleanup) struct vmop_error *err =
		end(agent, !strcmp(text, "pause"), &n);
	if (err)
		vmop_log_warning("at the end of the host's session: %s", err->message);
	snprintf(samples, sizeof(samples), "%" PRIu64, n);
	vmop_active_agent_answer(&agent->active, err ? VMOP_ACTIVE_FAILED : VMOP_ACTIVE_LEFT,
				 err ? err->message : samples);
}

static unsigned pause_ms(const struct vmop_agent *agent, bool is_alert)
{
	unsigned measure_ms = agent->link ? vmop_agent_link_measure_ms(agent->link) : 0;
	if (is_alert || (agent->link && vmop_agent_link_is_serving(agent->link)))
		return ALERT_LOOK_EVERY_MS;
	if (measure_ms)
		return measure_ms;
	return agent->link && vmop_agent_link_is_up(agent->link) ? CONNECTED_LOOK_EVERY_MS
								 : VMOP_AGENT_LOOK_EVERY_MS;
}

/* Set the time of the next read. It is soon while Xen waits for this domain. */
static void arm(struct vmop_agent *agent)
{
	bool is_alert = vmop_active_agent_is_alert(&agent->active);
	if (agent->mail)
		vmop_agent_messages_hurry(agent->mail, is_alert);
	sd_event_source_set_time_relative(agent->timer, UINT64_C(1000) * pause_ms(agent, is_alert));
	sd_event_source_set_enabled(agent->timer, SD_EVENT_ONESHOT);
}

static int on_look(sd_event_source *timer, uint64_t due_us, void *arg)
{
	struct vmop_agent *agent = arg;
	char text[VMOP_ACTIVE_TEXT_BYTES];
	(void)timer;
	(void)due_us;
	end_unused_feed(agent);
	if (agent->windows)
		vmop_window_server_look(agent->windows);
	if (agent->daemon->session) {
		const struct vmop_active_report report = report_of(agent);
		vmop_active_agent_report(&agent->active, &report);
	} else {
		vmop_active_agent_give_up(&agent->active, "its session has ended; see its log");
	}
	switch (vmop_active_agent_look(&agent->active, vmop_clock_ns(CLOCK_MONOTONIC), text)) {
	case VMOP_ACTIVE_DO_OPEN:
		answer(agent, VMOP_ACTIVE_OPENED, open_session(agent, text));
		break;
	case VMOP_ACTIVE_DO_JOIN:
		do_join(agent);
		break;
	case VMOP_ACTIVE_DO_LEAVE:
		do_leave(agent, text);
		break;
	case VMOP_ACTIVE_DO_RUN:
	case VMOP_ACTIVE_NOTHING:
		break;
	}
	arm(agent);
	return 0;
}

/* ---- life ------------------------------------------------------------------------------ */

struct vmop_error *vmop_agent_create_over(struct vmop_daemon *daemon,
					  struct vmop_active_store *store, struct vmop_agent **ret)
{
	struct vmop_agent *agent = calloc(1, sizeof(*agent));
	if (!agent)
		return &vmop_error_no_memory;
	agent->daemon = daemon;
	agent->own_source = daemon->source;
	daemon->is_active = true;
	daemon->given_uuid = agent->active.hello;
	vmop_active_agent_init(&agent->active, store);
	int status = sd_event_add_time_relative(daemon->loop, &agent->timer, CLOCK_MONOTONIC, 0,
						1000, on_look, agent);
	if (status < 0) {
		free(agent);
		return vmop_error_os(-status, "event loop");
	}
	*ret = agent;
	return NULL;
}

struct vmop_error *vmop_agent_create_over_link(struct vmop_daemon *daemon,
					       struct vmop_agent_link *link,
					       struct vmop_agent **ret)
{
	struct vmop_error *err = vmop_agent_create_over(daemon, vmop_agent_link_store(link), ret);
	if (err)
		return err;
	(*ret)->link = link;
	(*ret)->active.here = VMOP_ACTIVE_TAKES_STACKS;
	return NULL;
}

static void serve_connection(void *server, int fd)
{
	vmop_session_server_take(server, fd);
}

/* Let dom0 fetch the sessions that it commands. */
static struct vmop_error *serve_windows(struct vmop_agent *agent)
{
	const struct vmop_session_server_options options = {.loop = agent->daemon->loop,
							    .listener_fd = -1,
							    .offer = offer_session,
							    .arg = agent};
	struct vmop_window_server_options windows = {.grants = &vmop_grants_ops,
						     .serve = serve_connection};
	struct vmop_error *err = vmop_session_server_create(&options, &agent->server);
	windows.arg = agent->server;
	if (!err)
		err = vmop_agent_messages_own_window(agent->mail, &windows.store);
	return err ? err : vmop_window_server_create(&windows, &agent->windows);
}

/* Create the agent of a domain of Xen. */
static struct vmop_error *create_for_xen(struct vmop_daemon *daemon, struct vmop_agent **ret)
{
	struct vmop_agent_messages *mail = NULL;
	struct vmop_active_store *store;
	struct vmop_error *err = vmop_active_check();
	if (!err)
		err = vmop_agent_messages_open(VMOP_AGENT_LOOK_EVERY_MS, &mail);
	if (!err)
		err = vmop_agent_messages_own(mail, &store);
	if (!err)
		err = vmop_agent_create_over(daemon, store, ret);
	if (err) {
		vmop_agent_messages_close(mail);
		return err;
	}
	(*ret)->mail = mail;
	(*ret)->own_source = daemon->source = vmop_source_find("xen");
	/* Without it the session stays here, and all else is as usual. */
	vmop_log_and_destroy(VMOP_LOG_WARNING, serve_windows(*ret));
	return NULL;
}

/* Let the host fetch the sessions that it commands. */
static struct vmop_error *serve_sessions(struct vmop_agent *agent, bool is_serial)
{
	int fd = -1;
	struct vmop_error *err = is_serial ? NULL : vmop_active_vsock_listen_in_guest(&fd);
	if (err)
		return err;
	const struct vmop_session_server_options options = {.loop = agent->daemon->loop,
							    .listener_fd = fd,
							    .offer = offer_session,
							    .arg = agent};
	err = vmop_session_server_create(&options, &agent->server);
	if (is_serial)
		vmop_agent_link_set_server(agent->link, err ? NULL : serve_connection,
					   agent->server);
	return err;
}

/* Create the agent of a guest of KVM, which samples by its own perf. */
static struct vmop_error *create_for_kvm(struct vmop_daemon *daemon, struct vmop_agent **ret)
{
	struct vmop_agent_link *link = NULL;
	struct vmop_error *err = vmop_active_vsock_check();
	bool is_serial = err && vmop_active_serial_is_there();
	if (is_serial) {
		vmop_log_and_destroy(VMOP_LOG_DEBUG, err);
		err = NULL;
	}
	if (!err)
		err = vmop_agent_link_create(
			is_serial ? vmop_active_serial_open : vmop_active_vsock_dial, &link);
	if (!err)
		err = vmop_agent_create_over_link(daemon, link, ret);
	if (err) {
		vmop_agent_link_destroy(link);
		return err;
	}
	(*ret)->own_source = daemon->source = vmop_source_find("perf");
	/* Without it the session stays here, and all else is as usual. */
	vmop_log_and_destroy(VMOP_LOG_WARNING, serve_sessions(*ret, is_serial));
	return NULL;
}

struct vmop_error *vmop_agent_create(struct vmop_daemon *daemon, struct vmop_agent **ret)
{
	return vmop_active_is_domu() ? create_for_xen(daemon, ret) : create_for_kvm(daemon, ret);
}

void vmop_agent_destroy(struct vmop_agent *agent)
{
	if (!agent)
		return;
	sd_event_source_disable_unref(agent->timer);
	agent->daemon->given_uuid = NULL;
	if (agent->link)
		vmop_agent_link_set_server(agent->link, NULL, NULL);
	vmop_window_server_destroy(agent->windows);
	vmop_session_server_destroy(agent->server);
	vmop_active_agent_give_up(&agent->active, "it was ended there");
	end_feed(agent);
	vmop_agent_messages_close(agent->mail);
	vmop_agent_link_destroy(agent->link);
	free(agent);
}
