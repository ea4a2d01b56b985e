//! `count = 4` makes four of a part; a host that is there three times takes everything on it along.

use std::collections::BTreeMap;

use crate::path::file::{Attachment, Name, Part, PartKind};

/// The most parts that a file may become.
const MOST_PARTS: usize = 100_000;

/// The copies of a part, by the name that stands in the file.
pub(super) type Groups = BTreeMap<Name, Vec<Name>>;

/// How a part is copied.
#[derive(Debug, Clone, Copy)]
struct Copies {
    /// How many there are on each host.
    each: u32,
    /// How many hosts have it: 1 when it is on none, or on one.
    hosts: u32,
}

impl Copies {
    fn names(self, name: &Name) -> Vec<Name> {
        match self.each * self.hosts {
            1 => vec![name.clone()],
            all => (0..all).map(|at| Name::new(format!("{name}{at}"))).collect(),
        }
    }
}

/// Makes all copies. `NAME` becomes `NAME0`, `NAME1`…, those of the first host first.
///
/// # Errors
/// A part with the message what is wrong with its copies.
pub(super) fn expand(parts: Vec<(Part, u32)>) -> Result<(Vec<Part>, Groups), (Name, String)> {
    let copies = plan(&parts);
    let groups: Groups = copies.iter().map(|(name, copies)| (name.clone(), copies.names(name))).collect();
    let all: usize = groups.values().map(Vec::len).sum();
    if all > MOST_PARTS {
        let name = parts.first().map_or_else(|| Name::new(""), |(part, _)| part.name.clone());
        return Err((name, format!("the file describes {all} parts; {MOST_PARTS} are the most")));
    }
    let mut expanded = Vec::with_capacity(all);
    for (part, _) in &parts {
        let Some((own, names)) = copies.get(&part.name).zip(groups.get(&part.name)) else { continue };
        for (at, name) in (0u32..).zip(names) {
            let mut resolver = Resolver {
                copies: &copies,
                groups: &groups,
                own: *own,
                at,
                part: part.name.clone(),
                wrong: None,
            };
            let kind = resolver.kind(&part.kind);
            if let Some(wrong) = resolver.wrong {
                return Err((part.name.clone(), wrong));
            }
            expanded.push(Part { name: name.clone(), given: part.given.clone(), kind });
        }
    }
    if let Some((one, two)) = clash(&groups) {
        return Err((two.clone(), format!("a copy of `{one}` would be called `{two}` too")));
    }
    Ok((expanded, groups))
}

/// A name that copies of one part share with another part.
fn clash(groups: &Groups) -> Option<(Name, Name)> {
    let copied = groups.iter().filter(|(_, names)| names.len() > 1);
    copied
        .flat_map(|(base, names)| names.iter().map(move |name| (base, name)))
        .find(|(_, name)| groups.contains_key(name))
        .map(|(base, name)| (base.clone(), name.clone()))
}

fn plan(parts: &[(Part, u32)]) -> BTreeMap<Name, Copies> {
    let by_name: BTreeMap<&Name, (&Part, u32)> =
        parts.iter().map(|(part, count)| (&part.name, (part, *count))).collect();
    parts
        .iter()
        .map(|(part, count)| {
            let copies = match &part.kind {
                PartKind::Host(_) => Copies { each: 1, hosts: *count },
                // These gather what is on several hosts.
                PartKind::Cluster(_) | PartKind::Remote(_) | PartKind::Vm(_) => {
                    Copies { each: *count, hosts: 1 }
                }
                _ => Copies { each: *count, hosts: hosts_below(&by_name, part) },
            };
            (part.name.clone(), copies)
        })
        .collect()
}

