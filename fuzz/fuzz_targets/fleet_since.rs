//! What `--fleet --since FILE` reads: any lines end in hosts or an error, and any two hosts can be compared.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::cli::fleet::fuzz_earlier;
use narrows::cohort;
use narrows::report::fleet::{Entry, row};

fuzz_target!(|bytes: &[u8]| {
    // Without the first line nothing else is looked at.
    let head = b"{\"record\":\"fleet\",\"schema\":\"narrows/fleet/1\",\"tool\":{\"name\":\"narrows\",\"version\":\"0\"},\"since\":null}\n";
    let hosts = [fuzz_earlier(bytes), fuzz_earlier(&[head, bytes].concat())].concat();
    for pair in hosts.windows(2) {
        let changes = cohort::changes_since(Some(&pair[0]), &pair[1]);
        let entry = Entry { host: &pair[1], changes: Some(&changes), change: None };
        assert!(row::of(&entry).iter().all(|row| row::line(row).ends_with('\n')));
        let _ = entry.records();
    }
});
