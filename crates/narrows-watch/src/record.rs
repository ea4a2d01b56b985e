//! What the journal says: one record a line, in JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    /// When it was written, in UTC; of a change, when the new value was read.
    pub at: String,
    /// What is said.
    #[serde(flatten)]
    pub what: What,
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum What {
    /// The recorder began.
    Started {
        /// The version of narrows.
        version: String,
        /// The seconds between readings.
        every_seconds: f64,
        /// What cannot be heard, and why; it is then seen at the next reading only.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unheard: Vec<String>,
    },
    /// The recorder ended as it was asked to.
    Stopped,
    /// The recorder is there; what it read is as the records before tell.
    Alive {
        /// What was not read whole this time, by name: it sleeps, is down or does not answer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unread: Vec<String>,
    },
    /// The state of something that was not seen before, or of which the journal before does not tell.
    State {
        /// Of what.
        subject: Subject,
        /// Each value that is known.
        values: BTreeMap<Property, Value>,
    },
    /// A value changed.
    Change(Change),
    /// Something is not there any more.
    Gone {
        /// What.
        subject: Subject,
        /// When it was last there, in UTC.
        after: String,
    },
    /// Events were lost; everything was read again.
    Gap {
        /// What was lost.
        lost: String,
        /// When it was still whole, in UTC.
        after: String,
        /// How often since the last record of this kind.
        times: u64,
    },
    /// The wall clock was set. Dates before this record are those of the clock as it stood.
    ClockSet {
        /// By how many seconds; negative when it was set back.
        seconds: f64,
    },
    /// The machine slept.
    Slept {
        /// For how many seconds.
        seconds: f64,
    },
    /// The best state of a link was kept.
    Baseline {
        /// Of which link.
        subject: Subject,
        /// Why.
        event: BaselineEvent,
        /// The widest that counts from now on, in lanes.
        lanes: u8,
        /// The highest speed under load that counts from now on, in MT/s.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        loaded_megatransfers: Option<u32>,
        /// The place that the device had before, where it moved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        was: Option<String>,
    },
}

/// A value that changed between two readings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// Of what.
    pub subject: Subject,
    /// Which value.
    pub property: Property,
    /// What it was.
    pub from: Value,
    /// What it is.
    pub to: Value,
    /// When it was last read as it was, in UTC: it changed between this and `at`.
    pub after: String,
    /// What led to the reading.
    pub noticed_by: Noticed,
    /// What the kernel's log said of this link meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel: Vec<KernelEvent>,
}

/// What a record is about. No serial number is in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Subject {
    /// What kind of thing.
    pub kind: Kind,
    /// PCI address of the lower end of a link, or kernel name.
    pub name: String,
    /// The slot by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// What the device is, in words: `NVMe controller`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Which device it is: a hash of its serial number under a salt of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
}

/// Kinds of things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A PCIe link.
    Link,
    /// A md array.
    Array,
    Drive,
    /// A network interface.
    Nic,
}

/// Values that are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Property {
    /// The width of a link.
    Lanes,
    /// The speed of a link while data moves, in MT/s.
    LoadedMegatransfers,
    /// Correctable errors of a link since boot.
    CorrectableErrors,
    /// Non-fatal errors of a link since boot.
    NonfatalErrors,
    /// Fatal errors of a link since boot.
    FatalErrors,
    /// What an array does: `idle`, `resync`, `recover`, `check`.
    SyncAction,
    /// Members that an array lacks.
    MissingMembers,
    /// The temperature of a drive in whole °C.
    Celsius,
    /// Whether a drive is at its warning temperature: 1 or 0.
    Hot,
    /// The line rate of a network interface in Mbit/s.
    Megabits,
}

impl Property {
    /// Whether it only counts up, from boot on.
    pub const fn is_counter(self) -> bool {
        matches!(self, Self::CorrectableErrors | Self::NonfatalErrors | Self::FatalErrors)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Value {
    /// A number, in the unit of its property.
    Number(i64),
    /// A word.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// What led to a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Noticed {
    /// It was time.
    Reading,
    /// The kernel told of a device.
    Event,
    /// The kernel's log told of a link.
    KernelLog,
    /// The recorder began: it changed while nobody watched.
    Start,
}

/// Why the best state of a link was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BaselineEvent {
    /// The link was not known.
    New,
    /// It was better than ever.
    Raised,
    /// Another device is in its place.
    Replaced,
    /// Its device was in another place.
    Moved,
    /// Somebody accepted the state as it is.
    Accepted,
}

/// What the kernel's log says of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelEvent {
    /// On the clock of the log, in microseconds.
    pub micros: u64,
    /// The function that it names.
    pub function: String,
    /// What happened.
    pub what: LinkEvent,
    /// The error by its name, `RxErr`, where the log decodes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What can happen to a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LinkEvent {
    /// An error was reported (AER).
    Error,
    /// The link went down.
    Down,
    /// The link came up.
    Up,
    /// The kernel trained it again.
    Retrained,
}
