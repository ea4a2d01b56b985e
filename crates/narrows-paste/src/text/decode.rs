//! From bytes to characters: UTF-16 of Windows, and quoted-printable of mail (RFC 2045, section 6.7).

use std::borrow::Cow;

use super::MOVED_UP;

/// How many bytes are looked at to tell what a file is.
const SAMPLE: usize = 4096;

/// How the characters of a text are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16Little,
    Utf16Big,
}

/// The text in `bytes`, without byte order mark. What is no character becomes `�`.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let (encoding, bytes) = encoding(bytes);
    match encoding {
        Encoding::Utf8 => String::from_utf8_lossy(bytes),
        Encoding::Utf16Little => Cow::Owned(decode_utf16(bytes, u16::from_le_bytes)),
        Encoding::Utf16Big => Cow::Owned(decode_utf16(bytes, u16::from_be_bytes)),
    }
}

fn decode_utf16(bytes: &[u8], number: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).filter_map(|pair| Some(number(*pair.first_chunk()?)));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Whether bytes are those of no text: a zero among the first of them, unless it is half of a UTF-16 character.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    let sample = bytes.get(..SAMPLE).unwrap_or(bytes);
    encoding(bytes).0 == Encoding::Utf8 && sample.contains(&0)
}

fn encoding(bytes: &[u8]) -> (Encoding, &[u8]) {
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => (Encoding::Utf8, rest),
        [0xff, 0xfe, rest @ ..] => (Encoding::Utf16Little, rest),
        [0xfe, 0xff, rest @ ..] => (Encoding::Utf16Big, rest),
        _ => match zeros(bytes) {
            // In a text that is mostly ASCII every other byte is zero; one zero alone is none.
            (few, most) if few == 0 && is_most(most, bytes) => (Encoding::Utf16Little, bytes),
            (most, few) if few == 0 && is_most(most, bytes) => (Encoding::Utf16Big, bytes),
            _ => (Encoding::Utf8, bytes),
        },
    }
}

/// The zeros at even and at odd places of the sample.
fn zeros(bytes: &[u8]) -> (usize, usize) {
    let sample = bytes.get(..SAMPLE).unwrap_or(bytes);
    sample.chunks_exact(2).fold((0, 0), |(even, odd), pair| {
        (even + usize::from(pair.first() == Some(&0)), odd + usize::from(pair.last() == Some(&0)))
    })
}

/// Whether this many zeros are most of one half of the sample.
fn is_most(zeros: usize, bytes: &[u8]) -> bool {
    let pairs = bytes.len().min(SAMPLE) / 2;
    pairs >= 4 && zeros * 10 >= pairs * 7
}

/// Lines with an equals sign that mean nothing in this encoding: headers of the mail have some.
const ODD: usize = 4;

/// A mail that was quoted or sent on may be encoded so many times.
const TIMES: usize = 3;

/// Quoted-printable, in which mail carries what is not plain (RFC 2045, section 6.7): `=3D` is an equals sign, `=C2=B5` a letter
/// of two bytes, `=20` a blank at the end of a line, and an equals sign there says that the line goes on.
///
/// The text in plain, where it is in this encoding. Of lines that were broken the rest is moved up to the first;
/// [`MOVED_UP`] stays in their place, so that there are as many.
pub(super) fn decode_printable(text: Cow<'_, str>) -> Cow<'_, str> {
    let mut text = text;
    for _ in 0..TIMES {
        match once(&text) {
            Some(plain) => text = Cow::Owned(plain),
            None => break,
        }
    }
    match text.lines().any(has_signs_alone) {
        true => Cow::Owned(text.split_inclusive('\n').map(signs).collect()),
        false => text,
    }
}

/// A line of which only the equals signs are encoded, in a text that is not: `IOPS=3D5000` is no rate of 3. A number has to stand behind
/// one: `ID_PCI_SUBCLASS_FROM_DATABASE=3D controller` is in plain.
fn has_signs_alone(line: &str) -> bool {
    let behind = || line.match_indices('=').map(|(at, _)| line.get(at + 1..)?.strip_prefix("3D"));
    let is_number = |rest: Option<&str>| {
        rest.is_some_and(|rest| rest.trim_start().starts_with(|c: char| c.is_ascii_digit()))
    };
    behind().all(|rest| rest.is_some()) && behind().any(is_number)
}

fn signs(line: &str) -> Cow<'_, str> {
    if has_signs_alone(line) { Cow::Owned(line.replace("=3D", "=")) } else { Cow::Borrowed(line) }
}

