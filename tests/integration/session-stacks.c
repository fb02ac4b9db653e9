// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For tests: print the call stacks of a session file, read only through libdb. A line for each cell
 * of host samples: "SAMPLES PID COMM END;FRAME;...;FRAME", with tabs between the four, outermost
 * frame first. END is the reason of the stack's end (enum vmop_stack_end; - without a stack). A
 * frame is its symbol, or IMAGE+OFFSET without one. Exit 1 with the reason if the file is damaged.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libdb/db.h"
#include "libsym/symtab.h"
#include "libutil/log.h"

enum { IMAGES_MAX = 65536, TASKS_MAX = 1 << 20, DEPTH_MAX = 1024 };

struct image {
	char *name;
	enum vmop_image_kind kind;
	struct vmop_symtab *symtab;
	bool is_read;
};

struct task {
	uint32_t pid;
	char comm[16];
};

static struct image images[IMAGES_MAX];
static struct task tasks[TASKS_MAX];
static struct task merged_tasks[TASKS_MAX]; /* the ids of these rows begin far above */

struct reader {
	struct vmop_db *db;
	struct vmop_db_stacks *stacks;
};

static struct vmop_error *keep_image(void *arg, const struct vmop_db_image *row)
{
	(void)arg;
	if (row->id.number >= IMAGES_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT, "too many images");
	free(images[row->id.number].name);
	images[row->id.number] = (struct image){.name = strdup(row->name), .kind = row->kind};
	return NULL;
}

static struct task *find_task(struct vmop_task_row_id id)
{
	return id.number < TASKS_MAX ? &tasks[id.number] : &merged_tasks[id.number % TASKS_MAX];
}

static struct vmop_error *keep_task(void *arg, const struct vmop_db_task *row)
{
	(void)arg;
	struct task *task = find_task(row->id);
	task->pid = row->pid;
	snprintf(task->comm, sizeof(task->comm), "%s", row->comm);
	return NULL;
}

/* Read the symbols of an image from the session, else from its file. */
static void read_symbols(struct vmop_db *db, struct vmop_image_id id)
{
	struct image *image = &images[id.number];
	struct vmop_symbol *symbols = NULL;
	size_t n = 0;
	image->is_read = true;
	if (!vmop_db_get_symbols(db, id, &symbols, &n) && n) {
		vmop_error_destroy(vmop_symtab_adopt(symbols, n, &image->symtab));
		return;
	}
	free(symbols);
	int fd = image->kind == VMOP_IMAGE_FILE ? open(image->name, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	vmop_error_destroy(vmop_symtab_read_elf(fd, image->name, 0, &image->symtab));
	close(fd);
}

static void print_frame(struct vmop_db *db, struct vmop_image_id id, uint64_t offset)
{
	struct image *image = id.number < IMAGES_MAX ? &images[id.number] : NULL;
	if (!image || !image->name) {
		printf(";no-image-%" PRIu32 "+%#" PRIx64, id.number, offset);
		return;
	}
	if (!image->is_read)
		read_symbols(db, id);
	const struct vmop_symbol *symbol =
		image->symtab ? vmop_symtab_find(image->symtab, offset) : NULL;
	if (symbol)
		printf(";%s", symbol->name);
	else
		printf(";%s+%#" PRIx64, image->name, offset);
}

/* Print a stack from its end mark inwards. */
static struct vmop_error *print_stack(const struct reader *reader, struct vmop_stack_id id)
{
	struct vmop_db_stack_node nodes[DEPTH_MAX];
	size_t n = 0;
	if (!id.number) {
		printf("-");
		return NULL;
	}
	for (; id.number; id = nodes[n++].parent)
		if (n == DEPTH_MAX || !vmop_db_stacks_node(reader->stacks, id, &nodes[n]))
			return vmop_error_new(VMOP_ERROR_CORRUPT, "no stack %" PRIu32, id.number);
	printf("%" PRIu64, nodes[--n].offset);
	while (n--)
		print_frame(reader->db, nodes[n].image, nodes[n].offset);
	return NULL;
}

static struct vmop_error *print_chunk(void *arg, const struct vmop_db_chunk *chunk)
{
	const struct reader *reader = arg;
	const struct task *task = find_task(chunk->key.task);
	for (size_t i = 0; i < chunk->n_cells; i++) {
		printf("%" PRIu64 "\t%" PRIu32 "\t%s\t", chunk->cells[i].samples, task->pid,
		       *task->comm ? task->comm : "?");
		struct vmop_error *err = print_stack(reader, chunk->key.stack);
		if (err)
			return err;
		print_frame(reader->db, chunk->key.image, chunk->cells[i].offset);
		printf("\n");
	}
	return NULL;
}

static struct vmop_error *print_all(struct reader *reader)
{
	struct vmop_error *err = vmop_db_check(reader->db);
	if (!err)
		err = vmop_db_each_image(reader->db, keep_image, NULL);
	if (!err)
		err = vmop_db_each_task(reader->db, keep_task, NULL);
	if (!err)
		err = vmop_db_load_stacks(reader->db, SIZE_MAX, &reader->stacks);
	if (!err)
		err = vmop_db_each_chunk(reader->db, &(struct vmop_db_filter){0}, print_chunk,
					 reader);
	return err;
}

int main(int argc, char **argv)
{
	struct reader reader = {0};
	struct vmop_error *err =
		argc == 2 ? vmop_db_open(argv[1], &reader.db)
			  : vmop_error_new(VMOP_ERROR_USAGE, "usage: %s FILE", argv[0]);
	if (!err)
		err = print_all(&reader);
	vmop_db_stacks_destroy(reader.stacks);
	vmop_db_close(reader.db);
	if (!err)
		return 0;
	vmop_log_and_destroy(VMOP_LOG_ERROR, err);
	return 1;
}
