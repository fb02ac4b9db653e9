#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The same as report-hostile.sh for domains, losses, intervals, cells and symbols.
. "${VMOP_SRCDIR:-.}/tests/integration/report-bounds.sh"

for kind in domains domains-of-one-name lives; do
	made $kind 100000
	bounded $kind --by=domain
	bounded $kind --by=life,image --format=json
done
made losses 200000
bounded losses
says "more names"
bounded losses --format=json
made intervals 5000
bounded intervals -l

# Sanitizers make these several times slower; a tenth shows errors of memory as well.
tens=0
[ -z "$sanitized" ] || tens=
made cells 5000000$tens
bounded cells -l
bounded cells -d
says "addresses within symbols"
made colliding-cells 200000
bounded colliding-cells -d
made symbols 400000$tens
bounded symbols -l
made symbols-that-inflate 60
bounded symbols-that-inflate -l
says "images' symbols"
made rows 300000
bounded rows -l --sort=symbol
bounded rows -d
exit $failed
