// SPDX-License-Identifier: GPL-2.0-or-later
/* Instructions of a kernel module with fields that the module's file leaves open. */
#ifndef VMOP_OPREPORT_ANNOTATE_OPEN_FIELDS_H
#define VMOP_OPREPORT_ANNOTATE_OPEN_FIELDS_H

#include "opreport/annotate/annotation.h"

/*
 * Set *ret, in the arena, to an instruction's text with the name of what a field refers to, or its
 * address if that is in the module. The target of a call or jump is replaced, because the file's is
 * none; otherwise the name follows behind ";". base is the address of the image's offset 0, and
 * [instruction->address, + len_bytes) contains the field. The name is untrusted, so *ret is, too.
 */
struct vmop_error *vmop_open_field_text(struct vmop_annotation *annotation,
					const struct vmop_instruction *instruction,
					const struct vmop_code_field *field, uint64_t base,
					const char **ret);

#endif
