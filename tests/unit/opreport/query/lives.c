// SPDX-License-Identifier: GPL-2.0-or-later
/* Test guests that are started again, different guests of one name, and guests of guests. */
#include "opreport/query/identity.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "opreport/query/query.h"
#include "tests/unit/ok.h"

#define UUID_A "aaaaaaaa-0000-4000-8000-000000000001"
#define UUID_B "bbbbbbbb-0000-4000-8000-000000000002"
#define UUID_C "cccccccc-0000-4000-8000-000000000003"

enum { MAX_GUESTS = 4, MAX_SESSIONS = 3, LENGTH_S = 100 };

static const uint64_t second_ns = 1000000000;
static char dir[] = "/tmp/vmop-lives-XXXXXX";

/* A guest of a session, with one sample in each second of its life. */
struct guest {
	const char *name, *uuid;
	uint32_t pid;
	uint64_t start_s, end_s; /* after the session's start; end 0: it still runs */
};

struct session {
	uint64_t start_s;
	struct guest guests[MAX_GUESTS];
	const char *uuid, *hostname; /* of the machine; NULL: none, "alpha" */
};

static void put_sample(struct vmop_db *db, uint32_t domain)
{
	const struct vmop_db_cell cell = {0x10, 1, 10};
	const struct vmop_db_chunk_key key = {.domain = {domain},
					      .billed = {domain},
					      .mode = VMOP_MODE_KERNEL,
					      .cpu = -1,
					      .vcpu = -1,
					      .image = {1 + domain}};
	assert_ok(vmop_db_put_chunk(db, &key, &cell, 1));
}

static void put_guest(struct vmop_db *db, const struct session *session, uint32_t id)
{
	const struct guest *guest = &session->guests[id - 1];
	uint64_t start_s = session->start_s + guest->start_s;
	const struct vmop_db_domain domain = {
		.id = {id},
		.kind = VMOP_DOMAIN_PASSIVE,
		.name = guest->name,
		.uuid = guest->uuid,
		.vmm_pid = guest->pid,
		.first_seen_ns = start_s * second_ns,
		.last_seen_ns = guest->end_s ? (session->start_s + guest->end_s) * second_ns : 0,
	};
	const struct vmop_db_image image = {.id = {1 + id},
					    .kind = VMOP_IMAGE_GUEST_KERNEL,
					    .domain = {id},
					    .name = "[guest kernel]"};
	assert_ok(vmop_db_put_domain(db, &domain));
	assert_ok(vmop_db_put_image(db, &image));
}

static void make(const struct session *session, const char *path)
{
	struct vmop_db *db;
	char number[24];
	unlink(path);
	assert_ok(vmop_db_create(path, &db));
	snprintf(number, sizeof(number), "%lu", (unsigned long)(session->start_s * second_ns));
	assert_ok(vmop_db_put_info(db, "start_ns", number));
	assert_ok(
		vmop_db_put_info(db, "hostname", session->hostname ? session->hostname : "alpha"));
	assert_ok(vmop_db_put_event(
		db, &(struct vmop_db_event){.name = "cycles", .source = "perf", .unit = "events"}));
	assert_ok(vmop_db_put_domain(
		db, &(struct vmop_db_domain){.name = "host", .uuid = session->uuid}));
	for (uint32_t id = 1; id <= MAX_GUESTS && session->guests[id - 1].name; id++)
		put_guest(db, session, id);
	assert_ok(vmop_db_put_image(
		db,
		&(struct vmop_db_image){.id = {1}, .kind = VMOP_IMAGE_KERNEL, .name = "[kernel]"}));
	for (uint64_t at_s = 0; at_s < LENGTH_S; at_s++) {
		assert_ok(vmop_db_begin_interval(db, (session->start_s + at_s) * second_ns,
						 second_ns));
		put_sample(db, 0);
		for (uint32_t id = 1; id <= MAX_GUESTS && session->guests[id - 1].name; id++) {
			const struct guest *guest = &session->guests[id - 1];
			if (at_s >= guest->start_s && (!guest->end_s || at_s < guest->end_s))
				put_sample(db, id);
		}
		assert_ok(vmop_db_commit(db));
	}
	assert_ok(vmop_db_finish(db));
}

static int compare_rows(const void *a, const void *b, void *result)
{
	const struct vmop_domain_item *x = vmop_row_domain(result, a);
	const struct vmop_domain_item *y = vmop_row_domain(result, b);
	int order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->life_name, y->life_name);
}

