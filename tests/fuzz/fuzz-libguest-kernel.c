// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer target: the search for a kernel, its symbol table, BTF and page tables in a synthetic
 * guest with damaged memory.
 * 	byte 0		the layout of the symbol table, and how to find it
 * 	then patches:	position (4 bytes, in the parts that the search reads), len, bytes
 */
#include <stdlib.h>
#include <string.h>

#include "libguest/guest-internal.h"
#include "libutil/error.h"
#include "tests/unit/libguest/synthetic.h"

#define MAX_PATCHES 32
#define SLACK 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * A guest for each layout; the layout's number selects how it is found. Then arm64: found by
 * VMCOREINFO, with and without names of variables, and by symbols.
 */
#define ARM64_GUESTS 3
#define GUESTS (SYNTHETIC_KALLSYMS_FORMS + ARM64_GUESTS)
static struct synthetic made[GUESTS];

struct patch {
	uint8_t *at;
	uint8_t old[16];
	unsigned int len;
};

/*
 * Return the position to damage, where the search reads: in half of the cases page tables, markers,
 * tokens, offsets or the banner.
 */
static uint8_t *place(struct synthetic *guest, uint32_t random)
{
	uint64_t image = SYNTHETIC_TEXT_GPA, offset = random >> 3;
	switch (random & 7) {
	case 0:
		return guest->ram + 0x10000 + offset % 0x8000; /* tables */
	case 1:
		return guest->ram + SYNTHETIC_TRAMPOLINE_GPA + offset % 4096;
	case 2:
		return guest->ram + guest->root_gpa + offset % 4096;
	case 3:
		return synthetic_at(guest, guest->btf) + offset % guest->btf_bytes;
	case 4:
		return guest->ram + 0xa00000 + offset % 512; /* VMCOREINFO */
	case 5:
		return guest->ram + guest->names_gpa - 64 + offset % 512;
	default:
		return guest->ram + image + offset % (guest->used + SLACK);
	}
}

static size_t apply(struct synthetic *guest, const uint8_t *data, size_t size,
		    struct patch *patches)
{
	size_t count = 0, at = 0;
	while (count < MAX_PATCHES && size - at >= 6) {
		struct patch *patch = &patches[count];
		uint32_t random;
		memcpy(&random, data + at, sizeof(random));
		patch->at = place(guest, random);
		patch->len = data[at + 4] % 8 + 1;
		at += 5;
		if (size - at < patch->len)
			break;
		memcpy(patch->old, patch->at, patch->len);
		memcpy(patch->at, data + at, patch->len);
		at += patch->len;
		count++;
	}
	return count;
}

static void search(struct synthetic *guest)
{
	struct vmop_guest_memory *memory;
	struct vmop_guest *opened;
	struct vmop_error *err =
		vmop_guest_memory_open_buffer(guest->ram, SYNTHETIC_RAM_BYTES, &memory);
	if (!err)
		err = vmop_guest_open_memory(memory, &opened);
	if (err)
		abort();
	err = vmop_guest_find_kernel(opened);
	struct vmop_guest_symbol symbol;
	vmop_guest_symbol_at(opened, SYNTHETIC_TEXT + 4000, &symbol);
	vmop_error_destroy(err);
	vmop_guest_close(opened);
}

static void set_up(void)
{
	for (int form = 0; form < SYNTHETIC_KALLSYMS_FORMS; form++)
		synthetic_make(&made[form], &(struct synthetic_options){
						    .kallsyms = (enum synthetic_kallsyms)form,
						    .five_levels = form % 2,
						    .bpf_programs = form % 2,
						    .no_trampoline = form % 3 > 0,
						    .no_vmcoreinfo = form % 3 > 1});
	for (int i = 0; i < ARM64_GUESTS; i++)
		synthetic_make(
			&made[SYNTHETIC_KALLSYMS_FORMS + i],
			&(struct synthetic_options){.arm64 = true,
						    .kallsyms = i % 2 ? SYNTHETIC_ALL_RELATIVE
								      : SYNTHETIC_BEFORE_RELATIVE,
						    .text_only = i == 1,
						    .no_vmcoreinfo = i == 2});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct patch patches[MAX_PATCHES];
	if (!made[0].ram)
		set_up();
	if (size < 1)
		return 0;
	struct synthetic *guest = &made[data[0] % GUESTS];
	size_t count = apply(guest, data + 1, size - 1, patches);
	search(guest);
	while (count--)
		memcpy(patches[count].at, patches[count].old, patches[count].len);
	return 0;
}
