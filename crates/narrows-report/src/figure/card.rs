//! A card to share: a path, what its hops can carry, what was measured and the verdict on one picture of 1200 × 630, without what
//! identifies its owner; and the check that a card follows from a report.

use super::alone::standalone;
use super::path_map::{Lane, Sort, cut, full_width, lanes};
use super::svg::{Anchor, Stroke, Svg};
use super::width::{HEAD, HUGE, LEAD, SMALL, SMALL_STRONG, STRONG};
use crate::sanitize::markup;
use crate::text::machine_line;
use crate::text::public::without_identity;
use crate::view::{CheckReport, FindingView, PathView};
use narrows_base::units::{BytesPerSec, human};
use narrows_model::ceiling::Direction;
use narrows_verdict::Severity;
use sha2::{Digest, Sha256};

/// The name and version of the form of a card.
pub const FORM: &str = "narrows/card/1";

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 630.0;
const MARGIN: f64 = 48.0;
/// The most lanes of a card.
const MOST_LANES: usize = 6;

/// What a card says of itself: from which files it was made, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The day on which it was made: `2026-11-25`.
    pub date: String,
    /// Which path of the report, counted from 1.
    pub path: usize,
    /// The SHA-256 of the report, in hexadecimal.
    pub run: String,
    /// That of the snapshot of the machine, if one was named.
    pub snapshot: Option<String>,
}

impl Stamp {
    /// Reads the stamp of a card.
    pub fn of(card: &str) -> Option<Self> {
        let (_, rest) = card.split_once(FORM)?;
        let line = rest.split(['\n', '<', '`']).next()?;
        let field =
            |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let is_hash = |text: &&str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_date =
            |text: &&str| text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        Some(Self {
            date: field("date").filter(is_date)?.to_owned(),
            path: field("path")?.parse().ok()?,
            run: field("run").filter(is_hash)?.to_owned(),
            snapshot: field("snapshot").filter(is_hash).map(str::to_owned),
        })
    }

    fn line(&self) -> String {
        let snapshot = self.snapshot.as_ref().map(|hash| format!(" snapshot={hash}")).unwrap_or_default();
        format!("{FORM} date={} path={} run={}{snapshot}", self.date, self.path, self.run)
    }
}

/// The SHA-256 of a file, in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All that stands on a card.
struct Content {
    machine: String,
    target: String,
    sentence: String,
    direction: Direction,
    lanes: Vec<(Lane, usize)>,
    left_out: usize,
    measured: Option<String>,
    advice: Option<String>,
    version: String,
}

impl Content {
    /// `None` where the report has no such path.
    fn new(report: &CheckReport, stamp: &Stamp) -> Option<Self> {
        let report = without_identity(report);
        let index = stamp.path.checked_sub(1)?;
        let path = report.paths.get(index)?;
        let direction = match path.limiting_hop.read {
            None if path.limiting_hop.write.is_some() => Direction::Write,
            _ => Direction::Read,
        };
        let (lanes, left_out) = fewer(alike(lanes(&report, index, direction)));
        Some(Self {
            machine: machine_line(&report.machine),
            target: path.target.clone(),
            sentence: path.sentence.clone(),
            direction,
            lanes,
            left_out,
            measured: measured(path, direction),
            advice: advice(&report, path, direction),
            version: report.tool.version.clone(),
        })
    }

    fn narrowest(&self) -> Option<&(Lane, usize)> {
        self.lanes.iter().find(|(lane, _)| matches!(lane.sort, Sort::Narrowest | Sort::Fault))
    }
}

/// As many parts of the line about the machine as have room, none of them cut; the first is cut where it has none.
fn whole_parts(machine: &str, room: f64) -> String {
    const BETWEEN: &str = " · ";
    let mut kept = String::new();
    for part in machine.split(BETWEEN) {
        let longer = if kept.is_empty() { part.to_owned() } else { format!("{kept}{BETWEEN}{part}") };
        if LEAD.width(&longer) > room {
            break;
        }
        kept = longer;
    }
    if kept.is_empty() { LEAD.fit(machine, room) } else { kept }
}

/// Lanes that are alike for the application, once, with how many there are.
fn alike(lanes: Vec<Lane>) -> Vec<(Lane, usize)> {
    let mut counted: Vec<(Lane, usize)> = Vec::new();
    for lane in lanes {
        let is_like = |other: &Lane| {
            other.kind == lane.kind
                && other.rate == lane.rate
                && other.sort == lane.sort
                && other.title == lane.title
        };
        // Drives bear their own name as their title.
        let is_drive = |other: &Lane| {
            other.kind == lane.kind
                && other.rate == lane.rate
                && other.sort == lane.sort
                && other.detail == lane.detail
        };
        match counted.iter_mut().find(|(other, _)| is_like(other) || is_drive(other)) {
            Some((_, count)) => *count += 1,
            None => counted.push((lane, 1)),
        }
    }
    counted
}

