//! Snapshots are files of strangers: any bytes end in a tree or in an error, and any tree can be redacted.

#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::machine::snapshot::{read, redact, write};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(tree) = read(bytes) {
        let redacted = redact::redacted(&tree);
        let mut packed = Vec::new();
        if write(&redacted, &mut packed, false).is_ok() {
            assert!(read(packed.as_slice()).is_ok());
        }
    }
});
