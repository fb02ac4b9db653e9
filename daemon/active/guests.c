// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/active/guests.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/active/fetches.h"
#include "daemon/active/handing.h"
#include "daemon/active/identify.h"
#include "daemon/active/links.h"
#include "daemon/active/vsock.h"
#include "hv-interface/active-group.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/host-time.h"
#include "libutil/kvm.h"
#include "libutil/log.h"
#include "libutil/tsc.h"

struct vmop_active_guests {
	struct vmop_active_links *links;
	struct vmop_active_opener opener; /* that of the links, with the guests' names */
	struct vmop_active_group *group;
	struct vmop_active_candidates candidates;
	struct vmop_fetches *fetches;
	struct vmop_active_losses logged;
	struct vmop_handing *handing; /* NULL: the guests sample themselves */
	bool has_stacks;	      /* samples are handed over with call stacks */
	bool has_ended;
};

/* How long the end waits for connections that do not accept the last samples. */
#define LAST_SAMPLES_WAIT_NS (2 * VMOP_NS_PER_S)

/* How long the end waits for the ends of connections within those by virtio-serial. */
#define TUNNELS_WAIT_NS (2 * VMOP_NS_PER_S)

/* Return the candidate of a VMM. NULL: it is none. */
static const struct vmop_active_candidate *find_candidate(const struct vmop_active_guests *active,
							  uint32_t vmm_pid)
{
	for (size_t i = 0; i < active->candidates.n; i++)
		if (active->candidates.at[i].vmm_pid == vmm_pid)
			return &active->candidates.at[i];
	return NULL;
}

/* ---- the clock of guests whose samples are handed over ------------------------------------ */

/* Return the number in the name of a VM's folder in debugfs. */
static uint32_t debugfs_pid(const struct vmop_active_guests *active, uint32_t vmm_pid)
{
	const struct vmop_active_candidate *candidate = find_candidate(active, vmm_pid);
	return candidate && candidate->kvm_tid ? candidate->kvm_tid : vmm_pid;
}

/*
 * Read the host's time, with the guest's time-stamp counter where KVM shows it, and with
 * CLOCK_REALTIME where guests read that.
 */
static void read_clock(void *arg, uint32_t vmm_pid, struct vmop_active_clock *ret)
{
	const struct vmop_active_guests *active = arg;
	struct vmop_kvm_tsc guest;
	struct vmop_tsc_pair now;
	if (vmop_host_time_here(&now)) {
		*ret = (struct vmop_active_clock){.host_ns = now.time_ns,
						  .guest_tsc = now.tsc,
						  .error_ns = now.width_ticks / 2 + 1};
		return;
	}
	bool has_tsc = vmop_kvm_read_tsc("", debugfs_pid(active, vmm_pid), &guest);
	has_tsc = vmop_tsc_read(&now) && has_tsc;
	ret->host_ns = now.time_ns;
	if (!has_tsc)
		return;
	ret->guest_tsc = vmop_kvm_guest_tsc(&guest, now.tsc);
	/* Such counters have 1 GHz or more: a tick is at most 1 ns. */
	ret->error_ns = now.width_ticks / 2 + 1;
}

/* Write the agents' events as the OPEN message has them. The caller frees the result. */
static char *events_text(const struct vmop_setup *setup,
			 const struct vmop_active_host_events *host_events)
{
	if (host_events)
		return strdup(host_events->text);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	for (size_t i = 0; i < setup->events.n; i++)
		fprintf(out, "%s%s", i ? " " : "", setup->events.items[i]);
	if (!setup->events.n)
		fputs("default", out);
	fclose(out);
	return text;
}

/* Name a guest in messages. */
static void name_guest(void *arg, uint32_t vmm_pid, char *buf, size_t size)
{
	const struct vmop_active_guests *active = arg;
	const struct vmop_active_candidate *candidate = find_candidate(active, vmm_pid);
	if (candidate)
		snprintf(buf, size, "\"%s\"", candidate->name);
	else
		snprintf(buf, size, "of pid %" PRIu32, vmm_pid);
}

/* Write a guest's UUID, for a guest without firmware. */
static void give_uuid(void *arg, uint32_t vmm_pid, char *buf, size_t size)
{
	const struct vmop_active_candidate *candidate = find_candidate(arg, vmm_pid);
	snprintf(buf, size, "%s", candidate ? candidate->uuid : "");
}

static struct vmop_error *open_store(void *arg, uint32_t vmm_pid, struct vmop_active_store **ret)
{
	struct vmop_active_guests *active = arg;
	const struct vmop_active_opener *links = vmop_active_links_opener(active->links);
	return links->open(links->arg, vmm_pid, ret);
}

