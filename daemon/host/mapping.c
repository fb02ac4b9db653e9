// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/mapping.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define ADDRESS_32BIT_END 0x100000000ull

static bool begins_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/*
 * Return the label of generated code at a mapping's path, or NULL if the path is that of a file.
 * The names are from fs/proc/task_mmu.c, mm/shmem.c, ipc/shm.c, mm/memfd.c and
 * kernel/events/core.c (perf_event_mmap_event).
 */
static const char *anonymous_label(const char *path)
{
	static const struct {
		const char *start, *label;
	} kinds[] = {
		{"//anon", "anon"},	    {"[heap]", "heap"},	  {"[stack", "stack"},
		{"[anon", "anon"},	    {"/memfd:", "memfd"}, {"/dev/zero", "anon"},
		{"/anon_hugepage", "anon"}, {"/SYSV", "shm"},	  {"/[aio]", "anon"},
		{"anon_inode:", "anon"},
	};
	if (!*path)
		return "anon";
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (begins_with(path, kinds[i].start))
			return kinds[i].label;
	return *path == '/' || *path == '[' ? NULL : "anon";
}

/*
 * Find or make the image of a region of generated code. A region that grows, or is mapped again
 * with other permissions, keeps its image, because offsets are addresses.
 */
static struct vmop_image *anonymous_image(struct vmop_processes *processes,
					  const struct vmop_process *process,
					  const struct vmop_mapping *mapping, const char *label)
{
	const struct vmop_region *near = vmop_regions_find(process->regions, mapping->start);
	if (!near || near->image->kind != VMOP_IMAGE_ANON)
		near = vmop_regions_find(process->regions, mapping->start - 1);
	if (!near || near->image->kind != VMOP_IMAGE_ANON)
		near = vmop_regions_find(process->regions, mapping->end);
	if (near && near->image->kind == VMOP_IMAGE_ANON) {
		vmop_image_widen(near->image, mapping->start, mapping->end);
		return vmop_image_ref(near->image);
	}
	char name[96];
	snprintf(name, sizeof(name), "[%s %s %u 0x%" PRIx64 "]", label, process->task.comm,
		 process->pid, mapping->start);
	struct vmop_image *image = vmop_images_new(processes->images, VMOP_DOMAIN_ID_HOST,
						   VMOP_IMAGE_ANON, name, 0, 0);
	if (image->kind != VMOP_IMAGE_ANON)
		return image; /* no room: the image is VMOP_UNATTRIBUTED_IMAGE_LIMIT */
	vmop_image_set_generated(image, process->pid, process->start_ns, mapping->start,
				 mapping->end);
	return image;
}

/* Return path without the suffix that the kernel appends to an unlinked file's path. */
static const char *file_path(const char *path, char *buf, size_t size)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(path), tail = sizeof(deleted) - 1;
	if (len <= tail || strcmp(path + len - tail, deleted) != 0)
		return path;
	snprintf(buf, size, "%.*s", (int)(len - tail), path);
	return buf;
}

static struct vmop_image *file_image(struct vmop_processes *processes, struct vmop_process *process,
				     const struct vmop_mapping *mapping)
{
	char buf[PATH_MAX];
	struct vmop_mapped_file file = {
		.path = file_path(mapping->path, buf, sizeof(buf)),
		.dev_major = mapping->dev_major,
		.dev_minor = mapping->dev_minor,
		.inode = mapping->inode,
		.build_id = mapping->build_id,
		.pid = process->pid,
		.map_start = mapping->start,
		.map_end = mapping->end,
	};
	struct vmop_image *image = vmop_images_file(processes->images, &file);
	if (process->wants_exe) {
		vmop_task_set_exe(processes->tasks, &process->task, vmop_image_ref(image));
		process->wants_exe = false;
	}
	return image;
}

void vmop_mapping_add(struct vmop_processes *processes, struct vmop_process *process,
		      const struct vmop_mapping *mapping)
{
	struct vmop_region region = {.start = mapping->start, .end = mapping->end};
	const char *label = anonymous_label(mapping->path);
	bool is_elf = mapping->build_id && mapping->build_id->len_bytes;
	if (label && !is_elf) {
		region.image = anonymous_image(processes, process, mapping, label);
		region.offset = mapping->start;
	} else if (*mapping->path == '[') {
		/* 32-bit programs have another vDSO. */
		bool is_vdso32 = !strcmp(mapping->path, "[vdso]") && sizeof(void *) == 8 &&
				 mapping->end <= ADDRESS_32BIT_END;
		bool is_vdso = begins_with(mapping->path, "[vdso");
		region.image = vmop_images_named(processes->images, VMOP_DOMAIN_ID_HOST,
						 is_vdso ? VMOP_IMAGE_VDSO : VMOP_IMAGE_TRAMPOLINE,
						 is_vdso32 ? "[vdso32]" : mapping->path, 0,
						 mapping->end - mapping->start);
	} else {
		region.image = file_image(processes, process, mapping);
		region.offset = mapping->file_offset_bytes;
		if (region.image->is_jitdump)
			process->jitdump_at = mapping->start;
	}
	vmop_regions_insert(&process->regions, &region, processes->images, &processes->budget);
}
