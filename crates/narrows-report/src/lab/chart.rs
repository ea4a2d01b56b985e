//! A ranking as bars with intervals, on a scale that begins at zero.

use super::LabReport;
use super::text::{marks, meanings, value};
use crate::figure::chart::{Bar, Row, Signs, bars_with, picture};
use crate::figure::{Data, Figure};
use narrows_session::lab::aim::{Place, RankedBy, Ranking, Score};

/// The places of a ranking as a figure; `None` where nothing was measured.
pub(super) fn ranking(report: &LabReport, ranking: &Ranking, number: usize) -> Option<Figure> {
    let title = format!("Ranked for {}", ranking.aims.join(", then "));
    let places: Vec<(&Place, Score)> =
        ranking.places.iter().filter_map(|place| Some((place, place.score?))).collect();
    if !places.iter().any(|(_, score)| score.value > 0.0) {
        return None;
    }
    let rows: Vec<Row> = places.iter().map(|(place, found)| row(report, ranking, place, *found)).collect();
    let mut data = Data::new(&["rank#", "layout", "measured#", "95 % from#", "95 % to#", "predicted#"]);
    for (place, found) in &places {
        let shown = |it: Option<f64>| it.map_or_else(|| "–".to_owned(), |it| value(ranking.unit, it));
        data.push([
            place.rank.to_string(),
            place.cell.clone(),
            shown(Some(found.value)),
            shown(Some(found.low)),
            shown(Some(found.high)),
            shown(place.predicted),
        ]);
    }
    let unit = ranking.unit;
    let is_shown = |mark: char| {
        places.iter().any(|(place, _)| {
            report.cells.get(place.outcome).is_some_and(|cell| marks(cell, place.trusted).contains(mark))
        })
    };
    let marked = meanings(report).into_iter().filter(|(mark, _)| is_shown(*mark));
    let notes = marked.map(|(mark, means)| format!("{mark}: {means}")).collect();
    let signs = Signs { line: "predicted", notes, ..Signs::default() };
    Some(Figure {
        id: format!("ranking-{}", number + 1),
        title: format!("{title}: bars"),
        alternative: format!(
            "{} Bars are means, whiskers their 95 % intervals, lines across them what was predicted before anything was built.",
            ranking.sentence
        ),
        pictures: vec![picture(|width| bars_with(width, &title, &rows, &|it| value(unit, it), &signs))],
        data,
    })
}

fn row(report: &LabReport, ranking: &Ranking, place: &Place, found: Score) -> Row {
    let is_best = ranking.best == Some(place.outcome);
    let marks = report.cells.get(place.outcome).map(|cell| marks(cell, place.trusted)).unwrap_or_default();
    Row {
        name: format!("{}. {} {marks}", place.rank, place.cell).trim_end().to_owned(),
        class: if is_best { "narrowest" } else { "" },
        bars: vec![Bar {
            class: if is_best { "good" } else { "plain" },
            value: found.value,
            interval: (found.high > found.low).then_some([found.low, found.high]),
            // What was predicted, where it is a rate.
            ceiling: place.predicted.filter(|_| ranking.unit == RankedBy::BytesPerSecond),
            shown: value(ranking.unit, found.value),
            data: vec![("value", found.value.to_string())],
            ..Bar::default()
        }],
        ..Row::default()
    }
}
