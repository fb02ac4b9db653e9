// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/libguest/synthetic.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PAGE UINT64_C(4096)
#define PRESENT 3u /* and writable */
#define LARGE 0x80u
#define ARM64_BLOCK 0x401u /* valid, with the access flag */
#define TABLES_GPA UINT64_C(0x10000)
#define PAGE_CACHE_GPA UINT64_C(0xc00000)
#define USER_PGD_GPA SYNTHETIC_USER_PGD_GPA
#define DIRECT_MAP UINT64_C(0xffff888000000000)
#define VMEMMAP SYNTHETIC_VMEMMAP
#define MAX_SYMBOLS 8192
#define STACK_BYTES 16384u
/*
 * Packed names of at least this length have their length in two bytes, as from 6.1 on names over
 * 127.
 */
#define LONG_PACKED_NAME 80
#define VMCOREINFO_GPA SYNTHETIC_VMCOREINFO_GPA
#define ARM64_BASE (SYNTHETIC_TEXT - 0x10000) /* address of the boot header */

static void put(uint8_t *at, uint64_t value, size_t len)
{
	for (size_t i = 0; i < len; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t align(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

/* --- BTF ------------------------------------------------------------------------ */

#define LAYOUT_NAMES(field, type, member) {#field, type, member},
static const struct {
	const char *field, *type, *member;
} fields[] = {VMOP_LAYOUT_FIELDS(LAYOUT_NAMES)};

struct btf {
	uint8_t types[32768];
	char strings[16384];
	size_t types_len, strings_len;
	uint32_t count; /* number of types, with void */
};

static uint32_t btf_string(struct btf *btf, const char *text, size_t len)
{
	uint32_t at = (uint32_t)btf->strings_len;
	memcpy(btf->strings + at, text, len);
	btf->strings[at + len] = '\0';
	btf->strings_len += len + 1;
	return at;
}

static void btf_u32(struct btf *btf, uint32_t value)
{
	put(btf->types + btf->types_len, value, 4);
	btf->types_len += 4;
}

static uint32_t btf_type(struct btf *btf, const char *name, size_t name_len, uint32_t info,
			 uint32_t size)
{
	btf_u32(btf, name_len ? btf_string(btf, name, name_len) : 0);
	btf_u32(btf, info);
	btf_u32(btf, size);
	return btf->count++;
}

/* Return the bytes of a member; most have eight. */
static uint32_t bytes_of(const char *type, const char *member)
{
	if (strcmp(member, "comm") == 0)
		return 16;
	if (strcmp(member, "name") == 0 && strcmp(type, "module") == 0)
		return 56;
	if (strcmp(member, "name") == 0 && strcmp(type, "bpf_ksym") == 0)
		return 512;
	if (strcmp(member, "name") == 0 && strcmp(type, "bpf_prog_aux") == 0)
		return 16;
	if (strcmp(member, "pivot") == 0) /* one pivot fewer than slots */
		return strcmp(type, "maple_range_64") == 0 ? 15 * 8 : 9 * 8;
	if (strcmp(member, "slot") == 0 || strcmp(member, "slots") == 0 ||
	    strcmp(member, "numbers") == 0 || strcmp(member, "subsys") == 0)
		return 64 * 8;
	if (strncmp(member, "thread_", 7) == 0 || strncmp(member, "f_path", 6) == 0 ||
	    strcmp(member, "tasks") == 0 || strcmp(member, "list") == 0 ||
	    strcmp(member, "lnode") == 0 || strcmp(member, "ksym_lnode") == 0)
		return 16; /* a struct path; list heads */
	if (strcmp(member, "root") == 0 || strncmp(member, "mnt_", 4) == 0 ||
	    strncmp(member, "d_", 2) == 0 || strcmp(member, "s_mounts") == 0)
		return 16; /* the same; some have less */
	if (strcmp(member, "thread.cpu_context") == 0)
		return 24;
	if (strcmp(member, "mem") == 0)
		return 7 * 16;
	if (strcmp(member, "x86_capability") == 0)
		return 80;
	return 8;
}

/* Leave out members that only kernels to 5.6, 6.0 or 6.3 have, or that only later ones have. */
static bool left_out(const char *type, const char *member, const struct synthetic_options *options)
{
	if (strcmp(type, "pcpu_hot") == 0 || strncmp(member, "core_layout", 11) == 0)
		return true;
	if (strncmp(member, "thread.", 7) == 0 &&
	    (!options->stacks ||
	     strcmp(member, options->arm64 ? "thread.sp" : "thread.cpu_context") == 0))
		return true;
	if (strncmp(member, "arch.", 5) == 0)
		return true;
	if (strcmp(options->bpf_programs ? "lnode" : "ksym_lnode", member) == 0)
		return true;
	static const char *const early[] = {"mmap",	 "vm_next", "mnt_instance",
					    "d_subdirs", "d_child", "compound_head"};
	static const char *const late[] = {"mm_mt.ma_root", "mnt_next_for_sb", "d_children",
					   "d_sib", "compound_info"};
	const char *const *absent = options->vma_list ? late : early;
	size_t count = options->vma_list ? sizeof(late) / sizeof(late[0])
					 : sizeof(early) / sizeof(early[0]);
	for (size_t i = 0; i < count; i++)
		if (strcmp(member, absent[i]) == 0)
			return true;
	return false;
}

/* Return whether the field after field i is in the same inner struct: "sched_info.x". */
static bool has_neighbour(unsigned int i, const struct synthetic_options *options)
{
	const char *member = fields[i].member;
	return i + 1 < VMOP_LAYOUT_FIELD_COUNT && strcmp(fields[i + 1].type, fields[i].type) == 0 &&
	       strncmp(fields[i + 1].member, member, strcspn(member, ".") + 1) == 0 &&
	       !left_out(fields[i].type, fields[i + 1].member, options);
}

/* Add the inner struct of a member with a dot: struct { T a; } or struct { T a, b; }. */
static uint32_t btf_inner(struct btf *btf, unsigned int i, uint32_t count)
{
	uint32_t id = btf_type(btf, NULL, 0, 4u << 24 | count, 8 * count);
	for (uint32_t k = 0; k < count; k++) {
		const char *inner = strchr(fields[i + k].member, '.') + 1;
		btf_u32(btf, btf_string(btf, inner, strlen(inner)));
		btf_u32(btf, 1);
		btf_u32(btf, 64 * k);
	}
	return id;
}

/*
 * Add a struct with its members. A member with a dot becomes a member of an inner struct, so that a
 * look-up walks both levels.
 */
static void btf_struct(struct btf *btf, const char *type, struct vmop_layout *layout,
		       const struct synthetic_options *options)
{
	uint32_t name[64], kind[64], offset[64], members = 0, size = 0;
	for (unsigned int i = 0; i < VMOP_LAYOUT_FIELD_COUNT; i++) {
		const char *member = fields[i].member;
		if (strcmp(fields[i].type, type) != 0 || !*member || strchr("=@#", *member) ||
		    left_out(type, member, options))
			continue;
		size_t len = strcspn(member, ".|");
		kind[members] = 1;
		bool has_two = member[len] == '.' && has_neighbour(i, options);
		if (member[len] == '.')
			kind[members] = btf_inner(btf, i, has_two ? 2 : 1);
		name[members] = btf_string(btf, member, len);
		offset[members] = size;
		layout->value[i] = (int32_t)size;
		size += bytes_of(type, member);
		members++;
		if (has_two) {
			layout->value[++i] = (int32_t)size;
			size += 8;
		}
	}
	if (strcmp(type, "kernel_symbol") == 0)
		size = 16;
	if (strcmp(type, "page") == 0)
		size = 64;
	if (strcmp(type, "pt_regs") == 0)
		size = 336; /* as arm64's of Linux 6.1 */
	btf_type(btf, type, strlen(type), 4u << 24 | members, size);
	for (uint32_t i = 0; i < members; i++) {
		btf_u32(btf, name[i]);
		btf_u32(btf, kind[i]);
		btf_u32(btf, offset[i] * 8);
	}
	for (unsigned int i = 0; i < VMOP_LAYOUT_FIELD_COUNT; i++)
		if (strcmp(fields[i].type, type) == 0 && !*fields[i].member)
			layout->value[i] = (int32_t)size;
}

static void btf_enum(struct btf *btf, const char *type, struct vmop_layout *layout)
{
	uint32_t count = 0, value = 1;
	size_t info_at = btf->types_len + 4;
	btf_type(btf, type, strlen(type), 0, 4);
	for (unsigned int i = 0; i < VMOP_LAYOUT_FIELD_COUNT; i++) {
		if (strcmp(fields[i].type, type) != 0)
			continue;
		btf_u32(btf, btf_string(btf, fields[i].member + 1, strlen(fields[i].member + 1)));
		btf_u32(btf, value);
		layout->value[i] = (int32_t)value++;
		count++;
	}
	put(btf->types + info_at, 6u << 24 | count, 4);
}

static size_t make_btf(uint8_t *buf, size_t size, struct vmop_layout *layout,
		       const struct synthetic_options *options)
{
	struct btf *btf = calloc(1, sizeof(*btf));
	btf->strings_len = 1;
	btf->count = 1;
	memset(layout, 0xff, sizeof(*layout));
	btf_type(btf, "long", 4, 1u << 24, 8);
	btf_u32(btf, 64);
	for (unsigned int i = 0; i < VMOP_LAYOUT_FIELD_COUNT; i++) {
		const char *type = fields[i].type;
		if (i && strcmp(type, fields[i - 1].type) == 0)
			continue;
		if (fields[i].member[0] == '=')
			btf_enum(btf, type, layout);
		else if (strcmp(type, "pcpu_hot") != 0)
			btf_struct(btf, type, layout, options);
	}
	size_t len = 24 + btf->types_len + btf->strings_len;
	if (len > size)
		abort();
	memset(buf, 0, 24);
	put(buf, 0xeb9f | 1 << 16, 4);
	put(buf + 4, 24, 4);
	put(buf + 12, btf->types_len, 4);
	put(buf + 16, btf->types_len, 4);
	put(buf + 20, btf->strings_len, 4);
	memcpy(buf + 24, btf->types, btf->types_len);
	memcpy(buf + 24 + btf->types_len, btf->strings, btf->strings_len);
	free(btf);
	return len;
}

size_t synthetic_btf(uint8_t *buf, size_t size, struct vmop_layout *layout)
{
	return make_btf(buf, size, layout, &(struct synthetic_options){0});
}

/* --- kallsyms --------------------------------------------------------------------- */

struct table {
	uint8_t *buf;
	size_t at, size;
};

static void emit(struct table *table, uint64_t value, size_t len)
{
	if (table->at + len > table->size)
		abort();
	put(table->buf + table->at, value, len);
	table->at += len;
}

static void align_table(struct table *table, size_t to)
{
	while (table->at % to)
		emit(table, 0, 1);
}

/*
 * Write the text of a token: printable ones stand for themselves, token 1 for "filler_", others for
 * "x" with their number.
 */
static void token_text(unsigned int token, char *ret)
{
	if (token >= 33 && token < 127)
		sprintf(ret, "%c", (int)token);
	else if (token == 1)
		strcpy(ret, "filler_");
	else
		sprintf(ret, "x%u", token);
}

static void emit_name(struct table *table, const struct synthetic_symbol *symbol)
{
	uint8_t packed[128];
	size_t len = 0;
	packed[len++] = (uint8_t)symbol->type;
	const char *name = symbol->name;
	if (strncmp(name, "filler_", 7) == 0) {
		packed[len++] = 1;
		name += 7;
	}
	for (; *name; name++)
		packed[len++] = (uint8_t)*name;
	if (len >= LONG_PACKED_NAME) {
		emit(table, (len & 0x7f) | 0x80, 1);
		emit(table, len >> 7, 1);
	} else {
		emit(table, len, 1);
	}
	for (size_t i = 0; i < len; i++)
		emit(table, packed[i], 1);
}

static void emit_offsets(struct table *table, const struct synthetic_symbol *symbols, size_t count,
			 enum synthetic_kallsyms form, uint64_t address, uint64_t base)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t symbol = symbols[i].address;
		if (form == SYNTHETIC_PLACE_RELATIVE)
			emit(table, symbol - (address + table->at), 4);
		else if (form == SYNTHETIC_ADDRESSES)
			emit(table, symbol, 8);
		else if (form == SYNTHETIC_ALL_RELATIVE || form == SYNTHETIC_BEFORE_RELATIVE)
			emit(table, symbol - base, 4);
		else
			emit(table, symbol >> 63 ? base - 1 - symbol : symbol, 4);
	}
}

static void emit_tokens(struct table *table)
{
	char text[16];
	uint16_t index[256];
	size_t start = table->at;
	for (unsigned int i = 0; i < 256; i++) {
		index[i] = (uint16_t)(table->at - start);
		token_text(i, text);
		for (size_t j = 0; j <= strlen(text); j++)
			emit(table, (uint8_t)text[j], 1);
	}
	align_table(table, 8);
	for (unsigned int i = 0; i < 256; i++)
		emit(table, index[i], 2);
}

size_t synthetic_kallsyms(const struct synthetic_symbol *symbols, size_t count,
			  enum synthetic_kallsyms form, uint64_t address, uint64_t base,
			  uint8_t *buf, size_t size, size_t *ret_names)
{
	struct table table = {.buf = buf, .size = size};
	bool before = form == SYNTHETIC_BEFORE_NAMES || form == SYNTHETIC_BEFORE_WITH_SEQS ||
		      form == SYNTHETIC_ADDRESSES || form == SYNTHETIC_BEFORE_RELATIVE;
	uint32_t markers[MAX_SYMBOLS / 256];
	if (before) {
		emit_offsets(&table, symbols, count, form, address, base);
		align_table(&table, 8);
		if (form != SYNTHETIC_ADDRESSES)
			emit(&table, base, 8);
	}
	emit(&table, count, 4);
	align_table(&table, 8);
	*ret_names = table.at;
	for (size_t i = 0; i < count; i++) {
		if (i % 256 == 0)
			markers[i / 256] = (uint32_t)(table.at - *ret_names);
		emit_name(&table, &symbols[i]);
	}
	align_table(&table, 8);
	for (size_t i = 0; i < (count + 255) / 256; i++)
		emit(&table, markers[i], 4);
	align_table(&table, 8);
	if (form == SYNTHETIC_BEFORE_WITH_SEQS)
		for (size_t i = 0; i < count; i++)
			emit(&table, i * 7919 % count, 3);
	align_table(&table, 8);
	emit_tokens(&table);
	if (!before) {
		emit_offsets(&table, symbols, count, form, address, base);
		align_table(&table, 8);
		if (form != SYNTHETIC_PLACE_RELATIVE)
			emit(&table, base, 8);
		for (size_t i = 0; i < count; i++)
			emit(&table, i * 7919 % count, 3);
	}
	return table.at;
}

/* --- the image ---------------------------------------------------------------------- */

uint8_t *synthetic_at(struct synthetic *guest, uint64_t address)
{
	uint64_t offset = address - SYNTHETIC_TEXT;
	if (offset >= SYNTHETIC_IMAGE_BYTES)
		abort();
	return guest->ram + SYNTHETIC_TEXT_GPA + offset;
}

void synthetic_put_u64(struct synthetic *guest, uint64_t address, uint64_t value)
{
	put(synthetic_at(guest, address), value, 8);
}

void synthetic_put_u32(struct synthetic *guest, uint64_t address, uint32_t value)
{
	put(synthetic_at(guest, address), value, 4);
}

uint64_t synthetic_get_u64(struct synthetic *guest, uint64_t address)
{
	uint64_t value;
	memcpy(&value, synthetic_at(guest, address), sizeof(value));
	return value;
}

uint64_t synthetic_member(const struct synthetic *guest, uint64_t address,
			  enum vmop_layout_field field)
{
	return address + (uint32_t)guest->layout.value[field];
}

static void set(struct synthetic *guest, uint64_t address, enum vmop_layout_field field,
		uint64_t value)
{
	if (guest->layout.value[field] >= 0)
		synthetic_put_u64(guest, synthetic_member(guest, address, field), value);
}

uint64_t synthetic_place(struct synthetic *guest, const char *name, char type, size_t len,
			 size_t to)
{
	guest->used = align(guest->used, to);
	uint64_t address = SYNTHETIC_TEXT + guest->used;
	guest->used += len;
	if (guest->used > SYNTHETIC_IMAGE_BYTES - (2u << 20))
		abort();
	if (name) {
		struct synthetic_symbol *symbol = &guest->symbols[guest->symbol_count++];
		symbol->address = address;
		symbol->type = type;
		snprintf(symbol->name, sizeof(symbol->name), "%s", name);
	}
	return address;
}

static uint64_t object(struct synthetic *guest)
{
	return synthetic_place(guest, NULL, 0, 2048, 2048);
}

static uint64_t string(struct synthetic *guest, const char *text)
{
	uint64_t address = synthetic_place(guest, NULL, 0, strlen(text) + 1, 8);
	strcpy((char *)synthetic_at(guest, address), text);
	return address;
}

void synthetic_name_symbol(struct synthetic *guest, const char *name, char type, uint64_t address)
{
	struct synthetic_symbol *symbol = &guest->symbols[guest->symbol_count++];
	symbol->address = address;
	symbol->type = type;
	snprintf(symbol->name, sizeof(symbol->name), "%s", name);
}

/* --- files ------------------------------------------------------------------------------ */

static bool has(const struct synthetic *guest, enum vmop_layout_field field)
{
	return guest->layout.value[field] >= 0;
}

/* Put a node at the start of a list: circular (list_head), or one that ends with 0. */
static void push(struct synthetic *guest, uint64_t head, uint64_t node)
{
	synthetic_put_u64(guest, node, synthetic_get_u64(guest, head));
	synthetic_put_u64(guest, head, node);
}

static void make_circular(struct synthetic *guest, uint64_t object, enum vmop_layout_field field)
{
	uint64_t head = synthetic_member(guest, object, field);
	if (has(guest, field))
		synthetic_put_u64(guest, head, head);
}

uint64_t synthetic_dentry(struct synthetic *guest, uint64_t parent, const char *name)
{
	uint64_t dentry = object(guest);
	bool is_new = has(guest, VMOP_LAYOUT_DENTRY_CHILDREN);
	set(guest, dentry, VMOP_LAYOUT_DENTRY_PARENT, parent ? parent : dentry);
	set(guest, dentry, VMOP_LAYOUT_DENTRY_NAME, string(guest, name));
	set(guest, dentry, VMOP_LAYOUT_DENTRY_HASH, dentry);
	make_circular(guest, dentry, VMOP_LAYOUT_DENTRY_SUBDIRS);
	if (parent)
		push(guest,
		     synthetic_member(guest, parent,
				      is_new ? VMOP_LAYOUT_DENTRY_CHILDREN
					     : VMOP_LAYOUT_DENTRY_SUBDIRS),
		     synthetic_member(guest, dentry,
				      is_new ? VMOP_LAYOUT_DENTRY_SIBLING
					     : VMOP_LAYOUT_DENTRY_CHILD));
	return dentry;
}

void synthetic_link(struct synthetic *guest, uint64_t dentry, uint64_t inode)
{
	set(guest, dentry, VMOP_LAYOUT_DENTRY_INODE, inode);
	push(guest, synthetic_member(guest, inode, VMOP_LAYOUT_INODE_DENTRIES),
	     synthetic_member(guest, dentry, VMOP_LAYOUT_DENTRY_ALIAS));
}

uint64_t synthetic_inode(struct synthetic *guest, uint64_t super, uint32_t number, uint32_t mode)
{
	uint64_t inode = object(guest), mapping = object(guest);
	set(guest, inode, VMOP_LAYOUT_INODE_NUMBER, number);
	set(guest, inode, VMOP_LAYOUT_INODE_GENERATION, 7);
	set(guest, inode, VMOP_LAYOUT_INODE_SUPER, super);
	set(guest, inode, VMOP_LAYOUT_INODE_MAPPING, mapping);
	set(guest, inode, VMOP_LAYOUT_INODE_LINKS, 1);
	set(guest, inode, VMOP_LAYOUT_INODE_MODE, mode);
	set(guest, mapping, VMOP_LAYOUT_MAPPING_HOST, inode);
	return inode;
}

uint64_t synthetic_super(struct synthetic *guest, uint64_t root)
{
	uint64_t super = object(guest);
	set(guest, super, VMOP_LAYOUT_SUPER_ROOT, root);
	if (has(guest, VMOP_LAYOUT_MOUNT_OF_SUPER))
		make_circular(guest, super, VMOP_LAYOUT_SUPER_MOUNTS);
	return super;
}

uint64_t synthetic_mount(struct synthetic *guest, uint64_t super, uint64_t root, uint64_t parent,
			 uint64_t point)
{
	uint64_t mount = object(guest);
	bool ends = has(guest, VMOP_LAYOUT_MOUNT_NEXT_OF_SUPER);
	set(guest, mount, VMOP_LAYOUT_MOUNT_PARENT, parent ? parent : mount);
	set(guest, mount, VMOP_LAYOUT_MOUNT_POINT, point);
	set(guest, mount, VMOP_LAYOUT_MOUNT_NAMESPACE, guest->mount_namespace);
	make_circular(guest, mount, VMOP_LAYOUT_MOUNT_CHILDREN);
	/* struct vfsmount is inside struct mount; only its first member matters */
	set(guest, synthetic_member(guest, mount, VMOP_LAYOUT_MOUNT_MNT), VMOP_LAYOUT_VFSMOUNT_ROOT,
	    root);
	uint64_t node = synthetic_member(guest, mount, VMOP_LAYOUT_MOUNT_OF_SUPER);
	uint64_t head = synthetic_member(guest, super, VMOP_LAYOUT_SUPER_MOUNTS);
	if (ends) {
		set(guest, mount, VMOP_LAYOUT_MOUNT_NEXT_OF_SUPER, synthetic_get_u64(guest, head));
		synthetic_put_u64(guest, head, mount);
	} else { /* at the list's end */
		for (; synthetic_get_u64(guest, head) !=
		       synthetic_member(guest, super, VMOP_LAYOUT_SUPER_MOUNTS);)
			head = synthetic_get_u64(guest, head);
		push(guest, head, node);
	}
	if (parent)
		push(guest, synthetic_member(guest, parent, VMOP_LAYOUT_MOUNT_CHILDREN),
		     synthetic_member(guest, mount, VMOP_LAYOUT_MOUNT_CHILD));
	return mount;
}

/* Make an ELF file of two pages with a build-id of 20 times 0xab. Its second page is 0x77. */
static void make_file_content(struct synthetic *guest)
{
	uint8_t *page = guest->ram + PAGE_CACHE_GPA;
	Elf64_Ehdr header = {.e_phoff = sizeof(header), .e_phnum = 1};
	Elf64_Phdr note = {.p_type = PT_NOTE, .p_offset = 0x200, .p_filesz = 36};
	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(page, &header, sizeof(header));
	memcpy(page + sizeof(header), &note, sizeof(note));
	put(page + 0x200, 4, 4);
	put(page + 0x204, 20, 4);
	put(page + 0x208, NT_GNU_BUILD_ID, 4);
	memcpy(page + 0x20c, "GNU", 4);
	memset(page + 0x210, 0xab, 20);
	memset(page + PAGE, 0x77, PAGE);
}

static uint64_t mapping_of(struct synthetic *guest, uint64_t inode)
{
	return synthetic_get_u64(guest, synthetic_member(guest, inode, VMOP_LAYOUT_INODE_MAPPING));
}

/* Make a file system on /tmp, with a file, a symbolic link and a directory. */
static void make_tmp(struct synthetic *guest, uint64_t parent, uint64_t point)
{
	uint64_t root = synthetic_dentry(guest, 0, "/");
	uint64_t super = guest->tmp_super = synthetic_super(guest, root);
	guest->tmp_root = root;
	guest->tmp_mount = synthetic_mount(guest, super, root, parent, point);
	synthetic_link(guest, root, synthetic_inode(guest, super, 1, S_IFDIR));
	guest->map_inode = synthetic_inode(guest, super, 3, S_IFREG | 0644);
	synthetic_link(guest, synthetic_dentry(guest, root, "perf-2.map"), guest->map_inode);
	synthetic_link(guest, synthetic_dentry(guest, root, "link"),
		       synthetic_inode(guest, super, 4, S_IFLNK));
	synthetic_link(guest, synthetic_dentry(guest, root, "directory"),
		       synthetic_inode(guest, super, 5, S_IFDIR));
}

static void make_file(struct synthetic *guest)
{
	uint64_t root = guest->root = synthetic_dentry(guest, 0, "/");
	uint64_t bin = synthetic_dentry(guest, root, "bin");
	uint64_t tmp = synthetic_dentry(guest, root, "tmp");
	guest->mount_namespace = object(guest);
	guest->super = synthetic_super(guest, root);
	guest->mount = synthetic_mount(guest, guest->super, root, 0, root);
	synthetic_link(guest, root, synthetic_inode(guest, guest->super, 1, S_IFDIR));
	synthetic_link(guest, bin, synthetic_inode(guest, guest->super, 2, S_IFDIR));
	synthetic_link(guest, tmp, synthetic_inode(guest, guest->super, 3, S_IFDIR));
	make_tmp(guest, guest->mount, tmp);
	guest->inode = synthetic_inode(guest, guest->super, 12, S_IFREG | 0755);
	guest->dentry = synthetic_dentry(guest, bin, "worker");
	synthetic_link(guest, guest->dentry, guest->inode);
	uint64_t mapping = mapping_of(guest, guest->inode);
	guest->file = object(guest);
	guest->xa_node = object(guest);
	uint64_t path = synthetic_member(guest, guest->file, VMOP_LAYOUT_FILE_PATH);
	set(guest, path, VMOP_LAYOUT_PATH_MNT,
	    synthetic_member(guest, guest->mount, VMOP_LAYOUT_MOUNT_MNT));
	set(guest, path, VMOP_LAYOUT_PATH_DENTRY, guest->dentry);
	set(guest, guest->file, VMOP_LAYOUT_FILE_MAPPING, mapping);
	set(guest, guest->file, VMOP_LAYOUT_FILE_INODE, guest->inode);
	set(guest, guest->inode, VMOP_LAYOUT_INODE_SIZE, 2 * PAGE);
	set(guest, mapping, VMOP_LAYOUT_MAPPING_HEAD, guest->xa_node + 2);
	uint64_t page_bytes = (uint32_t)guest->layout.value[VMOP_LAYOUT_PAGE_SIZE];
	guest->page = VMEMMAP + PAGE_CACHE_GPA / PAGE * page_bytes;
	uint64_t slots = synthetic_member(guest, guest->xa_node, VMOP_LAYOUT_XA_NODE_SLOTS);
	synthetic_put_u64(guest, slots, guest->page);
	synthetic_put_u64(guest, slots + 8, 0 << 2 | 2); /* a sibling: a folio of two pages */
	make_file_content(guest);
}

/* The root directory and the mount namespace of the first process. */
static void make_view(struct synthetic *guest, uint64_t task)
{
	uint64_t fs = object(guest), namespaces = object(guest);
	uint64_t path = synthetic_member(guest, fs, VMOP_LAYOUT_FS_ROOT);
	set(guest, path, VMOP_LAYOUT_PATH_MNT,
	    synthetic_member(guest, guest->mount, VMOP_LAYOUT_MOUNT_MNT));
	set(guest, path, VMOP_LAYOUT_PATH_DENTRY, guest->root);
	set(guest, task, VMOP_LAYOUT_TASK_FS, fs);
	set(guest, task, VMOP_LAYOUT_TASK_NAMESPACES, namespaces);
	set(guest, namespaces, VMOP_LAYOUT_NAMESPACES_MOUNT, guest->mount_namespace);
}

/* --- processes ------------------------------------------------------------------------------ */

static void make_vmas(struct synthetic *guest, uint64_t mm)
{
	static const struct {
		uint64_t start, end, flags, page_offset;
		bool has_file;
	} maps[4] = {
		{0x400000, 0x401000, 1, 0, true},
		{0x401000, 0x402000, 5, 1, true},
		{0x7f0000000000, 0x7f0000010000, 7, 0, false},
		{0x7ffc00000000, 0x7ffc00021000, 3, 0, false},
	};
	guest->tree_node = synthetic_place(guest, NULL, 0, 256, 256);
	uint64_t pivots = synthetic_member(guest, guest->tree_node, VMOP_LAYOUT_MAPLE_RANGE_PIVOT);
	uint64_t slots = synthetic_member(guest, guest->tree_node, VMOP_LAYOUT_MAPLE_RANGE_SLOT);
	unsigned int slot = 0;
	for (int i = 0; i < 4; i++) {
		uint64_t vma = guest->vma[i] = object(guest);
		set(guest, vma, VMOP_LAYOUT_VMA_START, maps[i].start);
		set(guest, vma, VMOP_LAYOUT_VMA_END, maps[i].end);
		set(guest, vma, VMOP_LAYOUT_VMA_FLAGS, maps[i].flags);
		set(guest, vma, VMOP_LAYOUT_VMA_PGOFF, maps[i].page_offset);
		set(guest, vma, VMOP_LAYOUT_VMA_FILE, maps[i].has_file ? guest->file : 0);
		if (i)
			set(guest, guest->vma[i - 1], VMOP_LAYOUT_VMA_NEXT, vma);
		if (i != 1) { /* a gap precedes it */
			synthetic_put_u64(guest, pivots + 8 * slot, maps[i].start - 1);
			synthetic_put_u64(guest, slots + 8 * slot++, 0);
		}
		synthetic_put_u64(guest, pivots + 8 * slot, maps[i].end - 1);
		synthetic_put_u64(guest, slots + 8 * slot++, vma);
	}
	synthetic_put_u64(guest, pivots + 8 * slot, UINT64_MAX);
	uint64_t leaf = (uint32_t)guest->layout.value[VMOP_LAYOUT_MAPLE_LEAF_TYPE];
	set(guest, mm, VMOP_LAYOUT_MM_TREE_ROOT, guest->tree_node | leaf << 3 | 2);
	set(guest, mm, VMOP_LAYOUT_MM_MMAP, guest->vma[0]);
	synthetic_put_u32(guest, synthetic_member(guest, mm, VMOP_LAYOUT_MM_MAP_COUNT), 4);
	set(guest, mm, VMOP_LAYOUT_MM_START_STACK, 0x7ffc00020000);
}

static void make_cgroup(struct synthetic *guest, uint64_t task)
{
	uint64_t css_set = object(guest), cgroup = object(guest), root = object(guest);
	uint64_t node = object(guest);
	set(guest, node, VMOP_LAYOUT_KERNFS_PARENT, root);
	set(guest, node, VMOP_LAYOUT_KERNFS_NAME, string(guest, "box"));
	set(guest, root, VMOP_LAYOUT_KERNFS_NAME, string(guest, ""));
	set(guest, cgroup, VMOP_LAYOUT_CGROUP_KN, node);
	set(guest, css_set, VMOP_LAYOUT_CSS_SET_DFL, cgroup);
	set(guest, task, VMOP_LAYOUT_TASK_CGROUPS, css_set);
}

static void make_tasks(struct synthetic *guest)
{
	static const char *const comm[SYNTHETIC_PROCESSES] = {"swapper/0", "init", "worker"};
	for (unsigned int i = 0; i < SYNTHETIC_PROCESSES; i++) {
		uint64_t task = guest->task[i] =
			i ? object(guest) : synthetic_place(guest, "init_task", 'D', 2048, 2048);
		synthetic_put_u32(guest, synthetic_member(guest, task, VMOP_LAYOUT_TASK_PID), i);
		synthetic_put_u32(guest, synthetic_member(guest, task, VMOP_LAYOUT_TASK_TGID), i);
		strcpy((char *)synthetic_at(guest,
					    synthetic_member(guest, task, VMOP_LAYOUT_TASK_COMM)),
		       comm[i]);
		set(guest, task, VMOP_LAYOUT_TASK_PARENT, guest->task[i ? i - 1 : 0]);
		make_cgroup(guest, task);
		set(guest, task, VMOP_LAYOUT_TASK_LEADER, task);
		set(guest, task, VMOP_LAYOUT_TASK_START, 1000 * i);
		if (i == 1)
			make_view(guest, task);
		if (i < SYNTHETIC_PROCESSES - 1)
			continue;
		uint64_t mm = guest->mm[i] = object(guest);
		set(guest, task, VMOP_LAYOUT_TASK_MM, mm);
		set(guest, mm, VMOP_LAYOUT_MM_PGD, DIRECT_MAP + USER_PGD_GPA);
		make_vmas(guest, mm);
		uint64_t pid = object(guest);
		set(guest, task, VMOP_LAYOUT_TASK_THREAD_PID, pid);
		synthetic_put_u32(guest, synthetic_member(guest, pid, VMOP_LAYOUT_PID_LEVEL), 1);
		uint64_t numbers = synthetic_member(guest, pid, VMOP_LAYOUT_PID_NUMBERS);
		synthetic_put_u32(
			guest, numbers + (uint32_t)guest->layout.value[VMOP_LAYOUT_UPID_SIZE], 77);
	}
	guest->init_task = guest->task[0];
	for (unsigned int i = 0; i < SYNTHETIC_PROCESSES; i++)
		set(guest, guest->task[i], VMOP_LAYOUT_TASK_TASKS,
		    synthetic_member(guest, guest->task[(i + 1) % SYNTHETIC_PROCESSES],
				     VMOP_LAYOUT_TASK_TASKS));
}

/* --- threads ----------------------------------------------------------------------------- */

/* Make the only thread of each process wait: its registers are at the end of its stack. */
static void make_threads(struct synthetic *guest)
{
	for (unsigned int i = 0; i < SYNTHETIC_PROCESSES; i++) {
		uint64_t task = guest->task[i], signal = object(guest);
		uint64_t stack = synthetic_place(guest, NULL, 0, STACK_BYTES, STACK_BYTES);
		uint64_t head = synthetic_member(guest, signal, VMOP_LAYOUT_SIGNAL_THREADS);
		uint64_t node = synthetic_member(guest, task, VMOP_LAYOUT_TASK_THREAD_NODE);
		uint64_t sp = stack + STACK_BYTES - 512;
		set(guest, task, VMOP_LAYOUT_TASK_SIGNAL, signal);
		synthetic_put_u64(guest, head, node);
		synthetic_put_u64(guest, node, head);
		set(guest, task, VMOP_LAYOUT_TASK_STACK, stack);
		set(guest, task, VMOP_LAYOUT_TASK_SWITCHES, 7);
		set(guest, task, VMOP_LAYOUT_TASK_STATE, 1);
		set(guest, task, VMOP_LAYOUT_TASK_SP, sp);
		if (has(guest, VMOP_LAYOUT_TASK_CPU_CONTEXT)) {
			uint64_t context =
				synthetic_member(guest, task, VMOP_LAYOUT_TASK_CPU_CONTEXT);
			set(guest, context, VMOP_LAYOUT_CONTEXT_SP, sp);
			set(guest, context, VMOP_LAYOUT_CONTEXT_PC, SYNTHETIC_TEXT + 160);
		}
		set(guest, sp, VMOP_LAYOUT_SWITCH_FRAME_PC, SYNTHETIC_TEXT + 160);
	}
}

/* --- modules ------------------------------------------------------------------------------------
 */

static void make_module(struct synthetic *guest)
{
	static const char names[] = "\0module_function\0module_data";
	guest->modules_head = synthetic_place(guest, "modules", 'd', 16, 16);
	guest->module = object(guest);
	guest->module_kallsyms = object(guest);
	uint64_t symtab = synthetic_place(guest, NULL, 0, 3 * sizeof(Elf64_Sym), 8);
	uint64_t strtab = synthetic_place(guest, NULL, 0, sizeof(names), 8);
	uint64_t typetab = synthetic_place(guest, NULL, 0, 3, 8);
	Elf64_Sym symbols[3] = {
		{0},
		{.st_name = 1, .st_value = UINT64_C(0xffffffffc0001000), .st_size = 64},
		{.st_name = 17, .st_value = UINT64_C(0xffffffffc0003000), .st_size = 8},
	};
	memcpy(synthetic_at(guest, symtab), symbols, sizeof(symbols));
	memcpy(synthetic_at(guest, strtab), names, sizeof(names));
	memcpy(synthetic_at(guest, typetab), "?td", 3);
	uint64_t node = synthetic_member(guest, guest->module, VMOP_LAYOUT_MODULE_LIST);
	synthetic_put_u64(guest, guest->modules_head, node);
	synthetic_put_u64(guest, node, guest->modules_head);
	strcpy((char *)synthetic_at(
		       guest, synthetic_member(guest, guest->module, VMOP_LAYOUT_MODULE_NAME)),
	       "testmod");
	uint64_t mem = synthetic_member(guest, guest->module, VMOP_LAYOUT_MODULE_MEM);
	set(guest, mem, VMOP_LAYOUT_MODULE_MEMORY_BASE, UINT64_C(0xffffffffc0001000));
	synthetic_put_u32(guest, synthetic_member(guest, mem, VMOP_LAYOUT_MODULE_MEMORY_SIZE),
			  8192);
	set(guest, guest->module, VMOP_LAYOUT_MODULE_KALLSYMS, guest->module_kallsyms);
	set(guest, guest->module_kallsyms, VMOP_LAYOUT_MOD_SYMTAB, symtab);
	synthetic_put_u32(
		guest, synthetic_member(guest, guest->module_kallsyms, VMOP_LAYOUT_MOD_NUM_SYMTAB),
		3);
	set(guest, guest->module_kallsyms, VMOP_LAYOUT_MOD_STRTAB, strtab);
	set(guest, guest->module_kallsyms, VMOP_LAYOUT_MOD_TYPETAB, typetab);
	memset(synthetic_at(guest,
			    synthetic_member(guest, guest->module, VMOP_LAYOUT_MODULE_BUILD_ID)),
	       0xcd, 20);
}

static void make_bpf(struct synthetic *guest)
{
	guest->bpf_head = synthetic_place(guest, "bpf_kallsyms", 'd', 16, 16);
	uint64_t ksym = object(guest);
	uint64_t node = synthetic_member(guest, ksym, VMOP_LAYOUT_BPF_KSYM_NODE);
	set(guest, ksym, VMOP_LAYOUT_BPF_KSYM_START, UINT64_C(0xffffffffc0100000));
	set(guest, ksym, VMOP_LAYOUT_BPF_KSYM_END, UINT64_C(0xffffffffc0100080));
	strcpy((char *)synthetic_at(guest,
				    synthetic_member(guest, ksym, VMOP_LAYOUT_BPF_KSYM_NAME)),
	       "bpf_prog_0011_x");
	synthetic_put_u64(guest, guest->bpf_head, node);
	synthetic_put_u64(guest, node, guest->bpf_head);
}

/* Make a program on its own page and return its struct bpf_prog_aux. */
static uint64_t make_bpf_program(struct synthetic *guest, const char *name)
{
	uint64_t aux = object(guest), program = object(guest);
	uint64_t page = synthetic_place(guest, NULL, 0, PAGE, PAGE);
	synthetic_put_u32(guest, synthetic_member(guest, page, VMOP_LAYOUT_BPF_HEADER_PAGES), 2);
	set(guest, aux, VMOP_LAYOUT_BPF_AUX_PROG, program);
	strcpy((char *)synthetic_at(guest, synthetic_member(guest, aux, VMOP_LAYOUT_BPF_AUX_NAME)),
	       name);
	set(guest, program, VMOP_LAYOUT_BPF_PROG_START, page + 0x40);
	set(guest, program, VMOP_LAYOUT_BPF_PROG_TAG, UINT64_C(0xefcdab8967452301));
	return aux;
}

/*
 * Make the programs of a kernel to 5.6: one named by its name, one by its function, one by neither.
 */
static void make_bpf_programs(struct synthetic *guest)
{
	guest->bpf_head = synthetic_place(guest, "bpf_kallsyms", 'd', 16, 16);
	uint64_t aux[3] = {make_bpf_program(guest, "named"), make_bpf_program(guest, "main"),
			   make_bpf_program(guest, "")};
	uint64_t infos = object(guest), btf = object(guest), types = object(guest);
	uint64_t type = object(guest);
	set(guest, aux[1], VMOP_LAYOUT_BPF_AUX_FUNCTION_COUNT, 2);
	set(guest, aux[1], VMOP_LAYOUT_BPF_AUX_FUNCTION, 1);
	set(guest, aux[1], VMOP_LAYOUT_BPF_AUX_FUNCTIONS, infos);
	set(guest, aux[1], VMOP_LAYOUT_BPF_AUX_BTF, btf);
	synthetic_put_u32(guest, infos + 8 + 4, 7);
	set(guest, btf, VMOP_LAYOUT_BTF_TYPES, types);
	set(guest, btf, VMOP_LAYOUT_BTF_STRINGS, string(guest, "-of its own BTF"));
	synthetic_put_u64(guest, types + 7 * 8, type);
	synthetic_put_u32(guest, type, 1);
	uint64_t before = guest->bpf_head;
	for (int i = 0; i < 3; i++) {
		uint64_t node = synthetic_member(guest, aux[i], VMOP_LAYOUT_BPF_AUX_NODE);
		synthetic_put_u64(guest, before, node);
		before = node;
	}
	synthetic_put_u64(guest, before, guest->bpf_head);
}

/* --- page tables
 * ------------------------------------------------------------------------------------ */

static uint64_t table_page(struct synthetic *guest, uint64_t *next)
{
	uint64_t gpa = *next;
	*next += PAGE;
	memset(guest->ram + gpa, 0, PAGE);
	return gpa;
}

static void entry(struct synthetic *guest, uint64_t table, unsigned int index, uint64_t value)
{
	put(guest->ram + table + 8 * index, value, 8);
}

static uint64_t table_entry(const struct synthetic *guest, uint64_t gpa)
{
	return (gpa + guest->ram_start) | PRESENT; /* on arm64: a table or a page */
}

static uint64_t block_entry(const struct synthetic *guest, uint64_t gpa)
{
	return guest->ram_start ? (gpa + guest->ram_start) | ARM64_BLOCK : gpa | PRESENT | LARGE;
}

void synthetic_give_page(struct synthetic *guest, uint64_t mapping)
{
	put(guest->page_owner, mapping, 8);
}

/*
 * Map the image with 2 MiB pages at SYNTHETIC_TEXT, and RAM at the direct map with a 1 GiB page.
 * The vmemmap is only calculated with, except for the one page struct that is read, which gets its
 * own page.
 */
static void make_tables(struct synthetic *guest, bool five_levels, uint64_t init_top_pgt)
{
	uint64_t next = TABLES_GPA;
	uint64_t root = guest->root_gpa = init_top_pgt - SYNTHETIC_TEXT + SYNTHETIC_TEXT_GPA;
	uint64_t pgd = root;
	if (five_levels) {
		pgd = table_page(guest, &next);
		entry(guest, root, 511, table_entry(guest, pgd));
	}
	uint64_t image_pud = table_page(guest, &next), image_pmd = table_page(guest, &next);
	uint64_t direct_pud = table_page(guest, &next), map_pud = table_page(guest, &next);
	uint64_t map_pmd = table_page(guest, &next), map_pt = table_page(guest, &next);
	entry(guest, pgd, 511, table_entry(guest, image_pud));
	entry(guest, image_pud, 510, table_entry(guest, image_pmd));
	for (unsigned int i = 0; i < SYNTHETIC_IMAGE_BYTES >> 21; i++)
		entry(guest, image_pmd, (unsigned int)((SYNTHETIC_TEXT >> 21) & 511) + i,
		      block_entry(guest, SYNTHETIC_TEXT_GPA + ((uint64_t)i << 21)));
	entry(guest, pgd, (DIRECT_MAP >> 39) & 511, table_entry(guest, direct_pud));
	entry(guest, direct_pud, 0, block_entry(guest, 0));
	entry(guest, pgd, (VMEMMAP >> 39) & 511, table_entry(guest, map_pud));
	entry(guest, map_pud, 0, table_entry(guest, map_pmd));
	entry(guest, map_pmd, 0, table_entry(guest, map_pt));
	uint64_t frame = table_page(guest, &next);
	entry(guest, map_pt, (unsigned int)((guest->page - VMEMMAP) / PAGE),
	      table_entry(guest, frame));
	guest->page_owner = guest->ram + frame + (guest->page - VMEMMAP) % PAGE +
			    (uint32_t)guest->layout.value[VMOP_LAYOUT_PAGE_MAPPING];
	synthetic_give_page(guest, mapping_of(guest, guest->inode));
	uint64_t trampoline = SYNTHETIC_TRAMPOLINE_GPA;
	memset(guest->ram + trampoline, 0, PAGE);
	entry(guest, trampoline, 511, table_entry(guest, five_levels ? pgd : image_pud));
}

/* --- all together
 * --------------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct synthetic_symbol *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void make_text_symbols(struct synthetic *guest)
{
	synthetic_name_symbol(guest, "_text", 'T', SYNTHETIC_TEXT);
	synthetic_name_symbol(guest, "_stext", 'T', SYNTHETIC_TEXT);
	for (unsigned int i = 0; i < SYNTHETIC_FILLERS; i++) {
		char name[96];
		/* one name in a hundred is long */
		snprintf(name, sizeof(name), "filler_%0*u", i % 100 ? 1 : LONG_PACKED_NAME, i);
		synthetic_name_symbol(guest, name, i % 3 ? 't' : 'T',
				      SYNTHETIC_TEXT + 16 * (uint64_t)(i + 1));
	}
	guest->used = 16 * (SYNTHETIC_FILLERS + 2);
	synthetic_name_symbol(guest, "_etext", 'T', SYNTHETIC_TEXT + guest->used);
}

