//! The arguments of QEMU for a scenario's machine.

#![expect(clippy::disallowed_methods, reason = "makes the drives' files")]

use std::fs::File;
use std::path::Path;

use serde_json::json;

use super::error::{Result, RigError};
use super::network;
use super::scenario::{Drive, Interface, MachineSpec, Switch};
use super::shape;

/// The program.
pub(crate) const PROGRAM: &str = "qemu-system-x86_64";

/// Older QEMU (seen with 7.2) drops the memory barriers of a machine that can never have a second processor. Its drives work in threads of
/// their own, and then at times overlook what was submitted: all I/Os hang until the kernel's time-out. A free place for another
/// processor keeps the barriers.
fn processors(machine: &MachineSpec) -> String {
    match machine.cpus {
        1 if machine.instruction_shift.is_none() => "1,maxcpus=2".to_owned(),
        cpus => cpus.to_string(),
    }
}

/// What narrows does not look at and an emulator pays for: copies of single bytes by a string instruction, which the kernel prefers
/// where a processor says that they are fast; five levels of page tables; and guards of the kernel against its own programs.
const LEFT_OUT: &str = ",-erms,-fsrm,-la57,-smap,-smep,-umip,-pku";

/// The processors of a machine.
fn processor(machine: &MachineSpec) -> String {
    let hypervisor = if machine.hides_hypervisor { ",-hypervisor" } else { "" };
    format!("max{LEFT_OUT}{hypervisor}")
}

/// The arguments, but for kernel, initramfs and consoles. The machine has the drives that belong to it from the beginning, and so
/// many empty ports for others, named by [`port`]. Files are named relative to the guest's directory.
pub(crate) fn arguments(machine: &MachineSpec, ports: usize) -> Vec<String> {
    let mut arguments = Vec::new();
    push(&mut arguments, &["-machine", "q35", "-cpu", &processor(machine), "-nodefaults", "-no-reboot"]);
    // Threads are named, so that those of processors can be told from the others.
    push(&mut arguments, &["-name", "guest,debug-threads=on"]);
    // KVM is left alone although it is faster: where it is nested it may hang, and rates are injected, not computed.
    match machine.instruction_shift {
        Some(shift) => {
            push(
                &mut arguments,
                &["-accel", "tcg,thread=single", "-icount", &format!("shift={shift},sleep=off")],
            );
        }
        None => push(&mut arguments, &["-accel", "tcg,thread=multi"]),
    }
    push(&mut arguments, &["-display", "none", "-smp", &processors(machine), "-m", &machine.memory]);
    arguments.extend(machine.qemu.iter().cloned());
    let mut chassis = 1;
    for switch in &machine.switches {
        push_switch(&mut arguments, switch, &mut chassis);
    }
    for number in 0..ports {
        push_port(&mut arguments, "pcie-root-port", &port(number), "", &mut chassis);
    }
    for group in &machine.groups {
        let limits = format!("throttle-group,id={},x-bps-total={}", group.id, group.bytes_per_second);
        push(&mut arguments, &["-object", &limits]);
    }
    for card in 0..machine.nics.len() {
        let tap = network::tap(machine.number, card);
        push(&mut arguments, &["-netdev", &format!("tap,id=net{card},ifname={tap},script=no,downscript=no")]);
        let address = network::hardware_address(machine.number, card);
        // Nothing is booted from it.
        let device = format!("virtio-net-pci,netdev=net{card},mac={address},romfile=");
        push(&mut arguments, &["-device", &device]);
    }
    for drive in machine.drives.iter().filter(|drive| !shape::is_pluggable(drive)) {
        push_drive(&mut arguments, drive, drive.port.as_deref());
    }
    arguments
}

/// The name of an empty port.
pub(crate) fn port(number: usize) -> String {
    format!("port.{number}")
}

/// Makes the file of a drive in the guest's directory.
pub(crate) fn make_file(drive: &Drive, directory: &Path) -> Result<()> {
    let file = directory.join(format!("{}.raw", drive.name));
    let create = || File::create(&file)?.set_len(drive.mib << 20);
    create().map_err(RigError::file(&file))
}

