#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopannotate on code of a guest's kernel and of a module, which the session does not have: lines, inlined
# functions and the kernel's instructions come from files with their build-ids. Each is compared with
# binutils' answer.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
export LC_ALL=C
for tool in objdump addr2line; do
	command -v "$tool" >/dev/null || skip "no $tool"
done
compiler=${VMOP_CC:-gcc}
id=abcdef0123456789abcdef0123456789abcdef01
debug=$work/root/usr/lib/debug/.build-id/ab
mkdir -p "$sessions" "$debug"

# annotate SESSION OPTION...
annotate() {
	session=$1
	shift
	"$build/vmopannotate" --threshold=0 --root="$work/root" "session:$session" "$@"
}

cat >"$work/code.c" <<'END'
volatile int sink;
static inline __attribute__((always_inline)) void inner(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}
static inline __attribute__((always_inline)) void middle(int n)
{
	sink--;
	inner(n);
}
__attribute__((noinline)) void first(int n)
{
	sink = n;
}
__attribute__((noinline)) int hot(int n)
{
	middle(n + 1);
	return sink * 3;
}
END

# instructions FILE FUNCTION: print the addresses and the mnemonics of a function.
instructions() {
	objdump -d --no-show-raw-insn "$1" | awk -v name="<$2>:" '
		$2 == name { is_in = 1; next }
		/^$/ { is_in = 0 }
		is_in { sub(/:/, "", $1); print $1, $2 }'
}

# compare CSV FILE FUNCTION [SECTION]: compare the function's rows, one an address, with binutils.
compare() {
	instructions "$2" "$3" | cut -d ' ' -f 1 >"$work/addresses"
	addr2line -i -f -a ${4:+-j "$4"} -e "$2" <"$work/addresses" >"$work/answers"
	python3 - "$1" "$work/answers" "$3" <<'END' || fail "$3 differs from binutils: $(cat "$1" "$work/answers")"
import csv, sys
# address: [(function, file, line)...], innermost first
answers, at = {}, None
lines = open(sys.argv[2]).read().splitlines()
while lines:
    line = lines.pop(0)
    if line.startswith("0x"):
        at = answers.setdefault(int(line, 16), [])
        continue
    path, number = lines.pop(0).split(" ")[0].rsplit(":", 1)
    at.append((line, path.rsplit("/", 1)[-1], number))
wanted, got = {}, {}
for frames in answers.values():
    key = (frames[0][1], frames[0][2], " < ".join(f[0] for f in frames[:-1]))
    wanted[key] = wanted.get(key, 0) + 10
for row in csv.DictReader(open(sys.argv[1])):
    if row["symbol"] == sys.argv[3]:
        key = (row["file"].rsplit("/", 1)[-1], row["line"], row["inlined"])
        got[key] = got.get(key, 0) + int(row["samples"])
assert wanted == got, f"wanted {wanted}, got {got}"
assert sys.argv[3] != "hot" or any(key[2] == "inner < middle" for key in got)
END
}

# ---- a guest's kernel ----
{
	echo 'void _text(void) {}' # the first function
	cat "$work/code.c"
} >"$work/kernel.c"
model=
[ "$(uname -m)" != x86_64 ] || model=-mcmodel=kernel
# shellcheck disable=SC2086 # no option, or one
(cd "$work" && "$compiler" -g -O1 -nostdlib -static -fno-pie -no-pie -fno-stack-protector $model \
	-Wl,-Ttext=0xffffffff81000000 -Wl,--build-id=0x$id -Wl,-e,_text -o vmlinux kernel.c) || skip "no compiler"
# The guest's _text is elsewhere: its kernel is relocated. Offsets count from it.
nm -S "$work/vmlinux" | awk '$3 ~ /[tT]/ && NF == 4 {
	sub(/^ffffffff81/, "", $1)
	print "symbol", $1, $2, $4 }' | sort >"$work/rows"
