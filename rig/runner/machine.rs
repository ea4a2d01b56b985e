//! The virtual machine of a scenario.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::network::Nic;

/// The virtual machine.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MachineSpec {
    /// Processors.
    #[serde(default = "two")]
    pub(crate) cpus: u32,
    /// Memory, as QEMU's `-m` takes it.
    #[serde(default = "one_gib")]
    pub(crate) memory: String,
    /// Guest time counts instructions, each 2 to this power nanoseconds, and idle time is skipped. What a processor does
    /// in a second then depends on neither the host nor its load. Needs `cpus = 1`, and drives without throttling,
    /// which is timed by the host's clock. Absent: guest time is host time.
    pub(crate) instruction_shift: Option<u8>,
    /// Kernel modules to load before setup, each with its parameters, and so to put into the initramfs.
    #[serde(default)]
    pub(crate) modules: Vec<String>,
    /// Modules that the kernel loads by itself when it needs them: only put into the initramfs.
    #[serde(default)]
    pub(crate) modules_on_demand: Vec<String>,
    /// Modules, and programs, that Debian's main archive does not have. Without them the scenario is skipped.
    #[serde(default)]
    pub(crate) optional_modules: Vec<String>,
    #[serde(default)]
    pub(crate) optional_tools: Vec<String>,
    /// Programs of the host to put into the guest's search path, relative to the package: `target/rig/attacks`.
    #[serde(default)]
    pub(crate) programs: Vec<String>,
    /// PCIe switches.
    #[serde(default, rename = "switch")]
    pub(crate) switches: Vec<Switch>,
    /// Limits that several drives share.
    #[serde(default, rename = "group")]
    pub(crate) groups: Vec<Group>,
    /// Drives.
    #[serde(default, rename = "drive")]
    pub(crate) drives: Vec<Drive>,
    /// Its processors do not say that they are emulated.
    #[serde(default)]
    pub(crate) hides_hypervisor: bool,
    /// More arguments for QEMU, in front of the drives.
    #[serde(default)]
    pub(crate) qemu: Vec<String>,
    /// More words for the kernel's command line.
    #[serde(default)]
    pub(crate) kernel: String,
    /// Network cards.
    #[serde(default, rename = "nic")]
    pub(crate) nics: Vec<Nic>,
    /// How far its clock is ahead of the host's when it is switched on, in seconds.
    #[serde(default)]
    pub(crate) clock_seconds: i64,
    /// Its place among the machines of the scenario.
    #[serde(skip)]
    pub(crate) number: usize,
    /// The addresses of all machines of the scenario, with their names, as `/etc/hosts` has them.
    #[serde(skip)]
    pub(crate) known_hosts: String,
}

fn two() -> u32 {
    2
}

fn one_gib() -> String {
    "1G".to_owned()
}

/// A PCIe switch below a root port of its own; its downstream ports are `<id>.0`, `<id>.1` and so on.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Switch {
    /// Its id.
    pub(crate) id: String,
    /// How many downstream ports it has.
    pub(crate) ports: u8,
}

/// A limit that several drives share, whatever their places: a throttle node below the limit of each drive.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    /// Its name, by which QMP finds it as `/objects/<id>`.
    pub(crate) id: String,
    /// Bytes per second for reads and writes of all together.
    pub(crate) bytes_per_second: u64,
}

/// How a drive is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Interface {
    /// An NVMe controller with one namespace.
    Nvme,
    /// A virtio block device.
    Virtio,
    /// A SATA disk on the machine's AHCI adapter.
    Sata,
    /// A SCSI disk on an adapter among `qemu`, which `port` names.
    Scsi,
}

/// A drive: a sparse file on the host, throttled by QEMU.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Drive {
    /// Its name: the serial number, QEMU's id, `$name` in shell commands and `{name}` in expectations.
    pub(crate) name: String,
    /// Its size in MiB.
    pub(crate) mib: u64,
    /// How it is attached.
    #[serde(default = "nvme")]
    pub(crate) interface: Interface,
    /// The port it is plugged into (`<switch id>.<n>`); absent: a root port of its own.
    pub(crate) port: Option<String>,
    /// Bytes per second for reads and writes together.
    pub(crate) bytes_per_second: Option<u64>,
    /// I/Os per second for reads and writes together.
    pub(crate) ios_per_second: Option<u64>,
    /// The limit that it shares with others, by its name.
    pub(crate) group: Option<String>,
    /// More properties of the QEMU device, `key=value`.
    #[serde(default)]
    pub(crate) properties: Vec<String>,
}

fn nvme() -> Interface {
    Interface::Nvme
}

impl MachineSpec {
    /// What is wrong with it.
    pub(crate) fn validate(&self) -> std::result::Result<(), String> {
        let throttled = |drive: &Drive| drive.bytes_per_second.is_some() || drive.ios_per_second.is_some();
        if self.instruction_shift.is_some() && (self.cpus != 1 || self.drives.iter().any(throttled)) {
            return Err("`instruction_shift` needs `cpus = 1` and drives that are not throttled".to_owned());
        }
        let mut seen = BTreeSet::new();
        for drive in &self.drives {
            let word = drive.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            if !word || !drive.name.starts_with(|c: char| c.is_ascii_lowercase()) || drive.name.len() > 20 {
                return Err(format!("drive `{}` is not named like a shell variable", drive.name));
            }
            if !seen.insert(&drive.name) {
                return Err(format!("two drives are named `{}`", drive.name));
            }
            if let Some(port) = &drive.port
                && !self.has_port(port)
            {
                return Err(format!("drive `{}` is in port `{port}`, which no switch has", drive.name));
            }
            if let Some(id) = &drive.group
                && !self.groups.iter().any(|group| group.id == *id)
            {
                return Err(format!("drive `{}` is in the group `{id}`, which there is not", drive.name));
            }
        }
        Ok(())
    }

    /// Whether a switch, or a device among QEMU's own arguments, has this port.
    fn has_port(&self, port: &str) -> bool {
        // QEMU names the bus of an adapter after it: `hba.0`.
        let id = format!("id={}", port.strip_suffix(".0").unwrap_or(port));
        self.switches.iter().any(|switch| (0..switch.ports).any(|n| format!("{}.{n}", switch.id) == port))
            || self
                .qemu
                .iter()
                .any(|argument| argument.split(',').any(|word| word == id || word == format!("id={port}")))
    }

    /// The modules to load before the setup, each with its parameters. Looking for disks at an adapter that has none takes AHCI's
    /// driver a second.
    pub(crate) fn modules_at_start(&self) -> impl Iterator<Item = &str> {
        let has_disk = self.drives.iter().any(|drive| drive.interface == Interface::Sata);
        let of_disks = has_disk.then_some("ahci").into_iter();
        let of_nics: &[&str] = if self.nics.is_empty() { &[] } else { &["virtio_net", "sch_tbf"] };
        of_disks.chain(of_nics.iter().copied()).chain(self.modules.iter().map(String::as_str))
    }

    /// The modules that must be in the initramfs, by name.
    pub(crate) fn module_names(&self) -> impl Iterator<Item = &str> {
        let on_demand = self.modules_on_demand.iter().map(String::as_str);
        self.modules_at_start().chain(on_demand).filter_map(|line| line.split_whitespace().next())
    }
}
