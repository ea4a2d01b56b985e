//! The table for people: a heading of three lines, the line of the machine, and the latencies below it. `+++++` is what was
//! over too soon to measure.

use super::super::number::{Base, leading, plain, size};
use super::super::{Imported, Page, Tool};
use super::{Test, Tests, latency};

/// The tables in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["Sequential Output"]) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    let mut tables: Vec<(usize, Tests)> = Vec::new();
    let mut versions: Vec<Option<String>> = Vec::new();
    let mut state = State::Outside;
    let mut version = None;
    for (number, line) in page.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.contains("Sequential Output") {
            version = version_of(&words);
            state = State::Heading;
        } else if line.contains("Sequential Create") {
            state = State::Outside;
        } else if state == State::Heading && line.contains("/sec") {
            state = State::Rows;
        } else if state == State::Rows && words.first() == Some(&"Latency") {
            if let Some((_, tests)) = tables.last_mut() {
                longest(tests, &words);
            }
        } else if state != State::Outside
            && let Some(tests) = row(&words)
        {
            // Somebody left out the line with the units.
            state = State::Rows;
            tables.push((number, tests));
            versions.push(version.clone());
        }
    }
    for ((number, tests), version) in tables.into_iter().zip(versions) {
        let mut imported = Imported::new(Tool::Bonnie, page.name, number);
        imported.version = version;
        tests.add_to(&mut imported, number);
        if !imported.is_empty() {
            found.push(imported);
        }
    }
    found
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Outside,
    Heading,
    Rows,
}

/// `Version  1.97       ------Sequential…`, or before 1.03 the number alone.
fn version_of(words: &[&str]) -> Option<String> {
    let word = words.iter().take(2).find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    Some((*word).to_owned())
}

/// The name, the size, and six pairs of a rate and a percentage. A name may be of two words.
fn row(words: &[&str]) -> Option<Tests> {
    let at = words.len().checked_sub(13)?;
    let (before, cells) = words.split_at_checked(at)?;
    let (size_cell, pairs) = cells.split_first()?;
    // A long name leaves no blank before the size: `Raid0 (8 disk)15744M`.
    let size_cell = size_cell.rsplit_once(')').map_or(*size_cell, |(_, size)| size);
    // `4G:64k`: the size of a block stands behind that of the file.
    let set = size(size_cell.split(':').next()?, Base::Binary)?;
    let is_size = leading(size_cell).is_some_and(|(_, unit)| unit.starts_with(['G', 'M', 'k', 'T']));
    let is_pair = |pair: &[&str]| pair.iter().all(|cell| cell.starts_with("+++") || leading(cell).is_some());
    if before.is_empty() || !is_size || !pairs.chunks(2).all(is_pair) {
        return None;
    }
    let test = |place: usize, is_rate: bool| {
        let rate = pairs.get(2 * place).and_then(|cell| leading(cell));
        // Without a unit it is KiB; 2.00 writes one behind each number. Seeks are counts.
        let factor = |unit: &str| match (unit.chars().next(), is_rate) {
            (Some('g'), true) => 1_073_741_824.0,
            (Some('m'), true) => 1_048_576.0,
            (_, true) => 1024.0,
            (Some('k'), false) => 1000.0,
            (_, false) => 1.0,
        };
        Test {
            rate: rate.map(|(number, unit)| number * factor(unit)).filter(|rate| *rate > 0.0),
            cpu: pairs.get(2 * place + 1).and_then(|cell| plain(cell)).map(|percent| percent / 100.0),
            longest: None,
        }
    };
    Some(Tests {
        set: Some(set),
        write: test(1, true),
        rewrite: test(2, true),
        read: test(4, true),
        seeks: test(5, false),
    })
}

/// The latencies of the line's six tests.
fn longest(tests: &mut Tests, words: &[&str]) {
    let at = |place: usize| words.get(place + 1).and_then(|word| latency(word));
    tests.write.longest = at(1);
    tests.rewrite.longest = at(2);
    tests.read.longest = at(4);
    tests.seeks.longest = at(5);
}

#[cfg(test)]
mod rows {
    use super::super::super::{Measured, Op};
    use super::*;

