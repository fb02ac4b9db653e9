#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A recording, archived and imported: reports of the archive are byte for byte those of the session,
# where the programs, their debug files and their sources are not, as another user, and where other
# files have their places.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
[ -x "$build/vmoparchive" ] || skip "built without libarchive"
need_perf
unshare -m true 2>/dev/null || skip "no mount namespaces"
export LC_ALL=C
unset TZ DEBUGINFOD_URLS
here=$work/here
mkdir -p "$here/.debug" "$work/src/tests/fixtures"

# ---- programs: with DWARF, stripped with a debug file by link, without a build-id ----
# The compiler writes the sources' own paths: copies of them are what the archive has.
cp "$src"/tests/fixtures/inlines.c "$src"/tests/fixtures/inlines-other.c "$src"/tests/fixtures/inlines.h \
	"$work/src/tests/fixtures"
(cd "$work/src" && cc -g -O2 -Wl,--build-id=sha1 -I. -o "$here/hot" tests/fixtures/inlines*.c) >"$work/out" 2>&1 ||
	skip "no compiler that builds the fixture: $(cat "$work/out")"
command -v objcopy >/dev/null || skip "no binutils"
objcopy --only-keep-debug "$here/hot" "$here/.debug/linked.debug"
strip -o "$here/linked" "$here/hot"
strip -R .note.gnu.build-id "$here/linked"
objcopy --add-gnu-debuglink="$here/.debug/linked.debug" "$here/linked"
cp "$build/tests/fixtures/split" "$here/split"

control --start --callgraph --event=cpu-clock:499Hz --session-dir="$sessions" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
"$here/hot" 400
"$here/linked" 300
"$here/split" 300
control --dump >/dev/null

# ---- a session that is being recorded ----
# Only the programs of this test: the machine's other ones can be large.
only="image:$here/*,[*,*/libc.so*"
"$build/vmoparchive" --session-dir="$sessions" "$only" --output="$work/live.tar.zst" 2>"$work/err" || fail "$(cat "$work/err")"
control --stop >/dev/null
control --shutdown >/dev/null 2>&1
expect 0 "" "$build/vmoparchive" --import="$work/live.tar.zst" --output-directory="$work/live"
"$build/vmopreport" --archive="$work/live" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
grep -q 'not ended: still recording' "$work/out" || fail "the copy of a live session: $(cat "$work/out")"
test -z "$(find "$work/live/sessions" -name '*-wal' -o -name '*-shm')" || fail "a WAL in an archive"

# ---- the archive, and the reports of the session ----
archive() {
	"$build/vmoparchive" --session-dir="$sessions" "$only" "$@" 2>"$work/err" || fail "$(cat "$work/err")"
}
archive --sources --output="$work/night.tar.zst"
test "$(stat -c %a "$work/night.tar.zst")" = 600 || fail "others may read the archive"
tar --zstd -tf "$work/night.tar.zst" >"$work/list"
is "first member" "$(head -n 1 "$work/list")" = manifest.json
grep -q '^sessions/current.vmop$' "$work/list" || fail "no session: $(cat "$work/list")"
grep -q '^files/[0-9]*-linked.debug$' "$work/list" || fail "no debug file by link: $(cat "$work/list")"
grep -q '^sources/[0-9]*-inlines.h$' "$work/list" || fail "no sources: $(cat "$work/list")"
archive --list-files >"$work/list"
grep -q " image .*$here/hot\$" "$work/list" || fail "--list-files: $(cat "$work/list")"
grep -q 'source files (--sources adds them)' "$work/list" || fail "not said what is left out: $(cat "$work/list")"
grep -q 'libc.so' "$work/list" || fail "no library: $(cat "$work/list")"
archive --exclude-dependent --list-files >"$work/list"
grep -q " image .*$here/hot\$" "$work/list" || fail "--exclude-dependent: $(cat "$work/list")"
! grep -q 'libc.so' "$work/list" || fail "--exclude-dependent has a library: $(cat "$work/list")"
# Straight into a directory, and by a pipe.
archive --sources --output-directory="$work/direct"
archive --sources --output=- | "$build/vmoparchive" --import=- --output-directory="$work/piped" 2>"$work/err" ||
	fail "$(cat "$work/err")"

cat >"$work/reports" <<'END'
# reports BUILD OUT OPTION...
build=$1 out=$2
shift 2
mkdir -p "$out"
report() {
	name=$1 program=$2
	shift 2
	"$build/$program" "$@" >"$out/$name" 2>"$out/$name.err" || echo "status $?" >>"$out/$name.err"
}
images='image:hot,linked,split,\[*,libc.so*'
report symbols vmopreport "$@" -l "$images"
report verbose vmopreport "$@" -l -f -V "$images"
report callgraph vmopreport "$@" --callgraph image:hot,linked
report inlines vmopreport "$@" --tree=callers --inlines image:hot
report json vmopreport "$@" -l --format=json "$images"
report source vmopannotate "$@" --source -t 0 image:hot,linked
report assembly vmopannotate "$@" --source --assembly -t 0 image:hot,linked,split
report compare vmopcompare "$@" --by=symbol "session:current time:+0s..+1s $images" "session:current time:+1s.. $images"
report braces vmopreport "$@" --by=image { session:current time:+0s..+1s "$images" } { session:current time:+1s.. "$images" }
report gate vmopreport "$@" --fail-if='image:hot > 1%' image:hot
END
TZ=CET-1CEST,M3.5.0,M10.5.0/3 sh "$work/reports" "$build" "$work/before" --session-dir="$sessions"
grep -q run_outer "$work/before/symbols" || fail "no symbols: $(head -n 20 "$work/before/symbols")"
grep -q 'inlines_sink += i' "$work/before/source" || fail "no source: $(cat "$work/before/source")"
grep -q 'linked' "$work/before/symbols" || fail "linked was not sampled"
TZ=CET-1CEST,M3.5.0,M10.5.0/3 archive --sources --output="$work/zoned.tar.zst"

