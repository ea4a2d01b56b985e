//! Two machines, or one before and after a change: which paths are gone, new or elsewhere, and what each may do now.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::foreign::word;
use super::{Verdict, foreign, verdict};
use narrows_base::units::BytesPerSec;

/// One path of two machines. At least one of the two has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathChange {
    /// In A; absent where A has no such path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a: Option<PathState>,
    /// In B; absent where B has no such path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b: Option<PathState>,
    /// Which may read faster, by the ceilings of its hops.
    pub verdict: Verdict,
}

impl PathChange {
    /// Whether its device has another address: it was moved, or what stands before it was.
    pub fn is_moved(&self) -> bool {
        let places = self.a.as_ref().zip(self.b.as_ref()).map(|(a, b)| (&a.place, &b.place));
        matches!(places, Some((Some(a), Some(b))) if a != b)
    }

    /// Whether anything that is known of it differs.
    pub fn differs(&self) -> bool {
        let is_other = matches!(self.verdict, Verdict::Faster | Verdict::Slower);
        self.a.is_none() || self.b.is_none() || is_other || self.is_moved()
    }

    /// The path as it is in B, else in A.
    pub fn latest(&self) -> Option<&PathState> {
        self.b.as_ref().or(self.a.as_ref())
    }
}

/// A path of one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathState {
    /// What it leads to: `/dev/nvme0n1`, `/home`, `0000:02:00.0`.
    pub target: String,
    /// The model of its device, where it is one alone and the model is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The hop by which its one device is connected: `link:0000:06:00.0`, `sata:ata1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The most that reads get; absent where no hop has a ceiling that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<BytesPerSec>,
    /// The name of the hop that limits them, or that it is the device itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<String>,
    /// The narrowest hop that other devices use, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared: Option<SharedHop>,
}

/// A hop that several paths cross.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedHop {
    /// Its name.
    pub name: String,
    /// What all of them get together.
    pub bytes_per_second: BytesPerSec,
    /// How many other targets cross it.
    pub others: usize,
}

/// The paths of a report on a machine, as many as any has.
pub(super) fn of(report: &Value) -> Vec<PathState> {
    const MOST: usize = 4000;
    foreign::list(report, "paths").filter_map(state).take(MOST).collect()
}

fn state(path: &Value) -> Option<PathState> {
    let hops = || foreign::list(path, "hops");
    let is_kind = |hop: &Value, kinds: &[&str]| {
        hop.get("kind").and_then(Value::as_str).is_some_and(|kind| kinds.contains(&kind))
    };
    let reads = |hop: &Value, name: &str| hop.get("ceiling")?.get("read")?.get(name)?.as_f64();
    let mut devices = hops().filter(|hop| is_kind(hop, &["device"]));
    let device = devices.next().filter(|_| devices.next().is_none());
    let facts = device.and_then(|device| device.get("ceiling")?.get("read"));
    let model = facts.into_iter().flat_map(|ceiling| foreign::list(ceiling, "facts"));
    let model = model.filter(|fact| word(fact, "fact").as_deref() == Some("model"));
    let link = device.and_then(|_| hops().find(|hop| is_kind(hop, &["link", "sata", "sas", "usb"])));
    let limiting = path.get("limiting_hop").and_then(|pair| word(pair, "read"));
    let limiting = hops().find(|hop| limiting.is_some() && word(hop, "id") == limiting);
    let shared = hops().filter_map(|hop| {
        let others = foreign::list(hop, "shared_with").count();
        let rate = reads(hop, "bytes_per_second").filter(|_| others > 0 && device.is_some())?;
        let is_way = is_kind(hop, &["link", "chipset", "switch", "hba", "controller", "usb", "socket"]);
        is_way.then_some((hop, rate, others))
    });
    let shared = shared.min_by(|(_, a, _), (_, b, _)| a.total_cmp(b)).and_then(|(hop, rate, others)| {
        Some(SharedHop { name: word(hop, "name")?, bytes_per_second: BytesPerSec::new(rate), others })
    });
    Some(PathState {
        target: word(path, "target")?,
        model: model.filter_map(|fact| word(fact, "value")).next(),
        place: link.and_then(|hop| word(hop, "id")),
        bytes_per_second: limiting.and_then(|hop| reads(hop, "path_bytes_per_second")).map(BytesPerSec::new),
        limited_by: limiting.and_then(|hop| match device {
            Some(device) if std::ptr::eq(device, hop) => Some("the device itself".to_owned()),
            _ => word(hop, "name"),
        }),
        shared,
    })
}

/// Each path of A with that of B which is the same: by its target, unless another device has that name now, else by the model of
/// its device.
pub(super) fn compare(a: &[PathState], b: &[PathState], threshold: f64) -> Vec<PathChange> {
    type Same = fn(&PathState, &PathState) -> bool;
    let by_target: Same =
        |a, b| a.target == b.target && (a.model == b.model || a.model.is_none() || b.model.is_none());
    let by_model: Same = |a, b| a.model.is_some() && a.model == b.model;
    let mut partner: Vec<Option<usize>> = vec![None; a.len()];
    let mut left: Vec<usize> = (0..b.len()).collect();
    for same in [by_target, by_model] {
        for (before, partner) in a.iter().zip(&mut partner).filter(|(_, partner)| partner.is_none()) {
            let at = left.iter().position(|index| b.get(*index).is_some_and(|after| same(before, after)));
            *partner = at.map(|at| left.remove(at));
        }
    }
    let pairs = a.iter().zip(partner).map(|(before, partner)| {
        let after = partner.and_then(|index| b.get(index)).cloned();
        (Some(before.clone()), after)
    });
    let new = left.iter().filter_map(|index| b.get(*index)).map(|after| (None, Some(after.clone())));
    pairs.chain(new).map(|(a, b)| PathChange { verdict: judged(&a, &b, threshold), a, b }).collect()
}

