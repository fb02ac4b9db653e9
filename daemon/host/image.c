// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/image.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/error.h"
#include "libutil/procfs.h"

/* The key of an image in by_key. The name follows. */
struct image_key {
	struct vmop_domain_id domain;
	uint32_t kind;
	uint32_t dev_major, dev_minor;
	uint64_t inode_or_base;
	char name[];
};

#define KEY_NAME_MAX 4096 /* PATH_MAX; longer names are cut */

union key_buffer {
	struct image_key key;
	char bytes[sizeof(struct image_key) + KEY_NAME_MAX];
};

static unsigned key_fill(union key_buffer *buffer, const struct image_key *head, const char *name)
{
	buffer->key = *head;
	size_t len = strnlen(name, KEY_NAME_MAX - 1);
	memcpy(buffer->key.name, name, len);
	return (unsigned)(sizeof(*head) + len);
}

static struct vmop_image *image_alloc(struct vmop_images *images, struct vmop_domain_id domain,
				      enum vmop_image_kind kind, const char *name)
{
	if (!images->n_free_slots)
		return NULL;
	struct vmop_image *image = calloc(1, sizeof(*image));
	char *copy = strndup(name, KEY_NAME_MAX - 1);
	if (!image || !copy) {
		free(image);
		free(copy);
		return NULL;
	}
	image->name = copy;
	image->domain = domain;
	image->kind = kind;
	image->refs = 1;
	image->slot.at = images->free_slots[--images->n_free_slots];
	images->slots[image->slot.at] = image;
	if (image->slot.at >= images->n_slots)
		images->n_slots = image->slot.at + 1;
	images->n++;
	return image;
}

static struct vmop_image *refused(struct vmop_images *images)
{
	images->n_refused++;
	return vmop_image_ref(images->unattributed[VMOP_UNATTRIBUTED_IMAGE_LIMIT]);
}

static void image_free(struct vmop_images *images, struct vmop_image *image)
{
	if (image->hh.tbl)
		HASH_DEL(images->by_key, image);
	if (image->hh_build_id.tbl)
		HASH_DELETE(hh_build_id, images->by_build_id, image);
	images->slots[image->slot.at] = NULL;
	images->free_slots[images->n_free_slots++] = image->slot.at;
	images->n--;
	if (image->alias)
		vmop_image_unref(images, image->alias);
	free(image->key);
	free(image->name);
	free(image->root);
	free(image->symbols);
	free(image->packed);
	free(image->note);
	free(image);
}

struct vmop_error *vmop_images_init(struct vmop_images *images, uint32_t max)
{
	*images = (struct vmop_images){.max = max, .next_id = 1, .n_free_slots = max};
	images->slots = calloc(max, sizeof(*images->slots));
	images->free_slots = calloc(max, sizeof(*images->free_slots));
	if (!images->slots || !images->free_slots)
		return &vmop_error_no_memory;
	for (uint32_t i = 0; i < max; i++)
		images->free_slots[i] = max - 1 - i;
	for (int i = 0; i < VMOP_N_UNATTRIBUTED; i++) {
		images->unattributed[i] = image_alloc(images, VMOP_DOMAIN_ID_HOST, VMOP_IMAGE_NONE,
						      vmop_unattributed_names[i]);
		if (!images->unattributed[i])
			return &vmop_error_no_memory;
		images->unattributed[i]->is_examined = true;
	}
	return NULL;
}

void vmop_images_deinit(struct vmop_images *images)
{
	for (uint32_t i = 0; i < images->n_slots; i++) {
		struct vmop_image *image = images->slots[i];
		if (image) {
			image->alias = NULL; /* all images are freed */
			image_free(images, image);
		}
	}
	free(images->slots);
	free(images->free_slots);
	*images = (struct vmop_images){0};
}

static struct vmop_image *find_by_build_id(struct vmop_images *images, struct vmop_domain_id domain,
					   const struct vmop_build_id *build_id)
{
	struct vmop_image *image;
	HASH_FIND(hh_build_id, images->by_build_id, build_id, sizeof(*build_id), image);
	return image && vmop_domain_id_equals(image->domain, domain) ? image : NULL;
}

