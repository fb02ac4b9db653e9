// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmopd --active from the initiator's side: a real daemon with its loop, its sessions and the xen
 * source. A model of Xen replaces the hypercalls, and the test plays dom0. For KVM it has perf, and
 * a child process plays the host.
 */
#include <cmocka.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/active/agent-link.h"
#include "daemon/active/handing.h"
#include "daemon/active/links.h"
#include "daemon/agent.h"
#include "daemon/guest/identify.h"
#include "daemon/guest/stacks/sample-unwinder.h"
#include "hv-interface/active-agent.h"
#include "hv-interface/active-group.h"
#include "hv-interface/active-peer.h"
#include "hv-interface/handed/events.h"
#include "hv-interface/source-list.h"
#include "hv-interface/xen/user-space.h"
#include "hv-interface/xen/xen.h"
#include "hv-interface/xen/xenoprof-control.h"
#include "libdb/db.h"
#include "libdb/session-files.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/tsc.h"
#include "tests/unit/hv-interface/xen/model.h"
#include "tests/unit/ok.h"

enum { DOM0, DOMU };

#define EVENTS "cycles:4711 r2e:7000:0:0:1"
#define TOKEN 0x1122334455667788ull

/* Shift the clock of vmop's code, but not the loop's: the silence of an initiator is long. */
static uint64_t leapt_s;
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int status = __real_clock_gettime(clock, ret);
	ret->tv_sec += (time_t)leapt_s;
	return status;
}

/* ---- the domain's vmopd --------------------------------------------------------------- */

struct lines {
	struct vmop_active_store store;
	char *mine, *theirs;
};

static bool lines_read(struct vmop_active_store *store, char buf[VMOP_ACTIVE_MESSAGE_BYTES])
{
	memcpy(buf, ((struct lines *)store)->theirs, VMOP_ACTIVE_MESSAGE_BYTES);
	return true;
}

static bool lines_write(struct vmop_active_store *store, const char *line)
{
	snprintf(((struct lines *)store)->mine, VMOP_ACTIVE_MESSAGE_BYTES, "%s", line);
	return true;
}

static const struct vmop_active_store_ops lines_ops = {lines_read, lines_write};

struct rig {
	char dir[32];
	char up[VMOP_ACTIVE_MESSAGE_BYTES], down[VMOP_ACTIVE_MESSAGE_BYTES];
	struct lines of_peer, of_agent;
	struct vmop_active_peer peer;
	struct vmop_daemon daemon;
	struct vmop_agent *agent;
	struct vmop_xenoprof dom0;
	bool is_dom0_open;
};

static struct model *model;

static struct vmop_error *open_over_model(const struct vmop_source_setup *setup,
					  struct vmop_source **ret)
{
	struct vmop_xen_machine machine;
	struct vmop_xen_transport *transport;
	struct vmop_error *err = vmop_xen_active_open(&model->base, &machine, &transport);
	return err ? err : vmop_xen_open_over(transport, &machine, NULL, setup, ret);
}

static struct vmop_source_ops over_model;

