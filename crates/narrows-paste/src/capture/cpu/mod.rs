//! Processors and memory: `lscpu` (text and JSON), `/proc/cpuinfo`, `/proc/meminfo`, `free`, `numactl -H`, and the
//! lines that `numastat` and `lstopo` share with them are left to those.

mod lscpu;
mod memory;
mod numactl;

use super::{Part, Rank, Text};
use narrows_base::fact::Fact;
use narrows_machine::Machine;
use narrows_machine::cpu::{Cpus, parse_cpuinfo};

/// Reads what these tools printed in `text`. Each is a part of its own: they are believed differently.
pub fn read_lscpu(text: &Text) -> Part {
    part("lscpu", Rank::Summary, lscpu::parse(text))
}

/// Reads `numactl -H`.
pub fn read_numactl(text: &Text) -> Part {
    part("numactl -H", Rank::Summary, numactl::parse(text))
}

/// Reads `/proc/meminfo` or `free`.
pub fn read_memory(text: &Text) -> Part {
    let memory = memory::meminfo(text).map(|memory| ("/proc/meminfo", Rank::Raw, memory));
    let memory = memory.or_else(|| memory::free(text).map(|memory| ("free", Rank::Summary, memory)));
    let Some((kind, rank, memory)) = memory else { return Part::default() };
    part(kind, rank, Some(Cpus { memory, ..Cpus::default() }))
}

/// Reads `/proc/cpuinfo`.
pub fn read_cpuinfo(text: &Text) -> Part {
    part("/proc/cpuinfo", Rank::Raw, parse_info(text))
}

fn part(kind: &'static str, rank: Rank, cpus: Option<Cpus>) -> Part {
    let Some(cpus) = cpus else { return Part::default() };
    Part { kind: Some(kind), rank, machine: Machine { cpus, ..Machine::default() }, gaps: Vec::new() }
}

/// `/proc/cpuinfo` starts with `processor : 0`, wherever in the text that is.
fn parse_info(text: &Text) -> Option<Cpus> {
    let is_number = |line: &str| {
        line.split_once(':').is_some_and(|(key, number)| {
            key.trim_end() == "processor" && number.trim().bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let numbers: Vec<(usize, u32)> = text
        .lines()
        .filter(|(_, line)| line.starts_with("processor") && is_number(line))
        .filter_map(|(number, line)| Some((number, line.rsplit(':').next()?.trim().parse().ok()?)))
        .take(MOST_PROCESSORS)
        .collect();
    let (first, _) = *numbers.first()?;
    let from: usize = text.body().lines().take(first - 1).map(|line| line.len() + 1).sum();
    let info = parse_cpuinfo(text.body().get(from..)?.split("\n\n").next()?);
    let source = text.source(first);
    // Another tool's line `processor: 0` has none of this behind it.
    let model = info.model?;
    let signature =
        info.signature.map_or_else(Fact::default, |signature| Fact::known(signature, source.as_str()));
    let online: std::collections::BTreeSet<u32> = numbers.into_iter().map(|(_, cpu)| cpu).collect();
    Some(Cpus {
        model: Fact::known(model, source.as_str()),
        signature,
        flags: info.flags,
        online: Fact::known(online.into_iter().collect(), source),
        ..Cpus::default()
    })
}

/// More than any kernel serves (`CONFIG_NR_CPUS` ends at 8192 on x86).
const MOST_PROCESSORS: usize = 65_536;

#[cfg(test)]
mod tests;