instructions "$work/vmlinux" hot | sed 's/^ffffffff81\([0-9a-f]*\) .*/samples \1 10/' >>"$work/rows"
"$build/tests/fixtures/make-image" guest-kernel '[kernel]' $id "$sessions/guest.vmop" <"$work/rows"

expect 0 "no vmlinux of this kernel was found" annotate "$sessions/guest.vmop" domain:g1
cp "$work/vmlinux" "$debug/${id#ab}.debug"
annotate "$sessions/guest.vmop" --format=csv domain:g1 >"$work/csv" 2>"$work/err" || fail "$(cat "$work/err")"
compare "$work/csv" "$work/vmlinux" hot
expect 0 "sink += i;" annotate "$sessions/guest.vmop" --search-dirs="$work" domain:g1
if ! annotate "$sessions/guest.vmop" --assembly --format=csv domain:g1 >"$work/csv" 2>"$work/err"; then
	grep -q 'built without capstone' "$work/err" || fail "$(cat "$work/err")"
else
	python3 - "$work/csv" >"$work/got" <<'END'
import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    if row["instruction"]:
        print(row["address"][-6:], row["samples"], row["instruction"].split()[0].rstrip("lq"))
END
	instructions "$work/vmlinux" hot | sed 's/^ffffffff81\([0-9a-f]*\) /\1 10 /; s/[lq]*$//' >"$work/wanted"
	is "instructions of hot" "$(wc -l <"$work/wanted")" -ge 6
	cmp "$work/got" "$work/wanted" || fail "hot differs: $(cat "$work/got" "$work/wanted")"
fi
# It is also found by its name.
mkdir "$work/images"
mv "$debug/${id#ab}.debug" "$work/images/vmlinux"
annotate "$sessions/guest.vmop" --image-path="$work/images" --format=csv domain:g1 >"$work/csv" 2>/dev/null
compare "$work/csv" "$work/vmlinux" hot
# A vmlinux of another build is not the guest's.
(cd "$work" && objcopy -R .note.gnu.build-id vmlinux images/vmlinux 2>/dev/null)
expect 0 "no vmlinux of this kernel was found" annotate "$sessions/guest.vmop" --image-path="$work/images" domain:g1

# ---- a module: two sections of code, data between, and code that is gone after the start ----
cat >"$work/more.c" <<'END'
extern volatile int sink;
void first(int n);
__attribute__((noinline, section(".init.text"))) int begin(void)
{
	return sink;
}
__attribute__((noinline, section(".text.unlikely"))) void rare(int n)
{
	first(n);
	sink += 7;
}
END
(cd "$work" && for name in code more; do
	"$compiler" -g -O1 -c -fno-pie -fno-stack-protector -fno-asynchronous-unwind-tables -o $name.o $name.c
done && ld -r --build-id=0x$id -o module.ko more.o code.o)
# rows SHIFT: print symbols and samples of the module. The kernel puts .text.unlikely where the file has it.
align() {
	echo $((($1 + $2 - 1) / $2 * $2))
}
rows() {
	objdump -h "$work/module.ko" | awk '$2 ~ /^\.text/ { print $2, $3, substr($7, 4) }' >"$work/sections"
	at=0
	while read -r section size power; do
		at=$(align "$at" $((1 << power)))
		objdump -t -j "$section" "$work/module.ko" | sed -n 's/^\([0-9a-f]*\) .* F .*\t\([0-9a-f]*\) \(.*\)$/\1 \2 \3/p' |
			while read -r value length name; do
				printf 'symbol %08x %s %s\n' $((at + 0x$value + $1)) "$length" "$name"
				instructions "$work/module.ko" "$name" | while read -r address _; do
					printf 'samples %08x 10\n' $((at + 0x$address + $1))
				done
			done
		at=$((at + 0x$size))
	done <"$work/sections"
}
make_module() {
	rm -f "$sessions/$1.vmop"
	rows "$2" | sort | "$build/tests/fixtures/make-image" "$3" '[code]' "$4" "$sessions/$1.vmop"
}
make_module module 0 module $id
is "sections of code" "$(wc -l <"$work/sections")" -eq 2
no_dwarf="no DWARF of this module was found"
expect 0 "$no_dwarf" annotate "$sessions/module.vmop"
check_module() {
	annotate "$sessions/module.vmop" "$@" --format=csv >"$work/csv" 2>"$work/err" || fail "$(cat "$work/err")"
	compare "$work/csv" "$work/module.ko" hot .text
	compare "$work/csv" "$work/module.ko" first .text
	compare "$work/csv" "$work/module.ko" rare .text.unlikely
}
# By its name, and as a debug file without code.
rm "$work/images/vmlinux"
cp "$work/module.ko" "$work/images/code.ko"
check_module --image-path="$work/images"
expect 0 "sink += 7;" annotate "$sessions/module.vmop" --image-path="$work/images" --search-dirs="$work"
objcopy --only-keep-debug --compress-debug-sections "$work/module.ko" "$debug/${id#ab}.debug"
check_module
# An archive has the debug file.
if [ -x "$build/vmoparchive" ]; then
	expect 0 "" "$build/vmoparchive" --root="$work/root" "session:$sessions/module.vmop" --output="$work/module.tar.zst"
	expect 0 "" "$build/vmoparchive" --import="$work/module.tar.zst" --output-directory="$work/imported"
	"$build/vmopannotate" --threshold=0 --archive="$work/imported" --format=csv >"$work/csv" 2>"$work/err" ||
		fail "$(cat "$work/err")"
	compare "$work/csv" "$work/module.ko" hot .text
