//! Where everything of a map stands. Each node has a part of the height that no other node of its column shares, so that nothing
//! overlaps whatever the texts are.

use super::tree::Tree;
use super::{Item, Mark, State, full_width};
use crate::figure::chart::rate;
use crate::figure::width::{Face, SMALL, SMALL_STRONG, STRONG};
use narrows_base::units::human;
use narrows_model::path::HopKind;

/// The width of a map in pixels.
pub const WIDTH: f64 = 1080.0;
/// The thickness of the widest lane.
const THICKEST: f64 = 58.0;
/// A lane is drawn at least so thick; where it would be thinner, a mark says so.
pub const THINNEST: f64 = 3.0;
/// The thickness of a lane of which the ceiling is not known.
const UNKNOWN: f64 = 12.0;
/// Above and below what was measured in such a lane.
const FRAME: f64 = 5.0;
/// Between columns.
const GAP: f64 = 38.0;
/// Between columns where lanes divide.
const WIDE_GAP: f64 = 84.0;
/// A box is at least so wide: `application` has room in it.
const NARROWEST_BOX: f64 = 98.0;
/// Room for the marks above and below the narrowest lane.
const PINCH: f64 = 12.0;
const LINE: f64 = 16.0;
const SMALL_LINE: f64 = 14.0;
/// Above and below each node.
const AIR: f64 = 7.0;
/// From so many rows on each has one line for its name.
const MANY: usize = 8;

/// One line of text, and how it is set.
#[derive(Debug, Clone, PartialEq)]
pub struct Words {
    pub face: Face,
    pub text: String,
    pub is_soft: bool,
    pub mark: Mark,
}

/// Where a node stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HopPlace {
    pub left: f64,
    pub width: f64,
    /// The middle of its lane or box.
    pub middle: f64,
    pub thick: f64,
    /// Whether the lane is thinner than it is drawn.
    pub is_broken: bool,
    /// Whether it is wider.
    pub is_cut: bool,
    /// Above the lane, or in the box.
    pub over: Vec<Words>,
    /// Below the lane.
    pub under: Vec<Words>,
    pub is_box: bool,
}

/// A tree with places.
pub struct Layout {
    pub places: Vec<HopPlace>,
    pub height: f64,
    /// Pixels for a byte each second.
    pub scale: f64,
}

/// Finds a place for every node.
pub fn layout(tree: &Tree, top: f64) -> Layout {
    let rows = tree.nodes.iter().filter(|node| node.children.is_empty()).count();
    let mut layout = Layout::new(tree, &columns(tree), rows > MANY);
    layout.height = layout.put(tree, tree.root, top);
    layout
}

/// Finds a place for every node in the column that is given for it, where lanes join as well as divide: each column has the middle of its
/// nodes at the middle of all.
pub fn in_columns(tree: &Tree, columns: &[usize], top: f64) -> Layout {
    let mut layout = Layout::new(tree, columns, false);
    let count = columns.iter().max().map_or(0, |last| last + 1);
    let of = |column: usize| (0..columns.len()).filter(move |node| columns[*node] == column);
    let heights: Vec<f64> =
        (0..count).map(|column| of(column).map(|node| layout.places[node].height()).sum::<f64>()).collect();
    let high = heights.iter().copied().fold(0.0, f64::max);
    for (column, own) in heights.iter().enumerate() {
        let air = (high - own) / of(column).count().max(1) as f64;
        let mut y = top;
        for node in of(column) {
            let (over, under) = layout.places[node].around();
            layout.places[node].middle = y + air / 2.0 + over;
            y += air + over + under;
        }
    }
    layout.height = top + high;
    layout
}

/// The ceiling that is drawn as wide as a lane of this map can be; 0 where none is known.
pub fn full_width_of(tree: &Tree) -> f64 {
    if let Some(most) = tree.most {
        return most;
    }
    let widest = full_width(tree.items.iter().filter_map(|item| Some((item.kind, item.state.known()?))));
    if widest > 0.0 {
        return widest;
    }
    // No ceiling is known: what was measured sets the scale.
    let measured = tree.items.iter().filter_map(|item| item.measured.as_ref());
    measured.map(|it| it.bytes_per_second.get()).filter(|rate| rate.is_finite()).fold(0.0, f64::max)
}

impl Layout {
    /// Each node in its column; its middle is not known yet.
    fn new(tree: &Tree, columns: &[usize], is_many: bool) -> Self {
        let most = full_width_of(tree);
        let scale = if most > 0.0 { THICKEST / most } else { 0.0 };
        let edges = edges(tree, columns);
        let of = |node: usize| place(tree, node, edges[columns[node]], scale, is_many);
        Self { places: (0..tree.nodes.len()).map(of).collect(), height: 0.0, scale }
    }

