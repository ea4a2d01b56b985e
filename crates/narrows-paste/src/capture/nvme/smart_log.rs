//! `nvme smart-log`, text and JSON. The text names its device, JSON does not: there it is in the command above it, or in
//! the name of the file as sosreport makes it (`nvme_smart-log_.dev.nvme0n1`).

use serde_json::Value;

use super::namespace_in;
use crate::capture::Text;
use crate::capture::health::{Log, UNNAMED, take};
use crate::capture::json::documents;
use narrows_machine::Machine;

/// The name of the output, in commands and file names.
const NAME: &str = "smart-log";

/// Reads every output for people; whether there was one.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut open: Option<(usize, String, Log)> = None;
    for (number, line) in text.lines() {
        if let Some((_, device)) = line.split_once("Smart Log for NVME device:") {
            found |= finish(machine, text, open.take());
            // `device:ng0n1` has nothing before its name.
            open = namespace_in(&format!(":{}", device.trim())).map(|name| (number, name, Log::default()));
        } else if let (Some((_, _, log)), Some((key, value))) = (&mut open, line.split_once(':')) {
            log.set(key, value);
        } else if !line.trim().is_empty() {
            found |= finish(machine, text, open.take());
        }
    }
    found | finish(machine, text, open)
}

fn finish(machine: &mut Machine, text: &Text, open: Option<(usize, String, Log)>) -> bool {
    let Some((line, name, log)) = open.filter(|(_, _, log)| log.is_log()) else { return false };
    take(machine, &name, log, &text.source(line));
    true
}

/// Reads every document; whether one was a log.
pub(super) fn read_json(machine: &mut Machine, text: &Text) -> bool {
    let mut commands: Vec<(usize, String)> = Vec::new();
    commands.extend(text.name().rsplit_once(NAME).and_then(|(_, rest)| Some((0, namespace_in(rest)?))));
    for (number, line) in text.lines().filter(|(_, line)| line.contains(NAME)) {
        let device = line
            .rsplit_once(NAME)
            .and_then(|(before, after)| namespace_in(after).or_else(|| namespace_in(before)));
        commands.extend(device.map(|name| (number, name)));
    }
    let mut found = false;
    for (line, document) in documents(text).into_iter().filter(|(_, document)| is_log(document)) {
        let log = Log::of_json(&document);
        if !log.is_log() {
            continue;
        }
        // A command names the first document below it.
        let before = commands.iter().rposition(|(at, _)| *at <= line);
        let name =
            before.map_or_else(|| format!("{UNNAMED}{}", text.source(line)), |at| commands.remove(at).1);
        take(machine, &name, log, &text.source(line));
        found = true;
    }
    found
}

/// smartctl's documents have the log inside, in words of their own.
fn is_log(document: &Value) -> bool {
    document.get("critical_warning").is_some() && document.get("temperature").is_some()
}
