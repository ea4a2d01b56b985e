//! `nvme list -o json`: a flat list of devices; with `-v` subsystems with their controllers, below hosts since 2.0
//! (nvme-cli `nvme-print-json.c`). `nvme list-subsys -o json` has controllers among `Paths`.

use serde_json::Value;

use super::{Carrier, carry, identify, is_namespace, paths};
use crate::capture::Text;
use crate::capture::device::{device, learn};
use crate::capture::json::{documents, text_of};
use narrows_base::units::Bytes;
use narrows_machine::Machine;

/// Reads every document; whether there was a namespace or controller.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    for (line, document) in documents(text) {
        let source = text.source(line);
        found |= walk(machine, &document, &source);
    }
    found
}

/// Looks at a value and everything in it: the shapes nest the same objects differently.
fn walk(machine: &mut Machine, value: &Value, source: &str) -> bool {
    match value {
        Value::Array(values) => {
            values.iter().fold(false, |found, value| walk(machine, value, source) | found)
        }
        Value::Object(members) => {
            let own = flat(machine, value, source) | subsystem(machine, value, source);
            members.values().fold(own, |found, value| walk(machine, value, source) | found)
        }
        _ => false,
    }
}

/// One device of the flat list.
fn flat(machine: &mut Machine, value: &Value, source: &str) -> bool {
    let path = text_of(value, "DevicePath");
    let Some(name) =
        path.as_deref().and_then(|path| path.strip_prefix("/dev/")).filter(|name| is_namespace(name))
    else {
        return false;
    };
    let text = |key: &str| text_of(value, key);
    let (model, serial, firmware) = (text("ModelNumber"), text("SerialNumber"), text("Firmware"));
    identify(machine, name, [model.as_deref(), serial.as_deref(), firmware.as_deref()], source);
    sizes(machine, name, value, source);
    true
}

fn sizes(machine: &mut Machine, name: &str, value: &Value, source: &str) {
    let bytes = |key: &str| value.get(key).and_then(Value::as_u64).filter(|bytes| *bytes > 0).map(Bytes::new);
    let device = device(machine, name);
    learn(&mut device.size, bytes("PhysicalSize"), source);
    learn(&mut device.queue.logical_block, bytes("SectorSize"), source);
}

/// A subsystem: its controllers, the namespaces of each, and its own namespaces, which several controllers may lead to.
fn subsystem(machine: &mut Machine, value: &Value, source: &str) -> bool {
    let list =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut controllers = list(value, "Controllers");
    controllers.extend(list(value, "Paths").into_iter().filter(|path| path.get("Transport").is_some()));
    let shared: Vec<String> = list(value, "Namespaces").iter().filter_map(namespace_name).collect();
    for controller in &controllers {
        let text = |key: &str| text_of(controller, key);
        let Some(name) = text("Controller").or_else(|| text("Name")) else { continue };
        let (transport, address) =
            (text("Transport").unwrap_or_default(), text("Address").unwrap_or_default());
        let carrier = Carrier { controller: &name, transport: &transport, address: &address };
        let namespaces = list(controller, "Namespaces");
        for namespace in &namespaces {
            let Some(own) = namespace_name(namespace) else { continue };
            carry(machine, &own, &carrier, source);
            known(machine, &own, controller, source);
            sizes(machine, &own, namespace, source);
        }
        for path in list(controller, "Paths").iter().filter_map(|path| text_of(path, "Path")) {
            carry(machine, &path, &carrier, source);
            for head in shared.iter().filter(|head| leads_to(&path, head)) {
                paths(machine, head, &path);
                known(machine, head, controller, source);
            }
        }
        let is_bare = namespaces.is_empty() && controller.get("Paths").is_none();
        if is_bare && shared.is_empty() {
            carry(machine, &format!("{name}n1"), &carrier, source);
        } else if is_bare && controllers.len() == 1 {
            for head in &shared {
                carry(machine, head, &carrier, source);
                known(machine, head, controller, source);
            }
        }
    }
    for namespace in list(value, "Namespaces") {
        if let Some(name) = namespace_name(&namespace).filter(|_| !controllers.is_empty()) {
            sizes(machine, &name, &namespace, source);
        }
    }
    !controllers.is_empty()
}

fn known(machine: &mut Machine, namespace: &str, controller: &Value, source: &str) {
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
