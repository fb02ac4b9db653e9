# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by check: the packages in a tree without systemd. Installs, records, reports, removes, purges.
# shellcheck disable=SC2154 # of lib.sh and check

step "a tree of Debian $VMOP_DEBIAN_SUITE, without systemd"
base_tree "$root"
files >"$work/before"
put "$deb" "$dkms_deb"

# install OPTION...: install packages, without the network.
in_tree_install() {
	in_tree apt-get -q -y install "$@"
}

step "install vmop"
expect 0 "Setting up vmop ($version)" in_tree_install "/debs/$(basename "$deb")"
expect 0 "install ok installed" in_tree dpkg-query -W -f='${Status}' vmop
for program in $(cd "$root/usr/bin" && ls -d vmop*); do
	is "the manual of $program" "$(find "$root/usr/share/man" -name "$program.*.gz" | wc -l)" -eq 1
	expect 0 "Usage" in_tree "$program" --help
	is "libraries that $program lacks" "$(in_tree ldd "/usr/bin/$program" 2>/dev/null | grep -c 'not found')" -eq 0
done
expect 0 "vmopd (vmop) ${version%-*}" in_tree vmopd --version
is "the group" "$(grep -c '^vmop:' "$root/etc/group")" -eq 1
is "the session directory" "$(in_tree stat -c '%U %G %a' /var/lib/vmop)" = "root vmop 2755"
is "jobs that cron would start" "$(grep -c '^[0-9*]' "$root/etc/cron.d/vmop")" -eq 0
is "jobs that an administrator can switch on" "$(grep -c '^#[0-9].*/usr/libexec/vmop/vmop-nightly$' "$root/etc/cron.d/vmop")" -eq 1
expect 0 - in_tree systemd-analyze verify --man=no vmopd.service vmop-nightly.service vmop-nightly.timer
expect 0 - in_tree apt-get -q -y check -qq

step "record and report"
cat >"$root/debs/record" <<'RECORD'
set -e
vmopcontrol --run -- timeout 3 sha256sum /dev/zero || [ $? -eq 124 ]
vmopreport -l --top=5
vmopcontrol --list
RECORD
expect 0 "sha256sum" in_tree sh /debs/record
grep -E '^samples|sha256sum' "$work/out" || true
is "sessions" "$(find "$root/var/lib/vmop" -name '*.vmop' | wc -l)" -eq 1

is "who may read it" "$(in_tree find /var/lib/vmop -name '*.vmop' -printf '%u %g %m')" = "root vmop 640"
expect 0 "sha256sum" in_tree setpriv --reuid=nobody --regid=vmop --clear-groups vmopreport -l
expect 3 "members of the group vmop may read it" in_tree setpriv --reuid=nobody --regid=nogroup --clear-groups vmopreport -l

step "the modules that programs load when they are wanted"
modules=$root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)/vmop
is "modules" "$(cd "$modules" && echo *)" = "vmop-appio.so vmop_cells.so vmop_charts.so"
for module in "$modules"/*; do
	is "libraries that ${module##*/} lacks" "$(in_tree ldd "${module#"$root"}" | grep -c 'not found')" -eq 0
done
for format in svg png pdf; do
	expect 0 "" in_tree vmopreport -l --chart=bars -o "/debs/chart.$format"
done
expect 0 "sha256sum" pdftotext "$root/debs/chart.pdf" -
is "the SVG file" "$(grep -c '</svg>' "$root/debs/chart.svg")" -eq 1
is "the PNG file" "$(head -c 4 "$root/debs/chart.png" | tail -c 3)" = PNG
is "the PDF file" "$(head -c 4 "$root/debs/chart.pdf")" = %PDF
# By BPF, and for a user without rights by the library that is loaded into the command.
printf 'twelve bytes' >"$root/debs/twelve"
expect 0 "application I/O" in_tree vmopstat --io=bpf -- cat /debs/twelve
is "bytes written, counted by BPF" "$(awk '$1 == "writes" { print $3 }' "$work/out")" -eq 12
expect 0 "application I/O" in_tree setpriv --reuid=nobody --regid=nogroup --clear-groups vmopstat --io=preload -- cat /debs/twelve
is "bytes written, counted by the library" "$(awk '$1 == "writes" { print $3 }' "$work/out")" -eq 12

step "the kernel module, by DKMS"
expect 0 "Setting up vmop-dkms" in_tree_install "/debs/$(basename "$dkms_deb")"
built=$(in_tree dkms status 2>/dev/null)
echo "$built"
is "modules that are built" "$(echo "$built" | grep -c "^vmop/${version%-*}.*installed")" -ge 1
is "the module" "$(find "$root/lib/modules" "$root/usr/lib/modules" -name 'vmop.ko*' | wc -l)" -ge 1
expect 0 "Removing vmop-dkms" in_tree apt-get -q -y purge vmop-dkms
is "the module" "$(find "$root/lib/modules" "$root/usr/lib/modules" -name 'vmop.ko*' | wc -l)" -eq 0

step "remove"
expect 0 "Removing vmop" in_tree apt-get -q -y remove vmop
is "sessions that stay" "$(find "$root/var/lib/vmop" -name '*.vmop' | wc -l)" -eq 1
is "cron's file stays until purge" "$(find "$root/etc/cron.d/vmop" | wc -l)" -eq 1
# A crontab in use has no program any more, and is silent.
sed -i 's/^#2 0/2 0/' "$root/etc/cron.d/vmop"
expect 0 - in_tree sh -c "$(sed -n 's/^2 0.*	root	//p' "$root/etc/cron.d/vmop")"

step "purge"
# Files that vmop has not made stay.
touch "$root/var/lib/vmop/notes.txt"
ln -s /debs/record "$root/var/lib/vmop/link.vmop"
expect 0 "Purging configuration files for vmop" in_tree apt-get -q -y purge vmop
is "sessions" "$(find "$root/var/lib/vmop" -name '*.vmop' -type f | wc -l)" -eq 0
is "files of others" "$(find "$root/var/lib/vmop" -mindepth 1 | wc -l)" -eq 2
rm -r "$root/var/lib/vmop"
sed -i '/^vmop:/d' "$root/etc/group" "$root/etc/gshadow"
same_files purge
rm -rf --one-file-system "$root"
