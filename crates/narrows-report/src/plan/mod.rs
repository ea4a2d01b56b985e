//! A plan as the JSON contract, and as text.

mod build;
mod text;

pub use build::{Planned, PlannedLayouts, build};
pub use text::{document, render};

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use narrows_base::units::BytesPerSec;
use narrows_model::plan::layout::{Array, Encryption};
use narrows_model::plan::search::Prefer;
use narrows_model::plan::site::SlotForm;
use narrows_model::plan::wish::Kind;

/// The name and version of the JSON contract.
pub const SCHEMA: &str = "narrows/plan/1";

/// A plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanReport {
    /// [`SCHEMA`].
    pub schema: Cow<'static, str>,
    /// What there is.
    pub site: SiteView,
    /// What is wanted.
    pub wishes: Vec<WishView>,
    /// What counts most.
    pub prefer: Prefer,
    /// Where everything goes: the best placement, then the next best; empty without wishes, or when they are impossible.
    pub placements: Vec<PlacementView>,
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
    pub sata: Option<SataView>,
    /// What to build on the drives; `null` when no aim was given.
    pub layouts: Option<LayoutsView>,
}

/// Where drives on SATA ports go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SataView {
    /// How many are wanted.
    pub wanted: usize,
    /// The ports that there are for them, without those that the best placement turns off.
    pub ports: Vec<String>,
    /// How many of them are free.
    pub free: usize,
    /// Whether all ports of the board are known.
    pub all_known: bool,
}

/// What there is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SiteView {
    /// The board or machine.
    pub name: String,
    /// Where the slots are from.
    pub source: String,
    /// The platform of the processors.
    pub processor: Option<String>,
    /// How many there are.
    pub sockets: u8,
    /// The uplink of the chipset.
    pub chipset: Option<CarrierView>,
    /// The connection between sockets.
    pub interconnect: Option<CarrierView>,
    /// The slots.
    pub slots: Vec<SlotView>,
    /// Their lanes.
    pub lanes: LanesView,
    /// What is not known of its slots and can change the answer, each with where it is found. While there is any, nothing is
    /// proven, nothing is impossible, and there are no cards to buy.
    pub gaps: Vec<String>,
    /// What is not known.
    pub notes: Vec<String>,
}

/// Something that carries data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CarrierView {
    /// What it is.
    pub name: String,
    /// What it carries towards the host.
    pub bytes_per_second: BytesPerSec,
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
    /// Its name.
    pub name: String,
    /// What fits into it.
    pub form: SlotForm,
    /// The longest drive that an M.2 socket holds, millimetres; absent when nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_drive_millimetres: Option<u16>,
    /// The lanes of its connector.
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
    /// Its lanes.
    pub lanes: u8,
    /// What each must get.
    pub target_bytes_per_second: Option<BytesPerSec>,
}

/// Rates in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RatesView {
    /// Towards the host.
    pub read_bytes_per_second: BytesPerSec,
    /// Towards the devices.
    pub write_bytes_per_second: BytesPerSec,
}

/// A placement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacementView {
    /// 1 is the best.
    pub rank: u8,
    /// What goes where.
    pub slots: Vec<FilledView>,
    /// What all devices move when all are at work.
    pub together: RatesView,
    /// The sum of what each moves alone.
    pub alone: RatesView,
    /// What they share.
    pub shared: Vec<SharedView>,
    /// Firmware settings to change.
    pub settings: Vec<SettingView>,
    /// Slots and connectors that are off or narrower.
    pub lost: Vec<String>,
    /// Cards to buy.
    pub parts: Vec<PartView>,
    /// Slots for cards that are used.
    pub slots_used: usize,
    /// Slots for cards that are used now, with what is in them.
    pub slots_used_before: Option<usize>,
    /// Slots for cards that stay free and work.
    pub slots_free: Vec<String>,
    /// How drives and network cards lie on the sockets; `null` when there is one socket, or not both of them.
    pub balance: Option<BalanceView>,
    /// Why it is not the best; `null` for the best.
    pub why_not_best: Option<String>,
}

/// A slot with what goes into it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilledView {
    /// The slot.
    pub slot: String,
    /// What carries the drives; `null` for a card, or a drive right in the slot.
    pub card: Option<String>,
    /// How the firmware has to split it.
    pub bifurcation: Option<String>,
    /// The lanes that the slot has.
    pub lanes: u8,
    /// The devices.
    pub devices: Vec<DeviceView>,
}

