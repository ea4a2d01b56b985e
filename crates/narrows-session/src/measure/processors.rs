//! Which processors a session may use.

use narrows_machine::Machine;
use narrows_model::path::{HopSpec, Path};

/// The processors that a session may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Processors {
    /// Those that workers are tied to, in turn; empty leaves them free.
    pub tied_to: Vec<u32>,
    /// How many are online, at least 1.
    pub online: u32,
}

impl Processors {
    /// On a machine with several nodes those next to the path's controller; anywhere otherwise.
    pub fn of(machine: &Machine, path: &Path) -> Self {
        let online = machine.cpus.online.value().map_or(1, |cpus| u32::try_from(cpus.len()).unwrap_or(1));
        Self { tied_to: tied_to(machine, path), online: online.max(1) }
    }

    /// The same for several paths at once: those that suit all of them, anywhere where they differ.
    pub fn of_all<'a>(machine: &Machine, paths: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut each = paths.into_iter().map(|path| Self::of(machine, path));
        let first = each.next().unwrap_or_default();
        let (online, is_one) = (first.online, each.all(|other| other.tied_to == first.tied_to));
        Self { tied_to: if is_one { first.tied_to } else { Vec::new() }, online }
    }
}

fn tied_to(machine: &Machine, path: &Path) -> Vec<u32> {
    if machine.cpus.nodes.len() < 2 {
        return Vec::new();
    }
    let next_to_controller = path.hops.iter().find_map(|hop| match &hop.spec {
        HopSpec::Controller(controller) | HopSpec::Hba(controller) => controller.numa_node.get(),
        _ => None,
    });
    let of_node = |id: u32| machine.cpus.nodes.iter().find(|node| node.id == id);
    next_to_controller.and_then(of_node).map(|node| node.cpus.clone()).unwrap_or_default()
}
