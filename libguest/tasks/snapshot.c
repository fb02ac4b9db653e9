// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/tasks/snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "libguest/tasks/snapshot-build.h"
#include "libutil/array.h"
#include "libutil/clock.h"
#include "libutil/error.h"

#define CR3_ADDRESS UINT64_C(0x000ffffffffff000)
/*
 * Arm ARM D19.2: TTBR0_EL1.BADDR, below the ASID; bits 5 to 2 are bits 51 to 48 of the address, or
 * 0.
 */
#define TTBR_ADDRESS UINT64_C(0x0000ffffffffffc0)
#define TTBR_HIGH_BITS UINT64_C(0x3c)
#define TTBR_HIGH_SHIFT 46
#define KPTI_USER_BIT (UINT64_C(1) << 12) /* arch/x86/mm/pti.c: PTI_PGTABLE_SWITCH_BIT */
#define MAX_TEXT_BYTES (64u << 20)

struct text {
	uint32_t offset;
	UT_hash_handle hh;
};

/* A process and its page table. */
struct root {
	uint64_t pgd_gpa;
	uint32_t process;
};

struct vmop_guest_snapshot {
	struct vmop_guest_process *process;
	size_t count, size;
	struct vmop_guest_vma *vma;
	size_t vmas, vmas_size;
	char *pool;
	size_t pool_len, pool_size;
	struct text *texts; /* during construction: handles by content */
	struct root *root;
	size_t roots;
	size_t torn;
	uint64_t time_ns;
	bool has_kpti;
	enum vmop_paging_arch arch;
};

struct vmop_error *vmop_guest_snapshot_new(struct vmop_guest_snapshot **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return &vmop_error_no_memory;
	(*ret)->time_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	return NULL;
}

static void forget_texts(struct vmop_guest_snapshot *snapshot)
{
	struct text *text, *next;
	HASH_ITER (hh, snapshot->texts, text, next) {
		HASH_DEL(snapshot->texts, text);
		free(text);
	}
}

void vmop_guest_snapshot_free(struct vmop_guest_snapshot *snapshot)
{
	if (!snapshot)
		return;
	forget_texts(snapshot);
	free(snapshot->process);
	free(snapshot->vma);
	free(snapshot->pool);
	free(snapshot->root);
	free(snapshot);
}

/* --- construction -------------------------------------------------------------------- */

/* The pool moves, so texts are compared through their offsets. */
static struct text *find_text(struct vmop_guest_snapshot *snapshot, const char *text, size_t len,
			      unsigned int hash)
{
	struct text *at;
	if (!snapshot->texts)
		return NULL;
	unsigned int bucket;
	HASH_TO_BKT(hash, snapshot->texts->hh.tbl->num_buckets, bucket);
	UT_hash_handle *handle = snapshot->texts->hh.tbl->buckets[bucket].hh_head;
	for (; handle; handle = handle->hh_next) {
		at = ELMT_FROM_HH(snapshot->texts->hh.tbl, handle);
		if (handle->hashv == hash && handle->keylen == len &&
		    memcmp(snapshot->pool + at->offset, text, len) == 0)
			return at;
	}
	return NULL;
}

struct vmop_error *vmop_guest_snapshot_text(struct vmop_guest_snapshot *snapshot, const char *text,
					    uint32_t *ret)
{
	size_t len = strlen(text) + 1;
	unsigned int hash;
	HASH_VALUE(text, len, hash);
	struct text *known = find_text(snapshot, text, len, hash);
	if (known) {
		*ret = known->offset;
		return NULL;
	}
	if (snapshot->pool_len + len > MAX_TEXT_BYTES)
		return vmop_error_new(VMOP_ERROR_LIMIT, "the guest has too much text in names");
	if (!vmop_array_reserve(snapshot->pool, snapshot->pool_size, snapshot->pool_len + len))
		return &vmop_error_no_memory;
	known = malloc(sizeof(*known));
	if (!known)
		return &vmop_error_no_memory;
	known->offset = *ret = (uint32_t)snapshot->pool_len;
	memcpy(snapshot->pool + known->offset, text, len);
	snapshot->pool_len += len;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, snapshot->texts, snapshot->pool + known->offset, len, hash,
				    known);
	return NULL;
}

