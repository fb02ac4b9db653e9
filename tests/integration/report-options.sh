#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every option and spec of vmopreport that report-tables.sh does not test, and every refusal.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C

mkdir -p "$sessions"
make_session() {
	"$build/tests/fixtures/make-session" "$@" >/dev/null
}
make_session "$sessions/current.vmop"
make_session --seconds=10 --load=busy "$sessions/busy.vmop"

report() {
	"$build/vmopreport" --session-dir="$sessions" "$@"
}

# column NAME OPTION...: print that column of the CSV, one value per line.
column() {
	name=$1
	shift
	report --format=csv "$@" 2>"$work/err" | awk -F, -v name="$name" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		{ print $at }'
}

# lines TEXT OPTION...: print the number of lines that contain TEXT.
lines() {
	text=$1
	shift
	report "$@" 2>/dev/null | grep -cF -e "$text" || true
}

first() {
	column "$@" | head -n 1
}

sum() {
	column samples "$@" | awk '{ n += $1 } END { print n + 0 }'
}

# ---- specs -----------------------------------------------------------------
is "domain: a guest's samples" "$(sum domain:g1)" -eq 13200
is "domain: several" "$(sum domain:g1,g2)" -eq 13320
is "domain: by glob" "$(sum 'domain:g?')" -eq 13320
is "domain: what a guest pays for" "$(sum --accounting=domain domain:g1)" -eq 14160
is "image: by base name" "$(sum 'image:lib*.so*')" -eq 480
is "image: without its tag" "$(sum make-session)" -eq 96000
is "event: all there are" "$(sum 'event:cpu-*')" -eq 120000
is "task: by command" "$(sum task:loop)" -eq 96960
is "tgid:" "$(sum tgid:501-502)" -eq 96960
is "time: a minute's first half" "$(sum time:+30s)" -eq 60000
is "time: of day" "$(sum time:22:14:10..22:14:20)" -eq 20000
is "session: by name" "$(sum session:busy)" -gt 20000
is "session: by path" "$(sum "session:$sessions/current.vmop")" -eq 120000

# ---- rows ------------------------------------------------------------------
is "--by: domains and tasks" "$(column task --by=domain,task | sort | uniq -c | wc -l)" -eq 4
is "--by=mode" "$(column mode --by=mode | sort | tr '\n' ' ')" = "hypervisor kernel user "
is "--by=cgroup" "$(column cgroup --by=cgroup | wc -l)" -ge 1
is "--merge=tgid: one row a command" "$(column task --by=task --merge=tgid domain:host | grep -c loop)" -eq 1
is "--exclude-idle" "$(sum --exclude-idle)" -eq 111780
is "--exclude-dependent" "$(sum --exclude-dependent task:loop)" -eq 96000
is "what options leave out is said" "$(lines '111780 samples selected' --exclude-idle)" -eq 1
for word in cpu vcpu; do
	report --by=$word >/dev/null 2>"$work/err"
	is "--by=$word where nothing was recorded so" \
		"$(grep -cF -e "--by=$word: the recording does not separate samples by it" "$work/err" || true)" -eq 1
done
is "--include-symbols" "$(sum -l -i 'g1_*')" -eq 10800
is "--exclude-symbols" "$(column symbol -l -e 'vmop_*' | grep -c vmop_)" -eq 0
is "--threshold" "$(column symbol -l -t 20 | wc -l)" -eq 2
is "--top" "$(column symbol -l --top=5 | wc -l)" -eq 5
is "--sort=symbol" "$(column symbol -l -i 'g1_*' -s symbol | tr '\n' ' ')" = "g1_hot g1_warm "
is "--sort=symbol --reverse-sort" "$(column symbol -l -i 'g1_*' -s symbol -r | tr '\n' ' ')" = "g1_warm g1_hot "
is "--sort=domain,image" "$(first domain -s domain,image)" = g1
column address -l -s vma 'image:[kernel]' | sort -C || fail "--sort=vma is not in the order of addresses"
is "--sort=pid" "$(first pid --by=task -s pid)" -eq 0
is "--details: all of a symbol's samples" "$(sum -d -i g1_hot)" -eq "$(sum -l -i g1_hot)"
is "--details: shares of their symbol" "$(column percent -d -i g1_hot | awk '{ n += $1 } END { printf "%.3f", n }')" = 100.000
is "--details --global-percent" "$(column percent -d -% -i g1_hot | awk '{ n += $1 } END { printf "%.0f", n }')" = 7
is "--details: without an image, addresses" "$(sum -d domain:g2)" -eq 120

# ---- columns ---------------------------------------------------------------
is "--accumulated: the last is all" "$(column cum_samples -a | tail -n 1)" -eq 120000
is "--long-filenames" "$(lines " $build/tests/fixtures/" -f)" -eq 1
is "base names else" "$(lines " $build/tests/fixtures/")" -eq 0
is "--show-address" "$(lines 'ffffffff9a001000  ' -l -w)" -eq 1

