// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/elf/elf-file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"

/* -ffunction-sections makes some megabytes of section names. */
#define MAX_SECTION_NAMES_BYTES ((uint64_t)64 << 20)

struct vmop_error *vmop_elf_open_path(int root_fd, const char *path, int *ret_fd)
{
	return vmop_io_open_regular(root_fd, path, VMOP_IO_IN_ROOT, INT64_MAX, ret_fd);
}

bool vmop_elf_read_at(const struct vmop_elf_file *elf, uint64_t offset, void *ret, size_t len_bytes)
{
	if (offset > elf->len_bytes || elf->len_bytes - offset < len_bytes)
		return false;
	if (elf->fd >= 0)
		return vmop_io_pread_full(elf->fd, ret, len_bytes, offset) == (ssize_t)len_bytes;
	memcpy(ret, elf->image + offset, len_bytes);
	return true;
}

static bool is_32_bit(const struct vmop_elf_file *elf)
{
	return elf->header.e_ident[EI_CLASS] == ELFCLASS32;
}

/* Convert len_bytes to this machine's byte order in place. */
static bool translate(const struct vmop_elf_file *elf, Elf_Type type, void *bytes, size_t len_bytes)
{
	Elf_Data data = {
		.d_buf = bytes,
		.d_type = type,
		.d_version = EV_CURRENT,
		.d_size = len_bytes,
	};
	Elf_Data from = data;
	unsigned order = elf->header.e_ident[EI_DATA];
	return is_32_bit(elf) ? elf32_xlatetom(&data, &from, order) != NULL
			      : elf64_xlatetom(&data, &from, order) != NULL;
}

/* Convert structs of the 32-bit class to the 64-bit class. */

static GElf_Ehdr widen_header(const Elf32_Ehdr *from)
{
	GElf_Ehdr header = {
		.e_type = from->e_type,
		.e_machine = from->e_machine,
		.e_version = from->e_version,
		.e_entry = from->e_entry,
		.e_phoff = from->e_phoff,
		.e_shoff = from->e_shoff,
		.e_flags = from->e_flags,
		.e_ehsize = from->e_ehsize,
		.e_phentsize = from->e_phentsize,
		.e_phnum = from->e_phnum,
		.e_shentsize = from->e_shentsize,
		.e_shnum = from->e_shnum,
		.e_shstrndx = from->e_shstrndx,
	};
	memcpy(header.e_ident, from->e_ident, EI_NIDENT);
	return header;
}

static GElf_Shdr widen_section(const Elf32_Shdr *from)
{
	return (GElf_Shdr){
		.sh_name = from->sh_name,
		.sh_type = from->sh_type,
		.sh_flags = from->sh_flags,
		.sh_addr = from->sh_addr,
		.sh_offset = from->sh_offset,
		.sh_size = from->sh_size,
		.sh_link = from->sh_link,
		.sh_info = from->sh_info,
		.sh_addralign = from->sh_addralign,
		.sh_entsize = from->sh_entsize,
	};
}

static GElf_Phdr widen_segment(const Elf32_Phdr *from)
{
	return (GElf_Phdr){
		.p_type = from->p_type,
		.p_flags = from->p_flags,
		.p_offset = from->p_offset,
		.p_vaddr = from->p_vaddr,
		.p_paddr = from->p_paddr,
		.p_filesz = from->p_filesz,
		.p_memsz = from->p_memsz,
		.p_align = from->p_align,
	};
}

static bool read_header(struct vmop_elf_file *elf)
{
	unsigned char *ident = elf->header.e_ident;
	Elf32_Ehdr narrow;

	if (!vmop_elf_read_at(elf, 0, ident, EI_NIDENT) || memcmp(ident, ELFMAG, SELFMAG) != 0 ||
	    (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB))
		return false;
	if (ident[EI_CLASS] == ELFCLASS64)
		return vmop_elf_read_at(elf, 0, &elf->header, sizeof(elf->header)) &&
		       translate(elf, ELF_T_EHDR, &elf->header, sizeof(elf->header));
	if (ident[EI_CLASS] != ELFCLASS32 || !vmop_elf_read_at(elf, 0, &narrow, sizeof(narrow)) ||
	    !translate(elf, ELF_T_EHDR, &narrow, sizeof(narrow)))
		return false;
	elf->header = widen_header(&narrow);
	return true;
}

