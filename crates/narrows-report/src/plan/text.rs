//! A plan as text.

use super::{PlanReport, PlannedLayouts, RankedPlacement, SiteView, SlotView};
use crate::document::{Audience, Block, Blocks, Cell, Column, Document, Pairs, Place, Table, Tone, Width};
use narrows_base::lists::{grouped, known_of};
use narrows_base::units::{BytesPerSec, human};
use narrows_model::plan::outcome::{Rates, SlotOutcome};
use narrows_model::plan::site::SataSeated;

/// Columns of the names of what a placement brings.
const NAMES: usize = 11;

/// A plan as a document.
pub fn document(report: &PlanReport, audience: Audience) -> Document {
    let mut out = Document::new("plan", &report.site.site.name, None);
    out.part(Place::Data, "The slots");
    put_site(&mut out, &report.site);
    out.part(Place::Verdict, "");
    let impossible = report.impossible.iter().map(|why| format!("{why}."));
    out.leads((Tone::Bad, "IMPOSSIBLE  "), Tone::Normal, impossible);
    let not_known = report.not_known.iter().map(|why| format!("whether all of this can be placed: {why}."));
    out.leads((Tone::Warn, "NOT KNOWN  "), Tone::Normal, not_known);
    for placement in &report.placements {
        put_placement(&mut out, placement);
    }
    if let Some(SataSeated { ports, whole, wanted, free }) = &report.sata {
        let ports = if ports.is_empty() { "none that is known".to_owned() } else { ports.join(", ") };
        let all = if *whole { "" } else { "; whether there are more is not known" };
        out.gap();
        out.heading("SATA ports");
        out.say(2, Tone::Normal, format!("{wanted} drives for {free} free of {ports}{all}"));
    }
    if let Some(proof) = &report.proof {
        out.gap();
        out.say(0, if proof.optimal { Tone::Good } else { Tone::Warn }, &proof.statement);
    }
    if !report.alternatives.is_empty() {
        out.section(Place::Data, "Bifurcation or a switch card");
        let pairs = report.alternatives.iter().map(|it| (it.means.clone(), it.text.clone())).collect();
        out.add(Block::Pairs(Pairs { margin: 2, width: 24, commands: false, pairs }));
    }
    if let Some(layouts) = &report.layouts {
        put_layouts(&mut out, layouts);
    }
    if audience == Audience::Public { out.scrubbed() } else { out }
}

fn put_site(out: &mut Document, view: &SiteView) {
    let site = &view.site;
    let mut facts = vec![site.name.clone()];
    facts.extend(site.processor.iter().map(|processor| match site.sockets {
        1 => processor.clone(),
        sockets => format!("{sockets} × {processor}"),
    }));
    let shared = site.chipset.iter().chain(&site.interconnect);
    facts.extend(shared.map(|shared| format!("{} {}", shared.name, shared.rate.rate())));
    out.say(0, Tone::Strong, facts.join(" · "));
    out.gap();
    let columns = vec![
        Column::name("slot", Width::Fit(4, 20)),
        Column::left("wired", Width::Fixed(8)),
        Column::left("hangs on", Width::Fit(10, 60)),
        Column::left("what is known", Width::Rest(8)).wrapping(),
    ];
    let mut table = Table::new("Slots", 2, columns);
    for slot in &view.slots {
        let wired = slot.generation.map(|generation| format!("{generation}.0 x{}", slot.lanes));
        let wired = Cell::text(wired.unwrap_or_default());
        let (tone, text) = about(slot);
        let attachment = Cell::text(&slot.attachment);
        table.row(vec![Cell::text(&slot.name), wired, attachment, Cell::toned(tone, text)]);
    }
    out.add(Block::Table(table));
    let lanes = &view.lanes;
    let any_taken = || view.slots.iter().filter_map(|slot| slot.dead.as_deref()).any(is_taken);
    let is_used = lanes.used + lanes.wasted > 0;
    let counts = [
        Some(format!("{} lanes wired", lanes.wired)),
        is_used.then(|| format!("{} used", lanes.used)),
        is_used.then(|| format!("{} wasted on narrower devices", lanes.wasted)),
        Some(format!("{} free", lanes.free)),
        (lanes.dead > 0)
            .then(|| format!("{} {}", lanes.dead, if any_taken() { "not free or dead" } else { "dead" })),
    ];
    out.say(2, Tone::Normal, known_of(counts, " · "));
    out.leads((Tone::Warn, "  not known  "), Tone::Normal, &site.gaps);
    out.says(2, Tone::Faint, &site.notes);
}

