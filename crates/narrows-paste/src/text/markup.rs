//! What web pages, forums and terminals put around a text: HTML tags and entities, fences, the indent of Markdown, and what a terminal obeys.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

use super::statements::BETWEEN;

/// Tags that stand around or in preformatted text. No output of a tool has words like these in angle brackets;
/// `<access denied>`, `<64ns` and the like are not among them.
const TAGS: &[&str] = &[
    "pre",
    "code",
    "span",
    "div",
    "p",
    "br",
    "font",
    "tt",
    "blockquote",
    "html",
    "body",
    "table",
    "tr",
    "td",
    "th",
    "ul",
    "ol",
    "li",
    "strong",
    "b",
    "em",
    "i",
    "sup",
    "sub",
    "small",
    "mark",
];

/// Those at which a page begins a new line.
const ENDS_LINE: [&str; 6] = ["br", "p", "div", "tr", "li", "pre"];

/// Entities of HTML that stand for what a tool prints.
const ENTITIES: &[(&str, char)] = &[
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&quot;", '"'),
    ("&#34;", '"'),
    ("&apos;", '\''),
    ("&#39;", '\''),
    ("&#039;", '\''),
    ("&#x27;", '\''),
    ("&nbsp;", ' '),
    ("&#160;", ' '),
    ("&amp;", '&'),
];

/// Takes HTML tags away and puts characters for entities.
pub(super) fn strip_html(lines: &mut [Cow<'_, str>]) {
    for line in lines {
        if line.contains('<') {
            replace(line, without_tags);
        }
        if line.contains('&') {
            replace(line, without_entities);
        }
    }
}

fn replace(line: &mut Cow<'_, str>, with: impl Fn(&str) -> String) {
    let changed = with(line);
    if changed != **line {
        *line = Cow::Owned(changed);
    }
}

fn without_tags(line: &str) -> String {
    let mut bare = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('<') {
        bare.push_str(before);
        rest = match tag_end(after) {
            Some((tag, behind)) => {
                let is_within = !bare.trim().is_empty() && !bare.ends_with(BETWEEN) && !behind.is_empty();
                if is_within && ENDS_LINE.iter().any(|end| tag.eq_ignore_ascii_case(end)) {
                    bare.push(BETWEEN);
                }
                behind
            }
            None => {
                bare.push('<');
                after
            }
        };
    }
    bare + rest
}

/// The name of a tag whose `<` was taken off, and what follows it; `None` when it is none.
fn tag_end(text: &str) -> Option<(&str, &str)> {
    let name = text.strip_prefix('/').unwrap_or(text);
    let length = name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len());
    let (name, rest) = name.split_at(length);
    let is_tag = TAGS.iter().any(|tag| name.eq_ignore_ascii_case(tag));
    if !is_tag || !rest.starts_with(['>', ' ', '/']) {
        return None;
    }
    // Attributes are short; without this bound a line of `<p <p <p …` would be searched to its end each time.
    let near = rest.char_indices().map(|(at, _)| at).nth(200).unwrap_or(rest.len());
    let end = rest.get(..near)?.find('>')?;
    Some((name, rest.get(end + 1..)?))
}

fn without_entities(line: &str) -> String {
    let mut bare = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('&') {
        let (before, from) = rest.split_at(at);
        bare.push_str(before);
        match ENTITIES.iter().find(|(entity, _)| from.starts_with(entity)) {
            Some((entity, c)) => {
                bare.push(*c);
                rest = from.get(entity.len()..).unwrap_or_default();
            }
            None => match drawn(from) {
                Some((c, behind)) => {
                    bare.push(c);
                    rest = behind;
                }
                None => {
                    bare.push('&');
                    rest = from.get(1..).unwrap_or_default();
                }
            },
        }
    }
    bare + rest
}

/// `&#9492;`: the lines of a tree (Box Drawing, U+2500 to U+257F), by their number, and what is behind it.
fn drawn(from: &str) -> Option<(char, &str)> {
    let (number, behind) = from.strip_prefix("&#")?.split_once(';')?;
    let number = match number.strip_prefix('x') {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => number.parse(),
    };
    let c = char::from_u32(number.ok()?)?;
    matches!(c, '\u{2500}'..='\u{257f}').then_some((c, behind))
}

