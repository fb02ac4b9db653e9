// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmop-appio.so: the C library's functions of I/O, each of which calls the real one and counts what
 * it did (preload-counts.h). vmopstat --io lets the dynamic linker load it into programs where BPF
 * is not permitted.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "hv-interface/appio-calls.h"
#include "hv-interface/appio-counts.h"
#include "libvmop/stat/io/preload-counts.h"

/* The name of the kernel's call is that of its table, which need not be the function's. */
static uint8_t id_of(uint8_t *id, const char *call)
{
	if (!*id)
		*id = (uint8_t)vmop_appio_call_id(call);
	return *id;
}

/* Define the real function, and the beginning of one that replaces it. */
#define REAL(name)                                                                                 \
	static __typeof__(name) *real;                                                             \
	if (!real)                                                                                 \
		real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                                \
	uint64_t begin_ns = vmop_preload_begin()

/* Count a call that returned result; wanted is looked at only if it did not fail. */
#define COUNT(call_name, direction_, fd_, bytes_, wanted_)                                         \
	do {                                                                                       \
		static uint8_t id_;                                                                \
		int os_errno_ = errno;                                                             \
		const struct vmop_preload_call call_ = {.id = id_of(&id_, call_name),              \
							.direction = direction_,                   \
							.fd = fd_,                                 \
							.result = (long)result,                    \
							.bytes = result >= 0 ? (long)(bytes_) : 0, \
							.wanted = result >= 0 ? (size_t)(wanted_)  \
									      : 0,                 \
							.begin_ns = begin_ns,                      \
							.os_errno = os_errno_};                    \
		vmop_preload_count(&call_);                                                        \
		errno = os_errno_;                                                                 \
	} while (0)

#define TRANSFER(name, call_name, direction, parameters, arguments, wanted)                        \
	ssize_t name parameters                                                                    \
	{                                                                                          \
		REAL(name);                                                                        \
		ssize_t result = real arguments;                                                   \
		COUNT(call_name, direction, fd, result, wanted);                                   \
		return result;                                                                     \
	}

static size_t total(const struct iovec *vector, size_t n)
{
	size_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += vector[i].iov_len;
	return sum;
}

#define MESSAGE_TOTAL total(message->msg_iov, message->msg_iovlen)
#define IN VMOP_APPIO_IN
#define OUT VMOP_APPIO_OUT

/* ---- one descriptor ----------------------------------------------------------------------- */

TRANSFER(read, "read", IN, (int fd, void *at, size_t n), (fd, at, n), n)
TRANSFER(write, "write", OUT, (int fd, const void *at, size_t n), (fd, at, n), n)
TRANSFER(pread, "pread64", IN, (int fd, void *at, size_t n, off_t from), (fd, at, n, from), n)
TRANSFER(pread64, "pread64", IN, (int fd, void *at, size_t n, off64_t from), (fd, at, n, from), n)
TRANSFER(pwrite, "pwrite64", OUT, (int fd, const void *at, size_t n, off_t to), (fd, at, n, to), n)
TRANSFER(pwrite64, "pwrite64", OUT, (int fd, const void *at, size_t n, off64_t to), (fd, at, n, to),
	 n)

#define VECTOR_TOTAL total(vector, (size_t)n)
TRANSFER(readv, "readv", IN, (int fd, const struct iovec *vector, int n), (fd, vector, n),
	 VECTOR_TOTAL)
TRANSFER(writev, "writev", OUT, (int fd, const struct iovec *vector, int n), (fd, vector, n),
	 VECTOR_TOTAL)
#define POSITIONAL(name, call_name, direction, offset_type)                                        \
	TRANSFER(name, call_name, direction,                                                       \
		 (int fd, const struct iovec *vector, int n, offset_type at), (fd, vector, n, at), \
		 VECTOR_TOTAL)
POSITIONAL(preadv, "preadv", IN, off_t)
POSITIONAL(preadv64, "preadv", IN, off64_t)
POSITIONAL(pwritev, "pwritev", OUT, off_t)
POSITIONAL(pwritev64, "pwritev", OUT, off64_t)
#define WITH_FLAGS(name, call_name, direction, offset_type)                                        \
	TRANSFER(name, call_name, direction,                                                       \
		 (int fd, const struct iovec *vector, int n, offset_type at, int flags),           \
		 (fd, vector, n, at, flags), VECTOR_TOTAL)
