# SPDX-License-Identifier: GPL-2.0-or-later
# Rigs: real kernels under emulation (tests/rigs/README.md). KIND:NAME, run by tests/rigs/KIND-run.
RIGS += kvm:selftest kvm:deferred kvm:hotplug kvm:spine kvm:passive kvm:waiting
# the BPF program that reads guests, on three hosts
RIGS += kvm:guest-reader kvm:guest-reader@6.12 kvm:guest-reader@newest
# the tasks and the call stacks of guests' samples, on two hosts
RIGS += kvm:context kvm:context@6.12 kvm:context-reboot kvm:context-reboot@6.12 kvm:context-reset kvm:guest-stacks kvm:guest-stacks@6.12
# agents in guests, and guests that pose as such
RIGS += kvm:active kvm:handed
# An active guest that migrates live, and is saved and restored
RIGS += kvm:migration
EXTRA_DIST += tests/rigs/scenarios/migration.l1 tests/rigs/scenarios/migration.check
# an agent that samples by the counters of its guest's virtual PMU
RIGS += arm64:active-pmu
EXTRA_DIST += tests/rigs/scenarios/active-pmu.arm64 tests/rigs/scenarios/active-pmu.check
# packets for an active guest: what it saw, and what the host did for it
RIGS += kvm:packets
EXTRA_DIST += tests/rigs/scenarios/active.l1 tests/rigs/scenarios/active.check tests/rigs/guest/vsock-liar.c \
	tests/rigs/scenarios/handed.l1 tests/rigs/scenarios/handed.check \
	tests/rigs/scenarios/packets.l1 tests/rigs/scenarios/packets.check tests/rigs/packets-table
# the time of vCPUs beside the guests' steal clocks, and their exits beside KVM's counts
RIGS += kvm:waits
# CPU time without steal, in a guest that competes with others
RIGS += kvm:steal
# what vmopstat finds out about hypervisors
RIGS += kvm:hypervisor arm64:device-tree xen:xen-runstate
# the BPF program of vmopstat --io in stock kernels
RIGS += kvm:io kvm:io@6.12 arm64:appio
EXTRA_DIST += tests/rigs/scenarios/io.l1 tests/rigs/scenarios/io.check
# taps and vhost of guests
RIGS += kvm:net
# the memory limit of vmopd's cgroup, with the controller of cgroup v2
RIGS += kvm:memory-limit
EXTRA_DIST += tests/rigs/scenarios/memory-limit.l1 tests/rigs/scenarios/memory-limit.check
EXTRA_DIST += tests/rigs/scenarios/hypervisor.l1 tests/rigs/scenarios/hypervisor.check \
	tests/rigs/scenarios/xen-runstate.dom0 tests/rigs/scenarios/xen-runstate.check \
	tests/rigs/scenarios/device-tree.arm64 tests/rigs/scenarios/device-tree.check \
	tests/rigs/scenarios/net.l1 tests/rigs/scenarios/net.check
# hardware counters, in an emulated arm64 machine that has them, and in one that hasn't; guests with VHE and
# without; pages of 16 KiB; call stacks; the unit tests
RIGS += arm64:pmu arm64:nopmu arm64:ratios arm64:counters arm64:vhe arm64:nvhe arm64:guests arm64:16k arm64:callgraph arm64:context-vhe arm64:context-nvhe arm64:context-16k arm64:stacks-vhe \
	arm64:stacks-nvhe arm64:unit
# a real Xen whose counters are injected NMIs
RIGS += xen:xen-boot xen:xen-none xen:xen-user xen:xen-smp xen:xen-pvh xen:xen-hvm xen:xen-recover xen:xen-passive xen:xen-waiting xen:xen-callgraph xen:xen-module xen:xen-tasks xen:xen-active xen:xen-agent xen:xen-agent-user xen:xen-agents xen:xen-fetch
# the kernel module in the other kernels that it is for
RIGS += xen:xen-module@5.10-full xen:xen-active@5.10-full xen:xen-module@6.12-full xen:xen-active@6.12-full
# libguest, compared with captured guests' own /proc and /sys
RIGS += introspect:kernels introspect:newer introspect:ubuntu introspect:profile introspect:paging introspect:large introspect:probes introspect:files \
	introspect:saved introspect:live introspect:resets introspect:kexec introspect:waiting introspect:samples introspect:off-cpu \
	introspect:arm64 introspect:arm64-more introspect:arm64-live