/// Whether a slot cannot be used because of what is, or may be, in it.
fn is_taken(why: &str) -> bool {
    why.starts_with("may hold") || why.starts_with("in use")
}

fn about(slot: &SlotView) -> (Tone, String) {
    let (tone, what) = match (&slot.occupant, &slot.dead) {
        (Some(occupant), _) => {
            let many = if occupant.count > 1 { format!("{} × ", occupant.count) } else { String::new() };
            let what = format!("{many}{}, x{}", occupant.name, occupant.lanes_used);
            match slot.lanes.checked_sub(occupant.lanes_used) {
                Some(wasted @ 1..) => (Tone::Warn, format!("{what}; {wasted} lanes wasted")),
                _ => (Tone::Normal, what),
            }
        }
        (None, Some(dead)) if is_taken(dead) => (Tone::Warn, format!("not free: {dead}")),
        (None, Some(dead)) => (Tone::Warn, format!("dead: {dead}")),
        (None, None) => (Tone::Normal, "free".to_owned()),
    };
    let long = (slot.connector_lanes > slot.lanes).then(|| format!("x{} long", slot.connector_lanes));
    let splits = slot.bifurcation.as_ref().map(|modes| match modes.as_slice() {
        [] => "no bifurcation".to_owned(),
        modes => format!("splits {}", modes.join(", ")),
    });
    let shares = slot.shares.iter().cloned().map(Some);
    (tone, known_of([Some(what), long, splits].into_iter().chain(shares), "; "))
}

fn put_placement(out: &mut Document, ranked: &RankedPlacement) {
    let placement = &ranked.outcome;
    out.gap();
    out.heading(match ranked.rank {
        1 => "Best placement".to_owned(),
        rank => format!("Next best ({rank})"),
    });
    out.says(2, Tone::Warn, ranked.why_not_best.iter().map(|why| format!("Not the best: {why}.")));
    placement.slots.iter().for_each(|filled| put_filled(out, filled));
    let rates = |rates: &Rates| format!("{} read, {} written", rates.read, rates.write);
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut put = |name: &str, text: String| pairs.push((name.to_owned(), text));
    put("together", rates(&placement.together));
    for shared in placement.shared.iter().filter(|shared| shared.devices > 1) {
        let limits = if shared.limits { "limits" } else { "does not limit" };
        let (name, carries, asked) = (&shared.name, shared.carries.read, shared.asked.read);
        let devices = format!("{} devices that read {asked} alone", shared.devices);
        put("shared", format!("the {name} carries {carries} and {limits} {devices}"));
    }
    for part in &placement.parts {
        put("buy", format!("{} × {}", part.count, part.name));
    }
    for setting in &placement.settings {
        put("set", format!("{}: {}", setting.menu, setting.value));
    }
    if !placement.lost.is_empty() {
        put("lost", placement.lost.join(", "));
    }
    let frees = ranked.slots_used_before.and_then(|before| before.checked_sub(placement.slots_used));
    let frees = frees.filter(|freed| *freed > 0).map(|freed| format!("; frees {freed}")).unwrap_or_default();
    let free = match placement.slots_free.as_slice() {
        [] => "none".to_owned(),
        slots => slots.join(", "),
    };
    put("slots", format!("{} used{frees}; free: {free}", placement.slots_used));
    if let Some(balance) = &placement.balance {
        for (at, socket) in balance.sockets.iter().enumerate() {
            put("NUMA", format!("CPU {}: drives {}, network {}", at + 1, socket.drives, socket.network));
        }
        let over = balance.interconnect.as_ref().map_or("the other socket", |shared| shared.name.as_str());
        let the = if balance.gain > 0.0 { "the" } else { "a" };
        let gain = format!("{the} balance gains {}", human::percent(balance.gain.max(0.0)));
        let on_one = format!("with all drives on one socket {} ({gain})", balance.one_sided);
        let (served, crossing) = (balance.served, balance.crossing);
        put("", format!("{served} can be served, {crossing} of it over {over}; {on_one}"));
    }
    out.add(Block::Pairs(Pairs { margin: 2, width: NAMES, commands: false, pairs }));
}

