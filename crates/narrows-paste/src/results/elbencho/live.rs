//! `--livecsv`: what was done so far, at intervals (`source/Statistics.cpp`, `printLiveStatsCSV`).
//!
//! `DoneBytes` counts from the start, `MiB/s` and `IOPS` are those of the interval. Rows of single threads and hosts
//! (`--livecsvex`) are left out: the row `Total` has all of them.

use super::super::csv::{Columns, cells};
use super::super::number::to_bytes;
use super::super::{Imported, Latency, Measured, Op, Page, Side, Spread, Tool, Work};
use super::{MIB, op_of};
use narrows_base::units::{BytesPerSec, Iops, Nanos};

/// Fewer intervals show nothing of how steady a rate was.
const FEWEST: usize = 5;

/// The progress of the operations in a text.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["ISO Date,Label,Phase,"]) {
        return Vec::new();
    }
    let mut columns: Option<Columns> = None;
    let mut phases: Vec<Phase> = Vec::new();
    for (number, line) in page.lines() {
        if line.trim().starts_with("ISO Date,Label,Phase,") {
            columns = Some(Columns::of(line));
            continue;
        }
        if let Some(sample) = columns.as_ref().and_then(|columns| Sample::of(columns, &cells(line))) {
            Phase::see(&mut phases, number, sample);
        }
    }
    let mut imported = Imported::new(Tool::Elbencho, page.name, phases.first().map_or(1, |phase| phase.line));
    imported.measurements = phases.into_iter().filter_map(Phase::measured).collect();
    if imported.is_empty() { Vec::new() } else { vec![imported] }
}

/// One row of all threads together.
#[derive(Debug, Clone, Copy)]
struct Sample<'a> {
    phase: &'a str,
    op: Op,
    millis: u64,
    bytes: f64,
    mib: f64,
    iops: f64,
    micros: Option<f64>,
    threads: Option<u64>,
}

impl<'a> Sample<'a> {
    fn of(columns: &Columns, row: &[&'a str]) -> Option<Self> {
        let phase = columns.text(row, "Phase")?;
        let op = match columns.text(row, "MixType") {
            Some("Read") => Op::Read,
            Some("Write") => Op::Write,
            _ => op_of(phase)?,
        };
        (columns.text(row, "Rank") == Some("Total")).then_some(())?;
        Some(Self {
            phase,
            op,
            millis: columns.count(row, "RuntimeMS").filter(|millis| (1..1 << 40).contains(millis))?,
            bytes: columns.number(row, "DoneBytes")?,
            mib: columns.number(row, "MiB/s")?,
            iops: columns.number(row, "IOPS")?,
            micros: columns.number(row, "Lat IO us").filter(|micros| *micros > 0.0),
            threads: columns.count(row, "Active"),
        })
    }
}

/// One direction of an operation.
#[derive(Debug)]
struct Phase {
    line: usize,
    name: String,
    op: Op,
    millis: u64,
    bytes: f64,
    threads: u64,
    rates: Vec<f64>,
    ios: Vec<f64>,
    micros: Vec<f64>,
}

impl Phase {
    /// Adds a row to its operation; one that begins earlier than the last ended is another.
    fn see(phases: &mut Vec<Self>, line: usize, sample: Sample<'_>) {
        let own = phases.iter_mut().rev().find(|one| one.op == sample.op);
        let own = own.filter(|one| one.name == sample.phase && one.millis < sample.millis);
        let phase = match own {
            Some(phase) => phase,
            None => {
                phases.push(Self {
                    line,
                    name: sample.phase.to_owned(),
                    op: sample.op,
                    millis: 0,
                    bytes: 0.0,
                    threads: 0,
                    rates: Vec::new(),
                    ios: Vec::new(),
                    micros: Vec::new(),
                });
                let Some(phase) = phases.last_mut() else { return };
                phase
            }
        };
        phase.millis = sample.millis;
        phase.bytes = phase.bytes.max(sample.bytes);
        phase.threads = phase.threads.max(sample.threads.unwrap_or(0));
        phase.rates.push(sample.mib * MIB);
        phase.ios.push(sample.iops);
        phase.micros.extend(sample.micros);
    }

