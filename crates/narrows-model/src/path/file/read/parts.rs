//! From tables to parts, workloads and published results: what their keys say one by one is read by `keys`, and here stands what must
//! hold between them.

use serde::Deserialize;

use super::Document;
use super::document::{DocumentTable, Value};
use super::keys::{EXAMPLE_OF_RESULT, values};
use super::quantity::{Unit, parse_quantity};
use crate::path::file::{
    Device, DeviceKind, Filesystem, Host, Name, Part, PartKind, Problem, Published, PublishedValue, RaidKind,
    SplitMode, Workload, ZfsLevel, build,
};
use crate::path::{RaidLevel, of_word};
use narrows_base::catalog::{Board, catalog};
use narrows_base::fact::Source;
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos, human};

/// Reads a part, and how many of it there are. A part that names no host is on the only one there is.
pub(super) fn part(
    table: &DocumentTable,
    document: &Document,
    only_host: Option<&str>,
    found: &mut Vec<Problem>,
) -> Option<(Part, u32)> {
    let mut table = table.clone();
    let is_given = |keys: &[&str]| keys.iter().any(|key| table.key(key).is_some());
    let host = match table.kind.as_str() {
        "chipset" if !is_given(&["host"]) => Some("host"),
        "slot" if !is_given(&["host", "chipset", "slot"]) => Some("host"),
        // A drive of which nothing is known but its host is in no place of interest.
        "device" if !is_given(&["in"]) => Some("in"),
        _ => None,
    };
    if let Some((key, host)) = host.zip(only_host) {
        let at = table.at.clone();
        table.put(key, Value::Text(host.to_owned()), &at);
    }
    let values = values(&table, document, found);
    let count = values.get("count").and_then(|count| u32::try_from(count.as_integer()?).ok()).unwrap_or(1);
    if table.kind == "slot" && !attached(&table, found) {
        return None;
    }
    let kind = toml::Table::from_iter([(table.kind.clone(), values.into())]);
    let mut kind = PartKind::deserialize(kind).ok()?;
    check(&mut kind, &table, found);
    // The virtual machines of a [vm] are one part that knows how many it is.
    let count = if table.kind == "vm" { 1 } else { count };
    Some((Part { name: Name::new(table.name.as_str()), given: Source::new(table.at.cited()), kind }, count))
}

/// Whether it is said, and said once, where the lanes of a slot come from.
fn attached(table: &DocumentTable, found: &mut Vec<Problem>) -> bool {
    let has = |key| table.key(key).is_some();
    let ways = [has("chipset"), has("slot"), has("host") || has("socket")];
    match ways.into_iter().filter(|way| *way).count() {
        0 => found.push(table.lacks("host", "\"NAME\", or chipset = \"NAME\"")),
        1 => return true,
        _ => {
            let key = if has("chipset") { "chipset" } else { "slot" };
            let hint = "name the chipset, the slot that is split, or host and socket";
            found.push(table.wrong(key, "its lanes come from two places", hint));
        }
    }
    false
}

/// A table whose keys are held against each other.
struct CheckedTable<'t> {
    table: &'t DocumentTable,
    found: &'t mut Vec<Problem>,
}

impl CheckedTable<'_> {
    fn has(&self, key: &str) -> bool {
        self.table.key(key).is_some()
    }

    /// Of two keys that say something together only, the one that is there alone.
    fn half<'k>(&self, one: &'k str, other: &'k str) -> Option<&'k str> {
        match (self.has(one), self.has(other)) {
            (true, false) => Some(one),
            (false, true) => Some(other),
            _ => None,
        }
    }

    fn wrong(&mut self, key: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.found.push(self.table.wrong(key, message, hint));
    }

    /// Tells of a name that the catalogue has no such thing of; `found` is what it has.
    fn unlisted<T>(&mut self, key: &str, what: &str, name: &str, found: Option<T>, hint: impl Into<String>) {
        if found.is_none() {
            self.wrong(key, format!("the catalogue knows no {what} `{name}`"), hint);
        }
    }
}