static void close_store(void *arg, struct vmop_active_store *store)
{
	struct vmop_active_guests *active = arg;
	const struct vmop_active_opener *links = vmop_active_links_opener(active->links);
	links->close(links->arg, store);
}

static void hurry(void *arg, bool is_on)
{
	struct vmop_active_guests *active = arg;
	const struct vmop_active_opener *links = vmop_active_links_opener(active->links);
	links->hurry(links->arg, is_on);
}

/* Prepare to hand samples over. */
static struct vmop_error *begin_handing(struct vmop_active_guests *active,
					const struct vmop_active_host_events *host_events)
{
	const struct vmop_active_links_clock clock = {.read = read_clock, .arg = active};
	vmop_active_links_set_clock(active->links, &clock);
	struct vmop_error *err = vmop_handing_create(&active->handing);
	active->has_stacks = host_events->text_with_stacks != NULL;
	if (!err && active->has_stacks)
		err = vmop_active_group_set_stacks(active->group, host_events->text_with_stacks);
	return err;
}

struct vmop_error *vmop_active_guests_create_over(const struct vmop_setup *setup,
						  const struct vmop_active_host_events *host_events,
						  int listener_fd, struct vmop_active_guests **ret)
{
	_cleanup_free_ char *events = events_text(setup, host_events);
	struct vmop_active_guests *active = calloc(1, sizeof(*active));
	struct vmop_active_links *links = NULL;
	struct vmop_error *err = vmop_active_links_create(listener_fd, &links);
	if (!active || !events)
		err = vmop_error_first(err, &vmop_error_no_memory);
	if (err) {
		vmop_active_links_destroy(links);
		free(active);
		return err;
	}
	active->links = links;
	active->opener = (struct vmop_active_opener){.open = open_store,
						     .close = close_store,
						     .hurry = hurry,
						     .arg = active,
						     .name = name_guest,
						     .uuid = give_uuid};
	err = vmop_active_group_create(&active->opener, events, &active->group);
	if (!err && host_events)
		err = begin_handing(active, host_events);
	if (!err)
		err = vmop_fetches_create(setup, vmop_active_vsock_dial_guest, &active->fetches);
	if (err) {
		vmop_active_guests_destroy(active);
		return err;
	}
	vmop_active_group_set_independent(active->group);
	*ret = active;
	return NULL;
}

struct vmop_error *vmop_active_guests_create(const struct vmop_setup *setup,
					     const struct vmop_active_host_events *host_events,
					     struct vmop_active_guests **ret)
{
	int fd = -1;
	struct vmop_error *err = vmop_active_vsock_listen(&fd);
	if (err && err->code == VMOP_ERROR_CANT) {
		/* Guests with a port of virtio-serial can be active all the same. */
		vmop_log_and_destroy(VMOP_LOG_WARNING, err);
		err = NULL;
	}
	return err ? err : vmop_active_guests_create_over(setup, host_events, fd, ret);
}

struct vmop_sample_copy vmop_active_guests_copy(struct vmop_active_guests *active)
{
	return active->handing ? vmop_handing_copy(active->handing) : (struct vmop_sample_copy){0};
}

void vmop_active_guests_complete(struct vmop_active_guests *active, uint64_t complete_ns)
{
	if (active->handing)
		vmop_handing_complete(active->handing, complete_ns);
}

/* Return what a guest gets. */
static enum vmop_handing_kind kind_of(const struct vmop_active_guests *active, uint32_t vmm_pid)
{
	if (vmop_active_group_presence(active->group, vmm_pid) != VMOP_ACTIVE_THERE)
		return VMOP_HANDING_OFF;
	if (vmop_active_group_has_stacks(active->group, vmm_pid))
		return VMOP_HANDING_STACKS;
	return vmop_active_group_takes_stacks(active->group, vmm_pid) ? VMOP_HANDING_EXTENDED
								      : VMOP_HANDING_SAMPLES;
}

/* Hand over the batches that are due; is_last: all. Return true if none of them waits any more. */
static bool hand_over(struct vmop_active_guests *active, bool is_last)
{
	bool is_done = true;
	for (size_t i = 0; active->handing && i < active->candidates.n; i++) {
		uint32_t vmm_pid = active->candidates.at[i].vmm_pid;
		vmop_handing_set(active->handing, vmm_pid, kind_of(active, vmm_pid));
		if (is_last || vmop_handing_is_due(active->handing, vmm_pid))
			is_done &= vmop_handing_send(active->handing, active->links, vmm_pid);
	}
	return is_done;
}

