//! The map for wide screens and paper.

use super::layout::{HopPlace, Layout, THINNEST, WIDTH, layout};
use super::tree::Tree;
use super::{Foretold, Item, Mark, State, is_drawn_alike};
use crate::figure::chart::rate;
use crate::figure::svg::{Anchor, Stroke, Svg};
use crate::figure::width::SMALL;
use narrows_base::units::BytesPerSec;

/// The map with its legend.
pub fn wide(tree: &Tree, label: &str) -> Svg {
    let layout = layout(tree, 6.0);
    drawn(tree, &layout, label, |svg| {
        for node in 0..tree.nodes.len() {
            flows(svg, tree, &layout, node);
        }
    })
}

/// As [`wide`], with places and flows of its own.
pub fn drawn(tree: &Tree, layout: &Layout, label: &str, flows: impl FnOnce(&mut Svg)) -> Svg {
    let mut svg = Svg::new(WIDTH, label);
    flows(&mut svg);
    for (node, place) in layout.places.iter().enumerate() {
        put(&mut svg, tree, node, place, layout.scale);
    }
    svg.reach(layout.height);
    legend(&mut svg, tree, layout);
    svg
}

/// What leads from a node to those behind it: each gets a part of its edge as large as its own share of their widths.
fn flows(svg: &mut Svg, tree: &Tree, layout: &Layout, node: usize) {
    let from = &layout.places[node];
    let children = &tree.nodes[node].children;
    let total: f64 = children.iter().map(|child| layout.places[*child].thick).sum();
    if total <= 0.0 {
        return;
    }
    let edge = from.thick.min(total.max(if from.is_box { total } else { from.thick }));
    let mut top = from.middle - edge / 2.0;
    for &child in children {
        let to = &layout.places[child];
        let part = edge * to.thick / total;
        flow(svg, from, (top, top + part), to);
        top += part;
    }
    for &other in &tree.nodes[node].also_from {
        let up = &layout.places[other];
        flow(svg, up, (up.middle - up.thick / 2.0, up.middle + up.thick / 2.0), from);
    }
}

fn flow(svg: &mut Svg, from: &HopPlace, (top, bottom): (f64, f64), to: &HopPlace) {
    let start = from.left + from.width;
    let bend = start + 38.0_f64.min((to.left - start).max(4.0));
    let half = (if to.is_box { (bottom - top).clamp(4.0, to.thick) } else { to.thick }) / 2.0;
    let (high, low) = (to.middle - half, to.middle + half);
    let mut stroke = Stroke::from(start, top).bend((start, top), (bend, high));
    if to.left > bend && !is_drawn_alike(to.left, bend) {
        stroke = stroke.to(to.left, high).to(to.left, low);
    }
    svg.path("flow", &stroke.to(bend, low).bend((bend, low), (start, bottom)).close());
}

/// What leads from a part of the edge of one node to a part of that of another, each given by where it begins and how thick it is.
pub fn ribbon(
    svg: &mut Svg,
    from: &HopPlace,
    (start, out): (f64, f64),
    to: &HopPlace,
    (end, into): (f64, f64),
) {
    let (left, right) = (from.left + from.width, to.left);
    let stroke = Stroke::from(left, start)
        .bend((left, start), (right, end))
        .to(right, end + into)
        .bend((right, end + into), (left, start + out));
    svg.path("flow", &stroke.close());
}

