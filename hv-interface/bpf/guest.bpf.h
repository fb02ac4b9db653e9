// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Find what the vCPU of a KVM guest runs at a sample. The vCPU's thread is the current task, and
 * KVM has put a notifier into it, which is a part of the vCPU. A sample of the guest becomes a
 * record in place of perf's own. A sample of the host's work for the vCPU stays, and gets the state
 * in which the guest left the vCPU in front of it.
 */
#ifndef VMOP_HV_INTERFACE_BPF_GUEST_BPF_H
#define VMOP_HV_INTERFACE_BPF_GUEST_BPF_H

#include "hv-interface/bpf/guest-kernel.bpf.h"
#include "hv-interface/bpf/guest-maps.h"
#include "hv-interface/bpf/machine.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VMOP_GUEST_MAPS_MAX);
	__type(key, uint32_t);
	__type(value, struct vmop_bpf_guest_value);
} guests SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct vmop_bpf_vmm_filter);
} vmm_filter SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct vmop_bpf_guest_counts);
} guest_counts SEC(".maps");

/* The fate of a sample. */
enum fate {
	NOT_GUESTS, /* a sample of the host */
	REPLACED,   /* a record is in the ring, or the ring had no room for it */
	NOT_REPLACED,
};

/* The vCPU that a thread ran last, for samples of the VMM's own work for it. */
struct vcpu_thread {
	uint64_t vcpu, kvm;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, VMOP_BPF_MAX_VCPUS);
	__type(key, uint32_t); /* the thread's id */
	__type(value, struct vcpu_thread);
} vcpu_threads SEC(".maps");

/* Return whether a struct kvm is alive and has the current task's memory. */
static __always_inline bool is_kvm_of(uint64_t kvm, uint64_t task)
{
	uint64_t mm = 0, kvm_mm = 0;
	uint32_t n_users = 0;
	READ_KERNEL(mm, task + HOST.task_mm);
	READ_KERNEL(kvm_mm, kvm + HOST.kvm_mm);
	READ_KERNEL(n_users, kvm + HOST.kvm_users_count);
	return mm && mm == kvm_mm && n_users;
}

static __always_inline bool is_kept(const struct kept_facts *kept, uint64_t task, uint64_t vcpu,
				    uint64_t kvm)
{
	return kept->task == task && kept->vcpu == vcpu && kept->kvm == kvm;
}

/* Keep what never changes of a vCPU that is_kvm_of has accepted. */
static __always_inline void know_vcpu(struct kept_facts *kept, uint64_t task, uint64_t vcpu,
				      uint64_t kvm)
{
	kept->task = task;
	kept->vcpu = vcpu;
	kept->kvm = kvm;
	READ_KERNEL(kept->vcpu_id, vcpu + HOST.vcpu_id);
	READ_KERNEL(kept->vcpu_idx, vcpu + HOST.vcpu_idx);
	kept->is_protected = is_vcpu_protected(vcpu);
}

/* Return whether a process may be in the map of guests. */
static __always_inline bool may_be_known(uint32_t pid)
{
	uint32_t zero = 0, bit = pid % VMOP_BPF_VMM_BITS;
	const struct vmop_bpf_vmm_filter *filter = bpf_map_lookup_elem(&vmm_filter, &zero);
	return filter && filter->words[bit / 64] >> bit % 64 & 1;
}

/*
 * Return the vCPU that the current task runs, or 0. KVM removes its notifier before the thread
 * returns to user code. Another user of such notifiers has no struct kvm with this process's memory
 * in it.
 */
