//! Takes out of a recorded tree what identifies its owner, and leaves every finding as it was.
//!
//! A secret gets one token of its own length and shape, wherever it stands: in a file, in a name, in the target of a
//! link. Tokens are numbered in the order in which secrets are met, not derived from them, so nothing can be guessed
//! back. What is taken out:
//!
//! - serial numbers, WWNs, UUIDs, NQNs and IQNs, keys (`vault`, `patterns`, `files`, `binary`, `smbios`);
//! - MAC addresses, and IP addresses, which become documentation addresses that are routed alike (`address`);
//! - the host name (`files`);
//! - mount points and file names outside well-known places, exported paths, user names (`places`, `mounts`);
//! - every other word that is not known to be harmless (`atoms`): names of mappings, volumes, groups, pools, arrays, shares,
//!   labels, tags and whatever else people name.

mod address;
mod binary;
mod files;
mod patterns;
mod places;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::tree::{Node, Tree, normalise};
use address::Addresses;
use patterns::Atoms;
use places::Places;

/// All that was taken out so far, and what stands for it.
#[derive(Debug, Default)]
struct Redactor {
    vault: Vault,
    addresses: Addresses,
    places: Places,
    atoms: Atoms,
}

/// A copy of `tree` without what identifies its owner.
pub fn redacted(tree: &Tree) -> Tree {
    let mut redactor = Redactor { vault: Vault::sparing(kernel_names(tree)), ..Redactor::default() };
    redactor.atoms.spared = given_names(tree);
    // The first pass meets every secret, the second replaces all of them everywhere.
    redactor.pass(tree);
    redactor.vault.seal();
    redactor.pass(tree)
}

/// Takes out of texts that are to be shown in public what is not known to be harmless: UUIDs, MAC and IP addresses, WWNs, NQNs
/// and IQNs by their form, and every word that narrows does not know and that is in none of the names of `hardware`. A
/// secret has the same token in all of them.
pub fn scrub(texts: &mut [&mut String], hardware: &str) {
    let mut redactor = Redactor::default();
    redactor.atoms.spared = patterns::words(hardware).collect();
    for text in texts {
        let plain = redactor.patterns(text);
        **text = redactor.atoms.replace(&plain);
    }
}

/// The words of a text that look like the number of a model: capital letters, few of them together, and digits.
pub fn model_numbers(text: &str) -> impl Iterator<Item = &str> {
    let is_model = |word: &&str| {
        let runs = word.split(|c: char| c.is_ascii_digit());
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let is_capital = word.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        digits > 1 && is_capital && runs.map(str::len).max() < Some(6)
    };
    text.split(|c: char| !c.is_alphanumeric()).filter(is_model)
}

/// Whether a path tells something of its owner: no well-known place, and none whose name the system chooses.
pub fn is_private_place(path: &str) -> bool {
    Places::default().mount(path) != path
}

/// The names that the kernel gives, and the words in them: a secret that happens to be one of them must not take it
/// down everywhere.
fn kernel_names(tree: &Tree) -> BTreeSet<String> {
    let is_kernels =
        |path: &str| ["/sys/block/", "/sys/class/", "/sys/bus/"].iter().any(|dir| path.starts_with(dir));
    let segments = tree.iter().filter(|(path, _)| is_kernels(path)).flat_map(|(path, _)| path.split('/'));
    let mut names: BTreeSet<String> = segments
        .flat_map(|name| name.split(|c: char| !c.is_ascii_alphanumeric()).chain([name]))
        .map(str::to_ascii_lowercase)
        .collect();
    for (path, node) in tree.iter() {
        if let (true, Node::File(content)) = (path.ends_with("/mountinfo"), node) {
            names.extend(places::filesystems(&String::from_utf8_lossy(content)));
        }
    }
    names
}

/// The words in names that the kernel or hardware gives: of attributes, and of what stands on buses and in classes. A network
/// interface and an array may be named by a person.
fn given_names(tree: &Tree) -> BTreeSet<String> {
    let mut given = String::new();
    for (path, node) in tree.iter().filter(|(path, _)| path.starts_with("/sys/")) {
        let (mut name, mut target) = ("", "");
        match node {
            Node::File(_) | Node::Denied => name = path.rsplit('/').next().unwrap_or_default(),
            Node::Link(to) => target = to,
            Node::Dir => {}
        }
        let places = [path, target].map(|path| {
            let place = ["/bus/", "/module/", "/class/"].iter().find_map(|place| path.split_once(place));
            place.map_or("", |(_, rest)| rest.split("net/").next().unwrap_or_default())
        });
        let segments = places.into_iter().flat_map(|place| place.split('/')).chain([name]);
        segments
            .filter(|segment| !segment.starts_with("md_"))
            .for_each(|segment| given.extend([segment, " "]));
    }
    patterns::words(&given).collect()
}

