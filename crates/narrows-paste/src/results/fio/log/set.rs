//! The logs of one run together, and the result that they belong to.

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};

use super::buckets::Buckets;
use super::{Log, LogTrack, Quantity};
use crate::results::number::to_bytes;
use crate::results::{Imported, Latency, Measured, Op, Side, Spread, Tool, Work};

/// The most spans that a rate over time is given in.
const MOST_SPANS: usize = 60;

/// How far the lengths of a log and of the run that it is of may differ.
const SAME_LENGTH: f64 = 0.2;

const OPS: [Op; 2] = [Op::Read, Op::Write];

/// Puts logs beside the results that they are of; those that are of none become results.
pub(in crate::results) fn complete(results: &mut Vec<Imported>, logs: &[Log]) {
    let mut sets: BTreeMap<(&str, &str, &str), Set<'_>> = BTreeMap::new();
    for log in logs {
        let name = &log.name;
        sets.entry((&name.directory, &name.prefix, &name.host)).or_default().logs.push(log);
    }
    let given: BTreeSet<&str> = sets.keys().map(|(_, prefix, _)| *prefix).collect();
    for set in sets.values() {
        match set.owners(results, &given).as_slice() {
            [] => results.extend(set.result()),
            [(result, measurement)] => set.attach(results, *result, *measurement, None),
            several => set.attach_each(results, several),
        }
    }
}

/// Logs of one directory, prefix and host.
#[derive(Debug, Default)]
struct Set<'l> {
    logs: Vec<&'l Log>,
}

/// A rate over time, all jobs together.
struct Series {
    /// The length of each span.
    span: Nanos,
    /// The mean rate in each span, one after the other.
    rates: Vec<BytesPerSec>,
    /// The log that tells it.
    source: String,
}

impl Series {
    fn put_into(self, side: &mut Side) {
        side.spread = side.spread.or_else(|| spread(&self.rates));
        side.series = self.rates;
        side.series_span_ns = Some(self.span);
        side.series_source = Some(self.source);
    }
}

/// A track with the log that it is of.
type Of<'l> = (&'l Log, &'l LogTrack);

impl<'l> Set<'l> {
    /// The places of the measurements that these logs are of. `given` are the names that logs have.
    fn owners(&self, results: &[Imported], given: &BTreeSet<&str>) -> Vec<(usize, usize)> {
        let Some(name) = self.logs.first().map(|log| &log.name) else { return Vec::new() };
        let all = || {
            let of_fio = results.iter().enumerate().filter(|(_, result)| result.tool == Tool::Fio);
            of_fio.flat_map(|(at, result)| {
                (0..).zip(&result.measurements).map(move |(place, one)| (at, place, result, one))
            })
        };
        let is_near = |result: &Imported| directory(&result.file) == name.directory;
        let is_named = |one: &Measured| one.logs.as_deref() == Some(name.prefix.as_str());
        let named: Vec<(usize, usize)> = all()
            .filter(|(_, _, result, one)| is_near(result) && is_named(one))
            .map(|(at, place, ..)| (at, place))
            .collect();
        let of_one_result = named.iter().map(|(at, _)| at).collect::<BTreeSet<_>>().len() <= 1;
        if !named.is_empty() && of_one_result {
            return named;
        }
        // Runs that were written over one another, or logs that were given another name since: the run that lasted as long.
        let may_be =
            |one: &Measured| is_named(one) || one.logs.as_deref().is_none_or(|own| !given.contains(own));
        let fitting = || all().filter(|(_, _, _, one)| may_be(one) && self.is_as_long(one));
        let found = fitting().find(|(_, _, result, _)| is_near(result)).or_else(|| fitting().next());
        found.map(|(at, place, ..)| (at, place)).into_iter().collect()
    }

    fn is_as_long(&self, measured: &Measured) -> bool {
        OPS.into_iter().any(|op| {
            let Some(elapsed) = measured.side(op).and_then(|side| side.elapsed_ns) else { return false };
            let tracks = self.tracks(op, None, |_| true);
            let Some((from, to)) = range(&tracks) else { return false };
            // A run that waited or warmed up first counts its time from before.
            let is_it = |millis: f64| (millis / 1e3 / elapsed.as_secs_f64() - 1.0).abs() < SAME_LENGTH;
            is_it(to - from) || is_it(to)
        })
    }

