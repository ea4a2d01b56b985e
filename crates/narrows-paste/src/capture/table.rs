//! Tables with a head, in columns that are aligned with blanks.

/// A word and where it stands, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableWord<'a> {
    /// The first character.
    pub(super) start: usize,
    /// The character behind the last.
    pub(super) end: usize,
    /// Its first byte.
    pub(super) at: usize,
    /// The word.
    pub(super) text: &'a str,
}

/// The words of a line.
pub(super) fn words(line: &str) -> Vec<TableWord<'_>> {
    let mut words = Vec::new();
    // Byte and character at which the current word began.
    let mut begun: Option<(usize, usize)> = None;
    for (end, (byte, c)) in line.char_indices().chain([(line.len(), ' ')]).enumerate() {
        match (c.is_whitespace(), begun) {
            (false, None) => begun = Some((byte, end)),
            (true, Some((first, start))) => {
                words.extend(line.get(first..byte).map(|text| TableWord { start, end, at: first, text }));
                begun = None;
            }
            _ => {}
        }
    }
    words
}

/// The columns of a table: the words of its head, and where they stand. A head of two words is handed over as one.
#[derive(Debug, Clone)]
pub(super) struct TableHead<'a>(pub(super) Vec<TableWord<'a>>);

impl<'a> TableHead<'a> {
    /// The name of each column.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.0.iter().map(|word| word.text)
    }

    /// The name of each column and what stands in it. A word below a part of a column's head belongs to that column,
    /// whether it is aligned left or right; one between two heads belongs to the left one, whose text is longer than
    /// its head.
    pub(super) fn cells(&self, words: &[TableWord<'_>]) -> Vec<(&'a str, String)> {
        let mut cells: Vec<(&str, String)> = self.names().map(|name| (name, String::new())).collect();
        for word in words {
            let before = self.0.iter().take_while(|head| head.start < word.end).count();
            let at = before.saturating_sub(1);
            if let Some((_, cell)) = cells.get_mut(at) {
                if !cell.is_empty() {
                    cell.push(' ');
                }
                cell.push_str(word.text);
            }
        }
        cells
    }
}

/// What stands in the column of this name; the first of several.
pub(super) fn cell<'c>(cells: &'c [(impl AsRef<str>, String)], column: &str) -> Option<&'c str> {
    cells.iter().find(|(name, _)| name.as_ref() == column).map(|(_, value)| value.as_str())
}

/// Whether a character can be part of the tree before a name. Broken ones are anything outside ASCII.
pub(super) fn is_tree(c: char) -> bool {
    matches!(c, ' ' | '|' | '`' | '-' | '+' | '?') || !c.is_ascii()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn columns_are_aligned_left_or_right_and_may_be_empty() {
        let head = TableHead(words("NAME    MAJ:MIN   SIZE MODEL       SERIAL"));
        let cells = |row| head.cells(&words(row)).into_iter().map(|(_, cell)| cell).collect::<Vec<String>>();
        let row = "sda       8:0   1000.0G Samsung SSD S1";
        assert_eq!(cells(row), ["sda", "8:0", "1000.0G", "Samsung SSD", "S1"]);
        let row = "sdb       8:16    10G             S2";
        assert_eq!(cells(row), ["sdb", "8:16", "10G", "", "S2"]);
        assert_eq!(cell(&head.cells(&words(row)), "SIZE"), Some("10G"));
    }

    proptest! {
        #[test]
        fn no_line_panics_and_no_word_is_lost(head in "[A-Z ]{0,40}", line in "\\PC{0,60}") {
            let head = words(&head);
            let row = words(&line);
            let cells = TableHead(head.clone()).cells(&row);
            if !head.is_empty() {
                let kept: usize = cells.iter().map(|(_, cell)| cell.split_whitespace().count()).sum();
                prop_assert_eq!(kept, row.len());
            }
        }
    }
}
