//! Lines that a mail program broke.

use std::borrow::Cow;

/// Mail programs break lines at 72 characters (RFC 3676, section 4.2), 76 or 78 (RFC 5322, section 2.1.1); quoted
/// again, a line is a few characters shorter. A line whose next word would have ended before this was ended on purpose.
const NARROWEST: usize = 66;

/// No line of a tool is longer; beyond this nothing is joined, so that a hostile text costs no more than its length.
const LONGEST: usize = 2000;

/// Joins lines, each with its number, to those that they were broken off from.
pub(super) fn join<'t>(
    lines: impl Iterator<Item = (usize, &'t str)>,
    starts: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (usize, Cow<'t, str>)> {
    let mut lines = lines.peekable();
    std::iter::from_fn(move || {
        let (number, first) = lines.next()?;
        let mut whole = Cow::Borrowed(first);
        let mut last = first;
        while let Some((_, next)) = lines.next_if(|(_, next)| {
            whole.len() < LONGEST && !last.trim().is_empty() && had_no_room(last, next) && !starts(next)
        }) {
            whole.to_mut().push(' ');
            whole.to_mut().push_str(next);
            last = next;
        }
        Some((number, whole))
    })
}

/// Whether the first word of `next`, which begins at the margin, would have made `line` too long.
fn had_no_room(line: &str, next: &str) -> bool {
    let is_at_margin = next.starts_with(|c: char| !c.is_whitespace());
    let word = next.split_whitespace().next().map_or(0, |word| word.chars().count());
    // A tab is shown as up to eight blanks.
    let tabs = line.bytes().take_while(|byte| *byte == b'\t').count();
    is_at_margin && line.chars().count() + 7 * tabs + 1 + word > NARROWEST
}

#[cfg(test)]
mod tests {
    use crate::capture::Text;

    fn joined(text: &str) -> Vec<(usize, String)> {
        let text = Text::new("x", text.as_bytes());
        let starts = |line: &str| line.as_bytes().get(2) == Some(&b':');
        text.lines_joined(starts).map(|(number, line)| (number, line.into_owned())).collect()
    }

    #[test]
    fn a_line_that_was_broken_is_whole_again() {
        let text = "01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe\nSSD Controller SM981\n\tLnkSta: x4";
        let want =
            "01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller SM981";
        assert_eq!(joined(text), [(1, want.to_owned()), (3, "\tLnkSta: x4".to_owned())]);
    }

    #[test]
    fn a_line_that_had_room_and_a_new_record_are_lines_of_their_own() {
        assert_eq!(joined("short\nnext").len(), 2);
        let long = "x".repeat(70);
        assert_eq!(joined(&format!("{long}\n02:00.0 VGA")).len(), 2);
        assert_eq!(joined(&format!("{long}\n\nnext")).len(), 3);
    }

    #[test]
    fn an_endless_run_of_lines_is_joined_in_pieces() {
        let text = "x".repeat(70) + "\n";
        assert!(joined(&text.repeat(10_000)).iter().all(|(_, line)| line.len() < 2100));
    }
}
