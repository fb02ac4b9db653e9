// SPDX-License-Identifier: GPL-2.0-or-later
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "session.h"

#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <vmop/xenoprof.h>
#include <xen/interface/xen.h>
#include <xen/xen.h>
#include <asm/xen/hypercall.h>

#include "buffer.h"
#include "cpu.h"

/* More than fits into the pages that Xen shares; Xen uses what fits. */
#define ALL_SAMPLES 8192

enum state {
	STATE_IDLE,
	STATE_INITIALISED, /* as in the hypercall; prepared, started, stopped likewise */
	STATE_PREPARED,
	STATE_STARTED,
	STATE_STOPPED,
};

static struct {
	enum state state;
	bool is_primary;
	/* The resources of Xen's that must be given back. */
	bool is_own_shared, is_listed, is_virq_enabled, is_reserved;
	/*
	 * This domain's buffers. In an active domU they can outlive a session: Xen takes them back
	 * only from a listed domain, once the initiator has stopped, and gives no others until
	 * then.
	 */
	struct vmop_buffers *own;
	struct vmop_buffers *passive[VMOP_XENDEV_MAX_DOMAINS];
	u32 n_passive;
	bool are_cpus_served;
	struct vmop_rings *rings;
	unsigned long poll_jiffies;
	struct delayed_work poll_work;
	struct vmop_xendev_stats past; /* of buffers that are unmapped */
	u64 interrupts_before;
} session;

/* Make the hypercall. Return 0, or Xen's negative errno, which equals Linux's. */
static int xenoprof_call(enum vmop_xenoprof_op op, void *arg)
{
	return _hypercall2(int, xenoprof_op, op, arg);
}

static int call(s32 *failed_op, enum vmop_xenoprof_op op, void *arg)
{
	int ret = xenoprof_call(op, arg);

	if (ret < 0)
		*failed_op = op;
	return ret;
}

/* Make a call on the way back, and log its error: no other reaction is possible. */
static void call_back(enum vmop_xenoprof_op op)
{
	int ret = xenoprof_call(op, NULL);

	if (ret < 0)
		pr_warn("xenoprof operation %d failed: %d\n", op, ret);
}

/* Drain the buffers of passive domains: Xen sends no interrupt for them. */
static void drain_passive(void)
{
	struct vmop_xendev_record like = {
		.time_ns = ktime_get_mono_fast_ns(),
		.pid = VMOP_XENDEV_NO_TASK,
		.tid = VMOP_XENDEV_NO_TASK,
		.cpu = VMOP_XENDEV_NO_TASK,
		.flags = VMOP_XENDEV_POLLED,
	};
	struct vmop_buffers *buffers;
	u32 i, j;

	for (i = 0; i < session.n_passive; i++) {
		buffers = session.passive[i];
		for (j = 0; j < buffers->n; j++)
			vmop_buffer_drain(&buffers->buffers[j], session.rings, session.rings->n - 1,
					  &like);
	}
}

static void poll_passive(struct work_struct *work)
{
	drain_passive();
	queue_delayed_work(system_highpri_wq, to_delayed_work(work), session.poll_jiffies);
}

/* Unmap buffers but keep their counts. */
static void unmap(struct vmop_buffers *buffers)
{
	vmop_buffers_add_stats(buffers, &session.past);
	vmop_buffers_unmap(buffers);
}

/* Give this domain's buffers back. Return false if Xen refuses, see above. */
static bool disable_own(void)
{
	if (xenoprof_call(VMOP_XENOPROF_DISABLE_VIRQ, NULL) < 0)
		return false;
	session.is_virq_enabled = false;
	session.is_own_shared = false;
	return true;
}

static void unmap_own(void)
{
	if (session.own)
		unmap(session.own);
	session.own = NULL;
}

static void take_back_primary(void)
{
	if (session.is_listed && !disable_own())
		pr_warn("Xen does not take this domain's buffers back\n");
	/* Also releases the domains that never answered. */
	call_back(VMOP_XENOPROF_RESET_ACTIVE_LIST);
	if (session.is_reserved)
		call_back(VMOP_XENOPROF_RELEASE_COUNTERS);
	else
		call_back(VMOP_XENOPROF_RESET_PASSIVE_LIST);
	call_back(VMOP_XENOPROF_SHUTDOWN);
	session.is_listed = false;
	session.is_virq_enabled = false;
	session.is_reserved = false;
	session.is_own_shared = false;
}

/*
 * Undo every step since INIT. The requirements of the calls determine the order: no mapping may be
 * left when Xen takes its pages back, and no domain on a list when the list is dropped.
 */
static void take_back(void)
{
	if (session.are_cpus_served)
		vmop_cpus_stop();
	session.are_cpus_served = false;
	while (session.n_passive > 0)
		unmap(session.passive[--session.n_passive]);
	if (session.is_primary || !session.is_own_shared)
		unmap_own();
	if (session.is_primary)
		take_back_primary();
}

