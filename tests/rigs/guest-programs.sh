# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154,SC2016 # the caller's variables; $ORIGIN is the loader's
# Functions that build programs for guests, for build-guest and build-guest-disk. $cc is the
# compiler, $flags its options.

# rig_build_brief NAME LIBRARY PREFIX: build brief.c as NAME-static, and as NAME-dynamic, which has
# its functions in the library and finds it beside itself or in /lib. Their names begin with PREFIX
# and the kind, such as brief_static_major.
# shellcheck disable=SC2086 # lists
rig_build_brief() {
	local guest=$RIG_DIR/guest
	$cc $flags -static -no-pie -fno-pie "-DWORK_PREFIX=${3}static_" -o "$1-static" "$guest/brief.c" "$guest/work.c"
	$cc $flags -shared -fPIC "-DWORK_PREFIX=${3}dynamic_" "-Wl,-soname,${2##*/}" -o "$2" "$guest/work.c"
	$cc $flags -pie -fPIE "-DWORK_PREFIX=${3}dynamic_" -o "$1-dynamic" "$guest/brief.c" "$2" '-Wl,-rpath,$ORIGIN'
}

# rig_build_paths PROGRAM LIBRARY LINKS: build paths.c without frame pointers, and a directory with
# a link for each of its modes. LIBRARY "": the static program.
# shellcheck disable=SC2086 # lists
rig_build_paths() {
	local guest=$RIG_DIR/guest mode modes="calls recursion signals thread zero pipe getpid faults"
	local options="-fomit-frame-pointer -DWORK_PREFIX=leaf_" before=''
	if [ -n "$2" ]; then
		$cc $flags $options -shared -fPIC "-Wl,-soname,${2##*/}" -o "$2" "$guest/paths-library.c"
		$cc $flags $options -pie -fPIE -o "$1" "$guest/paths.c" "$guest/work.c" "$2" -lpthread
		modes="$modes library"
	else
		$cc $flags $options -DPATHS_STATIC -static -no-pie -fno-pie -o "$1" "$guest/paths.c" "$guest/work.c" -lpthread
		before=static-
	fi
	mkdir "$3"
	for mode in $modes; do
		ln -s "../$(basename "$(dirname "$1")")/${1##*/}" "$3/$before$mode"
	done
}
