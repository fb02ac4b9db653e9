// SPDX-License-Identifier: GPL-2.0-or-later
/* The code of guests that is stored, through guests.h. */
#include "daemon/guest/context/code.h"

#include <unistd.h>

#include "tests/unit/daemon/guest/context/sample-fixture.h"

static struct vmop_code_store *code_store;

struct code_rows {
	size_t n;
	uint64_t offset;
	size_t len_bytes;
	uint8_t bytes[VMOP_CODE_PAGE_BYTES]; /* of the last row */
};

static struct vmop_error *see_code(void *arg, const struct vmop_db_code *code)
{
	struct code_rows *rows = arg;
	rows->n++;
	rows->offset = code->offset;
	rows->len_bytes = code->len_bytes;
	memcpy(rows->bytes, code->bytes, code->len_bytes);
	return NULL;
}

/* Take the answers, and return the code that is stored of an image. */
static struct code_rows stored_code(const struct vmop_image *image)
{
	static const char path[] = "/tmp/vmop-guest-code.vmop";
	char own_path[64];
	struct code_rows rows = {0};
	struct vmop_db *db;
	snprintf(own_path, sizeof(own_path), "%s.%d", path, (int)getpid());
	assert_null(vmop_db_create(own_path, &db));
	vmop_guest_watch_await_answers(guests->watch, PATIENCE_MS);
	vmop_guests_drained(guests);
	assert_null(vmop_code_store_put(guests->code, db));
	vmop_code_store_stored(guests->code);
	if (image && image->id.number)
		assert_null(vmop_db_each_code(db, image->id, 0, UINT64_MAX, see_code, &rows));
	vmop_db_close(db);
	unlink(own_path);
	return rows;
}

static const struct vmop_image *worker_file(void)
{
	struct vmop_build_id id = {.len_bytes = 20};
	memset(id.bytes, 0xab, sizeof(id.bytes));
	return vmop_images_find_guest_file(&images, domain->id, "/bin/worker", &id);
}

static void hold_times(unsigned n, enum vmop_mode mode, uint64_t ip,
		       const struct vmop_guest_context *context)
{
	for (unsigned i = 0; i < n; i++)
		hold(mode, ip, context);
	release();
}

static void code_of_guests_is_stored(void **state)
{
	struct vmop_guest_context context = worker_context();
	(void)state;
	hold_times(VMOP_GUEST_CODE_SAMPLES - 1, VMOP_MODE_USER, WORKER_IP, &context);
	assert_non_null(worker_file());
	assert_int_equal(stored_code(worker_file()).n, 0);
	hold_times(1, VMOP_MODE_USER, WORKER_IP, &context);
	struct code_rows rows = stored_code(worker_file());
	assert_int_equal(rows.n, 1);
	assert_int_equal(rows.offset, 0x1000);
	assert_int_equal(rows.len_bytes, VMOP_CODE_PAGE_BYTES);
	for (size_t i = 0; i < rows.len_bytes; i++)
		assert_int_equal(rows.bytes[i], 0x77);
	/* Once only. */
	hold_times(20, VMOP_MODE_USER, WORKER_IP, &context);
	assert_int_equal(stored_code(worker_file()).n, 0);
	/* The kernel, whose first page has what the RAM has. */
	context = kernel_context();
	hold_times(VMOP_GUEST_CODE_SAMPLES, VMOP_MODE_KERNEL, KERNEL_IP, &context);
	rows = stored_code(vmop_text_map_find(&domain->code, KERNEL_IP));
	assert_int_equal(rows.n, 1);
	assert_int_equal(rows.offset, 0);
	assert_memory_equal(rows.bytes, ram + SYNTHETIC_TEXT_GPA, VMOP_CODE_PAGE_BYTES);
}

/* A process that has ended has no code of its own; neither has a page that is not mapped. */
static void code_that_is_gone_is_not_stored(void **state)
{
	struct vmop_guest_context context = brief_context();
	(void)state;
	context.parts &= ~(uint32_t)(VMOP_GUEST_HAS_PAGE | VMOP_GUEST_HAS_INODE);
	context.parts |= VMOP_GUEST_HAS_PAGE;
	context.mapping = made.task[2] | 1; /* anonymous */
	hold_times(VMOP_GUEST_CODE_SAMPLES, VMOP_MODE_USER, GENERATED_IP, &context);
	assert_int_equal(stored_code(NULL).n, 0);
	context = worker_context();
	context.mapping = made.task[2] | 1;
	hold_times(VMOP_GUEST_CODE_SAMPLES, VMOP_MODE_USER, GENERATED_IP, &context);
	assert_int_equal(stored_code(NULL).n, 0);
	for (const struct vmop_task *task = tasks.pending; task; task = task->next)
		assert_true(task->id.number > 0);
	for (uint32_t i = 0; i < images.n_slots; i++) {
		if (images.slots[i] && images.slots[i]->kind == VMOP_IMAGE_ANON)
			assert_int_equal(stored_code(images.slots[i]).n, 0);
	}
}

/* A guest cannot make the session request more than some pages in an interval. */
static void requests_for_code_are_bounded(void **state)
{
	struct vmop_guest_context context = kernel_context();
	unsigned n_asked = 0;
	(void)state;
	for (unsigned page = 0; page < 2 * VMOP_GUEST_CODE_REQUESTS; page++) {
		for (unsigned i = 0; i < VMOP_GUEST_CODE_SAMPLES; i++)
			hold(VMOP_MODE_KERNEL, SYNTHETIC_TEXT + page * UINT64_C(4096), &context);
	}
	release();
	vmop_guest_watch_await_answers(guests->watch, PATIENCE_MS);
	vmop_guests_drained(guests);
	for (unsigned page = 0; page < 2 * VMOP_GUEST_CODE_REQUESTS; page++) {
		const struct vmop_image *image = vmop_text_map_find(&domain->code, SYNTHETIC_TEXT);
		const struct vmop_code_key key = {.offset = page * UINT64_C(4096),
						  .image = image->id.number};
		const struct vmop_code_page *found = vmop_code_store_find(guests->code, &key);
		n_asked += found && found->n_versions;
	}
	assert_int_equal(n_asked, VMOP_GUEST_CODE_REQUESTS);
}

static int begin_with_code(void **state)
{
	(void)state;
	begin(state);
	assert_null(vmop_code_store_create(16 << 20, &code_store));
	vmop_guests_set_code(guests, code_store);
	return 0;
}

static int end_with_code(void **state)
{
	end(state);
	vmop_code_store_destroy(code_store);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(code_of_guests_is_stored, begin_with_code,
						end_with_code),
		cmocka_unit_test_setup_teardown(code_that_is_gone_is_not_stored, begin_with_code,
						end_with_code),
		cmocka_unit_test_setup_teardown(requests_for_code_are_bounded, begin_with_code,
						end_with_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
