//! The terminal view of a report.
//!
//! One target is shown in full: the verdict, a ladder with a bar for each hop, runs, and findings with their evidence.
//! Several targets are shown as one line each, alike ones together.

mod adapters;
pub mod compare;
mod ladder;
mod overview;
mod peers;
mod rate;
pub mod reply;
mod results;
mod runs;

pub use rate::estimate;
pub use runs::percentiles;

use super::names::Names;
use super::view::{CheckReport, HopView, MachineView, PathView};
use crate::document::{Audience, Block, Blocks, Document, Pairs, Place, Tone, findings, findings_once};
use crate::figure::{chart, path_map};
use narrows_base::lists::{distinct, known_of, some_of};
use narrows_base::shell;
use narrows_base::units::human;
use narrows_model::ceiling::memory::Claim;
use narrows_model::path::HopKind;
use narrows_verdict::Finding;

/// The report as a document.
pub fn document(report: &CheckReport, audience: Audience) -> Document {
    if audience == Audience::Public && !report.machine.from.is_empty() {
        // Whoever reads it has other files.
        let mut report = report.clone();
        report.machine.from.clear();
        return document(&report, audience);
    }
    let subject = match report.paths.as_slice() {
        [path] => path.target.clone(),
        [] => some_of(&distinct(report.results.iter().map(|one| &one.result.file)), 3, ", "),
        _ => String::new(),
    };
    let mut out = Document::new("", subject, Some(&report.tool));
    if !report.results.is_empty() || !report.sweeps.is_empty() {
        results::put(&mut out, &report.results, &report.sweeps);
        let mut found = results::found(&report.results);
        found.extend(of_machine(report).into_iter().map(|finding| (finding.subject.clone(), finding)));
        findings_once(&mut out, &found);
        if !report.paths.is_empty() {
            out.gap();
            machine(&mut out, report, &[], audience);
        }
    } else {
        machine(&mut out, report, &of_machine(report), audience);
    }
    if audience == Audience::Public { out.without(Names::of(report)) } else { out }
}

/// What was found of the machine, and not of a result.
fn of_machine(report: &CheckReport) -> Vec<&Finding> {
    let of_results = results::found(&report.results);
    let is_of_result = |it: &&Finding| {
        of_results.iter().any(|(_, other)| (other.code, &other.summary) == (it.code, &it.summary))
    };
    report.findings.iter().filter(|finding| !is_of_result(finding)).collect()
}

fn machine(out: &mut Document, report: &CheckReport, found: &[&Finding], audience: Audience) {
    if audience == Audience::Public {
        out.say(0, Tone::Normal, format!("narrows {}", report.tool.version));
    }
    let machine = machine_line(&report.machine);
    if !machine.is_empty() || report.machine.inputs.is_empty() {
        out.say(0, Tone::Faint, machine);
    }
    let inputs = report.machine.inputs.iter();
    let inputs: Vec<String> = inputs.map(|it| format!("{} ({})", it.name, it.kinds.join(", "))).collect();
    if !inputs.is_empty() {
        out.say(0, Tone::Faint, format!("From {}: not this machine", some_of(&inputs, 6, ", ")));
    }
    out.gap();
    match report.paths.as_slice() {
        [path] => single(out, report, path, found),
        _ => overview::put(out, report, found),
    }
    peers::put(out, report);
}

/// `ASUS X99-A · Intel Core i7-5820K, 6 cores · 33.6 GB memory · Linux 6.1.0`.
pub fn machine_line(machine: &MachineView) -> String {
    let board = [(&machine.board_vendor, &machine.board), (&machine.system_vendor, &machine.product)];
    let board = board.into_iter().find_map(|(vendor, name)| Some((vendor, name.as_ref()?)));
    let cores = machine.cores.map(|count| human::counted(count, "core"));
    let parts = [
        board.map(|(vendor, name)| match vendor {
            Some(vendor) if !name.starts_with(vendor.as_str()) => format!("{vendor} {name}"),
            _ => name.clone(),
        }),
        Some(known_of([machine.cpu.clone(), cores], ", ")).filter(|cpu| !cpu.is_empty()),
        machine.sockets.filter(|sockets| *sockets > 1).map(|sockets| format!("{sockets} sockets")),
        (machine.numa_nodes > 1).then(|| format!("{} NUMA nodes", machine.numa_nodes)),
        machine.memory_bytes.map(|bytes| format!("{bytes} memory")),
        machine.kernel.as_ref().map(|kernel| format!("Linux {kernel}")),
        machine.hypervisor.as_ref().map(|name| format!("virtual ({name})")),
    ];
    known_of(parts, " · ")
}

