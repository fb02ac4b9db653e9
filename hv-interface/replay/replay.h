// SPDX-License-Identifier: GPL-2.0-or-later
/* A recorded stream of records (stream.h). */
#ifndef VMOP_HV_INTERFACE_REPLAY_REPLAY_H
#define VMOP_HV_INTERFACE_REPLAY_REPLAY_H

#include "hv-interface/source.h"

extern const struct vmop_source_ops vmop_source_replay_ops;

#endif
