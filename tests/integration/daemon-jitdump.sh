#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Generated code has the names from its runtime's jitdump: each sample and each caller that of the
# function which was at its address at its time, also if code was moved, if process and file are
# gone, in a container, and if the records come late. It wins over a perf map. Reports give the
# reason if a jitdump was not used.
# shellcheck source=tests/integration/common.sh disable=SC2317 # run by its name
. "$(dirname "$0")/common.sh"
need_perf
jitdump=$build/tests/integration/jitdump
status=0
"$jitdump" 0 "$work/jit-0.dump" none >"$work/out" || status=$?
[ $status -ne 77 ] || skip "no code of this machine is known to the test"

as_user() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

# run_jit NAME HOW COMMAND...: run in the background as NAME; write its pid to $work/NAME.pid when it
# runs, and its jitdump to a folder of its own.
run_jit() {
	name=$1 how=$2
	shift 2
	cp "$jitdump" "$work/$name"
	mkdir -m 777 "$work/dumps-$name"
	"$@" "$work/$name" 4 "$work/dumps-$name/jit-1.dump" "$how" >"$work/$name.pid" &
	echo $! >"$work/$name.job"
}

pid_of() {
	until [ -s "$work/$1.pid" ]; do sleep 0.05; done
	cat "$work/$1.pid"
}

# samples_of TASK SYMBOL: print their number.
samples_of() {
	"$build/vmopreport" --session-dir="$sessions" -l -n "task:$1" 2>/dev/null >"$work/rows" || :
	awk -v want="$2" 'index($0, want) { n += $1 } END { print n + 0 }' "$work/rows"
}

wait_for() {
	for name in "$@"; do
		[ ! -f "$work/$name.job" ] || wait "$(cat "$work/$name.job")" || fail "$name ended with $?"
	done
}

refuse 0 "sampling" control --start --event=cpu-clock:1000Hz --callgraph=fp --session-dir="$sessions"
run_jit jd-now now as_user
run_jit jd-move move as_user
run_jit jd-late late as_user
run_jit jd-clock clock as_user
run_jit jd-foreign stop as_user
until grep -q '^State:[[:blank:]]*T' "/proc/$(pid_of jd-foreign)/status"; do sleep 0.05; done
chown 12345 "$work/dumps-jd-foreign/jit-1.dump"
kill -CONT "$(pid_of jd-foreign)"
# A perf map with other names at every address.
map=/tmp/perf-$(pid_of jd-now).map
# shellcheck disable=SC2016 # for the inner shell
as_user sh -c 'echo "0 7fffffffffff of_the_perf_map" >"$1"' - "$map"
if unshare --mount --pid --fork true 2>/dev/null; then
	mkdir -m 777 "$work/inside" "$work/dumps-jd-container"
	cp "$jitdump" "$work/jd-container"
	# shellcheck disable=SC2016 # for the inner shell
	unshare --mount --pid --fork --mount-proc sh -c 'mount -t tmpfs none "$1/inside" &&
		exec "$1/jd-container" 4 "$1/inside/jit-1.dump" now' - "$work" >"$work/jd-container.pid" &
	echo $! >"$work/jd-container.job"
	is "the pid in the container" "$(pid_of jd-container)" -lt 100
else
	echo "not tested: a container, for namespaces can't be made here"
fi
# The name of a file need not exist as long as it is mapped.
rm -f "$work/dumps-jd-move/jit-1.dump"
wait_for jd-now jd-move jd-late jd-clock jd-foreign jd-container
sleep 2
rm -rf "$work"/dumps-* "$map"
expect 0 "" control --shutdown

for name in jd-now jd-move jd-late jd-container; do
	[ -f "$work/$name.job" ] || continue
	first=$(samples_of $name 'jit_first(int)') shared=$(samples_of $name jit_shared)
	is "samples of $name in jit_first" "$first" -gt 9
	is "samples of $name in jit_shared" "$shared" -gt 9
	is "samples of $name in code that was not run" "$(samples_of $name jit_never_run)" -eq 0
	# A record counts from when it is in the file, so here the first function has all samples.
	[ $name != jd-late ] || continue
	second=$(samples_of $name jit_second)
	is "samples of $name in jit_second" "$second" -gt 3
	# jit_first does three times as much, and jit_shared as much as both together.
	is "those in jit_first" "$first" -gt "$second"
	is "1/8 of those in jit_first" $((first / 8)) -lt "$second"
	is "twice those in jit_shared" $((shared * 2)) -gt $((first + second))
	is "half of those in jit_shared" $((shared / 2)) -lt $((first + second))
	"$build/vmopreport" --session-dir="$sessions" --format=folded "task:$name" 2>/dev/null >"$work/folded" ||
		fail "no stacks of $name"
	for stack in 'jit_outer_before;jit_first(int)' 'jit_outer_before;jit_shared' \
		'jit_outer_after;jit_second' 'jit_outer_after;jit_shared'; do
		grep -qF "$stack" "$work/folded" || fail "$name has no stack with $stack"
	done
	for stack in 'jit_outer_after;jit_first(int)' 'jit_outer_before;jit_second'; do
		! grep -F "$stack" "$work/folded" || fail "$name has a stack that never was"
	done
done
is "names out of the perf map" "$(samples_of jd-now of_the_perf_map)" -eq 0
is "names with another clock" "$(samples_of jd-clock jit_)" -eq 0
is "names out of another's jitdump" "$(samples_of jd-foreign jit_)" -eq 0

# why TASK TEXT: check the reason why its code has no names.
why() {
	"$build/vmopreport" --session-dir="$sessions" -l -V "task:$1" >/dev/null 2>"$work/err" || :
	grep -q "generated code; .*$2" "$work/err" || {
		fail "not said of $1: $2"
		cat "$work/err"
	}
}
why jd-clock "not of CLOCK_MONOTONIC"
why jd-foreign "belongs to user 12345, not to 65534"
finish