/* Expect "NAME=SAMPLES", or by life "NAME@LIFE=SAMPLES", of each row except the host's. */
static void expect(const struct session *sessions, size_t n, unsigned dimensions, const char *spec,
		   const char *wanted)
{
	struct vmop_session_input inputs[MAX_SESSIONS] = {
		{.name = "first"}, {.name = "second"}, {.name = "third"}};
	_cleanup_(vmop_spec_deinit) struct vmop_spec specs = {0};
	_cleanup_(vmop_result_deinit) struct vmop_result result;
	const struct vmop_query query = {.dimensions = dimensions};
	char text[512] = "", path[64];
	size_t len = 0;
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%zu.vmop", dir, i);
		make(&sessions[i], path);
		assert_ok(vmop_db_open(path, &inputs[i].db));
	}
	if (spec)
		assert_ok(vmop_spec_parse(&specs, spec));
	assert_ok(vmop_query_run(&query, &specs, inputs, n, &result));
	for (size_t i = 0; i < n; i++)
		vmop_db_close(inputs[i].db);
	qsort_r(result.rows, result.n_rows, sizeof(*result.rows), compare_rows, &result);
	for (size_t i = 0; i < result.n_rows; i++) {
		const struct vmop_domain_item *domain = vmop_row_domain(&result, &result.rows[i]);
		bool has_life = (dimensions & VMOP_BY_LIFE) && *domain->life_name;
		if (domain->is_host)
			continue;
		len += (size_t)snprintf(
			text + len, sizeof(text) - len, "%s%s%s%s=%lu", len ? " " : "",
			domain->name, has_life ? "@" : "", has_life ? domain->life_name : "",
			(unsigned long)vmop_result_sum(&result, result.rows[i].counts, 0).samples);
	}
	assert_string_equal(text, wanted);
}

enum { BY_DOMAIN = VMOP_BY_DOMAIN, BY_LIFE = VMOP_BY_DOMAIN | VMOP_BY_LIFE };

static void one_guest_started_again(void **state)
{
	(void)state;
	static const struct session by_uuid = {
		.start_s = 1000,
		.guests = {{"g", UUID_A, 10, 0, 30}, {"renamed", UUID_A, 20, 40, 0}}};
	static const struct session by_name = {
		.start_s = 1000, .guests = {{"g", NULL, 10, 0, 30}, {"g", NULL, 20, 40, 0}}};
	expect(&by_uuid, 1, BY_DOMAIN, NULL, "g=90");
	expect(&by_uuid, 1, BY_LIFE, NULL, "g@00:16:40 pid 10=30 g@00:17:20 pid 20=60");
	expect(&by_name, 1, BY_DOMAIN, NULL, "g=90");
	expect(&by_name, 1, BY_LIFE, NULL, "g@00:16:40 pid 10=30 g@00:17:20 pid 20=60");
}

static void chosen_by_name_uuid_and_life(void **state)
{
	(void)state;
	static const struct session session = {.start_s = 1000,
					       .guests = {{"g", UUID_A, 10, 0, 30},
							  {"renamed", UUID_A, 20, 40, 0},
							  {"h", UUID_B, 30, 0, 0}}};
	expect(&session, 1, BY_DOMAIN, "domain:g", "g=90");
	expect(&session, 1, BY_DOMAIN, "domain:" UUID_A, "g=90");
	expect(&session, 1, BY_DOMAIN, "domain:renamed", "g=60");
	expect(&session, 1, BY_DOMAIN, "domain:*pid 10", "g=30");
}

/* vmopd notices an end or a start up to a second late; this makes no second guest. */
static void lives_that_seem_to_touch(void **state)
{
	(void)state;
	static const struct session session = {
		.start_s = 1000, .guests = {{"g", NULL, 10, 0, 41}, {"g", NULL, 20, 40, 0}}};
	expect(&session, 1, BY_DOMAIN, NULL, "g=101");
}

static void two_guests_of_one_name(void **state)
{
	(void)state;
	static const struct session without = {
		.start_s = 1000, .guests = {{"g", NULL, 10, 0, 50}, {"g", NULL, 20, 30, 0}}};
	static const struct session with = {
		.start_s = 1000, .guests = {{"g", UUID_A, 10, 0, 0}, {"g", UUID_B, 20, 0, 0}}};
	/* the third could be a life of either guest */
	static const struct session three = {.start_s = 1000,
					     .guests = {{"g", NULL, 10, 0, 50},
							{"g", NULL, 20, 30, 60},
							{"g", NULL, 30, 70, 0}}};
	expect(&without, 1, BY_DOMAIN, NULL, "g (pid 10)=50 g (pid 20)=70");
	expect(&with, 1, BY_DOMAIN, NULL, "g (pid 10)=100 g (pid 20)=100");
	expect(&three, 1, BY_DOMAIN, NULL, "g (pid 10)=50 g (pid 20)=30 g (pid 30)=30");
	expect(&without, 1, BY_DOMAIN, "domain:g", "g (pid 10)=50 g (pid 20)=70");
}

