// SPDX-License-Identifier: GPL-2.0-or-later
/* Pages of the running kernel: which samples lead to a read, and the part of a page that is stored.
 */
#include "daemon/host/code/kernel-code.h"

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hv-interface/bpf/kernel-reader.h"
#include "libutil/cleanup.h"
#include "tests/unit/ok.h"

#define PAGE ((uint64_t)VMOP_CODE_PAGE_BYTES)

static uint64_t text; /* the start of the kernel's text */
static struct vmop_kernel_reader *reader;
static struct vmop_images images;
static struct vmop_code_store *store;
static struct vmop_kernel_code *code;
static struct vmop_db *db;
static char path[] = "/tmp/vmop-kernel-code-XXXXXX";

/* Find the start of the kernel's text. False: its addresses are hidden. */
static bool find_text(void)
{
	char line[512];
	FILE *file = fopen("/proc/kallsyms", "r");
	while (file && !text && fgets(line, sizeof(line), file)) {
		if (strstr(line, " T _text\n"))
			sscanf(line, "%" SCNx64, &text);
	}
	if (file)
		fclose(file);
	return text != 0;
}

static int begin(void **state)
{
	(void)state;
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	assert_ok(vmop_images_init(&images, 64));
	assert_ok(vmop_code_store_create(16 << 20, &store));
	assert_ok(vmop_kernel_code_create(&images, store, &code));
	assert_non_null(code);
	assert_ok(vmop_db_create(path, &db));
	return 0;
}

static int end(void **state)
{
	(void)state;
	vmop_kernel_code_destroy(code);
	vmop_code_store_destroy(store);
	vmop_images_deinit(&images);
	vmop_db_close(db);
	unlink(path);
	strcpy(path + strlen(path) - 6, "XXXXXX");
	return 0;
}

static struct vmop_image *make(enum vmop_image_kind kind, uint64_t base, uint64_t len_bytes)
{
	return vmop_images_new(&images, VMOP_DOMAIN_ID_HOST, kind, "[code]", base, len_bytes);
}

struct rows {
	uint64_t base;
	size_t n, len_bytes;
	uint64_t first_offset;
};

static struct vmop_error *see(void *arg, const struct vmop_db_code *row)
{
	struct rows *rows = arg;
	uint8_t whole[VMOP_CODE_PAGE_BYTES];
	uint64_t address = rows->base + row->offset;
	if (!rows->n++)
		rows->first_offset = row->offset;
	rows->len_bytes += row->len_bytes;
	assert_true(vmop_kernel_reader_read(reader, address & ~(PAGE - 1), whole));
	assert_memory_equal(row->bytes, whole + address % PAGE, row->len_bytes);
	return NULL;
}

/* Store the taken pages, and return the rows of an image, whose bytes are checked. */
static struct rows rows_of(const struct vmop_image *image)
{
	struct rows rows = {.base = image->base};
	vmop_kernel_code_next_interval(code);
	assert_ok(vmop_code_store_put(store, db));
	vmop_code_store_stored(store);
	if (image->id.number)
		assert_ok(vmop_db_each_code(db, image->id, 0, UINT64_MAX, see, &rows));
	return rows;
}

static void a_page_with_enough_samples_is_stored(void **state)
{
	struct vmop_image *image = make(VMOP_IMAGE_KERNEL, text, 16 * PAGE);
	(void)state;
	vmop_kernel_code_sampled(code, image, 3 * PAGE + 5, VMOP_KERNEL_CODE_SAMPLES - 1);
	vmop_kernel_code_sampled(code, image, 4 * PAGE, VMOP_KERNEL_CODE_SAMPLES - 1);
	assert_int_equal(rows_of(image).n, 0);
	vmop_kernel_code_sampled(code, image, 3 * PAGE + 9, 1);
	vmop_kernel_code_sampled(code, image, 3 * PAGE + 9, 100);
	struct rows rows = rows_of(image);
	assert_int_equal(rows.n, 1);
	assert_true(rows.first_offset == 3 * PAGE);
	assert_int_equal(rows.len_bytes, PAGE);
	vmop_image_unref(&images, image);
}

