#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC1083 # braces are arguments
# vmopcompare: joined rows and their differences, the formats read by strict readers, and bad input.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C.UTF-8

command -v python3 >/dev/null || skip "no python3"
mkdir -p "$sessions"

# rows NAME OPTION...: make a session of the rows on stdin, with blanks for tabs.
rows() {
	name=$1
	shift
	tr ' ' '\t' | "$build/tests/fixtures/make-rows" "$@" "$sessions/$name.vmop"
}

rows before --seconds=10 <<'ROWS'
host anon cg spmv.constprop.0 cpu-clock 6000 1000000
host anon cg dot cpu-clock 3000 1000000
host anon cg once cpu-clock 100 1000000
host kernel kernel clear_page cpu-clock 900 1000000
host module kvm enter cpu-clock 40 1000000
host anon cg spmv.constprop.0 instructions 8000 1000000
host anon cg dot instructions 2000 1000000
ROWS
rows after --seconds=20 --hostname=next <<'ROWS'
web anon cg spmv cpu-clock 12000 1000000
web anon cg dot cpu-clock 3000 1000000
web anon cg late cpu-clock 200 1000000
web kernel kernel clear_page cpu-clock 4000 1000000
web anon cg spmv instructions 7990 1000000
web anon cg dot instructions 2010 1000000
ROWS
rows third <<'ROWS'
host anon cg spmv cpu-clock 6010 1000000
ROWS
rows alien <<'ROWS'
host anon other main cpu-clock 10 1000000
ROWS
rows misses <<'ROWS'
host anon cg spmv misses 10 1000
ROWS
rows empty </dev/null
rows open --unfinished <<'ROWS'
host anon cg spmv cpu-clock 6000 1000000
ROWS

compare() {
	"$build/vmopcompare" --session-dir="$sessions" "$@"
}

# value SYMBOL COLUMN ARGUMENT...: print a cell of the CSV of cpu-clock.
value() {
	symbol=$1 column=$2
	shift 2
	compare --format=csv "$@" | python3 -c '
import csv, sys
for row in csv.DictReader(sys.stdin, strict=True):
    if row["event"] == "cpu-clock" and row["symbol"] == sys.argv[1]:
        print(row[sys.argv[2]])' "$symbol" "$column"
}

# ---- rows and numbers -------------------------------------------------------------------

is "rows are joined across host and guest, and with clones" "$(value spmv samples_b before after)" -eq 12000
is "the other side" "$(value spmv samples_a before after)" -eq 6000
is "kernels are one" "$(value clear_page image before after)" = "[kernel]"
is "more" "$(value clear_page change_b before after)" = more
is "new" "$(value late change_b before after)" = new
is "gone" "$(value once change_b before after)" = gone
is "a share" "$(value clear_page value_b before after)" = 20.8333
is "by time" "$(value spmv ratio_b --per=time before after)" = 1
is "noise by time" "$(value spmv change_b --per=time before after)" = noise
is "by units" "$(value spmv ratio_b --per=1,4 before after)" = 0.5
is "by an event" "$(value dot value_a --per=instructions before after)" = 0.3
is "a large number of units" "$(value spmv value_a --per=1000000000000 before after)" = 0.006
is "all of a side by an event" "$(compare --per=cpu-clock --format=csv --top=0 before after | python3 -c '
import csv, sys
print(round(sum(float(row["value_a"]) for row in csv.DictReader(sys.stdin) if row["event"] == "cpu-clock"), 4))')" = 1.0
is "three sides" "$(value spmv samples_c before after third)" -eq 6010
is "the ratio of the third" "$(value spmv ratio_c --per=1 before after third)" = 1.00167
is "rows by image" "$(compare --by=image --format=csv before after | grep -c '^cpu-clock,')" -eq 3
is "rows by task" "$(compare --by=task --format=csv before after | grep -c '^cpu-clock,task,')" -eq 1
expect 0 "cpu-clock: 10040 samples in A, 19200 in B; in s per second" compare --per=time before after
expect 0 "B: session:after: 20 s of next" compare before after
expect 0 "[3 more rows]" compare --top=3 --spec=event:cpu-clock before after
expect 0 "domain  image" compare --by=domain,symbol before before
expect 0 "not ended: still recording, or cut off" compare before open
compare --sort=symbol -n --spec=event:cpu-clock before after >"$work/out"
is "rows by name" "$(sed -n 's/.*  //; 2p' "$work/out")" = clear_page