fi
# A module of a guest.
make_module module 0 guest-module $id
check_module domain:g1

# ---- a module's instructions, which the session does not have ----
# wanted_code FUNCTION SECTION: print the beginning of each mnemonic of the function, and the symbols that its
# relocations name, but for those of the module's own code.
wanted_code() {
	objdump -dr --no-show-raw-insn -j "$2" "$work/module.ko" | awk -v name="<$1>:" '
		$2 == name { is_in = 1; next }
		/^$/ { is_in = 0 }
		is_in && $2 ~ /^R_/ { sub(/[-+]0x[0-9a-f]*$/, "", $3); print "field", $3; next }
		is_in { print "code", substr($2, 1, 2) }' | grep -vE '^field (first|hot|rare|\.text.*)$'
}
# got_code FUNCTION: print the same of the rows. Names follow ";", or are the operand of a call or jump.
got_code() {
	python3 - "$work/csv" "$1" <<'END'
import csv, re, sys
for row in csv.DictReader(open(sys.argv[1])):
    if row["symbol"] != sys.argv[2] or not row["instruction"]:
        continue
    text = row["instruction"]
    print("code", text[:2])
    name = re.search(r"  ; (\S+)$", text) or re.match(r"(?:call|j|b)\S* ([^#$%*\d]\S*)$", text)
    if name and not name[1].startswith("0x"):
        print("field", re.sub(r"[-+]0x[0-9a-f]+$", "", name[1]))
END
}
check_code() {
	for function in hot first rare; do
		section=.text
		[ $function != rare ] || section=.text.unlikely
		wanted_code $function $section >"$work/wanted"
		got_code $function >"$work/got"
		cmp "$work/wanted" "$work/got" || fail "$function: $(cat "$work/wanted" "$work/got" "$work/csv")"
	done
	grep -q '^field sink$' "$work/got" || fail "rare does not name sink: $(cat "$work/got")"
}
# built_with LIBRARY: return whether the programs unpack by this library.
built_with() {
	grep -q "^#define HAVE_$1 1" "$build/config.h"
}
# check_packed COMMAND SUFFIX: find the module's file, compressed by COMMAND, below the root's /lib/modules and below a
# folder.
check_packed() {
	if ! command -v "$1" >/dev/null; then
		echo "not tested: no $1"
		return
	fi
	for place in "$modules/code.ko$2" "$work/images/below/code.ko$2"; do
		"$1" <"$work/module.ko" >"$place"
		annotate "$sessions/module.vmop" -a --context=all --format=csv --image-path="$work/images" domain:g1 \
			>"$work/csv" 2>"$work/err" || fail "$place: $(cat "$work/err")"
		check_code
		# Its DWARF is read from there, too.
		check_module --image-path="$work/images" domain:g1
		rm "$place"
	done
}
has_capstone=true
annotate "$sessions/module.vmop" -a domain:g1 >/dev/null 2>"$work/err" || has_capstone=false
rm "$debug/${id#ab}.debug" "$work/images/code.ko"
if $has_capstone; then
	expect 0 "no code: neither the session nor a file has it" annotate "$sessions/module.vmop" -a domain:g1
	modules=$work/root/lib/modules/6.1.0-test/kernel/drivers
	mkdir -p "$modules" "$work/images/below"
	check_packed cat ''
	check_packed zstd .zst
	! built_with LZMA || check_packed xz .xz
	! built_with ZLIB || check_packed gzip .gz
	# An archive has the unpacked file.
	if [ -x "$build/vmoparchive" ] && command -v zstd >/dev/null; then
		zstd -q "$work/module.ko" -o "$modules/code.ko.zst"
		expect 0 "1 file of images" "$build/vmoparchive" --root="$work/root" "session:$sessions/module.vmop" \
			--output="$work/packed.tar.zst"
		expect 0 "" "$build/vmoparchive" --import="$work/packed.tar.zst" --output-directory="$work/packed"
		"$build/vmopannotate" --threshold=0 -a --context=all --archive="$work/packed" --format=csv domain:g1 \
			>"$work/csv" 2>"$work/err" || fail "$(cat "$work/err")"
		check_code
		rm "$modules/code.ko.zst"
	fi
	cp "$work/module.ko" "$modules/code.ko"
	expect 0 "names stand for addresses that the kernel filled in" annotate "$sessions/module.vmop" -a domain:g1
	# A damaged file, and one of another build.
	mv "$modules/code.ko" "$work/whole.ko"
	printf '\050\265\057\375damaged' >"$modules/code.ko.zst"
	expect 0 "no code: not an ELF file, or a damaged one" annotate "$sessions/module.vmop" -a domain:g1
	rm "$modules/code.ko.zst"
	objcopy -R .note.gnu.build-id "$work/whole.ko" "$modules/code.ko"
	expect 0 "no code: its build-id differs" annotate "$sessions/module.vmop" -a domain:g1
	# Bytes of the session have the addresses, which are no difference from the file.
	if [ "$(uname -m)" = x86_64 ]; then
		mv "$work/whole.ko" "$modules/code.ko"
		objcopy -O binary -j .text.unlikely "$work/module.ko" "$work/rare"
		fields=$(objdump -r -j .text.unlikely "$work/module.ko" | awk '$2 ~ /^R_X86/ { print $1 }')
		{
			rows 0
			rows 0 | awk '$1 == "symbol" && $4 == "rare" { printf "code %s ", $2 }'
			# shellcheck disable=SC2086 # offsets
			python3 - "$work/rare" $fields <<'END'
import sys
code = bytearray(open(sys.argv[1], "rb").read())
for field in sys.argv[2:]:
    code[int(field, 16):int(field, 16) + 4] = bytes.fromhex("11223344")
print(code.hex())
END
		} | sort >"$work/stored"
		"$build/tests/fixtures/make-image" module '[code]' $id "$sessions/stored.vmop" <"$work/stored"
		expect 0 "as it was in memory, the same as in the file" annotate "$sessions/stored.vmop" -a -i rare
		annotate "$sessions/stored.vmop" -a -i rare,hot --context=all >"$work/out" 2>"$work/err" || fail "$(cat "$work/err")"
		is "names of sink, which only the file's code needs" "$(grep -c '  ; sink\( \|$\)' "$work/out")" -eq \
			"$(objdump -dr -j .text "$work/module.ko" | awk '$2 == "<hot>:" { is_in = 1 } /^$/ { is_in = 0 }
				is_in && $3 ~ /^sink/ { n++ } END { print n + 0 }')"
		mv "$modules/code.ko" "$work/whole.ko"
	fi
	# The kernel's name has underscores.
	mv "$work/whole.ko" "$modules/my-co-de.ko"
	rows 0 | sort | "$build/tests/fixtures/make-image" module '[my_co_de]' $id "$sessions/dash.vmop"
	annotate "$sessions/dash.vmop" -a --context=all --format=csv >"$work/csv" 2>"$work/err" || fail "$(cat "$work/err")"
	check_code
	rm -r "$work/root/lib/modules"
	# A module whose sections are elsewhere has no code in its file.
	cp "$work/module.ko" "$work/images/code.ko"
	make_module shifted 16 module $id
	expect 0 "no code: its file does not fit" annotate "$sessions/shifted.vmop" -a --image-path="$work/images"
	rm "$sessions/shifted.vmop"
