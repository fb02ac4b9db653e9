// SPDX-License-Identifier: GPL-2.0-or-later
/* The transport through the kernel module (xen/transport.h): each sample comes with its task. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/xen/device.h"
#include "hv-interface/xen/owner-file.h"
#include "hv-interface/xen/records.h"
#include "hv-interface/xen/transport.h"
#include "hv-interface/xen/xenoprof-abi.h"

enum {
	/* More than a second of 10,000 samples on one CPU; 640 KiB a CPU. */
	RING_RECORDS = 16384,
	/* With call stacks, which may need ten or more records a sample: 2.5 MiB a CPU. */
	RING_RECORDS_WITH_STACKS = 4 * RING_RECORDS,
	/* required by the module; the source polls by its own timer */
	WAKEUP_RECORDS = RING_RECORDS / 4,
	/*
	 * A domain's vCPUs share room for at least 8,000 samples in Xen. Reading 25 domains'
	 * buffers takes a few us, so a short interval costs nothing.
	 */
	POLL_MS = 20,
};

struct module_transport {
	struct vmop_xen_transport base;
	struct vmop_xen_device device;
	bool is_begun;	 /* INIT was done, without a RELEASE since */
	bool is_primary; /* in dom0; else in an active domain */
	struct vmop_xen_records records;
	uint64_t n_corrupt; /* as last read */
};

static struct module_transport *to_module(struct vmop_xen_transport *transport)
{
	return (struct module_transport *)transport;
}

/* ---- life ----------------------------------------------------------------------- */

static void module_close(struct vmop_xen_transport *transport)
{
	struct module_transport *module = to_module(transport);
	vmop_xen_device_close(&module->device);
	vmop_xen_records_deinit(&module->records);
	free(module);
}

static struct vmop_error *begin(struct module_transport *module, struct vmop_xendev_init *init)
{
	/* The module ends its own sessions. An owner file is of a session from user space. */
	init->take_over = vmop_xen_owner_file_exists();
	struct vmop_error *err = vmop_xen_device_init(&module->device, init);
	module->is_begun = !err;
	module->is_primary = init->is_primary;
	if (!err)
		vmop_xen_owner_file_remove();
	return err;
}

static struct vmop_error *module_open(struct vmop_xen_machine *ret_machine,
				      struct vmop_xen_transport **ret)
{
	struct vmop_xendev_init init = {0};
	if (!vmop_xen_device_is_there())
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "the kernel module vmop is not loaded");
	struct module_transport *module = calloc(1, sizeof(*module));
	if (!module)
		return &vmop_error_no_memory;
	module->base.ops = &vmop_xen_transport_module_ops;
	struct vmop_error *err = vmop_xen_device_open(&module->device);
	if (!err)
		err = begin(module, &init);
	if (err) {
		module_close(&module->base);
		return err;
	}
	*ret_machine = (struct vmop_xen_machine){
		.n_counters = init.n_counters < VMOP_XENOPROF_EVENTS_MAX ? init.n_counters
									 : VMOP_XENOPROF_EVENTS_MAX,
		.is_primary = init.is_primary,
		.had_remains = init.left != 0,
	};
	memcpy(ret_machine->cpu_type, init.cpu_type, sizeof(ret_machine->cpu_type));
	*ret = &module->base;
	return NULL;
}

static void put_domains(struct vmop_xendev_domain *to, const struct vmop_xen_domain *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (struct vmop_xendev_domain){.domid = from[i].id};
}

static void get_errors(struct vmop_xen_domain *to, const struct vmop_xendev_domain *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i].error = -from[i].error;
}

/* Copy the plan, which only dom0 may set. */
static void fill(struct vmop_xendev_prepare *prepare, const struct vmop_xen_plan *plan)
{
	prepare->backtrace_depth = plan->backtrace_depth;
	prepare->n_events = (uint32_t)plan->n_events;
	prepare->n_active = (uint32_t)plan->n_active;
	prepare->n_passive = (uint32_t)plan->n_passive;
	for (size_t i = 0; i < plan->n_events; i++)
		prepare->events[i] = (struct vmop_xendev_event){
			.counter = (uint32_t)i,
			.code = plan->events[i].code,
			.period_events = plan->events[i].period_events,
			.unit_mask = plan->events[i].unit_mask,
			.xen = plan->events[i].xen,
			.kernel = plan->events[i].kernel,
			.user = plan->events[i].user,
		};
	put_domains(prepare->active, plan->active, plan->n_active);
	put_domains(prepare->passive, plan->passive, plan->n_passive);
}

