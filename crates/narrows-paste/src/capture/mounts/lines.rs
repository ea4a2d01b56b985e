//! One mount on each line: `mount`, `/proc/mounts`, `/proc/self/mountinfo` and `df`.

use super::mount;
use crate::capture::{Text, size};
use narrows_machine::mount::{self as live, Mount, unescape};

/// Every line that is a mount, in whatever form.
pub(super) fn read(text: &Text) -> impl Iterator<Item = (usize, Mount)> {
    text.lines().filter(|(_, line)| line.contains(" /")).filter_map(|(number, line)| {
        let mount =
            of_mount(line).or_else(|| of_mountinfo(line)).or_else(|| of_fstab(line)).or_else(|| of_df(line));
        mount.map(|mount| (number, mount))
    })
}

/// `/dev/sda2 on / type ext4 (rw,relatime)`.
fn of_mount(line: &str) -> Option<Mount> {
    let (source, rest) = line.trim().split_once(" on ")?;
    let (point, rest) = rest.split_once(" type ")?;
    let (fstype, options) = rest.split_once(' ').unwrap_or((rest, ""));
    // `[label]` may follow the options (`mount -l`).
    let options =
        options.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(options, _)| options);
    (point.starts_with('/') && !source.contains(' ')).then(|| mount(source, point, fstype, options))
}

/// A line of mountinfo begins with two numbers and a device number.
fn of_mountinfo(line: &str) -> Option<Mount> {
    let is_one = line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(" - ");
    is_one.then(|| live::parse(line).pop()).flatten()
}

/// `/dev/sda2 / ext4 rw,relatime 0 0`, as `/proc/mounts` has it. A line of `/etc/fstab` looks the same, but says what
/// should be and not what is; the kernel's list always has `rw` or `ro` among the options, and ends in `0 0`.
fn of_fstab(line: &str) -> Option<Mount> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [source, point, fstype, options, "0", "0"] = words.as_slice() else { return None };
    let is_live = options.split(',').any(|option| matches!(option, "rw" | "ro"));
    let is_one = point.starts_with('/') && is_live && !source.starts_with('#');
    is_one.then(|| mount(&unescape(source), &unescape(point), fstype, options))
}

/// `/dev/sda2  457G  120G  314G  28% /home`, with or without a column for the type.
fn of_df(line: &str) -> Option<Mount> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let percent =
        words.iter().position(|word| word.strip_suffix('%').is_some_and(|n| n.parse::<u32>().is_ok()))?;
    let (source, fstype, sizes) = match words.get(..percent)? {
        [source, sizes @ ..] if sizes.len() == 3 => (source, "", sizes),
        [source, fstype, sizes @ ..] if sizes.len() == 3 => (source, *fstype, sizes),
        _ => return None,
    };
    let point = words.get(percent + 1..)?.join(" ");
    let are_sizes = sizes.iter().all(|word| size::binary(word).is_some());
    (are_sizes && point.starts_with('/')).then(|| mount(source, &point, fstype, ""))
}