    /// Puts a node and all behind it below `top`; says where they end.
    fn put(&mut self, tree: &Tree, node: usize, top: f64) -> f64 {
        let own = self.places[node].height();
        let mut bottom = top;
        for &child in &tree.nodes[node].children {
            bottom = self.put(tree, child, bottom);
        }
        // What is behind it is moved down where it is lower than the node itself.
        let missing = own - (bottom - top);
        if missing > 0.0 {
            for &child in &tree.nodes[node].children {
                self.shift(tree, child, missing / 2.0);
            }
            bottom = top + own;
        }
        let middle = f64::midpoint(top, bottom);
        let (over, under) = self.places[node].around();
        // The lane's middle, so that the whole of it with its texts is in the middle of what it may have.
        self.places[node].middle = middle + (over - under) / 2.0;
        bottom
    }

    fn shift(&mut self, tree: &Tree, node: usize, by: f64) {
        self.places[node].middle += by;
        for &child in &tree.nodes[node].children {
            self.shift(tree, child, by);
        }
    }
}

impl HopPlace {
    /// What it needs above and below its middle.
    fn around(&self) -> (f64, f64) {
        let half = self.thick / 2.0;
        if self.is_box {
            return (half + AIR, half + AIR);
        }
        let pinch =
            if self.over.iter().chain(&self.under).any(|line| line.mark >= Mark::Next) { PINCH } else { 4.0 };
        (half + pinch + lines(&self.over) + AIR, half + pinch + lines(&self.under) + AIR)
    }

    fn height(&self) -> f64 {
        let (over, under) = self.around();
        over + under
    }

    /// The base lines of its texts, each with its text.
    pub fn words(&self) -> Vec<(f64, &Words)> {
        let over = lines(&self.over);
        if self.is_box {
            return below(self.middle - over / 2.0, 4.0, &self.over).collect();
        }
        let half = self.thick / 2.0;
        let pinch = self.around().0 - half - over - AIR;
        let above = below(self.middle - half - pinch - over, 4.0, &self.over);
        above.chain(below(self.middle + half + pinch, 3.0, &self.under)).collect()
    }
}

/// The base line of each text, so far above the end of its line, from `top` on.
fn below(top: f64, up: f64, all: &[Words]) -> impl Iterator<Item = (f64, &Words)> {
    all.iter().scan(top, move |y, line| {
        *y += height(line);
        Some((*y - up, line))
    })
}

fn height(line: &Words) -> f64 {
    if line.face.size > 12.0 { LINE } else { SMALL_LINE }
}

fn lines(all: &[Words]) -> f64 {
    all.iter().map(height).sum()
}

/// The column of each node: media last, each other one before the farthest of what is behind it.
fn columns(tree: &Tree) -> Vec<usize> {
    let mut behind = vec![0; tree.nodes.len()];
    // Children stand before their parents in the list of nodes.
    for (at, node) in tree.nodes.iter().enumerate() {
        behind[at] = node.children.iter().map(|child| behind[*child] + 1).max().unwrap_or(0);
    }
    let most = behind.iter().copied().max().unwrap_or(0);
    behind.iter().map(|behind| most - behind).collect()
}

/// Left edge and width of each column: boxes need less than lanes, and what divides has room to.
fn edges(tree: &Tree, columns: &[usize]) -> Vec<(f64, f64)> {
    let count = columns.iter().copied().max().unwrap_or(0) + 1;
    let mut has_lane = vec![false; count];
    let mut gaps = vec![GAP; count];
    for (at, node) in tree.nodes.iter().enumerate() {
        has_lane[columns[at]] |= node.items.iter().any(|item| tree.items[*item].state != State::Passes);
        if node.children.len() > 1 {
            gaps[columns[at]] = WIDE_GAP;
        }
    }
    let margin = 8.0;
    let between = |gaps: &[f64]| gaps.iter().rev().skip(1).sum::<f64>();
    let boxes = has_lane.iter().filter(|has_lane| !**has_lane).count() as f64;
    // Of many columns each keeps some width for its words.
    if (WIDTH - 2.0 * margin - between(&gaps)) / (count as f64) < NARROWEST_BOX {
        gaps = vec![GAP / 2.0; count];
    }
    let room = WIDTH - 2.0 * margin - between(&gaps);
    let part = room / (count as f64 - 0.3 * boxes);
    let of_box = (0.7 * part).max(NARROWEST_BOX.min(room / count as f64));
    let of_lane = (room - of_box * boxes) / (count as f64 - boxes).max(1.0);
    let places = has_lane.iter().zip(&gaps).scan(margin, |left, (has_lane, gap)| {
        let width = if *has_lane { of_lane } else { of_box }.min(260.0);
        let place = (*left, width);
        *left += width + gap;
        Some(place)
    });
    places.collect()
}

