//! Descriptions of systems are files of strangers: any text ends in a system that is predicted and written again, or in
//! an error that says where.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::path::file::parse;
use narrows::predict::predict;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match parse("fuzz", text) {
        Ok(system) => {
            for workload in system.workloads.iter().take(4) {
                if let Ok(prediction) = predict(&system, workload) {
                    assert!(prediction.rate.get().is_finite());
                    assert!(prediction.bounds.iter().all(|bound| prediction.rate.get() <= bound.rate.get() * 1.000_001));
                }
            }
            let written = system.to_toml(&[]);
            parse("again", &written).expect("what is written can be read");
        }
        Err(error) => assert!(!error.problems.is_empty()),
    }
});