/* Return whether a process in this domain has a session. The module ends its own. */
static bool is_commanded(void)
{
	/* The call reads a number, but only for the domain that has the session. */
	return xenoprof_call(VMOP_XENOPROF_GET_IBS_CAPS, NULL) >= 0;
}

static u32 end_remains(void)
{
	u32 left = 0;

	/* Each call fails if it has nothing to end; the next one may still succeed. */
	if (!xenoprof_call(VMOP_XENOPROF_STOP, NULL))
		left |= VMOP_XENDEV_LEFT_RUNNING;
	if (!xenoprof_call(VMOP_XENOPROF_DISABLE_VIRQ, NULL))
		left |= VMOP_XENDEV_LEFT_ACTIVE;
	if (!xenoprof_call(VMOP_XENOPROF_RELEASE_COUNTERS, NULL))
		left |= VMOP_XENDEV_LEFT_RESERVED;
	xenoprof_call(VMOP_XENOPROF_RESET_PASSIVE_LIST, NULL);
	xenoprof_call(VMOP_XENOPROF_RESET_ACTIVE_LIST, NULL);
	if (!xenoprof_call(VMOP_XENOPROF_SHUTDOWN, NULL))
		left |= VMOP_XENDEV_LEFT_OWNED;
	return left;
}

/*
 * Begin a session. A domU skips Xen's INIT, which has no use there and would set up the counters
 * again under dom0: that brings Xen down while they count.
 */
static int begin(struct vmop_xendev_init *init)
{
	struct vmop_xenoprof_init xen = {};
	int ret;

	if (!xen_initial_domain()) {
		init->cpu_type[0] = '\0';
		init->n_counters = VMOP_XENDEV_MAX_EVENTS;
		init->is_primary = 0;
		return 0;
	}
	ret = call(&init->failed_op, VMOP_XENOPROF_INIT, &xen);
	if (ret)
		return ret;
	strscpy(init->cpu_type, xen.cpu_type, sizeof(init->cpu_type));
	init->n_counters = xen.n_events;
	init->is_primary = !!xen.is_primary;
	return 0;
}

int vmop_session_init(struct vmop_xendev_init *init)
{
	int ret;

	if (session.state != STATE_IDLE)
		return -EBUSY;
	if (init->take_over > 1 || init->reserved)
		return -EINVAL;
	init->n_cpus = nr_cpu_ids;
	init->left = 0;
	if (is_commanded()) {
		if (!init->take_over)
			return -EBUSY;
		init->left = end_remains();
	}
	ret = begin(init);
	if (ret)
		return ret;
	session.is_primary = init->is_primary;
	session.state = STATE_INITIALISED;
	return 0;
}

static int check_lists(const struct vmop_xendev_prepare *prepare)
{
	u32 i;

	if (prepare->n_events > VMOP_XENDEV_MAX_EVENTS ||
	    prepare->n_active > VMOP_XENDEV_MAX_DOMAINS ||
	    prepare->n_passive > VMOP_XENDEV_MAX_DOMAINS)
		return -EINVAL;
	if (!session.is_primary)
		return prepare->n_events || prepare->n_active || prepare->n_passive ? -EINVAL : 0;
	for (i = 0; i < prepare->n_events; i++)
		if (prepare->events[i].xen > 1 || prepare->events[i].kernel > 1 ||
		    prepare->events[i].user > 1 ||
		    memchr_inv(prepare->events[i].reserved, 0, sizeof(prepare->events[i].reserved)))
			return -EINVAL;
	for (i = 0; i < prepare->n_active; i++)
		if (prepare->active[i].reserved || prepare->active[i].domid >= DOMID_FIRST_RESERVED)
			return -EINVAL;
	for (i = 0; i < prepare->n_passive; i++)
		if (prepare->passive[i].reserved ||
		    prepare->passive[i].domid >= DOMID_FIRST_RESERVED)
			return -EINVAL;
	return 0;
}

static int check_prepare(const struct vmop_xendev_prepare *prepare)
{
	if (prepare->ring_records < VMOP_XENDEV_MIN_RING_RECORDS ||
	    prepare->ring_records > VMOP_XENDEV_MAX_RING_RECORDS ||
	    !is_power_of_2(prepare->ring_records) || !prepare->wakeup_records ||
	    prepare->wakeup_records > prepare->ring_records || !prepare->poll_ms ||
	    prepare->poll_ms > VMOP_XENDEV_MAX_POLL_MS)
		return -EINVAL;
	if (session.rings && session.rings->n_records != prepare->ring_records)
		return -EINVAL;
	return check_lists(prepare);
}