    /// Gives each measurement the log of its own job, when there are as many of both.
    fn attach_each(&self, results: &mut [Imported], owners: &[(usize, usize)]) {
        let jobs: BTreeSet<Option<u32>> = self.logs.iter().map(|log| log.name.job).collect();
        if jobs.len() == owners.len() {
            for (job, (result, measurement)) in jobs.iter().zip(owners) {
                self.attach(results, *result, *measurement, *job);
            }
        }
    }

    fn attach(&self, results: &mut [Imported], result: usize, measurement: usize, job: Option<u32>) {
        let Some(result) = results.get_mut(result) else { return };
        let is_old = result.version.as_deref().is_some_and(|version| version.starts_with(['1', '2']));
        let unit = if is_old { 1000.0 } else { 1.0 };
        let Some(measured) = result.measurements.get_mut(measurement) else { return };
        for op in OPS {
            let block = measured.work.block_size;
            let Some(mut side) = measured.side(op).cloned() else { continue };
            if let Some(rate) = self.rate(op, job, block) {
                rate.put_into(&mut side);
            }
            if side.latency_ns.as_ref().is_none_or(|known| known.percentiles.is_empty())
                && let Some(own) = self.latency(op, job, unit)
            {
                let known = side.latency_ns.take();
                side.latency_ns = Some(match known {
                    Some(known) => known.with_percentiles(own.percentiles),
                    None => own,
                });
            }
            measured.put(op, side);
        }
    }

