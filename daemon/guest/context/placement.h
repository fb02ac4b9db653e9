// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rules that find where in user code a sample with a context was taken, and how sure that is
 * (attribution.h has the rules without a context).
 *
 * The context proves the task. Two independent facts prove the place: the content of the
 * guest's struct page at the sample, and the code bytes or the mappings of the process.
 *
 * | page of the code                 | other facts                  | place, certainty    |
 * |----------------------------------|------------------------------|---------------------|
 * | of a file that was found         | a mapping with the same file | mapping, EXACT      |
 * |                                  | and offset                   |                     |
 * |                                  | the file has the same code   | file, EXACT         |
 * |                                  | none                         | file, LIKELY        |
 * | of a file that was gone, or is   | a mapping of a file          | mapping, LIKELY     |
 * | not found yet                    | none                         | LOST_FILE,          |
 * |                                  |                              | AMBIGUOUS           |
 * | anonymous memory                 | a mapping of a file: this is | mapping, LIKELY     |
 * |                                  | a private copy               |                     |
 * |                                  | none                         | GENERATED, EXACT    |
 * | no owner, in the kernel's image  | any                          | VDSO, EXACT         |
 * | no owner, or not known           | a mapping                    | mapping, EXACT      |
 * |                                  | none                         | UNKNOWN, AMBIGUOUS  |
 *
 * A mapping is one of the context's process, as some list has it.
 */
#ifndef VMOP_DAEMON_GUEST_CONTEXT_PLACEMENT_H
#define VMOP_DAEMON_GUEST_CONTEXT_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/guest/context/files.h"
#include "libguest/guest.h"
#include "vmop/domain.h"

/* The facts about the code at a sample. */
struct vmop_guest_code_facts {
	uint32_t parts;		 /* of the context: enum vmop_guest_part */
	uint64_t mapping;	 /* of its page, with flags */
	bool is_in_kernel_image; /* the guest-physical address is */
	uint64_t address;
	uint64_t file_offset_bytes;		 /* of address in the page's file */
	const struct vmop_guest_code_page *page; /* NULL: no page of a file */
	const struct vmop_guest_vma *vma; /* of the task's process, executable; NULL: not known */
};

enum vmop_guest_place {
	VMOP_GUEST_PLACE_UNKNOWN,
	VMOP_GUEST_PLACE_MAPPING,   /* facts.vma */
	VMOP_GUEST_PLACE_FILE,	    /* facts.page */
	VMOP_GUEST_PLACE_GENERATED, /* anonymous memory of the process */
	VMOP_GUEST_PLACE_VDSO,
	VMOP_GUEST_PLACE_LOST_FILE,
};

struct vmop_guest_placement {
	enum vmop_guest_place place;
	enum vmop_certainty certainty;
};

/* Place a user sample by the table above. */
struct vmop_guest_placement vmop_guest_place(const struct vmop_guest_code_facts *facts);

#endif