static int begin(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	if (!rig)
		return -1;
	strcpy(rig->dir, "/tmp/vmop-agent.XXXXXX");
	if (!mkdtemp(rig->dir))
		return -1;
	model = model_new(2);
	leapt_s = 0;
	over_model = vmop_source_xen_ops;
	over_model.open = open_over_model;
	rig->of_peer = (struct lines){{&lines_ops}, rig->down, rig->up};
	rig->of_agent = (struct lines){{&lines_ops}, rig->up, rig->down};
	vmop_active_peer_init(&rig->peer, &rig->of_peer.store, "db1", TOKEN);
	rig->daemon.source = &over_model;
	if (sd_event_new(&rig->daemon.loop) < 0)
		return -1;
	assert_ok(vmop_setup_init(&rig->daemon.setup));
	assert_ok(vmop_setup_set(&rig->daemon.setup, "session-dir", rig->dir, false));
	assert_ok(vmop_agent_create_over(&rig->daemon, &rig->of_agent.store, &rig->agent));
	*state = rig;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int end(void **state)
{
	struct rig *rig = *state;
	model->caller = DOMU;
	vmop_agent_destroy(rig->agent);
	vmop_error_destroy(vmop_daemon_stop(&rig->daemon));
	model->caller = DOM0;
	if (rig->is_dom0_open)
		vmop_xenoprof_close(&rig->dom0);
	vmop_active_peer_deinit(&rig->peer);
	vmop_setup_deinit(&rig->daemon.setup);
	free(rig->daemon.last_session);
	free(rig->daemon.last_stacks);
	sd_event_unref(rig->daemon.loop);
	nftw(rig->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(rig);
	free(model);
	return 0;
}

/* Run the loop until nothing happens for this time. */
static void turn(struct rig *rig, unsigned ms)
{
	model->caller = DOMU;
	assert_true(sd_event_run(rig->daemon.loop, 1000 * ms) >= 0);
	model->caller = DOM0;
}

static void turn_loop(struct rig *rig)
{
	turn(rig, 20);
}

/* ---- dom0 -------------------------------------------------------------------------------- */

static enum vmop_active_state look(struct rig *rig)
{
	return vmop_active_peer_look(&rig->peer, vmop_clock_ns(CLOCK_MONOTONIC));
}

/* Send a command and wait for its result. */
static enum vmop_active_state command(struct rig *rig, enum vmop_active_word word, const char *text)
{
	enum vmop_active_state state;
	vmop_active_peer_send(&rig->peer, word, text, vmop_clock_ns(CLOCK_MONOTONIC));
	while ((state = look(rig)) == VMOP_ACTIVE_WAITING)
		turn_loop(rig);
	return state;
}

static void is_done(struct rig *rig, enum vmop_active_word word, const char *text)
{
	if (command(rig, word, text) != VMOP_ACTIVE_ANSWERED)
		fail_msg("%s: %s", vmop_active_word_name(word),
			 rig->peer.error ? rig->peer.error->message : "?");
}

static void fails(struct rig *rig, enum vmop_active_word word, const char *text, const char *why)
{
	assert_int_equal(command(rig, word, text), VMOP_ACTIVE_GONE);
	if (!strstr(rig->peer.error->message, why))
		fail_msg("%s", rig->peer.error->message);
}

static void list(struct rig *rig)
{
	const struct vmop_xen_event event = {.period_events = 4711, .code = 0x3c};
	struct vmop_xen_domain active = {.id = DOMU};
	const struct vmop_xen_plan plan = {.events = &event,
					   .n_events = 1,
					   .active = &active,
					   .n_active = 1,
					   .max_samples = 16};
	if (!rig->is_dom0_open)
		assert_ok(vmop_xenoprof_open(&rig->dom0, &model->base));
	rig->is_dom0_open = true;
	assert_ok(vmop_xenoprof_prepare(&rig->dom0, &plan));
}

static void opens(struct rig *rig)
{
	is_done(rig, VMOP_ACTIVE_HELLO, NULL);
	is_done(rig, VMOP_ACTIVE_OPEN, EVENTS);
	assert_non_null(rig->daemon.session);
}

static void joins(struct rig *rig)
{
	is_done(rig, VMOP_ACTIVE_JOIN, NULL);
	assert_ok(vmop_xenoprof_start(&rig->dom0));
	is_done(rig, VMOP_ACTIVE_RUN, NULL);
}

static void sampling(struct rig *rig)
{
	opens(rig);
	list(rig);
	joins(rig);
}

/* Add a user sample outside of all mappings, and a sample of Xen. */
static void samples(void)
{
	model_sample(model, DOMU, 0, 0x400000, VMOP_XENOPROF_MODE_USER, 0);
	model_sample(model, DOMU, 1, 0xffff82d040200000, VMOP_XENOPROF_MODE_XEN, 0);
}

static void until_counted(struct rig *rig, uint64_t n)
{
	while (look(rig) == VMOP_ACTIVE_ANSWERED && rig->peer.report.samples < n)
		turn_loop(rig);
	assert_int_equal(rig->peer.report.samples, n);
}

static void leaves(struct rig *rig, const char *text)
{
	assert_ok(vmop_xenoprof_stop(&rig->dom0));
	is_done(rig, VMOP_ACTIVE_LEAVE, text);
}

/* ---- the stored session ------------------------------------------------------------------- */

struct stored {
	uint64_t samples, weight_events;
	unsigned n_domains;
};

static struct vmop_error *add_total(void *arg, const struct vmop_db_total *total)
{
	struct stored *stored = arg;
	stored->samples += total->samples;
	stored->weight_events += total->weight_events;
	return NULL;
}

static struct vmop_error *add_domain(void *arg, const struct vmop_db_domain *domain)
{
	struct stored *stored = arg;
	stored->n_domains +=
		domain->kind == VMOP_DOMAIN_HOST || domain->kind == VMOP_DOMAIN_HYPERVISOR;
	return NULL;
}

static struct stored stored(const struct rig *rig)
{
	static const struct vmop_db_filter all;
	struct stored ret = {0};
	struct vmop_db *db;
	_cleanup_free_ char *path = vmop_session_path(rig->dir, VMOP_SESSION_CURRENT);
	_cleanup_free_ char *end_ns = NULL;
	assert_ok(vmop_db_open(path, &db));
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_get_info(db, "end_ns", &end_ns));
	assert_non_null(end_ns); /* the session is finished */
	assert_ok(vmop_db_each_total(db, &all, add_total, &ret));
	assert_ok(vmop_db_each_domain(db, add_domain, &ret));
	vmop_db_close(db);
	return ret;
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void a_session(void **state)
{
	struct rig *rig = *state;
	unsigned calls = model->calls;
	opens(rig);
	assert_int_equal(model->calls, calls); /* Xen samples other domains meanwhile */
	assert_string_equal(vmop_session_event(rig->daemon.session, 0)->name, "cycles");
	assert_int_equal(vmop_session_event(rig->daemon.session, 1)->period_events, 7000);
	list(rig);
	joins(rig);
	samples();
	until_counted(rig, 2);
	samples(); /* still in the buffer at the end */
	leaves(rig, "end");
	assert_int_equal(rig->peer.report.samples, 4);
	assert_null(rig->daemon.session);
	struct stored file = stored(rig);
	assert_int_equal(file.samples, 4);
	assert_int_equal(file.weight_events, 4 * 4711);
	assert_int_equal(file.n_domains, 2); /* the domain and Xen */
	vmop_xenoprof_close(&rig->dom0);
	rig->is_dom0_open = false;
	assert_true(model_is_clean(model));
}

/* Xen's lists change: one session, one file, and dom0 waits only for the buffer. */
static void a_pause(void **state)
{
	struct rig *rig = *state;
	sampling(rig);
	for (unsigned i = 0; i < 3; i++) {
		const struct vmop_session *session = rig->daemon.session;
		samples();
		is_done(rig, VMOP_ACTIVE_ALERT, NULL);
		leaves(rig, "pause");
		assert_false(model->domains[DOMU].is_shared);
		vmop_xenoprof_release(&rig->dom0);
		list(rig);
		joins(rig);
		assert_ptr_equal(rig->daemon.session, session);
	}
	samples();
	leaves(rig, "end");
	assert_int_equal(rig->peer.report.samples, 8);
	assert_int_equal(stored(rig).samples, 8);
}

/* The agent reads ten times as often while Xen samples no domain. */
static void an_alert(void **state)
{
	struct rig *rig = *state;
	sampling(rig);
	is_done(rig, VMOP_ACTIVE_ALERT, NULL);
	unsigned turns = 0;
	vmop_active_peer_send(&rig->peer, VMOP_ACTIVE_ALERT, NULL, vmop_clock_ns(CLOCK_MONOTONIC));
	for (; look(rig) == VMOP_ACTIVE_WAITING; turns++)
		turn(rig, 1);
	/* Half of the usual number, because a turn takes some ms. */
	assert_true(turns < 50);
}

/* A dead agent's buffer is released in dom0's next session. */
static void a_buffer_left_behind(void **state)
{
	struct rig *rig = *state;
	model->domains[DOMU].is_shared = true;
	opens(rig);
	const struct vmop_session *session = rig->daemon.session;
	list(rig);
	assert_int_equal(command(rig, VMOP_ACTIVE_JOIN, NULL), VMOP_ACTIVE_AGAIN);
	assert_ptr_equal(rig->daemon.session, session);
	vmop_xenoprof_release(&rig->dom0);
	list(rig);
	joins(rig);
	leaves(rig, "end");
}

static void one_that_is_not_listed(void **state)
{
	struct rig *rig = *state;
	opens(rig);
	fails(rig, VMOP_ACTIVE_JOIN, NULL, "dom0 has not put this domain on its list");
	assert_null(rig->daemon.session);
	/* The next agent can use it. */
	vmop_active_peer_revive(&rig->peer);
	opens(rig);
}

static void events_of_dom0(void **state)
{
	static const struct {
		const char *events, *why;
	} wrong[] = {
		{"cycles", "needs their COUNT"},
		{"", "event"},
		{"cycles:4711:::::::::", "too many fields"},
		{"cycles:4711 cycles:x", "event"},
	};
	struct rig *rig = *state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		is_done(rig, VMOP_ACTIVE_HELLO, NULL);
		fails(rig, VMOP_ACTIVE_OPEN, wrong[i].events, wrong[i].why);
		assert_null(rig->daemon.session);
		vmop_active_peer_revive(&rig->peer);
	}
	opens(rig); /* earlier errors have no effect */
	assert_null(vmop_session_event(rig->daemon.session, 2));
}

static void no_room_for_a_file(void **state)
{
	struct rig *rig = *state;
	char path[64];
	snprintf(path, sizeof(path), "%s/file", rig->dir);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_ok(vmop_setup_set(&rig->daemon.setup, "session-dir", path, false));
	is_done(rig, VMOP_ACTIVE_HELLO, NULL);
	fails(rig, VMOP_ACTIVE_OPEN, EVENTS, "db1: its vmopd reports: session-dir");
	assert_null(rig->daemon.session);
}

/* dom0's vmopd is killed: all earlier samples are stored. */
static void a_silent_initiator(void **state)
{
	struct rig *rig = *state;
	sampling(rig);
	samples();
	until_counted(rig, 2);
	leapt_s += VMOP_ACTIVE_INITIATOR_SILENCE_NS / VMOP_NS_PER_S + 1;
	while (rig->daemon.session)
		turn_loop(rig);
	assert_int_equal(stored(rig).samples, 2);
}

/* A new vmopd starts in dom0 at once. */
static void another_initiator(void **state)
{
	struct rig *rig = *state;
	sampling(rig);
	samples();
	until_counted(rig, 2);
	vmop_xenoprof_release(&rig->dom0);
	vmop_active_peer_deinit(&rig->peer);
	vmop_active_peer_init(&rig->peer, &rig->of_peer.store, "db1", TOKEN + 1);
	is_done(rig, VMOP_ACTIVE_HELLO, NULL);
	assert_null(rig->daemon.session);
	assert_int_equal(stored(rig).samples, 2);
	is_done(rig, VMOP_ACTIVE_OPEN, EVENTS);
	list(rig);
	/* The buffer could not be released, because dom0's list is gone. */
	assert_int_equal(command(rig, VMOP_ACTIVE_JOIN, NULL), VMOP_ACTIVE_AGAIN);
	vmop_xenoprof_release(&rig->dom0);
	list(rig);
	joins(rig);
}

static void a_session_that_ends_by_itself(void **state)
{
	struct rig *rig = *state;
	sampling(rig);
	model->caller = DOMU;
	vmop_error_destroy(vmop_daemon_stop(&rig->daemon));
	while (look(rig) != VMOP_ACTIVE_GONE)
		turn_loop(rig);
	assert_string_equal(rig->peer.error->message,
			    "domain db1: its vmopd reports: its session has ended; see its log");
}

static void an_agent_that_is_ended(void **state)
{
	struct rig *rig = *state;
	sampling(rig);
	vmop_agent_destroy(rig->agent);
	rig->agent = NULL;
	assert_int_equal(look(rig), VMOP_ACTIVE_GONE);
	assert_string_equal(rig->peer.error->message,
			    "domain db1: its vmopd reports: it was ended there");
}

/* A command that only dom0 may give is refused with that reason. */
static void commands_in_the_domain(void **state)
{
	static const char *const commands[] = {"start", "stop"};
	struct rig *rig = *state;
	sampling(rig);
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		json_t *request = json_pack("{s:s}", "request", commands[i]);
		json_t *reply = vmop_daemon_handle(&rig->daemon, request, VMOP_CONTROL_ALL);
		_cleanup_free_ char *text = json_dumps(reply, 0);
		assert_non_null(strstr(text, "sessions begin and end on the host"));
		json_decref(reply);
		json_decref(request);
	}
	assert_non_null(rig->daemon.session);
}

