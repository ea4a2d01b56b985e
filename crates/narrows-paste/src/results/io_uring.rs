//! `t/io_uring` of fio: random reads as fast as threads submit and reap them, a line each second.
//!
//! `BW` in GiB/s is MiB/s ÷ 1000 (`t/io_uring.c`), so that the I/Os per second make the rate. Versions before 2021 print no
//! rate; a block is 4 KiB unless `-b` says otherwise.

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_base::workload::Pattern;

use super::command::Commands;
use super::number::{Base, MIB, factor, leading, scaled, to_bytes, value};
use super::{Imported, Op, Page, Side, Spread, Tool, Work};

const BLOCK: f64 = 4096.0;

/// The runs in a text, each a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found = Vec::new();
    let mut commands = Commands::default();
    let mut run = IoUringRun::default();
    for (number, line) in page.lines() {
        commands.see(number, line, "io_uring");
        let line = line.trim();
        if line.starts_with("IOPS=") && line.contains("IOS/call=") {
            run.interval(number, line);
        } else if is_head(line) {
            if !run.iops.is_empty() {
                found.extend(std::mem::take(&mut run).finish(page));
            }
            run.command = run.command.or_else(|| commands.last().map(str::to_owned));
            commands.forget();
            run.head(number, line);
        } else if !run.iops.is_empty() && is_prose(line) {
            // What follows was measured some other way.
            found.extend(std::mem::take(&mut run).finish(page));
        }
    }
    found.extend(run.finish(page));
    found
}

/// Whether a line was written by a person: words, and none of the tool's own.
fn is_prose(line: &str) -> bool {
    const OWN: [&str; 7] =
        ["Exiting on signal", "Maximum IOPS", "IOPS=", "BW=", "IOS/call", "inflight", "percentile"];
    let is_word =
        |word: &&str| word.len() > 1 && word.chars().all(|c| c.is_alphabetic() || ",.:()'-".contains(c));
    let words = line.split_whitespace().filter(is_word).count();
    words >= 2 && !OWN.iter().any(|own| line.contains(own))
}

fn is_head(line: &str) -> bool {
    let keys = ["Added file ", "submitter=", "polled=", "Engine=", "sq_ring "];
    keys.iter().any(|key| line.starts_with(key))
}

#[derive(Debug, Default)]
struct IoUringRun {
    line: usize,
    command: Option<String>,
    work: Work,
    submitters: u32,
    iops: Vec<f64>,
    /// The printed rates, with GiB taken for 1000 MiB.
    rates: Vec<f64>,
    corrected: bool,
}

impl IoUringRun {
    fn head(&mut self, number: usize, line: &str) {
        self.line = if self.line > 0 { self.line } else { number };
        let file = line.strip_prefix("Added file ").or_else(|| Some(line.split_once("file=")?.1));
        if let Some(file) = file.and_then(|rest| rest.split([' ', ',']).next()) {
            self.work.target.get_or_insert_with(|| file.to_owned());
        }
        self.submitters += u32::from(line.starts_with("submitter="));
        if let Some(depth) = value(line, "QD=").filter(|depth| (1.0..1e6).contains(depth)) {
            self.work.queue_depth = Some(depth as u32);
            self.work.direct = value(line, "buffered=").map(|buffered| buffered == 0.0);
        }
        if let Some(rest) = line.strip_prefix("Engine=") {
            self.work.engine = rest.split([',', ' ']).next().map(str::to_owned);
        }
    }

    /// `IOPS=3.37M, BW=13.15GiB/s, IOS/call=32/31`.
    fn interval(&mut self, number: usize, line: &str) {
        /// A run of hours has this many seconds.
        const MOST: usize = 100_000;
        self.line = if self.line > 0 { self.line } else { number };
        let at = |key: &str| line.split_once(key).map(|(_, rest)| rest);
        let Some(iops) = at("IOPS=").and_then(|text| scaled(text, Base::Decimal)) else { return };
        if self.iops.len() >= MOST {
            return;
        }
        self.iops.push(iops);
        if let Some((number, unit)) = at("BW=").and_then(leading) {
            let is_gib = unit.starts_with("GiB");
            self.corrected |= is_gib;
            self.rates.push(number * if is_gib { 1000.0 * MIB } else { factor(unit, Base::Binary) });
        }
    }

    /// Bytes of one I/O: the multiple of 512 that rate ÷ I/Os per second is nearest to.
    fn block(&self) -> Option<f64> {
        let iops: f64 = self.iops.iter().sum();
        let rate: f64 = self.rates.iter().sum();
        let sectors = (rate / iops / 512.0).round();
        (self.rates.len() == self.iops.len() && sectors.is_finite() && sectors >= 1.0)
            .then_some(sectors * 512.0)
    }

