//! The cells of a lane, for the text and the screen alike.

use super::{LaneView, ProcessView, SideView};
use narrows_base::lists::known_of;
use narrows_base::units::{BytesPerSec, human};

/// The part of a ceiling from which on a hop is shown as full, as verdicts have it.
pub(super) const FULL: f64 = 0.85;

/// A bar of so many cells.
pub(super) fn bar(part: Option<f64>, cells: usize, unicode: bool) -> String {
    let (full, empty) = if unicode { ('█', '░') } else { ('#', '.') };
    let Some(part) = part else { return " ".repeat(cells) };
    let filled = ((part.clamp(0.0, 1.0) * cells as f64).round() as usize).min(cells);
    (0..cells).map(|at| if at < filled { full } else { empty }).collect()
}

/// How full it is, what crosses it, and how fast.
pub(super) fn numbers(lane: &LaneView) -> [String; 5] {
    let iops = lane.iops.filter(|iops| iops.get() > 0.0).map(|iops| human::count(iops.get()));
    let (iops, latency) = (iops.unwrap_or_default(), lane.latency_ns.map(human::time).unwrap_or_default());
    [full(lane), rate(&lane.read), rate(&lane.write), iops, latency]
}

/// What crosses it as a part of its ceiling.
pub(crate) fn full(lane: &LaneView) -> String {
    let mark = if lane.is_estimate { "~" } else { "" };
    lane.part_of_ceiling.map_or_else(String::new, |part| format!("{mark}{}", human::percent(part)))
}

/// What crosses in one direction; nothing at all is no number, so that what moves stands out.
pub(super) fn rate(side: &SideView) -> String {
    match side.bytes_per_second {
        None => "gone".to_owned(),
        Some(rate) if rate.get() <= 0.0 => "-".to_owned(),
        Some(rate) => human::rate(rate),
    }
}

/// The ceiling of the fuller direction.
pub(super) fn ceiling(lane: &LaneView) -> String {
    let of = |side: &SideView| {
        let ceiling = side.ceiling_bytes_per_second?;
        let part = side.bytes_per_second.map_or(0.0, |rate| rate.fraction_of(ceiling));
        Some((part, ceiling))
    };
    let sides = [of(&lane.read), of(&lane.write)];
    let fuller = sides.into_iter().flatten().max_by(|one, other| one.0.total_cmp(&other.0));
    let mark = if lane.is_estimate { "~" } else { "" };
    fuller.map_or_else(|| "unknown".to_owned(), |(_, rate)| format!("{mark}{rate}"))
}

pub(super) fn moves(lane: &LaneView) -> bool {
    let any = |side: &SideView| side.bytes_per_second.is_none_or(|rate| rate.get() > 0.0);
    any(&lane.read) || any(&lane.write)
}

/// `fio (4711): 98.2 MB/s read, files on md0`.
pub(super) fn process(one: &ProcessView) -> String {
    let one = &one.mover;
    let moved = |rate: BytesPerSec, word: &str| (rate.get() > 0.0).then(|| format!("{rate} {word}"));
    let moved = known_of([moved(one.read, "read"), moved(one.written, "written")], ", ");
    let devices: Vec<&str> = one.devices.iter().map(String::as_str).collect();
    let on = match devices.as_slice() {
        [] => "files not known".to_owned(),
        devices => format!("files on {}", devices.join(", ")),
    };
    format!("{} ({}): {moved}, {on}", one.name, one.pid)
}
