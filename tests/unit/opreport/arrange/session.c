// SPDX-License-Identifier: GPL-2.0-or-later
/* Test reports of several sessions: which domains are equal, and which samples count once. */
#include "opreport/arrange/session.h"

#include <cmocka.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "opreport/query/query.h"
#include "tests/unit/ok.h"

#define UUID_A "aaaaaaaa-0000-4000-8000-000000000001"
#define UUID_W1 "eeeeeeee-0000-4000-8000-000000000005"
#define UUID_GUEST "cccccccc-0000-4000-8000-000000000003"

static char dir[] = "/tmp/vmop-sessions-XXXXXX";

#define XEN_BASE 0xffff82d040200000ull

enum { HOST, GUEST, XEN };
enum { KERNEL = 1, GUEST_KERNEL, MODULE, XEN_TEXT, PROGRAM };

/* ---- sessions made by hand ------------------------------------------------- */

struct made {
	const char *name;		/* of the file, without ".vmop" */
	const char *hostname;		/* NULL: unknown */
	const char *uuid;		/* of domain 0 */
	const char *guest, *guest_uuid; /* of domain 1; NULL: no guest */
	const char *event;		/* NULL: "cycles" */
	uint64_t start_s;
	bool is_unsampled; /* the guest has no samples */
	bool with_xen;	   /* domain 2 */
	bool with_text;	   /* domain 2, with an image of Xen */
	enum { NO_PROGRAM, PROGRAM_OF_PATH, PROGRAM_WITH_SYMBOLS } program;
};

static void put_symbol(struct vmop_db *db, uint32_t image, const char *name)
{
	assert_ok(vmop_db_put_symbols(
		db, (struct vmop_image_id){image},
		&(struct vmop_symbol){
			.offset = 0x100, .len_bytes = 0x100, .name = name, .type = 't'},
		1));
}

/* dom0's session has the base of Xen's text; an active guest's has plain addresses. */
static void put_xen(struct vmop_db *db, bool is_dom0)
{
	struct vmop_db_image xen = {.id = {XEN_TEXT},
				    .kind = VMOP_IMAGE_HYPERVISOR,
				    .domain = {XEN},
				    .name = "[xen]",
				    .base = is_dom0 ? XEN_BASE : 0,
				    .len_bytes = is_dom0 ? 0x1000 : 0,
				    .build_id_len_bytes = is_dom0 ? 2 : 0,
				    .build_id = {9, 1}};
	assert_ok(vmop_db_put_image(db, &xen));
	if (is_dom0)
		put_symbol(db, XEN_TEXT, "xen_work");
}

/* The guest's kernel has one build-id, here and in its own session; its module has none. */
static void put_images(struct vmop_db *db, const struct made *made)
{
	bool is_guest = made->uuid && !strcmp(made->uuid, UUID_GUEST);
	struct vmop_db_image kernel = {.id = {KERNEL},
				       .kind = VMOP_IMAGE_KERNEL,
				       .name = "[kernel]",
				       .base = 0xffffffff81000000,
				       .build_id_len_bytes = 2,
				       .build_id = {is_guest ? 7 : 8, 1}};
	assert_ok(vmop_db_put_image(db, &kernel));
	put_symbol(db, KERNEL, is_guest ? "guest_work" : "host_work");
	assert_ok(vmop_db_put_image(db, &(struct vmop_db_image){.id = {MODULE},
								.kind = VMOP_IMAGE_MODULE,
								.name = "[mod]",
								.base = 0xffffffffc0000000}));
	put_symbol(db, MODULE, "mod_work");
	if (made->with_text)
		put_xen(db, made->guest != NULL);
	if (!made->guest)
		return;
	assert_ok(vmop_db_put_image(db, &(struct vmop_db_image){.id = {GUEST_KERNEL},
								.kind = VMOP_IMAGE_GUEST_KERNEL,
								.domain = {GUEST},
								.name = "[guest kernel]",
								.base = 0xffffffff90000000,
								.build_id_len_bytes = 2,
								.build_id = {7, 1}}));
	put_symbol(db, GUEST_KERNEL, "guest_work");
}

/* Add the file of this test, without a build-id. */
static void put_program(struct vmop_db *db, bool with_symbols)
{
	char path[PATH_MAX] = "";
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_ok(vmop_db_put_image(
		db,
		&(struct vmop_db_image){.id = {PROGRAM}, .kind = VMOP_IMAGE_FILE, .name = path}));
	if (with_symbols)
		put_symbol(db, PROGRAM, "program_work");
}

