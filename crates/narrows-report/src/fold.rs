//! Many names in few words: `c[01-12,14] db1`.

use std::collections::{BTreeMap, BTreeSet};

/// Folds names that differ in a number only. Numbers of another width (`c1` and `c01`) are other names and stay apart.
pub fn folded<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    // Widths to which numbers are filled with zeros.
    let zeros = names.iter().filter_map(|name| split(name));
    let zeros = zeros.filter(|(_, digits, ..)| digits.len() > 1 && digits.starts_with('0'));
    let filled: BTreeSet<(&str, usize, &str)> =
        zeros.map(|(before, digits, after, _)| (before, digits.len(), after)).collect();
    let mut groups: BTreeMap<(&str, usize, &str), Vec<u64>> = BTreeMap::new();
    let mut words = Vec::new();
    for name in names {
        match split(name) {
            Some((before, digits, after, number)) => {
                // Other numbers are of one kind, however long they are.
                let width = if filled.contains(&(before, digits.len(), after)) { digits.len() } else { 0 };
                groups.entry((before, width, after)).or_default().push(number);
            }
            None => words.push(name.to_owned()),
        }
    }
    for ((before, width, after), mut numbers) in groups {
        numbers.sort_unstable();
        numbers.dedup();
        let ranges = ranges(&numbers, width);
        words.push(match numbers.as_slice() {
            [only] => format!("{before}{only:0width$}{after}"),
            _ => format!("{before}[{ranges}]{after}"),
        });
    }
    words.sort();
    words.join(" ")
}

/// A name around its last number.
fn split(name: &str) -> Option<(&str, &str, &str, u64)> {
    let (head, after) = name.split_at_checked(name.rfind(|c: char| c.is_ascii_digit())? + 1)?;
    let before = head.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = head.strip_prefix(before)?;
    // An address is no row of numbered hosts.
    let is_address = name.chars().all(|c| c.is_ascii_digit() || c == '.') || name.contains(':');
    if is_address || digits.len() >= 19 {
        return None;
    }
    Some((before, digits, after, digits.parse().ok()?))
}

fn ranges(numbers: &[u64], width: usize) -> String {
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let part = |(first, last): &(u64, u64)| match first == last {
        true => format!("{first:0width$}"),
        false => format!("{first:0width$}-{last:0width$}"),
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

/// The kinds of disks that the kernel tells apart by letters: SCSI and ATA, virtio, Xen.
const KINDS: [&str; 3] = ["sd", "vd", "xvd"];

/// Fewer names of disks are listed.
const LEAST: usize = 4;

/// More letters than the kernel gives.
const LONGEST: usize = 5;

/// All of the names in one, where they are disks without a gap: `/dev/vd[a-p] ×16`, as a shell would have them.
pub fn span(names: &[&str]) -> Option<String> {
    let disks: Option<Vec<(&str, usize, &str)>> = names.iter().map(|name| place(name)).collect();
    let mut disks = disks.filter(|disks| disks.len() >= LEAST)?;
    disks.sort_unstable();
    let kept = disks.windows(2).all(|pair| match pair {
        [(kind, place, _), (next_kind, next, _)] => kind == next_kind && place + 1 == *next,
        _ => false,
    });
    let ((kind, _, first), (_, _, last)) = disks.first().zip(disks.last())?;
    let letter = |name: &str| name.strip_prefix(kind).filter(|letters| letters.len() == 1).map(str::to_owned);
    let name = match (letter(first), letter(last)) {
        (Some(first), Some(last)) => format!("{kind}[{first}-{last}]"),
        _ => format!("{first} to {last}"),
    };
    kept.then(|| format!("/dev/{name} ×{}", disks.len()))
}

/// The kind of a disk, its place among them (`a` is 1, `z` 26, `aa` 27), and its name.
fn place(name: &str) -> Option<(&'static str, usize, &str)> {
    let name = name.strip_prefix("/dev/")?;
    let (kind, letters) = KINDS.iter().find_map(|kind| Some((*kind, name.strip_prefix(kind)?)))?;
    let is_plain = !letters.is_empty() && letters.len() < LONGEST;
    let are_letters = letters.bytes().all(|byte| byte.is_ascii_lowercase());
    let count = |place: usize, byte: u8| place * 26 + usize::from(byte - b'a') + 1;
    (is_plain && are_letters).then(|| (kind, letters.bytes().fold(0, count), name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbered_hosts_are_ranges() {
        assert_eq!(folded(["node006", "node016", "node007", "db"]), "db node[006-007,016]");
        assert_eq!(folded(["c9", "c10", "c11"]), "c[9-11]");
        assert_eq!(folded(["c1", "c01"]), "c01 c1");
        assert_eq!(folded(["r1n1.x", "r1n2.x", "r2n1.x"]), "r1n[1-2].x r2n1.x");
        assert_eq!(folded(["10.0.0.1", "10.0.0.2", "fe80::1"]), "10.0.0.1 10.0.0.2 fe80::1");
        assert_eq!(folded([]), "");
    }

    #[test]
    fn a_thousand_hosts_are_one_word() {
        let names: Vec<String> = (1..=1024).filter(|n| *n != 17).map(|n| format!("node{n:04}")).collect();
        assert_eq!(folded(names.iter().map(String::as_str)), "node[0001-0016,0018-1024]");
    }

    proptest! {
        #[test]
        fn no_name_panics(names in prop::collection::vec("\\PC{0,12}", 0..8)) {
            let _ = folded(names.iter().map(String::as_str));
        }
    }

    #[test]
    fn disks_without_a_gap_are_one_name() {
        let of = |letters: &[&str]| {
            let names: Vec<String> = letters.iter().map(|letters| format!("/dev/{letters}")).collect();
            span(&names.iter().map(String::as_str).collect::<Vec<_>>())
        };
        assert_eq!(of(&["vda", "vdb", "vdc", "vdd"]).as_deref(), Some("/dev/vd[a-d] ×4"));
        assert_eq!(of(&["sdaa", "sdy", "sdz", "sdab"]).as_deref(), Some("/dev/sdy to sdab ×4"));
        for apart in [
            &["vda", "vdb", "vdc"][..],
            &["vda", "vdb", "vdc", "vde"],
            &["sda", "sdb", "vdc", "vdd"],
            &["sda1", "sda2", "sda3", "sda4"],
            &["nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1"],
            &["sd", "sda", "sdb", "sdc"],
        ] {
            assert_eq!(of(apart), None, "{apart:?}");
        }
        assert_eq!(span(&["/dev/sda", "/dev/sdb", "/dev/sdc", "/"]), None);
    }
}
