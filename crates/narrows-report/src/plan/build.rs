//! Joins a site, what was found for it and what it means to the JSON contract.

use super::*;
use narrows_base::units::{Bytes, human};
use narrows_model::plan::layout::{Layout, Ranked};
use narrows_model::plan::outcome::{DeviceOutcome, Outcome, Rates, why_worse};
use narrows_model::plan::owning::Owning;
use narrows_model::plan::search::{Component, Found, Request};
use narrows_model::plan::site::SataSeated;
use narrows_model::plan::site::{Site, Slot, Splitting};
use narrows_model::plan::wish::Wish;

/// Layouts for aims.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedLayouts {
    /// The aims as typed.
    pub aims: String,
    /// How many drives there are.
    pub drives: u8,
    /// The layouts.
    pub ranked: Ranked,
    /// What each of those that fit means for its owner, in their order.
    pub owned: Vec<Owning>,
}

/// What was asked, found and made of it.
#[derive(Debug)]
pub struct Planned<'a> {
    /// What there is, with what is in it.
    pub site: &'a Site,
    /// The slots as the search saw them, and the outcomes are counted in.
    pub searched: &'a Site,
    /// What was asked.
    pub request: &'a Request,
    /// What was found; `None` without wishes.
    pub found: Option<&'a Found>,
    /// What each placement means, in their order.
    pub outcomes: &'a [Outcome],
    /// The same wishes with other means: the means, and what came of them.
    pub alternatives: &'a [(String, Option<Outcome>)],
    /// Why it is impossible.
    pub impossible: &'a [String],
    /// Where drives on SATA ports go; `None` when none are wanted.
    pub sata: Option<&'a SataSeated>,
    /// What to build on the drives; `None` without aims.
    pub layouts: Option<PlannedLayouts>,
}

/// The report.
pub fn build(planned: &Planned<'_>) -> PlanReport {
    let Planned { site, request, .. } = planned;
    let is_known = site.gaps.is_empty();
    PlanReport {
        schema: SCHEMA.into(),
        site: site_view(site),
        wishes: request.wishes.iter().map(wish_view).collect(),
        prefer: request.prefer,
        placements: placements(planned),
        proof: planned.found.and_then(|found| proof(found, planned)),
        alternatives: alternatives(planned),
        impossible: slots_impossible(planned, is_known)
            .chain(planned.sata.and_then(SataSeated::impossible))
            .collect(),
        not_known: slots_impossible(planned, !is_known)
            .map(|why| format!("in the slots that are known, {why}"))
            .chain(planned.sata.and_then(SataSeated::not_known))
            .collect(),
        sata: planned.sata.map(|sata| SataView {
            wanted: sata.wanted,
            ports: sata.ports.clone(),
            free: sata.free,
            all_known: sata.whole,
        }),
        layouts: planned.layouts.as_ref().map(layouts),
    }
}

fn slots_impossible<'a>(planned: &'a Planned<'_>, wanted: bool) -> impl Iterator<Item = String> + 'a {
    planned.impossible.iter().filter(move |_| wanted).cloned()
}

fn rates(rates: Rates) -> RatesView {
    RatesView { read_bytes_per_second: rates.read, write_bytes_per_second: rates.write }
}

fn site_view(site: &Site) -> SiteView {
    let carrier = |shared: &narrows_model::plan::site::Shared| CarrierView {
        name: shared.name.clone(),
        bytes_per_second: shared.rate.rate(),
    };
    let slots: Vec<SlotView> = site.slots.iter().map(|slot| slot_view(site, slot)).collect();
    SiteView {
        name: site.name.clone(),
        source: site.source.clone(),
        processor: site.processor.clone(),
        sockets: site.sockets,
        chipset: site.chipset.as_ref().map(carrier),
        interconnect: site.interconnect.as_ref().map(carrier),
        lanes: lanes(&slots),
        slots,
        gaps: site.gaps.clone(),
        notes: site.notes.clone(),
    }
}

