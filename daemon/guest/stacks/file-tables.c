// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/stacks/file-tables.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "daemon/guest/stacks/host-file.h"
#include "libsym/build-id.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/error.h"

static const struct vmop_cfi_limits limits = {.max_bytes = VMOP_GUEST_TABLE_MAX_BYTES,
					      .max_cpu_ns = 2 * VMOP_NS_PER_S};

_Static_assert(sizeof(((struct vmop_guest_code_key *)NULL)->build_id) >= VMOP_GUEST_BUILD_ID_MAX,
	       "keys have whole build-ids");
_Static_assert(sizeof(struct vmop_guest_code_key) == 8 + 24 + 4 * 8, "keys have no padding");

void vmop_guest_code_key_init(struct vmop_guest_code_key *key,
			      const struct vmop_guest_process *process,
			      const struct vmop_guest_vma *vma)
{
	*key = (struct vmop_guest_code_key){.build_id_len_bytes = vma->build_id_len_bytes};
	if (vma->build_id_len_bytes) {
		memcpy(key->build_id, vma->build_id, vma->build_id_len_bytes);
		return;
	}
	key->file = vma->file;
	key->start = vma->start;
	key->pgd_gpa = process->pgd_gpa;
	key->start_time_ns = process->start_time_ns;
}

bool vmop_guest_code_key_build_id(const struct vmop_guest_code_key *key, struct vmop_build_id *ret)
{
	*ret = (struct vmop_build_id){0};
	if (!key->build_id_len_bytes || key->build_id_len_bytes > sizeof(ret->bytes))
		return false;
	ret->len_bytes = (uint8_t)key->build_id_len_bytes;
	memcpy(ret->bytes, key->build_id, ret->len_bytes);
	return true;
}

bool vmop_guest_code_mapping_init(struct vmop_guest_code_mapping *ret,
				  const struct vmop_guest_process *process,
				  const struct vmop_guest_vma *vma)
{
	bool is_vdso = !vma->file && vma->path && strcmp(vma->path, "[vdso]") == 0;
	if (!vma->file && !is_vdso)
		return false;
	*ret = (struct vmop_guest_code_mapping){.file = vma->file,
						.start = vma->start,
						.end = vma->end,
						.pgd_gpa = process->pgd_gpa};
	vmop_guest_code_key_init(&ret->key, process, vma);
	return true;
}

/* ---- bytes of a mapping's file ---------------------------------------------- */

struct source {
	struct vmop_guest *guest;
	const struct vmop_guest_code_mapping *mapping;
	bool is_incomplete; /* a read failed */
};

static bool read_page_cache(struct source *source, uint64_t offset, void *buf, size_t len_bytes)
{
	size_t n_read = 0;
	struct vmop_error *err = vmop_guest_read_file(source->guest, source->mapping->file, offset,
						      buf, len_bytes, &n_read);
	bool is_whole = !err && n_read == len_bytes;
	vmop_error_destroy(err);
	return is_whole;
}

static bool read_source(void *arg, uint64_t offset, void *buf, size_t len_bytes)
{
	struct source *source = arg;
	const struct vmop_guest_code_mapping *mapping = source->mapping;
	bool is_read = mapping->file ? read_page_cache(source, offset, buf, len_bytes)
				     : vmop_guest_read_vdso(source->guest, mapping->pgd_gpa,
							    mapping->start, mapping->end, offset,
							    buf, len_bytes);
	source->is_incomplete |= !is_read;
	return is_read;
}

/* ---- its identity ---------------------------------------------------------- */

enum { MAX_PROGRAM_HEADERS = 64, MAX_NOTE_BYTES = 4096 };

static bool has_build_id(struct source *source, const Elf64_Phdr *segment,
			 const struct vmop_guest_code_key *key)
{
	uint8_t notes[MAX_NOTE_BYTES];
	struct vmop_build_id id;
	size_t len_bytes =
		segment->p_filesz < sizeof(notes) ? (size_t)segment->p_filesz : sizeof(notes);
	return segment->p_type == PT_NOTE &&
	       read_source(source, segment->p_offset, notes, len_bytes) &&
	       vmop_build_id_in_notes(notes, len_bytes, &id) &&
	       id.len_bytes == key->build_id_len_bytes &&
	       memcmp(id.bytes, key->build_id, id.len_bytes) == 0;
}

