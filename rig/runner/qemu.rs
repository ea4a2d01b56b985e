//! The arguments of QEMU for a scenario's machine.

#![expect(clippy::disallowed_methods, reason = "makes the drives' files")]

use std::fs::File;
use std::path::Path;

use super::error::{Result, RigError};
use super::scenario::{Drive, Interface, MachineSpec, Switch};

/// The program.
pub(crate) const PROGRAM: &str = "qemu-system-x86_64";

/// Makes the drives' files in `directory` and returns the arguments, but for kernel, initramfs and consoles.
/// Files are named relative to `directory`.
pub(crate) fn arguments(machine: &MachineSpec, directory: &Path) -> Result<Vec<String>> {
    let mut arguments = Vec::new();
    push(&mut arguments, &["-machine", "q35", "-cpu", "max", "-nodefaults", "-no-reboot"]);
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
    push(&mut arguments, &["-display", "none", "-smp", &machine.cpus.to_string(), "-m", &machine.memory]);
    arguments.extend(machine.qemu.iter().cloned());
    let mut chassis = 1;
    for switch in &machine.switches {
        push_switch(&mut arguments, switch, &mut chassis);
    }
    for drive in &machine.drives {
        let file = directory.join(format!("{}.raw", drive.name));
        let create = || File::create(&file)?.set_len(drive.mib << 20);
        create().map_err(RigError::file(&file))?;
        push_drive(&mut arguments, drive, &mut chassis);
    }
    Ok(arguments)
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

fn push_drive(arguments: &mut Vec<String>, drive: &Drive, chassis: &mut u32) {
    let name = &drive.name;
    let mut backend = format!("if=none,id={name}.file,file={name}.raw,format=raw,cache=unsafe");
    if let Some(rate) = drive.bytes_per_second {
        backend.push_str(&format!(",throttling.bps-total={rate}"));
    }
    if let Some(rate) = drive.ios_per_second {
        backend.push_str(&format!(",throttling.iops-total={rate}"));
    }
    push(arguments, &["-drive", &backend]);
    let bus = match (&drive.port, drive.interface) {
        (Some(port), _) => format!(",bus={port}"),
        (None, Interface::Sata) => String::new(),
        (None, _) => {
            let port = format!("{name}.port");
            push_port(arguments, "pcie-root-port", &port, "", chassis);
            format!(",bus={port}")
        }
    };
    let driver = match drive.interface {
        Interface::Nvme => "nvme",
        Interface::Virtio => "virtio-blk-pci",
        Interface::Sata => "ide-hd",
    };
    let mut device = format!("{driver},id={name}.device,drive={name}.file,serial={name}{bus}");
    for property in &drive.properties {
        device.push(',');
        device.push_str(property);
    }
    push(arguments, &["-device", &device]);
}
