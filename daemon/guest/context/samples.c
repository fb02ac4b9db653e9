// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/context/samples.h"

#include <stdio.h>
#include <string.h>

#include "daemon/guest/context/code.h"
#include "daemon/guest/context/placement.h"
#include "daemon/guest/images.h"
#include "libutil/clock.h"
#include "libutil/guest-gap.h"

#define VM_EXEC 4

/* Requests for one process in an interval: it may execute several programs. */
#define TRIES_AN_INTERVAL 4

/* The time until a perf map is read again. It doubles with each read, up to the last one. */
#define FIRST_MAP_PAUSE_NS (50 * VMOP_NS_PER_MS)
#define LAST_MAP_PAUSE_NS (64 * VMOP_NS_PER_S)

/* A vDSO has less code than this (Linux: one or two pages). */
#define VDSO_MAX_BYTES UINT64_C(0x20000)

/*
 * The parts of a context with which its page table is the process's: execve(2) changes it. An arm64
 * kernel may run without that of user code (CONFIG_ARM64_SW_TTBR0_PAN).
 */
#if defined(__aarch64__)
#define SHOWS_PROCESS (VMOP_GUEST_HAS_PAGE_TABLE | VMOP_GUEST_IS_USER)
#else
#define SHOWS_PROCESS VMOP_GUEST_HAS_PAGE_TABLE
#endif

/*
 * Bits in which the page table of user code may differ from the kernel's for the same process: the
 * page within a pair, with x86-64's page-table isolation. On arm64 several tables may share a page.
 */
#if defined(__aarch64__)
#define PAGE_TABLE_PAIR UINT64_C(0)
#else
#define PAGE_TABLE_PAIR UINT64_C(0x1fff)
#endif

void vmop_guest_context_keep(const struct vmop_guest_context *context,
			     struct vmop_held_context *ret)
{
	*ret = (struct vmop_held_context){
		.page = vmop_guest_page_key(context),
		.generation = context->generation,
		.page_table = context->page_table,
		.gpa = context->gpa,
		.task = context->task,
		.start_time_ns = context->start_time_ns,
		.parts = context->parts,
		.pid = context->pid,
	};
	memcpy(ret->comm, context->comm, sizeof(ret->comm) - 1);
}

/* ---- processes -------------------------------------------------------------------- */

static bool is_it(const struct vmop_guest_process *process, const struct vmop_held_context *context)
{
	if (!process || process->pid != context->pid ||
	    process->start_time_ns != context->start_time_ns)
		return false;
	return !process->pgd_gpa || (context->parts & SHOWS_PROCESS) != SHOWS_PROCESS ||
	       !((process->pgd_gpa ^ context->page_table) & ~PAGE_TABLE_PAIR);
}

static const struct vmop_guest_process *find_listed(const struct vmop_guest_tasks *tasks,
						    const struct vmop_held_context *context)
{
	const struct vmop_guest_process *process =
		tasks ? vmop_guest_snapshot_by_pid(tasks->snapshot, context->pid) : NULL;
	return is_it(process, context) ? process : NULL;
}

const struct vmop_guest_process *
vmop_guest_context_process(const struct vmop_watched_guest *watched,
			   const struct vmop_held_context *context)
{
	if (!(context->parts & VMOP_GUEST_HAS_TASK) || !context->pid)
		return NULL;
	const struct vmop_guest_process *process = find_listed(watched->view->tasks, context);
	if (!process)
		process = find_listed(watched->view->tasks_before, context);
	if (process)
		return process;
	const struct vmop_guest_seen *seen = vmop_guest_processes_find(
		&watched->processes, context->pid, context->start_time_ns);
	return seen && is_it(seen->process, context) ? seen->process : NULL;
}

/* ---- requests --------------------------------------------------------------------- */

static uint64_t page_bytes(const struct vmop_watched_guest *watched)
{
	uint8_t shift = watched->view->numbers.page_shift;
	return UINT64_C(1) << (shift >= 12 && shift <= 16 ? shift : 12);
}

/* Return the offset in the page's file of the code at address. */
static uint64_t file_offset(const struct vmop_watched_guest *watched,
			    const struct vmop_guest_page_key *key, uint64_t address)
{
	uint64_t bytes = page_bytes(watched);
	return key->index * bytes + (address & (bytes - 1));
}

