//! nvme-cli: `nvme list` (text, and JSON in three shapes), `nvme list-subsys`, `nvme id-ctrl`, `nvme smart-log` (text and
//! JSON).

mod identify;
mod json;
mod list;
mod smart_log;
mod subsystem;

use super::device::{device, is_kernel_name, learn};
use super::{Output, Part, Text, read_outputs};
use narrows_base::fact::Fact;
use narrows_machine::Machine;
use narrows_machine::block::nvme::fabric_option;
use narrows_machine::block::{BlockKind, NvmeFabric, Remote, Transport};

const OUTPUTS: [Output; 6] = [
    (
        "nvme list",
        |body| body.contains("/dev/nvme") && body.contains("Model") || body.contains("TxPort"),
        list::read,
    ),
    ("nvme list-subsys", |body| body.contains("+- nvme"), subsystem::read),
    (
        "nvme list -o json",
        |body| {
            body.contains("\"DevicePath\"")
                || body.contains("\"Controllers\"")
                || body.contains("\"Subsystems\"")
        },
        json::read,
    ),
    (
        "nvme id-ctrl",
        |body| body.contains("oncs ") || body.contains("NVME Identify Controller"),
        identify::read,
    ),
    ("nvme smart-log", |body| body.contains("Smart Log for NVME"), smart_log::read),
    ("nvme smart-log -o json", |body| body.contains("\"critical_warning\""), smart_log::read_json),
];

/// Reads every output of nvme-cli in a text.
pub fn read(text: &Text) -> Part {
    read_outputs(text, &OUTPUTS)
}

/// What names a namespace and what carries it.
#[derive(Debug, Default)]
struct Carrier<'a> {
    /// `nvme0`.
    controller: &'a str,
    /// `pcie`, `tcp`, `rdma`, `fc`.
    transport: &'a str,
    /// `0000:01:00.0`, or `traddr=192.0.2.1,trsvcid=4420`.
    address: &'a str,
}

/// Puts down what carries a namespace.
fn carry(machine: &mut Machine, namespace: &str, carrier: &Carrier<'_>, source: &str) {
    if !is_namespace(namespace) || !is_kernel_name(carrier.controller) {
        return;
    }
    let device = device(machine, namespace);
    if !matches!(device.transport, Transport::None | Transport::Other { .. }) {
        return;
    }
    let controller = carrier.controller.to_owned();
    device.transport = match (carrier.transport, carrier.address.parse().ok()) {
        ("pcie", Some(pci)) => Transport::NvmePci { controller, pci },
        (network @ ("tcp" | "rdma" | "fc"), _) => Transport::NvmeFabric(NvmeFabric {
            controller,
            transport: network.to_owned(),
            remote: remote(carrier.address, source),
            queues: Fact::absent(source),
        }),
        _ => return,
    };
}

/// Options are separated by commas, or by blanks in old versions.
fn remote(address: &str, source: &str) -> Remote {
    let joined = address.replace(' ', ",");
    let option = |name: &str| match fabric_option(&joined, name) {
        Some(value) => Fact::known(value.to_owned(), source),
        None => Fact::absent(source),
    };
    Remote {
        address: option("traddr"),
        port: option("trsvcid").parse(|text| text.parse().ok()),
        interface: option("host_iface"),
    }
}

/// Puts down that a namespace is reached by hidden paths, `nvme0c0n1`.
fn paths(machine: &mut Machine, namespace: &str, path: &str) {
    if !is_namespace(namespace) || !is_kernel_name(path) || namespace == path {
        return;
    }
    device(machine, path);
    let head = device(machine, namespace);
    match &mut head.kind {
        BlockKind::NvmeMultipath(paths) if paths.len() < 64 && !paths.iter().any(|known| known == path) => {
            paths.push(path.to_owned());
        }
        BlockKind::NvmeMultipath(_) => {}
        _ => head.kind = BlockKind::NvmeMultipath(vec![path.to_owned()]),
    }
}

/// The first namespace of the controller that a command or file name holds: `/dev/nvme0`, `.dev.nvme0n1`, `/dev/ng0n1`
/// (the character device of a namespace).
fn namespace_in(text: &str) -> Option<String> {
    let rest =
        text.split_once("nvme").or_else(|| text.split_once("/ng")).or_else(|| text.split_once(":ng"))?.1;
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == 'n')).unwrap_or(rest.len());
    let name = format!("nvme{}", rest.get(..end)?);
    if is_namespace(&name) { Some(name) } else { Some(format!("{name}n1")).filter(|name| is_namespace(name)) }
}

/// `nvme0`.
fn is_controller(name: &str) -> bool {
    let number = name.strip_prefix("nvme").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// `nvme0n1`, but neither a controller nor a partition.
fn is_namespace(name: &str) -> bool {
    let Some((controller, namespace)) = name.strip_prefix("nvme").and_then(|rest| rest.split_once('n'))
    else {
        return false;
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(namespace) && controller.split('c').all(digits)
}

/// Puts down who a namespace is.
fn identify(
    machine: &mut Machine,
    namespace: &str,
    [model, serial, firmware]: [Option<&str>; 3],
    source: &str,
) {
    let device = device(machine, namespace);
    let known = |text: Option<&str>| text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    learn(&mut device.model, known(model), source);
    learn(&mut device.serial, known(serial), source);
    learn(&mut device.firmware, known(firmware), source);
    if matches!(device.transport, Transport::None) {
        device.transport = Transport::Other { name: "nvme".to_owned(), pci: None };
    }
}

#[cfg(test)]
mod tests;
