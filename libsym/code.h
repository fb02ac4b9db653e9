// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The machine code of an image, from its file, and its source files from debuginfod. A resolver
 * finds the file, as for symbols.
 *
 * Only opreport uses this. One thread at a time.
 */
#ifndef VMOP_LIBSYM_CODE_H
#define VMOP_LIBSYM_CODE_H

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
 * Open the file of an image. The caller destroys *ret, before the resolver. *ret is NULL, without
 * an error, if no file with code was found, and *ret_reason, a constant, gives the reason. Reading
 * all of an image's code may cost what libsym/budget.h allows. The only error is
 * VMOP_ERROR_NO_MEMORY.
 */
struct vmop_error *vmop_image_code_open(struct vmop_resolver *resolver,
					const struct vmop_image_ref *ref,
					struct vmop_image_code **ret, const char **ret_reason);
void vmop_image_code_destroy(struct vmop_image_code *code); /* NULL is allowed */

enum vmop_machine vmop_image_code_machine(const struct vmop_image_code *code);

/*
 * Read code at an offset of the image: of its file or, with ref's addresses, from the kernel's
 * _text. Return the number of bytes, fewer than len_bytes where the file's code ends.
 */
size_t vmop_image_code_read(struct vmop_image_code *code, uint64_t offset, void *ret,
			    size_t len_bytes);

/*
 * Ask debuginfod servers, if the user names some, for a source file of ref. path is absolute, as in
 * its DWARF. Return a descriptor that the caller closes, or -1.
 */
int vmop_source_from_debuginfod(const struct vmop_resolver *resolver,
				const struct vmop_image_ref *ref, const char *path);

#endif
