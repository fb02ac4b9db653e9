// SPDX-License-Identifier: GPL-2.0-or-later
/* The set-up's keys of call stacks. */
#include <inttypes.h>
#include <string.h>

#include "libutil/parse.h"
#include "libutil/setup-key.h"

static const char *const words[] = {
	[VMOP_STACKS_OFF] = "off",	 [VMOP_STACKS_KERNEL] = "kernel",
	[VMOP_STACKS_FP] = "fp",	 [VMOP_STACKS_CFI] = "cfi",
	[VMOP_STACKS_BPF] = "bpf",	 [VMOP_STACKS_DEFER] = "defer",
	[VMOP_STACKS_HANDED] = "handed",
};
#define N_WORDS VMOP_STACKS_HANDED /* that a user can give */

/* CFI, or BPF where copies would be too much: vmop_stack_options.may_use_bpf. */
static const char automatic[] = "auto";

const char *vmop_setup_callgraph_word(enum vmop_stack_mode mode)
{
	return words[mode];
}

/* Parse the size of the copies. The kernel's limit is a little less than 64 KiB. */
static bool parse_copy_bytes(const char *text, uint32_t *ret)
{
	uint64_t bytes;
	if (!vmop_parse_size_bytes(text, &bytes))
		return false;
	if (bytes == 64 << 10)
		bytes = VMOP_USER_STACK_BYTES_MAX;
	else if (bytes != 8 << 10 && bytes != 16 << 10 && bytes != 32 << 10)
		return false;
	*ret = (uint32_t)bytes;
	return true;
}

struct vmop_error *vmop_setup_set_callgraph(struct vmop_setup *setup, const char *key,
					    const char *value)
{
	size_t len = strcspn(value, ":"), i = 0;
	uint32_t bytes = VMOP_USER_STACK_BYTES;
	while (i < N_WORDS && (strlen(words[i]) != len || memcmp(words[i], value, len) != 0))
		i++;
	bool is_automatic = strcmp(value, automatic) == 0;
	if (is_automatic)
		i = VMOP_STACKS_CFI;
	bool is_good = i < N_WORDS;
	if (is_good && !is_automatic && value[len])
		is_good = i == VMOP_STACKS_CFI && parse_copy_bytes(value + len + 1, &bytes);
	if (!is_good)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: '%s' is not one of off, kernel, fp, cfi, cfi:SIZE (8K, "
				      "16K, 32K or 64K), bpf, auto, defer",
				      key, value);
	setup->stacks.mode = (enum vmop_stack_mode)i;
	setup->stacks.user_stack_bytes = bytes;
	setup->stacks.may_use_bpf = is_automatic;
	return NULL;
}

struct vmop_error *vmop_setup_set_callgraph_depth(struct vmop_setup *setup, const char *key,
						  const char *value)
{
	uint64_t depth;
	if (!vmop_parse_u64(value, 10, &depth) || depth < 1 || depth > VMOP_STACK_FRAMES_MAX)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: '%s' is not a number of frames between 1 and %d", key,
				      value, VMOP_STACK_FRAMES_MAX);
	setup->stacks.max_frames = (uint32_t)depth;
	return NULL;
}

void vmop_setup_put_callgraph(FILE *out, const char *key, const struct vmop_setup *setup)
{
	const struct vmop_stack_options *stacks = &setup->stacks;
	if (stacks->mode == VMOP_STACKS_OFF)
		return;
	fprintf(out, "%s = %s", key, stacks->may_use_bpf ? automatic : words[stacks->mode]);
	if (stacks->mode == VMOP_STACKS_CFI && !stacks->may_use_bpf)
		fprintf(out, ":%" PRIu32 "K", (stacks->user_stack_bytes + 1023) >> 10);
	fputc('\n', out);
}

void vmop_setup_put_callgraph_depth(FILE *out, const char *key, const struct vmop_setup *setup)
{
	if (setup->stacks.max_frames != VMOP_STACK_FRAMES_MAX)
		fprintf(out, "%s = %" PRIu32 "\n", key, setup->stacks.max_frames);
}
