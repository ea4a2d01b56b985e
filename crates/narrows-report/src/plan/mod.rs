//! A plan as the JSON contract, and as text.

mod text;

pub use text::document;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use narrows_base::units::{BytesPerSec, human};
use narrows_model::plan::layout::{Advice, Layout};
use narrows_model::plan::outcome::{Outcome, Rates, why_worse};
use narrows_model::plan::search::{Component, Found, Placement, Prefer, Request};
use narrows_model::plan::site::{SataSeated, Setting, Site, Slot, SlotForm, Splitting};
use narrows_model::plan::wish::Kind;

/// The name and version of the JSON contract.
pub const SCHEMA: &str = "narrows/plan/1";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanReport {
    pub schema: Cow<'static, str>,
    /// What there is.
    pub site: SiteView,
    /// What is wanted.
    pub wishes: Vec<WishView>,
    /// What counts most.
    pub prefer: Prefer,
    /// Where everything goes: the best placement, then the next best; empty without wishes, or when they are impossible.
    pub placements: Vec<RankedPlacement>,
    /// Whether the first placement is the best; `null` when there is none.
    pub proof: Option<ProofView>,
    /// The same wishes with other means.
    pub alternatives: Vec<AlternativeView>,
    /// Why the wishes cannot all be placed.
    pub impossible: Vec<String>,
    /// Why they cannot all be placed in the slots that are known, where not all of the board is: what is not known
    /// (`site.gaps`) may have room for them.
    pub not_known: Vec<String>,
    /// Where drives on SATA ports go; absent when none are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sata: Option<SataSeated>,
    /// What to build on the drives; `null` when no aim was given.
    pub layouts: Option<PlannedLayouts>,
}

/// What there is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SiteView {
    /// The board or machine.
    #[serde(flatten)]
    pub site: Site,
    pub slots: Vec<SlotView>,
    pub lanes: LanesView,
}

/// Lanes of slots, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LanesView {
    /// Wired, in slots that work.
    pub wired: u32,
    /// Used by what is in the slots.
    pub used: u32,
    /// Wired to slots with something narrower in them.
    pub wasted: u32,
    /// Wired to slots that are empty.
    pub free: u32,
    /// Wired to slots that do not work.
    pub dead: u32,
}

/// One slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlotView {
    pub name: String,
    /// What fits into it.
    pub form: SlotForm,
    /// The longest drive that an M.2 socket holds, millimetres; absent when nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_drive_millimetres: Option<u16>,
    pub connector_lanes: u8,
    /// The most lanes that are wired.
    pub lanes: u8,
    /// Its PCIe generation.
    pub generation: Option<u8>,
    /// `CPU 1`, `CPU 2`, `chipset`.
    pub attachment: String,
    /// Into which links the firmware can split it; empty when it cannot, `null` when nobody said.
    pub bifurcation: Option<Vec<String>>,
    /// The lanes that it has until a firmware setting is changed.
    pub default_lanes: Option<u8>,
    /// What it shares, in words.
    pub shares: Vec<String>,
    /// Why nothing can be put into it.
    pub dead: Option<String>,
    /// What is in it.
    pub occupant: Option<OccupantView>,
}

/// What is in a slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OccupantView {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// How many there are.
    pub count: u8,
    /// The lanes of the slot that it uses.
    pub lanes_used: u8,
    /// The lanes that its link runs with.
    pub lanes_trained: Option<u8>,
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WishView {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// How many.
    pub count: u8,
    /// The PCIe generation of each one's link.
    pub generation: Option<u8>,
    pub lanes: u8,
    /// What each must get.
    pub target_bytes_per_second: Option<BytesPerSec>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankedPlacement {
    /// 1 is the best.
    pub rank: u8,
    /// What it means.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Slots for cards that are used now, with what is in them.
    pub slots_used_before: Option<usize>,
    /// Why it is not the best; `null` for the best.
    pub why_not_best: Option<String>,
}

/// How sure it is that the first placement is the best.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProofView {
    /// Whether it is proven.
    pub optimal: bool,
    /// No placement moves more than this together.
    pub bound_bytes_per_second: Option<BytesPerSec>,
    /// How many partial placements were looked at.
    pub nodes: u64,
    /// In words.
    pub statement: String,
}

