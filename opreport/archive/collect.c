// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/archive/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>

/* If memory runs out, HASH_ADD leaves the element's tbl NULL instead of ending the program. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "config.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/dirs/safe-dir.h"
#include "libutil/progress.h"
#include "opreport/archive/content.h"
#include "opreport/archive/interrupt.h"
#include "opreport/archive/time-zone.h"
#include "opreport/query/catalog.h"
#include "opreport/query/symbols.h"

struct vmop_collected_file {
	struct {
		uint64_t device, inode, is_source;
	} key;
	uint32_t member;
	UT_hash_handle hh;
};

void vmop_collection_deinit(struct vmop_collection *collection)
{
	struct vmop_collected_file *file, *next;
	HASH_ITER (hh, collection->files, file, next) {
		HASH_DEL(collection->files, file);
		free(file);
	}
	for (size_t i = 0; collection->fds && i < collection->manifest.n_members; i++)
		vmop_cleanup_close(&collection->fds[i]);
	free(collection->fds);
	vmop_sessions_deinit(&collection->sessions);
	vmop_manifest_deinit(&collection->manifest);
	*collection = (struct vmop_collection){0};
}

/* ---- files ------------------------------------------------------------------ */

static const char beyond_bound[] = "--max-size leaves it out";

/* Append a member for an open file, and take over fd. */
static struct vmop_error *append(struct vmop_collection *collection, enum vmop_member_kind kind,
				 const char *name, const char *path, int fd, const struct stat *st,
				 struct vmop_member **ret)
{
	struct vmop_manifest *manifest = &collection->manifest;
	size_t n = manifest->n_members;
	struct vmop_error *err = NULL;
	if (!vmop_array_reserve(collection->fds, collection->fds_capacity, n + 1))
		err = &vmop_error_no_memory;
	if (!err)
		err = vmop_manifest_add_member(manifest, ret);
	if (err) {
		close(fd);
		return err;
	}
	collection->fds[n] = fd;
	struct vmop_member *member = *ret;
	*member = (struct vmop_member){
		.kind = kind,
		.name = vmop_arena_text(&manifest->arena, name),
		.path = vmop_arena_text(&manifest->arena, path),
		.size_bytes = (uint64_t)st->st_size,
		.mtime_ns = st->st_mtim.tv_sec < 0 ? 0
						   : (uint64_t)st->st_mtim.tv_sec * VMOP_NS_PER_S +
							     (uint64_t)st->st_mtim.tv_nsec,
	};
	if (!member->name || !member->path)
		return &vmop_error_no_memory;
	collection->size_bytes += member->size_bytes;
	return vmop_content_read(fd, path, member->size_bytes, NULL, NULL, member->hash);
}

static struct vmop_error *remember(struct vmop_collection *collection,
				   const struct vmop_collected_file *wanted, uint32_t member)
{
	struct vmop_collected_file *file = malloc(sizeof(*file));
	if (!file)
		return &vmop_error_no_memory;
	*file = *wanted;
	file->member = member;
	HASH_ADD(hh, collection->files, key, sizeof(file->key), file);
	if (file->hh.tbl)
		return NULL;
	free(file);
	return &vmop_error_no_memory;
}

static bool has_room(const struct vmop_collection *collection, const struct stat *st)
{
	return (uint64_t)st->st_size <= collection->max_bytes - collection->size_bytes &&
	       collection->manifest.n_members < VMOP_MANIFEST_MAX_MEMBERS;
}

struct vmop_error *vmop_collection_add(struct vmop_collection *collection,
				       enum vmop_member_kind kind, const char *path, int fd,
				       const struct vmop_build_id *build_id, uint32_t *ret,
				       const char **ret_reason)
{
	struct stat st;
	struct vmop_member *member;
	struct vmop_collected_file *file;
	_cleanup_free_ char *name = NULL;
	size_t n = collection->manifest.n_members;
	*ret = VMOP_NO_MEMBER;
	if (fstat(fd, &st))
		return vmop_error_os(errno, "%s", path);
	struct vmop_collected_file wanted = {
		.key = {st.st_dev, st.st_ino, kind == VMOP_MEMBER_SOURCE}};
	HASH_FIND(hh, collection->files, &wanted.key, sizeof(wanted.key), file);
	if (file) {
		*ret = file->member;
		return NULL;
	}
	int own = has_room(collection, &st) ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (own < 0) {
		collection->n_beyond++;
		*ret_reason = beyond_bound;
		return NULL;
	}
	struct vmop_error *err = vmop_member_name_make(kind, n, path, &name);
	if (err) {
		close(own);
		return err;
	}
	err = append(collection, kind, name, path, own, &st, &member);
	if (err)
		return err;
	if (build_id)
		member->build_id = *build_id;
	*ret = (uint32_t)n;
	return remember(collection, &wanted, *ret);
}