/* Return whether the file of a page is not known, or could be proved by the code. */
static bool needs_request(const struct vmop_guest_code_page *page,
			  const struct vmop_guest_context *context)
{
	return page->state == VMOP_GUEST_PAGE_NEW ||
	       (page->state == VMOP_GUEST_PAGE_FOUND && !page->is_verified &&
		context->parts & VMOP_GUEST_HAS_CODE);
}

static void request_page(struct vmop_guests *guests, const struct vmop_domain *domain,
			 const struct vmop_guest_context *context,
			 const struct vmop_guest_page_key *key, uint64_t address)
{
	struct vmop_watched_guest *watched = domain->watched;
	if (!vmop_guest_page_is_file(context->parts, key))
		return;
	struct vmop_guest_code_page *page = vmop_guest_files_get(&watched->files, key);
	if (!page || !needs_request(page, context) || page->requested_in == watched->files.interval)
		return;
	struct vmop_guest_request request = {
		.kind = VMOP_GUEST_REQUEST_FILE,
		.domain = domain->id,
		.generation = context->generation,
		.page = {.key = *key, .offset_bytes = file_offset(watched, key, address)},
	};
	if (context->parts & VMOP_GUEST_HAS_CODE &&
	    context->code_bytes <= sizeof(request.page.code)) {
		memcpy(request.page.code, context->code, context->code_bytes);
		request.page.code_bytes = context->code_bytes;
	}
	if (!vmop_guest_watch_request(guests->watch, &request))
		return;
	if (page->state == VMOP_GUEST_PAGE_NEW)
		page->state = VMOP_GUEST_PAGE_PENDING;
	page->requested_in = watched->files.interval;
}

static struct vmop_guest_request process_request(enum vmop_guest_request_kind kind,
						 const struct vmop_domain *domain,
						 const struct vmop_held_context *context)
{
	return (struct vmop_guest_request){
		.kind = kind,
		.domain = domain->id,
		.generation = context->generation,
		.process = {.task = context->task,
			    .start_time_ns = context->start_time_ns,
			    .pid = context->pid},
	};
}

/* Request a process that no list has as it was at the sample. */
static void request_process(struct vmop_guests *guests, const struct vmop_domain *domain,
			    const struct vmop_held_context *context)
{
	struct vmop_watched_guest *watched = domain->watched;
	struct vmop_guest_seen *seen =
		vmop_guest_processes_get(&watched->processes, context->pid, context->start_time_ns);
	if (!seen || seen->state == VMOP_GUEST_SEEN_PENDING)
		return;
	if (seen->requested_in != watched->processes.interval)
		seen->n_tries = 0;
	if (seen->n_tries == TRIES_AN_INTERVAL)
		return;
	struct vmop_guest_request request =
		process_request(VMOP_GUEST_REQUEST_PROCESS, domain, context);
	if (!vmop_guest_watch_request(guests->watch, &request))
		return;
	seen->state = VMOP_GUEST_SEEN_PENDING;
	seen->requested_in = watched->processes.interval;
	seen->n_tries++;
}

/* Request the names of generated code, at its first sample and ever more rarely afterwards. */
static void request_perf_map(struct vmop_guests *guests, const struct vmop_domain *domain,
			     const struct vmop_held_context *context,
			     const struct vmop_guest_process *process, uint64_t time_ns)
{
	struct vmop_watched_guest *watched = domain->watched;
	struct vmop_guest_seen *seen =
		vmop_guest_processes_get(&watched->processes, context->pid, context->start_time_ns);
	if (!seen || seen->map_state == VMOP_GUEST_SEEN_PENDING || time_ns < seen->map_due_ns)
		return;
	struct vmop_guest_request request =
		process_request(VMOP_GUEST_REQUEST_PERF_MAP, domain, context);
	if (process)
		request.process.ns_pid = process->ns_pid;
	if (!vmop_guest_watch_request(guests->watch, &request))
		return;
	seen->map_state = VMOP_GUEST_SEEN_PENDING;
	seen->map_requested_in = watched->processes.interval;
	seen->map_pause_ns = !seen->map_pause_ns		       ? FIRST_MAP_PAUSE_NS
			     : seen->map_pause_ns >= LAST_MAP_PAUSE_NS ? LAST_MAP_PAUSE_NS
								       : 2 * seen->map_pause_ns;
	seen->map_due_ns = time_ns + seen->map_pause_ns;
	memcpy(seen->comm, context->comm, sizeof(seen->comm));
}

static bool is_anonymous(const struct vmop_held_context *context)
{
	return context->parts & VMOP_GUEST_HAS_PAGE &&
	       context->page.mapping & VMOP_GUEST_MAPPING_ANON;
}

