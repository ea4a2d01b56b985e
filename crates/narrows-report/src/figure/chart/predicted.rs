//! What workloads will get: predicted rates with their intervals, and what bounds each.

use super::bars::{Bar, BarChart, Named, Row, Signs, bars};
use super::{known, picture, rate};
use crate::figure::style::MOST;
use crate::figure::whole::{Data, Figure, Picture};
use crate::predict::{PredictReport, PredictionView};
use narrows_base::units::{BytesPerSec, human};
use narrows_model::predict::{Bound, BoundKind};

/// So many workloads are drawn.
const MOST_WORKLOADS: usize = 24;
/// So many bounds of each.
const MOST_BOUNDS: usize = 6;
/// A bound so many times the narrowest one says nothing of it, and would make its bar a thread.
const FAR: f64 = 12.0;

/// Rates of all workloads before and after the changes, then what bounds each of them. No figure where nothing is known.
pub fn predictions(report: &PredictReport) -> Vec<Figure> {
    let all: Vec<&PredictionView> = report.systems.iter().flat_map(|system| &system.predictions).collect();
    expected(&all).into_iter().chain(bounds(&all)).collect()
}

/// The predicted rate as a bar, or what is known to bound it as an outline.
fn outlook(it: &PredictionView) -> Option<Bar> {
    let workload = ("workload", it.workload.name.to_string());
    let limited = it.limiting.as_ref().map(|limiting| format!(": {}", limiting.name)).unwrap_or_default();
    match (it.bytes_per_second, &it.at_most) {
        (Some(got), _) => Some(Bar {
            class: "good",
            value: got.get(),
            interval: it.interval_95.map(|(low, high)| [low.get(), high.get()]),
            shown: format!("{got}{limited}"),
            data: vec![workload, ("rate", format!("{}", got.get()))],
            ..Bar::default()
        }),
        (None, Some(bound)) => Some(Bar {
            class: "plain",
            lost_from: Some(bound.rate.get()),
            shown: format!("not known; at most {}: {}", bound.rate, bound.name),
            data: vec![workload, ("at-most", format!("{}", bound.rate.get()))],
            ..Bar::default()
        }),
        (None, None) => None,
    }
}

/// What it was before the changes.
fn before(it: &PredictionView) -> Option<Bar> {
    let before = it.before.as_ref()?;
    let (value, lost_from, shown) = match (before.bytes_per_second, before.at_most_bytes_per_second) {
        (Some(was), _) => (was.get(), None, format!("before {was}")),
        (None, Some(most)) => (0.0, Some(most.get()), format!("before not known; at most {most}")),
        (None, None) => return None,
    };
    let data = if lost_from.is_none() { vec![("before", format!("{value}"))] } else { Vec::new() };
    Some(Bar { class: "plain", value, lost_from, shown, data, ..Bar::default() })
}

fn expected(all: &[&PredictionView]) -> Option<Figure> {
    let mut chart = BarChart::new(&["workload", "before#", "predicted#", "95 % of cases#", "narrowest hop"]);
    chart.signs.outline = "not known, not more than this";
    for it in all.iter().take(MOST_WORKLOADS) {
        let Some(now) = outlook(it) else { continue };
        let was = it.before.as_ref().and_then(|before| before.bytes_per_second);
        let bound = it.limiting.as_ref().or(it.at_most.as_ref());
        let row = Row {
            name: it.workload.name.to_string(),
            note: it.not_known_because.clone().unwrap_or_default(),
            bars: before(it).into_iter().chain([now]).collect(),
            ..Row::default()
        };
        let values = [
            it.workload.name.to_string(),
            was.map(human::rate).unwrap_or_default(),
            it.bytes_per_second.map_or_else(|| "not known".to_owned(), human::rate),
            known(it.interval_95.map(<[BytesPerSec; 2]>::from)),
            bound.map(|bound| bound.name.clone()).unwrap_or_default(),
        ];
        chart.put(row, values);
    }
    let alternative = "Bars are predicted rates, whiskers where they lie in 95 of 100 cases. An outline is what a rate that is not \
                       known does not exceed. Nothing of it is measured.";
    let named =
        Named { id: "predicted".to_owned(), title: "What each workload will get", label: "Predicted rates" };
    chart.figure(named, alternative.to_owned(), &rate)
}

fn bounds(all: &[&PredictionView]) -> Option<Figure> {
    let mut data = Data::new(&["workload", "bound", "kind", "rate#"]);
    let mut pictures: Vec<Picture> = Vec::new();
    for it in all.iter().filter(|it| !it.bounds.is_empty()).take(MOST) {
        let least = it.bounds.first().map_or(0.0, |bound| bound.rate.get());
        for bound in &it.bounds {
            let (workload, kind) = (it.workload.name.to_string(), bound.kind.to_string());
            data.push([workload, bound.name.clone(), kind, human::rate(bound.rate)]);
        }
        let near: Vec<&Bound> = it.bounds.iter().filter(|bound| bound.rate.get() <= least * FAR).collect();
        // Members of an array and nodes of a cluster bound alike: one bar stands for all.
        let is_alike = |a: &&Bound, b: &&Bound| {
            a.kind == b.kind && a.basis == b.basis && (a.rate - b.rate).get().abs() < 1.0
        };
        let alike = near.chunk_by(is_alike).take(MOST_BOUNDS).enumerate();
        let row = |(at, alike): (usize, &[&Bound])| {
            let bound = alike.first()?;
            let (class, fill) = if at == 0 { ("narrowest", "good") } else { ("", "plain") };
            let bar = Bar {
                class: fill,
                value: bound.rate.get(),
                shown: human::rate(bound.rate),
                data: vec![("bound", bound.hop.to_string()), ("rate", format!("{}", bound.rate.get()))],
                ..Bar::default()
            };
            let name = match alike.len() - 1 {
                0 => bound.name.clone(),
                more => format!("{} and {more} more", bound.name),
            };
            let note = if bound.kind == BoundKind::Iops { "IOPS".to_owned() } else { bound.kind.to_string() };
            Some(Row { name, note, class, bars: vec![bar] })
        };
        let rows: Vec<Row> = alike.filter_map(row).collect();
        let note = it.not_known_because.as_ref();
        let note = note.map(|why| format!("The rate is not known: {why}.")).unwrap_or_default();
        let label = "Bounds, the narrowest first";
        let drawn = picture(|width| bars(width, label, &rows, &rate, &Signs::default()));
        pictures.push(Picture { label: it.workload.name.to_string(), note, ..drawn });
    }
    let alternative = format!(
        "What the workload could move if there were no other bound, the narrowest first. Bounds above {FAR:.0} times the \
         narrowest are in the table only."
    );
    let title = "What bounds it".to_owned();
    (!pictures.is_empty()).then(|| Figure { id: "bounds".to_owned(), title, alternative, pictures, data })
}
