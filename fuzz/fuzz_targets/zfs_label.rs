//! The list in a ZFS label: any bytes end in a name that stands in them, or in none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::load::guard::fuzz_zfs_label;

fuzz_target!(|bytes: &[u8]| {
    if let Some(name) = fuzz_zfs_label(bytes) {
        assert!(name.is_empty() || bytes.windows(name.len()).any(|part| part == name.as_bytes()));
    }
});
