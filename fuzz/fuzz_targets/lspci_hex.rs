//! Hex dumps of config space: any bytes below any first line decode to something within the specification, or to a
//! reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::capture::{Text, lspci};

/// Prints the bytes as `lspci -xxxx` does.
fn dump(config: &[u8]) -> String {
    let rows = config.chunks(16).take(256).zip((0..).step_by(16));
    let row = |(row, at): (&[u8], usize)| {
        let bytes: String = row.iter().map(|byte| format!(" {byte:02x}")).collect();
        format!("{at:02x}:{bytes}\n")
    };
    format!("02:00.0 SATA controller: x\n{}", rows.map(row).collect::<String>())
}

fuzz_target!(|bytes: &[u8]| {
    // As text that may be anything, and as config space that may be anything.
    for content in [bytes, dump(bytes).as_bytes()] {
        let part = lspci::read_hex(&Text::new("fuzz", content));
        for device in part.machine.pci.values() {
            if let Some(express) = device.express.value() {
                assert!((128..=4096).contains(&express.max_payload.get()));
                assert!(express.width.is_none_or(|width| (1..=32).contains(&width.get())));
            }
            if let Some(aer) = device.aer.value() {
                let counts = aer.correctable.values().chain(aer.nonfatal.values()).chain(aer.fatal.values());
                assert!(counts.into_iter().all(|count| *count <= 1));
            }
        }
    }
});
