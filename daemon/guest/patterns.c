// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/patterns.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/options.h"
#include "libutil/parse.h"

/* The largest kernel, for images that do not contain its end: 1 GiB on x86-64. */
#define KERNEL_MAX_BYTES (1ull << 30)

struct vmop_error *vmop_domain_pattern_read_kernel(const struct vmop_domain_pattern *pattern,
						   struct vmop_domain_pattern_kernel *ret)
{
	*ret = (struct vmop_domain_pattern_kernel){0};
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
	/* A copy of kallsyms has the modules, too: they lie above. */
	ret->base = ret->link_base + pattern->offset_bytes;
	uint64_t len = last - ret->link_base;
	if (len < KERNEL_MAX_BYTES)
		len = KERNEL_MAX_BYTES;
	if (__builtin_add_overflow(ret->base, len, &ret->end))
		ret->end = UINT64_MAX;
	return NULL;
}

struct vmop_error *vmop_domain_patterns_init(struct vmop_domain_patterns *patterns,
					     const struct vmop_profiler_options *options)
{
	*patterns = (struct vmop_domain_patterns){0};
	patterns->patterns = calloc(options->n_passive_domains + 1, sizeof(*patterns->patterns));
	if (!patterns->patterns)
		return &vmop_error_no_memory;
	for (; patterns->n < options->n_passive_domains; patterns->n++) {
		struct vmop_domain_pattern *pattern = &patterns->patterns[patterns->n];
		const struct vmop_passive_image *image =
			options->passive_images ? &options->passive_images[patterns->n] : NULL;
		pattern->text = strdup(options->passive_domains[patterns->n]);
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
		if (options->goes_on) /* an image that is gone since is no error */
			continue;
		struct vmop_domain_pattern_kernel kernel;
		struct vmop_error *err = vmop_domain_pattern_read_kernel(pattern, &kernel);
		if (err) {
			patterns->n++;
			if (err != &vmop_error_no_memory)
				err->code = VMOP_ERROR_USAGE;
			return vmop_error_prefix(err, "passive image of \"%s\"", pattern->text);
		}
		vmop_symtab_destroy(kernel.symtab);
	}
	return NULL;
}

struct vmop_error *vmop_domain_patterns_init_names(struct vmop_domain_patterns *patterns,
						   const char *const *names, size_t n)
{
	return vmop_domain_patterns_init(
		patterns,
		&(struct vmop_profiler_options){.passive_domains = names, .n_passive_domains = n});
}

void vmop_domain_patterns_deinit(struct vmop_domain_patterns *patterns)
{
	for (size_t i = 0; i < patterns->n; i++) {
		free(patterns->patterns[i].text);
		free(patterns->patterns[i].image_path);
	}
	free(patterns->patterns);
	*patterns = (struct vmop_domain_patterns){0};
}

const struct vmop_domain_pattern *
vmop_domain_patterns_match(const struct vmop_domain_patterns *patterns, const char *name,
			   const char *uuid, uint32_t host_number, uint32_t id)
{
	const struct vmop_domain_pattern *all = NULL, *by_id = NULL;
	for (size_t i = 0; i < patterns->n; i++) {
		const struct vmop_domain_pattern *pattern = &patterns->patterns[i];
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
