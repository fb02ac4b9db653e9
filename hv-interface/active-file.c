// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/active-file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hv-interface/active-message.h"
#include "libutil/parse.h"

_Static_assert(VMOP_ACTIVE_FILE_LINE_BYTES <= VMOP_ACTIVE_MESSAGE_BYTES, "a frame has room");
_Static_assert(VMOP_ACTIVE_FILE_REASON_BYTES + sizeof("none ") <= VMOP_ACTIVE_FILE_LINE_BYTES,
	       "a line has room for a reason");

/* Copy the line of a frame, with a NUL. Return false if the frame has none. */
static bool line_of(const struct vmop_active_frame *frame, char ret[VMOP_ACTIVE_FILE_LINE_BYTES])
{
	if (frame->type != VMOP_ACTIVE_FRAME_LINE ||
	    frame->len_bytes >= VMOP_ACTIVE_FILE_LINE_BYTES)
		return false;
	for (uint32_t i = 0; i < frame->len_bytes; i++)
		if (frame->payload[i] < ' ' || frame->payload[i] > '~')
			return false;
	memcpy(ret, frame->payload, frame->len_bytes);
	ret[frame->len_bytes] = '\0';
	return true;
}

/* Return the part of line behind word and a blank, or NULL if it begins otherwise. */
static const char *after(const char *line, const char *word)
{
	size_t len = strlen(word);
	return strncmp(line, word, len) == 0 && line[len] == ' ' ? line + len + 1 : NULL;
}

static size_t length(int printed)
{
	return printed > 0 ? (size_t)printed : 0;
}

/* ---- the host's request ------------------------------------------------------------------ */

size_t vmop_active_file_ask(const struct vmop_active_file_request *request,
			    char ret[VMOP_ACTIVE_FILE_LINE_BYTES])
{
	return length(snprintf(ret, VMOP_ACTIVE_FILE_LINE_BYTES, "fetch %016" PRIx64 " %" PRIu64,
			       request->token, request->max_bytes));
}

bool vmop_active_file_asked(const struct vmop_active_frame *frame,
			    struct vmop_active_file_request *ret)
{
	char line[VMOP_ACTIVE_FILE_LINE_BYTES], token[17];
	struct vmop_active_file_request request;
	const char *text = line_of(frame, line) ? after(line, "fetch") : NULL;
	if (!text || strlen(text) < sizeof(token) || text[sizeof(token) - 1] != ' ')
		return false;
	memcpy(token, text, sizeof(token) - 1);
	token[sizeof(token) - 1] = '\0';
	if (!vmop_parse_u64(token, 16, &request.token) || !request.token ||
	    !vmop_parse_u64(text + sizeof(token), 10, &request.max_bytes) || !request.max_bytes)
		return false;
	*ret = request;
	return true;
}

/* ---- the agent's answer ------------------------------------------------------------------ */

size_t vmop_active_file_begin(uint64_t size_bytes, char ret[VMOP_ACTIVE_FILE_LINE_BYTES])
{
	return length(snprintf(ret, VMOP_ACTIVE_FILE_LINE_BYTES, "file %" PRIu64, size_bytes));
}

/* Write the line of a hash. */
static size_t format_hash(const XXH3_state_t *hash, char ret[VMOP_ACTIVE_FILE_LINE_BYTES])
{
	XXH128_hash_t value = XXH3_128bits_digest(hash);
	return length(snprintf(ret, VMOP_ACTIVE_FILE_LINE_BYTES, "hash %016llx%016llx",
			       (unsigned long long)value.high64, (unsigned long long)value.low64));
}

size_t vmop_active_file_end(const XXH3_state_t *hash, char ret[VMOP_ACTIVE_FILE_LINE_BYTES])
{
	return format_hash(hash, ret);
}

size_t vmop_active_file_refuse(const char *reason, char ret[VMOP_ACTIVE_FILE_LINE_BYTES])
{
	size_t len = length(snprintf(ret, VMOP_ACTIVE_FILE_LINE_BYTES, "none %.*s",
				     VMOP_ACTIVE_FILE_REASON_BYTES - 1, reason));
	for (size_t i = 0; i < len; i++)
		if (ret[i] < ' ' || ret[i] > '~')
			ret[i] = '?';
	return len;
}