static int prepare_rings(struct vmop_xendev_prepare *prepare)
{
	struct vmop_rings *rings;
	int ret;

	if (!session.rings) {
		prepare->failed_op = VMOP_XENDEV_STEP_RINGS;
		ret = vmop_rings_create(nr_cpu_ids + 1, prepare->ring_records, &rings);
		if (ret)
			return ret;
		/* poll() and mmap() read it without the lock. */
		smp_store_release(&session.rings, rings);
	}
	WRITE_ONCE(session.rings->wakeup_records, prepare->wakeup_records);
	prepare->mmap_bytes = session.rings->map_bytes;
	return 0;
}

/*
 * A profiler that ended half-way can have left the pages shared. Only DISABLE_VIRQ of a listed
 * domain undoes that.
 */
static void unshare_own(void)
{
	domid_t self = 0;

	if (session.is_primary && xenoprof_call(VMOP_XENOPROF_SET_ACTIVE, &self) < 0)
		return;
	xenoprof_call(VMOP_XENOPROF_DISABLE_VIRQ, NULL);
}

static int map_own(s32 *failed_op)
{
	struct vmop_xenoprof_get_buffer get = { .max_samples = ALL_SAMPLES };
	int ret = call(failed_op, VMOP_XENOPROF_GET_BUFFER, &get);

	if (ret == -EBUSY) {
		unshare_own();
		ret = call(failed_op, VMOP_XENOPROF_GET_BUFFER, &get);
	}
	if (ret)
		return ret;
	session.is_own_shared = true;
	*failed_op = VMOP_XENDEV_STEP_MAP_BUFFER;
	return vmop_buffers_map(DOMID_SELF, get.address, get.n_buffers, get.buffer_bytes,
				&session.own);
}

static int prepare_own(struct vmop_xendev_prepare *prepare)
{
	int ret;

	/* Buffers of an earlier session: replace them if Xen takes them back, else keep them. */
	if (session.is_virq_enabled)
		disable_own();
	if (!session.is_own_shared)
		unmap_own();
	if (!session.own) {
		ret = map_own(&prepare->failed_op);
		if (ret)
			return ret;
	}
	prepare->n_buffers = session.own->n;
	prepare->buffer_entries = session.own->buffers[0].n_entries;
	return 0;
}

/*
 * Add an active domain. The caller judges the error of a domain that ended or is of the other kind.
 */
static void add_active(struct vmop_xendev_domain *domain)
{
	domid_t domid = domain->domid;

	domain->error = xenoprof_call(VMOP_XENOPROF_SET_ACTIVE, &domid);
}

static void add_passive(struct vmop_xendev_domain *domain)
{
	struct vmop_xenoprof_passive passive = {
		.domain_id = domain->domid,
		.max_samples = ALL_SAMPLES,
	};
	struct vmop_buffers *buffers;

	domain->error = xenoprof_call(VMOP_XENOPROF_SET_PASSIVE, &passive);
	if (domain->error)
		return;
	domain->error = vmop_buffers_map(domain->domid, passive.address, passive.n_buffers,
					 passive.buffer_bytes, &buffers);
	if (domain->error)
		return;
	session.passive[session.n_passive++] = buffers;
	domain->n_buffers = buffers->n;
	domain->buffer_entries = buffers->buffers[0].n_entries;
}

static int list_domains(struct vmop_xendev_prepare *prepare)
{
	domid_t self = 0;
	int ret;
	u32 i;

	ret = call(&prepare->failed_op, VMOP_XENOPROF_RESET_ACTIVE_LIST, NULL);
	if (!ret)
		ret = call(&prepare->failed_op, VMOP_XENOPROF_RESET_PASSIVE_LIST, NULL);
	if (!ret)
		ret = call(&prepare->failed_op, VMOP_XENOPROF_SET_ACTIVE, &self);
	if (ret)
		return ret;
	session.is_listed = true;
	for (i = 0; i < prepare->n_active; i++)
		add_active(&prepare->active[i]);
	for (i = 0; i < prepare->n_passive; i++)
		add_passive(&prepare->passive[i]);
	return 0;
}

static int set_events(struct vmop_xendev_prepare *prepare)
{
	u64 depth = prepare->backtrace_depth;
	int ret = 0;
	u32 i;

	if (depth)
		ret = call(&prepare->failed_op, VMOP_XENOPROF_SET_BACKTRACE, &depth);
	if (!ret)
		ret = call(&prepare->failed_op, VMOP_XENOPROF_RESERVE_COUNTERS, NULL);
	if (ret)
		return ret;
	session.is_reserved = true;
	for (i = 0; i < prepare->n_events && !ret; i++) {
		const struct vmop_xendev_event *event = &prepare->events[i];
		struct vmop_xenoprof_counter counter = {
			.counter = event->counter,
			.period_events = event->period_events,
			.is_enabled = 1,
			.event = event->code,
			.hypervisor = event->xen,
			.kernel = event->kernel,
			.user = event->user,
			.unit_mask = event->unit_mask,
		};

		ret = call(&prepare->failed_op, VMOP_XENOPROF_COUNTER, &counter);
	}
	return ret ? ret : call(&prepare->failed_op, VMOP_XENOPROF_SETUP_EVENTS, NULL);
}

