// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/jit/jitdump-records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libsym/jit/jitdump.h"
#include "libutil/io.h"

#define BUFFER_BYTES ((size_t)64 << 10)
#define MAGIC 0x4a695444 /* "JiTD" */
#define MAGIC_SWAPPED 0x4454694a
#define FLAG_ARCH_TIMESTAMP 1
#define HEADER_MAX_BYTES 4096

enum record_id { CODE_LOAD = 0, CODE_MOVE = 1 };

/* The structs of the specification. */
struct file_header {
	uint32_t magic, version, total_size, elf_mach, pad1, pid;
	uint64_t timestamp, flags;
};
struct record_header {
	uint32_t id, total_size;
	uint64_t timestamp;
};
struct code_load {
	struct record_header header;
	uint32_t pid, tid;
	uint64_t vma, code_addr, code_size, code_index;
};
struct code_move {
	struct record_header header;
	uint32_t pid, tid;
	uint64_t vma, old_code_addr, new_code_addr, code_size, code_index;
};
_Static_assert(sizeof(struct file_header) == 40, "as the specification has it");
_Static_assert(sizeof(struct record_header) == 16, "as the specification has it");
_Static_assert(sizeof(struct code_load) == 56, "as the specification has it");
_Static_assert(sizeof(struct code_move) == 64, "as the specification has it");
_Static_assert(sizeof(struct code_load) + VMOP_JITDUMP_MAX_NAME_BYTES < BUFFER_BYTES,
	       "the buffer has room for a load with its name");

struct vmop_error *vmop_jitdump_records_step(struct vmop_jitdump_records *records, int fd,
					     const char *path)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return vmop_error_os(errno, "%s", path);
	records->size_bytes = (uint64_t)st.st_size;
	if (records->size_bytes < records->position)
		return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: became shorter", path);
	records->read_left_bytes = VMOP_JITDUMP_STEP_READ_BYTES;
	records->records_left = VMOP_JITDUMP_STEP_RECORDS;
	records->is_cut = false;
	records->buffer_len_bytes = 0;
	records->buffer = malloc(BUFFER_BYTES);
	return records->buffer ? NULL : &vmop_error_no_memory;
}

void vmop_jitdump_records_step_end(struct vmop_jitdump_records *records)
{
	free(records->buffer);
	records->buffer = NULL;
	records->buffer_len_bytes = 0;
}

/* Return whether len_bytes at offset are in the file, as it was when the step began. */
static bool is_there(const struct vmop_jitdump_records *records, uint64_t offset,
		     uint64_t len_bytes)
{
	return offset <= records->size_bytes && len_bytes <= records->size_bytes - offset;
}

/*
 * Set *ret to len_bytes at offset, which are in the file; at most BUFFER_BYTES. NULL: the bytes
 * that a step may read are used up.
 */
static struct vmop_error *peek(struct vmop_jitdump_records *records, int fd, const char *path,
			       uint64_t offset, size_t len_bytes, const uint8_t **ret)
{
	uint64_t from = offset - records->buffer_offset;
	*ret = NULL;
	if (offset < records->buffer_offset || from > records->buffer_len_bytes ||
	    len_bytes > records->buffer_len_bytes - from) {
		size_t wanted = BUFFER_BYTES;
		if (records->size_bytes - offset < wanted)
			wanted = (size_t)(records->size_bytes - offset);
		records->is_cut |= wanted > records->read_left_bytes;
		if (records->is_cut)
			return NULL;
		records->read_left_bytes -= wanted;
		records->buffer_len_bytes = 0;
		ssize_t n = vmop_io_pread_full(fd, records->buffer, wanted, offset);
		if (n < 0)
			return vmop_error_os(errno, "%s", path);
		records->buffer_offset = offset;
		records->buffer_len_bytes = (size_t)n;
		if ((size_t)n < len_bytes)
			return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: became shorter", path);
		from = 0;
	}
	*ret = records->buffer + from;
	return NULL;
}

/* Read the header of the file. position stays 0 if it is not complete. */
static struct vmop_error *read_header(struct vmop_jitdump_records *records, int fd,
				      const char *path)
{
	struct file_header header;
	const uint8_t *bytes;
	if (!is_there(records, 0, sizeof(header)))
		return NULL;
	struct vmop_error *err = peek(records, fd, path, 0, sizeof(header), &bytes);
	if (err || !bytes)
		return err;
	memcpy(&header, bytes, sizeof(header));
	if (header.magic == MAGIC_SWAPPED)
		return vmop_error_new(VMOP_ERROR_CANT, "%s: a jitdump in the other byte order",
				      path);
	if (header.magic != MAGIC)
		return vmop_error_new(VMOP_ERROR_CANT, "%s: not a jitdump", path);
	/* Version 2 of the specification left the field at 1. */
	if (header.version < 1 || header.version > 2)
		return vmop_error_new(VMOP_ERROR_CANT, "%s: a jitdump of version %" PRIu32, path,
				      header.version);
	if (header.flags & FLAG_ARCH_TIMESTAMP)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "%s: its times are of the processor's clock, not of "
				      "CLOCK_MONOTONIC",
				      path);
	if (header.total_size < sizeof(header) || header.total_size > HEADER_MAX_BYTES)
		return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: a header of %" PRIu32 " bytes", path,
				      header.total_size);
	records->pid = header.pid;
	records->position = header.total_size;
	return NULL;
}

