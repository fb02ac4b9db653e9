#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopannotate and programs that name as their source what they like: FIFOs, devices, huge files,
# paths out of the search folders, terminal escapes. Nothing waits, and nothing steers the terminal.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
need_perf
command -v gcc >/dev/null || skip "no gcc"
export TZ=UTC LC_ALL=C

# program NAME PATH: a program that claims to come from PATH.
program() {
	# shellcheck disable=SC2016 # C
	printf '# 1 "%s"\n#include <time.h>\nvolatile unsigned sink;\nint main(void)\n{\n%s\n}\n' "$2" \
		'clock_t end = clock() + CLOCKS_PER_SEC / 4; do { for (int i = 0; i < 100000; i++) sink += i; } while (clock() < end);' \
		>"$work/$1.c"
	sed 1d "$work/$1.c" | gcc -E - | grep -v '^#' >"$work/body"
	{
		printf '# 1 "%s"\n' "$2"
		cat "$work/body"
	} >"$work/$1.i"
	gcc -g -O1 -fpreprocessed -o "$work/$1" "$work/$1.i" 2>"$work/err" || fail "$(cat "$work/err")"
}

mkfifo "$work/the-fifo"
truncate -s 1G "$work/the-huge"
printf 'int\0binary\n' >"$work/the-binary"
# shellcheck disable=SC1003 # a backslash of C
escapes=$work/'a\033]0;title\007\033[2Jb.c'
program fifo "$work/the-fifo"
program device /dev/zero
program huge "$work/the-huge"
program binary "$work/the-binary"
program escapes "$escapes"
program outside ../../../../../../../../etc/passwd
# shellcheck disable=SC2059 # the name's escapes are meant
printf '\033[31m lines\n\033]0;title\007\n\n' | tee "$(printf "$work/a\033]0;title\007\033[2Jb.c")" >"$work/file"
control --run --event=cpu-clock:999Hz --session-dir="$sessions" -- sh -c \
	"cd '$work' && for p in fifo device huge binary escapes outside; do ./\$p; done" >"$work/out" 2>&1 || fail "$(cat "$work/out")"

annotate() {
	timeout 60 "$build/vmopannotate" --session-dir="$sessions" -t 0 "$@"
}

for name in fifo device; do
	annotate image:$name task:$name >"$work/out" 2>&1 || fail "$name: exit $?"
	grep -q 'no source: not found here' "$work/out" || fail "$name: $(cat "$work/out")"
done
annotate image:huge task:huge >"$work/out" 2>&1 || fail "huge: exit $?"
grep -q 'no source: ' "$work/out" || fail "huge: $(head -n 20 "$work/out")"
annotate image:binary task:binary >"$work/out" 2>&1 || fail "binary: exit $?"
grep -q 'no source: not a text file' "$work/out" || fail "binary: $(cat "$work/out")"

for format in table csv json; do
	annotate --format=$format image:escapes task:escapes >"$work/out" 2>&1 || fail "escapes: exit $?"
	if grep -q "$(printf '[\033\007]')" "$work/out"; then fail "$format steers the terminal: $(cat -v "$work/out")"; fi
	grep -q 'x1b\[2Jb.c\|u001B\[2Jb.c' "$work/out" || fail "$format: $(cat "$work/out")"
done
annotate image:escapes task:escapes --output-dir="$work/tree" >"$work/out" 2>&1 || fail "tree: $(cat "$work/out")"
if find "$work/tree" | grep -q "$(printf '[\033\007]')"; then fail "a file name with escapes"; fi

# Nothing outside of a search folder is read, by ".." or by a link.
mkdir "$work/search"
echo 'the secret' >"$work/secret"
ln -s "$work/secret" "$work/search/passwd"
annotate --search-dirs="$work/search" image:outside task:outside >"$work/out" 2>&1 || fail "outside: exit $?"
if grep -q 'secret\|root:' "$work/out"; then fail "a file outside of --search-dirs: $(cat "$work/out")"; fi
grep -q 'no source: not found' "$work/out" || fail "outside: $(cat "$work/out")"
annotate image:outside task:outside --output-dir="$work/tree" >"$work/out" 2>&1 || fail "tree: $(cat "$work/out")"
is "files outside of the tree" "$(find "$work" -newer "$work/secret" -name 'passwd' ! -path "$work/tree/*" ! -path "$work/search/*" | wc -l)" -eq 0
exit $failed