/* ---- a guest of KVM ---------------------------------------------------------------------- */

#define VMM 4711 /* only a number here */

static int to_host = -1;      /* the agent's end of the connection */
static int to_next_host = -1; /* that of the one after it; -1: none */

static int dial(void)
{
	return to_host >= 0 ? vmop_steal_fd(&to_host) : vmop_steal_fd(&to_next_host);
}

/* Accept the agent's proof, which tests/unit/daemon/active/identify.c tests. */
static void accept_agent(struct vmop_active_links *links)
{
	struct vmop_active_claim claim;
	unsigned at = 0;
	if (!vmop_active_links_claim(links, &at, &claim))
		return;
	int pidfd = (int)syscall(SYS_pidfd_open, getppid(), 0);
	vmop_active_links_accept(links, &claim, VMM, pidfd, vmop_clock_ns(CLOCK_MONOTONIC));
}

#define GIVEN_UUID "AAAAAAAA-0001-4000-8000-00000000000a"

static void give_uuid(void *arg, uint32_t domain, char *buf, size_t size)
{
	(void)arg;
	snprintf(buf, size, "%s", domain == VMM ? GIVEN_UUID : "of another guest");
}

/* The start of the agent's session, as the host's process reads it. In memory of both processes. */
static uint64_t *reported_start_ns;

