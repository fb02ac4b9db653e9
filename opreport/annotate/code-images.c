// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/annotate/code-images.h"

#include <stdlib.h>
#include <string.h>

#include "libsym/lines.h"
#include "libutil/cleanup.h"

/* Files of code that are open at one time. */
enum { OPEN_MAX_FILES = 32 };

struct image {
	bool has_lines, has_inlines, has_code; /* they were looked for */
	struct vmop_image_lines *lines;
	struct vmop_inline_index *inlines;
	struct vmop_image_code *code; /* owned; NULL: none, or closed again */
	const char *no_lines, *no_code;
};

struct vmop_code_images {
	struct vmop_result *result;
	const struct vmop_session_input *sessions;
	struct vmop_lines *lines;
	struct vmop_inlines *inlines;
	size_t n_open;
	size_t n;
	struct image images[];
};

struct vmop_error *vmop_code_images_create(struct vmop_result *result,
					   const struct vmop_session_input *sessions,
					   uint64_t max_cpu_ns, struct vmop_code_images **ret)
{
	size_t n = result->catalog.images.n;
	struct vmop_code_images *images = calloc(1, sizeof(*images) + n * sizeof(struct image));
	if (!images)
		return &vmop_error_no_memory;
	images->result = result;
	images->sessions = sessions;
	images->n = n;
	struct vmop_error *err = vmop_lines_create(vmop_symbols_resolver(result->symbols),
						   max_cpu_ns, &images->lines);
	if (!err)
		err = vmop_symbols_find_inlines(result->symbols, max_cpu_ns, &images->inlines);
	if (err) {
		vmop_code_images_destroy(images);
		return err;
	}
	*ret = images;
	return NULL;
}

static void close_files(struct vmop_code_images *images)
{
	for (size_t i = 0; i < images->n; i++) {
		struct image *image = &images->images[i];
		if (image->code)
			image->has_code = false;
		vmop_image_code_destroy(image->code);
		image->code = NULL;
	}
	images->n_open = 0;
}

void vmop_code_images_destroy(struct vmop_code_images *images)
{
	if (!images)
		return;
	close_files(images);
	vmop_inlines_destroy(images->inlines);
	vmop_lines_destroy(images->lines);
	free(images);
}

/* Return whether an image can have a file that libsym reads. */
static bool has_file(const struct vmop_code_images *images, size_t image)
{
	switch (vmop_catalog_image(&images->result->catalog, image)->kind) {
	case VMOP_IMAGE_FILE:
	case VMOP_IMAGE_VDSO:
	case VMOP_IMAGE_KERNEL:
	case VMOP_IMAGE_GUEST_KERNEL:
		return true;
	default:
		return false;
	}
}

/*
 * Set *ret to the reference for an image's DWARF. *ret_has is false if there can be none, as for a
 * module without symbols.
 */
static struct vmop_error *find_ref(const struct vmop_code_images *images, size_t image,
				   struct vmop_image_ref *ret, bool *ret_has)
{
	struct vmop_symbols *symbols = images->result->symbols;
	const char *why;
	*ret = vmop_symbols_ref(symbols, image);
	*ret_has = has_file(images, image);
	if (!ret->is_module)
		return NULL;
	struct vmop_error *err = vmop_symbols_of(symbols, image, &ret->module_symbols, &why);
	*ret_has = !err && ret->module_symbols && ret->build_id.len_bytes;
	return err;
}

/* Return a reason with a remedy why a module has no code, unless the session has some. */
static const char *no_code_of_module(const char *why)
{
	return why && strcmp(why, "no such file") != 0
		       ? why
		       : "neither the session nor a file has it: --image-path, or --root for "
			 "/lib/modules, gives the module's file; vmopcontrol --code=SIZE stores "
			 "more";
}

/* Return a reason with a remedy in place of one of libsym's. */
static const char *with_remedy(const struct vmop_code_images *images, size_t image, const char *why)
{
	switch (vmop_catalog_image(&images->result->catalog, image)->kind) {
	case VMOP_IMAGE_KERNEL:
	case VMOP_IMAGE_GUEST_KERNEL:
		return "no vmlinux of this kernel was found; its debug package, --image-path or "
		       "DEBUGINFOD_URLS gives one";
	case VMOP_IMAGE_MODULE:
		return why && strcmp(why, "no such file") != 0 &&
				       strcmp(why, "no DWARF was found") != 0
			       ? why
			       : "no DWARF of this module was found; its debug package, "
				 "--image-path or DEBUGINFOD_URLS gives it";
	default:
		return why && !strcmp(why, "no DWARF was found")
			       ? "no DWARF was found; its debug package, or DEBUGINFOD_URLS, gives "
				 "it"
			       : why;
	}
}