/* ---- sessions --------------------------------------------------------------- */

static bool copy_goes_on(void *progress, double share)
{
	vmop_progress_step(progress, (uint64_t)(share * 100));
	return !vmop_interrupt_came();
}

/* Set *ret to the member's name of a session's copy, which no other one has. */
static struct vmop_error *name_session(const struct vmop_collection *collection, const char *path,
				       char **ret)
{
	const struct vmop_manifest *manifest = &collection->manifest;
	const char *slash = strrchr(path, '/');
	if (asprintf(ret, "%s/%s", vmop_member_kind_folder(VMOP_MEMBER_SESSION),
		     slash ? slash + 1 : path) < 0) {
		*ret = NULL;
		return &vmop_error_no_memory;
	}
	bool is_good = vmop_member_name_is_valid(VMOP_MEMBER_SESSION, *ret);
	for (size_t i = 0; i < manifest->n_members && is_good; i++)
		is_good = strcmp(manifest->members[i].name, *ret) != 0;
	if (is_good)
		return NULL;
	free(vmop_steal(ret));
	return vmop_member_name_make(VMOP_MEMBER_SESSION, manifest->n_members, path, ret);
}

/* Add the copy of a session as a member, and keep it open. */
static struct vmop_error *add_copy(struct vmop_collection *collection, const struct vmop_dir *dir,
				   const char *name, const char *path)
{
	struct vmop_session_input *input = &collection->sessions.items[collection->sessions.n];
	struct vmop_member *member;
	struct stat st, copy;
	int fd = openat(collection->staging->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &copy) || stat(path, &st)) {
		vmop_cleanup_close(&fd);
		return vmop_error_os(errno, "%s", path);
	}
	st.st_size = copy.st_size; /* the default session is the one with the last change */
	struct vmop_error *err =
		append(collection, VMOP_MEMBER_SESSION, name, path, fd, &st, &member);
	if (!err)
		err = vmop_staging_set_time(fd, path, member->mtime_ns);
	if (!err)
		err = vmop_db_open_at(dir, strchr(name, '/') + 1, path, &input->db);
	collection->sessions.n += !err;
	return err;
}

static struct vmop_error *copy_session(struct vmop_collection *collection,
				       const struct vmop_dir *dir, const char *path,
				       struct vmop_db *db)
{
	struct vmop_progress progress;
	_cleanup_free_ char *name = NULL;
	struct vmop_error *err = name_session(collection, path, &name);
	if (err)
		return err;
	vmop_progress_begin(&progress, "copying a session, percent", 100);
	err = vmop_db_copy_at(db, dir, strchr(name, '/') + 1, path,
			      collection->max_bytes - collection->size_bytes, copy_goes_on,
			      &progress);
	vmop_progress_end(&progress);
	if (err && err->code == VMOP_ERROR_LIMIT) {
		vmop_error_destroy(err);
		return vmop_error_new(VMOP_ERROR_LIMIT,
				      "%s: --max-size leaves no room for the session; a larger "
				      "size or fewer sessions do",
				      path);
	}
	if (vmop_interrupt_came()) {
		vmop_error_destroy(err);
		return vmop_interrupt_check();
	}
	return err ? err : add_copy(collection, dir, name, path);
}

static struct vmop_error *copy_sessions(struct vmop_collection *collection,
					const struct vmop_collect_request *request)
{
	_cleanup_(vmop_sessions_deinit) struct vmop_sessions sessions = {0};
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir = VMOP_DIR_NONE;
	_cleanup_free_ char *folder = NULL;
	const char *name = vmop_member_kind_folder(VMOP_MEMBER_SESSION);
	struct vmop_error *err = vmop_staging_make_folder(collection->staging, name);
	if (asprintf(&folder, "%s/%s", collection->staging->path, name) < 0)
		return &vmop_error_no_memory;
	if (!err)
		err = vmop_dir_open(folder, 0, &dir);
	if (!err)
		err = vmop_sessions_open(request->spec, &sessions);
	if (err)
		return err;
	collection->sessions.items = calloc(sessions.n, sizeof(*sessions.items));
	if (!collection->sessions.items)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < sessions.n && !err; i++) {
		_cleanup_free_ char *path = NULL;
		err = vmop_session_find(request->spec, sessions.items[i].name, &path);
		if (!err)
			err = copy_session(collection, &dir, path, sessions.items[i].db);
		if (!err)
			collection->sessions.items[i].name = vmop_arena_text(
				&collection->manifest.arena, sessions.items[i].name);
	}
	return err;
}

/* ---- images ----------------------------------------------------------------- */

/* An image with the order in which its files are collected. */
struct wanted_image {
	size_t index; /* in the catalog */
	uint64_t samples;
};

