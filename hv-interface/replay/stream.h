// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file of recorded vmop_records and their call stacks, for tests and benches: what a sink
 * received, for the replay source.
 *
 * 	struct vmop_stream_header
 * 	struct vmop_stream_event	n_events times
 * 	records				until the end of the file
 *
 * Little-endian, everything aligned to 8 bytes. A record is a vmop_stream_record header and the
 * struct of its type. Text follows it, ends with a NUL, and is padded to 8 bytes with NULs. Times
 * never go back, except that 0 is "not known".
 *
 * A SAMPLE record that is longer than its struct goes on with the captured call stack: a
 * vmop_stream_capture, the kernel's frames, the user frames, the user registers and the bytes of
 * the user stack. The parts are padded to 8 bytes.
 *
 * A VMOP_STREAM_REPEAT record stands before a block of records. The block comes n_times, each time
 * step_ns later than before: a file of a few MB is a stream of 100 million samples. Blocks do not
 * nest.
 *
 * Files are hostile input: everything is checked, and the first invalid part ends the stream with
 * VMOP_ERROR_CORRUPT.
 *
 * Version 1 had no call stacks, and shorter lengths in its headers (struct vmop_stream_record_v1).
 * It is only read.
 */
#ifndef VMOP_HV_INTERFACE_REPLAY_STREAM_H
#define VMOP_HV_INTERFACE_REPLAY_STREAM_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/source.h"
#include "libutil/error.h"
#include "vmop/record.h"
#include "vmop/stack.h"

#define VMOP_STREAM_MAGIC "VMOPSTRM" /* 8 bytes, no NUL */

/* The machine of this program, for vmop_stream_header.machine. */
#if defined(__aarch64__)
#define VMOP_STREAM_MACHINE EM_AARCH64
#else
#define VMOP_STREAM_MACHINE EM_X86_64
#endif

enum {
	VMOP_STREAM_VERSION = 2,
	VMOP_STREAM_MAX_EVENTS = 64,
	VMOP_STREAM_REPEAT = 0x80,	   /* beside enum vmop_record_type */
	VMOP_STREAM_MAX_TEXT_BYTES = 8192, /* with the NUL */
	VMOP_STREAM_MAX_TIMES = 1000000,
	VMOP_STREAM_MAX_FRAMES = 1024, /* in each of the two lists of frames of a capture */
};

struct vmop_stream_header {
	char magic[8];
	uint32_t version;
	uint32_t n_events;
	uint64_t first_ns; /* time of the first record; 0: not known */
	/* The call stacks that samples carry, as in struct vmop_stack_options; 0: none. */
	uint32_t stack_mode; /* enum vmop_stack_mode: OFF, KERNEL, FP or CFI */
	uint32_t user_stack_bytes, max_frames;
	uint32_t machine; /* of the registers and stacks: e_machine of <elf.h>; 0: no stacks */
	uint64_t reserved[3];
};

struct vmop_stream_event {
	char name[64]; /* both end with a NUL */
	char unit[8];
	uint64_t period_events, frequency_hz;
	uint64_t reserved;
};

struct vmop_stream_record {
	uint32_t len_bytes; /* with this header: a multiple of 8 */
	uint8_t type;	    /* enum vmop_record_type, or VMOP_STREAM_REPEAT */
	uint8_t event;	    /* SAMPLE, LOST, THROTTLE */
	uint16_t flags;	    /* SAMPLE: enum vmop_sample_flags; others: enum vmop_stream_flags */
	uint64_t time_ns;
};

struct vmop_stream_record_v1 {
	uint16_t type; /* enum vmop_record_type, or VMOP_STREAM_V1_REPEAT */
	uint16_t len_bytes;
	uint16_t event, flags;
	uint64_t time_ns;
};
#define VMOP_STREAM_V1_REPEAT 0x8000

enum vmop_stream_flags {
	VMOP_STREAM_COMM_EXEC = 1 << 0,
	VMOP_STREAM_KSYMBOL_BPF = 1 << 0,
	VMOP_STREAM_KSYMBOL_UNREGISTERED = 1 << 1,
	VMOP_STREAM_THROTTLED = 1 << 0,
	VMOP_STREAM_ONLINE = 1 << 0,
};

struct vmop_stream_sample {
	uint64_t ip, weight_events;
	uint32_t pid, tid;
	uint32_t cpu, source_domain;
	uint32_t source_vcpu, reserved;
};

struct vmop_stream_capture { /* struct vmop_stack_capture has the meaning of each part */
	uint32_t n_kernel_frames, n_user_frames; /* each at most VMOP_STREAM_MAX_FRAMES */
	/* At most VMOP_USER_STACK_BYTES_MAX. */
	uint32_t user_stack_bytes, user_stack_asked_bytes;
	uint16_t n_user_regs; /* VMOP_USER_REGS; 0: none */
	uint8_t user_end;     /* enum vmop_stack_end */
	uint8_t flags;	      /* enum vmop_stream_capture_flags */
	uint32_t reserved;
};

enum vmop_stream_capture_flags {
	VMOP_STREAM_CAPTURE_COMPAT = 1 << 0,
};

struct vmop_stream_mmap { /* text: the path */
	uint64_t start, len_bytes, file_offset_bytes;
	uint32_t pid, tid;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	uint8_t build_id_len_bytes, reserved[3];
	uint8_t build_id[VMOP_BUILD_ID_MAX];
};

struct vmop_stream_comm { /* text: the name */
	uint32_t pid, tid;
};

struct vmop_stream_task {
	uint32_t pid, tid, parent_pid, parent_tid;
};

struct vmop_stream_ksymbol { /* text: the name */
	uint64_t start;
	uint32_t len_bytes, reserved;
};