/* Check that the code begins somewhere and ends before the end of the address space. */
static bool is_range(uint64_t start, uint64_t len_bytes)
{
	uint64_t last;
	return len_bytes && !__builtin_add_overflow(start, len_bytes - 1, &last);
}

/* Decode a load, of which len_bytes are at hand. Return false if it has no usable code. */
static bool decode_load(const uint8_t *bytes, size_t len_bytes, uint64_t position,
			struct vmop_jitdump_record *ret)
{
	struct code_load load;
	if (len_bytes < sizeof(load))
		return false;
	memcpy(&load, bytes, sizeof(load));
	uint64_t rest = load.header.total_size - sizeof(load);
	if (!is_range(load.code_addr, load.code_size) || load.code_size >= rest)
		return false;
	size_t name_max = rest - load.code_size;
	if (name_max > len_bytes - sizeof(load))
		name_max = len_bytes - sizeof(load);
	const char *name = (const char *)bytes + sizeof(load);
	*ret = (struct vmop_jitdump_record){
		.time_ns = load.header.timestamp,
		.start = load.code_addr,
		.len_bytes = load.code_size,
		.index = load.code_index,
		.code_offset = position + load.header.total_size - load.code_size,
		.name = name,
		.name_len_bytes = strnlen(name, name_max),
	};
	return ret->name_len_bytes > 0;
}

static bool decode_move(const uint8_t *bytes, size_t len_bytes, struct vmop_jitdump_record *ret)
{
	struct code_move move;
	if (len_bytes < sizeof(move))
		return false;
	memcpy(&move, bytes, sizeof(move));
	*ret = (struct vmop_jitdump_record){
		.time_ns = move.header.timestamp,
		.is_move = true,
		.start = move.new_code_addr,
		.len_bytes = move.code_size,
		.index = move.code_index,
		.old_start = move.old_code_addr,
	};
	return is_range(move.new_code_addr, move.code_size);
}

/* Read the record at position. *ret_is_used: it is in *ret, else it is skipped. */
static struct vmop_error *read_record(struct vmop_jitdump_records *records, int fd,
				      const char *path, struct vmop_jitdump_record *ret,
				      bool *ret_is_used, bool *ret_is_end)
{
	struct record_header header;
	uint64_t position = records->position;
	const uint8_t *bytes = NULL;
	struct vmop_error *err = NULL;
	if (is_there(records, position, sizeof(header)))
		err = peek(records, fd, path, position, sizeof(header), &bytes);
	if (err)
		return err;
	if (bytes)
		memcpy(&header, bytes, sizeof(header));
	if (bytes && header.total_size < sizeof(header))
		return vmop_error_new(VMOP_ERROR_CORRUPT,
				      "%s: malformed record at byte %" PRIu64
				      ": the functions behind it have no names",
				      path, position);
	*ret_is_end = !bytes || !is_there(records, position, header.total_size);
	if (*ret_is_end)
		return NULL;
	if (header.id == CODE_LOAD || header.id == CODE_MOVE) {
		size_t wanted = sizeof(struct code_load) + VMOP_JITDUMP_MAX_NAME_BYTES;
		if (header.total_size < wanted)
			wanted = header.total_size;
		err = peek(records, fd, path, position, wanted, &bytes);
		*ret_is_end = !bytes;
		if (err || !bytes)
			return err;
		*ret_is_used = header.id == CODE_LOAD ? decode_load(bytes, wanted, position, ret)
						      : decode_move(bytes, wanted, ret);
	}
	records->position += header.total_size;
	return NULL;
}

struct vmop_error *vmop_jitdump_records_next(struct vmop_jitdump_records *records, int fd,
					     const char *path, struct vmop_jitdump_record *ret,
					     bool *ret_is_end)
{
	bool is_used = false;
	*ret_is_end = false;
	struct vmop_error *err = records->position ? NULL : read_header(records, fd, path);
	if (!err && !records->position)
		*ret_is_end = true;
	while (!err && !is_used && !*ret_is_end) {
		if (!records->records_left--) {
			records->records_left = 0;
			records->is_cut = true;
			*ret_is_end = true;
			break;
		}
		err = read_record(records, fd, path, ret, &is_used, ret_is_end);
	}
	return err;
}
