// SPDX-License-Identifier: GPL-2.0-or-later
#include "buffer.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <xen/interface/xen.h>
#include <asm/xen/hypercall.h>
#include <asm/xen/page.h>

/* Set page i of the range by hypercall: Linux has no struct page for Xen's pages. */
static int set_page(const struct vmop_buffers *buffers, u32 i, unsigned long mfn)
{
	unsigned long va = (unsigned long)buffers->va + i * PAGE_SIZE;

	return HYPERVISOR_update_va_mapping(va, mfn_pte(mfn, PAGE_KERNEL), UVMF_INVLPG | UVMF_ALL);
}

/* Reserve a range of kernel addresses for the buffers, which maps one page again and again. */
static int make_range(struct vmop_buffers *buffers)
{
	struct page *pages[VMOP_XENOPROF_PAGES_MAX];
	u32 i;

	buffers->page = alloc_page(GFP_KERNEL);
	if (!buffers->page)
		return -ENOMEM;
	for (i = 0; i < buffers->n_pages; i++)
		pages[i] = buffers->page;
	buffers->va = vmap(pages, buffers->n_pages, VM_MAP, PAGE_KERNEL);
	return buffers->va ? 0 : -ENOMEM;
}

/*
 * Map Linux's own page over Xen's pages, so that they are released now and not when the range is
 * reused.
 */
static void unset_pages(struct vmop_buffers *buffers, u32 n)
{
	unsigned long mfn = pfn_to_mfn(page_to_pfn(buffers->page));
	u32 i;

	for (i = 0; i < n; i++)
		WARN_ON_ONCE(set_page(buffers, i, mfn));
}

static void free_range(struct vmop_buffers *buffers)
{
	if (buffers->va)
		vunmap(buffers->va);
	if (buffers->page)
		__free_page(buffers->page);
	kfree(buffers);
}

static int init_buffer(struct vmop_buffer *buffer, struct vmop_xenoprof_buffer *shared, u16 domid,
		       u32 n_entries)
{
	u32 vcpu = READ_ONCE(shared->vcpu);

	if (READ_ONCE(shared->size) != n_entries || vcpu > U16_MAX)
		return -EPROTO;
	buffer->shared = shared;
	buffer->n_entries = n_entries;
	buffer->domid = domid;
	buffer->vcpu = vcpu;
	buffer->before.xen = READ_ONCE(shared->xen_samples);
	buffer->before.kernel = READ_ONCE(shared->kernel_samples);
	buffer->before.user = READ_ONCE(shared->user_samples);
	buffer->before.lost = READ_ONCE(shared->lost_samples);
	return 0;
}

static int fill_range(struct vmop_buffers *buffers, u16 domid, unsigned long mfn, u32 bytes)
{
	u32 n_entries =
		(bytes - sizeof(struct vmop_xenoprof_buffer)) / sizeof(struct vmop_xenoprof_entry);
	int ret = 0;
	u32 i;

	for (i = 0; i < buffers->n_pages && !ret; i++)
		ret = set_page(buffers, i, mfn + i);
	if (ret) {
		unset_pages(buffers, i - 1);
		return ret;
	}
	for (i = 0; i < buffers->n && !ret; i++)
		ret = init_buffer(&buffers->buffers[i], buffers->va + i * bytes, domid, n_entries);
	if (ret)
		unset_pages(buffers, buffers->n_pages);
	return ret;
}

int vmop_buffers_map(u16 domid, u64 machine_address, s32 n, s32 bytes, struct vmop_buffers **ret)
{
	const u32 least = sizeof(struct vmop_xenoprof_buffer) + sizeof(struct vmop_xenoprof_entry);
	struct vmop_buffers *buffers;
	int err;

	if (n <= 0 || bytes < (s32)least || bytes % sizeof(struct vmop_xenoprof_entry) ||
	    !PAGE_ALIGNED(machine_address) || (u64)n * bytes > VMOP_XENOPROF_PAGES_MAX * PAGE_SIZE)
		return -EPROTO;
	buffers = kzalloc(struct_size(buffers, buffers, n), GFP_KERNEL);
	if (!buffers)
		return -ENOMEM;
	buffers->n = n;
	buffers->n_pages = PFN_UP(n * bytes);
	err = make_range(buffers);
	if (!err)
		err = fill_range(buffers, domid, PFN_DOWN(machine_address), bytes);
	if (err) {
		free_range(buffers);
		return err;
	}
	*ret = buffers;
	return 0;
}