const struct vmop_guest_process *
vmop_guest_context_request(struct vmop_guests *guests, struct vmop_domain *domain,
			   const struct vmop_guest_context *context,
			   const struct vmop_held_context *kept, uint64_t address, uint64_t time_ns)
{
	const struct vmop_guest_process *process =
		vmop_guest_context_process(domain->watched, kept);
	bool is_user = context->parts & VMOP_GUEST_IS_USER;
	bool has_user_stack =
		guests->stacks.mode != VMOP_STACKS_OFF && context->parts & VMOP_GUEST_HAS_USER_REGS;
	bool has_process = context->parts & VMOP_GUEST_HAS_TASK && context->pid;
	if (is_user)
		request_page(guests, domain, context, &kept->page, address);
	if (has_process && !process && (is_user || has_user_stack))
		request_process(guests, domain, kept);
	if (has_process && is_user && is_anonymous(kept))
		request_perf_map(guests, domain, kept, process, time_ns);
	return process;
}

/* Return whether an answer to a request of that interval is still waited for. */
static bool is_recent(uint32_t requested_in, uint32_t interval)
{
	return interval - requested_in < VMOP_GUEST_ANSWER_INTERVALS;
}

bool vmop_guest_context_waits(const struct vmop_watched_guest *watched,
			      const struct vmop_held_sample *held,
			      const struct vmop_held_context *context)
{
	bool is_user = held->key.mode == VMOP_MODE_USER;
	const struct vmop_guest_code_page *page =
		is_user && vmop_guest_page_is_file(context->parts, &context->page)
			? vmop_guest_files_find(&watched->files, &context->page)
			: NULL;
	if (page && page->state == VMOP_GUEST_PAGE_PENDING &&
	    is_recent(page->requested_in, watched->files.interval))
		return true;
	if (!is_user && !held->n_frames)
		return false;
	const struct vmop_guest_seen *seen = vmop_guest_processes_find(
		&watched->processes, context->pid, context->start_time_ns);
	uint32_t interval = watched->processes.interval;
	return seen && ((seen->state == VMOP_GUEST_SEEN_PENDING &&
			 is_recent(seen->requested_in, interval)) ||
			(is_user && seen->map_state == VMOP_GUEST_SEEN_PENDING &&
			 is_recent(seen->map_requested_in, interval)));
}

/* ---- answers ---------------------------------------------------------------------- */

static struct vmop_domain *domain_of(const struct vmop_guests *guests, struct vmop_domain_id id)
{
	struct vmop_domain *domain =
		id.number < guests->domains->n ? guests->domains->at[id.number] : NULL;
	return domain && domain->watched ? domain : NULL;
}

/* Request the functions of a file, unless they were requested. */
static void want_symbols(struct vmop_guests *guests, struct vmop_image *image, uint64_t generation,
			 const struct vmop_guest_page_key *key)
{
	if (image->kind != VMOP_IMAGE_FILE || image->is_wanted)
		return;
	const struct vmop_guest_request request = {
		.kind = VMOP_GUEST_REQUEST_SYMBOLS,
		.domain = image->domain,
		.generation = generation,
		.symbols = {.key = *key, .image = image->slot},
	};
	vmop_image_mark_wanted(image, vmop_guest_watch_request(guests->watch, &request));
	if (image->is_wanted)
		vmop_image_ref(image); /* keeps its slot until the symbols come */
}

/* Give a file its functions, or request them. */
static void name_functions(struct vmop_guests *guests, struct vmop_image *image,
			   const struct vmop_guest_answer *answer)
{
	if (image->kind != VMOP_IMAGE_FILE || image->is_wanted || !answer->is_elf)
		return;
	if (!answer->symtab) {
		want_symbols(guests, image, answer->request.generation, &answer->request.page.key);
		return;
	}
	vmop_guest_image_give_symbols(image, answer->symtab);
	vmop_image_mark_wanted(image, true);
}

/*
 * Note that the file of a page was gone when it was looked for. An inode that was the same at the
 * sample still shows it: number, generation and superblock are not used again.
 */
