// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A model of Xen's profiling interface: states, lists and shared pages after xen/common/xenoprof.c
 * of Xen 4.17, with its ways to panic or hang. It gives answers that the emulated Xen
 * (tests/rigs/xen-run) cannot be made to give, and can kill the caller at any call.
 */
#ifndef VMOP_TESTS_XEN_MODEL_H
#define VMOP_TESTS_XEN_MODEL_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/xen/link.h"
#include "hv-interface/xen/xenoprof-abi.h"

enum model_state { MODEL_IDLE, MODEL_RESERVED, MODEL_READY, MODEL_PROFILING };

enum { MODEL_PAGES = 2, MODEL_DOMAINS = 40, MODEL_VCPUS = 2 };

struct model_domain {
	bool exists, is_destroyed, is_hvm;
	/* on the active list; enabled; on the passive list */
	bool is_listed, is_active, is_passive;
	bool is_shared;	 /* its buffer's pages belong to dom0 */
	unsigned mapped; /* number of mappings */
	uint64_t buffer[MODEL_PAGES * 4096 / sizeof(uint64_t)];
};

struct model {
	struct vmop_xen_link base;
	struct model_domain domains[MODEL_DOMAINS];
	enum model_state state;
	bool has_primary, has_panicked;
	uint64_t backtrace_depth;
	const void *config; /* of its build, compressed; NULL: it does not have it */
	size_t config_bytes;
	unsigned caller;  /* the domain that makes the next call; only dom0 manages others */
	int refusals[32]; /* result by operation; 0: the model's own */
	int calls_left;	  /* until the calling process dies; -1: never */
	bool is_dead;	  /* it has died: its calls no longer reach Xen */
	unsigned calls;
	struct vmop_xenoprof_counter counters[4];
	char cpu_type[64];
};

static inline struct model *to_model(struct vmop_xen_link *link)
{
	return (struct model *)link;
}

static int model_share(struct model_domain *domain)
{
	if (domain->is_shared || domain->mapped)
		return -EBUSY;
	domain->is_shared = true;
	return 0;
}

static struct vmop_xenoprof_buffer *model_ring(struct model_domain *domain, unsigned vcpu)
{
	return (void *)((char *)domain->buffer + vcpu * sizeof(domain->buffer) / MODEL_VCPUS);
}

static void model_reset_buffer(struct model_domain *domain)
{
	for (unsigned i = 0; i < MODEL_VCPUS; i++)
		model_ring(domain, i)->head = model_ring(domain, i)->tail = 0;
}

static void model_reset_passive(struct model *model)
{
	for (unsigned i = 0; i < MODEL_DOMAINS; i++) {
		struct model_domain *domain = &model->domains[i];
		if (!domain->is_passive)
			continue;
		domain->is_passive = domain->is_shared = false;
		/*
		 * Drop the last reference: its pages are freed, and a process that still maps them
		 * crashes Xen.
		 */
		if (domain->is_destroyed) {
			domain->exists = false;
			model->has_panicked |= domain->mapped > 0;
		}
	}
}

static void model_reset_active(struct model *model)
{
	for (unsigned i = 0; i < MODEL_DOMAINS; i++)
		model->domains[i].is_listed = model->domains[i].is_active = false;
}

static unsigned model_count(const struct model *model, bool passive)
{
	unsigned n = 0;
	for (unsigned i = 0; i < MODEL_DOMAINS; i++)
		n += passive ? model->domains[i].is_passive : model->domains[i].is_listed;
	return n;
}

static int model_init_call(struct model *model, struct vmop_xenoprof_init *init)
{
	/* Reset the tables of the interrupt handler. */
	model->has_panicked |= model->state == MODEL_PROFILING;
	model->has_primary = true;
	init->n_events = 2;
	init->is_primary = model->caller == 0;
	memcpy(init->cpu_type, model->cpu_type, sizeof(init->cpu_type));
	return 0;
}

static int model_get_buffer(struct model *model, struct vmop_xenoprof_get_buffer *buffer)
{
	struct model_domain *own = &model->domains[model->caller];
	int status = model_share(own);
	if (status < 0)
		return status;
	model_reset_buffer(own);
	buffer->n_buffers = MODEL_VCPUS;
	buffer->buffer_bytes = (int32_t)sizeof(model->domains[0].buffer) / MODEL_VCPUS;
	buffer->address = (uint64_t)model->caller * MODEL_PAGES * 4096;
	return 0;
}

static int model_set_active(struct model *model, uint16_t id)
{
	if (model->state != MODEL_IDLE)
		return -EPERM;
	if (model_count(model, false) >= VMOP_XENOPROF_DOMAINS_MAX)
		return -E2BIG;
	if (id >= MODEL_DOMAINS || !model->domains[id].exists)
		return -EINVAL;
	model->domains[id].is_listed = true;
	return 0;
}

