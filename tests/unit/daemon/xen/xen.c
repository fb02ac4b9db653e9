// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen's domains in a session.  libxenstore is the real one, xenstored is that of xen/xenstored.h,
 * and the source only records the domains that are set in it.
 */
#include <errno.h>

#include "daemon/xen/symbols.h"
#include "daemon/xen/xenstore.h"
#include "libsym/symtab.h"
#include "tests/unit/daemon/common.h"
#include "tests/unit/daemon/xen/xenstored.h"

#define UUID_A "aaaaaaaa-0001-4000-8000-00000000000a"
#define UUID_B "bbbbbbbb-0002-4000-8000-00000000000b"
#define GUEST VMOP_SAMPLE_GUEST

/* ---- a source that records its selection
 * --------------------------------------------------------- */

static struct {
	struct vmop_source_domain domains[64];
	size_t n;
	unsigned times;
	uint32_t refused; /* a domain that the hypervisor does not take */
	int error;	  /* the error of the refused domain; 0: EINVAL */
} selection;

static struct vmop_error *set_domains(struct vmop_source *source,
				      struct vmop_source_domain *domains, size_t n)
{
	(void)source;
	assert_true(n <= 64);
	for (size_t i = 0; i < n; i++)
		domains[i].error = !selection.refused || domains[i].id != selection.refused ? 0
				   : selection.error ? selection.error
						     : EINVAL;
	memcpy(selection.domains, domains, n * sizeof(*domains));
	selection.n = n;
	selection.times++;
	return NULL;
}

static const struct vmop_source_ops xen_ops = {.name = "xen",
					       .numbers_domains = true,
					       .n_events = fake_n_events,
					       .event = fake_event,
					       .stats = fake_stats,
					       .set_domains = set_domains};
static struct vmop_source xen_source = {.ops = &xen_ops};

/* The source in an active domU, which has no set_domains. */
static const struct vmop_source_ops domu_ops = {.name = "xen",
						.numbers_domains = true,
						.n_events = fake_n_events,
						.event = fake_event,
						.stats = fake_stats};
static struct vmop_source domu_source = {.ops = &domu_ops};

/* perf in a dom0. */
static const struct vmop_source_ops perf_ops = {
	.name = "perf", .n_events = fake_n_events, .event = fake_event, .stats = fake_stats};

/* ---- a dom0 --------------------------------------------------------------------------- */

static void begin(struct rig *rig)
{
	memset(&selection, 0, sizeof(selection));
	rig_folder(rig);
	machine_file(rig, "/proc/cpuinfo", "vendor_id\t: GenuineIntel\n");
	machine_file(rig, "/proc/xen/xensyms",
		     "ffff82d040000000 T __image_base__\nffff82d040200000 T _stext\n"
		     "ffff82d040200100 t entry.o#restore_all_guest\nffff82d040201000 T do_softirq\n"
		     "ffff82d040360783 T _etext\nffff82d0403b6eec R _erodata\n");
	xenstored_start(rig->folder);
}

static struct vmop_error *create(struct rig *rig, struct vmop_profiler_options options)
{
	return rig_create(rig, &options, &xen_source);
}

static void end(struct rig *rig)
{
	rig_end(rig);
}

/* End xenstored, too. */
static void end_all(struct rig *rig)
{
	xenstored_stop(rig->folder);
	end(rig);
}

static struct vmop_domain_stats find_domain(const struct rig *rig, const char *name)
{
	struct vmop_domain_stats domain, found = {.id = {UINT32_MAX}};
	for (size_t i = 0; vmop_profiler_domain(rig->profiler, i, &domain); i++)
		if (!strcmp(domain.name, name))
			found = domain; /* the latest */
	return found;
}

/* Tick after the domains were listed again, which takes about a second. */
static void tick_after_listing(struct rig *rig)
{
	unsigned before = xenstored.listed;
	while (xenstored.listed < before + 2)
		usleep(20000);
	usleep(50000); /* the reads that follow the listing */
	ok(vmop_profiler_tick(rig->profiler));
}

