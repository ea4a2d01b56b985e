//! `lsblk -P`: `NAME="sda" SIZE="1.8T" …`, one device on each line.

use super::row::Row;
use crate::capture::Text;

/// Every line of pairs that names a device.
pub(super) fn rows(text: &Text) -> Vec<Row> {
    text.lines()
        .filter(|(_, line)| line.contains("NAME=\""))
        .filter_map(|(number, line)| row(number, line))
        .collect()
}

fn row(number: usize, line: &str) -> Option<Row> {
    let mut row = Row { line: number, ..Row::default() };
    let mut rest = line.trim_start();
    while let Some((column, after)) = rest.split_once("=\"") {
        let (value, after) = after.split_once('"')?;
        let is_column = |c: char| c.is_ascii_uppercase() || "%:-_".contains(c);
        if column.is_empty() || !column.chars().all(is_column) {
            return None;
        }
        if !value.is_empty() {
            row.set(column, unescape(value));
        }
        rest = after.trim_start();
    }
    // `blkid -o export` and `/etc/os-release` have a NAME too; only lsblk has these beside it.
    let is_own = ["TYPE", "MAJ:MIN", "SIZE", "KNAME", "FSTYPE", "MOUNTPOINT", "MOUNTPOINTS", "PKNAME"];
    row.parent = row.get("PKNAME").map(str::to_owned);
    (is_own.iter().any(|column| row.get(column).is_some()) && row.key().is_some()).then_some(row)
}

/// Undoes `\x20` (util-linux `lib/mangle.c`, `fputs_quoted`).
fn unescape(value: &str) -> String {
    let mut parts = value.split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let code = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                bytes.extend(part.get(2..).unwrap_or_default().as_bytes());
            }
            None => {
                bytes.extend(b"\\x");
                bytes.extend(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pairs_are_read_with_their_escapes() {
        let line = "NAME=\"sda1\" MAJ_MIN=\"8:1\" MODEL=\"\" MOUNTPOINT=\"/mnt/a\\x20b\" TYPE=\"part\"";
        let row = row(1, line).expect("is a row");
        assert_eq!(row.number(), Some((8, 1)));
        assert_eq!(row.mount_points().collect::<Vec<_>>(), ["/mnt/a b"]);
        assert_eq!(row.get("MODEL"), None);
    }

    #[test]
    fn other_pairs_are_none() {
        assert_eq!(row(1, "NAME=\"Debian GNU/Linux\""), None);
        assert_eq!(row(1, "DEVNAME=/dev/sda NAME=\"x"), None);
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "\\PC{0,80}", value in "[\\\\x0-9a-f]{0,20}") {
            let _ = row(1, &line);
            let _ = unescape(&value);
        }
    }
}