struct place {
	uintptr_t address, offset;
};

static int find_offset(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct place *place = arg;
	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + phdr->p_vaddr;
		if (phdr->p_type == PT_LOAD && place->address - start < phdr->p_memsz)
			place->offset = place->address - start + phdr->p_offset;
	}
	return 0;
}

/* Return the offset of put_program() in its file. */
static uint64_t offset_of_program(void)
{
	struct place place = {.address = (uintptr_t)put_program};
	dl_iterate_phdr(find_offset, &place);
	return place.offset;
}

static void put_domains(struct vmop_db *db, const struct made *made)
{
	assert_ok(vmop_db_put_domain(db, &(struct vmop_db_domain){.id = {HOST},
								  .kind = VMOP_DOMAIN_HOST,
								  .name = "host",
								  .uuid = made->uuid,
								  .first_seen_ns = 1}));
	if (made->guest)
		assert_ok(vmop_db_put_domain(
			db,
			&(struct vmop_db_domain){.id = {GUEST},
						 .kind = made->is_unsampled ? VMOP_DOMAIN_UNSAMPLED
									    : VMOP_DOMAIN_ACTIVE,
						 .name = made->guest,
						 .uuid = made->guest_uuid,
						 .first_seen_ns = 1}));
	if (made->with_xen || made->with_text)
		assert_ok(vmop_db_put_domain(
			db, &(struct vmop_db_domain){.id = {XEN},
						     .kind = VMOP_DOMAIN_HYPERVISOR,
						     .name = "xen",
						     .first_seen_ns = 1}));
}

static void put_at(struct vmop_db *db, struct vmop_db_chunk_key key, uint64_t offset,
		   uint64_t samples)
{
	const struct vmop_db_cell cell = {offset, samples, samples * 10};
	key.cpu = key.vcpu = -1;
	if (key.bill == VMOP_BILL_SELF)
		key.billed = key.domain;
	assert_ok(vmop_db_put_chunk(db, &key, &cell, 1));
}

static void put(struct vmop_db *db, struct vmop_db_chunk_key key, uint64_t samples)
{
	put_at(db, key, 0x120, samples);
}

/* Make a session.  In each of 4 s: host kernel 10, its module 5, guest 3, for the guest 2, Xen 1.
 */
static void make(const struct made *made)
{
	char path[96], number[24];
	struct vmop_db *db;
	snprintf(path, sizeof(path), "%s/%s.vmop", dir, made->name);
	assert_ok(vmop_db_create(path, &db));
	snprintf(number, sizeof(number), "%lu", (unsigned long)(made->start_s * VMOP_NS_PER_S));
	assert_ok(vmop_db_put_info(db, "start_ns", number));
	if (made->hostname)
		assert_ok(vmop_db_put_info(db, "hostname", made->hostname));
	assert_ok(vmop_db_put_event(
		db, &(struct vmop_db_event){.name = made->event ? made->event : "cycles",
					    .source = "perf",
					    .unit = "events",
					    .period_events = 10}));
	put_domains(db, made);
	put_images(db, made);
	if (made->program)
		put_program(db, made->program == PROGRAM_WITH_SYMBOLS);
	for (unsigned second = 0; second < 4; second++) {
		assert_ok(vmop_db_begin_interval(db, (made->start_s + second) * VMOP_NS_PER_S,
						 VMOP_NS_PER_S));
		put(db, (struct vmop_db_chunk_key){.mode = VMOP_MODE_KERNEL, .image = {KERNEL}},
		    10);
		put(db, (struct vmop_db_chunk_key){.mode = VMOP_MODE_KERNEL, .image = {MODULE}}, 5);
		if (made->guest && !made->is_unsampled) {
			put(db,
			    (struct vmop_db_chunk_key){.domain = {GUEST},
						       .mode = VMOP_MODE_KERNEL,
						       .image = {GUEST_KERNEL}},
			    3);
			put(db,
			    (struct vmop_db_chunk_key){.billed = {GUEST},
						       .bill = VMOP_BILL_HYPERVISOR,
						       .mode = VMOP_MODE_HYPERVISOR,
						       .image = {KERNEL}},
			    2);
		}
		if (made->with_xen)
			put(db,
			    (struct vmop_db_chunk_key){.domain = {XEN},
						       .mode = VMOP_MODE_HYPERVISOR,
						       .image = {MODULE}},
			    1);
		if (made->program)
			put_at(db,
			       (struct vmop_db_chunk_key){.mode = VMOP_MODE_USER,
							  .image = {PROGRAM}},
			       made->program == PROGRAM_OF_PATH ? offset_of_program() : 0x120, 1);
		if (made->with_text)
			put_at(db,
			       (struct vmop_db_chunk_key){.domain = {XEN},
							  .mode = VMOP_MODE_HYPERVISOR,
							  .image = {XEN_TEXT}},
			       made->guest ? 0x120 : XEN_BASE + 0x130, 1);
		assert_ok(vmop_db_commit(db));
	}
	snprintf(number, sizeof(number), "%lu",
		 (unsigned long)((made->start_s + 4) * VMOP_NS_PER_S));
	assert_ok(vmop_db_put_info(db, "end_ns", number));
	assert_ok(vmop_db_finish(db));
}