static __always_inline uint64_t find_vcpu(struct bpf_perf_event_data *ctx, uint64_t *ret_kvm)
{
	uint64_t task, notifier = 0;
	if (is_in_user_mode(ctx))
		return 0;
	task = (uint64_t)bpf_get_current_task();
	READ_KERNEL(notifier, task + HOST.task_preempt_notifiers);
	struct guest_work *work = notifier ? guest_work() : NULL;
	if (!work)
		return 0;
	uint64_t vcpu = notifier - HOST.vcpu_notifier;
	struct kept_facts *kept = &work->kept;
	READ_KERNEL(*ret_kvm, vcpu + HOST.vcpu_kvm);
	if (is_kept(kept, task, vcpu, *ret_kvm))
		return vcpu;
	if (!is_kvm_of(*ret_kvm, task))
		return 0;
	know_vcpu(kept, task, vcpu, *ret_kvm);
	return vcpu;
}

/* Remember the vCPU of the current thread, which the VMM does its own work for later. */
static __always_inline void remember_vcpu(uint64_t vcpu, uint64_t kvm)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	const struct vcpu_thread is = {.vcpu = vcpu, .kvm = kvm};
	const struct vcpu_thread *was = bpf_map_lookup_elem(&vcpu_threads, &tid);
	if (!was || was->vcpu != vcpu || was->kvm != kvm)
		bpf_map_update_elem(&vcpu_threads, &tid, &is, BPF_ANY);
}

/* Return the vCPU that the current thread ran last, if it is still one of its process's, or 0. */
static __always_inline uint64_t recall_vcpu(uint64_t *ret_kvm)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	const struct vcpu_thread *was = bpf_map_lookup_elem(&vcpu_threads, &tid);
	uint64_t kvm = 0, task = (uint64_t)bpf_get_current_task();
	struct guest_work *work = was ? guest_work() : NULL;
	if (!work)
		return 0;
	uint64_t vcpu = was->vcpu;
	*ret_kvm = was->kvm;
	READ_KERNEL(kvm, vcpu + HOST.vcpu_kvm);
	if (kvm != *ret_kvm || !is_kvm_of(kvm, task))
		return 0;
	if (!is_kept(&work->kept, task, vcpu, kvm))
		know_vcpu(&work->kept, task, vcpu, kvm);
	return vcpu;
}

/* Copy the instruction's bytes, as many as its page has, from work->address. */
static __always_inline int copy_code(struct guest_work *work, struct vmop_guest_context *context)
{
	uint32_t left = PAGE_BYTES - (work->gpa & (PAGE_BYTES - 1));
	context->gpa = work->gpa;
	context->parts |= VMOP_GUEST_HAS_GPA;
	if (left > sizeof(context->code))
		left = sizeof(context->code);
	if (bpf_probe_read_user(context->code, left, (const void *)work->address))
		return VMOP_GUEST_GAP_ABSENT;
	context->code_bytes = (uint8_t)left;
	context->parts |= VMOP_GUEST_HAS_CODE;
	return 0;
}

static __always_inline void note_gap(struct vmop_guest_context *context, int gap)
{
	if (gap > 0 && gap < VMOP_GUEST_N_GAPS && !context->gap)
		context->gap = (uint8_t)gap;
}

/* Find the page and the bytes of the interrupted instruction. */
static __always_inline void read_code(struct guest_work *work, struct vmop_guest_context *context)
{
	bool is_user = context->parts & VMOP_GUEST_IS_USER;
	if (context->parts & VMOP_GUEST_HAS_PAGE_TABLE)
		work->root = context->page_table;
	else if (!is_user && work->numbers.kernel_page_table_gpa)
		work->root = work->numbers.kernel_page_table_gpa;
	else
		return note_gap(context, work->numbers.generation ? VMOP_GUEST_GAP_NO_REGISTERS
								  : VMOP_GUEST_GAP_UNKNOWN_KERNEL);
	work->area = CODE_AREA;
	int gap = walk_tables(context->regs[PC]);
	if (!gap)
		gap = copy_code(work, context);
	note_gap(context, gap);
}

/* From here on the kernel's own memory is read. */
static __always_inline void use_kernel_page_table(struct guest_work *work,
						  const struct vmop_guest_context *context)
{
	work->area = TASK_AREA;
	work->root = work->numbers.kernel_page_table_gpa;
	if (!work->root)
		work->root = context->page_table & KERNEL_HALF;
}