/// The text decoded once; `None` where it is not in this encoding.
fn once(text: &str) -> Option<String> {
    if !(text.contains("=3D") || text.lines().any(shows)) || !is_encoded(text) {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    // A line may be broken within a letter, so that only the bytes of a whole line are text.
    let mut line_bytes = Vec::new();
    let mut owed = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        if let Some(broken) = bare.trim_end_matches(' ').strip_suffix('=') {
            push(&mut line_bytes, broken);
            owed += 1;
            continue;
        }
        push(&mut line_bytes, bare);
        plain.push_str(&String::from_utf8_lossy(&line_bytes));
        line_bytes.clear();
        for _ in 0..std::mem::take(&mut owed) {
            plain.push('\n');
            plain.push_str(MOVED_UP);
        }
        plain.push_str(line.get(bare.len()..).unwrap_or_default());
    }
    plain.push_str(&String::from_utf8_lossy(&line_bytes));
    plain.extend(std::iter::repeat_n('\n', owed));
    Some(plain)
}

/// Whether a line shows the encoding by something that nothing else has, and that is no equals sign of a text.
fn shows(line: &str) -> bool {
    line.contains('=') && (is_continued(line) || is_blank(line) || has_letter(line))
}

/// Whether a line is a blank that was encoded because it ends the line, alone or behind the mark of a signature or quotation.
fn is_blank(line: &str) -> bool {
    matches!(line.trim_start_matches(['>', ' ']).trim_end(), "=20" | "=09" | "--=20")
}

/// Whether encoded bytes that follow each other are a letter of several bytes in UTF-8.
fn has_letter(line: &str) -> bool {
    line.match_indices('=').any(|(at, _)| {
        let bytes: Vec<u8> = (0..4).map_while(|place| byte(line, at + 3 * place)).collect();
        let length = match bytes.first() {
            Some(0xc2..=0xdf) => 2,
            Some(0xe0..=0xef) => 3,
            Some(0xf0..=0xf4) => 4,
            _ => return false,
        };
        bytes.get(..length).is_some_and(|letter| std::str::from_utf8(letter).is_ok())
    })
}

/// Whether a line goes on with the next as this encoding has it: an equals sign where the line had no more room.
fn is_continued(line: &str) -> bool {
    let line = line.trim_end();
    line.ends_with('=') && (70..=76).contains(&line.len())
}

fn is_encoded(text: &str) -> bool {
    let with_sign = || text.lines().filter(|line| line.contains('='));
    let sound = with_sign().filter(|line| is_sound(line)).count();
    sound > ODD * (with_sign().count() - sound)
}

/// Whether each equals sign of a line is of the encoding.
fn is_sound(line: &str) -> bool {
    let ends = line.trim_end();
    line.match_indices('=').all(|(at, _)| at + 1 == ends.len() || byte(line, at).is_some())
}

/// The byte that `=XX` at this place stands for.
fn byte(line: &str, at: usize) -> Option<u8> {
    line.get(at..)?.strip_prefix('=')?;
    let digits = line.get(at + 1..at + 3)?;
    let is_hex = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'A'..=b'F'));
    u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

