// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/file-finder.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"

/* The reason why no file was found. A later value is more specific and replaces an earlier one.
 */
enum reason {
	REASON_NO_FILE,
	REASON_ELSEWHERE,
	REASON_DELETED,
	REASON_NO_PERMISSION,
	REASON_DAMAGED,
	REASON_OTHER_BUILD_ID,
};

static const char *const reasons[] = {
	[REASON_NO_FILE] = "no such file",
	[REASON_ELSEWHERE] = "a file of another machine, without a build-id to verify a "
			     "local one; --image-path can name a copy",
	[REASON_DELETED] = "the file was deleted",
	[REASON_NO_PERMISSION] = "no permission to read the file",
	[REASON_DAMAGED] = "not an ELF file, or a damaged one",
	[REASON_OTHER_BUILD_ID] = "its build-id differs: the file was replaced since",
};

/* The most files with a module's name that are tried: one for each kernel. */
enum { MODULE_FILES_MAX = 16 };

/* One search for an image's file. */
struct search {
	const struct vmop_file_finder *finder;
	const struct vmop_image_ref *ref;
	enum reason reason;
	struct vmop_sym_budget *budget;
	struct vmop_image_file *found; /* owned */
};

static void free_paths(char **paths)
{
	for (char **path = paths; path && *path; path++)
		free(*path);
	free(paths);
}

static struct vmop_error *copy_paths(const char *const *paths, size_t n, char ***ret)
{
	*ret = calloc(n + 1, sizeof(**ret));
	if (!*ret)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < n; i++) {
		(*ret)[i] = strdup(paths[i]);
		if (!(*ret)[i])
			return &vmop_error_no_memory;
	}
	return NULL;
}

static struct vmop_error *open_folder(const char *path, int *ret)
{
	*ret = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *ret < 0 ? vmop_error_os(errno, "%s", path) : NULL;
}

/* Check that the directories exist: a missing one is a typing error of the user. */
static struct vmop_error *check_folders(char *const *paths)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; paths[i] && !err; i++) {
		_cleanup_close_ int fd = -1;
		err = open_folder(paths[i], &fd);
	}
	return err;
}

static struct vmop_error *init(struct vmop_file_finder *finder,
			       const struct vmop_resolver_options *options)
{
	static const char *const usual_debug_paths[] = {"/usr/lib/debug"};
	const char *const *debug_paths = options->debug_paths;
	size_t n_debug_paths = options->n_debug_paths;

	if (!debug_paths) {
		debug_paths = usual_debug_paths;
		n_debug_paths = 1;
	}
	struct vmop_error *err =
		copy_paths(options->image_paths, options->n_image_paths, &finder->image_paths);
	if (!err)
		err = check_folders(finder->image_paths);
	if (!err)
		err = copy_paths(debug_paths, n_debug_paths, &finder->debug_paths);
	if (!err && options->root)
		err = open_folder(options->root, &finder->root_fd);
	finder->answers = options->answers;
	if (!err && options->answers && (options->root || options->n_image_paths))
		err = vmop_error_new(VMOP_ERROR_USAGE,
				     "--image-path and --root do not go with an archive, which has "
				     "the files itself");
	if (!err && !options->answers)
		err = vmop_module_files_create(finder->root_fd, finder->image_paths,
					       options->n_image_paths, &finder->modules);
	if (!err && options->use_debuginfod && !options->answers)
		finder->debuginfod = vmop_debuginfod_client_create();
	return err;
}

struct vmop_error *vmop_file_finder_init(struct vmop_file_finder *finder,
					 const struct vmop_resolver_options *options)
{
	*finder = (struct vmop_file_finder){.root_fd = AT_FDCWD};
	struct vmop_error *err = init(finder, options);
	if (err)
		vmop_file_finder_deinit(finder);
	return err;
}

void vmop_file_finder_deinit(struct vmop_file_finder *finder)
{
	vmop_module_files_destroy(finder->modules);
	free_paths(finder->image_paths);
	free_paths(finder->debug_paths);
	if (finder->root_fd >= 0)
		close(finder->root_fd);
	vmop_debuginfod_client_destroy(finder->debuginfod);
	*finder = (struct vmop_file_finder){.root_fd = AT_FDCWD};
}

