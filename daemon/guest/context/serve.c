// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/context/serve.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/guest/guest-file.h"
#include "libsym/jit/perf-map.h"
#include "libutil/cleanup.h"

/* Read the functions of an ELF file while its pages are there. */
static void read_symbols(struct vmop_guest *guest, uint64_t mapping,
			 struct vmop_guest_answer *answer)
{
	_cleanup_close_ int fd = -1;
	struct vmop_error *err = vmop_guest_file_copy_mapping(guest, mapping, &fd);
	answer->is_gone = err && err->code == VMOP_ERROR_NOT_FOUND;
	if (!err)
		err = vmop_symtab_read_elf(fd, "a guest's file", 0, &answer->symtab);
	vmop_error_destroy(err);
}

/* Return whether a file has the code that the request gives. */
static bool has_code(struct vmop_guest *guest, uint64_t mapping,
		     const struct vmop_guest_request *request)
{
	uint8_t found[sizeof(request->page.code)];
	size_t len = request->page.code_bytes, n_read = 0;
	if (!len || len > sizeof(found))
		return false;
	struct vmop_error *err = vmop_guest_read_mapping(guest, mapping, request->page.offset_bytes,
							 found, len, &n_read);
	bool is_same = !err && n_read == len && !memcmp(found, request->page.code, len);
	vmop_error_destroy(err);
	return is_same;
}

static struct vmop_error *find_inode(struct vmop_guest *guest,
				     const struct vmop_guest_page_key *key,
				     struct vmop_guest_inode_file *ret)
{
	const struct vmop_guest_inode inode = {
		.mapping = key->mapping,
		.inode = key->inode,
		.superblock = key->superblock,
		.number = key->inode_number,
		.generation = (uint32_t)key->inode_generation,
	};
	return vmop_guest_find_inode(guest, &inode, ret);
}

static void serve_page(struct vmop_guest *guest, struct vmop_guest_answer *answer)
{
	struct vmop_guest_inode_file file;
	struct vmop_error *err = find_inode(guest, &answer->request.page.key, &file);
	if (err) {
		vmop_error_destroy(err);
		return;
	}
	answer->path = strdup(file.path);
	if (!answer->path)
		return;
	answer->is_elf = file.is_elf;
	answer->build_id_len_bytes = file.build_id_len_bytes;
	memcpy(answer->build_id, file.build_id, file.build_id_len_bytes);
	answer->is_verified = has_code(guest, file.mapping, &answer->request);
	/* The file goes with its last user; others can be read later. */
	if (file.is_deleted && file.is_elf && answer->request.page.wants_symbols)
		read_symbols(guest, file.mapping, answer);
	answer->is_found = true;
}

static void serve_symbols(struct vmop_guest *guest, struct vmop_guest_answer *answer)
{
	struct vmop_guest_inode_file file;
	/* A mapping's memory can be another file's by now: it is found by its inode again. */
	struct vmop_error *err = find_inode(guest, &answer->request.symbols.key, &file);
	if (err)
		answer->is_gone = true;
	else
		read_symbols(guest, file.mapping, answer);
	answer->is_found = answer->symtab;
	vmop_error_destroy(err);
}

static void serve_process(struct vmop_guest *guest, struct vmop_guest_answer *answer)
{
	const struct vmop_guest_request *request = &answer->request;
	struct vmop_error *err =
		vmop_guest_snapshot_process(guest, request->process.task, request->process.pid,
					    request->process.start_time_ns, &answer->snapshot);
	answer->is_found = !err;
	vmop_error_destroy(err);
}

/* Read a whole text file of the guest, with a 0 behind it. The caller frees it. */
static struct vmop_error *read_text(struct vmop_guest *guest,
				    const struct vmop_guest_inode_file *file, size_t max_bytes,
				    char **ret, size_t *ret_len)
{
	uint64_t size = 0;
	size_t n_read = 0;
	struct vmop_error *err = vmop_guest_mapping_size(guest, file->mapping, &size);
	if (err)
		return err;
	size_t len = size < max_bytes ? (size_t)size : max_bytes;
	char *text = malloc(len + 1);
	if (!text)
		return &vmop_error_no_memory;
	err = vmop_guest_read_mapping(guest, file->mapping, 0, text, len, &n_read);
	if (err) {
		free(text);
		return err;
	}
	text[n_read] = '\0';
	*ret = text;
	*ret_len = n_read;
	return NULL;
}