fn single(out: &mut Document, report: &CheckReport, path: &PathView, found: &[&Finding]) {
    out.heading(&path.target);
    let limits_known = path.limiting_hop.read.is_some() || path.limiting_hop.write.is_some();
    out.say(2, if limits_known { Tone::Strong } else { Tone::Warn }, &path.sentence);
    out.gap();
    out.figures(Place::Map, path_map(report, 0));
    ladder::put(out, path);
    memory(out, path);
    if !path.runs.is_empty() {
        runs::put(out, &path.runs);
    }
    adapters::put(out, &report.machine);
    findings(out, found.iter().copied());
    out.figures(Place::Charts, chart::check(path));
    out.gap();
    hints(out, single_hints(&report.machine, path));
}

/// What the firmware claims of main memory, where it does.
fn memory(out: &mut Document, path: &PathView) {
    let Some(memory) = &path.memory else { return };
    let Some(Claim { peak, likely: [least, most], .. }) = &memory.claim else { return };
    let [direct, buffered] = [&memory.direct, &memory.buffered].map(|of| human::count(of.read));
    let text = format!(
        "Main memory: the firmware claims at most {peak}, of which {least} to {most} are likely if each module has a channel \
         of its own. A byte that is read crosses it {direct} (through the page cache {buffered}) times."
    );
    out.gap();
    out.say(2, Tone::Faint, text);
}

fn single_hints(machine: &MachineView, path: &PathView) -> Vec<(&'static str, String)> {
    let hop = path.limiting_hop.read.as_deref().or(path.limiting_hop.write.as_deref());
    let (target, from) = (shell::path(&path.target), from(machine));
    let has_bytes = |hop: &HopView| matches!(hop.kind, HopKind::Device | HopKind::Filesystem);
    let is_open = path.runs.is_empty() && path.hops.iter().any(has_bytes);
    let why = hop.map(|hop| format!("narrows {target} --why {}{from}", shell::word(hop)));
    let hints = [is_open.then(|| prove(&target, machine)), why.map(|why| ("Explain it", why))];
    hints.into_iter().flatten().collect()
}

/// What a command needs to look at the same machine: nothing for one that answers itself.
fn from(machine: &MachineView) -> String {
    let files: String = machine.from.iter().map(|file| format!(" {}", shell::word(file))).collect();
    match files.is_empty() {
        _ if machine.inputs.is_empty() => String::new(),
        true => " FILE…".to_owned(),
        false => files,
    }
}

/// How to prove it: here, or by its owner, since the same name is another device here.
fn prove(target: &str, machine: &MachineView) -> (&'static str, String) {
    // A function that the texts do not name has a name there.
    let target = if target.starts_with("unnamed-") { "DEVICE" } else { target };
    if machine.inputs.is_empty() {
        return ("Prove it", format!("narrows measure {target}"));
    }
    ("Ask them", format!("to run `narrows measure {target}` there; --reply writes an answer to post"))
}

/// What to type next, one command for each line so that it can be copied.
fn hints(out: &mut impl Blocks, hints: Vec<(&'static str, String)>) {
    if !hints.is_empty() {
        out.part(Place::Next, "Next");
        let pairs = hints.into_iter().map(|(what, command)| (what.to_owned(), command)).collect();
        out.add(Block::Pairs(Pairs { margin: 0, width: 13, commands: true, pairs }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vendor_is_not_said_twice() {
        let machine = MachineView {
            board_vendor: Some("Dell".to_owned()),
            board: Some("Dell 0X3D66".to_owned()),
            cores: Some(1),
            ..MachineView::default()
        };
        assert_eq!(machine_line(&machine), "Dell 0X3D66 · 1 core");
    }
}
