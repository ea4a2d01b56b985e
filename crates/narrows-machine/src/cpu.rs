//! Processors and NUMA nodes, with the memory of each: `/proc/cpuinfo`, `/sys/devices/system/{cpu,node}`.

use std::collections::{BTreeMap, BTreeSet};

use super::memory::parse_memory;
use super::root::Root;
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;

const CPUS: &str = "/sys/devices/system/cpu";
const CPUINFO: &str = "/proc/cpuinfo";
/// Enough for the first processor. The kernel asks every further one for its clock as it writes, which takes long on a
/// large machine.
const CPUINFO_BYTES: u64 = 8192;

/// The processors of a machine.
#[derive(Debug, Clone, Default)]
pub struct Cpus {
    /// The model name, `/proc/cpuinfo`; on ARM, which gives numbers only, `ARM implementer 0x41 part 0xd0c`.
    pub model: Fact<String>,
    /// CPU family, model and stepping of an x86 processor, `/proc/cpuinfo`.
    pub signature: Fact<(u32, u32, u32)>,
    /// The feature flags that matter here (`aes`, `vaes`, `avx512f`, `hypervisor`, `constant_tsc`, `nonstop_tsc`…).
    pub flags: Vec<String>,
    /// The processors that are online, `/sys/devices/system/cpu/online`.
    pub online: Fact<Vec<u32>>,
    /// The number of physical cores, from `…/topology/core_cpus_list`.
    pub cores: Fact<u32>,
    /// The number of sockets, from `…/topology/physical_package_id`.
    pub sockets: Fact<u32>,
    /// NUMA nodes, by number.
    pub nodes: Vec<NumaNode>,
    /// Main memory, `/proc/meminfo` `MemTotal`.
    pub memory: Fact<Bytes>,
    /// What runs this machine when it is virtual (`/sys/hypervisor/type`, DMI, the `hypervisor` flag); absent on bare
    /// metal.
    pub hypervisor: Fact<String>,
}

/// Reads processors, nodes and memory.
pub fn read(root: &Root) -> Cpus {
    let info = root.head(CPUINFO, CPUINFO_BYTES).map(|text| parse_cpuinfo(&String::from_utf8_lossy(&text)));
    let online = root.parse(&format!("{CPUS}/online"), parse_list);
    let known = info.get().unwrap_or_default();
    Cpus {
        cores: cores(root, &online),
        sockets: sockets(root, &online),
        nodes: read_nodes(root),
        memory: root.parse("/proc/meminfo", |text| parse_memory(text, "MemTotal")),
        hypervisor: read_hypervisor(root, &known),
        model: info.clone().and_then(|info| Fact::of(info.model, CPUINFO)),
        signature: info.and_then(|info| Fact::of(info.signature, CPUINFO)),
        flags: known.flags,
        online,
    }
}

/// Counts the distinct groups of threads that share a core. Kernels before 5.3 call the file `thread_siblings_list`.
fn cores(root: &Root, online: &Fact<Vec<u32>>) -> Fact<u32> {
    let siblings = |cpu: &u32, name: &str| root.text(&format!("{CPUS}/cpu{cpu}/topology/{name}"));
    let cpus = online.value().map(Vec::as_slice).unwrap_or_default();
    let new_name = cpus.first().is_some_and(|cpu| siblings(cpu, "core_cpus_list").value().is_some());
    let name = if new_name { "core_cpus_list" } else { "thread_siblings_list" };
    let groups: BTreeSet<String> = cpus.iter().filter_map(|cpu| siblings(cpu, name).get()).collect();
    count(groups.len(), format!("{CPUS}/cpu*/topology/{name}"))
}

/// Counts the distinct packages. `-1` stands for unknown (kernel `Documentation/admin-guide/cputopology.rst`).
fn sockets(root: &Root, online: &Fact<Vec<u32>>) -> Fact<u32> {
    let cpus = online.value().map(Vec::as_slice).unwrap_or_default();
    let packages: BTreeSet<u32> = cpus.iter().filter_map(|cpu| socket_of(root, *cpu).get()).collect();
    count(packages.len(), format!("{CPUS}/cpu*/topology/physical_package_id"))
}

