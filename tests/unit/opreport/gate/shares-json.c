// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/gate/shares-json.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/ok.h"

static struct vmop_shares_event events[] = {{.name = "cycles", .unit = "events", .asked = ""},
					    {.name = "clock", .unit = "ns", .asked = ""}};
static const struct vmop_shares like = {
	.dimensions = VMOP_BY_DOMAIN | VMOP_BY_IMAGE, .events = events, .n_events = 2};

#define HEAD "{\"session\": {\"hidden_rows\": 0}, \"events\": ["
#define CYCLES                                                                                     \
	"{\"name\": \"cycles\", \"unit\": \"events\", \"period\": 10, \"samples\": 10, "           \
	"\"weight\": 100}"
#define ROW(image, samples, weight)                                                                \
	"{\"domain\": \"host\", \"image\": \"" image "\", \"samples\": " samples                   \
	", \"weight\": " weight "}"

static void rows_are_read(void **state)
{
	(void)state;
	static const char text[] = HEAD CYCLES "], \"rows\": [" ROW("/lib/a", "6", "60") "," ROW(
		"/usr/lib/a", "1", "10") "," ROW("[kernel]", "3", "30") "]}";
	struct vmop_shares shares;
	assert_ok(vmop_shares_of_json(&shares, "x", text, strlen(text), &like));
	assert_int_equal(shares.n_rows, 2);
	assert_int_equal(shares.events[0].all.samples, 10);
	assert_int_equal(shares.events[0].period_events, 10);
	assert_int_equal(shares.events[1].all.samples, 0);
	assert_string_equal(shares.rows[1].names[VMOP_COMPARED_IMAGE], "a");
	assert_int_equal(shares.rows[1].counts[0].samples, 7);
	assert_int_equal(shares.rows[1].counts[0].weight_events, 70);
	vmop_shares_deinit(&shares);
}

static void several_events(void **state)
{
	(void)state;
	static const char text[] = HEAD CYCLES
		", {\"name\": \"clock\", \"unit\": \"ns\", \"samples\": 5, \"weight\": 5}],"
		"\"rows\": [{\"domain\": \"host\", \"image\": \"a\", \"samples:cycles\": 10,"
		"\"weight:cycles\": 100, \"samples:clock\": 5, \"weight:clock\": 5}]}";
	struct vmop_shares shares;
	assert_ok(vmop_shares_of_json(&shares, "x", text, strlen(text), &like));
	assert_int_equal(shares.rows[0].counts[0].samples, 10);
	assert_int_equal(shares.rows[0].counts[1].weight_events, 5);
	vmop_shares_deinit(&shares);
}

static void assert_refused(const char *text, enum vmop_error_code code, const char *part)
{
	struct vmop_shares shares;
	struct vmop_error *err = vmop_shares_of_json(&shares, "x.json", text, strlen(text), &like);
	if (!err)
		fail_msg("accepted: %s", text);
	if (err->code != code || !strstr(err->message, part))
		fail_msg("%s: %s", text, err->message);
	assert_null(strchr(err->message, '\n'));
	assert_non_null(strstr(err->message, "x.json"));
	vmop_error_destroy(err);
	vmop_shares_deinit(&shares);
}

static void damage(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{}",
		"{\"session\": 1, \"rows\": []}",
		"{\"session\": {}, \"rows\": {}}",
		"{\"session\": {}, \"rows\": []}",
		"{\"session\": {}, \"rows\": [], \"rows\": []}",
		HEAD "], \"rows\": []}",
		HEAD "1], \"rows\": []}",
		HEAD "{\"name\": \"cycles\"}], \"rows\": []}",
		HEAD CYCLES "," CYCLES "], \"rows\": []}",
		HEAD CYCLES "], \"rows\": [1]}",
		HEAD CYCLES "], \"rows\": [" ROW("a", "-1", "1") "]}",
		HEAD CYCLES "], \"rows\": [" ROW("a", "1.5", "1") "]}",
		HEAD CYCLES "], \"rows\": [" ROW("a", "\"1\"", "1") "]}",
		HEAD CYCLES "], \"rows\": [" ROW("a", "11", "1") "]}",
		HEAD CYCLES "], \"rows\": [" ROW("a", "1", "101") "]}",
		HEAD CYCLES "], \"rows\": [" ROW("a", "6", "6") "," ROW("b", "6", "6") "]}",
		HEAD CYCLES "], \"rows\": [{\"domain\": \"host\", \"image\": \"a\"}]}",
		HEAD CYCLES "], \"rows\": [" ROW("a\\u0000b", "1", "1") "]}",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_refused(texts[i], VMOP_ERROR_CORRUPT, "vmopreport --format=json");
	assert_refused("{\"session\": {\"hidden_rows\": 3}, \"rows\": []}", VMOP_ERROR_USAGE,
		       "hidden_rows");
	assert_refused(HEAD CYCLES "], \"rows\": [{\"domain\": \"host\", \"samples\": 1, "
				   "\"weight\": 1}]}",
		       VMOP_ERROR_USAGE, "--by=image");
}

static void depth_and_size_are_bounded(void **state)
{
	(void)state;
	enum { DEPTH = 1000000 };
	char *text = malloc(DEPTH + 1);
	assert_non_null(text);
	memset(text, '[', DEPTH);
	text[DEPTH] = '\0';
	assert_refused(text, VMOP_ERROR_CORRUPT, "depth");
	free(text);
	char path[] = "/tmp/vmop-shares-XXXXXX";
	int fd = mkstemp(path);
	struct vmop_shares shares;
	assert_true(fd >= 0 && !ftruncate(fd, VMOP_SHARES_JSON_MAX_BYTES + 1));
	close(fd);
	struct vmop_error *err = vmop_shares_of_file(&shares, path, &like);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_LIMIT);
	vmop_error_destroy(err);
	vmop_shares_deinit(&shares);
	unlink(path);
	/* Opening a FIFO does not wait for a writer. */
	assert_int_equal(mkfifo(path, 0600), 0);
	err = vmop_shares_of_file(&shares, path, &like);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	vmop_error_destroy(err);
	vmop_shares_deinit(&shares);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_read),
		cmocka_unit_test(several_events),
		cmocka_unit_test(damage),
		cmocka_unit_test(depth_and_size_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
