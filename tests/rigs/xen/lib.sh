# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
# Functions for a scenario in the emulated Xen machine's dom0 (busybox sh), in addition to say,
# fail, load and run of l1/lib.sh.

# nmi_on [HZ]: send that many NMIs a second to every CPU of the machine, as if a counter overflowed.
# nmi_off: stop. xen-run reads these commands from the console.
nmi_on() {
	say "NMI on ${1:-200}"
}

nmi_off() {
	say "NMI off"
}

# start_xenstore: start the toolstack's daemons; once, before the first domain.
start_xenstore() {
	xenstored --pid-file /run/xenstored.pid
	i=0
	while ! xenstore-read domid >/dev/null 2>&1 && ! xenstore-ls / >/dev/null 2>&1; do
		[ $((i += 1)) -le 100 ] || fail "xenstored does not answer"
		usleep 100000
	done
	xen-init-dom0 >/dev/null
	xenconsoled --log=all --pid-file=/run/xenconsoled.pid
	say "XENSTORE"
}

# start_domain NAME pv|pvh|hvm [WORD]...: start a domU (hvm: see add-hvm); words of the form rig.X=Y and other kernel
# parameters go to its command line (guest/init lists its commands), except these:
#   memory=MIB (160)   vcpus=N (1)   uuid=U (a random one)   kernel=FILE (/guest/vmlinux)
#   initrd=FILE (/guest/initramfs; empty: none)   paused=1: create it, but do not run it
#   disk=MIB: an empty disk, /dev/xvda there and /tmp/NAME.disk here (files=add-agents)
start_domain() {
	name=$1 type=$2 words="" memory=160 vcpus=1 uuid="" kernel=/guest/vmlinux
	initrd=/guest/initramfs paused=0 disk=""
	shift 2
	for word; do
		case $word in
		memory=* | vcpus=* | uuid=* | kernel=* | initrd=* | paused=* | disk=*) eval "$word" ;;
		*) words="$words $word" ;;
		esac
	done
	cat >"/tmp/$name.cfg" <<-END
		name = "$name"
		type = "$type"
		kernel = "$kernel"
		memory = $memory
		vcpus = $vcpus
		extra = "console=hvc0 rig.console=hvc0 quiet mitigations=off nokaslr$words"
		on_crash = "destroy"
		on_poweroff = "destroy"
	END
	[ -z "$initrd" ] || echo "ramdisk = \"$initrd\"" >>"/tmp/$name.cfg"
	[ -z "$uuid" ] || echo "uuid = \"$uuid\"" >>"/tmp/$name.cfg"
	[ -z "$disk" ] || add_disk "$name" "$disk"
	# No devices except those that QEMU needs, such as the disk controller.
	[ "$type" != hvm ] || printf '%s\n' 'vga = "none"' 'nographic = 1' 'vnc = 0' 'usb = 0' >>"/tmp/$name.cfg"
	# Its clock would be scaled otherwise, which the emulated CPU does not support.
	[ "$type" = pv ] || echo 'tsc_mode = "native"' >>"/tmp/$name.cfg"
	: >"/var/log/xen/console/guest-$name.log"
	pause=""
	[ "$paused" = 0 ] || pause=-p
	# shellcheck disable=SC2086 # none or one
	xl create $pause "/tmp/$name.cfg" >"/tmp/$name.create" 2>&1 || {
		cat "/tmp/$name.create"
		[ "$type" != hvm ] || tail -n 5 "/var/log/xen/qemu-dm-$name.log"
		fail "xl create $name"
	}
	say "DOMAIN $name is $(xl domid "$name")"
}

# add_disk NAME MIB: add a disk to the configuration of a domain that is about to be started.
add_disk() {
	[ -e /dev/loop0 ] || load loop xen-blkback
	truncate -s "$2M" "/tmp/$1.disk"
	device=$(losetup -f)
	losetup "$device" "/tmp/$1.disk"
	cat >>"/tmp/$1.cfg" <<-END
		disk = [ "format=raw, vdev=xvda, access=rw, backendtype=phy, script=block-rig, target=$device" ]
	END
}

# start_spinner NAME [WORD]...: start a PV domain that only runs, in its kernel's mode (xen/spin.S).
start_spinner() {
	name=$1
	shift
	start_domain "$name" pv kernel=/guest/spin initrd= memory=8 "$@"
}

# wait_domain NAME PATTERN [SECONDS]: wait until its console has a line "RIG PATTERN..."; fails the
# scenario otherwise.
wait_domain() {
	tries=$((${3:-300} * 5))
	while ! grep -q "^RIG $2" "/var/log/xen/console/guest-$1.log"; do
		# xl is slow here, so it is run seldom.
		if [ $tries -le 0 ] || { [ $((tries % 50)) = 0 ] && ! xl domid "$1" >/dev/null 2>&1; }; then
			tail -n 8 "/var/log/xen/console/guest-$1.log"
			fail "domain $1 never said '$2'"
		fi
		usleep 200000
		tries=$((tries - 1))
	done
	say "DOMAIN $1: $2"
}

# looked_into NAME: wait until vmopd has the processes of that domain; its last reply is in
# inspect-NAME.json.
looked_into() {
	tries=0
	until vmopcontrol --inspect="$1" --json >"inspect-$1.json" 2>/dev/null && grep -q '"hot-static"' "inspect-$1.json"; do
		[ $((tries += 1)) -le 150 ] || { say "guest $1 is not looked into"; break; }
		sleep 2
	done
}

# within SECONDS COMMAND...: repeat it until it succeeds. After a timeout, report it and continue
# the scenario.
within() {
	tries=$1
	shift
	until "$@" >/dev/null 2>&1; do
		[ $((tries -= 1)) -ge 0 ] || { say "never true: $*"; return 0; }
		sleep 1
	done
}

# tell_domain NAME WORD [SECONDS]: send a command to a domain with xen/agent-init, and wait until it
# is done.
tell_domain() {
	told=$((${told:-0} + 1))
	xenstore-write "/local/domain/$(xl domid "$1")/data/rig" "$2 $told"
	wait_domain "$1" "DID $2 $told" "${3:-120}"
}

# domain_file NAME: print the file that the domain has sent last on its console, compressed and as
# text between RIG FILE and RIG FILE-END.
domain_file() {
	tr -d '\r' <"/var/log/xen/console/guest-$1.log" |
		awk '/^RIG FILE$/ { text = ""; on = 1; next } /^RIG FILE-END$/ { on = 0 }
			on { text = text $0 "\n" } END { printf "%s", text }' | base64 -d | gunzip
}

# fetch_session NAME FILE [SESSION]: fetch a session that such a domain stored (current), by its
# disk or else by its console, which is too slow for its kernel's symbols.
fetch_session() {
	tell_domain "$1" "send ${3:-current}"
	if [ -e "/tmp/$1.disk" ]; then
		sync
		len=$(tr -d '\r' <"/var/log/xen/console/guest-$1.log" | sed -n 's/^RIG ON-DISK //p' | tail -n 1)
		head -c "$len" "/tmp/$1.disk" >"$2"
		return
	fi
	domain_file "$1" >"$2"
}

# pinned CPU COMMAND...: run it in the background, only on that CPU of dom0; $! is its pid.
pinned() {
	cpu=$1
	shift
	taskset $((1 << cpu)) "$@" &
}
