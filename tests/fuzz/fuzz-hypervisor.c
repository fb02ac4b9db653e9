// SPDX-License-Identifier: GPL-2.0-or-later
/* The words that a hypervisor gives for CPUID: the input is a ring of them. */
#include <stdlib.h>
#include <string.h>

#include "libvmop/stat/hypervisor/cpuid.h"

static const uint8_t *input;
static size_t len, at;

static struct vmop_cpuid_words read_input(uint32_t leaf, uint32_t subleaf)
{
	uint8_t bytes[sizeof(struct vmop_cpuid_words)];
	struct vmop_cpuid_words words;
	(void)leaf, (void)subleaf;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = len ? input[at++ % len] : 0;
	memcpy(&words, bytes, sizeof(words));
	return words;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vmop_hv_cpuid cpuid;
	input = data;
	len = size;
	at = 0;
	vmop_hv_cpuid_read(read_input, &cpuid);
	if (cpuid.n > VMOP_HV_CPUID_BLOCKS_MAX || !vmop_hv_name(vmop_hv_cpuid_kind(&cpuid)))
		abort();
	for (size_t i = 0; i < cpuid.n; i++) {
		const struct vmop_hv_block *block = &cpuid.blocks[i];
		if (block->last < block->base || block->last - block->base >= VMOP_HV_CPUID_STEP ||
		    strspn(block->signature,
			   " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
			   "abcdefghijklmnopqrstuvwxyz{|}~") != strlen(block->signature))
			abort();
	}
	return 0;
}
