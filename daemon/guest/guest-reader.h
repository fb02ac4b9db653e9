// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads one passive guest, piece by piece as each is due: finds its kernel, and again after the
 * kernel is gone; lists its processes and modules; reads its unwind tables, the tasks of its vCPUs
 * and its blocked threads. Makes views of them, and answers requests for files, tables and
 * contexts.
 *
 * Thread: the watching one (watch.h), which has the budget and calls this without its lock.
 */
#ifndef VMOP_DAEMON_GUEST_GUEST_READER_H
#define VMOP_DAEMON_GUEST_GUEST_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/guest/context/requests.h"
#include "daemon/guest/guest-opener.h"
#include "daemon/guest/off-cpu/batch.h"
#include "daemon/guest/stacks/file-tables.h"
#include "daemon/guest/view.h"
#include "libsym/symtab.h"
#include "libutil/error.h"
#include "libutil/setup.h"
#include "vmop/ids.h"

struct vmop_guest_reader;

/* The same for all guests. */
struct vmop_guest_reader_options {
	uint64_t snapshot_ns, modules_ns, reading_ns; /* the periods of processes, modules, vCPUs */
	char *profiles; /* the directory of profiles of kernels without BTF; NULL: none */
	struct vmop_off_cpu off_cpu;
};

/* Requests of the sampling thread about a guest. */
struct vmop_guest_wishes {
	uint32_t session; /* another number: a new session needs the symbols and facts again */
	uint32_t taken_generation; /* the code that it has copied, whose symbols may be dropped */
	bool wants_stacks, wants_code;
	bool has_contexts; /* samples show what the vCPUs run */
};

/*
 * Create a reader, which reads nothing before its first update. options must outlive it. The caller
 * owns *ret. The only error is that of memory. Any thread.
 */
struct vmop_error *vmop_guest_reader_create(const struct vmop_guest_reader_options *options,
					    struct vmop_guest_holder holder,
					    struct vmop_guest_reader **ret);
void vmop_guest_reader_destroy(struct vmop_guest_reader *reader); /* NULL is allowed */

/*
 * Read the parts of the guest that are due. blocked_permille: the CPU time that its blocked threads
 * may take, in thousandths of one CPU. Return true: a new view must be published.
 */
bool vmop_guest_reader_update(struct vmop_guest_reader *reader,
			      const struct vmop_guest_wishes *wishes, unsigned blocked_permille,
			      uint64_t now_ns);

/* Make a view of the last readings. The caller owns its only reference. NULL: no memory. */
struct vmop_guest_view *vmop_guest_reader_make_view(const struct vmop_guest_reader *reader);

/*
 * Add the blocked threads of the last round to *batch, which is created if it is NULL, and set
 * *ret_facts to the totals. Needs the lock of the batch. Return false if no thread is sampled.
 */
bool vmop_guest_reader_publish_blocked(struct vmop_guest_reader *reader,
				       struct vmop_blocked_batch **batch,
				       struct vmop_blocked_facts *ret_facts);
/* Return when the next round of blocked threads is due, in CLOCK_MONOTONIC; 0: no round is due. */
uint64_t vmop_guest_reader_blocked_due_ns(const struct vmop_guest_reader *reader);

/*
 * Return the symbols of a file (vma->file) from the guest's page cache, which the caller destroys;
 * NULL: it has none. build_id is that of the mapping, or empty. *ret_is_gone: the guest no longer
 * has the file open.
 */
struct vmop_symtab *vmop_guest_reader_read_symbols(struct vmop_guest_reader *reader, uint64_t file,
						   const struct vmop_build_id *build_id,
						   bool *ret_is_gone);
/* Build the unwind table of a mapping's file, which is the caller's, as vmop_guest_table_build().
 */
enum vmop_code_state vmop_guest_reader_build_table(struct vmop_guest_reader *reader,
						   const struct vmop_guest_code_mapping *mapping,
						   const char *host_path,
						   struct vmop_cfi_table **ret);
/* A place in the memory of a guest's process, by its pid in the guest's first namespace. */
struct vmop_guest_probe {
	uint32_t pid;
	uint64_t address;
	uint64_t since_ns; /* CLOCK_MONOTONIC: the process has been there since then */
	char comm[16];	   /* the name that the process must have */
};
#define VMOP_GUEST_PROBE_BYTES 32

enum vmop_guest_probed {
	/* No kernel is known yet, or no list of processes since since_ns, or others are first. */
	VMOP_GUEST_PROBE_WAITS,
	VMOP_GUEST_PROBE_READ,
	VMOP_GUEST_PROBE_ABSENT, /* there is no such process or page now */
};

/* Read that place. Unless it is READ, a list of the processes is made soon. */
enum vmop_guest_probed vmop_guest_reader_probe(struct vmop_guest_reader *reader,
					       const struct vmop_guest_probe *probe,
					       uint8_t ret[VMOP_GUEST_PROBE_BYTES]);

/* Set *ret to the answer to a request about contexts, which the caller owns. */
void vmop_guest_reader_answer(struct vmop_guest_reader *reader,
			      const struct vmop_guest_request *request,
			      struct vmop_guest_answer *ret);

#endif