/// As many lanes as a card has room for: what is not known and what is widest is left out first.
fn fewer(mut lanes: Vec<(Lane, usize)>) -> (Vec<(Lane, usize)>, usize) {
    let mut left_out = 0;
    while lanes.len() > MOST_LANES {
        let cost = |lane: &Lane| match (lane.sort, lane.rate) {
            (Sort::Plain, None) => f64::INFINITY,
            (Sort::Plain, Some(rate)) => rate,
            _ => -1.0,
        };
        let widest = lanes.iter().enumerate().max_by(|(_, (a, _)), (_, (b, _))| cost(a).total_cmp(&cost(b)));
        let Some((at, _)) = widest else { break };
        left_out += lanes.remove(at).1;
    }
    (lanes, left_out)
}

fn measured(path: &PathView, direction: Direction) -> Option<String> {
    let run = path.runs.iter().find(|run| run.direction == direction)?;
    let rate = human::rate_with_binary(run.measurement.bytes_per_second);
    let interval = run
        .measurement
        .ci95
        .map(|[low, high]| format!(", 95 %: {} to {}", human::rate(low), human::rate(high)));
    let doubt = if run.trusted == Some(false) { ", not trusted" } else { "" };
    Some(format!("Measured {rate}{}{doubt}.", interval.unwrap_or_default()))
}

/// The first advice about the narrowest hop, else of the worst finding that there is something to do about.
fn advice(report: &CheckReport, path: &PathView, direction: Direction) -> Option<String> {
    let limiting = path.limiting_hop.of(direction);
    let on_path = |finding: &&FindingView| finding.hop.as_deref().is_some_and(|hop| path.hop(hop).is_some());
    let weighs = |finding: &&FindingView| finding.severity != Severity::Info;
    let findings =
        || report.findings.iter().filter(on_path).filter(weighs).filter(|finding| !finding.advice.is_empty());
    let about =
        findings().find(|finding| finding.hop.as_deref() == limiting).or_else(|| findings().next())?;
    let first = about.advice.first()?;
    let gain = first.gain_bytes_per_second.filter(|gain| gain.get() > 0.0);
    let gain = gain.map(|gain| format!(" (+{})", human::rate(gain))).unwrap_or_default();
    Some(format!("{}{gain}", first.action.trim_end_matches('.')))
}

/// The card as SVG; `None` where the report has no such path.
pub fn svg(report: &CheckReport, stamp: &Stamp) -> Option<String> {
    let content = Content::new(report, stamp)?;
    let mut svg = Svg::new(WIDTH, &format!("{} {}", content.target, content.sentence));
    svg.describe(&stamp.line());
    let room = WIDTH - 2.0 * MARGIN;
    svg.text("t-lead soft", (MARGIN, 62.0), Anchor::Start, &whole_parts(&content.machine, room - 150.0));
    svg.text("t-lead soft", (WIDTH - MARGIN, 62.0), Anchor::End, &stamp.date);
    head(&mut svg, &content);
    let mut y = 190.0;
    for line in LEAD.wrap(&content.sentence, room, 3) {
        svg.text(LEAD.class, (MARGIN, y), Anchor::Start, &line);
        y += 27.0;
    }
    chain(&mut svg, &content, 372.0);
    let mut y = 510.0;
    if let Some(text) = &content.measured {
        svg.text(LEAD.class, (MARGIN, y), Anchor::Start, &LEAD.fit(text, room));
        y += 29.0;
    }
    if let Some(text) = &content.advice {
        let face = super::width::Face { is_bold: true, class: "t-lead-strong", ..LEAD };
        for line in face.wrap(&format!("→ {text}"), room, 2) {
            svg.text("t-lead todo", (MARGIN, y), Anchor::Start, &line);
            y += 27.0;
        }
    }
    let run = stamp.run.get(..16).unwrap_or_default();
    let snapshot = stamp.snapshot.as_ref().and_then(|hash| hash.get(..16));
    let snapshot = snapshot.map(|hash| format!(" · snapshot {hash}")).unwrap_or_default();
    let foot = format!(
        "narrows {} · run {run}{snapshot} · checked by: narrows verify CARD --from RUN.json",
        content.version
    );
    svg.text("t-small soft", (MARGIN, 606.0), Anchor::Start, &SMALL.fit(&foot, room));
    svg.reach(HEIGHT);
    Some(standalone(&svg))
}