/* Check that the agent, on this very machine, reports the time of its session. */
static bool reports_time(const struct vmop_active_group *group)
{
	struct vmop_active_report report = {0};
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC), real_ns = vmop_clock_ns(CLOCK_REALTIME);
	uint64_t then_ns = vmop_active_group_report(group, VMM, &report);
	*reported_start_ns = report.start_ns;
	uint64_t real_then_ns = real_ns - (now_ns - then_ns);
	return then_ns && now_ns - then_ns < 10 * VMOP_NS_PER_S &&
	       report.now_ns <= real_then_ns + VMOP_NS_PER_S / 100 &&
	       real_then_ns - report.now_ns < 5 * VMOP_NS_PER_S;
}

/* The host: let the agent sample until it reports samples, then end its session. */
static int play_host(int fd)
{
	const uint32_t vmm = VMM;
	struct vmop_active_links *links;
	struct vmop_active_group *group;
	struct vmop_active_opener opener;
	if (vmop_active_links_create(-1, &links))
		return 1;
	opener = *vmop_active_links_opener(links);
	opener.uuid = give_uuid;
	if (vmop_active_group_create(&opener, "cpu-clock:250Hz", &group))
		return 1;
	vmop_active_group_set_independent(group);
	vmop_active_links_add(links, fd, 7, 700, vmop_clock_ns(CLOCK_MONOTONIC));
	for (unsigned i = 0; i < 1000 && vmop_active_group_samples(group, VMM) < 20; i++) {
		vmop_active_links_pump(links, vmop_clock_ns(CLOCK_MONOTONIC));
		accept_agent(links);
		vmop_active_group_check(group);
		vmop_active_group_want(group, &vmm, vmop_active_links_has(links, VMM));
		struct vmop_error *err = vmop_active_group_take_error(group);
		if (err) {
			print_error("%s\n", err->message);
			return 2;
		}
		usleep(30000);
	}
	if (vmop_active_group_samples(group, VMM) < 20)
		return 3;
	if (!reports_time(group))
		return 4;
	vmop_active_group_destroy(group);
	vmop_active_links_destroy(links);
	return 0;
}

/* The clock of a guest that is this machine itself. */
static void read_clock(void *arg, uint32_t vmm_pid, struct vmop_active_clock *ret)
{
	struct vmop_tsc_pair now;
	(void)arg;
	assert_int_equal(vmm_pid, VMM);
	bool has_tsc = vmop_tsc_read(&now);
	*ret = (struct vmop_active_clock){.host_ns = now.time_ns,
					  .guest_tsc = has_tsc ? now.tsc : 0,
					  .error_ns = now.width_ticks / 2};
}

