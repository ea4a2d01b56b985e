//! Which steps make a cell.

use super::layout::{Cell, Encryption, FileSystem, Layout};
use super::step::{Level, On, Step};

/// The steps of a cell on `devices` devices in their order; or why it cannot be made, as a phrase.
///
/// # Errors
/// There are too few devices, or nothing here makes this.
pub fn recipe(cell: Cell, devices: usize) -> Result<Vec<Step>, String> {
    let fewest = cell.layout.fewest();
    if devices < fewest {
        return Err(format!("{} takes {fewest} devices, and there are {devices}", cell.layout.name()));
    }
    let (mut steps, base) = ground(cell.layout, devices)?;
    let top = encrypt(cell.encryption, base, &mut steps);
    if cell.file_system != FileSystem::None {
        let kind = cell.file_system;
        steps.push(Step::FileSystem { on: top, kind });
        steps.push(Step::MountPoint);
        steps.push(Step::Mount { on: top, kind });
    }
    Ok(steps)
}

/// What load runs on when there is no file system.
pub fn top(cell: Cell) -> On {
    match (cell.encryption, cell.layout) {
        (Encryption::Plain, Layout::LvmLinear | Layout::LvmStriped) => On::Volume,
        (Encryption::Plain, Layout::Single) => On::Device(0),
        (Encryption::Plain, _) => On::Array,
        _ => On::Mapping,
    }
}

/// Whether data stand on the bare devices as a cipher makes them, so that any bytes may stand at their beginning.
pub(super) fn leaves_cipher_text(steps: &[Step]) -> bool {
    steps
        .iter()
        .any(|step| matches!(step, Step::Mapping { on: On::Device(_), encryption: Encryption::VeraCrypt }))
}

fn ground(layout: Layout, devices: usize) -> Result<(Vec<Step>, On), String> {
    let array = |level| Ok((vec![Step::Array { level }], On::Array));
    let volume = |striped| {
        let mut steps: Vec<Step> = (0..devices).map(|index| Step::Physical { index }).collect();
        steps.extend([Step::Group, Step::Volume { striped }]);
        Ok((steps, On::Volume))
    };
    match layout {
        Layout::Single => Ok((Vec::new(), On::Device(0))),
        Layout::Raid0 => array(Level::Raid0),
        Layout::Raid1 => array(Level::Raid1),
        Layout::Raid10 => array(Level::Raid10),
        Layout::Raid5 => array(Level::Raid5),
        Layout::LvmLinear => volume(false),
        Layout::LvmStriped => volume(true),
        Layout::ZfsStripe | Layout::ZfsMirror => Err("the lab does not build ZFS pools".to_owned()),
    }
}

fn encrypt(encryption: Encryption, base: On, steps: &mut Vec<Step>) -> On {
    match encryption {
        Encryption::Plain => return base,
        Encryption::Luks2 | Encryption::Luks2Tuned => steps.push(Step::Header { on: base, encryption }),
        Encryption::VeraCrypt => {}
    }
    steps.push(Step::Mapping { on: base, encryption });
    On::Mapping
}

/// Words on how a cell is made.
pub fn notes(cell: Cell) -> Vec<String> {
    let mut notes = Vec::new();
    match cell.encryption {
        Encryption::Plain => {}
        Encryption::Luks2 | Encryption::Luks2Tuned => notes.push(
            "the key is random and only in memory; its slot is made with pbkdf2 and 1000 iterations, which costs time when \
             a volume is opened and none afterwards"
                .to_owned(),
        ),
        Encryption::VeraCrypt => notes.push(
            "VeraCrypt's data path is stood for by the same mapping: dm-crypt, aes-xts-plain64, sectors of 512 bytes, a \
             random key; it has no header"
                .to_owned(),
        ),
    }
    if cell.file_system == FileSystem::Ext4 {
        notes.push("ext4's tables were written when it was made, not later".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(layout: Layout, encryption: Encryption, file_system: FileSystem) -> Cell {
        Cell { layout, encryption, file_system }
    }

    #[test]
    fn each_thing_is_made_on_the_one_before() {
        let steps = recipe(cell(Layout::LvmStriped, Encryption::Luks2, FileSystem::Xfs), 2).unwrap();
        let (on, kind, encryption) = (On::Mapping, FileSystem::Xfs, Encryption::Luks2);
        assert_eq!(
            steps,
            [
                Step::Physical { index: 0 },
                Step::Physical { index: 1 },
                Step::Group,
                Step::Volume { striped: true },
                Step::Header { on: On::Volume, encryption },
                Step::Mapping { on: On::Volume, encryption },
                Step::FileSystem { on, kind },
                Step::MountPoint,
                Step::Mount { on, kind },
            ]
        );
        assert_eq!(recipe(cell(Layout::Single, Encryption::Plain, FileSystem::None), 1), Ok(Vec::new()));
    }

    #[test]
    fn the_top_is_what_the_last_step_made() {
        for layout in [Layout::Single, Layout::Raid0, Layout::Raid1, Layout::LvmLinear, Layout::LvmStriped] {
            for encryption in
                [Encryption::Plain, Encryption::Luks2, Encryption::Luks2Tuned, Encryption::VeraCrypt]
            {
                let cell = cell(layout, encryption, FileSystem::None);
                let made = recipe(cell, 2).unwrap().last().map_or(On::Device(0), |step| match step {
                    Step::Mapping { .. } => On::Mapping,
                    Step::Array { .. } => On::Array,
                    Step::Volume { .. } => On::Volume,
                    other => panic!("{other:?}"),
                });
                assert_eq!(top(cell), made, "{cell}");
            }
        }
    }

    #[test]
    fn too_few_devices_are_said() {
        let refused = recipe(cell(Layout::Raid5, Encryption::Plain, FileSystem::None), 2).unwrap_err();
        assert_eq!(refused, "RAID-5 takes 3 devices, and there are 2");
        assert!(recipe(cell(Layout::ZfsMirror, Encryption::Plain, FileSystem::None), 2).is_err());
    }

    #[test]
    fn only_a_mapping_without_a_header_on_a_bare_device_leaves_any_bytes() {
        let of = |layout, encryption| {
            leaves_cipher_text(&recipe(cell(layout, encryption, FileSystem::None), 2).unwrap())
        };
        assert!(of(Layout::Single, Encryption::VeraCrypt));
        assert!(!of(Layout::Raid0, Encryption::VeraCrypt));
        assert!(!of(Layout::Single, Encryption::Luks2));
    }
}
