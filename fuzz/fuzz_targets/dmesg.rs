//! The kernel's log of a foreign machine, whole or in pieces. No function may be above itself, and what is listed of
//! the past is bounded by the lines.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::capture::{Text, dmesg};
use narrows::machine::pci;

fuzz_target!(|bytes: &[u8]| {
    let text = Text::new("dmesg", bytes);
    let lines = text.lines().count();
    let machine = dmesg::read(&text).machine;
    assert!(machine.pci.values().all(|device| device.parent != Some(device.address)));
    for address in machine.pci.keys() {
        let _ = pci::role(&machine.pci, *address);
    }
    assert!(machine.log.len() <= 32 * lines);
    assert!(machine.log.iter().all(|event| event.count >= 1));
});