# ---- symbols ---------------------------------------------------------------
mkdir -p "$work/moved" "$work/root"
cp "$build/tests/fixtures/make-session" "$work/elsewhere"
cp "$work/elsewhere" "$work/moved/elsewhere"
# The same program under a name that no longer exists at the time of the report.
"$work/elsewhere" --seconds=1 "$sessions/elsewhere.vmop" >/dev/null
rm "$work/elsewhere"
rm -rf "$XDG_CACHE_HOME" # its symbols are kept by build-id
is "a file that is gone has no symbols" "$(column symbol -l session:elsewhere | grep -c hot)" -eq 1
grep -q "no symbols for .* elsewhere: no such file\|no symbols for .*elsewhere: .*no such file" "$work/err" ||
	fail "not said why: $(cat "$work/err")"
is "--image-path" "$(column symbol -l session:elsewhere -p "$work/moved" | grep -c vmop_fixture_hot)" -eq 1
mkdir -p "$work/root$work"
cp "$work/moved/elsewhere" "$work/root$work/elsewhere"
is "--root" "$(column symbol -l session:elsewhere -R "$work/root" | grep -c vmop_fixture_hot)" -eq 1

# ---- output ----------------------------------------------------------------
report -l --top=1 -o "$work/file" 2>/dev/null
is "--output-file" "$(grep -c vmop_fixture_hot "$work/file")" -eq 1
is "--no-header" "$(report -n | wc -l)" -eq 9
is "--list-sessions" "$(column name --list-sessions | tr '\n' ' ')" = "busy current elsewhere "
is "--format=json" "$(lines '"symbol": "g1_hot"' -l --format=json)" -eq 1
is "--format=csv: no separators in numbers" "$(first samples --format=csv)" -eq 96000
is "--format=csv is text without escapes" "$(report -l --format=csv 2>/dev/null | tr -d '[:print:]\n' | wc -c)" -eq 0

# Losses are reported in every format.
make_session --seconds=300 "$sessions/lossy.vmop"
is "losses in a table" "$(lines 'losses: lost 3' session:lossy)" -eq 1
expect 0 "losses: lost 3" report session:lossy -n
expect 0 "losses: lost 3 (in the whole session)" report session:lossy time:-1h..
expect 0 "losses: lost 3" report session:lossy --format=csv -o /dev/null
is "losses in json" "$(lines '"count": 3' session:lossy --format=json)" -eq 1

expect 0 "no symbols for 2400 samples in [guest g1 user]: no image" report -l -V domain:g1

# Every option is in the manual.
report --help | grep -o -e '--[a-z-]*' | sort -u | while read -r option; do
	grep -qE "^\.It Fl ([^ ]+ , )?(.*, )?-?${option#-}( |$)" "$build/man/vmopreport.1" ||
		echo "$option"
done >"$work/unexplained"
[ ! -s "$work/unexplained" ] || fail "not in the manual: $(tr '\n' ' ' <"$work/unexplained")"

# ---- refusals --------------------------------------------------------------
refuse 2 "unknown profile spec 'imag:x'; accepted: session: domain:" report imag:x
refuse 2 "domain:g7 is not in the session; its domains: host, g1, g2" report domain:g7
refuse 2 "event:cycles is not in the session; its events: cpu-clock" report event:cycles
refuse 2 "image:nosuch is not in the session" report image:nosuch
refuse 2 "task:nosuch is not in the session" report task:nosuch
refuse 2 "cpu: 'x' is not a number" report cpu:x
refuse 2 "'time:soon' is not a time; accepted: HH:MM" report time:soon
refuse 2 "ends before it begins" report time:+2s..+1s
refuse 2 "--by: unknown word 'thing'; accepted: domain, image" report --by=thing
refuse 2 "--merge: unknown word 'thing'; accepted: cpu, tid" report --merge=thing
refuse 2 "--sort: unknown word 'thing'; accepted: sample" report --sort=thing
refuse 2 "--sort=symbol needs --symbols" report --sort=symbol
refuse 2 "--accounting: unknown word 'thing'; accepted: cpu, domain" report --accounting=thing
refuse 2 "--demangle: unknown word 'thing'; accepted: none, smart" report --demangle=thing
refuse 2 "unknown format 'thing'; accepted: table, csv, json" report --format=thing
refuse 2 "--threshold takes a number from 0 to 100, not '101'" report -t 101
refuse 2 "--top takes a number" report --top=-1
refuse 2 "--width takes a number" report --width=wide
refuse 2 "--include-symbols needs --symbols" report -i x
expect 2 "unrecognized option '--nosuch'" report --nosuch
refuse 1 "no images of the session match" report 'image:nosuch*'
refuse 1 "no samples of the session match; cpu: and vcpu: need one" report cpu:0
refuse 1 "no tasks of the session match" report tgid:999999
refuse 1 "no symbols match" report -l -i 'nosuch*'
refuse 1 "no row reaches 99 %" report -t 99
refuse 2 "needs a directory" report --session-dir=
refuse 1 "not separated by thread" report tid:1
refuse 3 "no session 'nosuch' in $sessions (there: busy, current, elsewhere, lossy)" report session:nosuch
refuse 3 "no sessions in $work/none; 'vmopcontrol --start'" "$build/vmopreport" --session-dir="$work/none"
refuse 3 "$work/none/x" report -o "$work/none/x"
refuse 3 "$work/none" report -l -R "$work/none"
refuse 3 "$work/none" report -l -p "$work/moved,$work/none"
finish
