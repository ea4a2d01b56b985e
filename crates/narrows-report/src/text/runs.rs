//! What was measured, two lines for each run.

use super::Style;
use super::ink::{Line, Tone, paragraph, width};
use super::latency::or_too_few;
use crate::view::{ConditionView, MeasurementView, RunView};
use narrows_base::units::{BytesPerSec, human};
use narrows_load::measurement::{Access, Pattern};
use narrows_model::ceiling::Direction;

/// A run's course is drawn in at most this many columns.
const COURSE: usize = 30;

/// A rate with its interval and trust takes at most this many columns.
const RESULT: usize = 46;

/// The margin of what is said of a run.
const DETAIL: &str = "         ";

/// Puts the runs of one target.
pub(super) fn put(out: &mut String, style: &Style, runs: &[RunView]) {
    let mut title = Line::new(style);
    title.put(Tone::Strong, "Measured");
    title.end(out);
    let asked: Vec<String> = runs.iter().map(asked).collect();
    let column = 4 + asked.iter().map(|text| width(style, text)).max().unwrap_or(0);
    for (run, asked) in runs.iter().zip(&asked) {
        put_run(out, style, run, asked, column);
    }
}

/// `read   sequential 1 MiB × 32`.
fn asked(run: &RunView) -> String {
    let direction = match run.direction {
        Direction::Read => "read ",
        Direction::Write => "write",
    };
    let pattern = match run.measurement.workload.pattern {
        Pattern::Sequential => "sequential",
        Pattern::Random => "random",
    };
    let size = human::block_size(run.measurement.workload.block_size);
    format!("{direction}  {pattern} {size} × {}", run.measurement.workload.queue_depth)
}

fn put_run(out: &mut String, style: &Style, run: &RunView, asked: &str, column: usize) {
    let measurement = &run.measurement;
    let mut line = Line::new(style);
    line.put(Tone::Normal, "  ").put(Tone::Normal, asked).pad_to(column);
    if line.room() < RESULT {
        line.end(out);
        line = Line::new(style);
        line.pad_to(DETAIL.len());
    }
    line.put(Tone::Strong, &human::rate_with_binary(measurement.bytes_per_second));
    line.put(Tone::Normal, &spread(measurement));
    match run.trusted {
        Some(true) => line.put(Tone::Good, "  trusted"),
        Some(false) => line.put(Tone::Bad, "  not trusted"),
        None => &mut line,
    };
    line.end(out);

    let latency = &measurement.latency_ns;
    let mut parts = vec![measurement.iops.to_string()];
    if latency.count > 0 {
        parts.push(format!(
            "p50 {} · p99 {} · max {}",
            or_too_few(latency.p50),
            or_too_few(latency.p99),
            human::time(latency.max)
        ));
    }
    parts.push(match measurement.access {
        Access::Direct => "direct".to_owned(),
        Access::Buffered => "buffered (page cache)".to_owned(),
    });
    parts.push(human::time(measurement.elapsed_ns));
    let course = course(style, &measurement.series);
    if !course.is_empty() {
        parts.push(course);
    }
    paragraph(out, style, (Tone::Normal, DETAIL), Tone::Faint, &parts.join(" · "));
    let around = run.condition.as_ref().map(ConditionView::in_words).unwrap_or_default();
    if !around.is_empty() {
        paragraph(out, style, (Tone::Normal, DETAIL), Tone::Faint, &around.join(" · "));
    }
    let changed = run.condition.iter().flat_map(ConditionView::troubles).map(|text| (Tone::Warn, text));
    for (tone, text) in troubles(measurement).into_iter().chain(changed) {
        paragraph(out, style, (Tone::Normal, DETAIL), tone, &text);
    }
}

/// Half of the confidence interval as a share of the rate: ` ± 0.4 %`.
fn spread(measurement: &MeasurementView) -> String {
    let Some([low, high]) = measurement.ci95 else { return String::new() };
    format!(" ± {}", human::percent((high - low).fraction_of(measurement.bytes_per_second) / 2.0))
}

/// The rate over time; each step is the mean of its part, the greatest is full height.
fn course(style: &Style, series: &[BytesPerSec]) -> String {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    if !style.unicode || series.len() < 2 {
        return String::new();
    }
    let part = series.len().div_ceil(COURSE);
    let means: Vec<f64> = series
        .chunks(part)
        .map(|part| part.iter().map(|rate| rate.get()).sum::<f64>() / part.len() as f64)
        .collect();
    let most = means.iter().copied().fold(0.0, f64::max);
    let step = |mean: f64| if most > 0.0 { (mean / most * 7.0).round() as usize } else { 0 };
    means.iter().filter_map(|mean| STEPS.get(step(*mean))).collect()
}

fn troubles(measurement: &MeasurementView) -> Vec<(Tone, String)> {
    let mut troubles = Vec::new();
    let engine = &measurement.generator.engine;
    if engine.is_synchronous() {
        troubles.push((Tone::Warn, format!("engine: {engine}")));
    }
    if measurement.errors > 0 {
        let first = measurement.first_error.as_deref().unwrap_or("no text");
        troubles.push((Tone::Bad, format!("{} I/Os failed, the first: {first}", measurement.errors)));
    }
    if let Some(reason) = &measurement.cut_short {
        troubles.push((Tone::Warn, format!("ended early: {reason}")));
    }
    troubles
}