WITH_FLAGS(preadv2, "preadv2", IN, off_t)
WITH_FLAGS(preadv64v2, "preadv2", IN, off64_t)
WITH_FLAGS(pwritev2, "pwritev2", OUT, off_t)
WITH_FLAGS(pwritev64v2, "pwritev2", OUT, off64_t)

/* The functions that _FORTIFY_SOURCE puts in their places. */
ssize_t __read_chk(int fd, void *at, size_t n, size_t size);
ssize_t __pread_chk(int fd, void *at, size_t n, off_t from, size_t size);
ssize_t __pread64_chk(int fd, void *at, size_t n, off64_t from, size_t size);
ssize_t __recv_chk(int fd, void *at, size_t n, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *at, size_t n, size_t size, int flags, struct sockaddr *address,
		       socklen_t *len);
TRANSFER(__read_chk, "read", IN, (int fd, void *at, size_t n, size_t size), (fd, at, n, size), n)
TRANSFER(__pread_chk, "pread64", IN, (int fd, void *at, size_t n, off_t from, size_t size),
	 (fd, at, n, from, size), n)
TRANSFER(__pread64_chk, "pread64", IN, (int fd, void *at, size_t n, off64_t from, size_t size),
	 (fd, at, n, from, size), n)
TRANSFER(__recv_chk, "recvfrom", IN, (int fd, void *at, size_t n, size_t size, int flags),
	 (fd, at, n, size, flags), n)
TRANSFER(__recvfrom_chk, "recvfrom", IN,
	 (int fd, void *at, size_t n, size_t size, int flags, struct sockaddr *address,
	  socklen_t *len),
	 (fd, at, n, size, flags, address, len), n)

TRANSFER(recv, "recvfrom", IN, (int fd, void *at, size_t n, int flags), (fd, at, n, flags), n)
TRANSFER(send, "sendto", OUT, (int fd, const void *at, size_t n, int flags), (fd, at, n, flags), n)
TRANSFER(recvfrom, "recvfrom", IN,
	 (int fd, void *at, size_t n, int flags, struct sockaddr *address, socklen_t *len),
	 (fd, at, n, flags, address, len), n)
TRANSFER(sendto, "sendto", OUT,
	 (int fd, const void *at, size_t n, int flags, const struct sockaddr *address,
	  socklen_t len),
	 (fd, at, n, flags, address, len), n)
TRANSFER(recvmsg, "recvmsg", IN, (int fd, struct msghdr *message, int flags), (fd, message, flags),
	 MESSAGE_TOTAL)
TRANSFER(sendmsg, "sendmsg", OUT, (int fd, const struct msghdr *message, int flags),
	 (fd, message, flags), MESSAGE_TOTAL)

static size_t bytes_of(const struct mmsghdr *messages, int n)
{
	size_t sum = 0;
	for (int i = 0; i < n; i++)
		sum += messages[i].msg_len;
	return sum;
}

int recvmmsg(int fd, struct mmsghdr *messages, unsigned n, int flags, struct timespec *timeout)
{
	REAL(recvmmsg);
	int result = real(fd, messages, n, flags, timeout);
	COUNT("recvmmsg", IN, fd, bytes_of(messages, result), n);
	return result;
}

int sendmmsg(int fd, struct mmsghdr *messages, unsigned n, int flags)
{
	REAL(sendmmsg);
	int result = real(fd, messages, n, flags);
	COUNT("sendmmsg", OUT, fd, bytes_of(messages, result), n);
	return result;
}

ssize_t vmsplice(int fd, const struct iovec *vector, size_t n, unsigned flags)
{
	REAL(vmsplice);
	ssize_t result = real(fd, vector, n, flags);
	/* The end that can be written to. */
	int mode = fcntl(fd, F_GETFL) & O_ACCMODE;
	COUNT("vmsplice", mode == O_RDONLY ? IN : OUT, fd, result, VECTOR_TOTAL);
	return result;
}

off_t lseek(int fd, off_t to, int whence)
{
	REAL(lseek);
	off_t result = real(fd, to, whence);
	COUNT("lseek", IN, fd, 0, 0);
	return result;
}

