#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The sessions of a directory as one stream of time: session:all, words for times, and copies of a
# session, which count once.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C

mkdir -p "$sessions"
# make_session NAME OPTION...: the fixture's time 0 is 2023-11-14 22:14:00.
make_session() {
	name=$1
	shift
	"$build/tests/fixtures/make-session" "$@" "$sessions/$name.vmop" >/dev/null
}
report() {
	"$build/vmopreport" --session-dir="$sessions" "$@"
}
# samples ARGUMENT...: print the number of selected samples.
samples() {
	report --by=domain --accounting=cpu --format=csv "$@" |
		awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
			{ sum += $at["samples"] } END { print sum + 0 }'
}

zero=1700000040
is "the fixture's time" "$(make_session probe --seconds=1 && report session:probe --format=json |
	sed -n 's/^  "start_ns": \([0-9]*\)000000000,$/\1/p')" -eq $zero
rm "$sessions/probe.vmop"

# ---- the joints of rotated sessions -------------------------------------------------------

make_session whole --seconds=90
whole=$(samples session:whole)
cp "$sessions/whole.vmop" "$sessions/copy.vmop"
is "a session and its copy" "$(samples session:whole,copy)" -eq "$whole"
is "all of a directory" "$(samples session:all)" -eq "$whole"
expect 0 "left out: another session has them" report session:all
losses() {
	report --format=json "$@" | sed -n 's/^   "count": //p' | awk '{ sum += $1 } END { print sum + 0 }'
}
make_session lossy --seconds=250 --rate=20
cp "$sessions/lossy.vmop" "$sessions/copy.vmop"
is "losses of a session" "$(losses session:lossy)" -gt 0
is "and of its copy" "$(losses session:lossy,copy)" -eq "$(losses session:lossy)"
rm "$sessions/copy.vmop" "$sessions/lossy.vmop"
# A copy that was kept while the session went on has the same seconds, and fewer of them.
make_session kept --seconds=50 --unfinished
is "a session and what was kept of it" "$(samples session:kept,whole)" -eq "$whole"
is "in the other order" "$(samples session:whole,kept)" -eq "$whole"
is "in the order of the directory" "$(samples session:all)" -eq "$whole"
# The next one begins where the first ends.
make_session next --seconds=30 --start=90 --seed=3
next=$(samples session:next)
is "the next session" "$next" -gt 1000
is "with the next session" "$(samples session:all)" -eq $((whole + next))
is "one stream" "$(samples session:all time:2023-11-14T22:15:20..2023-11-14T22:15:40)" -eq \
	$(($(samples session:whole time:2023-11-14T22:15:20..2023-11-14T22:15:40) + \
		$(samples session:next time:2023-11-14T22:15:20..2023-11-14T22:15:40)))
expect 0 "session whole" report session:whole,next time:+5s
is "lines of a session that is of another time" "$(grep -c 'session next' "$work/out")" -eq 0
is "a file named twice, once by all" "$(samples "session:all,$sessions/next.vmop")" -eq \
	$((whole + next))

# ---- times without a session: -----------------------------------------------------------------

expect 0 "session kept of" report time:2023-11-14
expect 0 "session next of" report time:2023-11-14T22:15:40Z..2023-11-14T22:16Z
is "sessions of another time" "$(report time:2023-11-14T22:15:40..2023-11-14T22:16 |
	grep -c '^session ')" -eq 1
is "an offset" "$(samples time:2023-11-14T23:14:05+01:00)" -eq "$(samples time:2023-11-14T22:14:05)"
is "another offset" "$(samples time:2023-11-14T17:14:05-0500)" -eq "$(samples time:@$((zero + 5)))"
is "half a second is in one interval" "$(samples time:2023-11-14T22:14:05.25..2023-11-14T22:14:05.75)" \
	-eq "$(samples time:@$((zero + 5)))"
expect 1 "" report time:2024-01-01
expect 1 "no session in $sessions is of that time" report session:all time:2024-01-01
refuse 2 "today, yesterday" report time:tomorrow
refuse 2 "ends before it begins" report session:all time:2023-11-14T22:15..2023-11-14T22:14

# Sessions of these days.  Midnight may pass between two commands, but not much more.
now=$(date +%s)
midnight=$((now - now % 86400))
make_session today --seconds=20 --start=$((midnight - zero)) --seed=4
make_session yesterday --seconds=20 --start=$((midnight - 86400 + 3600 * 3 - zero)) --seed=5
make_session before --seconds=20 --start=$((midnight - 2 * 86400 + 3600 * 3 - zero)) --seed=6
if [ "$(($(date +%s) / 86400))" -eq $((now / 86400)) ]; then
	expect 0 "session yesterday of" report time:yesterday
	is "yesterday's sessions" "$(report time:yesterday | grep -c '^session ')" -eq 1
	is "at three" "$(samples 'time:yesterday 03:00..03:20')" -eq "$(samples session:yesterday)"
	expect 0 "session today of" report time:today
	is "two days" "$(samples time:yesterday..now)" -eq \
		$(($(samples session:yesterday) + $(samples session:today)))
	weekday=$(date -d 'yesterday' +%A)
	is "a weekday" "$(samples "time:$weekday")" -eq "$(samples session:yesterday)"
	is "the last three days" "$(report 'time:last 72h' | grep -c '^session ')" -eq 3
fi

# ---- what cannot be read ----------------------------------------------------------------------

printf 'no session' >"$sessions/junk.vmop"
mkdir "$sessions/folder.vmop"
expect 0 "left out: " report session:all
is "the other sessions" "$(samples session:all 2>/dev/null)" -gt "$whole"
rm "$sessions/junk.vmop"
rmdir "$sessions/folder.vmop"
refuse 3 "no sessions in" "$build/vmopreport" --session-dir="$work/none" time:today
refuse 3 "no such" sh -c "'$build/vmopreport' --session-dir='$work/none' session:all 2>&1 |
	tr A-Z a-z; exit 3"
mkdir "$work/empty"
refuse 1 "no sessions in" "$build/vmopreport" --session-dir="$work/empty" session:all
mkdir "$work/many"
for i in $(seq 257); do
	ln "$sessions/next.vmop" "$work/many/$i.vmop"
done
refuse 2 "257 sessions in" "$build/vmopreport" --session-dir="$work/many" session:all
exit $failed
