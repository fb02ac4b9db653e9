// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/attribution.h"

#include <string.h>

/* Readings of a vCPU further than this from a sample don't tell what ran at its time. */
static const uint64_t reading_gap_ns = 250000000;

#define VM_EXEC 4

/* ---- lists of processes ------------------------------------------------------ */

/* The process that a reading shows, by the newest list that knows it. */
static const struct vmop_guest_process *listed(const struct vmop_guest_view *view,
					       const struct vmop_guest_reading *reading)
{
	const struct vmop_guest_process *process = vmop_guest_tasks_find(view->tasks, reading);
	return process ? process : vmop_guest_tasks_find(view->tasks_before, reading);
}

static const struct vmop_guest_vma *text_at(const struct vmop_guest_process *process,
					    uint64_t address)
{
	const struct vmop_guest_vma *vma =
		process ? vmop_guest_process_vma(process, address) : NULL;
	return vma && vma->vm_flags & VM_EXEC ? vma : NULL;
}

/* ---- who maps a page ----------------------------------------------------------- */

static bool is_same_place(const struct vmop_guest_vma *a, const struct vmop_guest_vma *b)
{
	return a->path[0] == '/' && a->path[1] != '/' && !strcmp(a->path, b->path) &&
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
		const struct vmop_guest_vma *vma = text_at(process, address);
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

static struct vmop_guest_page *page_of(struct vmop_guest_placer *placer, int32_t vcpu,
				       uint64_t address)
{
	uint64_t number = address >> 12;
	struct vmop_guest_page *page =
		&placer->pages[(number + (uint32_t)vcpu * 61) % VMOP_GUEST_PLACER_PAGES];
	if (page->number == number && page->vcpu == vcpu)
		return page;
	*page = (struct vmop_guest_page){.number = number, .vcpu = vcpu};
	read_owners(placer->view->tasks, address, page);
	if (!page->n_owners)
		read_owners(placer->view->tasks_before, address, page);
	return page;
}

void vmop_guest_placer_take(struct vmop_guest_placer *placer, const struct vmop_guest_view *view)
{
	placer->view = view;
	for (unsigned i = 0; i < VMOP_GUEST_PLACER_PAGES; i++)
		placer->pages[i] = (struct vmop_guest_page){.number = UINT64_MAX};
}

/* ---- what was seen to run --------------------------------------------------------- */

struct sight {
	struct vmop_guest_reading reading;
	bool is_seen, is_certain;
};

static struct sight look_at(const struct vmop_guest_view *view, int32_t vcpu, uint64_t time_ns)
{
	struct sight sight = {0};
	if (vcpu >= 0)
		sight.is_seen =
			vmop_guest_view_current(view, (uint32_t)vcpu, time_ns, reading_gap_ns,
						&sight.reading, &sight.is_certain);
	return sight;
}

/* An owner of an address, with how often it was seen and when last. */
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

/* The owner of address that a vCPU was seen to run most often; of equals, most lately. */
static const struct vmop_guest_process *most_seen(const struct vmop_guest_view *view, uint32_t vcpu,
						  uint64_t address)
{
	const struct vmop_guest_vcpu_readings *readings = &view->vcpus[vcpu];
	struct vote votes[VMOP_GUEST_READINGS], best = {0};
	uint32_t n_votes = 0;
	for (uint32_t i = 0; i < readings->n && i < VMOP_GUEST_READINGS; i++) {
		const struct vmop_guest_reading *at = &readings->at[i];
		const struct vmop_guest_process *process = at->pid ? listed(view, at) : NULL;
		if (text_at(process, address))
			count_vote(votes, &n_votes, process, at->time_ns);
	}
	for (uint32_t i = 0; i < n_votes; i++)
		if (votes[i].n > best.n ||
		    (votes[i].n == best.n && votes[i].last_ns > best.last_ns))
			best = votes[i];
	return best.process;
}

/* The same of the sample's own vCPU, or else of the first one that shows any. */
static const struct vmop_guest_process *vote(const struct vmop_guest_view *view, int32_t vcpu,
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

/* Several map the address, and which of them ran then wasn't seen. */
static struct vmop_guest_verdict choose(const struct vmop_guest_view *view,
					struct vmop_guest_page *page, uint64_t address)
{
	if (!page->has_vote)
		page->vote = vote(view, page->vcpu, address);
	page->has_vote = true;
	if (page->vote)
		return (struct vmop_guest_verdict){.process = page->vote,
						   .vma = text_at(page->vote, address),
						   .certainty = VMOP_CERTAIN_AMBIGUOUS};
	if (page->is_one_file)
		return (struct vmop_guest_verdict){.vma = page->vma,
						   .certainty = VMOP_CERTAIN_LIKELY};
	return (struct vmop_guest_verdict){.is_contested = true,
					   .certainty = VMOP_CERTAIN_AMBIGUOUS};
}

struct vmop_guest_verdict vmop_guest_place_user(struct vmop_guest_placer *placer, int32_t vcpu,
						uint64_t time_ns, uint64_t address)
{
	const struct vmop_guest_view *view = placer->view;
	struct vmop_guest_verdict nobody = {.certainty = VMOP_CERTAIN_EXACT};
	if (!view)
		return nobody;
	struct vmop_guest_page *page = page_of(placer, vcpu, address);
	struct sight sight = look_at(view, vcpu, time_ns);
	bool shows_user = sight.is_seen && sight.reading.pid && !sight.reading.is_kernel_thread;
	const struct vmop_guest_process *seen = shows_user ? listed(view, &sight.reading) : NULL;
	const struct vmop_guest_vma *vma = text_at(seen, address);
	if (vma) {
		bool is_exact = sight.is_certain && page->n_owners == 1 && page->owner == seen;
		return (struct vmop_guest_verdict){.process = seen,
						   .vma = vma,
						   .certainty = is_exact ? VMOP_CERTAIN_EXACT
									 : VMOP_CERTAIN_LIKELY};
	}
	bool is_stranger = shows_user && !seen;
	if (!page->n_owners || (is_stranger && sight.is_certain))
		return nobody;
	if (page->n_owners > 1)
		return choose(view, page, address);
	return (struct vmop_guest_verdict){.process = page->owner,
					   .vma = page->vma,
					   .certainty = is_stranger ? VMOP_CERTAIN_AMBIGUOUS
								    : VMOP_CERTAIN_LIKELY};
}

struct vmop_guest_verdict vmop_guest_place_kernel(const struct vmop_guest_placer *placer,
						  int32_t vcpu, uint64_t time_ns)
{
	struct vmop_guest_verdict verdict = {.certainty = VMOP_CERTAIN_EXACT};
	const struct vmop_guest_view *view = placer->view;
	struct sight sight = {0};
	if (view && view->tasks)
		sight = look_at(view, vcpu, time_ns);
	if (!sight.is_seen)
		return verdict;
	verdict.is_idle = !sight.reading.pid;
	verdict.process = verdict.is_idle ? NULL : listed(view, &sight.reading);
	if (verdict.is_idle || verdict.process)
		verdict.certainty = sight.is_certain ? VMOP_CERTAIN_LIKELY : VMOP_CERTAIN_AMBIGUOUS;
	return verdict;
}
