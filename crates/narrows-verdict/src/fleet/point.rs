//! One run of many hosts: who took part, the common window, and what they did in it.

use narrows_base::lists::ends;
use narrows_base::units::{Bytes, BytesPerSec, Nanos};
use narrows_paste::results::fio_client::{self, Direction, Line, Output};

use super::record::{HostOutcome, PointRecord, State};
use super::{Bins, Series, Window, on_our_clock};

/// The least share of its own time that a host has in common with all others.
pub const LEAST_OVERLAP: f64 = 0.95;

/// The most parts of the common window: a column of a picture each.
const MOST_PARTS: u64 = 60;

/// The files that one host brought back.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// fio's report.
    pub report: Option<String>,
    /// The log of rates of each of its jobs.
    pub rates: Vec<String>,
    /// The log of latencies of each of its jobs, averaged as the rates are; it tells when the first I/O began.
    pub latencies: Vec<String>,
    /// The logs of histograms of its jobs.
    pub histograms: Vec<String>,
    /// What its clock is ahead of ours, in nanoseconds.
    pub clock_ahead_ns: i64,
}

/// One direction of a host, or of all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Side {
    /// Bytes in the common window.
    pub bytes: Bytes,
    /// Bytes a second in the common window.
    pub rate: BytesPerSec,
    /// Completed I/Os of whole runs.
    pub ios: u64,
    /// Bytes of whole runs.
    pub all_bytes: Bytes,
    /// Latencies of whole runs.
    pub latency: Bins,
    /// Latencies of the common window, where hosts logged them.
    pub latency_in_window: Bins,
    /// The least latency.
    pub least: Option<Nanos>,
    /// The greatest latency.
    pub greatest: Option<Nanos>,
}

/// A host in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct HostPoint {
    /// Its place among the clients.
    pub client: usize,
    /// How it ended.
    pub outcome: PointOutcome,
    /// When its first I/O began, on our clock.
    pub began_ns: Option<u64>,
    /// The time that its logs cover, on our clock: from one step before their first line to its last I/O.
    pub extent: Option<Window>,
    /// The share of that time which all hosts have in common.
    pub overlap: Option<f64>,
    pub read: Side,
    pub write: Side,
    /// The rate in each half of the common window, both directions together.
    pub halves: [BytesPerSec; 2],
    /// The same in equal parts of the common window, each of a second or more, to a whole byte.
    pub parts: Vec<BytesPerSec>,
    /// Processors that its jobs kept busy, in per cent of one.
    pub cpu_percent: f64,
}

impl HostPoint {
    /// Both directions together.
    pub fn rate(&self) -> BytesPerSec {
        self.read.rate + self.write.rate
    }
}

/// How a host ended, with the reason where it is not `ok`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointOutcome {
    pub state: State,
    /// Why.
    pub reason: Option<String>,
}

impl PointOutcome {
    fn failed(reason: impl Into<String>) -> Self {
        Self { state: State::Failed, reason: Some(reason.into()) }
    }
}

/// One run of many hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The hosts that were asked to take part.
    pub hosts: Vec<HostPoint>,
    /// What all that count have in common.
    pub window: Option<Window>,
    /// From the first start to the last.
    pub start_spread: Option<Nanos>,
    /// The least overlap.
    pub overlap: Option<f64>,
    pub read: Side,
    pub write: Side,
}

/// What is known of a host before the window of all is.
struct SeenHost<'t> {
    outcome: PointOutcome,
    output: Output,
    began: Option<u64>,
    extent: Option<Window>,
    reads: Vec<Series>,
    writes: Vec<Series>,
    /// Its logs of histograms are read host by host: all of them at once take much memory.
    told: &'t Told,
}

impl Point {
    /// Counts a run. `told` has the files of each host, in the order of the record. `averaged` is the step of the logs.
    pub fn of(record: &PointRecord, told: &[Told], averaged: Nanos) -> Self {
        let hosts = record.hosts.iter().zip(told);
        let seen = hosts.map(|(outcome, told)| SeenHost::of(outcome, told, averaged));
        let seen: Vec<_> =
            seen.map(|host| host.with_lateness(record.start_ns, record.load.time_ns)).collect();
        let counted = || seen.iter().filter(|host| host.outcome.state.counts());
        let window = Window::common(counted().filter_map(|host| host.extent));
        let begins: Vec<u64> = counted().filter_map(|host| host.began).collect();
        let start_spread = ends(&begins).map(|[first, last]| Nanos::new(last - first));
        let hosts = record.hosts.iter().zip(seen);
        let hosts: Vec<_> = hosts.map(|(outcome, seen)| seen.within(outcome.client, window)).collect();
        let overlap = hosts.iter().filter_map(|host| host.overlap).reduce(f64::min);
        let counted = || hosts.iter().filter(|host| host.outcome.state.counts());
        let read = Side::sum(counted().map(|host| &host.read), window);
        let write = Side::sum(counted().map(|host| &host.write), window);
        Self { window, start_spread, overlap, read, write, hosts }
    }

