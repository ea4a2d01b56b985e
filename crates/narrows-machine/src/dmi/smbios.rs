//! The structure of an SMBIOS table (DMTF DSP0134 3.7, section 6.1).

/// The header of a structure: type, length, handle.
const HEADER: usize = 4;
/// The type of the structure that ends the table (section 7.45).
const END: u8 = 127;

/// One structure of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Structure<'a> {
    /// Its type.
    pub(super) kind: u8,
    /// The formatted area with the header, as long as it says it is.
    formatted: &'a [u8],
    /// Its strings, each ended by a zero except the last.
    strings: &'a [u8],
}

impl Structure<'_> {
    /// The byte at `at` from the start of the header; `None` past the end, where older versions of SMBIOS stop.
    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.formatted.get(at).copied()
    }

    /// The little-endian word at `at`.
    pub(super) fn word(&self, at: usize) -> Option<u16> {
        self.formatted.get(at..)?.first_chunk().copied().map(u16::from_le_bytes)
    }

    /// The string whose number stands at `at`, without control characters; empty for number 0 or one that is not there.
    pub(super) fn text(&self, at: usize) -> String {
        let number = self.byte(at).map_or(0, usize::from);
        let Some(before) = number.checked_sub(1) else { return String::new() };
        let raw = self.strings.split(|byte| *byte == 0).nth(before).unwrap_or_default();
        String::from_utf8_lossy(raw).chars().filter(|c| !c.is_control()).collect::<String>().trim().to_owned()
    }
}

/// Every structure of a table, up to its end or to the first that cannot be one.
pub(super) fn structures(table: &[u8]) -> impl Iterator<Item = Structure<'_>> {
    let mut rest = table;
    std::iter::from_fn(move || {
        let structure;
        (structure, rest) = split(rest)?;
        (structure.kind != END).then_some(structure)
    })
}

/// Takes the first structure off a table: its length counts the formatted area, two zeros end the strings behind it.
fn split(table: &[u8]) -> Option<(Structure<'_>, &[u8])> {
    let (kind, length) = (*table.first()?, usize::from(*table.get(1)?));
    if length < HEADER {
        return None;
    }
    let (formatted, behind) = table.split_at_checked(length)?;
    let end = behind.windows(2).position(|pair| pair == [0, 0]);
    let strings = behind.get(..end.unwrap_or(behind.len()))?;
    let rest = end.and_then(|end| behind.get(end + 2..)).unwrap_or_default();
    Some((Structure { kind, formatted, strings }, rest))
}

/// Major and minor version out of an entry point of 32 bits (`_SM_`) or 64 bits (`_SM3_`), sections 5.2.1 and 5.2.2.
pub(super) fn parse_version(entry: &[u8]) -> Option<(u8, u8)> {
    let at = if entry.starts_with(b"_SM3_") {
        7
    } else if entry.starts_with(b"_SM_") {
        6
    } else {
        return None;
    };
    Some((*entry.get(at)?, *entry.get(at + 1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_entry_points_state_the_version() {
        assert_eq!(parse_version(b"_SM_\x38\x1f\x02\x08\x41\x00"), Some((2, 8)));
        assert_eq!(parse_version(b"_SM3_\x38\x18\x03\x05\x00\x01"), Some((3, 5)));
        assert_eq!(parse_version(b"_SM3_\x38\x18"), None);
        assert_eq!(parse_version(b"_DMI_\x38\x18\x03\x05"), None);
    }

    #[test]
    fn structures_are_taken_apart_up_to_the_end() {
        let table =
            b"\x01\x05\x00\x00\x02one\0two\0\0\x02\x04\x01\x00\0\0\x7f\x04\x02\x00\0\0\x09\x04\0\0\0\0";
        let found: Vec<_> = structures(table).collect();
        assert_eq!(found.iter().map(|structure| structure.kind).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(found[0].text(4), "two");
        assert_eq!(found[1].text(4), "", "past its end");
        assert_eq!(found[0].word(2), Some(0));
        assert_eq!(found[0].word(4), None);
    }

    #[test]
    fn a_truncated_table_gives_what_is_whole() {
        assert_eq!(structures(b"\x01\x05\x00\x00\x01one").count(), 1);
        assert_eq!(structures(b"\x01\x05\x00\x00").count(), 0);
        assert_eq!(structures(b"\x01\x00\x00\x00\0\0").count(), 0, "a length that cannot be");
        assert_eq!(structures(b"").count(), 0);
    }
}
