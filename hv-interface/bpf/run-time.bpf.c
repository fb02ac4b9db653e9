// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The BPF program that measures the runs of tasks: at each switch of the scheduler, the time since
 * the task got its CPU, and how far the CPU's steal clock went meanwhile. Tasks that are not
 * counted cost two look-ups a switch.
 *
 * Each entry is only changed on the CPU on which its task runs, with interrupts off, or by its
 * parent before its first run. libbpf relocates the structures below by the running kernel's type
 * information. The youngest part is the ring, of Linux 5.8.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h> /* needs linux/bpf.h's types */

#include <bpf/bpf_core_read.h>
#include <stdbool.h>
#include <stdint.h>

#include "hv-interface/bpf/run-time-layout.h"

char program_license[] SEC("license") = "GPL";

const volatile struct vmop_run_time_settings settings SEC(VMOP_RUN_TIME_SETTINGS_SECTION);

volatile struct vmop_run_time_state state;

/* ---- the kernel's structures ---------------------------------------------------------- */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sched_entity {
	uint64_t sum_exec_runtime;
};
struct task_struct {
	unsigned int __state;
	int pid, tgid;
	struct sched_entity se;
	uint64_t utime, stime, start_time;
	char comm[16];
};
/* Before Linux 5.14. */
struct task_struct___old {
	long state;
};
#pragma clang attribute pop

#define DEAD 0x80 /* include/linux/sched.h */

/* Direct loads are cheaper than the helper's, and only allowed for a tracepoint's argument. */
#define READ(task, is_argument, field) ((is_argument) ? (task)->field : BPF_CORE_READ(task, field))

/* ---- maps --------------------------------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VMOP_RUN_TIME_MAX_TASKS);
	__type(key, uint64_t);
	__type(value, struct vmop_run_time_entry);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct vmop_run_time_cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, VMOP_RUN_TIME_RING_BYTES);
} ended SEC(".maps");

/* Room for a new entry, which is too large for the stack beside others. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct vmop_run_time_entry);
} fresh_entries SEC(".maps");

static __always_inline struct vmop_run_time_cpu *this_cpu(void)
{
	const uint32_t zero = 0;
	return bpf_map_lookup_elem(&cpus, &zero);
}

static __always_inline struct vmop_run_time_entry *entry_of(uint64_t task)
{
	return bpf_map_lookup_elem(&tasks, &task);
}

/* ---- clocks ------------------------------------------------------------------------------- */

/* struct vcpu_runstate_info of Xen's public/vcpu.h. */
struct runstate {
	uint64_t state, entry_ns, running_ns, runnable_ns, blocked_ns, offline_ns;
};

static __always_inline uint64_t steal_ns(struct vmop_run_time_cpu *cpu)
{
	uint64_t ret = 0;
	if (!settings.clock_variable)
		return 0;
	if (!cpu->clock) {
		uint64_t offset = 0;
		bpf_probe_read_kernel(&offset, sizeof(offset),
				      (void *)(settings.per_cpu_offsets +
					       (uint64_t)bpf_get_smp_processor_id() * 8));
		cpu->clock = offset + settings.clock_variable;
	}
	if (settings.is_xen) {
		struct runstate runstate = {0};
		bpf_probe_read_kernel(&runstate, sizeof(runstate), (void *)cpu->clock);
		return runstate.runnable_ns + runstate.offline_ns;
	}
	bpf_probe_read_kernel(&ret, sizeof(ret), (void *)cpu->clock);
	return ret;
}

/* ---- tasks -------------------------------------------------------------------------------- */

static __always_inline bool is_wanted(struct task_struct *task, bool is_argument)
{
	uint32_t tid = (uint32_t)READ(task, is_argument, pid);
	if (settings.tid)
		return tid == settings.tid;
	if (settings.tgid)
		return (uint32_t)READ(task, is_argument, tgid) == settings.tgid;
	return tid != 0;
}

static __always_inline bool is_dead(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state & DEAD;
	return ((struct task_struct___old *)task)->state & DEAD;
}

/* Note the facts that can change: the number by execve(2) in another thread, the name by prctl(2).
 */
static __always_inline void identify(struct vmop_run_time_entry *entry, struct task_struct *task,
				     bool is_argument)
{
	entry->tid = (uint32_t)READ(task, is_argument, pid);
	entry->tgid = (uint32_t)READ(task, is_argument, tgid);
	if (is_argument)
		__builtin_memcpy(entry->comm, task->comm, sizeof(entry->comm));
	else
		BPF_CORE_READ_INTO(&entry->comm, task, comm);
	entry->amounts.user_ns = READ(task, is_argument, utime) - entry->user_base_ns;
	entry->amounts.system_ns = READ(task, is_argument, stime) - entry->system_base_ns;
}

static __always_inline struct vmop_run_time_entry *
add_entry(struct vmop_run_time_cpu *cpu, struct task_struct *task, bool is_argument)
{
	const uint32_t zero = 0;
	uint64_t key = (uint64_t)task;
	struct vmop_run_time_entry *entry = bpf_map_lookup_elem(&fresh_entries, &zero);
	if (!entry)
		return NULL;
	__builtin_memset(entry, 0, sizeof(*entry));
	entry->start_ns = READ(task, is_argument, start_time);
	entry->user_base_ns = READ(task, is_argument, utime);
	entry->system_base_ns = READ(task, is_argument, stime);
	identify(entry, task, is_argument);
	if (bpf_map_update_elem(&tasks, &key, entry, BPF_ANY) != 0) {
		cpu->n_refused++;
		return NULL;
	}
	return entry_of(key);
}

