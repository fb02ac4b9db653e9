// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/xen/xenoprof-control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u
#define DOMAIN_0 0 /* the only domain that Xen lets command */

static int call(struct vmop_xen_link *link, enum vmop_xenoprof_op op, void *arg, size_t len_bytes)
{
	return link->ops->xenoprof(link, op, arg, len_bytes);
}

static int plain_call(struct vmop_xen_link *link, enum vmop_xenoprof_op op)
{
	return call(link, op, NULL, 0);
}

static int list_domain(struct vmop_xen_link *link, uint16_t domain)
{
	return call(link, VMOP_XENOPROF_SET_ACTIVE, &domain, sizeof(domain));
}

enum vmop_xenoprof_state vmop_xenoprof_probe(struct vmop_xen_link *link)
{
	/* The call reads one number, but only for the commanding domain. */
	switch (plain_call(link, VMOP_XENOPROF_GET_IBS_CAPS)) {
	case -ENOSYS:
		return VMOP_XENOPROF_ABSENT;
	case -EPERM:
		return VMOP_XENOPROF_FREE;
	default:
		return VMOP_XENOPROF_COMMANDED;
	}
}

/* Make Xen stop sharing this domain's buffer. The domain must be on the list for that. */
static void unshare(struct vmop_xen_link *link)
{
	if (plain_call(link, VMOP_XENOPROF_DISABLE_VIRQ) == 0)
		return;
	if (list_domain(link, DOMAIN_0) == 0)
		plain_call(link, VMOP_XENOPROF_DISABLE_VIRQ);
}

void vmop_xenoprof_recover(struct vmop_xen_link *link)
{
	plain_call(link, VMOP_XENOPROF_STOP);
	unshare(link);
	plain_call(link, VMOP_XENOPROF_RELEASE_COUNTERS);
	/* The lists may be full even if the counters were not reserved yet. */
	plain_call(link, VMOP_XENOPROF_RESET_PASSIVE_LIST);
	plain_call(link, VMOP_XENOPROF_RESET_ACTIVE_LIST);
	plain_call(link, VMOP_XENOPROF_SHUTDOWN);
}

struct vmop_error *vmop_xenoprof_open(struct vmop_xenoprof *xenoprof, struct vmop_xen_link *link)
{
	struct vmop_xenoprof_init init = {0};
	*xenoprof = (struct vmop_xenoprof){.link = link};
	int status = call(link, VMOP_XENOPROF_INIT, &init, sizeof(init));
	if (status == -ENODEV || status == -EINVAL)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "Xen's profiling does not support this processor's counters");
	if (status < 0)
		return vmop_error_os(-status, "Xen's profiling can't be started");
	if (!init.is_primary)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "another domain commands Xen's profiling; end it there");
	memcpy(xenoprof->machine.cpu_type, init.cpu_type, sizeof(xenoprof->machine.cpu_type));
	xenoprof->machine.cpu_type[sizeof(xenoprof->machine.cpu_type) - 1] = '\0';
	xenoprof->machine.n_counters = 0;
	if (init.n_events > 0)
		xenoprof->machine.n_counters = init.n_events < VMOP_XENOPROF_EVENTS_MAX
						       ? (uint32_t)init.n_events
						       : VMOP_XENOPROF_EVENTS_MAX;
	xenoprof->machine.is_primary = true;
	return NULL;
}

/* ---- buffers -------------------------------------------------------------------- */

static struct vmop_error *lay_rings(struct vmop_xenoprof_set *set, uint32_t n_buffers,
				    uint32_t buffer_bytes)
{
	set->rings = calloc(n_buffers, sizeof(*set->rings));
	if (!set->rings)
		return &vmop_error_no_memory;
	for (uint32_t i = 0; i < n_buffers; i++) {
		if (!vmop_xenoprof_ring_init(&set->rings[i], set->memory, set->n_pages * PAGE_BYTES,
					     i, n_buffers, buffer_bytes))
			return vmop_error_new(
				VMOP_ERROR_CORRUPT,
				"domain %u: Xen's buffers have an unknown layout (%u of %u bytes)",
				set->domain, n_buffers, buffer_bytes);
		set->n_rings++;
	}
	return NULL;
}

