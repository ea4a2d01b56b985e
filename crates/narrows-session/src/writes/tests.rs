use super::ahead::HELD_WITHIN;
use super::*;
use crate::testing::UNTIL_KNOWN;
use narrows_load::measurement::Pattern;

const TIMING: Timing =
    Timing { fixed: Some(Duration::from_secs(9)), warm_up: Duration::from_secs(1), ..UNTIL_KNOWN };

fn load() -> LoadSpec {
    LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), 1)
}

fn plan(asked: Option<u64>, kept: Option<Account>, loads: &[&LoadSpec]) -> Result<Writes, Failure> {
    let works: Vec<Work> = loads.iter().map(|load| Work::Load((*load).clone())).collect();
    let (asked, size) = (asked.map(Bytes::from_mib), (Bytes::from_mib(100), true));
    let wanted = Wanted { asked, kept, size, works: &works, is_patient: true, ..Wanted::nothing(&TIMING) };
    Writes::of(&Wanted { ceiling: Some(BytesPerSec::from_mb(100.0)), ..wanted })
}

fn account(writes: &Writes) -> Account {
    writes.account(&Root::live())
}

#[test]
fn what_tests_write_at_most_follows_from_the_ceiling_and_the_time() {
    let (read, half) = (load(), load().writing(50));
    // 100 MB/s for 10 s, half of it writes.
    let writes = plan(None, None, &[&read, &half]).unwrap();
    assert_eq!(writes.expected, Some(Bytes::new(500_000_000 + (100 << 20))));
    let text = writes.announcement("a scratch file in /srv");
    assert!(text.starts_with("writes at most 8.59 GB: 105 MB to fill a scratch file in /srv"), "{text}");
    assert!(text.ends_with("for the file system's own records; --max-writes allows more"), "{text}");
    // A drive of 1 TB with 600 TBW.
    let life = Life { rated: Bytes::new(600_000_000_000_000), class: None };
    let rated = Writes { life: Some(life), ..writes.clone() };
    assert!(rated.announcement("x").contains("8.59 GB, less than 0.01 % of the drive's rated life"));
    let small = Life { rated: Bytes::new(8_590_000_000_000), class: Some("flash-card") };
    let text = Writes { life: Some(small), ..writes }.announcement("x");
    assert!(text.contains("~0.1 % of the drive's rated life (that of its class, flash-card"), "{text}");
    let only_reads = plan(None, None, &[&read]).unwrap();
    assert_eq!(only_reads.expected, Some(Bytes::from_mib(100)));
}

#[test]
fn what_was_asked_for_is_said_with_what_the_file_system_adds() {
    let text = plan(Some(320), None, &[]).unwrap().announcement("x");
    assert!(text.starts_with("writes at most 346 MB: 105 MB to fill x"), "{text}");
    assert!(text.ends_with("of data never more than 336 MB (--max-writes)"), "{text}");
}

#[test]
fn a_resumed_run_has_what_its_first_part_left() {
    assert!(plan(Some(99), None, &[]).is_err());
    let first = plan(Some(250), None, &[]).unwrap();
    first.budget().take(Bytes::from_mib(100)).unwrap();
    let second = plan(None, Some(account(&first)), &[]).unwrap();
    assert_eq!(second.budget().left(), Bytes::from_mib(150));
    second.budget().take(Bytes::from_mib(100)).unwrap();
    let refused = plan(None, Some(account(&second)), &[]).unwrap_err().to_string();
    assert!(refused.contains("--max-writes"), "{refused}");
    assert!(plan(Some(1000), Some(account(&second)), &[]).is_ok());
}

#[test]
fn a_limit_for_which_nobody_asked_is_none_of_the_run_that_goes_on() {
    let usual = account(&plan(None, None, &[]).unwrap());
    let resumed = |limit_is_asked| {
        let kept = Account { limit: Bytes::from_mib(9000), limit_is_asked, ..usual };
        plan(None, Some(kept), &[]).unwrap().limit.data
    };
    assert_eq!((resumed(false), resumed(true)), (usual.limit, Bytes::from_mib(9000)));
}

/// A run that fills 100 MiB and tests `loads`, which write 100 MB/s each, estimated after the filling.
fn estimated(loads: &[LoadSpec], limit: Option<u64>, is_patient: bool) -> Writes {
    let works: Vec<Work> = loads.iter().cloned().map(Work::Load).collect();
    let timing = Timing { fixed: None, warm_up: Duration::from_millis(300), ..TIMING };
    let writes = Writes::of(&Wanted {
        asked: limit.map(Bytes::from_mib),
        kept: None,
        size: (Bytes::from_mib(100), true),
        is_device: false,
        works: &works,
        timing: &timing,
        is_patient,
        path: None,
        ceiling: None,
    });
    let writes = writes.unwrap();
    let size = writes.size();
    writes.budget().take(size).unwrap();
    let tried: Vec<(LoadSpec, f64)> = loads.iter().map(|load| (load.clone(), 1e8)).collect();
    writes.estimate(BytesPerSec::from_mb(100.0), (size, size), &tried);
    writes
}

