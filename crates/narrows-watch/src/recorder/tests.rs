use super::*;
use proptest::prelude::*;

/// 2026-11-24 03:11:40 UTC.
const START: i64 = 1_795_489_900;
const SECOND: i64 = 1_000_000_000;

fn at(seconds: i64) -> Moment {
    Moment {
        wall: (START + seconds) * SECOND,
        boot: (500 + seconds) * SECOND,
        awake: (500 + seconds) * SECOND,
    }
}

fn slot3() -> Subject {
    Subject {
        kind: Kind::Link,
        name: "0000:06:00.0".to_owned(),
        slot: Some("3".to_owned()),
        device: Some("NVMe controller".to_owned()),
        identity: Some("ab12".to_owned()),
    }
}

fn observed(values: &[(Property, i64)]) -> Observed {
    let values = values.iter().map(|(property, value)| (*property, Value::Number(*value))).collect();
    Observed::from([(slot3(), values)])
}

fn lanes(count: i64) -> Observed {
    observed(&[(Property::Lanes, count)])
}

fn changes(records: &[Record]) -> Vec<(&str, &Change)> {
    records
        .iter()
        .filter_map(|record| match &record.what {
            What::Change(change) => Some((record.at.as_str(), change)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_change_is_dated_by_its_two_readings() {
    let mut recorder = Recorder::default();
    let first = recorder.take(&lanes(4), at(0), Noticed::Reading, &[]);
    assert!(matches!(first.first().map(|record| &record.what), Some(What::State { .. })), "{first:?}");
    let second = recorder.take(&lanes(1), at(30), Noticed::Reading, &[]);
    let [(when, change)] = changes(&second)[..] else { panic!("one change: {second:?}") };
    assert_eq!((change.after.as_str(), when), ("2026-11-24T03:11:40Z", "2026-11-24T03:12:10Z"));
    assert_eq!((&change.from, &change.to), (&Value::Number(4), &Value::Number(1)));
    assert!(recorder.take(&lanes(1), at(60), Noticed::Reading, &[]).is_empty());
}

#[test]
fn a_value_that_was_not_known_meanwhile_keeps_the_date_of_its_last_reading() {
    let mut recorder = Recorder::default();
    recorder.take(&lanes(4), at(0), Noticed::Reading, &[]);
    assert!(recorder.take(&observed(&[]), at(30), Noticed::Reading, &[]).is_empty(), "it sleeps");
    assert!(recorder.take(&lanes(4), at(60), Noticed::Reading, &[]).is_empty());
    recorder.take(&observed(&[]), at(90), Noticed::Reading, &[]);
    let records = recorder.take(&lanes(2), at(120), Noticed::Event, &[]);
    assert_eq!(changes(&records)[0].1.after, "2026-11-24T03:12:40Z", "60 s");
    assert_eq!(changes(&records)[0].1.noticed_by, Noticed::Event);
}

#[test]
fn a_change_while_nobody_watched_lies_between_the_journals_end_and_now() {
    let mut recorder = Recorder::default();
    let mut journal = recorder.take(&lanes(4), at(0), Noticed::Reading, &[]);
    journal.extend(recorder.take(&lanes(4), at(700), Noticed::Reading, &[]));
    assert_eq!(journal.last().map(|record| &record.what), Some(&What::Alive { unread: Vec::new() }));
    let mut again = Recorder::resume(&journal);
    let now = Moment { boot: 20 * SECOND, awake: 20 * SECOND, ..at(5000) };
    let records = again.take(&lanes(1), now, Noticed::Reading, &[]);
    let (_, change) = changes(&records)[0];
    assert_eq!((change.after.as_str(), change.noticed_by), ("2026-11-24T03:23:20Z", Noticed::Start));
    let mut asleep = Recorder::default();
    let mut journal_of_sleep = asleep.take(&lanes(4), at(0), Noticed::Reading, &[]);
    journal_of_sleep.extend(asleep.take(&observed(&[]), at(700), Noticed::Reading, &[]));
    let records = Recorder::resume(&journal_of_sleep).take(&lanes(1), now, Noticed::Reading, &[]);
    assert_eq!(changes(&records)[0].1.after, "2026-11-24T03:11:40Z", "nobody read it at 700 s");
    let mut unchanged = Recorder::resume(&journal);
    assert!(unchanged.take(&lanes(4), now, Noticed::Reading, &[]).is_empty(), "all is as it was");
}

#[test]
fn a_clock_that_is_set_moves_no_interval() {
    let mut recorder = Recorder::default();
    recorder.take(&lanes(4), at(0), Noticed::Reading, &[]);
    let set = Moment { wall: at(30).wall - 7200 * SECOND, ..at(30) };
    let records = recorder.take(&lanes(1), set, Noticed::Reading, &[]);
    assert_eq!(records[0].what, What::ClockSet { seconds: -7200.0 });
    let (when, change) = changes(&records)[0];
    assert_eq!(
        (change.after.as_str(), when),
        ("2026-11-24T01:11:40Z", "2026-11-24T01:12:10Z"),
        "30 s as before"
    );
}

#[test]
fn sleep_and_losses_are_told_and_a_flood_of_them_once() {
    let mut recorder = Recorder::default();
    recorder.take(&lanes(4), at(0), Noticed::Reading, &[]);
    let slept = Moment { awake: at(30).awake, ..at(3630) };
    assert_eq!(
        recorder.take(&lanes(4), slept, Noticed::Reading, &[])[0].what,
        What::Slept { seconds: 3600.0 }
    );
    let mut gaps = Vec::new();
    for second in 1..=400 {
        let now = Moment { awake: at(30 + second).awake, ..at(3630 + second) };
        recorder.lose("events of devices", now);
        gaps.extend(recorder.take(&lanes(4), now, Noticed::Event, &[]));
    }
    let times: Vec<u64> = gaps
        .iter()
        .filter_map(|record| match &record.what {
            What::Gap { times, .. } => Some(*times),
            _ => None,
        })
        .collect();
    assert_eq!(times, [1, 300]);
}

#[test]
fn counters_are_told_at_first_then_now_and_then_and_begin_anew_in_silence() {
    let mut recorder = Recorder::default();
    let count = |count| observed(&[(Property::CorrectableErrors, count)]);
    recorder.take(&count(0), at(0), Noticed::Reading, &[]);
    let mut told = Vec::new();
    for step in 1..=40 {
        told.extend(recorder.take(&count(step * 7), at(step * 30), Noticed::Reading, &[]));
    }
    let counts: Vec<&Value> = changes(&told).into_iter().map(|(_, change)| &change.to).collect();
    assert_eq!(counts, [&Value::Number(7), &Value::Number(147)]);
    assert_eq!(changes(&told)[1].1.after, "2026-11-24T03:12:10Z", "7 was last read then");
    assert!(changes(&recorder.take(&count(2), at(3000), Noticed::Reading, &[])).is_empty());
    assert_eq!(changes(&recorder.take(&count(3), at(3030), Noticed::Reading, &[])).len(), 1);
}

#[test]
fn a_temperature_is_told_when_it_moved_and_a_drive_that_warns_at_once() {
    let mut recorder = Recorder::default();
    let drive = |celsius, hot| observed(&[(Property::Celsius, celsius), (Property::Hot, hot)]);
    recorder.take(&drive(40, 0), at(0), Noticed::Reading, &[]);
    assert!(recorder.take(&drive(44, 0), at(30), Noticed::Reading, &[]).is_empty());
    assert_eq!(changes(&recorder.take(&drive(45, 0), at(60), Noticed::Reading, &[])).len(), 1);
    assert_eq!(changes(&recorder.take(&drive(46, 1), at(90), Noticed::Reading, &[])).len(), 1);
}

#[test]
fn what_went_away_and_came_back_as_another_is_told() {
    let mut recorder = Recorder::default();
    recorder.take(&lanes(4), at(0), Noticed::Reading, &[]);
    let other = Subject { identity: Some("cd34".to_owned()), ..slot3() };
    let values = BTreeMap::from([(Property::Lanes, Value::Number(2))]);
    let records = recorder.take(&Observed::from([(other.clone(), values)]), at(30), Noticed::Event, &[]);
    assert!(
        matches!(&records[0].what, What::Gone { subject, after } if *subject == slot3() && after.ends_with("03:11:40Z"))
    );
    assert!(matches!(&records[1].what, What::State { subject, .. } if *subject == other));
    assert_eq!(records.len(), 2, "another device is no change of the first");
}

proptest! {
    /// Whatever is read in whatever order, the journal alone tells the state at its end.
    #[test]
    fn a_journal_tells_the_state_at_its_end(widths in proptest::collection::vec(proptest::option::of(1i64..5), 1..40)) {
        let mut recorder = Recorder::default();
        let mut journal = Vec::new();
        let mut last = None;
        for (step, width) in widths.iter().enumerate() {
            let seen = width.map_or_else(|| observed(&[]), lanes);
            last = width.or(last);
            journal.extend(recorder.take(&seen, at(step as i64 * 30), Noticed::Reading, &[]));
        }
        let again = Recorder::resume(&journal);
        let told: Vec<i64> = again.followed.values().filter_map(|f| match f.values.get(&Property::Lanes)?.value {
            Value::Number(lanes) => Some(lanes),
            Value::Text(_) => None,
        }).collect();
        // A width that was known after the first record only is told when it changes.
        if widths[0].is_some() {
            prop_assert_eq!(told, last.into_iter().collect::<Vec<_>>());
        }
        for record in &journal {
            let text = serde_json::to_string(record).expect("has a form in JSON");
            prop_assert_eq!(&serde_json::from_str::<Record>(&text).expect("is read back"), record);
            if let What::Change(change) = &record.what {
                prop_assert!(change.after < record.at);
            }
        }
    }
}