/* The search for all images' files. */
struct finding {
	struct vmop_collection *collection;
	const struct vmop_collect_request *request;
	struct vmop_catalog catalog;
	struct vmop_symbols *symbols;
	size_t session;	   /* being summed */
	uint64_t *samples; /* by catalog index */
	bool *is_program;  /* likewise: the executable of a task */
	struct wanted_image *images;
	size_t n;
};

static void finding_deinit(struct finding *finding)
{
	vmop_symbols_destroy(finding->symbols);
	vmop_catalog_deinit(&finding->catalog);
	free(finding->samples);
	free(finding->is_program);
	free(finding->images);
}

static struct vmop_error *add_samples(void *arg, const struct vmop_db_total *total)
{
	struct finding *finding = arg;
	size_t index =
		vmop_catalog_find_image(&finding->catalog, finding->session, total->key.image);
	finding->samples[index] += total->samples;
	return NULL;
}

static void mark_programs(struct finding *finding)
{
	const struct vmop_catalog *catalog = &finding->catalog;
	for (size_t i = 1; i < catalog->tasks.n; i++) {
		const struct vmop_task_item *task = vmop_catalog_task(catalog, i);
		finding->is_program[vmop_catalog_find_image(catalog, task->session,
							    task->exe_image)] = true;
	}
}

static bool is_wanted(const struct finding *finding, size_t index)
{
	const struct vmop_image_item *item = vmop_catalog_image(&finding->catalog, index);
	const struct vmop_words *globs = &finding->request->spec->images;
	if (globs->n && !vmop_words_match(globs, item->name) &&
	    !vmop_words_match(globs, vmop_image_base_name(item->name)))
		return false;
	switch (item->kind) {
	case VMOP_IMAGE_FILE:
		return !finding->request->exclude_dependent || finding->is_program[index];
	case VMOP_IMAGE_VDSO:
	case VMOP_IMAGE_KERNEL:
	case VMOP_IMAGE_GUEST_KERNEL:
		return !finding->request->exclude_dependent;
	case VMOP_IMAGE_MODULE: /* its DWARF */
		return !finding->request->exclude_dependent && item->build_id_len_bytes;
	default: /* the session has all of it */
		return false;
	}
}