struct vmop_stream_lost {
	uint64_t lost_records;
	uint32_t cpu, reserved;
};

struct vmop_stream_cpu { /* CPU, THROTTLE */
	uint32_t cpu, reserved;
};

struct vmop_stream_unhandled {
	uint32_t type, reserved;
};

struct vmop_stream_repeat {
	uint64_t n_times;     /* 1 to VMOP_STREAM_MAX_TIMES */
	uint64_t block_bytes; /* length of the following block: a multiple of 8, not 0 */
	uint64_t step_ns;
};

_Static_assert(sizeof(struct vmop_stream_header) == 64, "on-disk format");
_Static_assert(offsetof(struct vmop_stream_header, first_ns) == 16, "on-disk format");
_Static_assert(offsetof(struct vmop_stream_header, machine) == 36, "on-disk format");
_Static_assert(sizeof(struct vmop_stream_event) == 96, "on-disk format");
_Static_assert(sizeof(struct vmop_stream_record) == 16, "on-disk format");
_Static_assert(offsetof(struct vmop_stream_record, time_ns) == 8, "on-disk format");
_Static_assert(sizeof(struct vmop_stream_record_v1) == 16, "on-disk format");
_Static_assert(sizeof(struct vmop_stream_sample) == 40, "on-disk format");
_Static_assert(sizeof(struct vmop_stream_capture) == 24, "on-disk format");
_Static_assert(offsetof(struct vmop_stream_capture, user_end) == 18, "on-disk format");
_Static_assert(sizeof(struct vmop_stream_mmap) == 72, "on-disk format");
_Static_assert(offsetof(struct vmop_stream_mmap, build_id) == 52, "on-disk format");
_Static_assert(sizeof(struct vmop_stream_comm) == 8, "on-disk format");
_Static_assert(sizeof(struct vmop_stream_task) == 16, "on-disk format");
_Static_assert(sizeof(struct vmop_stream_ksymbol) == 16, "on-disk format");
_Static_assert(sizeof(struct vmop_stream_lost) == 16, "on-disk format");
_Static_assert(sizeof(struct vmop_stream_cpu) == 8, "on-disk format");
_Static_assert(sizeof(struct vmop_stream_unhandled) == 8, "on-disk format");
_Static_assert(sizeof(struct vmop_stream_repeat) == 24, "on-disk format");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "on-disk format");

/* Reader. One thread. */
struct vmop_stream_reader;

/*
 * Open a stream; free *ret with vmop_stream_reader_close. VMOP_ERROR_CORRUPT: not a stream.
 * VMOP_ERROR_NEWER: of a later version.
 */
struct vmop_error *vmop_stream_reader_open(const char *path, struct vmop_stream_reader **ret);
/*
 * Open a stream in memory, aligned to 8 bytes, which must outlive the reader. name is for messages.
 */
struct vmop_error *vmop_stream_reader_open_memory(const char *name, const void *data,
						  size_t len_bytes,
						  struct vmop_stream_reader **ret);
void vmop_stream_reader_close(struct vmop_stream_reader *reader); /* NULL is allowed */

size_t vmop_stream_reader_n_events(const struct vmop_stream_reader *reader);
/* Return event i. Valid as long as the reader. */
const struct vmop_event_info *vmop_stream_reader_event(const struct vmop_stream_reader *reader,
						       size_t i);
uint64_t vmop_stream_reader_first_ns(const struct vmop_stream_reader *reader);
/*
 * Return the call stacks that samples may carry; mode OFF: none. Set *ret_machine to the machine
 * that they are of, as e_machine of <elf.h>. Valid as long as the reader.
 */
const struct vmop_stack_options *vmop_stream_reader_stacks(const struct vmop_stream_reader *reader,
							   uint32_t *ret_machine);
/* Return the bytes of records taken, those of a repeated block each time. */
uint64_t vmop_stream_reader_bytes(const struct vmop_stream_reader *reader);

/*
 * Read the next record. Set *ret_stack to its call stack, or to NULL. Its text and its stack are
 * valid until the next call. Set *ret_ended at the end and after an error: no record follows.
 */
struct vmop_error *vmop_stream_reader_next(struct vmop_stream_reader *reader,
					   struct vmop_record *ret,
					   const struct vmop_stack_capture **ret_stack,
					   bool *ret_ended);

/* Writer. One thread. */
struct vmop_stream_writer;

/*
 * Create a file at path, replacing an existing one. stacks: the call stacks that samples may carry,
 * of this machine; NULL: none.
 */
struct vmop_error *vmop_stream_writer_create(const char *path, const struct vmop_event_info *events,
					     size_t n_events,
					     const struct vmop_stack_options *stacks,
					     struct vmop_stream_writer **ret);
/*
 * Append one record. stack: the call stack of a sample, or NULL; a stream without call stacks
 * leaves it out. vmop_stream_writer_close reports errors.
 */
void vmop_stream_writer_put(struct vmop_stream_writer *writer, const struct vmop_record *record,
			    const struct vmop_stack_capture *stack);
/* Return a sink that appends. Valid as long as the writer. */
struct vmop_sink vmop_stream_writer_sink(struct vmop_stream_writer *writer);
/* Begin a block that comes n_times, each time step_ns later, up to the matching end. */
void vmop_stream_writer_begin_repeat(struct vmop_stream_writer *writer, uint64_t n_times,
				     uint64_t step_ns);
void vmop_stream_writer_end_repeat(struct vmop_stream_writer *writer);
/* Finish the file and free writer. Return the first error since create. */
struct vmop_error *vmop_stream_writer_close(struct vmop_stream_writer *writer);

#endif