    /// Whether no I/O was made: with `-N1` requests do nothing, and since versions print rates none is printed for them.
    fn is_nop(&self) -> bool {
        let words = || self.command.iter().flat_map(|command| command.split_whitespace());
        let is_asked =
            words().zip(words().skip(1)).any(|pair| pair == ("-N", "1")) || words().any(|word| word == "-N1");
        self.rates.is_empty() && is_asked
    }

    fn finish(self, page: &Page<'_>) -> Option<Imported> {
        let count = self.iops.len() as f64;
        let iops = self.iops.iter().sum::<f64>() / count;
        if self.iops.is_empty() || self.is_nop() {
            return None;
        }
        let mut result = Imported::new(Tool::Iouring, page.name, self.line);
        let told = self.block();
        let block = told.unwrap_or(BLOCK);
        if told.is_none() {
            result.notes.push("no block size is told: the tool's default of 4 KiB was taken".to_owned());
        }
        if self.corrected {
            result.corrections.push("GiB/s of t/io_uring is MiB/s ÷ 1000; read as such".to_owned());
        }
        let rates: Vec<f64> = self.iops.iter().map(|iops| iops * block).collect();
        let work = Work {
            label: "reads at random".to_owned(),
            pattern: Some(Pattern::Random),
            block_size: to_bytes(block),
            jobs: Some(self.submitters).filter(|jobs| *jobs > 0),
            ..self.work
        };
        let side = Side {
            iops: Some(Iops::new(iops)),
            bytes: to_bytes(rates.iter().sum::<f64>()).filter(|bytes| *bytes > Bytes::new(0)),
            ios: Some(self.iops.iter().sum::<f64>() as u64),
            elapsed_ns: Some(Nanos::from_millis(1000 * self.iops.len() as u64)),
            spread: Spread::of(&rates),
            series: rates.iter().copied().map(BytesPerSec::new).collect(),
            series_span_ns: Some(Nanos::from_millis(1000)),
            ..Side::at(BytesPerSec::new(iops * block))
        };
        result.push(self.line, work, Op::Read, side);
        result.command = self.command;
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_with_words_between_them_are_runs_of_their_own() {
        let rows = "IOPS=44.36M, BW=21.66GiB/s, IOS/call=1/1\nIOPS=44.64M, BW=21.80GiB/s, IOS/call=2/2\n";
        let of = |between: &str| read(&Page { name: "x", body: &format!("{rows}{between}\n{rows}") }).len();
        assert_eq!((of("\nand adding -D1 I get:\n"), of("IRQ, 32/8/8, cache off")), (2, 2));
        assert_eq!((of(""), of("[...]"), of("^CExiting on signal\nMaximum IOPS=44.64M")), (1, 1, 1));
    }

    #[test]
    fn requests_that_do_nothing_have_no_rate() {
        // Form and figures of io-uring@vger.kernel.org, filters for io_uring, 2026.
        for asked in ["-N1", "-N 1"] {
            let body = format!(
                "$ sudo taskset -c 0 t/io_uring {asked} -n1 -B0 -F0 x\nEngine=io_uring, sq_ring=128, cq_ring=128\nIOPS=13.89M, IOS/call=32/32\nIOPS=13.90M, IOS/call=32/32\n"
            );
            assert!(read(&Page { name: "x", body: &body }).is_empty(), "{asked}");
        }
        let body = "$ t/io_uring -n1 /dev/ram0\nEngine=io_uring, sq_ring=128, cq_ring=128\nIOPS=13.89M, IOS/call=32/32\n";
        assert_eq!(read(&Page { name: "x", body }).len(), 1);
    }

    #[test]
    fn gibibytes_are_a_thousand_mebibytes() {
        let body = "submitter=0, tid=354, file=/dev/ram0, node=-1\npolled=0, fixedbufs=1/0, register_files=1, buffered=0, QD=128\n\
            IOPS=3.37M, BW=13.15GiB/s, IOS/call=32/31\nIOPS=3.45M, BW=13.46GiB/s, IOS/call=32/31\n";
        let found = read(&Page { name: "x", body });
        let one = &found[0].measurements[0];
        assert_eq!(one.work.block_size, Some(Bytes::new(4096)));
        assert_eq!(one.read.as_ref().map(|side| side.bytes_per_second.get()), Some(3.41e6 * 4096.0));
        assert_eq!((one.work.target.as_deref(), one.work.direct), (Some("/dev/ram0"), Some(true)));
        assert_eq!(found[0].corrections.len(), 1);
    }

    #[test]
    fn each_start_is_a_run_and_the_block_is_what_rate_and_ios_make() {
        let run = "Added file /dev/nvme1n1 (submitter 0)\nsubmitter=0, tid=1206\nsubmitter=1, tid=1207\nIOPS=5806400, BW=2835MiB/s, IOS/call=32/32, inflight=(77 32)\n";
        let found = read(&Page { name: "x", body: &format!("{run}\nto:\n\n{run}") });
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].measurements[0].work.block_size, Some(Bytes::new(512)));
        assert_eq!(found[1].measurements[0].work.jobs, Some(2));
    }
}
