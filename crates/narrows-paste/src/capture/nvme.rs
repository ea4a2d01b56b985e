//! nvme-cli: `nvme list` (text, and JSON in three shapes), `nvme list-subsys`, `nvme id-ctrl`, `nvme smart-log` (text and
//! JSON).

use serde_json::Value;

use super::device::{add_name, device, implied, is_kernel_name, learn};
use super::fill::{Fill, Than};
use super::health::{Log, UNNAMED, take, warns_from};
use super::json::{documents, list, text_of};
use super::table::{TableHead, cell, words};
use super::{Output, Part, Text, number, read_outputs};
use crate::text::is_digits;
use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, Celsius};
use narrows_machine::Machine;
use narrows_machine::block::transport::fabric_option;
use narrows_machine::block::{BlockKind, NvmeFabric, Remote, Transport, is_numbered};

const OUTPUTS: [Output; 6] = [
    ("nvme list", &["/dev/nvme", "TxPort"], read_list),
    ("nvme list-subsys", &["+- nvme"], read_subsystem),
    ("nvme list -o json", &["\"DevicePath\"", "\"Controllers\"", "\"Subsystems\""], read_json),
    ("nvme id-ctrl", &["oncs ", "NVME Identify Controller"], read_identify),
    ("nvme smart-log", &["Smart Log for NVME"], read_smart_log),
    ("nvme smart-log -o json", &["\"critical_warning\""], read_smart_log_json),
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
    let controller = carrier.controller.to_owned();
    let told = match (carrier.transport, carrier.address.parse().ok()) {
        ("pcie", Some(pci)) => Transport::NvmePci { controller, pci },
        (network @ ("tcp" | "rdma" | "fc"), _) => Transport::NvmeFabric(NvmeFabric {
            controller,
            transport: network.to_owned(),
            remote: remote(carrier.address, source),
            queues: Fact::absent(source),
        }),
        _ => return,
    };
    device.transport.fill(told, Than::Same);
}

/// Options are separated by commas, or by blanks in old versions.
fn remote(address: &str, source: &str) -> Remote {
    let joined = address.replace(' ', ",");
    let option = |name: &str| Fact::of(fabric_option(&joined, name).map(str::to_owned), source);
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
        BlockKind::NvmeMultipath(paths) => add_name(paths, path),
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
    is_numbered(name, "nvme")
}

/// `nvme0n1`, but neither a controller nor a partition.
fn is_namespace(name: &str) -> bool {
    let parts = name.strip_prefix("nvme").and_then(|rest| rest.split_once('n'));
    parts.is_some_and(|(controller, space)| is_digits(space) && controller.split('c').all(is_digits))
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
    device.transport.fill(implied(namespace, None), Than::Same);
}

/// `nvme list` for people: columns that a line of dashes delimits. With `-v` there is a table of controllers too, which
/// tells where each is.
///
/// Reads every namespace; whether there was one.
fn read_list(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut table: Option<TableHead<'_>> = None;
    let mut head_line: Option<&str> = None;
    let mut has_number = true;
    for (number, line) in text.lines() {
        if line.starts_with("Device") && line.contains("TxPort") {
            has_number = line.contains("Cntlid");
        }
        if let Some(controller) = ListedController::parse(line, has_number) {
            found |= controller.put(machine, &text.source(number));
        } else if line.starts_with("Node") && line.contains("SN") && line.contains("Model") {
            table = Some(list_heads(line));
            head_line = Some(line);
        } else if let (Some(head), true) = (head_line, line.starts_with("--")) {
            table = Some(below_dashes(head, line));
        } else if let Some(head) = table.as_ref().filter(|_| line.starts_with("/dev/nvme")) {
            let cells = head.cells(&words(line));
            found |= list_row(machine, &text.source(number), &cells).is_some();
        } else if !line.is_empty() {
            table = None;
            head_line = None;
        }
    }
    found
}

/// A row of the table of controllers: `nvme0 0 SN MODEL OF MANY WORDS FIRMWARE pcie 0000:02:00.0 nvme-subsys0 nvme0n1`; nvme-cli
/// before 2.9 has no number of the controller. The columns are not aligned with their heads in every version.
struct ListedController<'t> {
    name: &'t str,
    model: String,
    serial: &'t str,
    firmware: &'t str,
    transport: &'t str,
    address: &'t str,
    namespaces: Vec<&'t str>,
}

