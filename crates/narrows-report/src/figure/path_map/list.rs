//! The map for narrow screens: a list from the application to the medium, where the length of a bar is the ceiling.

use super::layout::full_width_of;
use super::tree::Tree;
use super::{Foretold, Item, Mark, State};
use crate::figure::svg::{Anchor, Stroke, Svg};
use crate::figure::width::{SMALL, SMALL_STRONG};

const WIDTH: f64 = 340.0;
const STEP: f64 = 9.0;
/// What is behind so many others is not moved further to the right.
const DEEPEST: usize = 6;
const BAR: f64 = 8.0;

/// The list.
pub fn narrow(tree: &Tree, label: &str) -> Svg {
    let mut svg = Svg::new(WIDTH, label);
    let most = full_width_of(tree);
    let mut y = 4.0;
    put(&mut svg, tree, (tree.root, 0), most, &mut y);
    let is_cut = |item: &Item| matches!(item.state, State::Known(rate) if rate > most * 1.001);
    let has = |of: fn(&Foretold) -> bool| tree.items.iter().filter_map(|item| item.foretold.as_ref()).any(of);
    let lines = [
        (true, "The length of a bar is the ceiling, linear."),
        (tree.items.iter().any(is_cut), "A torn bar is longer than drawn."),
        (has(|it| matches!(it, Foretold::Rate(..))), "Pale is the 95 % interval of what is predicted."),
        (has(|it| matches!(it, Foretold::AtMost(_))), "Dashed is a bound, and no prediction."),
    ];
    for (_, line) in lines.into_iter().filter(|(is, _)| *is) {
        svg.text("t-small soft", (2.0, y + 14.0), Anchor::Start, line);
        y += 15.0;
    }
    svg.reach(y + 7.0);
    svg
}

fn put(svg: &mut Svg, tree: &Tree, (node, depth): (usize, usize), most: f64, y: &mut f64) {
    for &item in &tree.nodes[node].items {
        row(svg, &tree.items[item], depth, most, y);
    }
    let children = &tree.nodes[node].children;
    let deeper = depth + usize::from(children.len() > 1);
    for &child in children {
        put(svg, tree, (child, deeper), most, y);
    }
}

fn row(svg: &mut Svg, item: &Item, depth: usize, most: f64, y: &mut f64) {
    let left = 4.0 + STEP * depth.min(DEEPEST) as f64;
    let room = WIDTH - left - 4.0;
    svg.group("node", &item.attributes(), &item.tip());
    let top = *y;
    for line in SMALL_STRONG.wrap(&item.title, room - 8.0, 3) {
        *y += 15.0;
        svg.text(SMALL_STRONG.class, (left + 8.0, *y - 3.0), Anchor::Start, &line);
    }
    for line in SMALL.wrap(&item.detail, room - 8.0, 3) {
        *y += 14.0;
        svg.text("t-small soft", (left + 8.0, *y - 3.0), Anchor::Start, &line);
    }
    if item.state != State::Passes {
        bar(svg, item, (left + 8.0, room - 8.0), most, y);
    }
    svg.path(&format!("rail{}", item.mark.class()), &Stroke::from(left, top + 2.0).to(left, *y));
    *y += 7.0;
    svg.end();
}

fn bar(svg: &mut Svg, item: &Item, (left, room): (f64, f64), most: f64, y: &mut f64) {
    *y += 3.0;
    let long = |rate: f64, least: f64| match most > 0.0 {
        true => (room * rate / most).clamp(least, room),
        false => room * 0.3,
    };
    let measured = item.measured.as_ref().map(|it| it.bytes_per_second.get());
    let (class, reached, least) = match item.state {
        State::Known(rate) if most > 0.0 => (format!("lane{}", item.mark.class()), Some(rate), 1.0),
        _ => {
            let foretold = item.foretold.map(Foretold::most);
            ("lane unknown".to_owned(), item.bound.or(measured).or(foretold), 1.5)
        }
    };
    svg.rect(&class, (left, *y), (reached.map_or(room * 0.3, |rate| long(rate, 1.5)), BAR), 1.0);
    if matches!(item.state, State::Known(rate) if most > 0.0 && rate > most * 1.001) {
        torn(svg, left + room - 14.0, *y);
    }
    if let Some(measured) = measured {
        svg.rect("band", (left, *y + 2.0), (long(measured, least), BAR - 4.0), 0.0);
    }
    for (class, rate) in item.foretold.iter().flat_map(|it| it.bands()) {
        let long = if most > 0.0 { (room * rate / most).clamp(1.0, room) } else { 1.0 };
        svg.rect(class, (left, *y + 2.0), (long, BAR - 4.0), 0.0);
    }
    *y += BAR;
    *y += 15.0;
    let (mut x, mut said) = (left, item.rate());
    if item.mark != Mark::None {
        let (tip, base) = (x, x + 9.0);
        let class = format!("pinch{}", item.mark.class());
        svg.path(&class, &Stroke::from(tip, *y - 8.0).to(base, *y - 13.0).to(base, *y - 3.0).close());
        x += 14.0;
        said.push_str(&format!(" · {}", item.said()));
    }
    let class = format!("{}{}", SMALL_STRONG.class, item.mark.class());
    svg.text(&class, (x, *y - 4.0), Anchor::Start, said.trim_end());
    let foretold = item.foretold_text().filter(|_| item.mark != Mark::None);
    for text in [item.bound_text(), item.measured_text(), foretold].into_iter().flatten() {
        *y += 14.0;
        svg.text("t-small", (left, *y - 4.0), Anchor::Start, &SMALL.fit(&text, room));
    }
}

/// Says that a bar is longer than it could be drawn.
fn torn(svg: &mut Svg, x: f64, y: f64) {
    let middle = y + BAR / 2.0;
    let stroke = Stroke::from(x + 2.0, y).to(x - 2.0, middle).to(x + 2.0, middle).to(x - 2.0, y + BAR);
    svg.path("torn", &stroke);
}