    /// Both directions together.
    pub fn rate(&self) -> BytesPerSec {
        self.read.rate + self.write.rate
    }

    /// The hosts whose numbers count.
    pub fn counted(&self) -> impl Iterator<Item = &HostPoint> {
        self.hosts.iter().filter(|host| host.outcome.state.counts())
    }
}

impl<'t> SeenHost<'t> {
    fn of(outcome: &HostOutcome, told: &'t Told, averaged: Nanos) -> Self {
        let parsed = told.report.as_deref().map(fio_client::parse);
        let kept = PointOutcome { state: outcome.state, reason: outcome.reason.clone() };
        let (outcome, output) = match (kept.state.counts(), parsed) {
            (true, None) => (PointOutcome::failed("fio left no report"), Output::default()),
            (true, Some(Err(why))) => (PointOutcome::failed(why), Output::default()),
            (true, Some(Ok(output))) => match output.error {
                Some(number) => (PointOutcome::failed(format!("fio ended with error {number}")), output),
                None if output.read.ios + output.write.ios == 0 => {
                    (PointOutcome::failed("fio did no I/O"), output)
                }
                None => (kept, output),
            },
            (false, parsed) => (kept, parsed.and_then(Result::ok).unwrap_or_default()),
        };
        let ahead = told.clock_ahead_ns;
        let rates: Vec<Vec<Line>> = told.rates.iter().map(|text| fio_client::lines(text)).collect();
        let logs = || told.latencies.iter().map(|text| fio_client::lines(text));
        let began = logs().filter_map(|lines| first_io(&lines, averaged, ahead)).min();
        let first = logs().filter_map(|lines| first_line(&lines, averaged, ahead)).min();
        let run = output.read.runtime_ms.max(output.write.runtime_ms).saturating_mul(1_000_000);
        let extent = first.map(|begin_ns| Window { begin_ns, end_ns: begin_ns.saturating_add(run) });
        let of = |is_write: bool| {
            let begin = first.unwrap_or(0);
            let mut all: Vec<Series> =
                rates.iter().map(|lines| Series::of_rates(lines, is_write, begin, ahead)).collect();
            let counted = if is_write { output.write.bytes } else { output.read.bytes };
            all.extend(extent.and_then(|extent| rest(&all, counted, extent)));
            all
        };
        let (reads, writes) = (of(false), of(true));
        let extent = extent.filter(|extent| extent.length().get() > 0);
        Self { outcome, output, began, extent, reads, writes, told }
    }

    /// A host whose start alone costs more of the time than may be missing is late.
    fn with_lateness(self, start_ns: u64, planned: Nanos) -> Self {
        let late = self.began.filter(|_| self.extent.is_some()).map(|began| began.saturating_sub(start_ns));
        let outcome = match late {
            _ if self.outcome.state != State::Ok => return self,
            None => PointOutcome::failed("fio left no log of when it ran"),
            Some(late) if late as f64 > (1.0 - LEAST_OVERLAP) * planned.get() as f64 => {
                let reason = format!("began {} after the common start", Nanos::new(late));
                PointOutcome { state: State::Late, reason: Some(reason) }
            }
            Some(_) => return self,
        };
        Self { outcome, ..self }
    }

