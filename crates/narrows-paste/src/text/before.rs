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

type Row<'l> = (Before<'l>, &'l str, &'l str);

/// The lines from the first on that begin alike.
fn run<'l>(lines: &'l [Cow<'_, str>], split: Split) -> Vec<Row<'l>> {
    let mut rows: Vec<Row<'l>> = Vec::new();
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
fn is_added(run: &[Row<'_>], lines: usize) -> bool {
    let Some((first, _, _)) = run.first() else { return false };
    let rests = || run.iter().map(|(_, _, rest)| *rest).filter(|rest| !rest.trim().is_empty());
    let all = rests().count();
    let are = |is: fn(&str) -> bool| all > 0 && 2 * rests().filter(|rest| is(rest)).count() >= all;
    // So many counted lines from the first on, each behind a tab, are no table.
    let is_first = matches!(first, Before::Counted(1)) && rests().any(has_word);
    let is_listing = is_first && all >= 12;
    // A short text of which every line is counted.
    let is_whole = is_first && run.len() == lines;
    let is_around = |row: &Row<'_>| matches!(row.0, Before::Around(_));
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
fn is_apart(run: &[Row<'_>]) -> bool {
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
fn is_own(mark: &str, run: &[Row<'_>]) -> bool {
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
fn common_stamp(time: &str, run: &[Row<'_>]) -> Option<String> {
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
mod tests {
    use super::*;

    const LOG: &str = "[    0.1] Linux version 6.1\n[    0.2] pci 0000:01:00.0: [1987:5016] type 00\n\n[    0.3] nvme nvme0: pci function\n[    0.4] usb 2-1: new device\n[    0.5] md: raid1 personality\n[    0.6] sd 0:0:0:0: [sda] Attached\n[    0.7] EXT4-fs (sda1): mounted\n[    0.8] r8169 0000:02:00.0 eth0: Link is Up";

    fn stripped(text: &str) -> String {
        let mut lines: Vec<Cow<'_, str>> = text.lines().map(Cow::Borrowed).collect();
        strip(&mut lines);
        lines.join("\n")
    }

    fn with(put: impl Fn(usize, &str) -> String) -> String {
        LOG.lines().enumerate().map(|(at, line)| put(at + 1, line)).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn counts_names_and_comments_before_every_line_are_taken_away() {
        assert_eq!(stripped(LOG), LOG);
        let found = |text: &str| {
            stripped(text).lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
        };
        let want = found(LOG);
        assert_eq!(stripped(&with(|at, line| format!("{at:6}\t{line}"))), LOG);
        assert_eq!(stripped(&with(|at, line| format!("\t{at:6}\t{line}"))), LOG);
        assert_eq!(stripped(&with(|at, line| format!("{at:4}  {line}"))), LOG);
        assert_eq!(stripped(&with(|at, line| format!("{at:4} │ {line}"))), LOG);
        assert_eq!(found(&with(|at, line| format!("{}:{line}", 100 + 7 * at))), want);
        assert_eq!(stripped(&with(|_, line| format!("dmesg.txt:{line}"))), LOG);
        assert_eq!(found(&with(|at, line| format!("logs/dmesg.txt:{at}:{line}"))), want);
        assert_eq!(stripped(&with(|_, line| format!("# {line}"))), LOG);
        assert_eq!(found(&with(|at, line| format!("{at}: {line}"))), want);
        let table = "sec Cur ops\n  0  0\n  1  4.61\n\n  2  3.42";
        let listed: Vec<String> =
            (9..).zip(table.lines()).map(|(at, line)| format!("a.log:{at}:{line}")).collect();
        assert_eq!(stripped(&listed.join("\n")), table);
        let log = "10:00:01 host x\n11:00:02 host y\n12:00:02 host z";
        assert_eq!(stripped(&log.lines().map(|line| format!("a.log:{line}\n")).collect::<String>()), log);
        assert_eq!(found(&with(|at, line| format!("L{at}: {line}"))), want);
        for mark in ["{}. ", "{}) "] {
            assert_eq!(
                stripped(&with(|at, line| format!("{}{line}", mark.replace("{}", &at.to_string())))),
                LOG
            );
        }
        for mark in ["// ", "* ", "+"] {
            assert_eq!(stripped(&with(|_, line| format!("{mark}{line}"))), LOG, "{mark}");
        }
        // What `grep -n -A1 nvme` prints.
        let around = with(|at, line| format!("{}{}{line}", 100 + at, if at % 3 == 0 { '-' } else { ':' }));
        assert_eq!(found(&around), want);
        let list = "00:1f.2 SATA controller: Intel\n01:00.0 Non-Volatile memory controller: Samsung\n02:00.0 Ethernet controller: Intel";
        let numbered: Vec<String> =
            (1..).zip(list.lines()).map(|(at, line)| format!("{at}: {line}")).collect();
        assert_eq!(stripped(&numbered.join("\n")), list);
        let lspci = "12:01:00.0 Non-Volatile memory controller: Samsung\n13:\tControl: I/O- Mem+\n40:\t\tLnkSta: Speed 8GT/s, Width x4";
        assert_eq!(
            stripped(lspci),
            "01:00.0 Non-Volatile memory controller: Samsung\n\tControl: I/O- Mem+\n\t\tLnkSta: Speed 8GT/s, Width x4"
        );
    }

    #[test]
    fn tables_addresses_attributes_and_messages_stay() {
        let rows = |row: fn(usize) -> String| (0..12).map(row).collect::<Vec<_>>().join("\n");
        for text in [
            rows(|at| format!("{at}   0  {at}:{at}:{at}:0  yes 3600.0000")),
            rows(|at| {
                format!(
                    "       {at}       8       {}        {at}      active sync   /dev/sd{at}",
                    16 * at + 1
                )
            }),
            rows(|at| format!("{}:00.0 Ethernet controller: Intel Corporation X710", at + 10)),
            rows(|at| format!("{}: 86 80 58 15 07 04 10 00 02 00 00 02 10 00 00 00", 10 * at)),
            rows(|at| format!("{at}: eth{at}: <BROADCAST,MULTICAST,UP> mtu 1500 state UP")),
            rows(|at| format!("ata1.00: configured for UDMA/133, time {at}")),
            rows(|at| format!("nas.local:/export/{at} on /mnt/{at} type nfs4")),
            rows(|at| format!("/sys/block/sda/queue/scheduler.x:none {at}")),
            rows(|at| format!("{at}-port hub, the kernel's driver {at}")),
            rows(|at| format!("+-{at:02x}.0-[{at:02x}]----00.0  Samsung Electronics SSD Controller")),
            rows(|at| {
                format!("    {at}      16       {at}2       {at}6   63.9928        64   0.520614     0.65")
            }),
            rows(|at| {
                format!("# {at}  Short offline       Completed without error       00%     29385         -")
            }),
        ] {
            assert_eq!(stripped(&text), text);
        }
    }

    fn cut(body: &str) -> Vec<&str> {
        let lines: Vec<Cow<'_, str>> = body.lines().map(Cow::Borrowed).collect();
        body.lines().zip(cuts(&lines, OF_RESULTS)).map(|(line, cut)| &line[cut..]).collect()
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
            assert_eq!(cut(body), body.lines().collect::<Vec<_>>());
        }
    }
}
