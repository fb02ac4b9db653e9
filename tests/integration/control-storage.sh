#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sessions that cannot be stored, renamed or begun: the daemon survives, reports correct numbers and
# loses no sample that it can store.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
need_perf
begin() {
	refuse 0 "sampling" control --start --event=cpu-clock:1000Hz --session-dir="$1"
}
# wait_until CONDITION: wait, at most a minute, until it is true, while the daemon runs.
wait_until() {
	tries=0
	until eval "$1"; do
		tries=$((tries + 1))
		if [ $tries -gt 1200 ] || ! kill -0 "$(daemon_pid)" 2>/dev/null; then
			fail "it never came to: $1"
			exit 1
		fi
		sleep 0.05
	done
}
wait_samples() {
	wait_until "[ \"\$(member samples)\" -ge $1 ]"
}
wait_status() {
	wait_until "control --status | grep -qF -e \"$1\""
}
wait_file() {
	wait_until "[ -f \"$1\" ]"
}
# Wait until a session is stored again.
wait_storing() {
	wait_until "[ \"\$(member session)\" = \"$1/current.vmop\" ]"
}
# Check that the same daemon still samples.
lives() {
	is "the daemon after $1" "$(daemon_pid)" = "$pid"
	expect 0 '"state": "sampling"' control --status --json
}
losses() {
	fact "$1" loss | sed -n "s/ $2\$//p"
}

# -- the directory is deleted
begin "$sessions"
pid=$(daemon_pid)
wait_samples 100
rm -rf "$sessions"
wait_status "its file is gone"
expect 0 "deleted while sampling" control --status
is "words of it in the log" "$(grep -c 'deleted while sampling' "$VMOP_RUNDIR/vmopd.log")" -eq 1
expect 3 "in no file" control --dump
expect 3 "in no file" control --save=one
expect 3 "in no file" control --reset
lives "--save and --reset without a directory"
# The directory exists again: a new file begins and counts the lost samples.
gone=$(member store_gone)
mkdir "$sessions"
wait_file "$sessions/current.vmop"
wait_samples 10
expect 0 "$sessions/current.vmop" control --status
expect 0 "" control --dump
is "samples that are counted as lost" "$(losses "$sessions/current.vmop" store-gone)" -ge "$gone"
lives "a new file"
rm -rf "$sessions"
expect 3 "in no file" control --stop
expect 0 "idle" control --status
is "a session that is told of" "$(control --status | grep -c "$sessions")" -eq 0
expect 0 "" control --shutdown

# -- the directory is moved: all samples are in the moved file
begin "$sessions"
pid=$(daemon_pid)
wait_samples 500
before=$(member samples)
mv "$sessions" "$work/elsewhere"
wait_status "its file is gone"
is "samples in the file that was moved" "$(fact "$work/elsewhere/current.vmop" samples)" -ge "$before"
is "its end" "$(fact "$work/elsewhere/current.vmop" end_ns)" != ""
mv "$work/elsewhere" "$sessions"
wait_storing "$sessions"
kept=$(find "$sessions" -name '2*.vmop')
is "samples in the file that came back" "$(fact "$kept" samples)" -ge "$before"
expect 0 "$sessions/current.vmop" control --stop
expect 0 "" control --shutdown

# -- the file is replaced by another
rm -rf "$sessions"
begin "$sessions"
pid=$(daemon_pid)
wait_samples 100
mv "$sessions/current.vmop" "$sessions/taken.vmop"
wait_file "$sessions/current.vmop"
expect 0 "" "$build/tests/integration/session-facts" "$sessions/taken.vmop"
lives "a file that was renamed"
expect 0 "" control --shutdown

# -- deleted right before the end
begin "$sessions"
wait_samples 10
rm -rf "$sessions"
expect 3 "in no file" control --shutdown

# -- names that are taken in the meantime
begin "$sessions"
pid=$(daemon_pid)
wait_samples 100
ln -s nowhere "$sessions/taken.vmop" # access(2) finds no file there, rename(2) does
mkdir "$sessions/folder.vmop"
before=$(member samples)
refuse 3 "already a session of that name" control --save=taken
refuse 3 "already a session of that name" control --save=folder
lives "names that are taken"
expect 0 "" control --dump
is "samples in the session that went on" "$(fact "$sessions/current.vmop" samples)" -ge "$before"
is "its end" "$(fact "$sessions/current.vmop" end_ns)" = ""
is "other files" "$(cd "$sessions" && echo *.new* 2*)" = "*.new* 2*"