/// The same wishes with other means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AlternativeView {
    /// Which means.
    pub means: String,
    /// Whether the wishes can be placed so.
    pub possible: bool,
    /// What all devices move together.
    pub together: Option<Rates>,
    /// Slots for cards that are used.
    pub slots_used: Option<usize>,
    /// In words.
    pub text: String,
}

/// What to build on the drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedLayouts {
    /// The aims, as typed.
    pub aims: String,
    /// How many drives there are.
    pub drives: u8,
    /// Layouts that do all that must be, the best first.
    pub ranked: Vec<Layout>,
    /// Layouts that do not.
    pub unfit: Vec<Layout>,
    /// What a person should know.
    pub advice: Vec<Advice>,
    /// Why rates of the ranked ones are bounds.
    pub not_known: Vec<String>,
}

/// What was asked, found and made of it.
#[derive(Debug)]
pub struct Planned<'a> {
    /// What there is, with what is in it.
    pub site: &'a Site,
    /// What was asked.
    pub request: &'a Request,
    /// What was found; `None` without wishes.
    pub found: Option<&'a Found>,
    /// What each placement means, in their order.
    pub outcomes: Vec<Outcome>,
    /// The same wishes with other means: the means, and what came of them.
    pub alternatives: &'a [(String, Option<Outcome>)],
    /// Why it is impossible.
    pub impossible: &'a [String],
    /// Where drives on SATA ports go; `None` when none are wanted.
    pub sata: Option<SataSeated>,
    /// What to build on the drives; `None` without aims.
    pub layouts: Option<PlannedLayouts>,
}

/// The report.
pub fn build(planned: Planned<'_>) -> PlanReport {
    let Planned { site, request, .. } = planned;
    let (sata, impossible) = (planned.sata.as_ref(), planned.impossible);
    let slots: Vec<SlotView> = site.slots.iter().map(|slot| slot_view(site, slot)).collect();
    let is_known = site.gaps.is_empty();
    let surely = impossible.iter().filter(|_| is_known).cloned();
    let perhaps = impossible.iter().filter(|_| !is_known);
    let perhaps = perhaps.map(|why| format!("in the slots that are known, {why}"));
    let wishes = request.wishes.iter().map(|wish| WishView {
        name: wish.name.clone(),
        kind: wish.kind,
        count: wish.count,
        generation: wish.speed.pcie_generation(),
        lanes: wish.lanes.get(),
        target_bytes_per_second: wish.target,
    });
    PlanReport {
        schema: SCHEMA.into(),
        site: SiteView { site: Site { slots: Vec::new(), ..site.clone() }, lanes: lanes(&slots), slots },
        wishes: wishes.collect(),
        prefer: request.prefer,
        proof: planned.found.and_then(|found| proof(found, &planned)),
        alternatives: alternatives(&planned),
        impossible: surely.chain(sata.and_then(SataSeated::impossible)).collect(),
        not_known: perhaps.chain(sata.and_then(SataSeated::not_known)).collect(),
        placements: placements(&planned),
        sata: planned.sata,
        layouts: planned.layouts,
    }
}