static void lose_page(struct vmop_guests *guests, struct vmop_watched_guest *watched,
		      struct vmop_guest_code_page *page, bool is_refused)
{
	const struct vmop_guest_code_page *inode =
		vmop_guest_files_find_inode(&watched->files, &page->key);
	if (inode) {
		vmop_guest_files_found(page, guests->images, vmop_image_ref(inode->image),
				       inode->is_verified);
		return;
	}
	page->state = is_refused ? VMOP_GUEST_PAGE_NEW : VMOP_GUEST_PAGE_LOST;
	if (!is_refused)
		watched->lost_ns = vmop_clock_ns(CLOCK_MONOTONIC);
}

static void take_page(struct vmop_guests *guests, struct vmop_domain *domain,
		      const struct vmop_guest_answer *answer)
{
	struct vmop_guest_code_page *page =
		vmop_guest_files_find(&domain->watched->files, &answer->request.page.key);
	if (!page)
		return;
	if (!answer->is_found && page->state == VMOP_GUEST_PAGE_PENDING)
		lose_page(guests, domain->watched, page, answer->is_refused);
	if (!answer->is_found)
		return;
	struct vmop_build_id id = {.len_bytes = answer->build_id_len_bytes};
	memcpy(id.bytes, answer->build_id, answer->build_id_len_bytes);
	struct vmop_image *image =
		vmop_images_guest_file(guests->images, domain->id, answer->path, &id);
	name_functions(guests, image, answer);
	vmop_guest_files_found(page, guests->images, image, answer->is_verified);
	vmop_guest_files_note_inode(&domain->watched->files, guests->images, &page->key, image,
				    answer->is_verified);
}

static void take_symbols(struct vmop_guests *guests, const struct vmop_guest_answer *answer)
{
	struct vmop_image *image = guests->images->slots[answer->request.symbols.image.at];
	if (answer->symtab && !image->symbols)
		vmop_guest_image_give_symbols(image, answer->symtab);
	/* The request is made again with the file's next sample. */
	if ((answer->is_refused || answer->is_gone) && !image->symbols)
		vmop_image_mark_wanted(image, false);
	vmop_image_unref(guests->images, image); /* taken in name_functions */
}

static void take_process(struct vmop_domain *domain, struct vmop_guest_answer *answer)
{
	struct vmop_guest_seen *seen =
		vmop_guest_processes_find(&domain->watched->processes, answer->request.process.pid,
					  answer->request.process.start_time_ns);
	if (!seen)
		return;
	domain->watched->last_vma = NULL; /* it may be in the snapshot that goes */
	vmop_guest_seen_take(seen, answer->snapshot);
	answer->snapshot = NULL;
}

static void take_perf_map(struct vmop_guests *guests, const struct vmop_domain *domain,
			  const struct vmop_guest_answer *answer)
{
	struct vmop_guest_seen *seen =
		vmop_guest_processes_find(&domain->watched->processes, answer->request.process.pid,
					  answer->request.process.start_time_ns);
	if (!seen)
		return;
	seen->map_state = answer->symtab ? VMOP_GUEST_SEEN_FOUND : VMOP_GUEST_SEEN_NONE;
	if (!answer->symtab)
		return;
	if (!seen->generated) {
		char name[64];
		snprintf(name, sizeof(name), "[anon:%.15s]", seen->comm);
		seen->generated =
			vmop_images_new(guests->images, domain->id, VMOP_IMAGE_ANON, name, 0, 0);
	}
	if (seen->generated->kind != VMOP_IMAGE_ANON)
		return; /* the table is full: the image stands for all others */
	if (vmop_code_names_give(&guests->code_names, seen->generated, answer->symtab, 0,
				 UINT64_MAX) == VMOP_CODE_NAMES_NO_ROOM)
		vmop_image_set_note(seen->generated, VMOP_CODE_NAMES_NO_ROOM_NOTE);
}

void vmop_guest_take_answers(struct vmop_guests *guests)
{
	struct vmop_guest_answer answer;
	while (vmop_guest_watch_take_answer(guests->watch, &answer)) {
		struct vmop_domain *domain = domain_of(guests, answer.request.domain);
		switch (answer.request.kind) {
		case VMOP_GUEST_REQUEST_FILE:
			if (domain)
				take_page(guests, domain, &answer);
			break;
		case VMOP_GUEST_REQUEST_SYMBOLS:
			take_symbols(guests, &answer);
			break;
		case VMOP_GUEST_REQUEST_PROCESS:
			if (domain)
				take_process(domain, &answer);
			break;
		case VMOP_GUEST_REQUEST_PERF_MAP:
			if (domain)
				take_perf_map(guests, domain, &answer);
			break;
		case VMOP_GUEST_REQUEST_CODE:
			vmop_guest_take_code_page(guests, &answer);
			break;
		}
		vmop_guest_answer_deinit(&answer);
	}
}

