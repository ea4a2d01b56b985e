//! The path as a map: a pipe that narrows. The width of a lane is its hop's ceiling.

mod after;
pub mod draw;
pub mod layout;
pub mod list;
pub mod tree;

use super::chart::{known, rate};
use super::svg::number;
use super::whole::{Data, Figure, Picture};
use crate::view::{CheckReport, HopView, MeasuredView, PathView};
use narrows_base::lists::known_of;
use narrows_base::units::{BytesPerSec, human};
use narrows_model::ceiling::{Basis, Direction};
use narrows_model::path::HopKind;
use narrows_verdict::Severity;
use tree::Tree;

/// What is known of the rate that a hop can carry.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum State {
    /// At most so many of its own bytes each second.
    Known(f64),
    /// Unknown, and why.
    Unknown(String),
    /// It moves no bytes of its own.
    #[default]
    Passes,
}

impl State {
    /// The rate, where it is known.
    const fn known(&self) -> Option<f64> {
        match self {
            Self::Known(rate) => Some(*rate),
            _ => None,
        }
    }
}

/// What is to be said of a hop at a glance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    #[default]
    None,
    /// The narrowest once the narrowest one is widened.
    Next,
    /// The narrowest, which nobody needs to mend.
    Narrowest,
    /// The narrowest, and a finding says that it could be wider.
    Fault,
}

impl Mark {
    const fn class(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Next => " next",
            Self::Narrowest => " narrowest",
            Self::Fault => " fault",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Next => "next",
            Self::Narrowest | Self::Fault => "narrowest",
        }
    }
}

/// What is foretold of a hop, in its own bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Foretold {
    /// What crosses it, and the ends of the 95 % interval.
    Rate(f64, [f64; 2]),
    /// No more than this crosses it; how much is not known.
    AtMost(f64),
}

impl Foretold {
    /// What crosses the hop at most by it.
    const fn most(self) -> f64 {
        match self {
            Self::Rate(_, [_, high]) => high,
            Self::AtMost(most) => most,
        }
    }

    /// The bands that are drawn of it, one upon the other: full as far as it reaches at least, pale up to what it reaches at most
    /// in 95 of 100 cases; or the bound, dashed.
    fn bands(self) -> Vec<(&'static str, f64)> {
        match self {
            Self::Rate(_, [low, high]) => vec![("band range", high), ("band", low)],
            Self::AtMost(most) => vec![("atmost", most)],
        }
    }

    fn in_words(self) -> String {
        match self {
            Self::Rate(of, ends) => format!("predicted {}, 95 %: {}", rate(of), ends.map(rate).join(" to ")),
            Self::AtMost(most) => format!("not predicted, at most {}", rate(most)),
        }
    }
}

/// One hop, as it is drawn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Item {
    pub id: String,
    pub kind: HopKind,
    /// What leads: the slot's link, the drive's name.
    pub title: String,
    /// What follows: the slot, the model.
    pub detail: String,
    /// Its whole name.
    pub name: String,
    pub state: State,
    /// What the application gets through it, of one path only.
    pub for_application: Option<f64>,
    pub is_guess: bool,
    pub formula: String,
    pub measured: Option<MeasuredView>,
    pub foretold: Option<Foretold>,
    pub mark: Mark,
    /// How unsure that is, behind the words of the mark.
    pub doubt: &'static str,
    /// The targets whose data crosses it, where several are drawn.
    pub targets: Vec<String>,
    pub shared: usize,
    /// What others allow through it, in its own bytes, where its own ceiling is not known or, if it is known, not seen beyond that.
    pub bound: Option<f64>,
}

impl Item {
    fn new(hop: &HopView, paths: &[&PathView], direction: Direction) -> Self {
        let ceiling = hop.ceiling.of(direction);
        let state = match ceiling.bytes_per_second {
            Some(rate) => State::Known(rate.get()),
            None if ceiling.transparent => State::Passes,
            None => State::Unknown(ceiling.reason.clone().unwrap_or_default()),
        };
        let crossing: Vec<&&PathView> = paths.iter().filter(|path| path.hop(&hop.id).is_some()).collect();
        let targets = crossing.iter().filter(|_| paths.len() > 1);
        let (title, detail) = names(hop);
        Self {
            id: hop.id.clone(),
            kind: hop.kind,
            title,
            detail,
            name: hop.name.clone(),
            state,
            for_application: ceiling.path_bytes_per_second.filter(|_| paths.len() == 1).map(BytesPerSec::get),
            is_guess: ceiling.basis == Some(Basis::Guess),
            formula: ceiling.formula.clone().unwrap_or_default(),
            measured: hop.measured.of(direction).filter(|_| paths.len() == 1).cloned(),
            mark: crossing.iter().map(|path| mark(hop, path, direction)).max().unwrap_or_default(),
            targets: targets.map(|path| path.target.clone()).collect(),
            shared: hop.shared_with.len(),
            ..Self::default()
        }
    }