static const struct made sessions[] = {
	{.name = "dom0",
	 .hostname = "alpha",
	 .uuid = UUID_A,
	 .guest = "db1",
	 .guest_uuid = UUID_GUEST,
	 .start_s = 100,
	 .with_xen = true},
	/* the guest's own session, two seconds later */
	{.name = "db1",
	 .hostname = "db1.example",
	 .uuid = UUID_GUEST,
	 .start_s = 102,
	 .with_xen = true},
	/* the first machine on the next day, its UUID in upper case */
	{.name = "later",
	 .hostname = "alpha",
	 .uuid = "AAAAAAAA-0000-4000-8000-000000000001",
	 .guest = "db1",
	 .guest_uuid = UUID_GUEST,
	 .start_s = 200},
	/* recorded before sessions had UUIDs of hosts: equal by name */
	{.name = "old", .hostname = "alpha", .start_s = 50, .guest = "other"},
	{.name = "older", .hostname = "alpha", .start_s = 40, .guest = "other"},
	{.name = "beta",
	 .hostname = "beta",
	 .uuid = "bbbbbbbb-0000-4000-8000-000000000002",
	 .guest = "other",
	 .start_s = 100},
	/* another machine whose firmware has the same UUID */
	{.name = "twin", .hostname = "gamma", .uuid = UUID_A, .start_s = 100},
	/* the same machine at the same time */
	{.name = "again", .hostname = "alpha", .uuid = UUID_A, .start_s = 101},
	{.name = "misses",
	 .hostname = "db1.example",
	 .uuid = UUID_GUEST,
	 .event = "misses",
	 .start_s = 100},
	{.name = "nameless", .start_s = 100},
	{.name = "path", .hostname = "delta", .start_s = 100, .program = PROGRAM_OF_PATH},
	{.name = "own", .hostname = "delta", .start_s = 100, .program = PROGRAM_WITH_SYMBOLS},
	{.name = "xen0",
	 .hostname = "omega",
	 .uuid = "dddddddd-0000-4000-8000-000000000004",
	 .guest = "w1",
	 .guest_uuid = UUID_W1,
	 .start_s = 100,
	 .with_text = true},
	/* a dom0 that could not sample its guest, which has its own session */
	{.name = "blind",
	 .hostname = "psi",
	 .uuid = "dddddddd-0000-4000-8000-000000000005",
	 .guest = "w1",
	 .guest_uuid = UUID_W1,
	 .start_s = 100,
	 .is_unsampled = true},
	{.name = "xen1", .hostname = "w1", .uuid = UUID_W1, .start_s = 100, .with_text = true},
};

static int make_sessions(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < sizeof(sessions) / sizeof(*sessions); i++)
		make(&sessions[i]);
	return 0;
}

static int remove_sessions(void **state)
{
	(void)state;
	char command[128];
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	return system(command);
}

/* ---- queries --------------------------------------------------------------- */

static struct vmop_error *ask(const struct vmop_query *query, const char *names, const char *more,
			      struct vmop_result *ret)
{
	_cleanup_(vmop_spec_deinit) struct vmop_spec spec = {.session_dir = dir};
	_cleanup_(vmop_sessions_deinit) struct vmop_sessions opened = {0};
	char text[128];
	*ret = (struct vmop_result){0};
	snprintf(text, sizeof(text), "session:%s", names);
	assert_ok(vmop_spec_parse(&spec, text));
	if (more)
		assert_ok(vmop_spec_parse(&spec, more));
	struct vmop_error *err = vmop_sessions_open(&spec, &opened);
	return err ? err : vmop_query_run(query, &spec, opened.items, opened.n, ret);
}

