// SPDX-License-Identifier: GPL-2.0-or-later
// usage: kexec load KERNEL INITRAMFS COMMAND-LINE: prepare a kernel; kexec execute: start it.
#include <fcntl.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int load(char **arguments)
{
	int kernel = open(arguments[0], O_RDONLY), initramfs = open(arguments[1], O_RDONLY);
	const char *command_line = arguments[2];

	if (kernel < 0 || initramfs < 0 ||
	    syscall(SYS_kexec_file_load, kernel, initramfs, strlen(command_line) + 1, command_line,
		    0ul) < 0) {
		perror("kexec load");
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "load"))
		return load(argv + 2);
	if (argc == 2 && !strcmp(argv[1], "execute")) {
		sync();
		syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
			LINUX_REBOOT_CMD_KEXEC, NULL);
		perror("kexec execute");
		return 1;
	}
	return 2;
}
