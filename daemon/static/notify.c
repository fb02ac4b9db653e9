// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/static/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/parse.h"

/* Set *ret to the address of the manager's socket. Return its length; 0: it has no socket. */
static socklen_t find_socket(struct sockaddr_un *ret)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t len = path ? strlen(path) : 0;
	if (len < 2 || len >= sizeof(ret->sun_path) || (*path != '/' && *path != '@'))
		return 0;
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(ret->sun_path, path, len);
	if (*path == '@') /* an abstract name */
		ret->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

int sd_notify(int unset_environment, const char *state)
{
	struct sockaddr_un address;
	socklen_t len = find_socket(&address);
	_cleanup_close_ int fd = len ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
	if (unset_environment)
		unsetenv("NOTIFY_SOCKET");
	if (!len)
		return 0;
	if (fd < 0 || sendto(fd, state, strlen(state), MSG_NOSIGNAL,
			     (const struct sockaddr *)&address, len) < 0)
		return -errno;
	return 1;
}

uint64_t vmop_static_watchdog_us(void)
{
	const char *interval = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t us, number;
	if (!interval || !vmop_parse_u64(interval, 10, &us))
		return 0;
	if (pid && (!vmop_parse_u64(pid, 10, &number) || number != (uint64_t)getpid()))
		return 0;
	return us;
}