/// Tells what is wrong between the keys of a part, and puts what the catalogue calls things in place of what was typed.
fn check(kind: &mut PartKind, table: &DocumentTable, found: &mut Vec<Problem>) {
    let mut told = CheckedTable { table, found };
    match kind {
        PartKind::Host(it) => host(it, &mut told),
        PartKind::Chipset(it) => match &it.model {
            Some(name) => {
                let hint = "data/chipsets.toml has them; give generation and width of the uplink instead";
                told.unlisted("model", "chipset", name, build::find_chipset(name), hint);
            }
            None if it.uplink.generation.is_none() || it.uplink.width.is_none() => {
                let example = "\"Intel X99\", or generation and width of its uplink";
                told.found.push(table.lacks("model", example));
            }
            _ => {}
        },
        PartKind::Adapter(it) => {
            if let Some(name) = it.model.as_deref().filter(|_| it.rate.is_none()) {
                let hint = "give its rate; or leave the key out for one that carries all that its link does";
                told.unlisted("model", "adapter", name, build::find_adapter(name), hint);
            }
        }
        PartKind::Slot(it) => {
            for mode in it.bifurcation.iter().flatten().filter(|mode| SplitMode::parse(mode).is_none()) {
                let hint =
                    "write the widths in the order of its lanes: bifurcation = [\"x8x8\", \"x4x4x4x4\"]";
                told.wrong("bifurcation", format!("`{mode}` is no way to split a slot"), hint);
            }
        }
        PartKind::Switch(it) => {
            if let Some(name) = &it.model {
                let hint =
                    "data/switches.toml has them; give generation and width of its upstream port instead";
                told.unlisted("model", "switch", name, build::find_switch(name), hint);
            }
        }
        PartKind::Device(it) => device(it, &mut told),
        PartKind::Crypt(it) if it.sector_size.is_some_and(|size| !size.get().is_power_of_two()) => {
            let hint = "it is 512, 1024, 2048 or 4096";
            told.wrong("sector_size", "no encryption sector has this size", hint);
        }
        PartKind::Filesystem(it) => filesystem(it, &mut told),
        PartKind::Cluster(it)
            if it.data.is_some() != it.parity.is_some() || (it.copies.is_some() && it.data.is_some()) =>
        {
            let key = if it.copies.is_some() { "copies" } else { "data" };
            let message = "data is kept in two ways, or half of one";
            told.wrong(key, message, "give copies, or data and parity");
        }
        _ => {}
    }
}

fn host(it: &mut Host, told: &mut CheckedTable<'_>) {
    if let Some(key) = told.half("interconnect_links", "interconnect_rate") {
        let hint = "interconnect_links and interconnect_rate (of one link, one direction) go together";
        told.wrong(key, "half of the interconnect is given", hint);
    }
    if let Some(typed) = it.board.take() {
        it.board = catalog().board_named(&typed).map(Board::id);
        let hint = "`narrows plan --board list` shows the boards; leave the key out for another";
        told.unlisted("board", "board", &typed, it.board.as_ref(), hint);
    }
    if let Some(name) = &it.processor {
        let hint =
            "data/processors.toml has the platforms; give interconnect_links and interconnect_rate instead";
        told.unlisted("processor", "processor", name, it.platform(), hint);
    }
    if let Some(name) = &it.cpu {
        let hint = "data/cores.toml has the words for cores; leave the key out for others, and give core_iops, decrypt and encrypt";
        told.unlisted("cpu", "cores of", name, it.core(), hint);
    }
}

fn device(it: &mut Device, told: &mut CheckedTable<'_>) {
    if let Some(key) = told.half("cache_size", "steady_write") {
        let hint = "cache_size and steady_write go together";
        told.wrong(key, "half of the write cache is given", hint);
    }
    if let Some(class) = &it.class {
        let known: Vec<&str> = catalog().classes.iter().map(|class| class.name.as_str()).collect();
        let hint = format!("the classes are: {}", known.join(", "));
        told.unlisted("class", "class of drives", class, catalog().medium_class(class), hint);
    }
    let is_listed = |model: &String| catalog().medium(model).is_some();
    // A model as the kernel names it; a name of the catalogue (`SN770`) becomes that.
    if let Some(model) = it.model.as_mut().filter(|model| !is_listed(model))
        && let Some(listed) = catalog().medium_by_words(model).and_then(|medium| medium.models.first())
    {
        model.clone_from(listed);
    }
    let is_known = told.has("read") || told.has("class") || it.model.as_ref().is_some_and(is_listed);
    if it.kind == DeviceKind::Nvme && !is_known {
        let message = match &it.model {
            Some(model) => format!("the catalogue knows no drive `{model}`, and no rates are given"),
            None => "neither its model nor its rates are given".to_owned(),
        };
        let hint = "data/media.toml has the models; give a class, or read and write, instead";
        told.wrong("model", message, hint);
    }
}

fn filesystem(it: &Filesystem, told: &mut CheckedTable<'_>) {
    let keys = ["recordsize", "compression", "arc"];
    for key in keys.into_iter().filter(|_| it.kind != "zfs") {
        if told.has(key) {
            let hint = "leave it out, or say kind = \"zfs\"";
            told.wrong(key, format!("`{key}` is of ZFS, and this is {}", it.kind), hint);
        }
    }
    let sane = |size: Bytes| size.get().is_power_of_two() && (512..=16 << 20).contains(&size.get());
    if it.recordsize.is_some_and(|size| !sane(size)) {
        let hint = "it is a power of two from 512 B to 16 MiB, such as recordsize = \"128 KiB\"";
        told.wrong("recordsize", "no record has this size", hint);
    }
}

