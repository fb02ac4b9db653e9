#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# speedscope itself reads our files: its schema accepts them, and its program shows them in a
# browser with their weights.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C.UTF-8

mkdir -p "$sessions"
"$build/tests/fixtures/make-known-stacks" "$sessions/known.vmop" <<'STACKS'
1 web prog:main;prog:serve;prog:parse;lib:memchr 41
1 web prog:main;prog:serve;prog:render;kernel:entry;kernel:mmap 40
1 cc1 prog:main;prog:compile 11
1 cc1 prog:main;prog:assemble 1
STACKS
"$build/tests/fixtures/make-session" --seconds=5 "$sessions/flat.vmop"
report() {
	"$build/vmopreport" --session-dir="$sessions" "$@" || fail "vmopreport $*"
}
for session in known flat; do
	report --format=speedscope -o "$work/$session.json" "session:$session"
done
report --format=perf-script -o "$work/known.txt" session:known

. "$src/contrib/versions"
command -v npm >/dev/null || skip "no npm"
(cd "$work" && timeout 60 npm pack --silent "$VMOP_SPEEDSCOPE" >/dev/null 2>"$work/err") ||
	skip "npm's registry is not in reach"
mkdir "$work/speedscope"
tar -xzf "$work"/speedscope-*.tgz -C "$work/speedscope"
release=$work/speedscope/package/dist/release

if python3 -c 'import jsonschema' 2>/dev/null; then
	echo "the schema accepts them"
	for session in known flat; do
		python3 - "$release/file-format-schema.json" "$work/$session.json" <<'PYTHON' || fail "$session"
import json, sys, jsonschema
schema, document = (json.load(open(path)) for path in sys.argv[1:])
jsonschema.Draft7Validator({**schema, "$ref": "#/definitions/FileFormat.File"}).validate(document)
del document["shared"]["frames"][0]["name"]
assert list(jsonschema.Draft7Validator(
    {**schema, "$ref": "#/definitions/FileFormat.File"}).iter_errors(document)), "it accepts all"
PYTHON
	done
else
	echo "no jsonschema for python3: without the schema"
fi

for browser in chromium chromium-browser google-chrome ''; do
	[ -z "$browser" ] || ! command -v "$browser" >/dev/null || break
done
[ -n "$browser" ] || skip "no chromium"

# show FILE WORDS: check that speedscope shows the file, with all words on its screen.
show() {
	printf "speedscope.loadFileFromBase64('%s', '%s')" "$(basename "$1")" "$(base64 -w0 "$1")" \
		>"$work/load.js"
	rm -rf "$work/browser"
	timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
		--disable-background-networking --disable-component-update --disable-sync \
		--user-data-dir="$work/browser" --allow-file-access-from-files \
		--virtual-time-budget=10000 --dump-dom \
		"file://$release/index.html#localProfilePath=$work/load.js" \
		>"$work/dom" 2>"$work/err" || fail "$browser: $(tail -n 3 "$work/err")"
	shift
	for word; do
		grep -qF "$word" "$work/dom" || fail "speedscope does not show '$word'"
	done
}
echo "speedscope shows them"
show "$work/known.json" "session known of fixture" "cpu-clock"
show "$work/known.txt" "web pid: 500 tid: 500" "81.00ms" "12.00ms"
finish
