#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A file, process, guest, module, cgroup or function whose name is one of vmop's own words does not
# look like that word, in any report and format, and specs select either.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
evil=${VMOP_FIXTURES:-$(pwd)/tests/fixtures}/evil-names
export LC_ALL=C TZ=UTC
mkdir -p "$sessions"
"$evil" lookalikes "$sessions/current.vmop"

# report OPTION...: write a report to $work/out.
report() {
	"$build/vmopreport" --session-dir="$sessions" "$@" >"$work/out" 2>"$work/err"
}

# has SAMPLES NAME FIELD: check that the only row with that many samples has the name there.
has() {
	got=$(awk -F, -v samples="$1" -v field="$3" '
		NR == 1 { for (i = 1; i <= NF; i++) { if ($i == field) at = i; if ($i == "samples") n = i } }
		NR > 1 && $n == samples { print $at }' "$work/csv")
	is "the $3 of $1 samples" "$got" = "$2"
}

# only SAMPLES SPEC...: check the number of samples that the spec selects.
only() {
	want=$1
	shift
	report --format=csv --by=domain,image "$@" || fail "$* selects nothing: $(cat "$work/err")"
	is "samples of $*" "$(awk -F, 'NR > 1 { sum += $1 } END { print sum + 0 }' "$work/out")" \
		-eq "$want"
}

# same FIELD OPTION...: check that table and JSON show the names of CSV, and that all rows differ.
same() {
	field=$1
	shift
	report --format=csv "$@" && cp "$work/out" "$work/csv"
	is "rows of $* that look the same" \
		"$(cut -d, -f 4- "$work/csv" | sort | uniq -d | wc -l)" -eq 0
	at=$(head -n 1 "$work/csv" | tr ',' '\n' | grep -nx "$field" | cut -d: -f1)
	tail -n +2 "$work/csv" | cut -d, -f "$at" | sort >"$work/names"
	report --format=json "$@"
	sed -n "s/^   \"$field\": \"\(.*\)\",\{0,1\}\$/\1/p" "$work/out" | sort >"$work/json"
	cmp "$work/names" "$work/json" || fail "$field in JSON: $(cat "$work/json")"
	report --format=table --no-header "$@"
	while read -r name; do
		case ${name##*/} in
		\[* | \'*) shown=$name ;;
		*) shown=${name##*/} ;;
		esac
		grep -qF -e "  $shown" "$work/out" || fail "no $name in $(cat "$work/out")"
	done <"$work/names"
}

echo "images"
same image --by=domain,image
has 20 "[guest db kernel]" image
has 5 "'[no mapping]'" image
has 6 "'[kernel]'" image
has 8 "['kernel']" image
has 9 "[virtio]" image
is "rows of [kernel]" "$(grep -c ',\[kernel\]$' "$work/csv")" -eq 1
has 1000 "[kernel]" image
report --by=image
is "rows of [kernel] in the table" "$(grep -c '  \[kernel\]$' "$work/out")" -eq 1
is "rows of the file" "$(grep -c '  /tmp/\[kernel\]$' "$work/out")" -eq 1
only 1000 "image:[kernel]"
only 10 "image:/tmp/\\[kernel]"
only 16 "image:'[kernel]'"

echo "symbols"
same symbol --by=domain,image,symbol
has 5 "'(no symbols)'" symbol
has 6 "'[idle]'" symbol
has 7 "f" symbol

echo "tasks"
same task --by=task domain:host
has 1000 "[idle]" task
has 1 "'[idle]'" task
has 2 "[exited]" task
has 3 "'[exited]'" task
has 4 "'[none]'" task
only 1000 "task:[idle]"
only 1 "task:'[idle]'"

echo "cgroups"
report --format=csv --by=cgroup domain:host && cp "$work/out" "$work/csv"
has 1 "'[unknown]'" cgroup
has 1904 "[unknown]" cgroup

echo "domains"
same domain --by=domain
has 35 "db (domain 1)" domain
has 20 "db (domain 2)" domain
has 11 "'db #2'" domain
has 12 "'host'" domain
has 13 "'xen'" domain
has 14 "'[unknown]'" domain
has 950 "xen" domain
has 1910 "host" domain
only 1910 domain:host
only 12 "domain:'host'"
only 55 domain:db
only 20 "domain:db (domain 2)"
only 11 "domain:'db #2'"
only 20 domain:00000000-0000-4000-8000-000000000002
only 950 domain:xen
only 13 "domain:'xen'"
finish
