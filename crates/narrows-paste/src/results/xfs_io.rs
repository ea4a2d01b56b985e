//! `xfs_io -c pwrite` and `pread`, which people paste into threads on file systems; their sizes are binary
//! (`libfrog/convert.c` of xfsprogs).

use narrows_base::units::{Bytes, BytesPerSec, Iops};
use narrows_base::workload::Pattern;

use super::command::Commands;
use super::number::{Base, Rounded, clock, contradiction, factor, number, plain, seconds};
use super::{Durability, Imported, Op, Page, Side, Tool, Work};

/// The runs in a text, each a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found = Vec::new();
    let mut commands = Commands::default();
    let mut moved: Option<(usize, Op, u64)> = None;
    for (at, line) in page.lines() {
        commands.see(at, line, "xfs_io");
        let line = line.trim();
        if let Some((number, op, bytes)) = moved.take() {
            found.extend(run(page, (number, op, bytes), line, commands.last()));
        }
        moved = head(line).map(|(op, bytes)| (at, op, bytes));
    }
    found
}

/// `wrote 1073741824/1073741824 bytes at offset 0`: what was moved of what was asked.
fn head(line: &str) -> Option<(Op, u64)> {
    let op = |word: &str, op: Op| Some((op, line.strip_prefix(word)?));
    let (op, rest) = op("wrote ", Op::Write).or_else(|| op("read ", Op::Read))?;
    let (amounts, _) = rest.split_once(" bytes at offset ")?;
    let (moved, asked) = amounts.split_once('/')?;
    asked.parse::<u64>().ok()?;
    Some((op, moved.parse().ok().filter(|bytes| *bytes > 0)?))
}

/// `1 GiB, 262144 ops; 0:00:02.13 (480.067 MiB/sec and 122897.3 ops/sec)`, or a time of `0.2199 sec`.
fn run(
    page: &Page<'_>,
    (at, op, bytes): (usize, Op, u64),
    line: &str,
    command: Option<&str>,
) -> Option<Imported> {
    let (before, rates) = line.split_once(" (")?;
    let (amount, time) = before.split_once("; ")?;
    let ops = plain(amount.split_once(", ")?.1.strip_suffix(" ops")?)?;
    let time = time.trim();
    let (elapsed, printed) = match time.contains(':') {
        true => (clock(time)?, time.rsplit(':').next()?),
        false => (number(time)?, time),
    };
    // The last digit of the seconds is what a clock is known to, too.
    let whole = elapsed - number(printed)?;
    let known = Rounded::of(printed)?.plus(whole);
    let (rate, rest) = Rounded::leading(rates)?;
    let (unit, rest) = rest.trim_start().split_once("/sec")?;
    let rate = rate.times(factor(unit, Base::Binary));
    let mut result = Imported::new(Tool::Xfsio, page.name, at);
    if elapsed > 0.0 {
        let amount = Rounded::exact(bytes as f64);
        result.derived.extend(contradiction("rate, in bytes per second", rate, &[1.0], amount, known));
    }
    let command = command.map(str::to_owned);
    let options = command.as_deref().and_then(|command| command.split(" -c").next());
    let is_direct = options.map(|options| options.split_whitespace().any(is_direct));
    let is_random =
        command.as_deref().is_some_and(|command| command.contains(" -R") || command.contains("-Z "));
    let size = if ops > 0.0 { Some(Bytes::new((bytes as f64 / ops).round() as u64)) } else { None };
    let side = Side {
        iops: rest.trim_start().strip_prefix("and ").and_then(number).map(Iops::new),
        bytes: Some(Bytes::new(bytes)),
        ios: Some(ops as u64),
        elapsed_ns: seconds(elapsed),
        ..Side::at(BytesPerSec::new(rate.value()))
    };
    let work = Work {
        pattern: (!is_random).then_some(Pattern::Sequential),
        block_size: size,
        queue_depth: Some(1),
        jobs: Some(1),
        working_set: Some(Bytes::new(bytes)),
        direct: is_direct,
        durability: command.as_deref().filter(|_| op == Op::Write).map(durability),
        ..Work::named(if op == Op::Write { "pwrite" } else { "pread" })
    };
    result.push(at + 1, work, op, side);
    result.command = command;
    Some(result)
}

/// `-d`, `-fd`: the file is opened with O_DIRECT.
fn is_direct(option: &str) -> bool {
    option
        .strip_prefix('-')
        .is_some_and(|letters| letters.chars().all(char::is_alphabetic) && letters.contains('d'))
}

/// `pwrite -w` and `-W`, and `fsync` behind it, wait at the end; `-s` opens with O_SYNC.
fn durability(command: &str) -> Durability {
    let has = |words: [&str; 3]| words.iter().any(|word| command.contains(word));
    match () {
        () if command.split(" -c").next().is_some_and(|options| options.contains(" -s")) => Durability::Each,
        () if has([" -w", " -W", "sync"]) => Durability::AtEnd,
        () => Durability::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> Vec<Imported> {
        read(&Page { name: "x", body })
    }

    #[test]
    fn two_lines_are_a_run_of_binary_units() {
        let found = of(
            "# xfs_io -fd -c \"pwrite -b 1m 0 1g\" /mnt/f\nwrote 1073741824/1073741824 bytes at offset 0\n\
            1 GiB, 1024 ops; 0:00:02.13 (480.067 MiB/sec and 480.0670 ops/sec)\n\
            # xfs_io -c \"pread 0 64k\" /mnt/f\nread 65536/65536 bytes at offset 0\n64 KiB, 16 ops; 0.0001 sec (1.162 GiB/sec and 19047.6190 ops/sec)\n",
        );
        assert_eq!(found.len(), 2, "{found:?}");
        let (write, read) = (&found[0].measurements[0], &found[1].measurements[0]);
        let rate = write.write.as_ref().map(|side| side.bytes_per_second.get().round());
        assert_eq!(rate, Some((480.067_f64 * 1_048_576.0).round()));
        assert_eq!((write.work.direct, write.work.block_size), (Some(true), Some(Bytes::new(1 << 20))));
        assert_eq!((read.work.direct, read.work.block_size), (Some(false), Some(Bytes::new(4096))));
        assert!(found.iter().all(|one| one.derived.is_empty()), "{found:?}");
    }

    #[test]
    fn a_rate_that_amount_and_time_do_not_make_contradicts_them() {
        let body = "wrote 1073741824/1073741824 bytes at offset 0\n1 GiB, 1024 ops; 4.1300 sec (480.067 MiB/sec and 480.0670 ops/sec)\n";
        assert_eq!(of(body)[0].derived.len(), 1);
        assert!(of("wrote 3 letters\n").is_empty());
        assert!(
            of("wrote 0/10 bytes at offset 0\n0 bytes, 0 ops; 0.0000 sec (0 bytes/sec and 0 ops/sec)\n")
                .is_empty()
        );
    }
}
