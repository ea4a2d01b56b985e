//! The machine as a whole: kernel, board, processor, hypervisor.

use narrows_base::fact::Fact;
use narrows_base::units::Bytes;
use narrows_machine::log::{LogEvent, LogKind};
use narrows_machine::{cpu, dmi};

use super::{Boot, LogLine};
use crate::capture::device::known;
use crate::text::fields;

/// Makers whose name has more than one word, or none of the endings of [`ENDINGS`] where it ends. `DMI:` writes maker
/// and product one after the other without a mark between them.
const MAKERS: &[&str] = &[
    "System manufacturer",
    "To Be Filled By O.E.M.",
    "To be filled by O.E.M.",
    "Default string",
    "Intel Corporation",
    "Gigabyte Technology Co., Ltd.",
    "GIGABYTE Technology Co., Ltd.",
    "ASUSTeK COMPUTER INC.",
    "ASUSTeK Computer INC.",
    "ASUSTeK Computer Inc.",
    "Micro-Star International Co., Ltd.",
    "Micro-Star International Co., Ltd",
    "MICRO-STAR INTERNATIONAL CO.,LTD",
    "Hewlett-Packard Company",
    "Quanta Cloud Technology Inc.",
    "QEMU Standard PC",
    "Raspberry Pi Foundation",
    "Red Hat",
    "Amazon EC2",
    "Google Compute Engine",
    "Apple Computer, Inc.",
    "Lenovo Group Limited",
    "HUAWEI Technologies Co., Ltd.",
    "Ampere(R)",
    "AZW",
];

/// Words that end the name of a maker.
const ENDINGS: &[&str] = &[
    "Inc.",
    "INC.",
    "Inc",
    "Ltd.",
    "Ltd",
    "LTD",
    "Corp.",
    "Corporation",
    "CORPORATION",
    "GmbH",
    "AG",
    "LLC",
    "Limited",
    "Company",
];

/// Understands `DMI:`, `Linux version`, `smpboot: CPU0:` and the like.
pub(super) fn take(boot: &mut Boot, line: &LogLine<'_>) -> Option<()> {
    let message = line.message;
    let behind = |words: &[&str]| words.iter().find_map(|words| message.strip_prefix(words));
    if let Some(rest) = behind(&["DMI: "]) {
        return take_dmi(boot, rest, line);
    }
    if let Some(processor) = behind(&["smpboot: CPU0: ", "CPU0: "]) {
        take_processor(boot, processor, line);
    } else if let Some(line) = behind(&["Command line: ", "Kernel command line: "]) {
        boot.is_crash |= line.contains("elfcorehdr=");
        return None;
    } else if is_boot(message) {
        let release = message.strip_prefix("Linux version ").and_then(|rest| rest.split_whitespace().next());
        boot.machine.kernel = known(release.map(str::to_owned), line.source().as_str());
    } else if let Some(model) = behind(&["Machine model: ", "OF: fdt: Machine model: "]) {
        boot.machine.dmi.product = line.known(model.trim().to_owned());
    } else if message.contains("callbacks suppressed") && message.starts_with("aer") {
        let kind = LogKind::AerSuppressed;
        boot.log.add(LogEvent { pci: None, device: None, kind, count: 1, source: line.source() });
    } else if let Some(name) = behind(&["Hypervisor detected: "]) {
        // VirtualBox and others offer the interface of KVM or Hyper-V; the firmware says who they are, but that QEMU runs on KVM.
        let known = &mut boot.machine.cpus.hypervisor;
        if known.value().is_none_or(|known| known == "QEMU") {
            *known = line.known(name.trim().to_owned());
        }
    } else {
        boot.machine.cpus.memory = line.known(parse_memory(message)?);
    }
    Some(())
}

/// Whether a message is the first of a boot. Prose that names a version has no compiler in brackets behind it.
pub(super) fn is_boot(message: &str) -> bool {
    message.starts_with("Linux version ") && message.contains(" (")
}

/// Reads `Memory: 16273276K/16733432K available (…)`: what the kernel may use, of what the firmware lists as memory.
fn parse_memory(message: &str) -> Option<Bytes> {
    let [_, kib] = fields(message, "Memory: {}K/{}K available")?;
    kib.parse::<u64>().ok()?.checked_mul(1024).map(Bytes::new)
}

/// Reads `Intel(R) Xeon(R) CPU E31270 @ 3.40GHz (family: 0x6, model: 0x2a, stepping: 0x7)`.
fn take_processor(boot: &mut Boot, text: &str, line: &LogLine<'_>) {
    let (name, numbers) = text.split_once(" (").unwrap_or((text, ""));
    let number = |key: &str| {
        let (_, rest) = numbers.split_once(key)?;
        let end = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
        u32::from_str_radix(rest.get(..end)?, 16).ok()
    };
    let cpus = &mut boot.machine.cpus;
    cpus.model = line.known(name.split_whitespace().collect::<Vec<_>>().join(" "));
    if let (Some(family), Some(model), Some(stepping)) =
        (number("family: 0x"), number("model: 0x"), number("stepping: 0x"))
    {
        cpus.signature = line.known((family, model, stepping));
    }
}

