//! A plan as text.

use super::{
    DeviceView, FilledView, LayoutView, LayoutsView, PlacementView, PlanReport, RangeView, RatesView,
    SiteView, SlotView,
};
use crate::text::{Line, Style, Tone, fit, paragraph};
use narrows_base::units::{Bytes, BytesPerSec, human};

/// A plan as text. It ends with a newline.
pub fn render(report: &PlanReport, style: &Style) -> String {
    let mut out = String::new();
    put_site(&mut out, style, &report.site);
    for why in &report.impossible {
        paragraph(&mut out, style, (Tone::Bad, "IMPOSSIBLE  "), Tone::Normal, &format!("{why}."));
    }
    for why in &report.not_known {
        let text = format!("whether all of this can be placed: in the slots that are known, {why}.");
        paragraph(&mut out, style, (Tone::Warn, "NOT KNOWN  "), Tone::Normal, &text);
    }
    for placement in &report.placements {
        put_placement(&mut out, style, placement);
    }
    if let Some(proof) = &report.proof {
        out.push('\n');
        let tone = if proof.optimal { Tone::Good } else { Tone::Warn };
        paragraph(&mut out, style, (tone, ""), tone, &proof.statement);
    }
    if !report.alternatives.is_empty() {
        heading(&mut out, style, "Bifurcation or a switch card");
        for alternative in &report.alternatives {
            let lead = format!("  {:<24}", alternative.means);
            paragraph(&mut out, style, (Tone::Normal, &lead), Tone::Normal, &alternative.text);
        }
    }
    if let Some(layouts) = &report.layouts {
        put_layouts(&mut out, style, layouts);
    }
    out
}

fn heading(out: &mut String, style: &Style, text: &str) {
    out.push('\n');
    let mut line = Line::new(style);
    line.put(Tone::Strong, text);
    line.end(out);
}

fn put_site(out: &mut String, style: &Style, site: &SiteView) {
    let mut facts = vec![site.name.clone()];
    facts.extend(site.processor.iter().map(|processor| match site.sockets {
        1 => processor.clone(),
        sockets => format!("{sockets} × {processor}"),
    }));
    for shared in site.chipset.iter().chain(&site.interconnect) {
        facts.push(format!("{} {}", shared.name, human::rate(shared.bytes_per_second)));
    }
    paragraph(out, style, (Tone::Strong, ""), Tone::Strong, &facts.join(" · "));
    out.push('\n');
    let most = site.slots.iter().map(|slot| slot.name.chars().count()).max().unwrap_or(4).clamp(4, 20);
    let columns = [most + 3, most + 13, most + 25];
    let mut head = Line::new(style);
    head.put(Tone::Faint, "  slot").pad_to(columns[0]).put(Tone::Faint, " wired");
    head.pad_to(columns[1])
        .put(Tone::Faint, " hangs on")
        .pad_to(columns[2])
        .put(Tone::Faint, " what is known");
    head.end(out);
    for slot in &site.slots {
        let generation = slot.generation.map(|generation| format!(" {generation}.0 x{}", slot.lanes));
        let lead = {
            let mut line = format!("  {}", fit(style, &slot.name, most));
            pad(&mut line, columns[0]);
            line.push_str(&generation.unwrap_or_default());
            pad(&mut line, columns[1]);
            line.push_str(&format!(" {}", slot.attachment));
            pad(&mut line, columns[2]);
            line + " "
        };
        let (tone, text) = about(slot);
        paragraph(out, style, (Tone::Normal, &lead), tone, &text);
    }
    let lanes = &site.lanes;
    let mut counts = vec![format!("{} lanes wired", lanes.wired)];
    if lanes.used + lanes.wasted > 0 {
        counts.push(format!("{} used", lanes.used));
        counts.push(format!("{} wasted on narrower devices", lanes.wasted));
    }
    counts.push(format!("{} free", lanes.free));
    if lanes.dead > 0 {
        counts.push(format!("{} dead", lanes.dead));
    }
    paragraph(out, style, (Tone::Normal, "  "), Tone::Normal, &counts.join(" · "));
    for gap in &site.gaps {
        paragraph(out, style, (Tone::Warn, "  not known  "), Tone::Normal, gap);
    }
    for note in &site.notes {
        paragraph(out, style, (Tone::Faint, "  "), Tone::Faint, note);
    }
}

fn pad(line: &mut String, column: usize) {
    let missing = column.saturating_sub(line.chars().count());
    line.push_str(&" ".repeat(missing));
}

