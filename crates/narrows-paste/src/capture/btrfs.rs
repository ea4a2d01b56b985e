//! What btrfs counted against its devices: `btrfs device stats`, since its counts were set to zero (btrfs-device(8)), and what a scrub
//! could not repair (btrfs-scrub(8)).

use narrows_base::fact::Source;
use narrows_machine::log::{EventLog, LogEvent, LogKind};

use super::{Part, Rank, Text};
use crate::text::fields;

const COUNTS: [&str; 5] =
    ["write_io_errs", "read_io_errs", "flush_io_errs", "corruption_errs", "generation_errs"];

/// Reads the counts of every device in a text.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Decoded, ..Part::default() };
    let mut log = EventLog::default();
    let mut count = |device: &str, count: u64, number: usize| {
        let (device, source) = (Some(device.to_owned()), Source::new(text.source(number)));
        if count > 0 {
            log.add(LogEvent { pci: None, device, kind: LogKind::FileSystemDamaged, count, source });
        }
    };
    // The device of a scrub, and its errors: those that are said to be left stand below their sum.
    let mut device = "btrfs";
    let mut open: Option<(&str, u64, usize)> = None;
    for (number, line) in text.lines() {
        let line = line.trim();
        if let Some((device, errors)) = counted(line) {
            part.kind = Some("btrfs device stats");
            count(device, errors, number);
        } else if let Some(rest) =
            line.strip_prefix("Scrub device /dev/").or_else(|| line.strip_prefix("scrub device /dev/"))
        {
            device = rest.split(' ').next().unwrap_or_default();
        } else if let Some(errors) = line.strip_prefix("Error summary:") {
            part.kind = part.kind.or(Some("btrfs scrub"));
            if let Some((device, errors, at)) = open.replace((device, sum(errors), number)) {
                count(device, errors, at);
            }
        } else if let (Some((_, errors, _)), Some(left)) = (&mut open, line.strip_prefix("Uncorrectable:")) {
            *errors = left.trim().parse().unwrap_or(*errors);
        }
    }
    if let Some((device, errors, at)) = open {
        count(device, errors, at);
    }
    part.machine.log = log.into_events();
    part
}

/// All of `csum=11 super=1`.
fn sum(errors: &str) -> u64 {
    let counts = errors.split_whitespace().filter_map(|word| word.split_once('=')?.1.parse::<u64>().ok());
    counts.fold(0, u64::saturating_add)
}

/// `[/dev/sdf2].corruption_errs  1`.
fn counted(line: &str) -> Option<(&str, u64)> {
    let [device, rest] = fields(line, "[{}].{}")?;
    let (name, count) = rest.split_once(char::is_whitespace)?;
    let device = device.strip_prefix("/dev/")?;
    COUNTS.contains(&name).then_some((device, count.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_zero_is_an_event_of_its_device() {
        let text =
            "[/dev/sdf2].write_io_errs   0\n[/dev/sdf2].corruption_errs 11\n[/dev/sdf2].generation_errs 1\n";
        let part = read(&Text::new("stats.txt", text.as_bytes()));
        let events: Vec<_> =
            part.machine.log.iter().map(|event| (event.device.as_deref(), event.count)).collect();
        assert_eq!((part.kind, events), (Some("btrfs device stats"), vec![(Some("sdf2"), 12)]));
        let scrub = "Scrub device /dev/dm-14 (id 8) history\nError summary:    csum=5\n  Corrected:      5\n  Uncorrectable:  0\n\n\
            Scrub device /dev/dm-15 (id 9) history\nError summary:    csum=11\n  Uncorrectable:  11\n";
        let part = read(&Text::new("scrub.txt", scrub.as_bytes()));
        let events: Vec<_> =
            part.machine.log.iter().map(|event| (event.device.as_deref(), event.count)).collect();
        assert_eq!((part.kind, events), (Some("btrfs scrub"), vec![(Some("dm-15"), 11)]));
        assert_eq!(read(&Text::new("x", b"[/dev/sdf2].speed 3\n[a].read_io_errs 3\n")).kind, None);
    }
}
