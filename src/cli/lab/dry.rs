//! `narrows lab --dry-run`: every command that would be run.

use super::args::LabArgs;
use super::ground;
use crate::cli::Failure;
use narrows_base::units::Bytes;
use narrows_load::guard::RunSecret;
use narrows_machine::root::Root;
use narrows_machine::usage;
use narrows_session::lab::journal::Head;
use narrows_session::lab::slice::Extent;
use narrows_session::lab::{Call, FileSystem, LabId, Names, Step, Tools, recipe, sight};
use narrows_session::trials::{encryptions, over_nothing, reach, slice};
use narrows_session::writes::Life;

/// The commands, cell by cell.
///
/// # Errors
/// A device is not there, or what is to be copied.
pub(super) fn text(root: &Root, args: &LabArgs) -> Result<Vec<String>, Failure> {
    let names = names(root, args)?;
    let mut text = Vec::new();
    if args.scratch.is_some() {
        text.push("once, with the loop devices that are free then:".to_owned());
        let bytes = args.files.size.get();
        let files =
            (0..names.devices.len()).flat_map(|index| [Step::File { index, bytes }, Step::Loop { index }]);
        let ground: Vec<Step> = std::iter::once(Step::Directory).chain(files).collect();
        section(&mut text, &ground, &names);
    }
    let cells = args.cells(names.devices.len());
    ground::refuse_copy(args, &cells)?;
    let copied = ground::copied(args)?;
    let life = ground::life(args, names.disks.iter().map(String::as_str));
    let slices = slices(args, &sizes(root, args, &names), life, copied);
    text.push("once, after the devices are proven empty; these partitions are known to the kernel alone, nothing is written (a disk that takes none gets a linear mapping):".to_owned());
    section(&mut text, &slices, &names);
    for encryption in encryptions(&args.encryption) {
        text.push(format!("once, {} above a target that takes no time:", encryption.name()));
        section(&mut text, &over_nothing(encryption, reach(&args.wish().tests())), &names);
    }
    let bytes: Vec<u64> = slices
        .iter()
        .filter_map(|step| match step {
            Step::Slice { extent, .. } => Some(extent.bytes),
            _ => None,
        })
        .collect();
    let means = Tools::new(root).means(root, &bytes);
    for cell in cells {
        text.push(format!("{cell}:"));
        match recipe(cell, names.devices.len(), means) {
            Ok(steps) => {
                section(&mut text, &steps, &names);
                if let Some(source) = args.copy.as_deref().filter(|_| cell.file_system != FileSystem::None) {
                    let (source, point) = (source.display(), names.mount_point());
                    text.push(format!("  # before that is undone, `{source}` is copied to {point}/copy"));
                }
            }
            Err(why) => text.push(format!("  not built: {why}")),
        }
    }
    Ok(text)
}

fn section(text: &mut Vec<String>, steps: &[Step], names: &Names) {
    let mut line = |call: &Call| text.push(format!("  {call}"));
    steps
        .iter()
        .flat_map(|step| step.build(names).into_iter().chain(step.shown(names)))
        .for_each(|call| line(&call));
    line(&Call::new("# undone by", [""; 0]));
    let undone = |step: &Step| step.undo(names).into_iter().chain(step.undo_shown(names));
    steps.iter().rev().flat_map(undone).for_each(|call| line(&call));
    if !steps.iter().all(Step::is_ground) {
        line(&Call::new("# then the slices are cleared and read back", [""; 0]));
    }
}

/// The slices of devices of these sizes, on which `copied` has to fit.
fn slices(args: &LabArgs, sizes: &[u64], life: Option<Life>, copied: Bytes) -> Vec<Step> {
    let needed = args.slice.unwrap_or_else(|| slice(args.wish().filled(life), copied));
    let slice =
        |(index, size): (usize, &u64)| Some(Step::Slice { index, extent: Extent::of(*size, needed.get())? });
    sizes.iter().enumerate().filter_map(slice).collect()
}

/// The sizes of the devices in bytes.
fn sizes(root: &Root, args: &LabArgs, names: &Names) -> Vec<u64> {
    let size = |name: &String| match &args.scratch {
        Some(_) => args.files.size.get(),
        None => usage::size(root, name).get().unwrap_or_default().get(),
    };
    names.disks.iter().map(size).collect()
}

fn names(root: &Root, args: &LabArgs) -> Result<Names, Failure> {
    let disks: Vec<String> = match &args.scratch {
        Some(_) => (0..args.files.count).map(|index| format!("loop{index}")).collect(),
        None => {
            args.devices.iter().map(|typed| ground::block_device(root, typed)).collect::<Result<_, _>>()?
        }
    };
    let scratch = args.scratch.as_deref().map(ground::scratch_directory).transpose()?;
    let array = sight::free_array(root).unwrap_or_else(|| "md127".to_owned());
    let mut head = Head::new(LabId::new([0; 16]), RunSecret::new([0; 32]), String::new(), array);
    head.scratch = scratch;
    Ok(head.names(disks))
}
