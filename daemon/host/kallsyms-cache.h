// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A copy of /proc/kallsyms in the run directory, which is emptied at each boot. The kernel needs
 * some 30 ms of CPU time to write /proc/kallsyms, a third of the cost of a short session.
 *
 * The copy has the text symbols of the kernel and its modules. Generated code (BPF programs,
 * trampolines, probes) comes and goes without a change of the key, so the copy omits its symbols.
 *
 * The copy is VMOP_RUN_KALLSYMS. Its first line is a blank, the key and the number of bytes that
 * follow. The parser of libsym skips that line, and bounds and checks the rest like any kallsyms
 * text. A copy with another key is replaced, and so is a file of another user or of another mode.
 */
#ifndef VMOP_DAEMON_HOST_KALLSYMS_CACHE_H
#define VMOP_DAEMON_HOST_KALLSYMS_CACHE_H

#include <stdint.h>

/*
 * Open the copy of root's /proc/kallsyms in the run directory dir_fd, after making it if there is
 * none. modules_hash stands for the names and addresses of the loaded modules.
 *
 * Return a descriptor that the caller closes, or -1: read /proc/kallsyms. That is so if this
 * process sees no addresses there, if root has no boot id, and after failures, which are logged.
 */
int vmop_kallsyms_cache_open(int dir_fd, const char *root, uint64_t modules_hash);

#endif