impl<'t> ListedController<'t> {
    fn parse(line: &'t str, has_number: bool) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.first().filter(|name| is_controller(name))?;
        let at = words
            .iter()
            .position(|word| ["pcie", "tcp", "rdma", "fc"].contains(word))
            .filter(|at| *at >= 3 + usize::from(has_number))?;
        let serial = 1 + usize::from(has_number);
        Some(Self {
            name,
            model: words.get(serial + 1..at - 1)?.join(" "),
            serial: words.get(serial)?,
            firmware: words.get(at - 1)?,
            transport: words.get(at)?,
            address: words.get(at + 1)?,
            namespaces: words.get(at + 2..)?.iter().map(|word| word.trim_end_matches(',')).collect(),
        })
    }

    /// Puts its namespaces down; whether it has one.
    fn put(&self, machine: &mut Machine, source: &str) -> bool {
        let carrier = Carrier { controller: self.name, transport: self.transport, address: self.address };
        let namespaces: Vec<&&str> = self.namespaces.iter().filter(|name| is_namespace(name)).collect();
        for namespace in &namespaces {
            carry(machine, namespace, &carrier, source);
            let facts = [Some(self.model.as_str()), Some(self.serial), Some(self.firmware)];
            identify(machine, namespace, facts, source);
        }
        !namespaces.is_empty()
    }
}

/// Columns that begin where their heads do.
fn list_heads(line: &str) -> TableHead<'_> {
    let mut heads = words(line);
    // `FW Rev` is one head of two words.
    heads.retain(|word| word.text != "Rev");
    TableHead(heads)
}

/// Columns as wide as the dashes below their heads.
fn below_dashes<'t>(head: &'t str, dashes: &'t str) -> TableHead<'t> {
    let (heads, mut columns) = (words(head), words(dashes));
    for column in &mut columns {
        let own = heads.iter().find(|word| word.start >= column.start && word.start < column.end);
        column.text = own.map_or("", |word| word.text);
    }
    TableHead(columns)
}

fn list_row(machine: &mut Machine, source: &str, cells: &[(&str, String)]) -> Option<()> {
    let cell = |name: &str| cell(cells, name);
    let namespace = cell("Node")?.strip_prefix("/dev/").filter(|name| is_namespace(name))?;
    identify(machine, namespace, [cell("Model"), cell("SN"), cell("FW")], source);
    // `1.02 TB / 1.02 TB`: used and all.
    let all = cell("Usage").and_then(|usage| number::exact_size(usage.split_once('/')?.1));
    let device = device(machine, namespace);
    learn(&mut device.size, all, source);
    // `512 B + 0 B`: data and metadata.
    let block = cell("Format").and_then(|format| number::binary_size(format.split('+').next()?));
    learn(&mut device.queue.logical_block, block.filter(|block| block.get() > 0), source);
    Some(())
}

/// `nvme list -o json`: a flat list of devices; with `-v` subsystems with their controllers, below hosts since 2.0
/// (nvme-cli `nvme-print-json.c`). `nvme list-subsys -o json` has controllers among `Paths`.
///
/// Reads every document; whether there was a namespace or controller.
fn read_json(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    for (line, document) in documents(text) {
        let source = text.source(line);
        found |= walk_json(machine, &document, &source);
    }
    found
}

/// Looks at a value and everything in it: the shapes nest the same objects differently.
fn walk_json(machine: &mut Machine, value: &Value, source: &str) -> bool {
    match value {
        Value::Array(values) => {
            values.iter().fold(false, |found, value| walk_json(machine, value, source) | found)
        }
        Value::Object(members) => {
            let flat = flat_json(machine, value, source).is_some();
            let own = subsystem_of_json(machine, value, source) | flat;
            members.values().fold(own, |found, value| walk_json(machine, value, source) | found)
        }
        _ => false,
    }
}

/// One device of the flat list.
fn flat_json(machine: &mut Machine, value: &Value, source: &str) -> Option<()> {
    let path = text_of(value, "DevicePath")?;
    let name = path.strip_prefix("/dev/").filter(|name| is_namespace(name))?;
    known_namespace(machine, name, value, source);
    sizes_of_json(machine, name, value, source);
    Some(())
}

fn sizes_of_json(machine: &mut Machine, name: &str, value: &Value, source: &str) {
    let bytes = |key: &str| value.get(key).and_then(Value::as_u64).filter(|bytes| *bytes > 0).map(Bytes::new);
    let device = device(machine, name);
    learn(&mut device.size, bytes("PhysicalSize"), source);
    learn(&mut device.queue.logical_block, bytes("SectorSize"), source);
}