static int prepare_everything(struct vmop_xendev_prepare *prepare)
{
	int ret = prepare_rings(prepare);

	if (!ret)
		ret = prepare_own(prepare);
	if (!ret && session.is_primary)
		ret = list_domains(prepare);
	if (!ret && session.is_primary)
		ret = set_events(prepare);
	if (!ret)
		ret = vmop_cpus_start(session.own, session.rings, prepare->poll_ms,
				      &prepare->failed_op);
	session.are_cpus_served = !ret;
	return ret;
}

int vmop_session_prepare(struct vmop_xendev_prepare *prepare)
{
	int ret;

	if (session.state != STATE_INITIALISED)
		return -EBUSY;
	ret = check_prepare(prepare);
	if (ret)
		return ret;
	session.poll_jiffies = msecs_to_jiffies(prepare->poll_ms);
	ret = prepare_everything(prepare);
	if (ret) {
		take_back();
		session.state = STATE_IDLE;
		return ret;
	}
	prepare->failed_op = VMOP_XENDEV_STEP_NONE;
	prepare->follows_tasks = vmop_cpus_follow_tasks();
	session.state = STATE_PREPARED;
	return 0;
}

int vmop_session_start(s32 *failed_op)
{
	int ret = 0;

	if (session.state != STATE_PREPARED)
		return -EBUSY;
	/* A second call would count this domain twice, and no session could start any more. */
	if (!session.is_primary || !session.is_virq_enabled)
		ret = call(failed_op, VMOP_XENOPROF_ENABLE_VIRQ, NULL);
	if (ret)
		return ret;
	session.is_virq_enabled = true;
	if (session.is_primary) {
		ret = call(failed_op, VMOP_XENOPROF_START, NULL);
		/* EPERM: an active domain has not enabled its samples yet. */
		if (ret)
			return ret == -EPERM ? -EAGAIN : ret;
		if (session.n_passive)
			queue_delayed_work(system_highpri_wq, &session.poll_work,
					   session.poll_jiffies);
	}
	session.state = STATE_STARTED;
	return 0;
}

int vmop_session_stop(s32 *failed_op)
{
	int ret;

	if (session.state != STATE_STARTED)
		return -EBUSY;
	if (session.is_primary) {
		ret = call(failed_op, VMOP_XENOPROF_STOP, NULL);
		if (ret)
			pr_warn("another process has stopped the session in Xen (%d)\n", ret);
	} else if (!disable_own()) {
		*failed_op = VMOP_XENOPROF_DISABLE_VIRQ;
		return -EBUSY;
	}
	cancel_delayed_work_sync(&session.poll_work);
	drain_passive();
	vmop_cpus_drain();
	session.state = STATE_STOPPED;
	return 0;
}

int vmop_session_release(s32 *failed_op)
{
	if (session.state == STATE_STARTED)
		return -EBUSY;
	if (session.state != STATE_IDLE)
		take_back();
	session.state = STATE_IDLE;
	return 0;
}

void vmop_session_stats(struct vmop_xendev_stats *stats)
{
	u32 i;

	*stats = session.past;
	stats->abi = VMOP_XENDEV_ABI;
	vmop_buffers_add_stats(session.own, stats);
	for (i = 0; i < session.n_passive; i++)
		vmop_buffers_add_stats(session.passive[i], stats);
	stats->interrupts = vmop_cpus_interrupts() - session.interrupts_before;
	if (session.rings)
		stats->lost_in_rings = vmop_rings_lost(session.rings);
}

struct vmop_rings *vmop_session_rings(void)
{
	/* Pairs with prepare_rings(). */
	return smp_load_acquire(&session.rings);
}

void vmop_session_close(void)
{
	s32 unused;

	if (session.state == STATE_STARTED && vmop_session_stop(&unused)) {
		/*
		 * In an active domU the initiator continues: Xen writes on, and the samples are not
		 * read.
		 */
		session.state = STATE_STOPPED;
	}
	vmop_session_release(&unused);
	vmop_rings_destroy(session.rings);
	session.rings = NULL;
	session.past = (struct vmop_xendev_stats){};
	session.interrupts_before = vmop_cpus_interrupts();
}

void vmop_session_module_init(void)
{
	INIT_DELAYED_WORK(&session.poll_work, poll_passive);
	vmop_cpus_init();
}

void vmop_session_module_exit(void)
{
	if (session.is_own_shared && !disable_own())
		pr_warn("Xen keeps this domain's buffers until it is active again\n");
	unmap_own();
}
