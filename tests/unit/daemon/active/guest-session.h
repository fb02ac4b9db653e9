// SPDX-License-Identifier: GPL-2.0-or-later
/* Session files as active guests make them, for the tests of how these come to their host. */
#ifndef VMOP_TEST_DAEMON_ACTIVE_GUEST_SESSION_H
#define VMOP_TEST_DAEMON_ACTIVE_GUEST_SESSION_H

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libdb/db.h"
#include "libutil/clock.h"
#include "tests/unit/ok.h"

#define UUID "11111111-2222-3333-4444-555555555501"
#define OTHER_UUID "99999999-2222-3333-4444-555555555501"

/* The facts and the content of a guest's session. */
struct content {
	const char *uuid, *hostname;
	const char *other_uuid; /* of a second domain; NULL: no second domain */
	uint64_t start_ns;
	size_t n_symbols;
	unsigned n_hypervisors;	    /* domains 2 and on, each with an image of that number */
	bool has_text, has_symbols; /* the images of the hypervisors */
};

static inline struct content honest(void)
{
	return (struct content){
		.uuid = UUID, .hostname = "web1", .start_ns = vmop_clock_ns(CLOCK_REALTIME)};
}

static inline void put_hypervisor(struct vmop_db *db, const struct content *content,
				  uint32_t number)
{
	const struct vmop_db_domain domain = {
		.id = {number}, .kind = VMOP_DOMAIN_HYPERVISOR, .name = "xen"};
	const struct vmop_db_image image = {.id = {number},
					    .kind = VMOP_IMAGE_HYPERVISOR,
					    .domain = {number},
					    .name = "[xen]",
					    .len_bytes = content->has_text ? 4096 : 0};
	const struct vmop_symbol symbol = {.offset = 16, .len_bytes = 16, .name = "do_softirq"};
	assert_ok(vmop_db_put_domain(db, &domain));
	assert_ok(vmop_db_put_image(db, &image));
	if (content->has_symbols)
		assert_ok(vmop_db_put_symbols(db, image.id, &symbol, 1));
}

static inline void put_session(const char *path, const struct content *content)
{
	const struct vmop_db_event event = {
		.name = "cpu-clock", .source = "perf", .unit = "ns", .frequency_hz = 100};
	const struct vmop_db_domain host = {.name = "host", .uuid = content->uuid};
	const struct vmop_db_domain other = {.id = {1},
					     .kind = VMOP_DOMAIN_PASSIVE,
					     .name = "inner",
					     .uuid = content->other_uuid};
	const struct vmop_db_image image = {.id = {1}, .name = "/bin/x"};
	const struct vmop_db_cell cell = {.offset = 16, .samples = 3, .weight_events = 3};
	struct vmop_db *db = NULL;
	char start[24];
	snprintf(start, sizeof(start), "%" PRIu64, content->start_ns);
	unlink(path);
	assert_ok(vmop_db_create(path, &db));
	assert_ok(vmop_db_put_info(db, "hostname", content->hostname));
	assert_ok(vmop_db_put_info(db, "start_ns", start));
	assert_ok(vmop_db_put_event(db, &event));
	assert_ok(vmop_db_put_domain(db, &host));
	if (content->other_uuid)
		assert_ok(vmop_db_put_domain(db, &other));
	assert_ok(vmop_db_put_image(db, &image));
	for (unsigned i = 0; i < content->n_hypervisors; i++)
		put_hypervisor(db, content, 2 + i);
	for (size_t i = 0; i < content->n_symbols; i++) {
		char value[1000];
		char name[32];
		snprintf(name, sizeof(name), "filler-%zu", i);
		memset(value, 'x', sizeof(value) - 1);
		value[sizeof(value) - 1] = '\0';
		assert_ok(vmop_db_put_info(db, name, value));
	}
	assert_ok(vmop_db_begin_interval(db, content->start_ns, VMOP_NS_PER_S));
	assert_ok(vmop_db_put_chunk(
		db, &(struct vmop_db_chunk_key){.vcpu = -1, .cpu = -1, .image = {1}}, &cell, 1));
	assert_ok(vmop_db_commit(db));
	assert_ok(vmop_db_finish(db));
}

static inline struct vmop_error *add_total(void *arg, const struct vmop_db_total *total)
{
	*(uint64_t *)arg += total->samples;
	return NULL;
}

static inline uint64_t samples_in(const char *path)
{
	struct vmop_db *db = NULL;
	uint64_t sum = 0;
	assert_ok(vmop_db_open(path, &db));
	assert_ok(vmop_db_each_total(db, &(struct vmop_db_filter){0}, add_total, &sum));
	vmop_db_close(db);
	return sum;
}

#endif
