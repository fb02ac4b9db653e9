#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Flame graphs are well-formed SVG, whatever the names are; they show every sample and stay below
# 2 MB.  Their script works in a browser, if there is one.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C

mkdir -p "$sessions"
make_stacks=$build/tests/fixtures/make-known-stacks
"$make_stacks" "$sessions/known.vmop" <<STACKS
1 web prog:main;prog:serve;prog:parse;lib:memchr 40
1 web prog:main;prog:serve;prog:render;kernel:entry;kernel:mmap 40
3 web prog:main;prog:parse 10
1 qemu guest:start_kernel;guest:halt 10
STACKS
"$make_stacks" "$sessions/evil.vmop" <<STACKS
1 </g> prog:</title></svg><script>alert(1)</script>;prog:]]>&lt&\"' 40
1 web prog:$(printf 'tab\tesc\033bad\377surrogate\355\240\200nonchar\357\277\277rtl\342\200\256') 40
1 $(head -c 65536 /dev/zero | tr '\0' L) prog:$(head -c 65536 /dev/zero | tr '\0' N) 3
STACKS

# A minute of a busy host: tens of thousands of stacks.
"$build/tests/fixtures/make-stacks" 60 2000 "$sessions/wide.vmop" >"$work/out"

draw() {
	"$build/vmopreport" --session-dir="$sessions" --format=flamegraph -o "$work/$1.svg" \
		"session:$1" 2>"$work/err" || fail "$1: $(cat "$work/err")"
}

for session in known evil wide; do
	draw "$session"
	echo "well-formed: $session"
	python3 - "$work/$session.svg" <<'PYTHON' || fail "$session.svg is not as it should be"
import sys, xml.etree.ElementTree as tree
svg = "{http://www.w3.org/2000/svg}"
root = tree.parse(sys.argv[1]).getroot()
boxes = root.findall("./%sg[@id='frames']/%sg" % (svg, svg))
known = {svg + name for name in "svg title style rect g text script".split()}
assert {element.tag for element in root.iter()} <= known
assert len(list(root.iter(svg + "script"))) == 1
ends = {}
for box in boxes:
    rect, text = box.find(svg + "rect"), box.find(svg + "text")
    x, y, width = (float(rect.get(name)) for name in ("x", "y", "width"))
    assert x >= ends.get(y, 10) - 0.001, "boxes overlap"
    ends[y] = x + width
    if text is not None:
        assert 3 + 7.2 * len(text.text) <= width, "a name leaves its box"
        assert all(ord(c) >= 32 for c in text.text)
assert boxes[0].find(svg + "title").text.startswith("all\n")
lines = [text.text for text in root.findall("./%sg[@id='head']/%stext" % (svg, svg))]
for part in ("session ", "samples", "losses: none", "stacks: ", "widths: weight of cpu-clock (ns)"):
    assert any(part in line for line in lines), part
PYTHON
	[ "$(wc -c <"$work/$session.svg")" -lt 2000000 ] || fail "$session.svg is too large"
done
grep -q 'frames are too small to show' "$work/wide.svg" || fail "wide.svg is not cut"

echo "widths are weights, not samples"
"$build/tests/fixtures/make-known-stacks" "$sessions/weights.vmop" <<'STACKS'
1 web prog:main;prog:fast 400@10
1 web prog:main;prog:slow 1000@3
STACKS
draw weights
python3 - "$work/weights.svg" <<'PYTHON' || fail "weights.svg does not show weights"
import sys, xml.etree.ElementTree as tree
svg = "{http://www.w3.org/2000/svg}"
width = {}
for box in tree.parse(sys.argv[1]).getroot().findall("./%sg[@id='frames']/%sg" % (svg, svg)):
    width[box.find(svg + "title").text.split("\n")[0]] = float(box.find(svg + "rect").get("width"))
print(width)
assert abs(width["fast"] / width["main"] - 4 / 7) < 0.01
assert abs(width["slow"] / width["main"] - 3 / 7) < 0.01
PYTHON

for browser in chromium chromium-browser google-chrome ''; do
	[ -z "$browser" ] || ! command -v "$browser" >/dev/null || break
done
if [ -z "$browser" ]; then
	[ "$failed" -eq 0 ] || exit 1
	skip "no chromium, so the script in the picture did not run"
fi
# A second script in the picture uses it as a user does, and leaves its findings in the document.
sed -e '/^<\/svg>$/d' "$work/known.svg" >"$work/run.svg"
{
	echo '<script><![CDATA['
	cat "$src/tests/integration/flamegraph-check.js"
	echo ']]></script></svg>'
} >>"$work/run.svg"
"$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$work/browser" \
	--dump-dom "file://$work/run.svg" >"$work/dom" 2>"$work/err" ||
	fail "$browser: $(tail -n 3 "$work/err")"
grep -q '>checked: all is well<' "$work/dom" || fail "$(grep -o '>checked:[^<]*' "$work/dom")"
exit $failed
