#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Ratios of events, weights and scales, in every format, from a session with known counts.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
export TZ=UTC LC_ALL=C

mkdir -p "$sessions"
"$build/tests/fixtures/make-counters" "$sessions/current.vmop"
"$build/tests/fixtures/make-counters" --by-clock "$sessions/clock.vmop"

report() {
	"$build/vmopreport" --session-dir="$sessions" "$@"
}

# table NAME OPTION... <<EXPECTED: check that stdout is exactly that.
table() {
	name=$1
	shift
	cat >"$work/expected"
	echo "table: $name: vmopreport $*"
	report "$@" >"$work/out" 2>"$work/err" || fail "exit $?: $(cat "$work/err")"
	diff -u "$work/expected" "$work/out" || fail "$name differs"
}

# value COLUMN ROW OPTION...: print the column from the CSV line that has ROW in one of its columns.
value() {
	name=$1 row=$2
	shift 2
	report --format=csv "$@" 2>"$work/err" | awk -F, -v name="$name" -v row="$row" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		{ for (i = 1; i <= NF; i++) if ($i == row) { print $at; exit } }'
}

# column NAME OPTION...: print that column on one line.
column() {
	name=$1
	shift
	report --format=csv "$@" 2>"$work/err" | awk -F, -v name="$name" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
		{ printf "%s ", $at }'
}

# ---- what people see -------------------------------------------------------
table "by themselves, per symbol" -l 'event:cycles,instructions,cache-misses' <<'END'
session current of fixture
2023-11-14 22:14:00 to 22:14:10 (10 s)
cycles every 100000 events: 45110 samples selected
instructions every 100000 events: 33640 samples selected
cache-misses every 1000 events: 15100 samples selected, weights scaled x4.00
cache-misses: stands for LLC_MISSES; multiplexed, because it shares its counters with other events: counted 25.0 % of the time, scale x4.00
ipc (instructions / cycles): 0.7457 of the selected samples, 0.7353 to 0.7563 with 95 % confidence
mpki:cache-misses (cache-misses / instructions * 1000): 17.95 of the selected samples, 17.61 to 18.3 with 95 % confidence
losses: none

cycles      %  instructions      %  cache-misses      %      ipc  mpki:cache-misses  domain  image              symbol
 30000  66.50          7500  22.29         15000  99.34     0.25               80.0  host    [kernel]           slow
 10000  22.17         20000  59.45           100   0.66     2.00              ~0.20  host    [kernel]           fast
  4000   8.87          6000  17.84             0   0.00     1.50            <0.0256  g1      [guest g1 kernel]  g1_hot
  1000   2.22             0   0.00             0   0.00  <0.0038                  -  host    [kernel]           waits
   100   0.22           100   0.30             0   0.00    ~1.00              <1.54  host    [kernel]           rough
    10   0.02            40   0.12             0   0.00        -              <3.84  host    [kernel]           few
END

table "ratios of one's own, of images" -n --ratio=cpi,bm=branch-misses/INST_RETIRED:1000 \
	'event:cycles,instructions,branch-misses' <<'END'
cycles      %  instructions      %  branch-misses       %   cpi       bm  domain  image
 41110  91.13         27640  82.16           1300  100.00  1.49     2.53  host    [kernel]
  4000   8.87          6000  17.84              0    0.00  0.67  <0.0345  g1      [guest g1 kernel]
END

table "addresses" -n -d --ratio=ipc 'event:cycles,instructions' -i slow,few <<'END'
address             cycles       %  instructions       %   ipc  domain  image     symbol
ffffffff81000100     30000   66.50          7500   22.29  0.25  host    [kernel]  slow
  ffffffff81000108   30000  100.00          7500  100.00  0.25
ffffffff81000300        10    0.02            40    0.12     -  host    [kernel]  few
  ffffffff81000308      10  100.00            40  100.00     -
END

table "none" -n --ratio=none --by=task 'event:cycles,instructions' <<'END'
cycles      %  instructions      %  domain  pid  task
 41110  91.13         27640  82.16  host    501  loop
  4000   8.87          6000  17.84  g1      501  loop
END

