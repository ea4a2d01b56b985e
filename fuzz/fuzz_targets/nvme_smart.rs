//! Two logs of an NVMe drive, one after the other, as recorded on a foreign machine.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::machine::health::SmartLog;

fuzz_target!(|bytes: &[u8]| {
    let (first, second) = bytes.split_at(bytes.len().min(512));
    if let (Some(before), Some(after)) = (SmartLog::parse(first), SmartLog::parse(second)) {
        let change = after.since(&before);
        assert!(change.written <= after.written && change.media_errors <= after.media_errors);
        assert!(after.sensors.len() <= 8);
    }
});
