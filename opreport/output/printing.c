// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/output/printing.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/dirs/safe-dir.h"

static struct vmop_error *print_to_file(const char *path, vmop_print_fn *print, const void *arg)
{
	int fd = -1;
	struct vmop_error *opened = vmop_open_output(path, &fd);
	if (opened)
		return opened;
	_cleanup_fclose_ FILE *out = fdopen(fd, "w");
	if (!out) {
		close(fd);
		return &vmop_error_no_memory;
	}
	struct vmop_error *err = print(arg, out);
	if (err)
		return err;
	int failed = ferror(out);
	failed = fclose(vmop_steal(&out)) || failed;
	return failed ? vmop_error_os(errno, "writing %s", path) : NULL;
}

struct vmop_error *vmop_print_to(const char *path, vmop_print_fn *print, const void *arg)
{
	if (path)
		return print_to_file(path, print, arg);
	struct vmop_error *err = print(arg, stdout);
	if (!err && (fflush(stdout) || ferror(stdout)) && errno != EPIPE)
		err = vmop_error_os(errno, "writing the report");
	return err;
}

size_t vmop_terminal_columns(int fd)
{
	struct winsize size;
	if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}
