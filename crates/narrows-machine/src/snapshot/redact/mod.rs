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
mod atoms;
mod binary;
mod files;
mod mounts;
mod patterns;
mod places;
mod smbios;
mod vault;

use std::collections::BTreeSet;

use address::Addresses;
use atoms::Atoms;
use places::Places;
use vault::Vault;

use crate::tree::{Node, Tree, normalise};

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
    redactor.atoms.spared = atoms::words(hardware).collect();
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
            names.extend(mounts::filesystems(&String::from_utf8_lossy(content)));
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
    atoms::words(&given).collect()
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
