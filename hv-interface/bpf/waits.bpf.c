// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The BPF program that divides the time of vCPUs' threads: what each of them did, and who had the
 * CPU while it waited. It runs at every switch and wake-up of the scheduler, so a thread that is
 * not watched costs a look at a bit. kvm_exit and kvm_entry give the time of exits by reason.
 *
 * libbpf relocates the structures below by the running kernel's type information, in user space.
 * It reads no structure of KVM's, because that would need CAP_SYS_ADMIN. The youngest helper is
 * bpf_loop, of Linux 5.17.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h> /* needs linux/bpf.h's types */

#include <bpf/bpf_core_read.h>
#include <stdbool.h>
#include <stdint.h>

#include "hv-interface/bpf/waits-layout.h"

char program_license[] SEC("license") = "GPL";

const volatile struct vmop_waits_settings settings SEC(VMOP_WAITS_SETTINGS_SECTION);

/* The words of the CPUs' masks that are in use: user space sets it before a thread is watched. */
volatile uint32_t n_words = 1;

/* ---- the kernel's structures ---------------------------------------------------------- */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct hlist_head {
	void *first;
};
struct task_group;
struct timerqueue_node {
	int64_t expires;
};
struct hrtimer {
	struct timerqueue_node node;
};
struct cfs_bandwidth {
	int64_t period;
	uint64_t quota;
	struct hrtimer period_timer;
};
struct task_group {
	struct task_group *parent;
	struct cfs_bandwidth cfs_bandwidth;
};
struct cfs_rq {
	int throttle_count;
	struct task_group *tg;
};
struct sched_entity {
	struct cfs_rq *cfs_rq;
};
struct kernfs_node {
	uint64_t id;
};
struct cgroup {
	int level;
	struct kernfs_node *kn;
};
struct css_set {
	struct cgroup *dfl_cgrp;
};
struct task_struct {
	unsigned int __state;
	int pid, tgid, wake_cpu;
	struct sched_entity se;
	_Bool throttled; /* Linux 6.18 */
	struct css_set *cgroups;
	struct hlist_head preempt_notifiers;
	struct task_struct *group_leader;
	char comm[16];
};
/* Before Linux 5.14. */
struct task_struct___old {
	long state;
};
#pragma clang attribute pop

/* The scheduler's states: include/linux/sched.h. */
#define UNINTERRUPTIBLE 2
#define DEAD 0x80

#define NO_QUOTA UINT64_MAX
#define MAX_GROUPS 8 /* levels of cgroups whose quota is looked at */

/* ---- maps --------------------------------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VMOP_WAITS_MAX_VICTIMS);
	__type(key, uint32_t);	 /* the thread's id */
	__type(value, uint32_t); /* slot */
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, VMOP_WAITS_N_HINTS);
	__type(key, uint32_t);	 /* the low bits of threads' ids */
	__type(value, uint32_t); /* see VMOP_WAITS_N_HINTS */
} hints SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, VMOP_WAITS_N_HINTS / 64);
	__type(key, uint32_t);
	__type(value, uint64_t); /* a bit for each hint that is not 0 */
} hinted SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, VMOP_WAITS_MAX_VICTIMS);
	__type(key, uint32_t);
	__type(value, struct vmop_waits_victim);
} victims SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* as many as there are CPUs */
	__type(key, uint32_t);
	__type(value, struct vmop_waits_cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VMOP_WAITS_MAX_GUESTS);
	__type(key, uint32_t);	 /* process id */
	__type(value, uint32_t); /* the guest's number */
} guests SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VMOP_WAITS_MAX_PAIRS);
	__type(key, struct vmop_waits_pair_key);
	__type(value, struct vmop_waits_pair);
} pairs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, VMOP_WAITS_MAX_VICTIMS *VMOP_WAITS_PLACES);
	__type(key, uint32_t); /* slot * VMOP_WAITS_PLACES + place */
	__type(value, struct vmop_waits_place);
} places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VMOP_WAITS_MAX_EXITS);
	__type(key, struct vmop_waits_exit_key);
	__type(value, struct vmop_waits_exit);
} exits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, VMOP_WAITS_MAX_ADDRESSES);
	__type(key, struct vmop_waits_address_key);
	__type(value, uint64_t);
} addresses SEC(".maps");