/* ---- attribution -------------------------------------------------------------------- */

static bool is_in_kernel_image(const struct vmop_watched_guest *watched, uint64_t gpa)
{
	const struct vmop_guest_kernel_info *kernel = &watched->view->code->kernel;
	return gpa - kernel->text_gpa < kernel->image_end - kernel->text_start;
}

/* Remember where the vDSO is in the kernel's image, from a process whose mapping shows it. */
static void learn_vdso(struct vmop_watched_guest *watched, const struct vmop_held_context *context,
		       const struct vmop_guest_vma *vma, uint64_t address)
{
	if (!vma || strcmp(vma->path, "[vdso]") != 0 || !(context->parts & VMOP_GUEST_HAS_GPA) ||
	    !is_in_kernel_image(watched, context->gpa))
		return;
	watched->vdso_gpa = context->gpa - (address - vma->start);
	watched->vdso_generation = context->generation;
}

static void put_vdso(struct vmop_guests *guests, const struct vmop_held_sample *held,
		     const struct vmop_held_context *context, const struct vmop_guest_vma *vma,
		     struct vmop_guest_sample *sample)
{
	const struct vmop_domain *domain = held->domain;
	const struct vmop_watched_guest *watched = domain->watched;
	uint64_t offset = context->gpa - watched->vdso_gpa;
	bool is_known = watched->vdso_generation == context->generation && offset < VDSO_MAX_BYTES;
	if (!vma && !is_known) {
		sample->image = vmop_guest_image_of_reason(guests, domain, "vdso");
		return;
	}
	sample->image = vmop_guest_image_of_vdso(guests, domain);
	sample->offset = vma ? held->ip - vma->start : offset;
}

static struct vmop_image *generated_image(struct vmop_guests *guests,
					  const struct vmop_domain *domain,
					  const struct vmop_held_context *context)
{
	const struct vmop_guest_seen *seen = vmop_guest_processes_find(
		&domain->watched->processes, context->pid, context->start_time_ns);
	if (!seen || !seen->generated) {
		struct vmop_image *image =
			vmop_guest_image_of_generated(guests, domain, context->comm);
		if (!image->note && seen && seen->map_state == VMOP_GUEST_SEEN_NONE)
			vmop_image_set_note(image, "its program left no perf map, or none that "
						   "the guest has in memory");
		return image;
	}
	vmop_image_mark_sampled(seen->generated);
	return seen->generated;
}

/* Put the sample where placement is. */
static void put_place(struct vmop_guests *guests, const struct vmop_held_sample *held,
		      const struct vmop_held_context *context,
		      const struct vmop_guest_code_facts *facts,
		      const struct vmop_guest_process *process, struct vmop_guest_sample *sample)
{
	struct vmop_domain *domain = held->domain;
	struct vmop_guest_placement placement = vmop_guest_place(facts);
	sample->key.certainty = (uint8_t)placement.certainty;
	if (facts->page && facts->page->state == VMOP_GUEST_PAGE_FOUND)
		want_symbols(guests, facts->page->image, context->generation,
			     &context->page);
	switch (placement.place) {
	case VMOP_GUEST_PLACE_MAPPING:
		sample->image = vmop_guest_image_of_vma(guests, domain, process, facts->vma);
		sample->offset = vmop_guest_offset_in_vma(sample->image, facts->vma, held->ip);
		break;
	case VMOP_GUEST_PLACE_FILE:
		sample->image = facts->page->image;
		sample->offset = facts->file_offset_bytes;
		vmop_image_mark_sampled(sample->image);
		break;
	case VMOP_GUEST_PLACE_GENERATED:
		sample->image = generated_image(guests, domain, context);
		break;
	case VMOP_GUEST_PLACE_VDSO:
		put_vdso(guests, held, context, facts->vma, sample);
		break;
	case VMOP_GUEST_PLACE_LOST_FILE:
		sample->image = vmop_guest_image_of_reason(guests, domain, "file, not found");
		break;
	case VMOP_GUEST_PLACE_UNKNOWN:
		break;
	}
}

