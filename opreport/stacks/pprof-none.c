// SPDX-License-Identifier: GPL-2.0-or-later
/* The format pprof of a build without protobuf-c or zlib. */
#include "opreport/stacks/tree-output.h"

const struct vmop_tree_output vmop_tree_output_pprof = {
	.name = "pprof",
	.lacks = "libprotobuf-c, protoc-c or zlib (Debian: libprotobuf-c-dev, "
		 "protobuf-c-compiler, zlib1g-dev)"};
