//! Places that people named, and what stands for them in a report that is made to be shared. Every other name goes word by word
//! ([`scrub`]): what is known by its form (addresses, UUIDs, WWNs, NQNs, IQNs), and all that is not known to be harmless.

use std::collections::BTreeMap;

use super::view::{CheckReport, MachineView};
use narrows_machine::snapshot::redact::{is_private_place, model_numbers, scrub};
use narrows_model::path::HopKind;

/// Names and what stands for each, numbered in the order in which they are met.
#[derive(Debug, Default)]
pub struct Names {
    found: BTreeMap<String, String>,
    /// What hardware calls itself, whose words stay although narrows does not know them.
    hardware: String,
}

impl Names {
    /// The names in a report.
    pub fn of(report: &CheckReport) -> Self {
        let mut found = Self::of_machine(&report.machine);
        for path in &report.paths {
            found.target(&path.target);
            for hop in &path.hops {
                found.hop(hop.kind, &hop.id, &hop.name);
                hop.shared_with.iter().for_each(|target| found.target(target));
            }
        }
        found
    }

    /// What a machine calls itself.
    pub fn of_machine(machine: &MachineView) -> Self {
        let board =
            [&machine.system_vendor, &machine.product, &machine.board_vendor, &machine.board, &machine.cpu];
        let hardware = board.into_iter().flatten().flat_map(|name| [name.as_str(), " "]).collect();
        Self { hardware, ..Self::default() }
    }

    /// Takes the names, and what is not known to be harmless, out of texts.
    pub fn hide(&self, texts: &mut [&mut String]) {
        let mut known: Vec<_> = self.found.iter().collect();
        known.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let inner = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        for text in &mut *texts {
            for (name, token) in &known {
                if text.contains(name.as_str()) {
                    **text = replaced(text, name, token, |before, after| {
                        (name.starts_with('/') || !before.ends_with(inner)) && !after.starts_with(inner)
                    });
                }
            }
        }
        scrub(texts, &self.hardware);
    }

    /// What a path is named by: a place, or a device, of which the words say enough.
    pub fn target(&mut self, path: &str) {
        if is_private_place(path) {
            self.put("/redacted", path);
        }
    }

    fn put(&mut self, kind: &str, name: &str) {
        let number = self.found.values().filter(|token| token.starts_with(kind)).count() + 1;
        self.found.entry(name.to_owned()).or_insert_with(|| format!("{kind}-{number}"));
    }

    pub fn hop(&mut self, kind: HopKind, id: &str, name: &str) {
        let id = id.split_once(':').map_or("", |(_, id)| id);
        match kind {
            HopKind::Filesystem => self.target(id),
            HopKind::Remote => {
                let server = id.split(":/").next().unwrap_or_default();
                // An address goes by its form.
                if server.contains(|c: char| c.is_alphabetic() && !c.is_ascii_hexdigit()) {
                    self.put("server", server);
                }
            }
            HopKind::Device => self.hardware.extend(model_numbers(name).flat_map(|word| [word, " "])),
            HopKind::Controller
            | HopKind::Cpu
            | HopKind::Socket
            | HopKind::Chipset
            | HopKind::Switch
            | HopKind::Hba => self.hardware.extend([name, " "]),
            _ => {}
        }
    }
}

/// `text` with a token in place of each `name` that is a whole one between what stands before and behind it.
pub fn replaced(text: &str, name: &str, token: &str, is_whole: impl Fn(&str, &str) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(name) {
        out.push_str(before);
        let is_whole = is_whole(&out, after);
        out.push_str(if is_whole { token } else { name });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_people_chose_go_and_words_of_the_sentence_stay() {
        let mut names = Names::default();
        for target in ["/mnt/Company", "/mnt/Company/sub", "/home", "/", "/dev/mapper/root", "/dev/md127"] {
            names.target(target);
        }
        names.hop(HopKind::Device, "device:sda", "Qzx ST4000NM0035 (sda)");
        let mut text = "ext4 on /mnt/Company, /mnt/Company/sub, /mnt/Company2 and /home; qzx--vg-db (linear volume), /dev/qzx-vg/db; \
            Qzx ST4000NM0035, /dev/mapper/root, /dev/md127, 10.0.0.7:2049"
            .to_owned();
        names.hide(&mut [&mut text]);
        assert_eq!(
            text,
            "ext4 on /redacted-1, /redacted-2, /mnt/Company2 and /home; name1--vg-db (linear volume), /dev/name1-vg/db; \
            name1 ST4000NM0035, /dev/mapper/root, /dev/md127, 192.0.2.1:2049"
        );
    }
}
