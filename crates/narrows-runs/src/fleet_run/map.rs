//! The map of a fleet: hosts that put load on, the network between, servers, drives. Columns stand for parts of the way; hosts that are
//! alike are one lane.

use std::collections::{BTreeMap, BTreeSet};

use super::{FleetRunReport, PointView, describe, folded};
use narrows_base::units::{BytesPerSec, human};
use narrows_model::path::HopKind;
use narrows_report::document::doubt;
use narrows_report::figure::chart::known;
use narrows_report::figure::path_map::layout::{self, Layout};
use narrows_report::figure::path_map::tree::{Node, Tree};
use narrows_report::figure::path_map::{Item, Mark, State, draw, list};
use narrows_report::figure::{Data, Figure, Picture, Svg};
use narrows_report::view::MeasuredView;
use narrows_verdict::fleet::judge::{FleetMap, MapHop, Part, Side};

/// What limits is drawn at least one part of so many as wide as a lane can be.
const LEAST_PART: f64 = 6.0;

/// A map for each load of a fleet, one behind the other; `None` where no map is known.
pub(super) fn fleet_map(report: &FleetRunReport) -> Option<Figure> {
    let mut data = Data::new(&[
        "hop",
        "load",
        "hosts#",
        "ceiling#",
        "carried#",
        "by one host#",
        "busy#",
        "what is said of it",
    ]);
    let mut pictures = Vec::new();
    let mut said = Vec::new();
    for (point, map) in report.points.iter().filter_map(|point| Some((point, point.map.as_ref()?))) {
        let load = describe(&point.load);
        let fleet = Fleet::new(point, map);
        put_rows(&mut data, &fleet.tree.items, map, &load);
        let way = map.direction.pick("reads", "writes");
        let title = format!("Map of the fleet, {way}: {load}");
        let label = if point.proof.is_some() { format!("{load}, half of the clients") } else { load };
        said.push((label.clone(), point.verdict.sentence.clone()));
        let wide = draw::drawn(&fleet.tree, &fleet.layout, &title, |svg| fleet.flows(svg));
        let narrow = Some(list::narrow(&fleet.tree, &title));
        pictures.push(Picture { label, narrow, ..Picture::only(wide) });
    }
    if let [only] = pictures.as_mut_slice() {
        only.label.clear();
    }
    let sentences = match said.as_slice() {
        [] => return None,
        [(_, only)] => only.clone(),
        several => several.iter().map(|(load, text)| format!("{load}: {text}")).collect::<Vec<_>>().join(" "),
    };
    let alternative = format!(
        "{sentences} The map leads from the hosts that put load on to the drives; hosts that are alike are one lane. The width of a \
         lane is the ceiling of all of its hosts together, dashed lanes have a ceiling that is not known, and the band within a lane \
         is what they carried."
    );
    let title = "Map of the fleet".to_owned();
    Some(Figure { id: "fleet-map".to_owned(), title, alternative, pictures, data })
}

/// What is drawn of one load.
struct Fleet {
    tree: Tree,
    layout: Layout,
    /// What leads where, by node; nothing is drawn that flows where no host has a result.
    edges: Vec<(usize, usize)>,
}

