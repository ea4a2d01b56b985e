//! The manifest of an interrupted copy: what is understood of it is written again as it was understood.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::load::copy::fuzz_manifest;

fuzz_target!(|bytes: &[u8]| {
    let _ = fuzz_manifest(bytes);
    let _ = fuzz_manifest(&[b"narrows-copy\t1\t/src\t.\n", bytes].concat());
});
