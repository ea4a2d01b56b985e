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
    for why in &report.impossible {
        out.lead((Tone::Bad, "IMPOSSIBLE  "), Tone::Normal, format!("{why}."));
    }
    for why in &report.not_known {
        let text = format!("whether all of this can be placed: {why}.");
        out.lead((Tone::Warn, "NOT KNOWN  "), Tone::Normal, text);
    }
    for placement in &report.placements {
        put_placement(&mut out, placement);
    }
    if let Some(sata) = &report.sata {
        out.gap();
        out.heading("SATA ports");
        out.say(2, Tone::Normal, on_ports(sata));
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

fn on_ports(sata: &SataSeated) -> String {
    let ports = if sata.ports.is_empty() { "none that is known".to_owned() } else { sata.ports.join(", ") };
    let all = if sata.whole { "" } else { "; whether there are more is not known" };
    format!("{} drives for {} free of {ports}{all}", sata.wanted, sata.free)
}

fn put_site(out: &mut Document, view: &SiteView) {
    let site = &view.site;
    let mut facts = vec![site.name.clone()];
    facts.extend(site.processor.iter().map(|processor| match site.sockets {
        1 => processor.clone(),
        sockets => format!("{sockets} × {processor}"),
    }));
    for shared in site.chipset.iter().chain(&site.interconnect) {
        facts.push(format!("{} {}", shared.name, shared.rate.rate()));
    }
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
        let generation = slot.generation.map(|generation| format!("{generation}.0 x{}", slot.lanes));
        let (tone, text) = about(slot);
        table.row(vec![
            Cell::text(&slot.name),
            Cell::text(generation.unwrap_or_default()),
            Cell::text(slot.attachment.to_string()),
            Cell::toned(tone, text),
        ]);
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
    for gap in &site.gaps {
        out.lead((Tone::Warn, "  not known  "), Tone::Normal, gap);
    }
    for note in &site.notes {
        out.say(2, Tone::Faint, note);
    }
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
    if let Some(why) = &ranked.why_not_best {
        out.say(2, Tone::Warn, format!("Not the best: {why}."));
    }
    for filled in &placement.slots {
        put_filled(out, filled);
    }
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
    let free =
        if placement.slots_free.is_empty() { "none".to_owned() } else { placement.slots_free.join(", ") };
    put("slots", format!("{} used{frees}; free: {free}", placement.slots_used));
    if let Some(balance) = &placement.balance {
        for (at, socket) in balance.sockets.iter().enumerate() {
            put("NUMA", format!("CPU {}: drives {}, network {}", at + 1, socket.drives, socket.network));
        }
        let over = balance.interconnect.as_ref().map_or("the other socket", |shared| shared.name.as_str());
        let the = if balance.gain > 0.0 { "the" } else { "a" };
        let gain = format!("{the} balance gains {}", human::percent(balance.gain.max(0.0)));
        let on_one = format!("with all drives on one socket {} ({gain})", balance.one_sided);
        put(
            "",
            format!("{} can be served, {} of it over {over}; {on_one}", balance.served, balance.crossing),
        );
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
        let iops = |drives: f64| human::count(drives);
        let texts = [
            layout.name.clone(),
            human::percent(layout.capacity),
            layout.survives.to_string(),
            rate(layout.read, layout.read_is_bound),
            rate(layout.write, layout.write_is_bound),
            format!("×{}, ×{}", iops(layout.read_iops), iops(layout.write_iops)),
            format!("×{}", human::count(layout.wear)),
        ];
        table.texts(Tone::Normal, texts);
    }
    out.add(Block::Table(table));
    if layouts.ranked.is_empty() {
        out.say(2, Tone::Warn, "None does all that must be.");
    }
    for because in &layouts.not_known {
        out.say(2, Tone::Faint, format!("≤ is a bound, and what is reached is not known: {because}."));
    }
    for advice in &layouts.advice {
        let gain = advice.gain.map(|gain| format!("+{gain}: ")).unwrap_or_default();
        out.lead((Tone::Normal, "  → "), Tone::Normal, format!("{gain}{}", advice.text));
    }
}
