//! What was measured, two lines for each run.

use crate::document::{Block, Blocks, Cell, Column, Place, Row, Table, Tone, Width, half};
use crate::figure::chart::means;
use crate::view::{ConditionView, RunView};
use narrows_base::lists::known_of;
use narrows_base::measurement::{Access, Latency};
use narrows_base::stats;
use narrows_base::units::{BytesPerSec, Nanos, human};

/// A run's course is drawn in at most this many columns.
const COURSE: usize = 30;

/// The margin of what is said of a run.
const DETAIL: usize = 9;

/// Puts the runs of one target.
pub(super) fn put(out: &mut impl Blocks, runs: &[RunView]) {
    out.section(Place::Data, "Measured");
    let columns = vec![
        Column::name("direction", Width::Fixed(5)).gap(2),
        Column::left("workload", Width::Flex(16)).wrapping(),
        Column::left("rate", Width::Fit(0, usize::MAX)),
        Column::left("trust", Width::Fit(0, usize::MAX)),
    ];
    let mut table = Table::new("Runs", 0, columns).untitled();
    table.rows.extend(runs.iter().map(row));
    out.add(Block::Table(table));
}

fn row(run: &RunView) -> Row {
    let measurement = &run.measurement;
    let work = &measurement.workload;
    let size = human::block_size(work.block_size);
    // `sequential 1 MiB × 32`.
    let asked = format!("{} {size} × {}", work.pattern.word(), work.queue_depth);
    let (rate, ends) = (measurement.bytes_per_second, measurement.ci95);
    let spread = ends.map(|_| format!(" ± {}", half(rate, ends))).unwrap_or_default();
    let rate = format!("{}{spread}", human::rate_with_binary(rate));
    let has_held = stats::steadiness(&measurement.series).is_none_or(|rate| rate.steady);
    let trust = match run.trusted {
        Some(true) if has_held => Cell::toned(Tone::Good, "trusted"),
        Some(true) => Cell::toned(Tone::Warn, "unsteady"),
        Some(false) => Cell::toned(Tone::Bad, "not trusted"),
        None => Cell::default(),
    };
    let direction = Cell::text(run.direction.word());
    let cells = vec![direction, Cell::text(asked), Cell::toned(Tone::Strong, rate), trust];
    Row { cells, notes: notes(run) }
}

/// What is said of a run below its rate.
fn notes(run: &RunView) -> Vec<Block> {
    let measurement = &run.measurement;
    let latency = &measurement.latency;
    let [p50, p99] = [latency.p50, latency.p99].map(or_too_few);
    let access = match measurement.access {
        Access::Direct => "direct",
        Access::Buffered => "buffered (page cache)",
    };
    let parts = [
        Some(measurement.iops.to_string()),
        (latency.count > 0).then(|| format!("p50 {p50} · p99 {p99} · max {}", latency.max)),
        Some(access.to_owned()),
        Some(human::time(measurement.elapsed_ns)),
        course(&measurement.series),
    ];
    let mut out = Vec::new();
    out.say(DETAIL, Tone::Faint, known_of(parts, " · "));
    let around = run.condition.as_ref().map(ConditionView::in_words).unwrap_or_default();
    if !around.is_empty() {
        out.say(DETAIL, Tone::Faint, around.join(" · "));
    }
    let engine = &measurement.generator.engine;
    let first = measurement.first_error.as_deref().unwrap_or("no text");
    let failed = format!("{} I/Os failed, the first: {first}", measurement.errors);
    out.says(DETAIL, Tone::Warn, engine.is_synchronous().then(|| format!("engine: {engine}")));
    out.says(DETAIL, Tone::Bad, (measurement.errors > 0).then_some(failed));
    out.says(DETAIL, Tone::Warn, measurement.cut_short.iter().map(|why| format!("ended early: {why}")));
    out.says(DETAIL, Tone::Warn, run.condition.iter().flat_map(ConditionView::troubles));
    out
}

/// The rate over time; each step is the mean of its part, the greatest is full height.
fn course(series: &[BytesPerSec]) -> Option<String> {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    if series.len() < 2 {
        return None;
    }
    let means: Vec<f64> = means(series, series.len().div_ceil(COURSE)).collect();
    let most = means.iter().copied().fold(0.0, f64::max);
    let step = |mean: f64| if most > 0.0 { (mean / most * 7.0).round() as usize } else { 0 };
    Some(means.iter().filter_map(|mean| STEPS.get(step(*mean))).collect())
}

/// What stands in for a percentile that the run says nothing of.
const TOO_FEW: &str = "too few samples";

/// One percentile, or that there are too few samples for it.
fn or_too_few(percentile: Option<Nanos>) -> String {
    percentile.map_or_else(|| TOO_FEW.to_owned(), human::time)
}

/// All percentiles from the median to five nines, and from which on there are too few samples.
pub fn percentiles(latency: &Latency) -> String {
    let all = latency.percentiles();
    let known = all.iter().filter_map(|(one, value)| Some(format!("{} {}", one.label, (*value)?)));
    let mut parts: Vec<String> = known.collect();
    if let Some((first, _)) = all.iter().find(|(_, value)| value.is_none()) {
        let beyond = if first.label == "p99.999" { "" } else { " and beyond" };
        parts.push(format!("{}{beyond}: {TOO_FEW} ({} needed)", first.label, first.least_samples()));
    }
    parts.push(format!("max {}", latency.max));
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_samples_do_not_support_is_said_and_not_shown() {
        let some = |ms| Some(Nanos::from_millis(ms));
        let latency = Latency {
            count: 400,
            p50: some(1),
            p90: some(2),
            p95: some(3),
            p99: some(4),
            max: Nanos::from_millis(9),
            ..Latency::default()
        };
        assert_eq!(
            percentiles(&latency),
            "p50 1 ms · p90 2 ms · p95 3 ms · p99 4 ms · p99.9 and beyond: too few samples (2995 needed) · max 9 ms"
        );
        let all = Latency { p999: some(5), p9999: some(6), ..latency };
        assert!(percentiles(&all).contains("p99.99 6 ms · p99.999: too few samples (299572 needed)"));
        assert_eq!(
            (or_too_few(None), or_too_few(some(7))),
            ("too few samples".to_owned(), "7 ms".to_owned())
        );
    }
}