# ---- elsewhere ----
mkdir "$work/machine"
"$build/vmoparchive" --import "$work/zoned.tar.zst" --output-directory="$work/machine/zoned" 2>"$work/err" || fail "$(cat "$work/err")"
is "mode of an import" "$(stat -c %a "$work/machine/zoned")" = 700
same() {
	diff -r "$work/before" "$1" >"$work/diff" 2>&1 || fail "$2: $(head -n 20 "$work/diff")"
}
# The programs and sources are gone, and so are debug files and the kernel's symbols.
elsewhere() {
	# shellcheck disable=SC2016 # the inner shell's variables
	env -i PATH="$PATH" LC_ALL=C HOME="$work/home" unshare -m sh -ec '
		for dir in "$1" "$2" "$3"; do mount -t tmpfs none "$dir"; done
		[ ! -d /usr/lib/debug ] || mount -t tmpfs none /usr/lib/debug
		mount --bind /dev/null /proc/kallsyms
		case $7 in
		other) # the same paths, with other files
			cp /bin/true "$1/hot"; cp /bin/true "$1/linked"; cp /bin/true "$1/split"
			mkdir -p "$2/tests/fixtures"
			echo "int other;" | tee "$2/tests/fixtures/inlines.h" >"$2/tests/fixtures/inlines.c" ;;
		esac
		exec sh "$4" "$5" "$6" --archive="$8"' sh "$here" "$work/src" "$sessions" "$work/reports" "$build" "$1" "$2" \
		"$work/machine/zoned" || fail "elsewhere: $2"
}
elsewhere "$work/gone" gone
same "$work/gone" "without the files"
elsewhere "$work/others" other
same "$work/others" "with other files at their paths"
# By the spec, and by the path where the session was.
TZ=CET-1CEST,M3.5.0,M10.5.0/3 "$build/vmopreport" "archive:$work/direct" -l 'image:hot,linked,split,\[*,libc.so*' >"$work/out" 2>/dev/null
cmp "$work/out" "$work/before/symbols" || fail "an archive written as a directory"
diff -r "$work/direct/files" "$work/piped/files" >"$work/diff" 2>&1 || fail "by a pipe: $(cat "$work/diff")"
expect 0 "hot" "$build/vmopreport" "archive:$work/direct" "session:$sessions/current.vmop"
refuse 3 "was at" "$build/vmopreport" "archive:$work/direct" session:/elsewhere/current.vmop
# An archive of an archive.
"$build/vmoparchive" "archive:$work/machine/zoned" "$only" --sources --output-directory="$work/again" 2>"$work/err" || fail "$(cat "$work/err")"
cmp "$work/machine/zoned/sessions/current.vmop" "$work/again/sessions/current.vmop" || fail "an archive of an archive"

# As another user, who has imported it.
if command -v setpriv >/dev/null && [ -r "$work/zoned.tar.zst" ]; then
	mkdir "$work/theirs"
	chown 65534:65534 "$work/theirs"
	chmod 644 "$work/zoned.tar.zst"
	rm -rf "$here" "$work/src" "$sessions"
	them() {
		env -i PATH="$PATH" LC_ALL=C HOME="$work/theirs" setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	}
	if them "$build/vmoparchive" --version >/dev/null 2>&1; then
		them "$build/vmoparchive" --import="$work/zoned.tar.zst" --output-directory="$work/theirs/a" 2>"$work/err" ||
			fail "$(cat "$work/err")"
		them sh "$work/reports" "$build" "$work/theirs/after" --archive="$work/theirs/a"
		same "$work/theirs/after" "as another user"
	else
		echo "another user may not run the programs here: not tested"
	fi
fi

# ---- misuse ----
refuse 2 "vmoparchive --import" "$build/vmopreport" "archive:$work/zoned.tar.zst"
refuse 3 "no manifest.json" "$build/vmopreport" "archive:$work/machine"
refuse 2 "must be before time:" "$build/vmopreport" time:today "archive:$work/machine/zoned"
refuse 2 "do not go with an archive" "$build/vmopreport" -l --archive="$work/machine/zoned" --image-path=/usr
refuse 2 "only session:, time:, image:" "$build/vmoparchive" domain:host --list-files
refuse 2 "says where to write" "$build/vmoparchive"
refuse 3 "no sessions in" "$build/vmoparchive" --session-dir="$work/machine" --list-files
refuse 3 "no room for the session" "$build/vmoparchive" "archive:$work/machine/zoned" --max-size=1K --list-files
room=$(($(stat -c %s "$work/machine/zoned/sessions/current.vmop") + 100000))
"$build/vmoparchive" "archive:$work/machine/zoned" "$only" --max-size=$room --list-files >"$work/list" 2>&1
grep -q 'missing .*--max-size leaves it out' "$work/list" || fail "--max-size: $(cat "$work/list")"
test -z "$(find "$work" "$work/machine" -maxdepth 1 -name '.?*.????????' -print)" || fail "something is left behind"
finish
