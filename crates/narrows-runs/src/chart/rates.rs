//! Values beside each other: rates of ladders, targets alone and together, how full hops are, and where a copy spent its
//! time.

use crate::copy::CopyReport;
use crate::ladder::{LadderReport, LadderView};
use crate::measure::{MeasureReport, TestResult};
use crate::together::TogetherReport;
use crate::top::{SideView, TopReport, full};
use narrows_base::measurement::Latency;
use narrows_base::units::{BytesPerSec, Nanos, human};
use narrows_report::figure::Figure;
use narrows_report::figure::chart::{
    Bar, BarChart, Named, Row, known, latencies, of_run, rate, rates_over_time,
};
use narrows_verdict::together::{GroupVerdict, Rate};

fn ends(interval: Option<[BytesPerSec; 2]>) -> Option<[f64; 2]> {
    interval.map(|ends| ends.map(BytesPerSec::get))
}

/// What each layer gives and what it loses of what those below it gave: a waterfall, one for each load that was measured.
pub(crate) fn ladder_waterfall(report: &LadderReport) -> Vec<Figure> {
    report.ladders.iter().enumerate().filter_map(|(at, ladder)| waterfall(ladder, at)).collect()
}

fn waterfall(ladder: &LadderView, at: usize) -> Option<Figure> {
    let mut chart =
        BarChart::new(&["layer", "measured#", "95 % interval#", "those below it#", "lost#", "cause"]);
    for rung in ladder.rungs.iter().rev() {
        let Some(measured) = &rung.measurement else { continue };
        let got = measured.bytes_per_second;
        let limits = ladder.is_limiting(rung);
        let loss = rung.step.loss.as_ref().map(|loss| loss.summary.clone()).unwrap_or_default();
        let lost =
            rung.step.lost.filter(|lost| *lost > 0.0).map(|lost| format!(" (−{})", human::percent(lost)));
        let row = Row {
            name: rung.name.clone(),
            // The name stands above it.
            note: loss.strip_prefix(&rung.name).unwrap_or(&loss).trim_start().to_owned(),
            class: if limits { "fault" } else { "" },
            bars: vec![Bar {
                class: if limits { "bad" } else { "good" },
                value: got.get(),
                lost_from: rung.step.below.map(BytesPerSec::get),
                interval: ends(measured.ci95),
                ceiling: rung.ceiling.as_ref().map(|ceiling| ceiling.bytes_per_second.get()),
                shown: format!("{got}{}", lost.unwrap_or_default()),
                data: vec![("rung", rung.id.clone()), ("rate", format!("{}", got.get()))],
            }],
        };
        let values = [
            rung.name.clone(),
            human::rate(got),
            known(measured.ci95),
            rung.step.below.map(human::rate).unwrap_or_default(),
            rung.step.lost.map(human::percent).unwrap_or_default(),
            loss,
        ];
        chart.put(row, values);
    }
    let alternative = format!(
        "{} Bars are measured rates, the highest layer last; the outlined part is what the layers below gave and this one lost.",
        ladder.sentence
    );
    let (title, label) = ("What each layer gives", "Rates of each layer");
    chart.figure(Named { id: format!("ladder-{}", at + 1), title, label }, alternative, &rate)
}

/// Targets alone and together, one figure for each group that shares a hop.
pub(crate) fn alone_together(report: &TogetherReport) -> Vec<Figure> {
    report.groups.iter().enumerate().filter_map(|(at, group)| of_group(group, at)).collect()
}

fn of_group(group: &GroupVerdict, at: usize) -> Option<Figure> {
    let mut chart =
        BarChart::new(&["target", "alone#", "95 % interval#", "together#", "95 % interval of it#"]);
    let mut put = |name: &str, alone: &Rate, together: &Rate, ceiling: Option<f64>| {
        let bar = |class, rate: &Rate, how: &'static str| Bar {
            class,
            value: rate.bytes_per_second.get(),
            interval: ends(rate.ci95),
            ceiling,
            shown: format!("{how} {}", rate.bytes_per_second),
            data: vec![("how", how.to_owned()), ("rate", format!("{}", rate.bytes_per_second.get()))],
            ..Bar::default()
        };
        let bars = vec![bar("plain", alone, "alone"), bar("good", together, "together")];
        let values = [
            name.to_owned(),
            human::rate(alone.bytes_per_second),
            known(alone.ci95),
            human::rate(together.bytes_per_second),
            known(together.ci95),
        ];
        chart.put(Row { name: name.to_owned(), bars, ..Row::default() }, values);
    };
    for share in &group.shares {
        put(&share.target, &share.alone, &share.together, None);
    }
    // The lowest known ceiling of what they share belongs to the sum alone.
    let ceilings = group.hops.iter().filter_map(|hop| hop.ceiling.map(BytesPerSec::get));
    put("all of them", &group.alone, &group.together, ceilings.min_by(f64::total_cmp));
    let alternative = format!(
        "{} The line across the last bars is the lowest known ceiling of the hops that they share.",
        group.sentence
    );
    let (title, label) = ("Alone and together", "Rates alone and together");
    chart.figure(Named { id: format!("together-{}", at + 1), title, label }, alternative, &rate)
}

