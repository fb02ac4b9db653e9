// SPDX-License-Identifier: GPL-2.0-or-later
/* A resolver, opened: for the other parts of libsym. */
#ifndef VMOP_LIBSYM_RESOLVER_OPEN_H
#define VMOP_LIBSYM_RESOLVER_OPEN_H

struct vmop_file_finder;
struct vmop_resolver;

/* Return the resolver's finder of files. */
const struct vmop_file_finder *vmop_resolver_finder(const struct vmop_resolver *resolver);

#endif