off64_t lseek64(int fd, off64_t to, int whence)
{
	REAL(lseek64);
	off64_t result = real(fd, to, whence);
	COUNT("lseek", IN, fd, 0, 0);
	return result;
}

/* ---- two descriptors ---------------------------------------------------------------------- */

/* The time is the read's. */
#define COUNT_COPY(call_name, in, out, wanted)                                                     \
	do {                                                                                       \
		COUNT(call_name, IN, in, result, wanted);                                          \
		begin_ns = 0;                                                                      \
		COUNT(call_name, OUT, out, result, wanted);                                        \
	} while (0)

ssize_t sendfile(int out, int in, off_t *at, size_t n)
{
	REAL(sendfile);
	ssize_t result = real(out, in, at, n);
	COUNT_COPY("sendfile", in, out, n);
	return result;
}

ssize_t sendfile64(int out, int in, off64_t *at, size_t n)
{
	REAL(sendfile64);
	ssize_t result = real(out, in, at, n);
	COUNT_COPY("sendfile", in, out, n);
	return result;
}

ssize_t splice(int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags)
{
	REAL(splice);
	ssize_t result = real(in, in_at, out, out_at, n, flags);
	COUNT_COPY("splice", in, out, n);
	return result;
}

ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t n, unsigned flags)
{
	REAL(copy_file_range);
	ssize_t result = real(in, in_at, out, out_at, n, flags);
	COUNT_COPY("copy_file_range", in, out, n);
	return result;
}

ssize_t tee(int in, int out, size_t n, unsigned flags)
{
	REAL(tee);
	ssize_t result = real(in, out, n, flags);
	COUNT_COPY("tee", in, out, n);
	return result;
}

/* ---- waiting ------------------------------------------------------------------------------ */

#define SELECT(name, call_name, parameters, arguments)                                             \
	int name parameters                                                                        \
	{                                                                                          \
		REAL(name);                                                                        \
		int result = real arguments;                                                       \
		COUNT(call_name, IN, -1, 0, 0);                                                    \
		return result;                                                                     \
	}

SELECT(select, "pselect6", (int n, fd_set *in, fd_set *out, fd_set *other, struct timeval *timeout),
       (n, in, out, other, timeout))
SELECT(pselect, "pselect6",
       (int n, fd_set *in, fd_set *out, fd_set *other, const struct timespec *timeout,
	const sigset_t *mask),
       (n, in, out, other, timeout, mask))
SELECT(poll, "poll", (struct pollfd * fds, nfds_t n, int timeout), (fds, n, timeout))
SELECT(ppoll, "ppoll",
       (struct pollfd * fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask),
       (fds, n, timeout, mask))
SELECT(epoll_wait, "epoll_wait", (int fd, struct epoll_event *events, int n, int timeout),
       (fd, events, n, timeout))
SELECT(epoll_pwait, "epoll_pwait",
       (int fd, struct epoll_event *events, int n, int timeout, const sigset_t *mask),
       (fd, events, n, timeout, mask))

/* ---- opening and closing ------------------------------------------------------------------ */

#define OPEN(name, call_name, parameters, arguments)                                               \
	int name parameters                                                                        \
	{                                                                                          \
		REAL(name);                                                                        \
		int result = real arguments;                                                       \
		vmop_preload_forget(result);                                                       \
		COUNT(call_name, IN, -1, 0, 0);                                                    \
		return result;                                                                     \
	}

/* The mode is there if the flags need one. */
#define OPEN_WITH_MODE(name, call_name, parameters, arguments)                                     \
	int name parameters                                                                        \
	{                                                                                          \
		mode_t mode = 0;                                                                   \
		va_list list;                                                                      \
		va_start(list, flags);                                                             \
		if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE)                           \
			mode = va_arg(list, mode_t);                                               \
		va_end(list);                                                                      \
		REAL(name);                                                                        \
		int result = real arguments;                                                       \
		vmop_preload_forget(result);                                                       \
		COUNT(call_name, IN, -1, 0, 0);                                                    \
		return result;                                                                     \
	}

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);
int __openat64_2(int folder, const char *path, int flags);
OPEN_WITH_MODE(open, "openat", (const char *path, int flags, ...), (path, flags, mode))
OPEN_WITH_MODE(open64, "openat", (const char *path, int flags, ...), (path, flags, mode))
OPEN_WITH_MODE(openat, "openat", (int folder, const char *path, int flags, ...),
	       (folder, path, flags, mode))
