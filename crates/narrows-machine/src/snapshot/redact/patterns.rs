//! What is in a text that is not known to be harmless: identifiers that are recognised by their form, and words.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use super::Redactor;

/// Hexadecimal digits in a row that are taken for an identifier or a key: a UUID without dashes has 32.
const LONG_HEX: usize = 32;

/// What stands before a WWN, an EUI or a similar number.
const PREFIXES: [&str; 10] =
    ["naa.", "eui.", "uuid.", "wwn-0x", "nn-0x", "pn-0x", "exp0x", "sas-0x", "PARTUUID=", "UUID="];

impl Redactor {
    /// Replaces UUIDs, MAC and IP addresses, WWNs, NQNs, IQNs and long hexadecimal numbers.
    pub(super) fn patterns(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut is_edge = true;
        while let Some(c) = rest.chars().next() {
            if let Some((length, token)) = is_edge.then(|| self.pattern(rest)).flatten() {
                out.push_str(&token);
                rest = rest.get(length..).unwrap_or_default();
                is_edge = false;
                continue;
            }
            out.push(c);
            is_edge = !c.is_ascii_alphanumeric();
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
        out
    }

    /// The identifier that `text` begins with: its length and its token.
    fn pattern(&mut self, text: &str) -> Option<(usize, String)> {
        let bytes = text.as_bytes();
        if !bytes.first().is_some_and(|b| b.is_ascii_alphanumeric() || *b == b':') {
            return None;
        }
        if let Some(length) = uuid(bytes).or_else(|| mac(bytes)).or_else(|| long_hex(bytes)) {
            return self.hidden(text, 0, length);
        }
        if let Some(prefix) = PREFIXES.iter().find(|prefix| text.starts_with(**prefix)) {
            let inner = |b: &u8| b.is_ascii_alphanumeric() || (prefix.ends_with('=') && *b == b'-');
            let length = bytes.iter().skip(prefix.len()).take_while(|b| inner(b)).count();
            return (length > 0).then(|| self.hidden(text, prefix.len(), prefix.len() + length)).flatten();
        }
        if text.starts_with("nqn.") || text.starts_with("iqn.") {
            let (start, end) = qualified_name(text);
            return (end > start).then(|| self.hidden(text, start, end)).flatten();
        }
        self.address(text)
    }

    fn hidden(&mut self, text: &str, start: usize, end: usize) -> Option<(usize, String)> {
        let (prefix, secret) = (text.get(..start)?, text.get(start..end)?);
        Some((end, format!("{prefix}{}", self.vault.hide(secret))))
    }

    fn address(&mut self, text: &str) -> Option<(usize, String)> {
        let six = run(text, |b| b.is_ascii_hexdigit() || b == b':' || b == b'.');
        if let Some(address) = six.matches(':').nth(1).and_then(|_| six.parse::<Ipv6Addr>().ok()) {
            return Some((six.len(), self.addresses.remote(address.into()).to_string()));
        }
        let four = run(text, |b| b.is_ascii_digit() || b == b'.').trim_end_matches('.');
        let address = four.parse::<Ipv4Addr>().ok()?;
        let is_whole = !text.as_bytes().get(four.len()).is_some_and(u8::is_ascii_alphanumeric);
        is_whole.then(|| (four.len(), self.addresses.remote(address.into()).to_string()))
    }
}

fn run(text: &str, is_inner: impl Fn(u8) -> bool) -> &str {
    let length = text.bytes().take_while(|b| is_inner(*b)).count();
    text.get(..length).unwrap_or_default()
}

fn ends(bytes: &[u8], at: usize) -> bool {
    !bytes.get(at).is_some_and(u8::is_ascii_alphanumeric)
}

/// `0f8fad5b-d9cb-469f-a165-70867728950e`.
fn uuid(bytes: &[u8]) -> Option<usize> {
    const LENGTH: usize = 36;
    let candidate = bytes.get(..LENGTH)?;
    let fits = candidate.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    (fits && ends(bytes, LENGTH)).then_some(LENGTH)
}

/// Six or more pairs of hexadecimal digits between colons: an Ethernet address, or a longer one such as InfiniBand's.
fn mac(bytes: &[u8]) -> Option<usize> {
    let pair = |at: usize| bytes.get(at..at + 2).is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit));
    let mut pairs = 0;
    while pair(pairs * 3) && (pairs == 0 || bytes.get(pairs * 3 - 1) == Some(&b':')) {
        pairs += 1;
    }
    let end = (pairs * 3).checked_sub(1)?;
    (pairs >= 6 && ends(bytes, end) && bytes.get(end) != Some(&b':')).then_some(end)
}