/// What is wrong with the members of a part, and what to do about it.
pub(super) fn wrong(kind: &PartKind) -> Option<(String, String)> {
    let (members, least) = match kind {
        PartKind::Raid(raid) => (&raid.members, least(raid.kind)),
        PartKind::Volume(volume) => (&volume.members, 1),
        PartKind::Cluster(cluster) => (&cluster.members, 1),
        _ => return None,
    };
    let mut seen = std::collections::BTreeSet::new();
    if let Some(name) = members.iter().find(|name| !seen.insert(*name)) {
        return Some((format!("`{name}` is a member twice"), "name each member once".to_owned()));
    }
    if members.len() < least {
        let there = human::counted(members.len(), "member");
        let message = format!("it has {there}, and its level needs {least}");
        return Some((message, "add members, or say another level".to_owned()));
    }
    None
}

/// The fewest members that a level is made of: md(4) and zpoolconcepts(7).
fn least(kind: RaidKind) -> usize {
    match kind {
        RaidKind::Zfs(ZfsLevel::Raidz1 | ZfsLevel::Raidz2 | ZfsLevel::Raidz3) => {
            usize::from(kind.parity()) + 1
        }
        RaidKind::Md(RaidLevel::Raid6) => 4,
        RaidKind::Md(RaidLevel::Raid0 | RaidLevel::Linear) | RaidKind::Zfs(ZfsLevel::Stripe) => 1,
        RaidKind::Md(_) | RaidKind::Zfs(ZfsLevel::Mirror) => 2,
    }
}

pub(super) fn workload(
    table: &DocumentTable,
    document: &Document,
    found: &mut Vec<Problem>,
) -> Option<Workload> {
    let mut values = values(table, document, found);
    if values.get("block_size").and_then(toml::Value::as_integer) == Some(0) {
        let hint = "512 B is the smallest that drives know";
        found.push(table.wrong("block_size", "an I/O has at least one byte", hint));
    }
    values.insert("name".to_owned(), table.name.as_str().into());
    let usual: [(&str, toml::Value); 5] = [
        ("pattern", "sequential".into()),
        ("depth", 1.into()),
        ("jobs", 1.into()),
        ("read_share", 1.0.into()),
        ("engine", "io_uring".into()),
    ];
    for (key, value) in usual {
        values.entry(key).or_insert(value);
    }
    let workload = Workload::deserialize(values).ok()?;
    Some(Workload { given: Source::new(table.at.cited()), ..workload })
}

pub(super) fn published(
    table: &DocumentTable,
    document: &Document,
    found: &mut Vec<Problem>,
) -> Option<Published> {
    let values = values(table, document, found);
    let text = |key| values.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let texts = |key| {
        values.get(key).and_then(toml::Value::as_array).into_iter().flatten().filter_map(toml::Value::as_str)
    };
    let value = text("value").and_then(|text| {
        let read = parse_quantity(&text).and_then(|(number, unit)| match unit {
            Unit::Rate => Ok(PublishedValue::Rate(BytesPerSec::new(number))),
            Unit::BitRate => Ok(PublishedValue::Rate(BytesPerSec::new(number / 8.0))),
            Unit::Iops => Ok(PublishedValue::Iops(Iops::new(number))),
            Unit::Time => Ok(PublishedValue::Latency(Nanos::new(number as u64))),
            Unit::Size => Err(format!("`{text}` is a size, not a result")),
        });
        let hint = || format!("write it with its unit: value = {EXAMPLE_OF_RESULT}");
        read.map_err(|why| found.push(table.wrong("value", why, hint()))).ok()
    });
    let mut limited_by = Vec::new();
    for word in texts("limited_by") {
        match of_word(word) {
            Some(kind) => limited_by.push(kind),
            None => found.push(table.wrong(
                "limited_by",
                format!("`{word}` is no kind of hop"),
                "name kinds as `narrows --json` does: limited_by = [\"link\", \"device\"]",
            )),
        }
    }
    Some(Published {
        what: text("what").unwrap_or_default(),
        workload: Name::new(text("workload")?),
        set: texts("set")
            .filter_map(|set| set.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
        value: value?,
        source: text("source").unwrap_or_default(),
        why: text("why"),
        limited_by,
        given: Source::new(table.at.cited()),
    })
}
