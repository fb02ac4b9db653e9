// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/xen/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/xen/domains.h"
#include "libguest/hypervisor-xen.h"
#include "libsym/symtab.h"
#include "libutil/cleanup.h"
#include "libutil/log.h"

/* Xen's code ends at the end of a large page (xen.lds.S: __2M_text_end). */
#define CODE_ALIGN_BYTES (UINT64_C(2) << 20)
/* The most that Xen can have: its mapping from XEN_VIRT_START on is 1 GiB long. */
#define CODE_MAX_BYTES (UINT64_C(1) << 30)

static void symtab_cleanup(struct vmop_symtab **symtab)
{
	vmop_symtab_destroy(*symtab);
}

/* ---- the running Xen -------------------------------------------------------- */

static struct vmop_error *read_hypercalls(struct vmop_symtab **ret)
{
	_cleanup_close_ int fd = memfd_create("vmop-xen-symbols", MFD_CLOEXEC);
	if (fd < 0)
		return vmop_error_os(errno, "memfd");
	struct vmop_error *err = vmop_hypervisor_xen_write_symbols(fd);
	char path[32];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return err ? err : vmop_symtab_read_kernel_image(path, ret);
}

/*
 * Read the table of the running Xen.  NULL: it cannot be read.  *ret_reason: the error then, which
 * the caller frees, or NULL.
 */
static struct vmop_symtab *read_running(const char *root, const char **ret_from, char **ret_reason)
{
	char path[4096];
	struct vmop_symtab *symtab = NULL;
	snprintf(path, sizeof(path), "%s/proc/xen/xensyms", root);
	struct vmop_error *err = vmop_symtab_read_kernel_image(path, &symtab);
	*ret_from = "/proc/xen/xensyms";
	if (err && !*root) { /* a test with its own root has no hypercalls */
		vmop_error_destroy(err);
		err = read_hypercalls(&symtab);
		*ret_from = "Xen itself (XENPF_get_symbol)";
	}
	if (!err)
		return symtab;
	*ret_reason = strdup(err->message);
	vmop_error_destroy(err);
	return NULL;
}

/* ---- is a file the running Xen's? --------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	const struct vmop_symbol *const *x = a, *const *y = b;
	return strcmp((*x)->name, (*y)->name);
}

/* Return the symbols whose names occur once in a table, sorted by name. NULL: out of memory. */
static const struct vmop_symbol **unique_names(const struct vmop_symtab *symtab, size_t *ret_n)
{
	size_t n, n_unique = 0;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	const struct vmop_symbol **list = calloc(n + 1, sizeof(*list));
	if (!list)
		return NULL;
	for (size_t i = 0; i < n; i++)
		list[i] = &symbols[i];
	qsort(list, n, sizeof(*list), by_name);
	for (size_t i = 0; i < n; i++) {
		bool is_again = (i && !strcmp(list[i]->name, list[i - 1]->name)) ||
				(i + 1 < n && !strcmp(list[i]->name, list[i + 1]->name));
		if (!is_again)
			list[n_unique++] = list[i];
	}
	*ret_n = n_unique;
	return list;
}

/* Count the names that both have, and those at the same address. False: out of memory. */
static bool compare(const struct vmop_symtab *a, const struct vmop_symtab *b, size_t *ret_shared,
		    size_t *ret_same)
{
	size_t n_a, n_b, i = 0, j = 0;
	_cleanup_free_ const struct vmop_symbol **of_a = unique_names(a, &n_a);
	_cleanup_free_ const struct vmop_symbol **of_b = unique_names(b, &n_b);
	*ret_shared = *ret_same = 0;
	if (!of_a || !of_b)
		return false;
	while (i < n_a && j < n_b) {
		int order = strcmp(of_a[i]->name, of_b[j]->name);
		if (!order) {
			++*ret_shared;
			*ret_same += of_a[i]->offset == of_b[j]->offset;
		}
		i += order <= 0;
		j += order >= 0;
	}
	return true;
}

static struct vmop_error *check_id(const char *path, const struct vmop_build_id *id,
				   const struct vmop_build_id *running_id)
{
	char of_file[2 * VMOP_BUILD_ID_MAX_BYTES + 1], of_xen[2 * VMOP_BUILD_ID_MAX_BYTES + 1];
	if (vmop_build_id_equal(id, running_id))
		return NULL;
	vmop_build_id_format(id, of_file);
	vmop_build_id_format(running_id, of_xen);
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "%s: not the running Xen's: its build-id is %s, not %s", path,
			      of_file, of_xen);
}

struct vmop_error *vmop_xen_symbols_check(const char *path, const struct vmop_symtab *symtab,
					  const struct vmop_build_id *id,
					  const struct vmop_symtab *running,
					  const struct vmop_build_id *running_id)
{
	size_t shared, same;
	if (id->len_bytes && running_id->len_bytes)
		return check_id(path, id, running_id);
	if (!running)
		return NULL;
	if (!compare(symtab, running, &shared, &same))
		return &vmop_error_no_memory;
	if (!shared)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: not the running Xen's: they have no function in common",
				      path);
	if (same < shared)
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"%s: not the running Xen's: %zu of %zu functions have other addresses",
			path, shared - same, shared);
	return NULL;
}

/* ---- files -------------------------------------------------------------------------- */

