// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/attribution.h"

#include <string.h>

#include "libutil/clock.h"

/* A reading of a vCPU is used only within this time before or after the sample. */
#define READING_GAP_NS (250 * VMOP_NS_PER_MS)

#define VM_EXEC 4

/* ---- lists of processes ------------------------------------------------------ */

/* Return the process that a reading shows, from the newest list that has it; NULL: none has it. */
static const struct vmop_guest_process *find_listed(const struct vmop_guest_view *view,
						    const struct vmop_guest_reading *reading)
{
	const struct vmop_guest_process *process = vmop_guest_tasks_find(view->tasks, reading);
	return process ? process : vmop_guest_tasks_find(view->tasks_before, reading);
}

/* Return the executable mapping of process at address; NULL: none, or no process. */
static const struct vmop_guest_vma *code_at(const struct vmop_guest_process *process,
					    uint64_t address)
{
	const struct vmop_guest_vma *vma =
		process ? vmop_guest_process_vma(process, address) : NULL;
	return vma && vma->vm_flags & VM_EXEC ? vma : NULL;
}

/* ---- the processes that map a page ----------------------------------------------------------- */

static bool is_same_place(const struct vmop_guest_vma *a, const struct vmop_guest_vma *b)
{
	return vmop_guest_vma_is_file(a) && !strcmp(a->path, b->path) &&
	       a->file_offset_bytes - a->start == b->file_offset_bytes - b->start &&
	       a->build_id_len_bytes == b->build_id_len_bytes &&
	       !memcmp(a->build_id, b->build_id, a->build_id_len_bytes);
}

static void read_owners(const struct vmop_guest_tasks *tasks, uint64_t address,
			struct vmop_guest_page *page)
{
	for (size_t i = 0; tasks && i < vmop_guest_snapshot_count(tasks->snapshot); i++) {
		const struct vmop_guest_process *process =
			vmop_guest_snapshot_get(tasks->snapshot, i);
		const struct vmop_guest_vma *vma = code_at(process, address);
		if (!vma)
			continue;
		if (!page->n_owners++) {
			page->owner = process;
			page->vma = vma;
			page->is_one_file = true;
		} else {
			page->is_one_file = page->is_one_file && is_same_place(page->vma, vma);
		}
	}
}

static struct vmop_guest_page *page_of(struct vmop_guest_attributor *attributor, int32_t vcpu,
				       uint64_t address)
{
	uint64_t number = address >> 12;
	struct vmop_guest_page *page =
		&attributor->pages[(number + (uint32_t)vcpu * 61) % VMOP_GUEST_ATTRIBUTOR_PAGES];
	if (page->number == number && page->vcpu == vcpu)
		return page;
	*page = (struct vmop_guest_page){.number = number, .vcpu = vcpu};
	read_owners(attributor->view->tasks, address, page);
	if (!page->n_owners)
		read_owners(attributor->view->tasks_before, address, page);
	return page;
}

void vmop_guest_attributor_set_view(struct vmop_guest_attributor *attributor,
				    const struct vmop_guest_view *view)
{
	attributor->view = view;
	for (unsigned i = 0; i < VMOP_GUEST_ATTRIBUTOR_PAGES; i++)
		attributor->pages[i] = (struct vmop_guest_page){.number = UINT64_MAX};
}

/* ---- readings of the vCPUs --------------------------------------------------------- */

/* The reading of a vCPU that is nearest to a sample; is_certain: see attribution.h. */
struct observation {
	struct vmop_guest_reading reading;
	bool is_seen, is_certain;
};

static struct observation observe(const struct vmop_guest_view *view, int32_t vcpu,
				  uint64_t time_ns)
{
	struct observation nearest = {0};
	if (vcpu >= 0)
		nearest.is_seen =
			vmop_guest_view_reading(view, (uint32_t)vcpu, time_ns, READING_GAP_NS,
						&nearest.reading, &nearest.is_certain);
	return nearest;
}

/* A process that maps the address: how often it was seen, and when last. */
struct vote {
	const struct vmop_guest_process *process;
	uint32_t n;
	uint64_t last_ns;
};

static void count_vote(struct vote *votes, uint32_t *n_votes,
		       const struct vmop_guest_process *process, uint64_t time_ns)
{
	uint32_t i = 0;
	while (i < *n_votes && votes[i].process != process)
		i++;
	if (i == *n_votes)
		votes[(*n_votes)++] = (struct vote){.process = process};
	votes[i].n++;
	if (time_ns > votes[i].last_ns)
		votes[i].last_ns = time_ns;
}

/*
 * Return the process that maps the address and that a vCPU was seen to run most often.  Of equals
 * it is the one that was seen last.
 */
