# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # the sourcing scripts use what is set here
# Functions for every rig script; sourced by bash. Sets RIG_DIR (this directory) and RIG_CACHE.
#
# The cache is outside the tree and may be deleted at any time. Each entry is made under a temporary
# name and renamed into place, so that no reader sees half of it. Two makers of one entry wait for
# each other (rig_lock).

RIG_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
RIG_CACHE=${VMOP_RIG_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/vmop/rigs}
RIG_SELF=${0##*/}
readonly RIG_DIR RIG_CACHE RIG_SELF

# rig_die MESSAGE...: print the error and exit 1.
rig_die() {
	printf '%s: %s\n' "$RIG_SELF" "$*" >&2
	exit 1
}

# rig_usage: print the comment at the head of the script (its second block) and exit 2.
rig_usage() {
	sed -n '3,/^[^#]/{s/^# \{0,1\}//p;}' "$0" >&2
	exit 2
}

# rig_skip REASON...: exit 77, which means "skipped" in test suites, because this machine cannot run
# the rig.
rig_skip() {
	printf '%s: skipped: %s\n' "$RIG_SELF" "$*" >&2
	exit 77
}

# rig_need PROGRAM:PACKAGE...: skip unless each program is installed.
rig_need() {
	local pair
	for pair; do
		command -v "${pair%%:*}" >/dev/null ||
			rig_skip "${pair%%:*} is not installed (Debian: ${pair##*:})"
	done
}

# rig_lock NAME: hold the cache's lock NAME until this shell (or subshell) ends. A process that
# outlives the shell must not inherit the lock's descriptor: close it there with {rig_lock_fd}>&-.
rig_lock() {
	mkdir -p "$RIG_CACHE/locks"
	exec {rig_lock_fd}>"$RIG_CACHE/locks/$1"
	flock -w 900 "$rig_lock_fd" || rig_die "lock $RIG_CACHE/locks/$1 is held for 15 minutes"
}

# rig_scratch VARIABLE: make a private directory, store its name in VARIABLE and remove it when the
# shell ends (with VMOP_RIG_KEEP=1, keep it and print its name).
rig_scratch() {
	local dir
	dir=$(mktemp -d "${TMPDIR:-/tmp}/vmop-rig.XXXXXX") || rig_die "no temporary directory"
	RIG_SCRATCH+=("$dir")
	printf -v "$1" %s "$dir"
}
RIG_SCRATCH=()
RIG_PIDS=()

# End the processes that this shell started and listed in RIG_PIDS, then remove its directories.
rig_clean_up() {
	local pid dir
	for pid in "${RIG_PIDS[@]}"; do
		if kill "$pid" 2>/dev/null; then rig_wait_gone "$pid"; fi
	done
	for dir in "${RIG_SCRATCH[@]}"; do
		if [ "${VMOP_RIG_KEEP:-0}" = 1 ]; then
			printf '%s: kept %s\n' "$RIG_SELF" "$dir" >&2
		else
			rm -rf -- "$dir"
		fi
	done
	RIG_PIDS=() RIG_SCRATCH=()
}
trap rig_clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# rig_wait_gone PID: wait up to 5 s until it ends, then kill it.
rig_wait_gone() {
	local i
	for ((i = 0; i < 50; i++)); do
		kill -0 "$1" 2>/dev/null || return 0
		# kill -0 succeeds for a zombie child until the shell waits for it.
		[ "$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null)" != Z ] || break
		sleep 0.1
	done
	kill -KILL "$1" 2>/dev/null || true
	wait "$1" 2>/dev/null || true
}

# rig_sum FILE...: print one hash of the contents, for cache keys.
rig_sum() {
	cat -- "$@" | sha256sum | cut -c1-16
}

# rig_copy_libraries PROGRAM ROOT: copy the libraries that the dynamic loader would open for it to
# the same paths below ROOT. ROOT/lib is searched first, and files found there stay unchanged.
rig_copy_libraries() {
	local library
	# ldd fails for static programs and scripts, which need no libraries.
	{ LD_LIBRARY_PATH=$2/lib ldd "$1" 2>/dev/null || true; } |
		sed -nE 's@^[^/]*(/[^ ]+\.so[^ ]*).*@\1@p' | while read -r library; do
			[ "${library#"$2"}" = "$library" ] && [ ! -e "$2$library" ] || continue
			mkdir -p "$2$(dirname "$library")"
			cp -L "$library" "$2$library"
		done
}

# rig_copy_arm64_libraries PROGRAM ROOT SYSROOT: copy the libraries of an arm64 program, and theirs,
# from the sysroot to the same paths in ROOT, with the loader. ROOT/lib and ROOT/usr/lib are one
# directory; existing files stay.
rig_copy_arm64_libraries() {
	local name from
	mkdir -p "$2/usr/lib/aarch64-linux-gnu"
	cp -L "$3/usr/lib/ld-linux-aarch64.so.1" "$2/usr/lib/"
	aarch64-linux-gnu-readelf -d "$1" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
		while read -r name; do
			from=$3/usr/lib/aarch64-linux-gnu/$name
			[ -e "$from" ] || from=$3/usr/lib/$name
			[ ! -e "$2/usr/lib/$name" ] || continue
			[ -e "$from" ] || rig_die "$1 needs $name, which the sysroot lacks"
			[ ! -e "$2${from#"$3"}" ] || continue
			cp -L "$from" "$2${from#"$3"}"
			rig_copy_arm64_libraries "$from" "$2" "$3"
		done
}

# rig_copy_font ROOT: copy one font, and fontconfig's files, which charts need.
rig_copy_font() {
	local font=/usr/share/fonts/truetype/dejavu
	[ -e "$font/DejaVuSans.ttf" ] || rig_skip "$font is missing (Debian: fonts-dejavu-core)"
	mkdir -p "$1/etc/fonts" "$1$font"
	cp "$font"/DejaVuSans{,-Bold}.ttf "$1$font/"
	cp -rL /etc/fonts/fonts.conf /etc/fonts/conf.d "$1/etc/fonts/"
}

# rig_pack DIRECTORY IMAGE: make an uncompressed initramfs, completely or not at all. The same files
# give the same bytes.
rig_pack() {
	find "$1" -exec touch -hd @0 {} +
	(cd "$1" && find . | LC_ALL=C sort | cpio -o -H newc -R 0:0 --reproducible --quiet) >"$2.part"
	mv "$2.part" "$2"
}