impl Fleet {
    fn new(point: &PointView, map: &FleetMap) -> Self {
        let mut items = vec![all_together(point)];
        items.extend(map.hops.iter().map(|hop| item(hop, point)));
        let mut nodes: Vec<Node> =
            (0..items.len()).map(|at| Node { items: vec![at], ..Node::default() }).collect();
        let place: BTreeMap<&str, usize> =
            map.hops.iter().enumerate().map(|(at, hop)| (hop.id.as_str(), at + 1)).collect();
        let first = map.hops.iter().map(|hop| hop.part).min();
        let mut edges = Vec::new();
        for (at, hop) in map.hops.iter().enumerate() {
            let is_led_to = map.hops.iter().any(|other| other.behind.contains(&hop.id));
            if Some(hop.part) == first || !is_led_to {
                edges.push((0, at + 1));
            }
            edges.extend(hop.behind.iter().filter_map(|id| Some((at + 1, *place.get(id.as_str())?))));
        }
        // A list has each hop once, below the first that leads to it, and what comes after all hosts behind them.
        let is_shared = |at: usize| edges.iter().filter(|(_, to)| *to == at).count() > 1;
        for at in 1..nodes.len() {
            let up = edges.iter().find(|(_, to)| *to == at).map_or(0, |(from, _)| *from);
            nodes[if is_shared(at) { 0 } else { up }].children.push(at);
        }
        let parts: BTreeSet<Part> = map.hops.iter().map(|hop| hop.part).collect();
        let column = |hop: &MapHop| parts.range(..=hop.part).count();
        let columns: Vec<usize> = std::iter::once(0).chain(map.hops.iter().map(column)).collect();
        // The hop that limits, or what all got, is seen; of hosts one may have a card that is a thousandth of what the others have together.
        let narrowest = map.hops.iter().filter(|hop| hop.is_narrowest).filter_map(|hop| hop.ceiling);
        let seen = narrowest.map(BytesPerSec::get).chain(point.bytes_per_second.map(BytesPerSec::get));
        let seen = seen.fold(0.0, f64::max);
        let known = map.hops.iter().flat_map(|hop| [hop.ceiling, hop.measured]).flatten();
        let known = known.map(BytesPerSec::get).fold(0.0, f64::max);
        let most = known.min(if seen > 0.0 { seen * LEAST_PART } else { f64::INFINITY });
        let tree = Tree { items, nodes, root: 0, most: Some(most) };
        let layout = layout::in_columns(&tree, &columns, 6.0);
        let is_idle = |at: usize| {
            at.checked_sub(1)
                .map(|at| &map.hops[at])
                .is_some_and(|hop| hop.lost > 0 && hop.lost == hop.hosts.len())
        };
        edges.retain(|(from, to)| !is_idle(*from) && !is_idle(*to));
        Self { tree, layout, edges }
    }

    /// Each hop gets a part of the edge of what it leads to, and of what leads to it, as large as its share of their widths.
    fn flows(&self, svg: &mut Svg) {
        let thick = |at: usize| self.layout.places[at].thick;
        let mut left = vec![0.0; self.layout.places.len()];
        let mut entered = left.clone();
        let sum = |of: &dyn Fn(&(usize, usize)) -> Option<usize>| {
            self.edges.iter().filter_map(of).map(thick).sum::<f64>().max(1.0)
        };
        for &(from, to) in &self.edges {
            let out = thick(from) * thick(to) / sum(&|edge| (edge.0 == from).then_some(edge.1));
            let into = thick(to) * thick(from) / sum(&|edge| (edge.1 == to).then_some(edge.0));
            let [start, end] = [(from, left[from]), (to, entered[to])]
                .map(|(at, used)| self.layout.places[at].middle - thick(at) / 2.0 + used);
            draw::ribbon(svg, &self.layout.places[from], (start, out), &self.layout.places[to], (end, into));
            left[from] += out;
            entered[to] += into;
        }
    }
}

/// What stands before all hosts.
fn all_together(point: &PointView) -> Item {
    let hosts = human::counted(point.hosts.len(), "client");
    let detail = point.bytes_per_second.map(|rate| format!("{rate} together")).unwrap_or_default();
    Item { id: "clients".to_owned(), name: hosts.clone(), title: hosts, detail, ..Item::default() }
}

fn item(hop: &MapHop, point: &PointView) -> Item {
    let (title, detail) = names(hop);
    let is_cached = point.verdict.conservation.cache_of == Some(Side::Clients);
    let is_of_clients = matches!(hop.part, Part::ClientProcessors | Part::ClientNetwork | Part::Network);
    let kind = match hop.part {
        Part::ClientProcessors | Part::ServerProcessors => HopKind::Cpu,
        Part::ClientNetwork | Part::Network | Part::ServerNetwork => HopKind::Network,
        Part::Drives => HopKind::Device,
    };
    Item {
        id: hop.id.clone(),
        kind,
        name: format!("{title}: {}", folded(hop.hosts.iter().map(String::as_str))),
        title,
        detail,
        state: match (hop.ceiling, &hop.reason) {
            (Some(rate), _) => State::Known(rate.get()),
            (None, why) => State::Unknown(why.clone().unwrap_or_default()),
        },
        formula: hop.formula.clone().unwrap_or_default(),
        measured: hop.measured.map(|rate| MeasuredView {
            bytes_per_second: rate,
            ci95: None,
            trusted: !(is_cached && is_of_clients),
            utilisation: hop.ceiling.map(|ceiling| rate.fraction_of(ceiling)),
            reason: None,
        }),
        mark: if hop.is_narrowest { Mark::Narrowest } else { Mark::None },
        doubt: doubt(point.verdict.limit.confidence, [", likely", ", a guess"]),
        ..Item::default()
    }
}

