// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/debuginfod-client.h"

#include "config.h"

#ifdef HAVE_DEBUGINFOD

#include <elfutils/debuginfod.h>
#include <errno.h>
#include <stdlib.h>

struct vmop_debuginfod_client {
	debuginfod_client *client;
	bool given_up;
};

struct vmop_debuginfod_client *vmop_debuginfod_client_create(void)
{
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);
	if (!urls || !urls[0])
		return NULL;
	struct vmop_debuginfod_client *client = calloc(1, sizeof(*client));
	if (!client)
		return NULL;
	client->client = debuginfod_begin();
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
	debuginfod_end(client->client);
	free(client);
}

int vmop_debuginfod_client_find(struct vmop_debuginfod_client *client,
				enum vmop_debuginfod_what what,
				const struct vmop_build_id *build_id)
{
	if (!client || client->given_up || build_id->len_bytes == 0)
		return -1;
	int fd = what == VMOP_DEBUGINFOD_EXECUTABLE
			 ? debuginfod_find_executable(client->client, build_id->bytes,
						      build_id->len_bytes, NULL)
			 : debuginfod_find_debuginfo(client->client, build_id->bytes,
						     build_id->len_bytes, NULL);
	if (fd >= 0)
		return fd;
	/* A server that isn't there is not there for the next thousand images either. */
	if (fd == -ECONNREFUSED || fd == -EHOSTUNREACH || fd == -ETIME || fd == -ETIMEDOUT ||
	    fd == -ENETUNREACH)
		client->given_up = true;
	return -1;
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

#endif