static int compare_wanted(const void *a, const void *b)
{
	const struct wanted_image *x = a, *y = b;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* List the images, those with the most samples first: a bound leaves out the others. */
static struct vmop_error *list_images(struct finding *finding)
{
	struct vmop_collection *collection = finding->collection;
	const struct vmop_sessions *sessions = &collection->sessions;
	struct vmop_error *err = vmop_catalog_load(&finding->catalog, sessions->items, sessions->n,
						   0, finding->request->exclude_dependent);
	size_t n = finding->catalog.images.n;
	if (err)
		return err;
	finding->samples = calloc(n, sizeof(*finding->samples));
	finding->is_program = calloc(n, sizeof(*finding->is_program));
	finding->images = calloc(n, sizeof(*finding->images));
	if (!finding->samples || !finding->is_program || !finding->images)
		return &vmop_error_no_memory;
	const struct vmop_db_filter all = {0};
	for (size_t s = 0; s < sessions->n && !err; s++) {
		finding->session = s;
		err = vmop_db_each_total(sessions->items[s].db, &all, add_samples, finding);
	}
	mark_programs(finding);
	for (size_t i = 1; i < n; i++)
		if (is_wanted(finding, i))
			finding->images[finding->n++] =
				(struct wanted_image){i, finding->samples[i]};
	if (finding->n)
		qsort(finding->images, finding->n, sizeof(*finding->images), compare_wanted);
	return err;
}

/* Copy a ref's strings into the arena of the manifest. */
static bool keep_ref(struct vmop_manifest *manifest, const struct vmop_image_ref *ref,
		     struct vmop_image_ref *ret)
{
	*ret = *ref;
	ret->path = vmop_arena_text(&manifest->arena, ref->path);
	ret->root = vmop_arena_text(&manifest->arena, ref->root);
	return ret->path && ret->root;
}

/* Find the files of one image and add them. */
static struct vmop_error *add_image(struct finding *finding, const struct vmop_image_ref *ref)
{
	_cleanup_(vmop_found_files_deinit) struct vmop_found_files files;
	struct vmop_collection *collection = finding->collection;
	struct vmop_manifest_image *image;
	const char *reason;
	struct vmop_error *err =
		vmop_found_files_init(&files, vmop_symbols_resolver(finding->symbols), ref);
	if (!err)
		err = vmop_manifest_add_image(&collection->manifest, &image);
	if (err)
		return err;
	image->reason = files.reason;
	if (!keep_ref(&collection->manifest, ref, &image->ref))
		return &vmop_error_no_memory;
	if (files.has_image)
		err = vmop_collection_add(collection, VMOP_MEMBER_IMAGE, files.image.path,
					  files.image.fd, &files.image.build_id, &image->file,
					  &image->reason);
	for (size_t i = 0; i < files.n_debug && !err; i++) {
		const struct vmop_found_file *debug = &files.debug[i];
		uint32_t *member = &image->debug[image->n_debug];
		err = vmop_collection_add(collection, VMOP_MEMBER_DEBUG, debug->path, debug->fd,
					  &debug->build_id, member, &reason);
		image->n_debug += !err && *member != VMOP_NO_MEMBER;
	}
	return err;
}

/* A ref that was searched already, by all that a search depends on. */
struct searched {
	char *key;
	UT_hash_handle hh;
};

static char *key_of(const struct vmop_image_ref *ref)
{
	char hex[2 * VMOP_BUILD_ID_MAX_BYTES + 1], *key;
	vmop_build_id_format(&ref->build_id, hex);
	return asprintf(&key, "%d %s %zu:%s %s", ref->is_elsewhere, hex,
			ref->root ? strlen(ref->root) : 0, ref->root ? ref->root : "",
			ref->path) < 0
		       ? NULL
		       : key;
}

/* Set *ret_is_new, and remember the ref. */
static struct vmop_error *note_search(struct searched **all, const struct vmop_image_ref *ref,
				      bool *ret_is_new)
{
	struct searched *entry, *found;
	char *key = key_of(ref);
	*ret_is_new = false;
	if (!key)
		return &vmop_error_no_memory;
	HASH_FIND_STR(*all, key, found);
	entry = found ? NULL : calloc(1, sizeof(*entry));
	if (!entry) {
		free(key);
		return found ? NULL : &vmop_error_no_memory;
	}
	entry->key = key;
	HASH_ADD_KEYPTR(hh, *all, entry->key, strlen(key), entry);
	if (!entry->hh.tbl) {
		free(key);
		free(entry);
		return &vmop_error_no_memory;
	}
	*ret_is_new = true;
	return NULL;
}

static struct vmop_error *add_images(struct finding *finding)
{
	struct vmop_progress progress;
	struct searched *searched = NULL, *entry, *next;
	struct vmop_error *err = NULL;
	bool is_new;
	vmop_progress_begin(&progress, "collecting files of images", finding->n);
	for (size_t i = 0; i < finding->n && !err; i++) {
		const struct vmop_image_ref ref =
			vmop_symbols_ref(finding->symbols, finding->images[i].index);
		err = note_search(&searched, &ref, &is_new);
		if (!err && is_new)
			err = add_image(finding, &ref);
		if (!err)
			err = vmop_interrupt_check();
		vmop_progress_step(&progress, i + 1);
	}
	vmop_progress_end(&progress);
	HASH_ITER (hh, searched, entry, next) {
		HASH_DEL(searched, entry);
		free(entry->key);
		free(entry);
	}
	return err;
}

static struct vmop_error *collect_images(struct vmop_collection *collection,
					 const struct vmop_collect_request *request)
{
	_cleanup_(finding_deinit) struct finding finding = {.collection = collection,
							    .request = request};
	struct vmop_error *err = list_images(&finding);
	if (!err)
		err = vmop_symbols_create(&request->resolver, &finding.catalog,
					  collection->sessions.items, &finding.symbols);
	return err ? err : add_images(&finding);
}

/* ---- all -------------------------------------------------------------------- */

/* Allow as many open files as members. */
static void allow_files(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	const rlim_t wanted = VMOP_MANIFEST_MAX_MEMBERS + 1024;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static struct vmop_error *set_facts(struct vmop_manifest *manifest)
{
	struct utsname machine;
	_cleanup_free_ char *zone = vmop_time_zone_find();
	if (!zone || uname(&machine))
		return &vmop_error_no_memory;
	manifest->vmop = PACKAGE_VERSION;
	manifest->hostname = vmop_arena_text(&manifest->arena, machine.nodename);
	manifest->time_zone = vmop_arena_text(&manifest->arena, zone);
	manifest->created_ns = vmop_clock_ns(CLOCK_REALTIME);
	return manifest->hostname && manifest->time_zone ? NULL : &vmop_error_no_memory;
}

struct vmop_error *vmop_collect(struct vmop_collection *ret,
				const struct vmop_collect_request *request,
				const struct vmop_staging *staging)
{
	*ret = (struct vmop_collection){.staging = staging, .max_bytes = request->max_bytes};
	allow_files();
	struct vmop_error *err = set_facts(&ret->manifest);
	if (!err)
		err = copy_sessions(ret, request);
	if (!err)
		err = collect_images(ret, request);
	ret->manifest.has_sources = request->with_sources;
	return err || !request->with_sources ? err : vmop_collect_sources(ret, request);
}
