//! What runs this machine, when it is virtual.

use super::info::CpuInfo;
use crate::root::Root;
use narrows_base::fact::Fact;

const XEN: &str = "/sys/hypervisor/type";
const ID: &str = "/sys/class/dmi/id";
const CLOCKS: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
const DEVICE_TREE: &str = "/sys/firmware/devicetree/base/compatible";

/// Texts in the vendor and product names of virtual machines, and what they stand for. `Amazon EC2` and the like are
/// also on bare metal that they rent out, which is why the processor is asked first.
const NAMES: &[(&str, &str)] = &[
    ("Google Compute Engine", "KVM (Google Compute Engine)"),
    ("Amazon EC2", "KVM (Amazon EC2)"),
    ("Alibaba Cloud", "KVM (Alibaba Cloud)"),
    ("DigitalOcean", "KVM (DigitalOcean)"),
    ("OpenStack", "KVM (OpenStack)"),
    ("Firecracker", "Firecracker"),
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("innotek", "VirtualBox"),
    ("Virtual Machine", "Hyper-V"),
    ("Parallels", "Parallels"),
    ("Apple Virtualization", "Apple Virtualization"),
    ("BHYVE", "bhyve"),
    ("Bochs", "Bochs"),
    ("Xen", "Xen"),
    ("KVM", "KVM"),
    ("QEMU", "QEMU"),
];

/// Clocks that only a hypervisor gives (kernel `arch/x86/kernel/kvmclock.c`, `drivers/clocksource/hyperv_timer.c`,
/// `arch/x86/xen/time.c`).
const CLOCK_NAMES: &[(&str, &str)] = &[("kvm-clock", "KVM"), ("hyperv", "Hyper-V"), ("xen", "Xen")];

/// Finds the hypervisor's name; absent on bare metal.
pub(super) fn read(root: &Root, info: &CpuInfo) -> Fact<String> {
    let flagged = info.flags.iter().any(|flag| flag == "hypervisor");
    let xen = root.text(XEN);
    if xen.value().is_some_and(|kind| !kind.is_empty()) {
        return xen.map(|kind| if kind == "xen" { "Xen".to_owned() } else { kind });
    }
    // An x86 processor always tells; only others have to be guessed by their firmware.
    if info.signature.is_some() && !flagged {
        return Fact::absent("/proc/cpuinfo, flag hypervisor");
    }
    by_firmware(root).or_else(|| by_clock(root)).or_else(|| by_device_tree(root)).unwrap_or_else(|| {
        if flagged {
            Fact::known("unnamed hypervisor".to_owned(), "/proc/cpuinfo, flag hypervisor")
        } else {
            Fact::absent(XEN)
        }
    })
}

fn by_firmware(root: &Root) -> Option<Fact<String>> {
    let product = root.text(&format!("{ID}/product_name"));
    if product.value().is_some_and(|product| product.ends_with(".metal")) {
        return None;
    }
    ["product_name", "sys_vendor", "board_vendor", "chassis_vendor"].iter().find_map(|file| {
        let path = format!("{ID}/{file}");
        let name = named(&root.text(&path).get()?, NAMES)?;
        Some(Fact::known(name, path))
    })
}

fn by_clock(root: &Root) -> Option<Fact<String>> {
    named(&root.text(CLOCKS).get()?, CLOCK_NAMES).map(|name| Fact::known(name, CLOCKS))
}

fn by_device_tree(root: &Root) -> Option<Fact<String>> {
    let is_virtual = root.text(DEVICE_TREE).get()?.contains("linux,dummy-virt");
    is_virtual.then(|| Fact::known("KVM or QEMU".to_owned(), DEVICE_TREE))
}

/// The hypervisor that a vendor or product name of the firmware stands for.
pub fn named_by_firmware(text: &str) -> Option<String> {
    named(text, NAMES)
}

fn named(text: &str, names: &[(&str, &str)]) -> Option<String> {
    names.iter().find(|(part, _)| text.contains(part)).map(|(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn x86(is_virtual: bool) -> CpuInfo {
        let flags = if is_virtual { vec!["hypervisor".to_owned()] } else { Vec::new() };
        CpuInfo { signature: Some((6, 85, 4)), flags, ..CpuInfo::default() }
    }

    fn with(info: &CpuInfo, files: &[(&str, &str)]) -> Option<String> {
        let mut tree = Tree::new();
        for (path, text) in files {
            tree.file(path, text);
        }
        read(&Root::from_tree(tree), info).get()
    }

    #[test]
    fn a_virtual_machine_is_named_by_its_firmware() {
        for (file, text, want) in [
            ("/sys/class/dmi/id/product_name", "VMware Virtual Platform", "VMware"),
            ("/sys/class/dmi/id/product_name", "Virtual Machine", "Hyper-V"),
            ("/sys/class/dmi/id/product_name", "Google Compute Engine", "KVM (Google Compute Engine)"),
            ("/sys/class/dmi/id/sys_vendor", "QEMU", "QEMU"),
            ("/sys/class/dmi/id/sys_vendor", "Amazon EC2", "KVM (Amazon EC2)"),
            ("/sys/class/dmi/id/chassis_vendor", "QEMU", "QEMU"),
            ("/sys/hypervisor/type", "xen", "Xen"),
            (CLOCKS, "tsc kvm-clock", "KVM"),
        ] {
            assert_eq!(with(&x86(true), &[(file, text)]).as_deref(), Some(want), "{text}");
        }
        assert_eq!(with(&x86(true), &[]).as_deref(), Some("unnamed hypervisor"));
    }

    #[test]
    fn bare_metal_has_none_whoever_rents_it_out() {
        let metal =
            [("/sys/class/dmi/id/sys_vendor", "Amazon EC2"), ("/sys/class/dmi/id/product_name", "m5.metal")];
        assert_eq!(with(&x86(false), &metal), None);
        assert_eq!(with(&x86(false), &[(CLOCKS, "tsc hpet acpi_pm")]), None);
        let graviton =
            [("/sys/class/dmi/id/sys_vendor", "Amazon EC2"), ("/sys/class/dmi/id/product_name", "m6g.metal")];
        assert_eq!(with(&CpuInfo::default(), &graviton), None);
    }

    #[test]
    fn a_virtual_arm_machine_is_told_by_its_firmware_or_device_tree() {
        let arm = CpuInfo::default();
        assert_eq!(with(&arm, &[("/sys/class/dmi/id/sys_vendor", "QEMU")]).as_deref(), Some("QEMU"));
        assert_eq!(with(&arm, &[(DEVICE_TREE, "linux,dummy-virt\0")]).as_deref(), Some("KVM or QEMU"));
        assert_eq!(with(&arm, &[(DEVICE_TREE, "raspberrypi,5-model-b\0brcm,bcm2712\0")]), None);
    }
}