fn socket_of(root: &Root, cpu: u32) -> Fact<u32> {
    let package = root.text(&format!("{CPUS}/cpu{cpu}/topology/physical_package_id"));
    package.absent_when(|package| package == "-1").parse(|package| package.parse().ok())
}

fn count(found: usize, source: String) -> Fact<u32> {
    Fact::of(u32::try_from(found).ok().filter(|count| *count > 0), source)
}

/// Reads a kernel CPU list such as `0-3,8,10-11`; `None` when it is malformed or absurdly long.
pub fn parse_list(text: &str) -> Option<Vec<u32>> {
    const MOST: u32 = 65536;
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last >= MOST || cpus.len() > MOST as usize {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// What `/proc/cpuinfo` says of the first processor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuInfo {
    /// Its name, as far as there is one.
    pub model: Option<String>,
    /// Family, model and stepping (x86).
    pub signature: Option<(u32, u32, u32)>,
    /// The flags that matter here, in the order of the kernel.
    pub flags: Vec<String>,
}

/// The flags that matter here: what ciphers and checksums use, what the clock is worth, and whether a hypervisor is
/// below. The names are those of the kernel (`arch/x86/include/asm/cpufeatures.h`, `arch/arm64/kernel/cpuinfo.c`).
const FLAGS: &[&str] = &[
    "aes",
    "vaes",
    "pclmulqdq",
    "vpclmulqdq",
    "ssse3",
    "sse4_2",
    "avx",
    "avx2",
    "avx512f",
    "sha_ni",
    "hypervisor",
    "constant_tsc",
    "nonstop_tsc",
    "tsc_known_freq",
    "asimd",
    "pmull",
    "sha2",
    "crc32",
    "sve",
];

/// Reads the first processor of `/proc/cpuinfo`.
pub fn parse_cpuinfo(text: &str) -> CpuInfo {
    let field = |name: &str| {
        let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
        pairs.find_map(|(key, value)| (key.trim() == name).then(|| value.trim()))
    };
    let number = |name: &str| field(name)?.parse::<u32>().ok();
    let flags = field("flags").or_else(|| field("Features")).unwrap_or_default();
    CpuInfo {
        model: model(field),
        signature: number("cpu family")
            .and_then(|family| Some((family, number("model")?, number("stepping").unwrap_or_default()))),
        flags: flags.split_whitespace().filter(|flag| FLAGS.contains(flag)).map(str::to_owned).collect(),
    }
}

/// The name: `model name` (x86, 32-bit ARM), `Model Name` (LoongArch), `cpu` (POWER), `cpu model` (MIPS), `uarch`
/// (RISC-V), or the numbers of an ARM core.
fn model<'a>(field: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let named = ["model name", "Model Name", "cpu model", "cpu", "uarch"];
    let name = named.iter().find_map(|name| field(name)).filter(|name| !name.is_empty());
    let numbers =
        || Some(format!("ARM implementer {} part {}", field("CPU implementer")?, field("CPU part")?));
    name.map(|name| name.split_whitespace().collect::<Vec<_>>().join(" ")).or_else(numbers)
}

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
fn read_hypervisor(root: &Root, info: &CpuInfo) -> Fact<String> {
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
pub fn hypervisor_named(text: &str) -> Option<String> {
    named(text, NAMES)
}

fn named(text: &str, names: &[(&str, &str)]) -> Option<String> {
    names.iter().find(|(part, _)| text.contains(part)).map(|(_, name)| (*name).to_owned())
}

const NODES: &str = "/sys/devices/system/node";

/// One NUMA node.
#[derive(Debug, Clone, Default)]
pub struct NumaNode {
    /// Its number.
    pub id: u32,
    /// Its processors, `…/cpulist`.
    pub cpus: Vec<u32>,
    /// Its memory, `…/meminfo`.
    pub memory: Fact<Bytes>,
    /// The relative distance to each node that is online, in order of their numbers, `…/distance`; 10 is local.
    pub distances: Vec<u32>,
    /// The socket of its processors; absent for a node without processors.
    pub socket: Fact<u32>,
}

/// Reads every node, by number. A kernel without NUMA has none.
fn read_nodes(root: &Root) -> Vec<NumaNode> {
    let names = root.list(NODES);
    let mut ids: Vec<u32> = names.iter().filter_map(|name| name.strip_prefix("node")?.parse().ok()).collect();
    ids.sort_unstable();
    ids.into_iter().map(|id| node(root, id)).collect()
}

fn node(root: &Root, id: u32) -> NumaNode {
    let dir = format!("{NODES}/node{id}");
    let cpulist = format!("{dir}/cpulist");
    let cpus = root.parse(&cpulist, parse_list).get().unwrap_or_default();
    NumaNode {
        id,
        memory: root.parse(&format!("{dir}/meminfo"), |text| parse_memory(text, "MemTotal")),
        distances: root.parse(&format!("{dir}/distance"), parse_distances).get().unwrap_or_default(),
        socket: cpus.first().map_or_else(|| Fact::absent(cpulist), |cpu| socket_of(root, *cpu)),
        cpus,
    }
}

fn parse_distances(text: &str) -> Option<Vec<u32>> {
    text.split_whitespace().map(|distance| distance.parse().ok()).collect()
}

/// One interrupt line or message vector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IrqLine {
    /// How often each processor served it since boot. A processor that never did is left out.
    pub counts: BTreeMap<u32, u64>,
    /// Who asked for it: `nvme0q3`, `virtio1-req.0`, `i801_smbus, ehci_hcd:usb1`; empty when nobody did.
    pub name: String,
}

