//! `stress-ng --hdd -M`: what its workers wrote and read through the page cache. Its MB are MiB (`stress-hdd.c`), and the rates those of
//! one worker.

use narrows_base::units::{Bytes, BytesPerSec};

use super::command::Commands;
use super::number::{MIB, leading, whole};
use super::{Durability, Imported, Op, Page, Side, Tool, Work};

/// The rates in a text, each a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found = Vec::new();
    let mut commands = Commands::default();
    for (at, line) in page.lines() {
        commands.see(at, line, "stress-ng");
        found.extend(row(line.trim()).and_then(|(op, rate, workers)| {
            let command = commands.last().map(str::to_owned);
            result(page, at, (op, rate, workers), command)
        }));
    }
    found
}

/// `stress-ng: metrc: [26857] hdd  729.22 MB/sec write rate (harmonic mean of 1 instance)`.
fn row(line: &str) -> Option<(Op, f64, u32)> {
    let (_, rest) = line.split_once("stress-ng: ").filter(|(_, rest)| rest.contains("metrc: ["))?;
    let (_, rest) = rest.split_once(']')?;
    let (rate, rest) = leading(rest.trim_start().strip_prefix("hdd ")?)?;
    let rest = rest.trim_start().strip_prefix("MB/sec ")?;
    let op = |word: &str, op: Op| Some((op, rest.strip_prefix(word)?));
    let (op, rest) = op("write rate (", Op::Write).or_else(|| op("read rate (", Op::Read))?;
    let (workers, _) = whole(rest.strip_prefix("harmonic mean of ")?)?;
    Some((op, rate, u32::try_from(workers).ok()?)).filter(|(_, rate, workers)| *rate > 0.0 && *workers > 0)
}

fn result(
    page: &Page<'_>,
    at: usize,
    (op, rate, workers): (Op, f64, u32),
    command: Option<String>,
) -> Option<Imported> {
    /// `DEFAULT_HDD_WRITE_SIZE`, and `DEFAULT_HDD_BYTES`, which the workers share (`stress-ng.h`, `stress-hdd.c`).
    const WRITE_SIZE: u64 = 64 << 10;
    const OF_ALL: u64 = 1 << 30;
    let mut result = Imported::new(Tool::Stressng, page.name, at);
    result.corrections.push("stress-ng prints MB/sec and counts MiB; its rates are read as MiB/s".to_owned());
    if workers > 1 {
        result
            .notes
            .push(format!("its rate is the harmonic mean of {workers} workers: together theirs is at least {workers} times that, which is taken"));
    }
    // Without its command nothing is known of it: `--maximize` and others change what is usual.
    let lacks = |words: &[&str]| {
        let command = command.as_deref()?;
        Some(!words.iter().any(|word| command.contains(word)))
    };
    let usual = |option: &str, bytes: u64| {
        lacks(&[option, "imize"]).filter(|lacks| *lacks).map(|_| Bytes::new(bytes))
    };
    let work = Work {
        block_size: usual("--hdd-write-size", WRITE_SIZE),
        working_set: usual("--hdd-bytes", OF_ALL),
        queue_depth: Some(1),
        jobs: Some(workers),
        direct: lacks(&["direct"]).map(|lacks| !lacks),
        durability: lacks(&["sync"]).filter(|lacks| *lacks).map(|_| Durability::None),
        ..Work::named("hdd")
    };
    result.push(at, work, op, Side::at(BytesPerSec::new(rate * MIB * f64::from(workers))));
    result.command = command;
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_a_worker_counts_for_each() {
        let body = "$ stress-ng --hdd 2 -t 60 -M\nstress-ng: metrc: [26857] hdd    0.00 MB/sec read rate (harmonic mean of 2 instances)\n\
            stress-ng: metrc: [26857] hdd  729.22 MB/sec write rate (harmonic mean of 2 instances)\n\
            stress-ng: 10:48:33.34 metrc: [185] hdd  729.22 MB/sec read/write combined rate (harmonic mean of 2 instances)\n";
        let found = read(&Page { name: "x", body });
        assert_eq!(found.len(), 1, "{found:?}");
        let one = &found[0].measurements[0];
        let rate = one.write.as_ref().map(|side| side.bytes_per_second.get());
        assert_eq!((rate, one.work.jobs), (Some(729.22 * MIB * 2.0), Some(2)));
        assert_eq!((one.work.direct, one.work.working_set), (Some(false), Some(Bytes::new(1 << 30))));
        let alone = body.split_once('\n').map(|(_, rows)| rows).unwrap_or_default();
        let work = &read(&Page { name: "x", body: alone })[0].measurements[0].work;
        assert_eq!((work.direct, work.working_set), (None, None), "no command, no defaults");
    }
}
