//! `nvme list-subsys`: ` +- nvme0 pcie 0000:01:00.0 live`. Namespaces are named only when one was asked for; a controller
//! that stands alone in its subsystem has the subsystem's number, and its first namespace is what people have.

use super::{Carrier, carry};
use crate::capture::Text;
use narrows_machine::Machine;

/// Reads every controller; whether there was one.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    for (number, line) in text.lines() {
        let Some(rest) = line.trim_start().strip_prefix("+- ") else { continue };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [controller, transport, address, ..] = words.as_slice() else { continue };
        let digits = controller.strip_prefix("nvme").unwrap_or_default();
        let is_controller = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_controller || !matches!(*transport, "pcie" | "tcp" | "rdma" | "fc") {
            continue;
        }
        let carrier = Carrier { controller, transport, address };
        carry(machine, &format!("{controller}n1"), &carrier, &text.source(number));
        found = true;
    }
    found
}
