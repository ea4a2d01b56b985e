//! What strangers paste of LVM and ZFS.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::capture::{Text, lvm, merge, zfs};
use narrows::path::build;

fuzz_target!(|bytes: &[u8]| {
    let text = Text::new("fuzz", bytes);
    let words = narrows_fuzz::words(&text);
    let machine = merge::merge(vec![lvm::read(&text), zfs::read(&text)]);
    narrows_fuzz::assert_sound(&machine, words);
    let vdevs = machine.zfs.iter().flat_map(|pool| &pool.vdevs);
    let devices: usize = vdevs.map(|vdev| vdev.devices.len()).sum();
    assert!(machine.zfs.len() <= words && devices <= words);
    // Pools have paths.
    for path in build::all(&machine) {
        assert!(path.hops.iter().all(|hop| hop.traffic.read.is_finite() && hop.traffic.read >= 0.0));
    }
});
