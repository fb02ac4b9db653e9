#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Reports of call stacks: callgraph, trees, inclusive totals and filters, of sessions whose stacks are
# known.  Flat reports of these sessions are as if they had no stacks.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C

mkdir -p "$sessions"
make_stacks=$build/tests/fixtures/make-known-stacks

report() {
	"$build/vmopreport" --session-dir="$sessions" "$@"
}

# rows OPTION...: print the rows of the table, blanks squeezed.
rows() {
	report -n --width=0 "$@" 2>"$work/err" | sed 1d | tr -s ' ' | sed 's/^ //'
}

# csv COLUMN,... OPTION...: print these columns of the CSV.
csv() {
	names=$1
	shift
	report --format=csv "$@" 2>"$work/err" | awk -F, -v names="$names" '
		NR == 1 { n = split(names, want, ",")
			for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ for (i = 1; i <= n; i++) printf "%s%s", $(at[want[i]]), i < n ? "," : "\n" }'
}

# row PATTERN COLUMN,... OPTION...: print these columns of the rows of the symbol PATTERN.
row() {
	symbol=$1 columns=$2
	shift 2
	csv "symbol,$columns" "$@" | sed -n "s/^$symbol,//p"
}

# Recursion, shared prefixes, kernel frames, two domains, each kind of end.
known() {
	cat <<'STACKS'
1 a prog:main;prog:work;lib:inner 60
1 a prog:main;prog:fib;prog:fib;prog:fib 30
1 a prog:main;prog:work;kernel:sys_read;kernel:copy 10
3 a prog:deep;lib:inner 5
2 b prog:main;prog:fib;prog:fib;lib:inner 4
none b prog:main 3
1 b guest:start;guest:hot 20
4 b prog:?0x90000;prog:work 2
STACKS
}
known | "$make_stacks" "$sessions/known.vmop"
known | sed 's/^[^ ]*/none/' | "$make_stacks" "$sessions/flat.vmop"
{
	known
	echo "dangling b prog:main;prog:lost;prog:work 6"
} | "$make_stacks" "$sessions/damaged.vmop"
known | "$make_stacks" --hostname=other --start=86400 "$sessions/other.vmop"

# ---- losses: of the whole session also in a report of a part of its time --------------
cp "$sessions/known.vmop" "$sessions/lossy.vmop"
python3 - "$sessions/lossy.vmop" <<'PYTHON' || fail "no loss was added"
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    db.execute("INSERT INTO loss SELECT min(interval.id), 'lost', 0, min(place.event), 3 FROM interval, place")
PYTHON
for format in --callgraph --children --tree=callers --tree=callees --format=folded --format=pprof \
	--format=flamegraph --format=html; do
	for part in "" time:-1h..; do
		said="losses: lost 3"
		[ -z "$part" ] || said="$said (in the whole session)"
		# shellcheck disable=SC2086 # no argument without a part
		"$build/vmopreport" --session-dir="$sessions" session:lossy $part "$format" \
			>"$work/page" 2>"$work/err" || fail "$format $part: $(cat "$work/err")"
		grep -qF "$said" "$work/page" "$work/err" || fail "$format $part: no '$said'"
		[ -n "$part" ] || ! grep -qF "in the whole session)" "$work/err" || fail "$format: in the whole"
	done
done
is "html: its list of losses is marked" "$(grep -c '"is_of_part":true' "$work/page")" -eq 1

# ---- flat reports ------------------------------------------------------------
for options in "" -l --by=task --by=domain "-l --by=mode,task" "-l -d" "-l -t 5"; do
	# shellcheck disable=SC2086 # words
	rows session:known $options >"$work/known"
	# shellcheck disable=SC2086
	rows session:flat $options >"$work/flat"
	is "flat: $options: not empty" "$(wc -l <"$work/flat")" -ge 2
	cmp "$work/known" "$work/flat" || fail "stacks change the report $options"
done