static const struct vmop_query by_domain = {.dimensions = VMOP_BY_DOMAIN};
static const struct vmop_query bill = {
	.dimensions = VMOP_BY_DOMAIN, .accounting = VMOP_ACCOUNTING_DOMAIN, .by_part = true};
static const struct vmop_query by_symbol = {.dimensions = VMOP_BY_DOMAIN | VMOP_BY_IMAGE |
							  VMOP_BY_SYMBOL};

/* Compare rows by name, for "NAME=SAMPLES NAME=SAMPLES". */
static int compare_rows(const void *a, const void *b, void *result)
{
	return strcmp(vmop_row_domain(result, a)->name, vmop_row_domain(result, b)->name);
}

static void expect_domains(const struct vmop_query *query, const char *names, const char *more,
			   const char *wanted)
{
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	char text[256] = "";
	size_t len = 0;
	assert_ok(ask(query, names, more, &result));
	qsort_r(result.rows, result.n_rows, sizeof(*result.rows), compare_rows, &result);
	for (size_t i = 0; i < result.n_rows; i++)
		len += (size_t)snprintf(
			text + len, sizeof(text) - len, "%s%s=%lu", i ? " " : "",
			vmop_row_domain(&result, &result.rows[i])->name,
			(unsigned long)vmop_result_sum(&result, result.rows[i].counts, 0).samples);
	assert_string_equal(text, wanted);
}

static uint64_t omitted(const struct vmop_result *result)
{
	uint64_t samples = 0;
	for (size_t i = 0; i < result->n_omitted; i++)
		samples += result->omitted[i].samples;
	return samples;
}

static void expect_error(const char *names, enum vmop_error_code code, const char *message)
{
	struct vmop_result result;
	struct vmop_error *err = ask(&by_domain, names, NULL, &result);
	vmop_result_deinit(&result);
	assert_non_null(err);
	assert_int_equal(err->code, code);
	if (!strstr(err->message, message))
		fail_msg("%s", err->message);
	vmop_error_destroy(err);
}

/* ---- tests ----------------------------------------------------------------- */

static void one_session_is_as_ever(void **state)
{
	(void)state;
	expect_domains(&by_domain, "dom0", NULL, "db1=12 host=68 xen=4");
	expect_domains(&by_domain, "db1", NULL, "host=60 xen=4");
}

/* Two of the four seconds of db1 count from dom0's session, the others from db1's. */
static void a_guests_own_session(void **state)
{
	(void)state;
	expect_domains(&by_domain, "dom0,db1", NULL, "db1=66 host=68 xen=8");
	expect_domains(&by_domain, "db1,dom0", NULL, "db1=66 host=68 xen=8");
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	assert_ok(ask(&by_domain, "dom0,db1", NULL, &result));
	assert_int_equal(result.n_omitted, 1);
	assert_int_equal(result.omitted[0].session, 0);
	assert_int_equal(result.omitted[0].samples, 6);
	assert_string_equal(vmop_catalog_domain(&result.catalog, result.omitted[0].domain)->name,
			    "db1");
	assert_int_equal(result.base[0].samples, 142);
}

/* The session of a guest that the daemon fetched belongs to its host's. */
static void a_fetched_session(void **state)
{
	(void)state;
	char guest[96], fetched[96], bad[96], path[96];
	snprintf(guest, sizeof(guest), "%s/db1.vmop", dir);
	snprintf(fetched, sizeof(fetched), "%s/dom0~db1.vmop", dir);
	snprintf(bad, sizeof(bad), "%s/dom0~bad.vmop", dir);
	snprintf(path, sizeof(path), "%s/dom0.vmop", dir);
	assert_int_equal(link(guest, fetched), 0);
	expect_domains(&by_domain, "dom0", NULL, "db1=66 host=68 xen=8");
	expect_domains(&by_domain, "dom0~db1", NULL, "host=60 xen=4");
	expect_domains(&by_domain, "dom0,dom0~db1", NULL, "db1=66 host=68 xen=8");
	/* A path is of one file. */
	expect_domains(&by_domain, path, NULL, "db1=12 host=68 xen=4");
	/* A damaged session of a guest is an error only if the user names it. */
	FILE *file = fopen(bad, "w");
	assert_non_null(file);
	fputs("not a session at all, however long it may be made for the sake of it\n", file);
	fclose(file);
	expect_domains(&by_domain, "dom0", NULL, "db1=66 host=68 xen=8");
	expect_error("dom0~bad", VMOP_ERROR_CORRUPT, "dom0~bad.vmop");
	unlink(fetched);
	unlink(bad);
}