/* An image can begin and end within a page: the rest of the page is not its code. */
static void only_the_images_part_of_a_page_is_stored(void **state)
{
	struct vmop_image *image = make(VMOP_IMAGE_BPF, text + 100, 200);
	struct vmop_image *tail = make(VMOP_IMAGE_MODULE, text, PAGE + 10);
	(void)state;
	vmop_kernel_code_sampled(code, image, 50, VMOP_KERNEL_CODE_SAMPLES);
	vmop_kernel_code_sampled(code, tail, PAGE + 1, VMOP_KERNEL_CODE_SAMPLES);
	struct rows rows = rows_of(image);
	assert_int_equal(rows.n, 1);
	assert_true(rows.first_offset == 0);
	assert_int_equal(rows.len_bytes, 200);
	rows = rows_of(tail);
	assert_int_equal(rows.n, 1);
	assert_true(rows.first_offset == PAGE);
	assert_int_equal(rows.len_bytes, 10);
	vmop_image_unref(&images, image);
	vmop_image_unref(&images, tail);
}

static void reads_in_an_interval_are_bounded(void **state)
{
	struct vmop_image *image = make(VMOP_IMAGE_KERNEL, text, 200 * PAGE);
	(void)state;
	for (uint64_t page = 0; page < 100; page++)
		vmop_kernel_code_sampled(code, image, page * PAGE, VMOP_KERNEL_CODE_SAMPLES);
	assert_int_equal(rows_of(image).n, VMOP_KERNEL_CODE_READ_MAX);
	for (uint64_t page = 0; page < 100; page++)
		vmop_kernel_code_sampled(code, image, page * PAGE, VMOP_KERNEL_CODE_SAMPLES);
	assert_int_equal(rows_of(image).n, 100);
	vmop_image_unref(&images, image);
}

static void other_memory_is_not_stored(void **state)
{
	struct vmop_image *all[] = {
		make(VMOP_IMAGE_FILE, text, 16 * PAGE),
		make(VMOP_IMAGE_KERNEL, 0, UINT64_MAX),
		make(VMOP_IMAGE_MODULE, 4096, 16 * PAGE),
		make(VMOP_IMAGE_MODULE, UINT64_MAX - PAGE, PAGE),
		vmop_images_new(&images, (struct vmop_domain_id){1}, VMOP_IMAGE_GUEST_KERNEL,
				"[guest]", text, 16 * PAGE),
		vmop_images_new(&images, (struct vmop_domain_id){1}, VMOP_IMAGE_MODULE, "[m]", text,
				16 * PAGE),
	};
	struct vmop_image *image = make(VMOP_IMAGE_KERNEL, text, 16 * PAGE);
	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		vmop_kernel_code_sampled(code, all[i], 17, VMOP_KERNEL_CODE_SAMPLES);
		assert_int_equal(rows_of(all[i]).n, 0);
		vmop_image_unref(&images, all[i]);
	}
	vmop_kernel_code_sampled(code, image, 16 * PAGE, VMOP_KERNEL_CODE_SAMPLES);
	vmop_kernel_code_sampled(code, image, UINT64_MAX, VMOP_KERNEL_CODE_SAMPLES);
	assert_int_equal(rows_of(image).n, 0);
	vmop_image_unref(&images, image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_page_with_enough_samples_is_stored, begin, end),
		cmocka_unit_test_setup_teardown(only_the_images_part_of_a_page_is_stored, begin,
						end),
		cmocka_unit_test_setup_teardown(reads_in_an_interval_are_bounded, begin, end),
		cmocka_unit_test_setup_teardown(other_memory_is_not_stored, begin, end),
	};
	struct vmop_error *err = vmop_kernel_reader_create(&reader);
	if (err || !find_text()) {
		printf("skipped: %s\n", err ? err->message : "the kernel's addresses are hidden");
		return 77;
	}
	int status = cmocka_run_group_tests(tests, NULL, NULL);
	vmop_kernel_reader_destroy(reader);
	return status;
}