fi
cp "$work/module.ko" "$work/images/code.ko"
objcopy --only-keep-debug --compress-debug-sections "$work/module.ko" "$debug/${id#ab}.debug"
# A module whose sections are not at the places of its file has no lines.
make_module shifted 16 module $id
expect 0 "its file does not fit the symbols that it had in memory" annotate "$sessions/shifted.vmop"
make_module nameless 0 module ''
expect 0 "the session has no build-id of the module" annotate "$sessions/nameless.vmop" --image-path="$work/images"
make_module other 0 module 0000000000000000000000000000000000000001
expect 0 "$no_dwarf" annotate "$sessions/other.vmop"
expect 0 "its build-id differs" annotate "$sessions/other.vmop" --image-path="$work/images"

# ---- a real module, where the headers of a kernel are installed ----
headers=$(find /lib/modules -maxdepth 2 -name build 2>/dev/null | head -1)
mkdir "$work/real"
echo 'obj-m := code.o
ccflags-y := -g' >"$work/real/Makefile"
cat >"$work/real/code.c" <<'END'
#include <linux/module.h>
static int value = 3;
module_param(value, int, 0444);
static __always_inline int inner(int n)
{
	int i, sum = 0;
	for (i = 0; i < n; i++)
		sum += i * READ_ONCE(value);
	return sum;
}
static __always_inline int middle(int n)
{
	return inner(n + READ_ONCE(value));
}
int hot(int n);
noinline int hot(int n)
{
	pr_info("%d\n", n);
	return middle(n) + 1;
}
EXPORT_SYMBOL_GPL(hot);
static __cold noinline void rare(void)
{
	pr_err("%d\n", hot(3));
}
static int __init begin(void)
{
	rare();
	return 0;
}
module_init(begin);
MODULE_LICENSE("GPL");
END
if [ -z "$headers" ] || ! MAKEFLAGS='' make -s -C "$headers" M="$work/real" modules >"$work/err" 2>&1; then
	echo "not tested: a module that the kernel's makefiles build"
	finish
fi
mv "$work/real/code.ko" "$work/module.ko"
real_id=$(readelf -n "$work/module.ko" | sed -n 's/.*Build ID: //p')
make_module module 0 module "$real_id"
rm "$debug/${id#ab}.debug"
cp "$work/module.ko" "$work/images/code.ko"
annotate "$sessions/module.vmop" --image-path="$work/images" --format=csv >"$work/csv" 2>"$work/err" || fail "$(cat "$work/err")"
annotate "$sessions/module.vmop" --image-path="$work/images" --context=all -a >"$work/out" 2>"$work/err" ||
	! $has_capstone || fail "$(cat "$work/err")"
! $has_capstone || grep -qE '(call|bl).* _?printk$' "$work/out" || fail "no call of printk: $(cat "$work/out")"
for function in hot rare; do
	compare "$work/csv" "$work/module.ko" $function "$(objdump -t "$work/module.ko" |
		sed -n "s/.* F \(.*\)\t.* $function\$/\1/p")"
done
finish
