// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shared by the tests of the profiler: a profiler with hand-made records, for a machine that is a
 * folder of the test or none, and the session that it wrote.
 */
#ifndef VMOP_TEST_DAEMON_COMMON_H
#define VMOP_TEST_DAEMON_COMMON_H

#include <cmocka.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/profile/profiler.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"

#define SECOND_NS VMOP_NS_PER_S

/* Fail the test with err's message, if there is an error. */
static inline void ok(struct vmop_error *err)
{
	if (err)
		fail_msg("%s", err->message);
}

/* ---- a source with events only ---------------------------------------- */

static inline size_t fake_n_events(const struct vmop_source *source)
{
	(void)source;
	return 2;
}

static struct vmop_event_info fake_infos[2]; /* set by rig_folder, and by some tests */

static inline const struct vmop_event_info *fake_event(const struct vmop_source *source, size_t i)
{
	(void)source;
	return &fake_infos[i];
}

static struct vmop_source_stats fake_stats_now;

static inline void fake_stats(const struct vmop_source *source, struct vmop_source_stats *ret)
{
	(void)source;
	*ret = fake_stats_now;
}

static const struct vmop_source_ops fake_ops = {
	.name = "replay", .n_events = fake_n_events, .event = fake_event, .stats = fake_stats};
static struct vmop_source fake_source = {.ops = &fake_ops};

/* ---- the stored session -------------------------------------------------- */

/* A cell with its place, task and image. */
struct row {
	struct vmop_db_chunk_key key;
	uint64_t offset, samples, weight_events;
	char image[256], root[64], comm[32], cgroup[128], exe[256];
	enum vmop_image_kind kind;
	uint64_t base;
	uint8_t build_id_len_bytes;
	uint32_t pid, tid;
};

struct session {
	struct row *rows;
	size_t n, capacity;
	struct vmop_db_image *images;
	struct vmop_db_task *tasks;
	struct vmop_db_domain *domains;
	struct vmop_db_vcpu *vcpus;
	struct vmop_db_loss *losses;
	size_t n_images, n_tasks, n_domains, n_vcpus, n_losses;
};

