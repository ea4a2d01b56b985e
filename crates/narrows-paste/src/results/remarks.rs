//! Remarks of people and states that tools print, which say what else was going on: an array that resynced, how fast
//! the wire is, how much memory there is.

use std::collections::BTreeSet;

use narrows_base::catalog::catalog;
use narrows_base::units::{Bytes, BytesPerSec};

use super::Page;
use super::number::{Base, leading, size};
use super::surroundings::contains_word;

/// Remarks stand near the beginning; tables of numbers are long.
const MOST_LINES: usize = 2000;

/// No remark is longer, in bytes.
const LONGEST: usize = 1000;

/// Lines that may be remarks.
pub(super) fn remarks<'a>(page: &Page<'a>) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
    page.lines().take(MOST_LINES).filter(|(_, line)| line.len() <= LONGEST)
}

/// Words that turn a remark about other work into its opposite, or put it into another time.
const ELSEWHEN: &[&str] = &[
    "not ", "no ", "n't", "nothing", "none", "before", "after", "finish", "complet", "done", "wait for",
    "waited", "without", "idle", "avoid", "never", "if ", "when ",
];

/// What the first remark says of something, in lower case as it is asked, and where it stands.
fn find<T>(page: &Page<'_>, of: impl Fn(&str) -> Option<T>) -> Option<(T, String)> {
    remarks(page).find_map(|(number, line)| Some((of(&line.to_lowercase())?, page.source(number))))
}

fn is_elsewhen(lower: &str) -> bool {
    ELSEWHEN.iter().any(|word| lower.contains(word))
}

/// Drives with a link of their own that the text names (`Comment: Samsung 980 PRO 1TB`), by their names in the catalogue.
pub(super) fn drives(page: &Page<'_>) -> Vec<(String, String)> {
    let media = catalog().media.iter().filter(|one| one.lanes > 0);
    let named: Vec<(String, &str)> = media.map(|one| (one.name.to_lowercase(), one.name.as_str())).collect();
    let makers: BTreeSet<&str> = named.iter().filter_map(|(name, _)| name.split(' ').next()).collect();
    let mut found: Vec<(String, String)> = Vec::new();
    for (number, line) in remarks(page) {
        let lower = line.to_lowercase();
        if !makers.iter().any(|maker| lower.contains(maker)) {
            continue;
        }
        let on_line = named.iter().filter(|(name, _)| contains_word(&lower, name));
        // `Samsung 980 PRO` has the name of another drive in it.
        let longest = on_line.max_by_key(|(name, _)| name.len());
        if let Some((_, name)) = longest.filter(|(_, name)| found.iter().all(|(known, _)| known != name)) {
            found.push(((*name).to_owned(), page.source(number)));
        }
    }
    found
}

/// What an array or pool was busy with: md's `resync = 12.6%` (`Documentation/admin-guide/md.rst`), `zpool status`'s
/// `scrub in progress since`, or a sentence that says so.
pub(super) fn resync(page: &Page<'_>) -> Option<(String, String)> {
    find(page, |lower| {
        of_mdstat(lower).or_else(|| of_pool(lower)).or_else(|| of_sentence(lower)).map(str::to_owned)
    })
}

fn of_mdstat(lower: &str) -> Option<&'static str> {
    ["resync", "recovery", "reshape", "check"].into_iter().find(|action| {
        lower.split_once(action).is_some_and(|(_, rest)| {
            let number = rest.trim_start().strip_prefix('=').and_then(leading);
            number.is_some_and(|(_, unit)| unit.starts_with('%'))
        })
    })
}

fn of_pool(lower: &str) -> Option<&'static str> {
    let running = lower.contains("in progress since");
    ["resilver", "scrub"].into_iter().find(|action| running && lower.contains(action))
}

fn of_sentence(lower: &str) -> Option<&'static str> {
    const STATES: [(&str, &str); 5] = [
        ("resyncing", "resync"),
        ("resilvering", "resilver"),
        ("rebuilding", "recovery"),
        ("scrubbing", "scrub"),
        ("reshaping", "reshape"),
    ];
    // A command or a heading is no sentence, and code says nothing of a run.
    let words = lower.split_whitespace().count();
    let found = STATES.into_iter().find(|(word, _)| lower.contains(word))?;
    // Kernels are rebuilt and code is reshaped, too.
    const ARRAYS: [&str; 9] = ["raid", "md", "array", "pool", "mirror", "zfs", "disk", "drive", "vdev"];
    let is_of_array = ARRAYS.iter().any(|word| lower.contains(word)) || found.0.starts_with("res");
    // "while X was resyncing, and I did not have time to wait": what is denied stands behind the state.
    let before = lower.split(found.0).next().unwrap_or_default();
    // "When it is rebuilding, it is slow" is said of any time; what somebody did or sees then is of this one.
    let is_told = [" i ", " i'm ", " we ", " we're "].iter().any(|who| format!(" {lower}").contains(who));
    let before = if is_told { before.replace("when ", "while ") } else { before.to_owned() };
    (is_now(&before) && is_of_array && words > 3 && !is_code(lower) && !is_elsewhen(&before))
        .then_some(found.1)
}

