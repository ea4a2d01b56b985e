//! What strangers paste as `lsblk` in any form: no layer leads to itself, and no line makes more than a device and its
//! disk.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::machine::block::Transport;
use narrows::capture::{Text, lsblk, merge};

fuzz_target!(|bytes: &[u8]| {
    let text = Text::new("fuzz", bytes);
    let words = text.body().split(|c: char| !c.is_alphanumeric()).count();
    let machine = merge::merge(vec![lsblk::read(&text)]);
    assert!(machine.block.len() <= 2 * words + 2);
    for (key, device) in &machine.block {
        assert_eq!(*key, device.name);
        assert!(!device.slaves.contains(key) && device.slaves.len() <= 2048);
        // Only a whole device carries data itself.
        assert!(
            device.partition_of.is_none()
                || machine.block.contains_key(device.partition_of.as_ref().unwrap_or(key))
        );
        assert!(!matches!(&device.transport, Transport::Other { name, .. } if name.is_empty()));
    }
    assert!(machine.mounts.iter().all(|mount| mount.point.starts_with('/')));
});
