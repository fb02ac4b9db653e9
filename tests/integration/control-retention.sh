#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The ladder, keep, max-size and rotate: bad values, sessions that are rotated, listed, described and
# deleted. Also the state after kill -9 and on a full disk.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"

# ---- bad values: the message gives a remedy, and nothing is stored
refuse 2 "1s:10m,1m:1d,10m:30d,1h" control --ladder=soon
refuse 2 "1m alone" control --ladder=1s:10m,1m:1d
refuse 2 "give 2m" control --ladder=1s:10m,1m:1d,90s
refuse 2 "give 1s:1m" control --ladder=1s:30s,1m
refuse 2 "greater than the one before" control --ladder=1s:1h,1h:1d,1m
refuse 2 "begin the ladder with 1s" control --ladder=2s:10m,1m
refuse 2 "keep=1s" control --keep=500ms
refuse 2 "at least 16M" control --max-size=4096
refuse 2 "at least 1M" control --rotate=4096
refuse 2 "daily" control --rotate=weekly
refuse 2 "one action at a time" control --rotate --list
[ ! -e "$VMOP_CONFIG" ] || fail "a set-up file"
expect 0 "" control --session-dir="$sessions" --ladder=1s:5m,30s:1h,10m --keep=30d --max-size=64M \
	--rotate=daily
expect 0 "ladder = 1s:5m,30s:1h,10m" control --setup
expect 0 "" control --rotate=off

# ---- names: only sessions, only in the directory, never the current one
mkdir "$sessions"
"$build/tests/fixtures/make-session" --seconds=5 "$sessions/saved.vmop" >/dev/null
"$build/tests/fixtures/make-session" --seconds=5 "$work/outside.vmop" >/dev/null
ln -s "$work/outside.vmop" "$sessions/link.vmop"
mkdir "$sessions/folder.vmop"
for name in .. ../outside . '' -x .vmop a/b "$work/outside" "$(printf 'a\nb')" "$(printf '\033[2J')" \
	"$(printf '%0200d' 0)"; do
	refuse 2 "letters, digits" control --delete="$name"
	refuse 2 "letters, digits" control --describe="$name"
done
refuse 2 "running session's own" control --delete=current
refuse 3 "not a regular file" control --delete=link
refuse 3 "not a regular file" control --delete=folder
refuse 1 "no session 'absent'" control --delete=absent
refuse 1 "no session 'absent'" control --describe=absent
refuse 1 "no current session" control --describe=current
for action in --describe=a --delete=a --describe=current --save=a --rotate --reset; do
	refuse 3 "session-dir: $work/absent" control "$action" --session-dir="$work/absent"
done
[ -f "$work/outside.vmop" ] || fail "what was outside is gone"
expect 0 "saved" control --list
is "listed sessions" "$(control --list | grep -c finished)" -eq 1
expect 0 "samples" control --describe=saved
control --describe=saved --json >"$work/out.json"
python3 - "$work/out.json" <<'END' || fail "the description"
import json, sys
facts = json.load(open(sys.argv[1]))
assert facts["samples"] == sum(event["samples"] for event in facts["events"])
assert facts["samples"] == sum(domain["samples"] for domain in facts["domains"])
assert sum(span["intervals"] for span in facts["spans"]) >= 1
assert facts["state"] == "finished" and facts["dropped"] is None
END
expect 0 "" control --delete=saved
is "files of a deleted session" "$(find "$sessions" -name 'saved*' | wc -l)" -eq 0
rm -rf "$sessions"

# ---- reports: which span has which detail, and the same figures with and without summaries
"$build/tests/fixtures/make-session" --seconds=9000 --rate=20 --roll-up "$work/long.vmop" >/dev/null
cp "$work/long.vmop" "$work/exact.vmop"
python3 - "$work/exact.vmop" <<'END' || fail "no summaries"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
assert db.execute("SELECT count(*) FROM summary").fetchone()[0] >= 3
db.execute("DELETE FROM summary")
db.execute("DELETE FROM chunk WHERE id >= 2147483648 << 24")
db.commit()
END
expect 0 "detail: 1 min until" "$build/vmopreport" "session:$work/long.vmop"
for options in -l --by=task --by=image,domain "-l time:+10m..+50m" "-l --details time:-1h"; do
	# shellcheck disable=SC2086 # options
	"$build/vmopreport" --format=csv $options "session:$work/long.vmop" >"$work/summed"
	# shellcheck disable=SC2086 # options
	"$build/vmopreport" --format=csv $options "session:$work/exact.vmop" >"$work/unsummed"
	cmp "$work/summed" "$work/unsummed" || fail "with summaries, $options differs"
