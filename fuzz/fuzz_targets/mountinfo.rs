//! `/proc/self/mountinfo` of a foreign machine: names may hold anything.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::machine::mount;

fuzz_target!(|text: &str| {
    let mounts = mount::parse(text);
    assert!(mounts.iter().all(|mount| mount.point.starts_with('/')));
    assert!(mounts.len() <= text.lines().count());
    let _ = narrows::machine::target::mount_of(&mounts, text);
});
