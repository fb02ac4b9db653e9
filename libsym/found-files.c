// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/found-files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libsym/file-finder.h"
#include "libutil/cleanup.h"

const char *vmop_file_reason(const char *text)
{
	const char *reason, *last = NULL;
	for (size_t i = 0; (reason = vmop_file_finder_reason(i)); i++) {
		if (!strcmp(reason, text))
			return reason;
		last = reason;
	}
	return last;
}

/* Return whether no reader of a file's image looks for another file: symbols, code, DWARF. */
static bool has_all(const struct vmop_elf_file *elf, bool needs_code)
{
	const GElf_Shdr *code = vmop_elf_find_section(elf, SHT_PROGBITS, ".text");
	return vmop_elf_find_section(elf, SHT_SYMTAB, NULL) &&
	       vmop_elf_find_section(elf, SHT_PROGBITS, ".debug_info") &&
	       vmop_elf_find_section(elf, SHT_PROGBITS, ".debug_line") && (code || !needs_code);
}

static struct vmop_error *keep(struct vmop_found_file *ret, const struct vmop_image_file *file)
{
	ret->path = strdup(file->path);
	if (!ret->path)
		return &vmop_error_no_memory;
	ret->build_id = file->build_id;
	ret->fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	return NULL;
}

/* One collection of debug files. */
struct collecting {
	struct vmop_found_files *files;
	bool addresses;
};

static bool is_same_file(const struct vmop_found_file *a, const struct vmop_image_file *b)
{
	return !strcmp(a->path, b->path);
}

static struct vmop_error *use_debug_file(void *arg, const struct vmop_image_file *file, bool *done)
{
	const struct collecting *collecting = arg;
	struct vmop_found_files *files = collecting->files;
	*done = has_all(file->elf, collecting->addresses) ||
		files->n_debug + 1 == VMOP_FOUND_DEBUG_FILES_MAX;
	/* A file can be found by its build-id and by its link, and in several roots. */
	for (size_t i = 0; i < files->n_debug; i++)
		if (is_same_file(&files->debug[i], file))
			return NULL;
	struct vmop_found_file *found = &files->debug[files->n_debug];
	found->fd = -1;
	files->n_debug++;
	return keep(found, file);
}

static struct vmop_error *find(struct vmop_found_files *ret, const struct vmop_resolver *resolver,
			       const struct vmop_image_ref *ref, struct vmop_sym_budget *budget)
{
	const struct vmop_file_finder *finder = vmop_resolver_finder(resolver);
	_cleanup_(vmop_image_file_cleanup) struct vmop_image_file *image = NULL;
	struct collecting collecting = {.files = ret, .addresses = ref->addresses};
	bool is_too_costly;
	struct vmop_error *err =
		vmop_file_finder_find_image(finder, ref, budget, &image, &ret->reason);
	if (!err && image) {
		ret->has_image = true;
		err = keep(&ret->image, image);
	}
	if (err || (image && has_all(image->elf, ref->addresses)))
		return err;
	return vmop_file_finder_each_debug_file(finder, ref, image, use_debug_file, &collecting,
						budget, &is_too_costly);
}

/* Drop files that could not be kept open: the limit of open files is reached. */
static void drop_closed(struct vmop_found_files *files)
{
	size_t n = 0;
	if (files->has_image && files->image.fd < 0) {
		files->has_image = false;
		files->reason = vmop_file_reason("");
	}
	for (size_t i = 0; i < files->n_debug; i++) {
		if (files->debug[i].fd >= 0)
			files->debug[n++] = files->debug[i];
		else
			free(files->debug[i].path);
	}
	files->n_debug = n;
}

struct vmop_error *vmop_found_files_init(struct vmop_found_files *ret,
					 const struct vmop_resolver *resolver,
					 const struct vmop_image_ref *ref)
{
	struct vmop_sym_budget budget;
	*ret = (struct vmop_found_files){.image.fd = -1};
	vmop_sym_budget_init(&budget);
	struct vmop_error *err = find(ret, resolver, ref, &budget);
	if (err && err->code == VMOP_ERROR_NO_MEMORY)
		return err;
	vmop_error_destroy(err);
	if (!ret->has_image && !ret->reason)
		ret->reason = vmop_file_reason("");
	drop_closed(ret);
	return NULL;
}

static void deinit_file(struct vmop_found_file *file)
{
	free(file->path);
	if (file->fd >= 0)
		close(file->fd);
}

void vmop_found_files_deinit(struct vmop_found_files *files)
{
	deinit_file(&files->image);
	for (size_t i = 0; i < files->n_debug; i++)
		deinit_file(&files->debug[i]);
	*files = (struct vmop_found_files){.image.fd = -1};
}
