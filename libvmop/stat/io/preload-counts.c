// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/io/preload-counts.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "libvmop/stat/io/preload-layout.h"

#define MAX_KNOWN_FILES 1024

/* The calls of this file are direct ones: the library replaces the functions. */
static struct vmop_preload *memory;
static uint32_t own_pid;

/* 0: not registered yet. */
static __thread uint32_t own_task __attribute__((tls_model("initial-exec")));
#define LEFT_OUT UINT32_MAX

/* Inode and kind of open files, in one word: the kind is the lowest byte. 0: not known. */
static uint64_t known_files[MAX_KNOWN_FILES];

uint64_t vmop_preload_begin(void)
{
	struct timespec now;
	if (!memory || !memory->has_times)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- threads ------------------------------------------------------------------------------ */

static uint32_t *exec_of(uint32_t pid)
{
	return &memory->execs[pid % VMOP_PRELOAD_MAX_EXECS];
}

static void register_thread(void)
{
	uint32_t number = __atomic_add_fetch(&memory->n_tasks, 1, __ATOMIC_RELAXED);
	if (number > VMOP_PRELOAD_MAX_TASKS) {
		own_task = LEFT_OUT;
		return;
	}
	struct vmop_appio_task *task = &memory->tasks[number - 1];
	task->pid = own_pid;
	task->tid = (uint32_t)syscall(SYS_gettid);
	prctl(PR_GET_NAME, task->name);
	own_task = number;
}

static void begin_process(void)
{
	own_pid = (uint32_t)syscall(SYS_getpid);
	own_task = 0;
}

bool vmop_preload_attach(const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
	struct stat st;
	if (fd < 0)
		return false;
	void *map = MAP_FAILED;
	if (fstat(fd, &st) == 0 && st.st_size == sizeof(*memory))
		map = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	syscall(SYS_close, fd);
	if (map == MAP_FAILED)
		return false;
	if (((struct vmop_preload *)map)->magic != VMOP_PRELOAD_MAGIC) {
		munmap(map, sizeof(*memory));
		return false;
	}
	memory = map;
	begin_process();
	register_thread();
	uint32_t *exec = exec_of(own_pid);
	if (*exec == own_pid)
		*exec = 0;
	return true;
}

__attribute__((constructor)) static void load(void)
{
	const char *path = getenv(VMOP_PRELOAD_VARIABLE);
	int os_errno = errno;
	if (path && !memory && vmop_preload_attach(path))
		pthread_atfork(NULL, NULL, begin_process);
	errno = os_errno;
}

void vmop_preload_begin_exec(void)
{
	if (!memory)
		return;
	uint32_t *exec = exec_of(own_pid);
	/* Another one that never loaded the library. */
	if (*exec && *exec != own_pid)
		__atomic_add_fetch(&memory->n_unseen, 1, __ATOMIC_RELAXED);
	*exec = (uint32_t)syscall(SYS_getpid); /* not that of the parent of vfork(2) */
}

void vmop_preload_fail_exec(void)
{
	if (memory)
		*exec_of(own_pid) = 0;
}

/* ---- files -------------------------------------------------------------------------------- */

static uint8_t kind_of(const struct stat *st)
{
	unsigned major_number = major(st->st_rdev);
	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
		return VMOP_APPIO_KIND_FILE;
	case S_IFIFO:
		return VMOP_APPIO_KIND_PIPE;
	case S_IFSOCK:
		return VMOP_APPIO_KIND_SOCKET;
	case S_IFBLK:
		return VMOP_APPIO_KIND_DEVICE;
	case S_IFCHR:
		/* The majors of terminals: Documentation/admin-guide/devices.txt. */
		return major_number == 4 || major_number == 5 ||
				       (major_number >= 136 && major_number <= 143)
			       ? VMOP_APPIO_KIND_TTY
			       : VMOP_APPIO_KIND_DEVICE;
	default:
		return VMOP_APPIO_KIND_OTHER;
	}
}

void vmop_preload_forget(int fd)
{
	if (fd >= 0 && fd < MAX_KNOWN_FILES)
		__atomic_store_n(&known_files[fd], 0, __ATOMIC_RELAXED);
}

