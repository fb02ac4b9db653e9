#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# 4,096 files in the session directory: they are listed, a time finds its session among them, more than a report can
# read are refused at once, and a session can begin, rotate and end there.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
export TZ=UTC
mkdir "$sessions"
make() {
	"$build/tests/fixtures/make-session" --seconds=3 --rate=20 --symbols=10 "$@" >/dev/null
}
make "$sessions/s0001.vmop"
make --start=86400 "$sessions/wanted.vmop"
# The same file under many names: each name is opened and read.
python3 -c '
import os, sys
for i in range(2, 4096):
    os.link(sys.argv[1] + "/s0001.vmop", sys.argv[1] + "/s%04d.vmop" % i)' "$sessions"
is "files" "$(find "$sessions" -name '*.vmop' | wc -l)" -eq 4096

refuse 2 "4096 sessions in $sessions; one report reads at most 256: select fewer by time:" \
	"$build/vmopreport" --session-dir="$sessions" session:all
refuse 2 "select fewer by time:" "$build/vmopreport" --session-dir="$sessions" time:2023-11-14..2023-11-15
# cpu_s COMMAND...: print the CPU seconds that it takes.
cpu_s() {
	python3 -c '
import os, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=open(os.environ["work"] + "/out", "w")).returncode
times = os.times()
print("%.2f" % (times.children_user + times.children_system))
sys.exit(status)' "$@"
}
export work
seconds=$(cpu_s "$build/vmopreport" --session-dir="$sessions" --format=csv --by=domain time:2023-11-15) ||
	fail "the report of a day"
echo "CPU seconds to find one of 4,096 sessions: $seconds"
is "samples of the session of that day" "$(awk -F, 'NR > 1 { n += $1 } END { print n }' "$work/out")" -eq 60
[ -n "$sanitized" ] || is "CPU seconds below 9" "$(echo "$seconds" | awk '{ print ($1 < 9) }')" -eq 1
seconds=$(cpu_s "$build/vmopcontrol" --list --session-dir="$sessions") || fail "the list"
is "listed sessions" "$(grep -c '^s\|^wanted' "$work/out")" -eq 4096
echo "CPU seconds to list them: $seconds"

# A session begins, rotates and ends there. keep removes none of them: their names are no times.
need_perf
cat >"$VMOP_CONFIG" <<END
session-dir = $sessions
event = cpu-clock:100Hz
keep = 1d
END
expect 0 "sampling" control --start
expect 0 "goes on in a fresh session" control --rotate
expect 0 "" control --shutdown
is "files" "$(find "$sessions" -name '*.vmop' | wc -l)" -eq 4098
finish