fn head(svg: &mut Svg, content: &Content) {
    let Some((lane, count)) = content.narrowest() else {
        svg.text(HEAD.class, (MARGIN, 130.0), Anchor::Start, "The narrowest hop is not known.");
        return;
    };
    let mark = if lane.sort == Sort::Fault { "fault" } else { "narrowest" };
    let guess = if lane.is_guess { "~" } else { "" };
    let rate = lane
        .rate
        .map_or("not known".to_owned(), |rate| format!("{guess}{}", human::rate(BytesPerSec::new(rate))));
    svg.text(&format!("{} {mark}", HUGE.class), (MARGIN, 142.0), Anchor::Start, &rate);
    let left = MARGIN + HUGE.width(&rate) + 28.0;
    let room = WIDTH - MARGIN - left;
    let verb = match content.direction {
        Direction::Read => "Reads",
        Direction::Write => "Writes",
    };
    let many = if *count > 1 { format!("{count} × ") } else { String::new() };
    let about = format!("{verb} of {}: the narrowest hop is", content.target);
    svg.text("t-lead soft", (left, 108.0), Anchor::Start, &LEAD.fit(&about, room));
    svg.text(HEAD.class, (left, 141.0), Anchor::Start, &HEAD.fit(&format!("{many}{}", lane.name), room));
}

/// The lanes one after the other, as wide as what the application gets through them.
fn chain(svg: &mut Svg, content: &Content, middle: f64) {
    let count = content.lanes.len().max(1) as f64;
    let gap = 34.0;
    let width = ((WIDTH - 2.0 * MARGIN - gap * (count - 1.0)) / count).min(320.0);
    let most = full_width(content.lanes.iter().filter_map(|(lane, _)| Some((lane.kind, lane.rate?))));
    let thick = |lane: &Lane| lane.rate.map_or(12.0, |rate| (rate / most.max(1.0) * 64.0).clamp(3.0, 64.0));
    let is_cut = |lane: &Lane| lane.rate.is_some_and(|rate| rate > most * 1.001);
    for (at, pair) in content.lanes.windows(2).enumerate() {
        let x = MARGIN + (width + gap) * at as f64 + width;
        let (from, to) = (thick(&pair[0].0) / 2.0, thick(&pair[1].0) / 2.0);
        let start = Stroke::from(x, middle - from).bend((x, middle - from), (x + gap, middle - to));
        svg.path(
            "flow",
            &start.to(x + gap, middle + to).bend((x + gap, middle + to), (x, middle + from)).close(),
        );
    }
    for (at, (lane, many)) in content.lanes.iter().enumerate() {
        let x = MARGIN + (width + gap) * at as f64;
        let reached = lane.measured.map(|rate| (rate / most.max(1.0) * 64.0).clamp(1.5, thick(lane)));
        one(svg, (lane, *many), (x, middle), (width, thick(lane)), reached);
        if is_cut(lane) {
            cut(svg, (x, width), middle);
        }
    }
    let said = format!(
        "What the application gets through each hop, from the application to the medium; widths are linear{}.{}{}",
        if content.lanes.iter().any(|(lane, _)| is_cut(lane)) {
            ", a torn one is wider than drawn"
        } else {
            ""
        },
        if content.lanes.iter().any(|(lane, _)| lane.measured.is_some()) {
            " The dark band is what was measured."
        } else {
            ""
        },
        if content.left_out > 0 {
            format!(" {} wider or unknown hops are left out.", content.left_out)
        } else {
            String::new()
        }
    );
    svg.text(
        "t-small soft",
        (MARGIN, middle + 106.0),
        Anchor::Start,
        &SMALL.fit(&said, WIDTH - 2.0 * MARGIN),
    );
}

