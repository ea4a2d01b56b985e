//! Every path of a machine: one line for each target, alike ones together.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::ladder::observed;
use super::rate::Scale;
use super::{adapters, hints, rate};
use crate::document::{
    Block, Blocks, Cell, Column, Content, Document, Place, Row, Table, Tone, Width, findings_in_brief,
};
use crate::figure::machine_map;
use crate::fold::span;
use crate::names::replaced;
use crate::view::{CeilingView, CheckReport, HopPair, HopView, PathView};
use narrows_base::lists::grouped;
use narrows_base::shell;
use narrows_base::units::BytesPerSec;
use narrows_model::ceiling::Direction;
use narrows_model::path::HopKind;
use narrows_verdict::{Finding, Severity};

/// Targets whose data takes paths that look the same.
struct Group<'a> {
    targets: Vec<&'a str>,
    what: String,
    limit: Limit<'a>,
    /// The faults of its first path: code, and where.
    faults: Vec<(String, &'a str)>,
    /// Whether each path of the group has faults at hops of its own.
    own_faults: bool,
    /// What somebody saw devices of its paths do.
    seen: Vec<String>,
}

/// What limits the paths of a group.
#[derive(Default)]
struct Limit<'a> {
    rate: Option<BytesPerSec>,
    shown: String,
    /// The name of the hop; where none is known the reason, without the names of the devices.
    hop: Cow<'a, str>,
    kind: HopKind,
    /// Whether each path of the group has such a hop of its own.
    own: bool,
    /// The rate of the hop behind it, and with its kind.
    next: (String, String),
}

/// A map of more paths shows nobody anything, and takes long to lay out; the table has all of them.
const MOST_DRAWN: usize = 64;

/// Puts the overview.
pub(super) fn put(out: &mut Document, report: &CheckReport, found: &[&Finding]) {
    let paths = &report.paths;
    if paths.is_empty() {
        out.say(0, Tone::Warn, "No storage paths were found.");
    } else {
        if paths.len() <= MOST_DRAWN {
            out.figures(Place::Map, machine_map(report));
        }
        table(out, &group(paths, &report.findings));
    }
    adapters::put(out, &report.machine);
    findings_in_brief(out, found);
    let is_real = |path: &&PathView| {
        !["/dev/loop", "/dev/ram", "/dev/zram"].iter().any(|name| path.target.starts_with(name))
    };
    let is_known = |path: &&PathView| path.limiting_hop.read.is_some();
    let mut real = paths.iter().filter(is_real);
    if let Some(path) = real.clone().find(is_known).or_else(|| real.next()).or(paths.first()) {
        let target = shell::path(&path.target);
        let closer = ("Look closer", format!("narrows {target}{}", super::from(&report.machine)));
        out.gap();
        hints(out, vec![closer, super::prove(&target, &report.machine)]);
    }
}

fn group<'a>(paths: &'a [PathView], found: &'a [Finding]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    // A text can name thousands of functions, none of which is like another.
    let mut places: HashMap<_, usize> = HashMap::new();
    let broken = broken(found);
    let mut told = BTreeSet::new();
    for path in paths {
        let (what, limit, faults) = (what(path), limit(path), faults(path, &broken));
        let codes: Vec<String> = faults.iter().map(|(code, _)| code.clone()).collect();
        let reason = limit.rate.is_none().then(|| limit.hop.clone());
        let alike = (what.clone(), limit.shown.clone(), limit.kind, reason, limit.next.clone(), codes);
        let place = *places.entry(alike).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => {
                group.limit.own |= group.limit.hop != limit.hop;
                group.own_faults |= group.faults != faults;
                group.targets.push(&path.target);
            }
            None => {
                let targets = vec![path.target.as_str()];
                groups.push(Group { targets, what, limit, faults, own_faults: false, seen: Vec::new() });
            }
        }
        // The mean since the start tells of no load.
        let is_under_load = |hop: &HopView| {
            let load = hop.observed.as_ref().map(|seen| seen.load).filter(|load| !load.since_start);
            load.and_then(|load| load.busy).is_some_and(|busy| busy >= UNDER_LOAD)
        };
        let seen = path.hops.iter().filter(|hop| is_under_load(hop) && told.insert(hop.id.as_str()));
        if let Some(group) = groups.get_mut(place) {
            group.seen.extend(seen.filter_map(observed));
        }
    }
    groups
}

/// From this part of the time on a device is shown as one under load.
const UNDER_LOAD: f64 = 0.1;