static const char *why_no_file(const struct vmop_code_images *images, size_t image)
{
	switch (vmop_catalog_image(&images->result->catalog, image)->kind) {
	case VMOP_IMAGE_MODULE:
		return "the session has no build-id of the module, or no symbols";
	case VMOP_IMAGE_ANON:
		return "generated code has no file";
	case VMOP_IMAGE_NONE:
		return "the samples have no image";
	default:
		return "it has no file";
	}
}

static struct vmop_error *open_lines(struct vmop_code_images *images, size_t number)
{
	struct image *image = &images->images[number];
	if (image->has_lines)
		return NULL;
	image->has_lines = true;
	image->no_lines = why_no_file(images, number);
	struct vmop_image_ref ref;
	bool can_have;
	struct vmop_error *err = find_ref(images, number, &ref, &can_have);
	if (err || !can_have)
		return err;
	err = vmop_lines_open(images->lines, &ref, &image->lines, &image->no_lines);
	image->no_lines = image->lines ? NULL : with_remedy(images, number, image->no_lines);
	return err;
}

struct vmop_error *vmop_code_images_line(struct vmop_code_images *images, size_t image,
					 uint64_t offset, struct vmop_line *ret)
{
	*ret = (struct vmop_line){0};
	struct vmop_error *err = open_lines(images, image);
	struct image *item = &images->images[image];
	if (!err && item->lines && !vmop_lines_find(images->lines, item->lines, offset, ret))
		item->no_lines = "too costly: its DWARF takes more CPU time (--lines) or memory";
	return err;
}

struct vmop_error *vmop_code_images_inlined(struct vmop_code_images *images, size_t image,
					    uint64_t offset,
					    const char *ret_names[VMOP_INLINES_MAX], size_t *ret_n)
{
	struct image *item = &images->images[image];
	const char *why;
	struct vmop_error *err = NULL;
	*ret_n = 0;
	if (!item->has_inlines) {
		struct vmop_image_ref ref;
		bool can_have;
		item->has_inlines = true;
		err = find_ref(images, image, &ref, &can_have);
		if (!err && can_have)
			err = vmop_inlines_open(images->inlines, &ref, &item->inlines, &why);
	}
	if (!err && item->inlines)
		vmop_inlines_find(images->inlines, item->inlines, offset, ret_names, ret_n);
	return err;
}

const char *vmop_code_images_no_lines(const struct vmop_code_images *images, size_t image)
{
	return images->images[image].no_lines;
}

void vmop_code_bytes_deinit(struct vmop_code_bytes *code)
{
	free(code->bytes);
	free(code->is_known);
	free(code->is_open);
	*code = (struct vmop_code_bytes){0};
}

static struct vmop_error *open_code(struct vmop_code_images *images, size_t number)
{
	struct image *image = &images->images[number];
	if (image->has_code)
		return NULL;
	if (images->n_open >= OPEN_MAX_FILES)
		close_files(images);
	image->has_code = true;
	image->no_code = why_no_file(images, number);
	struct vmop_image_ref ref;
	bool can_have;
	struct vmop_error *err = find_ref(images, number, &ref, &can_have);
	if (err || !can_have)
		return err;
	err = vmop_image_code_open(vmop_symbols_resolver(images->result->symbols), &ref,
				   &image->code, &image->no_code);
	if (!image->code)
		image->no_code = ref.is_module ? no_code_of_module(image->no_code)
					       : with_remedy(images, number, image->no_code);
	images->n_open += image->code != NULL;
	return err;
}

/* Return the machine of the session's host. Guests run on the same one. */
static enum vmop_machine machine_of_session(const struct vmop_code_images *images, size_t image)
{
	const struct vmop_catalog *catalog = &images->result->catalog;
	const char *machine =
		catalog->sessions[vmop_catalog_image(catalog, image)->session].machine;
	return !strcmp(machine, "x86_64")    ? VMOP_MACHINE_X86_64
	       : !strcmp(machine, "aarch64") ? VMOP_MACHINE_ARM64
					     : VMOP_MACHINE_OTHER;
}

/* The stored code of an image, while it is laid over the bytes that are wanted. */
struct overlay {
	struct vmop_code_bytes *code;
	uint64_t offset; /* of code */
	bool *is_stored; /* for each byte of code */
};

/* Lay one stored byte over the bytes of the file, or over an earlier version. */
static void take_byte(const struct overlay *overlay, uint64_t at, uint8_t byte)
{
	struct vmop_code_bytes *code = overlay->code;
	bool differs = code->is_known[at] && !code->is_open[at] && code->bytes[at] != byte;
	code->n_open -= code->is_open[at];
	code->is_open[at] = false;
	if (overlay->is_stored[at])
		code->has_changed |= differs;
	else
		code->n_differing += differs;
	code->n_stored += !overlay->is_stored[at];
	code->n_known += !code->is_known[at];
	overlay->is_stored[at] = true;
	code->is_known[at] = true;
	code->bytes[at] = byte;
}

