// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of the table task that stand for several ended tasks. */
#include "libdb/connection.h"
#include "libdb/db.h"

/* Set *ret to the id of like's merged row, or to 0. */
static struct vmop_error *find(struct vmop_db *db, const struct vmop_db_task *like, int64_t *ret)
{
	return vmop_db_run_for(db, VMOP_DB_FIND_MERGED, ret, "iitt", (int64_t)like->domain.number,
			       (int64_t)like->exe_image.number, like->comm, like->cgroup);
}

static struct vmop_error *add(struct vmop_db *db, const struct vmop_db_task *like, uint64_t n,
			      int64_t *ret)
{
	struct vmop_error *err = vmop_db_run_for(db, VMOP_DB_NEXT_TASK, ret, "");
	if (err)
		return err;
	if (*ret < VMOP_DB_TASK_ID_LIMIT)
		*ret = VMOP_DB_TASK_ID_LIMIT;
	if (*ret > UINT32_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT, "%s: too many merged tasks", db->path);
	return vmop_db_run(db, VMOP_DB_PUT_MERGED, "iiittu", *ret, (int64_t)like->domain.number,
			   (int64_t)like->exe_image.number, like->comm, like->cgroup, n);
}

struct vmop_error *vmop_db_merge_tasks(struct vmop_db *db, const struct vmop_db_task *like,
				       uint64_t n, struct vmop_task_row_id *ret)
{
	const struct vmop_db_task task = {
		.domain = like->domain,
		.exe_image = like->exe_image,
		.comm = like->comm ? like->comm : "",
		.cgroup = like->cgroup,
	};
	int64_t id = 0;
	struct vmop_error *err = find(db, &task, &id);
	if (err)
		return err;
	if (!id)
		err = add(db, &task, n, &id);
	else if (n)
		err = vmop_db_run(db, VMOP_DB_COUNT_MERGED, "iu", id, n);
	ret->number = (uint32_t)id;
	return err;
}