    fn measured(self) -> Option<Measured> {
        let rate = self.bytes / (self.millis as f64 / 1e3);
        if self.bytes <= 0.0 {
            return None;
        }
        let jobs = u32::try_from(self.threads).ok().filter(|jobs| *jobs > 0);
        let mut measured = Measured::new(self.line, Work { label: self.name, jobs, ..Work::default() });
        let side = Side {
            bytes_per_second: BytesPerSec::new(rate),
            iops: mean(&self.ios).filter(|rate| *rate > 0.0).map(Iops::new),
            bytes: to_bytes(self.bytes),
            elapsed_ns: Some(Nanos::from_millis(self.millis)),
            latency_ns: mean(&self.micros).map(|micros| Latency::of_mean(micros * 1e3)),
            spread: spread(&self.rates),
            series: self.rates.into_iter().map(BytesPerSec::new).collect(),
            ..Side::default()
        };
        measured.put(self.op, side);
        Some(measured)
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// How far the rate of the intervals moved. In the last one threads end.
fn spread(rates: &[f64]) -> Option<Spread> {
    let (_, whole) = rates.split_last().filter(|(_, whole)| whole.len() >= FEWEST)?;
    Spread::of(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of breuner/elbencho issue 99.
    const BODY: &str = "ISO Date,Label,Phase,RuntimeMS,Rank,MixType,Done%,DoneBytes,MiB/s,IOPS,Entries,Entries/s,Lat Ent us,Lat IO us,Active,CPU,Service,\n\
        2025-12-17T11:58:08.821-0600,,READ,1001,Total,,35,49416241152,47127,94254,0,0,0,10549,128,5,,\n\
        2025-12-17T11:58:08.821-0600,,READ,1001,0,,35,49416241,,,0,,,,,,,\n\
        2025-12-17T11:58:09.821-0600,,READ,2001,Total,,73,100924391424,49122,98244,0,0,0,10380,128,5,,\n\
        2025-12-17T11:58:10.821-0600,,READ,3001,Total,,100,151463133184,48197,96395,0,0,0,10534,128,5,,\n";

    #[test]
    fn the_rate_is_all_bytes_over_all_of_the_time() {
        let found = read(&Page { name: "x", body: BODY });
        let one = &found[0].measurements[0];
        let side = one.read.as_ref().expect("reads");
        assert!((side.bytes_per_second.get() - 151_463_133_184.0 / 3.001).abs() < 1.0);
        assert_eq!((side.series.len(), one.work.jobs), (3, Some(128)));
        // Counts of an interval in MiB/s are those of its bytes.
        assert!((side.series[1].get() / (100_924_391_424.0 - 49_416_241_152.0) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn an_operation_that_starts_anew_is_another_one_and_half_a_line_is_none() {
        let body = format!(
            "{BODY}2025,,WRITE,1000,Total,,1,1048576,1,2,0,0,0,9,4,5,,\n2025,,READ,1000,Total,,1,1048576,1,2,0,0,0,9,4,5,,\n2025,,READ,20"
        );
        assert_eq!(read(&Page { name: "x", body: &body })[0].measurements.len(), 3);
    }

    #[test]
    fn a_mix_has_rows_for_reads_and_for_writes() {
        let body = "ISO Date,Label,Phase,RuntimeMS,Rank,MixType,Done%,DoneBytes,MiB/s,IOPS,Entries,Entries/s,Lat Ent us,Lat IO us,Active,CPU,Service,\n\
            d,,RWMIX30,1000,Total,Write,9,7340032,7,1792,0,0,0,40,2,9,,\nd,,RWMIX30,1000,Total,Read,9,3145728,3,768,0,0,0,30,2,9,,\n";
        let found = read(&Page { name: "x", body });
        let ops: Vec<_> = found[0].measurements.iter().map(|one| one.read.is_some()).collect();
        assert_eq!(ops, [false, true]);
    }
}
