// SPDX-License-Identifier: GPL-2.0-or-later
// usage: rust-names NAME MILLISECONDS: burn CPU time in a generic method of a module, whose symbol
// must be demangled, and record it as record.h does.
use std::fs::OpenOptions;
use std::io::Write;

// As in record.h.
const TURNS_PER_MS: u64 = 500_000;
const TURNS: u64 = 10_000;

mod mill {
    pub struct Wheel<T>(pub T);
    impl<T: Into<u64> + Copy> Wheel<T> {
        #[inline(never)]
        pub fn grind(&self, n: u64) -> u64 {
            let mut x = self.0.into();
            for _ in 0..n {
                x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                x ^= x >> 17;
            }
            x
        }
    }
}

fn main() {
    let limit_ms: u64 = std::env::args().nth(2).and_then(|a| a.parse().ok()).unwrap_or(0);
    let mut sink = 0;
    for _ in 0..limit_ms * (TURNS_PER_MS / TURNS) {
        sink ^= std::hint::black_box(mill::Wheel(7u32)).grind(TURNS);
    }
    std::hint::black_box(sink);
    let pid = std::fs::read_link("/proc/self").unwrap();
    let line = format!("{} rust-names grind 0 0\n", pid.display());
    let mut record = OpenOptions::new().append(true).create(true).open("/tmp/record").unwrap();
    record.write_all(line.as_bytes()).unwrap();
}