/* Open the root directory of a container. Return -1 if it is gone or not accessible. */
static int open_container(const struct vmop_file_finder *finder, const struct vmop_image_ref *ref)
{
	if (!ref->root || !ref->root[0] || finder->root_fd != AT_FDCWD)
		return -1;
	return open(ref->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool is_wanted_build(const struct vmop_image_ref *ref, const struct vmop_image_file *file)
{
	return ref->build_id.len_bytes == 0 || vmop_build_id_equal(&ref->build_id, &file->build_id);
}

/*
 * Return the error if memory or budget ran out, which ends the search. Any other failure only
 * becomes the reason.
 */
static struct vmop_error *note_failure(struct search *search, struct vmop_error *err)
{
	enum reason reason = REASON_NO_FILE;
	if (err->code == VMOP_ERROR_NO_MEMORY || search->budget->spent)
		return err;
	if (err->os_errno == EACCES || err->os_errno == EPERM)
		reason = REASON_NO_PERMISSION;
	else if (err->os_errno == 0)
		reason = REASON_DAMAGED;
	if (reason > search->reason)
		search->reason = reason;
	vmop_error_destroy(err);
	return NULL;
}

static struct vmop_error *check(struct search *search, struct vmop_error *err,
				struct vmop_image_file *file)
{
	if (err)
		return note_failure(search, err);
	if (is_wanted_build(search->ref, file)) {
		search->found = file;
		return NULL;
	}
	search->reason = REASON_OTHER_BUILD_ID;
	vmop_image_file_close(file);
	return NULL;
}

static struct vmop_error *try_image(struct search *search, int root_fd, const char *path)
{
	struct vmop_image_file *file = NULL;
	if (search->found)
		return NULL;
	struct vmop_error *err = vmop_image_file_open(root_fd, path, search->budget, &file);
	return check(search, err, file);
}

/* Try folder + "/" + path, then folder + "/" + the last component of path. */
static struct vmop_error *try_image_folder(struct search *search, const char *folder,
					   const char *path)
{
	_cleanup_free_ char *whole = NULL, *last = NULL;
	if (asprintf(&whole, "%s/%s", folder, path + (path[0] == '/')) < 0)
		return &vmop_error_no_memory;
	struct vmop_error *err = try_image(search, AT_FDCWD, whole);
	if (err || search->found)
		return err;
	const char *slash = strrchr(path, '/');
	if (asprintf(&last, "%s/%s", folder, slash ? slash + 1 : path) < 0)
		return &vmop_error_no_memory;
	return try_image(search, AT_FDCWD, last);
}

/* Try vmlinux in a folder. Only a build-id shows that it is not another kernel's. */
static struct vmop_error *try_kernel(struct search *search, const char *folder)
{
	const struct vmop_image_ref *ref = search->ref;
	_cleanup_free_ char *path = NULL;
	if (search->found || !ref->addresses || !ref->build_id.len_bytes)
		return NULL;
	return asprintf(&path, "%s/vmlinux", folder) < 0 ? &vmop_error_no_memory
							 : try_image(search, AT_FDCWD, path);
}

/*
 * Try the files with a module's name in the folders and below /lib/modules. Several kernels have
 * a module of that name, and only a build-id shows which one it is.
 */
static struct vmop_error *try_module(struct search *search)
{
	const struct vmop_image_ref *ref = search->ref;
	const struct vmop_module_file *files;
	size_t n;
	if (search->found || !ref->is_module || !ref->build_id.len_bytes)
		return NULL;
	struct vmop_error *err =
		vmop_module_files_find(search->finder->modules, ref->path, &files, &n);
	for (size_t i = 0; i < n && i < MODULE_FILES_MAX && !err && !search->found; i++) {
		struct vmop_image_file *file = NULL;
		err = vmop_image_file_open_packed(files[i].root_fd, files[i].path, search->budget,
						  &file);
		err = check(search, err, file);
	}
	return err;
}

/* Try path under the container's root and under the root directory, unless they are not allowed. */
static struct vmop_error *try_roots(struct search *search, const char *path)
{
	struct vmop_error *err = NULL;
	if (path[0] != '/')
		return NULL;
	if (search->ref->is_elsewhere && !search->ref->build_id.len_bytes) {
		search->reason = REASON_ELSEWHERE;
		return NULL;
	}
	_cleanup_close_ int container = open_container(search->finder, search->ref);
	if (container >= 0)
		err = try_image(search, container, path);
	return err ? err : try_image(search, search->finder->root_fd, path);
}

static char *path_by_build_id(const char *folder, const struct vmop_build_id *id,
			      const char *suffix)
{
	char hex[2 * VMOP_BUILD_ID_MAX_BYTES + 1], *path;
	vmop_build_id_format(id, hex);
	return asprintf(&path, "%s/.build-id/%.2s/%s%s", folder, hex, hex + 2, suffix) < 0 ? NULL
											   : path;
}

/* Distributions link programs there as well, beside their debug files. */
static struct vmop_error *try_build_id(struct search *search)
{
	const struct vmop_file_finder *finder = search->finder;
	const struct vmop_build_id *id = &search->ref->build_id;

	if (id->len_bytes < 2)
		return NULL;
	for (char **folder = finder->debug_paths; *folder && !search->found; folder++) {
		_cleanup_free_ char *path = path_by_build_id(*folder, id, "");
		if (!path)
			return &vmop_error_no_memory;
		struct vmop_error *err = try_image(search, finder->root_fd, path);
		if (!err && finder->root_fd != AT_FDCWD)
			err = try_image(search, AT_FDCWD, path);
		if (err)
			return err;
	}
	if (search->found)
		return NULL;
	int fd = vmop_debuginfod_client_find(finder->debuginfod, VMOP_DEBUGINFOD_EXECUTABLE, id);
	if (fd < 0)
		return NULL;
	struct vmop_image_file *file = NULL;
	struct vmop_error *err =
		vmop_image_file_open_fd(fd, search->ref->path, search->budget, &file);
	return check(search, err, file);
}

/*
 * Use this process's vDSO, which the kernel maps into all processes. It is the right one if its
 * build-id matches, which depends on kernel and machine. Its section headers are its end.
 */
static struct vmop_error *try_vdso(struct search *search, const char *path)
{
	const ElfW(Ehdr) *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	if (strcmp(path, "[vdso]") != 0 || !vdso || search->finder->root_fd != AT_FDCWD)
		return NULL;
	size_t len_bytes = vdso->e_shoff + (size_t)vdso->e_shnum * vdso->e_shentsize;
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (vmop_io_write_full(fd, vdso, len_bytes) != (ssize_t)len_bytes) {
		close(fd);
		return NULL;
	}
	struct vmop_image_file *file = NULL;
	struct vmop_error *err = vmop_image_file_open_fd(fd, path, search->budget, &file);
	return check(search, err, file);
}

static struct vmop_error *search_all(struct search *search, const char *path)
{
	struct vmop_error *err = try_vdso(search, path);
	if (!err && !search->found)
		err = try_roots(search, path);
	for (char **folder = search->finder->image_paths; *folder && !err && !search->found;
	     folder++) {
		err = try_image_folder(search, *folder, path);
		if (!err)
			err = try_kernel(search, *folder);
	}
	if (!err)
		err = try_module(search);
	if (!err && !search->found)
		err = try_build_id(search);
	return err;
}

/* Open a file of an archive: it lies below the archive's directory, and is no link. */
static struct vmop_error *open_archived(const struct vmop_file_finder *finder, const char *name,
					struct vmop_sym_budget *budget,
					struct vmop_image_file **ret)
{
	int fd;
	struct vmop_error *err = vmop_io_open_regular(
		finder->answers->dir_fd, name, VMOP_IO_NO_FOLLOW | VMOP_IO_IN_ROOT, INT64_MAX, &fd);
	return err ? err : vmop_image_file_open_fd(fd, name, budget, ret);
}

static const char not_archived[] = "the archive does not have it";

static struct vmop_error *find_archived(struct search *search, const char **ret_reason)
{
	const struct vmop_file_answer *answer =
		vmop_file_answers_find(search->finder->answers, search->ref);
	struct vmop_image_file *file = NULL;
	*ret_reason = answer && answer->reason ? answer->reason : not_archived;
	if (!answer || !answer->file)
		return NULL;
	struct vmop_error *err = open_archived(search->finder, answer->file, search->budget, &file);
	err = check(search, err, file);
	if (!err)
		*ret_reason = search->found ? NULL : reasons[search->reason];
	return err;
}

const char *vmop_file_finder_reason(size_t i)
{
	size_t n = sizeof(reasons) / sizeof(reasons[0]);
	return i < n ? reasons[i] : i == n ? not_archived : NULL;
}

struct vmop_error *vmop_file_finder_find_image(const struct vmop_file_finder *finder,
					       const struct vmop_image_ref *ref,
					       struct vmop_sym_budget *budget,
					       struct vmop_image_file **ret,
					       const char **ret_reason)
{
	static const char deleted[] = " (deleted)";
	struct search search = {.finder = finder, .ref = ref, .budget = budget};
	if (finder->answers) {
		struct vmop_error *failed = find_archived(&search, ret_reason);
		*ret = search.found;
		return failed;
	}
	_cleanup_free_ char *path = strdup(ref->path ? ref->path : "");
	if (!path)
		return &vmop_error_no_memory;
	/*
	 * The kernel marks unlinked files. A new file of that name is the right one if its build-id
	 * matches.
	 */
	size_t len = strlen(path), mark_len = sizeof(deleted) - 1;
	bool was_deleted = len > mark_len && strcmp(path + len - mark_len, deleted) == 0;
	if (was_deleted) {
		path[len - mark_len] = '\0';
		search.reason = REASON_DELETED;
	}
	struct vmop_error *err = NULL;
	if (!was_deleted || ref->build_id.len_bytes)
		err = search_all(&search, path);
	if (err) {
		vmop_image_file_close(search.found);
		return err;
	}
	*ret = search.found;
	*ret_reason = search.found ? NULL : reasons[search.reason];
	return NULL;
}

/* One search for debug files. */
struct debug_search {
	const struct vmop_file_finder *finder;
	const struct vmop_image_file *image; /* may be NULL */
	struct vmop_build_id build_id;	     /* of the image; may be none */
	struct vmop_error *(*use)(void *arg, const struct vmop_image_file *file, bool *done);
	void *arg;
	struct vmop_sym_budget *budget;
	bool done, too_costly;
};

/* Check that a debug file belongs to the image: by build-id, else by crc (NULL: none). */
static struct vmop_error *try_debug(struct debug_search *search, struct vmop_error *err,
				    struct vmop_image_file *file, const uint32_t *crc)
{
	if (err) {
		if (err->code == VMOP_ERROR_NO_MEMORY || search->budget->spent)
			return err;
		vmop_error_destroy(err);
		return NULL;
	}
	bool too_costly = false;
	bool belongs = search->build_id.len_bytes && file->build_id.len_bytes
			       ? vmop_build_id_equal(&search->build_id, &file->build_id)
			       : crc && vmop_image_file_has_crc(file, *crc, &too_costly);
	search->too_costly |= too_costly;
	if (belongs)
		err = search->use(search->arg, file, &search->done);
	vmop_image_file_close(file);
	if (!err && search->budget->spent)
		return vmop_sym_budget_error(search->budget, "a debug file");
	return err;
}

static struct vmop_error *try_debug_path(struct debug_search *search, int root_fd, const char *path,
					 const uint32_t *crc)
{
	struct vmop_image_file *file = NULL;
	if (search->done)
		return NULL;
	struct vmop_error *err = vmop_image_file_open(root_fd, path, search->budget, &file);
	return try_debug(search, err, file, crc);
}

static struct vmop_error *try_debug_by_build_id(struct debug_search *search, int root_fd)
{
	if (search->build_id.len_bytes < 2)
		return NULL;
	for (char **folder = search->finder->debug_paths; *folder; folder++) {
		_cleanup_free_ char *path = path_by_build_id(*folder, &search->build_id, ".debug");
		if (!path)
			return &vmop_error_no_memory;
		struct vmop_error *err = try_debug_path(search, root_fd, path, NULL);
		if (err)
			return err;
	}
	return NULL;
}

/*
 * Try the directories that gdb's manual lists ("Separate Debug Files"). folder ends without a
 * slash.
 */
static struct vmop_error *try_link_places(struct debug_search *search, int root_fd,
					  const char *folder, const char *name, uint32_t crc)
{
	static const char *const below[] = {"", "/.debug"};
	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		_cleanup_free_ char *path = NULL;
		if (asprintf(&path, "%s%s/%s", folder, below[i], name) < 0)
			return &vmop_error_no_memory;
		struct vmop_error *err = try_debug_path(search, root_fd, path, &crc);
		if (err)
			return err;
	}
	for (char **debug = search->finder->debug_paths; *debug; debug++) {
		_cleanup_free_ char *path = NULL;
		if (asprintf(&path, "%s%s/%s", *debug, folder, name) < 0)
			return &vmop_error_no_memory;
		struct vmop_error *err = try_debug_path(search, root_fd, path, &crc);
		if (err)
			return err;
	}
	return NULL;
}

static struct vmop_error *try_debug_by_link(struct debug_search *search, int root_fd)
{
	_cleanup_free_ char *name = NULL;
	uint32_t crc;
	if (!search->image)
		return NULL;
	struct vmop_error *err = vmop_image_file_debug_link(search->image, &name, &crc);
	if (err || !name)
		return err;
	_cleanup_free_ char *folder = strdup(search->image->path);
	if (!folder)
		return &vmop_error_no_memory;
	char *slash = strrchr(folder, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	return try_link_places(search, root_fd, folder, name, crc);
}

/* Try the debug files of an archive in the order in which they were found. */
static struct vmop_error *search_archived_debug(struct debug_search *search,
						const struct vmop_image_ref *ref)
{
	const struct vmop_file_answer *answer =
		vmop_file_answers_find(search->finder->answers, ref);
	_cleanup_free_ char *link = NULL;
	uint32_t crc;
	struct vmop_error *err = NULL;
	if (search->image)
		err = vmop_image_file_debug_link(search->image, &link, &crc);
	for (size_t i = 0; answer && i < answer->n_debug_files && !err && !search->done; i++) {
		struct vmop_image_file *file = NULL;
		err = open_archived(search->finder, answer->debug_files[i], search->budget, &file);
		err = try_debug(search, err, file, link ? &crc : NULL);
	}
	return err;
}

static struct vmop_error *search_debug(struct debug_search *search,
				       const struct vmop_image_ref *ref)
{
	if (search->finder->answers)
		return search_archived_debug(search, ref);
	_cleanup_close_ int container = open_container(search->finder, ref);
	const int roots[] = {container, search->finder->root_fd, AT_FDCWD};
	const size_t n = roots[1] == AT_FDCWD ? 2 : 3;
	struct vmop_error *err = NULL;

	for (size_t i = 0; i < n && !err && !search->done; i++) {
		if (roots[i] < 0 && roots[i] != AT_FDCWD)
			continue;
		err = try_debug_by_build_id(search, roots[i]);
		if (!err && !search->done)
			err = try_debug_by_link(search, roots[i]);
	}
	return err;
}

struct vmop_error *vmop_file_finder_each_debug_file(
	const struct vmop_file_finder *finder, const struct vmop_image_ref *ref,
	const struct vmop_image_file *image,
	struct vmop_error *(*use)(void *arg, const struct vmop_image_file *file, bool *done),
	void *arg, struct vmop_sym_budget *budget, bool *ret_too_costly)
{
	struct debug_search search = {
		.finder = finder,
		.image = image,
		.build_id = image ? image->build_id : ref->build_id,
		.use = use,
		.arg = arg,
		.budget = budget,
	};
	struct vmop_error *err = search_debug(&search, ref);
	*ret_too_costly = search.too_costly;
	if (err || search.done)
		return err;
	int fd = vmop_debuginfod_client_find(finder->debuginfod, VMOP_DEBUGINFOD_DEBUG_INFO,
					     &search.build_id);
	if (fd < 0)
		return NULL;
	struct vmop_image_file *file = NULL;
	err = vmop_image_file_open_fd(fd, "debuginfod", budget, &file);
	return try_debug(&search, err, file, NULL);
}