    /// The ceiling in words.
    pub fn rate(&self) -> String {
        let guess = if self.is_guess { "~" } else { "" };
        match (&self.state, self.bound) {
            (State::Known(_), Some(bound)) => format!("at least {}", rate(bound)),
            (State::Known(known), None) => format!("{guess}{}", rate(*known)),
            (State::Unknown(_), _) => "not known".to_owned(),
            (State::Passes, _) => String::new(),
        }
    }

    /// What others allow through a hop of which the ceiling is not known.
    fn bound_text(&self) -> Option<String> {
        let bound = self.bound.filter(|_| matches!(self.state, State::Unknown(_)))?;
        Some(format!("used at most {}", rate(bound)))
    }

    /// The mark in words, with how unsure it is.
    pub fn said(&self) -> String {
        if self.mark == Mark::None { String::new() } else { format!("{}{}", self.mark.words(), self.doubt) }
    }

    /// The values of it that a program reads back from the picture: those of the JSON, digit by digit.
    fn attributes(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![("hop", self.id.clone())];
        all.extend(self.state.known().map(|rate| ("ceiling", format!("{rate}"))));
        all.extend(self.for_application.map(|rate| ("path", format!("{rate}"))));
        all.extend(self.measured.as_ref().map(|it| ("measured", format!("{}", it.bytes_per_second.get()))));
        let pair = |[low, high]: [f64; 2]| format!("{low} {high}");
        let ends = self.measured.as_ref().and_then(|it| it.ci95);
        all.extend(ends.map(|ends| ("interval", pair(ends.map(BytesPerSec::get)))));
        match self.foretold {
            Some(Foretold::Rate(rate, ends)) => {
                all.extend([("predicted", format!("{rate}")), ("predicted-interval", pair(ends))]);
            }
            Some(Foretold::AtMost(most)) => all.push(("at-most", format!("{most}"))),
            None => {}
        }
        if self.mark != Mark::None {
            all.push(("mark", self.said()));
        }
        all
    }

    /// All that is known of it, for the pointer that rests on it.
    fn tip(&self) -> String {
        let ceiling = match &self.state {
            State::Known(_) => Some(format!("ceiling {}", self.rate())),
            State::Unknown(why) => Some(format!("ceiling not known: {why}")),
            State::Passes => None,
        };
        let formula = Some(self.formula.clone()).filter(|formula| !formula.is_empty());
        let beside = [self.bound_text(), self.measured_text(), self.foretold_text()];
        known_of([Some(self.name.clone()), ceiling, formula].into_iter().chain(beside), "; ")
    }

    fn foretold_text(&self) -> Option<String> {
        self.foretold.map(Foretold::in_words)
    }

    fn measured_text(&self) -> Option<String> {
        let measured = self.measured.as_ref()?;
        let doubt = if measured.trusted { "" } else { ", not trusted" };
        Some(format!("measured {}{doubt}", measured.bytes_per_second))
    }
}

/// Whether a hop is the narrowest of a path or the next, or stands beside one that is: members of an array are narrow together.
fn mark(hop: &HopView, path: &PathView, direction: Direction) -> Mark {
    let is_like = |id: Option<&str>| {
        let Some(other) = id.and_then(|id| path.hop(id)) else { return false };
        let rate = |hop: &HopView| hop.ceiling.of(direction).path_bytes_per_second.map(BytesPerSec::get);
        let alike = other.kind == hop.kind && other.depth == hop.depth && other.traffic == hop.traffic;
        other.id == hop.id || (alike && rate(other).is_some() && rate(other) == rate(hop))
    };
    if is_like(path.limiting_hop.of(direction)) {
        Mark::Narrowest
    } else if is_like(path.next_hop.of(direction)) {
        Mark::Next
    } else {
        Mark::None
    }
}

/// What leads in a hop's name, and what follows.
fn names(hop: &HopView) -> (String, String) {
    let name = hop.name.as_str();
    let parts = match hop.kind {
        HopKind::Device => {
            name.rsplit_once(" (").map(|(model, block)| (block.trim_end_matches(')'), model.to_owned()))
        }
        HopKind::Link => name.split_once(" link of ").map(|(speed, place)| match place.split_once(", ") {
            Some((address, slot)) => (speed, format!("{slot} ({address})")),
            None => (speed, format!("at {place}")),
        }),
        HopKind::Chipset => name.rsplit_once(", ").map(|(chipset, uplink)| (uplink, chipset.to_owned())),
        HopKind::Switch => name.split_once(" at ").map(|(switch, place)| (switch, format!("at {place}"))),
        HopKind::Network => {
            let interface = name.trim_start_matches("network interface ").split_once(" at ");
            interface.map(|(interface, speed)| (interface, speed.to_owned()))
        }
        HopKind::Raid => name.split_once(", ").map(|(array, members)| (array, members.to_owned())),
        _ => None,
    };
    let (title, detail) = parts.unwrap_or((name, String::new()));
    (title.to_owned(), detail)
}

