// SPDX-License-Identifier: GPL-2.0-or-later
// usage: hot-hash: burn CPU in a kernel module until killed: hash through AF_ALG with michael_mic.
#include <linux/if_alg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef AF_ALG
#define AF_ALG 38
#endif
#ifndef SOL_ALG
#define SOL_ALG 279
#endif

static int fail(const char *what)
{
	perror(what);
	return 1;
}

int main(void)
{
	static char data[1 << 16];
	char digest[8];
	struct sockaddr_alg name = {
		.salg_family = AF_ALG,
		.salg_type = "hash",
		.salg_name = "michael_mic",
	};
	int listener = socket(AF_ALG, SOCK_SEQPACKET, 0);

	if (listener < 0)
		return fail("AF_ALG");
	if (bind(listener, (struct sockaddr *)&name, sizeof(name)) != 0)
		return fail("bind michael_mic");
	if (setsockopt(listener, SOL_ALG, ALG_SET_KEY, "8 bytes!", 8) != 0)
		return fail("ALG_SET_KEY");
	int hash = accept(listener, NULL, NULL);
	if (hash < 0)
		return fail("accept");
	if (nice(19) == -1)
		return fail("nice");
	for (;;) {
		if (send(hash, data, sizeof(data), 0) < 0 || read(hash, digest, sizeof(digest)) < 0)
			return fail("hash");
	}
}
