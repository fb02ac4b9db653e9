#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopcontrol --inspect on a saved image of a guest's memory: without a daemon and without
# privileges.
. "$(dirname "$0")/common.sh"
make_image=$build/tests/fixtures/make-guest-image

# json MEMBER: print the number or word of a member in the --json output $work/out.
json() {
	sed -n "s/^ *\"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$work/out" | head -n 1
}

for guest in "" arm64; do
	# shellcheck disable=SC2086 # none, or one word
	"$make_image" $guest "$work/ram" >"$work/truth"
	expect 0 "kernel symbols and processes" control --inspect="$work/ram"
	expect 0 "$(sed -n 's/^symbols //p' "$work/truth"), found by" control --inspect="$work/ram"
	for word in 16.0\ MiB "${guest:-x86-64}, 4 KiB pages" worker "struct offsets from BTF" KASLR \
		"vCPU 0: worker (2)"; do
		grep -qF "$word" "$work/out" || fail "no $word in $(cat "$work/out")"
	done
	expect 0 "" control --inspect="$work/ram" --json
	is "path" "$(json path)" = "$work/ram"
	is "text" "$(json text)" = "$(sed -n 's/^text //p' "$work/truth")"
	is "processes" "$(json processes)" -eq 3
	is "next" "$(json next)" = null
	cp "$work/out" "$work/json"
	expect 0 "/" control --inspect="$work/ram" --verbose
	is "mappings shown with --verbose" "$(grep -c '^  0x' "$work/out")" -gt 0
done
[ ! -e "$VMOP_RUNDIR" ] || fail "it made $(ls "$VMOP_RUNDIR")"

# Run as another user, who may read the file and no other file of the test.
somebody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all "$@"
}
if [ "$(id -u)" -eq 0 ] && somebody true 2>"$work/out"; then
	mkdir "$work/bin" # that user may be unable to reach the build tree
	cp "$build/vmopcontrol" "$build/vmopd" "$work/bin/"
	chmod 644 "$work/ram"
	expect 0 "worker" somebody "$work/bin/vmopcontrol" --inspect="$work/ram"
	chmod 600 "$work/ram"
	refuse 3 "$work/ram: Permission denied" somebody "$work/bin/vmopcontrol" --inspect="$work/ram"
fi

# The made image has no stacks: its kernel's layout lacks them. Its error names the kernel.
refuse 1 "stacks are not known" control --inspect="$work/ram" --stacks
refuse 2 "--stacks goes with --inspect" control --status --stacks
refuse 2 "neither a pid nor xen:ID" "$build/vmopd" --inspect-guest=web1
refuse 1 "there is no process 2147483646" "$build/vmopd" --inspect-guest=2147483646
refuse 2 "--stacks goes with" "$build/vmopd" --stacks
# A process that is no VMM.
refuse 1 "no memory that can be" control --inspect=$$ --stacks

# No image, no image of Linux, or a damaged one: one line each.
(cd "$work" && refuse 3 "./nowhere: No such file" control --inspect=./nowhere && exit "$failed") || failed=1
refuse 3 "not an image" control --inspect=/etc/passwd
refuse 3 "not an image" control --inspect="$work/"
refuse 3 "no dump of a guest's memory" control --inspect="$build/tests/fixtures/make-guest-image"
head -c 3000000 /dev/zero >"$work/zeros"
refuse 1 "$work/zeros: no Linux kernel" control --inspect="$work/zeros"
refuse 1 "no Linux kernel" control --inspect="$work/zeros" --json
head -c 5000000 "$work/ram" >"$work/short"
refuse 1 "$work/short: no Linux kernel" control --inspect="$work/short"
mkfifo "$work/fifo"
refuse 3 "not an image" control --inspect="$work/fifo"
refuse 2 "goes with" control --inspect="$work/ram" --event=cpu-clock
# Without a slash the argument is a guest's name, which only vmopd can resolve.
(cd "$work" && refuse 3 "vmopd is not running" control --inspect=ram && exit "$failed") || failed=1

# Its output may not be writable.
if [ -w /dev/full ]; then
	echo "expect a failure where nothing can be written"
	if "$build/vmopd" --inspect-image="$work/ram" >/dev/full 2>"$work/out"; then
		fail "nobody noticed a full disk"
	fi
fi
finish