fn put(svg: &mut Svg, tree: &Tree, node: usize, place: &HopPlace, scale: f64) {
    let items: Vec<&Item> = tree.nodes[node].items.iter().map(|item| &tree.items[*item]).collect();
    let lane = items.iter().find(|item| item.state != State::Passes);
    let tip = items.iter().map(|item| item.tip()).collect::<Vec<_>>().join("; ");
    let attributes = lane.or(items.first()).map(|item| item.attributes()).unwrap_or_default();
    svg.group("node", &attributes, &tip);
    let top = place.middle - place.thick / 2.0;
    match lane {
        None => svg.rect("box", (place.left, top), (place.width, place.thick), 6.0),
        Some(lane) => {
            let class = match lane.state {
                State::Unknown(_) => "lane unknown".to_owned(),
                _ => format!("lane{}", lane.mark.class()),
            };
            svg.rect(&class, (place.left, top), (place.width, place.thick), 2.0_f64.min(place.thick / 2.0));
            measured(svg, lane, place, scale);
            foretold(svg, lane, place, scale);
            if place.is_broken {
                broken(svg, place.left + place.width * 0.5, place.middle);
            }
            if place.is_cut {
                cut(svg, (place.left, place.width), place.middle);
            }
            pinch(svg, lane.mark, place);
        }
    }
    let (x, anchor) = match place.is_box {
        true => (place.left + place.width / 2.0, Anchor::Middle),
        false => (place.left, Anchor::Start),
    };
    for (y, line) in place.words() {
        let soft = if line.is_soft { " soft" } else { "" };
        let class = format!("{}{soft}{}", line.face.class, line.mark.class());
        svg.text(&class, (x, y), anchor, &line.text);
    }
    svg.end();
}

/// The band of what was measured, in the scale of the lane, with its interval.
fn measured(svg: &mut Svg, lane: &Item, place: &HopPlace, scale: f64) {
    let Some(measured) = &lane.measured else { return };
    let thick = (measured.bytes_per_second.get() * scale).clamp(1.5, place.thick.max(1.5));
    let class = if measured.trusted { "band" } else { "band doubted" };
    svg.rect(class, (place.left, place.middle - thick / 2.0), (place.width, thick), 0.0);
    let Some(ends) = measured.ci95 else { return };
    whisker(svg, ends.map(BytesPerSec::get), place, scale);
}

/// An interval, at the upper edge of the band that it is of.
fn whisker(svg: &mut Svg, ends: [f64; 2], place: &HopPlace, scale: f64) {
    let [low, high] = ends.map(|end| place.middle - (end * scale).min(place.thick * 1.5) / 2.0);
    let right = place.left + place.width;
    let stroke = Stroke::from(right - 14.0, low).to(right - 4.0, low).jump(right - 9.0, low);
    svg.path("interval", &stroke.to(right - 9.0, high).jump(right - 14.0, high).to(right - 4.0, high));
}

/// The bands of what is predicted, or of its bound.
fn foretold(svg: &mut Svg, lane: &Item, place: &HopPlace, scale: f64) {
    let Some(foretold) = lane.foretold else { return };
    for (class, rate) in foretold.bands() {
        // What is predicted may lie a little above a ceiling, and the words begin further away.
        let thick = (rate * scale).clamp(1.5, place.thick + 6.0);
        svg.rect(class, (place.left, place.middle - thick / 2.0), (place.width, thick), 0.0);
    }
    if let Foretold::Rate(_, ends) = foretold {
        whisker(svg, ends, place, scale);
    }
}

/// Says that a lane is thinner than it could be drawn.
fn broken(svg: &mut Svg, x: f64, y: f64) {
    for shift in [-4.0, 4.0] {
        svg.path("break", &Stroke::from(x + shift - 3.0, y + 7.0).to(x + shift + 3.0, y - 7.0));
    }
}

/// Says that a lane is wider than it could be drawn: it is torn along its length.
fn cut(svg: &mut Svg, (left, width): (f64, f64), y: f64) {
    const WAVE: f64 = 6.0;
    let waves = (width / WAVE).floor() as usize;
    let wave = |stroke: Stroke, at: usize| {
        stroke.to(left + at as f64 * WAVE, y + if at.is_multiple_of(2) { -2.5 } else { 2.5 })
    };
    svg.path("torn", &(1..waves).fold(Stroke::from(left, y), wave).to(left + width, y));
}

