//! A ranking as bars with intervals, on a scale that begins at zero.

use super::text::{marks, value};
use super::{LabReport, PlaceView, RankingView, Unit};
use crate::figure::{Anchor, Data, Figure, Picture, Stroke, Svg};

const WIDTH: f64 = 960.0;
const LEFT: f64 = 262.0;
const RIGHT: f64 = 130.0;
const ROW: f64 = 34.0;
const THICK: f64 = 18.0;
/// The most characters of a name; the whole one is in the table.
const LONGEST: usize = 28;

/// The places of a ranking as a figure; `None` where nothing was measured.
pub(super) fn ranking(report: &LabReport, ranking: &RankingView, number: usize) -> Option<Figure> {
    let title = format!("Ranked for {}", ranking.aims.join(", then "));
    let places: Vec<(&PlaceView, f64)> =
        ranking.places.iter().filter_map(|place| Some((place, place.value?))).collect();
    let ends = places.iter().flat_map(|(place, value)| {
        [Some(*value), place.interval.map(|[_, high]| high), predicted(ranking, place)]
    });
    let most = ends.flatten().filter(|end| end.is_finite()).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let x = |value: f64| LEFT + (value / most).clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT);
    let mut svg = Svg::new(WIDTH, &title);
    let bottom = ROW * places.len() as f64 + 8.0;
    for step in 0..=4_u32 {
        let at = x(most * f64::from(step) / 4.0);
        svg.path("grid", &Stroke::from(at, 0.0).to(at, bottom));
    }
    let mut data = Data::new(&["rank#", "layout", "measured#", "95 % from#", "95 % to#", "predicted#"]);
    for (row, (place, found)) in places.iter().enumerate() {
        put(&mut svg, report, ranking, (place, *found), ROW * row as f64 + 4.0, &x);
        let shown = |it: Option<f64>| it.map_or_else(|| "–".to_owned(), |it| value(ranking.unit, it));
        data.push([
            place.rank.to_string(),
            place.cell.clone(),
            shown(Some(*found)),
            shown(place.interval.map(|[low, _]| low)),
            shown(place.interval.map(|[_, high]| high)),
            shown(place.predicted),
        ]);
    }
    svg.reach(bottom);
    Some(Figure {
        id: format!("ranking-{}", number + 1),
        title: format!("{title}: bars"),
        alternative: "Bars are means, whiskers their 95 % intervals, diamonds what was predicted before anything was built."
            .to_owned(),
        pictures: vec![Picture::only(svg)],
        data,
    })
}

/// What was predicted, where it is a rate.
fn predicted(ranking: &RankingView, place: &PlaceView) -> Option<f64> {
    place.predicted.filter(|_| ranking.unit == Unit::BytesPerSecond)
}

fn put(
    svg: &mut Svg,
    report: &LabReport,
    ranking: &RankingView,
    (place, found): (&PlaceView, f64),
    top: f64,
    x: &impl Fn(f64) -> f64,
) {
    let is_best = ranking.best.as_ref() == Some(&place.cell);
    let (middle, base) = (top + ROW / 2.0, top + ROW / 2.0 + 4.5);
    let weight = if is_best { "t-strong" } else { "t-text" };
    svg.group(
        "row",
        &[("value", found.to_string())],
        &format!("{}: {}", place.cell, value(ranking.unit, found)),
    );
    svg.text("t-text soft", (24.0, base), Anchor::End, &place.rank.to_string());
    let marks = report.cells.get(place.index).map(|cell| marks(cell, place.trusted)).unwrap_or_default();
    let name = format!("{} {marks}", shortened(&place.cell));
    svg.text(weight, (36.0, base), Anchor::Start, name.trim_end());
    let end = x(found);
    let class = if is_best { "lane narrowest" } else { "lane" };
    svg.rect(class, (LEFT, middle - THICK / 2.0), ((end - LEFT).max(1.0), THICK), 3.0);
    let mut last = end;
    if let Some([low, high]) = place.interval.filter(|[low, high]| high > low) {
        let (from, to) = (x(low), x(high));
        last = last.max(to);
        let whisker = Stroke::from(from, middle).to(to, middle);
        let whisker = whisker.jump(from, middle - 4.0).to(from, middle + 4.0);
        svg.path("whisker", &whisker.jump(to, middle - 4.0).to(to, middle + 4.0));
    }
    if let Some(said) = predicted(ranking, place) {
        let (at, y) = (x(said), middle + THICK / 2.0 + 1.0);
        last = last.max(at + 5.0);
        let diamond = Stroke::from(at, y - 5.0).to(at + 5.0, y).to(at, y + 5.0).to(at - 5.0, y).close();
        svg.path("pinch next", &diamond);
    }
    svg.text(weight, (last + 9.0, base), Anchor::Start, &value(ranking.unit, found));
    svg.end();
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let kept: String = text.chars().take(LONGEST - 1).collect();
    format!("{}…", kept.trim_end())
}
