// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/active/fetched-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "libdb/db.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/io.h"

void vmop_fetched_place_deinit(struct vmop_fetched_place *place)
{
	free(place->session_dir);
	free(place->file);
	place->session_dir = place->file = NULL;
}

/* ---- its bytes --------------------------------------------------------------------------- */

struct vmop_error *vmop_fetched_file_begin(struct vmop_fetched_file *ret,
					   const struct vmop_fetched_place *place)
{
	*ret = (struct vmop_fetched_file){.place = place, .dir = VMOP_DIR_NONE, .fd = -1};
	if (asprintf(&ret->new_file, "%s.new", place->file) < 0) {
		ret->new_file = NULL;
		return &vmop_error_no_memory;
	}
	struct vmop_error *err = vmop_dir_open(place->session_dir, VMOP_DIR_SAFE, &ret->dir);
	if (err)
		return err;
	/* Left by a daemon that was killed. */
	unlinkat(ret->dir.fd, ret->new_file, 0);
	ret->fd = openat(ret->dir.fd, ret->new_file,
			 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (ret->fd < 0)
		return vmop_error_os(errno, "%s/%s", place->session_dir, ret->new_file);
	ret->is_there = true;
	return NULL;
}

struct vmop_error *vmop_fetched_file_write(struct vmop_fetched_file *file, const void *bytes,
					   size_t len_bytes)
{
	if (vmop_io_write_full(file->fd, bytes, len_bytes) == (ssize_t)len_bytes)
		return NULL;
	return vmop_error_os(errno, "%s/%s", file->place->session_dir, file->new_file);
}

void vmop_fetched_file_end(struct vmop_fetched_file *file)
{
	if (file->is_there)
		unlinkat(file->dir.fd, file->new_file, 0);
	if (file->fd >= 0)
		close(file->fd);
	vmop_dir_deinit(&file->dir);
	free(file->new_file);
	*file = (struct vmop_fetched_file){.dir = VMOP_DIR_NONE, .fd = -1};
}

/* ---- its content ------------------------------------------------------------------------- */

/* A check of whose session it is. */
struct check {
	const struct vmop_fetched_place *place;
	struct vmop_db *db;
	uint64_t to_ns; /* CLOCK_REALTIME: no interval ends later */
	bool has_machine;
	struct vmop_domain_id hypervisor; /* Xen; the host's: none */
};

/* Take the domain of Xen in the session of a domain of Xen. */
static struct vmop_error *take_hypervisor(struct check *check, const struct vmop_db_domain *domain)
{
	if (!check->place->is_of_xen || !vmop_domain_id_is_host(check->hypervisor) ||
	    (domain->uuid && *domain->uuid))
		return vmop_error_new(VMOP_ERROR_CANT,
				      "it has a hypervisor of its own, which reports of this host "
				      "could take for another");
	check->hypervisor = domain->id;
	return NULL;
}

/* Domain 0 is the machine on which the session was recorded. */
static struct vmop_error *check_domain(void *arg, const struct vmop_db_domain *domain)
{
	struct check *check = arg;
	if (!vmop_domain_id_is_host(domain->id)) {
		if (domain->kind == VMOP_DOMAIN_HYPERVISOR)
			return take_hypervisor(check, domain);
		if (domain->uuid && *domain->uuid)
			return vmop_error_new(VMOP_ERROR_CANT,
					      "it has guests of its own, which reports of this "
					      "host could take for others");
		return NULL;
	}
	check->has_machine = true;
	if (domain->uuid && strcasecmp(domain->uuid, check->place->uuid) == 0)
		return NULL;
	return vmop_error_new(VMOP_ERROR_CANT, "it is not of the machine with the UUID %s",
			      check->place->uuid);
}

/* A report finds the text of Xen in the image of either session: it must be the host's. */
static struct vmop_error *check_image(void *arg, const struct vmop_db_image *image)
{
	const struct check *check = arg;
	bool is_of_hypervisor = !vmop_domain_id_is_host(check->hypervisor) &&
				image->domain.number == check->hypervisor.number;
	_cleanup_free_ struct vmop_symbol *symbols = NULL;
	size_t n = 0;
	if (image->kind != VMOP_IMAGE_HYPERVISOR && !is_of_hypervisor)
		return NULL;
	struct vmop_error *err = vmop_db_get_symbols(check->db, image->id, &symbols, &n);
	if (err || (!n && !image->len_bytes))
		return err;
	return vmop_error_new(VMOP_ERROR_CANT, "it has names for functions of the hypervisor");
}

static struct vmop_error *check_interval(void *arg, const struct vmop_db_interval *interval)
{
	const struct check *check = arg;
	uint64_t since_ns = check->place->since_ns, from_ns = interval->start_ns;
	if (from_ns <= check->to_ns && interval->len_ns <= check->to_ns - from_ns &&
	    (from_ns >= since_ns || since_ns - from_ns <= VMOP_FETCHED_CLOCK_NS))
		return NULL;
	return vmop_error_new(VMOP_ERROR_CANT, "it has samples of another time than this session");
}

/* Without the UUID of its machine, a host's sessions are known by its name. */
static struct vmop_error *check_hostname(struct vmop_db *db, const struct vmop_fetched_place *place)
{
	_cleanup_free_ char *name = NULL;
	struct utsname host;
	struct vmop_error *err =
		place->host_has_uuid ? NULL : vmop_db_get_info(db, "hostname", &name);
	if (err || !name || uname(&host) < 0 || strcmp(name, host.nodename) != 0)
		return err;
	return vmop_error_new(VMOP_ERROR_CANT,
			      "it has the name of this host, whose UUID is not known");
}

/* Read the session's times as those of this host. */
static struct vmop_error *use_clock(struct vmop_db *db, const struct vmop_fetched_place *place)
{
	uint64_t start_ns;
	struct vmop_error *err = vmop_db_get_number(db, "start_ns", &start_ns);
	if (!err && start_ns)
		vmop_db_set_clock(db, &place->clock, start_ns);
	return err;
}

static struct vmop_error *check_session(struct vmop_db *db, const struct vmop_fetched_place *place)
{
	struct check check = {.place = place,
			      .db = db,
			      .to_ns = vmop_clock_ns(CLOCK_REALTIME) + VMOP_FETCHED_CLOCK_NS,
			      .hypervisor = VMOP_DOMAIN_ID_HOST};
	struct vmop_error *err = vmop_db_check(db);
	if (!err)
		err = vmop_db_each_domain(db, check_domain, &check);
	if (!err && !check.has_machine)
		err = vmop_error_new(VMOP_ERROR_CORRUPT, "it has no machine");
	if (!err)
		err = vmop_db_each_image(db, check_image, &check);
	if (!err)
		err = check_hostname(db, place);
	if (!err)
		err = use_clock(db, place);
	return err ? err : vmop_db_each_interval(db, check_interval, &check);
}

struct vmop_error *vmop_fetched_file_check(struct vmop_fetched_file *file)
{
	const struct vmop_fetched_place *place = file->place;
	struct vmop_db *db = NULL;
	struct vmop_error *err = NULL;
	if (!*place->uuid)
		return vmop_error_new(VMOP_ERROR_CANT, "its VMM gives it no UUID, by which a "
						       "report finds the guest of a session");
	err = vmop_db_open_at(&file->dir, file->new_file, place->file, &db);
	if (!err)
		err = check_session(db, place);
	vmop_db_close(db);
	if (!err && (fchmod(file->fd, place->mode) < 0 || fdatasync(file->fd) < 0))
		err = vmop_error_os(errno, "%s/%s", place->session_dir, place->file);
	return err;
}

struct vmop_error *vmop_fetched_file_publish(struct vmop_fetched_file *file, const char *name)
{
	if (renameat(file->dir.fd, file->new_file, file->dir.fd, name) < 0)
		return vmop_error_os(errno, "%s/%s", file->place->session_dir, name);
	file->is_there = false;
	return NULL;
}
