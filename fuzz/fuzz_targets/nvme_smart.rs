//! Two logs of an NVMe drive, as recorded on a foreign machine.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::machine::health::SmartLog;

fuzz_target!(|logs: (&[u8], &[u8])| {
    if let (Some(before), Some(after)) = (SmartLog::parse(logs.0), SmartLog::parse(logs.1)) {
        let change = after.since(&before);
        assert!(change.written <= after.written && change.media_errors <= after.media_errors);
        assert!(after.sensors.len() <= 8);
    }
});
