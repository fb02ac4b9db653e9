#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Generated code has the names from its compiler's perf map: also if process and map are gone, in a
# container, and if the map is written at the end. Another user's map is refused, and reports give
# the reason for missing names.
# shellcheck source=tests/integration/common.sh disable=SC2317 # run by its name
. "$(dirname "$0")/common.sh"
need_perf
jit=$build/tests/integration/jit
status=0
"$jit" 0 none >"$work/out" || status=$?
[ $status -ne 77 ] || skip "no code of this machine is known to the test"

as_user() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

# run_jit NAME COMMAND...: run in the background as NAME; write its pid to $work/NAME.pid when it
# runs.
run_jit() {
	name=$1
	shift
	cp "$jit" "$work/$name"
	: >"$work/$name.pid"
	chmod 666 "$work/$name.pid"
	"$@" >"$work/$name.pid" &
	echo $! >"$work/$name.job"
}

pid_of() {
	until [ -s "$work/$1.pid" ]; do sleep 0.05; done
	cat "$work/$1.pid"
}

refuse 0 "sampling" control --start --event=cpu-clock:1000Hz --session-dir="$sessions"

run_jit j-map as_user "$work/j-map" 4 map
run_jit j-late "$work/j-late" 4 late
run_jit j-moved "$work/j-moved" 4 moved
run_jit j-none as_user "$work/j-none" 4 none
run_jit j-foreign as_user "$work/j-foreign" 4 none
run_jit j-link as_user "$work/j-link" 4 none
foreign=/tmp/perf-$(pid_of j-foreign).map
link=/tmp/perf-$(pid_of j-link).map
sed 's/jit_/evil_/' "/tmp/perf-$(pid_of j-map).map" >"$foreign"
chown 12345 "$foreign"
ln -s "/tmp/perf-$(pid_of j-map).map" "$link"
if unshare --mount --pid --fork true 2>/dev/null; then
	# The test's directory may be below the /tmp that the mount hides.
	# shellcheck disable=SC2016 # for the inner shell
	run_jit j-container unshare --mount --pid --fork --mount-proc sh -c 'mount --bind "$1" /mnt &&
		mount -t tmpfs none /tmp && exec /mnt/j-container 4 map' - "$work"
	is "the pid in the container" "$(pid_of j-container)" -lt 100
else
	echo "not tested: a container, for namespaces can't be made here"
fi
for name in j-map j-late j-moved j-none j-foreign j-link j-container; do
	[ ! -f "$work/$name.job" ] || wait "$(cat "$work/$name.job")" || fail "$name ended with $?"
done
sleep 2
for name in j-map j-late j-moved; do
	rm -f "/tmp/perf-$(pid_of $name).map"
done
rm -f "$foreign" "$link"
expect 0 "" control --shutdown

# samples TASK SYMBOL: print their number.
samples() {
	"$build/vmopreport" --session-dir="$sessions" -l -n "task:$1" 2>/dev/null >"$work/rows" || :
	awk -v want="$2" 'index($0, want) { n += $1 } END { print n + 0 }' "$work/rows"
}
for name in j-map j-late j-moved j-container; do
	[ -f "$work/$name.job" ] || continue
	major=$(samples $name 'jit_major(int)') minor=$(samples $name jit_minor)
	is "samples of $name in jit_minor" "$minor" -gt 3
	is "those in jit_major, which does three times as much" "$major" -gt "$minor"
done
is "samples of what was in its place before" "$(samples j-moved jit_before)" -eq 0
is "names out of another's map" "$(samples j-foreign evil_)" -eq 0
is "names by a link" "$(samples j-link jit_)" -eq 0

# why TASK TEXT: check the reason why its code has no names.
why() {
	"$build/vmopreport" --session-dir="$sessions" -l -V "task:$1" >/dev/null 2>"$work/err" || :
	grep -q "generated code; .*$2" "$work/err" || {
		fail "not said of $1: $2"
		cat "$work/err"
	}
}
why j-none "left no perf map"
why j-foreign "belongs to user 12345, not to 65534"
why j-link "not a regular file"
finish
