//! Seals the lines of a journal, so that only what a lab of this machine wrote into this very file counts.
//!
//! Behind each line stands another with its seal: a keyed hash (HMAC-SHA-256) of the line and the seal before it; the first is
//! of the file itself. The key is a secret of this
//! machine that only root can read. So a line that was changed, added, moved or left out is told, and so is a journal that
//! was copied, or written by somebody else.

use narrows_load::guard::keyed_hash;

/// How the line of a seal begins and ends.
const BEFORE: &[u8] = b"{\"seal\":\"";
const BEHIND: &[u8] = b"\"}";

/// The secret of this machine.
#[derive(Clone, Copy)]
pub struct Secret([u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// How many bytes it has.
    pub const LENGTH: usize = 32;

    /// The secret that these bytes are.
    pub const fn new(bytes: [u8; Self::LENGTH]) -> Self {
        Self(bytes)
    }

    /// The bytes, to be kept.
    pub const fn bytes(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }
}

/// What tells a file from a copy of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealedFile {
    /// The number of its inode.
    pub inode: u64,
    /// When it was made, in nanoseconds since 1970; 0 where the file system does not tell.
    pub made: u64,
}

/// Seals one line after another.
#[derive(Debug, Clone)]
pub struct Seal {
    secret: Secret,
    last: Vec<u8>,
}

impl Seal {
    /// The seals of the file at this place.
    pub fn new(secret: Secret, place: SealedFile) -> Self {
        Self { secret, last: [place.inode, place.made].map(u64::to_le_bytes).concat() }
    }

    /// The seal of the line that comes next, as it stands behind that.
    fn of(&self, line: &[u8]) -> ([u8; 32], Vec<u8>) {
        let hash = keyed_hash(self.secret.bytes(), &[&self.last, line]);
        let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        (hash, [BEFORE, digits.as_bytes(), BEHIND].concat())
    }

    /// A line with its seal behind it, both with their ends. `line` has no end of its own.
    pub fn sealed(&mut self, line: &str) -> String {
        let (hash, seal) = self.of(line.as_bytes());
        self.last = hash.to_vec();
        format!("{line}\n{}\n", String::from_utf8_lossy(&seal))
    }

    /// Whether this is the seal of the line that comes next, which it then is.
    fn accepts(&mut self, line: &[u8], seal: &[u8]) -> bool {
        let (hash, wanted) = self.of(line);
        let is_it = seal == wanted;
        if is_it {
            self.last = hash.to_vec();
        }
        is_it
    }
}

/// What of a text is sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsealed {
    /// The lines whose seals are whole, with their ends.
    pub lines: Vec<u8>,
    /// How many bytes of the text these and their seals are.
    pub whole: u64,
    /// Whether more follows that is no cut-short line: somebody or something changed the file.
    pub is_damaged: bool,
}

/// The lines of a text that `seal` accepts, from the first on, up to the first that it does not. A last line that was cut
/// short, or whose seal was, announces nothing.
pub fn unseal(text: &[u8], seal: &mut Seal) -> Unsealed {
    let mut found = Unsealed { lines: Vec::new(), whole: 0, is_damaged: false };
    let mut rest = text;
    while let Some((line, behind)) = split(rest) {
        let Some((its_seal, behind)) = split(behind) else { break };
        if !seal.accepts(line, its_seal) {
            found.is_damaged = true;
            break;
        }
        found.lines.extend_from_slice(line);
        found.lines.push(b'\n');
        rest = behind;
    }
    found.whole = (text.len() - rest.len()) as u64;
    found
}

/// The first line without its end, and what follows; `None` when no line ends.
fn split(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b'\n', text)?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLACE: SealedFile = SealedFile { inode: 12, made: 34 };

    fn seal(secret: u8, place: SealedFile) -> Seal {
        Seal::new(Secret::new([secret; 32]), place)
    }

    fn text(lines: &[&str]) -> Vec<u8> {
        let mut seal = seal(1, PLACE);
        lines.iter().flat_map(|line| seal.sealed(line).into_bytes()).collect()
    }

    #[test]
    fn what_was_sealed_is_read_again_and_can_go_on() {
        let text = text(&["one", "", "three"]);
        let mut again = seal(1, PLACE);
        let found = unseal(&text, &mut again);
        let whole =
            Unsealed { lines: b"one\n\nthree\n".to_vec(), whole: text.len() as u64, is_damaged: false };
        assert_eq!(found, whole);
        let longer = [text, again.sealed("four").into_bytes()].concat();
        assert_eq!(unseal(&longer, &mut seal(1, PLACE)).lines, b"one\n\nthree\nfour\n");
    }

    #[test]
    fn a_copy_or_anothers_has_no_line_at_all() {
        let text = text(&["one", "two"]);
        for mut other in [
            seal(2, PLACE),
            seal(1, SealedFile { inode: 13, ..PLACE }),
            seal(1, SealedFile { made: 35, ..PLACE }),
        ] {
            let found = unseal(&text, &mut other);
            assert!(found.lines.is_empty() && found.is_damaged && found.whole == 0);
        }
    }

    #[test]
    fn lines_that_are_swapped_left_out_or_repeated_do_not_count() {
        let text = text(&["one", "two", "three"]);
        let ends: Vec<usize> =
            text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
        let part =
            |from: usize, to: usize| &text[if from == 0 { 0 } else { ends[2 * from - 1] }..ends[2 * to - 1]];
        for (forged, count) in [
            ([part(1, 2), part(0, 1), part(2, 3)].concat(), 0),
            ([part(0, 1), part(2, 3)].concat(), 1),
            ([part(0, 2), part(1, 2)].concat(), 2),
            ([part(0, 1), b"\"two\"\n", part(1, 2)].concat(), 1),
        ] {
            let found = unseal(&forged, &mut seal(1, PLACE));
            assert_eq!(found.lines.iter().filter(|byte| **byte == b'\n').count(), count);
            assert!(found.is_damaged);
        }
    }

    proptest! {
        #[test]
        fn a_text_that_is_cut_short_has_its_whole_lines_and_no_damage(cut in 0_usize..140) {
            let text = text(&["one", "two", "three"]);
            let cut = cut.min(text.len());
            let found = unseal(&text[..cut], &mut seal(1, PLACE));
            prop_assert!(!found.is_damaged);
            prop_assert!(b"one\ntwo\nthree\n".starts_with(&found.lines));
        }

        #[test]
        fn no_changed_byte_makes_another_line(at in 0_usize..140, by in 1_u8..) {
            let mut text = text(&["one", "two", "three"]);
            let at = at % text.len();
            text[at] ^= by;
            let found = unseal(&text, &mut seal(1, PLACE));
            prop_assert!(b"one\ntwo\nthree\n".starts_with(&found.lines));
            prop_assert!(found.lines.len() < 14);
        }

        #[test]
        fn no_text_panics(text: Vec<u8>) {
            let found = unseal(&text, &mut seal(1, PLACE));
            prop_assert!(found.lines.is_empty());
        }
    }
}
