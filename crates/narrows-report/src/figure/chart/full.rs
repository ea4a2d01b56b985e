//! How full hops are: what crosses them as a part of their ceilings.

use super::bars::{Bar, BarChart, Named, Row};
use crate::figure::whole::Figure;
use crate::top::{SideView, TopReport, full};
use narrows_base::units::human;

/// So many hops are drawn.
const MOST: usize = 24;

/// How full each hop is whose ceiling is known and over which anything moves; `None` where there is none.
pub fn fullness(report: &TopReport) -> Option<Figure> {
    let mut chart = BarChart::new(&["hop", "read#", "written#", "part of its ceiling#"]);
    let moving =
        report.lanes.iter().filter_map(|lane| Some((lane, lane.part_of_ceiling.filter(|part| *part > 0.0)?)));
    for (lane, part) in moving {
        let rate = |side: &SideView| side.bytes_per_second.map(human::rate).unwrap_or_default();
        let is_fullest = report.fullest_hop.as_deref() == Some(lane.hop.as_str());
        let row = Row {
            name: lane.name.clone(),
            class: if is_fullest { "fault" } else { "" },
            bars: vec![Bar {
                class: if is_fullest { "bad" } else { "good" },
                value: part * 100.0,
                shown: full(lane),
                data: vec![("hop", lane.hop.clone()), ("part", format!("{part}"))],
                ..Bar::default()
            }],
            ..Row::default()
        };
        chart.put(row, [lane.name.clone(), rate(&lane.read), rate(&lane.write), full(lane)]);
    }
    chart.rows.truncate(MOST);
    let alternative = format!("{} Bars are what crosses a hop as a part of its ceiling.", report.sentence);
    let percent = |value: f64| format!("{value:.0} %");
    let named =
        Named { id: "fullness".to_owned(), title: "How full each hop is", label: "Parts of ceilings" };
    chart.figure(named, alternative, &percent)
}