/// Whether the words before a state say that something was in it: `was still`, `while`. What will be, or may, is not.
fn is_now(before: &str) -> bool {
    const PADDING: [&str; 5] = ["still", "currently", "now", "busy", "already"];
    const STATES: [&str; 6] = ["is", "was", "were", "are", "while", "during"];
    let word = |word: &&str| !PADDING.contains(word);
    let last = before.split_whitespace().rev().find(word).unwrap_or_default();
    let last = last.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'');
    STATES.contains(&last) || last.ends_with("'s") || last.ends_with("'re")
}

/// A comment or statement of a program, as patches quote it.
fn is_code(line: &str) -> bool {
    let bare = line.trim_start_matches(['+', '-', ' ', '\t']);
    let is_comment = ["/*", "* ", "*/", "//"].iter().any(|mark| bare.starts_with(mark));
    is_comment || bare.ends_with(';') || bare.ends_with('{')
}

/// Work that uses storage beside a benchmark.
const WORK: &[&str] = &[
    "recording",
    "copying",
    "downloading",
    "uploading",
    "streaming",
    "backing up",
    "transcoding",
    "compiling",
    "seeding",
    "syncing",
    "replicating",
    "migrating",
];

/// Phrases that say the same.
const BESIDE: &[&str] = &[
    "another fio",
    "another dd",
    "another benchmark",
    "background load",
    "background io",
    "background i/o",
    "other load",
    "other vms running",
    "other vms were running",
    "other guests running",
    "other guests were running",
    "noisy neighbo",
];

/// Whether something else used the storage, by a sentence that says so.
pub(super) fn other_work(page: &Page<'_>) -> Option<String> {
    let found = find(page, |lower| {
        let says = BESIDE.iter().any(|phrase| lower.contains(phrase))
            || lower.split("while ").skip(1).any(|rest| {
                let near: String = rest.chars().take(40).collect();
                WORK.iter().any(|work| near.contains(work))
            });
        (says && !is_elsewhen(lower)).then_some(())
    });
    found.map(|(_, source)| source)
}

/// How fast a wire is that a text names: `10GbE`, `25 Gbit/s`, `GigE`. Of several the fastest; of a bond (`2x 25GbE`)
/// the sum.
pub(super) fn wire(page: &Page<'_>) -> Option<(BytesPerSec, String)> {
    let mut best: Option<(BytesPerSec, String)> = None;
    for (number, line) in remarks(page) {
        let lower = line.to_lowercase();
        let Some(gigabits) = gigabits(&lower) else { continue };
        let rate = BytesPerSec::new(gigabits * 1e9 / 8.0);
        if best.as_ref().is_none_or(|(known, _)| rate.get() > known.get()) {
            best = Some((rate, page.source(number)));
        }
    }
    best
}

fn gigabits(lower: &str) -> Option<f64> {
    const UNITS: [&str; 6] = ["gbe", "gbase-t", "gbit", "gb ethernet", "gb/s ethernet", "gigabit ethernet"];
    let mut most = ["gige", "gigabit ethernet", "gigabit lan", "gigabit network"]
        .iter()
        .any(|word| lower.contains(word))
        .then_some(1.0_f64);
    for unit in UNITS {
        for (at, _) in lower.match_indices(unit).take(8) {
            let before = lower.get(..at).unwrap_or_default().trim_end().trim_end_matches('-');
            let start = before.rfind(|c: char| !c.is_ascii_digit() && c != '.').map_or(0, |at| at + 1);
            let Some(number) = before.get(start..).and_then(|text| text.parse::<f64>().ok()) else {
                continue;
            };
            let ahead = before.get(..start).unwrap_or_default().trim_end();
            let links = ahead
                .strip_suffix(['x', '*', '×'])
                .and_then(|text| {
                    text.trim_end().rsplit(|c: char| !c.is_ascii_digit()).next()?.parse::<f64>().ok()
                })
                .unwrap_or(1.0);
            if (0.01..=1600.0).contains(&(number * links)) {
                most = Some(most.unwrap_or(0.0).max(number * links));
            }
        }
    }
    most
}