/* Charge memory that vmop_elf_destroy() returns. */
static bool charge(struct vmop_elf_file *elf, uint64_t len_bytes)
{
	if (!vmop_sym_budget_take_memory(elf->budget, len_bytes))
		return false;
	elf->charged_bytes += len_bytes;
	return vmop_sym_budget_take_read(elf->budget, len_bytes);
}

/* A table of headers of equal size: of sections or of segments. */
struct header_table {
	Elf_Type type;
	uint64_t offset; /* in the file */
	size_t n;
	size_t narrow_bytes, wide_bytes; /* of a header, in the 32-bit and the 64-bit class */
	void (*widen)(const char *narrow, char *wide);
};

/*
 * Set *ret to the table's headers in the 64-bit class, on the heap, and *ret_n to their number: 0
 * if the table is damaged.
 */
static struct vmop_error *read_table(struct vmop_elf_file *elf, const struct header_table *table,
				     void **ret, size_t *ret_n)
{
	size_t n = table->n, each_bytes = is_32_bit(elf) ? table->narrow_bytes : table->wide_bytes;
	if (!charge(elf, n * table->wide_bytes))
		return vmop_sym_budget_error(elf->budget, elf->path);
	char *wide = *ret = calloc(n + 1, table->wide_bytes);
	if (!wide)
		return &vmop_error_no_memory;
	/* Read the 32-bit headers to the end of the buffer, then widen them from its start. */
	char *raw = wide + n * (table->wide_bytes - each_bytes);
	if (!vmop_elf_read_at(elf, table->offset, raw, n * each_bytes) ||
	    !translate(elf, table->type, raw, n * each_bytes))
		return NULL;
	for (size_t i = 0; i < n && is_32_bit(elf); i++)
		table->widen(raw + i * each_bytes, wide + i * table->wide_bytes);
	*ret_n = n;
	return NULL;
}

static void widen_section_in_place(const char *narrow, char *wide)
{
	Elf32_Shdr from;
	memcpy(&from, narrow, sizeof(from));
	GElf_Shdr to = widen_section(&from);
	memcpy(wide, &to, sizeof(to));
}

static void widen_segment_in_place(const char *narrow, char *wide)
{
	Elf32_Phdr from;
	memcpy(&from, narrow, sizeof(from));
	GElf_Phdr to = widen_segment(&from);
	memcpy(wide, &to, sizeof(to));
}

static struct vmop_error *read_sections(struct vmop_elf_file *elf, size_t n)
{
	const struct header_table table = {.type = ELF_T_SHDR,
					   .offset = elf->header.e_shoff,
					   .n = n,
					   .narrow_bytes = sizeof(Elf32_Shdr),
					   .wide_bytes = sizeof(Elf64_Shdr),
					   .widen = widen_section_in_place};
	void *sections = NULL;
	struct vmop_error *err = read_table(elf, &table, &sections, &elf->n_sections);
	elf->sections = sections;
	return err;
}

/* A damaged table of segments leaves the sections readable. */
static struct vmop_error *read_segments(struct vmop_elf_file *elf, size_t n)
{
	const struct header_table table = {.type = ELF_T_PHDR,
					   .offset = elf->header.e_phoff,
					   .n = n,
					   .narrow_bytes = sizeof(Elf32_Phdr),
					   .wide_bytes = sizeof(Elf64_Phdr),
					   .widen = widen_segment_in_place};
	void *segments = NULL;
	struct vmop_error *err = read_table(elf, &table, &segments, &elf->n_segments);
	elf->segments = segments;
	return err;
}

/* Numbers too large for the ELF header are in the first section header (gabi, "e_shnum"). */
static bool read_first_section(struct vmop_elf_file *elf, GElf_Shdr *ret)
{
	Elf32_Shdr narrow;
	if (!is_32_bit(elf))
		return vmop_elf_read_at(elf, elf->header.e_shoff, ret, sizeof(*ret)) &&
		       translate(elf, ELF_T_SHDR, ret, sizeof(*ret));
	if (!vmop_elf_read_at(elf, elf->header.e_shoff, &narrow, sizeof(narrow)) ||
	    !translate(elf, ELF_T_SHDR, &narrow, sizeof(narrow)))
		return false;
	*ret = widen_section(&narrow);
	return true;
}

