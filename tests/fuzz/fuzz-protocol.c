// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a line of the control socket, from either side, and as the text of an error in a
 * reply: a path in it can be any bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/json.h"
#include "libutil/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/* NULL: longer than the limit for a line. */
static json_t *there_and_back(const json_t *message)
{
	_cleanup_free_ char *line = NULL;
	json_t *again;
	size_t len_bytes;
	struct vmop_error *err = vmop_protocol_encode(message, &line, &len_bytes);
	if (err) {
		if (err->code != VMOP_ERROR_LIMIT)
			abort();
		vmop_error_destroy(err);
		return NULL;
	}
	if (memchr(line, '\n', len_bytes) != line + len_bytes - 1)
		abort(); /* one line, including its newline */
	err = vmop_protocol_decode(line, len_bytes - 1, &again);
	if (err)
		abort();
	return again;
}

static void as_message(const char *line, size_t len_bytes)
{
	_cleanup_(vmop_json_cleanup) json_t *message = NULL;
	struct vmop_error *err = vmop_protocol_decode(line, len_bytes, &message);
	if (!err) {
		_cleanup_(vmop_json_cleanup) json_t *again = there_and_back(message);
		if (again && !json_equal(message, again))
			abort();
		err = vmop_protocol_reply_error(message);
	}
	vmop_error_destroy(err);
}

static void as_error(const char *text)
{
	struct vmop_error *err = vmop_error_new(VMOP_ERROR_CANT, "%s", text);
	_cleanup_(vmop_json_cleanup) json_t *reply = vmop_protocol_failure(err);
	if (!reply)
		abort();
	_cleanup_(vmop_json_cleanup) json_t *again = there_and_back(reply);
	struct vmop_error *carried = again ? vmop_protocol_reply_error(again) : NULL;
	/* Each byte that is not UTF-8 arrives as U+FFFD, all others unchanged. */
	_cleanup_(vmop_json_cleanup) json_t *sent = vmop_json_text(err->message);
	if (again && (!carried || carried->code != VMOP_ERROR_CANT ||
		      strcmp(carried->message, json_string_value(sent)) != 0))
		abort();
	vmop_error_destroy(carried);
	vmop_error_destroy(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	if (len_bytes > VMOP_PROTOCOL_MAX_LINE_BYTES)
		len_bytes = VMOP_PROTOCOL_MAX_LINE_BYTES;
	as_message((const char *)data, len_bytes);
	_cleanup_free_ char *text = strndup((const char *)data, len_bytes);
	if (!text)
		abort();
	as_error(text);
	return 0;
}
