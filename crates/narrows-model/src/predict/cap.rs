//! What somebody set as a limit: the I/Os and bytes that virtual machines may move.

use super::bound::{Bound, BoundKind};
use super::hops::Loaded;
use super::law::{Law, Term};
use crate::ceiling::caps::{self, Cap};
use crate::ceiling::{Basis, FactRef};
use crate::path::HopKind;
use crate::path::file::{PartKind, System, Vm, Workload};
use narrows_base::units::{Bytes, BytesPerSec, human};

/// One bucket of a cap: what passes with the blocks of a workload, as a bound.
pub(super) struct Bucket {
    /// Which of several that the hop has.
    pub(super) which: u8,
    /// What of it a byte uses up, in seconds.
    pub(super) per_byte: f64,
    /// The bound.
    pub(super) bound: Bound,
}

/// The buckets of a hop: one for I/Os and one for bytes, each shared by all who cross the hop.
pub(super) fn buckets(system: &System, loaded: &Loaded, workload: &Workload) -> Vec<Bucket> {
    if loaded.hop.kind() != HopKind::Controller {
        return Vec::new();
    }
    let Some(part) = system.part(&loaded.part()) else { return Vec::new() };
    let PartKind::Vm(vm) = &part.kind else { return Vec::new() };
    let size = workload.block_size;
    let caps = [Cap { iops: vm.iops, rate: None }, Cap { iops: None, rate: vm.rate }];
    let passing = (0u8..).zip(caps).filter(|(_, cap)| cap.passes(size).is_some());
    let made = passing.map(|(which, cap)| {
        let rate = caps::together(cap, vm.count, size, BytesPerSec::new(f64::INFINITY));
        let bound = bound(loaded, part.given.as_str(), (vm, cap), size, rate);
        Bucket { which, per_byte: 1.0 / rate.get(), bound }
    });
    made.filter(|bucket| bucket.per_byte.is_finite() && bucket.per_byte > 0.0).collect()
}

fn bound(loaded: &Loaded, given: &str, (vm, cap): (&Vm, Cap), size: Bytes, rate: BytesPerSec) -> Bound {
    let (value, each) = match (cap.iops, cap.rate) {
        (Some(iops), _) => (iops.to_string(), format!("{iops} × {}", human::block_size(size))),
        (None, Some(rate)) => (rate.to_string(), rate.to_string()),
        (None, None) => Default::default(),
    };
    let noun = if vm.count == 1 { "machine" } else { "machines" };
    Bound {
        kind: BoundKind::Cap,
        hop: loaded.hop.id.clone(),
        name: format!("cap of {}", loaded.hop.name),
        direction: None,
        rate,
        basis: Basis::Spec,
        formula: format!("{} {noun} × {each} = {rate}", vm.count),
        facts: vec![FactRef { fact: "cap of each".to_owned(), value, source: given.to_owned() }],
        terms: Term::whole(Law::Cap),
    }
}
