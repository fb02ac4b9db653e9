// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/hypervisor-xen.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define __XEN_TOOLS__ 1 /* NOLINT: required by xen/platform.h */
#include <xen/xen.h>
/* These need the definitions of xen.h. */
#include <xen/platform.h>
#include <xen/version.h>
#include <xencall.h>

#include "libutil/cleanup.h"
#include "libutil/xen/silence.h"

#define NAME_BYTES 256u	     /* XEN_KSYM_NAME_LEN is 127 */
#define MAX_SYMBOLS 1000000u /* 4.17 has 6,883 */

/* Return a handle for hypercalls, or NULL and set errno. */
static xencall_handle *open_call(void)
{
	return xencall_open(vmop_xen_silence(), 0);
}

static void close_call(xencall_handle **call)
{
	if (*call)
		xencall_close(*call);
}

size_t vmop_hypervisor_xen_build_id(uint8_t *ret, size_t max_bytes)
{
	_cleanup_(close_call) xencall_handle *call = open_call();
	struct xen_build_id *id = call ? xencall_alloc_buffer_pages(call, 1) : NULL;
	if (!id)
		return 0;
	id->len = (uint32_t)max_bytes;
	int len = xencall2(call, __HYPERVISOR_xen_version, XENVER_build_id, (uintptr_t)id);
	size_t got = len > 0 && (size_t)len <= max_bytes ? (size_t)len : 0;
	memcpy(ret, id->buf, got);
	xencall_free_buffer_pages(call, id, 1);
	return got;
}

/* One page that a hypercall can reach: the request, followed by the name. */
struct symbol_page {
	struct xen_platform_op op;
	char name[NAME_BYTES];
};

/*
 * Read symbol *number into page and advance *number. Return 0; 1 after the last symbol; negative on
 * failure.
 */
static int next_symbol(xencall_handle *call, struct symbol_page *page, uint32_t *number)
{
	memset(page, 0, sizeof(*page));
	page->op.cmd = XENPF_get_symbol;
	page->op.interface_version = XENPF_INTERFACE_VERSION;
	page->op.u.symdata.symnum = *number;
	page->op.u.symdata.namelen = NAME_BYTES - 1;
	set_xen_guest_handle(page->op.u.symdata.name, page->name);
	if (xencall1(call, __HYPERVISOR_platform_op, (uintptr_t)&page->op) < 0)
		return -1;
	if (page->op.u.symdata.symnum <= *number)
		return 1;
	*number = page->op.u.symdata.symnum;
	page->name[NAME_BYTES - 1] = '\0';
	return 0;
}

static bool write_symbols(FILE *out, xencall_handle *call, struct symbol_page *page)
{
	uint32_t number = 0;
	int status = 0;
	for (uint32_t n = 0; n < MAX_SYMBOLS && !(status = next_symbol(call, page, &number)); n++) {
		const struct xenpf_symdata *symbol = &page->op.u.symdata;
		if (isgraph((unsigned char)symbol->type) && *page->name)
			fprintf(out, "%016" PRIx64 " %c %s\n", symbol->address, symbol->type,
				page->name);
	}
	return status >= 0 && number;
}

struct vmop_error *vmop_hypervisor_xen_write_symbols(int fd)
{
	_cleanup_(close_call) xencall_handle *call = open_call();
	struct symbol_page *page = call ? xencall_alloc_buffer_pages(call, 1) : NULL;
	if (!page)
		return vmop_error_os(errno, "/dev/xen/privcmd");
	_Static_assert(sizeof(*page) <= 4096, "fits its buffer");
	int copy = dup(fd);
	FILE *out = copy >= 0 ? fdopen(copy, "w") : NULL;
	bool has_symbols = out && write_symbols(out, call, page);
	bool is_written = out && fclose(out) == 0;
	if (!out && copy >= 0)
		close(copy);
	xencall_free_buffer_pages(call, page, 1);
	if (!has_symbols)
		return vmop_error_new(VMOP_ERROR_CANT, "this Xen does not return its symbols");
	return is_written ? NULL : vmop_error_os(EIO, "Xen's symbols");
}