fn slot_view(site: &Site, slot: &Slot) -> SlotView {
    let occupant = slot.occupant.as_ref().map(|occupant| {
        let each = occupant.lanes.map_or(slot.lanes.get(), |lanes| lanes.get());
        // Each of several drives uses lanes, those behind a switch its uplink; a card that is narrower than its slot, its own lanes.
        let wanted = each.saturating_mul(occupant.count.max(1));
        OccupantView {
            name: occupant.name.clone(),
            kind: occupant.kind,
            count: occupant.count,
            lanes_used: wanted
                .min(occupant.trained.map_or(wanted, |lanes| lanes.get()))
                .min(slot.lanes.get()),
            lanes_trained: occupant.trained.map(|lanes| lanes.get()),
        }
    });
    let name_of = |at: &usize| site.slots.get(*at).map_or("another slot", |slot| slot.name.as_str());
    let mut shares: Vec<String> = slot
        .narrowed
        .iter()
        .map(|rule| {
            let by: Vec<&str> = rule.by.iter().map(name_of).collect();
            let left = if rule.lanes.get() == 0 { "off".to_owned() } else { rule.lanes.to_string() };
            format!("{left} while {} is used", by.join(" or "))
        })
        .collect();
    if let Some(setting) = &slot.setting {
        let off: Vec<&str> = setting
            .slots_off
            .iter()
            .map(name_of)
            .chain(setting.connectors_off.iter().map(String::as_str))
            .collect();
        shares.push(format!(
            "{} until {} is set to {}, which turns off {}",
            setting.default_lanes,
            setting.menu,
            setting.value,
            off.join(" and ")
        ));
    }
    if !slot.connectors_off.is_empty() {
        shares.push(format!("{} is off while it is used", slot.connectors_off.join(", ")));
    }
    if shares.is_empty() {
        shares.extend(slot.shares.clone());
    }
    SlotView {
        name: slot.name.clone(),
        form: slot.form,
        longest_drive_millimetres: slot.longest,
        connector_lanes: slot.connector.get(),
        lanes: slot.lanes.get(),
        generation: slot.speed.pcie_generation(),
        attachment: slot.attachment.to_string(),
        bifurcation: match &slot.splitting {
            Splitting::Unknown => None,
            Splitting::Never => Some(Vec::new()),
            Splitting::Modes(modes) => Some(modes.iter().map(ToString::to_string).collect()),
        },
        default_lanes: slot.setting.as_ref().map(|setting| setting.default_lanes.get()),
        shares,
        dead: slot.dead.clone(),
        occupant,
    }
}

fn lanes(slots: &[SlotView]) -> LanesView {
    let mut lanes = LanesView::default();
    for slot in slots {
        let wired = u32::from(slot.lanes);
        match (&slot.dead, &slot.occupant) {
            (Some(_), None) => lanes.dead += wired,
            (_, Some(occupant)) => {
                lanes.wired += wired;
                lanes.used += u32::from(occupant.lanes_used);
                lanes.wasted += wired.saturating_sub(u32::from(occupant.lanes_used));
            }
            (None, None) => {
                lanes.wired += wired;
                lanes.free += wired;
            }
        }
    }
    lanes
}

fn wish_view(wish: &Wish) -> WishView {
    WishView {
        name: wish.name.clone(),
        kind: wish.kind,
        count: wish.count,
        generation: wish.speed.pcie_generation(),
        lanes: wish.lanes.get(),
        target_bytes_per_second: wish.target,
    }
}

fn placements(planned: &Planned<'_>) -> Vec<PlacementView> {
    let Some(found) = planned.found else { return Vec::new() };
    let all: Vec<_> = found.placements.iter().zip(planned.outcomes).collect();
    let before =
        planned.site.slots.iter().filter(|slot| slot.occupant.is_some() && !slot.form.takes_drives()).count();
    all.iter()
        .enumerate()
        .map(|(at, (placement, outcome))| {
            let why = all.first().filter(|_| at > 0).map(|(best, best_outcome)| {
                why_worse(planned.request.prefer, (best, best_outcome), (placement, outcome))
            });
            PlacementView {
                rank: u8::try_from(at + 1).unwrap_or(u8::MAX),
                slots_used_before: (before > 0).then_some(before),
                why_not_best: why,
                ..placement_view(planned.searched, planned.request, outcome)
            }
        })
        .collect()
}

fn placement_view(site: &Site, request: &Request, outcome: &Outcome) -> PlacementView {
    let name = |slot: usize| site.slots.get(slot).map(|slot| slot.name.clone()).unwrap_or_default();
    PlacementView {
        rank: 1,
        slots: outcome
            .slots
            .iter()
            .map(|filled| FilledView {
                slot: name(filled.slot),
                card: filled.card.clone(),
                bifurcation: filled.split.clone(),
                lanes: filled.lanes.get(),
                devices: filled.devices.iter().map(device).collect(),
            })
            .collect(),
        together: rates(outcome.together),
        alone: rates(outcome.alone),
        shared: outcome
            .shared
            .iter()
            .map(|shared| SharedView {
                name: shared.name.clone(),
                carries: rates(shared.carries),
                asked: rates(shared.asked),
                devices: shared.devices,
                limits: shared.is_limit(),
            })
            .collect(),
        settings: outcome
            .settings
            .iter()
            .map(|(menu, value)| SettingView { menu: menu.clone(), value: value.clone() })
            .collect(),
        lost: outcome.lost.clone(),
        // Who buys for slots that are known may find better ones that are not.
        parts: outcome
            .parts
            .iter()
            .filter(|_| site.gaps.is_empty())
            .map(|(count, name)| PartView {
                count: *count,
                name: name.clone(),
                cost: cost(request, *count, name),
            })
            .collect(),
        slots_used: outcome.used,
        slots_used_before: None,
        slots_free: outcome.free.clone(),
        balance: outcome.balance.as_ref().map(|balance| BalanceView {
            sockets: balance
                .sockets
                .iter()
                .map(|(drives, network)| SocketView {
                    drives_bytes_per_second: *drives,
                    network_bytes_per_second: *network,
                })
                .collect(),
            served_bytes_per_second: balance.served,
            crossing_bytes_per_second: balance.crossing,
            one_sided_bytes_per_second: balance.one_sided,
            gain: balance.gain(),
            interconnect: balance
                .interconnect
                .as_ref()
                .map(|(name, rate)| CarrierView { name: name.clone(), bytes_per_second: *rate }),
        }),
        why_not_best: None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "no price comes near 2^53 hundredths")]
