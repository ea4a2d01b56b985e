//! What strangers paste of device-mapper, LUKS and `cryptsetup benchmark`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::capture::{Text, dm, merge};

fuzz_target!(|bytes: &[u8]| {
    let text = Text::new("fuzz", bytes);
    let machine = merge::merge(vec![dm::read(&text)]);
    narrows_fuzz::assert_sound(&machine, narrows_fuzz::words(&text));
});
