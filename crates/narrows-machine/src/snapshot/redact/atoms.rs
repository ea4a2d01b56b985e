//! What is not known to be harmless. A word may stay if narrows itself has it in a text or a table, or if it is a number or a
//! name that the kernel gives. What narrows does not know cannot change an answer, so every other word may go.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::LazyLock;

/// The words of narrows' own texts, of what its readers look for, and of its tables (`tests/library/words.rs` makes the list).
static WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("words.txt").split_whitespace().chain(OTHERS.split_whitespace()).collect());

/// Words of the kernel of which no reader asks, most of them in mount tables, and beginnings of the names of interfaces.
const OTHERS: &str = "relatime noatime nodiratime strictatime lazytime nosuid nodev noexec \
    defaults seclabel errors remount-ro stripe inode32 inode64 logbufs logbsize noquota usrquota sunit swidth attr2 space_cache v2 discard \
    compress subvol subvolid ssd nossd xattr noacl posixacl vers rsize wsize namlen hard soft proto timeo retrans sec sys clientaddr \
    local_lock minorversion mountaddr mountport mountvers mountproto nolock noac nconnect acregmin acregmax acdirmin acdirmax actimeo \
    cache uid gid forceuid forcegid noforceuid noforcegid file_mode dir_mode soft nounix serverino mapposix echo_interval closetimeo \
    umask fmask dmask codepage iocharset shortname utf8 user_id group_id default_permissions allow_other max_read blksize nsdelegate \
    memory_recursiveprot nr_inodes ptmxmode hidepid enp ens enx np wlp ibp ibs \
    devpts vfat hugetlb apic acpi msix wdc nan inf";

/// The longest address is 10000000:00:00.
const LONGEST: usize = 14;

/// What the kernel and udev begin a name with that letters may follow.
const LETTERED: [&str; 5] = ["sd", "vd", "hd", "xvd", "mpath"];

/// Words that are not known, and what stands for each wherever it stands, also between the dashes of a mapping.
#[derive(Debug, Default)]
pub(super) struct Atoms {
    /// Words that stay although narrows does not know them, in lower case: those of hardware, drivers and attributes.
    pub(super) spared: BTreeSet<String>,
    tokens: BTreeMap<String, String>,
}

impl Atoms {
    /// `text` with every word replaced that is not known to be harmless.
    pub(super) fn replace(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let as_it_is = address(rest).or((!is_inner(c)).then_some(c.len_utf8()));
            let (word, after) = rest.split_at(as_it_is.unwrap_or_else(|| word(rest)));
            match as_it_is {
                Some(_) => out.push_str(word),
                None => out.push_str(&self.token(word)),
            }
            rest = after;
        }
        out
    }

    fn token(&mut self, word: &str) -> String {
        let lower = word.to_lowercase();
        if is_harmless(&lower) || self.spared.contains(&lower) {
            return word.to_owned();
        }
        let number = self.tokens.len() + 1;
        self.tokens.entry(lower).or_insert_with(|| format!("name{number}")).clone()
    }
}

/// The words of a text, in lower case.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c| !is_inner(c)).map(str::to_lowercase)
}

/// Letters, digits, and all signs that no text of our own has.
fn is_inner(c: char) -> bool {
    c.is_alphanumeric() || !c.is_ascii() && !WORDS.contains(c.encode_utf8(&mut [0; 4]) as &str)
}

fn word(text: &str) -> usize {
    text.find(|c| !is_inner(c)).unwrap_or(text.len())
}

/// The length of the address on a bus, or of the numbers of vendor and device, that a text begins with.
fn address(text: &str) -> Option<usize> {
    let start = if text.starts_with("pci") { 3 } else { 0 };
    let is_of_one = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b':';
    let end = start + text.get(start..)?.bytes().take(LONGEST + 1).take_while(is_of_one).count();
    let parts: Vec<usize> = text.get(start..end)?.split(':').map(str::len).collect();
    let is_whole = !text.get(end..)?.starts_with(is_inner);
    let fits = matches!(parts.as_slice(), [4..=8, 2] | [4..=8, 2, 2] | [4, 4])
        || parts == [2, 2] && text.get(end..)?.starts_with('.');
    (fits && is_whole).then_some(end)
}

fn is_harmless(word: &str) -> bool {
    let is_known = |part: &str| part.len() == 1 || WORDS.contains(part);
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_number = match word.len() {
        4 => digits > 1,
        8 | 16 => digits > 0 || word.bytes().all(|byte| byte == b'f'),
        _ => false,
    };
    if is_known(word) || is_number && is_hex(word) || word.strip_prefix("0x").is_some_and(is_hex) {
        return true;
    }
    let letters = |part: &str, name: &str| part.strip_prefix(name).is_some_and(|rest| rest.len() < 3);
    let is_given = |part: &str| LETTERED.iter().any(|name| part.is_ascii() && letters(part, name));
    let parts = || word.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty());
    let is_named =
        parts().next().is_none_or(|part| part.len() > 1) || parts().all(|part| "xqt".contains(part));
    (is_named || parts().count() < 2)
        && (parts().all(is_known) || parts().count() == 1 && parts().all(is_given))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_of_our_own_numbers_and_names_of_the_kernel_stay() {
        for text in [
            "/dev/nvme0n1p1 sda1 sdab vdb xvda dm-3 md127 loop4 eth0 enp3s0f1np1 eno1 mpathb bcache0 zd16",
            "0000:af:00.0 10000:e1:00.0 pci0000:ae 144d:a80a af:00.1 0xfb300000 00000000,ffffffff 8.0 GT/s",
            "The drive's slot runs x1; 970 EVO, i7-5820K, x4x4x4x4, 4k, 512e, 3.9 GB/s, SEQ1M Q8T1, ±2 µs → 5.",
        ] {
            assert_eq!(Atoms::default().replace(text), text);
        }
    }

    #[test]
    fn a_name_is_the_same_wherever_it_stands() {
        let text = "/dev/vg_alice/lv_payroll /dev/mapper/vg_alice-lv_payroll crypt_ALICE mpathqzx b7k 工资单 a☃b xvdbq00x";
        assert_eq!(
            Atoms::default().replace(text),
            "/dev/vg_name1/lv_name2 /dev/mapper/vg_name1-lv_name2 crypt_name1 name3 name4 name5 name6 name7"
        );
    }

    proptest! {
        #[test]
        fn replaced_texts_stay_as_they_are(text in "\\PC{0,60}") {
            let once = Atoms::default().replace(&text);
            prop_assert_eq!(Atoms::default().replace(&once), once);
        }
    }
}