# ---- inclusive totals: recursion counts once -----------------------------------
is "--children: main" "$(row main samples,total_samples session:known -l --children)" = 3,107
is "--children: recursion" "$(row fib samples,total_samples session:known -l --children)" = 30,34
is "--children: only called" "$(row sys_read samples,total_samples session:known -l --children)" = 0,10
is "--children: a leaf" "$(row inner samples,total_samples session:known -l --children)" = 69,69
is "--children: sorted by total" "$(csv symbol session:known -l --children | head -n 1)" = main
is "--children: images" "$(csv image,samples,total_samples session:known --children | sort | tr '\n' ' ')" = \
	"/opt/stacks/lib.so,69,69 /opt/stacks/prog,35,114 [guest g1 kernel],20,20 [kernel],10,10 "
is "--children: tasks" "$(csv task,samples,total_samples session:known --by=task --children domain:host | sort | tr '\n' ' ')" = \
	"a,105,105 b,9,9 "
is "--children: modes" "$(csv mode,samples,total_samples session:known --by=mode --children | sort | tr '\n' ' ')" = \
	"kernel,30,30 user,104,114 "
is "--children: tasks and symbols" "$(row main task,total_samples session:known --by=task,symbol --children | sort | tr '\n' ' ')" = \
	"a,100 b,7 "
is "--children: threshold is of the total" "$(csv symbol session:known -l --children -t 20 | sort | tr '\n' ' ')" = \
	"fib inner main work "

# ---- callgraph -------------------------------------------------------------------
rows session:known -c >"$work/graph"
block() { # block SYMBOL: the block of that function
	awk -v want="$1" 'BEGIN { RS = "" } {
		n = split($0, lines, "\n")
		for (i = 1; i <= n; i++) {
			m = split(lines[i], words, " ")
			if (words[m] == want && m == 7) { print; exit }
		}
	}' "$work/graph"
}
cat >"$work/expected" <<'EXPECTED'
34 100.00 host prog main
34 100.00 host prog fib
34 25.37 30 22.39 host prog fib
34 100.00 host prog fib
4 11.76 host lib.so inner
EXPECTED
block fib >"$work/got"
diff "$work/expected" "$work/got" || fail "--callgraph: the block of fib"
cat >"$work/expected" <<'EXPECTED'
4 3.74 [too deep]
107 79.85 3 2.24 host prog main
70 65.42 host prog work
34 31.78 host prog fib
EXPECTED
block main >"$work/got"
diff "$work/expected" "$work/got" || fail "--callgraph: the block of main"
is "--callgraph: one block a function" \
	"$(csv role,function session:known -c | grep -c '^function,')" -eq 10
is "--callgraph: --top" "$(csv role session:known -c --top=2 | grep -c '^function')" -eq 2
is "--callgraph: most samples first" "$(csv role,symbol session:known -c | sed -n 's/^function,//p' | head -n 1)" = inner
is "--callgraph: sorted by symbol" \
	"$(csv role,symbol session:known -c --sort=symbol | sed -n 's/^function,//p' | head -n 2 | tail -n 1)" = copy
is "--callgraph: one function" "$(csv role,symbol session:known -c -i fib | grep -c '^function,fib$')" -eq 1
is "--callgraph: threshold" "$(csv role session:known -c -t 50 | grep -c '^function')" -eq 3

# ---- trees ------------------------------------------------------------------------
cat >"$work/expected" <<'EXPECTED'
103 76.87 3 2.24 host prog - main
70 52.24 0 0.00 host prog - work
60 44.78 60 44.78 host lib.so - inner
10 7.46 0 0.00 host [kernel] - sys_read
10 7.46 10 7.46 host [kernel] copy
30 22.39 0 0.00 host prog - fib
30 22.39 0 0.00 host prog fib
30 22.39 30 22.39 host prog fib
20 14.93 0 0.00 g1 [guest g1 kernel] - start
20 14.93 20 14.93 g1 [guest g1 kernel] hot
EXPECTED
rows session:known --tree=callers -t 5 | sed '$d' >"$work/got"
diff "$work/expected" "$work/got" || fail "--tree=callers"
is "--tree: a default threshold" "$(rows session:known --tree=callers | grep -c '\[too deep\]')" -eq 1
is "--tree=callees: one caller is deep" \
	"$(csv depth,symbol,samples session:known --tree=callees | grep -A2 '^0,inner,69' | tail -n 1)" = 2,main,60
