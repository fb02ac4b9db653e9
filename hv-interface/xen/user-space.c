// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/xen/user-space.h"

#include <stdlib.h>

#include "hv-interface/xen/owner-file.h"
#include "hv-interface/xen/xenoprof-control.h"
#include "libutil/clock.h"
#include "libutil/dirs/run-dir.h"

struct user_transport {
	struct vmop_xen_transport base;
	struct vmop_xen_link *link;
	struct vmop_xenoprof xenoprof;
	bool is_open; /* xenoprof must be closed */
	uint64_t n_corrupt;
	/* State of the current drain. */
	const struct vmop_xen_entry_sink *sink;
	struct vmop_xen_entry entry;
};

static struct user_transport *to_user(struct vmop_xen_transport *transport)
{
	return (struct user_transport *)transport;
}

/* ---- life ----------------------------------------------------------------------- */

static void user_close(struct vmop_xen_transport *transport)
{
	struct user_transport *user = to_user(transport);
	if (user->is_open) {
		vmop_xenoprof_close(&user->xenoprof);
		vmop_xen_owner_file_remove();
	}
	user->link->ops->close(user->link);
	free(user);
}

/* End the session of a killed vmopd; refuse if another profiler is in command. */
static struct vmop_error *end_remains(struct vmop_xen_link *link, bool *ret_had_remains)
{
	switch (vmop_xenoprof_probe(link)) {
	case VMOP_XENOPROF_ABSENT:
		return vmop_error_new(VMOP_ERROR_NOT_FOUND,
				      "this Xen has no xenoprof (gone in Xen 4.22, and left out of "
				      "some builds before)");
	case VMOP_XENOPROF_FREE:
		break;
	case VMOP_XENOPROF_COMMANDED:
		if (!vmop_xen_owner_file_exists())
			return vmop_error_new(
				VMOP_ERROR_CANT,
				"another profiler in dom0 uses xenoprof: end it; or, if it was "
				"killed, confirm that by 'touch %s/" VMOP_XEN_OWNER_FILE "'",
				vmop_run_dir());
		vmop_xenoprof_recover(link);
		*ret_had_remains = true;
		break;
	}
	return NULL;
}

struct vmop_error *vmop_xen_user_open(struct vmop_xen_link *link,
				      struct vmop_xen_machine *ret_machine,
				      struct vmop_xen_transport **ret)
{
	bool had_remains = false;
	struct user_transport *user = calloc(1, sizeof(*user));
	if (!user) {
		link->ops->close(link);
		return &vmop_error_no_memory;
	}
	user->base.ops = &vmop_xen_transport_user_ops;
	user->link = link;
	struct vmop_error *err = end_remains(link, &had_remains);
	/* Create the owner file first, so that a kill from here on leaves it behind. */
	if (!err)
		err = vmop_xen_owner_file_create();
	if (!err) {
		err = vmop_xenoprof_open(&user->xenoprof, link);
		user->is_open = !err;
		if (err)
			vmop_xen_owner_file_remove();
	}
	if (err) {
		user_close(&user->base);
		return err;
	}
	*ret_machine = user->xenoprof.machine;
	ret_machine->had_remains = had_remains;
	*ret = &user->base;
	return NULL;
}

static struct vmop_error *user_open(struct vmop_xen_machine *ret_machine,
				    struct vmop_xen_transport **ret)
{
	struct vmop_xen_link *link;
	struct vmop_error *err = vmop_xen_link_open(&link);
	return err ? err : vmop_xen_user_open(link, ret_machine, ret);
}

static struct vmop_error *user_prepare(struct vmop_xen_transport *transport,
				       const struct vmop_xen_plan *plan)
{
	return vmop_xenoprof_prepare(&to_user(transport)->xenoprof, plan);
}

static struct vmop_error *user_start(struct vmop_xen_transport *transport)
{
	return vmop_xenoprof_start(&to_user(transport)->xenoprof);
}

static struct vmop_error *user_stop(struct vmop_xen_transport *transport)
{
	return vmop_xenoprof_stop(&to_user(transport)->xenoprof);
}

static struct vmop_error *user_release(struct vmop_xen_transport *transport)
{
	vmop_xenoprof_release(&to_user(transport)->xenoprof);
	return NULL;
}

/* ---- draining ------------------------------------------------------------------- */

static void take(void *arg, const struct vmop_xenoprof_ring *ring,
		 const struct vmop_xenoprof_entry *entry, bool is_caller)
{
	struct user_transport *user = arg;
	user->entry.is_caller = is_caller;
	user->entry.ip = entry->ip;
	user->entry.vcpu = ring->vcpu;
	user->entry.mode = entry->mode;
	user->entry.event = entry->event;
	user->sink->entry(user->sink->arg, &user->entry);
}

