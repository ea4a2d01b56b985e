//! Long texts of fio, read piece by piece: JSON of many jobs and logs. Where the pieces end must not matter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::results::surroundings::Surroundings;
use narrows::results::{Imported, Long, complete};

/// Reads the text in two pieces; what was found, and how many logs there are.
fn found(name: &str, bytes: &[u8], cut: usize) -> Option<(Vec<Imported>, usize)> {
    // Whether it is long, and of which kind, is told by the same bytes each time.
    let long = Long::of(name, bytes, false)?;
    let (head, mut rest) = bytes.split_at(cut.min(bytes.len()));
    let mut around = Surroundings::default();
    let mut results = long.read(name, head, &mut rest, &mut around, str::to_owned).results;
    complete(&mut results, &around);
    for side in results.iter().flat_map(|one| &one.measurements).flat_map(|one| one.sides().map(|(_, side)| side)) {
        assert!(side.series.iter().all(|rate| rate.get() >= 0.0 && rate.get().is_finite()));
        let latency = side.latency_ns.iter().flat_map(|latency| &latency.percentiles);
        assert!(latency.map(|one| one.percent).is_sorted());
    }
    Some((results, around.logs.len()))
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&[kind, cut], text)) = bytes.split_first_chunk::<2>() else { return };
    let names = ["x.json", "a/x_bw.1.log", "x_clat.2.log", "x_iops.log", "x_clat_hist.1.log", "x_lat.1.log"];
    let name = names[usize::from(kind) % names.len()];
    assert_eq!(found(name, text, usize::from(cut)), found(name, text, 0));
});