    /// The tracks of a direction, of one job or of all, of the logs that `is_wanted`.
    fn tracks(&self, op: Op, job: Option<u32>, is_wanted: impl Fn(&Log) -> bool) -> Vec<Of<'l>> {
        let place = usize::from(op == Op::Write);
        let logs = self.logs.iter().filter(|log| (job.is_none() || log.name.job == job) && is_wanted(log));
        logs.filter_map(|log| Some((*log, log.tracks.get(place)?.as_ref()?))).collect()
    }

    fn of(&self, op: Op, job: Option<u32>, quantity: Quantity) -> Vec<Of<'l>> {
        self.tracks(op, job, |log| log.name.quantity == quantity)
    }

    /// The rate over time, all jobs together: by the logs of it; by single I/Os of another log; by the rate of I/Os.
    fn rate(&self, op: Op, job: Option<u32>, block: Option<Bytes>) -> Option<Series> {
        let bandwidth = self.of(op, job, Quantity::Bandwidth);
        if !bandwidth.is_empty() {
            return sum(&bandwidth, |(log, track), from, to, count| {
                if track.is_of_single_ios(log.name.quantity) {
                    track.blocks.between(from, to, count)
                } else {
                    track.held.between(from, to, count).iter().map(|kib| kib * 1024.0).collect()
                }
            });
        }
        let single = self.single(op, job);
        if !single.is_empty() {
            return sum(&single, |(_, track), from, to, count| track.blocks.between(from, to, count));
        }
        let block = block?.as_f64();
        sum(&self.of(op, job, Quantity::Iops), |(_, track), from, to, count| {
            track.held.between(from, to, count).iter().map(|ios| ios * block).collect()
        })
    }

    /// Logs of single I/Os, of the first quantity that has any.
    fn single(&self, op: Op, job: Option<u32>) -> Vec<Of<'l>> {
        let quantities = [Quantity::Latency, Quantity::Completion, Quantity::Submission, Quantity::Iops];
        let of = |quantity| {
            let mut tracks = self.of(op, job, quantity);
            tracks.retain(|(log, track)| track.is_of_single_ios(log.name.quantity));
            tracks
        };
        quantities.into_iter().map(of).find(|tracks| !tracks.is_empty()).unwrap_or_default()
    }

    /// The latency of I/Os: the whole one if it was logged, else that of completion. `unit` is the nanoseconds of a
    /// value of 1.
    fn latency(&self, op: Op, job: Option<u32>, unit: f64) -> Option<Latency> {
        [Quantity::Latency, Quantity::Completion]
            .into_iter()
            .find_map(|quantity| latency(&self.of(op, job, quantity), unit))
    }

    /// The logs as a result of their own.
    fn result(&self) -> Option<Imported> {
        let first = self.logs.first()?;
        let mut imported = Imported::new(Tool::Fio, &first.name.whole, 1);
        let jobs: BTreeSet<Option<u32>> = self.logs.iter().map(|log| log.name.job).collect();
        let mut work = Work::named(first.name.prefix.clone());
        work.jobs = u32::try_from(jobs.len()).ok();
        let mut measured = Measured::new(1, work);
        for op in OPS {
            if let Some((side, is_micros)) = self.side(op) {
                measured.work.block_size = measured.work.block_size.or_else(|| block_size(&side));
                measured.put(op, side);
                let why = "latencies of these logs are microseconds, as of fio 2: as nanoseconds nothing would have \
                    been in flight";
                if is_micros && imported.corrections.is_empty() {
                    imported.corrections.push(why.to_owned());
                }
            }
        }
        if measured.read.is_none() && measured.write.is_none() {
            return None;
        }
        imported.measurements.push(measured);
        Some(imported)
    }

    /// What logs tell of a direction, and whether their latencies are microseconds. Without a log from which a rate
    /// follows there is no side: a latency alone is no result.
    fn side(&self, op: Op) -> Option<(Side, bool)> {
        let tracks = self.tracks(op, None, |_| true);
        let (from, to) = range(&tracks)?;
        let seconds = (to - from) / 1e3;
        let single = self.single(op, None);
        let rates = self.of(op, None, Quantity::Iops);
        let ios = if single.is_empty() {
            (!rates.is_empty()).then(|| rates.iter().map(|(_, track)| track.held.total()).sum::<f64>())
        } else {
            Some(single.iter().map(|(_, track)| track.ios.total()).sum::<f64>())
        };
        let series = self.rate(op, None, None)?;
        let rate = BytesPerSec::new(mean(&series.rates)?);
        let iops = ios.filter(|_| seconds > 0.0).map(|ios| ios / seconds);
        let is_micros = self.is_micros(op, iops);
        let unit = if is_micros { 1000.0 } else { 1.0 };
        let mean_of = |quantity| latency(&self.of(op, None, quantity), unit).and_then(|latency| latency.mean);
        let mut side = Side {
            iops: iops.map(Iops::new),
            bytes: to_bytes(rate.get() * seconds),
            ios: (!single.is_empty()).then_some(ios.unwrap_or_default() as u64),
            elapsed_ns: (seconds < 1e9).then(|| Nanos::new((seconds * 1e9) as u64)),
            latency_ns: self.latency(op, None, unit),
            submission_ns: mean_of(Quantity::Submission),
            completion_ns: mean_of(Quantity::Completion),
            ..Side::at(rate)
        };
        series.put_into(&mut side);
        Some((side, is_micros))
    }

    /// Whether latencies are microseconds (fio 2): as nanoseconds they would mean that the queue was empty nearly always
    /// (Little's law), and the lines are of a version that may have written them.
    fn is_micros(&self, op: Op, iops: Option<f64>) -> bool {
        /// In flight at least, when I/Os are sent one after the other; less when the tool itself waits.
        const LEAST: f64 = 0.05;
        let logs = |log: &Log| !log.name.quantity.is_rate() && log.is_old;
        let tracks = self.tracks(op, None, logs);
        let mean = latency(&tracks, 1.0).and_then(|latency| latency.mean);
        let in_flight = mean.zip(iops).map(|(mean, iops)| mean * 1e-9 * iops);
        in_flight.is_some_and(|count| count > 0.0 && count < LEAST)
    }
}