static void place_user(struct vmop_guests *guests, const struct vmop_held_sample *held,
		       const struct vmop_held_context *context,
		       const struct vmop_guest_process *process, struct vmop_guest_sample *sample)
{
	struct vmop_watched_guest *watched = held->domain->watched;
	const struct vmop_guest_vma *vma =
		process ? vmop_guest_process_vma(process, held->ip) : NULL;
	if (vma && !(vma->vm_flags & VM_EXEC))
		vma = NULL;
	learn_vdso(watched, context, vma, held->ip);
	const struct vmop_guest_code_facts facts = {
		.parts = context->parts,
		.mapping = context->page.mapping,
		.is_in_kernel_image = is_in_kernel_image(watched, context->gpa),
		.address = held->ip,
		.file_offset_bytes = file_offset(watched, &context->page, held->ip),
		.page = vmop_guest_page_is_file(context->parts, &context->page)
				? vmop_guest_files_find(&watched->files, &context->page)
				: NULL,
		.vma = vma,
	};
	put_place(guests, held, context, &facts, process, sample);
}

const struct vmop_guest_process *
vmop_guest_context_attribute(struct vmop_guests *guests, const struct vmop_held_sample *held,
			     const struct vmop_held_context *context,
			     struct vmop_guest_sample *sample)
{
	struct vmop_watched_guest *watched = held->domain->watched;
	const struct vmop_guest_process *process = vmop_guest_context_process(watched, context);
	sample->key.certainty = VMOP_CERTAIN_EXACT;
	sample->pid = context->pid;
	if (held->key.mode == VMOP_MODE_USER)
		place_user(guests, held, context, process, sample);
	if (!context->pid) {
		sample->key.task = vmop_guest_tasks_table_idle(&watched->tasks);
		return NULL;
	}
	const struct vmop_guest_task_facts facts = {
		.pid = context->pid,
		.start_time_ns = context->start_time_ns,
		.comm = context->comm,
		.cgroup = process ? process->cgroup : NULL,
		.file = held->key.mode == VMOP_MODE_USER ? sample->image : NULL,
	};
	sample->key.task = vmop_guest_tasks_table_id(&watched->tasks, &facts);
	return process;
}

void vmop_guest_context_place_known(const struct vmop_watched_guest *watched,
				    const struct vmop_held_context *context, uint64_t address,
				    struct vmop_stack_caller *caller)
{
	if (!(context->parts & VMOP_GUEST_IS_USER) ||
	    !vmop_guest_page_is_file(context->parts, &context->page))
		return;
	const struct vmop_guest_code_page *page =
		vmop_guest_files_find(&watched->files, &context->page);
	if (!page || page->state != VMOP_GUEST_PAGE_FOUND)
		return;
	caller->image = page->image;
	caller->offset = file_offset(watched, &context->page, address);
}

/* ---- intervals ---------------------------------------------------------------------- */

/* Return the reason why most samples of a guest have no task, or NULL: they have. */
static const char *missing_task_reason(const struct vmop_watched_guest *watched)
{
	uint64_t most = watched->n_with_task;
	const char *reason = NULL;
	if (watched->n_without_context > most) {
		most = watched->n_without_context;
		reason = "the host's kernel could not capture its contexts";
	}
	for (unsigned gap = 0; gap < VMOP_GUEST_N_GAPS; gap++) {
		if (watched->n_by_gap[gap] <= most)
			continue;
		most = watched->n_by_gap[gap];
		reason = vmop_guest_gap_text(gap);
	}
	return reason;
}

/* Draw conclusions from the samples of the interval, if there were any. */
static void judge_interval(struct vmop_guests *guests, struct vmop_domain *domain)
{
	struct vmop_watched_guest *watched = domain->watched;
	uint64_t n_without = watched->n_without_context;
	for (unsigned gap = 0; gap < VMOP_GUEST_N_GAPS; gap++)
		n_without += watched->n_by_gap[gap];
	if (watched->n_with_task + n_without) {
		vmop_guest_watch_set_has_contexts(guests->watch, domain->id,
						  watched->n_with_task / 8 > n_without);
		vmop_domain_set_context_note(domain, missing_task_reason(watched));
	}
	watched->n_with_task = watched->n_without_context = 0;
	memset(watched->n_by_gap, 0, sizeof(watched->n_by_gap));
}

void vmop_guest_context_next_interval(struct vmop_guests *guests, struct vmop_domain *domain)
{
	struct vmop_watched_guest *watched = domain->watched;
	vmop_guest_files_next_interval(&watched->files, guests->images);
	vmop_guest_processes_next_interval(&watched->processes, guests->images);
	watched->last_vma = NULL; /* its process may be gone */
	judge_interval(guests, domain);
}
