// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/passive.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/options.h"
#include "libutil/parse.h"

/* What a kernel's text can be at most, where its image doesn't tell the end: 1 GiB on x86-64. */
#define KERNEL_TEXT_MAX_BYTES (1ull << 30)

struct vmop_error *vmop_passive_read(const struct vmop_passive_pattern *pattern,
				     struct vmop_passive_kernel *ret)
{
	*ret = (struct vmop_passive_kernel){0};
	struct vmop_error *err = vmop_symtab_read_kernel_image(pattern->image_path, &ret->symtab);
	if (err)
		return err;
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(ret->symtab, &n);
	uint64_t text = 0, stext = 0, last = 0;
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(symbols[i].name, "_text"))
			text = symbols[i].offset;
		else if (!strcmp(symbols[i].name, "_stext"))
			stext = symbols[i].offset;
		if (symbols[i].offset > last)
			last = symbols[i].offset;
	}
	ret->link_base = text ? text : stext;
	if (!ret->link_base || last <= ret->link_base) {
		vmop_symtab_destroy(ret->symtab);
		ret->symtab = NULL;
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: no kernel image: it has no symbol _text or _stext",
				      pattern->image_path);
	}
	/* Modules, in a kallsyms text, lie above. */
	ret->base = ret->link_base + pattern->offset_bytes;
	uint64_t len = last - ret->link_base;
	if (len < KERNEL_TEXT_MAX_BYTES)
		len = KERNEL_TEXT_MAX_BYTES;
	if (__builtin_add_overflow(ret->base, len, &ret->end))
		ret->end = UINT64_MAX;
	return NULL;
}

struct vmop_error *vmop_passive_init(struct vmop_passive *passive,
				     const struct vmop_profiler_options *options)
{
	*passive = (struct vmop_passive){0};
	passive->patterns = calloc(options->n_passive_domains + 1, sizeof(*passive->patterns));
	if (!passive->patterns)
		return &vmop_error_no_memory;
	for (; passive->n < options->n_passive_domains; passive->n++) {
		struct vmop_passive_pattern *pattern = &passive->patterns[passive->n];
		const struct vmop_passive_image *image =
			options->passive_images ? &options->passive_images[passive->n] : NULL;
		pattern->text = strdup(options->passive_domains[passive->n]);
		if (!pattern->text)
			return &vmop_error_no_memory;
		if (!image || !image->path)
			continue;
		pattern->offset_bytes = image->offset_bytes;
		pattern->image_path = strdup(image->path);
		if (!pattern->image_path) {
			free(pattern->text);
			return &vmop_error_no_memory;
		}
		if (options->goes_on) /* a guest whose image is gone stays without */
			continue;
		struct vmop_passive_kernel kernel;
		struct vmop_error *err = vmop_passive_read(pattern, &kernel);
		if (err) {
			passive->n++;
			if (err != &vmop_error_no_memory)
				err->code = VMOP_ERROR_USAGE;
			return vmop_error_prefix(err, "passive image of \"%s\"", pattern->text);
		}
		vmop_symtab_destroy(kernel.symtab);
	}
	return NULL;
}

struct vmop_error *vmop_passive_init_names(struct vmop_passive *passive, const char *const *names,
					   size_t n)
{
	return vmop_passive_init(passive, &(struct vmop_profiler_options){.passive_domains = names,
									  .n_passive_domains = n});
}

void vmop_passive_deinit(struct vmop_passive *passive)
{
	for (size_t i = 0; i < passive->n; i++) {
		free(passive->patterns[i].text);
		free(passive->patterns[i].image_path);
	}
	free(passive->patterns);
	*passive = (struct vmop_passive){0};
}

const struct vmop_passive_pattern *vmop_passive_match(const struct vmop_passive *passive,
						      const char *name, const char *uuid,
						      uint32_t host_number, uint32_t id)
{
	const struct vmop_passive_pattern *all = NULL, *by_id = NULL;
	for (size_t i = 0; i < passive->n; i++) {
		const struct vmop_passive_pattern *pattern = &passive->patterns[i];
		uint64_t number;
		if (!strcmp(pattern->text, name) || (*uuid && !strcasecmp(pattern->text, uuid)))
			return pattern;
		if (!strcmp(pattern->text, "all")) {
			all = all ? all : pattern;
		} else if (vmop_parse_u64(pattern->text, 10, &number)) {
			if (number == host_number)
				return pattern;
			if (number == id)
				by_id = pattern;
		}
	}
	return by_id ? by_id : all;
}