/// A subsystem: its controllers, the namespaces of each, and its own namespaces, which several controllers may lead to.
fn subsystem_of_json(machine: &mut Machine, value: &Value, source: &str) -> bool {
    let of_paths = list(value, "Paths").filter(|path| path.get("Transport").is_some());
    let controllers: Vec<&Value> = list(value, "Controllers").chain(of_paths).collect();
    let shared: Vec<String> = list(value, "Namespaces").filter_map(namespace_name).collect();
    for controller in &controllers {
        let text = |key: &str| text_of(controller, key);
        let Some(name) = text("Controller").or_else(|| text("Name")) else { continue };
        let (transport, address) =
            (text("Transport").unwrap_or_default(), text("Address").unwrap_or_default());
        let carrier = Carrier { controller: &name, transport: &transport, address: &address };
        let namespaces: Vec<&Value> = list(controller, "Namespaces").collect();
        for namespace in &namespaces {
            let Some(own) = namespace_name(namespace) else { continue };
            carry(machine, &own, &carrier, source);
            known_namespace(machine, &own, controller, source);
            sizes_of_json(machine, &own, namespace, source);
        }
        for path in list(controller, "Paths").filter_map(|path| text_of(path, "Path")) {
            carry(machine, &path, &carrier, source);
            for head in shared.iter().filter(|head| leads_to(&path, head)) {
                paths(machine, head, &path);
                known_namespace(machine, head, controller, source);
            }
        }
        let is_bare = namespaces.is_empty() && controller.get("Paths").is_none();
        if is_bare && shared.is_empty() {
            carry(machine, &format!("{name}n1"), &carrier, source);
        } else if is_bare && controllers.len() == 1 {
            for head in &shared {
                carry(machine, head, &carrier, source);
                known_namespace(machine, head, controller, source);
            }
        }
    }
    for namespace in list(value, "Namespaces") {
        if let Some(name) = namespace_name(namespace).filter(|_| !controllers.is_empty()) {
            sizes_of_json(machine, &name, namespace, source);
        }
    }
    !controllers.is_empty()
}

fn known_namespace(machine: &mut Machine, namespace: &str, controller: &Value, source: &str) {
    let text = |key: &str| text_of(controller, key);
    let (model, serial, firmware) = (text("ModelNumber"), text("SerialNumber"), text("Firmware"));
    identify(machine, namespace, [model.as_deref(), serial.as_deref(), firmware.as_deref()], source);
}

/// `NameSpace` is a name in this shape and a number in the flat one.
fn namespace_name(value: &Value) -> Option<String> {
    text_of(value, "NameSpace").or_else(|| text_of(value, "Name")).filter(|name| is_namespace(name))
}

/// Whether `nvme0c1n1` is a path to `nvme0n1`.
fn leads_to(path: &str, head: &str) -> bool {
    let parts = |name: &str| -> Option<(String, String)> {
        let (before, namespace) = name.rsplit_once('n')?;
        Some((before.split('c').next()?.to_owned(), namespace.to_owned()))
    };
    parts(path).is_some_and(|of_path| parts(head) == Some(of_path))
}

/// `nvme list-subsys`: ` +- nvme0 pcie 0000:01:00.0 live`. Namespaces are named only when one was asked for; a controller
/// that stands alone in its subsystem has the subsystem's number, and its first namespace is what people have.
///
/// Reads every controller; whether there was one.
fn read_subsystem(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    for (number, line) in text.lines() {
        let Some(rest) = line.trim_start().strip_prefix("+- ") else { continue };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [controller, transport, address, ..] = words.as_slice() else { continue };
        if !is_controller(controller) || !matches!(*transport, "pcie" | "tcp" | "rdma" | "fc") {
            continue;
        }
        let carrier = Carrier { controller, transport, address };
        carry(machine, &format!("{controller}n1"), &carrier, &text.source(number));
        found = true;
    }
    found
}

/// What one output says.
#[derive(Debug, Default)]
struct NvmeIdentity<'a> {
    line: usize,
    name: Option<String>,
    model: Option<&'a str>,
    serial: Option<&'a str>,
    firmware: Option<&'a str>,
    /// WCTEMP, in kelvins; 0 where the drive has no such threshold.
    warning: Option<Celsius>,
}