/* Log how much each guest got. */
static void log_handed(struct vmop_active_guests *active)
{
	for (size_t i = 0; active->handing && i < active->candidates.n; i++) {
		const struct vmop_active_candidate *candidate = &active->candidates.at[i];
		struct vmop_handing_sums sums;
		if (!vmop_handing_sums(active->handing, candidate->vmm_pid, &sums) ||
		    !sums.n_samples)
			continue;
		vmop_log_notice("guest \"%s\": got %" PRIu64
				" samples, %.1f bytes each, and %" PRIu64 " found no room, %" PRIu64
				" call stacks neither",
				candidate->name, sums.n_samples,
				(double)sums.n_bytes / (double)sums.n_samples, sums.n_lost,
				sums.n_stacks_lost);
	}
}

/* Hand over the last samples, before the agents store and end their sessions. */
static void hand_over_rest(struct vmop_active_guests *active)
{
	const struct timespec pause = {.tv_nsec = 10 * VMOP_NS_PER_MS};
	uint64_t begun_ns = vmop_clock_ns(CLOCK_MONOTONIC), now_ns = begun_ns;
	vmop_active_guests_complete(active, begun_ns);
	while (!hand_over(active, true) && now_ns - begun_ns < LAST_SAMPLES_WAIT_NS) {
		nanosleep(&pause, NULL);
		now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
		vmop_active_links_pump(active->links, now_ns);
	}
}

/* Fetch the session of a guest, if it is connected. */
static void fetch(struct vmop_active_guests *active, const struct vmop_active_candidate *candidate,
		  uint64_t token)
{
	struct vmop_fetched_guest guest = {.vmm_pid = candidate->vmm_pid,
					   .token = token,
					   .name = candidate->name,
					   .uuid = candidate->uuid,
					   .clock = &candidate->clock.clock};
	if (!vmop_active_links_address(active->links, guest.vmm_pid, &guest.cid, &guest.pidfd))
		return;
	if (!guest.cid)
		guest.fd = vmop_active_links_open_tunnel(active->links, guest.vmm_pid);
	vmop_fetches_begin(active->fetches, &guest);
}

/* Mark the guests that sample themselves, by candidate. */
static void find_sampled(const struct vmop_active_guests *active,
			 bool ret[VMOP_ACTIVE_CANDIDATES_MAX])
{
	for (size_t i = 0; i < active->candidates.n; i++)
		ret[i] = vmop_active_group_presence(active->group,
						    active->candidates.at[i].vmm_pid) ==
			 VMOP_ACTIVE_THERE;
}

static void fetch_all(struct vmop_active_guests *active,
		      const bool is_sampled[VMOP_ACTIVE_CANDIDATES_MAX], uint64_t token)
{
	for (size_t i = 0; i < active->candidates.n; i++)
		if (is_sampled[i])
			fetch(active, &active->candidates.at[i], token);
}

void vmop_active_guests_fetch(struct vmop_active_guests *active)
{
	bool is_sampled[VMOP_ACTIVE_CANDIDATES_MAX];
	if (active->has_ended)
		return;
	find_sampled(active, is_sampled);
	fetch_all(active, is_sampled, vmop_active_group_token(active->group));
}

void vmop_active_guests_leave_session(struct vmop_active_guests *active, const char *path)
{
	vmop_fetches_leave_session(active->fetches, path);
}

static void pump(void *arg)
{
	struct vmop_active_guests *active = arg;
	vmop_active_links_pump(active->links, vmop_clock_ns(CLOCK_MONOTONIC));
}

/* Wait until no fetch goes on, and until the connections by virtio-serial can have the next one. */
static void wait_for_fetches(struct vmop_active_guests *active)
{
	const struct timespec pause = {.tv_nsec = 10 * VMOP_NS_PER_MS};
	vmop_fetches_wait(active->fetches, pump, active);
	uint64_t begun_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; i < active->candidates.n; i++) {
		while (vmop_active_links_has_tunnel(active->links,
						    active->candidates.at[i].vmm_pid) &&
		       vmop_clock_ns(CLOCK_MONOTONIC) - begun_ns < TUNNELS_WAIT_NS) {
			pump(active);
			nanosleep(&pause, NULL);
		}
	}
}

void vmop_active_guests_end(struct vmop_active_guests *active)
{
	bool is_sampled[VMOP_ACTIVE_CANDIDATES_MAX];
	uint64_t token;
	if (active->has_ended)
		return;
	active->has_ended = true;
	if (!active->group || !active->fetches) /* it was not created completely */
		return;
	hand_over_rest(active);
	log_handed(active);
	find_sampled(active, is_sampled);
	token = vmop_active_group_token(active->group);
	vmop_active_group_destroy(active->group);
	active->group = NULL;
	/* A fetch that goes on still brings a file from before the end. */
	wait_for_fetches(active);
	fetch_all(active, is_sampled, token);
	wait_for_fetches(active);
}