is "a clock's session has no ratios" "$(report session:clock | grep -c 'ipc\|mpki')" -eq 0
is "nor one of whose events one is looked at" "$(report event:cycles | grep -c 'ipc\|mpki')" -eq 0

is "why the kernel has no symbols, in the head" \
	"$(report session:clock | grep -c "^symbols of the host's kernel: none: hidden by a sysctl\$")" -eq 1
is "and in json" "$(report session:clock --format=json | grep -c '"kernel_symbols": "none: hidden by a sysctl"')" -eq 2 # of the session, and in the list of sessions
is "where it has them, nothing" "$(report | grep -c "symbols of the host")" -eq 0

# ---- every level of rows ----------------------------------------------------
is "ipc of a domain" "$(value ratio:ipc g1 --by=domain)" = 1.5
is "ipc of a domain's mode" "$(value ratio:ipc g1 --by=domain,mode)" = 1.5
is "ipc of an image" "$(value ratio:ipc '[guest g1 kernel]')" = 1.5
is "ipc of a task" "$(value ratio:ipc g1 --by=task)" = 1.5
is "ipc of a cgroup" "$(value ratio:ipc g1 --by=cgroup)" = 1.5
is "ipc of a symbol" "$(value ratio:ipc g1_hot -l)" = 1.5
is "ipc of an address" "$(value ratio:ipc 0xffffffff81000508 -d)" = 1.5

# ---- for programs: no number where none is known, and always the interval -----
is "the value where it is known" "$(column ratio:ipc -l)" = "0.25 2 1.5  1  "
is "the interval's lower end" "$(value low:ipc rough -l)" = 0.758585
is "the interval's upper end" "$(value high:ipc rough -l)" = 1.31824
is "an upper bound" "$(value high:ipc waits -l)" = 0.00384146
is "of none there is no interval" "$(value high:mpki:cache-misses waits -l)" = ""
is "csv tells as many fields in each line" \
	"$(report -l --format=csv 2>/dev/null | awk -F, '{ print NF }' | sort -u | wc -l)" -eq 1

# json PATH [OPTION...]: print the value at PATH, if python3 is available.
json() {
	path=$1
	shift
	report --format=json "$@" 2>"$work/err" | python3 -c "
import json, sys
top = json.load(sys.stdin)
rows = {row.get('symbol', row.get('domain')): row for row in top['rows']}
print($path)"
}
if command -v python3 >/dev/null; then
	is "json: a row's ratio" "$(json "rows['fast']['ratio:ipc']" -l)" = 2.0
	is "json: no number is no member" "$(json "'ratio:ipc' in rows['few']" -l)" = False
	is "json: its interval all the same" "$(json "rows['few']['high:ipc'] > 4" -l)" = True
	is "json: which ratios there are" \
		"$(json "[(r['name'], r['numerator'], r['denominator'], r['factor']) for r in top['ratios']][1]")" = \
		"('mpki:cache-misses', 'cache-misses', 'instructions', 1000.0)"
	is "json: of all" "$(json "round(top['ratios'][0]['value'], 4)")" = 0.7457
	is "json: an event's scale" "$(json "[e['scale'] for e in top['events']][1:3]")" = "[1.0, 4.0]"
	is "json: and why" "$(json "top['events'][2]['enabled_ns'] / top['events'][2]['running_ns']")" = 4.0
	is "json: an event's weight is scaled" "$(json "top['events'][2]['weight']")" = 60400000
	is "json: its samples are not" "$(json "top['events'][2]['samples']")" = 15100
fi

# ---- scale ------------------------------------------------------------------
is "weights are scaled" "$(value weight:cache-misses slow -l)" = 60000000
is "samples are not" "$(value samples:cache-misses slow -l)" = 15000
is "shares stay as they are" "$(value percent:cache-misses slow -l)" = 99.337748
is "an event that counted all the time" "$(value weight:cycles slow -l)" = 3000000000
is "details add up to their symbol" \
	"$(column weight:cache-misses -d | tr ' ' '\n' | awk '{ n += $1 } END { printf "%.0f", n }')" = 60400000
is "bills" "$(value kernel_weight:cache-misses host --by=domain)" = 60400000