fn one(
    svg: &mut Svg,
    (lane, many): (&Lane, usize),
    (x, middle): (f64, f64),
    (width, thick): (f64, f64),
    reached: Option<f64>,
) {
    let mark = match lane.sort {
        Sort::Plain => "",
        Sort::Next => " next",
        Sort::Narrowest => " narrowest",
        Sort::Fault => " fault",
    };
    let mut data = vec![("hop", lane.id.clone())];
    data.extend(lane.rate.map(|rate| ("path", format!("{rate}"))));
    data.extend(lane.measured.map(|rate| ("measured", format!("{rate}"))));
    svg.group("node", &data, &lane.name);
    let top = middle - thick / 2.0;
    let class = if lane.rate.is_none() { "lane unknown".to_owned() } else { format!("lane{mark}") };
    svg.rect(&class, (x, top), (width, thick), 2.0);
    if let Some(reached) = reached {
        svg.rect("band", (x, middle - reached / 2.0), (width, reached), 0.0);
    }
    if !mark.is_empty() {
        let at = x + width * 0.8;
        for side in [-1.0, 1.0] {
            let tip = middle + side * (thick / 2.0 + 1.0);
            let base = tip + side * 11.0;
            svg.path(
                &format!("pinch{mark}"),
                &Stroke::from(at, tip).to(at - 8.0, base).to(at + 8.0, base).close(),
            );
        }
    }
    let many = if many > 1 { format!("{many} × ") } else { String::new() };
    let title = STRONG.wrap(&format!("{many}{}", lane.title), width, 1);
    let detail = SMALL.wrap(&lane.detail, width, 2);
    let mut y = top - 16.0 - 15.0 * detail.len() as f64;
    for line in title {
        svg.text(STRONG.class, (x, y), Anchor::Start, &line);
    }
    for line in detail {
        y += 15.0;
        svg.text("t-small soft", (x, y), Anchor::Start, &line);
    }
    let guess = if lane.is_guess { "~" } else { "" };
    let rate = lane
        .rate
        .map_or("not known".to_owned(), |rate| format!("{guess}{}", human::rate(BytesPerSec::new(rate))));
    let words = match lane.sort {
        Sort::Plain => rate,
        Sort::Next => format!("{rate} · next"),
        Sort::Narrowest | Sort::Fault => format!("{rate} · narrowest"),
    };
    let face = if STRONG.width(&words) <= width { STRONG } else { SMALL_STRONG };
    svg.text(
        &format!("{}{mark}", face.class),
        (x, middle + thick / 2.0 + 26.0),
        Anchor::Start,
        &face.fit(&words, width),
    );
    svg.end();
}

/// The card as Markdown; `None` where the report has no such path.
pub fn markdown(report: &CheckReport, stamp: &Stamp) -> Option<String> {
    let content = Content::new(report, stamp)?;
    let plain = |text: &str| {
        markup(text).replace('|', "\\|").replace('`', "\\`").replace('*', "\\*").replace('_', "\\_")
    };
    let mut out = format!("**{}**: {}\n\n", plain(&content.target), plain(&content.sentence));
    out.push_str(&format!(
        "{} · {}\n\n| hop | for the application | |\n|---|---:|---|\n",
        plain(&content.machine),
        stamp.date
    ));
    for (lane, many) in &content.lanes {
        let many = if *many > 1 { format!("{many} × ") } else { String::new() };
        let rate = lane.rate.map_or("not known".to_owned(), |rate| human::rate(BytesPerSec::new(rate)));
        let said = match lane.sort {
            Sort::Plain => "",
            Sort::Next => "next",
            Sort::Narrowest | Sort::Fault => "◀ **narrowest**",
        };
        out.push_str(&format!("| {many}{} | {rate} | {said} |\n", plain(&lane.name)));
    }
    out.push('\n');
    for text in content.measured.iter().chain(content.advice.as_ref().map(|text| format!("→ {text}")).iter())
    {
        out.push_str(&format!("{}\n\n", plain(text)));
    }
    out.push_str(&format!("narrows {}, `{}`\n", content.version, stamp.line()));
    Some(out)
}

/// What became of a card that was held against a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// Every line of it follows from the report.
    Follows,
    /// The report is not the one that the card names.
    OtherRun,
    /// Lines of the card that the report does not give, each with what it gives in its place.
    Differs(Vec<(String, String)>),
}

/// Makes the card again from the report and compares. `None` where the text is no card, or the report has no such path.
pub fn check(card: &str, report: &CheckReport, run: &[u8]) -> Option<Check> {
    let stamp = Stamp::of(card)?;
    let again =
        if card.trim_start().starts_with("<svg") { svg(report, &stamp)? } else { markdown(report, &stamp)? };
    if stamp.run != hash(run) {
        return Some(Check::OtherRun);
    }
    // A mail program may have changed the ends of lines.
    let lines = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    let (has, gives) = (lines(card.trim_end()), lines(again.trim_end()));
    if has == gives {
        return Some(Check::Follows);
    }
    let most = has.len().max(gives.len());
    let of = |all: &[String], at: usize| all.get(at).cloned().unwrap_or_default();
    let differ = (0..most).map(|at| (of(&has, at), of(&gives, at))).filter(|(has, gives)| has != gives);
    Some(Check::Differs(differ.take(5).collect()))
}

#[cfg(test)]
mod tests;