/*
 * Return whether the file is still that of the key: the guest may have closed it since it was
 * listed, and have another one at the same place.
 */
static bool is_same_code(struct source *source)
{
	const struct vmop_guest_code_key *key = &source->mapping->key;
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	if (!key->build_id_len_bytes)
		return true;
	if (!read_source(source, 0, &header, sizeof(header)) ||
	    header.e_phentsize != sizeof(segment))
		return false;
	for (uint64_t i = 0; i < header.e_phnum && i < MAX_PROGRAM_HEADERS; i++)
		if (read_source(source, header.e_phoff + i * sizeof(segment), &segment,
				sizeof(segment)) &&
		    has_build_id(source, &segment, key))
			return true;
	return false;
}

/* Return whether the mapped file is no ELF file: a JIT compiler writes code into some. */
static bool is_no_elf(struct source *source)
{
	char magic[SELFMAG];
	return read_source(source, 0, magic, sizeof(magic)) && memcmp(magic, ELFMAG, SELFMAG) != 0;
}

/* ---- both places ------------------------------------------------------------ */

static enum vmop_code_state build_from_guest(struct vmop_guest *guest,
					     const struct vmop_guest_code_mapping *mapping,
					     struct vmop_cfi_table **ret)
{
	struct source source = {.guest = guest, .mapping = mapping};
	const struct vmop_cfi_reader reader = {.read = read_source, .arg = &source};
	*ret = NULL;
	if (is_no_elf(&source))
		return VMOP_CODE_NO_TABLE;
	struct vmop_error *err = vmop_cfi_table_build_by(&reader, &limits, ret);
	bool has_none = err && err->code == VMOP_ERROR_NOT_FOUND && !source.is_incomplete;
	bool has_table = !err;
	vmop_error_destroy(err);
	if ((has_table || has_none) && is_same_code(&source))
		return has_table ? VMOP_CODE_HAS_TABLE : VMOP_CODE_NO_TABLE;
	if (has_table)
		vmop_cfi_table_destroy(*ret);
	*ret = NULL;
	return VMOP_CODE_UNREADABLE;
}

/* Build the table of this machine's file with the key's build-id. UNREADABLE: it has none. */
static enum vmop_code_state build_from_host(const struct vmop_guest_code_key *key,
					    const char *host_path, struct vmop_cfi_table **ret)
{
	struct vmop_build_id id;
	*ret = NULL;
	if (!vmop_guest_code_key_build_id(key, &id))
		return VMOP_CODE_UNREADABLE;
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = root < 0 ? -1 : vmop_host_file_open(root, &id, host_path);
	if (fd < 0)
		return VMOP_CODE_UNREADABLE;
	struct vmop_error *err = vmop_cfi_table_build(fd, &limits, ret);
	bool has_none = err && err->code == VMOP_ERROR_NOT_FOUND;
	enum vmop_code_state state = !err	? VMOP_CODE_HAS_TABLE
				     : has_none ? VMOP_CODE_NO_TABLE
						: VMOP_CODE_UNREADABLE;
	vmop_error_destroy(err);
	return state;
}

enum vmop_code_state vmop_guest_table_build(struct vmop_guest *guest,
					    const struct vmop_guest_code_mapping *mapping,
					    const char *host_path, struct vmop_cfi_table **ret)
{
	struct vmop_cfi_table *other;
	enum vmop_code_state state = build_from_guest(guest, mapping, ret), other_state;
	bool is_partial = *ret && vmop_cfi_table_is_partial(*ret);
	if (!mapping->file || (state != VMOP_CODE_UNREADABLE && !is_partial))
		return state;
	other_state = build_from_host(&mapping->key, host_path, &other);
	if (other_state == VMOP_CODE_UNREADABLE)
		return state;
	vmop_cfi_table_destroy(*ret);
	*ret = other;
	return other_state;
}
