#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Charts of sessions: each kind in each format is opened by other programs; the numbers are those of
# the report; hostile names stay text; every refusal.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C.UTF-8

mkdir -p "$sessions"
"$build/tests/fixtures/make-session" "$sessions/current.vmop" >/dev/null
"$build/tests/fixtures/make-session" --seconds=3600 --roll-up "$sessions/hour.vmop" >/dev/null
"$build/tests/fixtures/make-session" --seconds=1000 --roll-up "$sessions/mixed.vmop" >/dev/null

draw() {
	"$build/vmopreport" --session-dir="$sessions" "$@" 2>"$work/err"
}

if ! draw --chart=bars -o "$work/try.svg" && grep -q 'built without' "$work/err"; then
	skip "vmop is built without cairo"
fi
for tool in xmllint pdftotext pdfinfo gs rsvg-convert python3; do
	command -v $tool >/dev/null || skip "$tool is missing"
done

# decode_png FILE: check its chunks and sums, and print its size.
decode_png() {
	python3 - "$1" <<'PYTHON'
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
at, pixels, kinds = 8, b"", []
while at < len(data):
    length, kind = struct.unpack(">I4s", data[at:at + 8])
    body = data[at + 8:at + 8 + length]
    assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(kind + body)
    kinds.append(kind)
    if kind == b"IHDR":
        width, height, depth, color = struct.unpack(">IIBB", body[:10])
    if kind == b"IDAT":
        pixels += body
    at += 12 + length
assert kinds[0] == b"IHDR" and kinds[-1] == b"IEND" and b"tIME" not in kinds
assert depth == 8 and color == 2
assert len(zlib.decompress(pixels)) == height * (1 + 3 * width)
print("%dx%d" % (width, height))
PYTHON
}

# words FILE: print the text of a PDF in one line.
words() {
	pdftotext -layout "$1" - | tr -s ' \n\f' ' '
}

has() {
	case $2 in
	*"$3"*) echo "$1: has '$3'" ;;
	*) fail "$1: lacks '$3': $2" ;;
	esac
}

# ---- every kind in every format ----------------------------------------------
for kind in bars bubbles timeline heat; do
	by=
	[ $kind = heat ] || by=--by=image
	for format in svg png pdf eps; do
		file=$work/$kind.$format
		# shellcheck disable=SC2086 # no word if it is empty
		draw --chart=$kind $by -o "$file" || fail "$kind.$format: $(cat "$work/err")"
		# shellcheck disable=SC2086 # likewise
		draw --chart=$kind $by --chart-format=$format >"$work/again" || fail "$kind.$format again"
		cmp -s "$file" "$work/again" || fail "$kind.$format: two runs differ"
		case $format in
		svg)
			xmllint --noout "$file" || fail "$file is not well-formed"
			rsvg-convert "$file" -o "$work/svg.png" || fail "$file cannot be drawn"
			;;
		png) decode_png "$file" >/dev/null || fail "$file cannot be decoded" ;;
		pdf) pdfinfo "$file" | grep -q '^Pages: *1$' || fail "$file has not one page" ;;
		eps)
			gs -q -dSAFER -dNOPAUSE -dBATCH -sDEVICE=nullpage "$file" >"$work/gs" 2>&1 ||
				fail "$file: $(cat "$work/gs")"
			! grep -q CreationDate "$file" || fail "$file has a date"
			;;
		esac
	done
	text=$(words "$work/$kind.pdf")
	for fact in 'event: cpu-clock' 'unit: ' '120,000 samples' 'losses: none' 'session current of fixture'; do
		has $kind "$text" "$fact"
	done
done
has "time of a PDF" "$(pdfinfo "$work/bars.pdf" | grep CreationDate)" 'Nov 14 22:14:00 2023'

# ---- numbers ------------------------------------------------------------------
draw -l --chart=bars -o "$work/rows.pdf"
text=$(words "$work/rows.pdf")
share=$(draw -l --format=csv | awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["symbol"] == "vmop_fixture_hot" { printf "%.3g", $at["percent"] }')
has shares "$text" " $share"
has functions "$text" vmop_fixture_hot
draw -l --chart=bubbles -o "$work/counts.pdf"
has circles "$(words "$work/counts.pdf")" "A circle's area is its value"
draw --by=domain --chart=bars -o "$work/bill.pdf"
text=$(words "$work/bill.pdf")
for word in user kernel hypervisor VMM host g1 g2; do
	has bill "$text" "$word"
done

# Twelve domains have their names; of thirteen, the two smallest are summed.
for n in 12 13; do
	awk -v n=$n 'BEGIN { OFS = "\t"
		for (d = 1; d <= n; d++)
			print d == 1 ? "host" : "guest-" d, "kernel", "kernel", "work", "cpu-clock", 100 - d, 1000000 }' |
		"$build/tests/fixtures/make-rows" "$sessions/many-$n.vmop"
	draw -l --chart=bars session:many-$n -o "$work/many.pdf"
	text=$(words "$work/many.pdf")
	has "$n domains" "$text" guest-11
	case $n$text in
	12*'all others'* | 13*guest-12*) fail "$n domains: $text" ;;
	12*guest-12* | 13*'all others'*) ;;
	*) fail "$n domains: $text" ;;
	esac
done

