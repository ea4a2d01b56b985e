//! A finding: what is so, how we know, and what to do.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use narrows_base::fact::{Fact, NOT_LOOKED_FOR};
use narrows_base::units::BytesPerSec;
use narrows_model::path::{Hop, HopId, HopSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The stable codes of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// A link has fewer lanes than both its ends can do.
    LinkWidthDegraded,
    /// A link has fewer lanes than it had before, as `narrows watch` saw it.
    NarrowerThanBefore,
    /// A link is slower than both its ends can do, under load.
    LinkSpeedDegraded,
    /// The slot gives a device less than it can use, by design or by a setting.
    SlotLimited,
    /// A link is slow because its device is idle.
    PowerSave,
    /// Devices behind a switch can together do more than its uplink.
    SwitchOversubscribed,
    /// The path goes through the chipset's shared uplink.
    ChipsetShared,
    /// The device is on another NUMA node than the processors that use it.
    NumaRemote,
    /// Devices are spread unevenly over NUMA nodes.
    NumaUnbalanced,
    /// Payload or read-request sizes cost rate.
    MpsMrrs,
    /// A link reports errors.
    AerErrors,
    /// A drive, or the way to it, fails.
    DeviceErrors,
    /// A device slows down because it is hot.
    Thermal,
    /// A slot seems to be split and not all of its devices are there.
    MissingDeviceBifurcation,
    /// SMBIOS contradicts what the bus says.
    SmbiosContradiction,
    /// USB is the bottleneck.
    UsbLimited,
    /// SATA is the bottleneck, or runs below what both ends can do.
    SataLimited,
    /// The storage adapter is the bottleneck.
    HbaLimited,
    /// The network is the bottleneck.
    NetworkLimited,
    /// The slot of a network card is narrower than its wire.
    NicSlotLimited,
    /// The cipher is the bottleneck.
    CryptoCpu,
    /// dm-crypt's work queues cost latency.
    CryptoWorkqueue,
    /// One member holds the array back.
    RaidSlowMember,
    /// The array is resyncing.
    RaidResync,
    /// The array lacks members.
    RaidDegraded,
    /// The file system is the bottleneck.
    FilesystemLimited,
    /// The device itself is the bottleneck, as it should be.
    DeviceLimited,
    /// The load generator is the bottleneck.
    GeneratorCpu,
    /// The bytes came from a cache.
    CacheMeasured,
    /// The run was too short.
    TooShort,
    /// Nothing that was asked for ended, so nothing was measured.
    NoReadEnded,
    /// The rate did not hold steady.
    Unsteady,
    /// The drive's fast cache ran out.
    SlcExhausted,
    /// The queue was not deep enough to fill the path.
    DepthTooLow,
    /// The result is above physics.
    AboveCeiling,
    /// A unit is wrong.
    UnitsSuspect,
    /// A rate limiter held the result down, not the storage.
    Throttled,
    /// Zeros were written, or addresses read that hold nothing.
    ZeroOrSparseData,
    /// Numbers of a result contradict each other.
    InconsistentNumbers,
    /// The run failed: there is no result, or none that counts.
    RunFailed,
    /// Writes that are called synchronous were not made durable.
    NotSynchronous,
    /// Something else used the storage at the same time.
    ConcurrentLoad,
    /// Machines that ran the same load together got unequal shares.
    UnevenNodes,
    /// Facts are missing that could change the verdict.
    PartialInput,
}

impl Code {
    /// The code as it stands in JSON.
    pub fn as_str(self) -> String {
        word(self)
    }

    /// The observation that disproves a finding of this code.
    pub fn not_so_when(self) -> &'static str {
        NOT_SO_WHEN.get(self.as_str().as_str()).map_or("", String::as_str)
    }
}

/// A value as it stands in JSON, where it is a word.
pub fn word(value: impl Serialize) -> String {
    let value = serde_json::to_value(value).ok();
    value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something is not as it could be, and can be changed.
    Fault,
    /// A narrows by design.
    Limit,
    /// Good to know.
    Info,
}

/// How sure we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The facts leave no other reading.
    High,
    /// The likeliest reading.
    Medium,
    /// A suspicion.
    Low,
}

/// One observed fact that a finding rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// What was observed: `current width`.
    pub fact: String,
    /// What it was, with its unit.
    pub value: String,
    /// The file, command or measurement that says so.
    pub source: String,
}

impl Evidence {
    /// An observation.
    pub fn new(fact: impl Into<String>, value: impl ToString, source: impl Into<String>) -> Self {
        Self { fact: fact.into(), value: value.to_string(), source: source.into() }
    }

    /// An observation from a fact; a missing fact is observed as missing.
    pub fn from_fact<T: ToString>(fact: impl Into<String>, observed: &Fact<T>) -> Self {
        let missing = || observed.missing().unwrap_or_default();
        let value = observed.value().map_or_else(missing, ToString::to_string);
        Self::new(fact, value, observed.source().as_str())
    }
}

/// What to do, and what it brings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// The step, as an instruction.
    pub action: String,
    /// How much faster the path can become; `None` where that cannot be computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain_bytes_per_second: Option<BytesPerSec>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// What kind of finding it is.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// The hop it is about; `None` where it is about no single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hop: Option<HopId>,
    /// The device it is about: a PCI address, block device, interface or mount.
    pub subject: String,
    /// One sentence with the numbers.
    pub summary: String,
    /// How we know.
    pub evidence: Vec<Evidence>,
    /// What to do, best first.
    pub advice: Vec<Advice>,
    /// How sure we are.
    pub confidence: Confidence,
    /// What would show that it does not hold: what the rule knows, or else what [`Code::not_so_when`] says.
    #[serde(default)]
    pub not_so_when: String,
}

