//! What stands before each line of a tool's output: the stamp of a log, the mark of a comment, the name of a host.
//!
//! Some lines of tools cannot be mistaken. What stands before them is taken away from every line that begins with the
//! same, where digits may differ, so that readers see lines as the tool printed them. What many lines in a row begin with
//! is taken away whatever they are ([`before`]).

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::stamp::{behind, shape};
use super::{before, beside_moved_up, is_in, joined, unmarked};

/// Lines that begin alike before it is no accident.
const FEWEST: usize = 2;

/// No stamp is longer, in bytes.
const LONGEST: usize = 120;

/// Texts have few kinds of stamps.
const MOST: usize = 8;

/// Beginnings of lines that no prose has. What ends in a blank or a bracket needs nothing behind it.
const ANCHORS: [&str; 17] = [
    "read: IOPS=",
    "write: IOPS=",
    "read : io=",
    "write: io=",
    "clat (",
    "slat (",
    "issued rwt",
    "issued    :",
    "IO depths    :",
    "Timing cached reads:",
    "Timing buffered disk reads:",
    "Children see throughput for",
    "Name:Size etc",
    "Machine        Size",
    "1.96,1.96,",
    "1.97,1.97,",
    "1.98,2.00",
];

/// The text without what stands before the lines of a tool, and what stands behind that: a quotation may have been
/// commented out. There are as many lines as before.
pub(crate) fn bare(body: &str) -> Cow<'_, str> {
    levels(body).pop().unwrap_or(Cow::Borrowed(body))
}

/// The text as it is, without what stands before its lines, without what stood behind that, and so on: lines may have been
/// broken between any two of these.
pub(crate) fn levels(body: &str) -> Vec<Cow<'_, str>> {
    /// A comment, a quotation in it, a log in that, and a comment and a quotation in the log.
    const DEEPEST: usize = 5;
    let mut all = vec![Cow::Borrowed(body)];
    while all.len() <= DEEPEST {
        let bare = all.last().and_then(|last| {
            let bare = beside_moved_up(last, once);
            (bare.len() != last.len()).then_some(bare)
        });
        let Some(bare) = bare else { break };
        all.push(Cow::Owned(bare));
    }
    all
}

fn once(body: &str) -> String {
    let mut lines: Vec<Cow<'_, str>> = body.lines().map(Cow::Borrowed).collect();
    let cuts = before::cuts(&lines, before::OF_RESULTS);
    let shapes = shapes(body);
    if shapes.is_empty() && cuts.iter().all(|cut| *cut == 0) {
        return body.to_owned();
    }
    for (line, cut) in lines.iter_mut().zip(cuts) {
        // One thing after another: behind the mark of a comment the stamps of a log tell which lines were broken.
        let rest = match cut {
            0 => shapes.iter().find_map(|shape| behind(line, shape)),
            cut => line.get(cut..),
        };
        if let Some(rest) = rest {
            *line = Cow::Owned(rest.to_owned());
        }
    }
    // Behind a comment may stand a quotation or a fence.
    unmarked(&mut lines);
    joined(&lines, body.len())
}

/// What stands before lines of tools, digits as `0`, the longest first.
fn shapes(body: &str) -> Vec<String> {
    let anchors: Vec<&str> = ANCHORS.into_iter().filter(|anchor| is_in(&[anchor], body)).collect();
    if anchors.is_empty() && !is_in(&OF_DD, body) {
        return Vec::new();
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for before in body.lines().filter_map(|line| before(line, &anchors)) {
        *seen.entry(shape(before)).or_default() += 1;
    }
    let mut all: Vec<String> =
        seen.into_iter().filter(|(_, count)| *count >= FEWEST).map(|(shape, _)| shape).collect();
    all.sort_by_key(|shape| std::cmp::Reverse(shape.len()));
    all.truncate(MOST);
    all
}

/// What stands before the tool's own words; `None` where that is nothing, or words alone, which are of the line.
fn before<'l>(line: &'l str, anchors: &[&str]) -> Option<&'l str> {
    let at = anchors.iter().filter_map(|anchor| line.find(anchor)).chain(of_dd(line)).min()?;
    let before = line.get(..at)?;
    let is_apart = before.ends_with(|c: char| !c.is_alphanumeric());
    let before = before.trim();
    // The name of what was measured is no stamp.
    let is_device = before.starts_with("/dev/");
    let is_stamp = before.contains(|c: char| !c.is_alphabetic() && !c.is_whitespace()) && !is_device;
    (is_apart && is_stamp && before.len() <= LONGEST).then_some(before)
}

