//! What was typed: changes of the system, and the workloads to predict.

use super::{PredictArgs, named, wrong};
use crate::cli::Failure;
use crate::cli::values::{each_with_each, or};
use narrows_base::units::human;
use narrows_model::path::file::{Document, Name, PartKind, System, Workload};

/// Makes the changes that were typed, and says each in words.
///
/// # Errors
/// [`Failure`] when something cannot be changed so.
pub(super) fn apply(
    document: &mut Document,
    system: &System,
    args: &PredictArgs,
) -> Result<Vec<String>, Failure> {
    let mut changes = Vec::new();
    let mut added: Vec<Name> = Vec::new();
    // A drive has a kind, a model and a place; a layer is one word.
    let (drives, layers): (Vec<&String>, Vec<&String>) =
        args.add.iter().partition(|typed| typed.contains(':'));
    for typed in drives {
        added.push(document.add_device(typed).map_err(wrong)?);
        changes.push(typed.clone());
    }
    if !args.add.is_empty() {
        let target = target(system, args)?;
        let mut top = target.clone();
        for (at, layer) in layers.iter().enumerate() {
            let others: &[Name] = if at == 0 { &added } else { &[] };
            let members = [std::slice::from_ref(&top), others].concat();
            top = document.add_layer(layer, &members).map_err(wrong)?;
            let on: Vec<&str> = members.iter().map(Name::as_str).collect();
            changes.push(format!("{layer} on {}", on.join(", ")));
        }
        if layers.is_empty() {
            join(document, system, &target, &added)?;
        }
        document.retarget(&target, &top);
    }
    for typed in &args.set {
        document.set_text(typed).map_err(wrong)?;
        changes.push(typed.clone());
    }
    Ok(changes)
}

/// Puts added drives into the array that the target is or lies on.
fn join(document: &mut Document, system: &System, target: &Name, added: &[Name]) -> Result<(), Failure> {
    let mut at = target.clone();
    loop {
        let part = system.part(&at);
        match part.map(|part| (&part.kind, part.needs())) {
            Some((PartKind::Raid(_) | PartKind::Volume(_) | PartKind::Cluster(_), _)) => {
                return document.add_members(&at, added).map_err(wrong);
            }
            Some((
                PartKind::Crypt(_) | PartKind::Filesystem(_) | PartKind::Vm(_) | PartKind::Remote(_),
                needs,
            )) if !needs.is_empty() => {
                at = needs[0].clone();
            }
            _ => {
                return Err(Failure::new(format!("`{target}` is no array that the drive could join"))
                    .hint("say how both are used together: --add raid0"));
            }
        }
    }
}

/// The part that is read and written: what was typed, that of the workload, or the topmost.
fn target(system: &System, args: &PredictArgs) -> Result<Name, Failure> {
    if let Some(typed) = &args.target {
        return Ok(Name::new(typed.as_str()));
    }
    if let Some(typed) = args.workload.first() {
        return named(system, typed).map(|workload| workload.target);
    }
    system.workloads.first().map_or_else(|| topmost(system), |first| Ok(first.target.clone()))
}

/// What a file has without a workload.
fn topmost(system: &System) -> Result<Name, Failure> {
    system.topmost().cloned().ok_or_else(|| {
        Failure::new("the file describes nothing that could be read").hint("add a [device.NAME]")
    })
}

/// The workloads to predict: those of the file or the named ones, with what was typed in place of theirs, each combination.
pub(super) fn workloads(system: &System, args: &PredictArgs) -> Result<Vec<Workload>, Failure> {
    let mut base: Vec<Workload> = match args.workload.as_slice() {
        [] => system.workloads.clone(),
        names => names.iter().map(|name| named(system, name)).collect::<Result<_, _>>()?,
    };
    if base.is_empty() {
        base.push(Workload::reading(target(system, args)?.as_str()));
    }
    if !args.grid.is_usual() && args.workload.is_empty() {
        // What is typed describes one workload, not each of the file.
        base.truncate(1);
    }
    let mut all = Vec::new();
    for mut workload in base {
        if let Some(target) = &args.target {
            workload.target = Name::new(target.as_str());
        }
        workload.pattern = args.grid.order.unwrap_or(workload.pattern);
        workload.engine = args.engine.unwrap_or(workload.engine);
        all.extend(combinations(&workload, args));
    }
    Ok(all)
}

fn combinations(base: &Workload, args: &PredictArgs) -> Vec<Workload> {
    let grid = &args.grid;
    let mixes: Vec<f64> = grid.mix.iter().map(|reads| f64::from(*reads) / 100.0).collect();
    let blocks = each_with_each(&or(&grid.block_size, &[base.block_size]), &or(&grid.depth, &[base.depth]));
    let jobs = each_with_each(&or(&grid.threads, &[base.jobs]), &or(&mixes, &[base.read_share]));
    let mut all = Vec::new();
    for ((block_size, depth), (jobs, read_share)) in each_with_each(&blocks, &jobs) {
        all.push(Workload { block_size, depth, jobs, read_share, ..base.clone() });
    }
    if all.len() > 1 {
        for workload in &mut all {
            let size = human::block_size(workload.block_size).replace(' ', "");
            let (depth, jobs, reads) = (workload.depth, workload.jobs, workload.read_share * 100.0);
            workload.name = Name::new(format!("{}-{size}-q{depth}-j{jobs}-r{reads:.0}", base.name));
        }
    }
    all
}