static void give_xen_sample(struct rig *rig, uint32_t domid, uint32_t vcpu, uint64_t ip,
			    unsigned flags)
{
	give(rig, (struct vmop_record){.type = VMOP_RECORD_SAMPLE,
				       .sample = {.ip = ip,
						  .weight_events = 1,
						  .pid = UINT32_MAX,
						  .tid = UINT32_MAX,
						  .flags = (uint16_t)flags,
						  .source_domain = domid,
						  .source_vcpu = vcpu}});
}

/* ---- tests ------------------------------------------------------------------------------ */

static void parse_xenstore_values(void **state)
{
	uint32_t domid;
	char uuid[VMOP_UUID_BYTES];
	(void)state;
	assert_true(vmop_xenstore_parse_domid("0", &domid));
	assert_true(vmop_xenstore_parse_domid("32751", &domid));
	assert_int_equal(domid, 32751);
	static const char *const no_ids[] = {"",   "32752", "4294967296", "-1", "+1", "01",
					     "1 ", " 1",    "0x1",	  "a",	"1/2"};
	for (size_t i = 0; i < sizeof(no_ids) / sizeof(no_ids[0]); i++)
		assert_false(vmop_xenstore_parse_domid(no_ids[i], &domid));
	assert_true(vmop_xenstore_parse_vm("/vm/AAAAAAAA-0001-4000-8000-00000000000A", uuid));
	assert_string_equal(uuid, UUID_A);
	assert_true(vmop_xenstore_parse_vm("/vm/" UUID_A "-1", uuid));
	assert_string_equal(uuid, UUID_A);
	static const char *const no_vms[] = {"",
					     "/vm/",
					     UUID_A,
					     "/vm/" UUID_A "0",
					     "/vm/aaaaaaaa-0001-4000-8000-00000000000",
					     "/vm/aaaaaaaa_0001-4000-8000-00000000000a",
					     "/vm/gaaaaaaa-0001-4000-8000-00000000000a",
					     "/vm/../" UUID_A};
	for (size_t i = 0; i < sizeof(no_vms) / sizeof(no_vms[0]); i++) {
		assert_false(vmop_xenstore_parse_vm(no_vms[i], uuid));
		assert_string_equal(uuid, "");
	}
	assert_int_equal(vmop_xenstore_parse_type("pvh"), VMOP_XEN_PVH);
	assert_int_equal(vmop_xenstore_parse_type("hvm"), VMOP_XEN_HVM);
	assert_int_equal(vmop_xenstore_parse_type("pv"), VMOP_XEN_PV);
	assert_int_equal(vmop_xenstore_parse_type("pv "), VMOP_XEN_TYPE_UNKNOWN);
}

static void names_and_hostile_names(void **state)
{
	struct rig rig;
	char longest[600];
	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	begin(&rig);
	put_domain(0, "3", "web", UUID_A, "pv");
	put_domain(1, "nonsense", "what", UUID_B, "pv");
	put_domain(2, "5", "", "nothing", "");
	put_domain(3, "6", longest, "/vm/../../etc", "??");
	put_domain(4, "7", "a\nvmopd: \x1b[2J\xc2\x9b", UUID_B, "pv");
	ok(create(&rig, (struct vmop_profiler_options){0}));
	struct vmop_domain_stats web = find_domain(&rig, "web");
	assert_int_equal(web.xen_domid, 3);
	assert_int_equal(web.kind, VMOP_DOMAIN_PASSIVE);
	assert_string_equal(web.uuid, UUID_A);
	assert_true(web.is_running);
	assert_int_equal(find_domain(&rig, "what").id.number, UINT32_MAX);
	assert_int_equal(find_domain(&rig, "domain-5").xen_domid, 5);
	longest[VMOP_GUEST_NAME_BYTES - 1] = '\0';
	assert_int_equal(find_domain(&rig, longest).xen_domid, 6);
	/* Programs that print it escape it. */
	assert_int_equal(find_domain(&rig, "a\nvmopd: \x1b[2J\xc2\x9b").xen_domid, 7);
	/* 5 has neither name nor uuid yet: it may be under construction. */
	assert_int_equal(selection.n, 3);
	assert_int_equal(selection.domains[0].id, 3);
	assert_int_equal(selection.domains[1].id, 6);
	end_all(&rig);
}