fn judged(a: &Option<PathState>, b: &Option<PathState>, threshold: f64) -> Verdict {
    let rate = |state: &Option<PathState>| state.as_ref()?.bytes_per_second.map(BytesPerSec::get);
    match (rate(a), rate(b)) {
        (Some(a), Some(b)) if a > 0.0 => {
            let change = b / a - 1.0;
            verdict(change, [change; 2], threshold)
        }
        _ => Verdict::NotComparable,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Comparison, Input};
    use super::*;
    use serde_json::json;

    /// A drive at a PCIe link that carries so many MB/s, behind an uplink that `others` use too.
    fn drive(target: &str, model: &str, address: &str, megabytes: u64, others: &[&str]) -> Value {
        let ceiling =
            |rate: u64| json!({ "read": { "bytes_per_second": rate, "path_bytes_per_second": rate } });
        let model = json!({ "read": { "facts": [{ "fact": "model", "value": model, "source": "" }] } });
        let link = format!("link:{address}");
        json!({
            "target": target,
            "limiting_hop": { "read": link, "write": null },
            "hops": [
                { "id": format!("device:{target}"), "kind": "device", "name": target, "ceiling": model },
                { "id": link, "kind": "link", "name": "PCIe 3.0", "ceiling": ceiling(megabytes * 1_000_000) },
                { "id": "link:up", "kind": "link", "name": "uplink", "shared_with": others, "ceiling": ceiling(7_000_000_000) },
            ],
        })
    }

    fn compared(a: &[Value], b: &[Value]) -> Comparison {
        let input = |name: &str, paths: &[Value]| Input::machine(name, &json!({ "paths": paths }));
        super::super::compare(&input("a", a), &input("b", b), 0.01)
    }

    fn targets(change: &PathChange) -> [Option<&str>; 2] {
        [&change.a, &change.b].map(|state| state.as_ref().map(|state| state.target.as_str()))
    }

    #[test]
    fn a_wider_link_is_faster_and_the_same_machine_is_the_same() {
        let a = [drive("/dev/nvme0n1", "A", "01:00.0", 400, &[])];
        let b = [drive("/dev/nvme0n1", "A", "01:00.0", 1600, &[])];
        let found = compared(&a, &b);
        assert_eq!(found.verdict, Verdict::Faster);
        assert!(found.paths.iter().all(|path| path.differs() && !path.is_moved()));
        assert_eq!(compared(&b, &a).verdict, Verdict::Slower);
        let same = compared(&a, &a);
        assert_eq!(same.verdict, Verdict::NotDistinguishable);
        assert!(!same.paths.iter().any(PathChange::differs) && same.inventory.is_empty());
    }

    #[test]
    fn a_drive_is_known_by_its_model_where_names_changed_places() {
        let a = [
            drive("/dev/nvme0n1", "A", "01:00.0", 3500, &[]),
            drive("/dev/nvme1n1", "B", "02:00.0", 3500, &[]),
        ];
        let b = [
            drive("/dev/nvme0n1", "B", "02:00.0", 3500, &[]),
            drive("/dev/nvme1n1", "A", "03:00.0", 3500, &[]),
        ];
        let found = compared(&a, &b);
        let pairs: Vec<_> = found.paths.iter().map(targets).collect();
        assert_eq!(
            pairs,
            [[Some("/dev/nvme0n1"), Some("/dev/nvme1n1")], [Some("/dev/nvme1n1"), Some("/dev/nvme0n1")],]
        );
        assert_eq!(found.paths.iter().map(PathChange::is_moved).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn what_is_gone_and_what_is_new_is_named_and_a_shared_hop_with_it() {
        let all = ["01:00.0", "02:00.0", "03:00.0", "04:00.0"];
        let four: Vec<Value> = all.iter().map(|at| drive(at, "SSD", at, 3500, &["x", "y", "z"])).collect();
        let one = [drive("09:00.0", "SSD", "09:00.0", 3500, &[])];
        let found = compared(&one, &four);
        let new = found.paths.iter().filter(|path| path.a.is_none());
        assert_eq!((found.paths.len(), new.count()), (4, 3));
        let shared = found.paths.last().and_then(PathChange::latest).and_then(|path| path.shared.clone());
        assert_eq!(shared.map(|hop| (hop.name, hop.others)), Some(("uplink".to_owned(), 3)));
        let gone = compared(&four, &one);
        assert_eq!(gone.paths.iter().filter(|path| path.b.is_none() && path.differs()).count(), 3);
    }

    #[test]
    fn a_rate_that_is_not_known_is_no_difference() {
        let mut unknown = drive("/dev/sda", "A", "01:00.0", 1, &[]);
        unknown["limiting_hop"] = Value::Null;
        let found = compared(&[drive("/dev/sda", "A", "01:00.0", 400, &[])], &[unknown]);
        assert_eq!(found.verdict, Verdict::NotComparable);
        assert!(!found.paths.iter().any(PathChange::differs));
    }
}