/* Add the next set, over the pages that Xen has just shared. */
static struct vmop_error *add_set(struct vmop_xenoprof *xenoprof, uint16_t domain, uint64_t address,
				  int32_t n_buffers, int32_t buffer_bytes)
{
	struct vmop_xenoprof_set *set = &xenoprof->sets[xenoprof->n_sets];
	struct vmop_xen_link *link = xenoprof->link;
	*set = (struct vmop_xenoprof_set){.domain = domain};
	if (n_buffers <= 0 || buffer_bytes <= 0)
		return vmop_error_new(VMOP_ERROR_CORRUPT, "domain %u: Xen shares no buffer",
				      domain);
	uint64_t len_bytes = (uint64_t)n_buffers * (uint64_t)buffer_bytes;
	set->n_pages = (len_bytes + PAGE_BYTES - 1) / PAGE_BYTES;
	set->memory = link->ops->map(link, address, set->n_pages);
	if (!set->memory)
		return vmop_error_os(errno, "domain %u: Xen's buffer can't be mapped", domain);
	xenoprof->n_sets++;
	return lay_rings(set, (uint32_t)n_buffers, (uint32_t)buffer_bytes);
}

static void unmap_sets(struct vmop_xenoprof *xenoprof)
{
	for (size_t i = 0; i < xenoprof->n_sets; i++) {
		struct vmop_xenoprof_set *set = &xenoprof->sets[i];
		xenoprof->link->ops->unmap(xenoprof->link, set->memory, set->n_pages);
		free(set->rings);
		*set = (struct vmop_xenoprof_set){0};
	}
	xenoprof->n_sets = 0;
}

/* Share the own buffer. It must be the first: Xen checks here for another user of the counters. */
static struct vmop_error *share_own(struct vmop_xenoprof *xenoprof,
				    const struct vmop_xen_plan *plan)
{
	struct vmop_xen_link *link = xenoprof->link;
	struct vmop_xenoprof_get_buffer own = {.max_samples = (int32_t)plan->max_samples};
	int status = call(link, VMOP_XENOPROF_GET_BUFFER, &own, sizeof(own));
	if (status == -EBUSY) {
		/* A profiler that ended half-way may have left it shared. */
		unshare(link);
		own.max_samples = (int32_t)plan->max_samples;
		status = call(link, VMOP_XENOPROF_GET_BUFFER, &own, sizeof(own));
	}
	if (status == -EBUSY)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "the counters are in use: another profiler runs in this "
				      "domain, or a guest has Xen's virtual PMU (vpmu= on Xen's "
				      "command line)");
	if (status < 0)
		return vmop_error_os(-status, "Xen gives no buffer for samples");
	xenoprof->is_shared = true;
	return add_set(xenoprof, DOMAIN_0, own.address, own.n_buffers, own.buffer_bytes);
}

static struct vmop_error *share_passive(struct vmop_xenoprof *xenoprof,
					struct vmop_xen_domain *domain,
					const struct vmop_xen_plan *plan)
{
	struct vmop_xenoprof_passive passive = {
		.domain_id = domain->id,
		.max_samples = (int32_t)plan->max_samples,
	};
	int status = call(xenoprof->link, VMOP_XENOPROF_SET_PASSIVE, &passive, sizeof(passive));
	domain->error = status < 0 ? -status : 0;
	if (status < 0)
		return NULL;
	return add_set(xenoprof, domain->id, passive.address, passive.n_buffers,
		       passive.buffer_bytes);
}

/* ---- preparing ------------------------------------------------------------------ */

static struct vmop_error *list_domains(struct vmop_xenoprof *xenoprof,
				       const struct vmop_xen_plan *plan)
{
	struct vmop_xen_link *link = xenoprof->link;
	plain_call(link, VMOP_XENOPROF_RESET_ACTIVE_LIST);
	plain_call(link, VMOP_XENOPROF_RESET_PASSIVE_LIST);
	int status = list_domain(link, DOMAIN_0);
	if (status < 0)
		return vmop_error_os(-status, "Xen does not take dom0 as a domain to sample");
	xenoprof->is_listed = true;
	for (size_t i = 0; i < plan->n_active; i++) {
		status = list_domain(link, plan->active[i].id);
		plan->active[i].error = status < 0 ? -status : 0;
	}
	struct vmop_error *err = NULL;
	for (size_t i = 0; !err && i < plan->n_passive; i++)
		err = share_passive(xenoprof, &plan->passive[i], plan);
	return err;
}