# the programs of doc/gallery, on hosts and in their guests
RIGS += kvm:gallery arm64:gallery arm64:accuracy
EXTRA_DIST += tests/rigs/scenarios/accuracy.arm64 tests/rigs/scenarios/accuracy.check
EXTRA_DIST += tests/rigs/guest/cg.c tests/rigs/guest/walk.c \
	tests/rigs/scenarios/gallery.l1 tests/rigs/scenarios/gallery.arm64 tests/rigs/scenarios/gallery.check
EXTRA_DIST += tests/rigs/README.md tests/rigs/lib.sh tests/rigs/fetch tests/rigs/fetch-debug tests/rigs/apt.sh \
	tests/rigs/arm64-sysroot tests/rigs/extract-vmlinux \
	tests/rigs/build-guest tests/rigs/capture-guest tests/rigs/guest/init tests/rigs/guest/hot.c \
	tests/rigs/guest/work.c tests/rigs/guest/work.h tests/rigs/guest/bpf-hold.c tests/rigs/guest/hash.c tests/rigs/guest/kexec.c tests/rigs/guest/map-files.c tests/rigs/guest/waits.c \
	tests/rigs/build-guest-disk tests/rigs/guest-programs.sh tests/rigs/guest/record.h tests/rigs/guest/brief.c tests/rigs/guest/jit.c \
	tests/rigs/guest/names.cc tests/rigs/guest/names.rs tests/rigs/guest/paths.c tests/rigs/guest/paths-library.c tests/rigs/build-l1 tests/rigs/l1/init \
	tests/rigs/l1/lib.sh tests/rigs/l1/spin.S tests/rigs/l1/flood.c tests/rigs/l1/contexts.sh tests/rigs/l1/gallery.sh tests/rigs/l1/on-guest.sh tests/rigs/context-check.sh tests/rigs/l1/stacks.sh tests/rigs/stacks-check.sh tests/rigs/kvm-run tests/rigs/introspect-run tests/rigs/check-lib.sh tests/rigs/run-all \
	tests/rigs/arm64-run tests/rigs/build-arm64 tests/rigs/arm64/init tests/rigs/arm64/burn.c \
	tests/rigs/arm64/kvm-burn.c tests/rigs/arm64/guest.S tests/rigs/arm64/session.sh tests/rigs/arm64/worlds.sh tests/rigs/arm64/check.sh \
	tests/rigs/fetch-xen tests/rigs/build-dom0 tests/rigs/xen-run tests/rigs/xen/init \
	tests/rigs/xen/lib.sh tests/rigs/xen/inject-nmi.c tests/rigs/xen/spin.S tests/rigs/add-xen-session \
	tests/rigs/scenarios/waiting.l1 tests/rigs/scenarios/waiting.check \
	tests/rigs/scenarios/waits.l1 tests/rigs/scenarios/waits.check \
	tests/rigs/scenarios/steal.l1 tests/rigs/scenarios/steal.check tests/rigs/steal-table \
	tests/rigs/scenarios/xen-boot.dom0 tests/rigs/scenarios/xen-boot.check \
	tests/rigs/scenarios/xen-none.dom0 tests/rigs/scenarios/xen-none.check \
	tests/rigs/fetch-headers tests/rigs/add-module \
	tests/rigs/scenarios/xen-module.dom0 tests/rigs/scenarios/xen-module.check \
	tests/rigs/scenarios/xen-user.dom0 tests/rigs/scenarios/xen-user.check \
	tests/rigs/scenarios/xen-smp.dom0 tests/rigs/scenarios/xen-smp.check \
	tests/rigs/scenarios/xen-pvh.dom0 tests/rigs/scenarios/xen-pvh.check \
	tests/rigs/scenarios/xen-hvm.dom0 tests/rigs/scenarios/xen-hvm.check tests/rigs/add-hvm \
	tests/rigs/scenarios/xen-passive.dom0 tests/rigs/scenarios/xen-passive.check \
	tests/rigs/scenarios/xen-waiting.dom0 tests/rigs/scenarios/xen-waiting.check \
	tests/rigs/add-waiting tests/rigs/xen/waiting-init \
	tests/rigs/scenarios/xen-callgraph.dom0 tests/rigs/scenarios/xen-callgraph.check \
	tests/rigs/add-frames tests/rigs/xen/frames.c \
	tests/rigs/scenarios/xen-recover.dom0 tests/rigs/scenarios/xen-recover.check \
	tests/rigs/scenarios/xen-tasks.dom0 tests/rigs/scenarios/xen-tasks.check \
	tests/rigs/scenarios/xen-active.dom0 tests/rigs/scenarios/xen-active.check \
	tests/rigs/xen/active-init \
	tests/rigs/scenarios/xen-agent.dom0 tests/rigs/scenarios/xen-agent.check \
	tests/rigs/scenarios/xen-agent-user.dom0 tests/rigs/scenarios/xen-agent-user.check \
	tests/rigs/add-agent tests/rigs/xen/agent-init \
	tests/rigs/scenarios/xen-agents.dom0 tests/rigs/scenarios/xen-agents.check \
	tests/rigs/add-agents tests/rigs/xen/block-rig \
	tests/rigs/scenarios/xen-fetch.dom0 tests/rigs/scenarios/xen-fetch.check \
	tests/rigs/scenarios/pmu.arm64 tests/rigs/scenarios/pmu.check \
	tests/rigs/scenarios/ratios.arm64 tests/rigs/scenarios/ratios.check tests/rigs/arm64/metronome.c \
	tests/rigs/scenarios/counters.arm64 tests/rigs/scenarios/counters.check tests/rigs/arm64/counters.c \
	tests/rigs/scenarios/appio.arm64 tests/rigs/scenarios/appio.check \
	tests/rigs/scenarios/vhe.arm64 tests/rigs/scenarios/vhe.check \
	tests/rigs/scenarios/nvhe.arm64 tests/rigs/scenarios/nvhe.check \
	tests/rigs/scenarios/16k.arm64 tests/rigs/scenarios/16k.check \
	tests/rigs/scenarios/callgraph.arm64 tests/rigs/scenarios/callgraph.check \
	tests/rigs/scenarios/context-vhe.arm64 tests/rigs/scenarios/context-vhe.check \
	tests/rigs/scenarios/context-nvhe.arm64 tests/rigs/scenarios/context-nvhe.check \
	tests/rigs/scenarios/context-16k.arm64 tests/rigs/scenarios/context-16k.check \
	tests/rigs/scenarios/stacks-vhe.arm64 tests/rigs/scenarios/stacks-vhe.check \
	tests/rigs/scenarios/stacks-nvhe.arm64 tests/rigs/scenarios/stacks-nvhe.check \
	tests/rigs/scenarios/unit.arm64 tests/rigs/scenarios/unit.check \
	tests/rigs/scenarios/nopmu.arm64 tests/rigs/scenarios/nopmu.check \
	tests/rigs/scenarios/guests.arm64 tests/rigs/scenarios/guests.check \
	tests/rigs/scenarios/selftest.l1 tests/rigs/scenarios/selftest.check \
	tests/rigs/scenarios/spine.l1 tests/rigs/scenarios/spine.check \
	tests/rigs/scenarios/deferred.l1 tests/rigs/scenarios/deferred.check \
	tests/rigs/scenarios/hotplug.l1 tests/rigs/scenarios/hotplug.check \
	tests/rigs/scenarios/passive.l1 tests/rigs/scenarios/passive.check \
	tests/rigs/scenarios/context.l1 tests/rigs/scenarios/context.check \
	tests/rigs/scenarios/context-reboot.l1 tests/rigs/scenarios/context-reboot.check tests/rigs/scenarios/context-reset.l1 tests/rigs/scenarios/context-reset.check \
	tests/rigs/scenarios/guest-stacks.l1 tests/rigs/scenarios/guest-stacks.check \
	tests/rigs/scenarios/guest-reader.l1 tests/rigs/scenarios/guest-reader.check

