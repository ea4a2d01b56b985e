//! Trees of `lspci -t`: no function is its own bridge, and every climb ends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::capture::{Text, lspci};
use narrows::machine::pci::role;

fuzz_target!(|bytes: &[u8]| {
    let text = Text::new("fuzz", bytes);
    let part = lspci::read_tree(&text);
    // A function takes at least four characters: `00.0`.
    assert!(part.machine.pci.len() <= text.body().len() / 4);
    for (address, device) in &part.machine.pci {
        assert_ne!(device.parent, Some(*address));
        let _ = role(&part.machine.pci, *address);
    }
});