static void set_file(struct vmop_appio_key *key)
{
	bool has_room = key->fd >= 0 && key->fd < MAX_KNOWN_FILES;
	uint64_t known = has_room ? __atomic_load_n(&known_files[key->fd], __ATOMIC_RELAXED) : 0;
	struct stat st;
	if (!known) {
		if (key->fd < 0 || fstat(key->fd, &st) != 0)
			return;
		known = (uint64_t)st.st_ino << 8 | kind_of(&st);
		if (has_room)
			__atomic_store_n(&known_files[key->fd], known, __ATOMIC_RELAXED);
	}
	key->kind = (uint8_t)known;
	key->inode = known >> 8;
}

/* Set the name of a file: the last part of its path. */
static void find_name(int fd, char ret[VMOP_APPIO_NAME_BYTES])
{
	char link[64], path[4096];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	long len = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof(path) - 1);
	if (len <= 0 || path[0] != '/') /* a pipe or a socket */
		return;
	path[len] = '\0';
	snprintf(ret, VMOP_APPIO_NAME_BYTES, "%s", strrchr(path, '/') + 1);
}

/* ---- counting ----------------------------------------------------------------------------- */

static uint32_t hash(const struct vmop_appio_key *key)
{
	/* FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/ */
	uint32_t sum = 2166136261u;
	for (size_t i = 0; i < sizeof(*key); i++)
		sum = (sum ^ ((const unsigned char *)key)[i]) * 16777619u;
	return sum;
}

/* Find the entry of a key, or make it. NULL: there is no room. */
static struct vmop_appio_counts *find_counts(const struct vmop_appio_key *key)
{
	uint32_t at = hash(key);
	for (uint32_t i = 0; i < VMOP_PRELOAD_MAX_PROBES; i++) {
		struct vmop_preload_slot *slot = &memory->slots[(at + i) % VMOP_PRELOAD_MAX_SLOTS];
		uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
		if (state == VMOP_PRELOAD_READY && memcmp(&slot->key, key, sizeof(*key)) == 0)
			return &slot->entry.counts;
		if (state != VMOP_PRELOAD_FREE ||
		    !__atomic_compare_exchange_n(&slot->state, &state, VMOP_PRELOAD_TAKEN, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		slot->key = *key;
		if (key->kind == VMOP_APPIO_KIND_FILE || key->kind == VMOP_APPIO_KIND_DEVICE)
			find_name(key->fd, slot->entry.name);
		__atomic_store_n(&slot->state, VMOP_PRELOAD_READY, __ATOMIC_RELEASE);
		return &slot->entry.counts;
	}
	return NULL;
}

/* A thread's counts are its own; those of the rests are not. */
static void add(uint64_t *sum, uint64_t value)
{
	__atomic_add_fetch(sum, value, __ATOMIC_RELAXED);
}

static void add_outcome(struct vmop_appio_counts *counts, const struct vmop_preload_call *call)
{
	const struct vmop_appio_call *kind = vmop_appio_call(call->id);
	add(&counts->calls, 1);
	if (call->result < 0) {
		add(call->os_errno == EINTR    ? &counts->interrupted
		    : call->os_errno == EAGAIN ? &counts->would_block
					       : &counts->errors,
		    1);
		return;
	}
	if (kind->class == VMOP_APPIO_SELECT)
		add(&counts->ends, call->result == 0);
	if (kind->form == VMOP_APPIO_NO_SIZE)
		return;
	add(&counts->bytes, (uint64_t)call->bytes);
	if (call->result == 0 && call->wanted && call->direction == VMOP_APPIO_IN)
		add(&counts->ends, 1);
	else if ((size_t)call->result < call->wanted &&
		 (call->result || kind->class != VMOP_APPIO_COPY))
		add(&counts->shorts, 1);
}

void vmop_preload_count(const struct vmop_preload_call *call)
{
	if (!memory || !vmop_appio_call(call->id))
		return;
	int os_errno = errno;
	if (!own_task)
		register_thread();
	struct vmop_appio_key key = {
		.task = own_task, .fd = call->fd, .call = call->id, .direction = call->direction};
	set_file(&key);
	struct vmop_appio_counts *counts = own_task == LEFT_OUT ? NULL : find_counts(&key);
	if (!counts) {
		counts = &memory->rests[key.call][key.direction][key.kind % VMOP_APPIO_N_KINDS];
		add(&memory->n_left_out, 1);
	}
	add_outcome(counts, call);
	if (call->begin_ns)
		add(&counts->time_ns, vmop_preload_begin() - call->begin_ns);
	errno = os_errno;
}
