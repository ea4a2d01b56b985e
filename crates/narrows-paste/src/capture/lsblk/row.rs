//! One line of `lsblk`, whatever form it was printed in.

use crate::capture::device::{is_kernel_name, key_of};

/// One device as one line of `lsblk` shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// The line of the text.
    pub(super) line: usize,
    /// What stands in each column, by the column's name: `MAJ:MIN`. Columns without a value are left out.
    pub(super) cells: Vec<(String, String)>,
    /// The device above it in the tree.
    pub(super) parent: Option<String>,
}

impl Row {
    /// The value of a column; `None` when it is empty or was not asked for.
    pub(super) fn get(&self, column: &str) -> Option<&str> {
        let cell = self.cells.iter().find(|(name, _)| name == column);
        cell.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Puts a value down. Names are made equal: `maj:min`, `MAJ_MIN` and `MAJ:MIN` are one column.
    pub(super) fn set(&mut self, column: &str, value: String) {
        let column = match column.to_ascii_uppercase().as_str() {
            "MAJ_MIN" | "MAJ-MIN" => "MAJ:MIN".to_owned(),
            other => other.replace('_', "-"),
        };
        self.cells.push((column, value));
    }

    /// Every place where it is mounted.
    pub(super) fn mount_points(&self) -> impl Iterator<Item = &str> {
        let all = self.cells.iter().filter(|(name, _)| name == "MOUNTPOINTS" || name == "MOUNTPOINT");
        all.flat_map(|(_, value)| value.split('\n')).map(str::trim).filter(|point| point.starts_with('/'))
    }

    /// Major and minor number.
    pub(super) fn number(&self) -> Option<(u32, u32)> {
        narrows_machine::block::dm::parse_number_pair(self.get("MAJ:MIN")?)
    }

    /// The name as it is printed, without `/dev/` and `/dev/mapper/`.
    pub(super) fn name(&self) -> Option<&str> {
        let name = self.get("NAME").or_else(|| self.get("KNAME")).or_else(|| self.get("PATH"))?;
        let name = name.strip_prefix("/dev/").unwrap_or(name);
        Some(name.strip_prefix("mapper/").unwrap_or(name))
    }

    /// The key of the device, see [`crate::capture::device`].
    pub(super) fn key(&self) -> Option<String> {
        if let Some(kernel) = self.get("KNAME") {
            return key_of(kernel).or_else(|| key_of(&format!("/dev/{kernel}")));
        }
        let name = self.name()?;
        match (self.is_mapping(name), self.number()) {
            (true, Some((_, minor))) => Some(format!("dm-{minor}")),
            (true, None) => key_of(&format!("/dev/mapper/{name}")),
            (false, _) => key_of(&format!("/dev/{name}")),
        }
    }

    /// Whether it is a device-mapper device: its type says so, or else its name is none that a driver gives.
    pub(super) fn is_mapping(&self, name: &str) -> bool {
        match self.get("TYPE") {
            Some("crypt" | "lvm" | "mpath" | "dm" | "dmraid" | "multipath" | "stratis" | "vdo") => true,
            _ => {
                !is_kernel_name(name)
                    && !name.contains('!')
                    && (self.parent.is_some() || self.get("TYPE").is_some())
            }
        }
    }
}
