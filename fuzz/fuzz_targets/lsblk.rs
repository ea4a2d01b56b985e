//! What strangers paste as `lsblk` in any form: no layer leads to itself, and no line makes more than a device and its
//! disk.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::capture::{Text, lsblk, merge};

fuzz_target!(|bytes: &[u8]| {
    let text = Text::new("fuzz", bytes);
    let machine = merge::merge(vec![lsblk::read(&text)]);
    narrows_fuzz::assert_sound(&machine, narrows_fuzz::words(&text));
});