# The first run downloads kernels and needs some minutes; without them everything is skipped.
.PHONY: check-rigs
check-rigs: all
	@$(MKDIR_P) tests/rigs && cd tests/rigs && \
		VMOP_BUILDDIR='$(abs_top_builddir)' $(abs_top_srcdir)/tests/rigs/run-all $(RIGS)
CLEANFILES += tests/rigs/*.log

# Record the gallery's programs in both emulated machines, and put tables and pictures into doc/gallery of the
# build; from there, they are copied into the source.  What the rigs kept is below doc/gallery/results.  Each part can
# be repeated by itself.
.PHONY: gallery gallery-x86 gallery-arm64 gallery-accuracy gallery-steal gallery-packets
gallery:
	for part in x86 arm64 accuracy steal times packets; do $(MAKE) gallery-$$part || exit; done
gallery_rig = $(MKDIR_P) doc/gallery/results && VMOP_BUILDDIR='$(abs_top_builddir)' $(abs_top_srcdir)/tests/rigs
gallery_draw = VMOP_BUILDDIR='$(abs_top_builddir)' $(abs_top_srcdir)/doc/gallery/draw
gallery-x86: all
	$(gallery_rig)/kvm-run --results=doc/gallery/results/x86 gallery
	$(gallery_draw) x86 doc/gallery/results/x86 doc/gallery
gallery-arm64: all
	$(gallery_rig)/arm64-run --results=doc/gallery/results/arm64 gallery
	$(gallery_draw) arm64 doc/gallery/results/arm64 doc/gallery
gallery-accuracy: all
	$(gallery_rig)/arm64-run --results=doc/gallery/results/accuracy accuracy
	$(gallery_draw) accuracy doc/gallery/results/accuracy doc/gallery
gallery-steal: all
	$(gallery_rig)/kvm-run --results=doc/gallery/results/steal steal
gallery-packets: all
	$(gallery_rig)/kvm-run --results=doc/gallery/results/packets packets
	$(MKDIR_P) doc/gallery/packets
	$(abs_top_srcdir)/tests/rigs/packets-table doc/gallery/results/packets 60 >doc/gallery/packets/functions.csv
# Times beside competitors: this machine's own, and those of the rig above.  A machine without /dev/kvm has no guests
# of its own, and keeps the table that is there.
.PHONY: gallery-times
gallery-times: tests/fixtures/competing-guests
	$(MKDIR_P) doc/gallery/steal
	for kind in processes guests; do \
		table=doc/gallery/steal/$$kind.csv status=0; \
		echo kind,n,round,real_ms,virtual_ms,stolen_ms,corrected_ms,host_cpu_ms >$$table.new || exit; \
		tests/fixtures/competing-guests $$kind 4 15 60 >>$$table.new || status=$$?; \
		case $$status in \
		0) mv $$table.new $$table || exit ;; \
		77) rm $$table.new; echo "doc/gallery/steal/$$kind.csv is not made on this machine" ;; \
		*) exit $$status ;; \
		esac; \
	done
	test ! -e doc/gallery/results/steal || \
		$(abs_top_srcdir)/tests/rigs/steal-table doc/gallery/results/steal >doc/gallery/steal/linux.csv
	for table in doc/gallery/steal/*.csv; do \
		case $$table in \
		*/processes.csv) title="A process beside other processes on one CPU" ;; \
		*/guests.csv) title="A KVM guest beside other guests on one CPU" ;; \
		*/linux.csv) title="A program in a Linux guest beside other guests on one CPU" ;; \
		esac; \
		$(abs_top_srcdir)/doc/gallery/draw-times "$$title" $$table >$${table%.csv}.svg || exit; \
	done
