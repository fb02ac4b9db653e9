// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/active/identify.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/active/serial.h"
#include "libutil/cleanup.h"
#include "libutil/log.h"
#include "libutil/procfs.h"

_Static_assert(VMOP_GUEST_PROBE_BYTES == VMOP_ACTIVE_NONCE_BYTES, "a probe reads the challenge");

/* How often the descriptors of a VMM are looked at. */
#define CHECK_AGAIN_NS (3 * VMOP_NS_PER_S)

/* ---- candidates ---------------------------------------------------------------------- */

static bool has_ended(int pidfd)
{
	struct pollfd pollfd = {.fd = pidfd, .events = POLLIN};
	return poll(&pollfd, 1, 0) != 0;
}

/* Return whether a file is /dev/vhost-vsock, under whatever directory its process sees it. */
static bool is_vsock(const void *arg, const char *target)
{
	const char *slash = strrchr(target, '/');
	(void)arg;
	return slash && strcmp(slash, "/vhost-vsock") == 0;
}

/* Return whether a guest has a vsock. It can be plugged in later. */
static bool can_connect(struct vmop_active_candidate *candidate, const char *root, uint64_t now_ns)
{
	bool is_due = !candidate->vsock_checked_ns ||
		      now_ns - candidate->vsock_checked_ns >= CHECK_AGAIN_NS;
	if (!candidate->has_vsock && is_due) {
		candidate->has_vsock =
			vmop_procfs_has_open(root, candidate->vmm_pid, is_vsock, NULL);
		candidate->vsock_checked_ns = now_ns;
	}
	return candidate->has_vsock;
}

static struct vmop_active_candidate *find(struct vmop_active_candidates *candidates,
					  uint32_t vmm_pid)
{
	for (size_t i = 0; i < candidates->n; i++)
		if (candidates->at[i].vmm_pid == vmm_pid)
			return &candidates->at[i];
	return NULL;
}

/* Add a guest. NULL: it can have no agent now. */
static struct vmop_active_candidate *add(struct vmop_active_candidates *candidates,
					 const struct vmop_domain *domain, uint64_t now_ns)
{
	if (candidates->n == VMOP_ACTIVE_CANDIDATES_MAX) {
		if (!candidates->limit_was_logged)
			vmop_log_warning("more than %d active guests run: \"%s\" is the first that "
					 "stays a passive one",
					 VMOP_ACTIVE_CANDIDATES_MAX, domain->name);
		candidates->limit_was_logged = true;
		return NULL;
	}
	int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)domain->vmm_pid, 0);
	if (pidfd < 0)
		return NULL; /* it ends just now */
	struct vmop_active_candidate *candidate = &candidates->at[candidates->n++];
	*candidate = (struct vmop_active_candidate){
		.vmm_pid = domain->vmm_pid, .pidfd = pidfd, .seen_ns = now_ns};
	snprintf(candidate->name, sizeof(candidate->name), "%s", domain->name);
	snprintf(candidate->uuid, sizeof(candidate->uuid), "%s", domain->uuid);
	return candidate;
}

static void drop(struct vmop_active_candidates *candidates, size_t i)
{
	close(candidates->at[i].pidfd);
	candidates->at[i] = candidates->at[--candidates->n];
}

/* Return whether a domain is an active guest that runs. */
static bool is_active(const struct vmop_domain *domain)
{
	return domain->kind == VMOP_DOMAIN_ACTIVE && domain->is_running && domain->vmm_pid &&
	       domain->is_identified;
}

void vmop_active_candidates_follow(struct vmop_active_candidates *candidates,
				   const struct vmop_domains *domains, uint64_t now_ns)
{
	for (uint32_t i = 1; i < domains->n; i++) {
		const struct vmop_domain *domain = domains->at[i];
		if (!is_active(domain))
			continue;
		struct vmop_active_candidate *candidate = find(candidates, domain->vmm_pid);
		if (candidate)
			candidate->seen_ns = now_ns;
		else
			candidate = add(candidates, domain, now_ns);
		if (candidate)
			candidate->kvm_tid = domain->kvm_tid;
	}
	for (size_t i = candidates->n; i > 0; i--) {
		const struct vmop_active_candidate *candidate = &candidates->at[i - 1];
		bool has_gone = has_ended(candidate->pidfd);
		if (has_gone && candidate->was_sampled)
			vmop_log_notice("guest \"%s\" has gone while it was an active one: shut "
					"down, killed, saved to a file or moved to another host; "
					"its own session went with it",
					candidate->name);
		if (has_gone || now_ns - candidate->seen_ns > VMOP_ACTIVE_UNLISTED_NS)
			drop(candidates, i - 1);
	}
}

void vmop_active_candidate_log(struct vmop_active_candidate *candidate, bool is_sampled,
			       bool is_handed, uint64_t now_ns)
{
	const char *what = is_handed ? "gets the host's samples" : "samples itself";
	if (is_sampled == candidate->was_sampled) {
		candidate->silent_ns = 0;
		return;
	}
	if (!is_sampled) {
		if (!candidate->silent_ns)
			candidate->silent_ns = now_ns;
		if (now_ns - candidate->silent_ns < VMOP_ACTIVE_SILENT_NS)
			return;
		vmop_log_warning("guest \"%s\" no longer %s: its vmopd or the guest is gone; it is "
				 "sampled as a passive one",
				 candidate->name, what);
	} else {
		vmop_log_notice("guest \"%s\" %s now", candidate->name, what);
	}
	candidate->silent_ns = 0;
	candidate->was_sampled = is_sampled;
}