/// Reads `Supermicro X9SCL/X9SCM/X9SCL/X9SCM, BIOS 1.1a 09/28/2011` (`dmi_format_ids`, `drivers/firmware/dmi_scan.c`).
fn take_dmi(boot: &mut Boot, text: &str, line: &LogLine<'_>) -> Option<()> {
    let (names, bios) = text.rsplit_once(", BIOS ")?;
    let (maker, machine) = split_maker(names);
    let (product, board) = split_board(machine);
    let said = |text: &str| match text.trim() {
        text if dmi::is_placeholder(text) => Fact::absent(line.source().as_str()),
        text => line.known(text.to_owned()),
    };
    let dmi = &mut boot.machine.dmi;
    dmi.system_vendor = said(maker);
    dmi.product = said(product);
    dmi.board = board.map_or_else(Fact::default, said);
    let (version, date) = bios.trim().rsplit_once(' ').unwrap_or((bios.trim(), ""));
    dmi.bios_version = said(version);
    dmi.bios_date = said(date);
    if let Some(name) = cpu::hypervisor_named(names) {
        line.learn(&mut boot.machine.cpus.hypervisor, name);
    }
    Some(())
}

/// Maker and the rest. An unknown maker ends where its company form does, else after its first word.
fn split_maker(names: &str) -> (&str, &str) {
    let known = MAKERS.iter().find_map(|maker| Some((*maker, names.strip_prefix(maker)?.strip_prefix(' ')?)));
    known
        .or_else(|| {
            let product = names.find('/').unwrap_or(names.len());
            let ends = names.get(..product)?.match_indices(' ').map(|(place, _)| place);
            let mut end = ends.filter(|place| {
                ENDINGS.iter().any(|ending| names.get(..*place).is_some_and(|maker| maker.ends_with(ending)))
            });
            let place = end.next_back()?;
            Some((names.get(..place)?, names.get(place + 1..)?))
        })
        .or_else(|| names.split_once(' '))
        .unwrap_or((names, ""))
}

/// Product and board. Either may hold slashes: where both are the same they are halves, else the board is what follows
/// the last slash.
fn split_board(machine: &str) -> (&str, Option<&str>) {
    let halves = machine.match_indices('/').find_map(|(place, _)| {
        let (product, board) = (machine.get(..place)?, machine.get(place + 1..)?);
        (product == board).then_some((product, Some(board)))
    });
    halves
        .or_else(|| machine.rsplit_once('/').map(|(product, board)| (product, Some(board))))
        .unwrap_or((machine, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maker_product_and_board_are_told_apart() {
        for (names, want) in [
            ("Supermicro X9SCL/X9SCM/X9SCL/X9SCM", ("Supermicro", "X9SCL/X9SCM", "X9SCL/X9SCM")),
            ("Dell Inc. PowerEdge R740/00WGD1", ("Dell Inc.", "PowerEdge R740", "00WGD1")),
            (
                "Gigabyte Technology Co., Ltd. X570 AORUS ELITE/X570 AORUS ELITE",
                ("Gigabyte Technology Co., Ltd.", "X570 AORUS ELITE", "X570 AORUS ELITE"),
            ),
            (
                "To Be Filled By O.E.M. To Be Filled By O.E.M./Z370 Extreme4",
                ("To Be Filled By O.E.M.", "To Be Filled By O.E.M.", "Z370 Extreme4"),
            ),
            (
                "Micro-Star International Co., Ltd MS-7C02/B450 TOMAHAWK MAX (MS-7C02)",
                ("Micro-Star International Co., Ltd", "MS-7C02", "B450 TOMAHAWK MAX (MS-7C02)"),
            ),
            (
                "System manufacturer System Product Name/ROG STRIX B450-F GAMING",
                ("System manufacturer", "System Product Name", "ROG STRIX B450-F GAMING"),
            ),
            ("AMI AM G6x/msd/AM G6x/msd", ("AMI", "AM G6x/msd", "AM G6x/msd")),
            ("Penguin Computing Inc. Relion 1900/X10", ("Penguin Computing Inc.", "Relion 1900", "X10")),
            (
                "HPE ProLiant DL380 Gen10/ProLiant DL380 Gen10",
                ("HPE", "ProLiant DL380 Gen10", "ProLiant DL380 Gen10"),
            ),
        ] {
            let (maker, machine) = split_maker(names);
            let (product, board) = split_board(machine);
            assert_eq!((maker, product, board.unwrap_or_default()), want, "{names}");
        }
        assert_eq!(split_board("Standard PC (Q35 + ICH9, 2009)"), ("Standard PC (Q35 + ICH9, 2009)", None));
        assert_eq!(split_maker("X"), ("X", ""));
    }
}