static void domains_come_and_go(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig);
	ok(create(&rig, (struct vmop_profiler_options){0}));
	assert_int_equal(selection.n, 0);
	put_domain(0, "1", "web", UUID_A, "pv");
	tick_after_listing(&rig);
	assert_int_equal(selection.n, 1);
	give_xen_sample(&rig, 1, 0, 0x401000, GUEST | VMOP_SAMPLE_USER);
	uint32_t first = find_domain(&rig, "web").id.number;
	drop_last_domain();
	tick_after_listing(&rig);
	assert_false(find_domain(&rig, "web").is_running);
	assert_int_equal(selection.n, 0);
	/* late samples still belong to it */
	give_xen_sample(&rig, 1, 0, 0x401000, GUEST | VMOP_SAMPLE_USER);
	put_domain(0, "2", "web", UUID_A, "pv");
	tick_after_listing(&rig);
	struct vmop_domain_stats second = find_domain(&rig, "web");
	assert_true(second.is_running);
	assert_int_not_equal(second.id.number, first);
	assert_string_equal(second.uuid, UUID_A);
	assert_int_equal(selection.domains[0].id, 2);
	give_xen_sample(&rig, 2, 0, 0x401000, GUEST | VMOP_SAMPLE_USER);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "[guest web user]", NULL), 3);
	uint64_t of_first = 0;
	for (size_t i = 0; i < session->n; i++)
		of_first +=
			session->rows[i].key.domain.number == first ? session->rows[i].samples : 0;
	assert_int_equal(of_first, 2);
	unsigned times = selection.times;
	tick_after_listing(&rig);
	assert_int_equal(selection.times, times); /* no change, no call */
	end_all(&rig);
}

/* Within one listing: only the uuid shows that it is another domain. */
static void an_id_is_reused(void **state)
{
	struct rig rig;
	struct vmop_domain_stats domain;
	size_t n_running = 0;
	(void)state;
	begin(&rig);
	put_domain(0, "1", "web", UUID_A, "");
	ok(create(&rig, (struct vmop_profiler_options){0}));
	uint32_t first = find_domain(&rig, "web").id.number;
	put_domain(0, "1", "web", UUID_B, "");
	tick_after_listing(&rig);
	assert_int_not_equal(find_domain(&rig, "web").id.number, first);
	assert_string_equal(find_domain(&rig, "web").uuid, UUID_B);
	for (size_t i = 0; vmop_profiler_domain(rig.profiler, i, &domain); i++)
		n_running += domain.is_running && !strcmp(domain.name, "web");
	assert_int_equal(n_running, 1);
	end_all(&rig);
}

/* A sample can come before the listing that has its domain: it waits for some listings. */
static void a_sample_before_the_listing(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig);
	ok(create(&rig, (struct vmop_profiler_options){0}));
	give_xen_sample(&rig, 9, 0, 0x401000, GUEST | VMOP_SAMPLE_USER);
	give_xen_sample(&rig, 8, 0, 0x401000, GUEST | VMOP_SAMPLE_USER);
	uint32_t nine = find_domain(&rig, "domain-9").id.number;
	tick_after_listing(&rig);
	assert_true(find_domain(&rig, "domain-9").is_running);
	put_domain(0, "9", "late", UUID_A, "pv");
	for (size_t i = 0; i < 5; i++)
		tick_after_listing(&rig);
	assert_int_equal(find_domain(&rig, "late").id.number, nine);
	assert_true(find_domain(&rig, "late").is_running);
	assert_false(find_domain(&rig, "domain-8").is_running);
	end_all(&rig);
}

static void a_domain_is_renamed(void **state)
{
	static const char *const passive[] = {"web"};
	struct rig rig;
	(void)state;
	begin(&rig);
	put_domain(0, "1", "web", UUID_A, "");
	put_domain(1, "2", "install", UUID_B, "");
	ok(create(&rig, (struct vmop_profiler_options){.passive_domains = passive,
						       .n_passive_domains = 1}));
	assert_int_equal(find_domain(&rig, "install").kind, VMOP_DOMAIN_UNSELECTED);
	put_domain(1, "2", "web", UUID_B, "");
	tick_after_listing(&rig);
	assert_int_equal(selection.n, 2);
	/* a selected domain stays selected */
	put_domain(0, "1", "former", UUID_A, "");
	tick_after_listing(&rig);
	assert_int_equal(find_domain(&rig, "former").kind, VMOP_DOMAIN_PASSIVE);
	assert_int_equal(selection.n, 2);
	end_all(&rig);
}

