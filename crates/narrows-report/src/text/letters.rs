//! Names of disks whose letters follow each other, in few words.

/// The kinds of disks that the kernel tells apart by letters: SCSI and ATA, virtio, Xen.
const KINDS: [&str; 3] = ["sd", "vd", "xvd"];

/// Fewer names are listed.
const LEAST: usize = 4;

/// More letters than the kernel gives.
const LONGEST: usize = 5;

/// All of the names in one, where they are disks without a gap: `/dev/vd[a-p] ×16`, as a shell would have them.
pub(super) fn span(names: &[&str]) -> Option<String> {
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
    use super::span;

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
