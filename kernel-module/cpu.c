// SPDX-License-Identifier: GPL-2.0-or-later
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "cpu.h"

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/interrupt.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/timer.h>
#include <linux/tracepoint.h>
#include <linux/version.h>
#include <trace/events/sched.h>
#include <xen/events.h>
#include <xen/interface/xen.h>
#include <xen/xen-ops.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define timer_delete_sync del_timer_sync
#endif

struct vmop_cpu {
	struct vmop_buffer *buffer; /* NULL: not served */
	struct timer_list timer;
	int irq;
	u64 interrupts;
};

static DEFINE_PER_CPU(struct vmop_cpu, vmop_cpu);

/* The session that all CPUs serve. Written while no CPU serves one. */
static struct {
	struct vmop_buffers *own;
	struct vmop_rings *rings;
	unsigned long poll_jiffies;
	int hotplug_state;
	bool is_starting;
	int error; /* of a CPU that failed while starting */
	bool is_following;
} service;

static struct tracepoint *switch_tracepoint;

/* Drain this CPU's buffer. Interrupts are off. */
static void drain_this_cpu(u8 flags)
{
	struct vmop_buffer *buffer = this_cpu_read(vmop_cpu.buffer);
	struct vmop_xendev_record like;

	if (!buffer || vmop_buffer_is_empty(buffer))
		return;
	like = (struct vmop_xendev_record){
		.time_ns = ktime_get_mono_fast_ns(),
		.pid = task_tgid_nr(current),
		.tid = task_pid_nr(current),
		.cpu = smp_processor_id(),
		.flags = flags,
	};
	vmop_buffer_drain(buffer, service.rings, like.cpu, &like);
}

static irqreturn_t on_virq(int irq, void *unused)
{
	this_cpu_inc(vmop_cpu.interrupts);
	drain_this_cpu(0);
	return IRQ_HANDLED;
}

static void on_timer(struct timer_list *timer)
{
	unsigned long flags;

	local_irq_save(flags);
	drain_this_cpu(VMOP_XENDEV_POLLED);
	local_irq_restore(flags);
	mod_timer(timer, jiffies + service.poll_jiffies);
}

/* Called in the scheduler, on the switch from current to next. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 18, 0)
static void on_switch(void *unused, bool preempt, struct task_struct *prev,
		      struct task_struct *next, unsigned int prev_state)
#else
static void on_switch(void *unused, bool preempt, struct task_struct *prev,
		      struct task_struct *next)
#endif
{
	drain_this_cpu(VMOP_XENDEV_POLLED);
}

static void drain_by_call(void *unused)
{
	drain_this_cpu(VMOP_XENDEV_POLLED);
}

static struct vmop_buffer *find_buffer(unsigned int cpu)
{
	u32 i;

	for (i = 0; i < service.own->n; i++)
		if (service.own->buffers[i].vcpu == xen_vcpu_nr(cpu))
			return &service.own->buffers[i];
	return NULL;
}

/* Start serving a CPU, on that CPU. The CPU must come up even if this fails. */
static int serve_cpu(unsigned int cpu)
{
	struct vmop_cpu *this = per_cpu_ptr(&vmop_cpu, cpu);
	struct vmop_buffer *buffer = find_buffer(cpu);
	int ret = -ENODEV;

	if (buffer)
		ret = bind_virq_to_irqhandler(VIRQ_XENOPROF, cpu, on_virq,
					      IRQF_PERCPU | IRQF_NOBALANCING, "vmop", NULL);
	if (ret < 0) {
		if (service.is_starting)
			WRITE_ONCE(service.error, ret);
		else
			pr_warn("CPU %u is not sampled: no %s (%d)\n", cpu,
				buffer ? "VIRQ_XENOPROF" : "buffer of Xen's", ret);
		return 0;
	}
	this->irq = ret;
	WRITE_ONCE(this->buffer, buffer);
	this->timer.expires = jiffies + service.poll_jiffies;
	add_timer_on(&this->timer, cpu);
	return 0;
}

/* Stop serving a CPU, on that CPU. */
static int leave_cpu(unsigned int cpu)
{
	struct vmop_cpu *this = per_cpu_ptr(&vmop_cpu, cpu);
	unsigned long flags;

	if (!this->buffer)
		return 0;
	timer_delete_sync(&this->timer);
	local_irq_save(flags);
	drain_this_cpu(VMOP_XENDEV_POLLED);
	WRITE_ONCE(this->buffer, NULL);
	local_irq_restore(flags);
	unbind_from_irqhandler(this->irq, NULL);
	return 0;
}

static void find_tracepoint(struct tracepoint *tracepoint, void *unused)
{
	if (!strcmp(tracepoint->name, "sched_switch"))
		switch_tracepoint = tracepoint;
}

void vmop_cpus_init(void)
{
	unsigned int cpu;

	for_each_possible_cpu (cpu)
		/* The timer is deferrable: an idle CPU was drained when it became idle. */
		timer_setup(&per_cpu_ptr(&vmop_cpu, cpu)->timer, on_timer,
			    TIMER_PINNED | TIMER_DEFERRABLE);
	/*
	 * The compiler checks the type; the address is found by name, because it is not exported.
	 */
	check_trace_callback_type_sched_switch(on_switch);
	for_each_kernel_tracepoint(find_tracepoint, NULL);
}

bool vmop_cpus_follow_tasks(void)
{
	return service.is_following;
}

int vmop_cpus_start(struct vmop_buffers *own, struct vmop_rings *rings, u32 poll_ms,
		    int *failed_step)
{
	int ret;

	service.own = own;
	service.rings = rings;
	service.poll_jiffies = msecs_to_jiffies(poll_ms);
	service.error = 0;
	service.is_starting = true;
	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "vmop:online", serve_cpu, leave_cpu);
	service.is_starting = false;
	*failed_step = VMOP_XENDEV_STEP_CPUS;
	if (ret < 0)
		return ret;
	service.hotplug_state = ret;
	ret = service.error;
	if (!ret && switch_tracepoint) {
		*failed_step = VMOP_XENDEV_STEP_SWITCHES;
		ret = tracepoint_probe_register(switch_tracepoint, on_switch, NULL);
		service.is_following = !ret;
	}
	if (ret)
		vmop_cpus_stop();
	return ret;
}

void vmop_cpus_stop(void)
{
	if (service.is_following) {
		tracepoint_probe_unregister(switch_tracepoint, on_switch, NULL);
		tracepoint_synchronize_unregister();
		service.is_following = false;
	}
	cpuhp_remove_state(service.hotplug_state);
	service.own = NULL;
	service.rings = NULL;
}

void vmop_cpus_drain(void)
{
	on_each_cpu(drain_by_call, NULL, 1);
}

u64 vmop_cpus_interrupts(void)
{
	u64 n = 0;
	unsigned int cpu;

	for_each_possible_cpu (cpu)
		n += READ_ONCE(per_cpu_ptr(&vmop_cpu, cpu)->interrupts);
	return n;
}