void vmop_buffers_unmap(struct vmop_buffers *buffers)
{
	if (!buffers)
		return;
	unset_pages(buffers, buffers->n_pages);
	free_range(buffers);
}

static u64 count_since(u64 *before, const u64 *now)
{
	u64 value = READ_ONCE(*now);
	u64 since = value > *before ? value - *before : 0;

	*before = value;
	return since;
}

static void drain_counts(struct vmop_buffer *buffer, struct vmop_rings *rings, u32 i,
			 struct vmop_xendev_record *record)
{
	u64 lost = count_since(&buffer->before.lost, &buffer->shared->lost_samples);

	buffer->sum.xen += count_since(&buffer->before.xen, &buffer->shared->xen_samples);
	buffer->sum.kernel += count_since(&buffer->before.kernel, &buffer->shared->kernel_samples);
	buffer->sum.user += count_since(&buffer->before.user, &buffer->shared->user_samples);
	buffer->sum.lost += lost;
	if (!lost)
		return;
	record->type = VMOP_XENDEV_LOST;
	record->eip = lost;
	record->mode = 0;
	record->event = 0;
	vmop_rings_put(rings, i, record);
}

void vmop_buffer_drain(struct vmop_buffer *buffer, struct vmop_rings *rings, u32 i,
		       const struct vmop_xendev_record *like)
{
	struct vmop_xendev_record record = *like;
	struct vmop_xenoprof_buffer *shared = buffer->shared;
	/* Xen is the other side, on any CPU, so virt_ is needed even if this kernel has one CPU. */
	u32 head = virt_load_acquire(&shared->head);
	u32 tail = READ_ONCE(shared->tail);

	record.domid = buffer->domid;
	record.vcpu = buffer->vcpu;
	record.type = VMOP_XENDEV_ENTRY;
	if (head >= buffer->n_entries || tail >= buffer->n_entries) {
		buffer->corrupt++;
		/* Xen writes no samples in this state. */
		if (head >= buffer->n_entries) {
			head = 0;
			WRITE_ONCE(shared->head, 0);
		}
		tail = head;
	}
	for (; tail != head; tail = tail + 1 < buffer->n_entries ? tail + 1 : 0) {
		record.eip = READ_ONCE(shared->entries[tail].ip);
		record.mode = READ_ONCE(shared->entries[tail].mode);
		record.event = READ_ONCE(shared->entries[tail].event);
		vmop_rings_put(rings, i, &record);
		buffer->entries++;
	}
	/* From here Xen may overwrite the entries. */
	virt_store_release(&shared->tail, tail);
	drain_counts(buffer, rings, i, &record);
	vmop_rings_wake(rings, i);
}

void vmop_buffers_add_stats(const struct vmop_buffers *buffers, struct vmop_xendev_stats *stats)
{
	const struct vmop_buffer *buffer;
	u32 i;

	if (!buffers)
		return;
	for (i = 0; i < buffers->n; i++) {
		buffer = &buffers->buffers[i];
		stats->entries += READ_ONCE(buffer->entries);
		stats->xen_samples += READ_ONCE(buffer->sum.xen);
		stats->kernel_samples += READ_ONCE(buffer->sum.kernel);
		stats->user_samples += READ_ONCE(buffer->sum.user);
		stats->lost_in_xen += READ_ONCE(buffer->sum.lost);
		stats->corrupt_buffers += READ_ONCE(buffer->corrupt);
	}
}