/* Return a process's pid in its own namespace, as it is in the name of its perf map. */
static uint32_t ns_pid_of(struct vmop_guest *guest, const struct vmop_guest_request *request)
{
	struct vmop_guest_snapshot *snapshot = NULL;
	uint32_t pid = request->process.ns_pid ? request->process.ns_pid : request->process.pid;
	if (request->process.ns_pid)
		return pid;
	struct vmop_error *err =
		vmop_guest_snapshot_process(guest, request->process.task, request->process.pid,
					    request->process.start_time_ns, &snapshot);
	if (!err && vmop_guest_snapshot_count(snapshot))
		pid = vmop_guest_snapshot_get(snapshot, 0)->ns_pid;
	vmop_guest_snapshot_free(snapshot);
	vmop_error_destroy(err);
	return pid;
}

/*
 * Find the perf map of a process: in the /tmp that it sees, which is a container's own, or else,
 * also when the process has ended, in that of the guest's first process.
 */
static struct vmop_error *find_perf_map(struct vmop_guest *guest,
					const struct vmop_guest_request *request,
					struct vmop_guest_inode_file *ret)
{
	char path[48];
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", ns_pid_of(guest, request));
	struct vmop_error *err =
		vmop_guest_find_path_of(guest, request->process.task, request->process.pid,
					request->process.start_time_ns, path, ret);
	if (!err)
		return NULL;
	vmop_error_destroy(err);
	return vmop_guest_find_path(guest, path, ret);
}

static void serve_perf_map(struct vmop_guest *guest, struct vmop_guest_answer *answer)
{
	_cleanup_free_ char *text = NULL;
	struct vmop_guest_inode_file file;
	size_t len;
	struct vmop_error *err = find_perf_map(guest, &answer->request, &file);
	if (!err)
		err = read_text(guest, &file, VMOP_PERF_MAP_MAX_BYTES, &text, &len);
	if (!err)
		err = vmop_perf_map_parse(text, len, &answer->symtab, NULL);
	answer->is_found = !err;
	vmop_error_destroy(err);
}

/* Read len_bytes of code. False: they are gone, or the guest does not have them in memory. */
static bool read_code(struct vmop_guest *guest, const struct vmop_guest_request *request, void *buf)
{
	size_t len = request->code.len_bytes, n_read = 0;
	switch (request->code.place) {
	case VMOP_GUEST_CODE_OF_KERNEL:
		return vmop_guest_read_kernel(guest, request->code.address, buf, len);
	case VMOP_GUEST_CODE_OF_PROCESS:
		return vmop_guest_read_process(guest, request->code.task, request->code.pid,
					       request->code.start_time_ns, request->code.address,
					       buf, len);
	case VMOP_GUEST_CODE_OF_FILE:
		break;
	}
	struct vmop_error *err = vmop_guest_read_mapping(guest, request->code.mapping,
							 request->code.address, buf, len, &n_read);
	bool is_whole = !err && n_read == len;
	vmop_error_destroy(err);
	return is_whole;
}

static void serve_code(struct vmop_guest *guest, struct vmop_guest_answer *answer)
{
	uint32_t len = answer->request.code.len_bytes;
	answer->code = len && len <= VMOP_GUEST_CODE_BYTES ? malloc(len) : NULL;
	answer->is_found = answer->code && read_code(guest, &answer->request, answer->code);
}

void vmop_guest_serve(struct vmop_guest *guest, const struct vmop_guest_request *request,
		      struct vmop_guest_answer *ret)
{
	*ret = (struct vmop_guest_answer){.request = *request};
	switch (request->kind) {
	case VMOP_GUEST_REQUEST_FILE:
		serve_page(guest, ret);
		break;
	case VMOP_GUEST_REQUEST_SYMBOLS:
		serve_symbols(guest, ret);
		break;
	case VMOP_GUEST_REQUEST_PROCESS:
		serve_process(guest, ret);
		break;
	case VMOP_GUEST_REQUEST_PERF_MAP:
		serve_perf_map(guest, ret);
		break;
	case VMOP_GUEST_REQUEST_CODE:
		serve_code(guest, ret);
		break;
	}
}
