//! The journal of a lab: whatever stands in it, it names no device that leads out of `/dev`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::lab::journal::Journal;

fuzz_target!(|bytes: &[u8]| {
    let Ok(journal) = Journal::parse(bytes) else { return };
    assert!(journal.head.devices.iter().all(|device| !device.name.contains('/') && device.name != ".."));
    let names = journal.head.names(journal.head.devices.iter().map(|device| device.name.clone()).collect());
    for step in journal.steps.iter().chain(&journal.ground) {
        for call in step.build(&names).into_iter().chain(step.undo(&names)) {
            let _ = call.to_string();
        }
    }
});