#[test]
fn tests_never_write_half_more_than_was_estimated() {
    let (one, two) = (load().writing(100), load().writing(50));
    let writes = estimated(&[one.clone(), two.clone()], None, false);
    let estimate = account(&writes).estimate.unwrap();
    // 105 MB and twice 3 s at 100 MB/s; two tests of 3.1 s.
    assert_eq!(estimate.bytes.get() / 1_000_000, 704);
    assert!((6_150..6_700).contains(&estimate.time.duration().as_millis()), "{estimate:?}");
    for load in [&one, &two] {
        let allowance = writes.allow(Some(load));
        assert!(allowance.time.is_some_and(|time| time > Duration::from_secs(3)), "{allowance:?}");
        assert!(!allowance.is_short());
        let all = allowance.budget.left();
        allowance.budget.take(all).unwrap();
    }
    let spent = writes.budget().spent().as_f64();
    assert!((1.45..=1.5).contains(&(spent / estimate.bytes.as_f64())), "{spent}");
    assert!(
        estimated(std::slice::from_ref(&one), None, true).allow(Some(&one)).time.is_none(),
        "--max-time was typed"
    );
}

#[test]
fn little_makes_short_tests_and_the_need_is_said() {
    let one = load().writing(100);
    let writes = estimated(&[one.clone(), one.clone()], Some(200), false);
    let allowance = writes.allow(Some(&one));
    // Half of the 100 MiB that are left: half a second.
    assert_eq!(allowance.budget.left(), Bytes::from_mib(50));
    assert!(allowance.is_short());
    assert!(allowance.suffices(&one).is_ok());
    let deep = LoadSpec::reading(Pattern::Sequential, Bytes::from_mib(1), 32).writing(100);
    assert_eq!(allowance.suffices(&deep).unwrap_err().wanted, Bytes::from_mib(64));
    assert_eq!(whole_gib(writes.needed(6.0)), "2GiB");
    let nothing = estimated(std::slice::from_ref(&one), Some(100), false).allow(Some(&one));
    assert_eq!(nothing.budget.left(), Bytes::new(0));
}

#[test]
fn rounds_are_not_begun_without_what_all_of_them_may_need() {
    let timing = Timing { stop: StopRule::SteadyRounds(10), fixed: None, ..TIMING };
    let write = load().writing(100);
    let of = |limit: Option<u64>| {
        let asked = limit.map(Bytes::from_mib);
        let writes = Writes::plan((asked, None), Bytes::from_mib(100), &[&write], &timing).unwrap();
        assert_eq!(writes.obstacle(&write, &timing), None, "nothing is known of its rate");
        let size = writes.size();
        writes.budget().take(size).unwrap();
        writes.estimate(BytesPerSec::from_mb(100.0), (size, size), &[(write.clone(), 1e8)]);
        writes.obstacle(&write, &timing)
    };
    // 25 rounds of 10 s, and 1 s of warm-up.
    let why = of(None).unwrap();
    assert_eq!(
        why,
        "its rounds need at most 25.1 GB, more than may be written; --max-writes 24GiB allows them all"
    );
    assert_eq!(of(Some(24 << 10)), None);
}

#[test]
fn a_run_of_many_parts_is_bounded_by_the_life_of_its_drives_and_held_to_its_estimate() {
    let life = Life { rated: Bytes::new(33_000_000_000_000), class: Some("flash-card") };
    let write = load().writing(100);
    let all = [&write, &write];
    let plan = |life| Writes::plan((None, life), Bytes::from_mib(300), &all, &TIMING).unwrap();
    let writes = plan(Some(life)).holding_bytes();
    assert_eq!(writes.limit.device, Bytes::new(3_300_000_000));
    let text = writes.announcement("each layout");
    assert!(text.contains("3.3 GB, ~0.01 % of the drive's rated life (that of its class"), "{text}");
    let text = writes.estimate_first(BytesPerSec::from_mb(10.0), Bytes::from_mib(256), &[]);
    assert!(text.starts_with("after 268 MB: about 340 MB") && text.contains("at least"), "{text}");
    writes.take_filled(Bytes::from_mib(300)).unwrap();
    let estimated = writes.state().estimate.unwrap().bytes;
    let most = writes.allow(Some(&write)).budget.left();
    assert!(most.as_f64() < estimated.as_f64() * HELD_WITHIN, "{most:?} of {estimated:?}");
    let patient = plan(None);
    patient.estimate_first(BytesPerSec::from_mb(10.0), Bytes::from_mib(256), &[]);
    assert!(patient.allow(Some(&write)).budget.left() > most, "what was not estimated may be written, too");
    writes.take_beside(Bytes::from_mib(10));
    assert_eq!(account(&writes).written, Bytes::from_mib(300), "what others write is not ours");
}

#[test]
fn what_was_counted_beside_what_was_sent_is_told_once() {
    let mut meter = Meter::default();
    let mib = Bytes::from_mib;
    assert_eq!(meter.more(mib(10), mib(12)), mib(0), "some is still on its way");
    assert_eq!(meter.more(mib(25), mib(22)), mib(3));
    assert_eq!(meter.more(mib(35), mib(32)), mib(0));
    assert_eq!(meter.more(mib(36), mib(36)), mib(0));
    assert_eq!(meter.more(mib(41), mib(36)), mib(2));
}

#[test]
fn without_a_device_nothing_is_counted() {
    let mut meter = Meter::default();
    let root = Root::live();
    meter.begin(&root, Bytes::new(5));
    assert_eq!((meter.look(&root, Bytes::new(7)), meter.written(&root)), (Bytes::new(0), None));
    meter.end(&root);
}
