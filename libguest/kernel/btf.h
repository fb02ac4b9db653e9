// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's own type information: offsets of members, sizes, enumerators.
 *
 * Format: kernel Documentation/bpf/btf.rst, include/uapi/linux/btf.h.  The
 * blob is a guest's and hostile: it is checked once when it is opened, and
 * every look-up is bounded in depth and steps.
 */
#ifndef VMOP_LIBGUEST_KERNEL_BTF_H
#define VMOP_LIBGUEST_KERNEL_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmop_error;
struct vmop_btf;

#define VMOP_BTF_MAX_BYTES (64u << 20)

/* blob stays the caller's and must outlive *ret. VMOP_ERROR_CORRUPT when it is not BTF. */
struct vmop_error *vmop_btf_open(const uint8_t *blob, size_t len_bytes, struct vmop_btf **ret);
void vmop_btf_close(struct vmop_btf *btf);

/*
 * The offset in bytes of a member of a struct or union, by a path with dots
 * ("mm_mt.ma_root"); members of anonymous structs and unions count as their
 * parent's.  False: there is no such, or it is a bit field.
 */
bool vmop_btf_member(struct vmop_btf *btf, const char *type, const char *path, uint32_t *ret);
/* The size in bytes of a struct or union. */
bool vmop_btf_size(struct vmop_btf *btf, const char *type, uint32_t *ret);
/* The value of an enumerator of an enum with a name. */
bool vmop_btf_enumerator(struct vmop_btf *btf, const char *type, const char *name, int64_t *ret);

#endif