/// Two arrowheads that press on the lane: the symbol of the narrowest hop, hollow for the next.
fn pinch(svg: &mut Svg, mark: Mark, place: &HopPlace) {
    if mark == Mark::None {
        return;
    }
    let (x, half) = (place.left + place.width * 0.8, place.thick / 2.0);
    for side in [-1.0, 1.0] {
        let tip = place.middle + side * (half + 1.0);
        let base = tip + side * 9.0;
        let class = format!("pinch{}", mark.class());
        svg.path(&class, &Stroke::from(x, tip).to(x - 6.5, base).to(x + 6.5, base).close());
    }
}

/// What the widths and signs mean: only those that the map has.
fn legend(svg: &mut Svg, tree: &Tree, layout: &Layout) {
    let y = layout.height + 30.0;
    let mut x = 8.0;
    let mut put = |svg: &mut Svg, text: &str, bands: &[(&str, f64, f64)], sign: &dyn Fn(&mut Svg, f64)| {
        for (class, thick, round) in bands {
            svg.rect(class, (x, y - thick / 2.0), (26.0, *thick), *round);
        }
        sign(svg, x);
        svg.text("t-small soft", (x + 34.0, y + 4.0), Anchor::Start, text);
        x += 34.0 + SMALL.width(text) + 26.0;
    };
    let (lane, no_sign) = (("lane", 16.0, 1.0), |_: &mut Svg, _| ());
    if layout.scale > 0.0 {
        let nice = nice_below(24.0 / layout.scale);
        let is_known = tree.items.iter().any(|item| matches!(item.state, State::Known(_)));
        let (class, what) = match is_known {
            true => ("lane", "a lane is its ceiling"),
            false => ("band", "a band is what was measured"),
        };
        let text = format!("{}: the width of {what}, linear", rate(nice));
        put(svg, &text, &[(class, nice * layout.scale, 1.0)], &no_sign);
    }
    if layout.places.iter().any(|place| place.is_broken) {
        put(svg, "thinner than drawn", &[("lane", THINNEST, 1.0)], &|svg, x| broken(svg, x + 13.0, y));
    }
    if layout.places.iter().any(|place| place.is_cut) {
        put(svg, "wider than drawn", &[lane], &|svg, x| cut(svg, (x, 26.0), y));
    }
    if tree.items.iter().any(|item| matches!(item.state, State::Unknown(_))) {
        put(svg, "ceiling not known", &[("lane unknown", 10.0, 1.0)], &no_sign);
    }
    let mut measured = tree.items.iter().filter_map(|item| item.measured.as_ref()).peekable();
    if measured.peek().is_some() {
        let bands = [lane, ("band", 8.0, 0.0)];
        match measured.any(|it| it.ci95.is_some()) {
            true => put(svg, "measured, and its 95 % interval", &bands, &|svg, x| {
                svg.path("interval", &Stroke::from(x + 14.0, y - 4.0).to(x + 24.0, y - 4.0));
            }),
            false => put(svg, "measured", &bands, &no_sign),
        }
    }
    let foretold = || tree.items.iter().filter_map(|item| item.foretold);
    if foretold().any(|it| matches!(it, Foretold::Rate(..))) {
        let bands = [lane, ("band range", 12.0, 0.0), ("band", 6.0, 0.0)];
        put(svg, "predicted, pale is its 95 % interval", &bands, &no_sign);
    }
    if foretold().any(|it| matches!(it, Foretold::AtMost(_))) {
        put(svg, "at most, not predicted", &[lane, ("atmost", 10.0, 0.0)], &no_sign);
    }
    svg.reach(y + 18.0);
}

/// The largest of 1, 2 and 5 times a power of ten that is at most `value`.
fn nice_below(value: f64) -> f64 {
    let power = 10_f64.powf(value.max(1.0).log10().floor());
    let steps = [5.0, 2.0, 1.0].map(|digit| digit * power);
    steps.into_iter().find(|step| *step <= value * 1.000_001).unwrap_or(power)
}