static void make_vmcoreinfo(struct synthetic *guest, uint64_t init_top_pgt, bool five_levels)
{
	sprintf((char *)guest->ram + VMCOREINFO_GPA + 24,
		"OSRELEASE=6.99.0-test\nPAGESIZE=4096\nSYMBOL(swapper_pg_dir)=%llx\n"
		"NUMBER(pgtable_l5_enabled)=%d\nKERNELOFFSET=19000000\nNUMBER(phys_base)=%lld\n",
		(unsigned long long)init_top_pgt, five_levels,
		(long long)(SYNTHETIC_TEXT_GPA - (SYNTHETIC_TEXT - UINT64_C(0xffffffff80000000))));
}

/* Drop variables, as without CONFIG_KALLSYMS_ALL. */
static void drop_variables(struct synthetic *guest)
{
	size_t kept = 0;
	for (size_t i = 0; i < guest->symbol_count; i++)
		if (strchr("tTwW", guest->symbols[i].type))
			guest->symbols[kept++] = guest->symbols[i];
	guest->symbol_count = kept;
}

static void make_kallsyms(struct synthetic *guest, const struct synthetic_options *options)
{
	enum synthetic_kallsyms form = options->kallsyms;
	bool percpu = form != SYNTHETIC_ALL_RELATIVE && form != SYNTHETIC_PLACE_RELATIVE &&
		      form != SYNTHETIC_BEFORE_RELATIVE;
	/* the offset of a per-CPU variable: its copy for CPU 0 is at __per_cpu_offset[0] + this */
	synthetic_name_symbol(guest, options->arm64 ? "__entry_task" : "current_task",
			      percpu ? 'A' : 'D', percpu ? 0x1000 : guest->current_task);
	synthetic_name_symbol(guest, "_end", 'B', SYNTHETIC_TEXT + SYNTHETIC_IMAGE_BYTES);
	if (options->text_only)
		drop_variables(guest);
	qsort(guest->symbols, guest->symbol_count, sizeof(*guest->symbols), by_address);
	uint64_t address = align(SYNTHETIC_TEXT + guest->used, PAGE);
	size_t names;
	size_t len = synthetic_kallsyms(guest->symbols, guest->symbol_count, form, address,
					options->arm64 ? ARM64_BASE : SYNTHETIC_TEXT,
					synthetic_at(guest, address), 2u << 20, &names);
	guest->names_gpa = address + names - SYNTHETIC_TEXT + SYNTHETIC_TEXT_GPA;
	guest->used = address + len - SYNTHETIC_TEXT;
}

