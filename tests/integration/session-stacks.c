// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For tests: print the call stacks of a session file, read only through libdb. A line for each cell
 * of host samples: "SAMPLES PID COMM END;FRAME;...;FRAME", with tabs between the four, outermost
 * frame first. END is the reason of the stack's end (enum vmop_stack_end; - without a stack). A
 * frame is its symbol, or IMAGE+OFFSET without one. Exit 1 with the reason if the file is damaged.
 *
 * With --guests=SECONDS, only samples of guests and of work for them, from that time since 1970 on,
 * and the names of two domains and two words follow after tabs: the one whose code ran, the one
 * that is billed, the mode (user, kernel, hypervisor) and the certainty (exact, likely, ambiguous).
 * A frame of a guest's kernel then ends in _[k], one of the host in _[h].
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

enum { IMAGES_MAX = 65536, TASKS_MAX = 1 << 20, DOMAINS_MAX = 4096, DEPTH_MAX = 1024 };

struct image {
	char *name;
	enum vmop_image_kind kind;
	struct vmop_domain_id domain;
	struct vmop_symtab *symtab;
	bool is_read;
};

struct task {
	uint32_t pid;
	char comm[16];
};

static struct image images[IMAGES_MAX];
static char *domains[DOMAINS_MAX];
static bool are_guests;
static uint64_t from_ns; /* CLOCK_REALTIME */
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
	images[row->id.number] =
		(struct image){.name = strdup(row->name), .kind = row->kind, .domain = row->domain};
	return NULL;
}

static struct vmop_error *keep_domain(void *arg, const struct vmop_db_domain *row)
{
	(void)arg;
	if (row->id.number >= DOMAINS_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT, "too many domains");
	free(domains[row->id.number]);
	domains[row->id.number] = strdup(row->name);
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
	bool is_file = image->kind == VMOP_IMAGE_FILE && vmop_domain_id_is_host(image->domain);
	int fd = is_file ? open(image->name, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	vmop_error_destroy(vmop_symtab_read_elf(fd, image->name, 0, &image->symtab));
	close(fd);
}

static const char *mark_of(const struct image *image)
{
	if (!are_guests)
		return "";
	if (vmop_domain_id_is_host(image->domain))
		return "_[h]";
	switch (image->kind) {
	case VMOP_IMAGE_GUEST_KERNEL:
	case VMOP_IMAGE_KERNEL:
	case VMOP_IMAGE_MODULE:
	case VMOP_IMAGE_BPF:
	case VMOP_IMAGE_TRAMPOLINE:
		return "_[k]";
	default:
		return "";
	}
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
		printf(";%s%s", symbol->name, mark_of(image));
	else
		printf(";%s+%#" PRIx64 "%s", image->name, offset, mark_of(image));
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

static const char *domain_name(struct vmop_domain_id id)
{
	return id.number < DOMAINS_MAX && domains[id.number] ? domains[id.number] : "?";
}

static void print_key(const struct vmop_db_chunk_key *key)
{
	static const char *const modes[] = {"unknown", "hypervisor", "kernel", "user"};
	static const char *const certainties[] = {"exact", "likely", "ambiguous"};
	printf("\t%s\t%s\t%s\t%s", domain_name(key->domain), domain_name(key->billed),
	       key->mode < 4 ? modes[key->mode] : "?",
	       key->certainty < 3 ? certainties[key->certainty] : "?");
}

static struct vmop_error *print_chunk(void *arg, const struct vmop_db_chunk *chunk)
{
	const struct reader *reader = arg;
	const struct task *task = find_task(chunk->key.task);
	if (are_guests && vmop_domain_id_is_host(chunk->key.billed))
		return NULL;
	for (size_t i = 0; i < chunk->n_cells; i++) {
		printf("%" PRIu64 "\t%" PRIu32 "\t%s\t", chunk->cells[i].samples, task->pid,
		       *task->comm ? task->comm : "?");
		struct vmop_error *err = print_stack(reader, chunk->key.stack);
		if (err)
			return err;
		print_frame(reader->db, chunk->key.image, chunk->cells[i].offset);
		if (are_guests)
			print_key(&chunk->key);
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
		err = vmop_db_each_domain(reader->db, keep_domain, NULL);
	if (!err)
		err = vmop_db_each_task(reader->db, keep_task, NULL);
	if (!err)
		err = vmop_db_load_stacks(reader->db, SIZE_MAX, &reader->stacks);
	if (!err)
		err = vmop_db_each_chunk(reader->db, &(struct vmop_db_filter){.from_ns = from_ns},
					 print_chunk, reader);
	return err;
}

int main(int argc, char **argv)
{
	struct reader reader = {0};
	are_guests = argc == 3 && !strncmp(argv[1], "--guests=", 9);
	if (are_guests)
		from_ns = strtoull(argv[1] + 9, NULL, 10) * 1000000000;
	struct vmop_error *err =
		argc == 2 + are_guests
			? vmop_db_open(argv[argc - 1], &reader.db)
			: vmop_error_new(VMOP_ERROR_USAGE, "usage: %s [--guests=SECONDS] FILE",
					 argv[0]);
	if (!err)
		err = print_all(&reader);
	vmop_db_stacks_destroy(reader.stacks);
	vmop_db_close(reader.db);
	if (!err)
		return 0;
	vmop_log_and_destroy(VMOP_LOG_ERROR, err);
	return 1;
}