fn directory(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// From when to when these tell something, in milliseconds.
fn range(tracks: &[Of<'_>]) -> Option<(f64, f64)> {
    let from = tracks.iter().map(|(_, track)| track.begins()).reduce(f64::min)?;
    let to = tracks.iter().map(|(_, track)| track.last).reduce(f64::max)?;
    (to > from).then_some((from, to))
}

/// The sum over tracks of what `amounts` gives for each span, as a rate.
fn sum(tracks: &[Of<'_>], amounts: impl Fn(&Of<'_>, f64, f64, usize) -> Vec<f64>) -> Option<Series> {
    let (from, to) = range(tracks)?;
    let lines = tracks.iter().map(|(_, track)| usize::try_from(track.lines).unwrap_or(usize::MAX)).min()?;
    let count = match lines.min(MOST_SPANS) {
        few @ 0..10 => few.max(1),
        // Rules look at five windows of equal length.
        many => many / 5 * 5,
    };
    let mut sums = vec![0.0; count];
    for track in tracks {
        for (sum, more) in sums.iter_mut().zip(amounts(track, from, to, count)) {
            *sum += more;
        }
    }
    let seconds = (to - from) / 1e3 / count as f64;
    let (first, _) = tracks.first()?;
    let more = match tracks.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    Some(Series {
        span: Nanos::new((seconds * 1e9) as u64),
        source: format!("{}{more}", first.name.whole),
        rates: sums.into_iter().map(|bytes| BytesPerSec::new(bytes / seconds)).collect(),
    })
}

/// The latency that logs of one quantity tell: by single I/Os, else by histograms, else by means of many I/Os, of which
/// each weighs the same. `unit` is the nanoseconds of a value of 1; a histogram knows its own.
fn latency(tracks: &[Of<'_>], unit: f64) -> Option<Latency> {
    let those = |is: fn(&LogTrack) -> bool| -> Vec<&LogTrack> {
        tracks.iter().map(|(_, track)| *track).filter(|track| is(track)).collect()
    };
    let single = those(|track| track.of_one > 0);
    let histograms = those(|track| track.of_one == 0 && track.values.is_some());
    if single.is_empty() && !histograms.is_empty() {
        return merged(&histograms)?.latency();
    }
    let samples = if single.is_empty() { those(|_| true) } else { single };
    let lines: u64 = samples.iter().map(|track| track.lines).sum();
    let mean = samples.iter().map(|track| track.sum).sum::<f64>() / lines as f64 * unit;
    if !mean.is_finite() {
        return None;
    }
    let Some(values) = merged(&samples) else { return Some(Latency::of_mean(mean)) };
    let max = samples.iter().map(|track| track.most).max().map(|most| most as f64 * unit);
    let mut percentiles = values.latency()?.percentiles;
    percentiles.iter_mut().for_each(|one| one.latency_ns *= unit);
    Some(Latency { mean: Some(mean), max, ..Latency::default() }.with_percentiles(percentiles))
}

fn merged(tracks: &[&LogTrack]) -> Option<Buckets> {
    let mut all = tracks.iter().filter_map(|track| track.values.as_deref());
    let mut sum = all.next()?.clone();
    all.for_each(|more| {
        sum.merge(more);
    });
    Some(sum)
}

fn mean(rates: &[BytesPerSec]) -> Option<f64> {
    (!rates.is_empty()).then(|| rates.iter().map(|rate| rate.get()).sum::<f64>() / rates.len() as f64)
}

fn spread(rates: &[BytesPerSec]) -> Option<Spread> {
    let mean = mean(rates).filter(|mean| *mean > 0.0 && rates.len() > 1)?;
    let squares: f64 = rates.iter().map(|rate| (rate.get() - mean).powi(2)).sum();
    let deviation = (squares / (rates.len() - 1) as f64).sqrt();
    Some(Spread { mean, deviation, samples: u64::try_from(rates.len()).ok() })
}

/// Bytes of an I/O by both rates: a power of two when it is near to one, for logs give KiB per second.
fn block_size(side: &Side) -> Option<Bytes> {
    let bytes = side.bytes_per_second.get() / side.iops?.get();
    let power = 2f64.powf(bytes.log2().round());
    let is_near = (bytes / power - 1.0).abs() < 0.02;
    to_bytes(if is_near { power } else { bytes }).filter(|bytes| is_near && bytes.get() >= 512)
}