/* Only the source notices that an agent comes or goes: the selection is set at each tick. */
static void an_active_domains_agent(void **state)
{
	static const char *const active[] = {"web"};
	struct rig rig;
	(void)state;
	begin(&rig);
	put_domain(0, "1", "web", UUID_A, "pv");
	ok(create(&rig,
		  (struct vmop_profiler_options){
			  .setup = &(struct vmop_setup){.active_domains = {(char **)active, 1}}}));
	assert_null(find_domain(&rig, "web").note);
	selection.refused = 1;
	selection.error = ENOLINK;
	ok(vmop_profiler_tick(rig.profiler));
	assert_non_null(strstr(find_domain(&rig, "web").note, "vmopd --active"));
	selection.error = EAGAIN;
	ok(vmop_profiler_tick(rig.profiler));
	assert_non_null(strstr(find_domain(&rig, "web").note, "not sampled yet"));
	selection.refused = 0;
	ok(vmop_profiler_tick(rig.profiler));
	assert_null(find_domain(&rig, "web").note);
	end_all(&rig);
}

static void rejects(struct vmop_profiler_options options, const char *what)
{
	struct rig rig;
	begin(&rig);
	put_domain(0, "1", "web", UUID_A, "pv");
	put_domain(1, "4", "db", UUID_B, "pvh");
	struct vmop_error *err = create(&rig, options);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	if (!strstr(err->message, what))
		fail_msg("\"%s\" does not contain \"%s\"", err->message, what);
	vmop_error_destroy(err);
	rig.profiler = NULL;
	end_all(&rig);
}

static void a_named_domain_does_not_run(void **state)
{
	static const char *const unknown[] = {"web", "5"}, *const none[] = {"none"};
	(void)state;
	rejects((struct vmop_profiler_options){.passive_domains = unknown, .n_passive_domains = 2},
		"passive domain \"5\" does not run; those that do: web (id 1), db (id 4)");
	rejects(
		(struct vmop_profiler_options){
			.setup = &(struct vmop_setup){.active_domains = {(char **)none, 1}}},
		"active domain \"none\" does not run");
}

static void selected_by_name_uuid_and_id(void **state)
{
	static const char *const passive[] = {UUID_B, "3"}, *const active[] = {"web"};
	struct rig rig;
	(void)state;
	begin(&rig);
	put_domain(0, "1", "web", UUID_A, "pv");
	put_domain(1, "2", "db", UUID_B, "pv");
	put_domain(2, "3", "mail", "nothing", "pv");
	put_domain(3, "4", "other", "nothing", "pv");
	ok(create(&rig,
		  (struct vmop_profiler_options){
			  .passive_domains = passive,
			  .n_passive_domains = 2,
			  .setup = &(struct vmop_setup){.active_domains = {(char **)active, 1}}}));
	assert_int_equal(find_domain(&rig, "web").kind, VMOP_DOMAIN_ACTIVE);
	assert_int_equal(find_domain(&rig, "db").kind, VMOP_DOMAIN_PASSIVE);
	assert_int_equal(find_domain(&rig, "mail").kind, VMOP_DOMAIN_PASSIVE);
	assert_int_equal(find_domain(&rig, "other").kind, VMOP_DOMAIN_UNSELECTED);
	assert_int_equal(selection.n, 3);
	assert_int_equal(selection.domains[0].id, 1);
	assert_true(selection.domains[0].is_active);
	assert_false(selection.domains[1].is_active);
	end_all(&rig);
}

