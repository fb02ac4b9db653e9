// SPDX-License-Identifier: GPL-2.0-or-later
#include "processes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

static const struct vmop_cfi_limits limits = {.max_bytes = 1 << 30, .max_cpu_ns = 60000000000};

static void read_file(struct image *image)
{
	struct stat st;
	int fd = open(image->path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 64) {
		void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes != MAP_FAILED) {
			image->bytes = bytes;
			image->len_bytes = (size_t)st.st_size;
			vmop_error_destroy(vmop_cfi_table_build(fd, &limits, &image->table));
		}
	}
	if (fd >= 0)
		close(fd);
}

/* The vDSO of this process is that of all. */
static void read_vdso(struct image *image)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const void *)vdso;
	if (!vdso)
		return;
	image->bytes = vdso;
	image->len_bytes = header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr);
	vmop_error_destroy(
		vmop_cfi_table_build_from_memory(vdso, image->len_bytes, &limits, &image->table));
}

/* Find .eh_frame by its section, for programs without .eh_frame_hdr. */
static void read_sections(struct image *image, const Elf64_Ehdr *header)
{
	const Elf64_Shdr *sections = (const void *)(image->bytes + header->e_shoff);
	if (!header->e_shoff || header->e_shstrndx >= header->e_shnum ||
	    header->e_shoff + header->e_shnum * sizeof(*sections) > image->len_bytes)
		return;
	const char *names = (const char *)image->bytes + sections[header->e_shstrndx].sh_offset;
	for (unsigned i = 0; i < header->e_shnum; i++) {
		if (strcmp(names + sections[i].sh_name, ".eh_frame"))
			continue;
		image->eh_frame = sections[i].sh_addr;
		image->eh_frame_bytes = sections[i].sh_size;
	}
}

static void read_header(struct image *image)
{
	const Elf64_Ehdr *header = (const void *)image->bytes;
	if (!image->bytes || memcmp(header->e_ident, ELFMAG, SELFMAG) ||
	    header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != MACHINE) {
		image->bytes = NULL;
		return;
	}
	const Elf64_Phdr *segments = (const void *)(image->bytes + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type == PT_GNU_EH_FRAME)
			image->eh_frame_hdr = segments[i].p_vaddr;
		if (segments[i].p_type == PT_LOAD && image->n_loads < MAX_IMAGE_LOADS)
			image->loads[image->n_loads++] = segments[i];
	}
	read_sections(image, header);
}

static double cpu_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static struct image *get_image(struct processes *processes, const char *path)
{
	bool is_vdso = strcmp(path, "[vdso]") == 0;
	if (!is_vdso && (path[0] != '/' || path[1] == '/'))
		return NULL;
	for (struct image *image = processes->images; image; image = image->next) {
		if (strcmp(image->path, path) == 0)
			return image->bytes ? image : NULL;
	}
	struct image *image = calloc(1, sizeof(*image));
	image->path = strdup(path);
	image->next = processes->images;
	processes->images = image;
	double begun_ms = cpu_ms();
	if (is_vdso)
		read_vdso(image);
	else
		read_file(image);
	processes->build_ms += cpu_ms() - begun_ms;
	read_header(image);
	struct vmop_cfi_facts facts;
	if (image->table) {
		vmop_cfi_table_facts(image->table, &facts);
		processes->table_bytes += facts.table_bytes;
	}
	return image->bytes ? image : NULL;
}

static uint64_t bias_of(const struct image *image, uint64_t start, uint64_t offset)
{
	for (size_t i = 0; i < image->n_loads; i++) {
		const Elf64_Phdr *load = &image->loads[i];
		if (offset >= (load->p_offset & ~UINT64_C(0xfff)) &&
		    offset < load->p_offset + load->p_filesz && load->p_flags & PF_X)
			return start - offset + load->p_offset - load->p_vaddr;
	}
	return start - offset;
}