static struct vmop_error *set_up_records(struct vmop_xen_records *records,
					 const struct vmop_xendev_prepare *prepare)
{
	vmop_xen_records_deinit(records);
	struct vmop_error *err =
		vmop_xen_records_add(records, VMOP_XEN_DOMID_SELF, prepare->n_buffers);
	for (uint32_t i = 0; !err && i < prepare->n_passive; i++)
		if (!prepare->passive[i].error)
			err = vmop_xen_records_add(records, prepare->passive[i].domid,
						   prepare->passive[i].n_buffers);
	return err;
}

static struct vmop_error *module_release(struct vmop_xen_transport *transport)
{
	struct module_transport *module = to_module(transport);
	struct vmop_error *err = vmop_xen_device_release(&module->device);
	if (!err)
		module->is_begun = false;
	return err;
}

static struct vmop_error *module_prepare(struct vmop_xen_transport *transport,
					 const struct vmop_xen_plan *plan)
{
	struct module_transport *module = to_module(transport);
	struct vmop_xendev_init init = {0};
	struct vmop_xendev_prepare prepare = {
		.ring_records =
			plan->has_room_for_backtraces ? RING_RECORDS_WITH_STACKS : RING_RECORDS,
		.wakeup_records = WAKEUP_RECORDS,
		.poll_ms = POLL_MS,
	};
	if (plan->n_events > VMOP_XENDEV_MAX_EVENTS || plan->n_active > VMOP_XENDEV_MAX_DOMAINS ||
	    plan->n_passive > VMOP_XENDEV_MAX_DOMAINS)
		return vmop_error_new(VMOP_ERROR_LIMIT,
				      "Xen takes %d events, %d active and %d "
				      "passive domains at a time",
				      VMOP_XENDEV_MAX_EVENTS, VMOP_XENDEV_MAX_DOMAINS,
				      VMOP_XENDEV_MAX_DOMAINS);
	struct vmop_error *err = module->is_begun ? NULL : begin(module, &init);
	if (err)
		return err;
	if (module->is_primary)
		fill(&prepare, plan);
	err = vmop_xen_device_prepare(&module->device, &prepare);
	module->is_begun = !err;
	if (err)
		return err;
	get_errors(plan->active, prepare.active, prepare.n_active);
	get_errors(plan->passive, prepare.passive, prepare.n_passive);
	err = set_up_records(&module->records, &prepare);
	if (err)
		vmop_error_destroy(module_release(transport));
	return err;
}

/*
 * Start. EPERM in an active domain: dom0's list lacks it, because the module has given back a dead
 * session's buffer, and that removes the domain from the list.
 */
static struct vmop_error *module_start(struct vmop_xen_transport *transport)
{
	struct module_transport *module = to_module(transport);
	struct vmop_error *err = vmop_xen_device_start(&module->device);
	if (err && !module->is_primary && err->os_errno == EPERM)
		err->code = VMOP_ERROR_BUSY;
	return err;
}

static struct vmop_error *module_stop(struct vmop_xen_transport *transport)
{
	return vmop_xen_device_stop(&to_module(transport)->device);
}

/* ---- draining ------------------------------------------------------------------- */

static void module_drain(struct vmop_xen_transport *transport, uint64_t up_to_ns,
			 const struct vmop_xen_entry_sink *sink)
{
	struct module_transport *module = to_module(transport);
	if (module->device.map)
		vmop_xen_records_drain(&module->records, &module->device.rings, up_to_ns, sink);
}

static uint64_t module_n_corrupt(const struct vmop_xen_transport *transport)
{
	struct module_transport *module = (struct module_transport *)transport;
	struct vmop_xendev_stats stats;
	struct vmop_error *err = vmop_xen_device_stats(&module->device, &stats);
	if (!err)
		module->n_corrupt = stats.corrupt_buffers + module->device.rings.malformed;
	vmop_error_destroy(err);
	return module->n_corrupt;
}

const struct vmop_xen_transport_ops vmop_xen_transport_module_ops = {
	.name = "module",
	.has_tasks = true,
	.open = module_open,
	.close = module_close,
	.prepare = module_prepare,
	.start = module_start,
	.stop = module_stop,
	.release = module_release,
	.drain = module_drain,
	.n_corrupt = module_n_corrupt,
};
