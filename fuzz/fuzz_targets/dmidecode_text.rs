//! What dmidecode printed on a foreign machine, and the table itself in its place.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::capture::{Text, dmidecode};

fuzz_target!(|bytes: &[u8]| {
    let text = Text::new("dmidecode", bytes);
    let machine = dmidecode::read(&text).machine;
    if let Some(slots) = machine.slots.value() {
        assert!(!slots.is_empty() && slots.len() <= text.lines().count());
    }
    let _ = dmidecode::read_table("DMI", bytes);
});
