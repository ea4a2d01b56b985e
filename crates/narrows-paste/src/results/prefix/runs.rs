//! Lines that follow each other and begin alike, whatever stands in them: a block that was commented out, the lines of a
//! log, or what a tool that runs commands on several hosts puts before each line.

use super::shape;

/// Fewer lines than this may begin alike by chance.
const FEWEST: usize = 4;

/// So many kinds of stamps are told apart in one text.
const KINDS: usize = 16;

/// Marks of comments and quotations.
const MARKS: [&str; 6] = ["#", "//", "%", "*", ">", "|"];

/// What fio prints behind a bar of its own.
const PERCENTILE: &str = "th=[";

/// Those of them that may stand close to the text.
const CLOSE: [&str; 3] = ["#", "//", ">"];

/// What IO500 begins each line of a summary with looks like a part of a stamp.
const OWN: &str = "[RESULT";

/// How far a line is looked at, in bytes: longer stamps there are none.
const FAR: usize = 120;

/// What a line begins with that others may, too.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Start<'l> {
    Mark(&'static str),
    Host(&'l str),
    /// The seconds since the machine began, in brackets.
    Uptime,
    /// The shape of what stands up to a time of day, and of that.
    Time(String),
}

/// Whether a line begins as another does: both are whole lines of one log.
pub(super) fn is_alike(line: &str, other: &str) -> bool {
    Start::of(line).is_some_and(|start| Start::of(other) == Some(start))
}

/// Which lines begin with the stamp or host that most of them do; `None` where too few do.
pub(super) fn stamped(body: &str) -> Option<Vec<bool>> {
    let starts: Vec<Option<Start<'_>>> = body.lines().map(Start::of).collect();
    let mut counts: Vec<(&Start<'_>, usize)> = Vec::new();
    for start in starts.iter().flatten().filter(|start| !matches!(start, Start::Mark(_))) {
        if let Some((_, count)) = counts.iter_mut().find(|(one, _)| *one == start) {
            *count += 1;
        } else if counts.len() < KINDS {
            counts.push((start, 1));
        }
    }
    let (most, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let most = most.clone();
    (count >= FEWEST).then(|| starts.iter().map(|start| *start == Some(most.clone())).collect())
}

/// For each line how many bytes of it to take away.
pub(super) fn cuts(body: &str) -> Vec<usize> {
    let lines: Vec<&str> = body.lines().collect();
    let mut cuts = vec![0; lines.len()];
    let mut begin = 0;
    while begin < lines.len() {
        let Some(start) = lines.get(begin).and_then(|line| Start::of(line)) else {
            begin += 1;
            continue;
        };
        let is_alike = |line: &&&str| line.trim().is_empty() || Start::of(line).as_ref() == Some(&start);
        let run = lines.iter().skip(begin).take_while(is_alike).count();
        let (Some(run_lines), Some(run_cuts)) =
            (lines.get(begin..begin + run), cuts.get_mut(begin..begin + run))
        else {
            break;
        };
        if run_lines.iter().filter(|line| !line.trim().is_empty()).count() >= FEWEST {
            start.cut(run_lines, run_cuts);
        }
        begin += run;
    }
    cuts
}

impl<'l> Start<'l> {
    fn of(line: &'l str) -> Option<Self> {
        let bare = line.trim_start();
        let ends = |rest: &str| rest.is_empty() || rest.starts_with(char::is_whitespace);
        let is_marked =
            |mark: &&str| bare.strip_prefix(*mark).is_some_and(|rest| ends(rest) || CLOSE.contains(mark));
        if let Some(mark) = MARKS.into_iter().find(is_marked) {
            return Some(Self::Mark(mark));
        }
        if uptime(bare).is_some() {
            return Some(Self::Uptime);
        }
        let head = head(bare, FAR);
        if let Some(at) = head.find(':').filter(|at| head.get(at + 1..).is_some_and(ends)) {
            let word = head.get(..at)?;
            let is_host = word.contains(|c: char| c.is_ascii_digit() || c == '-')
                && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'));
            if is_host {
                return Some(Self::Host(word));
            }
        }
        if !is_time(head) {
            return None;
        }
        let shape = shape(head);
        let end = shape.find("0:0:0")? + 5;
        shape.get(..end).map(|shape| Self::Time(shape.to_owned()))
    }

    /// Says how much of each line of a run is what they begin with.
    fn cut(&self, lines: &[&str], cuts: &mut [usize]) {
        let common = match self {
            Self::Mark(mark) if is_frame(mark, lines) && !is_before_marks(mark, lines) => return,
            Self::Mark("|") if lines.iter().any(|line| line.contains(PERCENTILE)) => return,
            Self::Mark(mark) => (*mark).to_owned(),
            Self::Uptime => {
                for (line, cut) in lines.iter().zip(cuts) {
                    *cut = uptime(line.trim_start()).map_or(0, |rest| line.len() - rest.len());
                }
                return;
            }
            Self::Host(word) => format!("{}:", shape(word)),
            Self::Time(time) => match stamp(time, lines) {
                Some(stamp) => stamp,
                None => return,
            },
        };
        for (line, cut) in lines.iter().zip(cuts) {
            *cut = super::behind(line, &common).map_or(0, |rest| line.len() - rest.len());
        }
    }
}

/// Whether lines are a frame that a tool draws around its name: it has the mark at both ends.
fn is_frame(mark: &str, lines: &[&str]) -> bool {
    let filled = || lines.iter().map(|line| line.trim()).filter(|line| line.len() > mark.len());
    2 * filled().filter(|line| line.ends_with(mark)).count() >= filled().count()
}

/// Whether another mark follows in each line: what was quoted was quoted again.
fn is_before_marks(mark: &str, lines: &[&str]) -> bool {
    let is_marked = |rest: &str| matches!(Start::of(rest), Some(Start::Mark(_)));
    let mut rests = lines
        .iter()
        .filter_map(|line| line.trim_start().strip_prefix(mark))
        .filter(|rest| !rest.trim().is_empty());
    rests.all(is_marked)
}

/// What follows `[   12.345678] `.
fn uptime(line: &str) -> Option<&str> {
    let (inside, rest) = line.strip_prefix('[')?.split_once(']')?;
    let (seconds, parts) = inside.trim_start().split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_uptime = is_number(seconds) && is_number(parts) && parts.len() >= 3;
    (is_uptime && (rest.is_empty() || rest.starts_with(' '))).then_some(rest)
}

/// Whether the first three numbers with colons between them are a time: the address of a PCI device begins with four digits.
fn is_time(head: &str) -> bool {
    let mut words =
        head.split(|c: char| !c.is_ascii_digit() && c != ':').map(|word| word.trim_start_matches(':'));
    let first = words.find(|word| word.split(':').filter(|part| !part.is_empty()).count() >= 3);
    first.and_then(|word| word.split(':').next()).is_some_and(|hours| hours.len() < 4)
}

/// The beginning of a text, of at most so many bytes.
fn head(text: &str, most: usize) -> &str {
    (0..=most.min(text.len())).rev().find_map(|end| text.get(..end)).unwrap_or_default()
}

/// The shape of what all lines of a log begin with: up to a colon, bar or bracket behind the time. Where none stands there
/// the time is a column of a table.
fn stamp(time: &str, lines: &[&str]) -> Option<String> {
    let mut shapes = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| {
        let bare = line.trim_start();
        shape(head(bare, FAR))
    });
    let mut common = shapes.next()?;
    for shape in shapes {
        let same = common.char_indices().zip(shape.chars()).find(|((_, a), b)| a != b);
        let end = same.map_or(common.len().min(shape.len()), |((at, _), _)| at);
        common.truncate(head(&common, end).len());
    }
    if let Some(own) = common.find(OWN) {
        common.truncate(own);
    }
    let behind = common.get(time.len()..)?;
    let is_end =
        |at: usize| behind.get(at + 1..).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    let end = behind.rmatch_indices([':', '|', ']']).map(|(at, _)| at).find(|at| is_end(*at));
    let length = match end {
        Some(end) => end + 1,
        // A date and a time together are no column of a tool's table.
        None => fraction_and_zone(behind).filter(|_| time.contains("0-0-0"))?,
    };
    common.get(..time.len() + length).map(str::to_owned)
}

/// How long the shape of `.123456Z` or `,123+01:00` behind a time is, where a blank follows.
fn fraction_and_zone(behind: &str) -> Option<usize> {
    let end = behind.find(' ').unwrap_or(behind.len());
    behind.get(..end)?.bytes().all(|byte| b"0.,:+-Z".contains(&byte)).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(body: &str) -> Vec<&str> {
        body.lines().zip(cuts(body)).map(|(line, cut)| &line[cut..]).collect()
    }

    #[test]
    fn blocks_of_comments_logs_and_hosts_are_bare() {
        assert_eq!(cut("x\n# a\n#  b\n#\n# c\ny"), ["x", " a", "  b", "", " c", "y"]);
        assert_eq!(
            cut("| > |a|\n| > |b|\n| >\n| > |c|\n| > |d|"),
            [" > |a|", " > |b|", " >", " > |c|", " > |d|"]
        );
        let log = "09:00:01 DEBUG| [out] a\n09:00:02 DEBUG| [out] b: 1\n\n10:00:02 DEBUG| [out] {\n10:00:02 DEBUG| [out] 5\n";
        assert_eq!(cut(log), [" a", " b: 1", "", " {", " 5"]);
        assert_eq!(cut(&"node-17: 5 MB\n".repeat(4)), [" 5 MB"; 4]);
        assert_eq!(cut("#a\n#  b\n#\n#\tc\n#d"), ["a", "  b", "", "\tc", "d"]);
        assert_eq!(cut("//a\n//b\n//  c *\n//d"), ["a", "b", "  c *", "d"]);
        assert_eq!(
            cut("[   9.123456] a\n[  10.000001] b\n[  11.5555]\n[ 99.123]  c"),
            [" a", " b", "", "  c"]
        );
        let dated = "2021-11-23T09:00:00.5Z a\n2021-11-23T09:00:01.123Z  2\n2021-11-23T09:00:01.123Z\n2021-11-23T09:00:01.123Z c";
        assert_eq!(cut(dated), [" a", "  2", "", " c"]);
    }

    #[test]
    fn tables_with_times_disks_and_short_comments_stay() {
        for body in [
            "13:45:01.000 1 100.0\n13:45:02.000 2 100.0\n13:45:03.000 3 100.1\n13:45:04.000 4 9\n",
            "  nvme0n1: ios=1\n  nvme1n1: ios=1\n  nvme2n1: ios=1\n  nvme3n1: ios=1\n",
            "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n",
            "     |  1.00th=[    2],  5.00th=[    2],\n     | 30.00th=[    4]\n     | 80.00th=[   15]\n     | 99.95th=[  100]\n",
            "# ## ## #\n#  Bench #\n# v2020 #\n# ## ## #\n",
            "# one\n# two\ntext\n# three\n# four\n",
            "PCIE (0000:04:00.0) core 0: 1\nPCIE (0000:41:00.0) core 0: 2\nPCIE (0000:42:00.0) core 0: 3\nPCIE (0000:86:00.0) core 0: 4\n",
        ] {
            assert!(cuts(body).iter().all(|cut| *cut == 0), "{body}");
        }
    }
}
