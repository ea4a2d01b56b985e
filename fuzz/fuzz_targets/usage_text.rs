//! The texts that say who uses a device: `maps`, `fdinfo`, locks, swap space, and what the kernel exports.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::machine::usage::{parse_swaps, texts};

fuzz_target!(|text: &str| {
    for mapping in texts::mappings(text) {
        assert!(mapping.inode != 0);
        let (from, to) = mapping.range.split_once('-').expect("a range");
        assert!(!from.is_empty() && !to.is_empty());
    }
    let ring = texts::registered(text);
    assert!(ring.names.len() <= text.lines().count());
    let _ = texts::is_path_only(text);
    let _ = texts::waiting(text);
    let _ = texts::locks(text).count();
    let _ = texts::served(text).count();
    let _ = texts::backing(text);
    for swap in parse_swaps(text) {
        assert!(swap.path.starts_with('/'));
    }
});
