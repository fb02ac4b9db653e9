# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash disable=SC1091 # paths inside the machine
# A KVM guest that computes, and one that also exits 200 times a round. Each is counted in both
# worlds, only in guests, and only on the host. A period is longer than a guest's round: QEMU up to
# 10 arms its timer, for all counters but the cycle counter, a cycle before they overflow, and does
# not arm it again. Such an overflow is noticed late, at the next change of exception level, and two
# before it would give one sample.
. /rig/session.sh
session guest cycles:1000003 450 kvm-burn 600 1
session guestonly cycles:1000003::1:1:0:1 450 kvm-burn 600 1
session hostonly cycles:1000003::1:1:1:0 5 kvm-burn 600 1
session exits cycles:1000003 800 kvm-burn 600 200
session exitsguest cycles:1000003::1:1:0:1 450 kvm-burn 600 200
session exitshost cycles:1000003::1:1:1:0 400 kvm-burn 600 200