impl Advice {
    /// A step whose gain cannot be computed.
    pub fn new(action: impl Into<String>) -> Self {
        Self { action: action.into(), gain_bytes_per_second: None }
    }

    /// A step with what it brings; a gain of nothing is left out.
    pub fn with_gain(action: impl Into<String>, gain: Option<BytesPerSec>) -> Self {
        Self { action: action.into(), gain_bytes_per_second: gain.filter(|gain| gain.get() > 0.0) }
    }
}

impl Finding {
    /// A finding about a hop, without evidence and advice as yet.
    pub fn about(code: Code, severity: Severity, hop: &Hop, summary: impl Into<String>) -> Self {
        Self { hop: Some(hop.id.clone()), ..Self::on(code, severity, subject_of(hop), summary) }
    }

    /// A finding about a whole path or machine, without evidence and advice as yet.
    pub fn on(
        code: Code,
        severity: Severity,
        subject: impl Into<String>,
        summary: impl Into<String>,
    ) -> Self {
        Self {
            code,
            severity,
            hop: None,
            subject: subject.into(),
            summary: summary.into(),
            evidence: Vec::new(),
            advice: Vec::new(),
            confidence: Confidence::High,
            not_so_when: code.not_so_when().to_owned(),
        }
    }

    /// Adds what was observed; what nobody looked for is no observation.
    pub fn with_evidence(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        let was_looked_for = |one: &Evidence| one.value != NOT_LOOKED_FOR;
        self.evidence.extend(evidence.into_iter().filter(was_looked_for));
        self
    }

    /// Adds one observation.
    pub fn seen(self, fact: impl Into<String>, value: impl ToString, source: impl Into<String>) -> Self {
        self.with_evidence([Evidence::new(fact, value, source)])
    }

    /// Adds a fact as an observation.
    pub fn seen_fact<T: ToString>(self, fact: impl Into<String>, observed: &Fact<T>) -> Self {
        self.with_evidence([Evidence::from_fact(fact, observed)])
    }

    /// Adds a fact as an observation where it is known.
    pub fn seen_known<T: ToString>(self, fact: impl Into<String>, observed: &Fact<T>) -> Self {
        self.with_evidence(observed.value().map(|_| Evidence::from_fact(fact, observed)))
    }

    /// Adds a step.
    pub fn with_advice(mut self, advice: impl IntoIterator<Item = Advice>) -> Self {
        self.advice.extend(advice);
        self
    }

    /// Adds a step whose gain cannot be computed.
    pub fn advise(self, action: impl Into<String>) -> Self {
        self.with_advice([Advice::new(action)])
    }

    /// Adds a step whose gain cannot be computed, where there is one.
    pub fn advise_if(self, is_one: bool, action: impl Into<String>) -> Self {
        if is_one { self.advise(action) } else { self }
    }

    /// Adds a step with what it brings.
    pub fn advise_gain(self, action: impl Into<String>, gain: Option<BytesPerSec>) -> Self {
        self.with_advice([Advice::with_gain(action, gain)])
    }

    /// Says what would disprove it, and shows it behind what was observed.
    pub fn not_so_when(mut self, observed: impl Into<String>) -> Self {
        self.not_so_when = observed.into();
        self.evidence.push(Evidence::new("not so when", &self.not_so_when, "the rule itself"));
        self
    }

    /// Says how sure we are.
    pub const fn with_confidence(mut self, confidence: Confidence) -> Self {
        self.confidence = confidence;
        self
    }

    /// The most that any of its steps brings.
    pub fn best_gain(&self) -> BytesPerSec {
        let gains = self.advice.iter().filter_map(|advice| advice.gain_bytes_per_second);
        gains.fold(BytesPerSec::default(), BytesPerSec::max)
    }
}

/// The device that a hop is: a PCI address, a block device, an interface or a mount; else the hop's name.
fn subject_of(hop: &Hop) -> String {
    match &hop.spec {
        HopSpec::Link(link) => link.device.address.to_string(),
        HopSpec::Chipset(uplink) | HopSpec::Switch(uplink) => uplink.address.to_string(),
        HopSpec::Network(network) => network.interface.clone(),
        HopSpec::Filesystem(filesystem) => filesystem.point.clone(),
        HopSpec::Hba(controller) | HopSpec::Controller(controller) => {
            controller.address.map_or_else(|| controller.name.clone(), |address| address.to_string())
        }
        _ => hop.block_name().map_or_else(|| hop.name.clone(), |block| format!("/dev/{block}")),
    }
}

/// What each code means, and what would show that it does not hold.
const PAGE: &str = include_str!("findings.md");

/// What disproves a finding of each code, in the words of [`PAGE`].
static NOT_SO_WHEN: LazyLock<BTreeMap<&str, String>> = LazyLock::new(|| {
    let sections = PAGE.split("\n## ").filter_map(|section| section.split_once('\n'));
    let words = |(code, text): (&'static str, &str)| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, behind) = text.split_once("*Not so when:* ")?;
        Some((code, behind.split_once(". *Do:*")?.0.to_owned()))
    };
    sections.filter_map(words).collect()
});
