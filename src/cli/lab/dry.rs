//! `narrows lab --dry-run`: every command that would be run.

use super::args::LabArgs;
use super::ground;
use crate::cli::Failure;
use narrows_load::guard::RunSecret;
use narrows_machine::root::Root;
use narrows_machine::usage;
use narrows_session::lab::journal::Head;
use narrows_session::lab::slice::Extent;
use narrows_session::lab::{Call, FileSystem, LabId, Names, Step, Tools, recipe, sight};
use narrows_session::trials::{encryptions, over_nothing, reach, slice};

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
    let needed = args.slice.unwrap_or_else(|| slice(args.wish().filled(life), copied));
    let size = |name: &String| match &args.scratch {
        Some(_) => args.files.size.get(),
        None => usage::size(root, name).get().unwrap_or_default().get(),
    };
    let extent = |(index, name)| Some((index, Extent::of(size(name), needed.get())?));
    let extents: Vec<(usize, Extent)> = names.disks.iter().enumerate().filter_map(extent).collect();
    let slices: Vec<Step> =
        extents.iter().map(|(index, extent)| Step::Slice { index: *index, extent: *extent }).collect();
    text.push("once, after the devices are proven empty; these partitions are known to the kernel alone, nothing is written (a disk that takes none gets a linear mapping):".to_owned());
    section(&mut text, &slices, &names);
    for encryption in encryptions(&args.encryption) {
        text.push(format!("once, {} above a target that takes no time:", encryption.name()));
        section(&mut text, &over_nothing(encryption, reach(&args.wish().tests())), &names);
    }
    let bytes: Vec<u64> = extents.into_iter().map(|(_, extent)| extent.bytes).collect();
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
    let line = |call: Call| format!("  {call}");
    let built = |step: &Step| step.build(names).into_iter().chain(step.shown(names));
    let undone = |step: &Step| step.undo(names).into_iter().chain(step.undo_shown(names));
    text.extend(steps.iter().flat_map(built).map(line));
    text.push("  # undone by".to_owned());
    text.extend(steps.iter().rev().flat_map(undone).map(line));
    if !steps.iter().all(Step::is_ground) {
        text.push("  # then the slices are cleared and read back".to_owned());
    }
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