/// `nvme id-ctrl`: `mn : Samsung SSD 980 PRO 1TB`. The output does not name its device: that is in the command above it,
/// or in the name of the file as sosreport makes it (`nvme_id-ctrl_-H_.dev.nvme0`).
///
/// Reads every output whose device is known; whether there was one.
fn read_identify(machine: &mut Machine, text: &Text) -> bool {
    let mut all: Vec<NvmeIdentity<'_>> = Vec::new();
    let mut named = text.name().rsplit_once("id-ctrl").and_then(|(_, rest)| namespace_in(rest));
    for (number, line) in text.lines() {
        if let Some((_, rest)) = line.split_once("id-ctrl ") {
            named = namespace_in(rest);
        }
        let Some((key, value)) = line.split_once(':') else { continue };
        match (key.trim_end(), all.last_mut()) {
            ("vid", _) => {
                all.push(NvmeIdentity { line: number, name: named.take(), ..NvmeIdentity::default() });
            }
            ("sn", Some(open)) => open.serial = Some(value),
            ("mn", Some(open)) => open.model = Some(value),
            ("wctemp", Some(open)) => {
                let kelvins = value.trim().parse::<u16>().ok().filter(|kelvins| *kelvins > 0);
                open.warning = kelvins.map(Celsius::from_kelvin);
            }
            ("fr", Some(open)) => open.firmware = Some(value),
            _ => {}
        }
    }
    let mut found = false;
    for identity in all {
        let Some(name) = identity.name.filter(|_| identity.model.is_some()) else { continue };
        let facts = [identity.model, identity.serial, identity.firmware];
        let source = text.source(identity.line);
        identify(machine, &name, facts, &source);
        warns_from(machine, &name, identity.warning, &source);
        found = true;
    }
    found
}

/// The name of the output, in commands and file names.
const NAME: &str = "smart-log";

/// `nvme smart-log`, text and JSON. The text names its device, JSON does not: there it is in the command above it, or in
/// the name of the file as sosreport makes it (`nvme_smart-log_.dev.nvme0n1`).
///
/// Reads every output for people; whether there was one.
fn read_smart_log(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut open: Option<(usize, String, Log)> = None;
    for (number, line) in text.lines() {
        if let Some((_, device)) = line.split_once("Smart Log for NVME device:") {
            found |= finish_smart_log(machine, text, open.take());
            // `device:ng0n1` has nothing before its name.
            open = namespace_in(&format!(":{}", device.trim())).map(|name| (number, name, Log::default()));
        } else if let (Some((_, _, log)), Some((key, value))) = (&mut open, line.split_once(':')) {
            log.set(key, value);
        } else if !line.trim().is_empty() {
            found |= finish_smart_log(machine, text, open.take());
        }
    }
    found | finish_smart_log(machine, text, open)
}

fn finish_smart_log(machine: &mut Machine, text: &Text, open: Option<(usize, String, Log)>) -> bool {
    let Some((line, name, log)) = open.filter(|(_, _, log)| log.is_log()) else { return false };
    take(machine, &name, log, &text.source(line));
    true
}

/// Reads every document; whether one was a log.
fn read_smart_log_json(machine: &mut Machine, text: &Text) -> bool {
    let mut commands: Vec<(usize, String)> = Vec::new();
    commands.extend(text.name().rsplit_once(NAME).and_then(|(_, rest)| Some((0, namespace_in(rest)?))));
    for (number, line) in text.lines().filter(|(_, line)| line.contains(NAME)) {
        let device = line
            .rsplit_once(NAME)
            .and_then(|(before, after)| namespace_in(after).or_else(|| namespace_in(before)));
        commands.extend(device.map(|name| (number, name)));
    }
    let mut found = false;
    for (line, document) in documents(text).into_iter().filter(|(_, document)| is_log(document)) {
        let log = Log::of_json(&document);
        if !log.is_log() {
            continue;
        }
        // A command names the first document below it.
        let before = commands.iter().rposition(|(at, _)| *at <= line);
        let name =
            before.map_or_else(|| format!("{UNNAMED}{}", text.source(line)), |at| commands.remove(at).1);
        take(machine, &name, log, &text.source(line));
        found = true;
    }
    found
}

/// smartctl's documents have the log inside, in words of their own.
fn is_log(document: &Value) -> bool {
    document.get("critical_warning").is_some() && document.get("temperature").is_some()
}

#[cfg(test)]
mod tests;