/// Reads every numbered interrupt, by its number. A machine that does not tell has none.
pub fn interrupts(root: &Root) -> BTreeMap<u32, IrqLine> {
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
    use crate::tree::Tree;
    use proptest::prelude::*;

    #[test]
    fn cpu_lists_are_read_and_absurd_ones_refused() {
        assert_eq!(parse_list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse_list(""), Some(vec![]));
        for text in ["3-1", "0-4294967295", "a", "1-", "-", &"0-65535,".repeat(9)] {
            assert_eq!(parse_list(text), None, "{text}");
        }
    }

    /// Two sockets of two cores of two threads; the last processor is offline.
    fn two_sockets() -> Tree {
        let mut tree = Tree::new();
        tree.file("/sys/devices/system/cpu/online", "0-6\n");
        for cpu in 0..7 {
            let dir = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
            let core = cpu % 4;
            let siblings = if core == 3 { "3".to_owned() } else { format!("{core},{}", core + 4) };
            tree.file(&format!("{dir}/core_cpus_list"), &siblings);
            tree.file(&format!("{dir}/physical_package_id"), if core < 2 { "0" } else { "1" });
        }
        for (node, cpus) in [(0, "0-1,4-5"), (1, "2-3,6"), (10, "")] {
            let dir = format!("/sys/devices/system/node/node{node}");
            tree.file(&format!("{dir}/cpulist"), cpus)
                .file(&format!("{dir}/distance"), "10 21 17")
                .file(&format!("{dir}/meminfo"), &format!("Node {node} MemTotal:  1048576 kB\n"));
        }
        tree.file("/sys/devices/system/node/has_cpu", "0-1");
        tree
    }

    #[test]
    fn cores_and_sockets_are_counted_over_what_is_online() {
        let cpus = read(&Root::from_tree(two_sockets()));
        assert_eq!((cpus.cores.get(), cpus.sockets.get()), (Some(4), Some(2)));
        assert_eq!(cpus.online.get().map(|online| online.len()), Some(7));
    }

    #[test]
    fn nodes_know_their_processors_socket_and_distances() {
        let nodes = read(&Root::from_tree(two_sockets())).nodes;
        assert_eq!(nodes.iter().map(|node| node.id).collect::<Vec<_>>(), [0, 1, 10]);
        assert_eq!((nodes[1].cpus.as_slice(), nodes[1].socket.get()), ([2, 3, 6].as_slice(), Some(1)));
        assert_eq!(nodes[1].distances, [10, 21, 17]);
        assert_eq!(nodes[0].memory.get(), Some(Bytes::from_mib(1024)));
        assert!(nodes[2].cpus.is_empty() && nodes[2].socket.value().is_none(), "memory alone");
    }

    #[test]
    fn a_machine_that_says_nothing_has_reasons_and_no_zeros() {
        let cpus = read(&Root::from_tree(Tree::new()));
        assert!(cpus.cores.missing().is_some() && cpus.sockets.missing().is_some());
        assert!(cpus.model.missing().is_some() && cpus.memory.missing().is_some());
        assert!(cpus.hypervisor.missing().is_some() && cpus.nodes.is_empty());
        let mut tree = Tree::new();
        tree.file("/sys/devices/system/cpu/online", "0")
            .file("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "-1")
            .file("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0");
        let cpus = read(&Root::from_tree(tree));
        assert_eq!((cpus.sockets.get(), cpus.cores.get()), (None, Some(1)));
    }

    #[test]
    fn this_machine_has_processors_and_memory() {
        let cpus = read(&Root::live());
        assert!(cpus.online.value().is_some_and(|online| !online.is_empty()), "{:?}", cpus.online);
        assert!(cpus.memory.value().is_some_and(|memory| memory.get() > 1 << 24), "{:?}", cpus.memory);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}", numbers in "[0-9,-]{0,60}", memory in "MemTotal: {0,3}[0-9]{0,30} ?(kB)?") {
            let _ = parse_list(&numbers);
            let _ = parse_list(&text);
            let _ = parse_memory(&text, "MemTotal");
            let _ = parse_memory(&memory, "MemTotal");
        }
    }

    #[test]
    fn an_x86_processor_has_a_name_and_a_signature() {
        let info = parse_cpuinfo(
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 63\n\
             model name\t: Intel(R) Core(TM) i7-5820K CPU @ 3.30GHz\nstepping\t: 2\n\
             flags\t\t: fpu sse4_2 aes avx constant_tsc nonstop_tsc avx2\n\nprocessor\t: 1\nmodel name\t: other\n",
        );
        assert_eq!(info.model.as_deref(), Some("Intel(R) Core(TM) i7-5820K CPU @ 3.30GHz"));
        assert_eq!(info.signature, Some((6, 63, 2)));
        assert_eq!(info.flags, ["sse4_2", "aes", "avx", "constant_tsc", "nonstop_tsc", "avx2"]);
    }

    #[test]
    fn an_arm_processor_is_named_by_its_numbers() {
        let info = parse_cpuinfo(
            "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics\n\
             CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
        );
        assert_eq!(info.model.as_deref(), Some("ARM implementer 0x41 part 0xd0c"));
        assert_eq!(info.signature, None);
        assert_eq!(info.flags, ["asimd", "aes", "pmull", "sha2", "crc32"]);
    }

    #[test]
    fn other_architectures_are_named_as_they_name_themselves() {
        let power = parse_cpuinfo("processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 3800MHz\n");
        assert_eq!(power.model.as_deref(), Some("POWER9, altivec supported"));
        let riscv =
            parse_cpuinfo("processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\nuarch\t\t: sifive,u74-mc\n");
        assert_eq!(riscv.model.as_deref(), Some("sifive,u74-mc"));
        assert_eq!(parse_cpuinfo("").model, None);
    }

    proptest! {
        #[test]
        fn no_cpuinfo_panics(text in "\\PC{0,200}", number in "[0-9a-z-]{0,20}") {
            let _ = parse_cpuinfo(&text);
            let _ = parse_cpuinfo(&format!("cpu family : {number}\nmodel : {number}\nflags:{text}"));
        }
    }

    fn x86(is_virtual: bool) -> CpuInfo {
        let flags = if is_virtual { vec!["hypervisor".to_owned()] } else { Vec::new() };
        CpuInfo { signature: Some((6, 85, 4)), flags, ..CpuInfo::default() }
    }

    fn with(info: &CpuInfo, files: &[(&str, &str)]) -> Option<String> {
        let mut tree = Tree::new();
        for (path, text) in files {
            tree.file(path, text);
        }
        read_hypervisor(&Root::from_tree(tree), info).get()
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
        assert!(!interrupts(&Root::live()).is_empty());
    }

    proptest! {
        #[test]
        fn no_table_of_interrupts_panics(text in "\\PC{0,200}", header in "( *CPU[0-9]{1,12}){0,4}", line in "[0-9: ]{0,60}\\PC{0,40}") {
            parse_interrupts(&text);
            parse_interrupts(&format!("{header}\n{line}\n{text}"));
        }
    }
}
