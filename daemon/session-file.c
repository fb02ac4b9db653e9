// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/session-file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "config.h"
#include "libdb/session-files.h"
#include "libutil/cleanup.h"
#include "libutil/log.h"

/* The two paths of a new file. */
struct places {
	char *begun, *current;
};

static void places_deinit(struct places *places)
{
	free(places->begun);
	free(places->current);
}

/* ---- its beginning -------------------------------------------------------------- */

struct vmop_error *vmop_session_file_create(const char *dir, mode_t mode, bool is_live,
					    struct vmop_session_file *ret)
{
	*ret = VMOP_SESSION_FILE_NONE;
	struct vmop_error *err = vmop_session_create(dir, mode, &ret->db);
	if (err)
		return err;
	vmop_db_drop_rejected(ret->db);
	/* The first transaction of a WAL syncs its header. */
	err = vmop_db_put_info(ret->db, "vmop", PACKAGE_VERSION);
	if (err)
		vmop_session_file_discard(ret, dir);
	else if (is_live)
		vmop_db_checkpoint_beside(ret->db);
	return err;
}

/* ---- its end ----------------------------------------------------------------- */

static void forget(struct vmop_session_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	*file = VMOP_SESSION_FILE_NONE;
}

void vmop_session_file_close(struct vmop_session_file *file)
{
	vmop_db_close(file->db);
	forget(file);
}

struct vmop_error *vmop_session_file_finish(struct vmop_session_file *file, unsigned wait_ms)
{
	struct vmop_error *err = vmop_db_finish_within(file->db, wait_ms);
	file->db = NULL;
	/* While a report reads the file, its journal stays. The next start removes it. */
	if (err && err->code == VMOP_ERROR_BUSY) {
		vmop_log_and_destroy(VMOP_LOG_INFO, err);
		err = NULL;
	}
	forget(file);
	return err;
}

struct vmop_error *vmop_session_file_abandon(struct vmop_session_file *file)
{
	struct vmop_error *err = vmop_db_abandon(file->db);
	forget(file);
	return err;
}

void vmop_session_file_discard(struct vmop_session_file *file, const char *dir)
{
	_cleanup_free_ char *path = vmop_session_new_path(dir);
	vmop_session_file_close(file);
	if (path)
		vmop_error_destroy(vmop_session_remove(path));
}

/* ---- its place ---------------------------------------------------------------- */

enum vmop_session_file_place vmop_session_file_place(const struct vmop_session_file *file,
						     const char *path)
{
	struct stat own, there;
	if (fstat(file->fd, &own) < 0)
		return VMOP_SESSION_FILE_THERE; /* no other place is known */
	if (stat(path, &there) == 0 && own.st_dev == there.st_dev && own.st_ino == there.st_ino)
		return VMOP_SESSION_FILE_THERE;
	return own.st_nlink ? VMOP_SESSION_FILE_MOVED : VMOP_SESSION_FILE_DELETED;
}

/* Move the file at places->current away. */
static struct vmop_error *clear_place(const struct places *places, const char *dir,
				      struct vmop_session_succession *succession)
{
	if (succession->before)
		return vmop_session_move(places->current, succession->saved_as);
	struct vmop_error *err = vmop_session_keep(dir, &succession->kept);
	/* SQLite would use a stale WAL for the new file. */
	return err ? err : vmop_session_remove(places->current);
}

/* Undo clear_place. */
static void restore_place(const struct places *places, const char *dir,
			  struct vmop_session_succession *succession)
{
	_cleanup_free_ char *kept =
		succession->kept ? vmop_session_path(dir, succession->kept) : NULL;
	const char *from = succession->before ? succession->saved_as : kept;
	if (from)
		vmop_log_and_destroy(VMOP_LOG_WARNING, vmop_session_move(from, places->current));
	free(succession->kept);
	succession->kept = NULL;
}

static struct vmop_error *change_places(const struct places *places, const char *dir,
					struct vmop_session_succession *succession)
{
	struct vmop_error *err = clear_place(places, dir, succession);
	if (err)
		return err;
	err = vmop_session_move(places->begun, places->current);
	if (err)
		restore_place(places, dir, succession);
	return err;
}

struct vmop_error *vmop_session_file_publish(struct vmop_session_file *file, const char *dir,
					     struct vmop_session_succession *succession)
{
	_cleanup_(places_deinit) struct places places = {
		.begun = vmop_session_new_path(dir),
		.current = vmop_session_path(dir, VMOP_SESSION_CURRENT),
	};
	struct vmop_session_file *before = succession->before;
	_cleanup_free_ char *saved = before ? strdup(succession->saved_as) : NULL;
	if (!places.begun || !places.current || (before && !saved))
		return &vmop_error_no_memory;
	file->fd = open(places.begun, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (file->fd < 0)
		return vmop_error_os(errno, "%s", places.begun);
	struct vmop_error *err = change_places(&places, dir, succession);
	if (err)
		return err;
	vmop_db_renamed(file->db, vmop_steal(&places.current));
	if (before)
		vmop_db_renamed(before->db, vmop_steal(&saved));
	return NULL;
}

/* ---- facts ------------------------------------------------------------------- */

static struct vmop_error *put_number(struct vmop_db *db, const char *name, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	return vmop_db_put_info(db, name, text);
}

struct vmop_error *vmop_session_file_put_facts(struct vmop_db *db, const struct vmop_setup *setup,
					       const char *source, uint64_t start_ns)
{
	_cleanup_free_ char *text = NULL;
	struct utsname host;
	uname(&host);
	struct vmop_error *err = vmop_setup_format(setup, &text);
	if (!err)
		err = vmop_db_put_info(db, "source", source);
	if (!err)
		err = vmop_db_put_info(db, "hostname", host.nodename);
	if (!err)
		err = vmop_db_put_info(db, "kernel", host.release);
	if (!err)
		err = vmop_db_put_info(db, "machine", host.machine);
	if (!err)
		err = put_number(db, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	if (!err)
		err = vmop_session_file_put_start(db, start_ns);
	if (!err)
		err = vmop_db_put_info(db, "setup", text);
	if (!err && setup->vmlinux)
		err = vmop_db_put_info(db, "vmlinux", setup->vmlinux);
	return err;
}

struct vmop_error *vmop_session_file_put_start(struct vmop_db *db, uint64_t start_ns)
{
	return put_number(db, "start_ns", start_ns);
}

struct vmop_error *vmop_session_file_put_end(struct vmop_db *db, uint64_t end_ns)
{
	return put_number(db, "end_ns", end_ns);
}
