// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/examine.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/host/image-file.h"
#include "daemon/host/maps.h"
#include "libsym/symtab.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"
#include "libutil/io.h"
#include "libutil/log.h"
#include "libutil/readers.h"

/* The size of a file whose symbols are read. */
#define SYMBOLS_FILE_MAX_BYTES (256ll << 20)

/* A flush's wait for files. The rings have room for that time. */
#define FLUSH_WAIT_MS 100
#define LAST_WAIT_MS 2000
/* The time limit of a read, enough for slow disks. */
#define FILE_MS 2000

void vmop_examine_task(struct vmop_processes *processes, struct vmop_task *task)
{
	char text[PATH_MAX];
	if (task->is_current && processes->root) {
		if (vmop_procfs_cgroup(processes->root, task->pid, text, sizeof(text)) &&
		    (!task->cgroup || strcmp(task->cgroup->text, text) != 0)) {
			vmop_text_unref(task->cgroup);
			task->cgroup = vmop_text_new(text);
		}
		/* A thread without a name has its process's name until this read. */
		ssize_t len = 0;
		if (task->tid)
			len = vmop_procfs_read(processes->root, text, VMOP_COMM_BYTES + 1,
					       "/proc/%u/task/%u/comm", task->pid, task->tid);
		if (len > 0) {
			/* A name can contain newlines. The kernel appends the last one. */
			text[len - (text[len - 1] == '\n')] = '\0';
			snprintf(task->comm, sizeof(task->comm), "%.15s", text);
		}
	}
}

/* ---- files ----------------------------------------------------------------- */

struct vmop_examiner {
	struct vmop_processes *processes;
	struct vmop_readers *readers; /* NULL: a replay, without files */
	uint64_t own_mount_ns;
	bool keeps_symbols;
	bool is_behind; /* a read took longer than the last wait */
};

/* The read of one file. */
struct examination {
	struct vmop_read_job job;
	struct vmop_image *image; /* the owner's, referenced */
	struct vmop_image_file file;
	bool wants_symbols;
	/* The result. */
	struct vmop_build_id build_id;
	struct vmop_symbol *symbols;
	size_t n_symbols;
	struct vmop_error *err;
};

static struct vmop_error *read_symbols(struct examination *examination, int fd)
{
	struct vmop_symtab *symtab = NULL;
	struct vmop_error *err =
		vmop_io_check_regular(fd, examination->file.name, SYMBOLS_FILE_MAX_BYTES);
	if (!err)
		err = vmop_symtab_read_elf(fd, examination->file.name, 0, &symtab);
	if (err)
		return err;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &examination->n_symbols);
	examination->symbols = vmop_symbols_copy(symbols, examination->n_symbols, 0);
	vmop_symtab_destroy(symtab);
	return NULL;
}

/* Read the file, on a reader's thread. */
static void run_examination(struct vmop_read_job *job)
{
	struct examination *examination = (struct examination *)job;
	_cleanup_close_ int fd = -1;
	examination->err = vmop_image_file_open(&examination->file, &fd);
	if (examination->err)
		return;
	/* A file that is mapped executable need not be an ELF file. */
	struct vmop_error *err =
		vmop_build_id_of_fd(fd, examination->file.name, &examination->build_id);
	if (!err && examination->wants_symbols)
		err = read_symbols(examination, fd);
	vmop_log_and_destroy(VMOP_LOG_DEBUG, err);
}

static void finish_examination(struct vmop_read_job *job, enum vmop_read_outcome outcome, void *arg)
{
	struct examination *examination = (struct examination *)job;
	struct vmop_examiner *examiner = arg;
	struct vmop_image *image = examination->image;
	if (outcome == VMOP_READ_HUNG) {
		vmop_image_set_note(image, "its file did not answer when it was read");
		return;
	}
	if (outcome == VMOP_READ_REFUSED) {
		vmop_image_set_note(image, "its file was not read: its file system hangs, or too "
					   "many others do");
	} else if (examination->err && examination->err->os_errno != ENOENT) {
		vmop_image_set_note(image, examination->err->message);
	} else {
		vmop_image_set_note(image, NULL);
		vmop_images_identified(examiner->processes->images, image, &examination->build_id);
		if (examination->symbols && !image->alias)
			vmop_image_take_symbols(image, &examination->symbols,
						examination->n_symbols);
	}
	vmop_image_unref(examiner->processes->images, image);
}

