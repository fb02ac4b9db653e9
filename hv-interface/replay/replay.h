// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The replay source: a recorded stream of records, delivered as if it happened now. For tests and
 * benches.
 *
 * Callers use it as a struct vmop_source (source.h). Data meets the folder's files in this order:
 * stream-writer.c records what a sink received into a file; stream.h defines that file, and
 * stream-capture.h the call stacks in it; stream-reader.c checks and decodes it; replay.c delivers
 * its records up to the drain's time.
 */
#ifndef VMOP_HV_INTERFACE_REPLAY_REPLAY_H
#define VMOP_HV_INTERFACE_REPLAY_REPLAY_H

#include "hv-interface/source.h"

extern const struct vmop_source_ops vmop_source_replay_ops;

#endif