fn slot_view(site: &Site, slot: &Slot) -> SlotView {
    let occupant = slot.occupant.as_ref().map(|occupant| {
        let each = occupant.lanes.map_or(slot.lanes.get(), |lanes| lanes.get());
        // Each of several drives uses lanes, those behind a switch its uplink; a card that is narrower than its slot, its own lanes.
        let wanted = each.saturating_mul(occupant.count.max(1));
        let trained = occupant.trained.map(|lanes| lanes.get());
        OccupantView {
            name: occupant.name.clone(),
            kind: occupant.kind,
            count: occupant.count,
            lanes_used: wanted.min(trained.unwrap_or(wanted)).min(slot.lanes.get()),
            lanes_trained: trained,
        }
    });
    let name_of = |at: &usize| site.slots.get(*at).map_or("another slot", |slot| slot.name.as_str());
    let narrowed = slot.narrowed.iter().map(|rule| {
        let by: Vec<&str> = rule.by.iter().map(name_of).collect();
        let left = if rule.lanes.get() == 0 { "off".to_owned() } else { rule.lanes.to_string() };
        format!("{left} while {} is used", by.join(" or "))
    });
    let set = slot.setting.as_ref().map(|setting| {
        let Setting { default_lanes: lanes, menu, value, slots_off, connectors_off, .. } = setting;
        let off = slots_off.iter().map(name_of).chain(connectors_off.iter().map(String::as_str));
        let off = off.collect::<Vec<_>>().join(" and ");
        format!("{lanes} until {menu} is set to {value}, which turns off {off}")
    });
    let off = (!slot.connectors_off.is_empty())
        .then(|| format!("{} is off while it is used", slot.connectors_off.join(", ")));
    let mut shares: Vec<String> = narrowed.chain(set).chain(off).collect();
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

fn placements(planned: &Planned<'_>) -> Vec<RankedPlacement> {
    let placements = planned.found.iter().flat_map(|found| &found.placements);
    let all: Vec<_> = placements.zip(&planned.outcomes).collect();
    let before =
        planned.site.slots.iter().filter(|it| it.occupant.is_some() && !it.form.takes_drives()).count();
    let ranked = |(at, (placement, outcome)): (usize, &(&Placement, &Outcome))| {
        let best = all.first().filter(|_| at > 0);
        let why =
            |best: &(&Placement, &Outcome)| why_worse(planned.request.prefer, *best, (placement, outcome));
        RankedPlacement {
            rank: u8::try_from(at + 1).unwrap_or(u8::MAX),
            outcome: (*outcome).clone(),
            slots_used_before: (before > 0).then_some(before),
            why_not_best: best.map(why),
        }
    };
    all.iter().enumerate().map(ranked).collect()
}

fn proof(found: &Found, planned: &Planned<'_>) -> Option<ProofView> {
    found.placements.first()?;
    let prefer = planned.request.prefer;
    #[expect(clippy::cast_precision_loss, reason = "no rate comes near 2^53 bytes per second")]
    let bound =
        found.proof.bound.map(|bound| BytesPerSec::new(bound.get(prefer, Component::Together) as f64));
    let limit = bound.map(|bound| format!(" The bound is {bound} together.")).unwrap_or_default();
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
                let parts = outcome.parts.iter().map(|part| format!("{} {}", part.count, part.name));
                let parts = match parts.collect::<Vec<_>>().as_slice() {
                    _ if !is_known => String::new(),
                    [] => "; no cards".to_owned(),
                    parts => format!("; {}", parts.join(", ")),
                };
                let limit = outcome.shared.iter().find(|shared| shared.limits && shared.devices > 1);
                let limit = limit.map(|shared| format!(", limited by the {}", shared.name));
                let served = outcome.balance.as_ref().map(|it| format!(", {} served", it.served));
                let [served, limit] = [served, limit].map(Option::unwrap_or_default);
                let slots = human::counted(outcome.slots_used, "card slot");
                format!("{} together{served}{limit}; {slots}{parts}", outcome.together.read)
            }
        };
        let (together, slots_used) = outcome.as_ref().map(|it| (it.together, it.slots_used)).unzip();
        AlternativeView { means: means.clone(), possible: outcome.is_some(), together, slots_used, text }
    };
    planned.alternatives.iter().map(view).collect()
}
