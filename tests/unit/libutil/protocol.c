// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/protocol.h"

static void there_and_back(void **state)
{
	(void)state;
	_cleanup_(vmop_json_cleanup) json_t *request = vmop_protocol_request("status");
	_cleanup_(vmop_json_cleanup) json_t *decoded = NULL;
	_cleanup_free_ char *line = NULL;
	size_t len;
	assert_null(vmop_protocol_encode(request, &line, &len));
	assert_int_equal(line[len - 1], '\n');
	assert_ptr_equal(memchr(line, '\n', len), line + len - 1);
	assert_null(vmop_protocol_decode(line, len - 1, &decoded));
	assert_true(json_equal(request, decoded));
}

static void errors_travel(void **state)
{
	(void)state;
	for (int code = VMOP_ERROR_NO_MEMORY; code <= VMOP_ERROR_LIMIT; code++) {
		struct vmop_error *err = vmop_error_new((enum vmop_error_code)code, "no %s",
							"caf\xe9"); /* not UTF-8 */
		_cleanup_(vmop_json_cleanup) json_t *reply = vmop_protocol_failure(err);
		assert_non_null(reply);
		vmop_error_destroy(err);
		err = vmop_protocol_reply_error(reply);
		assert_non_null(err);
		assert_int_equal(err->code, code);
		assert_string_equal(err->message, "no caf\xef\xbf\xbd");
		vmop_error_destroy(err);
	}
	_cleanup_(vmop_json_cleanup) json_t *ok = vmop_protocol_ok();
	assert_null(vmop_protocol_reply_error(ok));
}

static void refused(const char *line, enum vmop_error_code code)
{
	json_t *decoded = NULL;
	struct vmop_error *err = vmop_protocol_decode(line, strlen(line), &decoded);
	if (!err)
		print_error("taken: %s\n", line);
	assert_non_null(err);
	assert_int_equal(err->code, code);
	assert_null(decoded);
	vmop_error_destroy(err);
}

static void hostile_lines(void **state)
{
	(void)state;
	refused("", VMOP_ERROR_CORRUPT);
	refused("GET / HTTP/1.0", VMOP_ERROR_CORRUPT);
	refused("[1]", VMOP_ERROR_CORRUPT);
	refused("{\"request\": \"status\"}", VMOP_ERROR_CORRUPT);
	refused("{\"version\": \"1\"}", VMOP_ERROR_CORRUPT);
	refused("{\"version\": 1, \"version\": 1}", VMOP_ERROR_CORRUPT);
	refused("{\"version\": 1} trailing", VMOP_ERROR_CORRUPT);
	refused("{\"version\": 1, \"x\": \"\xff\"}", VMOP_ERROR_CORRUPT);
	refused("{\"version\": 2}", VMOP_ERROR_NEWER);
	/* The depth of nesting is bounded as well. */
	_cleanup_free_ char *deep = malloc(60001);
	memset(deep, '[', 60000);
	deep[60000] = '\0';
	refused(deep, VMOP_ERROR_CORRUPT);
}

static void too_long(void **state)
{
	(void)state;
	_cleanup_(vmop_json_cleanup) json_t *request = vmop_protocol_request("start");
	_cleanup_free_ char *text = malloc(VMOP_PROTOCOL_MAX_LINE_BYTES + 1);
	char *line = NULL;
	size_t len;
	memset(text, 'a', VMOP_PROTOCOL_MAX_LINE_BYTES);
	text[VMOP_PROTOCOL_MAX_LINE_BYTES] = '\0';
	json_object_set_new(request, "setup", json_string(text));
	struct vmop_error *err = vmop_protocol_encode(request, &line, &len);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_LIMIT);
	assert_null(line);
	vmop_error_destroy(err);
}

/*
 * Return the client's result from a server that replies with these bytes and closes the connection.
 */
static struct vmop_error *call_against(const char *answer, json_t **ret)
{
	int ends[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(write(ends[1], answer, strlen(answer)), strlen(answer));
	shutdown(ends[1], SHUT_WR);
	_cleanup_(vmop_json_cleanup) json_t *request = vmop_protocol_request("status");
	struct vmop_error *err = vmop_protocol_call(ends[0], request, 5, ret);
	close(ends[0]);
	close(ends[1]);
	return err;
}

static void the_clients_side(void **state)
{
	(void)state;
	json_t *reply = NULL;
	assert_null(call_against("{\"version\": 1, \"ok\": true, \"new\": 3}\n", &reply));
	assert_int_equal(json_integer_value(json_object_get(reply, "new")), 3);
	json_decref(reply);
	reply = NULL;
	static const struct {
		const char *answer;
		enum vmop_error_code code;
	} bad[] = {
		{"", VMOP_ERROR_BUSY},
		{"{\"version\": 1, \"ok\": true}", VMOP_ERROR_BUSY}, /* no newline */
		{"garbage\n", VMOP_ERROR_CORRUPT},
		{"{\"version\": 9, \"ok\": true}\n", VMOP_ERROR_NEWER},
		{"{\"version\": 1}\n", VMOP_ERROR_OS},
		{"{\"version\": 1, \"ok\": false, \"error\": {\"code\": \"usage\"}}\n",
		 VMOP_ERROR_USAGE},
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct vmop_error *err = call_against(bad[i].answer, &reply);
		assert_non_null(err);
		assert_int_equal(err->code, bad[i].code);
		assert_null(reply);
		vmop_error_destroy(err);
	}
}

static void no_process_listens(void **state)
{
	(void)state;
	int fd = 7;
	assert_null(vmop_protocol_connect("/nonexistent/vmopd.sock", &fd));
	assert_int_equal(fd, -1);
	char path[200];
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	struct vmop_error *err = vmop_protocol_connect(path, &fd);
	assert_non_null(err);
	vmop_error_destroy(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),   cmocka_unit_test(errors_travel),
		cmocka_unit_test(hostile_lines),    cmocka_unit_test(too_long),
		cmocka_unit_test(the_clients_side), cmocka_unit_test(no_process_listens),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
