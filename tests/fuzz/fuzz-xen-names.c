// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as lines of xenstore about domains, and as lists of Xen's symbols: the first half of
 * the input as a given file, all of it as the running Xen's list.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/xen/domains.h"
#include "daemon/xen/symbols.h"
#include "daemon/xen/xenstore.h"
#include "libsym/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void try_line(const char *line)
{
	uint32_t domid;
	char uuid[VMOP_UUID_BYTES];
	if (vmop_xenstore_parse_domid(line, &domid) && domid >= VMOP_XEN_IDS)
		abort();
	if (vmop_xenstore_parse_vm(line, uuid) != (strlen(uuid) == 36))
		abort();
	vmop_xenstore_parse_type(line);
}

/* NULL: not a list of symbols. */
static struct vmop_symtab *read_symbols(const uint8_t *data, size_t len_bytes)
{
	struct vmop_symtab *symtab = NULL;
	char path[32];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, len_bytes) != (ssize_t)len_bytes)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	struct vmop_error *err = vmop_symtab_read_kernel_image(path, &symtab);
	vmop_error_destroy(err);
	close(fd);
	return err ? NULL : symtab;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static const struct vmop_build_id none;
	char *text = malloc(len_bytes + 1);
	if (!text)
		abort();
	memcpy(text, data, len_bytes);
	text[len_bytes] = '\0';
	char *save = NULL;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		try_line(line);
	free(text);

	struct vmop_symtab *given = read_symbols(data, len_bytes / 2);
	struct vmop_symtab *running = read_symbols(data, len_bytes);
	if (given)
		vmop_error_destroy(vmop_xen_symbols_check("fuzz", given, &none, running, &none));
	vmop_symtab_destroy(given);
	vmop_symtab_destroy(running);
	return 0;
}
