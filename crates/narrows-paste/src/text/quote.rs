//! The quoting of mail and forums: `> ` and `| ` before each line.

use std::borrow::Cow;

/// No answer to an answer is quoted more often.
const DEEPEST: usize = 10;

/// Fewer lines than this that begin with `>` here and there are no quotation.
const FEWEST: usize = 3;

/// A mail program's encoding breaks a line at most so often, and leaves an empty one for each.
const MOST_EMPTY: usize = 6;

/// Takes quotation marks away, of as many levels as there are. Lines that only happen to begin with such a character
/// (a table, a tree) stay as they are.
pub(super) fn strip(lines: &mut [Cow<'_, str>]) {
    move_to_margin(lines);
    for _ in 0..DEEPEST {
        let marks = strip_marks(lines);
        let bars = strip_bars(lines);
        if !marks && !bars {
            return;
        }
    }
}

/// Moves quotations that somebody set off to the margin: lines that all have the same blanks before their mark, more than
/// Markdown lets stand there.
fn move_to_margin(lines: &mut [Cow<'_, str>]) {
    const LEAST: usize = 4;
    let blanks = |line: &Cow<'_, str>| {
        let bare = line.trim_start_matches(' ');
        bare.starts_with('>').then(|| line.len() - bare.len()).filter(|blanks| *blanks >= LEAST)
    };
    let marked: Vec<bool> = lines.iter().map(|line| blanks(line).is_some()).collect();
    let inside = with_gaps(lines, &marked);
    let mut begin = 0;
    while begin < lines.len() {
        let first = lines.get(begin).and_then(blanks);
        let goes_on = |(at, line): &(usize, &Cow<'_, str>)| {
            inside.get(*at) == Some(&true) && (line.is_empty() || blanks(line) == first)
        };
        let run = lines.iter().enumerate().skip(begin).take_while(goes_on).count();
        let block = lines.get_mut(begin..begin + run).unwrap_or_default();
        begin += run.max(1);
        let filled = block.iter().filter(|line| !line.is_empty()).count();
        let Some(blanks) = first.filter(|_| filled >= FEWEST) else { continue };
        for line in block {
            *line = Cow::Owned(line.get(blanks..).unwrap_or_default().to_owned());
        }
    }
}

/// Which lines have a mark or are the empty ones that a mail program's encoding left between two that have.
fn with_gaps(lines: &[Cow<'_, str>], marked: &[bool]) -> Vec<bool> {
    let mut inside = marked.to_vec();
    let mut last: Option<usize> = None;
    for (at, line) in lines.iter().enumerate() {
        if marked.get(at) == Some(&true) {
            if let Some(gap) =
                last.and_then(|last| inside.get_mut(last + 1..at)).filter(|gap| gap.len() <= MOST_EMPTY)
            {
                gap.fill(true);
            }
            last = Some(at);
        } else if !line.is_empty() {
            last = None;
        }
    }
    inside
}

/// Takes one `>` away. Two such lines in a row are a quotation, and so is one alone among several in a text when a
/// blank follows the mark. Whether there was any.
fn strip_marks(lines: &mut [Cow<'_, str>]) -> bool {
    let in_all = lines.iter().filter(|line| behind(line, '>').is_some()).count();
    runs(lines, '>', |run| {
        let is_set_off = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t', '>']);
        match run {
            [only] => in_all >= FEWEST && behind(only, '>').is_some_and(is_set_off),
            _ => true,
        }
    })
}

/// Takes one `|` away where every line of a run has it, with a blank behind it and no other at the end: lines of trees
/// (`|-sda1`, `|__ Port 1`) and tables (`| 0 | 1 |`) have it otherwise.
fn strip_bars(lines: &mut [Cow<'_, str>]) -> bool {
    runs(lines, '|', |run| {
        let is_quoted = |line: &Cow<'_, str>| {
            line.is_empty()
                || line.starts_with('|')
                    && !line.get(1..).is_some_and(|rest| rest.trim_end().ends_with('|'))
                    && behind(line, '|').is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
        };
        run.iter().filter(|line| !line.is_empty()).count() >= FEWEST && run.iter().all(is_quoted)
    })
}

/// Takes `mark` away from each longest run of lines with it that is `quoted`. Empty lines between two of them do not end it: a
/// mail program's encoding leaves them where it broke a line.
fn runs(lines: &mut [Cow<'_, str>], mark: char, quoted: impl Fn(&[Cow<'_, str>]) -> bool) -> bool {
    let marked: Vec<bool> = lines.iter().map(|line| behind(line, mark).is_some()).collect();
    let inside = with_gaps(lines, &marked);
    let (mut found, mut at) = (false, 0);
    for run in inside.chunk_by(|a, b| a == b) {
        let block = lines.get_mut(at..at + run.len()).unwrap_or_default();
        at += run.len();
        if run.first() != Some(&true) || !quoted(block) {
            continue;
        }
        found = true;
        for line in block {
            let bare = behind(line, mark).map(|rest| rest.strip_prefix(' ').unwrap_or(rest).to_owned());
            *line = Cow::Owned(bare.unwrap_or_default());
        }
    }
    found
}

/// What follows `mark` at the beginning of a line, where up to three blanks may stand before it (as in Markdown).
fn behind(line: &str, mark: char) -> Option<&str> {
    let bare = line.trim_start_matches(' ');
    bare.strip_prefix(mark).filter(|_| line.len() - bare.len() <= 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> String {
        let mut lines: Vec<Cow<'_, str>> = text.lines().map(Cow::Borrowed).collect();
        strip(&mut lines);
        lines.join("\n")
    }

    #[test]
    fn quotations_of_any_depth_are_unwrapped() {
        assert_eq!(stripped("> a\n> \tb\n>\n> c"), "a\n\tb\n\nc");
        assert_eq!(stripped(">> a\n>> b\n> c\n> d"), "a\nb\nc\nd");
        assert_eq!(stripped("> > a\n> > b"), "a\nb");
        assert_eq!(stripped(">a\n>\tb"), "a\n\tb");
        assert_eq!(stripped("| a\n\n| b\n| c\n\nx"), "a\n\nb\nc\n\nx");
    }

    #[test]
    fn lines_that_an_encoding_left_empty_do_not_end_a_quotation() {
        assert_eq!(stripped("    > a\n\n\n    >  b\n\n\n    > c\n"), "a\n\n\n b\n\n\nc");
        assert_eq!(stripped(">a\n\n\n>b\nx"), "a\n\n\nb\nx");
        let apart = format!(">= 3{}>= 4", "\n".repeat(MOST_EMPTY + 2));
        assert_eq!(stripped(&apart), apart);
    }

    #[test]
    fn a_quotation_that_was_set_off_is_one() {
        assert_eq!(stripped("Hi\n    > a\n    >  b\n    >\n    > c\nBye"), "Hi\na\n b\n\nc\nBye");
        let two = "    > a\n      > b";
        assert_eq!(stripped(two), two);
    }

    #[test]
    fn lines_that_a_mail_program_broke_do_not_end_a_quotation() {
        let text =
            "> 01:00.0 Non-Volatile memory controller: Maker\nModel\n> \tLnkSta: x4\n> \tKernel\nfoo\n> bar";
        let want = "01:00.0 Non-Volatile memory controller: Maker\nModel\n\tLnkSta: x4\n\tKernel\nfoo\nbar";
        assert_eq!(stripped(text), want);
    }

    #[test]
    fn a_single_line_that_begins_so_is_no_quotation() {
        assert_eq!(stripped("a\n>= 3 errors\nb"), "a\n>= 3 errors\nb");
        assert_eq!(stripped("a\n> b\nc"), "a\n> b\nc");
    }

    #[test]
    fn trees_and_tables_with_bars_stay() {
        for text in [
            "sda\n|-sda1\n| `-md0\n`-sda2",
            "| GPU | Temp |\n| 0   | 42   |\n| 1   | 43   |",
            "    |__ Port 1: Dev 2\n    |__ Port 2: Dev 3\n    |__ Port 3: Dev 4",
            "| one\n| two",
        ] {
            assert_eq!(stripped(text), text);
        }
        assert_eq!(
            stripped("| 01:00.0 NVMe\n| \tLnkSta: x4\n| \tKernel"),
            "01:00.0 NVMe\n\tLnkSta: x4\n\tKernel"
        );
    }
}