struct process *processes_get(struct processes *processes, uint32_t pid)
{
	for (struct process *process = processes->all; process; process = process->next) {
		if (process->pid == pid)
			return process;
	}
	struct process *process = calloc(1, sizeof(*process));
	process->pid = pid;
	process->next = processes->all;
	return processes->all = process;
}

static void append(struct process *process, struct mapping mapping)
{
	process->mappings =
		realloc(process->mappings, (process->n_mappings + 1) * sizeof(*process->mappings));
	process->mappings[process->n_mappings++] = mapping;
}

static int by_start(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Cut the range out of all mappings, and add the new one. */
static void replace(struct process *process, struct mapping mapping)
{
	struct mapping *old = process->mappings;
	size_t n = process->n_mappings;
	process->mappings = NULL;
	process->n_mappings = 0;
	for (size_t i = 0; i < n; i++) {
		struct mapping low = old[i], high = old[i];
		if (low.end > mapping.start)
			low.end = mapping.start;
		if (high.start < mapping.end) {
			high.offset += mapping.end - high.start;
			high.start = mapping.end;
		}
		if (low.start < low.end)
			append(process, low);
		if (high.start < high.end)
			append(process, high);
	}
	append(process, mapping);
	qsort(process->mappings, process->n_mappings, sizeof(mapping), by_start);
	free(old);
}

void processes_apply(struct processes *processes, const struct sampled *record)
{
	struct process *process = processes_get(processes, record->pid);
	if (record->kind == SAMPLED_EXEC) {
		process->n_mappings = 0;
	} else if (record->kind == SAMPLED_FORK) {
		const struct process *parent = processes_get(processes, record->parent);
		process->n_mappings = 0;
		for (size_t i = 0; i < parent->n_mappings; i++)
			append(process, parent->mappings[i]);
	} else if (record->kind == SAMPLED_MMAP) {
		struct image *image = get_image(processes, record->path);
		uint64_t offset = image && image->path[0] == '[' ? 0 : record->offset;
		replace(process, (struct mapping){
					 .start = record->start,
					 .end = record->start + record->len_bytes,
					 .offset = offset,
					 .image = image,
					 .bias = image ? bias_of(image, record->start, offset) : 0,
				 });
	}
}

const struct mapping *process_find(const struct process *process, uint64_t address)
{
	size_t low = 0, high = process->n_mappings;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct mapping *mapping = &process->mappings[middle];
		if (address < mapping->start)
			high = middle;
		else if (address >= mapping->end)
			low = middle + 1;
		else
			return mapping;
	}
	return NULL;
}

bool process_find_code(void *arg, uint64_t address, struct vmop_code_piece *ret)
{
	const struct mapping *mapping = process_find(arg, address);
	if (!mapping)
		return false;
	*ret = (struct vmop_code_piece){
		.start = mapping->start,
		.end = mapping->end,
		.offset = mapping->offset,
		.table = mapping->image ? mapping->image->table : NULL,
	};
	ret->state = ret->table ? VMOP_CODE_HAS_TABLE : VMOP_CODE_NO_TABLE;
	return true;
}

bool image_read(const struct image *image, uint64_t elf_address, void *to, size_t len_bytes)
{
	for (size_t i = 0; i < image->n_loads; i++) {
		uint64_t at = elf_address - image->loads[i].p_vaddr;
		if (at >= image->loads[i].p_filesz || len_bytes > image->loads[i].p_filesz - at ||
		    image->loads[i].p_offset + at + len_bytes > image->len_bytes)
			continue;
		memcpy(to, image->bytes + image->loads[i].p_offset + at, len_bytes);
		return true;
	}
	return false;
}

void processes_free(struct processes *processes)
{
	while (processes->all) {
		struct process *process = processes->all;
		processes->all = process->next;
		free(process->mappings);
		free(process);
	}
	while (processes->images) {
		struct image *image = processes->images;
		processes->images = image->next;
		vmop_cfi_table_destroy(image->table);
		if (image->bytes && image->path[0] == '/')
			munmap((void *)image->bytes, image->len_bytes);
		free(image->search_table);
		free(image->path);
		free(image);
	}
}