clean-local: clean-gallery
.PHONY: clean-gallery
clean-gallery:
	rm -rf doc/gallery/results
EXTRA_DIST += doc/gallery/draw-times \
	doc/gallery/steal/processes.csv doc/gallery/steal/processes.svg \
	doc/gallery/steal/guests.csv doc/gallery/steal/guests.svg \
	doc/gallery/steal/linux.csv doc/gallery/steal/linux.svg \
	doc/gallery/packets/functions.csv
EXTRA_DIST += doc/gallery/README.md doc/gallery/draw doc/gallery/arm64-accuracy/counts.csv \
	doc/gallery/x86-cg/cpu-clock.csv doc/gallery/x86-cg/cpu-clock.svg \
	doc/gallery/x86-walk/cpu-clock.csv doc/gallery/x86-walk/cpu-clock.svg \
	doc/gallery/x86-walk/bubbles.svg doc/gallery/x86-walk/bill.svg \
	doc/gallery/arm64-cg/cycles.csv doc/gallery/arm64-cg/cycles.svg doc/gallery/arm64-cg/cycles.html \
	doc/gallery/arm64-cg/instructions.csv doc/gallery/arm64-cg/instructions.svg doc/gallery/arm64-cg/joined.csv \
	doc/gallery/arm64-walk/cpu-clock.csv doc/gallery/arm64-walk/cpu-clock.svg

# The arm64 rigs' build tree.
clean-local: clean-arm64-rig
.PHONY: clean-arm64-rig
clean-arm64-rig:
	rm -rf tests/rigs/arm64-build
