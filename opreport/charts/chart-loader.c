// SPDX-License-Identifier: GPL-2.0-or-later
/* The drawing of charts by the module that chart-module.h describes. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "opreport/charts/chart-module.h"

#define MODULE_FILE "vmop_charts.so"

/* ---- find ------------------------------------------------------------------- */

/*
 * Return the path of the module: in $(pkglibdir) below the directory that the program was installed
 * to, also with DESTDIR; or beside a program that was not installed. Return NULL without memory.
 */
static char *module_path(const char *program)
{
	static const char installed_in[] = VMOP_BINDIR;
	char *path;
	const char *slash = strrchr(program, '/');
	size_t dir_len = slash ? (size_t)(slash - program) : 0, bin_len = strlen(installed_in);
	int len;
	if (dir_len >= bin_len && !memcmp(slash - bin_len, installed_in, bin_len))
		len = asprintf(&path, "%.*s" VMOP_PKGLIBDIR "/" MODULE_FILE,
			       (int)(dir_len - bin_len), program);
	else
		len = asprintf(&path, "%.*s/.libs/" MODULE_FILE, (int)dir_len, program);
	return len < 0 ? NULL : path;
}

/*
 * Return whether the module is as safe as the program: only users who can replace the program can
 * have put it there.
 */
static bool is_as_safe(const struct stat *module, const struct stat *program)
{
	bool has_owner = module->st_uid == program->st_uid || module->st_uid == 0;
	return S_ISREG(module->st_mode) && has_owner && !(module->st_mode & S_IWOTH) &&
	       !(module->st_mode & S_IWGRP & ~program->st_mode);
}

/* Open the module of the program. */
static struct vmop_error *open_module(const char *path, const char *program, int *ret_fd)
{
	struct stat of_module, of_program;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return vmop_error_new(VMOP_ERROR_CANT, "charts need %s: %s", path, strerror(errno));
	if (fstat(fd, &of_module) || stat(program, &of_program) ||
	    !is_as_safe(&of_module, &of_program))
		return vmop_error_new(VMOP_ERROR_CANT,
				      "charts: %s is not loaded, because another user than %s's "
				      "can change it: reinstall vmop",
				      path, program);
	*ret_fd = fd;
	fd = -1;
	return NULL;
}

/* ---- load ------------------------------------------------------------------- */

static struct vmop_error *check_module(const struct vmop_chart_module *module, const char *path)
{
	static const struct vmop_chart_module own = {VMOP_CHART_MODULE_BUILD};
	if (module && !strncmp(module->version, own.version, sizeof(own.version)) &&
	    module->chart_bytes == own.chart_bytes && module->options_bytes == own.options_bytes)
		return NULL;
	return vmop_error_new(VMOP_ERROR_CANT,
			      "charts: %s is of another version of vmop: reinstall vmop", path);
}

/* Load the open module. It is never unloaded: glib does not support that. */
static struct vmop_error *load_open(int fd, const char *path, const struct vmop_chart_module **ret)
{
	/* By its descriptor, so that it is the file whose owner was checked. */
	char by_fd[64];
	snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
	void *handle = dlopen(by_fd, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return vmop_error_new(VMOP_ERROR_CANT, "charts need %s: %s", path, dlerror());
	const struct vmop_chart_module *module = dlsym(handle, VMOP_CHART_MODULE_SYMBOL);
	struct vmop_error *err = check_module(module, path);
	if (!err)
		*ret = module;
	return err;
}

/* Set *ret to the module, which is loaded at the first call. */
static struct vmop_error *load(const struct vmop_chart_module **ret)
{
	static const struct vmop_chart_module *loaded;
	if (!loaded) {
		_cleanup_free_ char *program = realpath("/proc/self/exe", NULL);
		_cleanup_free_ char *path = program ? module_path(program) : NULL;
		_cleanup_close_ int fd = -1;
		if (!program)
			return vmop_error_os(errno, "charts: /proc/self/exe");
		struct vmop_error *err =
			path ? open_module(path, program, &fd) : &vmop_error_no_memory;
		if (!err)
			err = load_open(fd, path, &loaded);
		if (err)
			return err;
	}
	*ret = loaded;
	return NULL;
}

struct vmop_error *vmop_chart_check_build(void)
{
	const struct vmop_chart_module *module;
	return load(&module);
}

struct vmop_error *vmop_chart_print(const struct vmop_chart *chart,
				    const struct vmop_chart_options *options, FILE *out)
{
	const struct vmop_chart_module *module;
	struct vmop_error *err = load(&module);
	if (!err)
		err = module->print(chart, options, out);
	return err && err->code == VMOP_ERROR_NO_MEMORY ? &vmop_error_no_memory : err;
}