static void more_domains_than_xen_samples(void **state)
{
	struct rig rig;
	static char ids[26][4];
	static const char *names[26];
	(void)state;
	begin(&rig);
	for (size_t i = 0; i < 30; i++) {
		char id[8], name[16];
		snprintf(id, sizeof(id), "%zu", i + 1);
		snprintf(name, sizeof(name), "g%zu", i + 1);
		put_domain(i, id, name, "nothing", "pv");
	}
	ok(create(&rig, (struct vmop_profiler_options){0}));
	assert_int_equal(selection.n, 25);
	assert_int_equal(find_domain(&rig, "g25").kind, VMOP_DOMAIN_PASSIVE);
	assert_int_equal(find_domain(&rig, "g26").kind, VMOP_DOMAIN_UNSELECTED);
	assert_non_null(strstr(find_domain(&rig, "g26").image, "25"));
	vmop_profiler_destroy(rig.profiler);
	vmop_db_close(rig.db);
	unlink(rig.path);
	for (size_t i = 0; i < 26; i++) {
		snprintf(ids[i], sizeof(ids[i]), "%zu", i + 1);
		names[i] = ids[i];
	}
	struct vmop_error *err =
		create(&rig, (struct vmop_profiler_options){.passive_domains = names,
							    .n_passive_domains = 26});
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	assert_non_null(strstr(err->message, "26 passive domains"));
	vmop_error_destroy(err);
	rig.profiler = NULL;
	end_all(&rig);
}

static void a_domain_that_xen_refuses(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig);
	put_domain(0, "1", "web", UUID_A, "pv");
	selection.refused = 1;
	ok(create(&rig, (struct vmop_profiler_options){0}));
	assert_non_null(strstr(find_domain(&rig, "web").note, "not sampled"));
	end_all(&rig);
}

static void hypervisor_samples_and_stale_addresses(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig);
	machine_file(&rig, "/proc/cpuinfo", "vendor_id\t: AuthenticAMD\n");
	put_domain(0, "1", "web", UUID_A, "pv");
	put_domain(1, "2", "db", UUID_B, "pvh");
	ok(create(&rig, (struct vmop_profiler_options){0}));
	assert_null(find_domain(&rig, "web").note);
	assert_non_null(strstr(find_domain(&rig, "db").note, "AMD"));
	give_xen_sample(&rig, 1, 0, 0xffff82d040201010, VMOP_SAMPLE_HYPERVISOR);
	give_xen_sample(&rig, 0, 0, 0xffff82d040200104, VMOP_SAMPLE_HYPERVISOR);
	give_xen_sample(&rig, 1, 0, 0xffff830000000000, VMOP_SAMPLE_HYPERVISOR); /* not code */
	give_xen_sample(&rig, 2, 1, 0xffffffff81000000, GUEST | VMOP_SAMPLE_USER);
	give_xen_sample(&rig, 1, 0, 0xffffffff81000000, GUEST | VMOP_SAMPLE_KERNEL);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "[xen]", NULL), 2);
	assert_int_equal(samples_of(session, "[unknown Xen text]", NULL), 1);
	/* a stale address implies the mode, because the sample's mode is that of another exit */
	assert_int_equal(samples_of(session, "[guest db kernel]", NULL), 1);
	assert_int_equal(samples_of(session, "[guest web kernel]", NULL), 1);
	assert_int_equal(loss_of(session, "stale-address"), 1);
	uint64_t billed = 0;
	for (size_t i = 0; i < session->n; i++)
		if (session->rows[i].kind == VMOP_IMAGE_HYPERVISOR &&
		    session->rows[i].key.billed.number == find_domain(&rig, "web").id.number)
			billed += session->rows[i].samples;
	assert_int_equal(billed, 2);
	assert_int_equal(find_domain(&rig, "web").samples_hypervisor, 2);
	assert_string_equal(find_domain(&rig, "xen").image, "/proc/xen/xensyms");
	end_all(&rig);
}

static void symbols_of_another_xen(void **state)
{
	struct rig rig;
	char path[160];
	(void)state;
	begin(&rig);
	snprintf(path, sizeof(path), "%s/root/xen-syms.map", rig.folder);
	machine_file(&rig, "/xen-syms.map",
		     "ffff82d040200000 T _stext\nffff82d040201000 T do_softirq\n"
		     "ffff82d040300000 T only_here\nffff82d040360783 T _etext\n");
	ok(create(&rig,
		  (struct vmop_profiler_options){.setup = &(struct vmop_setup){.xen = path}}));
	assert_string_equal(find_domain(&rig, "xen").image, path);
	vmop_profiler_destroy(rig.profiler);
	vmop_db_close(rig.db);
	unlink(rig.path);
	machine_file(&rig, "/xen-syms.map",
		     "ffff82d040200000 T _stext\nffff82d040201010 T do_softirq\n"
		     "ffff82d040360783 T _etext\n");
	struct vmop_error *err = create(
		&rig, (struct vmop_profiler_options){.setup = &(struct vmop_setup){.xen = path}});
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	assert_non_null(strstr(err->message, "1 of 3 functions have other addresses"));
	vmop_error_destroy(err);
	rig.profiler = NULL;
	end_all(&rig);
}

