//! Interrupts: which processors serve them, `/proc/interrupts` (kernel `kernel/irq/proc.c`, `show_interrupts`).

use std::collections::BTreeMap;

use crate::root::Root;

/// One interrupt line or message vector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IrqLine {
    /// How often each processor served it since boot. A processor that never did is left out.
    pub counts: BTreeMap<u32, u64>,
    /// Who asked for it: `nvme0q3`, `virtio1-req.0`, `i801_smbus, ehci_hcd:usb1`; empty when nobody did.
    pub name: String,
}

/// Reads every numbered interrupt, by its number. A machine that does not tell has none.
pub fn read(root: &Root) -> BTreeMap<u32, IrqLine> {
    root.text("/proc/interrupts").get().map(|text| parse_interrupts(&text)).unwrap_or_default()
}

/// Reads the table: a header that names a processor for each column, then a line for each interrupt. Lines of the
/// architecture (`NMI`, `LOC`…) and lines that make no sense are left out.
pub fn parse_interrupts(text: &str) -> BTreeMap<u32, IrqLine> {
    let mut lines = text.lines();
    let cpus: Vec<u32> = lines.next().map(parse_header).unwrap_or_default();
    lines.filter_map(|line| parse_line(line, &cpus)).collect()
}

fn parse_header(line: &str) -> Vec<u32> {
    line.split_whitespace().map_while(|column| column.strip_prefix("CPU")?.parse().ok()).collect()
}

fn parse_line(line: &str, cpus: &[u32]) -> Option<(u32, IrqLine)> {
    let (number, mut rest) = line.split_once(':')?;
    let number = number.trim().parse().ok()?;
    let mut counts = BTreeMap::new();
    for cpu in cpus {
        let trimmed = rest.trim_start();
        let (count, after) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
        let count: u64 = count.parse().ok()?;
        if count > 0 {
            counts.insert(*cpu, count);
        }
        rest = after;
    }
    Some((number, IrqLine { counts, name: parse_name(rest).to_owned() }))
}

/// What stands behind the columns of the controller (`PCI-MSIX-0000:00:02.0   1-edge      `): the kernel sets two
/// spaces before the first name and a comma before each other.
fn parse_name(text: &str) -> &str {
    let (controller, name) = text.trim_end().rsplit_once("  ").unwrap_or((text, ""));
    if controller.trim().is_empty() || is_trigger(name) { "" } else { name.trim() }
}

/// The last column of the controller, when no name follows: `1-edge`, or `Level` on ARM.
fn is_trigger(text: &str) -> bool {
    let text = text.trim();
    matches!(text, "Level" | "Edge")
        || text.split_once('-').is_some_and(|(number, _)| number.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const X86: &str = "            CPU0       CPU2       \n\
        \x20  1:          0          9  IR-IO-APIC    1-edge      i8042\n\
        \x20 16:          3          0  IR-IO-APIC   16-fasteoi   i801_smbus, ehci_hcd:usb1\n\
        \x20 36:          0      77586 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n\
        \x20 37:        544         12 PCI-MSIX-0000:00:02.0   2-edge      virtio1-req.1\n\
        \x20 99:          5          0 PCI-MSIX-0000:00:02.0   3-edge    \n\
        NMI:          0          0   Non-maskable interrupts\n\
        ERR:          0\n";

    #[test]
    fn columns_belong_to_the_processors_of_the_header() {
        let interrupts = parse_interrupts(X86);
        assert_eq!(interrupts.keys().copied().collect::<Vec<_>>(), [1, 16, 36, 37, 99]);
        assert_eq!(interrupts[&1].counts, BTreeMap::from([(2, 9)]));
        assert_eq!(interrupts[&37].counts, BTreeMap::from([(0, 544), (2, 12)]));
    }

    #[test]
    fn names_stand_behind_the_controller() {
        let interrupts = parse_interrupts(X86);
        assert_eq!(interrupts[&16].name, "i801_smbus, ehci_hcd:usb1");
        assert_eq!(interrupts[&36].name, "virtio1-req.0");
        assert_eq!(interrupts[&99].name, "", "nobody asked for it");
        let arm = "           CPU0       CPU1       \n 27:   10   20     GICv3  27 Level     arch_timer\n 30:   1   0   ITS-MSI 524288 Edge      nvme0q0\n";
        assert_eq!(parse_interrupts(arm)[&27].name, "arch_timer");
        assert_eq!(parse_interrupts(arm)[&30].name, "nvme0q0");
    }

    #[test]
    fn the_interrupts_of_this_machine_are_read() {
        assert!(!read(&Root::live()).is_empty());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}", header in "( *CPU[0-9]{1,12}){0,4}", line in "[0-9: ]{0,60}\\PC{0,40}") {
            parse_interrupts(&text);
            parse_interrupts(&format!("{header}\n{line}\n{text}"));
        }
    }
}