OPEN_WITH_MODE(openat64, "openat", (int folder, const char *path, int flags, ...),
	       (folder, path, flags, mode))
OPEN(__open_2, "openat", (const char *path, int flags), (path, flags))
OPEN(__open64_2, "openat", (const char *path, int flags), (path, flags))
OPEN(__openat_2, "openat", (int folder, const char *path, int flags), (folder, path, flags))
OPEN(__openat64_2, "openat", (int folder, const char *path, int flags), (folder, path, flags))
OPEN(creat, "creat", (const char *path, mode_t mode), (path, mode))
OPEN(creat64, "creat", (const char *path, mode_t mode), (path, mode))
OPEN(socket, "socket", (int domain, int type, int protocol), (domain, type, protocol))
OPEN(accept, "accept", (int fd, struct sockaddr *address, socklen_t *len), (fd, address, len))
OPEN(accept4, "accept4", (int fd, struct sockaddr *address, socklen_t *len, int flags),
     (fd, address, len, flags))
OPEN(dup, "dup", (int fd), (fd))
OPEN(dup2, "dup2", (int fd, int to), (fd, to))
OPEN(dup3, "dup3", (int fd, int to, int flags), (fd, to, flags))
OPEN(epoll_create1, "epoll_create1", (int flags), (flags))

#define OPEN_TWO(name, parameters, arguments)                                                      \
	int name parameters                                                                        \
	{                                                                                          \
		REAL(name);                                                                        \
		int result = real arguments;                                                       \
		if (result == 0) {                                                                 \
			vmop_preload_forget(fds[0]);                                               \
			vmop_preload_forget(fds[1]);                                               \
		}                                                                                  \
		COUNT(#name, IN, -1, 0, 0);                                                        \
		return result;                                                                     \
	}
OPEN_TWO(pipe, (int fds[2]), (fds))
OPEN_TWO(pipe2, (int fds[2], int flags), (fds, flags))
OPEN_TWO(socketpair, (int domain, int type, int protocol, int fds[2]),
	 (domain, type, protocol, fds))

int close(int fd)
{
	REAL(close);
	vmop_preload_forget(fd);
	int result = real(fd);
	COUNT("close", IN, -1, 0, 0);
	return result;
}

/* Streams open and close within the C library: forget the files of their descriptors. */
#define STREAM(name, parameters, arguments)                                                        \
	FILE *name parameters                                                                      \
	{                                                                                          \
		REAL(name);                                                                        \
		(void)begin_ns;                                                                    \
		FILE *stream = real arguments;                                                     \
		if (stream)                                                                        \
			vmop_preload_forget(fileno(stream));                                       \
		return stream;                                                                     \
	}
STREAM(fopen, (const char *path, const char *mode), (path, mode))
STREAM(fopen64, (const char *path, const char *mode), (path, mode))
STREAM(freopen, (const char *path, const char *mode, FILE *old), (path, mode, old))
STREAM(freopen64, (const char *path, const char *mode, FILE *old), (path, mode, old))
STREAM(popen, (const char *command, const char *mode), (command, mode))
STREAM(tmpfile, (void), ())

int fclose(FILE *stream)
{
	REAL(fclose);
	(void)begin_ns;
	vmop_preload_forget(fileno(stream));
	return real(stream);
}

/* ---- programs ----------------------------------------------------------------------------- */

#define EXEC(name, parameters, arguments)                                                          \
	int name parameters                                                                        \
	{                                                                                          \
		REAL(name);                                                                        \
		(void)begin_ns;                                                                    \
		vmop_preload_begin_exec();                                                         \
		int result = real arguments;                                                       \
		vmop_preload_fail_exec();                                                          \
		return result;                                                                     \
	}
EXEC(execve, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp))
EXEC(execv, (const char *path, char *const argv[]), (path, argv))
EXEC(execvp, (const char *path, char *const argv[]), (path, argv))
EXEC(execvpe, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp))
EXEC(fexecve, (int fd, char *const argv[], char *const envp[]), (fd, argv, envp))
EXEC(execveat, (int fd, const char *path, char *const argv[], char *const envp[], int flags),
     (fd, path, argv, envp, flags))