/// What `-drive` takes, but for the limits of the drive.
pub(crate) fn backend(drive: &Drive) -> String {
    let name = &drive.name;
    let Some(group) = &drive.group else {
        return format!("if=none,id={name}.file,file={name}.raw,format=raw,cache=unsafe");
    };
    // The limit that is shared lies below that of the drive, which is the backend's own (QEMU docs/throttle.txt).
    format!(
        "if=none,id={name}.file,driver=throttle,throttle-group={group},file.driver=raw,file.file.driver=file,\
         file.file.filename={name}.raw,cache=unsafe"
    )
}

/// What `-device` takes.
pub(crate) fn device(drive: &Drive, port: Option<&str>) -> String {
    let name = &drive.name;
    let driver = match drive.interface {
        Interface::Nvme => "nvme",
        Interface::Virtio => "virtio-blk-pci",
        Interface::Sata => "ide-hd",
        Interface::Scsi => "scsi-hd",
    };
    let mut device = format!("{driver},id={name}.device,drive={name}.file,serial={name}");
    for property in port.map(|port| format!("bus={port}")).iter().chain(&drive.properties) {
        device.push(',');
        device.push_str(property);
    }
    device
}

/// What a drive with a rate does in a second unless its scenario says otherwise: as much as a good SATA drive, and far more than any
/// rate here needs in large pieces. Without it, small reads keep an emulated processor busy that shows nothing.
const IOS: u64 = 4000;

/// How many I/Os a drive does in a second.
fn ios(drive: &Drive) -> Option<u64> {
    drive.ios_per_second.or(drive.bytes_per_second.map(|_| IOS))
}

/// The QMP command that sets the limits of a drive.
pub(crate) fn throttle(drive: &Drive) -> String {
    let (bytes, ios) = (drive.bytes_per_second.unwrap_or(0), ios(drive).unwrap_or(0));
    let limits = json!({
        "device": format!("{}.file", drive.name),
        "bps": bytes, "bps_rd": 0, "bps_wr": 0, "iops": ios, "iops_rd": 0, "iops_wr": 0,
    });
    json!({"execute": "block_set_io_throttle", "arguments": limits}).to_string()
}

/// Adds a drive that is there from the beginning, with its limits.
pub(crate) fn push_drive(arguments: &mut Vec<String>, drive: &Drive, port: Option<&str>) {
    let mut backend = backend(drive);
    if let Some(rate) = drive.bytes_per_second {
        backend.push_str(&format!(",throttling.bps-total={rate}"));
    }
    if let Some(rate) = ios(drive) {
        backend.push_str(&format!(",throttling.iops-total={rate}"));
    }
    push(arguments, &["-drive", &backend, "-device", &device(drive, port)]);
}

fn push(arguments: &mut Vec<String>, more: &[&str]) {
    arguments.extend(more.iter().map(|&argument| argument.to_owned()));
}

fn push_port(arguments: &mut Vec<String>, driver: &str, id: &str, bus: &str, chassis: &mut u32) {
    let speed = if driver == "pcie-root-port" { ",x-speed=16,x-width=4" } else { "" };
    let bus = if bus.is_empty() { String::new() } else { format!(",bus={bus}") };
    push(arguments, &["-device", &format!("{driver},id={id}{bus},chassis={chassis},slot={chassis}{speed}")]);
    *chassis += 1;
}

fn push_switch(arguments: &mut Vec<String>, switch: &Switch, chassis: &mut u32) {
    let id = &switch.id;
    push_port(arguments, "pcie-root-port", &format!("{id}.root"), "", chassis);
    push(arguments, &["-device", &format!("x3130-upstream,id={id},bus={id}.root")]);
    for port in 0..switch.ports {
        push_port(arguments, "xio3130-downstream", &format!("{id}.{port}"), id, chassis);
    }
}