    #[test]
    fn rows_with_glued_sizes_and_below_a_heading_without_units_are_read() {
        // Figures of linux-kernel@vger.kernel.org, 2003 and 2005.
        let head = "Version  1.03       ------Sequential Output------ --Sequential Input- --Random-\n                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n";
        let units = "Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP\n";
        let raid = "Raid0 (8 disk)15744M 54406  96 247419 90 100752 25 60266  98 226651 29 830.2   1\n";
        let small = "NPTL          100M  7735  99 127068  98 63048  84  7890  98 +++++ +++ +++++ +++\n";
        let rates = |body: &str| -> Vec<f64> {
            let found = read(&Page { name: "x", body });
            let all = found.iter().flat_map(|one| &one.measurements);
            all.filter_map(|one: &Measured| one.side(Op::Write))
                .map(|side| side.bytes_per_second.get())
                .collect()
        };
        assert_eq!(rates(&format!("{head}{units}{raid}")), [247_419.0 * 1024.0, 100_752.0 * 1024.0]);
        assert_eq!(rates(&format!("{head}{small}")), [127_068.0 * 1024.0, 63_048.0 * 1024.0]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Measured;
    use super::*;
    use narrows_base::units::Bytes;

    fn rates(found: &[Imported]) -> Vec<f64> {
        let rate = |one: &Measured| one.sides().map(|(_, side)| side.bytes_per_second.get()).next();
        found.iter().flat_map(|one| &one.measurements).filter_map(rate).collect()
    }

    const OF_1_97: &str = "Version  1.97       ------Sequential Output------ --Sequential Input- --Random-\n\
        Concurrency   1     -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n\
        Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP\n\
        host          8196M   646  97 86208  12 44422   5  2027  97 104162   5 889.7   8\n\
        Latency             12279us    1920ms    2462ms    4228us   41355us   43431us\n";

    #[test]
    fn a_table_of_1_97_with_its_latencies() {
        let found = read(&Page { name: "x", body: OF_1_97 });
        assert_eq!(rates(&found), [86_208.0 * 1024.0, 44_422.0 * 1024.0, 104_162.0 * 1024.0, 889.7 * 8192.0]);
        let first = &found[0].measurements[0];
        assert_eq!(first.write.as_ref().and_then(|side| side.latency_ns.as_ref()?.max), Some(1.92e9));
        assert_eq!(first.work.working_set, Some(Bytes::from_mib(8196)));
        assert_eq!(
            (found[0].version.as_deref(), first.cpu.map(|cpu| cpu.total())),
            (Some("1.97"), Some(0.12))
        );
    }

    #[test]
    fn a_table_of_2_00_has_units_and_plus_signs() {
        let body = "Version 2.00a       ------Sequential Output------ --Sequential Input- --Random-\n                    \
            -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n\
            Name:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP\n\
            host             1G 2018k  55  929m  36  1.1g  33 3133k  60 +++++ +++ +++++ +++\n\
            Latency             26139us   16016us    5720us   29520us    4044us   12079us\n";
        let found = read(&Page { name: "x", body });
        assert_eq!(rates(&found), [929.0 * 1_048_576.0, 1.1 * 1_073_741_824.0]);
    }

    #[test]
    fn the_line_below_a_table_is_the_same_run_and_counts_once() {
        let line = "1.97,1.97,host,1,1466766230,8196M,,646,97,86208,12,44422,5,2027,97,104162,5,889.7,8,16,,,,,20285,28,+++++,+++,+++++,+++,30720,69,+++++,+++,+++++,+++,12279us,1920ms,2462ms,4228us,41355us,43431us\n";
        let body = format!("{OF_1_97}{line}");
        assert_eq!(super::super::read(&Page { name: "x", body: &body }).len(), 1);
        assert_eq!(super::super::read(&Page { name: "x", body: OF_1_97 }).len(), 1);
        // A table of 1.03, and one that was cut off.
        let old = "Version  1.03       ------Sequential Output------ --Sequential Input- --Random-\n\
            Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP\n\
            alastor       2512M 20736  76 55093  14 21112   5 26385  87 55658   6 194.9   0\nother   2512M 20736  76 55093";
        assert_eq!(rates(&read(&Page { name: "x", body: old })).len(), 4);
    }
}
