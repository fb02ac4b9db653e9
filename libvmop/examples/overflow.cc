// SPDX-License-Identifier: GPL-2.0-or-later
// Count a process with its children, and get a call for every hundredth page fault of a thread.
//	c++ overflow.cc $(pkg-config --cflags --libs libvmop)
#include <atomic>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
#include <vmop.h>

// An error as an exception.
static void check(vmop_error *error)
{
	if (!error)
		return;
	std::string text = vmop_error_text(error);
	vmop_error_destroy(error);
	throw std::runtime_error(text);
}

static std::atomic<unsigned> n_overflows;

// In a signal handler: only what is async-signal-safe.
static void on_overflow(void *, const vmop_overflow *)
{
	n_overflows++;
}

static void run()
{
	vmop_counters_options options{};
	options.size = sizeof(options);
	options.scope = VMOP_SCOPE_PROCESS;
	vmop_counters *raw = nullptr;
	check(vmop_counters_open("page-faults,task-clock", &options, &raw));
	std::unique_ptr<vmop_counters, decltype(&vmop_counters_close)> counters(
		raw, vmop_counters_close);
	vmop_watch *watch = nullptr;
	check(vmop_watch_open("page-faults", 100, on_overflow, nullptr, nullptr, &watch));
	check(vmop_counters_start(raw));

	std::vector<std::unique_ptr<char[]>> blocks;
	for (int i = 0; i < 64; i++)
		blocks.emplace_back(new char[1 << 20]());

	std::vector<vmop_count> counts(vmop_counters_n(raw));
	check(vmop_counters_read(raw, counts.data(), counts.size()));
	std::uint64_t events = 0, calls = 0;
	check(vmop_watch_read(watch, &events, &calls));
	vmop_watch_close(watch);
	for (std::size_t i = 0; i < counts.size(); i++)
		std::printf("%-20s %12llu%s\n", vmop_counters_name(raw, i),
			    static_cast<unsigned long long>(counts[i].estimate),
			    counts[i].flags & VMOP_COUNT_ESTIMATE ? " (estimate)" : "");
	std::printf("%llu page faults of this thread, %u calls\n",
		    static_cast<unsigned long long>(events), n_overflows.load());
}

int main()
{
	try {
		run();
	} catch (const std::exception &error) {
		std::fprintf(stderr, "overflow: %s\n", error.what());
		return 1;
	}
	return 0;
}