#define READER(noun, nouns)                                                                        \
	static inline struct vmop_error *read_##noun(void *arg, const struct vmop_db_##noun *row)  \
	{                                                                                          \
		struct session *session = arg;                                                     \
		session->nouns = realloc(session->nouns,                                           \
					 (session->n_##nouns + 1) * sizeof(*session->nouns));      \
		assert_non_null(session->nouns);                                                   \
		session->nouns[session->n_##nouns++] = *row;                                       \
		return NULL;                                                                       \
	}
READER(image, images)
READER(task, tasks)
READER(domain, domains)
READER(vcpu, vcpus)
READER(loss, losses)

static inline char *copy_text(const char *text)
{
	return text ? strdup(text) : NULL;
}

static inline struct vmop_error *keep_image(void *arg, const struct vmop_db_image *row)
{
	struct vmop_db_image kept = *row;
	kept.name = copy_text(row->name);
	kept.root = copy_text(row->root);
	return read_image(arg, &kept);
}

static inline struct vmop_error *keep_task(void *arg, const struct vmop_db_task *row)
{
	struct vmop_db_task kept = *row;
	kept.comm = copy_text(row->comm);
	kept.cgroup = copy_text(row->cgroup);
	return read_task(arg, &kept);
}

static inline struct vmop_error *keep_domain(void *arg, const struct vmop_db_domain *row)
{
	struct vmop_db_domain kept = *row;
	kept.name = copy_text(row->name);
	kept.uuid = copy_text(row->uuid);
	kept.vmm = copy_text(row->vmm);
	return read_domain(arg, &kept);
}

static inline struct vmop_error *keep_loss(void *arg, const struct vmop_db_loss *row)
{
	struct vmop_db_loss kept = *row;
	kept.name = copy_text(row->name);
	return read_loss(arg, &kept);
}

static inline const struct vmop_db_image *image_by_id(const struct session *session,
						      struct vmop_image_id id)
{
	for (size_t i = 0; i < session->n_images; i++)
		if (vmop_image_id_equals(session->images[i].id, id))
			return &session->images[i];
	return NULL;
}

static inline const struct vmop_db_task *task_by_id(const struct session *session,
						    struct vmop_task_row_id id)
{
	for (size_t i = 0; i < session->n_tasks; i++)
		if (vmop_task_row_id_equals(session->tasks[i].id, id))
			return &session->tasks[i];
	return NULL;
}

static inline struct vmop_error *keep_chunk(void *arg, const struct vmop_db_chunk *chunk)
{
	struct session *session = arg;
	for (size_t i = 0; i < chunk->n_cells; i++) {
		struct row row = {.key = chunk->key,
				  .offset = chunk->cells[i].offset,
				  .samples = chunk->cells[i].samples,
				  .weight_events = chunk->cells[i].weight_events};
		const struct vmop_db_image *image = image_by_id(session, chunk->key.image);
		assert_non_null(image); /* every sample has an image */
		snprintf(row.image, sizeof(row.image), "%s", image->name);
		snprintf(row.root, sizeof(row.root), "%s", image->root ? image->root : "");
		row.kind = image->kind;
		row.base = image->base;
		row.build_id_len_bytes = image->build_id_len_bytes;
		const struct vmop_db_task *task = task_by_id(session, chunk->key.task);
		if (chunk->key.task.number)
			assert_non_null(task);
		if (task) {
			row.pid = task->pid;
			row.tid = task->tid;
			snprintf(row.comm, sizeof(row.comm), "%s", task->comm);
			snprintf(row.cgroup, sizeof(row.cgroup), "%s",
				 task->cgroup ? task->cgroup : "");
			const struct vmop_db_image *exe = image_by_id(session, task->exe_image);
			snprintf(row.exe, sizeof(row.exe), "%s", exe ? exe->name : "");
		}
		if (session->n == session->capacity) {
			session->capacity = session->capacity ? 2 * session->capacity : 64;
			session->rows =
				realloc(session->rows, session->capacity * sizeof(*session->rows));
			assert_non_null(session->rows);
		}
		session->rows[session->n++] = row;
	}
	return NULL;
}

static inline void session_deinit(struct session *session)
{
	for (size_t i = 0; i < session->n_images; i++) {
		free((char *)session->images[i].name);
		free((char *)session->images[i].root);
	}
	for (size_t i = 0; i < session->n_tasks; i++) {
		free((char *)session->tasks[i].comm);
		free((char *)session->tasks[i].cgroup);
	}
	for (size_t i = 0; i < session->n_domains; i++) {
		free((char *)session->domains[i].name);
		free((char *)session->domains[i].uuid);
		free((char *)session->domains[i].vmm);
	}
	for (size_t i = 0; i < session->n_losses; i++)
		free((char *)session->losses[i].name);
	free(session->images);
	free(session->tasks);
	free(session->domains);
	free(session->vcpus);
	free(session->losses);
	free(session->rows);
	*session = (struct session){0};
}

static inline void session_read(const char *path, struct session *ret)
{
	struct vmop_db *db;
	struct vmop_db_filter all = {0};
	session_deinit(ret);
	ok(vmop_db_open(path, &db));
	ok(vmop_db_begin_snapshot(db));
	ok(vmop_db_each_image(db, keep_image, ret));
	ok(vmop_db_each_task(db, keep_task, ret));
	ok(vmop_db_each_domain(db, keep_domain, ret));
	ok(vmop_db_each_vcpu(db, read_vcpu, ret));
	ok(vmop_db_each_loss(db, keep_loss, ret));
	ok(vmop_db_each_chunk(db, &all, keep_chunk, ret));
	vmop_db_close(db);
}

/* Count the samples of a task by name and an image by name. A final "..." matches any end. */
static inline uint64_t samples_of(const struct session *session, const char *image,
				  const char *comm)
{
	uint64_t sum = 0;
	size_t len = image ? strlen(image) : 0;
	bool is_start = len > 3 && !strcmp(image + len - 3, "...");
	for (size_t i = 0; i < session->n; i++) {
		const struct row *row = &session->rows[i];
		if (image &&
		    (is_start ? strncmp(row->image, image, len - 3) : strcmp(row->image, image)))
			continue;
		if (!comm || !strcmp(row->comm, comm))
			sum += row->samples;
	}
	return sum;
}

static inline uint64_t loss_of(const struct session *session, const char *name)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < session->n_losses; i++)
		if (!strcmp(session->losses[i].name, name))
			sum += session->losses[i].count;
	return sum;
}

/* ---- a profiler with hand-made records ------------------------------------ */

struct rig {
	char folder[64], path[96];
	struct vmop_db *db;
	struct vmop_profiler *profiler;
	struct vmop_sink sink;
	uint64_t now_ns;
	struct session session;
};

/* Write a file below the root of the made-up machine. */
static inline void __attribute__((format(printf, 3, 4)))
machine_file(const struct rig *rig, const char *path, const char *format, ...)
{
	char full[512];
	va_list args;
	snprintf(full, sizeof(full), "%s/root%s", rig->folder, path);
	for (char *slash = full + strlen(rig->folder) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	FILE *file = fopen(full, "w");
	assert_non_null(file);
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	fclose(file);
}

/* Make a process in the machine's /proc, with the caller's maps. */
static inline void machine_process(const struct rig *rig, uint32_t pid, const char *comm,
				   const char *maps)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	machine_file(rig, path,
		     "%u (%s) S 1 1 1 0 -1 4194304 1 1 1 1 1 1 1 1 20 0 1 0 100 1000 1 1\n", pid,
		     comm);
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	machine_file(rig, path, "%s", maps);
}

static inline void rig_folder(struct rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	strcpy(rig->folder, "/tmp/vmop-test-XXXXXX");
	assert_non_null(mkdtemp(rig->folder));
	snprintf(rig->path, sizeof(rig->path), "%s/session", rig->folder);
	rig->now_ns = SECOND_NS;
	memset(&fake_stats_now, 0, sizeof(fake_stats_now));
	for (size_t i = 0; i < 2; i++)
		fake_infos[i] = (struct vmop_event_info){
			.name = "cpu-clock", .unit = "ns", .frequency_hz = 1000};
}

/* Create a profiler. There is no machine unless the caller made one. */
static inline struct vmop_error *rig_create(struct rig *rig, struct vmop_profiler_options *options,
					    struct vmop_source *source)
{
	static const char *const all[] = {"all"};
	static const struct vmop_setup defaults;
	char root[96];
	snprintf(root, sizeof(root), "%s/root", rig->folder);
	if (!options->proc_root)
		options->proc_root = root;
	if (!options->setup)
		options->setup = &defaults;
	if (!options->passive_domains) {
		options->passive_domains = all;
		options->n_passive_domains = 1;
	}
	ok(vmop_db_create(rig->path, &rig->db));
	struct vmop_error *err = vmop_profiler_create(options, source, rig->db, &rig->profiler);
	if (!err)
		rig->sink = vmop_profiler_sink(rig->profiler);
	return err;
}

static inline void rig_begin(struct rig *rig, struct vmop_profiler_options options)
{
	ok(rig_create(rig, &options, &fake_source));
	ok(vmop_profiler_scan(rig->profiler));
}

static inline void rig_records_only(struct rig *rig, unsigned separate)
{
	rig_folder(rig);
	rig_begin(rig,
		  (struct vmop_profiler_options){
			  .is_replay = true, .setup = &(struct vmop_setup){.separate = separate}});
}

static inline void rig_end(struct rig *rig)
{
	char command[128];
	session_deinit(&rig->session);
	vmop_profiler_destroy(rig->profiler);
	vmop_db_close(rig->db);
	snprintf(command, sizeof(command), "rm -rf '%s'", rig->folder);
	assert_int_equal(system(command), 0);
}

/* Store the interval and read the whole session. */
static inline const struct session *rig_flush(struct rig *rig)
{
	static uint64_t start_ns = 1700000000 * SECOND_NS;
	ok(vmop_profiler_flush(rig->profiler, start_ns, SECOND_NS));
	start_ns += SECOND_NS;
	session_read(rig->path, &rig->session);
	return &rig->session;
}

static inline void give(struct rig *rig, struct vmop_record record)
{
	record.time_ns = rig->now_ns++;
	rig->sink.record(rig->sink.arg, &record, NULL);
}

static inline void give_fork(struct rig *rig, uint32_t parent, uint32_t pid, uint32_t tid)
{
	give(rig,
	     (struct vmop_record){
		     .type = VMOP_RECORD_FORK,
		     .task = {.pid = pid, .tid = tid, .parent_pid = parent, .parent_tid = parent}});
}

static inline void give_exit(struct rig *rig, uint32_t pid, uint32_t tid)
{
	give(rig, (struct vmop_record){.type = VMOP_RECORD_EXIT, .task = {.pid = pid, .tid = tid}});
}

static inline void give_comm(struct rig *rig, uint32_t pid, uint32_t tid, const char *comm,
			     int is_exec)
{
	give(rig, (struct vmop_record){
			  .type = VMOP_RECORD_COMM,
			  .comm = {.pid = pid, .tid = tid, .comm = comm, .is_exec = is_exec}});
}

static inline void give_mmap(struct rig *rig, uint32_t pid, uint64_t start, uint64_t len_bytes,
			     uint64_t offset, const char *path, uint8_t build_id)
{
	struct vmop_record record = {.type = VMOP_RECORD_MMAP,
				     .mmap = {.start = start,
					      .len_bytes = len_bytes,
					      .file_offset_bytes = offset,
					      .pid = pid,
					      .tid = pid,
					      .inode = build_id ? 0 : 7,
					      .build_id_len_bytes = build_id ? 20 : 0,
					      .path = path}};
	memset(record.mmap.build_id, build_id, sizeof(record.mmap.build_id));
	give(rig, record);
}

static inline void give_sample(struct rig *rig, uint32_t pid, uint32_t tid, uint64_t ip,
			       uint16_t flags)
{
	give(rig, (struct vmop_record){.type = VMOP_RECORD_SAMPLE,
				       .sample = {.ip = ip,
						  .weight_events = 1000,
						  .pid = pid,
						  .tid = tid,
						  .cpu = tid % 4,
						  .flags = flags}});
}

/* fork + exec + one mapping of a program at 0x400000 */
static inline void give_program(struct rig *rig, uint32_t pid, const char *comm, const char *path,
				uint8_t build_id)
{
	give_fork(rig, 1, pid, pid);
	give_comm(rig, pid, pid, comm, 1);
	give_mmap(rig, pid, 0x400000, 0x10000, 0x1000, path, build_id);
}

#endif
