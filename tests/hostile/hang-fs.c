// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For tests: hang-fs DIRECTORY FILE. Mount a file system with copies of FILE, program-1 to
 * program-9. It replies to every process but vmopd, for which it hangs for ever. Prints "mounted"
 * and runs until it is killed. Exit status 77: FUSE is unavailable.
 *
 * The requests are those of linux/fuse.h; a FUSE library is not needed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FIRST_INODE 2
#define N_FILES 9
#define OWNER 65534

static int fd;
static char *content;
static size_t content_bytes;

static void answer(const struct fuse_in_header *in, int error, const void *data, size_t len_bytes)
{
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + (error ? 0 : len_bytes)),
		.error = -error,
		.unique = in->unique,
	};
	struct iovec parts[2] = {{&out, sizeof(out)}, {(void *)(uintptr_t)data, len_bytes}};
	if (writev(fd, parts, error || !len_bytes ? 1 : 2) < 0 && errno != ENOENT)
		perror("answer");
}

static int is_the_daemons(uint32_t pid)
{
	char path[64], comm[32] = "";
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	FILE *file = fopen(path, "re");
	if (file && !fgets(comm, sizeof(comm), file))
		*comm = '\0';
	if (file)
		fclose(file);
	return !strncmp(comm, "vmopd", strlen("vmopd"));
}

static struct fuse_attr attributes(uint64_t inode)
{
	int is_file = inode >= FIRST_INODE;
	return (struct fuse_attr){
		.ino = inode,
		.size = is_file ? content_bytes : 0,
		.blocks = content_bytes / 512 + 1,
		.mode = is_file ? S_IFREG | 0755 : S_IFDIR | 0755,
		.nlink = 1,
		.uid = OWNER,
		.gid = OWNER,
		.blksize = 4096,
	};
}

static void look_up(const struct fuse_in_header *in, const char *name)
{
	unsigned number = 0;
	if (sscanf(name, "program-%u", &number) != 1 || number < 1 || number > N_FILES) {
		answer(in, ENOENT, NULL, 0);
		return;
	}
	struct fuse_entry_out out = {.nodeid = FIRST_INODE + number, .generation = 1};
	out.attr = attributes(out.nodeid);
	answer(in, 0, &out, sizeof(out));
}

static void read_content(const struct fuse_in_header *in, const struct fuse_read_in *read_in)
{
	size_t begin = read_in->offset < content_bytes ? read_in->offset : content_bytes;
	size_t n = content_bytes - begin < read_in->size ? content_bytes - begin : read_in->size;
	answer(in, 0, content + begin, n);
}

static void serve(const struct fuse_in_header *in, const void *body)
{
	switch (in->opcode) {
	case FUSE_INIT: {
		const struct fuse_init_in *init = body;
		struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION,
					    .minor = FUSE_KERNEL_MINOR_VERSION,
					    .max_readahead = init->max_readahead,
					    .max_write = 65536};
		if (init->minor < out.minor)
			out.minor = init->minor;
		answer(in, 0, &out, sizeof(out));
		break;
	}
	case FUSE_LOOKUP:
		look_up(in, body);
		break;
	case FUSE_GETATTR: {
		struct fuse_attr_out out = {.attr = attributes(in->nodeid)};
		answer(in, 0, &out, sizeof(out));
		break;
	}
	case FUSE_OPEN:
	case FUSE_OPENDIR: {
		struct fuse_open_out out = {.fh = 1};
		answer(in, 0, &out, sizeof(out));
		break;
	}
	case FUSE_READ:
		read_content(in, body);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; /* no reply is expected */
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FLUSH:
	case FUSE_ACCESS:
		answer(in, 0, NULL, 0);
		break;
	default:
		answer(in, ENOSYS, NULL, 0);
	}
}

static int load(const char *path)
{
	struct stat st;
	FILE *file = fopen(path, "re");
	if (!file || fstat(fileno(file), &st) < 0)
		return -1;
	content_bytes = (size_t)st.st_size;
	content = malloc(content_bytes);
	size_t n = content ? fread(content, 1, content_bytes, file) : 0;
	fclose(file);
	return n == content_bytes ? 0 : -1;
}

int main(int argc, char **argv)
{
	static char request[1 << 18] __attribute__((aligned(8)));
	char options[128];
	if (argc != 3 || load(argv[2]) < 0)
		return 2;
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other",
		 fd);
	if (fd < 0 ||
	    mount("hang-fs", argv[1], "fuse.hang-fs", MS_NODEV | MS_NOSUID, options) < 0) {
		printf("no FUSE here: %s\n", strerror(errno));
		return 77;
	}
	puts("mounted");
	fflush(stdout);
	for (;;) {
		ssize_t n = read(fd, request, sizeof(request));
		const struct fuse_in_header *in = (const void *)request;
		if (n < 0 && (errno == EINTR || errno == ENOENT))
			continue;
		if (n < (ssize_t)sizeof(*in))
			return 0; /* it is unmounted */
		if (in->opcode == FUSE_INIT || in->opcode == FUSE_FORGET ||
		    !is_the_daemons(in->pid))
			serve(in, in + 1);
	}
}