impl Redactor {
    fn pass(&mut self, tree: &Tree) -> Tree {
        let mut out = Tree::new();
        for (path, node) in tree.iter() {
            let node = match node {
                Node::File(content) => Node::File(self.content(path, content)),
                Node::Link(target) => Node::Link(self.target(path, target)),
                Node::Dir => Node::Dir,
                Node::Denied => Node::Denied,
            };
            out.insert(&self.path(path), node);
        }
        out
    }

    fn path(&mut self, path: &str) -> String {
        if places::is_system(path) {
            let named = self.disk_name(path);
            self.text(&named)
        } else {
            self.places.place(path)
        }
    }

    /// A link keeps its form (relative or not) within the system's own trees; elsewhere it becomes absolute.
    fn target(&mut self, path: &str, target: &str) -> String {
        let dir = path.rfind('/').map_or("", |end| path.get(..end).unwrap_or_default());
        let absolute =
            if target.starts_with('/') { normalise(target) } else { normalise(&format!("{dir}/{target}")) };
        if places::is_system(path) && places::is_system(&absolute) {
            let named = if target.starts_with('/') { self.disk_name(target) } else { target.to_owned() };
            self.text(&named)
        } else {
            self.path(&absolute)
        }
    }

    /// Names below `/dev/disk/by-*` hold serial numbers, UUIDs and labels in many spellings: they go as a whole, but
    /// for the number of a partition and for paths of the bus.
    fn disk_name(&mut self, path: &str) -> String {
        let Some((kind, name)) = path.strip_prefix("/dev/disk/").and_then(|rest| rest.split_once('/')) else {
            return path.to_owned();
        };
        if kind == "by-path" || kind == "by-diskseq" {
            return path.to_owned();
        }
        let (name, part) = match name.rfind("-part") {
            Some(at) if kind == "by-id" => name.split_at(at),
            _ => (name, ""),
        };
        format!("/dev/disk/{kind}/{}{part}", self.vault.hide_here(name))
    }

    /// Everything that is done to any text, whichever file it is in.
    fn text(&mut self, text: &str) -> String {
        let text = self.patterns(text);
        let erased = self.erased(&text);
        self.atoms.replace(&erased)
    }
}

/// Secrets with fewer letters and digits than this are replaced where they are known to be secrets, but not looked for
/// elsewhere: they would be found by chance.
const LEAST: usize = 6;

/// Secrets with fewer characters than this are looked for as whole words only.
const WORD: usize = 8;

/// Secrets and their tokens. A token has the length and punctuation of its secret, with digits for its letters and
/// digits, so that it parses as whatever the secret was: a number, hexadecimal, a UUID, a MAC address.
#[derive(Debug, Default)]
struct Vault {
    /// The digits that stand for a secret, by its letters and digits in lower case.
    tokens: BTreeMap<String, String>,
    /// The spellings to look for everywhere, in lower case, with their digits.
    forms: BTreeMap<String, String>,
    /// The forms by how they begin, longest first.
    index: HashMap<[u8; LEAST], Vec<String>>,
    spared: BTreeSet<String>,
    count: u64,
}

impl Vault {
    /// A vault that does not look for `spared` words everywhere.
    fn sparing(spared: BTreeSet<String>) -> Self {
        Self { spared, ..Self::default() }
    }

    /// The token for a secret, which will also be replaced wherever else it stands.
    fn hide(&mut self, secret: &str) -> String {
        let token = self.hide_here(secret);
        let key = key(secret);
        let is_distinct = key.len() >= LEAST && key.bytes().any(|b| b.is_ascii_digit()) && !is_blank(&key);
        if let (true, Some(digits)) = (is_distinct, self.tokens.get(&key)) {
            for form in [secret.trim().to_ascii_lowercase(), key] {
                if form.len() >= LEAST && !self.spared.contains(&form) {
                    self.forms.insert(form, digits.clone());
                }
            }
        }
        token
    }

    /// The token for a secret, which is not looked for elsewhere.
    fn hide_here(&mut self, secret: &str) -> String {
        let key = key(secret);
        if is_blank(&key) {
            return secret.to_owned();
        }
        let count = &mut self.count;
        let digits = self.tokens.entry(key).or_insert_with_key(|key| {
            *count += 1;
            let number = format!("{:0>width$}", count, width = key.len());
            number.get(number.len() - key.len()..).unwrap_or_default().to_owned()
        });
        dress(secret, digits)
    }

    /// Ends the search for secrets, so that [`Vault::erase`] finds them.
    fn seal(&mut self) {
        for form in self.forms.keys() {
            if let Some(start) = form.as_bytes().first_chunk::<LEAST>() {
                self.index.entry(*start).or_default().push(form.clone());
            }
        }
        for forms in self.index.values_mut() {
            forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        }
    }

    /// Replaces every secret in `bytes`, in place and without changing lengths.
    fn erase(&self, bytes: &mut [u8]) {
        if self.index.is_empty() {
            return;
        }
        let mut at = 0;
        while let Some(form) = self.find(bytes, at) {
            let (start, form) = form;
            let end = start + form.len();
            let digits = self.forms.get(form).map_or("", String::as_str);
            if let Some(found) = bytes.get_mut(start..end) {
                let alphanumeric = found.iter_mut().filter(|b| b.is_ascii_alphanumeric());
                alphanumeric.zip(digits.bytes()).for_each(|(byte, digit)| *byte = digit);
            }
            at = end;
        }
    }

