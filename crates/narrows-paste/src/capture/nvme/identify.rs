//! `nvme id-ctrl`: `mn : Samsung SSD 980 PRO 1TB`. The output does not name its device: that is in the command above it,
//! or in the name of the file as sosreport makes it (`nvme_id-ctrl_-H_.dev.nvme0`).

use super::{identify, namespace_in};
use crate::capture::Text;
use crate::capture::health::warns_from;
use narrows_base::units::Celsius;
use narrows_machine::Machine;

/// What one output says.
#[derive(Debug, Default)]
struct Identity<'a> {
    line: usize,
    name: Option<String>,
    model: Option<&'a str>,
    serial: Option<&'a str>,
    firmware: Option<&'a str>,
    /// WCTEMP, in kelvins; 0 where the drive has no such threshold.
    warning: Option<Celsius>,
}

/// Reads every output whose device is known; whether there was one.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut open: Option<Identity<'_>> = None;
    let mut named = text.name().rsplit_once("id-ctrl").and_then(|(_, rest)| namespace_in(rest));
    for (number, line) in text.lines() {
        if let Some((_, rest)) = line.split_once("id-ctrl ") {
            named = namespace_in(rest);
        }
        let Some((key, value)) = line.split_once(':') else { continue };
        match key.trim_end() {
            "vid" => {
                found |= finish(machine, text, open.take());
                open = Some(Identity { line: number, name: named.take(), ..Identity::default() });
            }
            "sn" => open.iter_mut().for_each(|open| open.serial = Some(value)),
            "mn" => open.iter_mut().for_each(|open| open.model = Some(value)),
            "wctemp" => {
                let kelvins = value.trim().parse::<u16>().ok().filter(|kelvins| *kelvins > 0);
                open.iter_mut().for_each(|open| open.warning = kelvins.map(Celsius::from_kelvin));
            }
            "fr" => open.iter_mut().for_each(|open| open.firmware = Some(value)),
            _ => {}
        }
    }
    found | finish(machine, text, open)
}

fn finish(machine: &mut Machine, text: &Text, open: Option<Identity<'_>>) -> bool {
    let Some(identity) = open else { return false };
    let Some(name) = identity.name.filter(|_| identity.model.is_some()) else { return false };
    let facts = [identity.model, identity.serial, identity.firmware];
    let source = text.source(identity.line);
    identify(machine, &name, facts, &source);
    warns_from(machine, &name, identity.warning, &source);
    true
}
