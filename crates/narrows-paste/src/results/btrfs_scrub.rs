//! `btrfs scrub`: all copies on all devices read past the page cache.
//!
//! Since btrfs-progs 5.2 it prints a rate; before, amount and time. Units are binary.

use narrows_base::units::BytesPerSec;
use narrows_base::workload::Pattern;

use super::number::{self, Base, Rounded, contradiction, factor, leading, seconds, to_bytes};
use super::{Imported, Op, Page, Side, Tool, Work};

/// The reports in a text, each a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found = Vec::new();
    let mut run = ScrubRun::default();
    for (number, line) in page.lines() {
        let line = line.trim();
        if is_head(line) {
            found.extend(std::mem::take(&mut run).finish(page));
            run.line = number;
        } else if run.line > 0 {
            run.see(line);
        }
    }
    found.extend(run.finish(page));
    found
}

fn is_head(line: &str) -> bool {
    let is_device =
        ["scrub device ", "Scrub device ", "scrub done for "].iter().any(|head| line.starts_with(head))
            && line.contains(['/', '-']);
    is_device || line.starts_with("UUID:") || line.starts_with("scrub status for ")
}

#[derive(Debug, Default)]
struct ScrubRun {
    line: usize,
    time: Option<Rounded>,
    amount: Option<Rounded>,
    rate: Option<Rounded>,
    errors: Option<String>,
    /// Whether mail broke the line above before its last word, a time.
    is_broken: bool,
}

impl ScrubRun {
    fn see(&mut self, line: &str) {
        let number = |text: &str| {
            let (number, unit) = Rounded::leading(text)?;
            Some(number.times(factor(unit, Base::Binary)))
        };
        if std::mem::take(&mut self.is_broken) && clock(line).is_some() {
            self.time = clock(line);
        } else if line.ends_with(" finished after") || line.ends_with(", running for") {
            self.is_broken = true;
        } else if let Some((_, text)) =
            line.split_once("finished after ").or_else(|| line.split_once(", running for "))
        {
            self.time = clock(text);
        } else if let Some((name, text)) = line.split_once(':') {
            match name {
                "Duration" => self.time = clock(text),
                "Bytes scrubbed" => self.amount = number(text),
                "Total to scrub" => self.amount = self.amount.or_else(|| number(text)),
                "Rate" => self.rate = number(text),
                "total bytes scrubbed" => {
                    self.amount = number(text);
                    self.errors(text.split_once(" with ").map_or("", |(_, rest)| rest));
                }
                "Error summary" => self.errors(text.trim()),
                _ => {}
            }
        }
    }

    fn errors(&mut self, text: &str) {
        let is_none = text.is_empty() || text.starts_with("no errors") || text.starts_with("0 errors");
        self.errors = (!is_none).then(|| text.to_owned());
    }

    fn finish(self, page: &Page<'_>) -> Option<Imported> {
        let made = self.amount.zip(self.time).filter(|(_, time)| time.value() > 0.0);
        let computed = made.map(|(amount, time)| amount.value() / time.value());
        let rate = self.rate.map(Rounded::value).or(computed)?;
        let mut result = Imported::new(Tool::Btrfsscrub, page.name, self.line);
        if let (Some(rate), Some((amount, time))) = (self.rate, made) {
            let name = "scrub rate, in bytes per second";
            result.derived.extend(contradiction(name, rate, &[1.0], amount, time));
        }
        // Blocks whose checksums are wrong were read all the same: what is wrong with them the readers of captures say.
        let of_reads =
            self.errors.filter(|errors| errors.contains("read=") || errors.contains("read errors"));
        result.failures.extend(of_reads.map(|errors| format!("scrub errors: {errors}")));
        let bytes = self.amount.and_then(|amount| to_bytes(amount.value()));
        let work = Work {
            pattern: Some(Pattern::Sequential),
            direct: Some(true),
            working_set: bytes,
            ..Work::named("scrub")
        };
        let side = Side {
            bytes,
            elapsed_ns: self.time.and_then(|time| seconds(time.value())),
            ..Side::at(BytesPerSec::new(rate))
        };
        result.push(self.line, work, Op::Read, side);
        Some(result)
    }
}

/// `1:29:49` or `00:03:26`, or a bare number of seconds (`5389 seconds`).
fn clock(text: &str) -> Option<Rounded> {
    let word = text.split_whitespace().next()?;
    if !word.contains(':') {
        leading(word)?;
        return Rounded::of(word);
    }
    // Cut to whole seconds.
    Rounded::of(&format!("{:.0}", number::clock(word)?))
}

#[cfg(test)]
mod tests {
    use super::super::number::scaled;
    use super::*;

    fn rate(body: &str) -> f64 {
        let found = read(&Page { name: "x", body });
        assert!(found[0].derived.is_empty(), "{found:?}");
        found[0].measurements[0].read.as_ref().expect("reads").bytes_per_second.get()
    }

    #[test]
    fn with_and_without_a_rate() {
        let new = "scrub done for 0000-00\nStatus:           finished\nDuration:         0:03:26\nTotal to scrub:   1.31TiB\nRate:             6.46GiB/s\nError summary:    no errors found\n";
        assert_eq!(rate(new), scaled("6.46GiB", Base::Binary).expect("a rate"));
        let old = "scrub device /dev/mapper/pool2 (id 1) done\n\tscrub started at Thu Jan  9 01:46:45 2020 and finished after 01:29:49\n\ttotal bytes scrubbed: 1.27TiB with 0 errors\n";
        assert!((rate(old) - 259_116_676.1).abs() < 1.0);
    }

    #[test]
    fn read_errors_are_failures_and_a_false_rate_contradicts_the_amount() {
        let body = "UUID: 00\nDuration:  0:00:10\nTotal to scrub:   1.00GiB\nRate:  300.00MiB/s\nError summary: csum=4\n";
        let failures = |body: &str| {
            let found = read(&Page { name: "x", body });
            (found[0].derived.len(), found[0].failures.len())
        };
        assert_eq!((failures(body), failures(&body.replace("csum=4", "read=4"))), ((1, 0), (1, 1)));
    }
}
