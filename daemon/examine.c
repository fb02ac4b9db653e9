// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/examine.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/maps.h"
#include "libsym/symtab.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"
#include "libutil/io.h"
#include "libutil/log.h"

/* Reading a larger one's symbols would hold up sampling for seconds. */
#define SYMBOLS_FILE_MAX_BYTES (256ll << 20)

void vmop_examine_task(struct vmop_processes *processes, struct vmop_task *task)
{
	char text[PATH_MAX];
	if (task->is_current && processes->root) {
		if (vmop_procfs_cgroup(processes->root, task->pid, text, sizeof(text)) &&
		    (!task->cgroup || strcmp(task->cgroup->text, text) != 0)) {
			vmop_text_unref(task->cgroup);
			task->cgroup = vmop_text_new(text);
		}
		/* A thread that has no name of its own yet bears its process's. */
		ssize_t len = 0;
		if (task->tid)
			len = vmop_procfs_read(processes->root, text, VMOP_COMM_BYTES + 1,
					       "/proc/%u/task/%u/comm", task->pid, task->tid);
		if (len > 0) {
			/* A name can hold newlines; the last one is the kernel's. */
			text[len - (text[len - 1] == '\n')] = '\0';
			snprintf(task->comm, sizeof(task->comm), "%.15s", text);
		}
	}
}

/* The file itself: by the mapping, else by its path as the process sees it. -1: gone. */
static int open_image(const struct vmop_processes *processes, const struct vmop_image *image)
{
	int fd = vmop_procfs_open(processes->root, "/proc/%u/map_files/%" PRIx64 "-%" PRIx64,
				  image->pid, image->map_start, image->map_end);
	if (fd >= 0)
		return fd;
	fd = vmop_procfs_open(processes->root, "/proc/%u/root%s", image->pid, image->name);
	if (fd < 0) /* it is over */
		fd = vmop_procfs_open(processes->root, "%s", image->name);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return fd;
	/* Another file can have that path by now.  Some file systems give two device numbers. */
	if (!S_ISREG(st.st_mode) || (image->inode && st.st_ino != image->inode)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void read_build_id(struct vmop_processes *processes, struct vmop_image *image)
{
	_cleanup_close_ int fd = open_image(processes, image);
	struct vmop_build_id id;
	if (fd < 0)
		return;
	struct vmop_error *err = vmop_build_id_of_fd(fd, image->name, &id);
	if (err) /* what is mapped executable need not be an ELF file */
		vmop_log_and_destroy(VMOP_LOG_DEBUG, err);
	else
		vmop_images_identified(processes->images, image, &id);
}

void vmop_examine_image(struct vmop_processes *processes, struct vmop_image *image,
			uint64_t own_mount_ns)
{
	image->is_examined = true;
	if (!processes->root)
		return;
	if (!image->build_id.len_bytes)
		read_build_id(processes, image);
	struct vmop_process *process = vmop_processes_get(processes, image->pid);
	if (process && !process->mount_ns)
		process->mount_ns = vmop_procfs_mount_ns(processes->root, image->pid);
	if (!process || !process->mount_ns || !own_mount_ns || process->mount_ns == own_mount_ns)
		return;
	free(image->root);
	if (asprintf(&image->root, "/proc/%u/root", image->pid) < 0)
		image->root = NULL;
	image->is_stored = false;
}

static void take_symbols(struct vmop_image *image, struct vmop_symtab *symtab)
{
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	free(image->symbols);
	image->symbols = vmop_symbols_copy(symbols, n, 0);
	image->n_symbols = image->symbols ? n : 0;
	image->is_stored = false;
	vmop_symtab_destroy(symtab);
}

void vmop_examine_symbols(const struct vmop_processes *processes, struct vmop_image *image)
{
	struct vmop_symtab *symtab = NULL;
	struct stat st;
	if (!processes->root || image->kind != VMOP_IMAGE_FILE || image->alias)
		return;
	_cleanup_close_ int fd = open_image(processes, image);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > SYMBOLS_FILE_MAX_BYTES)
		return;
	struct vmop_error *err = vmop_symtab_read_elf(fd, image->name, 0, &symtab);
	if (err) /* stripped, or no ELF file */
		vmop_log_and_destroy(VMOP_LOG_DEBUG, err);
	else
		take_symbols(image, symtab);
}

struct vdso {
	uint64_t start, len_bytes;
};

static void find_vdso(void *arg, const struct vmop_maps_line *line)
{
	struct vdso *vdso = arg;
	if (line->start == vdso->start)
		vdso->len_bytes = line->end - line->start;
}

void vmop_examine_vdso(struct vmop_images *images, struct vmop_image *image)
{
	struct vdso vdso = {.start = getauxval(AT_SYSINFO_EHDR)};
	if (!vdso.start || vmop_maps_read("", (uint32_t)getpid(), find_vdso, &vdso) ||
	    !vdso.len_bytes)
		return;
	_cleanup_close_ int fd = memfd_create("vdso", MFD_CLOEXEC);
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives it as a number */
	const void *memory = (const void *)(uintptr_t)vdso.start;
	if (fd < 0 || vmop_io_write_full(fd, memory, vdso.len_bytes) != (ssize_t)vdso.len_bytes)
		return;
	struct vmop_build_id id;
	struct vmop_symtab *symtab = NULL;
	struct vmop_error *err = vmop_build_id_of_fd(fd, image->name, &id);
	if (!err)
		vmop_images_identified(images, image, &id);
	if (!err)
		err = vmop_symtab_read_elf(fd, image->name, 0, &symtab);
	if (err) {
		vmop_log_and_destroy(VMOP_LOG_DEBUG, err);
		return;
	}
	image->len_bytes = vdso.len_bytes;
	take_symbols(image, symtab);
}
