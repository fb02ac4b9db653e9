#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopcompare --run: two recordings by one command, its files, and its ends: failures, time limits,
# Ctrl-C.  The host's own domain stands for the guest, except where the smallest KVM guest runs; the rigs'
# "gallery" has whole guests.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export LC_ALL=C.UTF-8
command -v python3 >/dev/null || skip "no python3"
need_perf
nap=98.$$ # commands that are killed are known by it
slower=$build/tests/fixtures/slower

compare() {
	"$build/vmopcompare" --session-dir="$sessions" "$@"
}
# nothing_left: check that neither the daemon nor a command of the test runs.
nothing_left() {
	pid=$(daemon_pid)
	if [ -n "$pid" ]; then
		wait_gone "$pid"
	fi
	# A killed command needs a CPU to end, and vmopcompare waits only for its own children.
	tries=0
	while pgrep -f "^sleep $nap" >/dev/null && [ $tries -lt 100 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	is "commands left behind" "$(pgrep -fc "^sleep $nap" || true)" -eq 0
}

# Beside many short-lived processes, the command's would otherwise have no pid.
compare --run "$slower 600 1 <&0" --guest=host --guest-run "$slower 600 2" --output-dir="$work/cg" \
	--per=1 --spec=image:slower --record=--separate=thread >"$work/table" 2>"$work/err" || {
	cat "$work/err"
	fail "a comparison"
}
is "the first line is the comparison's" "$(sed -n '1s/:.*//p' "$work/table")" = A
grep -q "A: .* 600 1 <&0 on the host: " "$work/table" || fail "no first side"
grep -q "B: .* 600 2 on the host: " "$work/table" || fail "no second side"
grep -q " changed$" "$work/table" || fail "no row"
for file in joined.csv cpu-clock.csv cpu-clock.html; do
	[ -s "$work/cg/$file" ] || fail "no $file"
done
for side in host guest; do
	[ -s "$sessions/cg-$side.vmop" ] || fail "no session of the $side"
done
python3 - "$work/cg" <<'CHECK' || fail "the files"
import csv, html.parser, sys

class Page(html.parser.HTMLParser):
    """The elements of a page, and the texts of its cells.  Each element must be closed."""
    def __init__(self):
        super().__init__()
        self.tags, self.open, self.cells = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, text):
        if self.open and self.open[-1] == "td":
            self.cells.append(text)

rows = {row["symbol"]: row for row in csv.DictReader(open(sys.argv[1] + "/cpu-clock.csv"), strict=True)}
assert rows["changed"]["change_b"] == "more", rows["changed"]
assert int(rows["changed"]["samples_a"]) > 50
page = Page()
page.feed(open(sys.argv[1] + "/cpu-clock.html", encoding="utf-8").read())
page.close()
assert not page.open and page.tags.count("html") == 1
assert "changed" in page.cells and "more" in page.cells
assert not {"script", "link", "img", "iframe"} & set(page.tags)
CHECK
if [ -e "$work/cg/cpu-clock.svg" ] && command -v xmllint >/dev/null; then
	expect 0 "" xmllint --noout "$work/cg/cpu-clock.svg"
fi
nothing_left

# ---- ends -------------------------------------------------------------------------------

# shellcheck disable=SC2317 # called by expect
run() {
	rm -f "$sessions"/x-*
	compare --guest=host --guest-run=true --output-dir="$work/x" "$@"
}
expect 3 "session x-host: 'exit 7' failed with status 7" run --run 'exit 7'
nothing_left
expect 3 "session x-host: 'sleep $nap' took longer than --timeout and was ended" \
	run --timeout=1s --run "sleep $nap"
nothing_left
# The command ignores signals, and has a child.
expect 3 "took longer than --timeout" run --timeout=1s --run "trap '' INT TERM; sleep $nap & sleep $nap"
nothing_left
expect 3 "'nosuch program' failed with status 127" run --run 'nosuch program'
expect 1 "" run --run "$slower 60 1" --guest-run 'sleep 1' --spec='image:nosuch*'

# The guest's command: the host's session is kept then.
expect 3 "session x-guest: 'exit 9' failed with status 9" run --run true --guest-run 'exit 9'
[ -s "$sessions/x-host.vmop" ] || fail "no session of the host"
expect 3 "session x-guest: 'sleep $nap' took longer than --timeout and was ended" \
	run --timeout=1s --run true --guest-run "sleep $nap"
nothing_left

# Nothing runs if there is no such guest, and no command without a session.
ran=$work/ran
expect 3 "session x-host: --guest: no domain 'nosuch' runs; there are: host" \
	run --guest=nosuch --run "touch $ran"
nothing_left
expect 3 "session x-host: vmopcontrol --run failed with status 2" run --run "touch $ran" --record=--event=nosuch
touch "$work/file"
expect 3 "session-dir: $work/file: not a directory" run --run "touch $ran" --session-dir="$work/file"
nothing_left
(
	export VMOP_VMOPD=/nonexistent
	expect 3 "/nonexistent: No such file or directory" run --run "touch $ran"
	exit $failed
) || failed=1
control --start --session-dir="$sessions" -e cpu-clock
expect 3 "session x-host: vmopcontrol --run failed" run --run "touch $ran"
control --shutdown
[ ! -e "$ran" ] || fail "a command ran without a session"

