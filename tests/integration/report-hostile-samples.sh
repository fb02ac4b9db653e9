#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The same as report-hostile.sh for domains, losses, intervals, cells and symbols.
. "${VMOP_SRCDIR:-.}/tests/integration/report-bounds.sh"

for kind in domains domains-of-one-name lives; do
	made $kind "$(few 100000)"
	bounded $kind --by=domain
	bounded $kind --by=life,image --format=json
done
made losses "$(few 200000)"
bounded losses
says "more names"
bounded losses --format=json
made intervals 5000
bounded intervals -l

made cells "$(few 30000000)"
bounded cells -l
bounded cells -d
says "addresses within symbols"
made colliding-cells "$(few 200000)"
bounded colliding-cells -d
made symbols "$(few 4000000)"
bounded symbols -l
made symbols-that-inflate 60
bounded symbols-that-inflate -l
says "images' symbols"
made rows "$(few 300000)"
bounded rows -l --sort=symbol
bounded rows -d
exit $failed
