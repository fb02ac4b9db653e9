// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest whose memory a fuzz target damages: the small synthetic one, or a captured one
 * (tests/rigs/capture-guest). Patches change pages that the reads of the undamaged guest need: the
 * first reads run on protected memory and record these pages. They are undone afterwards, so an
 * execution takes some microseconds.
 *
 * Patches are bytes of an input:
 *	op, position (3 bytes: page, offset), value
 *	  op even	the next 1 to 8 bytes
 *	  op odd	the 8 bytes at another position (3 bytes): cycles, cross links
 */
#ifndef VMOP_TESTS_FUZZ_DAMAGED_GUEST_H
#define VMOP_TESTS_FUZZ_DAMAGED_GUEST_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libguest/guest-internal.h"
#include "libutil/error.h"
#include "tests/unit/libguest/synthetic.h"

#define DAMAGED_PAGE 4096u
#define DAMAGED_MAX_PAGES 4096u
#define DAMAGED_MAX_PATCHES 32

struct damaged_guest {
	uint8_t *ram;
	size_t len;
	struct vmop_guest *guest;
	uint64_t page[DAMAGED_MAX_PAGES]; /* offsets of pages that are read */
	size_t pages;
};

struct damaged_patch {
	uint8_t *at;
	uint8_t old[8];
	unsigned int len;
};

static struct damaged_guest *damaged_noting; /* the guest whose pages are being recorded */

/* --- setting up ----------------------------------------------------------------------- */

static inline void damaged_note_page(int signal, siginfo_t *info, void *context)
{
	struct damaged_guest *guest = damaged_noting;
	uint8_t *at = info->si_addr;
	(void)context;
	if (!guest || at < guest->ram || at >= guest->ram + guest->len) {
		struct sigaction action = {.sa_handler = SIG_DFL};
		sigaction(signal, &action, NULL);
		return;
	}
	uint64_t page = (uint64_t)(at - guest->ram) & ~(uint64_t)(DAMAGED_PAGE - 1);
	if (guest->pages < DAMAGED_MAX_PAGES)
		guest->page[guest->pages++] = page;
	mprotect(guest->ram + page, DAMAGED_PAGE, PROT_READ | PROT_WRITE);
}

/* Call look, and record the pages that it reads. */
static inline void damaged_note(struct damaged_guest *guest,
				void (*look)(struct damaged_guest *guest))
{
	struct sigaction action = {.sa_sigaction = damaged_note_page, .sa_flags = SA_SIGINFO};
	struct sigaction before;
	sigaction(SIGSEGV, &action, &before);
	damaged_noting = guest;
	mprotect(guest->ram, guest->len, PROT_NONE);
	look(guest);
	mprotect(guest->ram, guest->len, PROT_READ | PROT_WRITE);
	damaged_noting = NULL;
	sigaction(SIGSEGV, &before, NULL);
}

static inline void damaged_find_kernel(struct damaged_guest *guest)
{
	struct vmop_guest_memory *memory;
	struct vmop_error *err = vmop_guest_memory_open_buffer(guest->ram, guest->len, &memory);
	if (!err)
		err = vmop_guest_open_memory(memory, &guest->guest);
	if (!err)
		err = vmop_guest_find_kernel(guest->guest);
	if (err) {
		fprintf(stderr, "%s\n", err->message);
		exit(1);
	}
}

/* Open a file that capture-guest saved. Private memory: patches never reach the file. */
static inline void damaged_open_file(struct damaged_guest *guest, const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		perror(path);
		exit(1);
	}
	guest->len = (size_t)st.st_size;
	guest->ram =
		mmap(NULL, guest->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	close(fd);
	if (guest->ram == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	damaged_find_kernel(guest);
}

/* Open a synthetic guest, whose RAM moves to pages of its own. */
static inline void damaged_open_synthetic(struct damaged_guest *guest, struct synthetic *made)
{
	guest->len = SYNTHETIC_RAM_BYTES;
	guest->ram =
		mmap(NULL, guest->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (guest->ram == MAP_FAILED)
		abort();
	memcpy(guest->ram, made->ram, guest->len);
	free(made->ram);
	made->ram = guest->ram;
	damaged_find_kernel(guest);
}

/* Begin to read with a budget, and see memory as it is now. */
static inline void damaged_begin(struct damaged_guest *guest, uint64_t bytes, uint64_t steps)
{
	guest->guest->budget = (struct vmop_guest_budget){.bytes_left = bytes, .steps_left = steps};
	vmop_guest_memory_forget(guest->guest->memory);
	vmop_guest_space_forget(&guest->guest->kernel->space);
	vmop_guest_space_take_fault(&guest->guest->kernel->space);
}

/* --- patches ------------------------------------------------------------------------ */

/* Return eight bytes in one of the recorded pages. */
static inline uint8_t *damaged_place(struct damaged_guest *guest, const uint8_t *at)
{
	size_t page = (size_t)(at[0] | (at[1] & 15) << 8) % guest->pages;
	return guest->ram + guest->page[page] +
	       (size_t)(at[1] >> 4 | at[2] << 4) % (DAMAGED_PAGE - 8);
}

/* Apply the patches in data, and return their number. */
static inline size_t damaged_apply(struct damaged_guest *guest, const uint8_t *data, size_t size,
				   struct damaged_patch patches[DAMAGED_MAX_PATCHES])
{
	size_t count = 0, at = 0;
	while (count < DAMAGED_MAX_PATCHES && size - at >= 4) {
		struct damaged_patch *patch = &patches[count];
		uint8_t op = data[at];
		patch->at = damaged_place(guest, data + at + 1);
		patch->len = op & 1 ? 8 : (op >> 1) % 8 + 1;
		at += 4;
		if (size - at < (op & 1 ? 3 : patch->len))
			break;
		memcpy(patch->old, patch->at, 8);
		if (op & 1) {
			uint8_t value[8]; /* can overlap the destination */
			memcpy(value, damaged_place(guest, data + at), 8);
			memcpy(patch->at, value, 8);
			at += 3;
		} else {
			memcpy(patch->at, data + at, patch->len);
			at += patch->len;
		}
		count++;
	}
	return count;
}

static inline void damaged_take_back(const struct damaged_patch *patches, size_t count)
{
	while (count--)
		memcpy(patches[count].at, patches[count].old, 8);
}

#endif