static __always_inline void read_kernel(struct guest_work *work, struct vmop_guest_context *context,
					uint64_t per_cpu)
{
	bool is_user = context->parts & VMOP_GUEST_IS_USER;
	uint64_t stack = 0;
	work->per_cpu = 0;
	use_kernel_page_table(work, context);
	int gap = find_task(per_cpu);
	if (!gap) {
		gap = read_task();
		if (!gap)
			note_gap(context, compare_page_table(!(per_cpu >> 63)));
	}
	note_gap(context, gap);
	if (is_user && !(context->parts & VMOP_GUEST_HAS_GPA)) {
		read_code(work, context);
		use_kernel_page_table(work, context);
	}
	if (is_user && context->parts & VMOP_GUEST_HAS_GPA)
		note_gap(context, read_page());
	if (!is_user && !gap && is_known(work->numbers.task_stack) &&
	    !read_guest(context->task + work->numbers.task_stack, 8)) {
		stack = work->words[0];
		read_entry_registers(stack);
	}
	if (!is_user && work->numbers.kernel_window_bytes)
		copy_kernel_windows(stack);
	if (work->numbers.user_window_bytes && context->parts & VMOP_GUEST_HAS_PAGE_TABLE) {
		work->area = CODE_AREA;
		work->root = context->page_table;
		copy_user_window();
	}
}

/* Count the parts that a sample has to have and has not. */
static __always_inline void count_gap_parts(struct vmop_guest_context *context)
{
	uint32_t expected = VMOP_GUEST_HAS_REGS | KERNEL_HAS_PAGE_TABLE | VMOP_GUEST_HAS_GPA |
			    VMOP_GUEST_HAS_CODE | VMOP_GUEST_HAS_TASK;
	if (context->parts & VMOP_GUEST_IS_USER)
		expected |= VMOP_GUEST_HAS_PAGE_TABLE | VMOP_GUEST_HAS_PAGE;
	uint32_t missing = expected & ~context->parts;
	if (!missing) {
		context->gap = VMOP_GUEST_GAP_NONE;
		return;
	}
	for (int i = 0; i < 11; i++)
		context->n_gap_parts += missing >> i & 1;
}

/* Fill the record's context. False: there is nothing in it. */
static __always_inline bool fill_context(struct guest_work *work, uint64_t vcpu, uint64_t kvm,
					 uint32_t pid, const struct vmop_bpf_guest_value *known,
					 bool is_exited, uint64_t now_ns)
{
	struct vmop_guest_context *context = context_of(work);
	uint64_t per_cpu = 0;
	__builtin_memset(context, 0, sizeof(*context));
	if (known) {
		__builtin_memcpy(&work->numbers, &known->numbers, sizeof(work->numbers));
		work->spans = known->spans;
	} else {
		__builtin_memset(&work->numbers, 0, sizeof(work->numbers));
	}
	context->vcpu = work->kept.vcpu_id;
	context->vmm_pid = pid;
	context->generation = work->numbers.generation;
	if (is_exited)
		context->parts = VMOP_GUEST_IS_EXITED;
	begin_memory(work, kvm, pid, now_ns);
	int gap = read_vcpu(work, context, vcpu, &per_cpu);
	note_gap(context, gap);
	if (!(context->parts & VMOP_GUEST_HAS_REGS))
		return false;
	if (!gap) {
		bool is_late = !(context->parts & VMOP_GUEST_HAS_PAGE_TABLE) &&
			       context->parts & VMOP_GUEST_IS_USER && known;
		if (!is_late)
			read_code(work, context);
		if (known)
			read_kernel(work, context, per_cpu);
		else
			note_gap(context, VMOP_GUEST_GAP_UNKNOWN_KERNEL);
	}
	count_gap_parts(context);
	return end_memory(work) || gap;
}