/// The map of one path in one direction; `None` if it has no such path or nothing to draw.
fn tree_of(report: &CheckReport, paths: &[&PathView], direction: Direction) -> Option<Tree> {
    paths.iter().find(|path| !path.hops.is_empty())?;
    let mut tree = tree::grow(paths, direction);
    for fault in report.findings.iter().filter(|finding| finding.severity == Severity::Fault) {
        let is_it = |item: &&mut Item| fault.hop.as_deref() == Some(item.id.as_str());
        let narrowest = tree.items.iter_mut().filter(|item| item.mark == Mark::Narrowest);
        narrowest.filter(is_it).for_each(|item| item.mark = Mark::Fault);
    }
    Some(tree)
}

/// The narrowest lane is drawn at least one part of so many as wide as a lane can be, and at most one part of so many: narrow to the
/// eye, whatever else is known.
const MOST_TIMES: f64 = 16.0;
const LEAST_TIMES: f64 = 4.0;

/// The rate that is drawn as wide as a lane can be; 0 where there is none. Main memory and links between sockets are mostly so much
/// wider than all else that beside them everything would be a thread: what is wider than the widest of the others, or than so
/// many of the narrowest hop, is cut, and a mark says so.
fn full_width(rates: impl Iterator<Item = (HopKind, f64)>) -> f64 {
    let known: Vec<(HopKind, f64)> = rates.filter(|(_, rate)| rate.is_finite() && *rate > 0.0).collect();
    let widest = |is_near: &dyn Fn(HopKind) -> bool| {
        known.iter().filter(|(kind, _)| is_near(*kind)).map(|(_, rate)| *rate).fold(0.0, f64::max)
    };
    let near = widest(&|kind| !matches!(kind, HopKind::Memory | HopKind::Socket));
    let least = known.iter().map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min);
    let most = if near > 0.0 { near } else { widest(&|_| true) };
    if least.is_finite() { most.clamp(least * LEAST_TIMES, least * MOST_TIMES) } else { 0.0 }
}

/// The map of the path at `index`, with what each advice would make of it; `None` where there is no such path.
pub fn path_map(report: &CheckReport, index: usize) -> Option<Figure> {
    let path = report.paths.get(index)?;
    let mut pictures = Vec::new();
    let mut predicted = Vec::new();
    let mut data = data();
    for direction in [Direction::Read, Direction::Write] {
        let tree = tree_of(report, &[path], direction)?;
        put_rows(&mut data, &tree, direction);
        let title = format!("Path map of {}, {}", path.target, direction.pick("reads", "writes"));
        let label = direction.pick("Reads", "Writes").to_owned();
        pictures.push(Picture { label, ..picture(&tree, &title) });
        predicted.extend(after::pictures(report, path, &tree, direction));
    }
    pictures.extend(predicted);
    let title = format!("Path of {}", path.target);
    let alternative = format!(
        "{} The map leads from the application to the medium. The width of a lane is the ceiling of its hop; dashed lanes have a \
         ceiling that is not known; the band within a lane is what was measured.",
        path.sentence
    );
    Some(Figure { id: format!("path-map-{}", index + 1), title, alternative, pictures, data })
}

/// The map of the whole machine: every hop once, with all paths that cross it. `None` for fewer than two paths.
pub fn machine_map(report: &CheckReport) -> Option<Figure> {
    let paths: Vec<&PathView> = report.paths.iter().collect();
    if paths.len() < 2 {
        return None;
    }
    let tree = tree_of(report, &paths, Direction::Read)?;
    let mut data = data();
    put_rows(&mut data, &tree, Direction::Read);
    let alternative = format!(
        "The links and drives of {} paths, for reads. A hop that several paths share stands once, before all that cross it. \
         Marked is the narrowest hop of each path. Arrays, ciphers and file systems are on the map of each path.",
        paths.len()
    );
    let title = "All paths of this machine".to_owned();
    let pictures = vec![picture(&tree, "Path map of the machine, reads")];
    Some(Figure { id: "machine-map".to_owned(), title, alternative, pictures, data })
}

/// A map for both widths.
fn picture(tree: &Tree, title: &str) -> Picture {
    Picture { narrow: Some(list::narrow(tree, title)), ..Picture::only(draw::wide(tree, title)) }
}

fn data() -> Data {
    Data::new(&[
        "hop",
        "direction",
        "ceiling#",
        "for the application#",
        "measured#",
        "95 % interval#",
        "what is said of it",
    ])
}

fn put_rows(data: &mut Data, tree: &Tree, direction: Direction) {
    for item in &tree.items {
        let said = match &item.state {
            _ if item.mark != Mark::None => item.mark.words(),
            State::Unknown(why) => why,
            State::Passes => "passes on what others allow",
            State::Known(_) => "",
        };
        data.push([
            item.name.clone(),
            direction.pick("reads", "writes").to_owned(),
            item.rate(),
            item.for_application.map(rate).unwrap_or_default(),
            item.measured.as_ref().map(|it| human::rate(it.bytes_per_second)).unwrap_or_default(),
            known(item.measured.as_ref().and_then(|measured| measured.ci95)),
            said.to_owned(),
        ]);
    }
}

/// Whether two numbers are drawn at the same place.
fn is_drawn_alike(a: f64, b: f64) -> bool {
    number(a) == number(b)
}

#[cfg(test)]
mod tests;
