//! Lines that a mail program or a terminal broke.
//!
//! Where a line ends because the next word had no room and where because the tool ended it cannot always be told. So of
//! results both readings are made, and at each place the one that says more is kept.

use super::before::{self, Before, behind_marks};
use super::{Text, indent, numbered};

/// No mail program breaks lines before 72 characters; where none of the rest is long, they are shorter.
const NARROWEST: usize = 40;

/// Mail programs break lines at 72 characters and more; those that were quoted once or twice are this long at the longest.
pub(crate) const USUAL: usize = 66;

/// Longer lines than this are in no text that was broken.
const WIDEST: usize = 100;

/// No more blanks are lost where a line of a table was broken.
const LOST: usize = 14;

/// So many pieces are made of a line.
const MOST_PIECES: usize = 3;

/// No line of a tool is longer, so that a hostile text costs no more than its length.
const LONGEST: usize = 2000;

/// So many kinds of stamps are told apart in one text.
const KINDS: usize = 16;

/// The width at which a terminal broke lines wherever they were: none is longer, and several are just as long.
pub(crate) fn terminal_width(text: &Text) -> Option<usize> {
    /// No terminal is narrower, and fewer lines are as long as the longest by chance.
    const LEAST: usize = 60;
    const FEWEST: usize = 3;
    let widths = || text.lines().map(|(_, line)| line.chars().count());
    let widest = widths().max().filter(|widest| *widest >= LEAST)?;
    (widths().filter(|width| *width == widest).count() >= FEWEST).then_some(widest)
}

/// Whether the first word of `next` had no room in a line above it that is so long.
pub(crate) fn had_no_room(above: usize, next: &str, width: usize) -> bool {
    let word = next.split_whitespace().next().map_or(0, |word| word.chars().count());
    above + 1 + word > width
}

/// A text with its lines whole again.
pub(crate) struct Whole {
    pub(crate) body: String,
    /// The line of the original where each begins, from 1.
    numbers: Vec<usize>,
    /// Whether its lines are as long as mail programs leave them, and none was taken for broken that had room.
    pub(crate) is_sure: bool,
    /// How long what its last line was put together of is.
    length: usize,
}

impl Whole {
    fn new(is_sure: bool) -> Self {
        Self { body: String::new(), numbers: Vec::new(), is_sure, length: 0 }
    }

    fn begin(&mut self, number: usize, line: &str) {
        if !self.numbers.is_empty() {
            self.body.push('\n');
        }
        self.numbers.push(number);
        self.body.push_str(line);
        self.length = line.len();
    }

    fn go_on(&mut self, line: &str) {
        self.body.push(' ');
        self.body.push_str(line);
        self.length += line.len();
    }

    /// Whether any of so many lines was put to another.
    fn finished(mut self, lines: usize) -> Option<Self> {
        self.body.push('\n');
        (self.numbers.len() < lines).then_some(self)
    }

    /// The readings of a text, if there is a width at which it may have been broken. Blanks at the place of a break are gone,
    /// so that a line of a table may be shorter than the width by some more.
    pub(crate) fn all(body: &str) -> impl Iterator<Item = Self> {
        /// Texts of this length are logs that were not mailed as text.
        const LARGEST: usize = 128 << 10;
        const SLACK: [usize; 3] = [0, 6, LOST];
        SLACK.into_iter().filter(|_| body.len() <= LARGEST).filter_map(|slack| Self::of(body, slack))
    }

    fn of(body: &str, slack: usize) -> Option<Self> {
        let (numbers, lines): (Vec<usize>, Vec<&str>) = numbered(body).unzip();
        let width = width(&lines).filter(|width| (NARROWEST..=WIDEST).contains(width))?;
        if slack > 0 && width < USUAL {
            return None;
        }
        let mut whole = Self::new(slack == 0 && width >= USUAL);
        let (mut above, mut first) = ("", "");
        let margins = margins(&lines);
        for ((number, line), margin) in numbers.into_iter().zip(lines.iter().copied()).zip(margins) {
            // What was broken goes on at the left, and never further to the right than it began.
            let is_at_margin = indent(line) == margin && indent(line) <= indent(first);
            let is_new = || start(line).is_some_and(|one| start(first) == Some(one));
            let may_go_on = (1..LONGEST).contains(&whole.length) && is_at_margin && !is_new();
            // A line that is too long was not broken: it has no blank where it could have been.
            let is_whole = above.chars().count() > width && above.trim_start().contains(' ');
            if may_go_on && !is_whole && is_full(above, line, width - slack) {
                whole.go_on(line.trim_start());
            } else {
                whole.begin(number, line);
                first = line;
            }
            above = line;
        }
        whole.finished(lines.len())
    }