# -- no descriptors left: each step of a rotation fails once, and the session continues
highest=$(find "/proc/$pid/fd" -mindepth 1 -printf '%f\n' | sort -n | tail -1)
total=0
for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13; do
	prlimit --pid "$pid" --nofile=$((highest + i)):
	got=0
	timeout 30 "$build/vmopcontrol" --save="step-$i" >"$work/out" 2>&1 || got=$?
	prlimit --pid "$pid" --nofile=1024:
	echo "with $i descriptors --save ends with $got: $(cat "$work/out")"
	[ $got -eq 0 ] && total=$((total + 1))
	[ $got -ne 124 ] || fail "--save with $i descriptors got no answer"
	if [ $got -eq 0 ] && [ ! -f "$sessions/step-$i.vmop" ]; then
		fail "a success without a file"
	fi
	lives "--save with $i descriptors"
	wait_storing "$sessions"
done
is "successes with enough descriptors" "$total" -gt 0
all=0
for file in "$sessions"/step-*.vmop "$sessions"/2*.vmop; do
	[ -f "$file" ] || continue
	all=$((all + $(fact "$file" samples)))
done
is "samples in what was saved" "$all" -gt 0
expect 0 "" control --shutdown

# -- a limit on the size of files
rm -rf "$sessions"
begin "$sessions"
pid=$(daemon_pid)
wait_samples 1000
prlimit --pid "$pid" --fsize=4096:
expect 3 "File too large" control --save=large
lives "a limit on the size of files"
prlimit --pid "$pid" --fsize=unlimited:
expect 0 "" control --dump
expect 0 "kept as" control --save=large
expect 0 "" control --shutdown
is "samples in what was saved then" "$(fact "$sessions/large.vmop" samples)" -ge 1000

# -- a named guest and a given image disappear: the session continues without them
rm -rf "$sessions"
grep -w -e _text -e _etext -e schedule -e vfs_read /proc/kallsyms | grep -v '\[' >"$work/System.map"
if grep -q '^0*[1-9a-f][0-9a-f]* . _text$' "$work/System.map"; then
	refuse 0 "sampling" control --start --event=cpu-clock:1000Hz --session-dir="$sessions" \
		--vmlinux="$work/System.map"
	pid=$(daemon_pid)
	rm "$work/System.map"
	expect 0 "kept as" control --save=one
	lives "--save without the image of the kernel"
	expect 0 "" control --shutdown
	expect 0 "" control --setup --vmlinux=
fi

# -- a full disk, and a directory without room for new files
mkdir "$work/small"
if mount -t tmpfs -o size=12m,nr_inodes=60,mode=755 tmpfs "$work/small" 2>/dev/null; then
	begin "$work/small"
	pid=$(daemon_pid)
	wait_samples 500
	expect 0 "" control --dump
	before=$(fact "$work/small/current.vmop" samples)
	head -c 16000000 /dev/zero >"$work/small/filler" 2>/dev/null || :
	refuse 3 "No space left" control --save=full
	lives "--save on a full disk"
	refuse 3 "No space left" control --reset
	lives "--reset on a full disk"
	is "samples in the file" "$(fact "$work/small/current.vmop" samples)" -ge "$before"
	rm "$work/small/filler"
	i=0
	while touch "$work/small/inode-$i" 2>/dev/null; do i=$((i + 1)); done
	refuse 3 "No space left" control --save=full
	lives "--save without inodes"
	rm "$work/small"/inode-*
	expect 0 "kept as" control --save=full
	lives "--save at last"
	is "samples in what was saved" "$(fact "$work/small/full.vmop" samples)" -ge "$before"
	# Full until the end: the last samples are lost and reported as lost.
	head -c 16000000 /dev/zero >"$work/small/filler" 2>/dev/null || :
	sleep 2
	expect 3 "are lost" control --stop
	expect 0 "" control --shutdown
	umount "$work/small"
else
	echo "not tested: a full disk, for tmpfs can't be mounted here"
fi

# -- a start that fails, or is killed, leaves the last session in its place
rm -rf "$sessions"
begin "$sessions"
wait_samples 10
expect 0 "" control --shutdown
last=$(fact "$sessions/current.vmop" start_ns)
mkdir "$sessions/current.vmop.new"
expect 3 "current.vmop.new" control --start --session-dir="$sessions"
is "the last session after a start that failed" "$(fact "$sessions/current.vmop" start_ns)" = "$last"
rmdir "$sessions/current.vmop.new"
for ms in 0 5 10 20 30 40 50 60 80 100 130 160 200 250 300 400 500 700; do
	"$build/vmopd" --foreground --start --session-dir="$sessions" >"$work/out" 2>&1 &
	pid=$!
	sleep "$(awk "BEGIN { print $ms / 1000 }")"
	kill -9 $pid 2>/dev/null || :
	wait $pid 2>/dev/null || :
done
for file in "$sessions"/*.vmop; do
	expect 0 "start_ns" "$build/tests/integration/session-facts" "$file"
done
begin "$sessions"
expect 0 "" control --shutdown
is "what is left of sessions that were being begun" "$(cd "$sessions" && echo *.new*)" = "*.new*"

# -- without a current session, the last one is reported under its name
expect 0 "" control --save=kept
expect 0 "session kept" "$build/vmopreport" --session-dir="$sessions"
finish