/// What leads in a hop's name, and what follows.
fn names(hop: &MapHop) -> (String, String) {
    let hosts = folded(hop.hosts.iter().map(String::as_str));
    let count = hop.hosts.len();
    let lost = match hop.lost {
        0 => String::new(),
        all if all == count => ", without a result".to_owned(),
        some => format!(", {some} without a result"),
    };
    match hop.part {
        Part::ClientProcessors | Part::ServerProcessors if count == 1 => ("Processors".to_owned(), hosts),
        Part::ClientProcessors | Part::ServerProcessors => (format!("Processors of {count} hosts"), hosts),
        Part::ClientNetwork if count == 1 => (hosts, format!("its network card{lost}")),
        Part::ClientNetwork => {
            // Only what was multiplied is equal.
            let is_equal =
                hop.formula.as_deref().is_some_and(|text| text.starts_with(&format!("{count} × ")));
            let equal = if is_equal { "equal " } else { "" };
            (format!("{count} {equal}hosts"), format!("network cards of {hosts}{lost}"))
        }
        Part::Network => ("Network".to_owned(), format!("switches and cables, to {hosts}")),
        Part::ServerNetwork if hop.ceiling.is_none() && hop.measured.is_none() => {
            (if count == 1 { "Server".to_owned() } else { format!("{count} servers") }, hosts)
        }
        Part::ServerNetwork if count == 1 => (format!("Server {hosts}"), "its network card".to_owned()),
        Part::ServerNetwork => (format!("{count} servers"), format!("network cards of {hosts}")),
        Part::Drives => {
            let drives = drives(&hop.drives);
            let title = match (hop.drives.len(), count) {
                (0, _) => "Drives".to_owned(),
                (1, 1) => "1 drive".to_owned(),
                (some, 1) => format!("{some} drives"),
                _ => format!("Drives of {count} hosts"),
            };
            let busy = busy(hop).map(|busy| format!("busy {busy} of the time: ")).unwrap_or_default();
            (title, format!("{busy}{drives} in {hosts}{lost}").trim_start().to_owned())
        }
    }
}

/// Names of drives, folded by the number that counts drives: `nvme[0-7]n1`.
fn drives(names: &[String]) -> String {
    let split = |name: &'_ String| {
        let (drive, namespace) = name.strip_prefix("nvme")?.rsplit_once('n')?;
        Some((format!("nvme{drive}"), format!("n{namespace}")))
    };
    match names.iter().map(split).collect::<Option<Vec<_>>>() {
        Some(parts) if parts.windows(2).all(|pair| pair[0].1 == pair[1].1) && !parts.is_empty() => {
            format!("{}{}", folded(parts.iter().map(|(drive, _)| drive.as_str())), parts[0].1)
        }
        _ => folded(names.iter().map(String::as_str)),
    }
}

/// `40 %`, `38 % to 41 %`.
fn busy(hop: &MapHop) -> Option<String> {
    let [least, most] = hop.busy?.map(human::percent);
    Some(if least == most { least } else { format!("{least} to {most}") })
}

fn put_rows(data: &mut Data, items: &[Item], map: &FleetMap, load: &str) {
    let rate = |rate: Option<BytesPerSec>| rate.map(human::rate).unwrap_or_default();
    for (hop, item) in map.hops.iter().zip(items.iter().skip(1)) {
        data.push([
            item.name.clone(),
            load.to_owned(),
            hop.hosts.len().to_string(),
            item.rate(),
            rate(hop.measured),
            known(hop.each),
            busy(hop).unwrap_or_default(),
            match item.mark {
                Mark::None => hop.reason.clone().or_else(|| hop.formula.clone()).unwrap_or_default(),
                _ => item.said(),
            },
        ]);
    }
}

#[cfg(test)]
mod tests;
