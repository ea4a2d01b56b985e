//! No SMBIOS table may panic or hang the readers of slots and memory modules.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::machine::dmi::{is_template, parse_modules, parse_slots};

fuzz_target!(|table: &[u8]| {
    let slots = parse_slots(table);
    // A record of a slot has at least a header of 4 bytes and two zeros.
    assert!(slots.len() <= table.len() / 6 + 1);
    let _ = is_template(&slots);
    let modules = parse_modules(table);
    assert!(modules.iter().all(|module| module.megatransfers > 0 && (1..=16).contains(&module.width_bytes)));
});
