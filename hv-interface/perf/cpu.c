// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "hv-interface/perf/rate.h"
#include "hv-interface/perf/stacks/deferred.h"
#include "libutil/cleanup.h"
#include "libutil/log.h"

#ifndef PERF_FORMAT_LOST /* in headers newer than Linux 5.19's */
#define PERF_FORMAT_LOST (1U << 4)
#endif

enum { SMALLEST_RING_BYTES = 64 << 10 };

bool vmop_perf_plan_has_identifier(const struct vmop_perf_plan *plan)
{
	return plan->n_events > 1 || (plan->n_events == 1 && plan->events[0].is_split) ||
	       (plan->n_events == 1 && plan->program.bpf);
}

bool vmop_perf_plan_can_run(const struct vmop_perf_plan *plan, size_t i)
{
	return plan->events[i].attr.type != PERF_TYPE_TRACEPOINT;
}

bool vmop_perf_plan_samples_guests(const struct vmop_perf_plan *plan, size_t i)
{
	const unsigned guests =
		1u << VMOP_PERF_CLASS(true, false) | 1u << VMOP_PERF_CLASS(true, true);
	return plan->wanted[i] & guests && !(plan->wanted[i] & VMOP_PERF_HOST_ONLY);
}

bool vmop_perf_plan_unwinds(const struct vmop_perf_plan *plan, size_t i)
{
	return plan->stacks.is.mode == VMOP_STACKS_BPF &&
	       vmop_perf_event_has_stacks(plan->wanted[i]) && vmop_perf_plan_can_run(plan, i);
}

bool vmop_perf_plan_captures(const struct vmop_perf_plan *plan, size_t i)
{
	return plan->program.captures_guests && vmop_perf_plan_samples_guests(plan, i) &&
	       vmop_perf_plan_can_run(plan, i);
}

/* Set the attributes that all events of the source share. */
static void set_layout(struct perf_event_attr *attr, const struct vmop_perf_plan *plan)
{
	attr->sample_type = VMOP_PERF_SAMPLE_TYPE;
	if (vmop_perf_plan_has_identifier(plan))
		attr->sample_type |= PERF_SAMPLE_IDENTIFIER;
	if (plan->guest_exit.has_regs) {
		attr->sample_type |= PERF_SAMPLE_REGS_INTR;
		attr->sample_regs_intr = VMOP_PERF_GUEST_EXIT_REGS;
	} else if (plan->dom0.has_regs) {
		attr->sample_type |= PERF_SAMPLE_REGS_INTR;
		attr->sample_regs_intr = VMOP_PERF_DOM0_REGS;
	}
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (!(plan->missing & VMOP_PERF_NO_LOST_COUNT))
		attr->read_format |= PERF_FORMAT_LOST;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->disabled = 1;
}

static void set_side_band(struct perf_event_attr *attr, const struct vmop_perf_plan *plan)
{
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
	attr->context_switch = plan->wants_switches;
	attr->ksymbol = !(plan->missing & VMOP_PERF_NO_KSYMBOL);
	/*
	 * build_id stays off. With it perf_event_mmap_output (kernel/events/core.c, seen up to
	 * 6.18) marks a mapping's record as one with a build-id for the first event that wants it,
	 * and the mark stays on the records of all later events, which have an inode instead.
	 * Another profiler on the machine would then read an inode as a build-id, and perf aborts.
	 */
	attr->watermark = 1;
	attr->wakeup_watermark = (uint32_t)plan->watermark_bytes;
	if (plan->stacks.is.mode == VMOP_STACKS_DEFER)
		vmop_perf_deferred_deliver(attr);
}

/* Open the dummy event with as many of the wanted attributes as this kernel supports. */
static int open_dummy(struct vmop_perf_plan *plan, unsigned cpu)
{
	for (;;) {
		struct perf_event_attr attr = {
			.type = PERF_TYPE_SOFTWARE,
			.config = PERF_COUNT_SW_DUMMY,
		};
		set_layout(&attr, plan);
		set_side_band(&attr, plan);
		int fd = vmop_perf_open(&attr, cpu, -1);
		if (fd >= 0 || (errno != EINVAL && errno != E2BIG) ||
		    plan->missing == VMOP_PERF_ALL_MISSING)
			return fd;
		plan->missing = plan->missing << 1 | 1;
	}
}

static struct vmop_error *map_ring(struct vmop_perf_cpu *cpu, struct vmop_perf_plan *plan)
{
	for (;;) {
		struct vmop_error *err =
			vmop_perf_ring_map(&cpu->cursor.ring, cpu->dummy_fd, plan->ring_bytes);
		if (!err || err->code != VMOP_ERROR_CANT)
			return err;
		if (plan->ring_bytes <= SMALLEST_RING_BYTES)
			return vmop_error_prefix(err,
						 "locked memory is limited (sysctl "
						 "kernel.perf_event_mlock_kb, RLIMIT_MEMLOCK)");
		vmop_error_destroy(err);
		plan->ring_bytes /= 2;
		plan->watermark_bytes /= 2;
	}
}