/* Take the later one of two versions: rows ascend by offset, then by time. */
static struct vmop_error *take_stored(void *arg, const struct vmop_db_code *stored)
{
	const struct overlay *overlay = arg;
	const uint8_t *bytes = stored->bytes;
	for (size_t i = 0; i < stored->len_bytes; i++) {
		uint64_t at = stored->offset + i - overlay->offset;
		if (stored->offset + i >= overlay->offset && at < overlay->code->len_bytes)
			take_byte(overlay, at, bytes[i]);
	}
	return NULL;
}

/* Return why the session has no code of an image. */
static struct vmop_error *why_not_stored(struct vmop_db *db, const char **ret)
{
	_cleanup_free_ char *state = NULL;
	struct vmop_error *err = vmop_db_get_info(db, "code", &state);
	if (!err)
		*ret = !state ? "it was not stored: it had few samples, its process "
				"had ended, or the recording is of an older vmop"
		       : !strcmp(state, "off") ? "it was not stored: vmopcontrol --code=on does so "
						 "from the next start on"
					       : "it was not stored: there was no more room; "
						 "vmopcontrol --code=SIZE gives more";
	return err;
}

/* Return whether only the session can have an image's code. */
static bool is_only_stored(enum vmop_image_kind kind)
{
	return kind == VMOP_IMAGE_ANON || kind == VMOP_IMAGE_BPF || kind == VMOP_IMAGE_TRAMPOLINE;
}

/* Read the bytes that the session has of code as it was in memory. */
static struct vmop_error *read_stored(const struct vmop_code_images *images, size_t image,
				      uint64_t offset, struct vmop_code_bytes *code)
{
	const struct vmop_catalog *catalog = &images->result->catalog;
	const struct vmop_image_item *item = vmop_catalog_image(catalog, image);
	struct vmop_db *db = images->sessions[item->session].db;
	_cleanup_free_ bool *is_stored = calloc(code->len_bytes + 1, sizeof(*is_stored));
	struct overlay overlay = {code, offset, is_stored};
	uint64_t end;
	if (!is_stored)
		return &vmop_error_no_memory;
	if (__builtin_add_overflow(offset, code->len_bytes, &end))
		end = UINT64_MAX;
	struct vmop_error *err =
		vmop_db_each_code(db, item->id, offset, end, take_stored, &overlay);
	if (!err && code->n_known < code->len_bytes && is_only_stored(item->kind))
		err = why_not_stored(db, &code->why);
	return err ? vmop_catalog_blame(err, catalog, item->session) : NULL;
}

/* Mark the bytes of code that the file leaves open. */
static void mark_open(const struct image *item, uint64_t offset, struct vmop_code_bytes *code)
{
	struct vmop_code_field field;
	uint64_t end = offset + code->n_known, at = offset;
	for (; vmop_image_code_field(item->code, at, end, &field); at = field.offset + 1) {
		uint64_t first = field.offset - offset;
		for (uint64_t i = first; i < first + field.len_bytes && i < code->n_known; i++) {
			code->n_open += !code->is_open[i];
			code->is_open[i] = true;
		}
	}
}

bool vmop_code_images_field(const struct vmop_code_images *images, size_t image, uint64_t offset,
			    uint64_t end, struct vmop_code_field *ret)
{
	const struct image *item = &images->images[image];
	return item->code && vmop_image_code_field(item->code, offset, end, ret);
}

struct vmop_error *vmop_code_images_read(struct vmop_code_images *images, size_t image,
					 uint64_t offset, size_t len_bytes,
					 struct vmop_code_bytes *ret)
{
	struct vmop_error *err = open_code(images, image);
	const struct image *item = &images->images[image];
	*ret = (struct vmop_code_bytes){.len_bytes = len_bytes,
					.bytes = calloc(1, len_bytes + 1),
					.is_known = calloc(len_bytes + 1, sizeof(bool)),
					.is_open = calloc(len_bytes + 1, sizeof(bool)),
					.machine = machine_of_session(images, image)};
	if (!err && (!ret->bytes || !ret->is_known || !ret->is_open))
		err = &vmop_error_no_memory;
	if (!err && item->code) {
		ret->has_file = true;
		ret->machine = vmop_image_code_machine(item->code);
		ret->n_known = vmop_image_code_read(item->code, offset, ret->bytes, len_bytes);
		memset(ret->is_known, true, ret->n_known);
		mark_open(item, offset, ret);
	}
	if (!err && ret->n_known < len_bytes)
		ret->why = item->code ? "outside of the file's code" : item->no_code;
	if (!err)
		err = read_stored(images, image, offset, ret);
	if (err)
		vmop_code_bytes_deinit(ret);
	return err;
}
