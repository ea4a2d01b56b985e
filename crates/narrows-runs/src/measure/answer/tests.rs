use super::*;
use crate::measure::PathCeiling;
use crate::saved::Saved;

fn saved(text: &str) -> Saved {
    Saved::read(text).expect("a report")
}

fn figure(name: &str) -> Saved {
    let file = format!("{}/../../tests/figures/{name}", env!("CARGO_MANIFEST_DIR"));
    #[expect(clippy::disallowed_methods, reason = "a report of the gallery")]
    saved(&std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}")))
}

fn answer(name: &str) -> Answer {
    match figure(name) {
        Saved::Measure(report) => measure(&report).expect("an answer"),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_sweep_tells_both_kinds_of_limit_and_that_it_names_no_hop() {
    // The kernel held this disk to 1.2 GB/s and 40,000 I/Os each second (docs/gallery.md).
    let Answer { sentence, todo } = answer("sweep.json");
    assert!(
        sentence.contains("Random reads of /srv/file reach 1.2 GB/s (95 % intervals of its runs: "),
        "{sentence}"
    );
    assert!(sentence.contains("Up to 16 KiB a limit on the number of I/Os holds: 40 k IOPS"), "{sentence}");
    assert!(sentence.contains("From 64 KiB on a limit on bytes holds."), "{sentence}");
    assert!(sentence.contains("does not tell which hop limits"), "{sentence}");
    assert!(todo[0].starts_with("→ Use blocks of 64 KiB at depth "), "{todo:?}");
    assert!(todo[1].contains("`narrows measure /srv/file`"), "{todo:?}");
}

#[test]
fn what_no_load_gave_in_trust_is_said_and_nothing_else() {
    let Saved::Measure(mut report) = figure("sweep.json") else { panic!("a sweep") };
    report.results.iter_mut().for_each(|result| result.trusted = Some(false));
    let answer = measure(&report).unwrap();
    assert_eq!(answer.sentence, "No load gave a rate that is to be trusted.");
    assert!(answer.todo[0].contains("quiet machine"), "{answer:?}");
    let account = serde_json::json!({
        "limit_bytes": 8_000_000_000u64, "limit_is_asked": false, "device_limit_bytes": 8_000_000_000u64,
        "written_bytes": 7_900_000_000u64, "limit_reached": false,
    });
    report.writes = Some(serde_json::from_value(account).unwrap());
    let todo = measure(&report).unwrap().todo;
    assert!(todo[0].contains("--max-writes"), "{todo:?}");
    report.results.clear();
    assert_eq!(measure(&report), None);
}

#[test]
fn a_knee_is_said_only_where_no_load_contradicts_it() {
    let Saved::Measure(report) = figure("sweep.json") else { panic!("a sweep") };
    let said = |change: &dyn Fn(&mut crate::measure::SideView)| {
        let mut report = report.clone();
        let blocks: Vec<_> = report.points().iter().map(|point| point.load.block_size).collect();
        let largest = blocks.iter().max().copied();
        let first = blocks.iter().position(|block| Some(*block) == largest).expect("a point");
        change(report.results[first].read.as_mut().expect("it reads"));
        measure(&report).expect("an answer").sentence
    };
    assert!(!said(&|_| ()).contains("too noisy"));
    // Twice as fast with the largest block at its least depth as anything else.
    let noisy = said(&|point| {
        point.bytes_per_second = BytesPerSec::new(1e12);
        point.ci95 = None;
    });
    assert!(noisy.contains("1 TB/s") && noisy.contains("too noisy for a knee"), "{noisy}");
}

#[test]
fn a_sweep_near_a_known_ceiling_names_it() {
    let Saved::Measure(mut report) = figure("sweep.json") else { panic!("a sweep") };
    let ceiling = |gb| PathCeiling {
        hop: "link:x".to_owned(),
        name: "PCIe 2.0 x4 link".to_owned(),
        bytes_per_second: BytesPerSec::from_gb(gb),
    };
    report.ceilings.read = Some(ceiling(1.25));
    let near = measure(&report).unwrap();
    assert!(
        near.sentence.contains("of what PCIe 2.0 x4 link carries, which limits most likely."),
        "{}",
        near.sentence
    );
    assert!(near.todo.iter().all(|text| !text.contains("narrows check")), "{:?}", near.todo);
    report.ceilings.read = Some(ceiling(3.0));
    let far = measure(&report).unwrap();
    assert!(far.sentence.contains("what limits is not told"), "{}", far.sentence);
    report.ceilings.read = Some(ceiling(1.0));
    let above = measure(&report).unwrap();
    assert!(above.sentence.contains("do not rely on it"), "{}", above.sentence);
}
