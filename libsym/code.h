// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The machine code of an image, from its file, and its source files from debuginfod. A resolver
 * finds the file, as for symbols.
 *
 * Only opreport uses this. One thread at a time.
 */
#ifndef VMOP_LIBSYM_CODE_H
#define VMOP_LIBSYM_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libsym/resolver.h"

enum vmop_machine {
	VMOP_MACHINE_OTHER,
	VMOP_MACHINE_X86_64,
	VMOP_MACHINE_ARM64, /* little-endian */
};

struct vmop_image_code;

/*
 * Open the file of an image. A module needs ref's module_symbols and a build-id. The caller
 * destroys *ret, before the resolver. *ret is NULL, without an error, if no file with code was
 * found, and *ret_reason, a constant, gives the reason. Reading all of an image's code may cost
 * what libsym/budget.h allows. The only error is VMOP_ERROR_NO_MEMORY.
 */
struct vmop_error *vmop_image_code_open(struct vmop_resolver *resolver,
					const struct vmop_image_ref *ref,
					struct vmop_image_code **ret, const char **ret_reason);
void vmop_image_code_destroy(struct vmop_image_code *code); /* NULL is allowed */

/* Return the machine that the code is for. */
enum vmop_machine vmop_image_code_machine(const struct vmop_image_code *code);

/*
 * Read code at an offset of the image: of its file; with ref's addresses, from the kernel's _text;
 * of a module, from its first code. Return the number of bytes, fewer than len_bytes where the
 * file's code ends.
 */
size_t vmop_image_code_read(struct vmop_image_code *code, uint64_t offset, void *ret,
			    size_t len_bytes);

/*
 * A field in the code of a kernel module that the file leaves open: the kernel stores an address
 * there, or a distance, when it loads the module.
 */
struct vmop_code_field {
	uint64_t offset; /* in the image */
	size_t len_bytes;
	/* It refers to a place in the module's code, or to `name`, a symbol's or a section's. */
	bool is_inside;
	uint64_t target;  /* offset in the image, if is_inside */
	const char *name; /* untrusted, not NULL */
	int64_t addend;	  /* is added to either */
	bool is_distance; /* from the field, or from the instruction's end: mostly of a call */
	bool is_from_end;
};

/*
 * Set *ret to the first open field that begins in [offset, end). Return false without one, as
 * in all that is no module. code owns the name.
 */
bool vmop_image_code_field(const struct vmop_image_code *code, uint64_t offset, uint64_t end,
			   struct vmop_code_field *ret);

/*
 * Ask debuginfod servers, if the user names some, for a source file of ref. path is absolute, as in
 * its DWARF. Return a descriptor that the caller closes, or -1.
 */
int vmop_source_from_debuginfod(const struct vmop_resolver *resolver,
				const struct vmop_image_ref *ref, const char *path);

#endif