/* Only the host's session has the hypervisor's work for the guest. */
static void a_guests_bill(void **state)
{
	(void)state;
	expect_domains(&bill, "dom0,db1", NULL, "db1=74 host=60 xen=8");
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	assert_ok(ask(&bill, "dom0,db1", "domain:db1", &result));
	assert_int_equal(result.n_rows, 1);
	assert_int_equal(result.rows[0].counts[VMOP_PART_KERNEL].samples, 66);
	assert_int_equal(result.rows[0].counts[VMOP_PART_HYPERVISOR].samples, 8);
}

/* Expect "NAME NAME": the domains that ran unsampled. */
static void expect_unsampled(const char *names, const char *wanted)
{
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	char text[64] = "";
	assert_ok(ask(&by_domain, names, NULL, &result));
	for (size_t i = 1; i < result.catalog.domains.n; i++) {
		const struct vmop_domain_item *domain = vmop_catalog_domain(&result.catalog, i);
		if (domain->is_unsampled)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				 *text ? " " : "", domain->name);
	}
	assert_string_equal(text, wanted);
}

static void a_guest_that_was_not_sampled(void **state)
{
	(void)state;
	expect_unsampled("blind", "w1");
	expect_unsampled("xen0", "");
	expect_unsampled("blind,beta", "w1");
	expect_unsampled("blind,xen1", "");
	expect_unsampled("xen1,blind", "");
	expect_domains(&by_domain, "blind,xen1", NULL, "host=60 w1=60 xen=4");
}

static void domains_by_any_of_their_names(void **state)
{
	(void)state;
	expect_domains(&by_domain, "dom0,db1", "domain:db1", "db1=66");
	expect_domains(&by_domain, "dom0,db1", "domain:" UUID_GUEST, "db1=66");
	expect_domains(&by_domain, "dom0,db1", "domain:host", "host=68");
	expect_domains(&by_domain, "dom0,beta", "domain:host", "alpha=68 beta=68");
	expect_domains(&by_domain, "dom0,beta", "domain:beta", "beta=68");
}

static void hosts(void **state)
{
	(void)state;
	/* several days of one machine */
	expect_domains(&by_domain, "dom0,later", NULL, "db1=24 host=136 xen=4");
	expect_domains(&by_domain, "old,dom0", NULL, "db1=12 host=136 other=12 xen=4");
	/* guests without a UUID are equal by name on one host only */
	expect_domains(&by_domain, "old,older", NULL, "host=136 other=24");
	expect_domains(&by_domain, "old,beta", NULL,
		       "alpha=68 beta=68 other (beta)=12 other (old)=12");
	/* machines with the same UUID */
	expect_domains(&by_domain, "dom0,twin", NULL, "alpha=68 db1=12 gamma=60 xen=4");
	/* and machines without one */
	expect_domains(&by_domain, "dom0,nameless", NULL, "alpha=68 db1=12 host=60 xen=4");
}

static void a_machine_recorded_twice_at_one_time(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	expect_domains(&by_domain, "dom0,again", NULL, "db1=12 host=83 xen=4");
	assert_ok(ask(&by_domain, "dom0,again", NULL, &result));
	assert_int_equal(omitted(&result), 45);
}

/* Samples of an event that the better session lacks count from the other session. */
static void a_foreign_event(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	assert_ok(ask(&by_domain, "dom0,misses", NULL, &result));
	assert_int_equal(result.n_events, 2);
	assert_int_equal(result.n_omitted, 0);
	assert_int_equal(result.selected[0].samples, 84);
	assert_int_equal(result.selected[1].samples, 60);
	for (size_t i = 0; i < result.n_rows; i++) {
		const struct vmop_row *row = &result.rows[i];
		bool is_guest = !strcmp(vmop_row_domain(&result, row)->name, "db1");
		assert_int_equal(row->counts[1].samples, is_guest ? 60 : 0);
	}
}

/* Images are equal by build-id, else by name; then each session has its own symbols. */
static void symbols_merge(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	assert_ok(ask(&by_symbol, "dom0,db1", "domain:db1", &result));
	assert_int_equal(result.n_rows, 2);
	for (size_t i = 0; i < 2; i++) {
		const char *name = vmop_result_symbol_name(&result, &result.rows[i]);
		bool is_kernel = !strcmp(name, "guest_work");
		assert_true(is_kernel || !strcmp(name, "mod_work"));
		assert_int_equal(result.rows[i].counts[0].samples, is_kernel ? 46 : 20);
	}
	vmop_result_deinit(&result);
	assert_ok(ask(&by_symbol, "dom0,later", "image:[mod]", &result));
	assert_int_equal(result.n_rows, 2); /* host's, Xen's */
	assert_int_equal(result.missing.samples, 0);
}

