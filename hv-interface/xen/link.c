// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/xen/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hv-interface/xen/xenoprof-abi.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"

#define PAGE_BYTES 4096u
#define BOUNCE_BYTES (4 * PAGE_BYTES)

/*
 * Copies from Linux's include/uapi/xen/privcmd.h, because the installed header needs one of Xen's
 * that is not installed.
 */
struct hypercall {
	uint64_t op;
	uint64_t arg[5];
};

struct map_batch {
	uint32_t n_frames;
	uint16_t domain_id;
	uint64_t address;
	const unsigned long *frames;
	int *errors; /* for each frame: 0 or a negative errno */
};

#define PRIVCMD_HYPERCALL _IOC(_IOC_NONE, 'P', 0, sizeof(struct hypercall))
#define PRIVCMD_MAP_BATCH _IOC(_IOC_NONE, 'P', 4, sizeof(struct map_batch))

_Static_assert(sizeof(struct hypercall) == 48, "privcmd_hypercall");
_Static_assert(offsetof(struct map_batch, address) == 8, "privcmd_mmapbatch_v2");
_Static_assert(sizeof(struct map_batch) == 16 + 2 * sizeof(void *), "privcmd_mmapbatch_v2");

struct privcmd_link {
	struct vmop_xen_link base;
	int privcmd_fd, hypercall_fd;
	/* BOUNCE_BYTES that the kernel neither moves nor swaps, for hypercalls' arguments */
	char *bounce;
};

static struct privcmd_link *to_privcmd(struct vmop_xen_link *link)
{
	return (struct privcmd_link *)link;
}

static int make_call(struct privcmd_link *privcmd, struct hypercall *call)
{
	int status = ioctl(privcmd->privcmd_fd, PRIVCMD_HYPERCALL, call);
	return status < 0 ? -errno : status;
}

static int privcmd_xenoprof(struct vmop_xen_link *link, unsigned op, void *arg, size_t len_bytes)
{
	struct privcmd_link *privcmd = to_privcmd(link);
	struct hypercall call = {
		.op = VMOP_XEN_HYPERCALL_XENOPROF,
		.arg = {op, (uintptr_t)privcmd->bounce},
	};
	if (len_bytes > PAGE_BYTES)
		return -E2BIG;
	if (arg)
		memcpy(privcmd->bounce, arg, len_bytes);
	int answer = make_call(privcmd, &call);
	if (arg)
		memcpy(arg, privcmd->bounce, len_bytes);
	return answer;
}

static void privcmd_unmap(struct vmop_xen_link *link, void *memory, size_t n_pages)
{
	(void)link;
	munmap(memory, n_pages * PAGE_BYTES);
}