static int model_set_passive(struct model *model, struct vmop_xenoprof_passive *passive)
{
	if (model->state != MODEL_IDLE)
		return -EPERM;
	if (model_count(model, true) >= VMOP_XENOPROF_DOMAINS_MAX)
		return -E2BIG;
	if (passive->domain_id >= MODEL_DOMAINS || !model->domains[passive->domain_id].exists ||
	    model->domains[passive->domain_id].is_destroyed)
		return -EINVAL;
	struct model_domain *domain = &model->domains[passive->domain_id];
	int status = model_share(domain);
	if (status < 0)
		return status;
	domain->is_passive = true;
	passive->n_buffers = MODEL_VCPUS;
	passive->buffer_bytes = (int32_t)sizeof(domain->buffer) / MODEL_VCPUS;
	passive->address = (uint64_t)passive->domain_id * MODEL_PAGES * 4096;
	return 0;
}

static int model_enable_virq(struct model *model)
{
	struct model_domain *own = &model->domains[model->caller];
	if (model->caller == 0 && model->state != MODEL_READY)
		return -EPERM;
	for (unsigned i = 0; i < MODEL_DOMAINS; i++)
		if (model->caller == 0 && model->domains[i].is_passive)
			model_reset_buffer(&model->domains[i]);
	model_reset_buffer(own);
	if (!own->is_listed)
		return -EPERM;
	own->is_active = true;
	return 0;
}

static int model_disable_virq(struct model *model)
{
	struct model_domain *own = &model->domains[model->caller];
	if (model->state == MODEL_PROFILING && own->is_active)
		return -EPERM;
	if (!own->is_listed)
		return -EPERM;
	own->is_listed = own->is_active = own->is_shared = false;
	return 0;
}

/* Change the state from from to to; EPERM in another state. */
static int model_step(struct model *model, enum model_state from, enum model_state to)
{
	if (model->state != from)
		return -EPERM;
	model->state = to;
	return 0;
}

static bool model_all_are_ready(const struct model *model)
{
	for (unsigned i = 0; i < MODEL_DOMAINS; i++)
		if (model->domains[i].is_listed && !model->domains[i].is_active)
			return false;
	return model->domains[0].is_active;
}

/* Return whether Xen would read the memory of an HVM domain in its NMI handler. */
static bool model_samples_hvm(const struct model *model)
{
	for (unsigned i = 0; i < MODEL_DOMAINS; i++)
		if (model->domains[i].is_hvm &&
		    (model->domains[i].is_passive || model->domains[i].is_listed))
			return true;
	return false;
}

static int model_command(struct model *model, unsigned op, void *arg)
{
	if (!model->has_primary || model->caller != 0)
		return -EPERM;
	switch ((enum vmop_xenoprof_op)op) {
	case VMOP_XENOPROF_GET_IBS_CAPS:
		return 0;
	case VMOP_XENOPROF_SET_BACKTRACE:
		memcpy(&model->backtrace_depth, arg, sizeof(model->backtrace_depth));
		return 0;
	case VMOP_XENOPROF_RESET_ACTIVE_LIST:
		model_reset_active(model);
		return 0;
	case VMOP_XENOPROF_RESET_PASSIVE_LIST:
		model_reset_passive(model);
		return 0;
	case VMOP_XENOPROF_SET_ACTIVE:
		return model_set_active(model, *(uint16_t *)arg);
	case VMOP_XENOPROF_SET_PASSIVE:
		return model_set_passive(model, arg);
	case VMOP_XENOPROF_RESERVE_COUNTERS:
		return model_step(model, MODEL_IDLE, MODEL_RESERVED);
	case VMOP_XENOPROF_COUNTER:
		if (model->state != MODEL_RESERVED || !model_count(model, false))
			return -EPERM;
		memcpy(&model->counters[((struct vmop_xenoprof_counter *)arg)->counter % 4], arg,
		       sizeof(model->counters[0]));
		return 0;
	case VMOP_XENOPROF_SETUP_EVENTS:
		return model_step(model, MODEL_RESERVED, MODEL_READY);
	case VMOP_XENOPROF_START:
		model->has_panicked |= model->backtrace_depth && model_samples_hvm(model);
		return model_all_are_ready(model) ? model_step(model, MODEL_READY, MODEL_PROFILING)
						  : -EPERM;
	case VMOP_XENOPROF_STOP:
		return model_step(model, MODEL_PROFILING, MODEL_READY);
	case VMOP_XENOPROF_RELEASE_COUNTERS:
		if (model->state != MODEL_RESERVED && model->state != MODEL_READY)
			return -EPERM;
		model->state = MODEL_IDLE;
		model_reset_passive(model);
		return 0;
	case VMOP_XENOPROF_SHUTDOWN:
		if (model->state != MODEL_IDLE)
			return -EPERM;
		model->has_primary = false;
		model->backtrace_depth = 0;
		return 0;
	default:
		return -ENOSYS;
	}
}