/// Adds what a line stands for. What would be the end of a line is none.
fn push(bytes: &mut Vec<u8>, line: &str) {
    let mut rest = line;
    while let Some(at) = rest.find('=') {
        bytes.extend_from_slice(rest.get(..at).unwrap_or_default().as_bytes());
        let known = byte(rest, at).filter(|byte| !matches!(byte, b'\n' | b'\r'));
        bytes.push(known.unwrap_or(b'='));
        rest = rest.get(at + if known.is_some() { 3 } else { 1 }..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest.as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn byte_order_marks_are_obeyed_and_removed() {
        assert_eq!(decode(b"\xef\xbb\xbf01:00.0"), "01:00.0");
        assert_eq!(decode(&utf16("\u{feff}01:00.0", u16::to_le_bytes)), "01:00.0");
        assert_eq!(decode(&utf16("\u{feff}01:00.0", u16::to_be_bytes)), "01:00.0");
    }

    #[test]
    fn utf_16_without_a_mark_is_seen_by_its_zeros() {
        let little = utf16("01:00.0 Non-Volatile memory controller", u16::to_le_bytes);
        assert_eq!(decode(&little), "01:00.0 Non-Volatile memory controller");
        assert!(!is_binary(&little));
        let big = utf16("01:00.0 Non-Volatile memory controller", u16::to_be_bytes);
        assert_eq!(decode(&big), "01:00.0 Non-Volatile memory controller");
    }

    #[test]
    fn bytes_with_zeros_are_no_text() {
        assert!(is_binary(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0"));
        assert!(!is_binary("Größe".as_bytes()));
        assert!(!is_binary(b""));
    }

    #[test]
    fn what_is_no_character_is_kept_as_a_mark() {
        assert_eq!(decode(b"a\xffb"), "a\u{fffd}b");
    }

    /// With an empty line in the place of one that was moved up.
    fn plain(text: &str) -> String {
        decode_printable(Cow::Borrowed(text)).replace(MOVED_UP, "")
    }

    #[test]
    fn a_line_that_was_moved_up_is_no_empty_one() {
        let mail = "  read: IOPS=3D100k, BW=3D394Mi=\nB/s (413MB/s)\n\n  lat: avg=3D5\n";
        let text = super::super::Text::new("x", mail.as_bytes());
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines, [(1, "  read: IOPS=100k, BW=394MiB/s (413MB/s)"), (3, ""), (4, "  lat: avg=5")]);
        assert_eq!(text.body().lines().count(), 4);
    }

    #[test]
    fn a_mail_is_in_plain_and_as_long() {
        let mail =
            " Timing O_DIRECT disk reads: 9180 MB in  3.00 seconds =3D 3059.63 =\r\nMB/sec\r\nna=C3=AFve\r\n";
        assert_eq!(
            plain(mail),
            " Timing O_DIRECT disk reads: 9180 MB in  3.00 seconds = 3059.63 MB/sec\n\r\nnaïve\r\n"
        );
    }

    #[test]
    fn lines_that_were_only_broken_are_whole_again() {
        let long = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod ";
        assert_eq!(plain(&format!("{long}ab=\nc\nd\n")), format!("{long}abc\n\nd\n"));
    }

    #[test]
    fn letters_of_several_bytes_and_blanks_at_the_ends_of_lines_show_it() {
        assert_eq!(plain("took 5 =C2=B5s\n"), "took 5 µs\n");
        assert_eq!(plain("AES-NI : =E2=9C=94 Enabled\n"), "AES-NI : ✔ Enabled\n");
        assert_eq!(plain("> a=20\n> =20\n> b=\nc\n"), "> a \n>  \n> bc\n\n");
        assert_eq!(plain("a=20\n--=20\nme\n"), "a \n-- \nme\n");
        assert_eq!(plain("198 MB/=E7=A7=\n=92 =C2=B5=\n"), "198 MB/秒 µ\n\n");
    }

    #[test]
    fn what_was_encoded_twice_and_a_line_in_a_text_that_was_not_are_plain() {
        let line = "  read: IOPS=3D100k, BW=3D394MiB/s (413MB/s)\n";
        let plain_line = "  read: IOPS=100k, BW=394MiB/s (413MB/s)\n";
        assert_eq!(plain(&line.replace("=3D", "=3D3D")), plain_line);
        let job = "[x]\nrw=read\nbs=4k\niodepth=32\nnumjobs=4\nruntime=60\n";
        assert_eq!(plain(&format!("{job}{line}")), format!("{job}{plain_line}"));
        for card in ["ID_PCI_SUBCLASS_FROM_DATABASE=3D controller\n", "tool=3DMark\n"] {
            assert_eq!(plain(&format!("{job}{card}")), format!("{job}{card}"));
        }
    }

    #[test]
    fn options_and_sums_are_no_encoding() {
        let ruler = "=".repeat(72) + "\n";
        let job = "[x]\niodepth=20\nnumjobs=20\n";
        for text in ["fio --rw=read --size=3D\n", "a=1\nb=3D\n", "=\n=\n", &ruler, job, "x=C2\ny=E2\n"] {
            assert_eq!(plain(text), text);
        }
    }

    proptest! {
        #[test]
        fn there_are_as_many_lines(text in "((=3D|=\n|=\r\n|[a-z ]{0,3}|=C3|\n){0,12}\n){0,4}") {
            prop_assert_eq!(plain(&text).matches('\n').count(), text.matches('\n').count());
        }
    }
}
