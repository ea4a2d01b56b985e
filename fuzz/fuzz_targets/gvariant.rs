//! The binary files of GNOME Disks: any bytes, and what their text is read as.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::capture::Text;
use narrows::results::{Page, Tool, read};

fuzz_target!(|bytes: &[u8]| {
    let Some(text) = Text::of_file("disk.gnome-disks-benchmark", bytes) else { return };
    for result in read(&Page { name: text.name(), body: text.body() }) {
        if result.tool == Tool::Gnomedisks {
            // A rate that is no number would be no number in JSON either.
            let sides = result.measurements.iter().flat_map(|one| one.sides().map(|(_, side)| side).collect::<Vec<_>>());
            assert!(sides.into_iter().all(|side| side.bytes_per_second.get().is_finite()));
        }
    }
});