static void destroy_examination(struct vmop_read_job *job)
{
	struct examination *examination = (struct examination *)job;
	vmop_error_destroy(examination->err);
	free(examination->symbols);
	vmop_image_file_deinit(&examination->file);
	free(examination);
}

static const struct vmop_read_job_ops examination_ops = {
	.run = run_examination,
	.finish = finish_examination,
	.destroy = destroy_examination,
};

/* Submit a read of image's file. Without memory there is no read. */
static void ask(struct vmop_examiner *examiner, struct vmop_image *image)
{
	struct examination *examination = calloc(1, sizeof(*examination));
	if (!examination)
		return;
	*examination = (struct examination){
		.job.ops = &examination_ops,
		.image = image,
		.wants_symbols = examiner->keeps_symbols && image->kind == VMOP_IMAGE_FILE,
	};
	if (!vmop_image_file_init(&examination->file, image, examiner->processes->root)) {
		free(examination);
		return;
	}
	examination->job.place = examination->file.place;
	vmop_image_ref(image);
	/* The note of a row that is stored before the file is read. */
	vmop_image_set_note(image, "its file was not read before the session ended");
	vmop_readers_submit(examiner->readers, &examination->job);
}

void vmop_examine_image(struct vmop_examiner *examiner, struct vmop_image *image)
{
	struct vmop_processes *processes = examiner->processes;
	vmop_image_mark_examined(image);
	if (!examiner->readers)
		return;
	if (!image->build_id.len_bytes || examiner->keeps_symbols)
		ask(examiner, image);
	struct vmop_process *process = vmop_processes_get(processes, image->pid);
	if (process && !process->mount_ns)
		process->mount_ns = vmop_procfs_mount_ns(processes->root, image->pid);
	if (!process || !process->mount_ns || !examiner->own_mount_ns ||
	    process->mount_ns == examiner->own_mount_ns)
		return;
	char *root;
	vmop_image_set_root(image, asprintf(&root, "/proc/%u/root", image->pid) < 0 ? NULL : root);
}

void vmop_examiner_collect(struct vmop_examiner *examiner, bool is_last)
{
	if (!examiner->readers)
		return;
	if (is_last)
		vmop_readers_collect_last(examiner->readers, LAST_WAIT_MS);
	else
		examiner->is_behind = !vmop_readers_collect(
			examiner->readers, examiner->is_behind ? 0 : FLUSH_WAIT_MS);
}

struct vmop_error *vmop_examiner_create(struct vmop_processes *processes, uint64_t own_mount_ns,
					bool keeps_symbols, struct vmop_examiner **ret)
{
	struct vmop_examiner *examiner = calloc(1, sizeof(*examiner));
	if (!examiner)
		return &vmop_error_no_memory;
	examiner->processes = processes;
	examiner->own_mount_ns = own_mount_ns;
	examiner->keeps_symbols = keeps_symbols;
	struct vmop_error *err = processes->root ? vmop_readers_create("vmopd-files", FILE_MS,
								       processes->reader_nice,
								       examiner, &examiner->readers)
						 : NULL;
	if (err) {
		free(examiner);
		return err;
	}
	*ret = examiner;
	return NULL;
}

void vmop_examiner_destroy(struct vmop_examiner *examiner)
{
	if (!examiner)
		return;
	vmop_readers_destroy(examiner->readers);
	free(examiner);
}

/* ---- the vDSO -------------------------------------------------------------- */

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
	if (!vdso.start || vmop_maps_read(NULL, "", (uint32_t)getpid(), find_vdso, &vdso) ||
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
	vmop_image_set_length(image, vdso.len_bytes);
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	if (n)
		vmop_image_copy_symbols(image, symbols, n, 0);
	vmop_symtab_destroy(symtab);
}
