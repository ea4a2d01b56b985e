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

/// The columns of a table by the words of its head. A head of two words is handed over as one.
#[derive(Debug, Clone, Default)]
pub(super) struct TableHead {
    columns: Vec<(usize, usize)>,
}

impl TableHead {
    /// Columns that begin and end where `words` do.
    pub(super) fn new<'a>(words: impl IntoIterator<Item = &'a TableWord<'a>>) -> Self {
        Self { columns: words.into_iter().map(|word| (word.start, word.end)).collect() }
    }

    /// What stands in each column. A word below a part of a column's head belongs to that column, whether it is
    /// aligned left or right; one between two heads belongs to the left one, whose text is longer than its head.
    pub(super) fn cells(&self, words: &[TableWord<'_>]) -> Vec<String> {
        let mut cells = vec![String::new(); self.columns.len()];
        for word in words {
            let before = self.columns.iter().take_while(|(start, _)| *start < word.end).count();
            let at = before.saturating_sub(1);
            if let Some(cell) = cells.get_mut(at) {
                if !cell.is_empty() {
                    cell.push(' ');
                }
                cell.push_str(word.text);
            }
        }
        cells
    }
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
        let head = words("NAME    MAJ:MIN   SIZE MODEL       SERIAL");
        let head = TableHead::new(&head);
        let row = words("sda       8:0   1000.0G Samsung SSD S1");
        assert_eq!(head.cells(&row), ["sda", "8:0", "1000.0G", "Samsung SSD", "S1"]);
        let row = words("sdb       8:16    10G             S2");
        assert_eq!(head.cells(&row), ["sdb", "8:16", "10G", "", "S2"]);
    }

    proptest! {
        #[test]
        fn no_line_panics_and_no_word_is_lost(head in "[A-Z ]{0,40}", line in "\\PC{0,60}") {
            let head = words(&head);
            let row = words(&line);
            let cells = TableHead::new(&head).cells(&row);
            if !head.is_empty() {
                let kept: usize = cells.iter().map(|cell| cell.split_whitespace().count()).sum();
                prop_assert_eq!(kept, row.len());
            }
        }
    }
}
