//! Captures are files of strangers: any bytes, packed or not, end in a machine that is judged, or in an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::ceiling;
use narrows::capture::gather;
use narrows::path::build;
use narrows::verdict::{self, Subject};

fuzz_target!(|bytes: &[u8]| {
    let Ok(gathered) = gather(&["-".into()], bytes) else { return };
    let machine = gathered.merger.finish();
    let subjects: Vec<Subject> = build::all(&machine)
        .into_iter()
        .map(|path| Subject {
            ceilings: path.hops.iter().map(ceiling::of_hop).collect(),
            path,
            runs: Vec::new(),
        })
        .collect();
    let _ = verdict::judge(&machine, &subjects);
});