fn about(slot: &SlotView) -> (Tone, String) {
    let mut known = Vec::new();
    let mut tone = Tone::Normal;
    match (&slot.occupant, &slot.dead) {
        (Some(occupant), _) => {
            let many = if occupant.count > 1 { format!("{} × ", occupant.count) } else { String::new() };
            known.push(format!("{many}{}, x{}", occupant.name, occupant.lanes_used));
            if occupant.lanes_used < slot.lanes {
                known.push(format!("{} lanes wasted", slot.lanes - occupant.lanes_used));
                tone = Tone::Warn;
            }
        }
        (None, Some(dead)) => {
            known.push(format!("dead: {dead}"));
            tone = Tone::Warn;
        }
        (None, None) => known.push("free".to_owned()),
    }
    if slot.connector_lanes > slot.lanes {
        known.push(format!("x{} long", slot.connector_lanes));
    }
    match &slot.bifurcation {
        Some(modes) if modes.is_empty() => known.push("no bifurcation".to_owned()),
        Some(modes) => known.push(format!("splits {}", modes.join(", "))),
        None => {}
    }
    known.extend(slot.shares.iter().cloned());
    (tone, known.join("; "))
}

fn put_placement(out: &mut String, style: &Style, placement: &PlacementView) {
    let title = match placement.rank {
        1 => "Best placement".to_owned(),
        rank => format!("Next best ({rank})"),
    };
    heading(out, style, &title);
    if let Some(why) = &placement.why_not_best {
        paragraph(out, style, (Tone::Normal, "  "), Tone::Warn, &format!("Not the best: {why}."));
    }
    for filled in &placement.slots {
        put_filled(out, style, filled);
    }
    let rates = |rates: &RatesView| {
        format!(
            "{} read, {} written",
            human::rate(rates.read_bytes_per_second),
            human::rate(rates.write_bytes_per_second)
        )
    };
    let mut put = |lead: &str, text: &str| paragraph(out, style, (Tone::Normal, lead), Tone::Normal, text);
    put("  together   ", &rates(&placement.together));
    for shared in placement.shared.iter().filter(|shared| shared.devices > 1) {
        let limits = if shared.limits { "limits" } else { "does not limit" };
        put(
            "  shared     ",
            &format!(
                "the {} carries {} and {limits} {} devices that read {} alone",
                shared.name,
                human::rate(shared.carries.read_bytes_per_second),
                shared.devices,
                human::rate(shared.asked.read_bytes_per_second)
            ),
        );
    }
    for part in &placement.parts {
        put("  buy        ", &format!("{} × {}", part.count, part.name));
    }
    for setting in &placement.settings {
        put("  set        ", &format!("{}: {}", setting.menu, setting.value));
    }
    if !placement.lost.is_empty() {
        put("  lost       ", &placement.lost.join(", "));
    }
    let frees = placement.slots_used_before.and_then(|before| before.checked_sub(placement.slots_used));
    let frees = frees.filter(|freed| *freed > 0).map(|freed| format!("; frees {freed}")).unwrap_or_default();
    let free =
        if placement.slots_free.is_empty() { "none".to_owned() } else { placement.slots_free.join(", ") };
    put("  slots      ", &format!("{} used{frees}; free: {free}", placement.slots_used));
    if let Some(balance) = &placement.balance {
        for (at, socket) in balance.sockets.iter().enumerate() {
            put(
                "  NUMA       ",
                &format!(
                    "CPU {}: drives {}, network {}",
                    at + 1,
                    human::rate(socket.drives_bytes_per_second),
                    human::rate(socket.network_bytes_per_second)
                ),
            );
        }
        let over = balance.interconnect.as_ref().map_or("the other socket", |shared| shared.name.as_str());
        let gain = balance.gain;
        put(
            "             ",
            &format!(
                "{} can be served, {} of it over {over}; with all drives on one socket {} ({}{})",
                human::rate(balance.served_bytes_per_second),
                human::rate(balance.crossing_bytes_per_second),
                human::rate(balance.one_sided_bytes_per_second),
                if gain > 0.0 { "the balance gains " } else { "a balance gains " },
                human::percent(gain.max(0.0))
            ),
        );
    }
}