static void build_ids_decide(void **state)
{
	struct vmop_build_id a = {.len_bytes = 2, .bytes = {1, 2}};
	struct vmop_build_id b = {.len_bytes = 2, .bytes = {1, 3}}, none = {0};
	(void)state;
	assert_null(vmop_xen_symbols_check("f", NULL, &a, NULL, &a));
	assert_null(vmop_xen_symbols_check("f", NULL, &none, NULL, &a));
	struct vmop_error *err = vmop_xen_symbols_check("f", NULL, &a, NULL, &b);
	assert_non_null(err);
	assert_string_equal(err->message,
			    "f: not the running Xen's: its build-id is 0102, not 0103");
	vmop_error_destroy(err);
}

/* A xenstored that hangs delays the start by some seconds, and not more. */
static void a_xenstored_that_hangs(void **state)
{
	struct rig rig;
	struct vmop_xenstore *store;
	(void)state;
	begin(&rig);
	xenstored.is_silent = true;
	struct vmop_error *err = vmop_xenstore_open(&store);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	vmop_error_destroy(err);
	xenstored_stop(rig.folder);
	assert_int_equal(unsetenv("XENSTORED_PATH"), 0);
	char command[128];
	snprintf(command, sizeof(command), "rm -rf '%s'", rig.folder);
	assert_int_equal(system(command), 0);
}

/* Without xenstored, only domains that are named by id are known. */
static void without_a_xenstored(void **state)
{
	static const char *const ids[] = {"7"}, *const names[] = {"web"}, *const dom0[] = {"0"};
	struct rig rig;
	(void)state;
	begin(&rig);
	xenstored_stop(rig.folder);
	ok(create(&rig,
		  (struct vmop_profiler_options){.passive_domains = ids, .n_passive_domains = 1}));
	assert_int_equal(selection.n, 1);
	assert_int_equal(selection.domains[0].id, 7);
	assert_int_equal(find_domain(&rig, "domain-7").kind, VMOP_DOMAIN_PASSIVE);
	ok(vmop_profiler_tick(rig.profiler));
	vmop_profiler_destroy(rig.profiler);
	vmop_db_close(rig.db);
	unlink(rig.path);
	struct vmop_error *err =
		create(&rig, (struct vmop_profiler_options){.passive_domains = names,
							    .n_passive_domains = 1});
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	vmop_error_destroy(err);
	rig.profiler = NULL;
	vmop_db_close(rig.db);
	unlink(rig.path);
	selection.refused = 7;
	err = create(&rig, (struct vmop_profiler_options){.passive_domains = ids,
							  .n_passive_domains = 1});
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	assert_non_null(strstr(err->message, "domain 7"));
	vmop_error_destroy(err);
	rig.profiler = NULL;
	vmop_db_close(rig.db);
	unlink(rig.path);
	selection.n = 0;
	err = create(&rig, (struct vmop_profiler_options){.passive_domains = dom0,
							  .n_passive_domains = 1});
	assert_non_null(err);
	assert_non_null(strstr(err->message, "passive domain \"0\" does not run"));
	assert_int_equal(selection.n, 0);
	vmop_error_destroy(err);
	rig.profiler = NULL;
	end(&rig);
}