    /// The text of a log whose lines were broken: what begins without the stamp that its lines begin with goes on with the line
    /// above. `None` if it is no log, if no line of it was broken, or if a line had room where it goes on.
    pub(crate) fn of_log(body: &str) -> Option<Self> {
        let lines: Vec<&str> = body.lines().collect();
        let stamped = stamped(&lines)?;
        let width = width(&lines).filter(|width| (NARROWEST..=WIDEST).contains(width))?;
        let first = stamped.iter().position(|is| *is)?;
        let last = stamped.iter().rposition(|is| *is)?;
        let filled = lines.get(first..=last)?.iter().filter(|line| !line.trim().is_empty()).count();
        // No line of a log is broken into more pieces: a stamp that stands more rarely is a line of its own.
        if MOST_PIECES * stamped.iter().filter(|is| **is).count() < filled {
            return None;
        }
        let goes_on = last_line_goes_on(&lines, &stamped, width);
        let mut whole = Self::new(true);
        let (mut above, mut is_over) = (0, false);
        for ((at, line), is_stamped) in lines.iter().enumerate().zip(stamped) {
            let is_empty = line.trim().is_empty();
            if is_empty && at > first && at < last.max(goes_on) && !is_stamped {
                continue;
            }
            // What stands behind the end of its last line is no log.
            let may_go_on = at > first && !is_stamped && !is_empty && whole.length < LONGEST && !is_over;
            // Blanks at the end of a line are gone where it was broken.
            if may_go_on && had_no_room(above, line, width / 2) {
                let bare = behind_marks(line);
                let is_bare = bare.starts_with(char::is_alphanumeric);
                whole.go_on(if is_bare { bare } else { line.trim_start() });
            } else if may_go_on && at < last {
                return None;
            } else {
                whole.begin(at + 1, line);
                is_over = at > last;
            }
            above = line.chars().count();
        }
        whole.finished(lines.len())
    }

    /// The line of the original where one of these lines begins.
    pub(crate) fn place(&self, line: usize) -> usize {
        line.checked_sub(1).and_then(|at| self.numbers.get(at)).copied().unwrap_or(line)
    }

    /// The last line of the original that the line which begins at `line` was put together of.
    pub(crate) fn end_of(&self, line: usize) -> usize {
        let next = self.numbers.partition_point(|begin| *begin <= line);
        self.numbers.get(next).map_or(usize::MAX, |next| next - 1)
    }

    /// The first line of the original that the line with `line` in it was put together of.
    pub(crate) fn begin_of(&self, line: usize) -> usize {
        let next = self.numbers.partition_point(|begin| *begin <= line);
        next.checked_sub(1).and_then(|at| self.numbers.get(at)).copied().unwrap_or(line)
    }
}

/// The stamp, host or mark that a line begins with.
fn start(line: &str) -> Option<Before<'_>> {
    before::of_results(line).map(|(start, _)| start)
}

