#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopcompare, vmopannotate and vmoptop print no name in a form that controls a terminal or forges a
# line: names in sessions, names of real functions and files, and names as the words of options.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
# shellcheck source=tests/integration/evil-common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/evil-common.sh"
export TZ=UTC
mkdir -p "$sessions"
"$evil" sessions "$sessions"

compare() {
	plain "$build/vmopcompare" --session-dir="$sessions" "$@"
}
annotate() {
	plain "$build/vmopannotate" --session-dir="$sessions" "$@"
}
top() {
	plain "$build/vmoptop" --session-dir="$sessions" --batch "$@"
}

# plain_file FILE: check what a program wrote there.
plain_file() {
	"$evil" check <"$1" >"$work/why" || fail "$(basename "$1" | cat -v): $(cat "$work/why")"
}

# plain_tree DIRECTORY COUNT: check that it has files, all with plain names, and check these.
plain_tree() {
	find "$1" -type f >"$work/files"
	is "files in a directory" "$(find "$1" -type f -printf x | wc -c)" -ge "$2"
	is "lines of their names" "$(wc -l <"$work/files")" -eq "$(find "$1" -type f -printf x | wc -c)"
	plain_file "$work/files"
	while read -r file; do
		plain_file "$file"
	done <"$work/files"
	rm -rf "$1"
}

echo "every form of output"
locales="C.UTF-8 C"
[ -z "$sanitized" ] || locales="" # as in evil-names.sh
for format in table csv json; do
	for options in "" --by=image --by=task --by=cgroup --by=domain --by=symbol,image,task \
		"--per=time --top=0" "--per=cpu-clock -r" "--sort=symbol --accounting=domain" \
		"--width=30 -x" "-n -V"; do
		# shellcheck disable=SC2086 # options are words
		compare --format=$format $options session:all all
	done
	compare --format=$format -o "$work/written" all all all
	plain_file "$work/written"
	for options in "-t 0" "-t 0 -a" "-t 0 -a -s -c all" "-t 0 --width=40 -V" "-x -n -D full"; do
		# shellcheck disable=SC2086 # options are words
		annotate --format=$format $options session:all
	done
	annotate --format=$format -t 0 -o "$work/written" session:all
	[ ! -s "$work/written" ] || plain_file "$work/written"
done
compare --format=flamegraph all all
compare --output-dir="$work/tables" all all
plain_tree "$work/tables" 2
for by in domain task image symbol certainty; do
	top -n1 --by=$by session:all
done

echo "every name as a word and a session's"
locales=""
step=1
[ -z "$sanitized" ] || step=8
for i in $(seq 0 $step "$last"); do
	name=$(nth "$i")
	compare all "session:$name"
	compare "$name" "$name"
	annotate "$name"
	top -n1 "$name"
	for tag in session image domain task event time nonsense; do
		compare --spec="$tag:x$name" all all
		compare all "session:all $tag:x$name"
		annotate session:all "$tag:x$name"
		top -n1 session:all "$tag:x$name"
	done
	for option in format by per sort top output-dir width; do
		compare all all "--$option=$work/none/$name"
	done
	for option in format threshold context syntax lines search-dirs base-dirs include-file \
		exclude-file include-symbols output-file; do
		annotate session:all "--$option=$work/none/$name"
	done
	for option in by delay iterations rows image-path; do
		top -n1 session:all "--$option=$name"
	done
	plain "$build/vmopcompare" "--run=true $name" --guest="$name" --guest-run="$name" \
		--output-dir="$work/none/$name"
	for program in vmopcompare vmopannotate vmoptop; do
		plain "$build/$program" --session-dir="$work/$name" "session:$name" "$name"
		plain "$build/$program" "--$name=$name"
		plain "$build/$program" "-$name"
	done
done

# A program with such functions and of such a file.
if [ "$(id -u)" -ne 0 ] || ! command -v gcc >/dev/null || ! command -v objcopy >/dev/null; then
	echo "$runs runs, none with a real program: needs root, gcc and objcopy"
	finish
fi
need_perf
echo "real functions"
locales="C.UTF-8 C"
cat >"$work/spin.c" <<'SOURCE'
#include <time.h>
volatile unsigned vmop_evil_sink;
__attribute__((noinline)) void vmop_evil_function(void)
{
	for (int i = 0; i < 100000; i++)
		vmop_evil_sink += i;
}
int main(void)
{
	for (clock_t end = clock() + CLOCKS_PER_SEC / 5; clock() < end;)
		vmop_evil_function();
}
SOURCE
mkdir -p "$work/bin"
for i in $(seq 0 "$last"); do
	name=$(nth "$i")
	case $name in
	host | *kernel*) continue ;; # harmless in themselves
	esac
	mkdir -p "$work/source/$name"
	cp "$work/spin.c" "$work/source/$name/$name.c"
	gcc -g -O1 -x c -o "$work/plain" "$work/source/$name/$name.c" || fail "gcc, name $i"
	objcopy --redefine-sym "vmop_evil_function=$name" "$work/plain" "$work/bin/$name" || fail "objcopy"
done
sessions=$work/live
control --run --event=cpu-clock:999Hz --session-dir="$sessions" -- \
	sh -c "for p in '$work'/bin/*; do \"\$p\"; done" >"$work/out" 2>&1 || fail "$(cat -v "$work/out")"
for options in "" "-a" "-a -s" "-c all"; do
	for format in table csv json; do
		# shellcheck disable=SC2086 # options are words
		annotate -t 0 --format=$format $options "image:$work/bin/*"
	done
done
grep -qa 'sink' "$work/out" || fail "no source was shown: $(cat -v "$work/out" "$work/err")"
annotate -t 0 --output-dir="$work/tree" "image:$work/bin/*"
plain_tree "$work/tree" 5
for format in table csv json; do
	compare --format=$format --by=image,symbol --top=0 current "current image:$work/bin/*"
done
top -n1 --by=symbol -r 50
top -n1 --by=task -r 50
echo "$runs runs"
finish