# ---- time ---------------------------------------------------------------------
draw --chart=heat session:hour -o "$work/hour.pdf"
text=$(words "$work/hour.pdf")
has hour "$text" 'a column: 10m after the start of the session, a row: 1m within it'
has hour "$text" ' 2000 '
draw --chart=heat session:hour time:-5m.. -o "$work/end.pdf"
has 'last minutes' "$(words "$work/end.pdf")" 'a column: 10s after the start of the session, a row: 1s within it'
draw --chart=timeline session:hour -o "$work/line.pdf"
text=$(words "$work/line.pdf")
has timeline "$text" +30m
has timeline "$text" 'losses: lost 36'
for kind in heat timeline; do
	draw --chart=$kind session:mixed -o "$work/mixed.pdf"
	has "mixed $kind" "$(words "$work/mixed.pdf")" 'stored by intervals of up to 1m'
done

# ---- sizes ----------------------------------------------------------------------
draw -l --chart=bars --chart-size=640x300 -o "$work/small.png"
is "size of a PNG" "$(decode_png "$work/small.png")" = 640x300
for top in 0 1 4294967295; do
	draw -l --chart=bars --top=$top -o "$work/top.pdf" || fail "--top=$top: $(cat "$work/err")"
done

# ---- hostile names ----------------------------------------------------------------
"$build/tests/fixtures/make-known-stacks" "$sessions/evil.vmop" <<STACKS
1 </g> prog:</title></svg><script>alert(1)</script>;prog:]]>&lt&\"' 40
1 web prog:$(printf 'tab\tesc\033bad\377surrogate\355\240\200nonchar\357\277\277rtl\342\200\256') 40
STACKS
for kind in bars bubbles timeline; do
	draw -l --chart=$kind session:evil -o "$work/evil.svg" || fail "evil $kind: $(cat "$work/err")"
	xmllint --noout "$work/evil.svg" || fail "evil.svg of $kind is not well-formed"
	! grep -qiE '<(script|a|image|foreignObject)[ >]|javascript:' "$work/evil.svg" ||
		fail "evil.svg of $kind has an element of a name"
	draw -l --chart=$kind session:evil -o "$work/evil.pdf"
	has "evil $kind" "$(words "$work/evil.pdf")" '\xff'
done
for name in symbol image domain event hostname loss; do
	rm -f "$sessions/long.vmop"
	"$build/tests/fixtures/make-hostile" long-$name 65536 "$sessions/long.vmop" || fail "no long $name"
	for kind in bars bubbles timeline; do
		draw -l --chart=$kind session:long -o "$work/long.svg" || fail "long $name: $(head -c 500 "$work/err")"
		xmllint --huge --noout "$work/long.svg" || fail "$kind of a long $name is not well-formed"
	done
done

# ---- refusals ---------------------------------------------------------------------
refused() {
	wanted=$1 text=$2
	shift 2
	expect "$wanted" "$text" "$build/vmopreport" --session-dir="$sessions" "$@"
}
refused 2 'accepted: bars' --chart=pie -o "$work/x.svg"
refused 2 'suffix' --chart=bars -o "$work/x.txt"
refused 2 'suffix' --chart=bars
refused 2 'needs --chart' --chart-size=800x600
refused 2 'WIDTHxHEIGHT' --chart=bars --chart-size=0x0 -o "$work/x.svg"
refused 2 'WIDTHxHEIGHT' --chart=bars --chart-size=-1x600 -o "$work/x.svg"
refused 2 'WIDTHxHEIGHT' --chart=bars --chart-size=1000000000000x600 -o "$work/x.svg"
refused 2 'does not go with --format' --chart=bars --format=csv -o "$work/x.svg"
refused 2 'does not go with' --chart=bars --tree=callers -o "$work/x.svg"
refused 2 'heat map' --chart=heat -l -o "$work/x.svg"
refused 2 '--top' --chart=bars --top=1000000000000 -o "$work/x.svg"
refused 2 '--top' --chart=bars --top=-1 -o "$work/x.svg"
refused 1 'no samples' --chart=heat time:2001-01-01 -o "$work/x.svg"
refused 3 '' --chart=bars -o "$work/no-folder/x.svg"
refused 3 'No space left' --chart=bars --chart-format=pdf -o /dev/full

# ---- the module that draws ----------------------------------------------------------
if [ -e "$build/.libs/vmop_charts.so" ]; then
	! ldd "$build/vmopreport" | grep -q cairo || fail "a report without a chart loads cairo"
	mkdir "$work/bin" "$work/bin/.libs"
	cp "$build/vmopreport" "$work/bin"
	module=$work/bin/.libs/vmop_charts.so
	from_copy() {
		expect "$1" "$2" "$work/bin/vmopreport" --session-dir="$sessions" --chart=bars -o "$work/copy.svg"
		[ "$1" -eq 0 ] || [ ! -e "$work/copy.svg" ] || fail "a chart without the module"
	}
	from_copy 3 "charts need $module: No such file"
	cp "$build/.libs/vmop_charts.so" "$module"
	chmod 757 "$module"
	from_copy 3 'is not loaded, because another user'
	chmod 755 "$module"
	if [ "$(id -u)" -eq 0 ]; then
		chown 65534 "$module"
		from_copy 3 'is not loaded, because another user'
		chown 0 "$module"
	fi
	# The module's version stands in it as an array of 32 bytes.
	python3 - "$module" <<'PYTHON' || fail "no version in the module"
import re, sys
data = open(sys.argv[1], "rb").read()
changed = re.sub(rb"(?<=\0)\d+\.\d+\.\d+(?=\0{20})", lambda found: found[0][:-1] + b"x", data)
open(sys.argv[1], "wb").write(changed)
sys.exit(changed == data)
PYTHON
	from_copy 3 'is of another version'
	printf 'no ELF' >"$module"
	from_copy 3 "charts need $module"
	cp "$build/.libs/vmop_charts.so" "$module"
	from_copy 0 ''
fi
finish
