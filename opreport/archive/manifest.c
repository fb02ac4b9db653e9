// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/archive/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/escape.h"

#define SESSION_SUFFIX ".vmop"

/* The part of a file's name that a member's name keeps. */
#define KEPT_NAME_BYTES 80

static const struct {
	const char *word, *folder;
} kinds[VMOP_N_MEMBER_KINDS] = {
	[VMOP_MEMBER_SESSION] = {"session", "sessions"},
	[VMOP_MEMBER_IMAGE] = {"image", "files"},
	[VMOP_MEMBER_DEBUG] = {"debug", "files"},
	[VMOP_MEMBER_SOURCE] = {"source", "sources"},
};

void vmop_manifest_deinit(struct vmop_manifest *manifest)
{
	free(manifest->members);
	free(manifest->images);
	free(manifest->sources);
	vmop_arena_deinit(&manifest->arena);
	*manifest = (struct vmop_manifest){0};
}

static struct vmop_error *too_many(const char *what, size_t max)
{
	return vmop_error_new(VMOP_ERROR_LIMIT, "an archive has at most %zu %s", max, what);
}

struct vmop_error *vmop_manifest_add_member(struct vmop_manifest *manifest,
					    struct vmop_member **ret)
{
	if (manifest->n_members >= VMOP_MANIFEST_MAX_MEMBERS)
		return too_many("members", VMOP_MANIFEST_MAX_MEMBERS);
	if (!vmop_array_reserve(manifest->members, manifest->members_capacity,
				manifest->n_members + 1))
		return &vmop_error_no_memory;
	*ret = &manifest->members[manifest->n_members++];
	**ret = (struct vmop_member){0};
	return NULL;
}

struct vmop_error *vmop_manifest_add_image(struct vmop_manifest *manifest,
					   struct vmop_manifest_image **ret)
{
	if (manifest->n_images >= VMOP_MANIFEST_MAX_ITEMS)
		return too_many("images", VMOP_MANIFEST_MAX_ITEMS);
	if (!vmop_array_reserve(manifest->images, manifest->images_capacity,
				manifest->n_images + 1))
		return &vmop_error_no_memory;
	*ret = &manifest->images[manifest->n_images++];
	**ret = (struct vmop_manifest_image){.file = VMOP_NO_MEMBER};
	return NULL;
}

struct vmop_error *vmop_manifest_add_source(struct vmop_manifest *manifest,
					    struct vmop_manifest_source **ret)
{
	if (manifest->n_sources >= VMOP_MANIFEST_MAX_ITEMS)
		return too_many("source files", VMOP_MANIFEST_MAX_ITEMS);
	if (!vmop_array_reserve(manifest->sources, manifest->sources_capacity,
				manifest->n_sources + 1))
		return &vmop_error_no_memory;
	*ret = &manifest->sources[manifest->n_sources++];
	**ret = (struct vmop_manifest_source){.file = VMOP_NO_MEMBER};
	return NULL;
}

const char *vmop_member_kind_word(enum vmop_member_kind kind)
{
	return kinds[kind].word;
}

const char *vmop_member_kind_folder(enum vmop_member_kind kind)
{
	return kinds[kind].folder;
}

static bool is_plain_byte(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || (byte && strchr("._+-", byte));
}

static bool has_suffix(const char *text, const char *suffix)
{
	size_t len = strlen(text), suffix_len = strlen(suffix);
	return len > suffix_len && !strcmp(text + len - suffix_len, suffix);
}

/* A session keeps its name, by which users know it. Its bytes are UTF-8 that no terminal heeds. */
static bool is_session_name(const char *name)
{
	return vmop_escape_is_plain(name, VMOP_CHARSET_UTF8) && has_suffix(name, SESSION_SUFFIX);
}

bool vmop_member_name_is_valid(enum vmop_member_kind kind, const char *name)
{
	const char *folder = kinds[kind].folder;
	size_t len = strlen(folder);
	if (strlen(name) > VMOP_MEMBER_NAME_MAX_BYTES || strncmp(name, folder, len) ||
	    name[len] != '/')
		return false;
	name += len + 1;
	if (!*name || *name == '.' || strchr(name, '/'))
		return false;
	if (kind == VMOP_MEMBER_SESSION)
		return is_session_name(name);
	while (*name && is_plain_byte(*name))
		name++;
	return !*name;
}

/* Remove the suffix of a packed module: its member is the unpacked ELF file. */
static void drop_packing(enum vmop_member_kind kind, char *name)
{
	static const char *const suffixes[] = {".ko.xz", ".ko.zst", ".ko.gz"};
	bool is_elf = kind == VMOP_MEMBER_IMAGE || kind == VMOP_MEMBER_DEBUG;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes) && is_elf; i++)
		if (has_suffix(name, suffixes[i]))
			*strrchr(name, '.') = '\0';
}

struct vmop_error *vmop_member_name_make(enum vmop_member_kind kind, size_t number,
					 const char *path, char **ret)
{
	const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
	char plain[KEPT_NAME_BYTES + 1];
	size_t n = 0;
	for (; *last && n < KEPT_NAME_BYTES; last++)
		if (is_plain_byte(*last))
			plain[n++] = *last;
	plain[n] = '\0';
	drop_packing(kind, plain);
	bool is_session = kind == VMOP_MEMBER_SESSION;
	if (asprintf(ret, "%s/%05zu-%s%s", kinds[kind].folder, number, n ? plain : "file",
		     is_session && !has_suffix(plain, SESSION_SUFFIX) ? SESSION_SUFFIX : "") >= 0)
		return NULL;
	*ret = NULL;
	return &vmop_error_no_memory;
}

uint64_t vmop_manifest_size_bytes(const struct vmop_manifest *manifest)
{
	uint64_t sum_bytes = 0;
	for (size_t i = 0; i < manifest->n_members; i++)
		if (__builtin_add_overflow(sum_bytes, manifest->members[i].size_bytes, &sum_bytes))
			return UINT64_MAX;
	return sum_bytes;
}