static struct vmop_error *refused(struct vmop_perf_refusal *refusal, size_t event, const char *name,
				  unsigned cpu)
{
	refusal->event = event;
	refusal->cpu = cpu;
	refusal->os_errno = errno;
	return vmop_error_os(errno, "opening event '%s' on CPU %u", name, cpu);
}

/*
 * Return the descriptor of the first event of event i's group on this CPU, which may be i's own
 * host half; -1: no such event, or no group.
 */
static int group_fd(const struct vmop_perf_cpu *cpu, const struct vmop_perf_plan *plan, size_t i)
{
	for (size_t j = 0; plan->events[i].group && j <= i; j++) {
		if (plan->events[j].group == plan->events[i].group && cpu->fds[j] >= 0)
			return cpu->fds[j];
	}
	return -1;
}

/*
 * Set the attributes that make an event a member of a group. The kernel checks whether a group fits
 * its PMU when it opens another member, and leaves out members that are switched off
 * (collect_events in arch/x86/events/core.c, validate_event in drivers/perf/arm_pmu.c; on arm64
 * unless they wait for an exec, which cannot happen on a CPU's events). So only the leader is
 * opened switched off, and it switches the others.
 */
static void set_group(struct perf_event_attr *attr, int leader_fd)
{
	attr->disabled = leader_fd < 0;
	attr->enable_on_exec = leader_fd < 0;
}

/*
 * Leave a CPU to perf's own samples, because the kernel refuses the BPF program. While the plan can
 * still change, that is an error.
 */
static struct vmop_error *refuse_bpf(struct vmop_perf_cpu *cpu, const struct vmop_perf_plan *plan,
				     struct vmop_perf_refusal *refusal)
{
	int os_errno = errno;
	vmop_perf_attachment_close(&cpu->attachment);
	if (!plan->is_open) {
		refusal->cpu = cpu->cpu;
		refusal->os_errno = os_errno;
		refusal->is_by_bpf = true;
		return vmop_error_os(os_errno, "attaching a BPF program on CPU %u", cpu->cpu);
	}
	vmop_log_warning("on CPU %u stacks are copied and guests' samples have no context, because "
			 "the kernel refuses to attach the BPF program (%s)",
			 cpu->cpu, strerror(os_errno));
	return NULL;
}

static struct vmop_error *open_attachment(struct vmop_perf_cpu *cpu,
					  const struct vmop_perf_plan *plan,
					  struct vmop_perf_refusal *refusal)
{
	struct perf_event_attr attr = {0};
	if (plan->n_events == 0 || !plan->program.bpf)
		return NULL;
	set_layout(&attr, plan);
	vmop_perf_stacks_set_output_attr(&plan->stacks, &attr);
	if (vmop_perf_attachment_open(&cpu->attachment, plan->program.bpf, cpu->cpu, &attr,
				      cpu->dummy_fd) < 0)
		return refuse_bpf(cpu, plan, refusal);
	return NULL;
}

/*
 * Attach the BPF program to event i, or to one half of it, if it has work there. A guest leaves its
 * state for the stack of a host's sample, so the program runs at those too.
 */
static struct vmop_error *attach(struct vmop_perf_cpu *cpu, const struct vmop_perf_plan *plan,
				 size_t i, bool is_guests, struct vmop_perf_refusal *refusal)
{
	bool has_stacks = !is_guests && plan->stacks.is.mode != VMOP_STACKS_OFF &&
			  vmop_perf_event_has_stacks(plan->wanted[i]);
	bool unwinds = !is_guests && vmop_perf_plan_unwinds(plan, i);
	bool captures = vmop_perf_plan_captures(plan, i) &&
			(is_guests || has_stacks || !plan->events[i].is_split);
	if (!cpu->attachment.program || !(unwinds || captures))
		return NULL;
	size_t slot = is_guests ? plan->n_events + i : i;
	if (vmop_perf_attachment_attach(&cpu->attachment, cpu->fds[slot], i,
					unwinds ? plan->stacks.is.max_frames : 0,
					plan->events[i].attr.type == PERF_TYPE_SOFTWARE) < 0)
		return refuse_bpf(cpu, plan, refusal);
	return NULL;
}

