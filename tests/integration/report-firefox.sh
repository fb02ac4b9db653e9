#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The Firefox Profiler itself reads our files: its program for the command line has the code of
# profiler.firefox.com, and finds the functions with their samples.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C.UTF-8
evil=${VMOP_FIXTURES:-$(pwd)/tests/fixtures}/evil-names

mkdir -p "$sessions"
"$build/tests/fixtures/make-known-stacks" "$sessions/known.vmop" <<'STACKS'
1 web prog:main;prog:serve;prog:parse;lib:memchr 41
1 web prog:main;prog:serve;prog:render;kernel:entry;kernel:mmap 40
3 web prog:main;prog:parse 10
1 cc1 prog:main;prog:compile 11
1 cc1 prog:main;prog:assemble 1
STACKS
"$evil" sessions "$sessions"
"$build/tests/fixtures/make-stacks" 10 2000 "$sessions/wide.vmop" >"$work/out"
for session in known all wide; do
	"$build/vmopreport" --session-dir="$sessions" --format=firefox -o "$work/$session.json" \
		"session:$session" 2>"$work/err" || fail "$session: $(cat "$work/err")"
done

. "$src/contrib/versions"
command -v npm >/dev/null || skip "no npm"
(cd "$work" && timeout 60 npm pack --silent "$VMOP_PROFILER_CLI" >/dev/null 2>"$work/err") ||
	skip "npm's registry is not in reach"
mkdir "$work/cli"
tar -xzf "$work"/firefox-devtools-profiler-cli-*.tgz -C "$work/cli"
export HOME="$work" # it has its sockets there
cli() {
	timeout 60 node "$work/cli/package/dist/profiler-cli.js" "$@"
}
cli --version >"$work/out" 2>&1 || skip "this node does not run it: $(tail -n 1 "$work/out")"
end_cli() {
	cli stop --all >/dev/null 2>&1 || true
}
# shellcheck disable=SC2154 # its own $?
trap 'status=$?; end_cli; (exit "$status"); clean_up' EXIT

# load SESSION: load its file.  The program gives its server half a second, however busy the machine.
load() {
	end_cli
	cli load "$work/$1.json" >"$work/out" 2>&1 || true
	for _ in $(seq 100); do
		! cli thread list --limit 0 --json >"$work/threads" 2>"$work/err" || return 0
		sleep 0.2
	done
	fail "$1: $(cat "$work/out" "$work/err")"
}

# functions N: print "THREAD FUNCTION SAMPLES" for the functions of the first N threads that have
# samples of their own.
functions() {
	for thread in $(seq -f 't-%.0f' 0 $(($1 - 1))); do
		cli thread functions --include-idle --limit 0 --json --thread "$thread" >"$work/functions" ||
			fail "$thread"
		python3 -c 'import json, sys
table = json.load(open(sys.argv[1]))
for function in table["functions"]:
    if function["selfSamples"]:
        print(table["friendlyThreadName"], function["name"], round(function["selfSamples"], 6))' "$work/functions"
	done
}

echo "the functions of known stacks"
load known
functions 2 | sort >"$work/found"
sort >"$work/expected" <<'EXPECTED'
cc1 assemble 1
cc1 compile 11
web memchr 41
web mmap 40
web parse 10
EXPECTED
diff -u "$work/expected" "$work/found" || fail "functions differ"

# A start of the program takes a quarter of a second: eight threads of a session have to do.
for session in all wide; do
	echo "samples of $session"
	load "$session"
	functions 8 >"$work/found"
	is "weight" "$(awk '{ n += $NF } END { printf "%.0f", n * 1000 }' "$work/found")" -eq \
		"$(python3 -c 'import json, sys
print(round(1000 * sum(sum(thread["samples"]["weight"]) for thread in json.load(open(sys.argv[1]))["threads"][:8])))' \
			"$work/$session.json")"
	is "threads" "$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["threads"]))' "$work/threads")" \
		-eq "$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["threads"]))' "$work/$session.json")"
done
finish