# The session ends before the command: nothing is compared.
# shellcheck disable=SC2317 # called by expect
run_while() {
	what=$1
	shift
	run "$@" &
	program=$!
	until pgrep -f "^sleep $nap" >/dev/null || ! kill -0 $program; do
		sleep 0.1
	done
	$what
	wait $program
}
# shellcheck disable=SC2317 # called by run_while
kill_daemon() {
	kill -9 "$(daemon_pid)"
}
expect 3 "session x-host: vmopd has ended" run_while kill_daemon --run "sleep $nap"
nothing_left
expect 3 "session x-host: the session has ended" run_while 'control --stop' --run "sleep $nap"
nothing_left

# Descriptors of the caller do not matter.
expect 3 "'exit 7' failed with status 7" run --run 'exit 7' 3</dev/null 4</dev/null 5</dev/null \
	6</dev/null 7</dev/null 8</dev/null 9</dev/null

rm -f "$sessions"/x-*
"$build/vmopcompare" --session-dir="$sessions" --guest=host --guest-run=true --output-dir="$work/x" \
	--run "sleep $nap" >"$work/interrupted" 2>&1 &
program=$!
until pgrep -f "^sleep $nap" >/dev/null || ! kill -0 $program; do
	sleep 0.1
done
kill -INT $program
got=0
wait $program || got=$?
is "the exit status after a signal" "$got" -eq 3
grep -q "interrupted by signal 2" "$work/interrupted" || fail "$(cat "$work/interrupted")"
nothing_left

# ---- names ------------------------------------------------------------------------------

refuse 3 "cg-host.vmop exists; another --output-dir gives the sessions other names" \
	compare --run true --guest=host --guest-run=true --output-dir="$work/cg/"
refuse 2 "--output-dir: " compare --run true --guest=host --guest-run=true --output-dir="$work/a b"
refuse 3 "--output-dir=$work/file: Not a directory" \
	compare --run true --guest=host --guest-run=true --output-dir="$work/file"

# Without --session-dir, the directory is the set-up's.
mkdir "$work/other"
control --setup --session-dir="$work/other"
expect 0 " changed" "$build/vmopcompare" --run "$slower 600 1" --guest=host --guest-run="$slower 600 2" \
	--spec=image:slower --output-dir="$work/other/out"
[ -s "$work/other/out-guest.vmop" ] || fail "no session in the set-up's directory"
refuse 3 "$work/other/out-host.vmop exists" \
	"$build/vmopcompare" --run true --guest=host --guest-run=true --output-dir="$work/other/out"

# ---- a guest ----------------------------------------------------------------------------

# Its name has a meaning in a list of globs.  It has no kernel, and the comparison begins nevertheless.
"$build/tests/fixtures/kvm-guest" --id 'a,b*' --seconds 300 >"$work/guest" &
guest=$!
until [ -s "$work/guest" ] || ! kill -0 $guest 2>/dev/null; do
	sleep 0.1
done
if grep -q '^pid' "$work/guest"; then
	# Both sides have samples, of different programs: a side without any would be named otherwise.
	expect 1 "has no row in common with the others" compare --run "$slower 600 1" --guest='a,b*' \
		--guest-run 'sleep 1' --output-dir="$work/comma"
	compare --run true --guest='a,b*' --guest-run 'sleep 1' --output-dir="$work/known" >"$work/out" 2>"$work/err" || true
	grep -q "guest a,b\*: its kernel is not known" "$work/err" || fail "no warning: $(cat "$work/err")"
	compare --run true --guest='a,b*' --guest-run true --output-dir="$work/none" --record=--passive-domains=none \
		>"$work/out" 2>"$work/err" || true
	grep -q "guest a,b\*: no functions, because --passive-domains" "$work/err" || fail "$(cat "$work/err")"
	kill $guest
	wait $guest || true
	nothing_left
else
	echo "no guest: $(cat "$work/guest")"
fi

# ---- refusals ---------------------------------------------------------------------------

refuse 2 "--guest is missing or empty" compare --run true --guest-run true --output-dir="$work/x"
refuse 2 "--guest-run is missing or empty" compare --run true --guest g --output-dir="$work/x"
refuse 2 "--output-dir is missing or empty" compare --run true --guest g --guest-run true
refuse 2 "--run is missing or empty" compare --guest g
refuse 2 "--run is missing or empty" compare --run '' --guest g --guest-run true --output-dir="$work/x"
refuse 2 "no SIDE with it" run --run true before
refuse 2 "--timeout: '0' is not a time" run --timeout=0 --run true
refuse 3 "--output-dir=$work/nosuch/x: No such file or directory" run --run true --output-dir="$work/nosuch/x"
finish
