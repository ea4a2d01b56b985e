//! The texts of `/proc` and `/sys` that say what processors, interrupts and routes there are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::machine::{cpu, nic};

fuzz_target!(|text: &str| {
    let _ = cpu::parse_cpuinfo(text);
    let _ = cpu::parse_interrupts(text);
    if let Some(list) = cpu::parse_list(text) {
        // A list is refused when it passes 65536 processors before its last range.
        assert!(list.len() <= 2 * 65536);
    }
    let _ = nic::parse_ipv4(text);
    let _ = nic::parse_ipv6(text);
});