done

# ---- 4,096 files in the directory, most of them no sessions
mkdir "$sessions"
i=0
while [ $i -lt 4096 ]; do
	echo "no session $i" >"$sessions/file-$i.vmop"
	i=$((i + 1))
done
expect 0 "not a session file" control --list
is "lines of the list" "$(control --list | wc -l)" -eq 4097

need_perf
control --session-dir="$sessions" --keep=30d
# Saved by their time, and long ago: only these are too old.
cp "$work/outside.vmop" "$sessions/20200101T000000.vmop"
cp "$work/outside.vmop" "$sessions/20200101T000000-2.vmop"
cp "$work/outside.vmop" "$sessions/mine.vmop"
cp "$work/outside.vmop" "$sessions/20990101T000000.vmop"
touch -d '40 days ago' "$sessions/20200101T000000.vmop" "$sessions/20200101T000000-2.vmop" \
	"$sessions/mine.vmop" "$sessions/file-7.vmop"
expect 0 "sampling" control --start
tries=0
while [ -e "$sessions/20200101T000000.vmop" ] && [ $tries -lt 1200 ]; do
	tries=$((tries + 1))
	sleep 0.05
done
is "old sessions" "$(find "$sessions" -name '20200101*' | wc -l)" -eq 0
is "others" "$(find "$sessions" -name mine.vmop -o -name 20990101T000000.vmop -o -name file-7.vmop | wc -l)" -eq 3
rm -f "$sessions"/file-*.vmop "$sessions/mine.vmop" "$sessions/20990101T000000.vmop"

# ---- rotated while it samples: each file begins where the one before ends, with all samples
i=0
while [ $i -lt 4 ]; do
	expect 0 "goes on in a fresh session" control --rotate
	i=$((i + 1))
done
expect 0 "pause" control --status
expect 0 "longest_pause_s" control --status --json
expect 0 "" control --stop
expect 0 "longest pause of the sampling thread" cat "$VMOP_RUNDIR/vmopd.log"
is "sessions" "$(find "$sessions" -name '*.vmop' | wc -l)" -eq 5
end=
find "$sessions" -name '2*.vmop' -printf '%T@ %p\n' | sort | cut -d' ' -f2- >"$work/order"
echo "$sessions/current.vmop" >>"$work/order"
while read -r file; do
	[ -z "$end" ] || is "start of $file" "$(fact "$file" start_ns)" = "$end"
	is "its first interval" "$(fact "$file" first_ns)" -ge "${end:-0}"
	[ -z "$end" ] || is "its first interval" "$(fact "$file" first_ns)" = "$end"
	end=$(fact "$file" end_ns)
done <"$work/order"
# A finished session is kept under its time, too, and no current one remains.
expect 0 "kept as" control --rotate
refuse 1 "no current session" control --rotate
expect 0 "" control --shutdown
rm -rf "$sessions"

# ---- kill -9 while it rotates: every file is whole, and the next start goes on
round=0
while [ $round -lt 6 ]; do
	expect 0 "sampling" control --start
	pid=$(daemon_pid)
	for i in 1 2 3; do
		control --rotate >/dev/null 2>&1 &
	done
	sleep "0.0$((round * 3))"
	kill -9 "$pid"
	wait_gone "$pid"
	wait
	round=$((round + 1))
done
expect 0 "sampling" control --start
expect 0 "" control --shutdown
for file in "$sessions"/*.vmop; do
	expect 0 "" fact "$file" samples
done
is "files with an error" "$(control --list | grep -cv 'finished\|not ended\|session  ')" -eq 0

# ---- a full disk: the rotation fails, and the session goes on
mkdir "$work/small"
if mount -t tmpfs -o size=3M,mode=755 tmpfs "$work/small" 2>/dev/null; then
	expect 0 "sampling" control --start --session-dir="$work/small"
	pid=$(daemon_pid)
	head -c 3M /dev/zero >"$work/small/fill" 2>/dev/null || true
	got=0
	control --rotate >"$work/out" 2>&1 || got=$?
	is "exit status of a rotation on a full disk" "$got" -eq 3
	is "the daemon" "$(daemon_pid)" = "$pid"
	rm "$work/small/fill"
	expect 0 "goes on" control --rotate
	expect 0 "" control --shutdown
	is "sessions" "$(find "$work/small" -name '*.vmop' | wc -l)" -eq 2
fi
finish
