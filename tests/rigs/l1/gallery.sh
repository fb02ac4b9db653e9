# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
# A function for the scenarios of doc/gallery.

# compare_program NAME ROUNDS EVENTS: record and compare one of the gallery's programs, by the
# command that a user gives. Its directory and its sessions are kept.
compare_program() {
	program=$1 rounds=$2 events=$3
	RUN_LIMIT_S=1500 run "$program" vmopcompare --run "$program $rounds" --guest g1 \
		--guest-run "on-guest g1 $program $rounds" --record "--event=$events --guest-cpu=100%" \
		--per=1 --sort=count --timeout=20m --output-dir="/results/$program" --session-dir=/tmp/sessions
	for side in host guest; do
		[ ! -e "/tmp/sessions/$program-$side.vmop" ] || cp "/tmp/sessions/$program-$side.vmop" /results/
	done
}

# start_gallery [WORD]...: start the guest with these words. The host's programs are those of the guest's
# initramfs.
start_gallery() {
	mkdir -p /tmp/gallery
	for initramfs in /guest/*/initramfs; do
		(cd /tmp/gallery && cpio -id bin/cg bin/walk <"$initramfs" 2>/dev/null)
	done
	ln -s /rig/on-guest.sh /tmp/gallery/bin/on-guest
	PATH=/tmp/gallery/bin:$PATH
	start_guest g1 00000001-2222-3333-4444-555555555555 shell=1 "$@"
	wait_guest g1 READY
}

# add_vmopstat: put vmopstat with its libraries into the initramfs of each guest; archives are unpacked one after the
# other. For start_guest, before it.
add_vmopstat() {
	root=/tmp/add-vmopstat
	libraries=$root/lib/aarch64-linux-gnu
	mkdir -p $root/bin "$libraries"
	cp /usr/bin/vmopstat $root/bin/
	LD_TRACE_LOADED_OBJECTS=1 /lib/ld-linux-aarch64.so.1 /usr/bin/vmopstat |
		sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | while read -r library; do
		cp -L "$library" "$libraries/"
	done
	(cd $root && find . | cpio -o -H newc 2>/dev/null) >/tmp/add-vmopstat.cpio
	for initramfs in /guest/*/initramfs; do
		cat /tmp/add-vmopstat.cpio >>"$initramfs"
	done
}