/// So many devices of a row are shown under load.
const MOST_SEEN: usize = 12;

/// Codes of faults by what they are about: a hop, or a device where they name no hop.
type Broken<'a> = BTreeMap<(bool, &'a str), BTreeSet<String>>;

fn broken(found: &[Finding]) -> Broken<'_> {
    let mut broken = Broken::new();
    for fault in found.iter().filter(|finding| finding.severity == Severity::Fault) {
        let place = fault.hop.as_deref().map_or((false, fault.subject.as_str()), |hop| (true, hop));
        broken.entry(place).or_default().insert(fault.code.as_str());
    }
    broken
}

/// The faults on a path: what, and the name of the hop. Of the hops of one device the first stands for it.
fn faults<'a>(path: &'a PathView, broken: &Broken<'_>) -> Vec<(String, &'a str)> {
    let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
    for hop in path.hops.iter().filter(|_| !broken.is_empty()) {
        for place in [(true, hop.id.as_str()), (false, device(hop))] {
            let codes = broken.get(&place).filter(|_| seen.insert(place.1));
            all.extend(codes.into_iter().flatten().map(|code| (code.clone(), hop.name.as_str())));
        }
    }
    all
}

/// The device of a hop, by its identity: `nvme0n1` of `device:nvme0n1`.
fn device(hop: &HopView) -> &str {
    hop.id.split_once(':').map_or("", |(_, device)| device)
}

/// What the data is on in the end: the layers that work on each byte, then the media, counted when they are alike.
fn what(path: &PathView) -> String {
    let hops = |kinds: &[HopKind], name: fn(&HopView) -> String| {
        counted(path.hops.iter().filter(|hop| kinds.contains(&hop.kind)).map(name))
    };
    let mut media = hops(&[HopKind::Device, HopKind::Remote], medium);
    if media.is_empty() {
        media = path.hops.get(1).map(|hop| hop.name.clone()).unwrap_or_default();
    }
    let layers = hops(&[HopKind::Crypt, HopKind::Raid, HopKind::Cache], layer);
    if layers.is_empty() { media } else { format!("{layers} on {media}") }
}

fn counted(names: impl Iterator<Item = String>) -> String {
    let counted = grouped(names.map(|name| (name, ()))).into_iter().map(|(name, alike)| match alike.len() {
        1 => name,
        count => format!("{count} × {name}"),
    });
    counted.collect::<Vec<_>>().join(", ")
}

/// A medium without the name of its device, which stands before it: drives of one model are alike.
fn medium(hop: &HopView) -> String {
    let name = hop.name.as_str();
    if hop.kind == HopKind::Device && name == device(hop) {
        return "model unknown".to_owned();
    }
    let model = name.strip_suffix(')').and_then(|name| name.strip_suffix(device(hop))?.strip_suffix(" ("));
    // `virtio device vda`; what a server is called says which it is.
    let kind = || name.strip_suffix(device(hop)).filter(|_| hop.kind == HopKind::Device)?.strip_suffix(' ');
    model.or_else(kind).unwrap_or(name).to_owned()
}

/// A layer without the name of its device: `md raid5, 11 members`, `dm-crypt`.
fn layer(hop: &HopView) -> String {
    if hop.kind == HopKind::Crypt {
        // Behind the kind of encryption stands the name of the mapping.
        return hop.name.split(' ').next().unwrap_or_default().to_owned();
    }
    hop.name.replacen(&format!(" {}", device(hop)), "", 1)
}

/// The narrowest hop for reads (for writes where reads have none), with both rates where they differ.
fn limit<'a>(path: &'a PathView) -> Limit<'a> {
    let [read, write] = sides(path, &path.limiting_hop);
    let Some((hop, ceiling)) = read.or(write) else {
        let reason = path.limiting_hop.reason.as_deref().unwrap_or_default();
        let reason = reason.split("; write: ").next().unwrap_or_default().trim_start_matches("read: ");
        let hop = Cow::Owned(without_names(reason, path));
        return Limit { shown: "unknown".to_owned(), hop, ..Limit::default() };
    };
    let [next, of_writes] = sides(path, &path.next_hop);
    let next = next.or(of_writes).map(|(hop, ceiling)| {
        let words = words(ceiling);
        let long = format!("{words} {}", hop.kind.to_string().replace('_', " "));
        (words, long)
    });
    let (rate, next) = (ceiling.path_bytes_per_second, next.unwrap_or_default());
    let [read, write] = [read, write].map(|side| side.map(|(_, ceiling)| words(ceiling)));
    let (hop, kind) = (Cow::Borrowed(hop.name.as_str()), hop.kind);
    Limit { rate, shown: both(read, write), hop, kind, own: false, next }
}