# ---- every format gives shares of events, not of samples ----------------------
# branch-misses: fast has 400 samples of 4,000,000, slow 900 of 3,000,000.
report --format=thing 2>&1 | sed -n 's/.*accepted: //p' | tr -d , | tr ' ' '\n' >"$work/formats"
is "formats there are" "$(wc -l <"$work/formats")" -ge 3
while read -r format; do
	case $format in
	folded) continue ;;             # counts samples, as flamegraph.pl expects
	flamegraph | pprof) continue ;; # tests/integration/report-$format.sh has their weights
	xml | html) continue ;;         # likewise
	perf-script | speedscope | firefox) continue ;; # tests/integration/report-export.sh has
	table) want='400  57.14' ;;
	csv) want='400,4000000,57.142857' ;;
	json) want='"percent": 57.1428571' ;;
	*)
		fail "no test of weights in --format=$format: add one"
		continue
		;;
	esac
	is "$format: the share of fast" \
		"$(report -l event:branch-misses --format="$format" 2>/dev/null | grep -cF -e "$want")" -eq 1
	is "$format: the heaviest comes first" \
		"$(report -l event:branch-misses --format="$format" --top=1 2>/dev/null | grep -c 'fast')" -eq 1
done <"$work/formats"
is "a threshold is of events" "$(column symbol -l event:branch-misses -t 50)" = "fast "
is "running sums are of events" "$(column cum_percent -l -a event:branch-misses)" = "57.142857 100.000000 "
is "addresses' shares are of events" "$(column percent -d -% event:branch-misses)" = "57.142857 42.857143 "
is "what is hidden is of events" "$(report -l event:branch-misses --top=1 | grep -c '(1 more row, 42.86 % together)')" -eq 1
is "shares of the whole session are of events" "$(column percent -l -% event:branch-misses -i slow)" = "42.857143 "

# ---- order ------------------------------------------------------------------
is "--sort=ipc" "$(column symbol -l -s ipc)" = "fast g1_hot rough slow waits few "
is "--sort=ipc -r: what isn't known stays last" \
	"$(column symbol -l -s ipc -r -i fast,slow,rough,few)" = "slow rough fast few "
is "--sort=mpki is the first of that name" "$(column symbol -l -s mpki | cut -d' ' -f1-2)" = "slow fast"
is "--sort by an event" "$(column symbol -l -s branch-misses | cut -d' ' -f1-2)" = "fast slow"
is "--sort by a ratio of one's own" "$(column symbol -l --ratio=x=cycles/instructions -s x | cut -d' ' -f1)" = slow
is "--sort: the second key decides" "$(column symbol -l -s domain,instructions | cut -d" " -f1-2)" = "g1_hot fast"

# ---- names ------------------------------------------------------------------
is "an event by the name that was asked for" "$(column samples 'event:LLC_MISSES')" = "15100 "
is "a ratio by it" "$(column ratio:x --ratio=x=LLC_MISSES/INST_RETIRED:1000)" = "21.8524  "
is "by a glob" "$(column ratio:x '--ratio=x=cache*/inst*:1000')" = "21.8524  "

# ---- refusals ---------------------------------------------------------------
refuse 2 "--ratio=ipc needs instructions and cycles, counted in the same modes; the events are: cpu-clock" \
	report session:clock --ratio=ipc
refuse 2 "--ratio=mpki needs instructions and misses" report event:cycles --ratio=mpki
refuse 2 "--ratio: unknown word 'x'; accepted: auto, none, ipc, cpi, mpki, and [NAME=]EVENT/EVENT[:FACTOR] of these events: cycles, instructions" \
	report --ratio=x
refuse 2 "--ratio: unknown word 'cycles/nosuch'" report --ratio=cycles/nosuch
refuse 2 "--ratio '' has an empty word" report --ratio=
refuse 2 "--sort: unknown word 'nosuch'; accepted: sample, session, domain, image, symbol, task, pid, cgroup, cpu, vcpu, mode, vma, ipc, mpki:cache-misses, mpki:branch-misses, cycles" \
	report --sort=nosuch
refuse 2 "--sort takes at most 16 words" report --sort=ipc,ipc,ipc,ipc,ipc,ipc,ipc,ipc,ipc,ipc,ipc,ipc,ipc,ipc,ipc,ipc,ipc
finish
