// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which data an arm64 function refers to: the addresses that it forms by ADRP
 * and what follows (Arm ARM, DDI 0487, C6.2: ADD immediate, LDR and STR with an
 * unsigned offset or an index that is written back).  A kernel without CONFIG_KALLSYMS_ALL, as
 * Debian has them on arm64, names its functions and not its variables; this finds candidates for
 * these, and whoever asks must see by their content which one it is.
 */
#ifndef VMOP_LIBGUEST_KERNEL_ARM64_CODE_H
#define VMOP_LIBGUEST_KERNEL_ARM64_CODE_H

#include <stddef.h>
#include <stdint.h>

/* Instructions that are looked at, of a longer function the first ones. */
#define VMOP_ARM64_CODE_MAX_BYTES 2048u

/*
 * Reads the function code (len_bytes of it, which lies at address) and writes up
 * to max of the addresses that it refers to, each once, in the order in which they
 * occur.  Returns how many.
 */
size_t vmop_arm64_code_references(const uint8_t *code, size_t len_bytes, uint64_t address,
				  uint64_t *ret, size_t max);

#endif