fn put_filled(out: &mut Document, filled: &SlotOutcome) {
    let card = filled.card.as_ref().map(|card| match &filled.bifurcation {
        Some(mode) => format!("{card}, slot split {mode}:"),
        None => format!("{card}:"),
    });
    let devices = grouped(filled.devices.iter().map(|device| (device, ()))).into_iter();
    let devices = devices.map(|(device, alike)| {
        let (many, each) = match alike.len() {
            1 => (String::new(), ""),
            count => (format!("{count} × "), " each"),
        };
        let generation = device.generation.map_or_else(String::new, |generation| format!("{generation}.0 "));
        format!(
            "{many}{} at {generation}x{}: {}{each} alone (by {}), {} with all others",
            device.name, device.lanes, device.alone.read, device.limited_by, device.together.read
        )
    });
    // The slot is named once.
    let names = std::iter::once(filled.slot.clone()).chain(std::iter::repeat(String::new()));
    let pairs = names.zip(card.into_iter().chain(devices)).collect();
    let width = (filled.slot.chars().count() + 1).clamp(13, 17);
    out.add(Block::Pairs(Pairs { margin: 2, width, commands: false, pairs }));
}

fn put_layouts(out: &mut Document, layouts: &PlannedLayouts) {
    out.section(Place::Data, format!("Layouts of {} drives for {}", layouts.drives, layouts.aims));
    let titles = [("capacity", 7), ("survives", 9), ("read", 10), ("write", 10), ("4k r, w", 8), ("wear", 6)];
    let mut columns = vec![Column::name("layout", Width::Broad(26))];
    columns.extend(titles.map(|(title, width)| Column::right(title, width)));
    let mut table = Table::new("Layouts", 2, columns);
    for layout in &layouts.ranked {
        let rate = |rate: Option<BytesPerSec>, is_bound: bool| {
            let most = if is_bound { "≤" } else { "" };
            rate.map_or("unknown".to_owned(), |rate| format!("{most}{}", human::rate(rate)))
        };
        let [reads, writes, wear] = [layout.read_iops, layout.write_iops, layout.wear].map(human::count);
        let texts = [
            layout.name.clone(),
            human::percent(layout.capacity),
            layout.survives.to_string(),
            rate(layout.read, layout.read_is_bound),
            rate(layout.write, layout.write_is_bound),
            format!("×{reads}, ×{writes}"),
            format!("×{wear}"),
        ];
        table.texts(Tone::Normal, texts);
    }
    out.add(Block::Table(table));
    if layouts.ranked.is_empty() {
        out.say(2, Tone::Warn, "None does all that must be.");
    }
    let bounds = layouts.not_known.iter();
    let bounds = bounds.map(|why| format!("≤ is a bound, and what is reached is not known: {why}."));
    out.says(2, Tone::Faint, bounds);
    let advice = layouts.advice.iter().map(|advice| {
        let gain = advice.gain.map(|gain| format!("+{gain}: ")).unwrap_or_default();
        format!("{gain}{}", advice.text)
    });
    out.leads((Tone::Normal, "  → "), Tone::Normal, advice);
}
