//! Two results beside each other.

use super::bars::{Bar, BarChart, Named, Row};
use super::{rate, signed};
use crate::figure::whole::Figure;
use narrows_base::units::{BytesPerSec, human};
use narrows_verdict::compare::{Comparison, Verdict};

/// Two results beside each other; `None` where nothing can be compared.
pub fn before_after(comparison: &Comparison) -> Option<Figure> {
    let mut chart =
        BarChart::new(&["workload", "A#", "B#", "difference#", "95 % interval of it#", "verdict"]);
    chart.signs.interval = "95 % interval of the difference from A";
    for workload in &comparison.workloads {
        let (a, b) = (workload.a_bytes_per_second, workload.b_bytes_per_second);
        let difference = workload.difference.as_ref();
        let percent = difference.map(|it| signed(it.relative));
        let (class, said) = match workload.verdict {
            Verdict::Faster => ("good", "B is faster"),
            Verdict::Slower => ("bad", "B is slower"),
            Verdict::Mixed => ("plain", "mixed"),
            Verdict::NotDistinguishable => ("plain", "cannot be told apart"),
            Verdict::NotComparable => ("plain", "cannot be compared"),
        };
        let bar = |class, value: BytesPerSec, side: &str, more: &str| Bar {
            class,
            value: value.get(),
            interval: difference.filter(|_| side == "B").map(|it| it.interval.map(|end| a.get() + end)),
            shown: format!("{side} {value}{more}"),
            data: vec![("side", side.to_owned()), ("rate", format!("{}", value.get()))],
            ..Bar::default()
        };
        let more = percent.as_ref().map_or(format!(" ({said})"), |it| format!(" ({it}, {said})"));
        let bars = vec![bar("plain", a, "A", ""), bar(class, b, "B", &more)];
        let note = workload.reason.clone().unwrap_or_default();
        let row = Row { name: workload.workload.clone(), note, class: "", bars };
        let values = [
            workload.workload.clone(),
            human::rate(a),
            human::rate(b),
            percent.unwrap_or_default(),
            difference.map(|it| it.relative_interval.map(signed).join(" to ")).unwrap_or_default(),
            said.to_owned(),
        ];
        chart.put(row, values);
    }
    let alternative = format!(
        "Rates of A ({}) and B ({}), workload by workload. Whiskers are the 95 % interval of the difference, from A on.",
        comparison.a, comparison.b
    );
    let named = Named { id: "before-after".to_owned(), title: "A and B", label: "Rates of A and B" };
    chart.figure(named, alternative, &rate)
}
