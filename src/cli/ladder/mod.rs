//! `narrows ladder`: the same load at every layer of a path, from the media up.
//!
//! The story: find the path and its layers, open each, measure the legs, climb (each layer alone, members at once before
//! what joins them), judge, show. What cannot be opened is left out and named; an interrupt keeps what was measured.

pub mod args;
mod legs;
mod network;

use args::LadderArgs;

use super::bench::runner;
use super::{Failure, output, scene, status, target};
use narrows_base::units::peers::Peer;
use narrows_load::measurement::Pattern;
use narrows_load::preset::{self, LoadSpec, Parallel};
use narrows_model::path::layers::layers;
use narrows_report::bench::Context;
use narrows_report::ladder::{self, LadderReport, LeftOut};
use narrows_report::view;
use narrows_session::ladder::{self as climb, Climb, Opening};
use narrows_session::measure::Command;
use narrows_verdict::ladder::judge;

/// Climbs the layers of a path and shows where its rate is lost.
///
/// # Errors
/// [`Failure`] when the target does not exist, has no layers, or none of them can be measured.
pub(super) fn run(args: &LadderArgs) -> Result<u8, Failure> {
    let scene = scene::read(&args.target)?;
    let layers = layers(&scene.machine, &scene.subject.path);
    if layers.is_empty() {
        return Err(Failure::new(format!("no layer of the path to `{}` can be read", args.target))
            .hint("name a device, mount point, directory or file"));
    }
    if !args.read && (args.write_scratch || !std::path::Path::new(&args.target).is_file()) {
        target::check_way(&scene.machine, &args.target, &scene.subject.path.asked)?;
    }
    let loads = loads(args)?;
    let (ask, ceiling) = (args.ask(), Context::new(&scene.subject, Peer::None).ceilings.write);
    let ceiling = ceiling.map(|ceiling| ceiling.bytes_per_second);
    let writes = climb::writes(&scene, &layers, &loads, ask, ceiling)?;
    let writes = writes.map(|(writes, said)| {
        output::note(&said);
        writes
    });
    let runner = runner::begin(Command::Ladder, &scene, writes)?;
    let opened = Opening::of(&layers, ask, &runner)?;
    if opened.is_empty() {
        return Err(opened.failure(&args.target).into());
    }
    for (hop, reason) in opened.left_out() {
        output::note(&format!("narrows: {hop} is not measured: {reason}"));
    }
    let legs = legs::measure(&scene, &loads, args, &runner);
    let mut ladders = Vec::new();
    let mut reason = None;
    for load in &loads {
        let climb = Climb { scene: &scene, layers: &layers, opened: &opened, runner: &runner, ask };
        let climbed = climb.up(load)?;
        let verdict = judge(&scene.machine, &climbed.rungs, &climbed.numa);
        reason = climbed.trouble;
        ladders.push(ladder::ladder(load, &climbed.rungs, &verdict, climbed.numa));
        if reason.is_some() {
            break;
        }
    }
    let reason = reason.or_else(|| opened.reason());
    let left = |(hop, reason): (&str, &str)| LeftOut { hop: hop.to_owned(), reason: reason.to_owned() };
    let report = LadderReport {
        schema: ladder::SCHEMA.to_owned(),
        tool: view::tool(),
        machine: view::machine_view(&scene.machine),
        target: args.target.clone(),
        duration_ns: args.time.into(),
        legs,
        ladders,
        writes: runner.writes().map(|writes| writes.account(&scene.root)),
        left_out: opened.left_out().map(left).collect(),
        complete: reason.is_none(),
        reason,
    };
    let is_stopped = runner.is_stopped();
    drop(runner);
    output::report(&report, &args.output, ladder::document)?;
    if is_stopped {
        output::note("narrows: interrupted; the report holds what was measured until then");
    }
    Ok(status(report.complete && report.has_rates(), report.has_findings()))
}

/// The loads, each of which has a ladder of its own.
fn loads(args: &LadderArgs) -> Result<Vec<LoadSpec>, Failure> {
    let mut loads = match &args.preset {
        Some(name) => {
            let preset =
                preset::by_name(name).ok_or_else(|| Failure::new(format!("there is no preset `{name}`")))?;
            let reads: Vec<LoadSpec> =
                preset.loads().filter(|load| !load.writes() && !load.buffered).cloned().collect();
            if reads.is_empty() {
                return Err(Failure::new(format!(
                    "the preset {name} has no load that reads past the page cache"
                ))
                .hint("use --bs, --depth and --order"));
            }
            reads
        }
        None => {
            let pattern = match args.order {
                super::sweep::Order::Random => Pattern::Random,
                super::sweep::Order::Sequential => Pattern::Sequential,
            };
            vec![LoadSpec::reading(pattern, args.bs, args.depth).on(Parallel::Threads(args.jobs))]
        }
    };
    if args.write_scratch {
        let writes: Vec<LoadSpec> = loads.iter().map(|load| load.clone().writing(100)).collect();
        loads.extend(writes);
    }
    Ok(loads)
}
