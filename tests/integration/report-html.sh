#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The HTML page is one well-formed file below 2 MB that loads nothing, whatever the names are.  Its
# search, zoom, sorting and choice of time work in a browser, if there is one.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C.UTF-8
evil=${VMOP_FIXTURES:-$(pwd)/tests/fixtures}/evil-names
fixtures=$build/tests/fixtures

mkdir -p "$sessions"
"$fixtures/make-known-stacks" "$sessions/known.vmop" <<'STACKS'
1 web prog:main;prog:serve;prog:parse;lib:memchr 40
1 web prog:main;prog:serve;prog:render;kernel:entry;kernel:mmap 40
3 web prog:main;prog:parse 10
1 qemu guest:start_kernel;guest:halt 10
STACKS
"$fixtures/make-known-stacks" "$sessions/markup.vmop" <<STACKS
1 </g> prog:</title></style></script><script>wrong.push('xss')</script>;prog:<!--;prog:]]>&lt&\"' 40
1 <img> prog:$(printf 'tab\tesc\033bad\377surrogate\355\240\200nonchar\357\277\277rtl\342\200\256') 40
1 $(head -c 65536 /dev/zero | tr '\0' L) prog:$(head -c 65536 /dev/zero | tr '\0' N) 3
1 a\${b} prog:<b>bold;prog:\`\${alert(1)}\`;prog:\\\\u003cb\\\\u003e 5
STACKS
"$fixtures/make-session" --seconds=300 --load=busy "$sessions/busy.vmop"
"$fixtures/make-session" --seconds=90 "$sessions/flat.vmop"
# The daemon of a busy host is late: intervals last longer than the timeline's bars.
"$fixtures/make-session" --seconds=36 --interval-ms=1200 "$sessions/late.vmop"
"$fixtures/make-stacks" 60 2000 "$sessions/wide.vmop" >"$work/out"
"$evil" sessions "$sessions"

for session in known markup busy flat late wide all; do
	echo "well-formed: $session"
	"$build/vmopreport" --session-dir="$sessions" --format=html -o "$work/$session.html" \
		"session:$session" 2>"$work/err" || fail "$session: $(cat "$work/err")"
	[ "$(wc -c <"$work/$session.html")" -lt 2000000 ] || fail "$session.html is too large"
	"$evil" check <"$work/$session.html" >"$work/why" || fail "$session: $(cat "$work/why")"
	python3 - "$work/$session.html" <<'PYTHON' || fail "$session.html is not as it should be"
import html.parser, json, sys

class Parser(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.open, self.data, self.attributes = [], [], [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, text):
        if self.open and self.open[-1] == "script":
            self.data.append(text)

    def handle_comment(self, text):
        raise ValueError("a comment")

parser = Parser()
text = open(sys.argv[1], encoding="utf-8").read()
parser.feed(text)
parser.close()
assert not parser.open
assert set(parser.tags) == set("html head meta title style body main h1 noscript p script".split())
assert parser.attributes == set("lang charset name content http-equiv type id".split())
assert parser.tags.count("script") == 5
for word in ("http://", "https://", "url(", "@import", "innerHTML", "insertAdjacent", "eval("):
    assert text.replace("http://www.w3.org/2000/svg", "").find(word) < 0, word
data = json.loads("".join(parser.data[:1]) or parser.data[0])
event = data["events"][0]
assert "<" not in parser.data[0]
step = 3 if event["weight_unit"] else 2

def samples(times):
    assert times[::step] == sorted(set(times[::step]))
    assert all(0 <= span < event["spans"] for span in times[::step])
    return sum(times[1::step])

all_samples = event["samples"]
assert sum(samples(part) for bill in event["bills"] for part in bill[1:]) == all_samples
assert sum(row[4] for row in event["rows"]) + event["rest_samples"] == all_samples
assert sum(box[4] for box in event["boxes"]) == all_samples
for row in event["rows"]:
    assert samples(row[8]) == row[4] <= row[6]
extents = event["extents_ms"]
assert len(extents) == 2 * event["spans"]
shown = [time for i, time in enumerate(extents) if extents[i & ~1] < extents[i | 1]]
assert shown == sorted(shown), "the spans' times overlap"
for bill in event["bills"]:
    for part in bill[1:]:
        assert all(extents[2 * span] < extents[2 * span + 1] for span in part[::step]), "no time"
for i, one in enumerate(event["boxes"]):
    assert samples(one[6]) == one[4] and one[0] < max(i, 1)
assert len(data["texts"]) == len(set(data["texts"]))
PYTHON
done
python3 - "$work/busy.html" <<'PYTHON' || fail "busy.html does not sum up its rows"
import json, re, sys
data = json.loads(re.search(r'id="data">(.*?)</script>', open(sys.argv[1]).read(), re.S).group(1))
event = data["events"][0]
print(event["n_rows"], "rows,", len(event["rows"]), "listed,", event["span_s"], "s a span")
assert event["n_rows"] > len(event["rows"]) == 3000 and event["rest_samples"] > 0
PYTHON

for browser in chromium chromium-browser google-chrome ''; do
	[ -z "$browser" ] || ! command -v "$browser" >/dev/null || break
done
if [ -z "$browser" ]; then
	[ "$failed" -eq 0 ] || exit 1
	skip "no chromium, so the scripts in the page did not run"
fi
# use SESSION WIDTH: a script in the page uses it as a user does, and leaves its findings there.
use() {
	echo "in a browser: $1, $2 pixels"
	{
		echo '<script>window.vmopErrors = []; addEventListener("error",
			(event) => window.vmopErrors.push(event.message));</script>'
		sed -e '/^<\/body>$/,$d' "$work/$1.html"
		echo '<script>'
		sed -e 's/=== 6/=== 7/' "$src/tests/integration/html-check.js"
		echo '</script></body></html>'
	} >"$work/run.html"
	rm -rf "$work/browser"
	python3 "$src/tests/integration/browse.py" "$browser" "file://$work/run.html" "$2" 900 \
		"$work/browser" >"$work/dom" 2>"$work/err" || fail "$browser: $(tail -n 3 "$work/err")"
	grep -q '>checked: all is well<' "$work/dom" ||
		fail "$1: $(grep -o '>checked:[^<]*' "$work/dom")"
	! grep '^CONSOLE' "$work/err" || fail "$1: messages on the console"
}
for session in known markup busy flat late wide all; do
	use $session 1400
done
for session in known markup busy wide all; do
	use $session 400
done
finish
