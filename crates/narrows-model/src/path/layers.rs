//! The layers of a path at which load can be run, from the media up: devices, arrays, mappings, caches, file systems.

use super::{Hop, HopId, HopSpec, Path, Target};
use narrows_machine::Machine;
use narrows_machine::block::BlockKind;

/// What is opened to run load at a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerEntry {
    /// A block device or partition, by kernel name.
    Block(String),
    /// A file that a loop device makes a device of.
    File(String),
    /// A file system, by the file or directory that was asked about.
    Mount(String),
}

/// One layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    pub hop: HopId,
    /// Its name for a person.
    pub name: String,
    /// What is opened for it.
    pub entry: LayerEntry,
    /// The layers right below it, as places in the list.
    pub below: Vec<usize>,
}

/// The layers of a path, each after all that lie below it. Hops that are no place to read from (links, controllers,
/// networks) are none.
pub fn layers(machine: &Machine, path: &Path) -> Vec<Layer> {
    let mut stack = Stack { machine, path, layers: Vec::new() };
    let is_top = |hop: &&Hop| hop.kind().is_layer() && stack.parent(hop).is_none();
    let tops: Vec<&Hop> = path.hops.iter().filter(is_top).collect();
    for hop in tops {
        stack.put(hop, path.hops.len());
    }
    stack.layers
}

struct Stack<'a> {
    machine: &'a Machine,
    path: &'a Path,
    layers: Vec<Layer>,
}

impl<'a> Stack<'a> {
    /// The next layer towards the application.
    fn parent(&self, hop: &Hop) -> Option<&'a Hop> {
        let mut at = hop.above.as_ref();
        for _ in 0..self.path.hops.len() {
            let above = self.path.hop(at?)?;
            if above.kind().is_layer() {
                return Some(above);
            }
            at = above.above.as_ref();
        }
        None
    }

    /// Puts a layer and all below it; no more than `depth` deep, for a path may be made of foreign text.
    fn put(&mut self, hop: &'a Hop, depth: usize) -> Option<usize> {
        if let Some(place) = self.layers.iter().position(|layer| layer.hop == hop.id) {
            return Some(place);
        }
        let depth = depth.checked_sub(1)?;
        let layers = self.path.hops.iter().filter(|other| other.kind().is_layer());
        let is_child = |other: &&Hop| self.parent(other).is_some_and(|parent| parent.id == hop.id);
        let children: Vec<&Hop> = layers.filter(is_child).collect();
        let below = children.into_iter().filter_map(|child| self.put(child, depth)).collect();
        let (entry, name) = (self.entry(hop)?, hop.name.clone());
        self.layers.push(Layer { hop: hop.id.clone(), name, entry, below });
        Some(self.layers.len() - 1)
    }

    fn entry(&self, hop: &Hop) -> Option<LayerEntry> {
        let parent = self.parent(hop);
        if let HopSpec::Filesystem(filesystem) = &hop.spec {
            return match parent.and_then(Hop::block_name) {
                Some(block) => match &self.machine.block.get(block)?.kind {
                    BlockKind::Loop(file) => file.file.get().map(LayerEntry::File),
                    _ => None,
                },
                None => Some(LayerEntry::Mount(match &self.path.asked {
                    Target::Mount { path, .. } if !path.is_empty() => path.clone(),
                    _ => filesystem.point.clone(),
                })),
            };
        }
        let block = hop.block_name()?;
        let partition = self.named_by(parent).into_iter().find(|name| self.is_part_of(name, block));
        Some(LayerEntry::Block(partition.unwrap_or_else(|| block.to_owned())))
    }

    /// The devices that a layer, or the question itself, names right below it.
    fn named_by(&self, parent: Option<&Hop>) -> Vec<String> {
        match (parent.map(|hop| (&hop.spec, hop.block_name())), &self.path.asked) {
            (Some((HopSpec::Filesystem(filesystem), _)), _) => {
                let is_it = |mount: &&narrows_machine::mount::Mount| mount.point == filesystem.point;
                self.machine.mounts.iter().filter(is_it).flat_map(|mount| mount.devices.clone()).collect()
            }
            (Some((_, Some(block))), _) => {
                self.machine.block.get(block).map(|device| device.slaves.clone()).unwrap_or_default()
            }
            (None, Target::Block(name)) => vec![name.clone()],
            _ => Vec::new(),
        }
    }

    fn is_part_of(&self, name: &str, whole: &str) -> bool {
        let part = self.machine.block.get(name).and_then(|device| device.partition_of.as_deref());
        part == Some(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::build;
    use narrows_base::fact::Fact;
    use narrows_machine::block::{BlockDevice, MdArray, Transport};
    use narrows_machine::mount::Mount;

    fn disk(name: &str) -> BlockDevice {
        BlockDevice { name: name.to_owned(), transport: Transport::default(), ..BlockDevice::default() }
    }

    /// ext4 on md0, a stripe of a whole drive and of a partition.
    fn machine() -> Machine {
        let mut machine = Machine::default();
        let md = MdArray { level: Fact::known("raid0".to_owned(), "level"), ..MdArray::default() };
        let slaves = vec!["vda".to_owned(), "vdb1".to_owned()];
        let array = BlockDevice { kind: BlockKind::Md(Box::new(md)), slaves, ..disk("md0") };
        let part =
            BlockDevice { kind: BlockKind::Partition, partition_of: Some("vdb".to_owned()), ..disk("vdb1") };
        for device in [disk("vda"), disk("vdb"), part, array] {
            machine.block.insert(device.name.clone(), device);
        }
        let devices = vec!["md0".to_owned()];
        machine.mounts.push(Mount {
            point: "/srv".to_owned(),
            fstype: "ext4".to_owned(),
            devices,
            ..Mount::default()
        });
        machine
    }

    fn shown(machine: &Machine, target: &Target) -> Vec<(String, LayerEntry, Vec<usize>)> {
        let path = build::path(machine, target).expect("there is a path");
        layers(machine, &path)
            .into_iter()
            .map(|layer| (layer.hop.to_string(), layer.entry, layer.below))
            .collect()
    }

    #[test]
    fn a_stack_is_climbed_from_its_members_up_and_a_partition_is_itself() {
        let block = |name: &str| LayerEntry::Block(name.to_owned());
        let asked = Target::Mount { index: 0, path: "/srv/data".to_owned() };
        assert_eq!(
            shown(&machine(), &asked),
            [
                ("device:vda".to_owned(), block("vda"), vec![]),
                ("device:vdb".to_owned(), block("vdb1"), vec![]),
                ("raid:md0".to_owned(), block("md0"), vec![0, 1]),
                ("filesystem:/srv".to_owned(), LayerEntry::Mount("/srv/data".to_owned()), vec![2]),
            ]
        );
    }

    #[test]
    fn a_partition_that_was_asked_for_is_opened_and_not_its_disk() {
        let asked = Target::Block("vdb1".to_owned());
        assert_eq!(
            shown(&machine(), &asked),
            [("device:vdb".to_owned(), LayerEntry::Block("vdb1".to_owned()), vec![])]
        );
    }
}