static __always_inline long write_guest(struct bpf_perf_event_data *ctx, struct guest_work *work,
					enum vmop_bpf_kind kind)
{
	uint32_t windows = work->windows_bytes;
	struct vmop_bpf_guest *record = &work->record;
	if (windows > WINDOWS_MAX)
		return -1;
	record->kind = kind;
	record->event = bpf_get_attach_cookie(ctx) & VMOP_BPF_COOKIE_EVENT_MASK;
	record->reserved = 0;
	record->len_bytes = sizeof(record->context) + windows;
	record->period_events = ctx->sample_period;
	return bpf_perf_event_output(ctx, &outputs, BPF_F_CURRENT_CPU, record,
				     sizeof(*record) + windows);
}

/* Count the sample's context, and its cost since start_ns. Return the sample's fate. */
static __always_inline enum fate count_context(const struct guest_work *work, bool is_exited,
					       long status, uint64_t start_ns)
{
	uint32_t zero = 0;
	struct vmop_bpf_guest_counts *counts = bpf_map_lookup_elem(&guest_counts, &zero);
	if (!counts)
		return is_exited ? NOT_GUESTS : NOT_REPLACED;
	uint32_t gap = work->record.context.gap;
	barrier_var(gap); /* the verifier follows one comparison with a constant, no other */
	counts->n_samples += !is_exited;
	counts->n_ring_full += status == -ENOSPC;
	counts->n_switching += (work->record.context.parts & VMOP_GUEST_IS_SWITCHING) != 0;
	if (!status && is_exited)
		counts->n_exited++;
	else if (!status)
		counts->n_contexts++;
	if (gap < VMOP_GUEST_N_GAPS)
		counts->gaps[gap] += gap != VMOP_GUEST_GAP_NONE;
	counts->cost_ns += bpf_ktime_get_ns() - start_ns;
	if (is_exited)
		return NOT_GUESTS;
	return !status || status == -ENOSPC ? REPLACED : NOT_REPLACED;
}

static __always_inline bool wants_windows(const struct vmop_bpf_guest_value *known)
{
	return known && known->numbers.kernel_window_bytes | known->numbers.user_window_bytes;
}

/*
 * Return whether a sample can be one of a guest, or one of the work for a guest: not if it is of
 * user code, which no vCPU runs, in a process that is no VMM.
 */
static __always_inline bool may_be_guests(struct bpf_perf_event_data *ctx)
{
	bool may_be = !is_in_user_mode(ctx) || may_be_known(bpf_get_current_pid_tgid() >> 32);
	return __builtin_expect(may_be, false);
}

/*
 * Read and write what the current thread's vCPU runs, or has run: KVM and the VMM work for it in
 * between.
 */
static __always_inline enum fate sample_guest(struct bpf_perf_event_data *ctx)
{
	uint64_t kvm = 0, vcpu = find_vcpu(ctx, &kvm);
	uint32_t pid = bpf_get_current_pid_tgid() >> 32;
	bool is_exited = true;
	/* Most samples end here: no map that hashes is looked up for them. */
	if (!vcpu && !may_be_known(pid))
		return NOT_GUESTS;
	const struct vmop_bpf_guest_value *known = bpf_map_lookup_elem(&guests, &pid);
	if (!vcpu && !wants_windows(known))
		return NOT_GUESTS;
	uint64_t start_ns = bpf_ktime_get_ns();
	if (!vcpu) {
		vcpu = recall_vcpu(&kvm);
	} else {
		is_exited = !is_guest_sample(ctx, vcpu);
		if (wants_windows(known))
			remember_vcpu(vcpu, kvm);
	}
	if (!vcpu || (is_exited && !wants_windows(known)))
		return NOT_GUESTS;
	struct guest_work *work = guest_work();
	if (!work)
		return is_exited ? NOT_GUESTS : NOT_REPLACED;
	long status = -1;
	if (fill_context(work, vcpu, kvm, pid, known, is_exited, start_ns))
		status = write_guest(ctx, work, is_exited ? VMOP_BPF_GUEST_STATE : VMOP_BPF_GUEST);
	return count_context(work, is_exited, status, start_ns);
}

#endif
