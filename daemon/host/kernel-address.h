// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef VMOP_DAEMON_HOST_KERNEL_ADDRESS_H
#define VMOP_DAEMON_HOST_KERNEL_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Return whether address lies in the half that kernels use, of hosts and guests alike. */
static inline bool vmop_is_kernel_address(uint64_t address)
{
	/*
	 * x86-64: canonical addresses repeat bit 47 (56 with 5 levels), Linux has the
	 * upper half (Documentation/arch/x86/x86_64/mm.rst); 32-bit guests have no
	 * such bit and count as user.  arm64: TTBR1 translates addresses whose upper
	 * bits are ones (Documentation/arch/arm64/memory.rst).
	 */
	return address >> 63;
}

#endif
