// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/xen/grants.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <xengnttab.h>

#include "libutil/xen/silence.h"

static struct vmop_error *share(uint32_t refs[VMOP_WINDOW_PAGES], struct vmop_granted *ret)
{
	xengntshr_handle *handle = xengntshr_open(vmop_xen_silence(), 0);
	if (!handle)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "/dev/xen/gntalloc: %s (modprobe xen-gntalloc)",
				      strerror(errno));
	uint8_t *memory = xengntshr_share_pages(handle, 0, VMOP_WINDOW_PAGES, refs, 1);
	if (!memory) {
		int error = errno;
		xengntshr_close(handle);
		return vmop_error_new(VMOP_ERROR_CANT,
				      "memory can't be granted to dom0: %s (see the parameter "
				      "limit of xen-gntalloc)",
				      strerror(error));
	}
	*ret = (struct vmop_granted){.memory = memory, .handle = handle};
	return NULL;
}

static void unshare_pages(struct vmop_granted *granted)
{
	xengntshr_unshare(granted->handle, granted->memory, VMOP_WINDOW_PAGES);
	xengntshr_close(granted->handle);
	*granted = (struct vmop_granted){0};
}

static struct vmop_error *map(uint32_t domain, const uint32_t refs[VMOP_WINDOW_PAGES],
			      struct vmop_granted *ret)
{
	uint32_t copy[VMOP_WINDOW_PAGES]; /* the library's argument is not const */
	memcpy(copy, refs, sizeof(copy));
	xengnttab_handle *handle = xengnttab_open(vmop_xen_silence(), 0);
	if (!handle)
		return vmop_error_new(VMOP_ERROR_CANT, "/dev/xen/gntdev: %s (modprobe xen-gntdev)",
				      strerror(errno));
	uint8_t *memory = xengnttab_map_domain_grant_refs(handle, VMOP_WINDOW_PAGES, domain, copy,
							  PROT_READ | PROT_WRITE);
	if (!memory) {
		int error = errno;
		xengnttab_close(handle);
		return vmop_error_new(VMOP_ERROR_CANT,
				      "the memory that it grants can't be mapped: %s",
				      strerror(error));
	}
	*ret = (struct vmop_granted){.memory = memory, .handle = handle};
	return NULL;
}

static void unmap(struct vmop_granted *granted)
{
	xengnttab_unmap(granted->handle, granted->memory, VMOP_WINDOW_PAGES);
	xengnttab_close(granted->handle);
	*granted = (struct vmop_granted){0};
}

const struct vmop_grants_ops vmop_grants_ops = {share, unshare_pages, map, unmap};