const char *vmop_images_host_path(const struct vmop_images *images,
				  const struct vmop_build_id *build_id)
{
	struct vmop_build_id id = {.len_bytes = build_id->len_bytes};
	struct vmop_image *image;
	memcpy(id.bytes, build_id->bytes, id.len_bytes);
	HASH_FIND(hh_build_id, images->by_build_id, &id, sizeof(id), image);
	bool is_here = image && vmop_domain_id_equals(image->domain, VMOP_DOMAIN_ID_HOST) &&
		       image->kind == VMOP_IMAGE_FILE && !image->root;
	return is_here ? image->name : NULL;
}

static void add_build_id(struct vmop_images *images, struct vmop_image *image,
			 const struct vmop_build_id *build_id)
{
	/* The rest is 0, so that the whole struct can be hashed. */
	image->build_id = (struct vmop_build_id){.len_bytes = build_id->len_bytes};
	memcpy(image->build_id.bytes, build_id->bytes, build_id->len_bytes);
	HASH_ADD(hh_build_id, images->by_build_id, build_id, sizeof(image->build_id), image);
}

/* Add image to by_key. */
static void add_key(struct vmop_images *images, struct vmop_image *image,
		    const union key_buffer *buffer, unsigned len)
{
	image->key = malloc(len);
	if (!image->key)
		return;
	memcpy(image->key, buffer, len);
	HASH_ADD_KEYPTR(hh, images->by_key, image->key, len, image);
}

bool vmop_image_is_jitdump_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	if (strncmp(name, "jit-", 4) != 0)
		return false;
	size_t n = strspn(name + 4, "0123456789");
	return n && !strcmp(name + 4 + n, ".dump");
}

struct vmop_image *vmop_images_file(struct vmop_images *images, const struct vmop_mapped_file *file)
{
	struct vmop_build_id id = {0};
	bool has_id = file->build_id && file->build_id->len_bytes &&
		      file->build_id->len_bytes <= sizeof(id.bytes);
	struct vmop_image *image;
	union key_buffer buffer;
	unsigned len = 0;
	if (has_id) {
		id.len_bytes = file->build_id->len_bytes;
		memcpy(id.bytes, file->build_id->bytes, id.len_bytes);
		image = find_by_build_id(images, VMOP_DOMAIN_ID_HOST, &id);
	} else {
		len = key_fill(&buffer,
			       &(struct image_key){.kind = VMOP_IMAGE_FILE,
						   .dev_major = file->dev_major,
						   .dev_minor = file->dev_minor,
						   .inode_or_base = file->inode},
			       file->path);
		HASH_FIND(hh, images->by_key, &buffer, len, image);
	}
	if (image) {
		vmop_image_set_mapping(image, file->pid, file->map_start, file->map_end);
		return vmop_image_ref(image);
	}
	image = image_alloc(images, VMOP_DOMAIN_ID_HOST, VMOP_IMAGE_FILE, file->path);
	if (!image)
		return refused(images);
	image->is_jitdump = vmop_image_is_jitdump_name(image->name);
	image->dev_major = file->dev_major;
	image->dev_minor = file->dev_minor;
	image->inode = file->inode;
	vmop_image_set_mapping(image, file->pid, file->map_start, file->map_end);
	if (has_id)
		add_build_id(images, image, &id);
	else
		add_key(images, image, &buffer, len);
	return image;
}

struct vmop_image *vmop_images_new(struct vmop_images *images, struct vmop_domain_id domain,
				   enum vmop_image_kind kind, const char *name, uint64_t base,
				   uint64_t len_bytes)
{
	struct vmop_image *image = image_alloc(images, domain, kind, name);
	if (!image)
		return refused(images);
	image->base = base;
	image->len_bytes = len_bytes;
	image->is_examined = true;
	return image;
}

struct vmop_image *vmop_images_named(struct vmop_images *images, struct vmop_domain_id domain,
				     enum vmop_image_kind kind, const char *name, uint64_t base,
				     uint64_t len_bytes)
{
	union key_buffer buffer;
	unsigned len = key_fill(
		&buffer, &(struct image_key){.domain = domain, .kind = kind, .inode_or_base = base},
		name);
	struct vmop_image *image;
	HASH_FIND(hh, images->by_key, &buffer, len, image);
	if (image)
		return vmop_image_ref(image);
	image = vmop_images_new(images, domain, kind, name, base, len_bytes);
	if (image->kind == kind)
		add_key(images, image, &buffer, len);
	return image;
}