/// Which lines begin with the stamp or host that most of them do; `None` where too few do to be a log.
fn stamped(lines: &[&str]) -> Option<Vec<bool>> {
    let starts: Vec<Option<Before<'_>>> = lines.iter().map(|line| start(line)).collect();
    let mut counts: Vec<(&Before<'_>, usize)> = Vec::new();
    for start in starts.iter().flatten().filter(|start| !matches!(start, Before::Mark(_))) {
        if let Some((_, count)) = counts.iter_mut().find(|(one, _)| *one == start) {
            *count += 1;
        } else if counts.len() < KINDS {
            counts.push((start, 1));
        }
    }
    let (most, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (count >= before::FEWEST).then(|| starts.iter().map(|start| start.as_ref() == Some(most)).collect())
}

/// The place of what the last line of a log goes on with behind the empty lines that a mail program's encoding left, as it
/// did within the log; the first line if it does not.
fn last_line_goes_on(lines: &[&str], stamped: &[bool], width: usize) -> usize {
    let is_empty = |at: usize| lines.get(at).is_some_and(|line| line.trim().is_empty());
    let is_rest = |at: usize| !is_empty(at) && stamped.get(at) == Some(&false);
    let is_left = |at: usize| is_empty(at) && stamped.get(at) == Some(&false) && is_rest(at + 1);
    let ends = || (0..lines.len()).filter(|at| stamped.get(*at) == Some(&true));
    let (Some(first), Some(last)) = (ends().next(), ends().next_back()) else { return 0 };
    let Some(rest) = (last + 1..lines.len()).find(|at| !is_empty(*at)) else { return 0 };
    let has_left = (first..last).any(is_left);
    let is_full = |above: &&str| is_full(above, lines.get(rest).unwrap_or(&""), width.saturating_sub(LOST));
    if has_left && lines.get(last).is_some_and(is_full) { rest } else { 0 }
}

/// The width of the widest line that could have been broken: no mail program breaks one within its first word.
fn width(lines: &[&str]) -> Option<usize> {
    let can_break = |line: &&&str| {
        let bare = line.trim_start();
        bare.split_once(' ').is_some_and(|(word, _)| line.len() - bare.len() + word.len() < USUAL)
    };
    lines.iter().filter(can_break).map(|line| line.chars().count()).max()
}

/// The margin of each line: the least indent of the block that it stands in. A block that somebody set off has one of its own.
fn margins(lines: &[&str]) -> Vec<usize> {
    let is_set_off = |line: &&str| line.trim().is_empty() || indent(line) > 0;
    let blocks = lines.chunk_by(|a, b| is_set_off(a) == is_set_off(b));
    blocks
        .flat_map(|block| {
            let filled = block.iter().filter(|line| !line.trim().is_empty());
            let least = filled.map(|line| indent(line)).min().unwrap_or(0);
            std::iter::repeat_n(least, block.len())
        })
        .collect()
}

/// Whether the first word of `next` had no room in the line above it. Rulers are not broken and not gone on with.
fn is_full(above: &str, next: &str, width: usize) -> bool {
    above.contains(char::is_alphanumeric) && had_no_room(above.chars().count(), next, width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Measured, Page, read};

    #[test]
    fn what_an_encoding_broke_besides_is_no_end_of_a_block() {
        let mail = "   READ: io=3D8192.0MB, aggrb=3D7454.5MB/s, minb=3D7454.5MB/s, maxb=3D7454.=\n\
            5MB/s,\nmint=3D1099msec, maxt=3D1099msec\n";
        let text = crate::capture::Text::new("x", mail.as_bytes());
        let whole = Whole::of(text.body(), 0).unwrap();
        assert!(whole.body.contains("maxb=7454.5MB/s, mint=1099msec"), "{}", whole.body);
        assert_eq!(whole.numbers, [1]);
    }

    #[test]
    fn lines_that_had_no_room_are_whole_and_keep_their_numbers() {
        let body = "short\nx: (groupid=0, jobs=1): err= 0: pid=16019: Wed Nov  7 17:27:09\n2018\n  read : io=1000.0MB, bw=5586.7MB/s\nlast\n";
        let whole = Whole::of(body, 0).expect("broken");
        let lines: Vec<&str> = whole.body.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[1].ends_with("17:27:09 2018"), "{lines:?}");
        assert_eq!(whole.numbers, [1, 2, 4, 5]);
        assert!(Whole::of("a\nb\n", 0).is_none());
        let quoted: String = body.lines().map(|line| format!("    {line}\n")).collect();
        let whole = Whole::of(&quoted, 0).expect("broken");
        assert!(
            whole.body.lines().nth(1).is_some_and(|line| line.ends_with("17:27:09 2018")),
            "{}",
            whole.body
        );
    }

    #[test]
    fn a_line_that_cannot_be_broken_does_not_hide_the_width() {
        let long = format!("{} -t 47008 -b 47008", "file=/a/b/".repeat(10));
        let body = format!(
            "{long}\nMachine: Linux\nx: (groupid=0, jobs=1): err= 0: pid=16019: Wed Nov  7 17:27:09\n2018\n"
        );
        let whole = Whole::of(&body, 0).expect("broken");
        assert_eq!(whole.numbers, [1, 2, 3]);
        assert!(whole.body.ends_with("17:27:09 2018\n"), "{}", whole.body);
    }

    #[test]
    fn rows_of_a_narrow_table_are_not_joined() {
        let body = "fio Disk Speed Tests (Mixed R/W 50/50):\n---------------------------------\nBlock Size | 4kb           (IOPS) | 64kb          (IOPS)\n  ------   | ---            ----  | ----           ----\nRead       | 2.48 MB/s      (621) | 32.68 MB/s     (510)\nWrite      | 2.49 MB/s      (624) | 33.06 MB/s     (516)\nTotal      | 4.98 MB/s     (1.2k) | 65.74 MB/s    (1.0k)\n";
        let found = read(&Page { name: "x", body });
        let all: Vec<_> = found.iter().flat_map(|one| &one.measurements).flat_map(Measured::sides).collect();
        assert_eq!((found.len(), all.len()), (1, 4), "{found:?}");
    }

    #[test]
    fn lines_of_a_log_without_their_stamp_go_on_with_the_line_above() {
        let row = |at: usize, end: &str| {
            format!(
                "09:00:0{at} DEBUG| [stdout] [  5]   0.00-30.00  sec  45.8 GBytes  13.{at}\nGbits/sec  {end}\n"
            )
        };
        let head = "09:00:03 DEBUG| [stdout] [ ID] Interval           Transfer     Bitrate\nRetr\n09:00:03 DEBUG| [stdout] ...\n";
        let body =
            format!("{head}{}{}09:00:09 DEBUG| [stdout]\n", row(1, "4369   sender"), row(0, "receiver"));
        let whole = Whole::of_log(&body).expect("a log");
        assert_eq!(whole.numbers, [1, 3, 4, 6, 8]);
        let found = read(&Page { name: "x", body: &body });
        let rate = found[0].measurements[0].network.as_ref().map(|side| side.bytes_per_second.get());
        assert_eq!((rate, found[0].measurements[0].line), (Some(13.0e9 / 8.0), 6));
        // What had room was no part of the line above: it is no log, or not only.
        assert!(Whole::of_log(&body.replace("...\n", "...\nshort\n")).is_none());
    }

    #[test]
    fn what_stands_behind_a_log_is_not_joined() {
        let log: String = (0..4).map(|at| format!("Nov 23 09:00:0{at} host1 bench[99]: a\n")).collect();
        let rest = "\nconsole:/ # echo 3 > /proc/sys/vm/drop_caches\nconsole:/ # dd if=/mnt/super.img of=/dev/null\n";
        assert!(Whole::of_log(&format!("{log}{rest}")).is_none());
        let broken =
            format!("{log}Nov 23 09:00:09 host1 bench[99]: a line of a log that was\nbroken\n{rest}");
        let whole = Whole::of_log(&broken).expect("a log");
        assert_eq!(whole.body.lines().skip(4).map(str::len).collect::<Vec<_>>(), [64, 0, 45, 45]);
    }

    #[test]
    fn the_last_line_of_a_log_goes_on_behind_what_an_encoding_left_empty() {
        let row = |at: usize, rate: &str| {
            format!(
                "[    0.79993{at}] Random 4 KiB (Q= 8, T= 1):   {rate} MB/s [    529.8\n\nIOPS] < 14415.61 us>\n"
            )
        };
        let body = format!(
            "[    0.599940] KDiskMark (1.6.0): x\n[    0.599946] [Read]\n{}[    0.699946] [Write]\n{}\nWhat limits it?\n",
            row(1, "542.516"),
            row(2, "452.596")
        );
        let found = read(&Page { name: "x", body: &body });
        let sides: Vec<_> = found[0].measurements.iter().flat_map(Measured::sides).collect();
        assert_eq!(sides.len(), 2, "{found:?}");
        assert!(sides.iter().all(|(_, side)| side.latency_ns.is_some()), "{found:?}");
    }
}
