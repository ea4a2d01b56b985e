//! What strangers paste as `lspci`, in words: whatever it is, functions stay functions and links stay within the
//! specification.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::capture::{Part, Text, lspci};

fn check(part: &Part, lines: usize) {
    // A line names at most one function.
    assert!(part.machine.pci.len() <= lines);
    for (address, device) in &part.machine.pci {
        assert_eq!(*address, device.address);
        assert_ne!(device.parent, Some(*address));
        for width in [&device.link.current_width, &device.link.max_width] {
            assert!(width.value().is_none_or(|width| (1..=32).contains(&width.get())));
        }
        if let Some(express) = device.express.value() {
            assert!((128..=4096).contains(&express.max_payload.get()));
        }
        assert!(device.name.value().is_none_or(|name| name.chars().count() <= 200));
    }
}

fuzz_target!(|bytes: &[u8]| {
    let text = Text::new("fuzz", bytes);
    let lines = text.body().lines().count();
    check(&lspci::read(&text), lines);
    check(&lspci::read_summary(&text), lines);
    check(&lspci::read_sysfs(&text), lines);
    check(&lspci::read_inxi(&text), lines);
    check(&lspci::read_pciconf(&text), lines);
});