/* Fill in the key of a guest's file and return its length. */
static unsigned guest_file_key(union key_buffer *buffer, struct vmop_domain_id domain,
			       const char *path, const struct vmop_build_id *build_id)
{
	/* A path with a new build-id is another image: the key has the first bytes of the build-id.
	 */
	struct image_key head = {.domain = domain, .kind = VMOP_IMAGE_FILE};
	memcpy(&head.inode_or_base, build_id->bytes, sizeof(head.inode_or_base));
	return key_fill(buffer, &head, path);
}

struct vmop_image *vmop_images_find_guest_file(const struct vmop_images *images,
					       struct vmop_domain_id domain, const char *path,
					       const struct vmop_build_id *build_id)
{
	union key_buffer buffer;
	unsigned len = guest_file_key(&buffer, domain, path, build_id);
	struct vmop_image *image;
	HASH_FIND(hh, images->by_key, &buffer, len, image);
	return image;
}

struct vmop_image *vmop_images_guest_file(struct vmop_images *images, struct vmop_domain_id domain,
					  const char *path, const struct vmop_build_id *build_id)
{
	struct vmop_image *image = vmop_images_find_guest_file(images, domain, path, build_id);
	if (image)
		return vmop_image_ref(image);
	image = vmop_images_new(images, domain, VMOP_IMAGE_FILE, path, 0, 0);
	if (image->kind != VMOP_IMAGE_FILE)
		return image; /* no room: the image is VMOP_UNATTRIBUTED_IMAGE_LIMIT */
	image->build_id = *build_id;
	union key_buffer buffer;
	add_key(images, image, &buffer, guest_file_key(&buffer, domain, path, build_id));
	return image;
}

void vmop_image_unref(struct vmop_images *images, struct vmop_image *image)
{
	if (!image || --image->refs)
		return;
	if (!image->is_sampled && !image->id.number)
		image_free(images, image);
}

/* Store the row again, also if no more samples come. */
static void store_anew(struct vmop_image *image)
{
	image->is_stored = false;
	image->is_sampled |= image->id.number != 0;
}

void vmop_image_set_note(struct vmop_image *image, const char *note)
{
	if (!note && !image->note)
		return;
	if (note && image->note && !strcmp(image->note, note))
		return;
	/* Without memory, a stored note becomes empty. */
	free(image->note);
	image->note = note ? strdup(note) : NULL;
	image->note_is_stored = false;
	store_anew(image);
}

void vmop_image_take_symbols(struct vmop_image *image, struct vmop_symbol **symbols, size_t n)
{
	free(image->symbols);
	image->symbols = *symbols;
	image->n_symbols = n;
	*symbols = NULL;
	free(image->packed);
	image->packed = NULL;
	store_anew(image);
}

void vmop_image_take_packed(struct vmop_image *image, void **packed, size_t packed_bytes)
{
	free(image->packed);
	image->packed = *packed;
	image->packed_bytes = packed_bytes;
	*packed = NULL;
	store_anew(image);
}

bool vmop_image_copy_symbols(struct vmop_image *image, const struct vmop_symbol *symbols, size_t n,
			     uint64_t base)
{
	struct vmop_symbol *copy = vmop_symbols_copy(symbols, n, base);
	if (n && !copy)
		return false;
	vmop_image_take_symbols(image, &copy, n);
	return true;
}

void vmop_image_set_build_id(struct vmop_image *image, const uint8_t *bytes, size_t len_bytes)
{
	image->build_id = (struct vmop_build_id){.len_bytes = len_bytes};
	memcpy(image->build_id.bytes, bytes, len_bytes);
	store_anew(image);
}

void vmop_image_set_length(struct vmop_image *image, uint64_t len_bytes)
{
	image->len_bytes = len_bytes;
	store_anew(image);
}

void vmop_image_set_root(struct vmop_image *image, char *root)
{
	free(image->root);
	image->root = root;
	store_anew(image);
}

void vmop_image_set_generated(struct vmop_image *image, uint32_t pid, uint64_t process_start_ns,
			      uint64_t map_start, uint64_t map_end)
{
	image->pid = pid;
	image->process_start_ns = process_start_ns;
	image->map_start = map_start;
	image->map_end = map_end;
}

