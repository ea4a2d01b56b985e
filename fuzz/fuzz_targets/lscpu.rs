//! Processors, nodes and memory as small tools print them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::capture::{Text, cpu};

fuzz_target!(|bytes: &[u8]| {
    let text = Text::new("lscpu", bytes);
    for read in [cpu::read_lscpu, cpu::read_numactl, cpu::read_memory, cpu::read_cpuinfo] {
        let cpus = read(&text).machine.cpus;
        assert!(cpus.nodes.len() <= 1024);
        assert_ne!(cpus.sockets.value(), Some(&0));
    }
});