/// What lines of dd have behind their number.
const OF_DD: [&str; 2] = [" records ", " bytes ("];

/// Where a line of dd begins: `512+0 records in`, `N bytes (`.
fn of_dd(line: &str) -> Option<usize> {
    let [records, bytes] = OF_DD;
    let (at, is_number): (usize, fn(char) -> bool) = match (line.find(records), line.find(bytes)) {
        (Some(at), _) => (at, |c| c.is_ascii_digit() || c == '+'),
        (_, at) => (at?, |c| c.is_ascii_digit()),
    };
    let number = line.get(..at)?.trim_end_matches(is_number).len();
    (number < at).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stamps_and_marks_before_lines_of_tools_are_taken_away() {
        let body = "20:22:23 DEBUG| [stdout] j: (groupid=6, jobs=1): err= 0: pid=7\n\
            20:22:23 DEBUG| [stdout]   read: IOPS=185, BW=92.7MiB/s\n\
            20:22:24 DEBUG| [stdout]     clat (usec): min=49\n";
        assert_eq!(
            bare(body),
            " j: (groupid=6, jobs=1): err= 0: pid=7\n   read: IOPS=185, BW=92.7MiB/s\n     clat (usec): min=49\n"
        );
        let body = "%   ## dd if=a\n%   1 bytes (1 B) copied\n%\n%   22 bytes (1 B) copied\nx\n";
        assert_eq!(bare(body), "   ## dd if=a\n   1 bytes (1 B) copied\n\n   22 bytes (1 B) copied\nx\n");
    }

    #[test]
    fn a_log_that_was_commented_out_is_a_log_before_it_is_bare() {
        let line = |at: usize, text: &str| format!("## Nov 23 09:00:1{at} host1 bench[9{at}]: {text}\n");
        let body: String = ["  write: IOPS=1", "  write: IOPS=2", "> > a", "  > b"]
            .iter()
            .zip(0..)
            .map(|(text, at)| line(at, text))
            .collect();
        let all = levels(&body);
        assert!(
            all.iter().any(|one| one
                .trim_start()
                .starts_with("Nov 23 09:00:10 host1 bench[90]:   write: IOPS=1\n")),
            "{all:?}"
        );
        assert_eq!(all.last().map(|one| one.lines().next()), Some(Some("   write: IOPS=1")));
    }

    #[test]
    fn what_a_tool_printed_itself_stays() {
        for body in [
            "  read: IOPS=1\n  write: IOPS=2\n    clat (usec): min=1\n    clat (usec): min=1\n",
            "1+0 records in\n1+0 records out\n512 bytes (512 B) copied\n",
            "$ dd if=a of=b\nx: 512 bytes (512 B) copied\n",
            "/dev/md1 512 bytes (512 B) copied\n/dev/md2 512 bytes (512 B) copied\n/dev/md0:\n",
        ] {
            assert_eq!(bare(body), body);
        }
    }

    proptest! {
        #[test]
        fn lines_are_neither_added_nor_removed(body in "([0-9:|#/ ]{0,6}(read: IOPS=|[0-9]{1,3} bytes \\(|x)\\PC{0,9}\n){0,9}") {
            prop_assert_eq!(bare(&body).lines().count(), body.lines().count());
        }
    }
}
