#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The XML is valid against doc/vmopreport.xsd, whatever the names are, and adds up.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C.UTF-8
evil=${VMOP_FIXTURES:-$(pwd)/tests/fixtures}/evil-names
command -v xmllint >/dev/null || skip "no xmllint"

mkdir -p "$sessions"
"$build/tests/fixtures/make-session" --seconds=20 --load=busy "$sessions/busy.vmop"
"$build/tests/fixtures/make-session" --seconds=20 --hostname=other "$sessions/other.vmop"
"$build/tests/fixtures/make-counters" "$sessions/counters.vmop" 2>/dev/null || :
"$build/tests/fixtures/make-known-stacks" "$sessions/long.vmop" <<STACKS
1 $(head -c 65536 /dev/zero | tr '\0' L) prog:$(head -c 65536 /dev/zero | tr '\0' N) 3
1 a"b,c&lt prog:]]></symbol><!--&lt"' 40
STACKS
"$evil" sessions "$sessions"

report() {
	"$build/vmopreport" --session-dir="$sessions" "$@" 2>"$work/err"
}

# valid OPTION...: check that the report is valid, adds up and controls no terminal.
valid() {
	report "$@" -o "$work/report.xml" || fail "$*: $(cat "$work/err")"
	xmllint --noout --schema "$src/doc/vmopreport.xsd" "$work/report.xml" 2>"$work/err" ||
		fail "$*: $(head -n 5 "$work/err")"
	"$evil" check <"$work/report.xml" >"$work/why" || fail "$*: $(cat "$work/why")"
	python3 - "$work/report.xml" <<'PYTHON' || fail "$* does not add up"
import collections, sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()

def counts(element):
    sums = collections.Counter()
    for count in element.findall("count"):
        sums[count.get("class")] += int(count.text)
        sums[count.get("class"), "weight"] += int(count.get("weight"))
    return sums

def total(elements):
    return sum((counts(element) for element in elements), collections.Counter())

for image in list(root.iter("binary")) + list(root.iter("module")):
    assert counts(image) == total(image.findall("symbol")), image.get("name")
for process in root.findall("process"):
    assert counts(process) == total(process.findall("thread"))
    for thread in process.findall("thread"):
        assert counts(thread) == total(thread.findall("module"))
details = {int(one.get("id")): (int(table.get("id")), counts(one))
           for table in root.iter("symboldetails") for one in table}
for symbol in root.iter("symbol"):
    if symbol.get("detaillo"):
        mine = [details.pop(i) for i in range(int(symbol.get("detaillo")),
                                              int(symbol.get("detailhi")) + 1)]
        assert {number for number, _ in mine} == {int(symbol.get("idref"))}
        assert sum((count for _, count in mine), collections.Counter()) == counts(symbol)
assert not details, "details without a symbol"
print(len(list(root.iter("symbol"))), "symbols")
PYTHON
}

for session in busy other all long busy,other; do
	for options in "" "-d" "--by=task" "--by=task -d" "--by=domain,cpu" "--by=mode,vcpu,certainty" \
		"--by=task,cgroup,session,life -m tgid"; do
		echo "$session $options"
		# shellcheck disable=SC2086 # options are words
		valid -X $options "session:$session"
	done
done
[ ! -f "$sessions/counters.vmop" ] || valid --format=xml session:counters

echo "the symbols are those of CSV"
report -X session:busy | sed -n 's/.*<symboldata id="[0-9]*" name="\([^"]*\)".*/\1/p' |
	LC_ALL=C sort -u >"$work/xml"
report -l --format=csv session:busy | python3 -c '
import csv, html, sys
for row in csv.DictReader(sys.stdin):
    print(html.escape(row["symbol"], quote=False))' | LC_ALL=C sort -u >"$work/csv"
diff -u "$work/csv" "$work/xml" >"$work/diff" || fail "symbols differ: $(head "$work/diff")"

# The schema is no formality.
sed 's/idref="0"/idref="99999999"/' "$work/report.xml" >"$work/wrong.xml"
! xmllint --noout --schema "$src/doc/vmopreport.xsd" "$work/wrong.xml" 2>/dev/null ||
	fail "the schema accepts an id that does not exist"

report_all() {
	"$build/vmopreport" --session-dir="$sessions" "$@"
}
refuse 2 "format=xml does not go with --callgraph" report_all -X -c session:busy
refuse 2 "format=xml does not go with --tree" report_all -X --tree=callers session:busy
refuse 2 "format=xml does not go with --list-sessions" report_all --xml --list-sessions
finish