/* A host that samples this machine, and hands the samples over as if it were its guest. */
struct handing_host {
	struct vmop_source *source;
	struct vmop_active_links *links;
	struct vmop_active_group *group;
	struct vmop_handing *handing;
	bool has_stacks;
};

/* A guest that this machine runs: to the host, a guest of its guest. In memory of both processes.
 */
struct nested {
	uint32_t pid;	/* of its VMM */
	bool is_handed; /* its samples now */
	unsigned n_handed;
};
static struct nested *nested; /* NULL: such samples are not handed over */

static void add_caller(uint64_t frame, struct vmop_guest_callers *callers)
{
	if (callers->n < VMOP_STACK_FRAMES_MAX)
		callers->frames[callers->n++] = frame;
}

/* Make the callers of a guest's sample from what this kernel unwound. */
static void take_callers(const struct vmop_stack_capture *stack, bool is_kernel,
			 struct vmop_guest_callers *ret)
{
	ret->n = 0;
	ret->end = VMOP_STACK_COMPLETE;
	ret->is_likely = false;
	for (size_t i = 1; i < stack->n_kernel_frames; i++)
		add_caller(stack->kernel_frames[i], ret);
	for (size_t i = !is_kernel; i < stack->n_user_frames; i++)
		add_caller(vmop_guest_frame_pack(stack->user_frames[i], !i), ret);
}

static void hand_over(void *arg, const struct vmop_record *record,
		      const struct vmop_stack_capture *stack)
{
	const struct vmop_sample_copy copy = vmop_handing_copy(arg);
	const struct vmop_sample *sample = &record->sample;
	bool is_kernel = !(sample->flags & VMOP_SAMPLE_USER);
	bool is_nested = sample->flags & VMOP_SAMPLE_GUEST;
	struct vmop_guest_callers callers;
	if (record->type != VMOP_RECORD_SAMPLE || (is_nested && !nested))
		return;
	if (is_nested && sample->pid == nested->pid && nested->is_handed)
		nested->n_handed++;
	if (stack)
		take_callers(stack, is_kernel, &callers);
	const struct vmop_copied_sample copied = {.vmm_pid = VMM,
						  .vcpu = (int32_t)sample->cpu,
						  .record = record,
						  .callers = stack ? &callers : NULL,
						  .is_kernel = is_kernel,
						  .is_nested = is_nested};
	copy.take(copy.arg, &copied);
}

static int open_handing_host(struct handing_host *host, int fd, bool has_stacks)
{
	static const struct vmop_active_links_clock clock = {.read = read_clock};
	struct vmop_event_request request;
	const struct vmop_source_setup setup = {
		.events = &request,
		.n_events = 1,
		.stacks = {.mode = has_stacks ? VMOP_STACKS_FP : VMOP_STACKS_OFF,
			   .max_frames = VMOP_STACK_FRAMES_MAX}};
	host->has_stacks = has_stacks;
	if (vmop_event_request_parse("cpu-clock:1000Hz", &request) ||
	    vmop_source_open(vmop_source_find("perf"), &setup, &host->source) ||
	    vmop_active_links_create(-1, &host->links) || vmop_handing_create(&host->handing))
		return 1;
	_cleanup_free_ char *events = vmop_handed_events_format(host->source, false);
	_cleanup_free_ char *with_stacks = vmop_handed_events_format(host->source, true);
	if (vmop_active_group_create(vmop_active_links_opener(host->links), events, &host->group) ||
	    (has_stacks && vmop_active_group_set_stacks(host->group, with_stacks)))
		return 1;
	vmop_active_group_set_independent(host->group);
	vmop_active_links_set_clock(host->links, &clock);
	vmop_active_links_add(host->links, fd, 7, 700, vmop_clock_ns(CLOCK_MONOTONIC));
	vmop_error_destroy(vmop_source_start(host->source));
	return 0;
}

static void handing_host_looks(struct handing_host *host)
{
	const uint32_t vmm = VMM;
	const struct vmop_sink sink = {.record = hand_over, .arg = host->handing};
	uint64_t up_to_ns = vmop_clock_ns(CLOCK_MONOTONIC) - 2 * VMOP_NS_PER_MS;
	vmop_active_links_pump(host->links, vmop_clock_ns(CLOCK_MONOTONIC));
	accept_agent(host->links);
	vmop_active_group_check(host->group);
	vmop_active_group_want(host->group, &vmm, vmop_active_links_has(host->links, VMM));
	bool is_there = vmop_active_group_presence(host->group, VMM) == VMOP_ACTIVE_THERE;
	bool has_stacks = vmop_active_group_has_stacks(host->group, VMM);
	if (nested)
		nested->is_handed = is_there;
	vmop_handing_set(host->handing, VMM,
			 !is_there    ? VMOP_HANDING_OFF
			 : has_stacks ? VMOP_HANDING_STACKS
			 : nested     ? VMOP_HANDING_EXTENDED
				      : VMOP_HANDING_SAMPLES);
	vmop_error_destroy(vmop_source_drain(host->source, up_to_ns, &sink, NULL));
	vmop_handing_complete(host->handing, up_to_ns);
	vmop_handing_send(host->handing, host->links, VMM);
}

