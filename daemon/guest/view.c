// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/guest/stacks/orc-tables.h"
#include "libutil/error.h"

/* ---- kernel code -------------------------------------------------------- */

static int compare_images(const void *a, const void *b)
{
	const struct vmop_guest_code_image *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static struct vmop_guest_code_image *find_image(const struct vmop_guest_code *code,
						uint64_t address)
{
	size_t low = 0, high = code->n_images;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (code->images[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= code->images[low - 1].end)
		return NULL;
	return &code->images[low - 1];
}

const struct vmop_guest_code_image *vmop_guest_code_find(const struct vmop_guest_code *code,
							 uint64_t address)
{
	return find_image(code, address);
}

static enum vmop_image_kind image_kind(enum vmop_guest_kernel_text_kind kind)
{
	switch (kind) {
	case VMOP_GUEST_TEXT_BPF:
		return VMOP_IMAGE_BPF;
	case VMOP_GUEST_TEXT_TRAMPOLINE:
		return VMOP_IMAGE_TRAMPOLINE;
	case VMOP_GUEST_TEXT_MODULE:
		break;
	}
	return VMOP_IMAGE_MODULE;
}

static bool add_image(struct vmop_guest_code *code, enum vmop_image_kind kind, const char *name,
		      uint64_t start, uint64_t end, const uint8_t *build_id, uint8_t len_bytes)
{
	if (start >= end)
		return true; /* the guest may be hostile; no address is in such an image */
	struct vmop_guest_code_image *image = &code->images[code->n_images];
	*image = (struct vmop_guest_code_image){
		.kind = kind, .start = start, .end = end, .build_id_len_bytes = len_bytes};
	memcpy(image->build_id, build_id, len_bytes);
	if (asprintf(&image->name, "[%s]", name) < 0)
		return false;
	code->n_images++;
	return true;
}

/* Sort the images by address.  Of two that overlap, the one that begins later keeps the range. */
static void sort_images(struct vmop_guest_code *code)
{
	qsort(code->images, code->n_images, sizeof(*code->images), compare_images);
	for (size_t i = 1; i < code->n_images; i++) {
		if (code->images[i - 1].end > code->images[i].start)
			code->images[i - 1].end = code->images[i].start;
	}
}

static bool add_images(struct vmop_guest_code *code, struct vmop_guest *guest)
{
	const struct vmop_guest_kernel_info *kernel = &code->kernel;
	size_t n = vmop_guest_module_count(guest);
	code->images = calloc(n + 1, sizeof(*code->images));
	if (!code->images ||
	    !add_image(code, VMOP_IMAGE_GUEST_KERNEL, "kernel", kernel->text_start,
		       kernel->image_end, kernel->build_id, kernel->build_id_len_bytes))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct vmop_guest_module *module = vmop_guest_module_get(guest, i);
		uint64_t len = module->text_len_bytes ? module->text_len_bytes : module->len_bytes;
		uint64_t end = module->text_start + len;
		if (end < module->text_start)
			end = UINT64_MAX;
		if (!add_image(code, image_kind(module->kind), module->name, module->text_start,
			       end, module->build_id, module->build_id_len_bytes))
			return false;
	}
	sort_images(code);
	return true;
}

/* ---- their symbols: counted first, then copied into one array and one pool ---- */

struct symbol_copy {
	struct vmop_guest_code *code;
	struct vmop_symbol *symbols; /* NULL while counting */
	char *names;
	size_t n, names_len;
};

static bool is_function_symbol(const struct vmop_guest_symbol *symbol)
{
	return strchr("tTwW", symbol->type) && symbol->type;
}

static bool count_symbol(const struct vmop_guest_symbol *symbol, void *arg)
{
	struct symbol_copy *copy = arg;
	if (is_function_symbol(symbol) && find_image(copy->code, symbol->address)) {
		copy->n++;
		copy->names_len += strlen(symbol->name) + 1;
	}
	return true;
}

static bool copy_symbol(const struct vmop_guest_symbol *symbol, void *arg)
{
	struct symbol_copy *copy = arg;
	if (!is_function_symbol(symbol) || !find_image(copy->code, symbol->address))
		return true;
	size_t len = strlen(symbol->name) + 1;
	copy->symbols[copy->n++] = (struct vmop_symbol){
		.offset = symbol->address, /* made relative when sorted */
		.len_bytes = symbol->module ? symbol->len_bytes : 0,
		.name = memcpy(copy->names + copy->names_len, symbol->name, len),
		.type = symbol->type,
	};
	copy->names_len += len;
	return true;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct vmop_symbol *x = a, *y = b;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Sort the symbols, and assign to each image its range of them, with offsets from its start. */
static void assign_symbols(struct vmop_guest_code *code, struct vmop_symbol *symbols, size_t n)
{
	qsort(symbols, n, sizeof(*symbols), compare_symbols);
	size_t at = 0;
	for (size_t i = 0; i < code->n_images; i++) {
		struct vmop_guest_code_image *image = &code->images[i];
		while (at < n && symbols[at].offset < image->start)
			at++;
		image->symbols = &symbols[at];
		while (at < n && symbols[at].offset < image->end) {
			symbols[at++].offset -= image->start;
			image->n_symbols++;
		}
	}
}

static bool add_symbols(struct vmop_guest_code *code, struct vmop_guest *guest)
{
	struct symbol_copy copy = {.code = code};
	vmop_error_destroy(vmop_guest_each_symbol(guest, count_symbol, &copy));
	code->all_symbols = malloc((copy.n + 1) * sizeof(*code->all_symbols));
	code->names = malloc(copy.names_len + 1);
	if (!code->all_symbols || !code->names)
		return false;
	copy = (struct symbol_copy){
		.code = code, .symbols = code->all_symbols, .names = code->names};
	vmop_error_destroy(vmop_guest_each_symbol(guest, copy_symbol, &copy));
	assign_symbols(code, code->all_symbols, copy.n);
	return true;
}

struct vmop_guest_code *vmop_guest_code_create(struct vmop_guest *guest, uint32_t generation)
{
	struct vmop_guest_code *code = calloc(1, sizeof(*code));
	if (!code)
		return NULL;
	code->refs = 1;
	code->generation = generation;
	code->kernel = *vmop_guest_kernel_info(guest);
	if (!add_images(code, guest) || !add_symbols(code, guest)) {
		vmop_guest_code_unref(code);
		return NULL;
	}
	return code;
}

struct vmop_guest_code *vmop_guest_code_strip(const struct vmop_guest_code *code)
{
	struct vmop_guest_code *stripped = calloc(1, sizeof(*stripped));
	if (!stripped)
		return NULL;
	stripped->refs = 1;
	stripped->generation = code->generation;
	stripped->kernel = code->kernel;
	stripped->images = calloc(code->n_images + 1, sizeof(*stripped->images));
	for (size_t i = 0; stripped->images && i < code->n_images; i++) {
		struct vmop_guest_code_image *image = &stripped->images[i];
		*image = code->images[i];
		image->symbols = NULL;
		image->name = strdup(code->images[i].name);
		if (!image->name)
			break;
		stripped->n_images++;
	}
	if (!stripped->images || stripped->n_images < code->n_images) {
		vmop_guest_code_unref(stripped);
		return NULL;
	}
	return stripped;
}

void vmop_guest_code_inherit(struct vmop_guest_code *code, const struct vmop_guest_code *before)
{
	const struct vmop_guest_code_image *old = find_image(before, before->kernel.text_start);
	struct vmop_guest_code_image *image = find_image(code, code->kernel.text_start);
	if (!old || !image || old->symbols || old->kind != VMOP_IMAGE_GUEST_KERNEL ||
	    image->kind != VMOP_IMAGE_GUEST_KERNEL)
		return;
	image->symbols = NULL;
	image->n_symbols = old->n_symbols;
}

struct vmop_guest_code *vmop_guest_code_ref(struct vmop_guest_code *code)
{
	if (code)
		__atomic_add_fetch(&code->refs, 1, __ATOMIC_RELAXED);
	return code;
}

void vmop_guest_code_unref(struct vmop_guest_code *code)
{
	if (!code || __atomic_sub_fetch(&code->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (size_t i = 0; i < code->n_images; i++)
		free(code->images[i].name);
	free(code->images);
	free(code->all_symbols);
	free(code->names);
	free(code);
}

/* ---- tasks and views ----------------------------------------------------- */

struct vmop_guest_tasks *vmop_guest_tasks_create(struct vmop_guest_snapshot *snapshot,
						 uint32_t generation)
{
	struct vmop_guest_tasks *tasks = malloc(sizeof(*tasks));
	if (!tasks) {
		vmop_guest_snapshot_free(snapshot);
		return NULL;
	}
	*tasks = (struct vmop_guest_tasks){
		.refs = 1, .generation = generation, .snapshot = snapshot};
	return tasks;
}

struct vmop_guest_tasks *vmop_guest_tasks_ref(struct vmop_guest_tasks *tasks)
{
	if (tasks)
		__atomic_add_fetch(&tasks->refs, 1, __ATOMIC_RELAXED);
	return tasks;
}

void vmop_guest_tasks_unref(struct vmop_guest_tasks *tasks)
{
	if (!tasks || __atomic_sub_fetch(&tasks->refs, 1, __ATOMIC_ACQ_REL))
		return;
	vmop_guest_snapshot_free(tasks->snapshot);
	free(tasks);
}

const struct vmop_guest_process *vmop_guest_tasks_find(const struct vmop_guest_tasks *tasks,
						       const struct vmop_guest_reading *reading)
{
	const struct vmop_guest_process *process =
		tasks ? vmop_guest_snapshot_by_pid(tasks->snapshot, reading->pid) : NULL;
	/* The reading of a task that is about to exit has no page table. */
	bool is_it = process && (!reading->pgd_gpa || process->pgd_gpa == reading->pgd_gpa);
	return is_it ? process : NULL;
}

const struct vmop_guest_reading *vmop_guest_readings_put(struct vmop_guest_vcpu_readings *vcpus,
							 uint32_t n_vcpus,
							 const struct vmop_guest_current *current,
							 uint64_t time_ns)
{
	if (current->vcpu >= n_vcpus)
		return NULL;
	struct vmop_guest_vcpu_readings *to = &vcpus[current->vcpu];
	struct vmop_guest_reading *reading = &to->at[to->n++ % VMOP_GUEST_READINGS];
	*reading = (struct vmop_guest_reading){
		.time_ns = time_ns,
		.pid = current->is_idle ? 0 : current->pid,
		.is_kernel_thread = current->pgd_gpa == 0,
		.pgd_gpa = current->pgd_gpa,
	};
	return reading;
}

const char *vmop_guest_view_state(const struct vmop_guest_code *code,
				  const struct vmop_guest_tasks *tasks)
{
	if (!code->kernel.has_processes)
		return "kernel symbols, no processes (no BTF, no profile)";
	return tasks ? "kernel symbols and processes" : "kernel symbols";
}

struct vmop_guest_view *vmop_guest_view_ref(struct vmop_guest_view *view)
{
	if (view)
		__atomic_add_fetch(&view->refs, 1, __ATOMIC_RELAXED);
	return view;
}

void vmop_guest_view_unref(struct vmop_guest_view *view)
{
	if (!view || __atomic_sub_fetch(&view->refs, 1, __ATOMIC_ACQ_REL))
		return;
	vmop_guest_code_unref(view->code);
	vmop_guest_tasks_unref(view->tasks);
	vmop_guest_tasks_unref(view->tasks_before);
	vmop_guest_orc_tables_unref(view->orc);
	free(view->vcpus);
	free(view->error);
	free(view);
}

bool vmop_guest_view_reading(const struct vmop_guest_view *view, uint32_t vcpu, uint64_t time_ns,
			     uint64_t max_gap_ns, struct vmop_guest_reading *ret, bool *ret_certain)
{
	if (vcpu >= view->n_vcpus)
		return false;
	const struct vmop_guest_vcpu_readings *readings = &view->vcpus[vcpu];
	const struct vmop_guest_reading *after = NULL, *before = NULL;
	uint32_t kept = readings->n < VMOP_GUEST_READINGS ? readings->n : VMOP_GUEST_READINGS;
	for (uint32_t i = 0; i < kept && !before; i++) {
		const struct vmop_guest_reading *at =
			&readings->at[(readings->n - 1 - i) % VMOP_GUEST_READINGS];
		if (at->time_ns >= time_ns)
			after = at;
		else
			before = at;
	}
	if (before && time_ns - before->time_ns > max_gap_ns)
		before = NULL;
	if (after && after->time_ns - time_ns > max_gap_ns)
		after = NULL;
	if (!before && !after)
		return false;
	bool is_after_nearer =
		!before || (after && after->time_ns - time_ns < time_ns - before->time_ns);
	*ret = is_after_nearer ? *after : *before;
	*ret_certain =
		before && after && before->pid == after->pid && before->pgd_gpa == after->pgd_gpa;
	return true;
}