static struct vmop_error *set_counter(struct vmop_xenoprof *xenoprof, uint32_t i,
				      const struct vmop_xen_event *event)
{
	struct vmop_xenoprof_counter counter = {.counter = i};
	if (event) {
		counter.period_events = event->period_events;
		counter.is_enabled = 1;
		counter.event = event->code;
		counter.unit_mask = event->unit_mask;
		counter.hypervisor = event->xen;
		counter.kernel = event->kernel;
		counter.user = event->user;
	}
	int status = call(xenoprof->link, VMOP_XENOPROF_COUNTER, &counter, sizeof(counter));
	return status < 0 ? vmop_error_os(-status, "Xen does not take counter %u", i) : NULL;
}

static struct vmop_error *reserve(struct vmop_xenoprof *xenoprof)
{
	int status = plain_call(xenoprof->link, VMOP_XENOPROF_RESERVE_COUNTERS);
	if (status == -EBUSY)
		return vmop_error_new(
			VMOP_ERROR_CANT,
			"the counters are in use: by Xen's watchdog (watchdog on Xen's "
			"command line) or another profiler");
	if (status < 0)
		return vmop_error_os(-status, "Xen does not reserve the counters");
	xenoprof->is_reserved = true;
	return NULL;
}

static struct vmop_error *set_events(struct vmop_xenoprof *xenoprof,
				     const struct vmop_xen_plan *plan)
{
	struct vmop_error *err = reserve(xenoprof);
	/* Set all counters: a value that another profiler left must not count. */
	for (uint32_t i = 0; !err && i < xenoprof->machine.n_counters; i++)
		err = set_counter(xenoprof, i, i < plan->n_events ? &plan->events[i] : NULL);
	if (err)
		return err;
	int status = plain_call(xenoprof->link, VMOP_XENOPROF_SETUP_EVENTS);
	return status < 0 ? vmop_error_os(-status, "Xen does not set up the events") : NULL;
}

/* Set the depth for all domains. It stays at a release. */
static struct vmop_error *set_backtrace_depth(struct vmop_xenoprof *xenoprof, uint64_t depth)
{
	if (!depth && !xenoprof->has_backtraces)
		return NULL;
	int status = call(xenoprof->link, VMOP_XENOPROF_SET_BACKTRACE, &depth, sizeof(depth));
	if (status < 0)
		return vmop_error_os(-status, "Xen gives no backtraces");
	xenoprof->has_backtraces = depth > 0;
	return NULL;
}

struct vmop_error *vmop_xenoprof_prepare(struct vmop_xenoprof *xenoprof,
					 const struct vmop_xen_plan *plan)
{
	struct vmop_error *err = NULL;
	if (plan->n_active >= VMOP_XENOPROF_DOMAINS_MAX ||
	    plan->n_passive > VMOP_XENOPROF_DOMAINS_MAX)
		err = vmop_error_new(
			VMOP_ERROR_USAGE,
			"Xen samples %d passive domains at a time, not %zu; name those "
			"that matter with --passive-domains",
			VMOP_XENOPROF_DOMAINS_MAX, plan->n_passive);
	if (!err)
		err = share_own(xenoprof, plan);
	if (!err)
		err = list_domains(xenoprof, plan);
	if (!err)
		err = set_backtrace_depth(xenoprof, plan->backtrace_depth);
	if (!err)
		err = set_events(xenoprof, plan);
	if (err)
		vmop_xenoprof_release(xenoprof);
	return err;
}

static void begin_rings(struct vmop_xenoprof *xenoprof)
{
	for (size_t i = 0; i < xenoprof->n_sets; i++) {
		struct vmop_xenoprof_set *set = &xenoprof->sets[i];
		for (uint32_t j = 0; j < set->n_rings; j++)
			vmop_xenoprof_ring_begin(&set->rings[j]);
	}
}

