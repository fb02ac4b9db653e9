# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2154 # variables of tests/integration/common.sh
# Sourced by the tests here: an unprivileged user attacks programs that root runs, in directories of
# the test.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}/tests/integration/common.sh"
[ "$(id -u)" -eq 0 ] || skip "not root"
evil_uid=65534

# The prefix of a command that runs as the attacker.
as_evil="setpriv --reuid=$evil_uid --regid=$evil_uid --clear-groups"
# shellcheck disable=SC2086 # words
as_evil() {
	$as_evil "$@"
}
as_evil test -x "$build/vmopcontrol" || skip "user $evil_uid can't run $build/vmopcontrol"

# Run a command for at most 20 s. Exit status 124 means that it hangs.
bounded() {
	timeout -k 1 20 "$@"
}

# Print the name, owner, mode, size and content of each file below a directory.
state_of() {
	find "$@" -printf '%p %U %m %s ' \( -type f -exec sha256sum {} \; -o -printf '\n' \) | sort
}