/* ---- runs --------------------------------------------------------------------------------- */

static __always_inline void begin_run(struct vmop_run_time_cpu *cpu,
				      struct vmop_run_time_entry *entry, struct task_struct *task,
				      bool is_argument)
{
	cpu->task = (uint64_t)task;
	cpu->begun_virtual_ns = READ(task, is_argument, se.sum_exec_runtime);
	cpu->is_seen_late = !is_argument;
	cpu->begun_steal_ns = cpu->steal_ns = steal_ns(cpu);
	cpu->begun_ns = cpu->since_ns = bpf_ktime_get_ns();
	entry->amounts.n_runs++;
}

/* Charge the time since the last charge. Return the virtual time of the whole run. */
static __always_inline uint64_t charge(struct vmop_run_time_cpu *cpu,
				       struct vmop_run_time_entry *entry, struct task_struct *task,
				       bool is_argument)
{
	uint64_t now_ns = bpf_ktime_get_ns(), stolen_ns = steal_ns(cpu);
	entry->amounts.run_ns += now_ns - cpu->since_ns;
	entry->amounts.steal_ns += stolen_ns - cpu->steal_ns;
	cpu->since_ns = now_ns;
	cpu->steal_ns = stolen_ns;
	uint64_t accounted_ns =
		READ(task, is_argument, se.sum_exec_runtime) - cpu->begun_virtual_ns;
	uint64_t whole_ns = now_ns - cpu->begun_ns;
	/* Steal can be taken out of a later run than the one that it was in: each run's account
	 * stays. */
	if (state.kernel_subtracts && !settings.clock_variable)
		return cpu->is_seen_late && accounted_ns > whole_ns ? whole_ns : accounted_ns;
	if (state.kernel_subtracts) {
		uint64_t part_ns = stolen_ns - cpu->begun_steal_ns;
		whole_ns = whole_ns > part_ns ? whole_ns - part_ns : 0;
	}
	/* The kernel's account is of its last tick, except at a switch. */
	if (cpu->is_seen_late)
		return whole_ns;
	return is_argument || accounted_ns > whole_ns ? accounted_ns : whole_ns;
}

static __always_inline void add_unrecorded(struct vmop_run_time_cpu *cpu,
					   const struct vmop_run_time_sums *amounts)
{
	vmop_run_time_sums_add(&cpu->unrecorded, amounts);
	cpu->n_unrecorded++;
}

/* Pass the sums of a task on that has ended, and make room for others. */
static __always_inline void end_task(struct vmop_run_time_cpu *cpu,
				     const struct vmop_run_time_entry *entry, uint64_t task)
{
	struct vmop_run_time_record *record = bpf_ringbuf_reserve(&ended, sizeof(*record), 0);
	if (record) {
		record->task = task;
		record->entry = *entry;
		bpf_ringbuf_submit(record, 0);
	} else {
		add_unrecorded(cpu, &entry->amounts);
	}
	bpf_map_delete_elem(&tasks, &task);
}

SEC("tp_btf/sched_switch")
int vmop_switch(uint64_t *ctx)
{
	struct task_struct *previous = (struct task_struct *)ctx[1];
	struct task_struct *next = (struct task_struct *)ctx[2];
	struct vmop_run_time_cpu *cpu = this_cpu();
	if (!cpu)
		return 0;
	struct vmop_run_time_entry *entry = entry_of((uint64_t)previous);
	if (entry) {
		if (cpu->task == (uint64_t)previous)
			entry->amounts.virtual_ns += charge(cpu, entry, previous, true);
		entry->open_ns = 0;
		identify(entry, previous, true);
		if (is_dead(previous))
			end_task(cpu, entry, (uint64_t)previous);
	}
	cpu->task = 0;
	entry = entry_of((uint64_t)next);
	if (!entry && is_wanted(next, true))
		entry = add_entry(cpu, next, true);
	if (entry)
		begin_run(cpu, entry, next, true);
	return 0;
}

/* A child of a task that is counted is counted. */
SEC("tp_btf/sched_process_fork")
int vmop_fork(uint64_t *ctx)
{
	struct task_struct *child = (struct task_struct *)ctx[1];
	struct vmop_run_time_cpu *cpu = this_cpu();
	if (cpu && entry_of(ctx[0]))
		add_entry(cpu, child, true);
	return 0;
}

/* Read the static key. */
SEC("raw_tp")
int vmop_look(void *ctx)
{
	int32_t count = 0;
	(void)ctx;
	bpf_probe_read_kernel(&count, sizeof(count), (void *)settings.static_key);
	state.key_count = count;
	return 0;
}

/* Charge the task that this CPU runs until now. The first call finds it. */
SEC("raw_tp")
int vmop_settle(void *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct vmop_run_time_cpu *cpu = this_cpu();
	(void)ctx;
	if (!cpu)
		return 0;
	struct vmop_run_time_entry *entry = entry_of((uint64_t)task);
	if (!entry && is_wanted(task, false))
		entry = add_entry(cpu, task, false);
	if (!entry)
		return 0;
	if (cpu->task != (uint64_t)task)
		begin_run(cpu, entry, task, false);
	entry->open_ns = charge(cpu, entry, task, false);
	identify(entry, task, false);
	return 0;
}
