// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/debuginfod-client.h"

#include "config.h"

#ifdef HAVE_DEBUGINFOD

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "libutil/log.h"

/*
 * libdebuginfod, loaded only if the user names servers: with libcurl it brings thirty more
 * libraries, and linking them took a quarter of the time of a small report.
 */
struct library {
	__typeof__(&debuginfod_begin) begin;
	__typeof__(&debuginfod_end) end;
	__typeof__(&debuginfod_find_executable) find_executable;
	__typeof__(&debuginfod_find_debuginfo) find_debuginfo;
	__typeof__(&debuginfod_find_source) find_source;
};

struct vmop_debuginfod_client {
	struct library library;
	debuginfod_client *client;
	bool given_up;
};

/* Load the library. It is never unloaded: libcurl's dependencies do not support that. */
static bool load(struct library *library)
{
	void *handle = dlopen(DEBUGINFOD_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		vmop_log_warning("DEBUGINFOD_URLS is set, but: %s", dlerror());
		return false;
	}
	/* POSIX's conversion of dlsym's result to a function pointer (dlsym(3p)). */
	*(void **)&library->begin = dlsym(handle, "debuginfod_begin");
	*(void **)&library->end = dlsym(handle, "debuginfod_end");
	*(void **)&library->find_executable = dlsym(handle, "debuginfod_find_executable");
	*(void **)&library->find_debuginfo = dlsym(handle, "debuginfod_find_debuginfo");
	*(void **)&library->find_source = dlsym(handle, "debuginfod_find_source");
	return library->begin && library->end && library->find_executable &&
	       library->find_debuginfo && library->find_source;
}

struct vmop_debuginfod_client *vmop_debuginfod_client_create(void)
{
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);
	if (!urls || !urls[0])
		return NULL;
	struct vmop_debuginfod_client *client = calloc(1, sizeof(*client));
	if (!client)
		return NULL;
	client->client = load(&client->library) ? client->library.begin() : NULL;
	if (!client->client) {
		free(client);
		return NULL;
	}
	return client;
}

void vmop_debuginfod_client_destroy(struct vmop_debuginfod_client *client)
{
	if (!client)
		return;
	client->library.end(client->client);
	free(client);
}

/* Return the descriptor, or -1. Give up a server that cannot be reached: images come in hundreds.
 */
static int check(struct vmop_debuginfod_client *client, int fd)
{
	if (fd >= 0)
		return fd;
	if (fd == -ECONNREFUSED || fd == -EHOSTUNREACH || fd == -ETIME || fd == -ETIMEDOUT ||
	    fd == -ENETUNREACH)
		client->given_up = true;
	return -1;
}

int vmop_debuginfod_client_find(struct vmop_debuginfod_client *client,
				enum vmop_debuginfod_what what,
				const struct vmop_build_id *build_id)
{
	if (!client || client->given_up || build_id->len_bytes == 0)
		return -1;
	const struct library *library = &client->library;
	int fd = what == VMOP_DEBUGINFOD_EXECUTABLE
			 ? library->find_executable(client->client, build_id->bytes,
						    build_id->len_bytes, NULL)
			 : library->find_debuginfo(client->client, build_id->bytes,
						   build_id->len_bytes, NULL);
	return check(client, fd);
}

int vmop_debuginfod_client_find_source(struct vmop_debuginfod_client *client,
				       const struct vmop_build_id *build_id, const char *path)
{
	if (!client || client->given_up || build_id->len_bytes == 0 || path[0] != '/')
		return -1;
	int fd = check(client, client->library.find_source(client->client, build_id->bytes,
							   build_id->len_bytes, path, NULL));
	/* The library can return a descriptor at the end of the file that it has just written. */
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

#else

struct vmop_debuginfod_client *vmop_debuginfod_client_create(void)
{
	return NULL;
}

void vmop_debuginfod_client_destroy(struct vmop_debuginfod_client *client)
{
	(void)client;
}

int vmop_debuginfod_client_find(struct vmop_debuginfod_client *client,
				enum vmop_debuginfod_what what,
				const struct vmop_build_id *build_id)
{
	(void)client;
	(void)what;
	(void)build_id;
	return -1;
}

int vmop_debuginfod_client_find_source(struct vmop_debuginfod_client *client,
				       const struct vmop_build_id *build_id, const char *path)
{
	(void)client;
	(void)build_id;
	(void)path;
	return -1;
}

#endif