/// Where the threads of a copy spent their time; `None` where they spent none.
pub(crate) fn time_budget(report: &CopyReport) -> Option<Figure> {
    let time = &report.time;
    let parts = [
        ("waited for reads of the source", "read", time.read),
        ("waited for writes to the destination", "write", time.write),
        ("waited for reading back", "verify", time.verify),
        ("waited for names and attributes", "metadata", time.metadata),
        ("computed", "cpu", time.cpu),
        ("waited for a processor", "queue", time.queue),
    ];
    let total: f64 = parts.iter().map(|(_, _, span)| span.get() as f64).sum();
    if total <= 0.0 {
        return None;
    }
    let most = parts.iter().map(|(_, _, span)| span.get()).max().unwrap_or(0);
    let mut chart = BarChart::new(&["what", "time of all threads#", "share#"]);
    chart.signs.notes.push("time of all threads together".to_owned());
    for (name, key, span) in parts {
        let share = human::percent(span.get() as f64 / total);
        let bar = Bar {
            class: if span.get() == most { "bad" } else { "plain" },
            value: span.get() as f64,
            shown: format!("{span} ({share})"),
            data: vec![("part", key.to_owned()), ("ns", span.get().to_string())],
            ..Bar::default()
        };
        let row = Row { name: name.to_owned(), bars: vec![bar], ..Row::default() };
        chart.put(row, [name.to_owned(), human::time(span), share]);
    }
    let shown = |value: f64| if value > 0.0 { human::time(Nanos::new(value as u64)) } else { "0".to_owned() };
    let alternative = format!("{} Time is that of all threads together.", report.sentence);
    let (title, label) = ("Where the time went", "Time of the copy by what it was spent on");
    chart.figure(Named { id: "time-budget".to_owned(), title, label }, alternative, &shown)
}

/// So many hops are drawn.
const MOST: usize = 24;

/// How full each hop is whose ceiling is known and over which anything moves; `None` where there is none.
pub(crate) fn fullness(report: &TopReport) -> Option<Figure> {
    let mut chart = BarChart::new(&["hop", "read#", "written#", "part of its ceiling#"]);
    let moving =
        report.lanes.iter().filter_map(|lane| Some((lane, lane.part_of_ceiling.filter(|part| *part > 0.0)?)));
    for (lane, part) in moving {
        let rate = |side: &SideView| side.bytes_per_second.map(human::rate).unwrap_or_default();
        let is_fullest = report.fullest_hop.as_deref() == Some(lane.hop.as_str());
        let row = Row {
            name: lane.name.clone(),
            class: if is_fullest { "fault" } else { "" },
            bars: vec![Bar {
                class: if is_fullest { "bad" } else { "good" },
                value: part * 100.0,
                shown: full(lane),
                data: vec![("hop", lane.hop.clone()), ("part", format!("{part}"))],
                ..Bar::default()
            }],
            ..Row::default()
        };
        chart.put(row, [lane.name.clone(), rate(&lane.read), rate(&lane.write), full(lane)]);
    }
    chart.rows.truncate(MOST);
    let alternative = format!("{} Bars are what crosses a hop as a part of its ceiling.", report.sentence);
    let percent = |value: f64| format!("{value:.0} %");
    let named =
        Named { id: "fullness".to_owned(), title: "How full each hop is", label: "Parts of ceilings" };
    chart.figure(named, alternative, &percent)
}

/// The latencies of one direction of a test.
type LatencySide = fn(&TestResult) -> Option<&Latency>;

/// Latencies and rates over time of the tests of a bench.
pub(crate) fn measure(report: &MeasureReport) -> Vec<Figure> {
    let sides: [(&str, LatencySide); 2] = [
        ("reads", |it| it.read.as_ref().map(|side| &side.latency_ns)),
        ("writes", |it| it.write.as_ref().map(|side| &side.latency_ns)),
    ];
    let mut figures = Vec::new();
    for (what, latency) in sides {
        let runs = report.results.iter().filter_map(|it| Some((it.name.clone(), latency(it)?)));
        figures.extend(latencies(&format!("latencies-{what}"), what, &runs.collect::<Vec<_>>()));
    }
    let courses = report.results.iter().map(|result| {
        let ceiling = match (&result.read, &result.write) {
            (Some(_), None) => report.ceilings.read.as_ref(),
            (None, Some(_)) => report.ceilings.write.as_ref(),
            _ => None,
        };
        let condition = result.checks.as_ref().and_then(|checks| checks.condition.as_ref());
        of_run(&result.name, &result.series, ceiling.map(|it| it.bytes_per_second), condition)
    });
    figures.extend(rates_over_time("rates", &courses.collect::<Vec<_>>()));
    figures
}
