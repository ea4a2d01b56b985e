//! What people, mail programs, forums and logs do to a text before somebody else reads it.

use std::fmt::Write;

/// Numbers that look random and are the same in every run (SplitMix64, Steele and others, OOPSLA 2014).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// True `percent` times of a hundred.
    pub(crate) fn is(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

const MARKS: [&str; 18] = [
    "> ", ">", ">> ", "> > ", ">  ", "| ", "// ", "//", "# ", "#", "## ", "% ", " * ", "* ", "    ", "\t",
    "  ", "    > ",
];

const WIDTHS: [usize; 6] = [72, 72, 76, 78, 80, 85];

/// What log programs put before a line; `at` counts lines.
const STAMPS: [fn(usize, &str) -> String; 9] = [
    |at, line| format!("{} DEBUG| [stdout] {line}", clock(at)),
    |at, line| format!("Nov 23 {} host1 bench[{}]: {line}", clock(at), 99 + at / 7),
    |_, line| format!("node-17: {line}"),
    |at, line| format!("[2021-11-23 {}] {line}", clock(at)),
    |at, line| format!("2021-11-23T{}.123456Z {line}", clock(at)),
    |at, line| format!("2021-11-23 {},123 INFO: {line}", clock(at)),
    |at, line| format!("[{:5}.{:06}] {line}", at / 10, at * 99_991 % 1_000_000),
    |at, line| format!("{:4}\t{line}", at + 1),
    |at, line| format!("results.log:{}:{line}", at + 1),
];

/// The first of those that count lines.
const COUNTING: usize = 7;

const FENCES: [(&str, &str); 7] = [
    ("```\n", "```\n"),
    ("```text\n", "```\n"),
    ("~~~\n", "~~~\n"),
    ("[code]", "[/code]\n"),
    ("[code]\n", "[/code]\n"),
    ("{noformat}\n", "{noformat}\n"),
    (
        "--8<---------------cut here---------------start------------->8---\n",
        "--8<---------------cut here---------------end--------------->8---\n",
    ),
];

fn clock(at: usize) -> String {
    format!("{:02}:{:02}:{:02}", 9 + at / 3600 % 14, at / 60 % 60, at % 60)
}

fn each_line(text: &str, change: impl Fn(usize, &str) -> String) -> String {
    text.lines().enumerate().map(|(at, line)| change(at, line) + "\n").collect()
}

/// Broken at blanks, as mail programs break lines.
fn wrapped(width: usize, text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut rest = line;
        while rest.chars().count() > width {
            let end = rest.char_indices().nth(width).map_or(rest.len(), |(at, _)| at);
            let lead = rest[..end].len() - rest[..end].trim_start().len();
            let Some(at) = rest[lead..end].rfind(' ').map(|at| at + lead) else { break };
            out.push_str(&rest[..at]);
            out.push('\n');
            rest = rest[at..].trim_start();
        }
        out.push_str(rest);
        out.push('\n');
    }
    out
}

/// Encoded as mail does it, lines broken at 76 characters (RFC 2045, section 6.7).
fn printable(text: &str) -> String {
    each_line(text, |_, line| {
        let mut out = String::new();
        let mut width = 0;
        for byte in line.bytes() {
            let mut piece = String::new();
            match byte {
                b'=' | 0x80.. => _ = write!(piece, "={byte:02X}"),
                byte => piece.push(char::from(byte)),
            }
            if width + piece.len() > 75 {
                out.push_str("=\n");
                width = 0;
            }
            width += piece.len();
            out.push_str(&piece);
        }
        out
    })
}

fn html(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<pre>\n{text}</pre>\n")
}

fn utf16(text: &str) -> Vec<u8> {
    "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

/// A text as somebody sent it: what was done to it, in words, and the bytes.
pub(crate) struct Mutant {
    pub(crate) how: String,
    pub(crate) bytes: Vec<u8>,
}

/// Broken in the middle of words, as a terminal of so many columns does it.
fn folded(columns: usize, text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        for (at, c) in line.chars().enumerate() {
            if at > 0 && at % columns == 0 {
                out.push('\n');
            }
            out.push(c);
        }
        out.push('\n');
    }
    out
}

const COLUMNS: [usize; 4] = [80, 100, 120, 132];