static struct vmop_error *read_tables(struct vmop_elf_file *elf)
{
	const GElf_Ehdr *header = &elf->header;
	uint64_t n_sections = header->e_shnum, n_segments = header->e_phnum;
	GElf_Shdr first = {0};

	if (header->e_shoff && (!n_sections || n_segments == PN_XNUM) &&
	    read_first_section(elf, &first)) {
		n_sections = n_sections ? n_sections : first.sh_size;
		n_segments = n_segments == PN_XNUM ? first.sh_info : n_segments;
	}
	if (!header->e_shoff)
		n_sections = 0;
	if (!header->e_phoff)
		n_segments = 0;
	if (n_sections > VMOP_ELF_MAX_SECTIONS)
		vmop_sym_budget_spend(elf->budget, VMOP_SYM_COST_SECTIONS);
	else if (n_segments > VMOP_ELF_MAX_SEGMENTS)
		vmop_sym_budget_spend(elf->budget, VMOP_SYM_COST_SEGMENTS);
	if (n_sections > VMOP_ELF_MAX_SECTIONS || n_segments > VMOP_ELF_MAX_SEGMENTS)
		return vmop_sym_budget_error(elf->budget, elf->path);
	struct vmop_error *err = read_sections(elf, n_sections);
	return err ? err : read_segments(elf, n_segments);
}

static struct vmop_error *read_section_names(struct vmop_elf_file *elf)
{
	size_t index = elf->header.e_shstrndx;
	if (index == SHN_XINDEX && elf->n_sections)
		index = elf->sections[0].sh_link;
	if (index == SHN_UNDEF || index >= elf->n_sections ||
	    elf->sections[index].sh_size > MAX_SECTION_NAMES_BYTES)
		return NULL;
	struct vmop_elf_data data;
	struct vmop_error *err = vmop_elf_data_read(elf, &elf->sections[index], &data);
	if (err || !data.bytes)
		return err;
	const char *last = memrchr(data.bytes, '\0', data.len_bytes);
	elf->section_names = data.bytes;
	elf->section_names_len_bytes = last ? (size_t)(last - data.bytes) + 1 : 0;
	elf->charged_bytes += data.len_bytes;
	return NULL;
}

static int by_address(const void *a, const void *b)
{
	const struct vmop_elf_load *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

static struct vmop_error *find_loads(struct vmop_elf_file *elf)
{
	elf->loads = calloc(elf->n_segments + 1, sizeof(*elf->loads));
	if (!elf->loads)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < elf->n_segments; i++) {
		const GElf_Phdr *segment = &elf->segments[i];
		if (segment->p_type != PT_LOAD || segment->p_filesz == 0 ||
		    segment->p_vaddr + segment->p_filesz < segment->p_vaddr ||
		    segment->p_offset + segment->p_filesz < segment->p_offset)
			continue;
		elf->loads[elf->n_loads++] = (struct vmop_elf_load){
			.address = segment->p_vaddr,
			.offset = segment->p_offset,
			.len_bytes = segment->p_filesz,
		};
	}
	qsort(elf->loads, elf->n_loads, sizeof(*elf->loads), by_address);
	return NULL;
}

static struct vmop_error *create(const struct vmop_elf_file *from, struct vmop_elf_file **ret)
{
	_cleanup_(vmop_elf_cleanup) struct vmop_elf_file *elf = malloc(sizeof(*elf));
	if (!elf)
		return &vmop_error_no_memory;
	*elf = *from;
	if (!read_header(elf))
		return vmop_error_new(VMOP_ERROR_CORRUPT, "%s: %s", elf->path,
				      memcmp(elf->header.e_ident, ELFMAG, SELFMAG) == 0
					      ? "a damaged ELF header"
					      : "not an ELF file");
	struct vmop_error *err = read_tables(elf);
	if (!err)
		err = read_section_names(elf);
	if (!err)
		err = find_loads(elf);
	if (err)
		return err;
	*ret = vmop_steal(&elf);
	return NULL;
}

