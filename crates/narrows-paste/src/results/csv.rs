//! Tables with commas, whose first line names the columns.

use super::number::plain;

/// The columns of a table, by what its heading calls them.
#[derive(Debug, Clone, Default)]
pub(super) struct Columns {
    names: Vec<String>,
}

impl Columns {
    /// The names in a heading.
    pub(super) fn of(heading: &str) -> Self {
        Self::named(cells(heading))
    }

    /// Columns of these names, wherever their cells are parted.
    pub(super) fn named<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self { names: names.into_iter().map(|name| name.trim().to_owned()).collect() }
    }

    /// The cell of a row in the column of this name; empty cells are none.
    pub(super) fn text<'r>(&self, row: &[&'r str], name: &str) -> Option<&'r str> {
        let at = self.names.iter().position(|known| known == name)?;
        row.get(at).map(|cell| cell.trim().trim_matches('"')).filter(|cell| !cell.is_empty())
    }

    /// The number of a row in the column of this name.
    pub(super) fn number(&self, row: &[&str], name: &str) -> Option<f64> {
        plain(self.text(row, name)?)
    }

    /// The whole number of a row in the column of this name.
    pub(super) fn count(&self, row: &[&str], name: &str) -> Option<u64> {
        self.text(row, name)?.parse().ok()
    }
}

/// The cells of a line. No tool that is read here quotes commas.
pub(super) fn cells(line: &str) -> Vec<&str> {
    line.split(',').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_by_their_names() {
        let columns = Columns::of("access,bw(MiB/s), IOPS");
        let row = cells("read,\"12.5\",");
        assert_eq!((columns.number(&row, "bw(MiB/s)"), columns.number(&row, "IOPS")), (Some(12.5), None));
        assert_eq!((columns.text(&row, "access"), columns.text(&row, "x")), (Some("read"), None));
    }
}
