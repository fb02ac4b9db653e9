// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: hold-locks PATH FIRST LAST
 * Hold read locks on the bytes FIRST to LAST of the file at PATH, for which a descriptor for
 * reading is enough (fcntl(2)), and do the same with each file that takes its place. Wait for a
 * file that is not there, or cannot be opened or locked yet. Print "at work" when the locks are
 * held for the first time, and continue until killed.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void wait_a_moment(void)
{
	const struct timespec moment = {.tv_nsec = 200000};
	nanosleep(&moment, NULL);
}

static bool is_in_place(int fd, const char *path)
{
	struct stat own, there;
	return fstat(fd, &own) == 0 && stat(path, &there) == 0 && own.st_ino == there.st_ino &&
	       own.st_dev == there.st_dev;
}

/*
 * Another process can hold a lock for writing at this moment: try again until it does not. Return
 * false if another file takes the place meanwhile.
 */
static bool lock_each(int fd, const char *path, long first, long last)
{
	for (long byte = first; byte <= last; byte++) {
		struct flock lock = {.l_type = F_RDLCK, .l_start = byte, .l_len = 1};
		while (fcntl(fd, F_SETLK, &lock) < 0) {
			if (!is_in_place(fd, path))
				return false;
			wait_a_moment();
		}
	}
	return true;
}

/* Return a descriptor of the file at path, as soon as it can be opened. */
static int open_when_possible(const char *path)
{
	int fd;
	while ((fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
		wait_a_moment();
	return fd;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	long first = atol(argv[2]), last = atol(argv[3]);
	for (bool was_printed = false;;) {
		int fd = open_when_possible(argv[1]);
		if (lock_each(fd, argv[1], first, last) && !was_printed) {
			puts("at work");
			fflush(stdout);
			was_printed = true;
		}
		while (is_in_place(fd, argv[1]))
			wait_a_moment();
		close(fd);
	}
}