/// Main memory in prose: `128GB RAM`, `64 GiB of memory`, `2Gb Ram`.
pub(super) fn memory(page: &Page<'_>) -> Option<(Bytes, String)> {
    find(page, |lower| {
        let words: Vec<&str> =
            lower.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')')).collect();
        let at = words.iter().position(|word| is_memory(word.trim_end_matches(['.', ':'])))?;
        let near: Vec<&str> =
            words.get(at.saturating_sub(3)..at)?.iter().copied().filter(|word| *word != "of").collect();
        let amount = match near.as_slice() {
            [.., number, unit] if is_size_unit(unit) => size(&format!("{number}{unit}"), Base::Binary),
            [.., whole] => whole
                .find(|c: char| c.is_ascii_alphabetic())
                .filter(|at| whole.get(*at..).is_some_and(is_size_unit))
                .and_then(|_| size(whole, Base::Binary)),
            [] => None,
        }?;
        (64 << 20..=64 << 40).contains(&amount.get()).then_some(amount)
    })
}

fn is_memory(word: &str) -> bool {
    matches!(word, "ram" | "memory" | "ddr3" | "ddr4" | "ddr5" | "dram")
}

fn is_size_unit(unit: &str) -> bool {
    matches!(unit, "mb" | "mib" | "g" | "gb" | "gib" | "t" | "tb" | "tib")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(body: &str) -> Page<'_> {
        Page { name: "x", body }
    }

    #[test]
    fn a_resync_is_told_by_tools_and_by_people() {
        for (line, action) in [
            ("      [==>..................]  resync = 12.6% (37043392/292945152) finish=127.5min", "resync"),
            ("      [=>...................]  recovery =  8.5% (1/2) finish=1min", "recovery"),
            ("  scan: scrub in progress since Sun Jan  8 00:24:01 2023", "scrub"),
            (
                "Note: All benchmarks were taken while RAID-1 was resyncing. I did not have time to wait.",
                "resync",
            ),
            ("I did the following below and when the swraid is rebuilding, I'm still", "recovery"),
            ("The array is still rebuilding, so these are low", "recovery"),
        ] {
            assert_eq!(resync(&page(line)).map(|(action, _)| action).as_deref(), Some(action), "{line}");
        }
        for line in [
            "I waited, and after resyncing it was fast",
            "resync done",
            "      resync=PENDING",
            "  scan: scrub repaired 0B in 00:10:11 with 0 errors",
            "mdadm: resyncing",
            "not measured while resyncing",
            "+\t * reshaping as the performance benefit is not worth the complexity of the array.",
            "I'll be wiping and rebuilding the array, which is slow",
            "when the array is rebuilding, reads are slow",
            "it is slow while rebuilding the kernel from source",
        ] {
            assert_eq!(resync(&page(line)), None, "{line}");
        }
    }

    #[test]
    fn other_work_is_told_in_sentences() {
        for line in [
            "results while recording 2 TV programs",
            "in parallel with another fio",
            "with other VMs running",
        ] {
            assert!(other_work(&page(line)).is_some(), "{line}");
        }
        for line in [
            "no other VMs were running",
            "twice as fast as the other VMs",
            "while running fio I watched iostat",
            "while reading the manual",
        ] {
            assert_eq!(other_work(&page(line)), None, "{line}");
        }
    }

    #[test]
    fn wires_are_named_in_gigabits() {
        let of = |line: &str| wire(&page(line)).map(|(rate, _)| rate.get());
        assert_eq!(of("iSCSI over 10GbE"), Some(1.25e9));
        assert_eq!(of("2x 25GbE to the switch"), Some(6.25e9));
        assert_eq!(of("a 2.5GBase-T port"), Some(312.5e6));
        assert_eq!(of("NFS over GigE"), Some(0.125e9));
        assert_eq!(of("Bandwidth 10 GB"), None);
    }

    #[test]
    fn memory_is_told_in_prose() {
        let of = |line: &str| memory(&page(line)).map(|(bytes, _)| bytes.get() >> 20);
        assert_eq!(of("Intel Q6600, 2Gb Ram"), Some(2048));
        assert_eq!(of("with 128 GB of RAM."), Some(131_072));
        assert_eq!(of("64GiB memory"), Some(65_536));
        assert_eq!(of("it fits in RAM"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(body in "\\PC{0,120}") {
            let page = page(&body);
            let _ = (resync(&page), other_work(&page), wire(&page), memory(&page));
        }
    }
}