/* Read the build-id of a file; a map has none, which is no error. */
static struct vmop_build_id build_id_of(const char *path)
{
	struct vmop_build_id id = {0};
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0)
		vmop_error_destroy(vmop_build_id_of_fd(fd, path, &id));
	return id;
}

static struct vmop_error *read_given(const char *path, const struct vmop_symtab *running,
				     const struct vmop_build_id *running_id,
				     struct vmop_symtab **ret)
{
	_cleanup_(symtab_cleanup) struct vmop_symtab *symtab = NULL;
	struct vmop_error *err = vmop_symtab_read_kernel_image(path, &symtab);
	struct vmop_build_id id = build_id_of(path);
	if (!err)
		err = vmop_xen_symbols_check(path, symtab, &id, running, running_id);
	if (!err) {
		*ret = vmop_steal(&symtab);
		return NULL;
	}
	if (err != &vmop_error_no_memory)
		err->code = VMOP_ERROR_USAGE;
	return vmop_error_prefix(err, "xen");
}

/* Find the running Xen's xen-syms where distributions and Xen's `make install` put it. */
static struct vmop_symtab *find_file(const char *root, const struct vmop_build_id *running_id)
{
	static const char *const places[] = {"/usr/lib/debug/xen-syms*",
					     "/usr/lib/debug/boot/xen-syms*", "/boot/xen-syms*"};
	struct vmop_symtab *symtab = NULL;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !symtab; i++) {
		char pattern[4096];
		glob_t found = {0};
		snprintf(pattern, sizeof(pattern), "%s%s", root, places[i]);
		glob(pattern, 0, NULL, &found);
		for (size_t j = 0; j < found.gl_pathc && !symtab; j++) {
			struct vmop_build_id id = build_id_of(found.gl_pathv[j]);
			if (id.len_bytes && vmop_build_id_equal(&id, running_id))
				vmop_error_destroy(
					vmop_symtab_read_kernel_image(found.gl_pathv[j], &symtab));
		}
		globfree(&found);
	}
	return symtab;
}

/* ---- the code ------------------------------------------------------------------------- */

/* Find the bounds of Xen's code by its symbols. False: they are not Xen's. */
static bool find_code(const struct vmop_symtab *symtab, uint64_t *ret_base, uint64_t *ret_end)
{
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	uint64_t base = 0, end = 0;
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(symbols[i].name, "_stext") || (!base && symbols[i].offset >> 63))
			base = symbols[i].offset;
		if (!strcmp(symbols[i].name, "_etext"))
			end = symbols[i].offset;
	}
	if (!end && n)
		end = symbols[n - 1].offset + 1; /* sorted */
	*ret_base = base;
	*ret_end = (end + CODE_ALIGN_BYTES - 1) & ~(CODE_ALIGN_BYTES - 1);
	return base && *ret_end > base && *ret_end - base <= CODE_MAX_BYTES;
}

static bool add_code(const struct vmop_xen_domains *xen_domains, const struct vmop_symtab *symtab,
		     const struct vmop_build_id *id)
{
	uint64_t base, end;
	size_t n, first = 0;
	if (!find_code(symtab, &base, &end))
		return false;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	while (first < n && symbols[first].offset < base)
		first++;
	while (n > first && symbols[n - 1].offset >= end)
		n--;
	struct vmop_domain *xen = xen_domains->hypervisor;
	struct vmop_domains *domains = xen_domains->domains;
	struct vmop_image *image = vmop_images_new(domains->images, xen->id, VMOP_IMAGE_HYPERVISOR,
						   "[xen]", base, end - base);
	image->build_id = *id;
	image->symbols = vmop_symbols_copy(symbols + first, n - first, base);
	image->n_symbols = image->symbols ? n - first : 0;
	struct vmop_text_piece piece = {.start = base, .end = end, .image = image};
	vmop_domain_add_code(domains, xen, &piece);
	vmop_image_rename(xen->kernel, "[unknown Xen text]");
	return true;
}

struct vmop_error *vmop_xen_symbols_load(struct vmop_xen_domains *xen_domains, const char *path)
{
	struct vmop_domain *xen = xen_domains->hypervisor;
	const struct vmop_domains *domains = xen_domains->domains;
	const char *root = domains->root ? domains->root : "", *from = "none";
	_cleanup_free_ char *reason = NULL;
	struct vmop_build_id id = {0};
	if (!*root)
		id.len_bytes = (uint8_t)vmop_hypervisor_xen_build_id(id.bytes, sizeof(id.bytes));
	_cleanup_(symtab_cleanup) struct vmop_symtab *running = read_running(root, &from, &reason);
	_cleanup_(symtab_cleanup) struct vmop_symtab *file = NULL;
	if (path) {
		struct vmop_error *err = read_given(path, running, &id, &file);
		if (err)
			return err;
		from = path;
	} else if (!running && id.len_bytes) {
		file = find_file(root, &id);
		from = "xen-syms of its build-id";
	}
	const struct vmop_symtab *symtab = file ? file : running;
	if (symtab && add_code(xen_domains, symtab, &id)) {
		vmop_domain_set_symbols_from(xen, from);
		return NULL;
	}
	vmop_domain_set_symbols_from(
		xen, "none: Xen does not export them, and xen-syms was not found: see --xen");
	vmop_log_warning("Xen's functions stay addresses: %s; give xen-syms or its map with --xen",
			 reason ? reason : "its table is not valid");
	return NULL;
}
