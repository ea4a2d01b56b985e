//! The comma-separated line: 1.0x begins with the name of the machine and has 27 fields, 1.9x and 2.00 with the version of
//! the format and that of the program.

use super::super::number::{Base, plain, size};
use super::super::{Imported, Page, Tool};
use super::{Test, Tests, latency};

/// The lines in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    page.lines().filter_map(|(number, line)| csv(page, number, line.trim())).collect()
}

/// Where the fields of a line are: rate and processor use of writes, rewrites, reads, and seeks, and the latencies of writes.
struct Fields {
    version: Option<usize>,
    size: usize,
    write: usize,
    rewrite: usize,
    read: usize,
    seeks: usize,
    latencies: Option<usize>,
}

/// 1.03: name, size, per-character output (2), block output (2), rewrite (2), per-character input (2), input (2), seeks.
const V1_0: Fields =
    Fields { version: None, size: 1, write: 4, rewrite: 6, read: 10, seeks: 12, latencies: None };
/// 1.96 and 1.97: two versions, name, concurrency, time, size, size of a block, then the same, and latencies at the end.
const V1_9: Fields =
    Fields { version: Some(1), size: 5, write: 9, rewrite: 11, read: 15, seeks: 17, latencies: Some(36) };
/// 1.98 of 2.00: the sizes of blocks for seeks and their number stand before the rates.
const V2_0: Fields =
    Fields { version: Some(1), size: 5, write: 11, rewrite: 13, read: 17, seeks: 19, latencies: Some(38) };

/// `1.96`, `1.03e`, `2.00a`.
fn is_version(word: &str) -> bool {
    let is_known = word.starts_with("1.") || word.starts_with("2.0");
    is_known && word.len() <= 6 && plain(&word.replace(['a', 'b', 'c', 'd', 'e'], "")).is_some()
}

/// The version of the format, which was 1.98 for 2.00.
fn is_format(word: &str) -> bool {
    word.starts_with("1.") && is_version(word)
}

fn csv(page: &Page<'_>, number: usize, line: &str) -> Option<Imported> {
    let mut cells: Vec<&str> = line.split(',').collect();
    if let [first, second, ..] = cells.as_mut_slice()
        && let Some(version) = first.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '.').next()
        && is_format(version)
        && is_version(second)
    {
        // A mark, a stamp or the name of a file may stand before it.
        *first = version;
    }
    let layout = match cells.as_slice() {
        [first, ..] if *first == "1.98" && cells.len() >= 21 => V2_0,
        [first, ..] if is_format(first) && cells.len() >= 19 => V1_9,
        [_, second, ..] if cells.len() >= 27 && second.ends_with(['G', 'M']) => V1_0,
        _ => return None,
    };
    let cell = |at: usize| cells.get(at).copied().unwrap_or_default();
    // Latencies are of: characters written, blocks written, rewritten, characters read, blocks read, seeks.
    let longest = |place: usize| latency(cell(layout.latencies? + place));
    let test = |at: usize, factor: f64, place: usize| Test {
        rate: plain(cell(at)).filter(|rate| *rate > 0.0).map(|rate| rate * factor),
        cpu: plain(cell(at + 1)).map(|percent| percent / 100.0),
        longest: longest(place),
    };
    let tests = Tests {
        set: size(cell(layout.size), Base::Binary),
        write: test(layout.write, 1024.0, 1),
        rewrite: test(layout.rewrite, 1024.0, 2),
        read: test(layout.read, 1024.0, 4),
        seeks: test(layout.seeks, 1.0, 5),
    };
    let mut imported = Imported::new(Tool::Bonnie, page.name, number);
    imported.version = Some(layout.version.map_or("1.03", cell).to_owned());
    tests.add_to(&mut imported, number);
    (!imported.is_empty()).then_some(imported)
}

#[cfg(test)]
mod tests {
    use super::super::super::Measured;
    use super::*;
    use narrows_base::units::Bytes;

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

    #[test]
    fn a_line_alone_may_have_a_mark_a_stamp_or_a_file_before_it() {
        let line = "1.96,1.96,host,1,1421800799,7423M,,,,72853,15,47358,5,,,156821,7,537.7,10,100,,,,,49223,58,+++++,+++";
        let rate = |body: &str| {
            let found = read(&Page { name: "x", body });
            let measured = found.first().and_then(|one| one.measurements.first()).cloned();
            measured.and_then(|one| one.write).map(|side| side.bytes_per_second.get() / 1024.0)
        };
        for before in
            ["* ", "# ", "09:00:00 DEBUG| [stdout] ", "bonnie.log:7:", "[2021-11-23 09:00:00] ", "> "]
        {
            assert_eq!(rate(&format!("{before}{line}")), Some(72853.0), "{before}");
        }
        assert_eq!(rate(&line.replace("1.96,1.96", "version 1.96,host")), None);
    }

    #[test]
    fn a_line_of_2_00_has_two_more_fields() {
        // Printed by bonnie++ 2.00a in a virtual machine.
        let body = "1.98,2.00a,host,1,1795319905,1G,,8192,5,2018,55,951631,36,1169498,33,3133,60,+++++,+++,+++++,+++,,,,,,,,,,,,,,,,,,26139us,16016us,5720us,29520us,4044us,12079us,,,,,,\n";
        let found = read(&Page { name: "x", body });
        let rate = |one: &Measured| one.sides().map(|(_, side)| side.bytes_per_second.get() / 1024.0).next();
        let rates: Vec<_> = found[0].measurements.iter().filter_map(rate).collect();
        assert_eq!(rates, [951_631.0, 1_169_498.0]);
        let first = &found[0].measurements[0];
        assert_eq!(
            (found[0].version.as_deref(), first.cpu.map(|cpu| cpu.total())),
            (Some("2.00a"), Some(0.36))
        );
        let longest = first.write.as_ref().and_then(|side| side.latency_ns.as_ref()?.max);
        assert_eq!(longest, Some(16_016_000.0));
    }

    #[test]
    fn latencies_of_1_97_stand_at_the_end() {
        let body = "1.97,1.97,host,1,1466766230,8196M,,646,97,86208,12,44422,5,2027,97,104162,5,889.7,8,16,,,,,20285,28,+++++,+++,+++++,+++,30720,69,+++++,+++,+++++,+++,12279us,1920ms,2462ms,4228us,41355us,43431us,727us,406us,431us,121us,35us,61us\n";
        let found = read(&Page { name: "x", body });
        let longest: Vec<_> = found[0]
            .measurements
            .iter()
            .filter_map(|one| one.sides().find_map(|(_, side)| side.latency_ns.as_ref()?.max))
            .collect();
        assert_eq!(longest, [1.92e9, 2.462e9, 41_355_000.0, 43_431_000.0]);
    }
}