# ---- chance -----------------------------------------------------------------------------

for seed in 1 2 3 4; do
	"$build/tests/fixtures/make-session" --seconds=30 --seed=$seed "$sessions/seed$seed.vmop" >/dev/null
done
: >"$work/chance"
for pair in "1 2" "3 4" "1 3" "2 4"; do
	compare --format=csv --per=samples "seed${pair% *}" "seed${pair#* }" | tail -n +2 >>"$work/chance"
done
is "rows of the same load" "$(wc -l <"$work/chance")" -gt 500
is "rows that seem to differ, of 100" \
	"$((100 * $(grep -cv ',noise$' "$work/chance") / $(wc -l <"$work/chance")))" -le 1

# ---- vmopreport's form ------------------------------------------------------------------

report() {
	"$build/vmopreport" --session-dir="$sessions" "$@"
}
report -l --format=csv { session:before } { session:after } >"$work/braces.csv"
is "braces give the same" "$(cut -d , -f 2- "$work/braces.csv" | sort | cksum)" = "$(compare --format=csv before after | cut -d , -f 2- | sort | cksum)"
is "common specs" "$(report -l --format=csv event:instructions { session:before } { session:after } | grep -c cpu-clock)" -eq 0
expect 0 "A: domain:web" report -l session:after '{ domain:web }' '{ domain:web time:+20s }'
expect 0 "image" report { session:before } { session:after } --per=time
refuse 2 "specs in braces do not go with --callgraph" report -c { session:before } { session:after }
refuse 2 "specs in braces do not go with --by=cpu" report --by=cpu { session:before } { session:after }
refuse 2 "'{' without a '}'" report { session:before } { session:after
refuse 2 "the option '-l' belongs outside" report { -l session:before } { session:after }
refuse 2 "a comparison needs two sides" report { session:before }
refuse 2 "--per needs { SPEC... } { SPEC... }" report --per=time session:before
refuse 2 "--sort: unknown word 'vma'" report --sort=vma { session:before } { session:after }

# ---- formats ----------------------------------------------------------------------------

compare --format=json before after >"$work/out.json"
python3 - "$work/out.json" <<'CHECK' || fail "JSON"
import json, sys
report = json.load(open(sys.argv[1]))
assert report["session"]["confidence_percent"] == 99
assert [side["side"] for side in report["sides"]] == ["A", "B"]
assert report["sides"][1]["hostname"] == "next" and report["sides"][1]["seconds"] == 20
assert [event["name"] for event in report["events"]] == ["cpu-clock", "instructions"]
row = next(row for row in report["rows"] if row["symbol"] == "spmv" and row["event"] == "cpu-clock")
assert row["ratio_low_b"] < row["ratio_b"] < row["ratio_high_b"]
assert row["low_a"] < row["value_a"] < row["high_a"]
new = next(row for row in report["rows"] if row["symbol"] == "late")
assert "ratio_b" not in new and new["ratio_low_b"] > 1 and new["value_a"] == 0
CHECK
compare --output-dir="$work/csv" before after
is "files of a directory" "$(find "$work/csv" -type f -printf "%f\n" | sort | tr '\n' ' ')" = "cpu-clock.csv instructions.csv joined.csv "
is "a file of an event" "$(sed -n 1p "$work/csv/cpu-clock.csv" | cut -d , -f 1-3)" = image,symbol,samples_a
python3 - "$work/csv" <<'CHECK' || fail "CSV files"
import csv, sys
joined = list(csv.DictReader(open(sys.argv[1] + "/joined.csv"), strict=True))
single = list(csv.DictReader(open(sys.argv[1] + "/cpu-clock.csv"), strict=True))
assert len(single) == 6 and len(joined) == 8
assert [{k: v for k, v in row.items() if k != "event"} for row in joined if row["event"] == "cpu-clock"] == single
CHECK
for width in 1 20 80 100 200; do
	compare --width=$width before after >"$work/out" || fail "--width=$width"
	grep -q "12000\|62.50" "$work/out" || fail "--width=$width has no numbers"
done
is "a line of 100 columns" "$(compare --width=100 before after | wc -L)" -le 100
is "intervals of ratios at 100 columns" "$(compare --width=100 before after | grep -c 'B / A, 99 %')" -eq 0
is "intervals of ratios at 120 columns" "$(compare --width=120 before after | grep -c 'B / A, 99 %')" -ge 1

# ---- call stacks ------------------------------------------------------------------------

stacks() {
	"$build/tests/fixtures/make-known-stacks" "$sessions/$1.vmop"
}
stacks calls <<'STACKS'
1 cg prog:main;prog:solve;prog:spmv 600
1 cg prog:main;prog:solve;lib:dot 300
1 cg prog:main;prog:old;lib:dot 100
STACKS
stacks recalls <<'STACKS'
1 cg prog:main;prog:solve.isra.0;prog:spmv 1200
1 cg prog:main;prog:solve.isra.0;lib:dot 200
1 cg prog:main;prog:<b>new&"odd";lib:dot 100
STACKS
compare --per=1 --format=flamegraph -o "$work/difference.svg" calls recalls || fail "a flame graph"
report --per=1 --format=flamegraph { session:calls } { session:recalls } >"$work/braces.svg" || fail "braces"
is "both forms draw the same boxes" "$(grep -c '^<g class' "$work/braces.svg")" -eq \
	"$(grep -c '^<g class' "$work/difference.svg")"
python3 - "$work/difference.svg" <<'CHECK' || fail "the flame graph"
import sys, xml.etree.ElementTree as tree
svg = "{http://www.w3.org/2000/svg}"
root = tree.parse(sys.argv[1]).getroot()
boxes = {}
for group in next(g for g in root.iter(svg + "g") if g.get("id") == "frames"):
    lines = group.find(svg + "title").text.split("\n")
    boxes[lines[0]] = (group.get("class").split()[0], float(group.find(svg + "rect").get("width")), lines)
assert boxes["+ spmv"][0] == "m4", boxes["+ spmv"]
assert boxes["+ spmv"][2][-1].startswith("more: B - A +"), boxes["+ spmv"]
assert "B / A 2.00 " in boxes["+ spmv"][2][-1]
assert boxes["- dot"][0].startswith("l"), boxes["- dot"]
assert boxes['+ <b>new&"odd"'][0] == "m4"
assert "- old" not in boxes and "old" not in boxes
assert abs(boxes["+ spmv"][1] / boxes["+ all"][1] - 1200 / 1500) < 0.001
text = "".join(root.itertext())
assert "coloured by its difference from A" in text
assert "not drawn: 100 samples of A in stacks that B lacks, 10.00 % of A's" in text
CHECK
if command -v xmllint >/dev/null; then
	expect 0 "" xmllint --noout "$work/difference.svg"
fi
refuse 1 "" compare --format=flamegraph before after
refuse 2 "--format=flamegraph compares two sides, not 3" compare --format=flamegraph calls recalls calls
refuse 2 "stack: needs --format=flamegraph" compare --spec=stack:main calls recalls
expect 0 "spmv" compare --format=flamegraph --spec='stack:spmv' calls recalls

# ---- names of strangers -----------------------------------------------------------------

python3 - >"$work/evil" <<'MAKE'
names = ["a,b", 'quo"te', "new\nline", "cr\rx", "\x1b[31mred", "<script>alert(1)</script>", "&amp;]]>",
         "=1+1", "tab\tx", "back\\slash", "", "(no symbols)", "[idle]", "[3 more rows]", "joined"]
raw = [n.encode() for n in names] + [b"\xff\xfe", b"\xed\xa0\x80", "\u202egnol".encode(), b"L" * 65536]
code = lambda b: "".join("%%%02x" % c for c in b)
for i, name in enumerate(raw):
    for event in ("cpu-clock", "a,\"b\n<c>"):
        print("\t".join(["host", "anon", code(b"im" + name[:60]), code(name), code(event.encode()),
                         str(100 + i), "1000"]))
MAKE
"$build/tests/fixtures/make-rows" "$sessions/evil.vmop" <"$work/evil"
sed 's/\t1000$/\t2000/' "$work/evil" | "$build/tests/fixtures/make-rows" "$sessions/evil2.vmop"
compare --format=csv evil evil2 >"$work/evil.csv" || fail "hostile names as CSV"
compare --format=json evil evil2 >"$work/evil.json" || fail "hostile names as JSON"
compare --width=80 --top=0 evil evil2 >"$work/evil.txt" || fail "hostile names as a table"
compare --output-dir="$work/evil.d" evil evil2 || fail "hostile names in a directory"
python3 - "$work" <<'CHECK' || fail "hostile names"
import csv, json, os, sys
work = sys.argv[1]
rows = list(csv.DictReader(open(work + "/evil.csv", newline=""), strict=True))
report = json.load(open(work + "/evil.json"))
assert len(rows) == len(report["rows"]) == 2 * 19, (len(rows), len(report["rows"]))
assert {row["event"] for row in rows} == {"cpu-clock", 'a,"b\\x0a<c>'}
symbols = {row["symbol"] for row in rows}
assert {"a,b", 'quo"te', "<script>alert(1)</script>"} <= symbols
assert any("\n" in row["symbol"] for row in report["rows"])
for text in (open(work + "/evil.txt", "rb").read(), open(work + "/evil.csv", "rb").read()):
    text.decode("utf-8")
    assert not any(c < 32 and c != 10 or c == 127 for c in text)
    assert "\u202e".encode() not in text
files = sorted(os.listdir(work + "/evil.d"))
assert len(files) == 3 and all(c.isalnum() or c in "-_.=" for name in files for c in name), files
for name in files:
    list(csv.DictReader(open(work + "/evil.d/" + name, newline=""), strict=True))
CHECK

# ---- bad input --------------------------------------------------------------------------

refuse 1 "has no row in common with the others" compare before alien
refuse 1 "no event is the same: A has cpu-clock, instructions; B has misses" compare before misses
refuse 1 "B (session:empty): the session holds no samples yet" compare before empty
refuse 1 "no samples of the session match" compare before 'after domain:host'
refuse 3 "no session 'nosuch'" compare before nosuch
refuse 2 "a comparison needs two sides or more" compare before
refuse 2 "a side is a session or a list of specs, not ''" compare before ''
refuse 2 "unknown profile spec 'nosuch:x'" compare before 'after nosuch:x'
refuse 2 "at most 16 sides" compare $(seq 17)
for per in 0 -1 '' '1,' 1e999; do
	refuse 2 "--per=$per: accepted: samples, time, EVENT, or positive numbers" compare --per="$per" before after
done
refuse 2 "--per takes one number, or one for each of the 2 sides, not 3" compare --per=1,2,3 before after
refuse 2 "A (session:before) has no such event" compare --per=misses before after
refuse 2 "--top takes a number" compare --top=-1 before after
refuse 2 "--top takes a number" compare --top=1000000000000 before after
expect 0 "late" compare --top=0 before after
refuse 2 "--sort: unknown word 'size'" compare --sort=size before after
refuse 2 "unknown format 'xml'; accepted: table, csv, json, flamegraph" compare --format=xml before after
refuse 2 "--output-dir does not go with --format" compare --output-dir="$work/x" --format=csv before after
refuse 3 "No such file or directory" compare -o "$work/nosuch/file" before after
refuse 3 "No such file or directory" compare --output-dir="$work/nosuch/dir" before after
refuse 2 "not a directory" compare --output-dir="$work/evil" before after
[ ! -e /dev/full ] || refuse 3 "No space left" compare -o /dev/full before after
cp "$sessions/before.vmop" "$sessions/bad.vmop"
printf 'rubbish' | dd of="$sessions/bad.vmop" conv=notrunc 2>/dev/null
refuse 3 "bad" compare bad after

# Every option is in the manual.
compare --help | grep -o -e '--[a-z-]*' | sort -u | while read -r option; do
	grep -qE "^\.It Fl ([^ ]+ , )?(.*, )?-?${option#-}( |$)" "$build/man/vmopcompare.1" || echo "$option"
done >"$work/unexplained"
is "options without a manual" "$(tr '\n' ' ' <"$work/unexplained")" = ""

# The same session on both sides: all is noise.
is "a session and itself" "$(compare --format=csv before before | grep -c ',noise$')" -eq 7
finish