fn long_hex(bytes: &[u8]) -> Option<usize> {
    let length = bytes.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    (length >= LONG_HEX && ends(bytes, length)).then_some(length)
}

/// What is private of a NVMe or iSCSI qualified name, as a range: all that follows the date and the authority that
/// gives out `nqn.2014-08.org.nvmexpress` names, but for the `-lun-0` that udev adds.
fn qualified_name(text: &str) -> (usize, usize) {
    let name = run(text, |b| !b.is_ascii_whitespace() && !matches!(b, b',' | b'/' | b';' | b'"'));
    let name = name.split("-lun-").next().unwrap_or(name);
    let public =
        ["nqn.2014-08.org.nvmexpress:uuid:", "nqn.2014-08.org.nvmexpress:", "nqn.2014.08.org.nvmexpress:"];
    let start = public.iter().find(|public| name.starts_with(**public)).map_or(4, |public| public.len());
    (start, name.len())
}

// What is not known to be harmless. A word may stay if narrows itself has it in a text or a table, or if it is a number or a
// name that the kernel gives. What narrows does not know cannot change an answer, so every other word may go.

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
    memory_recursiveprot nr_inodes ptmxmode hidepid eno enp ens enx np wlp ibp ibs \
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

    fn replaced(text: &str) -> String {
        Redactor::default().patterns(text)
    }

    #[test]
    fn identifiers_are_known_by_their_form() {
        assert_eq!(
            replaced("luks-0f8fad5b-d9cb-469f-a165-70867728950e"),
            "luks-00000000-0000-0000-0000-000000000001"
        );
        assert_eq!(replaced("link/ether 52:54:00:12:34:56 up"), "link/ether 00:00:00:00:00:01 up");
        assert_eq!(
            replaced("/dev/disk/by-id/wwn-0x5002538e40a1b2c3"),
            "/dev/disk/by-id/wwn-0x0000000000000001"
        );
        assert_eq!(replaced("root=PARTUUID=deadbeef-01 ro"), "root=PARTUUID=00000000-01 ro");
        assert_eq!(
            replaced("ip-10.1.2.3:3260-iscsi-iqn.2003-01.org.acme.tiger:sn.42-lun-0"),
            "ip-192.0.2.1:3260-iscsi-iqn.0000-00.000.0000.00000:00.01-lun-0"
        );
        assert_eq!(
            replaced("traddr=192.168.7.9,trsvcid=4420,src_addr=fe80::5054:ff:fe12:3456"),
            "traddr=192.0.2.1,trsvcid=4420,src_addr=2001:db8::1"
        );
    }

    #[test]
    fn names_and_numbers_of_the_kernel_stay() {
        for text in [
            "0000:02:00.0",
            "10000:e1:00.0",
            "0:0:0:0",
            "pci0000:00/0000:00:1c.0/0000:02:00.0",
            "0x00000000fe000000 0x00000000fe003fff 0x0000000000140204",
            "pci:v0000144Dd0000A808sv0000144Dsd0000A801bc01sc08i02",
            "6.1.0-13-amd64",
            "127.0.0.1 255.255.255.0 0.0.0.0 :: ::1",
            "8.0 GT/s PCIe",
            "253:0",
            "2-1.4:1.0",
            "00:00:00:00:00:00",
        ] {
            assert_eq!(replaced(text), text);
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}") {
            replaced(&text);
        }

        #[test]
        fn no_address_survives_in_any_text(
            address in (11u8..120, 1u8..255, 1u8..255, 1u8..255),
            before in "[a-z =(/-]{0,5}",
        ) {
            let address = format!("{}.{}.{}.{}", address.0, address.1, address.2, address.3);
            let text = format!("{before} {address}:4420");
            prop_assert!(!replaced(&text).contains(&address));
        }
    }

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