fn cost(request: &Request, count: usize, name: &str) -> Option<f64> {
    request.parts.prices.as_ref()?;
    Some((request.parts.price(name) * count as u64) as f64 / 100.0)
}

fn device(device: &DeviceOutcome) -> DeviceView {
    DeviceView {
        name: device.name.clone(),
        kind: device.kind,
        generation: device.speed.pcie_generation(),
        lanes: device.lanes.get(),
        alone: rates(device.alone),
        together: rates(device.together),
        limited_by: device.limited_by.clone(),
    }
}

fn proof(found: &Found, planned: &Planned<'_>) -> Option<ProofView> {
    found.placements.first()?;
    let prefer = planned.request.prefer;
    #[expect(clippy::cast_precision_loss, reason = "no rate comes near 2^53 bytes per second")]
    let bound =
        found.proof.bound.map(|bound| BytesPerSec::new(bound.get(prefer, Component::Together) as f64));
    let limit =
        bound.map(|bound| format!(" The bound is {} together.", human::rate(bound))).unwrap_or_default();
    let nodes = found.proof.nodes;
    let optimal = found.proof.complete && planned.site.gaps.is_empty();
    let statement = match found.proof.complete {
        true if !optimal => format!(
            "Not proven: the best in the slots that are known ({nodes} partial placements). Not all of the board is known, and \
             what is not known may give more. What to buy is not said before that is looked up."
        ),
        true => format!(
            "Proven: no placement of these devices is better by {prefer}; all others were looked at or cut off by their \
             bounds ({nodes} partial placements).{limit}"
        ),
        false => format!(
            "Not proven: {nodes} partial placements were looked at, and some were left. None can be better than its bound.{limit}"
        ),
    };
    Some(ProofView { optimal, bound_bytes_per_second: bound, nodes, statement })
}

fn alternatives(planned: &Planned<'_>) -> Vec<AlternativeView> {
    let is_known = planned.site.gaps.is_empty();
    let view = |(means, outcome): &(String, Option<Outcome>)| {
        let text = match outcome {
            None if is_known => "not possible: too few places".to_owned(),
            None => "too few places in the slots that are known".to_owned(),
            Some(outcome) => {
                let parts: Vec<String> =
                    outcome.parts.iter().map(|(count, name)| format!("{count} {name}")).collect();
                let parts = match parts.is_empty() {
                    _ if !is_known => String::new(),
                    true => "; no cards".to_owned(),
                    false => format!("; {}", parts.join(", ")),
                };
                let limit = outcome.shared.iter().find(|shared| shared.is_limit() && shared.devices > 1);
                let limit =
                    limit.map(|shared| format!(", limited by the {}", shared.name)).unwrap_or_default();
                let served = outcome.balance.as_ref();
                let served =
                    served.map(|it| format!(", {} served", human::rate(it.served))).unwrap_or_default();
                format!(
                    "{} together{served}{limit}; {} card slot{}{parts}",
                    human::rate(outcome.together.read),
                    outcome.used,
                    if outcome.used == 1 { "" } else { "s" },
                )
            }
        };
        AlternativeView {
            means: means.clone(),
            possible: outcome.is_some(),
            together: outcome.as_ref().map(|outcome| rates(outcome.together)),
            slots_used: outcome.as_ref().map(|outcome| outcome.used),
            text,
        }
    };
    planned.alternatives.iter().map(view).collect()
}

fn layouts(planned: &PlannedLayouts) -> LayoutsView {
    let PlannedLayouts { aims, drives, ranked, owned } = planned;
    let view = |layout: &Layout, owned: &Owning| LayoutView {
        name: layout.name(),
        array: layout.array,
        encryption: layout.encryption,
        capacity: layout.capacity,
        survives: layout.survives,
        read_bytes_per_second: layout.read,
        write_bytes_per_second: layout.write,
        read_iops_drives: layout.read_iops,
        write_iops_drives: layout.write_iops,
        wear: layout.wear,
        limit: layout.limit.into(),
        usable_bytes: owned.usable.map(Bytes::get),
        endurance_years: owned.years,
        rebuild_seconds: owned.rebuild.map(RangeView::of),
        loss_while_rebuilding: owned.loss.map(RangeView::of),
    };
    LayoutsView {
        aims: aims.to_owned(),
        drives: *drives,
        ranked: ranked.fitting.iter().zip(owned).map(|(layout, owned)| view(layout, owned)).collect(),
        unfit: ranked.others.iter().map(|layout| view(layout, &Owning::default())).collect(),
        advice: ranked
            .advice
            .iter()
            .map(|advice| AdviceView { text: advice.text.clone(), gain_bytes_per_second: advice.gain })
            .collect(),
    }
}
