# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by check: the nightly comparison as it is installed, in an emulated machine whose clock is set: days of half a
# minute, each of a real recording. systemd's timer, then cron. Needs qemu and the rigs' kernel.
# shellcheck disable=SC2154 # of lib.sh and check

command -v qemu-system-x86_64 >/dev/null || skip "no qemu-system-x86_64 (Debian: qemu-system-x86)"
command -v busybox >/dev/null || skip "no busybox (Debian: busybox-static)"

# machine_initrd FILE: write an initramfs that mounts the disk and starts its systemd.
machine_initrd() {
	local dir=$work/initrd module
	mkdir -p "$dir"/{bin,dev,proc,new}
	cp "$(command -v busybox)" "$dir/bin/busybox"
	cat >"$dir/init" <<-'END'
		#!/bin/busybox sh
		/bin/busybox mount -t devtmpfs none /dev
		for module in /*.ko; do /bin/busybox insmod $module; done
		/bin/busybox mount -t ext4 /dev/vda /new
		exec /bin/busybox switch_root /new /lib/systemd/systemd
	END
	chmod 755 "$dir/init"
	# In the order in which they need each other.
	local n=0
	for module in virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk; do
		n=$((n + 1))
		[ ! -e "$kernel/modules/$module.ko" ] || cp "$kernel/modules/$module.ko" "$dir/$n-$module.ko"
	done
	(cd "$dir" && find . | cpio -o -H newc --quiet) >"$1"
}

# machine_tree: install the package and the trial into the tree.
machine_tree() {
	put "$deb"
	expect 0 "Setting up vmop" in_tree apt-get -q -y install "/debs/$(basename "$deb")"
	cp "$src/tests/packages/trial" "$root/debs/"
	cp "$root/usr/bin/sha256sum" "$root/debs/load-a"
	cp "$root/usr/bin/sha256sum" "$root/debs/load-b"
	cat >"$root/usr/sbin/sendmail" <<-'END'
		#!/bin/sh
		mkdir -p /mail && part=$(mktemp /mail/part.XXXXXX) && cat >"$part" && mv "$part" "/mail/mail.${part##*.}"
	END
	chmod 755 "$root/usr/sbin/sendmail" "$root/debs/trial"
	cat >"$root/etc/systemd/system/trial.service" <<-'END'
		[Unit]
		After=multi-user.target
		[Service]
		Type=exec
		ExecStart=/debs/trial
		ExecStopPost=systemctl poweroff -ff
		[Install]
		WantedBy=multi-user.target
	END
	in_tree systemctl -q enable trial.service
	in_tree systemctl -q mask getty.target serial-getty@ttyS0.service apt-daily.timer apt-daily-upgrade.timer \
		e2scrub_all.timer dpkg-db-backup.timer systemd-timesyncd.service
	# Make the disk small.
	rm -rf "$root"/usr/src/linux-* "$root"/usr/lib/gcc* "$root"/usr/lib/linux-* "$root"/usr/share/{locale,perl}
	rm -rf "$root"/lib/modules/*
}

# run_machine: boot it, for at most twenty minutes; its console is $work/console.
run_machine() {
	mke2fs -q -t ext4 -d "$root" "$work/disk" 1G
	machine_initrd "$work/initrd.cpio"
	timeout -k 5 1200 qemu-system-x86_64 -accel tcg,thread=multi -cpu max,-cx16 -smp 1 -m 1024 -M q35 -nodefaults \
		-no-user-config -display none -no-reboot -serial "file:$work/console" \
		-drive "file=$work/disk,format=raw,if=virtio,cache=unsafe" -device virtio-rng-pci \
		-kernel "$kernel/vmlinux" -initrd "$work/initrd.cpio" -rtc base=2026-03-02T06:00:00 \
		-append "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable no_timer_check systemd.show_status=no" \
		</dev/null >"$work/qemu.log" 2>&1
}

# night DAY WORDS: check the line that the trial has printed about a night.
night() {
	local line
	line=$(tr -d '\r' <"$work/console" | sed -n "s/^TRIAL night after $1: //p")
	is "the night after $1" "$line" = "$2"
}

step "an emulated machine, and the timer at midnight"
kernel=$("$src/tests/rigs/fetch" 6.1) || skip "$kernel"
base_tree "$root"
machine_tree
status=0
run_machine || status=$?
grep -a '^TRIAL' "$work/console" || tail -n 20 "$work/console" "$work/qemu.log"
is "the emulator's status" $status -eq 0
# The first has nothing before it.
night 2026-03-02 "timer success 0, saved, 0 mails"
night 2026-03-03 "timer success 0, saved, 0 mails"
night 2026-03-04 "timer success 0, saved, 0 mails"
night 2026-03-05 "timer success 4, saved, 1 mails"
night 2026-03-06 "cron, saved, 1 mails"
limit() {
	tr -d '\r' <"$work/console" | grep -c "^TRIAL limit $1: $2" || true
}
is "sessions with too little memory" "$(limit 16777216 '16777216, exit 3, .*raise it (MemoryMax=)')" -eq 1
is "sessions with enough" "$(limit 67108864 '67108864, exit 0, 67108864 bytes; ')" -eq 1
is "the page" "$(grep -ac '^TRIAL mail: .*changed: .*load-b' "$work/console")" -ge 1
is "priorities for the journal in the page" "$(grep -ac '^TRIAL mail: <' "$work/console")" -eq 0
is "the list of failed units" "$(tr -d '\r' <"$work/console" | sed -n 's/^TRIAL failed units: //p')" = ""
rm -rf --one-file-system "$root"
