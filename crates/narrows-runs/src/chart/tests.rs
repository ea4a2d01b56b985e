use super::*;
use narrows_base::units::Nanos;
use narrows_report::figure::Figure;

fn check_figure(figure: &Figure) {
    for picture in &figure.pictures {
        for svg in [Some(&picture.wide), picture.narrow.as_ref()].into_iter().flatten() {
            let text = svg.element();
            assert!(!text.contains("NaN") && !text.contains("inf") && !text.contains("style="), "{text}");
            let mut reader = quick_xml::Reader::from_str(&text);
            while reader.read_event().expect("is XML") != quick_xml::events::Event::Eof {}
        }
    }
    assert!(figure.data.rows.iter().all(|row| row.len() == figure.data.header.len()), "{:?}", figure.data);
}

fn svg(figure: &Figure) -> String {
    figure.pictures[0].wide.element()
}

#[test]
fn a_bench_shows_the_values_of_its_json() {
    let text = include_str!("../../../../tests/figures/bench.json");
    let report: crate::measure::MeasureReport = serde_json::from_str(text).expect("is a bench");
    let figures = measure(&report);
    figures.iter().for_each(check_figure);
    let all: String = figures.iter().map(|figure| figure.html((3, ""), "Values")).collect();
    for result in &report.results {
        let series: Vec<String> = result.series.iter().map(|rate| format!("{}", rate.get())).collect();
        assert!(all.contains(&format!("data-series=\"{}\"", series.join(" "))), "{}", result.name);
        let p50 = result.read.as_ref().and_then(|side| side.latency_ns.p50).expect("a median");
        assert!(all.contains(&format!("data-percentiles=\"p50={}", p50.get())), "{}", result.name);
    }
}

#[test]
fn a_ladder_is_a_waterfall() {
    let text = include_str!("../../../../tests/data/ladder-raid0-slow-member.json");
    let report: crate::ladder::LadderReport = serde_json::from_str(text).expect("is a ladder");
    let figures = ladder_waterfall(&report);
    assert!(!figures.is_empty());
    for (figure, ladder) in figures.iter().zip(&report.ladders) {
        check_figure(figure);
        for rung in &ladder.rungs {
            if let Some(rate) = &rung.measurement {
                let stated =
                    format!("data-rung=\"{}\" data-rate=\"{}\"", rung.id, rate.bytes_per_second.get());
                assert!(svg(figure).contains(&stated), "{stated}");
            }
        }
    }
}

#[test]
fn a_copy_has_its_time_budget() {
    use crate::copy::{Moved, build};
    use narrows_load::copy::CopyResult;
    let mut result = CopyResult::default();
    assert!(time_budget(&build("a", "b", &result, Moved::default())).is_none());
    result.spent.read = Nanos::new(6_000_000_000);
    result.spent.cpu = Nanos::new(2_000_000_000);
    let figure = time_budget(&build("a", "b", &result, Moved::default())).expect("a figure");
    check_figure(&figure);
    let text = svg(&figure);
    assert!(
        text.contains("data-part=\"read\" data-ns=\"6000000000\"") && text.contains("6 s (75 %)"),
        "{text}"
    );
}
