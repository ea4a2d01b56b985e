//! What programs and people put before each line: the number of `cat -n`, `grep -n` and editors, the file name of `grep`
//! over several files, the `#` of a comment; and before lines of results the stamps of a log, or the name of the host that
//! a line is from.
//!
//! Only what a whole run of lines has is taken away. Tables count their rows, too: there digits follow the count.

use std::borrow::Cow;

use super::stamp::{self, behind, shape};

/// What stands before a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Before<'l> {
    /// A count and a tab, or a bar.
    Counted(u64),
    /// A count and blanks.
    Set(u64),
    /// A count and a colon, as `grep -n` prints it.
    Found(u64),
    /// A count and a dash, as `grep -n -A` prints the lines around.
    Around(u64),
    /// The name of a file and a colon.
    Name(&'l str),
    /// The name of a file and a count, each with a colon, as `grep -Hn` prints them.
    Listed(&'l str, u64),
    /// The mark of a comment before words.
    Comment,
    /// The mark of a comment or a quotation, whatever follows.
    Mark(&'static str),
    /// The name of a host and a colon.
    Host(&'l str),
    /// The seconds since the machine began, in brackets.
    Uptime,
    /// The shape of what stands up to a time of day, and of that.
    Time(String),
}

/// What stands before a line, and what follows.
type Split = for<'l> fn(&'l str) -> Option<(Before<'l>, &'l str)>;

/// What may stand before lines of every output; in a run of lines the first counts that all of them have.
const OF_ALL: &[Split] = &[listed, before];

/// What may stand before lines of results, which do not begin so themselves.
pub(super) const OF_RESULTS: &[Split] = &[of_results];

/// Fewer lines of results than this may begin alike by chance.
pub(super) const FEWEST: usize = 4;

/// How far a line is looked at, in bytes: longer stamps there are none.
const FAR: usize = 120;

/// Takes it away, of as many levels as `grep -Hn` has.
pub(super) fn strip(lines: &mut [Cow<'_, str>]) {
    const DEEPEST: usize = 3;
    for _ in 0..DEEPEST {
        let cuts = cuts(lines, OF_ALL);
        if cuts.iter().all(|cut| *cut == 0) {
            return;
        }
        for (line, cut) in lines.iter_mut().zip(cuts).filter(|(_, cut)| *cut > 0) {
            *line = Cow::Owned(line.get(cut..).unwrap_or_default().to_owned());
        }
    }
}

/// For each line how many bytes of it to take away.
pub(super) fn cuts(lines: &[Cow<'_, str>], splits: &[Split]) -> Vec<usize> {
    let mut cuts = vec![0; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        let left = lines.get(at..).unwrap_or_default();
        // Nothing begins with an empty line.
        if left.first().is_some_and(|line| line.is_empty()) {
            at += 1;
            continue;
        }
        let mut runs = splits.iter().map(|split| run(left, *split));
        let mut longest = 1;
        let added = runs.find(|run| {
            longest = run.len().max(1);
            is_added(run, lines.len())
        });
        let blank = usize::from(added.as_ref().is_some_and(|run| is_apart(run)));
        for (cut, (_, line, rest)) in cuts.iter_mut().skip(at).zip(added.iter().flatten()) {
            *cut = line.len() - rest.len() + blank.min(rest.len());
        }
        at += longest;
    }
    cuts
}

type MarkedRow<'l> = (Before<'l>, &'l str, &'l str);

/// The lines from the first on that begin alike.
fn run<'l>(lines: &'l [Cow<'_, str>], split: Split) -> Vec<MarkedRow<'l>> {
    let mut rows: Vec<MarkedRow<'l>> = Vec::new();
    for line in lines {
        // Where a mail program's encoding broke a line, an empty one was put behind it.
        if let Some((last, _, _)) = rows.last().filter(|_| line.trim().is_empty()) {
            rows.push((last.clone(), line, line));
            continue;
        }
        let Some((before, rest)) = split(line) else { break };
        if rows.last().is_some_and(|(last, _, _)| !goes_on(last, &before)) {
            break;
        }
        rows.push((before, line, rest));
    }
    if let Some((Before::Time(time), ..)) = rows.first() {
        let stamp = common_stamp(time, &rows);
        for (_, line, rest) in &mut rows {
            *rest = stamp.as_ref().and_then(|stamp| behind(line, stamp)).unwrap_or(line);
        }
    }
    rows
}

fn goes_on(last: &Before<'_>, next: &Before<'_>) -> bool {
    match (last, next) {
        // An empty line has its count and nothing behind it.
        (Before::Counted(a) | Before::Set(a), Before::Counted(b) | Before::Set(b)) => {
            a.checked_add(1) == Some(*b)
        }
        (Before::Found(a) | Before::Around(a), Before::Found(b) | Before::Around(b)) => a < b,
        (Before::Listed(name, a), Before::Listed(other, b)) => name == other && a < b,
        (last, next) => last == next,
    }
}

/// The mark of a comment or a quotation at the beginning of a line, and what follows.
fn marked(line: &str) -> Option<(&'static str, &str)> {
    /// Those that may stand close to the text, and those that may not.
    const CLOSE: [&str; 3] = ["#", "//", ">"];
    const APART: [&str; 3] = ["%", "*", "|"];
    let close = CLOSE.into_iter().find_map(|mark| Some((mark, line.strip_prefix(mark)?)));
    let apart = || APART.into_iter().find_map(|mark| Some((mark, line.strip_prefix(mark)?)));
    close.or_else(|| apart().filter(|(_, rest)| rest.is_empty() || rest.starts_with(char::is_whitespace)))
}

/// What follows all marks of comments and quotations that stand before a line.
pub(crate) fn behind_marks(line: &str) -> &str {
    line.trim_start_matches(['#', '>', '*', '|', '%', '/', ' ', '\t'])
}

fn before(line: &str) -> Option<(Before<'_>, &str)> {
    let bare = line.trim_start_matches(' ');
    let comment = match marked(bare) {
        // The lines of JSON that begin at the margin are brackets, and strings where a mail program broke them.
        Some(("#", rest)) if rest.starts_with(|c: char| !" \t{}[]\"".contains(c)) => return None,
        Some(("#" | "//", rest)) => Some(rest),
        Some(("*", rest)) if rest.starts_with(' ') => Some(rest),
        // That of a line that a patch adds; a tree of `lspci -t` has a dash behind it.
        _ => bare.strip_prefix('+').filter(|rest| !rest.starts_with(['-', '+'])),
    };
    if let Some(rest) = comment {
        return Some((Before::Comment, rest.strip_prefix(' ').unwrap_or(rest)));
    }
    // What was counted may have been set off by a tab; a table that begins with one counts its own rows.
    let set_off = || counted(line.trim_start()).filter(|(before, _)| matches!(before, Before::Counted(_)));
    counted(bare).or_else(set_off).or_else(|| named(line))
}

/// What stands before a line of a result. Behind a time it is not told where it ends until others are seen.
pub(super) fn of_results(line: &str) -> Option<(Before<'_>, &str)> {
    let bare = line.trim_start();
    if let Some((mark, rest)) = marked(bare) {
        return Some((Before::Mark(mark), rest));
    }
    if let Some(rest) = stamp::behind_uptime(bare) {
        return Some((Before::Uptime, rest));
    }
    let head = head(bare, FAR);
    let host = head.split_once(':').filter(|(word, rest)| {
        stamp::is_host(word)
            && word.contains(|c: char| c.is_ascii_digit() || c == '-')
            && (rest.is_empty() || rest.starts_with(char::is_whitespace))
    });
    if let Some((word, _)) = host {
        return Some((Before::Host(word), bare.get(word.len() + 1..)?));
    }
    let shape = Some(head).filter(|head| stamp::has_clock(head)).map(shape)?;
    let end = shape.find("0:0:0")? + 5;
    Some((Before::Time(shape.get(..end)?.to_owned()), bare))
}

fn counted(bare: &str) -> Option<(Before<'_>, &str)> {
    /// Longer texts nobody pastes.
    const MOST_DIGITS: usize = 7;
    // `L12: `.
    let bare = bare.strip_prefix('L').filter(|rest| begins_with_digit(rest)).unwrap_or(bare);
    let rest = bare.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = bare.get(..bare.len() - rest.len()).filter(|digits| digits.len() <= MOST_DIGITS)?;
    let count: u64 = digits.parse().ok().filter(|_| !(digits.len() > 1 && digits.starts_with('0')))?;
    if let Some(rest) = rest.strip_prefix('\t') {
        return Some((Before::Counted(count), rest));
    }
    if let Some(rest) = [". ", ") "].iter().find_map(|mark| rest.strip_prefix(mark)) {
        return Some((Before::Counted(count), rest));
    }
    if let Some(rest) = rest.strip_prefix('-') {
        return Some((Before::Around(count), rest));
    }
    if let Some(rest) = rest.strip_prefix(':') {
        // A bus of PCI.
        let is_function = rest.as_bytes().get(2) == Some(&b'.');
        let is_hour = count < 24 && is_rest_of_time(rest);
        return (!is_function && !is_hour).then_some((Before::Found(count), rest));
    }
    let text = rest.trim_start_matches(' ');
    if let Some(text) = text.strip_prefix('│').or_else(|| text.strip_prefix("| ")) {
        return Some((Before::Counted(count), text.strip_prefix(' ').unwrap_or(text)));
    }
    let is_set = rest.is_empty() || rest.starts_with(' ');
    is_set.then(|| (Before::Set(count), rest.strip_prefix("  ").unwrap_or(text)))
}

/// Whether minutes and seconds stand here, and no function of PCI (`01:00.0`), so that the number before may be an hour.
fn is_rest_of_time(rest: &str) -> bool {
    let [a, b, b':', c, d, behind @ ..] = rest.as_bytes() else { return false };
    let is_function =
        matches!(behind, [b'.', number, ..] if number.is_ascii_digit()) && behind.get(2) == Some(&b' ');
    [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()) && !is_function && behind.first() != Some(&b':')
}

/// `dmesg.txt:`. Paths below `/sys` and `/proc` say what their value is, and servers have a directory behind their name.
fn named(line: &str) -> Option<(Before<'_>, &str)> {
    const LONGEST: usize = 120;
    let (name, rest) = line.trim_start().split_once(':')?;
    let file = name.rsplit('/').next()?;
    let (stem, end) = file.rsplit_once('.')?;
    let is_name = !stem.is_empty()
        && (1..=6).contains(&end.len())
        && end.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= LONGEST
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'/' | b'~'));
    let is_own = ["/sys/", "/proc/", "/dev/", "sys/", "proc/"].iter().any(|root| name.starts_with(root));
    (is_name && !is_own && !rest.starts_with('/')).then_some((Before::Name(name), rest))
}

/// `results.log:12:`. The time of a log may stand behind the name, too.
fn listed(line: &str) -> Option<(Before<'_>, &str)> {
    let (Before::Name(name), rest) = named(line)? else { return None };
    let (Before::Found(count), rest) = counted(rest)? else { return None };
    Some((Before::Listed(name, count), rest))
}

/// Whether somebody put that before a run, and it is no table, address or message.
fn is_added(run: &[MarkedRow<'_>], lines: usize) -> bool {
    let Some((first, _, _)) = run.first() else { return false };
    let rests = || run.iter().map(|(_, _, rest)| *rest).filter(|rest| !rest.trim().is_empty());
    let all = rests().count();
    let are = |is: fn(&str) -> bool| all > 0 && 2 * rests().filter(|rest| is(rest)).count() >= all;
    // So many counted lines from the first on, each behind a tab, are no table.
    let is_first = matches!(first, Before::Counted(1)) && rests().any(has_word);
    let is_listing = is_first && all >= 12;
    // A short text of which every line is counted.
    let is_whole = is_first && run.len() == lines;
    let is_around = |row: &MarkedRow<'_>| matches!(row.0, Before::Around(_));
    let least = match first {
        Before::Counted(1) if is_whole => 3,
        Before::Counted(_) => 5,
        Before::Set(_) => 8,
        Before::Found(_) | Before::Around(_) | Before::Name(_) | Before::Listed(..) => 3,
        Before::Comment => 5,
        Before::Mark(_) | Before::Host(_) | Before::Uptime | Before::Time(_) => FEWEST,
    };
    let fits = match first {
        Before::Name(_) => are(|rest| !rest.starts_with(' ')),
        // Nothing else prints a name with counts that rise, whatever follows.
        Before::Listed(..) => true,
        // What counts things itself has a blank behind each count.
        // Lines around a match alone are no output of grep: a range, a date or a port of USB has a dash, too.
        Before::Found(_) | Before::Around(_) if run.iter().any(is_around) && run.iter().all(is_around) => {
            false
        }
        Before::Found(_) | Before::Around(_) => {
            are(has_word) && rests().any(|rest| !rest.starts_with(' ')) || is_apart(run)
        }
        Before::Counted(_) | Before::Set(_) | Before::Comment => {
            is_listing || is_whole || are(|rest| has_word(rest) && !begins_with_digit(rest))
        }
        Before::Mark(mark) => !is_own(mark, run),
        Before::Host(_) | Before::Uptime | Before::Time(_) => true,
    };
    // Of a result the lines that have nothing behind it count, too.
    let is_of_result = matches!(first, Before::Mark(_) | Before::Host(_) | Before::Uptime | Before::Time(_));
    let filled = run.iter().filter(|(_, line, _)| !line.trim().is_empty()).count();
    (if is_of_result { filled } else { all }) >= least && fits
}

/// Whether each count and colon has a blank behind it (`1: 01:00.0 …`), and what follows is no count of a tool's own: most
/// lines begin as those of `lspci` or of a kernel log do.
fn is_apart(run: &[MarkedRow<'_>]) -> bool {
    const LEAST: usize = 3;
    let rests: Vec<&str> = run.iter().map(|(_, _, rest)| *rest).filter(|rest| !rest.is_empty()).collect();
    let is_found = matches!(run.first(), Some((Before::Found(_), ..)));
    // All lines of an output, counted from the first on.
    let is_whole = run.len() >= 12
        && (1..).zip(run).all(|(count, (before, ..))| *before == Before::Found(count))
        && 2 * rests.iter().filter(|rest| has_word(rest)).count() >= rests.len();
    is_found
        && rests.len() >= LEAST
        && rests.iter().all(|rest| rest.starts_with(' '))
        && (is_whole
            || 2 * rests.iter().filter(|rest| begins_as_output(rest.trim_start())).count() >= rests.len())
}

/// A function of PCI and a word, or the stamp of a kernel log.
fn begins_as_output(rest: &str) -> bool {
    let is_stamped =
        rest.strip_prefix('[').is_some_and(|inside| begins_with_digit(inside) && inside.contains(']'));
    let is_function = rest.split_once(' ').is_some_and(|(first, behind)| {
        let place =
            first.rsplit_once('.').filter(|(place, function)| place.contains(':') && function.len() == 1);
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':');
        place.is_some_and(|(place, function)| digits(place) && digits(function))
            && behind.starts_with(|c: char| c.is_ascii_alphabetic())
    });
    is_stamped || is_function
}

/// Whether a word of three letters stands near the beginning: hex dumps and tables of numbers have none.
fn has_word(rest: &str) -> bool {
    const NEAR: usize = 60;
    let mut letters = 0;
    rest.chars().take(NEAR).any(|c| {
        letters = if c.is_alphabetic() { letters + 1 } else { 0 };
        letters >= 3
    })
}

/// Whether a tool printed a mark itself: a frame has it at both ends, and fio a bar before percentiles. What was quoted may have
/// been quoted again.
fn is_own(mark: &str, run: &[MarkedRow<'_>]) -> bool {
    const PERCENTILE: &str = "th=[";
    let filled = || run.iter().filter(|(_, _, rest)| !rest.trim().is_empty());
    let is_framed =
        2 * filled().filter(|(_, line, _)| line.trim_end().ends_with(mark)).count() >= filled().count();
    let is_before_marks = || filled().all(|(_, _, rest)| marked(rest.trim_start()).is_some());
    is_framed && !is_before_marks() || mark == "|" && run.iter().any(|(_, line, _)| line.contains(PERCENTILE))
}

/// The beginning of a text, of at most so many bytes.
fn head(text: &str, most: usize) -> &str {
    (0..=most.min(text.len())).rev().find_map(|end| text.get(..end)).unwrap_or_default()
}

/// The shape of what all lines of a log begin with: up to a colon, bar or bracket behind the time. Where none stands there
/// the time is a column of a table.
fn common_stamp(time: &str, run: &[MarkedRow<'_>]) -> Option<String> {
    /// What IO500 begins each line of a summary with looks like a part of a stamp.
    const OWN: &str = "[RESULT";
    let mut shapes =
        run.iter().filter(|(_, line, _)| !line.trim().is_empty()).map(|(_, _, rest)| shape(head(rest, FAR)));
    let mut common = shapes.next()?;
    for shape in shapes {
        let same = common.char_indices().zip(shape.chars()).find(|((_, a), b)| a != b);
        let end = same.map_or(common.len().min(shape.len()), |((at, _), _)| at);
        common.truncate(head(&common, end).len());
    }
    common.truncate(common.find(OWN).unwrap_or(common.len()));
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

fn begins_with_digit(rest: &str) -> bool {
    rest.trim_start().starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests;
