//! mdtest by itself: files and directories each second. A rate of 0.000 was not asked for.

use super::number::{plain, whole};
use super::{Imported, Measured, Page, Spread, Tool, Work};
use narrows_base::units::Iops;

/// The runs in a text, each a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["SUMMARY rate"]) || !page.has(&["mdtest"]) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    let mut table: Option<Table> = None;
    let (mut tasks, mut nodes) = (None, None);
    let mut head = Imported::new(Tool::Mdtest, page.name, 0);
    for (number, line) in page.lines() {
        let line = line.trim();
        if let Some((version, rest)) =
            line.split_once(" was launched with ").filter(|_| line.starts_with("mdtest-"))
        {
            head = Imported::new(Tool::Mdtest, page.name, number);
            head.version = version.strip_prefix("mdtest-").map(str::to_owned);
            tasks = whole(rest).and_then(|(count, _)| u32::try_from(count).ok());
            let on = rest.split_once(" on ").and_then(|(_, rest)| whole(rest));
            nodes = on.and_then(|(count, _)| u32::try_from(count).ok());
            table = None;
        } else if let Some(command) = line.strip_prefix("Command line used:") {
            head.command = Some(command.trim().to_owned());
        } else if let Some(rest) = line.strip_prefix("SUMMARY rate") {
            let iterations =
                rest.split_once("(of ").and_then(|(_, rest)| whole(rest)).map(|(count, _)| count);
            table = Some(Table { iterations, tasks, nodes });
            head.line = if head.line > 0 { head.line } else { number };
            found.push(std::mem::replace(&mut head, Imported::new(Tool::Mdtest, page.name, 0)));
        } else if line.starts_with("SUMMARY") || line.starts_with("-- ") {
            table = None;
        } else if let (Some(table), Some(result)) = (&table, found.last_mut()) {
            result.measurements.extend(table.row(number, line));
        }
    }
    found
}

#[derive(Debug)]
struct Table {
    iterations: Option<u64>,
    tasks: Option<u32>,
    nodes: Option<u32>,
}

impl Table {
    /// `File creation  :  439.763  404.632  422.661  14.357`: greatest, least, mean and standard deviation.
    fn row(&self, number: usize, line: &str) -> Option<Measured> {
        let words: Vec<&str> = line.split_whitespace().filter(|word| *word != ":").collect();
        let [name @ .., max, min, mean, deviation] = words.as_slice() else { return None };
        let label = name.join(" ");
        let label = label.trim_end_matches(':').trim();
        if !label.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let [max, min, mean, deviation] = [max, min, mean, deviation].map(|word| plain(word));
        let (max, min, mean, deviation) = (max?, min?, mean?, deviation?);
        if mean <= 0.0 || min > max || mean > max * 1.001 {
            return None;
        }
        let work = Work { label: label.to_owned(), jobs: self.tasks, ..Work::default() };
        let mut measured = Measured::new(number, work);
        measured.entries = Some(Iops::new(mean));
        measured.nodes = self.nodes;
        measured.entries_spread = Some(Spread { mean, deviation, samples: self.iterations });
        Some(measured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_asked_for_is_no_rate() {
        let body = "mdtest-1.9.3 was launched with 4 total task(s) on 2 node(s)\nSUMMARY rate: (of 3 iterations)\n\
            \x20  Operation                      Max            Min           Mean        Std Dev\n   ---------     ---   ---  ----  -------\n\
            \x20  File creation     :        439.763        404.632        422.661         14.357\n\
            \x20  File read         :          0.000          0.000          0.000          0.000\n   Tree removal   96.927  84.924  91.069  4.904\n\
            -- finished at 11/01/2019 19:14:57 --\n";
        let found = read(&Page { name: "x", body });
        let [result] = found.as_slice() else { panic!("{found:?}") };
        let rates: Vec<_> = result
            .measurements
            .iter()
            .map(|one| (one.work.label.as_str(), one.entries.map(Iops::get)))
            .collect();
        assert_eq!(rates, [("File creation", Some(422.661)), ("Tree removal", Some(91.069))]);
        let first = &result.measurements[0];
        assert_eq!((first.work.jobs, first.nodes), (Some(4), Some(2)));
        assert_eq!(first.entries_spread.and_then(|spread| spread.samples), Some(3));
    }

    #[test]
    fn times_below_the_rates_are_none() {
        let body = "mdtest-4.0.0 was launched with 1 total task(s) on 1 node(s)\nSUMMARY rate: (of 1 iterations)\n File creation 10.0 10.0 10.0 0.0\n\
            SUMMARY time: (of 1 iterations)\n File creation 3.0 3.0 3.0 0.0\n";
        assert_eq!(read(&Page { name: "x", body })[0].measurements.len(), 1);
    }
}