    fn find(&self, bytes: &[u8], from: usize) -> Option<(usize, &str)> {
        (from..bytes.len().checked_sub(LEAST - 1)?).find_map(|start| {
            let rest = bytes.get(start..)?;
            let beginning = rest.first_chunk::<LEAST>()?.map(|byte| byte.to_ascii_lowercase());
            let form = self.index.get(&beginning)?.iter().find(|form| is_at(bytes, start, form))?;
            Some((start, form.as_str()))
        })
    }
}

/// Whether `form` stands at `start`; a short one, and one of digits only, must stand there as a word.
fn is_at(bytes: &[u8], start: usize, form: &str) -> bool {
    let end = start + form.len();
    let is_same = bytes.get(start..end).is_some_and(|found| found.eq_ignore_ascii_case(form.as_bytes()));
    let edge = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_none_or(|b| !b.is_ascii_alphanumeric());
    let needs_edges = form.len() < WORD || form.bytes().all(|b| b.is_ascii_digit());
    is_same && (!needs_edges || (edge(start.checked_sub(1)) && edge(Some(end))))
}

fn key(secret: &str) -> String {
    secret.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether a value says nothing: all zeros or all ones.
fn is_blank(key: &str) -> bool {
    key.bytes().all(|b| b == b'0') || key.bytes().all(|b| b == b'f')
}

/// `digits` in the clothes of `secret`. Characters outside ASCII become `0`.
fn dress(secret: &str, digits: &str) -> String {
    let mut digits = digits.chars();
    secret
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() => digits.next().unwrap_or('0'),
            c if c.is_ascii() => c,
            _ => '0',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn erased(vault: &mut Vault, text: &str) -> String {
        vault.seal();
        let mut bytes = text.as_bytes().to_vec();
        vault.erase(&mut bytes);
        String::from_utf8(bytes).expect("stays text")
    }

    #[test]
    fn a_uuid_has_one_token_with_and_without_dashes() {
        let mut vault = Vault::default();
        let dashed = vault.hide("0f8fad5b-d9cb-469f-a165-70867728950e");
        assert_eq!(dashed, "00000000-0000-0000-0000-000000000001");
        assert_eq!(
            erased(&mut vault, "CRYPT-LUKS2-0F8FAD5BD9CB469FA16570867728950E-root"),
            "CRYPT-LUKS2-00000000000000000000000000000001-root"
        );
    }

    #[test]
    fn a_serial_is_found_inside_other_names() {
        let mut vault = Vault::default();
        vault.hide("S4EWNX0N123456A");
        assert_eq!(
            erased(&mut vault, "nqn:144d144dS4EWNX0N123456A  Samsung"),
            "nqn:144d144d000000000000001  Samsung"
        );
    }

    #[test]
    fn what_is_short_or_only_a_number_is_replaced_as_a_word_only() {
        let mut vault = Vault::default();
        vault.hide("1234567");
        assert_eq!(erased(&mut vault, "1234567 12345678 91234567"), "0000001 12345678 91234567");
        assert_eq!(vault.hide("12"), "02");
        assert_eq!(erased(&mut vault, "12"), "12");
    }

    #[test]
    fn a_secret_that_is_also_a_name_of_the_kernel_is_replaced_only_in_its_place() {
        let mut vault = Vault::sparing(BTreeSet::from(["nvme0n1".to_owned()]));
        assert_eq!(vault.hide("nvme0n1"), "0000001");
        assert_eq!(erased(&mut vault, "nvme0n1"), "nvme0n1");
    }

    #[test]
    fn nothing_is_no_secret() {
        let mut vault = Vault::default();
        assert_eq!(vault.hide("00:00:00:00:00:00"), "00:00:00:00:00:00");
        assert_eq!(vault.hide("ff:ff:ff:ff:ff:ff"), "ff:ff:ff:ff:ff:ff");
        assert_eq!(vault.hide(""), "");
    }

    proptest! {
        #[test]
        fn a_token_is_as_long_as_its_secret_and_never_holds_it(secret in "[A-Za-z0-9 _.:-]{0,40}") {
            let mut vault = Vault::default();
            let token = vault.hide(&secret);
            prop_assert_eq!(token.len(), secret.len());
            prop_assert_eq!(vault.hide(&secret), token);
        }

        #[test]
        fn lengths_never_change(bytes: Vec<u8>, secret in "[a-z0-9]{6,12}") {
            let mut vault = Vault::default();
            vault.hide(&secret);
            vault.seal();
            let mut erased = bytes.clone();
            erased.extend_from_slice(secret.as_bytes());
            vault.erase(&mut erased);
            prop_assert_eq!(erased.len(), bytes.len() + secret.len());
        }
    }
}