struct vmop_error *vmop_elf_create(int fd, const char *path, struct vmop_sym_budget *budget,
				   struct vmop_elf_file **ret)
{
	struct stat st;
	struct vmop_error *err = vmop_io_check_regular(fd, path, INT64_MAX);
	if (err)
		return err;
	if (fstat(fd, &st) < 0)
		return vmop_error_os(errno, "%s", path);
	return create(
		&(struct vmop_elf_file){
			.budget = budget,
			.fd = fd,
			.path = path,
			.len_bytes = (uint64_t)st.st_size,
		},
		ret);
}

struct vmop_error *vmop_elf_create_in_memory(const char *image, size_t len_bytes, const char *path,
					     struct vmop_sym_budget *budget,
					     struct vmop_elf_file **ret)
{
	return create(
		&(struct vmop_elf_file){
			.budget = budget,
			.fd = -1,
			.image = image,
			.path = path,
			.len_bytes = len_bytes,
		},
		ret);
}

void vmop_elf_destroy(struct vmop_elf_file *elf)
{
	if (!elf)
		return;
	vmop_sym_budget_give_memory(elf->budget, elf->charged_bytes);
	free(elf->sections);
	free(elf->segments);
	free(elf->loads);
	free(elf->section_names);
	free(elf);
}

const char *vmop_elf_section_name(const struct vmop_elf_file *elf, const GElf_Shdr *section)
{
	return section->sh_name < elf->section_names_len_bytes
		       ? elf->section_names + section->sh_name
		       : "";
}

const GElf_Shdr *vmop_elf_find_section(const struct vmop_elf_file *elf, uint32_t type,
				       const char *name)
{
	for (size_t i = 1; i < elf->n_sections; i++) {
		const GElf_Shdr *section = &elf->sections[i];
		if ((type == SHT_NULL || section->sh_type == type) &&
		    (!name || strcmp(vmop_elf_section_name(elf, section), name) == 0))
			return section;
	}
	return NULL;
}

static bool is_in_file(const struct vmop_elf_file *elf, const GElf_Shdr *section)
{
	return section && section->sh_type != SHT_NOBITS && section->sh_type != SHT_NULL &&
	       !(section->sh_flags & SHF_COMPRESSED) && section->sh_size > 0 &&
	       section->sh_offset <= elf->len_bytes &&
	       elf->len_bytes - section->sh_offset >= section->sh_size;
}

struct vmop_error *vmop_elf_data_read(const struct vmop_elf_file *elf, const GElf_Shdr *section,
				      struct vmop_elf_data *ret)
{
	return vmop_elf_data_read_roomy(elf, section, 0, ret);
}

struct vmop_error *vmop_elf_data_read_roomy(const struct vmop_elf_file *elf,
					    const GElf_Shdr *section, size_t room_bytes,
					    struct vmop_elf_data *ret)
{
	*ret = (struct vmop_elf_data){.budget = elf->budget};
	if (!is_in_file(elf, section))
		return NULL;
	if (!vmop_sym_budget_take_read(elf->budget, section->sh_size) ||
	    !vmop_sym_budget_take_memory(elf->budget, section->sh_size + room_bytes))
		return vmop_sym_budget_error(elf->budget, elf->path);
	ret->len_bytes = (size_t)section->sh_size;
	ret->room_bytes = room_bytes;
	ret->bytes = malloc(ret->len_bytes + room_bytes + 1);
	if (!ret->bytes || !vmop_elf_read_at(elf, section->sh_offset, ret->bytes, ret->len_bytes)) {
		bool no_memory = !ret->bytes;
		vmop_elf_data_deinit(ret);
		return no_memory ? &vmop_error_no_memory : NULL;
	}
	ret->bytes[ret->len_bytes] = '\0';
	return NULL;
}

void vmop_elf_data_deinit(struct vmop_elf_data *data)
{
	if (data->len_bytes)
		vmop_sym_budget_give_memory(data->budget, data->len_bytes + data->room_bytes);
	free(data->bytes);
	data->bytes = NULL;
	data->len_bytes = data->room_bytes = 0;
}