is "--tree: by task" "$(csv depth,kind,symbol,samples session:known --tree=callers --by=task domain:host | grep '^0,' | tr '\n' ' ')" = \
	"0,task,a,105 0,task,b,9 "

# ---- filters -----------------------------------------------------------------------
sum() {
	csv samples "$@" | awk '{ n += $1 } END { print n + 0 }'
}
is "stack: any function" "$(sum session:known stack:work)" -eq 72
is "stack: and an image's samples" "$(sum session:known stack:work lib.so)" -eq 60
is "--caller" "$(sum session:known --caller=work)" -eq 70
is "--caller: a glob" "$(sum session:known -l '--caller=wo*,fi?')" -eq 104
is "--callee" "$(sum session:known --callee=inner)" -eq 69
is "--caller and --callee" "$(sum session:known --caller=work --callee=inner)" -eq 60
is "stack: in a tree" "$(csv symbol session:known --tree=callers stack:sys_read | tr '\n' ' ')" = \
	"main work sys_read copy "
refuse 1 "no samples of the session match" report session:known stack:absent

# ---- what stacks lack -----------------------------------------------------------------
expect 0 "stacks: 91.6 % complete, 3.1 % too deep, 3.8 % copy too small, 1.5 % no unwind information; 3 samples without a stack" \
	report session:known -c
report session:damaged --format=json -c >"$work/json"
python3 - "$work/json" <<'PYTHON' || fail "facts of stacks in JSON"
import json, sys
report = json.load(open(sys.argv[1]))
ends = {item["end"]: item["samples"] for item in report["stacks"]}
assert ends["complete"] == 120 and ends["depth_limit"] == 4 and ends["copy_short"] == 5, ends
assert ends["no_cfi"] == 2 and ends["damaged"] == 6 and ends["torn"] == 0, ends
assert report["session"]["samples_without_stack"] == 3
assert any(row["symbol"] == "[damaged]" and row["samples"] == 6 for row in report["rows"])
PYTHON
expect 0 "[damaged]" report session:damaged --tree=callers
refuse 1 "no call stacks in this session; record with --callgraph" report session:flat -c
refuse 1 "no call stacks in this session; record with --callgraph" report session:flat -l --children
refuse 1 "no call stacks in this session; record with --callgraph" report session:flat stack:main

# ---- several sessions ------------------------------------------------------------------
is "two sessions" "$(row main samples,total_samples session:known,other -l --by=symbol --children domain:fixture)" = 3,107
is "two sessions, one without stacks" \
	"$(csv symbol,samples session:known,flat --tree=callers -t 0 | grep -c .)" -ge 10

# ---- refusals ---------------------------------------------------------------------------
refuse 2 "--callgraph does not go with --by" report session:known -c --by=task
refuse 2 "--callgraph does not go with --details" report session:known -c -d
refuse 2 "--tree does not go with --sort" report session:known --tree=callers -s symbol
refuse 2 "--tree: unknown word 'up'; accepted: callers, callees" report session:known --tree=up

# ---- narrow -----------------------------------------------------------------------------
for options in -c --tree=callers --tree=callees "-l --children"; do
	# shellcheck disable=SC2086
	report session:damaged $options --width=80 >"$work/narrow"
	is "80 columns: $options" "$(awk 'length > max { max = length } END { print max }' "$work/narrow")" -le 80
done
exit $failed