/// A text that went through several hands in any order: a quotation may be stamped, commented out and broken again.
fn passed_on(text: &str, dice: &mut Dice, how: &mut Vec<String>) -> String {
    let mut text = text.to_owned();
    let mut may_wrap = true;
    for _ in 0..1 + dice.below(4) {
        match dice.below(10) {
            0 | 1 => {
                let kind = dice.below(STAMPS.len());
                may_wrap &= kind < COUNTING;
                text = each_line(&text, STAMPS[kind]);
                how.push(format!("stamp {kind}"));
            }
            2..=4 if may_wrap => {
                let width = dice.one(&WIDTHS);
                text = wrapped(width, &text);
                how.push(format!("wrap {width}"));
            }
            5 => {
                let (open, close) = dice.one(&FENCES);
                text = format!("It gave:\n\n{open}{text}{close}\nWhat limits it?\n");
                how.push(format!("fence {:?}", open.trim_end()));
            }
            6 if may_wrap && dice.is(30) => {
                let columns = dice.one(&COLUMNS);
                text = folded(columns, &text);
                how.push(format!("fold {columns}"));
            }
            _ => {
                let mark = dice.one(&MARKS);
                text = each_line(&text, |_, line| format!("{mark}{line}"));
                how.push(format!("mark {mark:?}"));
            }
        }
    }
    text
}

/// What a forum or a mail program makes of the letters.
fn posted(mut text: String, dice: &mut Dice, how: &mut Vec<String>) -> String {
    if dice.is(10) {
        text = html(&text);
        how.push("html".to_owned());
    }
    if dice.is(15) {
        text = printable(&text);
        how.push("printable".to_owned());
    }
    if dice.is(15) {
        text = text.replace('\n', "\r\n");
        how.push("\\r\\n".to_owned());
    }
    text
}

/// What a mail program or a forum does to the whole, in the end.
fn encoded(text: &str, dice: &mut Dice, how: &mut Vec<String>) -> Vec<u8> {
    let text = posted(text.to_owned(), dice, how);
    if dice.is(3) {
        how.push("UTF-16".to_owned());
        return utf16(&text);
    }
    text.into_bytes()
}

/// Texts that went through hands of their own before somebody put them below each other: one is quoted, the next is a log.
pub(crate) fn collected(texts: &[&str], dice: &mut Dice) -> Mutant {
    let mut how = Vec::new();
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        all.push(passed_on(text, dice, &mut how));
        how.push("|".to_owned());
    }
    how.pop();
    let bytes = encoded(&all.join("\nMine says:\n\n"), dice, &mut how);
    Mutant { how: how.join(", "), bytes }
}

/// One of very many ways to send a text: at least one thing is done to it, mostly two or three.
pub(crate) fn mutant(text: &str, dice: &mut Dice) -> Mutant {
    let mut how: Vec<String> = Vec::new();
    let mut text = text.to_owned();
    loop {
        // Whoever keeps a log has it before anybody sends it on.
        let mut may_wrap = true;
        if dice.is(20) {
            let kind = dice.below(STAMPS.len());
            // What counts lines counts them where nobody breaks them any more.
            may_wrap = kind < COUNTING;
            text = each_line(&text, STAMPS[kind]);
            how.push(format!("stamp {kind}"));
        }
        if may_wrap && dice.is(30) {
            let width = dice.one(&WIDTHS);
            text = wrapped(width, &text);
            how.push(format!("wrap {width}"));
        }
        if dice.is(20) {
            let (open, close) = dice.one(&FENCES);
            text = format!("It gave:\n\n{open}{text}{close}\nWhat limits it?\n");
            how.push(format!("fence {:?}", open.trim_end()));
        }
        let levels = if dice.is(45) { 1 + usize::from(dice.is(15)) } else { 0 };
        for _ in 0..levels {
            let mark = dice.one(&MARKS);
            text = each_line(&text, |_, line| format!("{mark}{line}"));
            how.push(format!("mark {mark:?}"));
        }
        text = posted(text, dice, &mut how);
        if !how.is_empty() {
            break;
        }
    }
    let bytes = if dice.is(3) {
        how.push("UTF-16".to_owned());
        utf16(&text)
    } else {
        text.into_bytes()
    };
    Mutant { how: how.join(", "), bytes }
}