/* Hand samples over until the agent has some hundred; nearly all must have a task. */
static int play_host_of(int fd, bool has_stacks)
{
	struct handing_host host;
	struct vmop_active_ask ask = {0};
	if (open_handing_host(&host, fd, has_stacks))
		return 1;
	for (unsigned i = 0; i < 1000 && ask.n_received < 500; i++) {
		handing_host_looks(&host);
		struct vmop_error *err = vmop_active_group_take_error(host.group);
		if (err) {
			print_error("%s\n", err->message);
			return 2;
		}
		vmop_active_links_asked(host.links, VMM, &ask);
		usleep(30000);
	}
	print_message("%u samples handed over: %u without a task, %u near a switch\n",
		      (unsigned)ask.n_received, (unsigned)ask.n_unplaced,
		      (unsigned)ask.n_ambiguous);
	if (ask.n_received < 500 || (ask.n_unplaced + ask.n_ambiguous) * 20 > ask.n_received)
		return 3;
	vmop_active_group_destroy(host.group);
	vmop_handing_destroy(host.handing);
	vmop_active_links_destroy(host.links);
	vmop_source_close(host.source);
	return 0;
}

static int play_handing_host(int fd)
{
	return play_host_of(fd, false);
}

static int play_host_with_stacks(int fd)
{
	return play_host_of(fd, true);
}

/* ---- a known call path ------------------------------------------------------------------- */

/* Their code is shorter than that, so that an address shows which of them it is in. */
#define FUNCTION_BYTES 512
#define FUNCTION __attribute__((noinline, aligned(FUNCTION_BYTES)))

static volatile unsigned long sink;

FUNCTION static void leaf(void)
{
	for (unsigned i = 0; i < 10000; i++)
		sink += i;
}

FUNCTION static void middle(void)
{
	leaf();
	sink++; /* the call is not the last one, which could become a jump */
}

FUNCTION static void outer(void)
{
	middle();
	sink++;
}

/* Begin a process that runs in leaf. */
static pid_t begin_load(void)
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		outer();
}

/* Return the offset of a function in this program's file. */
static uint64_t offset_of(void (*function)(void))
{
	uint64_t address = (uint64_t)function, offset = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	assert_non_null(maps);
	while (!offset && fgets(line, sizeof(line), maps)) {
		unsigned long start, end, at;
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &at) == 3 && address >= start &&
		    address < end)
			offset = address - start + at;
	}
	fclose(maps);
	return offset;
}

/*
 * Samples of the load in its leaf; those of them with a stack, and with the caller in it that has a
 * frame pointer: leaf has no frame of its own, so that its caller cannot be found.
 */
struct load_sums {
	struct vmop_db_stacks *stacks;
	struct vmop_image_id image; /* this program */
	uint64_t n_leaf, n_stacks, n_with_caller;
};

static struct vmop_error *find_own_image(void *arg, const struct vmop_db_image *image)
{
	struct load_sums *sums = arg;
	char own[512];
	ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);
	assert_true(len > 0);
	own[len] = 0;
	if (!strcmp(image->name, own))
		sums->image = image->id;
	return NULL;
}

static bool is_in(const struct load_sums *sums, struct vmop_image_id image, uint64_t offset,
		  void (*function)(void))
{
	return image.number == sums->image.number && offset - offset_of(function) < FUNCTION_BYTES;
}

/* Count the samples of a stack. It has each caller once. */
static void count_stack(struct load_sums *sums, struct vmop_stack_id id, uint64_t n)
{
	struct vmop_db_stack_node node = {.parent = id};
	unsigned n_found = 0;
	while (node.parent.number) {
		assert_true(vmop_db_stacks_node(sums->stacks, node.parent, &node));
		n_found += is_in(sums, node.image, node.offset, outer);
	}
	assert_true(node.offset < VMOP_N_STACK_ENDS);
	sums->n_stacks += n;
	sums->n_with_caller += n_found == 1 ? n : 0;
}

static struct vmop_error *add_chunk(void *arg, const struct vmop_db_chunk *chunk)
{
	struct load_sums *sums = arg;
	uint64_t n = 0;
	for (size_t i = 0; i < chunk->n_cells; i++)
		if (is_in(sums, chunk->key.image, chunk->cells[i].offset, leaf))
			n += chunk->cells[i].samples;
	sums->n_leaf += n;
	if (n && chunk->key.stack.number)
		count_stack(sums, chunk->key.stack, n);
	return NULL;
}

/* Add up the samples of the load in a session. */
static void sum_load(const char *path, struct load_sums *ret)
{
	static const struct vmop_db_filter all;
	struct vmop_db *db;
	*ret = (struct load_sums){0};
	assert_ok(vmop_db_open(path, &db));
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_load_stacks(db, 1 << 24, &ret->stacks));
	assert_ok(vmop_db_each_image(db, find_own_image, ret));
	assert_ok(vmop_db_each_chunk(db, &all, add_chunk, ret));
	vmop_db_stacks_destroy(ret->stacks);
	vmop_db_close(db);
	print_message("%u samples of the load, %u with a stack, %u with the caller\n",
		      (unsigned)ret->n_leaf, (unsigned)ret->n_stacks, (unsigned)ret->n_with_caller);
}

