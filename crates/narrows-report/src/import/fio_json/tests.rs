use proptest::prelude::*;

use super::*;
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_paste::results::{Cpu, Op, Page, Percentile, Tool, read};

fn latency() -> impl Strategy<Value = Option<Latency>> {
    let percentiles = prop::collection::btree_map(1u32..9999, 1.0f64..1e10, 0..8);
    prop::option::of((1.0f64..1e10, prop::option::of(1.0f64..1e11), percentiles)).prop_map(|parts| {
        parts.map(|(mean, max, percentiles)| {
            let percentiles = percentiles
                .into_iter()
                .map(|(percent, latency_ns)| Percentile { percent: f64::from(percent) / 100.0, latency_ns });
            Latency { mean: Some(mean), max, ..Latency::default() }.with_percentiles(percentiles.collect())
        })
    })
}

fn any_side() -> impl Strategy<Value = Side> {
    let counts = (
        1.0f64..1e11,
        prop::option::of(0.01f64..1e8),
        prop::option::of(1u64..1 << 50),
        prop::option::of(1u64..1 << 40),
        prop::option::of(1u64..1 << 45),
    );
    (counts, latency(), prop::option::of(1.0f64..1e9), prop::option::of(1.0f64..1e9)).prop_map(
        |((rate, iops, bytes, ios, elapsed), latency_ns, submission_ns, completion_ns)| Side {
            bytes_per_second: BytesPerSec::new(rate),
            iops: iops.map(Iops::new),
            bytes: bytes.map(Bytes::new),
            ios,
            elapsed_ns: elapsed.map(Nanos::new),
            // fio has its percentiles in the completion latency, which is there when the whole is.
            submission_ns,
            completion_ns: completion_ns.filter(|_| latency_ns.is_some()),
            latency_ns,
            ..Side::default()
        },
    )
}

proptest! {
    /// What is written in fio's form is read again with the same numbers, to the last bit.
    #[test]
    fn a_document_is_read_as_it_was_written(
        read_side in any_side(), write_side in prop::option::of(any_side()),
        block in 9u32..25, depth in 1u32..1024, jobs in 1u32..256, direct: bool,
    ) {
        let work = Work {
            label: "job".to_owned(),
            pattern: Some(Pattern::Random),
            block_size: Some(Bytes::new(1 << block)),
            queue_depth: Some(depth),
            jobs: Some(jobs),
            direct: Some(direct),
            engine: Some("io_uring".to_owned()),
            durability: Some(Durability::Each),
            target: Some("/dev/nvme0n1".to_owned()),
            working_set: Some(Bytes::new(1 << 30)),
            asked_ns: Some(Nanos::from_millis(60_000)),
            ..Work::default()
        };
        let mut measured = Measured::new(1, work);
        measured.cpu = Some(Cpu { user: 0.25, system: 0.5 });
        measured.put(Op::Read, read_side);
        if let Some(side) = write_side {
            measured.put(Op::Write, side);
        }
        let mut written = Imported::new(Tool::Kdiskmark, "x", 1);
        written.measurements.push(measured.clone());
        let body = render(&[written]);
        let again = read(&Page { name: "x", body: &body });
        prop_assert_eq!(again.len(), 1);
        let mut found = again[0].measurements[0].clone();
        for side in [&mut found.read, &mut found.write].into_iter().flatten() {
            side.second_rate = None;
        }
        found.work.zeros = None;
        prop_assert_eq!(&found.read, &measured.read);
        prop_assert_eq!(&found.write, &measured.write);
        prop_assert_eq!(found.cpu, measured.cpu);
        prop_assert_eq!(&found.work, &measured.work);
    }
}

#[test]
fn what_is_not_known_is_null_and_what_was_not_measured_is_nothing() {
    let mut measured = Measured::new(1, Work { label: "copy".to_owned(), ..Work::default() });
    measured.put(Op::Write, Side { bytes_per_second: BytesPerSec::from_mb(392.8), ..Side::default() });
    let mut result = Imported::new(Tool::Copy, "x", 1);
    result.measurements.push(measured);
    let value = serde_json::to_value(Document::of(&result)).unwrap();
    let job = &value["jobs"][0];
    assert_eq!(job["write"]["bw_bytes"], 392_800_000);
    assert_eq!((&job["write"]["iops"], &job["read"]["bw_bytes"]), (&Value::Null, &json!(0)));
}