static __always_inline struct vmop_waits_cpu *cpu_at(uint32_t cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

static __always_inline struct vmop_waits_victim *victim_at(uint32_t slot)
{
	return bpf_map_lookup_elem(&victims, &slot);
}

/*
 * Return the hint for an id. Most threads are not watched and most processes are no guest's, which
 * a bit shows: all bits are in 2 KiB, which stay in the CPU's cache. An element of an array costs a
 * load, a look-up in a hash some 15 ns.
 */
static __always_inline uint32_t hint_of(uint32_t id)
{
	uint32_t place = id % VMOP_WAITS_N_HINTS, word = place / 64;
	const uint64_t *bits = bpf_map_lookup_elem(&hinted, &word);
	if (!bits || !(*bits >> place % 64 & 1))
		return 0;
	const uint32_t *hint = bpf_map_lookup_elem(&hints, &place);
	return hint ? *hint : 0;
}

static __always_inline struct vmop_waits_victim *victim_of(uint32_t tid, uint32_t *ret_slot)
{
	uint32_t slot = hint_of(tid) & VMOP_WAITS_HINT_SLOT;
	if (!slot)
		return NULL;
	*ret_slot = slot;
	struct vmop_waits_victim *victim = victim_at(slot);
	if (!victim || victim->tid == tid)
		return victim;
	const uint32_t *found = bpf_map_lookup_elem(&slots, &tid);
	if (!found)
		return NULL;
	*ret_slot = *found;
	return victim_at(*found);
}

/* Return the number of the guest that a process runs, or NULL. */
static __always_inline const uint32_t *guest_of(uint32_t tgid)
{
	return hint_of(tgid) & VMOP_WAITS_HINT_GUEST ? bpf_map_lookup_elem(&guests, &tgid) : NULL;
}

/* ---- the cost of this program ------------------------------------------------------------- */

/* Count a run, and return the time if it is one of those that are measured, else 0. */
static __always_inline uint64_t begin_run(uint64_t *n)
{
	return (*n)++ % VMOP_WAITS_MEASURED ? 0 : bpf_ktime_get_ns();
}

static __always_inline void end_run(struct vmop_waits_cpu *cpu, enum vmop_waits_program program,
				    uint64_t begun_ns)
{
	if (!begun_ns)
		return;
	cpu->measured[program]++;
	cpu->measured_ns[program] += bpf_ktime_get_ns() - begun_ns;
}

/*
 * The chargers of a thread's time. The lock of a run queue puts the scheduler's events of a thread
 * in turns, so that they need no atomic additions. (A thread that wakes on another CPU than its
 * wake_cpu may lose a wait, until it runs.) A request of user space comes at any time, and has sums
 * of its own.
 */
enum charger {
	SCHEDULER,
	REQUEST,
};

/* ---- quotas ------------------------------------------------------------------------------- */

/* Return whether a quota keeps the task from its CPU. is_argument: see set_culprit. */
static __always_inline bool is_throttled(struct task_struct *task, bool is_argument)
{
	if (!task)
		return false;
	if (bpf_core_field_exists(task->throttled))
		return is_argument ? task->throttled : BPF_CORE_READ(task, throttled);
	if (!bpf_core_field_exists(struct cfs_rq, throttle_count))
		return false;
	struct cfs_rq *queue = BPF_CORE_READ(task, se.cfs_rq);
	return queue && BPF_CORE_READ(queue, throttle_count) > 0;
}

/*
 * Return when a quota of the task's groups was last renewed, or 0. No event reports that a
 * throttled task may run again: it is then. A global function, which the verifier checks once.
 */
__attribute__((noinline)) uint64_t renewed_ns(uint64_t task_address)
{
	struct task_struct *task = (struct task_struct *)task_address;
	uint64_t latest = 0;
	if (!bpf_core_field_exists(struct cfs_rq, tg) ||
	    !bpf_core_field_exists(struct timerqueue_node, expires))
		return 0;
	struct cfs_rq *queue = BPF_CORE_READ(task, se.cfs_rq);
	struct task_group *group = queue ? BPF_CORE_READ(queue, tg) : NULL;
	for (int i = 0; i < MAX_GROUPS && group; i++) {
		if (BPF_CORE_READ(group, cfs_bandwidth.quota) != NO_QUOTA) {
			uint64_t at_ns = (uint64_t)BPF_CORE_READ(
						 group, cfs_bandwidth.period_timer.node.expires) -
					 (uint64_t)BPF_CORE_READ(group, cfs_bandwidth.period);
			if (at_ns > latest)
				latest = at_ns;
		}
		group = BPF_CORE_READ(group, parent);
	}
	return latest;
}

/*
 * Return how much of a wait in [since_ns, now_ns) was for a quota. The victim has the state at its
 * begin, is_throttled is that at its end: a thread is throttled at a switch, where a wait begins
 * anew.
 */
static __always_inline uint64_t quota_part(struct vmop_waits_victim *victim, bool is_throttled,
					   uint64_t since_ns, uint64_t now_ns)
{
	bool was_throttled = victim->is_throttled;
	victim->is_throttled = is_throttled;
	if (!was_throttled)
		return 0;
	if (is_throttled)
		return now_ns - since_ns;
	uint64_t at_ns = renewed_ns(victim->task);
	return at_ns > since_ns && at_ns < now_ns ? at_ns - since_ns : now_ns - since_ns;
}

/* ---- culprits ----------------------------------------------------------------------------- */

/*
 * Set a pair's culprit to the owner of a CPU. Direct loads are cheaper than the helper's, and only
 * allowed for a tracepoint's argument: is_argument.
 */
static __always_inline void set_culprit(struct vmop_waits_pair_key *key, struct task_struct *task,
					bool is_argument, uint32_t *ret_tgid)
{
	uint32_t tgid = !task	      ? 0
			: is_argument ? (uint32_t)task->tgid
				      : (uint32_t)BPF_CORE_READ(task, tgid);
	*ret_tgid = tgid;
	key->id[0] = key->id[1] = 0;
	if (!tgid) {
		key->kind = task ? VMOP_CULPRIT_IDLE : VMOP_CULPRIT_OTHERS;
		return;
	}
	const uint32_t *guest = guest_of(tgid);
	if (guest) {
		key->kind = VMOP_CULPRIT_GUEST;
		key->id[0] = *guest;
		return;
	}
	int level;
	struct cgroup *cgroup;
	if (is_argument) {
		cgroup = task->cgroups->dfl_cgrp;
		level = cgroup->level;
	} else {
		cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
		level = BPF_CORE_READ(cgroup, level);
	}
	if (level > 0) {
		key->kind = VMOP_CULPRIT_CGROUP;
		key->id[0] = is_argument ? cgroup->kn->id : BPF_CORE_READ(cgroup, kn, id);
		return;
	}
	key->kind = VMOP_CULPRIT_PROCESS;
	const struct task_struct *leader =
		is_argument ? task->group_leader : BPF_CORE_READ(task, group_leader);
	if (is_argument)
		__builtin_memcpy(key->id, leader->comm, sizeof(key->id));
	else
		bpf_probe_read_kernel(key->id, sizeof(key->id), leader->comm);
}

/* Set a pair's culprit to a task that is a tracepoint's argument. victim: the task's, or NULL. */
static __always_inline void set_running_culprit(struct vmop_waits_pair_key *key,
						struct task_struct *task,
						const struct vmop_waits_victim *victim,
						uint32_t *ret_tgid)
{
	if (!victim) {
		set_culprit(key, task, true, ret_tgid);
		return;
	}
	key->kind = VMOP_CULPRIT_GUEST;
	key->id[0] = victim->guest;
	key->id[1] = 0;
	*ret_tgid = (uint32_t)task->tgid;
}

/* Keep an index below a power of two, where the verifier of older kernels sees it. */
static __always_inline uint32_t bounded(uint32_t index, uint32_t n)
{
	barrier_var(index);
	return index & (n - 1);
}

/* Return the place of a pair's culprit among a victim's: all victims have it there. */
static __always_inline uint32_t place_of(const struct vmop_waits_pair_key *key)
{
	uint64_t id = key->id[0] ^ key->id[1] ^ (uint64_t)key->kind << 32;
	return bounded((uint32_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 60), VMOP_WAITS_PLACES);
}

/*
 * Add a wait to the culprit's place, which costs less than a look-up in a hash. False: another
 * culprit has it.
 */
static __always_inline bool add_to_place(const struct vmop_waits_pair_key *key, uint32_t tgid,
					 uint64_t time_ns)
{
	uint32_t at = key->slot * VMOP_WAITS_PLACES + place_of(key), kind_after = key->kind + 1;
	struct vmop_waits_place *found = bpf_map_lookup_elem(&places, &at);
	if (!found)
		return false;
	if (found->kind_after == kind_after && found->id[0] == key->id[0] &&
	    found->id[1] == key->id[1]) {
		found->time_ns += time_ns;
		found->count++;
		found->tgid = tgid;
		return true;
	}
	if (found->kind_after)
		return false;
	found->id[0] = key->id[0];
	found->id[1] = key->id[1];
	found->time_ns = time_ns;
	found->count = 1;
	found->tgid = tgid;
	barrier();
	found->kind_after = kind_after;
	return true;
}

static __always_inline void add_pair(struct vmop_waits_victim *victim,
				     const struct vmop_waits_pair_key *key, uint32_t tgid,
				     uint64_t time_ns)
{
	struct vmop_waits_pair *pair = bpf_map_lookup_elem(&pairs, key);
	if (pair) {
		__sync_fetch_and_add(&pair->time_ns, time_ns);
		__sync_fetch_and_add(&pair->count, 1);
		pair->tgid = tgid;
		return;
	}
	struct vmop_waits_pair fresh = {.time_ns = time_ns, .count = 1, .tgid = tgid};
	if (bpf_map_update_elem(&pairs, key, &fresh, BPF_NOEXIST))
		__sync_fetch_and_add(&victim->others_ns, time_ns);
}

static __always_inline uint32_t word_of(uint32_t slot)
{
	return bounded(slot / 64, VMOP_WAITS_MASK_WORDS);
}

static __always_inline void set_waiting_on(struct vmop_waits_cpu *cpu, uint32_t slot)
{
	if (slot < VMOP_WAITS_MAX_VICTIMS)
		__sync_fetch_and_or(&cpu->waiting[word_of(slot)], UINT64_C(1) << slot % 64);
}

static __always_inline void set_waiting(uint32_t cpu, uint32_t slot)
{
	struct vmop_waits_cpu *at = cpu_at(cpu);
	if (at)
		set_waiting_on(at, slot);
}

static __always_inline void clear_waiting(uint32_t cpu, uint32_t slot)
{
	struct vmop_waits_cpu *at = cpu_at(cpu);
	if (at && slot < VMOP_WAITS_MAX_VICTIMS)
		__sync_fetch_and_and(&at->waiting[word_of(slot)], ~(UINT64_C(1) << slot % 64));
}

/* ---- charging ----------------------------------------------------------------------------- */

/* Take the time since the last charge, so that no other CPU charges it too. 0: none. */
static __always_inline uint64_t take_time(struct vmop_waits_victim *victim, uint64_t now_ns,
					  uint64_t *ret_since_ns)
{
	uint64_t since_ns = __sync_lock_test_and_set(&victim->since_ns, now_ns);
	*ret_since_ns = since_ns;
	return now_ns > since_ns ? now_ns - since_ns : 0;
}

static __always_inline void add_time(struct vmop_waits_victim *victim, uint32_t state,
				     enum charger charger, uint64_t time_ns)
{
	if (state >= VMOP_WAIT_N_STATES || !time_ns)
		return;
	uint32_t at = bounded(state, VMOP_WAIT_N_STATES);
	if (charger == SCHEDULER)
		victim->states[at].time_ns += time_ns;
	else
		__sync_fetch_and_add(&victim->settled_ns[at], time_ns);
}

/* Return the time that the thread was not on a CPU. Exits need it, which are rarer than switches.
 */
static __always_inline uint64_t off_ns(const struct vmop_waits_victim *victim)
{
	uint64_t sum_ns = 0;
	for (uint32_t state = 0; state < VMOP_WAIT_N_STATES; state++)
		sum_ns += state == VMOP_WAIT_RUNNING
				  ? 0
				  : victim->states[state].time_ns + victim->settled_ns[state];
	return sum_ns;
}

/*
 * Charge a wait to its culprit, except for the part that is for a quota. is_throttled: whether a
 * quota keeps it waiting.
 */
static __always_inline void charge_wait(struct vmop_waits_victim *victim,
					const struct vmop_waits_pair_key *key, uint32_t tgid,
					enum charger charger, bool is_throttled, uint64_t now_ns)
{
	uint64_t since_ns, time_ns = take_time(victim, now_ns, &since_ns);
	if (!time_ns)
		return;
	uint64_t quota_ns = quota_part(victim, is_throttled, since_ns, now_ns);
	if (quota_ns > time_ns)
		quota_ns = time_ns;
	add_time(victim, VMOP_WAIT_QUOTA, charger, quota_ns);
	time_ns -= quota_ns;
	if (!time_ns)
		return;
	add_time(victim, VMOP_WAIT_WAITING, charger, time_ns);
	if (charger == REQUEST || !add_to_place(key, tgid, time_ns))
		add_pair(victim, key, tgid, time_ns);
}

/*
 * Return whether a quota keeps a thread that waits. Since Linux 6.18 a task is only throttled while
 * it runs, so that one whose wait began without is not looked at.
 */
static __always_inline bool is_waiter_throttled(const struct vmop_waits_victim *victim)
{
	const struct task_struct *task = NULL;
	if (bpf_core_field_exists(task->throttled) && !victim->is_throttled)
		return false;
	return is_throttled((struct task_struct *)victim->task, false);
}

/* Charge a thread that still waits: its task is no argument of a tracepoint. */
static __always_inline void charge_waiter(struct vmop_waits_victim *victim,
					  const struct vmop_waits_pair_key *key, uint32_t tgid,
					  enum charger charger, uint64_t now_ns)
{
	charge_wait(victim, key, tgid, charger, is_waiter_throttled(victim), now_ns);
}

/* Charge a state without a culprit. */
static __always_inline void charge(struct vmop_waits_victim *victim, enum charger charger,
				   uint64_t now_ns)
{
	uint64_t since_ns, time_ns = take_time(victim, now_ns, &since_ns);
	add_time(victim, victim->state, charger, time_ns);
}

struct walk {
	uint64_t begun_ns, now_ns, bits;
	uint32_t first, tgid, cpu;
	struct vmop_waits_pair_key key;
};

/*
 * Return the number of the lowest set bit, by counting the bits below it. Branches would give the
 * verifier 64 paths through all that follows.
 */
static __always_inline uint32_t lowest_bit(uint64_t bits)
{
	uint64_t below = (bits & -bits) - 1;
	below -= below >> 1 & UINT64_C(0x5555555555555555);
	below = (below & UINT64_C(0x3333333333333333)) +
		(below >> 2 & UINT64_C(0x3333333333333333));
	below = (below + (below >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t)(below * UINT64_C(0x0101010101010101) >> 56);
}

static long charge_one(uint32_t i, struct walk *walk)
{
	(void)i;
	if (!walk->bits)
		return 1;
	walk->key.slot = walk->first + lowest_bit(walk->bits);
	walk->bits &= walk->bits - 1;
	struct vmop_waits_victim *victim = victim_at(walk->key.slot);
	if (victim && victim->state == VMOP_WAIT_WAITING && victim->cpu == walk->cpu)
		charge_waiter(victim, &walk->key, walk->tgid, SCHEDULER, walk->now_ns);
	else /* it is no longer watched, and its slot may have another's */
		clear_waiting(walk->cpu, walk->key.slot);
	return 0;
}

static long charge_word(uint32_t word, struct walk *walk)
{
	const struct vmop_waits_cpu *cpu = cpu_at(walk->cpu);
	if (!cpu || word >= VMOP_WAITS_MASK_WORDS)
		return 1;
	walk->bits = cpu->waiting[bounded(word, VMOP_WAITS_MASK_WORDS)];
	walk->first = word * 64;
	if (!walk->bits)
		return 0;
	walk->now_ns = walk->begun_ns;
	/* Mostly one waits: a loop's calls would cost more than they do. */
	charge_one(0, walk);
	if (walk->bits)
		bpf_loop(63, charge_one, walk, 0);
	return 0;
}

/*
 * Charge all that wait for the CPU to the task that had it; victim: that task's, or NULL. Return
 * until when, or 0: none waits.
 */
static __always_inline uint64_t charge_waiting(const struct vmop_waits_cpu *cpu, uint32_t number,
					       struct task_struct *task,
					       const struct vmop_waits_victim *victim)
{
	struct walk walk = {.cpu = number};
	uint32_t n = n_words;
	if (n == 1 && !cpu->waiting[0])
		return 0;
	walk.begun_ns = bpf_ktime_get_ns();
	set_running_culprit(&walk.key, task, victim, &walk.tgid);
	if (n == 1)
		charge_word(0, &walk);
	else
		bpf_loop(n, charge_word, &walk, 0);
	return walk.now_ns;
}

/* ---- the scheduler ------------------------------------------------------------------------ */

/* Begin a state. The kernel holds the run queue's lock: no other CPU does so for this thread. */
static __always_inline void enter(struct vmop_waits_victim *victim, uint32_t state)
{
	victim->state = state;
	victim->states[bounded(state, VMOP_WAIT_N_STATES)].count++;
}

static __always_inline uint64_t state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return (uint64_t)((struct task_struct___old *)task)->state;
}

/* Return what a thread does that leaves its CPU. */
static __always_inline uint32_t state_after(struct task_struct *task, bool is_preempted,
					    uint64_t asked)
{
	/* A signal makes a task go on that was about to sleep. */
	uint64_t now = state_of(task);
	if (is_preempted || !asked || !now)
		return VMOP_WAIT_WAITING;
	if (asked & UNINTERRUPTIBLE)
		return VMOP_WAIT_BLOCKED;
	/* KVM puts its notifier into the task for the time that the task runs a vCPU. */
	return task->preempt_notifiers.first ? VMOP_WAIT_HALTED : VMOP_WAIT_VMM;
}

static __always_inline void leave_cpu(struct vmop_waits_victim *victim, uint32_t slot,
				      struct task_struct *task, struct vmop_waits_cpu *at,
				      uint32_t cpu, uint32_t state, uint64_t now_ns)
{
	if (victim->state == VMOP_WAIT_WAITING) /* it was taken for one that waits */
		clear_waiting(victim->cpu, slot);
	if (victim->state != VMOP_WAIT_UNKNOWN)
		victim->state = VMOP_WAIT_RUNNING;
	charge(victim, SCHEDULER, now_ns);
	victim->task = (uint64_t)task;
	victim->cpu = cpu;
	victim->is_throttled = state == VMOP_WAIT_WAITING && is_throttled(task, true);
	enter(victim, state);
	if (state == VMOP_WAIT_WAITING)
		set_waiting_on(at, slot);
}

/*
 * Charge a wait that a walk through this CPU's did not find, because another CPU has its bit. Not
 * inline: the less code a switch has, the more of it is in the CPU's cache.
 */
static __attribute__((noinline)) int charge_missed(struct vmop_waits_victim *victim, uint32_t slot,
						   struct task_struct *task,
						   struct task_struct *before, uint64_t now_ns)
{
	struct vmop_waits_pair_key key = {.slot = slot};
	uint32_t tgid;
	set_culprit(&key, before, true, &tgid);
	charge_wait(victim, &key, tgid, SCHEDULER, is_throttled(task, true), now_ns);
	return 0;
}

static __always_inline void take_cpu(struct vmop_waits_victim *victim, uint32_t slot,
				     struct task_struct *task, struct task_struct *before,
				     uint32_t cpu, uint64_t now_ns)
{
	if (victim->state != VMOP_WAIT_WAITING) {
		charge(victim, SCHEDULER, now_ns);
	} else {
		clear_waiting(victim->cpu, slot);
		if (victim->since_ns < now_ns) /* else the walk has charged it */
			charge_missed(victim, slot, task, before, now_ns);
	}
	victim->task = (uint64_t)task;
	victim->cpu = cpu;
	enter(victim, VMOP_WAIT_RUNNING);
}

SEC("tp_btf/sched_switch")
int vmop_switch(uint64_t *ctx)
{
	struct task_struct *previous = (struct task_struct *)ctx[1];
	struct task_struct *next = (struct task_struct *)ctx[2];
	uint32_t number = bpf_get_smp_processor_id(), leaving_slot = 0, slot = 0;
	struct vmop_waits_cpu *cpu = cpu_at(number);
	if (!cpu)
		return 0;
	uint64_t begun_ns = begin_run(&cpu->n_switches);
	struct vmop_waits_victim *leaving = victim_of((uint32_t)previous->pid, &leaving_slot);
	uint64_t now_ns = charge_waiting(cpu, number, previous, leaving);
	if (leaving) {
		uint64_t asked = settings.has_state_argument ? ctx[3] : state_of(previous);
		if (!now_ns)
			now_ns = bpf_ktime_get_ns();
		leave_cpu(leaving, leaving_slot, previous, cpu, number,
			  state_after(previous, ctx[0], asked), now_ns);
	}
	struct vmop_waits_victim *victim = victim_of((uint32_t)next->pid, &slot);
	if (victim) {
		if (!now_ns)
			now_ns = bpf_ktime_get_ns();
		take_cpu(victim, slot, next, previous, number, now_ns);
	}
	cpu->task = (uint64_t)next;
	end_run(cpu, VMOP_WAITS_SWITCH, begun_ns);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int vmop_wakeup(uint64_t *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	struct vmop_waits_cpu *cpu = cpu_at(bpf_get_smp_processor_id());
	uint32_t slot;
	if (!cpu)
		return 0;
	uint64_t begun_ns = begin_run(&cpu->n_wakeups);
	struct vmop_waits_victim *victim = victim_of((uint32_t)task->pid, &slot);
	/* One that runs was woken before it was off its CPU. */
	if (victim && victim->state != VMOP_WAIT_RUNNING && victim->state != VMOP_WAIT_WAITING) {
		uint32_t to = (uint32_t)task->wake_cpu;
		charge(victim, SCHEDULER, bpf_ktime_get_ns());
		victim->task = (uint64_t)task;
		victim->cpu = to;
		victim->is_throttled = is_throttled(task, true);
		enter(victim, VMOP_WAIT_WAITING);
		set_waiting(to, slot);
	}
	end_run(cpu, VMOP_WAITS_WAKEUP, begun_ns);
	return 0;
}

/* A thread that waits is moved to another CPU. */
SEC("tp_btf/sched_migrate_task")
int vmop_migrate(uint64_t *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	uint32_t slot, to = (uint32_t)ctx[1];
	struct vmop_waits_victim *victim = victim_of((uint32_t)task->pid, &slot);
	if (!victim || victim->state != VMOP_WAIT_WAITING || victim->cpu == to)
		return 0;
	struct vmop_waits_cpu *from = cpu_at(victim->cpu);
	struct vmop_waits_pair_key key = {.slot = slot};
	uint32_t tgid;
	if (!from)
		return 0;
	set_culprit(&key, (struct task_struct *)from->task, false, &tgid);
	charge_waiter(victim, &key, tgid, SCHEDULER, bpf_ktime_get_ns());
	clear_waiting(victim->cpu, slot);
	victim->cpu = to;
	set_waiting(to, slot);
	return 0;
}

/* ---- requests of user space ---------------------------------------------------------------- */

/* Decide what a thread that was ready to run at its first look did: /proc knows its CPU. */
static __always_inline void decide_unknown(struct vmop_waits_victim *victim, uint32_t slot,
					   const struct vmop_waits_cpu *cpu)
{
	struct task_struct *task = (struct task_struct *)cpu->task;
	bool runs = task && BPF_CORE_READ(task, pid) == (int)victim->tid;
	uint32_t state = runs ? VMOP_WAIT_RUNNING : VMOP_WAIT_WAITING;
	if (__sync_val_compare_and_swap(&victim->state, VMOP_WAIT_UNKNOWN, state) ==
		    VMOP_WAIT_UNKNOWN &&
	    !runs)
		set_waiting(victim->cpu, slot);
}

static long settle_one(uint32_t i, const uint64_t *now_ns)
{
	struct vmop_waits_victim *victim = victim_at(i);
	if (!victim || !victim->tid)
		return 0;
	struct vmop_waits_cpu *cpu = cpu_at(victim->cpu);
	if (cpu && victim->state == VMOP_WAIT_UNKNOWN)
		decide_unknown(victim, i, cpu);
	if (victim->state != VMOP_WAIT_WAITING) {
		charge(victim, REQUEST, *now_ns);
	} else if (cpu) {
		struct vmop_waits_pair_key key = {.slot = i};
		uint32_t tgid;
		set_culprit(&key, (struct task_struct *)cpu->task, false, &tgid);
		charge_waiter(victim, &key, tgid, REQUEST, *now_ns);
	}
	return 0;
}

/* Charge all victims until now. */
SEC("raw_tp")
int vmop_settle(void *ctx)
{
	uint64_t now_ns = bpf_ktime_get_ns();
	(void)ctx;
	bpf_loop(VMOP_WAITS_MAX_VICTIMS, settle_one, &now_ns, 0);
	return 0;
}

/* Note what this CPU runs, before its first switch. */
SEC("raw_tp")
int vmop_prime(void *ctx)
{
	struct vmop_waits_cpu *cpu = cpu_at(bpf_get_smp_processor_id());
	(void)ctx;
	if (cpu)
		cpu->task = bpf_get_current_task();
	return 0;
}

/* ---- exits --------------------------------------------------------------------------------- */

static __always_inline void count_address(uint32_t guest, uint32_t reason, uint64_t address)
{
	const struct vmop_waits_address_key key = {
		.guest = guest, .reason = reason, .address = address};
	const uint64_t one = 1;
	uint64_t *n = bpf_map_lookup_elem(&addresses, &key);
	if (n)
		__sync_fetch_and_add(n, 1);
	else
		bpf_map_update_elem(&addresses, &key, &one, BPF_NOEXIST);
}

SEC("tp/kvm/kvm_exit")
int vmop_exit(char *record)
{
	struct vmop_waits_cpu *cpu = cpu_at(bpf_get_smp_processor_id());
	uint32_t slot, reason = 0, class = 0;
	uint64_t address = 0;
	struct vmop_waits_victim *victim = victim_of((uint32_t)bpf_get_current_pid_tgid(), &slot);
	if (!victim || !cpu)
		return 0;
	uint64_t begun_ns = begin_run(&cpu->n_exits);
	victim->exit_ns = bpf_ktime_get_ns();
	victim->off_at_exit_ns = off_ns(victim);
	bpf_probe_read_kernel(&reason, sizeof(reason), record + settings.reason_at);
	if (settings.class_at) {
		bpf_probe_read_kernel(&class, sizeof(class), record + settings.class_at);
		reason = (reason & 0xff) << 8 | (class & 0xff);
	}
	victim->reason = reason;
	bpf_probe_read_kernel(&address, sizeof(address), record + settings.address_at);
	count_address(victim->guest, reason, address);
	end_run(cpu, VMOP_WAITS_EXIT, begun_ns);
	return 0;
}

SEC("raw_tp/kvm_entry")
int vmop_entry(void *ctx)
{
	struct vmop_waits_cpu *cpu = cpu_at(bpf_get_smp_processor_id());
	uint32_t slot;
	(void)ctx;
	struct vmop_waits_victim *victim = victim_of((uint32_t)bpf_get_current_pid_tgid(), &slot);
	if (!victim || !victim->exit_ns || !cpu)
		return 0;
	uint64_t begun_ns = begin_run(&cpu->n_entries);
	uint64_t slept_ns = off_ns(victim) - victim->off_at_exit_ns;
	uint64_t time_ns = bpf_ktime_get_ns() - victim->exit_ns;
	const struct vmop_waits_exit_key key = {.slot = slot, .reason = victim->reason};
	time_ns = time_ns > slept_ns ? time_ns - slept_ns : 0;
	victim->exit_ns = 0;
	struct vmop_waits_exit *exit = bpf_map_lookup_elem(&exits, &key);
	if (exit) {
		exit->count++;
		exit->time_ns += time_ns;
	} else {
		const struct vmop_waits_exit first = {.count = 1, .time_ns = time_ns};
		bpf_map_update_elem(&exits, &key, &first, BPF_NOEXIST);
	}
	end_run(cpu, VMOP_WAITS_ENTRY, begun_ns);
	return 0;
}