/// Empties lines that only fence: of Markdown (```` ``` ````, `~~~`), of forums (`[code]`), of trackers (`{code}`) and of mail
/// (`--8<---cut here---8<--`).
/// A fence before or behind text on its line is cut off.
pub(super) fn strip_fences(lines: &mut [Cow<'_, str>]) {
    for line in lines {
        let bare = line.trim();
        if is_fence(bare) {
            *line = Cow::Borrowed("");
            continue;
        }
        for (open, close) in [("[code]", "[/code]"), ("[CODE]", "[/CODE]"), ("{noformat}", "{noformat}")] {
            if bare.starts_with(open) || bare.ends_with(close) {
                let inner = bare.strip_prefix(open).unwrap_or(line);
                let inner = inner.strip_suffix(close).unwrap_or(inner).to_owned();
                *line = Cow::Owned(inner);
                break;
            }
        }
    }
}

fn is_fence(line: &str) -> bool {
    let behind = |mark: &str| line.strip_prefix(mark).map(|rest| rest.trim_start_matches(['`', '~']));
    let is_language = |name: &str| {
        let name = name.trim();
        name.len() <= 20 && name.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let is_markdown = behind("```").or_else(|| behind("~~~")).is_some_and(is_language);
    // Emacs, and the scissors of git.
    let is_cut = line.starts_with('-')
        && line.ends_with('-')
        && ["--8<--", "-- >8 --", "-- 8< --", "--->8---"].iter().any(|mark| line.contains(mark));
    is_markdown || is_cut || line == "{code}" || (line.starts_with("{code:") && line.ends_with('}'))
}

/// Takes away the indent of a block in which the lines of `lspci` would otherwise not begin at the margin: at the least
/// indent of the block there is one with a PCI address. Only there does the margin carry meaning; other blocks stay.
pub(super) fn strip_indent(lines: &mut [Cow<'_, str>]) {
    let is_open = |line: &Cow<'_, str>| line.trim().is_empty() || indent(line) > 0;
    for block in lines.chunk_by_mut(|a, b| is_open(a) == is_open(b)) {
        let filled = || block.iter().filter(|line| !line.trim().is_empty());
        let Some(least) = filled().map(|line| indent(line)).min().filter(|least| *least > 0) else {
            continue;
        };
        let is_record = |line: &&Cow<'_, str>| indent(line) == least && is_pci_line(line.trim_start());
        if filled().any(|line| is_record(&line)) {
            for line in block {
                *line = Cow::Owned(line.get(least..).unwrap_or_default().to_owned());
            }
        }
    }
}

/// Blanks and tabs at the beginning of a line, in bytes.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// Whether a line begins as a record of `lspci` does: `01:00.0 ` or `0000:01:00.0 `.
fn is_pci_line(line: &str) -> bool {
    let word = line.split(' ').next().unwrap_or_default();
    word.len() >= 7 && word.len() < line.len() && word.parse::<narrows_machine::pci::PciAddress>().is_ok()
}

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';
const BACKSPACE: char = '\u{8}';
/// Control Sequence Introducer and Operating System Command in one character.
const CSI: char = '\u{9b}';
const OSC: char = '\u{9d}';

/// What a terminal obeys rather than shows (ECMA-48), as `script`, `less -R` and colours leave it in a file.
///
/// A line as it looked on the terminal: without control sequences and control characters (but tabs), with blanks for
/// those that do not break, and after a carriage return only what was written over it.
pub(super) fn without_controls(line: &str) -> Cow<'_, str> {
    let is_odd =
        |byte: u8| (byte < 0x20 && byte != b'\t') || byte == 0x7f || matches!(byte, 0xc2 | 0xe2 | 0xef);
    if !line.bytes().any(is_odd) {
        return Cow::Borrowed(line);
    }
    let line = line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or_default();
    let mut shown = String::with_capacity(line.len());
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            ESCAPE => skip_escape(&mut rest),
            CSI => skip_control(&mut rest),
            OSC => skip_command(&mut rest),
            BACKSPACE => _ = shown.pop(),
            '\t' => shown.push(c),
            '\u{a0}' | '\u{2007}' | '\u{202f}' => shown.push(' '),
            '\u{200b}' | '\u{feff}' => {}
            c if c.is_control() => {}
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn skip_escape(rest: &mut Peekable<Chars<'_>>) {
    match rest.next() {
        Some('[') => skip_control(rest),
        // Operating system commands, device control strings, and their relatives.
        Some(']' | 'P' | 'X' | '^' | '_') => skip_command(rest),
        // Intermediate characters (`ESC ( B` names a character set), then a final one.
        Some(' '..='/') => {
            while rest.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            rest.next();
        }
        _ => {}
    }
}

/// Parameters and intermediate characters, then one final character.
fn skip_control(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    rest.next_if(|c| matches!(c, '@'..='~'));
}

/// Up to a bell or a string terminator.
fn skip_command(rest: &mut Peekable<Chars<'_>>) {
    while let Some(c) = rest.next() {
        match c {
            BELL | '\u{9c}' => return,
            ESCAPE => {
                rest.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(strip: impl Fn(&mut [Cow<'_, str>]), text: &str) -> String {
        let mut lines: Vec<Cow<'_, str>> = text.lines().map(Cow::Borrowed).collect();
        strip(&mut lines);
        lines.join("\n")
    }

    #[test]
    fn tags_and_entities_go_and_what_tools_print_stays() {
        let html = "<pre class=\"x\">01:00.0<br/>\nL0s &lt;64ns, A &amp;amp; B &copy;\n<access denied> <64ns <p\n</PRE>";
        let want = "01:00.0\nL0s <64ns, A &amp; B &copy;\n<access denied> <64ns <p\n";
        assert_eq!(with(strip_html, html), want);
        assert_eq!(with(strip_html, "&#9492;&#x2500;sda1 &#9786; &#99999999;"), "└─sda1 &#9786; &#99999999;");
    }

    #[test]
    fn fences_become_empty_lines() {
        assert_eq!(with(strip_fences, "```\na\n``` text\n~~~~\n{code:bash}"), "\na\n\n\n");
        assert_eq!(
            with(strip_fences, "--8<-----cut here-----start---->8---\na\n------ >8 ------\n--8 b --\n-8<-"),
            "\na\n\n--8 b --\n-8<-"
        );
        assert_eq!(with(strip_fences, "[code]01:00.0 x\ny[/code]\n[CODE]"), "01:00.0 x\ny\n");
    }

    #[test]
    fn an_indented_lspci_is_put_to_the_margin() {
        let text = "see:\n\n    01:00.0 NVMe\n    \tLnkSta: x4\n\n    02:00.0 VGA\n    \tLnkSta: x8\nend";
        let want = "see:\n\n01:00.0 NVMe\n\tLnkSta: x4\n\n02:00.0 VGA\n\tLnkSta: x8\nend";
        assert_eq!(with(strip_indent, text), want);
    }

    #[test]
    fn an_indent_that_means_something_stays() {
        for text in [
            "/dev/md0:\n     Version : 1.2",
            "01:00.0 NVMe\n\tLnkSta: x4",
            "\tNAME\n\t  tank",
            "a\n    |__ Port 1",
        ] {
            assert_eq!(with(strip_indent, text), text);
        }
    }

    #[test]
    fn colours_titles_and_character_sets_are_gone() {
        assert_eq!(without_controls("\u{1b}[01;31m\u{1b}[KLnkSta\u{1b}[m: x4"), "LnkSta: x4");
        assert_eq!(without_controls("\u{1b}]0;me@host\u{7}$ lspci"), "$ lspci");
        assert_eq!(without_controls("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\"), "link");
        assert_eq!(without_controls("\u{1b}(B\u{1b}[mplain\u{9b}2J"), "plain");
    }

    #[test]
    fn what_was_written_over_is_gone() {
        assert_eq!(without_controls("N\u{8}NA\u{8}AM\u{8}ME\u{8}E"), "NAME");
        assert_eq!(without_controls("10 %\r50 %\r100 %"), "100 %");
    }

    #[test]
    fn blanks_are_blanks_and_letters_stay() {
        assert_eq!(without_controls("Speed\u{a0}8GT/s\u{200b}"), "Speed 8GT/s");
        assert_eq!(without_controls("├─sda1 Größe"), "├─sda1 Größe");
        assert_eq!(without_controls("a\tb\0c"), "a\tbc");
    }

    #[test]
    fn a_sequence_that_never_ends_takes_the_rest_of_its_line_at_most() {
        assert_eq!(without_controls("a\u{1b}]0;endless"), "a");
        assert_eq!(without_controls("a\u{1b}["), "a");
        assert_eq!(without_controls("a\u{1b}"), "a");
    }
}