fn put_filled(out: &mut String, style: &Style, filled: &FilledView) {
    let mut what = String::new();
    if let Some(card) = &filled.card {
        what.clone_from(card);
        if let Some(mode) = &filled.bifurcation {
            what = format!("{what}, slot split {mode}");
        }
    }
    let mut groups: Vec<(usize, &DeviceView)> = Vec::new();
    for device in &filled.devices {
        match groups.iter_mut().find(|(_, known)| *known == device) {
            Some((count, _)) => *count += 1,
            None => groups.push((1, device)),
        }
    }
    let lead = format!("  {:<12} ", fit(style, &filled.slot, 16));
    if !what.is_empty() {
        paragraph(out, style, (Tone::Strong, &lead), Tone::Normal, &format!("{what}:"));
    }
    let indent = " ".repeat(lead.chars().count());
    for (at, (count, device)) in groups.iter().enumerate() {
        let first = at == 0 && what.is_empty();
        let many = if *count > 1 { format!("{count} × ") } else { String::new() };
        let each = if *count > 1 { " each" } else { "" };
        let generation = device.generation.map_or_else(String::new, |generation| format!("{generation}.0 "));
        let rate = |rate: BytesPerSec| human::rate(rate);
        let text = format!(
            "{many}{} at {generation}x{}: {}{each} alone (by {}), {} with all others",
            device.name,
            device.lanes,
            rate(device.alone.read_bytes_per_second),
            device.limited_by,
            rate(device.together.read_bytes_per_second)
        );
        paragraph(out, style, (Tone::Strong, if first { &lead } else { &indent }), Tone::Normal, &text);
    }
}

fn put_layouts(out: &mut String, style: &Style, layouts: &LayoutsView) {
    heading(out, style, &format!("Layouts of {} drives for {}", layouts.drives, layouts.aims));
    let columns = [35, 44, 54, 64, 72, 78];
    let mut head = Line::new(style);
    head.put(Tone::Faint, "  layout");
    for (title, end) in ["capacity", "survives", "read", "write", "4k r, w", "wear"].iter().zip(columns) {
        head.put_right(Tone::Faint, title, end);
    }
    head.end(out);
    for layout in &layouts.ranked {
        let rate = |rate: Option<BytesPerSec>| rate.map_or("unknown".to_owned(), human::rate);
        let iops = |drives: f64| human::count(drives);
        let cells = [
            human::percent(layout.capacity),
            layout.survives.to_string(),
            rate(layout.read_bytes_per_second),
            rate(layout.write_bytes_per_second),
            format!("×{}, ×{}", iops(layout.read_iops_drives), iops(layout.write_iops_drives)),
            format!("×{}", human::count(layout.wear)),
        ];
        let mut line = Line::new(style);
        line.put(Tone::Normal, &format!("  {}", layout.name));
        for (cell, end) in cells.iter().zip(columns) {
            line.put_right(Tone::Normal, cell, end);
        }
        line.end(out);
    }
    if layouts.ranked.is_empty() {
        paragraph(out, style, (Tone::Normal, "  "), Tone::Warn, "None does all that must be.");
    }
    for layout in &layouts.ranked {
        if let Some(said) = owned(layout) {
            let name = format!("  {}: ", layout.name);
            paragraph(out, style, (Tone::Normal, &name), Tone::Normal, &said);
        }
    }
    for advice in &layouts.advice {
        let gain =
            advice.gain_bytes_per_second.map(|gain| format!("+{}: ", human::rate(gain))).unwrap_or_default();
        paragraph(out, style, (Tone::Normal, "  → "), Tone::Normal, &format!("{gain}{}", advice.text));
    }
}

/// What a layout means for its owner; `None` where nothing was stated.
fn owned(layout: &LayoutView) -> Option<String> {
    let range = |range: RangeView, show: &dyn Fn(f64) -> String| match range.worst > range.best * 1.001 {
        true => format!("{} to {}", show(range.best), show(range.worst)),
        false => show(range.best),
    };
    let hours = |seconds: f64| match seconds / 3600.0 {
        hours if hours >= 48.0 => format!("{} days", human::count(hours / 24.0)),
        hours => format!("{} hours", human::count(hours)),
    };
    let said = [
        layout.usable_bytes.map(|bytes| format!("holds {}", human::bytes(Bytes::new(bytes)))),
        layout.endurance_years.map(|years| format!("lasts {} years of these writes", human::count(years))),
        layout.rebuild_seconds.map(|it| format!("rebuilds in {}", range(it, &hours))),
        layout.loss_while_rebuilding.map(|it| {
            let chance = |part: f64| format!("{:.2e}", part);
            format!(
                "loses data meanwhile with a chance of {}, if failures are independent",
                range(it, &chance)
            )
        }),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join(", "))
}
