#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The installed libvmop: its name, its symbols, and the examples of C and C++ built with pkg-config.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
[ -z "$sanitized" ] || skip "programs without sanitizers cannot use a library with them"
root=$work/root
directory() {
	MAKEFLAGS='' make -s -C "$build" --eval="vmop-print: ; @echo \$($1)" vmop-print
}
MAKEFLAGS='' make -s -C "$build" install-libLTLIBRARIES install-includeHEADERS install-pkgconfigDATA \
	install-dist_examplesDATA DESTDIR="$root" >"$work/install.log" 2>&1 || {
	tail -n 5 "$work/install.log"
	fail "make install"
}
lib=$root$(directory libdir) examples=$root$(directory docdir)/examples/libvmop
is "the name that programs need" "$(readelf -d "$lib/libvmop.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')" = libvmop.so.0
# Exported are the names in the map, all with its version, and no other.
nm -D --defined-only "$lib/libvmop.so" | awk '$2 != "A" { print $3 }' | sort >"$work/exported"
sed -n 's/^	\(vmop_[a-z_]*\);$/\1@@LIBVMOP_0.1/p' "$src/libvmop/libvmop.map" | sort >"$work/wanted"
is "differences of exported symbols: $(diff "$work/wanted" "$work/exported" || :)" \
	"$(diff "$work/wanted" "$work/exported" | wc -l)" -eq 0
# Each is in the header and in the man page.
sed 's/@.*//' "$work/wanted" | while read -r name; do
	if ! grep -q "\b$name(" "$src/libvmop/vmop.h" || ! grep -q "$name" "$src/man/libvmop.3"; then
		echo "$name"
	fi
done >"$work/missing"
is "symbols without a declaration or a page: $(cat "$work/missing")" "$(wc -l <"$work/missing")" -eq 0
is "libraries of others that it needs" "$(readelf -d "$lib/libvmop.so" | grep -c 'NEEDED.*\(jansson\|inih\|sqlite\|elf\)')" -eq 0

command -v pkg-config >/dev/null || skip "there is no pkg-config"
export PKG_CONFIG_PATH="$lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root" LD_LIBRARY_PATH="$lib"
# As an installed one in /usr would: the flags may leave out standard directories.
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
is "the version" "$(pkg-config --modversion libvmop)" = "$(directory PACKAGE_VERSION)"
# shellcheck disable=SC2046 # flags are words
${VMOP_CC:-cc} -std=c99 -Wall -Wextra -pedantic -Werror -o "$work/region" "$examples/region.c" \
	$(pkg-config --cflags --libs libvmop) || fail "the C example does not build"
perf_works=$("$build/vmopstat" -e task-clock -o "$work/try" true && echo yes || :)
[ -n "$perf_works" ] || skip "this kernel counts no events here: $(cat "$work/try")"
"$work/region" >"$work/out" || fail "exit $? of the C example"
is "faults of 8 MiB that the C example counts: $(cat "$work/out")" "$(awk '$1 == "page-faults" { print $2 }' "$work/out")" -gt 3
if command -v c++ >/dev/null; then
	# shellcheck disable=SC2046 # flags are words
	c++ -std=c++11 -Wall -Wextra -pedantic -Werror -o "$work/overflow" "$examples/overflow.cc" \
		$(pkg-config --cflags --libs libvmop) || fail "the C++ example does not build"
	"$work/overflow" >"$work/out" || fail "exit $? of the C++ example"
	is "calls of the C++ example: $(cat "$work/out")" "$(sed -n 's/.*, \([0-9]*\) calls/\1/p' "$work/out")" -ge 1
fi
# An error is one line with the event.
status=0
"$work/region" no-such-event 2>"$work/err" || status=$?
is "exit status for an unknown event" $status -eq 1
is "its message: $(cat "$work/err")" "$(grep -c "^region: no event 'no-such-event'" "$work/err")" -eq 1
finish