static void drain_set(struct user_transport *user, struct vmop_xenoprof_set *set)
{
	for (uint32_t i = 0; i < set->n_rings; i++) {
		struct vmop_xenoprof_ring *ring = &set->rings[i];
		bool is_corrupt;
		user->entry.domain = set->domain;
		vmop_xenoprof_ring_take(ring, take, user, &is_corrupt);
		user->n_corrupt += is_corrupt;
		uint64_t lost = vmop_xenoprof_ring_lost(ring);
		if (lost > 0)
			user->sink->lost(user->sink->arg, set->domain, ring->vcpu, lost);
	}
}

static void user_drain(struct vmop_xen_transport *transport, uint64_t up_to_ns,
		       const struct vmop_xen_entry_sink *sink)
{
	(void)up_to_ns; /* entries get the time of this drain, so all are due */
	struct user_transport *user = to_user(transport);
	user->sink = sink;
	user->entry = (struct vmop_xen_entry){
		.time_ns = vmop_clock_ns(CLOCK_MONOTONIC),
		.pid = VMOP_XEN_NO_TASK,
		.tid = VMOP_XEN_NO_TASK,
		.cpu = VMOP_XEN_NO_CPU,
	};
	for (size_t i = 0; i < user->xenoprof.n_sets; i++)
		drain_set(user, &user->xenoprof.sets[i]);
}

static uint64_t user_n_corrupt(const struct vmop_xen_transport *transport)
{
	return ((const struct user_transport *)transport)->n_corrupt;
}

const struct vmop_xen_transport_ops vmop_xen_transport_user_ops = {
	.name = "hypercalls from user space",
	.open = user_open,
	.close = user_close,
	.prepare = user_prepare,
	.start = user_start,
	.stop = user_stop,
	.release = user_release,
	.drain = user_drain,
	.n_corrupt = user_n_corrupt,
};

/* ---- in an active domain ---------------------------------------------------------- */

static void active_close(struct vmop_xen_transport *transport)
{
	struct user_transport *user = to_user(transport);
	if (user->is_open)
		vmop_error_destroy(vmop_xenoprof_leave(&user->xenoprof));
	user->link->ops->close(user->link);
	free(user);
}

struct vmop_error *vmop_xen_active_open(struct vmop_xen_link *link,
					struct vmop_xen_machine *ret_machine,
					struct vmop_xen_transport **ret)
{
	struct user_transport *user = calloc(1, sizeof(*user));
	if (!user) {
		link->ops->close(link);
		return &vmop_error_no_memory;
	}
	user->base.ops = &vmop_xen_transport_active_ops;
	user->link = link;
	/* dom0 manages the counters: assume the maximum. */
	*ret_machine = (struct vmop_xen_machine){.n_counters = VMOP_XENOPROF_EVENTS_MAX};
	*ret = &user->base;
	return NULL;
}

static struct vmop_error *active_open(struct vmop_xen_machine *ret_machine,
				      struct vmop_xen_transport **ret)
{
	struct vmop_xen_link *link;
	struct vmop_error *err = vmop_xen_link_open_domu(&link);
	return err ? err : vmop_xen_active_open(link, ret_machine, ret);
}

static struct vmop_error *active_prepare(struct vmop_xen_transport *transport,
					 const struct vmop_xen_plan *plan)
{
	struct user_transport *user = to_user(transport);
	bool is_stuck;
	struct vmop_error *err =
		vmop_xenoprof_join(&user->xenoprof, user->link, plan->max_samples, &is_stuck);
	if (!err && is_stuck)
		return vmop_error_new(
			VMOP_ERROR_BUSY,
			"a dead vmopd still had Xen's buffer; dom0 must begin its session again");
	user->is_open = !err;
	return err;
}

static struct vmop_error *active_start(struct vmop_xen_transport *transport)
{
	return vmop_xenoprof_make_ready(&to_user(transport)->xenoprof);
}

/* Stop. Only dom0 can: the buffer can be drained until release. */
static struct vmop_error *active_stop(struct vmop_xen_transport *transport)
{
	(void)transport;
	return NULL;
}

static struct vmop_error *active_release(struct vmop_xen_transport *transport)
{
	to_user(transport)->is_open = false;
	return vmop_xenoprof_leave(&to_user(transport)->xenoprof);
}

const struct vmop_xen_transport_ops vmop_xen_transport_active_ops = {
	.name = "hypercalls from an active domain",
	.open = active_open,
	.close = active_close,
	.prepare = active_prepare,
	.start = active_start,
	.stop = active_stop,
	.release = active_release,
	.drain = user_drain,
	.n_corrupt = user_n_corrupt,
};
