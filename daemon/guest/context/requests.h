// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The questions that the sampling thread has about contexts (vmop/guest-context.h), and the answers
 * of the watching thread. watch.h passes both between the threads; serve.h answers.
 */
#ifndef VMOP_DAEMON_GUEST_CONTEXT_REQUESTS_H
#define VMOP_DAEMON_GUEST_CONTEXT_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/guest/context/page-key.h"
#include "daemon/host/ids.h"
#include "libguest/guest.h"
#include "libsym/symtab.h"
#include "vmop/ids.h"

enum vmop_guest_request_kind {
	VMOP_GUEST_REQUEST_FILE,     /* the file of a page */
	VMOP_GUEST_REQUEST_SYMBOLS,  /* the functions of the file of a page */
	VMOP_GUEST_REQUEST_PROCESS,  /* one process with its mappings */
	VMOP_GUEST_REQUEST_PERF_MAP, /* the names of a process's generated code */
	VMOP_GUEST_REQUEST_CODE,     /* the bytes of a page of code */
};

/* A fixed size, so that a request costs no memory. */
struct vmop_guest_request {
	enum vmop_guest_request_kind kind;
	struct vmop_domain_id domain;
	uint64_t generation; /* of the kernel that ran at the sample */
	union {
		struct {
			struct vmop_guest_page_key key;
			uint64_t offset_bytes; /* of the code in the file */
			uint8_t code[16];
			uint8_t code_bytes;
			bool wants_symbols; /* of a deleted file at once; set by request-limits.c */
		} page;
		struct {
			struct vmop_guest_page_key key;
			struct vmop_image_slot image; /* whose reference waits for the answer */
		} symbols;
		struct {
			uint64_t task, start_time_ns;
			uint32_t pid;
			uint32_t ns_pid; /* perf map: the pid in the file's name; 0: not known */
			struct vmop_image_slot image; /* perf map: as for symbols */
		} process;
		struct {
			/*
			 * Where the bytes are: in the kernel, or in a file by its mapping, or in a
			 * process's memory.
			 */
			enum vmop_guest_code_place {
				VMOP_GUEST_CODE_OF_KERNEL,
				VMOP_GUEST_CODE_OF_FILE,
				VMOP_GUEST_CODE_OF_PROCESS,
			} place;
			uint64_t
				address; /* of the kernel or of the process, or the file's offset */
			uint64_t mapping;	      /* of the file */
			uint64_t task, start_time_ns; /* of the process */
			uint32_t pid;
			uint32_t len_bytes;	      /* 1 to VMOP_GUEST_CODE_BYTES */
			struct vmop_image_slot image; /* as for symbols */
			uint64_t offset;	      /* of the bytes in the image */
		} code;
	};
};

#define VMOP_GUEST_CODE_BYTES 4096

struct vmop_guest_answer {
	struct vmop_guest_request request;
	/*
	 * The kernel has another generation, the object is gone, or there were too many requests
	 * (is_refused): the rest is unset.
	 */
	bool is_found, is_refused;
	bool is_gone; /* symbols: the file has other pages now, or none */
	/* A page: its file. */
	bool is_verified; /* the file has the code at offset_bytes */
	bool is_elf;
	char *path;	  /* as in /proc/PID/maps; on the heap */
	uint8_t build_id_len_bytes;
	uint8_t build_id[VMOP_GUEST_BUILD_ID_MAX];
	/* Symbols and perf maps, and pages of deleted files: the functions; NULL: none. */
	struct vmop_symtab *symtab;
	/* A process. */
	struct vmop_guest_snapshot *snapshot;
	/* Code: its bytes, on the heap, as many as the request has. */
	uint8_t *code;
};

/* Free what an answer owns. */
void vmop_guest_answer_deinit(struct vmop_guest_answer *answer);

/* Requests and answers that can wait at a time. */
#define VMOP_GUEST_REQUESTS_MAX 1024u

/* Two queues of fixed size. The owner protects them by a lock. Zeroed: empty. */
struct vmop_guest_requests {
	struct vmop_guest_request requests[VMOP_GUEST_REQUESTS_MAX];
	struct vmop_guest_answer answers[VMOP_GUEST_REQUESTS_MAX];
	uint32_t n_put, n_taken;	  /* requests, in all */
	uint32_t n_answered, n_collected; /* answers, in all */
};

/* Append a request. False: no room for it, or for its answer. */
bool vmop_guest_requests_put(struct vmop_guest_requests *requests,
			     const struct vmop_guest_request *request);
/* Take the oldest request. False: none. Each one must be answered. */
bool vmop_guest_requests_take(struct vmop_guest_requests *requests, struct vmop_guest_request *ret);
/* Append an answer, which passes to the queue. */
void vmop_guest_requests_answer(struct vmop_guest_requests *requests,
				const struct vmop_guest_answer *answer);
/* Take the oldest answer, which passes to the caller. False: none. */
bool vmop_guest_requests_collect(struct vmop_guest_requests *requests,
				 struct vmop_guest_answer *ret);
/* Return the number of requests without an answer. */
uint32_t vmop_guest_requests_n_open(const struct vmop_guest_requests *requests);
/* Return how many of those are for the symbols of files. */
uint32_t vmop_guest_requests_n_open_symbols(const struct vmop_guest_requests *requests);
/* Drop all requests and answers. */
void vmop_guest_requests_deinit(struct vmop_guest_requests *requests);

#endif