static int begin_kvm(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	if (!rig)
		return -1;
	strcpy(rig->dir, "/tmp/vmop-agent.XXXXXX");
	leapt_s = 0;
	rig->daemon.source = vmop_source_find("perf");
	if (!mkdtemp(rig->dir) || sd_event_new(&rig->daemon.loop) < 0)
		return -1;
	assert_ok(vmop_setup_init(&rig->daemon.setup));
	assert_ok(vmop_setup_set(&rig->daemon.setup, "session-dir", rig->dir, false));
	*state = rig;
	return 0;
}

static int end_kvm(void **state)
{
	struct rig *rig = *state;
	vmop_error_destroy(vmop_daemon_stop(&rig->daemon));
	vmop_setup_deinit(&rig->daemon.setup);
	free(rig->daemon.last_session);
	free(rig->daemon.last_stacks);
	free(rig->daemon.source_note);
	sd_event_unref(rig->daemon.loop);
	nftw(rig->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(rig);
	return 0;
}

/* Return whether this machine lets the test sample. */
static bool can_sample(void)
{
	struct vmop_source *source;
	const struct vmop_source_setup setup = {0};
	struct vmop_error *err = vmop_source_open(vmop_source_find("perf"), &setup, &source);
	if (!err)
		vmop_source_close(source);
	vmop_error_destroy(err);
	return !err;
}

/* Run the agent until the host, another process, has ended its session. */
static void serve_host(struct rig *rig, int (*play)(int fd))
{
	struct vmop_agent_link *link;
	int pair[2], status = -1;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	pid_t host = fork();
	assert_true(host >= 0);
	if (!host) {
		close(pair[0]);
		_exit(play(pair[1]));
	}
	close(pair[1]);
	to_host = pair[0];
	assert_ok(vmop_agent_link_create(dial, &link));
	assert_ok(vmop_agent_create_over_link(&rig->daemon, link, &rig->agent));
	bool was_sampling = false;
	while (waitpid(host, &status, WNOHANG) == 0) {
		assert_true(sd_event_run(rig->daemon.loop, 20000) >= 0);
		was_sampling |= rig->daemon.session != NULL;
	}
	assert_int_equal(status, 0);
	assert_true(was_sampling);
	assert_null(rig->daemon.session);
	assert_non_null(rig->daemon.last_session);
	assert_int_equal(access(rig->daemon.last_session, R_OK), 0);
	vmop_agent_destroy(rig->agent);
}

/* A machine without a UUID in its firmware has the one from its host. */
static struct vmop_error *check_uuid(void *arg, const struct vmop_db_domain *domain)
{
	unsigned *n_hosts = arg;
	char wanted[VMOP_UUID_BYTES];
	if (!vmop_domain_id_is_host(domain->id))
		return NULL;
	vmop_identify_machine("", GIVEN_UUID, wanted);
	assert_string_equal(domain->uuid, wanted);
	++*n_hosts;
	return NULL;
}

static void a_session_in_a_guest_of_kvm(void **state)
{
	struct rig *rig = *state;
	struct vmop_db *db;
	unsigned n_hosts = 0;
	_cleanup_free_ char *start = NULL;
	char reported[24];
	if (!can_sample())
		skip();
	serve_host(rig, play_host);
	assert_string_equal(rig->daemon.setup.events.items[0], "cpu-clock:250Hz");
	assert_ok(vmop_db_open(rig->daemon.last_session, &db));
	/* The host's report finds the session by its start. */
	assert_ok(vmop_db_get_info(db, "start_ns", &start));
	snprintf(reported, sizeof(reported), "%" PRIu64, *reported_start_ns);
	assert_string_equal(start, reported);
	assert_ok(vmop_db_each_domain(db, check_uuid, &n_hosts));
	vmop_db_close(db);
	assert_int_equal(n_hosts, 1);
}

static void a_session_with_the_hosts_samples(void **state)
{
	struct rig *rig = *state;
	if (!can_sample())
		skip();
	serve_host(rig, play_handing_host);
	assert_string_equal(rig->daemon.source->name, "handed");
}

/* The agent's session has the callers that the host found, each sample once. */
static void a_session_with_the_hosts_stacks(void **state)
{
	struct rig *rig = *state;
	struct load_sums sums;
	if (!can_sample())
		skip();
	pid_t load = begin_load();
	serve_host(rig, play_host_with_stacks);
	kill(load, SIGKILL);
	waitpid(load, NULL, 0);
	assert_string_equal(rig->daemon.source->name, "handed");
	sum_load(rig->daemon.last_session, &sums);
	assert_true(sums.n_leaf > 50);
	assert_int_equal(sums.n_stacks, sums.n_leaf);
	assert_true(sums.n_with_caller * 100 >= sums.n_leaf * 95);
}

/* A host without them: the session is the one that it was before. */
static void a_session_without_the_hosts_stacks(void **state)
{
	struct rig *rig = *state;
	struct load_sums sums;
	if (!can_sample())
		skip();
	pid_t load = begin_load();
	serve_host(rig, play_handing_host);
	kill(load, SIGKILL);
	waitpid(load, NULL, 0);
	sum_load(rig->daemon.last_session, &sums);
	assert_true(sums.n_leaf > 50);
	assert_int_equal(sums.n_stacks, 0);
}

static int next_host_fd = -1; /* the host's end of its second connection */

/* A host that hands samples over, and then its successor, for which the guest samples itself. */
static int play_two_hosts(int fd)
{
	int status = play_handing_host(fd);
	return status ? 10 + status : play_host(next_host_fd);
}

/* After the session with the host's samples, the agent asks no host for its time any more. */
static void the_guests_own_samples_after_the_hosts(void **state)
{
	struct rig *rig = *state;
	int pair[2];
	if (!can_sample())
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	to_next_host = pair[0];
	next_host_fd = pair[1];
	serve_host(rig, play_two_hosts);
	assert_string_equal(rig->daemon.source->name, "perf");
	close(next_host_fd);
}

/* ---- a guest in the guest ---------------------------------------------------------------- */

#define NESTED_NAME "nested-in-agent"

/* Begin a guest whose vCPU spins in user mode. Return its VMM; 0: there is no KVM. */
static pid_t begin_nested(void)
{
	char line[64] = "";
	int status, output[2];
	assert_int_equal(pipe(output), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(output[1], 1);
		execl(VMOP_TEST_BUILDDIR "/tests/fixtures/kvm-guest", "kvm-guest", "--id",
		      NESTED_NAME, "--seconds", "600", (char *)NULL);
		_exit(1);
	}
	close(output[1]);
	ssize_t len = read(output[0], line, sizeof(line) - 1);
	close(output[0]);
	if (len > 0 && !strncmp(line, "pid ", 4))
		return pid;
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 77);
	return 0;
}

