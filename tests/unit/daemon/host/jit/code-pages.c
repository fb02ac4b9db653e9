// SPDX-License-Identifier: GPL-2.0-or-later
/* Pages of this process's own memory: stored once, again when they changed, within the bound. */
#include "daemon/host/jit/code-pages.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/procfs.h"
#include "tests/unit/ok.h"

#define PAGE VMOP_DB_CODE_MAX_BYTES
#define N_PAGES 8
#define WAIT_MS 5000

static char dir[] = "/tmp/vmop-code-XXXXXX";

/* A process with generated code: this one. */
struct fixture {
	struct vmop_images images;
	struct vmop_processes processes;
	struct vmop_image *image;
	struct vmop_code_store *store;
	struct vmop_code_pages *pages;
	struct vmop_db *db;
	char path[64];
	uint8_t *code; /* N_PAGES */
};

static uint64_t own_start_ns(void)
{
	struct vmop_procfs_stat stat;
	assert_true(vmop_procfs_stat("", (uint32_t)getpid(), &stat));
	return stat.start_ticks * (VMOP_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

static void begin(struct fixture *fixture, uint64_t max_bytes, uint64_t process_start_ns)
{
	static unsigned number;
	*fixture = (struct fixture){.processes = {.root = "", .images = &fixture->images}};
	assert_ok(vmop_images_init(&fixture->images, 64));
	fixture->code = mmap(NULL, N_PAGES * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(fixture->code, MAP_FAILED);
	srandom(1);
	for (size_t i = 0; i < N_PAGES * PAGE; i++)
		fixture->code[i] = (uint8_t)random(); /* zstd does not shorten it */
	uint64_t start = (uintptr_t)fixture->code;
	fixture->image = vmop_images_new(&fixture->images, VMOP_DOMAIN_ID_HOST, VMOP_IMAGE_ANON,
					 "[anon]", 0, 0);
	vmop_image_set_generated(fixture->image, (uint32_t)getpid(), process_start_ns, start,
				 start + N_PAGES * PAGE);
	assert_ok(vmop_code_store_create(max_bytes, &fixture->store));
	assert_ok(vmop_code_pages_create(&fixture->processes, fixture->store, &fixture->pages));
	snprintf(fixture->path, sizeof(fixture->path), "%s/%u.vmop", dir, number++);
	assert_ok(vmop_db_create(fixture->path, &fixture->db));
}

static void sample(struct fixture *fixture, size_t page)
{
	vmop_code_pages_sampled(fixture->pages, NULL, fixture->image,
				(uintptr_t)fixture->code + page * PAGE + 17);
}

static void store(struct fixture *fixture)
{
	vmop_code_pages_collect(fixture->pages, WAIT_MS);
	assert_ok(vmop_code_store_put(fixture->store, fixture->db));
	vmop_code_store_stored(fixture->store);
}

struct seen {
	const struct fixture *fixture;
	size_t n;
	uint8_t last[PAGE]; /* the last row's bytes */
};

static struct vmop_error *see(void *arg, const struct vmop_db_code *code)
{
	struct seen *seen = arg;
	assert_int_equal(code->len_bytes, PAGE);
	assert_int_equal(code->offset % PAGE, 0);
	assert_true(code->time_ns > 0);
	memcpy(seen->last, code->bytes, PAGE);
	seen->n++;
	return NULL;
}

/* Count the rows of a page, and check that the last one has the page's present bytes. */
static size_t count(struct fixture *fixture, size_t page)
{
	struct seen seen = {0};
	uint64_t at = (uintptr_t)fixture->code + page * PAGE;
	assert_ok(vmop_db_each_code(fixture->db, fixture->image->id, at, at + PAGE, see, &seen));
	if (seen.n)
		assert_memory_equal(seen.last, fixture->code + page * PAGE, PAGE);
	return seen.n;
}

static void end(struct fixture *fixture)
{
	vmop_code_pages_destroy(fixture->pages);
	vmop_code_store_destroy(fixture->store);
	vmop_db_close(fixture->db);
	vmop_image_unref(&fixture->images, fixture->image);
	vmop_images_deinit(&fixture->images);
	munmap(fixture->code, N_PAGES * PAGE);
}

static void pages_are_stored_once_a_version(void **state)
{
	(void)state;
	struct fixture fixture;
	begin(&fixture, 1 << 20, own_start_ns());
	sample(&fixture, 0);
	sample(&fixture, 0);
	sample(&fixture, 2);
	store(&fixture);
	assert_int_equal(count(&fixture, 0), 1);
	assert_int_equal(count(&fixture, 1), 0);
	assert_int_equal(count(&fixture, 2), 1);
	sample(&fixture, 0);
	store(&fixture);
	assert_int_equal(count(&fixture, 0), 1); /* the same bytes */
	fixture.code[5] ^= 0xff;
	store(&fixture);
	sample(&fixture, 0);
	store(&fixture);
	assert_int_equal(count(&fixture, 0), 2);
	for (size_t i = 0; i < 2 * VMOP_CODE_PAGE_VERSIONS_MAX; i++) {
		fixture.code[2 * PAGE + i]++;
		sample(&fixture, 2);
		store(&fixture);
	}
	struct seen seen = {0};
	uint64_t at = (uintptr_t)fixture.code + 2 * PAGE;
	assert_ok(vmop_db_each_code(fixture.db, fixture.image->id, at, at + PAGE, see, &seen));
	assert_int_equal(seen.n, VMOP_CODE_PAGE_VERSIONS_MAX);
	end(&fixture);
}

/* After a failed transaction, the pages are put again. */
static void pages_wait_for_a_commit(void **state)
{
	(void)state;
	struct fixture fixture;
	begin(&fixture, 1 << 20, own_start_ns());
	sample(&fixture, 3);
	vmop_code_pages_collect(fixture.pages, WAIT_MS);
	assert_ok(vmop_db_begin_interval(fixture.db, 1, 1));
	assert_ok(vmop_code_store_put(fixture.store, fixture.db));
	vmop_db_rollback(fixture.db);
	assert_int_equal(count(&fixture, 3), 0);
	store(&fixture);
	assert_int_equal(count(&fixture, 3), 1);
	end(&fixture);
}

static void the_bound_holds(void **state)
{
	(void)state;
	struct fixture fixture;
	size_t n = 0;
	begin(&fixture, 3 * PAGE, own_start_ns());
	for (size_t page = 0; page < N_PAGES; page++) {
		sample(&fixture, page);
		store(&fixture);
	}
	for (size_t page = 0; page < N_PAGES; page++)
		n += count(&fixture, page);
	assert_int_equal(n, 3); /* each takes a byte more than a page: the third reaches it */
	_cleanup_free_ char *state_text = NULL;
	assert_ok(vmop_db_get_info(fixture.db, "code", &state_text));
	assert_string_equal(state_text, "full");
	end(&fixture);
}

/* Another process that has the pid now, memory that is not there, and other images. */
static void others_are_not_read(void **state)
{
	(void)state;
	struct fixture fixture;
	begin(&fixture, 1 << 20, own_start_ns() + VMOP_NS_PER_S);
	sample(&fixture, 0);
	store(&fixture);
	assert_int_equal(count(&fixture, 0), 0);
	end(&fixture);
	begin(&fixture, 1 << 20, own_start_ns());
	munmap(fixture.code + PAGE, PAGE);
	sample(&fixture, 1);
	sample(&fixture, 2);
	store(&fixture);
	assert_int_equal(count(&fixture, 2), 1);
	struct seen seen = {0};
	assert_ok(vmop_db_each_code(fixture.db, fixture.image->id, 0, UINT64_MAX, see, &seen));
	assert_int_equal(seen.n, 1);
	vmop_code_pages_sampled(fixture.pages, NULL, fixture.image, 0); /* outside of its range */
	fixture.image->kind = VMOP_IMAGE_FILE;
	sample(&fixture, 4);
	fixture.image->kind = VMOP_IMAGE_ANON;
	store(&fixture);
	assert_int_equal(count(&fixture, 4), 0);
	end(&fixture);
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	char line[64];
	snprintf(line, sizeof(line), "rm -r %s", dir);
	return system(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_stored_once_a_version),
		cmocka_unit_test(pages_wait_for_a_commit),
		cmocka_unit_test(the_bound_holds),
		cmocka_unit_test(others_are_not_read),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
