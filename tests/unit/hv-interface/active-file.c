// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The messages with which the session of an active guest reaches its host: each one right, cut,
 * repeated, in another order, from a wrong state and of a wrong length.
 */
#include "hv-interface/active-file.h"

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/ok.h"

#define TOKEN UINT64_C(0x1122334455667788)
#define MAX_BYTES 1000

static struct vmop_active_file file;

static int begin(void **state)
{
	(void)state;
	assert_ok(vmop_active_file_init(&file, MAX_BYTES));
	return 0;
}

static int end(void **state)
{
	(void)state;
	vmop_active_file_deinit(&file);
	return 0;
}

static struct vmop_active_frame line_frame(const char *line)
{
	return (struct vmop_active_frame){.type = VMOP_ACTIVE_FRAME_LINE,
					  .payload = (const uint8_t *)line,
					  .len_bytes = (uint32_t)strlen(line)};
}

static enum vmop_active_file_outcome line(const char *text)
{
	const struct vmop_active_frame frame = line_frame(text);
	return vmop_active_file_take(&file, &frame);
}

static enum vmop_active_file_outcome bytes(const char *text)
{
	struct vmop_active_frame frame = line_frame(text);
	frame.type = VMOP_ACTIVE_FRAME_BULK;
	return vmop_active_file_take(&file, &frame);
}

/* Write the last line for a file with this text. */
static const char *hash_of(const char *text)
{
	static char ret[VMOP_ACTIVE_FILE_LINE_BYTES];
	XXH3_state_t *hash = XXH3_createState();
	XXH3_128bits_reset(hash);
	XXH3_128bits_update(hash, text, strlen(text));
	assert_int_equal(vmop_active_file_end(hash, ret), strlen("hash ") + 32);
	XXH3_freeState(hash);
	return ret;
}

static bool asks(const char *text, struct vmop_active_file_request *ret)
{
	const struct vmop_active_frame frame = line_frame(text);
	return vmop_active_file_asked(&frame, ret);
}

