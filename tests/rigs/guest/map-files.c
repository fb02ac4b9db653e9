// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: map-files [-m] [-d] PATH...
 *
 * Map each file as executable code and touch its pages, then go on in the background, asleep. It
 * returns once all is mapped. -d: then remove the files. -m: also map copies of the first file that
 * have no name in a directory: a memfd, SysV shared memory, shared anonymous memory.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

static void need(int holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(1);
}

static volatile unsigned char sum;

static void touch(const unsigned char *bytes, size_t len)
{
	for (size_t at = 0; at < len; at += 4096)
		sum += bytes[at];
}

static unsigned char *map(int fd, size_t *ret_len)
{
	struct stat st;
	need(fd >= 0 && fstat(fd, &st) == 0, "open");
	unsigned char *bytes =
		mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	need(bytes != MAP_FAILED, "mmap");
	touch(bytes, (size_t)st.st_size);
	*ret_len = (size_t)st.st_size;
	return bytes;
}

static void map_nameless(const unsigned char *bytes, size_t len)
{
	int fd = memfd_create("code", 0);
	need(write(fd, bytes, len) == (ssize_t)len, "memfd");
	map(fd, &len);
	int id = shmget(IPC_PRIVATE, len, 0700);
	need(id >= 0, "shmget");
	void *shared = shmat(id, NULL, SHM_EXEC);
	need(shared != (void *)-1, "shmat");
	memcpy(shared, bytes, len);
	shared = mmap(NULL, len, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	need(shared != MAP_FAILED, "mmap");
	memcpy(shared, bytes, len);
}

static void map_all(char **paths, int removes, int nameless)
{
	for (int i = 0; paths[i]; i++) {
		size_t len;
		int fd = open(paths[i], O_RDONLY);
		unsigned char *bytes = map(fd, &len);
		if (nameless && i == 0)
			map_nameless(bytes, len);
		close(fd);
		if (removes)
			need(unlink(paths[i]) == 0, "unlink");
	}
}

int main(int argc, char **argv)
{
	int removes = 0, nameless = 0, option, ready[2];
	char done;
	while ((option = getopt(argc, argv, "dm")) != -1) {
		removes |= option == 'd';
		nameless |= option == 'm';
	}
	need(pipe(ready) == 0, "pipe");
	pid_t pid = fork();
	need(pid >= 0, "fork");
	if (pid) {
		close(ready[1]);
		return read(ready[0], &done, 1) == 1 ? 0 : 1;
	}
	map_all(argv + optind, removes, nameless);
	need(write(ready[1], "1", 1) == 1, "write");
	for (;;)
		pause();
}