    fn within(self, client: usize, window: Option<Window>) -> HostPoint {
        let window = window.filter(|_| self.outcome.state.counts());
        let bytes = |series: &[Series], window| series.iter().map(|one| one.within(window)).sum::<Bytes>();
        let rate_in = |part: Window| {
            (bytes(&self.reads, part) + bytes(&self.writes, part)).per(part.length().duration())
        };
        let halves = window.map_or([BytesPerSec::default(); 2], |window| window.halves().map(rate_in));
        let parts = window.map(|window| window.parts(MOST_PARTS)).unwrap_or_default();
        let parts = parts.into_iter().map(|part| BytesPerSec::new(rate_in(part).get().round())).collect();
        let side = |series: &[Series], told: &Direction, is_write: bool| {
            let bytes = window.map_or(Bytes::new(0), |window| bytes(series, window));
            Side {
                bytes,
                rate: window.map_or(BytesPerSec::default(), |window| bytes.per(window.length().duration())),
                ios: told.ios,
                all_bytes: Bytes::new(told.bytes),
                latency: Bins::from(told.bins.clone()),
                latency_in_window: window.zip(self.extent).map_or_else(Bins::default, |(window, extent)| {
                    in_window(self.told, is_write, window, extent.begin_ns)
                }),
                least: (told.ios > 0).then(|| Nanos::new(told.least_ns)),
                greatest: (told.ios > 0).then(|| Nanos::new(told.greatest_ns)),
            }
        };
        let seconds = |window: Window| window.length().as_secs_f64();
        HostPoint {
            client,
            began_ns: self.began,
            overlap: self.extent.zip(window).map(|(extent, window)| seconds(window) / seconds(extent)),
            read: side(&self.reads, &self.output.read, false),
            write: side(&self.writes, &self.output.write, true),
            extent: self.extent,
            halves,
            parts,
            cpu_percent: self.output.cpu_percent,
            outcome: self.outcome,
        }
    }
}

/// When a job began its I/O, on our clock. A line of a log that is averaged is written with the first I/O that ends when its step is
/// over, and each ends one step at least, so none of them lies earlier than so many steps after the beginning. The earliest that
/// they allow is late by at most the shortest wait for such an I/O; the first line alone, by its own wait.
fn first_io(lines: &[Line], averaged: Nanos, ahead: i64) -> Option<u64> {
    let begin_of = |is_write: bool| {
        let lines = lines.iter().filter(move |line| line.is_write == is_write);
        let began = |(steps, line): (u64, &Line)| {
            line.at_ms.saturating_mul(1_000_000).saturating_sub(averaged.get().saturating_mul(steps))
        };
        (1u64..).zip(lines).map(began).min()
    };
    let began = begin_of(false).into_iter().chain(begin_of(true)).min()?;
    Some(on_our_clock(began, ahead))
}

/// Since when the first line of a log counts, on our clock.
fn first_line(lines: &[Line], averaged: Nanos, ahead: i64) -> Option<u64> {
    let first = lines.iter().map(|line| line.at_ms).min()?;
    Some(on_our_clock(first.saturating_mul(1_000_000).saturating_sub(averaged.get()), ahead))
}

/// What jobs moved after the last lines of their logs: the rest of what fio counted, until they ended. A rest at more than twice the
/// usual rate is no tail; a log is missing then.
fn rest(all: &[Series], told: u64, extent: Window) -> Option<Series> {
    const MOST: f64 = 2.0;
    let ends = all.iter().filter_map(Series::extent).map(|logged| logged.end_ns);
    let span = Window { begin_ns: ends.min()?, end_ns: extent.end_ns };
    let bytes = told as f64 - all.iter().map(Series::bytes).sum::<f64>();
    let usual = told as f64 * span.length().as_secs_f64() / extent.length().as_secs_f64();
    (bytes > 0.0 && bytes <= usual * MOST).then(|| Series::of_rest(span, bytes))
}

/// The latencies of spans that lie wholly in a window; the span of a line begins with the line before.
fn in_window(told: &Told, is_write: bool, window: Window, begin_ns: u64) -> Bins {
    let mut bins = Bins::default();
    for text in &told.histograms {
        let mut before = begin_ns;
        for line in fio_client::histograms(text).iter().filter(|line| line.is_write == is_write) {
            let end = on_our_clock(line.at_ms.saturating_mul(1_000_000), told.clock_ahead_ns);
            if before >= window.begin_ns && end <= window.end_ns {
                bins.merge(&Bins::from(line.bins.clone()));
            }
            before = end;
        }
    }
    bins
}

impl Side {
    fn sum<'a>(sides: impl Iterator<Item = &'a Self>, window: Option<Window>) -> Self {
        let mut sum = Self::default();
        for side in sides {
            sum.bytes = sum.bytes + side.bytes;
            sum.ios = sum.ios.saturating_add(side.ios);
            sum.all_bytes = sum.all_bytes + side.all_bytes;
            sum.latency.merge(&side.latency);
            sum.latency_in_window.merge(&side.latency_in_window);
            sum.least = sum.least.into_iter().chain(side.least).min();
            sum.greatest = sum.greatest.max(side.greatest);
        }
        if let Some(window) = window {
            sum.rate = sum.bytes.per(window.length().duration());
        }
        sum
    }
}

#[cfg(test)]
mod tests;