static void request(void **state)
{
	(void)state;
	const struct vmop_active_file_request request = {.token = TOKEN, .max_bytes = MAX_BYTES};
	struct vmop_active_file_request found = {0};
	char text[VMOP_ACTIVE_FILE_LINE_BYTES];
	size_t written = vmop_active_file_ask(&request, text);
	assert_int_equal(written, strlen(text));
	assert_string_equal(text, "fetch 1122334455667788 1000");
	assert_true(asks(text, &found));
	assert_int_equal(found.token, TOKEN);
	assert_int_equal(found.max_bytes, MAX_BYTES);
	static const char *const bad[] = {
		"fetch",
		"fetch ",
		"fetch 1122334455667788",
		"fetch 1122334455667788 ",
		"fetch 1122334455667788 0",
		"fetch 1122334455667788 -1",
		"fetch 1122334455667788 1000 1",
		"fetch 1122334455667788 18446744073709551616",
		"fetch 112233445566778 1000",
		"fetch 11223344556677889 1000",
		"fetch 0000000000000000 1000",
		"fetch 112233445566778g 1000",
		"fetch  122334455667788 1000",
		"Fetch 1122334455667788 1000",
		"file 1000",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(asks(bad[i], &found));
	struct vmop_active_frame frame = line_frame(text);
	frame.type = VMOP_ACTIVE_FRAME_BULK;
	assert_false(vmop_active_file_asked(&frame, &found));
	/* A cut one is another number or none, and never more than was asked for. */
	for (size_t len = 0; len < strlen(text); len++) {
		frame = line_frame(text);
		frame.len_bytes = (uint32_t)len;
		if (vmop_active_file_asked(&frame, &found))
			assert_true(found.token == TOKEN && found.max_bytes < MAX_BYTES);
	}
}

static void whole(void **state)
{
	(void)state;
	char first[VMOP_ACTIVE_FILE_LINE_BYTES];
	vmop_active_file_begin(11, first);
	assert_int_equal(line(first), VMOP_ACTIVE_FILE_BEGINS);
	assert_int_equal(file.size_bytes, 11);
	assert_int_equal(bytes("hello "), VMOP_ACTIVE_FILE_BYTES);
	assert_int_equal(bytes("world"), VMOP_ACTIVE_FILE_BYTES);
	assert_int_equal(line(hash_of("hello world")), VMOP_ACTIVE_FILE_WHOLE);
	/* Repeated, or going on after the end. */
	assert_int_equal(line(hash_of("hello world")), VMOP_ACTIVE_FILE_WRONG);
	assert_int_equal(bytes("!"), VMOP_ACTIVE_FILE_WRONG);
	assert_int_equal(line("file 5"), VMOP_ACTIVE_FILE_WRONG);
}

static void refused(void **state)
{
	(void)state;
	char text[VMOP_ACTIVE_FILE_LINE_BYTES];
	vmop_active_file_refuse("no\n\x1b[2Jroom", text);
	assert_string_equal(text, "none no??[2Jroom");
	assert_int_equal(line(text), VMOP_ACTIVE_FILE_REFUSED);
	assert_string_equal(file.reason, "no??[2Jroom");
	assert_int_equal(line("file 5"), VMOP_ACTIVE_FILE_WRONG);
}

static void long_reason(void **state)
{
	(void)state;
	char text[VMOP_ACTIVE_FILE_LINE_BYTES], reason[2000];
	memset(reason, 'x', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	assert_true(vmop_active_file_refuse(reason, text) < sizeof(text));
	assert_int_equal(line(text), VMOP_ACTIVE_FILE_REFUSED);
	assert_int_equal(strlen(file.reason), VMOP_ACTIVE_FILE_REASON_BYTES - 1);
}

/* Check that this first line is wrong, and that no further one is right. */
static void wrong_first(const char *text)
{
	vmop_active_file_deinit(&file);
	assert_ok(vmop_active_file_init(&file, MAX_BYTES));
	assert_int_equal(line(text), VMOP_ACTIVE_FILE_WRONG);
	assert_string_not_equal(file.reason, "");
	assert_int_equal(line("file 5"), VMOP_ACTIVE_FILE_WRONG);
}

static void first_lines(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"file",	     "file ",	"file 0",     "file -5",
		"file 1001", "file 5x", "file 5 5",   "file 18446744073709551616",
		"file 0x5",  "files 5", "nonesuch x", "hash 00000000000000000000000000000000",
		"fil",	     "\x7f",	"file 5\n",   "1 1122334455667788 1 1 left 0",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		wrong_first(bad[i]);
	char too_long[VMOP_ACTIVE_FILE_LINE_BYTES + 1];
	memset(too_long, 'x', sizeof(too_long) - 1);
	memcpy(too_long, "none ", 5);
	too_long[sizeof(too_long) - 1] = '\0';
	wrong_first(too_long);
}

static void bytes_first(void **state)
{
	(void)state;
	assert_int_equal(bytes("hello"), VMOP_ACTIVE_FILE_WRONG);
	assert_int_equal(file.n_bytes, 0);
}

static void too_many_bytes(void **state)
{
	(void)state;
	line("file 5");
	assert_int_equal(bytes("1234"), VMOP_ACTIVE_FILE_BYTES);
	assert_int_equal(bytes("56"), VMOP_ACTIVE_FILE_WRONG);
	assert_int_equal(file.n_bytes, 4);
	assert_int_equal(bytes("5"), VMOP_ACTIVE_FILE_WRONG);
}

static void too_few_bytes(void **state)
{
	(void)state;
	line("file 5");
	assert_int_equal(bytes("1234"), VMOP_ACTIVE_FILE_BYTES);
	assert_int_equal(line(hash_of("1234")), VMOP_ACTIVE_FILE_WRONG);
}

static void other_bytes(void **state)
{
	(void)state;
	line("file 5");
	bytes("12346");
	assert_int_equal(line(hash_of("12345")), VMOP_ACTIVE_FILE_WRONG);
	assert_non_null(strstr(file.reason, "as it was sent"));
}

static void begun_twice(void **state)
{
	(void)state;
	line("file 5");
	assert_int_equal(line("file 5"), VMOP_ACTIVE_FILE_WRONG);
}

static void refused_after_the_begin(void **state)
{
	(void)state;
	line("file 5");
	assert_int_equal(line("none x"), VMOP_ACTIVE_FILE_WRONG);
}

static void another_kind_of_frame(void **state)
{
	(void)state;
	struct vmop_active_frame frame = line_frame("file 5");
	frame.type = VMOP_ACTIVE_FRAME_PROOF;
	assert_int_equal(vmop_active_file_take(&file, &frame), VMOP_ACTIVE_FILE_WRONG);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(request),
		UNIT(whole),
		UNIT(refused),
		UNIT(long_reason),
		UNIT(first_lines),
		UNIT(bytes_first),
		UNIT(too_many_bytes),
		UNIT(too_few_bytes),
		UNIT(other_bytes),
		UNIT(begun_twice),
		UNIT(refused_after_the_begin),
		UNIT(another_kind_of_frame),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