static void *privcmd_map(struct vmop_xen_link *link, uint64_t address, size_t n_pages)
{
	unsigned long frames[VMOP_XENOPROF_PAGES_MAX];
	int errors[VMOP_XENOPROF_PAGES_MAX] = {0};
	int fd = to_privcmd(link)->privcmd_fd;
	if (n_pages == 0 || n_pages > VMOP_XENOPROF_PAGES_MAX) {
		errno = EINVAL;
		return NULL;
	}
	for (size_t i = 0; i < n_pages; i++)
		frames[i] = address / PAGE_BYTES + i;
	void *memory = mmap(NULL, n_pages * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return NULL;
	struct map_batch batch = {
		.n_frames = (uint32_t)n_pages,
		.domain_id = VMOP_XEN_DOMID_SELF,
		.address = (uintptr_t)memory,
		.frames = frames,
		.errors = errors,
	};
	int status = ioctl(fd, PRIVCMD_MAP_BATCH, &batch);
	int error = status < 0 ? errno : 0;
	for (size_t i = 0; i < n_pages && !error; i++)
		error = -errors[i];
	if (!error)
		return memory;
	munmap(memory, n_pages * PAGE_BYTES);
	errno = error;
	return NULL;
}

/* xen/include/public/hvm/hvm_op.h: struct xen_hvm_param */
struct hvm_parameter {
	uint16_t domain;
	uint16_t padding;
	uint32_t index;
	uint64_t value;
};

/* Ask for a parameter that every HVM domain has. Xen returns EINVAL for a PV domain. */
static int privcmd_is_hvm(struct vmop_xen_link *link, uint16_t domain)
{
	struct privcmd_link *privcmd = to_privcmd(link);
	const struct hvm_parameter parameter = {.domain = domain};
	struct hypercall call = {
		.op = VMOP_XEN_HYPERCALL_HVM,
		.arg = {VMOP_XEN_HVM_GET_PARAM, (uintptr_t)privcmd->bounce},
	};
	memcpy(privcmd->bounce, &parameter, sizeof(parameter));
	int answer = make_call(privcmd, &call);
	if (answer >= 0)
		return 1;
	return answer == -EINVAL || answer == -ENOSYS ? 0 : answer;
}

/* xen/include/public/hypfs.h: struct xen_hypfs_direntry */
struct hypfs_entry {
	uint8_t type, encoding;
	uint16_t padding;
	uint32_t content_bytes, max_write_bytes;
};

enum { HYPFS_READ = 1, HYPFS_GZIP = 1 };

static int privcmd_read_config(struct vmop_xen_link *link, void *buf, size_t size_bytes)
{
	static const char path[] = "/buildinfo/config";
	struct privcmd_link *privcmd = to_privcmd(link);
	const size_t at = 64, room = BOUNCE_BYTES - at;
	struct hypercall call = {
		.op = VMOP_XEN_HYPERCALL_HYPFS,
		.arg = {HYPFS_READ, (uintptr_t)privcmd->bounce, sizeof(path),
			(uintptr_t)privcmd->bounce + at, room},
	};
	struct hypfs_entry entry;
	_Static_assert(sizeof(path) <= 64 && sizeof(entry) == 12, "xen_hypfs_direntry");
	memcpy(privcmd->bounce, path, sizeof(path));
	int answer = make_call(privcmd, &call);
	if (answer < 0)
		return answer;
	memcpy(&entry, privcmd->bounce + at, sizeof(entry));
	if (entry.encoding != HYPFS_GZIP)
		return -EPROTO;
	if (entry.content_bytes > size_bytes || entry.content_bytes > room - sizeof(entry))
		return -ENOBUFS;
	memcpy(buf, privcmd->bounce + at + sizeof(entry), entry.content_bytes);
	return (int)entry.content_bytes;
}

static void privcmd_close(struct vmop_xen_link *link)
{
	struct privcmd_link *privcmd = to_privcmd(link);
	if (privcmd->bounce)
		munmap(privcmd->bounce, BOUNCE_BYTES);
	if (privcmd->hypercall_fd >= 0)
		close(privcmd->hypercall_fd);
	if (privcmd->privcmd_fd >= 0)
		close(privcmd->privcmd_fd);
	free(privcmd);
}

static const struct vmop_xen_link_ops privcmd_ops = {
	.xenoprof = privcmd_xenoprof,
	.map = privcmd_map,
	.unmap = privcmd_unmap,
	.is_hvm = privcmd_is_hvm,
	.read_config = privcmd_read_config,
	.close = privcmd_close,
};

bool vmop_xen_is_control_domain(const char *root)
{
	char path[256];
	_cleanup_free_ char *text = NULL;
	size_t len_bytes;
	snprintf(path, sizeof(path), "%s/proc/xen/capabilities", root ? root : "");
	struct vmop_error *err = vmop_io_read_file(path, 4096, &text, &len_bytes);
	if (err) {
		vmop_error_destroy(err);
		return false;
	}
	return strstr(text, "control_d") != NULL;
}

static struct vmop_error *open_device(const char *path, const char *module, int *ret)
{
	*ret = open(path, O_RDWR | O_CLOEXEC);
	if (*ret >= 0)
		return NULL;
	if (errno == EACCES || errno == EPERM)
		return vmop_error_new(VMOP_ERROR_CANT, "%s: no permission; run vmopd as root",
				      path);
	if (errno == ENOENT || errno == ENODEV || errno == ENXIO)
		return vmop_error_new(VMOP_ERROR_CANT, "%s is missing; modprobe %s creates it",
				      path, module);
	return vmop_error_os(errno, "%s", path);
}

/*
 * Open the devices. Memory of /dev/xen/hypercall is safe for a hypercall; the kernel could move a
 * process's own memory meanwhile (Linux 4.18: drivers/xen/privcmd-buf.c).
 */
static struct vmop_error *open_all(struct privcmd_link *privcmd)
{
	struct vmop_error *err =
		open_device("/dev/xen/privcmd", "xen-privcmd", &privcmd->privcmd_fd);
	if (!err)
		err = open_device("/dev/xen/hypercall", "xen-privcmd", &privcmd->hypercall_fd);
	if (err)
		return err;
	void *bounce = mmap(NULL, BOUNCE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			    privcmd->hypercall_fd, 0);
	if (bounce == MAP_FAILED)
		return vmop_error_os(errno, "/dev/xen/hypercall: memory for hypercalls");
	privcmd->bounce = bounce;
	memset(bounce, 0, BOUNCE_BYTES);
	return NULL;
}

bool vmop_xen_is_domu(void)
{
	_cleanup_free_ char *text = NULL;
	size_t len_bytes;
	if (vmop_xen_is_control_domain(NULL))
		return false;
	struct vmop_error *err = vmop_io_read_file("/sys/hypervisor/type", 4096, &text, &len_bytes);
	bool is_xen = !err && !strncmp(text, "xen", 3);
	vmop_error_destroy(err);
	return is_xen;
}

static struct vmop_error *open_link(struct vmop_xen_link **ret)
{
	struct privcmd_link *privcmd = malloc(sizeof(*privcmd));
	if (!privcmd)
		return &vmop_error_no_memory;
	*privcmd = (struct privcmd_link){
		.base.ops = &privcmd_ops,
		.privcmd_fd = -1,
		.hypercall_fd = -1,
	};
	struct vmop_error *err = open_all(privcmd);
	if (err)
		privcmd_close(&privcmd->base);
	else
		*ret = &privcmd->base;
	return err;
}

struct vmop_error *vmop_xen_link_open(struct vmop_xen_link **ret)
{
	if (!vmop_xen_is_control_domain(NULL))
		return vmop_error_new(VMOP_ERROR_NOT_FOUND,
				      "this is not Xen's control domain (/proc/xen/capabilities "
				      "lacks control_d)");
	return open_link(ret);
}

/* An operation that Xen does not have. Xen returns EINVAL, or ENOSYS where it has no xenoprof. */
#define NO_OPERATION 0xffu

struct vmop_error *vmop_xen_link_open_domu(struct vmop_xen_link **ret)
{
	if (!vmop_xen_is_domu())
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "this is no domU of Xen's");
	struct vmop_error *err = open_link(ret);
	if (err || privcmd_xenoprof(*ret, NO_OPERATION, NULL, 0) != -EPERM)
		return err;
	privcmd_close(*ret);
	return vmop_error_new(VMOP_ERROR_CANT,
			      "this kernel lets no program in a domU make hypercalls; load the "
			      "kernel module (modprobe vmop), or allow it: modprobe -r "
			      "xen-privcmd; modprobe xen-privcmd unrestricted=1");
}