/* Open event i of the plan; for a split event one half, the guests' or the host's. */
static struct vmop_error *open_one(struct vmop_perf_cpu *cpu, const struct vmop_perf_plan *plan,
				   size_t i, bool is_guests, struct vmop_perf_refusal *refusal)
{
	const struct vmop_perf_event *event = &plan->events[i];
	size_t slot = is_guests ? plan->n_events + i : i;
	struct perf_event_attr attr;
	if (!vmop_perf_event_attr_on(event, cpu->cpu, &attr))
		return NULL;
	set_layout(&attr, plan);
	vmop_perf_rate_set_attr(plan->rate_divisor, &attr);
	attr.exclude_host |= is_guests;
	attr.exclude_guest |= event->is_split && !is_guests;
	if (!is_guests && vmop_perf_event_has_stacks(plan->wanted[i]))
		vmop_perf_stacks_set_attr(&plan->stacks, &attr);
	cpu->fixed_weights[i] = vmop_perf_event_fixed_weight(event);
	if (cpu->fixed_weights[i])
		attr.sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
	int leader_fd = group_fd(cpu, plan, i);
	if (event->group)
		set_group(&attr, leader_fd);
	int fd = vmop_perf_open(&attr, cpu->cpu, leader_fd);
	if (fd < 0)
		return refused(refusal, i, event->name, cpu->cpu);
	cpu->fds[slot] = fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, cpu->dummy_fd) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ID, &cpu->ids[slot]) < 0)
		return vmop_error_os(errno, "setting up event '%s' on CPU %u", event->name,
				     cpu->cpu);
	return attach(cpu, plan, i, is_guests, refusal);
}

static struct vmop_error *open_events(struct vmop_perf_cpu *cpu, const struct vmop_perf_plan *plan,
				      struct vmop_perf_refusal *refusal)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; !err && i < plan->n_events; i++) {
		err = open_one(cpu, plan, i, false, refusal);
		if (!err && plan->events[i].is_split)
			err = open_one(cpu, plan, i, true, refusal);
	}
	return err;
}

static struct vmop_error *open_all(struct vmop_perf_cpu *cpu, struct vmop_perf_plan *plan,
				   struct vmop_perf_refusal *refusal)
{
	cpu->dummy_fd = open_dummy(plan, cpu->cpu);
	if (cpu->dummy_fd < 0)
		return refused(refusal, plan->n_events, "dummy", cpu->cpu);
	struct vmop_error *err = map_ring(cpu, plan);
	if (!err)
		err = open_attachment(cpu, plan, refusal);
	if (!err)
		err = open_events(cpu, plan, refusal);
	cpu->cursor.decoder = (struct vmop_perf_decoder){
		.has_identifier = vmop_perf_plan_has_identifier(plan),
		.ids = cpu->ids,
		.guest_ids = cpu->ids + plan->n_events,
		.wanted = plan->wanted,
		.fixed_weights = cpu->fixed_weights,
		.divisor = plan->rate_divisor,
		.divisor_before = plan->rate_divisor,
		.stack_sample_type = vmop_perf_stacks_sample_type(&plan->stacks.is),
		.max_frames = plan->stacks.chain_frames,
		.output_id = cpu->attachment.output_id,
		.output_sample_type = vmop_perf_stacks_output_type(&plan->stacks.is),
		.guest_exit = plan->guest_exit,
		.dom0 = plan->dom0,
		.n_events = plan->n_events,
		.cpu = cpu->cpu,
	};
	return err;
}

struct vmop_error *vmop_perf_cpu_open(struct vmop_perf_plan *plan, unsigned cpu,
				      struct vmop_perf_refusal *refusal, struct vmop_perf_cpu **ret)
{
	*ret = NULL;
	*refusal = (struct vmop_perf_refusal){0};
	struct vmop_perf_cpu *made = calloc(1, sizeof(*made));
	if (!made)
		return &vmop_error_no_memory;
	made->cpu = cpu;
	made->dummy_fd = -1;
	made->n_events = plan->n_events;
	made->fds = calloc(2 * plan->n_events, sizeof(*made->fds));
	for (size_t i = 0; made->fds && i < 2 * plan->n_events; i++)
		made->fds[i] = -1;
	made->ids = calloc(2 * plan->n_events, sizeof(*made->ids));
	made->fixed_weights = calloc(plan->n_events, sizeof(*made->fixed_weights));
	struct vmop_error *err = &vmop_error_no_memory;
	if (made->fds && made->ids && made->fixed_weights)
		err = open_all(made, plan, refusal);
	if (!err) {
		*ret = made;
		return NULL;
	}
	vmop_perf_cpu_close(made);
	if (refusal->os_errno != ENODEV || refusal->event < plan->n_events || refusal->is_by_bpf)
		return err;
	vmop_error_destroy(err); /* it went offline a moment ago */
	return NULL;
}

