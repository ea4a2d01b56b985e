//! A device-mapper table, as recorded on a foreign machine.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::machine::block::{DmKind, parse_table};

fuzz_target!(|text: &str| {
    for target in parse_table(text).unwrap_or_default() {
        if let DmKind::Striped { devices, .. } = target.kind {
            assert!(!devices.is_empty());
        }
    }
});
