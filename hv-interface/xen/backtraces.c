// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"

#include "hv-interface/xen/backtraces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "libutil/cleanup.h"
#include "libutil/log.h"

/* The sizes of a configuration: 2 KiB and 4 KiB in Debian's 4.17. */
enum { GZIP_MAX_BYTES = 12 << 10, TEXT_MAX_BYTES = 256 << 10 };

#ifdef HAVE_ZLIB
/* Return whether the whole input becomes at most size bytes; sets *ret_len_bytes. */
static bool gunzip(const void *gzip, size_t len_bytes, char *buf, size_t size,
		   size_t *ret_len_bytes)
{
	enum { WITH_GZIP_HEADER = 16 + MAX_WBITS };
	z_stream stream = {
		.next_in = (void *)(uintptr_t)gzip,
		.avail_in = (uInt)len_bytes,
		.next_out = (void *)buf,
		.avail_out = (uInt)size,
	};
	if (inflateInit2(&stream, WITH_GZIP_HEADER) != Z_OK)
		return false;
	bool is_good = inflate(&stream, Z_FINISH) == Z_STREAM_END;
	*ret_len_bytes = stream.total_out;
	inflateEnd(&stream);
	return is_good;
}
#else
static bool gunzip(const void *gzip, size_t len_bytes, char *buf, size_t size,
		   size_t *ret_len_bytes)
{
	(void)gzip;
	(void)len_bytes;
	(void)buf;
	(void)size;
	(void)ret_len_bytes;
	return false;
}
#endif

/* Return whether a line of text is "OPTION=y". */
static bool has_option(const char *text, const char *option)
{
	size_t len = strlen(option);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, option, len) && !strncmp(line + len, "=y", 2))
			return true;
	}
	return false;
}

bool vmop_xen_config_has(const void *gzip, size_t len_bytes, const char *option,
			 bool *ret_is_readable)
{
	size_t text_bytes;
	_cleanup_free_ char *text = malloc(TEXT_MAX_BYTES + 1);
	*ret_is_readable = text && len_bytes <= GZIP_MAX_BYTES &&
			   gunzip(gzip, len_bytes, text, TEXT_MAX_BYTES, &text_bytes);
	if (!*ret_is_readable)
		return false;
	text[text_bytes] = '\0';
	/* Each configuration of Xen's has this. */
	*ret_is_readable = has_option(text, "CONFIG_X86") || has_option(text, "CONFIG_X86_64");
	return *ret_is_readable && has_option(text, option);
}

const char *vmop_xen_backtraces_refusal(struct vmop_xen_link *link)
{
	_cleanup_free_ char *gzip = malloc(GZIP_MAX_BYTES);
	bool is_readable = false, has_frame_pointers = false;
	int len_bytes = gzip ? link->ops->read_config(link, gzip, GZIP_MAX_BYTES) : -ENOMEM;
	if (len_bytes >= 0)
		has_frame_pointers = vmop_xen_config_has(gzip, (size_t)len_bytes,
							 "CONFIG_FRAME_POINTER", &is_readable);
	if (!is_readable)
		return "whether they could bring down this Xen is not known (no readable "
		       "/buildinfo/config in its xenhypfs)";
	if (has_frame_pointers)
		return "this Xen is built with CONFIG_FRAME_POINTER, and its profiler would follow "
		       "the frame pointers of guests in its own mode, which can bring it down";
	return NULL;
}

/* Return whether the domains are PV. Xen takes no domain that is gone. */
static bool are_pv(struct vmop_xen_link *link, const struct vmop_xen_domain *domains, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int is_hvm = domains[i].error ? 0 : link->ops->is_hvm(link, domains[i].id);
		if (is_hvm != 0 && is_hvm != -ESRCH)
			return false;
	}
	return true;
}

bool vmop_xen_kernel_has_frame_pointers(const char *root)
{
	char path[256];
	_cleanup_free_ char *line = NULL;
	size_t size = 0, n = 0;
	bool has_orc = false;
	snprintf(path, sizeof(path), "%s/proc/kallsyms", root ? root : "");
	FILE *in = fopen(path, "re");
	if (!in)
		return false;
	for (; !has_orc && getline(&line, &size, in) > 0; n++)
		has_orc = strstr(line, " __start_orc_unwind") != NULL;
	fclose(in);
	return n > 0 && !has_orc;
}

/* Write the note about stacks that are taken. */
static void put_note(FILE *out, const struct vmop_xen_backtraces *backtraces, bool has_tasks,
		     bool is_primary)
{
	fputs("as Xen's profiler finds them, and only of PV domains; Xen's own code has none", out);
	if (!backtraces->has_kernel_frames)
		fputs(", nor has this kernel's, which keeps no frame pointers", out);
	if (!has_tasks)
		fputs("; the callers of programs are found only with vmop.ko", out);
	if (!is_primary)
		fputs("; if dom0's session has --callgraph", out);
}

struct vmop_error *vmop_xen_backtraces_choose(const struct vmop_source_setup *setup,
					      const struct vmop_xen_machine *machine,
					      bool has_tasks, struct vmop_xen_link *link,
					      struct vmop_xen_backtraces *ret)
{
	const char *refusal = NULL;
	size_t len;
	*ret = (struct vmop_xen_backtraces){0};
	if (setup->stacks.mode == VMOP_STACKS_OFF)
		return NULL;
	if (machine->is_primary)
		refusal =
			link ? vmop_xen_backtraces_refusal(link) : "/dev/xen/privcmd is not usable";
	FILE *out = open_memstream(&ret->note, &len);
	if (!out)
		return &vmop_error_no_memory;
	if (refusal) {
		fputs(refusal, out);
	} else {
		ret->stacks.mode = VMOP_STACKS_FP;
		ret->stacks.max_frames = setup->stacks.max_frames;
		ret->has_kernel_frames = vmop_xen_kernel_has_frame_pointers(setup->root);
		put_note(out, ret, has_tasks, machine->is_primary);
	}
	return fclose(out) == 0 ? NULL : &vmop_error_no_memory;
}

void vmop_xen_backtraces_deinit(struct vmop_xen_backtraces *backtraces)
{
	free(backtraces->note);
	*backtraces = (struct vmop_xen_backtraces){0};
}

void vmop_xen_backtraces_check(struct vmop_xen_backtraces *backtraces, struct vmop_xen_link *link,
			       const struct vmop_xen_lists *lists)
{
	static const struct vmop_xen_domain own = {.id = 0};
	if (backtraces->stacks.mode == VMOP_STACKS_OFF || !link)
		return;
	bool was_unsafe = backtraces->is_unsafe;
	backtraces->is_unsafe = !are_pv(link, &own, 1) ||
				!are_pv(link, lists->active, lists->n_active) ||
				!are_pv(link, lists->passive, lists->n_passive);
	if (backtraces->is_unsafe && !was_unsafe)
		vmop_log_warning("no call stacks while an HVM or PVH domain is sampled; choose PV "
				 "domains with --passive-domains to have them");
}

uint32_t vmop_xen_backtraces_depth(const struct vmop_xen_backtraces *backtraces)
{
	return backtraces->is_unsafe ? 0 : backtraces->stacks.max_frames;
}

const char *vmop_xen_backtraces_note(const struct vmop_xen_backtraces *backtraces)
{
	return backtraces->is_unsafe
		       ? "none now, because an HVM or PVH domain is sampled, whose memory Xen "
			 "would read under locks in its NMI handler; choose PV domains with "
			 "--passive-domains"
		       : backtraces->note;
}
