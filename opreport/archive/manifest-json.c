// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/archive/manifest-json.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* If memory runs out, HASH_ADD leaves the element's tbl NULL instead of ending the program. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "libutil/cleanup.h"
#include "libutil/escape.h"
#include "opreport/archive/time-zone.h"

/* The longest path, before it is written as %HH. */
#define PATH_MAX_BYTES 16384

static void cleanup_json(json_t **json)
{
	json_decref(*json);
}
#define _cleanup_json_ _cleanup_(cleanup_json)

/* ---- paths ------------------------------------------------------------------ */

static char *hex_of(const uint8_t *bytes, size_t len_bytes, char *ret)
{
	for (size_t i = 0; i < len_bytes; i++)
		sprintf(ret + 2 * i, "%02x", bytes[i]);
	ret[2 * len_bytes] = '\0';
	return ret;
}

static json_t *json_of_path(const char *path)
{
	size_t len_bytes = strlen(path);
	_cleanup_free_ char *text = malloc(3 * len_bytes + 1);
	char *to = text;
	for (size_t at = 0, n; text && at < len_bytes; at += n) {
		uint32_t character;
		n = vmop_escape_decode(path + at, len_bytes - at, &character);
		if (character != UINT32_MAX && character != '%' &&
		    !vmop_escape_is_steering(character)) {
			memcpy(to, path + at, n);
			to += n;
			continue;
		}
		for (size_t i = 0; i < n; i++)
			to += sprintf(to, "%%%02x", (unsigned char)path[at + i]);
	}
	if (!text)
		return NULL;
	*to = '\0';
	return json_string(text);
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decode %HH in place. False: malformed, or a NUL. */
static bool decode_path(char *path)
{
	char *to = path;
	for (const char *from = path; *from; from++) {
		if (*from != '%') {
			*to++ = *from;
			continue;
		}
		int high = digit_of(from[1]), low = high < 0 ? -1 : digit_of(from[2]);
		if (low < 0 || !(high | low))
			return false;
		*to++ = (char)(high << 4 | low);
		from += 2;
	}
	*to = '\0';
	return true;
}

/* ---- writing ---------------------------------------------------------------- */

/* Set a key of an object; a NULL value, without memory, is noted. */
static void set(json_t *object, const char *key, json_t *value, bool *ok)
{
	*ok &= json_object_set_new(object, key, value) == 0;
}

static void set_build_id(json_t *object, const struct vmop_build_id *id, bool *ok)
{
	char hex[2 * VMOP_BUILD_ID_MAX_BYTES + 1];
	vmop_build_id_format(id, hex);
	if (id->len_bytes)
		set(object, "build_id", json_string(hex), ok);
}

static json_t *json_of_member(const struct vmop_member *member, bool *ok)
{
	char hex[2 * VMOP_MEMBER_HASH_BYTES + 1];
	json_t *json = json_object();
	set(json, "name", json_string(member->name), ok);
	set(json, "kind", json_string(vmop_member_kind_word(member->kind)), ok);
	set(json, "path", json_of_path(member->path), ok);
	set(json, "bytes", json_integer((json_int_t)member->size_bytes), ok);
	set(json, "mtime_ns", json_integer((json_int_t)member->mtime_ns), ok);
	set_build_id(json, &member->build_id, ok);
	set(json, "xxh128", json_string(hex_of(member->hash, sizeof(member->hash), hex)), ok);
	return json;
}

static json_t *name_of(const struct vmop_manifest *manifest, uint32_t member)
{
	return json_string(manifest->members[member].name);
}

static json_t *json_of_image(const struct vmop_manifest *manifest,
			     const struct vmop_manifest_image *image, bool *ok)
{
	json_t *json = json_object(), *debug = json_array();
	set(json, "path", json_of_path(image->ref.path ? image->ref.path : ""), ok);
	if (image->ref.root && *image->ref.root)
		set(json, "root", json_of_path(image->ref.root), ok);
	set_build_id(json, &image->ref.build_id, ok);
	if (image->ref.is_elsewhere)
		set(json, "is_elsewhere", json_true(), ok);
	if (image->file != VMOP_NO_MEMBER)
		set(json, "file", name_of(manifest, image->file), ok);
	else
		set(json, "reason", json_string(image->reason), ok);
	for (size_t i = 0; i < image->n_debug; i++)
		*ok &= json_array_append_new(debug, name_of(manifest, image->debug[i])) == 0;
	set(json, "debug_files", debug, ok);
	return json;
}

static json_t *json_of_source(const struct vmop_manifest *manifest,
			      const struct vmop_manifest_source *source, bool *ok)
{
	json_t *json = json_object();
	set(json, "path", json_of_path(source->path), ok);
	if (*source->root)
		set(json, "root", json_of_path(source->root), ok);
	if (source->file != VMOP_NO_MEMBER)
		set(json, "file", name_of(manifest, source->file), ok);
	else
		set(json, "reason", json_string(source->reason), ok);
	return json;
}

static json_t *json_of(const struct vmop_manifest *manifest, bool *ok)
{
	json_t *json = json_object(), *members = json_array(), *images = json_array(),
	       *sources = json_array();
	set(json, "format", json_integer(VMOP_MANIFEST_FORMAT), ok);
	set(json, "vmop", json_of_path(manifest->vmop), ok);
	set(json, "hostname", json_of_path(manifest->hostname), ok);
	set(json, "time_zone", json_of_path(manifest->time_zone), ok);
	set(json, "created_ns", json_integer((json_int_t)manifest->created_ns), ok);
	set(json, "has_sources", json_boolean(manifest->has_sources), ok);
	for (size_t i = 0; i < manifest->n_members; i++)
		*ok &= !json_array_append_new(members, json_of_member(&manifest->members[i], ok));
	for (size_t i = 0; i < manifest->n_images; i++)
		*ok &= !json_array_append_new(images,
					      json_of_image(manifest, &manifest->images[i], ok));
	for (size_t i = 0; i < manifest->n_sources; i++)
		*ok &= !json_array_append_new(sources,
					      json_of_source(manifest, &manifest->sources[i], ok));
	set(json, "members", members, ok);
	set(json, "images", images, ok);
	set(json, "source_files", sources, ok);
	return json;
}

struct vmop_error *vmop_manifest_write_json(const struct vmop_manifest *manifest, char **ret,
					    size_t *ret_len_bytes)
{
	bool ok = true;
	_cleanup_json_ json_t *json = json_of(manifest, &ok);
	*ret = ok ? json_dumps(json, JSON_INDENT(1)) : NULL;
	if (!*ret)
		return &vmop_error_no_memory;
	*ret_len_bytes = strlen(*ret);
	if (*ret_len_bytes <= VMOP_MANIFEST_MAX_BYTES)
		return NULL;
	free(vmop_steal(ret));
	return vmop_error_new(VMOP_ERROR_LIMIT,
			      "the list of files would have more than %zu MiB; archive fewer "
			      "sessions at once",
			      VMOP_MANIFEST_MAX_BYTES >> 20);
}

/* ---- reading ---------------------------------------------------------------- */

struct member_name {
	const char *name;
	uint32_t index;
	UT_hash_handle hh;
};

/* A manifest while it is read. */
struct reading {
	struct vmop_manifest *manifest;
	struct member_name *entries; /* by index */
	struct member_name *names;   /* by name */
	const char *list;	     /* being read, and the item of it */
	size_t item;
};

static struct vmop_error *wrong(const struct reading *reading, const char *key, const char *what)
{
	if (!reading->list)
		return vmop_error_new(VMOP_ERROR_CORRUPT, VMOP_MANIFEST_NAME ": \"%s\" %s", key,
				      what);
	return vmop_error_new(VMOP_ERROR_CORRUPT, VMOP_MANIFEST_NAME ": \"%s\" of %s[%zu] %s", key,
			      reading->list, reading->item, what);
}

/* Set *ret to a string of an object. Without the key it is NULL, or an error if is_needed. */
static struct vmop_error *read_text(const struct reading *reading, const json_t *object,
				    const char *key, bool is_needed, const char **ret)
{
	const json_t *value = json_object_get(object, key);
	*ret = json_string_value(value);
	if (value ? !*ret : is_needed)
		return wrong(reading, key, value ? "is no string" : "is missing");
	return NULL;
}

static struct vmop_error *read_path(const struct reading *reading, const json_t *object,
				    const char *key, bool is_needed, const char **ret)
{
	const char *text;
	struct vmop_error *err = read_text(reading, object, key, is_needed, &text);
	if (err)
		return err;
	_cleanup_free_ char *path = strdup(text ? text : "");
	if (!path)
		return &vmop_error_no_memory;
	if (!decode_path(path))
		return wrong(reading, key, "has a wrong %HH");
	if (strlen(path) > PATH_MAX_BYTES)
		return wrong(reading, key, "is too long");
	*ret = vmop_arena_text(&reading->manifest->arena, path);
	return *ret ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *read_count(const struct reading *reading, const json_t *object,
				     const char *key, uint64_t *ret)
{
	const json_t *value = json_object_get(object, key);
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return wrong(reading, key, "is no number");
	*ret = (uint64_t)json_integer_value(value);
	return NULL;
}

static struct vmop_error *read_flag(const struct reading *reading, const json_t *object,
				    const char *key, bool *ret)
{
	const json_t *value = json_object_get(object, key);
	*ret = json_is_true(value);
	return !value || json_is_boolean(value) ? NULL : wrong(reading, key, "is no boolean");
}

static struct vmop_error *read_build_id(const struct reading *reading, const json_t *object,
					struct vmop_build_id *ret)
{
	const char *text;
	struct vmop_error *err = read_text(reading, object, "build_id", false, &text);
	if (!err && text && !vmop_build_id_parse(text, ret))
		err = wrong(reading, "build_id", "is none");
	return err;
}

static struct vmop_error *read_hash(const struct reading *reading, const json_t *object,
				    uint8_t ret[VMOP_MEMBER_HASH_BYTES])
{
	const char *text;
	struct vmop_error *err = read_text(reading, object, "xxh128", true, &text);
	if (!err && strlen(text) != 2 * VMOP_MEMBER_HASH_BYTES)
		err = wrong(reading, "xxh128", "is none");
	for (size_t i = 0; i < VMOP_MEMBER_HASH_BYTES && !err; i++) {
		int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
		if (high < 0 || low < 0)
			return wrong(reading, "xxh128", "is none");
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return err;
}

static struct vmop_error *read_kind(const struct reading *reading, const json_t *object,
				    enum vmop_member_kind *ret)
{
	const char *word;
	struct vmop_error *err = read_text(reading, object, "kind", true, &word);
	for (*ret = 0; !err && *ret < VMOP_N_MEMBER_KINDS; ++*ret)
		if (!strcmp(word, vmop_member_kind_word(*ret)))
			return NULL;
	return err ? err : wrong(reading, "kind", "is unknown");
}

/* Give the member its name, which no other one has. */
static struct vmop_error *read_name(struct reading *reading, const json_t *object,
				    struct vmop_member *member)
{
	const char *name;
	struct vmop_error *err = read_text(reading, object, "name", true, &name);
	if (err)
		return err;
	if (!vmop_member_name_is_valid(member->kind, name))
		return wrong(reading, "name", "is not one that vmoparchive gives");
	member->name = vmop_arena_text(&reading->manifest->arena, name);
	if (!member->name)
		return &vmop_error_no_memory;
	struct member_name *entry;
	HASH_FIND_STR(reading->names, member->name, entry);
	if (entry)
		return wrong(reading, "name", "is there twice");
	entry = &reading->entries[reading->item];
	entry->name = member->name;
	entry->index = (uint32_t)reading->item;
	HASH_ADD_KEYPTR(hh, reading->names, entry->name, strlen(entry->name), entry);
	return entry->hh.tbl ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *read_member(struct reading *reading, const json_t *object)
{
	struct vmop_member *member;
	struct vmop_error *err = vmop_manifest_add_member(reading->manifest, &member);
	if (!err)
		err = read_kind(reading, object, &member->kind);
	if (!err)
		err = read_name(reading, object, member);
	if (!err)
		err = read_path(reading, object, "path", true, &member->path);
	if (!err)
		err = read_count(reading, object, "bytes", &member->size_bytes);
	if (!err)
		err = read_count(reading, object, "mtime_ns", &member->mtime_ns);
	if (!err)
		err = read_build_id(reading, object, &member->build_id);
	return err ? err : read_hash(reading, object, member->hash);
}

/* Set *ret to the member that a name stands for, of one of two kinds. */
static struct vmop_error *find_member(const struct reading *reading, const char *key,
				      const char *name, enum vmop_member_kind kind,
				      enum vmop_member_kind other, uint32_t *ret)
{
	const struct member_name *entry;
	HASH_FIND_STR(reading->names, name, entry);
	if (!entry)
		return wrong(reading, key, "names no member");
	const struct vmop_member *member = &reading->manifest->members[entry->index];
	if (member->kind != kind && member->kind != other)
		return wrong(reading, key, "names a member of another kind");
	*ret = entry->index;
	return NULL;
}

/* Read "file", or without one "reason". */
static struct vmop_error *read_file(const struct reading *reading, const json_t *object,
				    enum vmop_member_kind kind, enum vmop_member_kind other,
				    uint32_t *ret, const char **ret_reason)
{
	const char *name, *reason = NULL;
	struct vmop_error *err = read_text(reading, object, "file", false, &name);
	if (!err && name)
		return find_member(reading, "file", name, kind, other, ret);
	if (!err)
		err = read_text(reading, object, "reason", true, &reason);
	*ret_reason = err ? NULL : vmop_arena_text(&reading->manifest->arena, reason);
	return err || *ret_reason ? err : &vmop_error_no_memory;
}

static struct vmop_error *read_debug_files(const struct reading *reading, const json_t *object,
					   struct vmop_manifest_image *image)
{
	static const char key[] = "debug_files";
	const json_t *list = json_object_get(object, key);
	size_t n = json_array_size(list);
	struct vmop_error *err = NULL;
	if (!json_is_array(list) || n > VMOP_FOUND_DEBUG_FILES_MAX)
		return wrong(reading, key, "is no list, or too long");
	for (; image->n_debug < n && !err; image->n_debug++) {
		const char *name = json_string_value(json_array_get(list, image->n_debug));
		err = name ? find_member(reading, key, name, VMOP_MEMBER_DEBUG, VMOP_MEMBER_IMAGE,
					 &image->debug[image->n_debug])
			   : wrong(reading, key, "has more than strings");
	}
	return err;
}

static struct vmop_error *read_image(struct reading *reading, const json_t *object)
{
	struct vmop_manifest_image *image;
	struct vmop_error *err = vmop_manifest_add_image(reading->manifest, &image);
	if (!err)
		err = read_path(reading, object, "path", true, &image->ref.path);
	if (!err)
		err = read_path(reading, object, "root", false, &image->ref.root);
	if (!err)
		err = read_build_id(reading, object, &image->ref.build_id);
	if (!err)
		err = read_flag(reading, object, "is_elsewhere", &image->ref.is_elsewhere);
	if (!err)
		err = read_file(reading, object, VMOP_MEMBER_IMAGE, VMOP_MEMBER_DEBUG, &image->file,
				&image->reason);
	return err ? err : read_debug_files(reading, object, image);
}

static struct vmop_error *read_source(struct reading *reading, const json_t *object)
{
	struct vmop_manifest_source *source;
	struct vmop_error *err = vmop_manifest_add_source(reading->manifest, &source);
	if (!err)
		err = read_path(reading, object, "path", true, &source->path);
	if (!err)
		err = read_path(reading, object, "root", false, &source->root);
	return err ? err
		   : read_file(reading, object, VMOP_MEMBER_SOURCE, VMOP_MEMBER_SOURCE,
			       &source->file, &source->reason);
}

static struct vmop_error *read_list(struct reading *reading, const json_t *json, const char *key,
				    struct vmop_error *(*read)(struct reading *reading,
							       const json_t *object))
{
	const json_t *list = json_object_get(json, key);
	struct vmop_error *err = NULL;
	if (!json_is_array(list))
		return wrong(reading, key, "is no list");
	reading->list = key;
	for (reading->item = 0; reading->item < json_array_size(list) && !err; reading->item++)
		err = read(reading, json_array_get(list, reading->item));
	reading->list = NULL;
	return err;
}

static struct vmop_error *read_format(const struct reading *reading, const json_t *json)
{
	uint64_t format;
	struct vmop_error *err = read_count(reading, json, "format", &format);
	if (!err && format > VMOP_MANIFEST_FORMAT)
		err = vmop_error_new(VMOP_ERROR_NEWER,
				     "an archive of format %" PRIu64 ", of a newer vmop; this one "
				     "reads formats up to %d",
				     format, VMOP_MANIFEST_FORMAT);
	return err;
}

static struct vmop_error *read_facts(const struct reading *reading, const json_t *json)
{
	struct vmop_manifest *manifest = reading->manifest;
	struct vmop_error *err = read_path(reading, json, "vmop", true, &manifest->vmop);
	if (!err)
		err = read_path(reading, json, "hostname", true, &manifest->hostname);
	if (!err)
		err = read_path(reading, json, "time_zone", true, &manifest->time_zone);
	if (!err && *manifest->time_zone && !vmop_time_zone_is_posix(manifest->time_zone))
		err = wrong(reading, "time_zone", "is none");
	if (!err)
		err = read_count(reading, json, "created_ns", &manifest->created_ns);
	return err ? err : read_flag(reading, json, "has_sources", &manifest->has_sources);
}

static struct vmop_error *read_lists(struct reading *reading, const json_t *json)
{
	size_t n = json_array_size(json_object_get(json, "members"));
	reading->entries = calloc(n + 1, sizeof(*reading->entries));
	if (!reading->entries)
		return &vmop_error_no_memory;
	struct vmop_error *err = read_list(reading, json, "members", read_member);
	if (!err)
		err = read_list(reading, json, "images", read_image);
	if (!err)
		err = read_list(reading, json, "source_files", read_source);
	HASH_CLEAR(hh, reading->names);
	free(reading->entries);
	return err;
}

struct vmop_error *vmop_manifest_read_json(struct vmop_manifest *ret, const char *text,
					   size_t len_bytes)
{
	struct reading reading = {.manifest = ret};
	json_error_t problem;
	*ret = (struct vmop_manifest){0};
	_cleanup_json_ json_t *json = json_loadb(text, len_bytes, JSON_REJECT_DUPLICATES, &problem);
	if (!json && json_error_code(&problem) == json_error_out_of_memory)
		return &vmop_error_no_memory;
	if (!json_is_object(json))
		return vmop_error_new(VMOP_ERROR_CORRUPT,
				      VMOP_MANIFEST_NAME ": not a manifest of vmop (line %d)",
				      json ? 1 : problem.line);
	struct vmop_error *err = read_format(&reading, json);
	if (!err)
		err = read_facts(&reading, json);
	return err ? err : read_lists(&reading, json);
}