void vmop_active_candidates_deinit(struct vmop_active_candidates *candidates)
{
	while (candidates->n)
		drop(candidates, candidates->n - 1);
}

/* ---- virtio-serial ------------------------------------------------------------------- */

static bool is_dial_due(const struct vmop_active_candidate *candidate, uint64_t now_ns)
{
	return !candidate->dialled_ns || now_ns - candidate->dialled_ns >= candidate->dial_pause_ns;
}

/* Connect to the port of a guest, if it has one. */
static void dial(struct vmop_active_candidate *candidate, struct vmop_active_links *links,
		 const char *root, uint64_t now_ns)
{
	int fd;
	struct vmop_error *err = vmop_active_serial_dial(root, candidate->vmm_pid, &fd);
	if (err && !candidate->serial_was_logged)
		vmop_log_warning("guest \"%s\": its port of virtio-serial: %s", candidate->name,
				 err->message);
	candidate->serial_was_logged |= err != NULL;
	vmop_error_destroy(err);
	/* The pid was the VMM's as long as that has not ended. */
	if (fd >= 0 && !has_ended(candidate->pidfd))
		vmop_active_links_add_serial(links, fd, candidate->vmm_pid, now_ns);
	else if (fd >= 0)
		close(fd);
}

void vmop_active_candidates_dial(struct vmop_active_candidates *candidates,
				 struct vmop_active_links *links, const char *root, uint64_t now_ns)
{
	for (size_t i = 0; i < candidates->n; i++) {
		struct vmop_active_candidate *candidate = &candidates->at[i];
		uint64_t *pause_ns = &candidate->dial_pause_ns;
		if (vmop_active_links_has(links, candidate->vmm_pid)) {
			*pause_ns = 0;
			continue;
		}
		if (vmop_active_links_has_serial(links, candidate->vmm_pid) ||
		    !is_dial_due(candidate, now_ns))
			continue;
		candidate->dialled_ns = now_ns;
		*pause_ns = *pause_ns ? 2 * *pause_ns : VMOP_ACTIVE_FIRST_DIAL_NS;
		if (*pause_ns > VMOP_ACTIVE_LONGEST_DIAL_NS)
			*pause_ns = VMOP_ACTIVE_LONGEST_DIAL_NS;
		dial(candidate, links, root, now_ns);
	}
}

/* ---- claims ---------------------------------------------------------------------------- */

static const struct vmop_domain *domain_of(const struct vmop_domains *domains, uint32_t vmm_pid)
{
	for (uint32_t i = 1; i < domains->n; i++)
		if (domains->at[i]->vmm_pid == vmm_pid && is_active(domains->at[i]))
			return domains->at[i];
	return NULL;
}

/* Compare a claim with the memory of one guest. READ: it is right; WAITS: not known yet. */
static enum vmop_guest_probed compare(struct vmop_guests *guests, const struct vmop_domain *domain,
				      const struct vmop_active_claim *claim)
{
	const struct vmop_guest_probe probe = {.pid = claim->proof.pid,
					       .address = claim->proof.address,
					       .since_ns = claim->claimed_ns,
					       .comm = "vmopd"};
	uint8_t bytes[VMOP_GUEST_PROBE_BYTES];
	enum vmop_guest_probed probed = vmop_guests_probe(guests, domain, &probe, bytes);
	if (probed == VMOP_GUEST_PROBE_READ && memcmp(bytes, claim->nonce, sizeof(bytes)) != 0)
		return VMOP_GUEST_PROBE_ABSENT;
	return probed;
}

static void accept_claim(struct vmop_active_links *links,
			 const struct vmop_active_candidate *candidate,
			 const struct vmop_active_claim *claim, uint64_t now_ns)
{
	int pidfd = fcntl(candidate->pidfd, F_DUPFD_CLOEXEC, 0);
	if (pidfd < 0)
		return; /* the next call tries again */
	if (vmop_active_links_accept(links, claim, candidate->vmm_pid, pidfd, now_ns))
		vmop_log_info("guest \"%s\": its vmopd, pid %u there, has connected %s",
			      candidate->name, claim->proof.pid,
			      claim->vmm_pid ? "by virtio-serial" : "by vsock");
}

static void check(struct vmop_active_links *links, struct vmop_active_candidates *candidates,
		  const struct vmop_active_claim *claim, const struct vmop_domains *domains,
		  struct vmop_guests *guests, uint64_t now_ns)
{
	for (size_t i = 0; i < candidates->n; i++) {
		struct vmop_active_candidate *candidate = &candidates->at[i];
		const struct vmop_domain *domain = domain_of(domains, candidate->vmm_pid);
		if (!domain || vmop_active_links_has(links, candidate->vmm_pid))
			continue;
		if (claim->vmm_pid ? claim->vmm_pid != candidate->vmm_pid
				   : !can_connect(candidate, domains->root, now_ns))
			continue;
		enum vmop_guest_probed probed = compare(guests, domain, claim);
		if (probed == VMOP_GUEST_PROBE_WAITS)
			vmop_active_links_hold(links, claim, now_ns);
		if (probed != VMOP_GUEST_PROBE_READ)
			continue;
		/* The bytes were read before: is it the same process still? */
		if (!has_ended(candidate->pidfd))
			accept_claim(links, candidate, claim, now_ns);
		return;
	}
}

void vmop_active_identify(struct vmop_active_links *links,
			  struct vmop_active_candidates *candidates,
			  const struct vmop_domains *domains, struct vmop_guests *guests,
			  uint64_t now_ns)
{
	struct vmop_active_claim claim;
	unsigned at = 0;
	while (vmop_active_links_claim(links, &at, &claim))
		check(links, candidates, &claim, domains, guests, now_ns);
}