/* The user expects that a named domain is sampled. */
static void named_in_a_dom0_by_perf(void **state)
{
	static const char *const web[] = {"web"}, *const all[] = {"all"};
	const struct {
		struct vmop_profiler_options options;
		enum vmop_source_reach view;
		const char *words;
	} table[] = {
		{{.passive_domains = web, .n_passive_domains = 1},
		 VMOP_REACH_OWN,
		 "passive domain \"web\" can't be sampled from dom0"},
		{{.setup = &(struct vmop_setup){.active_domains = {(char **)all, 1}}},
		 VMOP_REACH_OWN_AND_HYPERVISOR,
		 "sees only dom0"},
		{{.setup = &(struct vmop_setup){.active_domains = {(char **)web, 1}}},
		 VMOP_REACH_UNDIVIDED,
		 "does not tell domains apart"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct vmop_profiler_options options = table[i].options;
		struct vmop_source source = {.ops = &perf_ops, .reach = table[i].view};
		struct rig rig;
		begin(&rig);
		struct vmop_error *err = rig_create(&rig, &options, &source);
		assert_non_null(err);
		assert_int_equal(err->code, VMOP_ERROR_CANT);
		assert_non_null(strstr(err->message, table[i].words));
		vmop_error_destroy(err);
		rig.profiler = NULL;
		xenstored_stop(rig.folder);
		end(&rig);
	}
}

/* Without xenoprof: the other domains are listed as not sampled. */
static void a_dom0_by_perf(void **state)
{
	struct rig rig;
	struct vmop_source source = {.ops = &perf_ops, .reach = VMOP_REACH_OWN};
	struct vmop_profiler_options options = {0};
	(void)state;
	begin(&rig);
	machine_file(&rig, "/proc/cpuinfo", "vendor_id\t: AuthenticAMD\n");
	put_domain(0, "1", "web", UUID_A, "pvh");
	ok(rig_create(&rig, &options, &source));
	assert_int_equal(find_domain(&rig, "dom0").id.number, 0);
	assert_int_equal(find_domain(&rig, "xen").id.number, UINT32_MAX);
	struct vmop_domain_stats web = find_domain(&rig, "web");
	assert_int_equal(web.kind, VMOP_DOMAIN_UNSAMPLED);
	assert_int_equal(web.xen_domid, 1);
	assert_string_equal(web.note, "not sampled: perf in dom0 samples only dom0");
	put_domain(1, "2", "db", UUID_B, "pv");
	tick_after_listing(&rig);
	assert_int_equal(find_domain(&rig, "db").kind, VMOP_DOMAIN_UNSAMPLED);
	assert_int_equal(selection.times, 0);
	give_xen_sample(&rig, 0, 0, 0xffffffff81000000, VMOP_SAMPLE_KERNEL);
	/* The mode of the vPMU was changed since: samples without a domain come. */
	give_xen_sample(&rig, 0, 0, 0xffff82d040201010, VMOP_SAMPLE_HYPERVISOR);
	give_xen_sample(&rig, VMOP_SOURCE_DOMAIN_UNKNOWN, 0, 0x401000, GUEST | VMOP_SAMPLE_USER);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(find_domain(&rig, "dom0").samples_guest_kernel, 2);
	assert_int_equal(samples_of(session, "[guest limit]", NULL), 1);
	drop_last_domain();
	tick_after_listing(&rig);
	assert_false(find_domain(&rig, "db").is_running);
	end_all(&rig);
}

/* The vPMU delivers the samples of all domains to dom0. */
static void a_dom0_with_all_domains_samples(void **state)
{
	struct rig rig;
	struct vmop_source source = {.ops = &perf_ops, .reach = VMOP_REACH_UNDIVIDED};
	struct vmop_profiler_options options = {0};
	const uint32_t unknown_id = VMOP_SOURCE_DOMAIN_UNKNOWN;
	(void)state;
	begin(&rig);
	put_domain(0, "1", "web", UUID_A, "pv");
	ok(rig_create(&rig, &options, &source));
	assert_int_equal(find_domain(&rig, "web").kind, VMOP_DOMAIN_UNSAMPLED);
	assert_non_null(strstr(find_domain(&rig, "web").note, VMOP_DOMAIN_SOME_NAME));
	give_xen_sample(&rig, unknown_id, 0, 0x401000, GUEST | VMOP_SAMPLE_USER);
	give_xen_sample(&rig, unknown_id, 0, 0xffffffff81000000, GUEST | VMOP_SAMPLE_KERNEL);
	give_xen_sample(&rig, unknown_id, 0, 0xffff82d040201010, VMOP_SAMPLE_HYPERVISOR);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "[some domain]", NULL), 2);
	assert_int_equal(samples_of(session, "[xen]", NULL), 1);
	struct vmop_domain_stats some = find_domain(&rig, VMOP_DOMAIN_SOME_NAME);
	assert_int_equal(some.samples_guest_user, 1);
	assert_int_equal(some.samples_guest_kernel, 1);
	assert_int_equal(some.samples_hypervisor, 1);
	assert_int_equal(some.xen_domid, -1);
	assert_non_null(strstr(some.note, "dom0_vcpus_pin"));
	end_all(&rig);
}

