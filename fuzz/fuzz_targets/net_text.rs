//! What strangers paste of mounts, interfaces, adapters and GPUs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::capture::{Text, merge, mounts, net};

fuzz_target!(|bytes: &[u8]| {
    let text = Text::new("fuzz", bytes);
    let words = narrows_fuzz::words(&text);
    let machine = merge::merge(vec![net::read(&text), mounts::read(&text)]);
    narrows_fuzz::assert_sound(&machine, words);
    assert!(machine.affinities.len() <= words);
});