void vmop_active_guests_destroy(struct vmop_active_guests *active)
{
	if (!active)
		return;
	vmop_active_guests_end(active);
	vmop_active_group_destroy(active->group);
	vmop_fetches_destroy(active->fetches);
	vmop_active_links_destroy(active->links);
	vmop_active_candidates_deinit(&active->candidates);
	vmop_handing_destroy(active->handing);
	free(active);
}

/* ---- a step ----------------------------------------------------------------------------- */

/* Log the kinds of losses that are new. Further ones of a kind are only counted. */
static void log_losses(struct vmop_active_guests *active)
{
	const struct vmop_active_losses *now = vmop_active_links_losses(active->links);
	const struct vmop_active_losses *logged = &active->logged;
	if (now->n_refused && !logged->n_refused)
		vmop_log_info("connections to active guests' port are refused: not from an agent's "
			      "port, too many, or too soon after a failure");
	if (now->n_unproven && !logged->n_unproven)
		vmop_log_warning("a guest connected as an active one and did not prove that it is "
				 "one of --active-domains: it is refused");
	if (now->n_rubbish && !logged->n_rubbish)
		vmop_log_warning("a guest sent what no agent sends: its connection was ended");
	if (now->n_versions && !logged->n_versions)
		vmop_log_warning("the vmopd of a guest is of another version; install the same in "
				 "both");
	active->logged = *now;
}

/* Return the part of the note of a guest with an agent that is about the fetch of its session. */
static const char *fetch_text(const struct vmop_active_guests *active, uint32_t vmm_pid)
{
	switch (vmop_fetches_state(active->fetches, vmm_pid)) {
	case VMOP_FETCHES_GOES_ON:
		return "; its session is being fetched";
	case VMOP_FETCHES_DONE:
		return "; its session was fetched";
	case VMOP_FETCHES_FAILED:
		return "; its session was not fetched: see vmopd's log";
	case VMOP_FETCHES_NONE:
		break;
	}
	return "";
}

/* Return the note of a guest whose agent does not sample. */
static const char *note_of_passive(const struct vmop_active_guests *active, uint32_t vmm_pid)
{
	if (!vmop_active_links_has(active->links, vmm_pid))
		return "no 'vmopd --active' has connected: sampled as a passive guest";
	if (vmop_active_group_presence(active->group, vmm_pid) == VMOP_ACTIVE_PROBED)
		return "its vmopd begins: sampled as a passive guest until then";
	return "its vmopd does not sample: see vmopd's log; sampled as a passive guest";
}

/* Write what an agent does with the host's samples. */
static void write_handed(const struct vmop_active_guests *active, uint32_t vmm_pid, char *buf,
			 size_t size)
{
	struct vmop_active_ask ask;
	if (!vmop_active_links_asked(active->links, vmm_pid, &ask) || !ask.n_received) {
		snprintf(buf, size, "it gets the host's samples");
		return;
	}
	double percent = 100.0 / (double)ask.n_received;
	snprintf(buf, size,
		 "it gets the host's samples: its clock is known to %.1f us, %.2f %% of samples "
		 "are near a task switch, %.2f %% in one, %.2f %% have no task, %.2f %% found no "
		 "room",
		 (double)ask.error_ns / 1000, percent * (double)ask.n_ambiguous,
		 percent * (double)ask.n_switching, percent * (double)ask.n_unplaced,
		 percent * (double)ask.n_dropped);
}

/* Return the part of the note about the call stacks of handed samples. */
static const char *stacks_text(const struct vmop_active_guests *active, uint32_t vmm_pid)
{
	if (!active->has_stacks)
		return "";
	return vmop_active_group_has_stacks(active->group, vmm_pid)
		       ? ", with call stacks"
		       : ", without call stacks: its vmopd is an older one";
}

/* Note in a domain with an agent what that does. */
static void note_active(const struct vmop_active_guests *active, struct vmop_domain *domain)
{
	char text[VMOP_DOMAIN_NOTE_BYTES] = "it samples itself";
	if (active->handing)
		write_handed(active, domain->vmm_pid, text, sizeof(text));
	size_t len = strlen(text);
	snprintf(text + len, sizeof(text) - len, "%s%s", stacks_text(active, domain->vmm_pid),
		 fetch_text(active, domain->vmm_pid));
	vmop_domain_copy_note(domain, text);
}