void vmop_image_widen(struct vmop_image *image, uint64_t map_start, uint64_t map_end)
{
	if (map_start >= image->map_start && map_end <= image->map_end)
		return;
	if (map_start < image->map_start)
		image->map_start = map_start;
	if (map_end > image->map_end)
		image->map_end = map_end;
	image->is_map_applied = false;
}

void vmop_image_set_map_applied(struct vmop_image *image, bool had_names)
{
	image->has_names |= had_names;
	image->is_map_applied = true;
}

void vmop_image_rename(struct vmop_image *image, const char *name)
{
	if (!strcmp(image->name, name))
		return;
	char *copy = strdup(name);
	if (!copy)
		return; /* keep the old name */
	free(image->name);
	image->name = copy;
	store_anew(image);
}

void vmop_images_identified(struct vmop_images *images, struct vmop_image *image,
			    const struct vmop_build_id *build_id)
{
	if (image->build_id.len_bytes || !build_id->len_bytes)
		return;
	struct vmop_build_id padded = {.len_bytes = build_id->len_bytes};
	memcpy(padded.bytes, build_id->bytes, build_id->len_bytes);
	struct vmop_image *same = find_by_build_id(images, image->domain, &padded);
	/* A stored image keeps its id, because earlier samples have it. */
	if (same && same != image && !image->id.number)
		image->alias = vmop_image_ref(same);
	else if (same)
		image->build_id = padded;
	else
		add_build_id(images, image, &padded);
	store_anew(image);
}

struct vmop_image_id vmop_images_assign_id(struct vmop_images *images, struct vmop_image *image)
{
	if (!image->id.number)
		image->id.number = images->next_id++;
	return image->id;
}

struct vmop_symbol *vmop_symbols_copy(const struct vmop_symbol *symbols, size_t n, uint64_t base)
{
	if (!n)
		return NULL;
	size_t bytes = n * sizeof(*symbols);
	for (size_t i = 0; i < n; i++)
		bytes += strlen(symbols[i].name) + 1;
	struct vmop_symbol *copy = malloc(bytes);
	if (!copy)
		return NULL;
	char *names = (char *)(copy + n);
	for (size_t i = 0; i < n; i++) {
		copy[i] = symbols[i];
		copy[i].offset -= base;
		copy[i].name = names;
		names = stpcpy(names, symbols[i].name) + 1;
	}
	return copy;
}

/* Store the note as the fact "image-ID-note" of the session. */
static struct vmop_error *store_note(const struct vmop_image *image, struct vmop_db *db)
{
	char name[32];
	if (image->note_is_stored || (!image->note && !image->has_stored_note))
		return NULL;
	snprintf(name, sizeof(name), "image-%" PRIu32 "-note", image->id.number);
	return vmop_db_put_info(db, name, image->note ? image->note : "");
}

struct vmop_error *vmop_image_store(const struct vmop_image *image, struct vmop_db *db)
{
	struct vmop_db_image row = {
		.id = image->id,
		.kind = image->kind,
		.domain = image->domain,
		.name = image->name,
		.root = image->root,
		.build_id_len_bytes = image->build_id.len_bytes,
		.base = image->base,
		.len_bytes = image->len_bytes,
	};
	_Static_assert(sizeof(row.build_id) == sizeof(image->build_id.bytes), "one length");
	memcpy(row.build_id, image->build_id.bytes, sizeof(row.build_id));
	struct vmop_error *err = vmop_db_put_image(db, &row);
	if (!err && image->packed)
		err = vmop_db_put_packed_symbols(db, image->id, image->packed, image->packed_bytes);
	else if (!err && image->symbols)
		err = vmop_db_put_symbols(db, image->id, image->symbols, image->n_symbols);
	if (!err)
		err = store_note(image, db);
	return err;
}

void vmop_image_stored(struct vmop_image *image)
{
	image->is_stored = true;
	free(image->symbols);
	image->symbols = NULL;
	image->n_symbols = 0;
	free(image->packed);
	image->packed = NULL;
	image->note_is_stored = true;
	image->has_stored_note = image->note != NULL;
}

void vmop_images_sweep(struct vmop_images *images)
{
	bool is_short = images->n > images->max / 4 * 3;
	for (uint32_t i = 0; i < images->n_slots; i++) {
		struct vmop_image *image = images->slots[i];
		if (!image)
			continue;
		image->is_sampled = false;
		if (!image->refs && (is_short || !image->id.number))
			image_free(images, image);
	}
}
