// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The data that an arm64 function refers to: addresses that it forms by ADRP and the instructions
 * after it (Arm ARM, DDI 0487, C6.2: ADD immediate; LDR and STR with an unsigned offset or an index
 * that is written back).
 *
 * A kernel without CONFIG_KALLSYMS_ALL, such as Debian's on arm64, names its functions but not its
 * variables. These addresses are candidates for the variables: the caller must check the content of
 * each.
 */
#ifndef VMOP_LIBGUEST_KERNEL_ARM64_CODE_H
#define VMOP_LIBGUEST_KERNEL_ARM64_CODE_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of a function that are examined; the rest of a longer one is ignored. */
#define VMOP_ARM64_CODE_MAX_BYTES 2048u

/*
 * Write the addresses that a function refers to into ret, at most max of them, each once, in order
 * of occurrence. Return their number. code holds len_bytes of the function, which lies at address.
 * Any thread.
 */
size_t vmop_arm64_code_references(const uint8_t *code, size_t len_bytes, uint64_t address,
				  uint64_t *ret, size_t max);

#endif