/// How many times the host is there that a part is on, by its first way down. Copies of copies stay what they are: what
/// lies on a cluster is there once.
fn hosts_below(by_name: &BTreeMap<&Name, (&Part, u32)>, part: &Part) -> u32 {
    let mut at = part;
    for _ in 0..=by_name.len() {
        match &at.kind {
            PartKind::Host(_) => return by_name.get(&at.name).map_or(1, |(_, count)| *count),
            PartKind::Cluster(_) | PartKind::Remote(_) | PartKind::Vm(_) => return 1,
            _ => {}
        }
        let Some((next, _)) = at.needs().first().and_then(|name| by_name.get(*name)) else { return 1 };
        at = next;
    }
    1
}

/// Finds what a copy refers to.
struct Resolver<'a> {
    copies: &'a BTreeMap<Name, Copies>,
    groups: &'a Groups,
    own: Copies,
    /// Which copy this is.
    at: u32,
    part: Name,
    wrong: Option<String>,
}

impl Resolver<'_> {
    /// The copies of `name` that this copy can see: those on its own host, or all.
    fn visible(&self, name: &Name) -> (Vec<Name>, u32) {
        let (Some(copies), Some(names)) = (self.copies.get(name), self.groups.get(name)) else {
            // A copy that was named itself.
            return (vec![name.clone()], 1);
        };
        if self.own.hosts > 1 && copies.hosts == self.own.hosts {
            let host = self.at / self.own.each.max(1);
            let from = (host * copies.each) as usize;
            let until = from + copies.each as usize;
            return (names.get(from..until).unwrap_or_default().to_vec(), copies.each);
        }
        (names.clone(), copies.each * copies.hosts)
    }

    fn one(&mut self, name: &Name) -> Name {
        let (names, count) = self.visible(name);
        let which = match count {
            1 => 0,
            // As many of the one as of the other: each has its own.
            count if count == self.own.each => self.at % self.own.each,
            count => {
                self.wrong = Some(format!("`{}` names `{name}`, which is {count} parts", self.part));
                0
            }
        };
        names.get(which as usize).cloned().unwrap_or_else(|| name.clone())
    }

    fn many(&self, names: &[Name]) -> Vec<Name> {
        names.iter().flat_map(|name| self.visible(name).0).collect()
    }

    fn kind(&mut self, kind: &PartKind) -> PartKind {
        let mut kind = kind.clone();
        match &mut kind {
            PartKind::Host(_) => {}
            PartKind::Chipset(it) => it.host = self.one(&it.host),
            PartKind::Slot(it) => {
                let (Attachment::Chipset { chipset: name }
                | Attachment::Slot { slot: name }
                | Attachment::Socket { host: name, .. }) = &mut it.on;
                *name = self.one(name);
            }
            PartKind::Switch(it) => it.upstream = self.one(&it.upstream),
            PartKind::Adapter(it) => it.upstream = self.one(&it.upstream),
            PartKind::Device(it) => it.upstream = self.carrier(&it.upstream),
            PartKind::Raid(it) => it.members = self.many(&it.members),
            PartKind::Crypt(it) => it.on = self.one(&it.on),
            PartKind::Cache(it) => {
                it.cache = self.one(&it.cache);
                it.backing = self.one(&it.backing);
            }
            PartKind::Volume(it) => it.members = self.many(&it.members),
            PartKind::Filesystem(it) => it.members = self.many(&it.members),
            PartKind::Network(it) => {
                if let Some(upstream) = it.upstream.clone() {
                    it.upstream = Some(self.one(&upstream));
                }
            }
            PartKind::Remote(it) => {
                it.on = self.one(&it.on);
                it.through = self.many(&it.through);
            }
            PartKind::Cluster(it) => {
                it.members = self.many(&it.members);
                it.networks = self.many(&it.networks);
            }
            PartKind::Vm(it) => it.on = self.one(&it.on),
        }
        kind
    }

    /// What a drive is in. Drives are spread evenly over the switches or adapters that there are several of.
    fn carrier(&mut self, name: &Name) -> Name {
        let (names, count) = self.visible(name);
        let each = self.own.each;
        if count > 1 && each > count && each.is_multiple_of(count) {
            let which = (self.at % each) / (each / count);
            return names.get(which as usize).cloned().unwrap_or_else(|| name.clone());
        }
        self.one(name)
    }
}