/// A text about a path without the names of its devices, which stand before it: what is so of many disks is said once.
fn without_names(text: &str, path: &PathView) -> String {
    let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '.');
    let mut text = text.to_owned();
    for name in path.hops.iter().map(device).filter(|name| !name.is_empty()) {
        text = text.replace(&format!("({name}: "), "(").replace(&format!("; {name}: "), "; ");
        for before in [" at ", " "] {
            text = replaced(&text, &format!("{before}{name}"), "", |_, behind| !behind.starts_with(goes_on));
        }
    }
    text
}

/// The hops of a pair for reads and for writes, with their ceilings.
fn sides<'a>(path: &'a PathView, pair: &HopPair) -> [Option<(&'a HopView, &'a CeilingView)>; 2] {
    [Direction::Read, Direction::Write].map(|direction| {
        let hop = path.hop(pair.of(direction)?)?;
        Some((hop, hop.ceiling.of(direction)))
    })
}

fn words(ceiling: &CeilingView) -> String {
    let rate = ceiling.path_bytes_per_second;
    rate.map_or_else(|| "unknown".to_owned(), |rate| rate::range(ceiling, rate))
}

/// `3.2 / 1.8 GB/s`: reads and writes, with the unit once where it is the same.
fn both(read: Option<String>, write: Option<String>) -> String {
    let (Some(read), Some(write)) = (&read, &write) else {
        return read.or(write).unwrap_or_default();
    };
    if read == write { read.clone() } else { rate::joined(read, " / ", write) }
}

/// A bar of the overview, where all names have room.
const BAR: usize = 10;

/// Targets get one of so many parts of the terminal.
const TARGETS: usize = 6;

/// The faults of a row, each in a line below it (the findings say more), and what its devices were seen to do.
fn notes(group: &Group<'_>) -> Vec<Block> {
    let mut lines = Vec::new();
    let each = if group.own_faults { "each: " } else { "" };
    let faults = group.faults.iter().map(|(code, hop)| format!("{each}{hop} [{code}]"));
    lines.leads((Tone::Bad, "  FAULT  "), Tone::Normal, faults);
    lines.says(2, Tone::Faint, group.seen.iter().take(MOST_SEEN));
    if let Some(more @ 1..) = group.seen.len().checked_sub(MOST_SEEN) {
        lines.say(2, Tone::Faint, format!("{more} more were seen under load"));
    }
    lines
}

fn table(out: &mut Document, groups: &[Group<'_>]) {
    let scale = Scale::of(groups.iter().filter_map(|group| group.limit.rate));
    let are_two = groups.iter().any(|group| group.limit.shown.contains(" / "));
    let columns = vec![
        Column::name("target", Width::Part(TARGETS)).wrapping(),
        Column::left("on", Width::Flex(0)).wrapping(),
        Column::number(if are_two { "read / write" } else { "at most" }),
        Column::bar(BAR, BAR),
        Column::left("narrowest hop", Width::Flex(0)).wrapping(),
        Column::left("next", Width::Fit(0, usize::MAX)),
    ];
    let mut table = Table::new("Every storage path and its narrowest hop", 0, columns);
    for group in groups {
        let targets = match span(&group.targets) {
            Some(span) => vec![span],
            None => group.targets.iter().map(|target| (*target).to_owned()).collect(),
        };
        let bar = group.limit.rate.zip(scale);
        let bar = bar.map_or_else(Cell::default, |(rate, scale)| Cell::bar(scale.share(rate)));
        let hop = format!("{}{}", if group.limit.own { "each: " } else { "" }, group.limit.hop);
        let hop = match group.limit.rate {
            Some(_) => Cell::text(hop),
            None => Cell::toned(Tone::Faint, hop).spanning(),
        };
        let (short, long) = group.limit.next.clone();
        let cells = vec![
            Cell::of(Content::Names(targets)).tone(Tone::Strong),
            Cell::text(&group.what),
            Cell::toned(Tone::Strong, &group.limit.shown),
            bar.tone(Tone::Faint),
            hop,
            Cell::of(Content::Long { short, long }).tone(Tone::Faint),
        ];
        table.rows.push(Row { cells, notes: notes(group) });
    }
    out.part(Place::Data, "Every path");
    out.add(Block::Table(table));
}