/* A guest keeps running while the daemon begins a new file. */
static void a_life_in_two_sessions(void **state)
{
	(void)state;
	static const struct session same[] = {
		{.start_s = 1000, .guests = {{"g", NULL, 10, 5, 0}}},
		{.start_s = 1200, .guests = {{"g", NULL, 10, 0, 20}, {"g", NULL, 20, 30, 0}}}};
	static const struct session ended[] = {
		{.start_s = 1000, .guests = {{"g", NULL, 10, 5, 50}}},
		{.start_s = 1200, .guests = {{"g", NULL, 10, 0, 0}}}};
	expect(same, 2, BY_DOMAIN, NULL, "g=185");
	expect(same, 2, BY_LIFE, NULL, "g@00:16:45 pid 10=115 g@00:20:30 pid 20=70");
	expect(ended, 2, BY_LIFE, NULL, "g@00:16:45 pid 10=45 g@00:20:00 pid 10=100");
}

static void overlap_in_two_sessions(void **state)
{
	(void)state;
	static const struct session two[] = {{.start_s = 1000, .guests = {{"g", NULL, 10, 0, 0}}},
					     {.start_s = 1050, .guests = {{"g", NULL, 20, 0, 0}}}};
	expect(two, 2, BY_DOMAIN, "time:@1000..@1050", "g (first)=50");
}

/*
 * An active guest runs guests itself, which only its own session has: vmopd stores these without
 * UUIDs. Its samples in the host's session are left out.
 */
static void guests_of_a_guest(void **state)
{
	(void)state;
	static const struct session sessions[] = {
		{.start_s = 1000,
		 .guests = {{"web1", UUID_A, 10, 0, 0}, {"web2", UUID_B, 20, 0, 0}}},
		{.start_s = 1000,
		 .uuid = UUID_A,
		 .hostname = "inside",
		 .guests = {{"inner", NULL, 30, 0, 0}, {"web2", NULL, 10, 0, 50}}},
	};
	const struct session other_order[] = {sessions[1], sessions[0]};
	expect(sessions, 2, BY_DOMAIN, NULL, "web1=100 web1/inner=100 web1/web2=50 web2=100");
	expect(other_order, 2, BY_DOMAIN, NULL, "web1=100 web1/inner=100 web1/web2=50 web2=100");
	expect(sessions, 2, BY_DOMAIN, "domain:inner", "web1/inner=100");
	expect(sessions, 2, BY_DOMAIN, "domain:web1/web2", "web1/web2=50");
	expect(sessions, 2, BY_DOMAIN, "domain:web1", "web1=100");
	expect(&sessions[1], 1, BY_DOMAIN, NULL, "inner=100 web2=50");
}

/* Three levels; and two sessions of which each claims that the other's machine is its guest. */
static void guests_of_guests_of_guests(void **state)
{
	(void)state;
	static const struct session sessions[] = {
		{.start_s = 1000, .guests = {{"a", UUID_A, 10, 0, 0}}},
		{.start_s = 1000,
		 .uuid = UUID_A,
		 .hostname = "a",
		 .guests = {{"b", UUID_B, 20, 0, 0}}},
		{.start_s = 1000,
		 .uuid = UUID_B,
		 .hostname = "b",
		 .guests = {{"c", UUID_C, 30, 0, 0}}},
	};
	static const struct session circle[] = {
		{.start_s = 1000, .uuid = UUID_A, .guests = {{"x", UUID_B, 10, 0, 0}}},
		{.start_s = 1000,
		 .uuid = UUID_B,
		 .hostname = "b",
		 .guests = {{"y", UUID_A, 20, 0, 0}}},
	};
	expect(sessions, 3, BY_DOMAIN, NULL, "a=100 a/b=100 a/b/c=100");
	expect(sessions + 1, 2, BY_DOMAIN, NULL, "b=100 b/c=100");
	expect(circle, 2, BY_DOMAIN, NULL, "x/y/x/y=100 y/x/y/x=100");
}

static int set_up(void **state)
{
	(void)state;
	setenv("TZ", "UTC", 1);
	assert_non_null(mkdtemp(dir));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	char path[64];
	for (size_t i = 0; i < MAX_SESSIONS; i++) {
		snprintf(path, sizeof(path), "%s/%zu.vmop", dir, i);
		unlink(path);
	}
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_guest_started_again),
		cmocka_unit_test(chosen_by_name_uuid_and_life),
		cmocka_unit_test(lives_that_seem_to_touch),
		cmocka_unit_test(two_guests_of_one_name),
		cmocka_unit_test(a_life_in_two_sessions),
		cmocka_unit_test(overlap_in_two_sessions),
		cmocka_unit_test(guests_of_a_guest),
		cmocka_unit_test(guests_of_guests_of_guests),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
