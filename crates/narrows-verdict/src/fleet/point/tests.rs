use super::super::testing::{START, STEP, record, told};
use super::*;

fn states(point: &Point) -> Vec<State> {
    point.hosts.iter().map(|host| host.outcome.state).collect()
}

#[test]
fn the_latencies_of_all_are_one_histogram_and_rates_add_up_in_the_common_window() {
    let hosts =
        [told(0, 10_240, 10, &[(100, 900), (500, 100)]), told(20, 20_480, 10, &[(100, 100), (900, 5000)])];
    let point = Point::of(&record(2, 10), &hosts, STEP);
    assert_eq!(states(&point), [State::Ok, State::Ok]);
    let bins: std::collections::BTreeMap<u64, u64> = [(100, 1000), (500, 100), (900, 5000)].into();
    assert_eq!(point.read.latency, Bins::from(bins));
    assert_eq!(point.start_spread, Some(Nanos::from_millis(20)));
    let window = point.window.expect("is common");
    assert_eq!(window.begin_ns, START + 20_000_000);
    assert_eq!(window.end_ns, START + 10_000_000_000);
    assert!((point.rate().get() - 30_720.0 * 1024.0).abs() < 100.0, "{:?}", point.rate());
    assert_eq!((point.read.least, point.read.greatest), (Some(Nanos::new(100)), Some(Nanos::new(900))));
    assert!(point.overlap.is_some_and(|overlap| overlap > 0.99));
}

#[test]
fn what_was_moved_after_the_last_line_of_a_log_counts_and_a_missing_log_does_not() {
    let whole = Point::of(&record(1, 10), &[told(0, 10_240, 10, &[(100, 900)])], STEP).rate();
    let mut cut = told(0, 10_240, 10, &[(100, 900)]);
    let lines: Vec<String> = cut.rates[0].lines().map(str::to_owned).collect();
    cut.rates = vec![lines[..lines.len() - 1].join("\n")];
    let rate = Point::of(&record(1, 10), &[cut], STEP).rate();
    assert!((rate.get() / whole.get() - 1.0).abs() < 1e-3, "{rate:?} of {whole:?}");
    let mut half = told(0, 10_240, 10, &[(100, 900)]);
    half.rates = vec![lines[..36].join("\n").replace(" 10240,", " 5120,")];
    let rate = Point::of(&record(1, 10), &[half], STEP).rate();
    assert!(rate.get() < whole.get() * 0.5, "what no log shows is not made up: {rate:?} of {whole:?}");
}

#[test]
fn the_beginning_is_the_earliest_that_the_lines_of_a_log_allow() {
    let mut waits = told(0, 1024, 10, &[(100, 10)]);
    let at = START / 1_000_000;
    // Each step waits for another time until an I/O ends, one of them for 3 ms only; in one step none does.
    let ends = [(1, 40), (2, 17), (3, 3), (5, 60), (6, 25)];
    let line = |(step, wait): &(u64, u64)| format!("{}, 100000, 0, 0, 0\n", at + step * 250 + wait);
    waits.latencies = vec![ends.iter().map(line).collect()];
    let point = Point::of(&record(1, 10), &[waits], STEP);
    assert_eq!(point.hosts[0].began_ns, Some(START + 3_000_000));
    // What is counted begins with what the first line covers.
    assert_eq!(point.hosts[0].extent.map(|extent| extent.begin_ns), Some(START + 40_000_000));
}

#[test]
fn a_late_host_is_called_so_and_the_overlap_told() {
    let hosts = [told(0, 1024, 10, &[(100, 10)]), told(900, 1024, 10, &[(100, 10)])];
    let point = Point::of(&record(2, 10), &hosts, STEP);
    assert_eq!(states(&point), [State::Ok, State::Late]);
    assert!(point.overlap.is_some_and(|overlap| (0.9..0.95).contains(&overlap)), "{:?}", point.overlap);
}

#[test]
fn no_io_is_never_a_result() {
    let hosts = [told(0, 1024, 10, &[(100, 10)]), told(0, 0, 10, &[])];
    let point = Point::of(&record(2, 10), &hosts, STEP);
    assert_eq!(states(&point), [State::Ok, State::Failed]);
    assert_eq!(point.hosts[1].outcome.reason.as_deref(), Some("fio did no I/O"));
    assert_eq!(point.read.latency.total(), 10, "what failed does not count");
}

#[test]
fn what_the_controller_saw_stands_and_a_cut_report_fails() {
    let mut seen = record(3, 10);
    seen.hosts[0].state = State::Hung;
    let mut cut = told(0, 1024, 10, &[(100, 10)]);
    cut.report = cut.report.map(|text| text[..text.len() - 20].to_owned());
    let hosts = [told(0, 1024, 10, &[(100, 10)]), cut, Told::default()];
    let point = Point::of(&seen, &hosts, STEP);
    assert_eq!(states(&point), [State::Hung, State::Failed, State::Failed]);
    assert_eq!((point.window, point.rate()), (None, BytesPerSec::default()));
}

#[test]
fn a_clock_that_is_off_by_an_hour_changes_nothing() {
    let shift = |mut one: Told, seconds: i64| {
        let moved = |text: &String| -> String {
            let line = |line: &str| {
                let (at, rest) = line.split_once(',').expect("a line");
                format!("{},{rest}\n", at.parse::<i64>().expect("a stamp") + seconds * 1000)
            };
            text.lines().map(line).collect()
        };
        one.rates = one.rates.iter().map(moved).collect();
        one.latencies = one.latencies.iter().map(moved).collect();
        one.clock_ahead_ns = seconds * 1_000_000_000;
        one
    };
    let host = || told(7, 10_240, 10, &[(100, 900)]);
    let straight = Point::of(&record(2, 10), &[host(), host()], STEP);
    let shifted = Point::of(&record(2, 10), &[shift(host(), 3600), shift(host(), -3600)], STEP);
    assert_eq!(straight, shifted);
}
