// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's own type information: offsets of members, sizes, enumerators.
 *
 * Format: the kernel's Documentation/bpf/btf.rst and include/uapi/linux/btf.h. The blob comes from
 * a guest and is hostile: vmop_btf_open() checks it once, and every look-up is bounded in depth and
 * steps. Thread: one at a time for each vmop_btf.
 */
#ifndef VMOP_LIBGUEST_KERNEL_BTF_H
#define VMOP_LIBGUEST_KERNEL_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmop_error;
struct vmop_btf;

#define VMOP_BTF_MAX_BYTES (64u << 20)

/*
 * Index a blob. The caller keeps blob, which must outlive *ret, and closes *ret.
 * VMOP_ERROR_CORRUPT: it is not BTF, or damaged.
 */
struct vmop_error *vmop_btf_open(const uint8_t *blob, size_t len_bytes, struct vmop_btf **ret);
void vmop_btf_close(struct vmop_btf *btf); /* NULL is allowed */

/*
 * Set *ret to the offset in bytes of a member of a struct or union, given as a path with dots
 * ("mm_mt.ma_root"). Members of anonymous structs and unions count as members of their parent.
 * Return false when there is no such member, or it is a bit field.
 */
bool vmop_btf_member(struct vmop_btf *btf, const char *type, const char *path, uint32_t *ret);
/*
 * Set *ret_bit to the offset in bits of a bit field of a struct, and *ret_bits to its size. Members
 * of inner structs are not looked at. Return false without such a bit field.
 */
bool vmop_btf_bit_field(struct vmop_btf *btf, const char *type, const char *name, uint32_t *ret_bit,
			uint32_t *ret_bits);
/*
 * Set *ret to the size of a struct or union in bytes. Return false without such a type.
 */
bool vmop_btf_size(struct vmop_btf *btf, const char *type, uint32_t *ret);
/* Set *ret to the value of an enumerator of a named enum. Return false without such a value. */
bool vmop_btf_enumerator(struct vmop_btf *btf, const char *type, const char *name, int64_t *ret);

#endif