/* A domU is like any machine except for Xen's work for it.  It does not use xenstored. */
static void in_an_active_domain(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig);
	xenstored_stop(rig.folder);
	struct vmop_profiler_options options = {0};
	ok(rig_create(&rig, &options, &domu_source));
	assert_int_equal(find_domain(&rig, "host").id.number, 0);
	assert_int_equal(find_domain(&rig, "host").xen_domid, -1);
	assert_string_equal(find_domain(&rig, "xen").image, "none: dom0 has them");
	give_xen_sample(&rig, 0, 0, 0xffff82d040201010, VMOP_SAMPLE_HYPERVISOR);
	give_xen_sample(&rig, 0, 0, 0x401000, VMOP_SAMPLE_USER);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "[xen]", NULL), 1);
	assert_int_equal(samples_of(session, "[domU user]", NULL), 1);
	end(&rig);
}

static bool has_symbol(struct vmop_db *db, struct vmop_image_id image, const char *name)
{
	struct vmop_symbol *symbols = NULL;
	size_t n = 0;
	bool has = false;
	ok(vmop_db_get_symbols(db, image, &symbols, &n));
	for (size_t i = 0; i < n; i++)
		has |= !strcmp(symbols[i].name, name);
	free(symbols);
	return has;
}

/* A domU's session is read without its files: it contains the symbols of sampled files. */
static void symbols_of_an_active_domains_files(void **state)
{
	struct rig rig;
	struct stat st;
	char path[160], command[256];
	(void)state;
	begin(&rig);
	xenstored_stop(rig.folder);
	machine_file(&rig, "/bin/mine", "to make the folder");
	snprintf(path, sizeof(path), "%s/root/bin/mine", rig.folder);
	snprintf(command, sizeof(command), "cp /proc/%d/exe '%s'", (int)getpid(), path);
	assert_int_equal(system(command), 0);
	assert_int_equal(stat(path, &st), 0);
	struct vmop_profiler_options options = {0};
	ok(rig_create(&rig, &options, &domu_source));
	give_fork(&rig, 1, 20, 20);
	give_comm(&rig, 20, 20, "mine", 1);
	give(&rig, (struct vmop_record){.type = VMOP_RECORD_MMAP,
					.mmap = {.start = 0x400000,
						 .len_bytes = 0x10000,
						 .pid = 20,
						 .tid = 20,
						 .inode = st.st_ino,
						 .path = "/bin/mine"}});
	give_sample(&rig, 20, 20, 0x401000, VMOP_SAMPLE_USER);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "/bin/mine", NULL), 1);
	for (size_t i = 0; i < session->n; i++)
		if (!strcmp(session->rows[i].image, "/bin/mine"))
			assert_true(has_symbol(rig.db, session->rows[i].key.image,
					       "symbols_of_an_active_domains_files"));
	end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_an_active_domain),
		cmocka_unit_test(named_in_a_dom0_by_perf),
		cmocka_unit_test(a_dom0_by_perf),
		cmocka_unit_test(a_dom0_with_all_domains_samples),
		cmocka_unit_test(symbols_of_an_active_domains_files),
		cmocka_unit_test(parse_xenstore_values),
		cmocka_unit_test(names_and_hostile_names),
		cmocka_unit_test(domains_come_and_go),
		cmocka_unit_test(an_id_is_reused),
		cmocka_unit_test(a_sample_before_the_listing),
		cmocka_unit_test(a_domain_is_renamed),
		cmocka_unit_test(an_active_domains_agent),
		cmocka_unit_test(a_named_domain_does_not_run),
		cmocka_unit_test(selected_by_name_uuid_and_id),
		cmocka_unit_test(more_domains_than_xen_samples),
		cmocka_unit_test(a_domain_that_xen_refuses),
		cmocka_unit_test(hypervisor_samples_and_stale_addresses),
		cmocka_unit_test(symbols_of_another_xen),
		cmocka_unit_test(build_ids_decide),
		cmocka_unit_test(without_a_xenstored),
		cmocka_unit_test(a_xenstored_that_hangs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