/* Note in a domain what its agent does. */
static void note(struct vmop_active_guests *active, struct vmop_domain *domain)
{
	uint64_t samples = vmop_active_group_samples(active->group, domain->vmm_pid);
	bool is_there =
		vmop_active_group_presence(active->group, domain->vmm_pid) == VMOP_ACTIVE_THERE;
	if (is_there && vmop_active_links_has(active->links, domain->vmm_pid))
		note_active(active, domain);
	else
		vmop_domain_set_note(domain, note_of_passive(active, domain->vmm_pid));
	if (samples)
		vmop_domain_set_samples_own(domain, samples);
}

/* Note in a domain that has ended what became of it, as far as a host can know. */
static void note_gone(struct vmop_domain *domain)
{
	vmop_domain_set_note(domain, "its VMM has ended: the guest was shut down, killed, saved to "
				     "a file or moved");
}

/* Log the agents that failed. */
static void log_errors(struct vmop_active_guests *active)
{
	struct vmop_error *err;
	while ((err = vmop_active_group_take_error(active->group)))
		vmop_log_and_destroy(VMOP_LOG_WARNING, err);
}

/* Set the clock of the guest's session in its domain. */
static void set_clock(const struct vmop_domains *domains, const struct vmop_active_candidate *of,
		      bool has_changed)
{
	for (uint32_t i = 1; i < domains->n; i++) {
		struct vmop_domain *domain = domains->at[i];
		/* Each file of the session has domains of its own. */
		if (domain->kind == VMOP_DOMAIN_ACTIVE && domain->vmm_pid == of->vmm_pid &&
		    (has_changed || !domain->clock.n))
			vmop_domain_set_clock(domain, &of->clock.clock);
	}
}

/* Take what the agents report of their sessions' times. */
static void take_times(struct vmop_active_guests *active, const struct vmop_domains *domains,
		       uint64_t time_ns)
{
	for (size_t i = 0; i < active->candidates.n; i++) {
		struct vmop_active_candidate *candidate = &active->candidates.at[i];
		struct vmop_active_report report;
		uint64_t reported_ns =
			vmop_active_group_report(active->group, candidate->vmm_pid, &report);
		bool has_changed = reported_ns &&
				   vmop_session_clock_take(&candidate->clock, report.start_ns,
							   report.now_ns, reported_ns + time_ns);
		if (candidate->clock.clock.n)
			set_clock(domains, candidate, has_changed);
	}
}

/* Let the agents of the connected guests begin and go on. */
static void drive_agents(struct vmop_active_guests *active, uint64_t now_ns)
{
	uint32_t wanted[VMOP_ACTIVE_CANDIDATES_MAX];
	size_t n = 0;
	vmop_active_group_check(active->group);
	log_errors(active);
	for (size_t i = 0; i < active->candidates.n; i++)
		if (vmop_active_links_has(active->links, active->candidates.at[i].vmm_pid))
			wanted[n++] = active->candidates.at[i].vmm_pid;
	vmop_log_and_destroy(VMOP_LOG_WARNING, vmop_active_group_want(active->group, wanted, n));
	for (size_t i = 0; i < active->candidates.n; i++) {
		struct vmop_active_candidate *candidate = &active->candidates.at[i];
		vmop_active_candidate_log(
			candidate,
			vmop_active_group_presence(active->group, candidate->vmm_pid) ==
				VMOP_ACTIVE_THERE,
			active->handing != NULL, now_ns);
	}
}

void vmop_active_guests_step(struct vmop_active_guests *active, struct vmop_domains *domains,
			     struct vmop_guests *guests, uint64_t time_ns)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	if (active->has_ended)
		return;
	vmop_active_candidates_follow(&active->candidates, domains, now_ns);
	vmop_active_candidates_dial(&active->candidates, active->links, domains->root, now_ns);
	vmop_active_links_pump(active->links, now_ns);
	if (guests)
		vmop_active_identify(active->links, &active->candidates, domains, guests, now_ns);
	drive_agents(active, now_ns);
	take_times(active, domains, time_ns);
	hand_over(active, false);
	vmop_fetches_set_host(active->fetches, *domains->at[0]->uuid);
	vmop_fetches_step(active->fetches);
	for (uint32_t i = 1; i < domains->n; i++) {
		if (domains->at[i]->kind != VMOP_DOMAIN_ACTIVE)
			continue;
		if (domains->at[i]->is_running)
			note(active, domains->at[i]);
		else
			note_gone(domains->at[i]);
	}
	log_losses(active);
}