static int model_xenoprof(struct vmop_xen_link *link, unsigned op, void *arg, size_t len_bytes)
{
	struct model *model = to_model(link);
	(void)len_bytes;
	if (model->is_dead || model->calls_left == 0) {
		model->is_dead = true;
		return -EIO;
	}
	model->calls_left -= model->calls_left > 0;
	model->calls++;
	if (model->refusals[op])
		return model->refusals[op];
	switch ((enum vmop_xenoprof_op)op) {
	case VMOP_XENOPROF_INIT:
		return model_init_call(model, arg);
	case VMOP_XENOPROF_GET_BUFFER:
		return model_get_buffer(model, arg);
	case VMOP_XENOPROF_ENABLE_VIRQ:
		return model_enable_virq(model);
	case VMOP_XENOPROF_DISABLE_VIRQ:
		return model_disable_virq(model);
	default:
		return model_command(model, op, arg);
	}
}

static void *model_map(struct vmop_xen_link *link, uint64_t address, size_t n_pages)
{
	struct model *model = to_model(link);
	size_t id = address / 4096 / MODEL_PAGES;
	if (model->is_dead || id >= MODEL_DOMAINS || n_pages != MODEL_PAGES ||
	    !model->domains[id].is_shared) {
		errno = EINVAL;
		return NULL;
	}
	model->domains[id].mapped++;
	return model->domains[id].buffer;
}

static void model_unmap(struct vmop_xen_link *link, void *memory, size_t n_pages)
{
	struct model *model = to_model(link);
	(void)n_pages;
	for (unsigned i = 0; i < MODEL_DOMAINS; i++)
		if (memory == model->domains[i].buffer && model->domains[i].mapped)
			model->domains[i].mapped--;
}

static int model_is_hvm(struct vmop_xen_link *link, uint16_t id)
{
	const struct model *model = to_model(link);
	if (id >= MODEL_DOMAINS || !model->domains[id].exists)
		return -ESRCH;
	return model->domains[id].is_hvm;
}

static int model_read_config(struct vmop_xen_link *link, void *buf, size_t size_bytes)
{
	const struct model *model = to_model(link);
	if (!model->config)
		return -ENOSYS;
	if (model->config_bytes > size_bytes)
		return -ENOBUFS;
	memcpy(buf, model->config, model->config_bytes);
	return (int)model->config_bytes;
}

static void model_close(struct vmop_xen_link *link)
{
	(void)link;
}

static const struct vmop_xen_link_ops model_ops = {
	.xenoprof = model_xenoprof,
	.map = model_map,
	.unmap = model_unmap,
	.is_hvm = model_is_hvm,
	.read_config = model_read_config,
	.close = model_close,
};

/* Create a model with dom0 and domains 1..n. The caller frees. */
static inline struct model *model_new(unsigned n)
{
	struct model *model = calloc(1, sizeof(*model));
	if (!model)
		abort();
	model->base.ops = &model_ops;
	model->calls_left = -1;
	strcpy(model->cpu_type, "i386/core_2");
	for (unsigned i = 0; i <= n && i < MODEL_DOMAINS; i++) {
		model->domains[i].exists = true;
		for (unsigned j = 0; j < MODEL_VCPUS; j++)
			model_ring(&model->domains[i], j)->vcpu = j;
	}
	return model;
}

/* Remove a dead process and its mappings. */
static inline void model_died(struct model *model)
{
	for (unsigned i = 0; i < MODEL_DOMAINS; i++)
		model->domains[i].mapped = 0;
	model->is_dead = false;
	model->calls_left = -1;
}

/* Return whether Xen is as before and after every session. */
static inline bool model_is_clean(const struct model *model)
{
	bool is_clean = model->state == MODEL_IDLE && !model->has_primary && !model->has_panicked &&
			!model->backtrace_depth;
	for (unsigned i = 0; i < MODEL_DOMAINS; i++) {
		const struct model_domain *domain = &model->domains[i];
		is_clean = is_clean && !domain->is_listed && !domain->is_active &&
			   !domain->is_passive && !domain->is_shared && !domain->mapped &&
			   !(domain->exists && domain->is_destroyed);
	}
	return is_clean;
}

/* Take a sample of that vCPU in Xen. */
static inline void model_sample(struct model *model, unsigned domain, unsigned vcpu, uint64_t ip,
				uint8_t mode, uint8_t event)
{
	struct vmop_xenoprof_buffer *ring = model_ring(&model->domains[domain], vcpu);
	uint32_t n = (uint32_t)(sizeof(model->domains[0].buffer) / MODEL_VCPUS - 48) / 16;
	ring->entries[ring->head] =
		(struct vmop_xenoprof_entry){.ip = ip, .mode = mode, .event = event};
	ring->head = (ring->head + 1) % n;
}

#endif
