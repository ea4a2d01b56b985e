//! bonnie++ 1.03 and 1.9x: the comma-separated line and the table for people. Its K are KiB.
//!
//! Sources: bonnie++'s `bon_csv2html` for the order of fields; 1.03 has 27 of them, 1.9x begins with its version twice.

use crate::load::measurement::Pattern;
use crate::units::{Bytes, BytesPerSec, Iops};

use super::number::{Base, plain, size};
use super::{Cpu, Imported, Measured, Op, Page, Side, Tool, Work};

/// The results in a text. The table repeats what the line behind it says, so only one of both counts.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["+++", "Sequential Output", "bonnie"]) {
        return Vec::new();
    }
    page.lines().filter_map(|(number, line)| csv(page, number, line.trim())).collect()
}

/// Where the fields of a line are: rate and processor use of writes, rewrites, reads, and seeks.
struct Fields {
    version: Option<&'static str>,
    size: usize,
    write: usize,
    rewrite: usize,
    read: usize,
    seeks: usize,
}

/// 1.03: name, size, per-character output (2), block output (2), rewrite (2), per-character input (2), input (2), seeks.
const OLD: Fields = Fields { version: Some("1.03"), size: 1, write: 4, rewrite: 6, read: 10, seeks: 12 };
/// 1.96: two versions, name, concurrency, time, size, an empty field, then the same.
const NEW: Fields = Fields { version: None, size: 5, write: 9, rewrite: 11, read: 15, seeks: 17 };

fn csv(page: &Page<'_>, number: usize, line: &str) -> Option<Imported> {
    let cells: Vec<&str> = line.split(',').collect();
    let is_version = |word: &str| {
        word.starts_with("1.")
            && word.len() <= 6
            && plain(&word.replace(['a', 'b', 'c', 'd', 'e'], "")).is_some()
    };
    let layout = match cells.as_slice() {
        [first, ..] if is_version(first) && cells.len() >= 19 => NEW,
        [_, second, ..] if cells.len() >= 27 && second.ends_with(['G', 'M']) => OLD,
        _ => return None,
    };
    let cell = |at: usize| cells.get(at).copied().unwrap_or_default();
    let rate = |at: usize| plain(cell(at)).filter(|rate| *rate > 0.0).map(BytesPerSec::from_kib);
    let set = size(cell(layout.size), Base::Binary);
    let work = |label: &str| Work {
        label: label.to_owned(),
        pattern: Some(Pattern::Sequential),
        block_size: Some(Bytes::from_kib(8)),
        queue_depth: Some(1),
        jobs: Some(1),
        direct: Some(false),
        working_set: set,
        ..Work::default()
    };
    let cpu = |at: usize| plain(cell(at + 1)).map(|percent| Cpu { user: 0.0, system: percent / 100.0 });
    let mut imported = Imported::new(Tool::Bonnie, page.name, number);
    imported.version = Some(layout.version.unwrap_or(cell(0)).to_owned());
    for (label, op, at) in [
        ("block output", Op::Write, layout.write),
        ("rewrite", Op::Write, layout.rewrite),
        ("block input", Op::Read, layout.read),
    ] {
        let Some(rate) = rate(at) else { continue };
        let mut measured = Measured::new(number, work(label));
        measured.cpu = cpu(at);
        measured.put(op, Side { bytes_per_second: rate, ..Side::default() });
        imported.measurements.push(measured);
    }
    if let Some(seeks) = plain(cell(layout.seeks)).filter(|seeks| *seeks > 0.0) {
        let work = Work { pattern: Some(Pattern::Random), ..work("seeks") };
        let mut measured = Measured::new(number, work);
        let rate = BytesPerSec::new(seeks * 8192.0);
        measured
            .put(Op::Read, Side { bytes_per_second: rate, iops: Some(Iops::new(seeks)), ..Side::default() });
        imported.measurements.push(measured);
    }
    (!imported.is_empty()).then_some(imported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_ages() {
        let body = "alpha2,4G,47392,63,59109,15,30774,5,42031,56,74651,6,146.9,0,16,+++++,+++,+++++,+++,+++++,+++,+++++,+++,+++++,+++,+++++,+++\n\
            1.96,1.96,host,1,1421800799,7423M,,,,72853,15,47358,5,,,156821,7,537.7,10,100,,,,,49223,58,+++++,+++\n";
        let found = read(&Page { name: "x", body });
        let rates = |one: &Imported| {
            let sides = one
                .measurements
                .iter()
                .flat_map(|measured| measured.sides().map(|(_, side)| side).collect::<Vec<_>>());
            sides.map(|side| side.bytes_per_second.get() / 1024.0).collect::<Vec<_>>()
        };
        assert_eq!(rates(&found[0]), [59109.0, 30774.0, 74651.0, 146.9 * 8.0]);
        assert_eq!(rates(&found[1]), [72853.0, 47358.0, 156_821.0, 537.7 * 8.0]);
        assert_eq!(found[1].measurements[0].work.working_set, Some(Bytes::from_mib(7423)));
    }
}