void vmop_elf_table_init(struct vmop_elf_table *table, const struct vmop_elf_file *elf,
			 const GElf_Shdr *section, Elf_Type type)
{
	table->elf = elf;
	table->type = type;
	table->each_bytes = is_32_bit(elf) ? elf32_fsize(type, 1, EV_CURRENT)
					   : elf64_fsize(type, 1, EV_CURRENT);
	table->offset = table->n = table->first = table->n_read = 0;
	if (!is_in_file(elf, section))
		return;
	table->offset = section->sh_offset;
	table->n = (size_t)(section->sh_size / table->each_bytes);
}

struct vmop_error *vmop_elf_table_load(struct vmop_elf_table *table, struct vmop_elf_data *ret)
{
	const GElf_Shdr whole = {
		.sh_type = SHT_PROGBITS,
		.sh_offset = table->offset,
		.sh_size = (uint64_t)table->n * table->each_bytes,
	};
	struct vmop_error *err = vmop_elf_data_read(table->elf, &whole, ret);
	if (err || !ret->bytes || !translate(table->elf, table->type, ret->bytes, ret->len_bytes))
		return err;
	table->entries = ret->bytes;
	table->n_read = ret->len_bytes / table->each_bytes;
	return NULL;
}

/* Return the entry at index, or NULL. */
static const char *entry_at(struct vmop_elf_table *table, size_t index)
{
	size_t n = sizeof(table->window) / table->each_bytes;
	if (index >= table->first && index - table->first < table->n_read)
		return table->entries + (index - table->first) * table->each_bytes;
	table->n_read = 0;
	if (index >= table->n)
		return NULL;
	if (n > table->n - index)
		n = table->n - index;
	size_t len_bytes = n * table->each_bytes;
	if (!vmop_sym_budget_take_read(table->elf->budget, len_bytes) ||
	    !vmop_elf_read_at(table->elf, table->offset + (uint64_t)index * table->each_bytes,
			      table->window, len_bytes) ||
	    !translate(table->elf, table->type, table->window, len_bytes))
		return NULL;
	table->entries = table->window;
	table->first = index;
	table->n_read = n;
	return table->window;
}

bool vmop_elf_table_symbol(struct vmop_elf_table *table, size_t index, GElf_Sym *ret)
{
	const char *at = entry_at(table, index);
	Elf32_Sym narrow;
	if (!at)
		return false;
	if (!is_32_bit(table->elf)) {
		memcpy(ret, at, sizeof(*ret));
		return true;
	}
	memcpy(&narrow, at, sizeof(narrow));
	*ret = (GElf_Sym){
		.st_name = narrow.st_name,
		.st_info = narrow.st_info,
		.st_other = narrow.st_other,
		.st_shndx = narrow.st_shndx,
		.st_value = narrow.st_value,
		.st_size = narrow.st_size,
	};
	return true;
}

bool vmop_elf_table_relocation(struct vmop_elf_table *table, size_t index, GElf_Rela *ret)
{
	const char *at = entry_at(table, index);
	Elf32_Rela narrow;
	if (!at)
		return false;
	if (!is_32_bit(table->elf)) {
		memcpy(ret, at, sizeof(*ret));
		return true;
	}
	memcpy(&narrow, at, sizeof(narrow));
	*ret = (GElf_Rela){
		.r_offset = narrow.r_offset,
		.r_info = GELF_R_INFO((GElf_Xword)ELF32_R_SYM(narrow.r_info),
				      ELF32_R_TYPE(narrow.r_info)),
		.r_addend = narrow.r_addend,
	};
	return true;
}

bool vmop_elf_table_word(struct vmop_elf_table *table, size_t index, Elf32_Word *ret)
{
	const char *at = entry_at(table, index);
	if (at)
		memcpy(ret, at, sizeof(*ret));
	return at != NULL;
}

bool vmop_elf_offset_of_address(const struct vmop_elf_file *elf, uint64_t address,
				uint64_t *ret_offset, uint64_t *ret_left_bytes)
{
	size_t low = 0, high = elf->n_loads;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (elf->loads[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	const struct vmop_elf_load *load = &elf->loads[low - 1];
	uint64_t into = address - load->address;
	if (into >= load->len_bytes)
		return false;
	*ret_offset = load->offset + into;
	*ret_left_bytes = load->len_bytes - into;
	return true;
}
