//! What address translation leaves of a link, where the description says that the host translates.

use super::hops::{Loaded, host_of};
use crate::ceiling::{Ceiling, Limit, iommu};
use crate::path::HopKind;
use crate::path::file::{Iommu, System, Workload};
use narrows_base::units::{Bytes, human};

/// The smallest page of x86 and arm64.
const PAGE: Bytes = Bytes::from_kib(4);

/// Lowers the ceilings of a link by [`iommu::kept`]. The window of addresses is what is under way.
pub(super) fn translate(system: &System, loaded: &mut Loaded, workload: &Workload) {
    if loaded.hop.kind() != HopKind::Link {
        return;
    }
    let Some(host) = host_of(system, &loaded.part()).filter(|host| host.iommu.is_some_and(Iommu::translates))
    else {
        return;
    };
    let large_pages = host.iommu_pages.is_some_and(|pages| pages > PAGE);
    let size = Bytes::new((workload.block_size.as_f64() / loaded.touched.max(1.0)) as u64);
    let window = Bytes::new((workload.in_flight() * workload.block_size.as_f64()) as u64);
    for ceiling in [&mut loaded.ceilings.read, &mut loaded.ceilings.write] {
        let Ceiling::Known(limit) = ceiling else { continue };
        let kept = iommu::kept(limit.rate, size, window, large_pages);
        if kept >= 1.0 {
            continue;
        }
        let rate = limit.rate * kept;
        let formula = format!(
            "{}; × {kept:.2} that the IOMMU leaves with I/Os of {} in {} = {rate}",
            limit.formula,
            human::block_size(size),
            human::block_size(window)
        );
        *ceiling = Ceiling::Known(Limit { rate, formula, ..limit.clone() });
        loaded.translated = true;
    }
}
