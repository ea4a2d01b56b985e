//! Two states of one link.

use narrows_base::fact::Fact;
use narrows_machine::pci::{LinkState, PciDevice};

/// Sees to it that `kept`, into which `other` is filled, has the worse of the two states of its link, and remembers the
/// better. Nothing changes unless both say at which speed and width the link ran, or one of them and both agree on which.
pub(super) fn keep_worse(kept: &mut PciDevice, other: &mut PciDevice) {
    let (Some(one), Some(two)) = (rate(kept), rate(other)) else { return };
    if one != two {
        if two < one {
            std::mem::swap(&mut kept.link.current_speed, &mut other.link.current_speed);
            std::mem::swap(&mut kept.link.current_width, &mut other.link.current_width);
            std::mem::swap(&mut kept.express, &mut other.express);
        }
        remember(kept, state(other));
    }
    let before = other.best_link.take();
    remember(kept, before);
}

/// Millions of transfers per second over all lanes.
fn rate(device: &PciDevice) -> Option<u64> {
    let (speed, width) = (device.link.current_speed.value()?, device.link.current_width.value()?);
    Some(u64::from(speed.mega()) * u64::from(width.get()))
}

fn state(device: &PciDevice) -> Option<LinkState> {
    let link = &device.link;
    let source = match &link.current_speed {
        Fact::Known { source, .. } => source.clone(),
        _ => link.current_width.source().clone(),
    };
    Some(LinkState { speed: link.current_speed.get()?, width: link.current_width.get()?, source })
}

/// Keeps the best state that was seen.
fn remember(device: &mut PciDevice, seen: Option<LinkState>) {
    let rate = |state: &LinkState| u64::from(state.speed.mega()) * u64::from(state.width.get());
    let known = device.best_link.as_ref().map(rate);
    if let Some(seen) = seen.filter(|seen| known.is_none_or(|known| rate(seen) > known)) {
        device.best_link = Some(seen);
    }
}
