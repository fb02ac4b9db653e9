// SPDX-License-Identifier: GPL-2.0-or-later
// usage: flood ADDRESS BYTES BURST PAUSE-US: send UDP packets of that many bytes to port 9 of an
// address until killed, BURST at once and then a pause. Nobody has to listen there.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char packet[1400];
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (argc != 5 || fd < 0 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) {
		fprintf(stderr, "usage: flood ADDRESS BYTES BURST PAUSE-US\n");
		return 2;
	}
	size_t n_bytes = strtoul(argv[2], NULL, 10);
	if (n_bytes > sizeof(packet))
		n_bytes = sizeof(packet);
	for (;;) {
		// A packet that finds no room is lost, as on a wire.
		for (unsigned long i = strtoul(argv[3], NULL, 10); i; i--)
			sendto(fd, packet, n_bytes, MSG_DONTWAIT, (const struct sockaddr *)&address,
			       sizeof(address));
		usleep((useconds_t)strtoul(argv[4], NULL, 10));
	}
}
