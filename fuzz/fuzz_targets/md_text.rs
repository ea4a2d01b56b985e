//! What strangers paste of md arrays: `/proc/mdstat`, `mdadm --detail`, `mdadm --examine`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::capture::{Text, md, merge};

fuzz_target!(|bytes: &[u8]| {
    let text = Text::new("fuzz", bytes);
    let machine = merge::merge(vec![md::read(&text)]);
    narrows_fuzz::assert_sound(&machine, narrows_fuzz::words(&text));
});