/// A device in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceView {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The PCIe generation of its link.
    pub generation: Option<u8>,
    /// The lanes of its link.
    pub lanes: u8,
    /// What it moves when all others are idle.
    pub alone: RatesView,
    /// What it moves when all are at work.
    pub together: RatesView,
    /// Why it does not move more alone.
    pub limited_by: String,
}

/// Something that several devices share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedView {
    /// What it is.
    pub name: String,
    /// What it carries.
    pub carries: RatesView,
    /// What the devices behind it move alone, added up.
    pub asked: RatesView,
    /// How many there are.
    pub devices: usize,
    /// Whether it limits them when all are at work.
    pub limits: bool,
}

/// A firmware setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SettingView {
    /// Where it is.
    pub menu: String,
    /// What to set it to.
    pub value: String,
}

/// Cards of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartView {
    /// How many.
    pub count: usize,
    /// Which.
    pub name: String,
    /// What all of them cost, in the user's currency; absent when no prices were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// How drives and network cards lie on the sockets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BalanceView {
    /// For each socket what its drives read and its network cards send.
    pub sockets: Vec<SocketView>,
    /// What the network cards can send of what is on the drives.
    pub served_bytes_per_second: BytesPerSec,
    /// What of it crosses sockets.
    pub crossing_bytes_per_second: BytesPerSec,
    /// The same with all drives on one socket.
    pub one_sided_bytes_per_second: BytesPerSec,
    /// What the balance gains over that, as a fraction.
    pub gain: f64,
    /// What the connection between the sockets carries.
    pub interconnect: Option<CarrierView>,
}

/// One socket.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketView {
    /// What its drives read.
    pub drives_bytes_per_second: BytesPerSec,
    /// What its network cards send.
    pub network_bytes_per_second: BytesPerSec,
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
    pub together: Option<RatesView>,
    /// Slots for cards that are used.
    pub slots_used: Option<usize>,
    /// In words.
    pub text: String,
}

/// What to build on the drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LayoutsView {
    /// The aims, as typed.
    pub aims: String,
    /// How many drives there are.
    pub drives: u8,
    /// Layouts that do all that must be, the best first.
    pub ranked: Vec<LayoutView>,
    /// Layouts that do not.
    pub unfit: Vec<LayoutView>,
    /// What a person should know.
    pub advice: Vec<AdviceView>,
}

/// A layout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LayoutView {
    /// What people call it.
    pub name: String,
    /// The array.
    pub array: Array,
    /// Where encryption sits.
    pub encryption: Encryption,
    /// What is left of the capacity of all drives, 0 to 1.
    pub capacity: f64,
    /// How many drives may fail.
    pub survives: u8,
    /// Sequential reads; `null` when the rate of the cipher is not known.
    pub read_bytes_per_second: Option<BytesPerSec>,
    /// Sequential writes likewise.
    pub write_bytes_per_second: Option<BytesPerSec>,
    /// Small random reads, in drives.
    pub read_iops_drives: f64,
    /// Small random writes, in drives.
    pub write_iops_drives: f64,
    /// Bytes that each drive writes for each byte written.
    pub wear: f64,
    /// What limits reads.
    pub limit: Cow<'static, str>,
    /// What it holds; absent unless the size of a drive was stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usable_bytes: Option<u64>,
    /// Years until the first drive was written as often as it may be; absent unless that and the writes of a day were stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endurance_years: Option<f64>,
    /// How long a rebuild takes; absent where nothing can be rebuilt, or the size of a drive was not stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuild_seconds: Option<RangeView>,
    /// The chance that data is lost by further failures during one rebuild; absent unless a rate of failures was stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_while_rebuilding: Option<RangeView>,
}

/// From the best to the worst case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RangeView {
    /// At best.
    pub best: f64,
    /// At worst.
    pub worst: f64,
}

impl RangeView {
    const fn of((best, worst): (f64, f64)) -> Self {
        Self { best, worst }
    }
}

/// One thing that a person should know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdviceView {
    /// In words.
    pub text: String,
    /// What reads would gain.
    pub gain_bytes_per_second: Option<BytesPerSec>,
}
