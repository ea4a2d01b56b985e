//! `nvme list` for people: columns that a line of dashes delimits. With `-v` there is a table of controllers too, which
//! tells where each is.

use super::{Carrier, carry, identify, is_namespace};
use crate::capture::device::{device, learn};
use crate::capture::table::{Head, Word, words};
use crate::capture::{Text, size};
use narrows_machine::Machine;

/// Reads every namespace; whether there was one.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut table: Option<(Vec<String>, Head)> = None;
    let mut head_line: Option<&str> = None;
    let mut has_number = true;
    for (number, line) in text.lines() {
        if line.starts_with("Device") && line.contains("TxPort") {
            has_number = line.contains("Cntlid");
        }
        if let Some(controller) = Controller::parse(line, has_number) {
            found |= controller.put(machine, &text.source(number));
        } else if line.starts_with("Node") && line.contains("SN") && line.contains("Model") {
            table = Some(heads(line));
            head_line = Some(line);
        } else if let (Some(head), true) = (head_line, line.starts_with("--")) {
            table = Some(below_dashes(head, line));
        } else if let Some((names, head)) = table.as_ref().filter(|_| line.starts_with("/dev/nvme")) {
            let cells = head.cells(&words(line));
            found |= row(machine, text, number, names, &cells);
        } else if !line.is_empty() {
            table = None;
            head_line = None;
        }
    }
    found
}

/// A row of the table of controllers: `nvme0 0 SN MODEL OF MANY WORDS FIRMWARE pcie 0000:02:00.0 nvme-subsys0 nvme0n1`; nvme-cli
/// before 2.9 has no number of the controller. The columns are not aligned with their heads in every version.
struct Controller<'t> {
    name: &'t str,
    model: String,
    serial: &'t str,
    firmware: &'t str,
    transport: &'t str,
    address: &'t str,
    namespaces: Vec<&'t str>,
}

impl<'t> Controller<'t> {
    fn parse(line: &'t str, has_number: bool) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.first().filter(|name| super::is_controller(name))?;
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
fn heads(line: &str) -> (Vec<String>, Head) {
    let mut heads: Vec<Word<'_>> = words(line);
    // `FW Rev` is one head of two words.
    heads.retain(|word| word.text != "Rev");
    let names = heads.iter().map(|word| word.text.to_owned()).collect();
    (names, Head::new(&heads))
}

/// Columns as wide as the dashes below their heads.
fn below_dashes(head: &str, dashes: &str) -> (Vec<String>, Head) {
    let columns = words(dashes);
    let heads = words(head);
    let name = |column: &Word<'_>| {
        let own = heads.iter().find(|word| word.start >= column.start && word.start < column.end);
        own.map(|word| word.text.to_owned()).unwrap_or_default()
    };
    (columns.iter().map(name).collect(), Head::new(&columns))
}

fn row(machine: &mut Machine, text: &Text, number: usize, names: &[String], cells: &[String]) -> bool {
    let cell = |name: &str| {
        let at = names.iter().position(|known| known == name)?;
        cells.get(at).map(String::as_str)
    };
    let Some(namespace) =
        cell("Node").and_then(|node| node.strip_prefix("/dev/")).filter(|name| is_namespace(name))
    else {
        return false;
    };
    let source = text.source(number);
    identify(machine, namespace, [cell("Model"), cell("SN"), cell("FW")], &source);
    // `1.02 TB / 1.02 TB`: used and all.
    let all = cell("Usage").and_then(|usage| size::exact(usage.split_once('/')?.1));
    let device = device(machine, namespace);
    learn(&mut device.size, all, &source);
    // `512 B + 0 B`: data and metadata.
    let block = cell("Format").and_then(|format| size::binary(format.split('+').next()?));
    learn(&mut device.queue.logical_block, block.filter(|block| block.get() > 0), &source);
    true
}
