# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Debian packages for the rigs: downloaded and unpacked, never installed. The package lists are in a
# directory of the caller, so this machine's apt, its lists and its architectures are only read.
# Sourced after lib.sh.

# mirror main|security: print the URI of Debian's archive of that kind in this machine's sources.
mirror() {
	local pattern='^Debian [^ ]*$'
	[ "$1" = main ] || pattern='^Debian [^ ]*-security$'
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(ORIGIN) $(RELEASE)|$(REPO_URI)' 'Created-By: Packages' |
		awk -F'|' -v p="$pattern" -v security="$1" '
			$1 ~ p && (security == "security" || $1 !~ /-security$/) { print $2; exit }'
}

# own_apt DIR ARCHITECTURE COMMAND...: run apt-get or apt-cache on the lists in DIR only, as if no
# package were installed.
own_apt() {
	local dir=$1 architecture=$2 program=$3
	shift 3
	"$program" -q -o "Dir::Etc::SourceList=$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o "Dir::State=$dir/state" -o Dir::State::status=/dev/null -o "Dir::Cache=$dir/cache" \
		-o APT::Sandbox::User=root -o Acquire::Retries=2 -o "APT::Architecture=$architecture" \
		-o "APT::Architectures=$architecture" "$@"
}

# own_apt_limited SECONDS DIR ARCHITECTURE COMMAND...: the same with a time limit.
own_apt_limited() {
	local limit_s=$1
	shift
	timeout "$limit_s" bash -c "$(declare -f own_apt); own_apt \"\$@\"" own_apt "$@"
}

# own_apt_lists DIR ARCHITECTURE SOURCE...: fetch the package lists of those lines of a sources.list
# into DIR.
own_apt_lists() {
	local dir=$1 architecture=$2
	shift 2
	mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial"
	printf '%s\n' "$@" >"$dir/sources.list"
	# A missing or unreachable suite is no error, as long as the packages are found.
	own_apt_limited 300 "$dir" "$architecture" apt-get update >"$dir/update.log" 2>&1 || true
}

# own_apt_update DIR ARCHITECTURE main|security:SUITE...: fetch the package lists of those suites
# into DIR.
own_apt_update() {
	local dir=$1 architecture=$2 pair uri lines=()
	local keys=/usr/share/keyrings/debian-archive-keyring.gpg signed=
	shift 2
	[ ! -e "$keys" ] || signed="[signed-by=$keys]"
	for pair; do
		uri=$(mirror "${pair%%:*}")
		[ -z "$uri" ] || lines+=("deb $signed $uri ${pair#*:} main")
	done
	[ ${#lines[@]} -gt 0 ] || rig_skip "no Debian archive among this machine's apt sources"
	own_apt_lists "$dir" "$architecture" "${lines[@]}"
}

# own_apt_error DIR: print the error that occurred with the lists, if any.
own_apt_error() {
	grep -m1 -E '^(Err|W|E):' "$1/update.log" || echo "update: no error"
}