fn place(tree: &Tree, node: usize, (left, width): (f64, f64), scale: f64, is_many: bool) -> HopPlace {
    let items: Vec<&Item> = tree.nodes[node].items.iter().map(|item| &tree.items[*item]).collect();
    let lane = items.iter().find(|item| item.state != State::Passes);
    let mut over = Vec::new();
    let Some(lane) = lane else {
        for item in &items {
            over.extend(set(SMALL_STRONG, &item.title, width - 8.0, 4, false));
            over.extend(set(SMALL, &item.detail, width - 8.0, 2, true));
        }
        let thick = (lines(&over) + 12.0).max(26.0);
        return HopPlace { left, width, thick, over, is_box: true, ..HopPlace::default() };
    };
    let is_leaf = tree.nodes[node].children.is_empty();
    if is_many {
        over.extend(set(SMALL, &format!("{} {}", lane.title, lane.detail), width, 1, false));
    } else {
        over.extend(set(STRONG, &lane.title, width, 2, false));
        over.extend(set(SMALL, &lane.detail, width, if is_leaf { 3 } else { 2 }, true));
    }
    let (thick, exact) = match lane.state {
        State::Known(rate) => ((rate * scale).clamp(THINNEST, THICKEST), rate * scale),
        // What was measured has room in it, in the scale of the others.
        _ => {
            let band = lane.measured.as_ref().map_or(0.0, |it| it.bytes_per_second.get() * scale);
            let bound = lane.bound.map_or(0.0, |bound| bound * scale);
            let foretold = lane.foretold.map_or(0.0, |it| it.most() * scale);
            let room = |band: f64| if band > 0.0 { band.min(THICKEST) + 2.0 * FRAME } else { 0.0 };
            (UNKNOWN.max(room(band)).max(room(foretold)).max(bound.min(THICKEST)), UNKNOWN)
        }
    };
    let (is_broken, is_cut) = (exact < THINNEST, exact > THICKEST + 0.01);
    let under = under(lane, width, is_many);
    HopPlace { left, width, thick, is_broken, is_cut, over, under, is_box: false, middle: 0.0 }
}

/// The number beside the lane, what is said of it, what was measured and who else crosses it.
fn under(lane: &Item, width: f64, is_many: bool) -> Vec<Words> {
    let number = if is_many { SMALL_STRONG } else { STRONG };
    let (own, words) = (lane.rate(), lane.said());
    let both = if words.is_empty() { own.clone() } else { format!("{own} · {words}") };
    let mut under = Vec::new();
    let is_known = matches!(lane.state, State::Known(_));
    if number.width(&both) <= width {
        under.extend(set(number, &both, width, 1, !is_known));
    } else {
        under.extend(set(number, &own, width, 1, !is_known));
        under.extend(set(number, &words, width, 1, false));
    }
    under.iter_mut().for_each(|line| line.mark = lane.mark);
    // Several lanes carry a path together: what the application gets through all of them is more than one can carry.
    if let (State::Known(own), Some(all), false) = (&lane.state, lane.for_application, words.is_empty())
        && (all - own).abs() > own * 0.001
    {
        under.extend(set(SMALL, &format!("{} for the path", rate(all)), width, 2, true));
    }
    // Of what is foretold the band is on every lane, the words where it is decided.
    let foretold = lane.foretold_text().filter(|_| !words.is_empty());
    let more = [(lane.bound_text(), 2, true), (lane.measured_text(), 2, false), (foretold, 3, false)];
    for (text, most, is_soft) in more {
        under.extend(text.iter().flat_map(|text| set(SMALL, text, width, most, is_soft)));
    }
    if lane.kind == HopKind::Device && !lane.targets.is_empty() {
        under.extend(set(SMALL, &lane.targets.join(", "), width, if is_many { 1 } else { 2 }, true));
    } else if lane.targets.is_empty() && lane.shared > 0 {
        let others = human::counted(lane.shared, "more path");
        under.extend(set(SMALL, &format!("shared with {others}"), width, 1, true));
    }
    under
}

fn set(face: Face, text: &str, room: f64, most: usize, is_soft: bool) -> Vec<Words> {
    let lines = face.wrap(text, room, most).into_iter();
    lines.map(|text| Words { face, text, is_soft, mark: Mark::None }).collect()
}