void vmop_perf_cpu_close(struct vmop_perf_cpu *cpu)
{
	vmop_perf_attachment_close(&cpu->attachment);
	for (size_t i = 0; cpu->fds && i < 2 * cpu->n_events; i++) {
		if (cpu->fds[i] >= 0)
			close(cpu->fds[i]);
	}
	vmop_perf_ring_deinit(&cpu->cursor.ring);
	if (cpu->dummy_fd >= 0)
		close(cpu->dummy_fd);
	free(cpu->fds);
	free(cpu->ids);
	free(cpu->fixed_weights);
	free(cpu);
}

struct vmop_error *vmop_perf_cpu_enable(struct vmop_perf_cpu *cpu)
{
	/* Enable the side-band first, so that each sample comes after its mappings. */
	if (ioctl(cpu->dummy_fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return vmop_error_os(errno, "starting to sample CPU %u", cpu->cpu);
	if (cpu->attachment.program &&
	    ioctl(cpu->attachment.output_fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return vmop_error_os(errno, "starting the BPF output event on CPU %u", cpu->cpu);
	for (size_t i = 0; i < 2 * cpu->n_events; i++) {
		if (cpu->fds[i] >= 0 && ioctl(cpu->fds[i], PERF_EVENT_IOC_ENABLE, 0) < 0)
			return vmop_error_os(errno, "starting to sample CPU %u", cpu->cpu);
	}
	return NULL;
}

void vmop_perf_cpu_disable(struct vmop_perf_cpu *cpu)
{
	for (size_t i = 0; i < 2 * cpu->n_events; i++) {
		if (cpu->fds[i] >= 0)
			ioctl(cpu->fds[i], PERF_EVENT_IOC_DISABLE, 0);
	}
	if (cpu->attachment.output_id)
		ioctl(cpu->attachment.output_fd, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(cpu->dummy_fd, PERF_EVENT_IOC_DISABLE, 0);
}

void vmop_perf_cpu_set_gone(struct vmop_perf_cpu *cpu)
{
	cpu->is_gone = true;
	vmop_perf_cpu_disable(cpu);
	/* The CPU may come back, with another output event, before the ring has been read. */
	vmop_perf_attachment_detach(&cpu->attachment);
}

/* The result of read(2) with the read_format of set_layout. */
struct reading {
	uint64_t count, enabled_ns, running_ns, lost;
};

static bool read_event(int fd, unsigned missing, struct reading *ret)
{
	size_t need = missing & VMOP_PERF_NO_LOST_COUNT ? 24 : 32;
	*ret = (struct reading){0};
	return fd >= 0 && read(fd, ret, need) == (ssize_t)need;
}

bool vmop_perf_cpu_is_dead(struct vmop_perf_cpu *cpu, unsigned missing)
{
	const struct vmop_perf_ring *ring = &cpu->cursor.ring;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_RELAXED);
	bool wrote = head != cpu->seen_tail;
	cpu->seen_tail = head;
	if (wrote)
		return false; /* without an expensive read, which interrupts the CPU */
	struct reading reading;
	if (!read_event(cpu->dummy_fd, missing, &reading))
		return true;
	bool is_dead = reading.enabled_ns == cpu->enabled_ns;
	cpu->enabled_ns = reading.enabled_ns;
	return is_dead;
}

bool vmop_perf_cpu_times(const struct vmop_perf_cpu *cpu, size_t i, unsigned missing,
			 uint64_t *ret_enabled_ns, uint64_t *ret_running_ns)
{
	struct reading reading, guests;
	if (i >= cpu->n_events || !read_event(cpu->fds[i], missing, &reading))
		return false;
	*ret_enabled_ns = reading.enabled_ns;
	*ret_running_ns = reading.running_ns;
	if (read_event(cpu->fds[cpu->n_events + i], missing, &guests)) {
		*ret_enabled_ns = (reading.enabled_ns + guests.enabled_ns) / 2;
		*ret_running_ns = (reading.running_ns + guests.running_ns) / 2;
	}
	return true;
}

uint64_t vmop_perf_cpu_lost(const struct vmop_perf_cpu *cpu, unsigned missing)
{
	uint64_t lost = 0;
	struct reading reading;
	if (missing & VMOP_PERF_NO_LOST_COUNT)
		return 0;
	if (read_event(cpu->dummy_fd, missing, &reading))
		lost += reading.lost;
	if (cpu->attachment.output_id && read_event(cpu->attachment.output_fd, missing, &reading))
		lost += reading.lost;
	for (size_t i = 0; i < 2 * cpu->n_events; i++) {
		if (read_event(cpu->fds[i], missing, &reading))
			lost += reading.lost;
	}
	return lost;
}