/* The samples of a session that are of the nested guest's code. */
struct nested_sums {
	struct vmop_domain_id id;
	uint64_t n_user, n_others;
};

static struct vmop_error *find_nested(void *arg, const struct vmop_db_domain *domain)
{
	struct nested_sums *sums = arg;
	if (!strcmp(domain->name, NESTED_NAME))
		sums->id = domain->id;
	return NULL;
}

static struct vmop_error *add_nested(void *arg, const struct vmop_db_chunk *chunk)
{
	struct nested_sums *sums = arg;
	uint64_t *n = chunk->key.mode == VMOP_MODE_USER ? &sums->n_user : &sums->n_others;
	for (size_t i = 0; i < chunk->n_cells; i++)
		*n += chunk->key.domain.number == sums->id.number ? chunk->cells[i].samples : 0;
	return NULL;
}

static void sum_nested(const char *path, struct nested_sums *ret)
{
	static const struct vmop_db_filter all;
	struct vmop_db *db;
	*ret = (struct nested_sums){0};
	assert_ok(vmop_db_open(path, &db));
	assert_ok(vmop_db_each_domain(db, find_nested, ret));
	assert_false(vmop_domain_id_is_host(ret->id));
	assert_ok(vmop_db_each_chunk(db, &all, add_nested, ret));
	vmop_db_close(db);
}

/*
 * The samples of a guest's guest have an address there and the vCPU of the guest: the agent finds
 * the VMM that ran on it, and its session has the nested guest as a domain of its own.
 */
static void a_session_with_samples_of_a_nested_guest(void **state)
{
	struct rig *rig = *state;
	struct nested_sums sums;
	pid_t pid = can_sample() ? begin_nested() : 0;
	if (!pid)
		skip();
	nested = mmap(NULL, sizeof(*nested), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_ptr_not_equal(nested, MAP_FAILED);
	nested->pid = (uint32_t)pid;
	serve_host(rig, play_handing_host);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	sum_nested(rig->daemon.last_session, &sums);
	print_message("%u samples of a nested guest handed over: %u of its user code, %u others\n",
		      nested->n_handed, (unsigned)sums.n_user, (unsigned)sums.n_others);
	assert_true(sums.n_user > 50);
	assert_true(sums.n_user + sums.n_others <= nested->n_handed);
	/* Samples near a task switch are not in it: their VMM is not known. */
	assert_true(sums.n_user * 100 >= nested->n_handed * UINT64_C(90));
	munmap(nested, sizeof(*nested));
	nested = NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	reported_start_ns = mmap(NULL, sizeof(*reported_start_ns), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reported_start_ns == MAP_FAILED)
		return 1;
	const struct CMUnitTest tests[] = {
		TEST(a_session),
		TEST(a_pause),
		TEST(an_alert),
		TEST(a_buffer_left_behind),
		TEST(one_that_is_not_listed),
		TEST(events_of_dom0),
		TEST(no_room_for_a_file),
		TEST(a_silent_initiator),
		TEST(another_initiator),
		TEST(a_session_that_ends_by_itself),
		TEST(an_agent_that_is_ended),
		TEST(commands_in_the_domain),
		cmocka_unit_test_setup_teardown(a_session_in_a_guest_of_kvm, begin_kvm, end_kvm),
		cmocka_unit_test_setup_teardown(a_session_with_the_hosts_samples, begin_kvm,
						end_kvm),
		cmocka_unit_test_setup_teardown(a_session_with_the_hosts_stacks, begin_kvm,
						end_kvm),
		cmocka_unit_test_setup_teardown(a_session_without_the_hosts_stacks, begin_kvm,
						end_kvm),
		cmocka_unit_test_setup_teardown(the_guests_own_samples_after_the_hosts, begin_kvm,
						end_kvm),
		cmocka_unit_test_setup_teardown(a_session_with_samples_of_a_nested_guest, begin_kvm,
						end_kvm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