static const struct vmop_guest_process *most_seen(const struct vmop_guest_view *view, uint32_t vcpu,
						  uint64_t address)
{
	const struct vmop_guest_vcpu_readings *readings = &view->vcpus[vcpu];
	struct vote votes[VMOP_GUEST_READINGS], best = {0};
	uint32_t n_votes = 0;
	for (uint32_t i = 0; i < readings->n && i < VMOP_GUEST_READINGS; i++) {
		const struct vmop_guest_reading *at = &readings->at[i];
		const struct vmop_guest_process *process = at->pid ? find_listed(view, at) : NULL;
		if (code_at(process, address))
			count_vote(votes, &n_votes, process, at->time_ns);
	}
	for (uint32_t i = 0; i < n_votes; i++)
		if (votes[i].n > best.n ||
		    (votes[i].n == best.n && votes[i].last_ns > best.last_ns))
			best = votes[i];
	return best.process;
}

/* Return the same for the sample's vCPU, or else for the first vCPU that shows any. */
static const struct vmop_guest_process *find_vote(const struct vmop_guest_view *view, int32_t vcpu,
						  uint64_t address)
{
	const struct vmop_guest_process *found = NULL;
	if (vcpu >= 0 && (uint32_t)vcpu < view->n_vcpus)
		found = most_seen(view, (uint32_t)vcpu, address);
	for (uint32_t i = 0; i < view->n_vcpus && !found; i++)
		found = most_seen(view, i, address);
	return found;
}

/* ---- the rules ---------------------------------------------------------------------- */

/* Choose one of several processes that map the address, when none of them is seen. */
static struct vmop_guest_verdict choose(const struct vmop_guest_view *view,
					struct vmop_guest_page *page, uint64_t address)
{
	if (!page->has_vote)
		page->vote = find_vote(view, page->vcpu, address);
	page->has_vote = true;
	if (page->vote)
		return (struct vmop_guest_verdict){.process = page->vote,
						   .vma = code_at(page->vote, address),
						   .certainty = VMOP_CERTAIN_AMBIGUOUS};
	if (page->is_one_file)
		return (struct vmop_guest_verdict){.vma = page->vma,
						   .certainty = VMOP_CERTAIN_LIKELY};
	return (struct vmop_guest_verdict){.is_contested = true,
					   .certainty = VMOP_CERTAIN_AMBIGUOUS};
}

struct vmop_guest_verdict vmop_guest_attribute_user(struct vmop_guest_attributor *attributor,
						    int32_t vcpu, uint64_t time_ns,
						    uint64_t address)
{
	const struct vmop_guest_view *view = attributor->view;
	struct vmop_guest_verdict no_process = {.certainty = VMOP_CERTAIN_EXACT};
	if (!view)
		return no_process;
	struct vmop_guest_page *page = page_of(attributor, vcpu, address);
	struct observation nearest = observe(view, vcpu, time_ns);
	bool shows_user =
		nearest.is_seen && nearest.reading.pid && !nearest.reading.is_kernel_thread;
	const struct vmop_guest_process *seen =
		shows_user ? find_listed(view, &nearest.reading) : NULL;
	const struct vmop_guest_vma *vma = code_at(seen, address);
	if (vma) {
		bool is_exact = nearest.is_certain && page->n_owners == 1 && page->owner == seen;
		return (struct vmop_guest_verdict){.process = seen,
						   .vma = vma,
						   .certainty = is_exact ? VMOP_CERTAIN_EXACT
									 : VMOP_CERTAIN_LIKELY};
	}
	bool is_unlisted = shows_user && !seen;
	if (!page->n_owners || (is_unlisted && nearest.is_certain))
		return no_process;
	if (page->n_owners > 1)
		return choose(view, page, address);
	return (struct vmop_guest_verdict){.process = page->owner,
					   .vma = page->vma,
					   .certainty = is_unlisted ? VMOP_CERTAIN_AMBIGUOUS
								    : VMOP_CERTAIN_LIKELY};
}

struct vmop_guest_verdict
vmop_guest_attribute_kernel(const struct vmop_guest_attributor *attributor, int32_t vcpu,
			    uint64_t time_ns)
{
	struct vmop_guest_verdict verdict = {.certainty = VMOP_CERTAIN_EXACT};
	const struct vmop_guest_view *view = attributor->view;
	struct observation nearest = {0};
	if (view && view->tasks)
		nearest = observe(view, vcpu, time_ns);
	if (!nearest.is_seen)
		return verdict;
	verdict.is_idle = !nearest.reading.pid;
	verdict.process = verdict.is_idle ? NULL : find_listed(view, &nearest.reading);
	if (verdict.is_idle || verdict.process)
		verdict.certainty =
			nearest.is_certain ? VMOP_CERTAIN_LIKELY : VMOP_CERTAIN_AMBIGUOUS;
	return verdict;
}