static uint64_t samples_in(const char *session, const char *symbol)
{
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	uint64_t samples = 0;
	assert_ok(ask(&by_symbol, session, NULL, &result));
	for (size_t i = 0; i < result.n_rows; i++) {
		if (!strcmp(vmop_result_symbol_name(&result, &result.rows[i]), symbol))
			samples += result.rows[i].counts[0].samples;
	}
	return samples;
}

/* Symbols in the session prevail over a file at that path: it may be of another machine. */
static void files_without_a_build_id(void **state)
{
	(void)state;
	assert_int_equal(samples_in("path", "put_program"), 4);
	assert_int_equal(samples_in("own", "program_work"), 4);
}

/* dom0's symbols name Xen's functions, also in an active guest's session. */
static void addresses_of_xen_are_named(void **state)
{
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	(void)state;
	assert_ok(ask(&by_symbol, "xen0,xen1", "domain:xen", &result));
	assert_int_equal(result.n_rows, 1);
	assert_string_equal(vmop_result_symbol_name(&result, &result.rows[0]), "xen_work");
	assert_int_equal(result.rows[0].counts[0].samples, 8);
	vmop_result_deinit(&result);
	assert_ok(ask(&by_symbol, "xen1", "domain:xen",
		      &result)); /* without dom0's there are no symbols */
	assert_int_equal(result.missing.samples, 4);
}

static void times_are_the_walls(void **state)
{
	(void)state;
	/* [100, 104) and [102, 106) */
	expect_domains(&by_domain, "dom0,db1", "time:+1s..+3s", "db1=18 host=34 xen=3");
	expect_domains(&by_domain, "dom0,db1", "time:@105", "db1=15 xen=1");
	expect_domains(&by_domain, "dom0,db1", "time:-1s", "db1=15 xen=1");
	struct vmop_result result;
	struct vmop_error *err = ask(&by_domain, "dom0,db1", "time:@150", &result);
	vmop_result_deinit(&result);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_NOT_FOUND);
	vmop_error_destroy(err);
}

static void rows_by_session(void **state)
{
	(void)state;
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	const struct vmop_query query = {.dimensions = VMOP_BY_SESSION};
	assert_ok(ask(&query, "dom0,db1", NULL, &result));
	assert_int_equal(result.n_rows, 2);
	for (size_t i = 0; i < 2; i++) {
		const char *name = vmop_row_session(&result, &result.rows[i]);
		assert_int_equal(result.rows[i].counts[0].samples, strcmp(name, "db1") ? 78 : 64);
	}
}

static void what_is_wrong_names_the_session(void **state)
{
	(void)state;
	char path[96], twice[200];
	expect_error("dom0,nosuch", VMOP_ERROR_CANT, "no session 'nosuch'");
	expect_error("dom0,dom0", VMOP_ERROR_USAGE, "'dom0' and 'dom0' are the same file");
	snprintf(twice, sizeof(twice), "dom0,%s/dom0.vmop", dir);
	expect_error(twice, VMOP_ERROR_USAGE, "are the same file");
	snprintf(path, sizeof(path), "%s/text.vmop", dir);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs("not a session at all, however long it may be made for the sake of it\n", file);
	fclose(file);
	expect_error("dom0,text", VMOP_ERROR_CORRUPT, "text.vmop");
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_session_is_as_ever),
		cmocka_unit_test(a_guests_own_session),
		cmocka_unit_test(a_fetched_session),
		cmocka_unit_test(a_guests_bill),
		cmocka_unit_test(a_guest_that_was_not_sampled),
		cmocka_unit_test(domains_by_any_of_their_names),
		cmocka_unit_test(hosts),
		cmocka_unit_test(a_machine_recorded_twice_at_one_time),
		cmocka_unit_test(a_foreign_event),
		cmocka_unit_test(symbols_merge),
		cmocka_unit_test(files_without_a_build_id),
		cmocka_unit_test(addresses_of_xen_are_named),
		cmocka_unit_test(times_are_the_walls),
		cmocka_unit_test(rows_by_session),
		cmocka_unit_test(what_is_wrong_names_the_session),
	};
	return cmocka_run_group_tests(tests, make_sessions, remove_sessions);
}