struct vmop_error *vmop_guest_snapshot_add(struct vmop_guest_snapshot *snapshot,
					   const struct vmop_guest_process *process,
					   uint32_t cgroup, const struct vmop_guest_vma *vmas,
					   const uint32_t *paths, uint32_t vma_count)
{
	if (!vmop_array_reserve(snapshot->process, snapshot->size, snapshot->count + 1) ||
	    !vmop_array_reserve(snapshot->vma, snapshot->vmas_size, snapshot->vmas + vma_count))
		return &vmop_error_no_memory;
	struct vmop_guest_process *copy = &snapshot->process[snapshot->count++];
	*copy = *process;
	copy->cgroup = (const char *)(uintptr_t)cgroup;
	copy->vmas = (const struct vmop_guest_vma *)(uintptr_t)snapshot->vmas;
	copy->vma_count = vma_count;
	for (uint32_t i = 0; i < vma_count; i++) {
		struct vmop_guest_vma *vma = &snapshot->vma[snapshot->vmas++];
		*vma = vmas[i];
		vma->path = (const char *)(uintptr_t)paths[i];
	}
	return NULL;
}

static int by_pid(const void *a, const void *b)
{
	const struct vmop_guest_process *x = a, *y = b;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int by_root(const void *a, const void *b)
{
	const struct root *x = a, *y = b;
	if (x->pgd_gpa != y->pgd_gpa)
		return x->pgd_gpa < y->pgd_gpa ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

struct vmop_error *vmop_guest_snapshot_finish(struct vmop_guest_snapshot *snapshot, size_t torn,
					      const struct vmop_paging *kernel, bool has_kpti)
{
	forget_texts(snapshot);
	snapshot->torn = torn;
	snapshot->has_kpti = has_kpti;
	snapshot->arch = kernel->arch;
	for (size_t i = 0; i < snapshot->vmas; i++)
		snapshot->vma[i].path = snapshot->pool + (uintptr_t)snapshot->vma[i].path;
	for (size_t i = 0; i < snapshot->count; i++) {
		struct vmop_guest_process *process = &snapshot->process[i];
		process->cgroup = snapshot->pool + (uintptr_t)process->cgroup;
		process->vmas =
			process->vma_count ? snapshot->vma + (uintptr_t)process->vmas : NULL;
	}
	if (!snapshot->count)
		return NULL;
	qsort(snapshot->process, snapshot->count, sizeof(*snapshot->process), by_pid);
	snapshot->root = malloc(snapshot->count * sizeof(*snapshot->root));
	if (!snapshot->root)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < snapshot->count; i++)
		if (snapshot->process[i].pgd_gpa)
			snapshot->root[snapshot->roots++] =
				(struct root){snapshot->process[i].pgd_gpa, (uint32_t)i};
	qsort(snapshot->root, snapshot->roots, sizeof(*snapshot->root), by_root);
	return NULL;
}

/* --- look-ups -------------------------------------------------------------------------- */

size_t vmop_guest_snapshot_count(const struct vmop_guest_snapshot *snapshot)
{
	return snapshot->count;
}

size_t vmop_guest_snapshot_torn(const struct vmop_guest_snapshot *snapshot)
{
	return snapshot->torn;
}

uint64_t vmop_guest_snapshot_time_ns(const struct vmop_guest_snapshot *snapshot)
{
	return snapshot->time_ns;
}

const struct vmop_guest_process *vmop_guest_snapshot_get(const struct vmop_guest_snapshot *snapshot,
							 size_t index)
{
	return &snapshot->process[index];
}

const struct vmop_guest_process *
vmop_guest_snapshot_by_pid(const struct vmop_guest_snapshot *snapshot, uint32_t pid)
{
	struct vmop_guest_process key = {.pid = pid};
	return snapshot->count ? bsearch(&key, snapshot->process, snapshot->count,
					 sizeof(*snapshot->process), by_pid)
			       : NULL;
}

static const struct vmop_guest_process *by_pgd(const struct vmop_guest_snapshot *snapshot,
					       uint64_t pgd_gpa)
{
	size_t low = 0, high = snapshot->roots;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (snapshot->root[middle].pgd_gpa < pgd_gpa)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == snapshot->roots || snapshot->root[low].pgd_gpa != pgd_gpa)
		return NULL;
	return &snapshot->process[snapshot->root[low].process];
}

const struct vmop_guest_process *
vmop_guest_snapshot_by_cr3(const struct vmop_guest_snapshot *snapshot, uint64_t cr3)
{
	uint64_t pgd_gpa = cr3 & CR3_ADDRESS;
	if (snapshot->arch == VMOP_PAGING_ARM64)
		return by_pgd(snapshot, (cr3 & TTBR_ADDRESS) | (cr3 & TTBR_HIGH_BITS)
								       << TTBR_HIGH_SHIFT);
	if (!pgd_gpa)
		return NULL;
	return by_pgd(snapshot, snapshot->has_kpti ? pgd_gpa & ~KPTI_USER_BIT : pgd_gpa);
}

const struct vmop_guest_vma *vmop_guest_process_vma(const struct vmop_guest_process *process,
						    uint64_t address)
{
	uint32_t low = 0, high = process->vma_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (process->vmas[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < process->vma_count && process->vmas[low].start <= address ? &process->vmas[low]
									       : NULL;
}
