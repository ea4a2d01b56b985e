//! From outcomes to the view model: joins, cleans, and decides nothing.

use super::{
    AboveNothingView, AccuracyView, AloneView, BasisView, CellView, DeviceFacts, DeviceView, LabReport,
    PlaceView, RankingView, RateView, SCHEMA, TestView, UnfitView, Unit, WrittenView, copy,
};
use crate::view::tool;
use narrows_base::units::{Bytes, BytesPerSec};
use narrows_load::guard::Budget;
use narrows_session::lab::aim::{Aim, AimPlace, Ranking, counts, rank, words};
use narrows_session::lab::{Basis, CipherRate, Measured, Outcome};
use narrows_session::lab::{Pairs, is_bare, pairs};

/// The error up to which a prediction counts as met.
const MET: f64 = 0.15;

/// The report on `outcomes` for `aims`; without aims it ranks sequential reads, writes, random I/O and copies, as far as these
/// were measured.
pub fn build(basis: &Basis, outcomes: &[Outcome], aims: &[Aim], devices: &[DeviceFacts]) -> LabReport {
    let measured = |aim: &Aim| match aim {
        Aim::Copy => outcomes.iter().any(|outcome| outcome.copied().is_some()),
        aim => {
            outcomes.iter().flat_map(|outcome| &outcome.measured).any(|measured| counts(*aim, &measured.load))
        }
    };
    let usual = [Aim::Sequential(None), Aim::Writes(None), Aim::Iops, Aim::Copy];
    let rankings: Vec<Vec<Aim>> = if aims.is_empty() {
        usual.into_iter().filter(measured).map(|aim| vec![aim]).collect()
    } else {
        vec![aims.to_vec()]
    };
    let count = basis.devices.len();
    let scratch = devices.iter().any(|facts| facts.scratch);
    let cells: Vec<CellView> = outcomes.iter().map(|outcome| cell(outcome, scratch)).collect();
    LabReport {
        schema: SCHEMA.to_owned(),
        tool: tool(),
        devices: basis.devices.iter().map(|name| device(name, outcomes, devices)).collect(),
        basis: basis_view(basis),
        rankings: rankings.iter().map(|aims| ranking(&rank(outcomes, count, aims), outcomes)).collect(),
        accuracy: accuracy(&cells, pairs(outcomes)),
        complete: outcomes.iter().all(|outcome| outcome.failed.is_none()),
        cells,
    }
}

fn device(name: &str, outcomes: &[Outcome], facts: &[DeviceFacts]) -> DeviceView {
    let known = facts.iter().find(|facts| facts.name == name);
    let written = outcomes.iter().flat_map(|outcome| &outcome.written).filter(|one| one.device == name);
    let written: Bytes = written.map(|one| one.bytes).sum();
    let rated = known.and_then(|known| known.rated);
    let share = Budget::share_of_life(written, rated);
    let missing = [
        ("model", known.is_none_or(|known| known.model.is_none())),
        ("size_bytes", known.is_none_or(|known| known.size.is_none())),
    ];
    let mut why: Vec<String> = missing
        .iter()
        .filter(|(_, missing)| *missing)
        .map(|(name, _)| format!("{name}: the device does not tell it"))
        .collect();
    if rated.is_none() {
        why.push("rated_bytes, share_of_rated_life: its endurance is not in the catalogue".to_owned());
    }
    DeviceView {
        name: name.to_owned(),
        model: known.and_then(|known| known.model.clone()),
        size_bytes: known.and_then(|known| known.size),
        written_bytes: written,
        rated_bytes: rated,
        share_of_rated_life: share,
        scratch: known.is_some_and(|known| known.scratch),
        reason: (!why.is_empty()).then(|| why.join("; ")),
    }
}

fn basis_view(basis: &Basis) -> BasisView {
    let mut tests: Vec<&str> = Vec::new();
    for test in basis.alone.iter().flatten().map(|measured| measured.test.as_str()) {
        if !tests.contains(&test) {
            tests.push(test);
        }
    }
    let of = |measured: &[Measured], test: &str| measured.iter().find(|one| one.test == test).map(rate);
    let view = |test: &str| AloneView {
        test: test.to_owned(),
        alone: basis.alone.iter().filter_map(|measured| of(measured, test)).collect(),
        after_pause_ns: basis
            .paused
            .iter()
            .filter_map(|paused| paused.iter().find(|one| one.test == test))
            .map(|paused| paused.measurement.latency.mean)
            .collect(),
        together: of(&basis.together, test),
        above_nothing: basis
            .mappings
            .iter()
            .filter_map(|mapping| {
                let rate = of(&mapping.tests, test)?;
                Some(AboveNothingView { encryption: mapping.encryption, rate })
            })
            .collect(),
    };
    let cipher = |cipher: &CipherRate| CipherRate {
        cipher: cipher.cipher.clone(),
        driver: cipher.driver.clone(),
        ..cipher.clone()
    };
    BasisView {
        tests: tests.into_iter().map(view).collect(),
        ciphers: basis.ciphers.iter().map(cipher).collect(),
        cores: basis.cores,
    }
}

fn rate(measured: &Measured) -> RateView {
    let measurement = &measured.measurement;
    RateView {
        bytes_per_second: measurement.bytes_per_second,
        ci95: measurement.ci95,
        iops: measurement.iops,
        trusted: measured.trusted,
        processors: measured.processors,
    }
}

