//! What the fuzz targets ask of every machine that a stranger's text made.

use narrows::capture::Text;
use narrows::machine::Machine;
use narrows::machine::block::Transport;

/// How many words a text has: what it lists is never more.
pub fn words(text: &Text) -> usize {
    text.body().split(|c: char| !c.is_alphanumeric()).count()
}

/// Fails unless a machine that was read from so many words holds together: each has at most a device and its disk, no layer
/// leads to itself, and a mount has a path.
pub fn assert_sound(machine: &Machine, words: usize) {
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
}