void synthetic_make(struct synthetic *guest, const struct synthetic_options *options)
{
	static const char banner[] = "Linux version 6.99.0-test (by hand) #1\n";
	memset(guest, 0, sizeof(*guest));
	guest->ram = calloc(1, SYNTHETIC_RAM_BYTES);
	guest->symbols = calloc(MAX_SYMBOLS, sizeof(*guest->symbols));
	if (!guest->ram || !guest->symbols)
		abort();
	if (options->arm64)
		guest->ram_start = options->ram_start ? options->ram_start : 1u << 30;
	make_text_symbols(guest);
	if (options->function)
		synthetic_name_symbol(guest, options->function, 'T', SYNTHETIC_TEXT + 64);
	uint64_t text = synthetic_place(guest, "linux_banner", 'R', 256, 16);
	memcpy(synthetic_at(guest, text), banner, sizeof(banner));
	uint64_t init_top_pgt = synthetic_place(
		guest, options->arm64 ? "swapper_pg_dir" : "init_top_pgt", 'D', PAGE, PAGE);
	guest->jiffies = synthetic_place(guest, "jiffies", 'D', 8, 8);
	synthetic_put_u64(guest, guest->jiffies, 1000);
	synthetic_put_u32(guest, synthetic_place(guest, "nr_cpu_ids", 'D', 4, 8), 1);
	synthetic_put_u64(guest, synthetic_place(guest, "vmemmap_base", 'D', 8, 8), VMEMMAP);
	guest->btf = synthetic_place(guest, options->no_btf ? NULL : "__start_BTF", 'R', 65536, 8);
	guest->btf_bytes =
		make_btf(synthetic_at(guest, guest->btf), 65536, &guest->layout, options);
	if (!options->no_btf)
		synthetic_name_symbol(guest, "__stop_BTF", 'R', guest->btf + guest->btf_bytes);
	make_file(guest);
	make_tasks(guest);
	if (options->stacks)
		make_threads(guest);
	make_module(guest);
	if (options->bpf_programs)
		make_bpf_programs(guest);
	else
		make_bpf(guest);
	make_tables(guest, options->five_levels, init_top_pgt);
	if (options->no_trampoline || options->arm64)
		memset(guest->ram + SYNTHETIC_TRAMPOLINE_GPA, 0, PAGE);
	if (!options->no_vmcoreinfo && !options->arm64)
		make_vmcoreinfo(guest, init_top_pgt, options->five_levels);
	uint64_t offsets = synthetic_place(guest, "__per_cpu_offset", 'R', 8, 8);
	guest->current_task = synthetic_place(guest, NULL, 0, 8, 8);
	synthetic_put_u64(guest, guest->current_task, guest->task[2]);
	bool percpu = options->kallsyms != SYNTHETIC_ALL_RELATIVE &&
		      options->kallsyms != SYNTHETIC_PLACE_RELATIVE &&
		      options->kallsyms != SYNTHETIC_BEFORE_RELATIVE;
	synthetic_put_u64(guest, offsets, percpu ? guest->current_task - 0x1000 : 0);
	guest->per_cpu_offsets = offsets;
	if (options->stacks && !options->arm64) {
		guest->run_queue = object(guest);
		synthetic_name_symbol(guest, "runqueues", percpu ? 'A' : 'D',
				      guest->run_queue -
					      (percpu ? guest->current_task - 0x1000 : 0));
	}
	if (options->arm64)
		synthetic_make_arm64(guest, options, init_top_pgt);
	make_kallsyms(guest, options);
}

void synthetic_free(struct synthetic *guest)
{
	free(guest->ram);
	free(guest->symbols);
}