/* ---- the host's side of the answer ----------------------------------------------------------
 */

struct vmop_error *vmop_active_file_init(struct vmop_active_file *ret, uint64_t max_bytes)
{
	*ret = (struct vmop_active_file){.max_bytes = max_bytes, .hash = XXH3_createState()};
	if (!ret->hash)
		return &vmop_error_no_memory;
	XXH3_128bits_reset(ret->hash);
	return NULL;
}

void vmop_active_file_deinit(struct vmop_active_file *file)
{
	XXH3_freeState(file->hash);
	file->hash = NULL;
}

__attribute__((format(printf, 3, 4))) static enum vmop_active_file_outcome
end(struct vmop_active_file *file, enum vmop_active_file_outcome outcome, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(file->reason, sizeof(file->reason), format, args);
	va_end(args);
	file->stage = VMOP_ACTIVE_FILE_OVER;
	return outcome;
}

/* Take the first line of the answer. */
static enum vmop_active_file_outcome take_begin(struct vmop_active_file *file, const char *line)
{
	uint64_t size_bytes;
	const char *reason = after(line, "none"), *size = after(line, "file");
	if (reason)
		return end(file, VMOP_ACTIVE_FILE_REFUSED, "%.*s",
			   VMOP_ACTIVE_FILE_REASON_BYTES - 1, reason);
	if (!size || !vmop_parse_u64(size, 10, &size_bytes) || !size_bytes)
		return end(file, VMOP_ACTIVE_FILE_WRONG, "it sent no answer of an agent");
	if (size_bytes > file->max_bytes)
		return end(file, VMOP_ACTIVE_FILE_WRONG,
			   "it has %" PRIu64 " bytes, and at most %" PRIu64 " are fetched",
			   size_bytes, file->max_bytes);
	file->size_bytes = size_bytes;
	file->stage = VMOP_ACTIVE_FILE_COMES;
	return VMOP_ACTIVE_FILE_BEGINS;
}

static enum vmop_active_file_outcome take_bytes(struct vmop_active_file *file,
						const struct vmop_active_frame *frame)
{
	if (frame->len_bytes > file->size_bytes - file->n_bytes)
		return end(file, VMOP_ACTIVE_FILE_WRONG, "it is longer than announced");
	file->n_bytes += frame->len_bytes;
	XXH3_128bits_update(file->hash, frame->payload, frame->len_bytes);
	return VMOP_ACTIVE_FILE_BYTES;
}

/* Take the last line of the answer. */
static enum vmop_active_file_outcome take_end(struct vmop_active_file *file, const char *line)
{
	char wanted[VMOP_ACTIVE_FILE_LINE_BYTES];
	format_hash(file->hash, wanted);
	if (file->n_bytes != file->size_bytes)
		return end(file, VMOP_ACTIVE_FILE_WRONG, "it is shorter than announced");
	if (strcmp(line, wanted) != 0)
		return end(file, VMOP_ACTIVE_FILE_WRONG, "it did not arrive as it was sent");
	return end(file, VMOP_ACTIVE_FILE_WHOLE, "%s", "");
}

enum vmop_active_file_outcome vmop_active_file_take(struct vmop_active_file *file,
						    const struct vmop_active_frame *frame)
{
	char line[VMOP_ACTIVE_FILE_LINE_BYTES];
	if (file->stage == VMOP_ACTIVE_FILE_COMES && frame->type == VMOP_ACTIVE_FRAME_BULK)
		return take_bytes(file, frame);
	if (file->stage == VMOP_ACTIVE_FILE_OVER || !line_of(frame, line))
		return end(file, VMOP_ACTIVE_FILE_WRONG, "it sent what no agent sends");
	return file->stage == VMOP_ACTIVE_FILE_AWAITED ? take_begin(file, line)
						       : take_end(file, line);
}
