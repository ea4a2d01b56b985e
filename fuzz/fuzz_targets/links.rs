//! What strangers paste of links to disks and of the SMBIOS table in hexadecimal: no listing makes more devices than it
//! has words, and nothing is carried by what is no function.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::machine::block::Transport;
use narrows::capture::{Text, dmidecode, links, merge, sysfs};

fuzz_target!(|bytes: &[u8]| {
    let text = Text::new("fuzz", bytes);
    let words = narrows_fuzz::words(&text);
    let dumped = dmidecode::read_hex(&text);
    if let Some(slots) = dumped.machine.slots.value() {
        assert!(!slots.is_empty() && slots.len() <= text.lines().count() * 16);
    }
    let machine = merge::merge(vec![links::read(&text), sysfs::read(&text), dumped]);
    assert!(machine.links.len() <= words && machine.block.len() <= 2 * words + 2);
    for (key, device) in &machine.block {
        assert_eq!(*key, device.name);
        if let Transport::NvmePci { controller, .. } = &device.transport {
            assert!(!controller.is_empty() && !controller.contains('/'));
        }
    }
    assert!(machine.links.values().all(|disk| !disk.contains('/')));
});