struct vmop_error *vmop_xenoprof_start(struct vmop_xenoprof *xenoprof)
{
	int status = plain_call(xenoprof->link, VMOP_XENOPROF_ENABLE_VIRQ);
	if (status < 0)
		return vmop_error_os(-status, "Xen does not let dom0 be sampled");
	begin_rings(xenoprof); /* Xen has emptied the buffers */
	status = plain_call(xenoprof->link, VMOP_XENOPROF_START);
	if (status == -EPERM)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "Xen does not start sampling: an active domain is not ready");
	if (status < 0)
		return vmop_error_os(-status, "Xen does not start sampling");
	xenoprof->is_started = true;
	return NULL;
}

struct vmop_error *vmop_xenoprof_stop(struct vmop_xenoprof *xenoprof)
{
	if (!xenoprof->is_started)
		return NULL;
	xenoprof->is_started = false;
	int status = plain_call(xenoprof->link, VMOP_XENOPROF_STOP);
	return status < 0 ? vmop_error_os(-status, "Xen does not stop sampling") : NULL;
}

void vmop_xenoprof_release(struct vmop_xenoprof *xenoprof)
{
	struct vmop_xen_link *link = xenoprof->link;
	vmop_error_destroy(vmop_xenoprof_stop(xenoprof));
	unmap_sets(xenoprof);
	if (xenoprof->is_shared)
		unshare(link);
	if (xenoprof->is_reserved)
		plain_call(link, VMOP_XENOPROF_RELEASE_COUNTERS);
	else if (xenoprof->is_listed)
		plain_call(link, VMOP_XENOPROF_RESET_PASSIVE_LIST);
	if (xenoprof->is_listed)
		plain_call(link, VMOP_XENOPROF_RESET_ACTIVE_LIST);
	xenoprof->is_shared = xenoprof->is_listed = xenoprof->is_reserved = false;
}

void vmop_xenoprof_close(struct vmop_xenoprof *xenoprof)
{
	vmop_xenoprof_release(xenoprof);
	plain_call(xenoprof->link, VMOP_XENOPROF_SHUTDOWN);
}

/* ---- an active domain's part ------------------------------------------------------ */

struct vmop_error *vmop_xenoprof_join(struct vmop_xenoprof *xenoprof, struct vmop_xen_link *link,
				      uint32_t max_samples, bool *ret_is_stuck)
{
	struct vmop_xenoprof_get_buffer own = {.max_samples = (int32_t)max_samples};
	*xenoprof = (struct vmop_xenoprof){.link = link};
	int status = call(link, VMOP_XENOPROF_GET_BUFFER, &own, sizeof(own));
	*ret_is_stuck = status == -EBUSY && plain_call(link, VMOP_XENOPROF_DISABLE_VIRQ) == 0;
	if (*ret_is_stuck)
		return NULL;
	if (status == -EBUSY)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "Xen's buffer is in use: another profiler runs in this "
				      "domain, or dom0 has not put it on its list");
	if (status == -ENOSYS)
		return vmop_error_new(VMOP_ERROR_CANT, "this Xen has no xenoprof");
	if (status < 0)
		return vmop_error_os(-status, "Xen gives no buffer for samples");
	xenoprof->is_shared = true;
	struct vmop_error *err =
		add_set(xenoprof, DOMAIN_0, own.address, own.n_buffers, own.buffer_bytes);
	if (err)
		vmop_error_destroy(vmop_xenoprof_leave(xenoprof));
	return err;
}

struct vmop_error *vmop_xenoprof_make_ready(struct vmop_xenoprof *xenoprof)
{
	int status = plain_call(xenoprof->link, VMOP_XENOPROF_ENABLE_VIRQ);
	if (status == -EPERM)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "dom0 has not put this domain on its list of active ones");
	if (status < 0)
		return vmop_error_os(-status, "Xen does not let this domain be sampled");
	begin_rings(xenoprof);
	return NULL;
}

struct vmop_error *vmop_xenoprof_leave(struct vmop_xenoprof *xenoprof)
{
	unmap_sets(xenoprof);
	if (!xenoprof->is_shared)
		return NULL;
	xenoprof->is_shared = false;
	int status = plain_call(xenoprof->link, VMOP_XENOPROF_DISABLE_VIRQ);
	return status < 0 ? vmop_error_new(VMOP_ERROR_CANT,
					   "Xen does not take its buffer back: dom0 still samples "
					   "this domain, or has already released it")
			  : NULL;
}
