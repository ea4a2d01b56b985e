//! `--engine passthrough`: finds the namespace behind a target, and refuses what cannot be read by NVMe commands.

use crate::objection::Objection;
use crate::place::Place;
use crate::scene::Scene;
use narrows_base::units::Bytes;
use narrows_load::Namespace;
use narrows_machine::block::BlockDevice;
use narrows_machine::block::namespace;

/// The namespace at a place.
///
/// # Errors
/// It is no whole NVMe drive, its character device is missing, its blocks carry metadata, or the drive does not say how
/// it is formatted.
pub(crate) fn namespace(scene: &Scene, place: &Place) -> Result<Namespace, Objection> {
    let name = match place {
        Place::Device(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
        Place::File(_) | Place::Scratch(_) | Place::Owned { .. } => None,
    };
    let Some(name) = name.filter(|name| name.starts_with("nvme")) else {
        return Err(Objection::new("passthrough reads NVMe drives only")
            .with_hint("name a whole drive such as /dev/nvme0n1, or leave out --engine passthrough"));
    };
    if let Some(disk) = scene.machine.block.get(&name).and_then(partitioned) {
        return Err(Objection::new(format!("`{name}` is a partition, and passthrough knows none"))
            .with_hint(format!("name the whole drive: /dev/{disk}")));
    }
    let found = namespace::read(&scene.root, &name);
    if !found.exists {
        return Err(Objection::new(format!("`{}` does not exist", found.device))
            .with_hint("NVMe passthrough needs Linux 5.19 or newer; leave out --engine passthrough"));
    }
    let (Some(id), Some(format), Some(largest)) = (found.id.get(), found.format.get(), found.largest.get())
    else {
        let why = found.format.missing().or_else(|| found.id.missing()).or_else(|| found.largest.missing());
        return Err(Objection::new(format!(
            "`{name}` does not say how it is formatted: {}",
            why.unwrap_or_default()
        ))
        .with_hint("run as root, or leave out --engine passthrough"));
    };
    if format.metadata > Bytes::new(0) {
        return Err(Objection::new(format!(
            "the blocks of `{name}` carry metadata, which passthrough does not read"
        ))
        .with_hint("leave out --engine passthrough"));
    }
    Ok(Namespace { device: found.device.into(), id, block: format.block, largest })
}

fn partitioned(device: &BlockDevice) -> Option<&str> {
    device.partition_of.as_deref()
}