fn ranking(ranking: &Ranking, outcomes: &[Outcome]) -> RankingView {
    let name = |at: usize| outcomes.get(at).map(|outcome| outcome.cell.to_string()).unwrap_or_default();
    let scored = ranking.aims.iter().find(|aim| !matches!(aim, Aim::Survive(_) | Aim::Encryption));
    RankingView {
        aims: ranking.aims.iter().map(|aim| words(*aim)).collect(),
        sentence: ranking.sentence.clone(),
        best: ranking.best.map(name),
        unit: match scored {
            Some(Aim::Capacity) => Unit::Capacity,
            Some(Aim::Endurance) => Unit::Endurance,
            _ => Unit::BytesPerSecond,
        },
        places: ranking.places.iter().map(|one| place(one, name(one.outcome))).collect(),
        unfit: ranking
            .unfit
            .iter()
            .map(|(at, why)| UnfitView { cell: name(*at), reason: why.to_owned() })
            .collect(),
        pairs: ranking.agreement.pairs,
        pairs_as_predicted: ranking.agreement.agree,
        pairs_predicted_equal: ranking.agreement.equal,
    }
}

fn place(place: &AimPlace, cell: String) -> PlaceView {
    let mut why = Vec::new();
    if place.score.is_none() {
        why.push("value, interval: the aims have no measure");
    }
    if place.predicted.is_none() {
        why.push("predicted, predicted_rank: not all that counts can be predicted");
    }
    PlaceView {
        rank: place.rank,
        cell,
        index: place.outcome,
        value: place.score.map(|score| score.value),
        interval: place.score.map(|score| [score.low, score.high]),
        predicted: place.predicted,
        predicted_rank: place.predicted_rank,
        trusted: place.trusted,
        reason: (!why.is_empty()).then(|| why.join("; ")),
    }
}

fn cell(outcome: &Outcome, scratch: bool) -> CellView {
    let mut names: Vec<&str> = outcome.measured.iter().map(|one| one.test.as_str()).collect();
    for said in &outcome.predicted {
        if !names.contains(&said.test.as_str()) {
            names.push(&said.test);
        }
    }
    CellView {
        name: outcome.cell.to_string(),
        cell: outcome.cell,
        tests: names.into_iter().map(|name| test(outcome, name)).collect(),
        copy: outcome.copied().map(copy::view),
        resyncing: outcome.resyncing,
        on_loop_files: scratch,
        written: outcome
            .written
            .iter()
            .map(|one| WrittenView { device: one.device.clone(), bytes: one.bytes })
            .collect(),
        notes: outcome
            .notes
            .iter()
            .map(String::as_str)
            .chain(outcome.not_copied())
            .map(str::to_owned)
            .collect(),
        failed: outcome.failed.clone(),
    }
}

fn test(outcome: &Outcome, name: &str) -> TestView {
    let measured = outcome.measured.iter().find(|one| one.test == name);
    let said = outcome.predicted.iter().find(|one| one.test == name);
    let predicted = said.and_then(|said| said.bytes_per_second);
    let seen = measured.map(|one| one.measurement.bytes_per_second).filter(|rate| rate.get() > 0.0);
    let mut why = Vec::new();
    if measured.is_none() {
        why.push("measured, load, error: it did not come to that".to_owned());
    }
    match said {
        None => {
            why.push("predicted_bytes_per_second, bound, formula, error: nothing was predicted".to_owned())
        }
        Some(said) if predicted.is_none() => {
            why.push(format!("predicted_bytes_per_second, bound, formula, error: {}", said.bound));
        }
        Some(_) => {}
    }
    let known = said.filter(|_| predicted.is_some());
    TestView {
        test: name.to_owned(),
        load: measured.map(|one| one.load.clone()),
        measured: measured.map(rate),
        predicted_bytes_per_second: predicted,
        bound: known.map(|said| said.bound.clone()),
        formula: known.map(|said| said.formula.clone()),
        error: predicted
            .zip(seen)
            .map(|(predicted, seen): (BytesPerSec, BytesPerSec)| predicted.fraction_of(seen) - 1.0),
        reason: (!why.is_empty()).then(|| why.join("; ")),
    }
}

fn accuracy(cells: &[CellView], pairs: Pairs) -> AccuracyView {
    let foreseen = cells.iter().filter(|cell| !is_bare(&cell.cell));
    let errors = foreseen.flat_map(|cell| &cell.tests).filter_map(|test| test.error);
    let mut errors: Vec<f64> = errors.map(f64::abs).collect();
    errors.sort_by(f64::total_cmp);
    let middle = errors.len() / 2;
    let median = match errors.len() {
        0 => None,
        even if even.is_multiple_of(2) => {
            errors.get(middle - 1).zip(errors.get(middle)).map(|(low, high)| f64::midpoint(*low, *high))
        }
        _ => errors.get(middle).copied(),
    };
    let share = |part: usize, all: usize| (all > 0).then(|| part as f64 / all as f64);
    let within = errors.iter().filter(|error| **error <= MET).count();
    let ordered = pairs.apart.saturating_sub(pairs.reversed);
    let mut why = Vec::new();
    if median.is_none() {
        why.push("median_error, share_within_15_percent: no test has a prediction and a measurement");
    }
    if pairs.apart == 0 {
        why.push("share_of_pairs_ordered: no two cells were measured apart");
    }
    AccuracyView {
        tests: errors.len(),
        within_15_percent: within,
        share_within_15_percent: share(within, errors.len()),
        pairs: pairs.apart,
        pairs_ordered: ordered,
        share_of_pairs_ordered: share(ordered, pairs.apart),
        median_error: median,
        reason: (!why.is_empty()).then(|| why.join("; ")),
    }
}
