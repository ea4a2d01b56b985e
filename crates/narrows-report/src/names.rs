//! Names that people chose, and what stands for them in a report that is made to be shared: mount points, volumes and
//! mappings, volume groups, pools and named arrays, servers and what they export. What is known by its form (addresses,
//! UUIDs, WWNs, NQNs, IQNs), and every word that is not known to be harmless, is taken out by [`scrub`].

use std::collections::{BTreeMap, BTreeSet};

use super::view::{CheckReport, MachineView};
use narrows_machine::snapshot::redact::{is_private_place, model_numbers, scrub};
use narrows_model::path::HopKind;

/// Names of volumes and mappings that installers give and that tell nothing.
const USUAL: [&str; 12] =
    ["root", "home", "swap", "var", "tmp", "data", "boot", "usr", "srv", "opt", "cryptroot", "cryptswap"];

/// What stands before a name where it is one, whatever else the word means.
const BEFORE: [&str; 6] = ["/dev/mapper/", "mapper/", "dm-crypt ", "raid:", "`", "/dev/md/"];

/// Names and what stands for each, numbered in the order in which they are met.
#[derive(Debug, Default)]
pub(super) struct Names {
    found: BTreeMap<String, String>,
    /// What hardware calls itself, whose words stay although narrows does not know them.
    hardware: String,
}

impl Names {
    /// The names in a report.
    pub(super) fn of(report: &CheckReport) -> Self {
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
    pub(super) fn of_machine(machine: &MachineView) -> Self {
        let board =
            [&machine.system_vendor, &machine.product, &machine.board_vendor, &machine.board, &machine.cpu];
        let hardware = board.into_iter().flatten().flat_map(|name| [name.as_str(), " "]).collect();
        Self { hardware, ..Self::default() }
    }

    /// The names of servers alone.
    pub(super) fn of_servers(servers: impl IntoIterator<Item = String>) -> Self {
        let mut found = Self::default();
        servers.into_iter().for_each(|server| found.put("server", &server));
        found
    }

    /// Takes the names, and what is not known to be harmless, out of texts.
    pub(super) fn hide(&self, texts: &mut [&mut String]) {
        let mut known: Vec<_> = self.found.iter().collect();
        known.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        for text in &mut *texts {
            for (name, token) in &known {
                if text.contains(name.as_str()) {
                    **text = replaced(text, name, token);
                }
            }
        }
        scrub(texts, &self.hardware);
    }

    fn put(&mut self, kind: &str, name: &str) {
        if name.len() < 2 || USUAL.contains(&name) || self.found.contains_key(name) {
            return;
        }
        let tokens: BTreeSet<&String> = self.found.values().filter(|token| token.starts_with(kind)).collect();
        let number = tokens.len() + 1;
        self.found.insert(name.to_owned(), format!("{kind}-{number}"));
    }

    /// What a path is named by: a device, a mount point, or a pool.
    pub(super) fn target(&mut self, target: &str) {
        match target.strip_prefix("/dev/mapper/") {
            Some(mapping) => self.mapping(mapping),
            None => self.place(target),
        }
    }

    fn place(&mut self, path: &str) {
        if is_private_place(path) {
            self.put("/redacted", path);
        }
    }

    /// A mapping, and the volume group and volume that LVM made its name of, where the dash between them is a single one
    /// (`dm_build_dm_name`).
    fn mapping(&mut self, name: &str) {
        // The name that installers give to what is opened with LUKS is a UUID, which goes by its form.
        if name.starts_with("luks-") && name.len() == 41 {
            return;
        }
        self.put("volume", name);
        let joined = name.replace("--", "\0");
        if let Some((group, volume)) = joined.split_once('-') {
            let (group, volume) = (group.replace('\0', "-"), volume.replace('\0', "-"));
            if let Some(token) = self.found.get(name).cloned() {
                self.found.entry(format!("/dev/{group}/{volume}")).or_insert(format!("/dev/mapper/{token}"));
                self.found.entry(format!("{group}/{volume}")).or_insert(token);
            }
            if group.chars().any(|c| !c.is_ascii_lowercase()) {
                self.put("group", &group);
            }
        }
    }

    pub(super) fn hop(&mut self, kind: HopKind, id: &str, name: &str) {
        let id = id.split_once(':').map_or("", |(_, id)| id);
        match kind {
            HopKind::Filesystem => self.place(id),
            HopKind::Crypt => self.mapping(name.strip_prefix("dm-crypt ").unwrap_or_default()),
            HopKind::LogicalVolume => {
                self.mapping(name.split_once(" (").map_or("", |(mapping, _)| mapping));
            }
            HopKind::Raid if !is_kernels(id) => self.put("array", id.split('/').next().unwrap_or(id)),
            HopKind::Remote => {
                let (server, export) = id.split_once(":/").map_or((id, None), |(s, rest)| (s, Some(rest)));
                if is_name(server) {
                    self.put("server", server);
                }
                if let Some(export) = export.filter(|export| !export.is_empty()) {
                    self.put("/redacted", &format!("/{export}"));
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

/// Whether a name is one that the kernel gives: `md0`, `md127p1`, `dm-3`.
fn is_kernels(name: &str) -> bool {
    let rest = name.strip_prefix("md").or_else(|| name.strip_prefix("dm-"));
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether it is the name of a server rather than an address, which is recognised by its form.
pub(super) fn is_name(name: &str) -> bool {
    let host = name.rsplit_once(':').map_or(name, |(host, _)| host);
    name.len() > 2
        && name.parse::<std::net::IpAddr>().is_err()
        && host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_err()
}

/// `text` with a name replaced wherever it is a whole word. A word of small letters may be one of the sentence, too: it is
/// replaced only where a name stands.
fn replaced(text: &str, name: &str, token: &str) -> String {
    let is_common = !token.starts_with("server") && name.bytes().all(|byte| byte.is_ascii_lowercase());
    let inner = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, from) = rest.split_at(at);
        let after = from.get(name.len()..).unwrap_or_default();
        out.push_str(before);
        let is_word = name.starts_with('/') || !out.chars().next_back().is_some_and(inner);
        let is_whole = is_word && !after.chars().next().is_some_and(inner);
        let is_named = BEFORE.iter().any(|before| out.ends_with(before)) || after.starts_with(" (");
        out.push_str(if is_whole && (!is_common || is_named) { token } else { name });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(found: &Names, text: &str) -> String {
        let mut text = text.to_owned();
        found.hide(&mut [&mut text]);
        text
    }

    #[test]
    fn names_that_people_chose_go_and_words_of_the_sentence_stay() {
        let mut found = Names::default();
        for target in
            ["/mnt/Company", "/mnt/Company/sub", "/dev/mapper/acme--vg-db", "/dev/mapper/vault", "/home", "/"]
        {
            found.target(target);
        }
        assert_eq!(
            hidden(
                &found,
                "ext4 on /mnt/Company, /mnt/Company/sub, /mnt/Company2; acme--vg-db (linear volume), /dev/acme-vg/db; \
                a vault is dm-crypt vault below /home; 10.0.0.7:2049"
            ),
            "ext4 on /redacted-1, /redacted-2, /mnt/Company2; volume-1 (linear volume), /dev/mapper/volume-1; \
                a vault is dm-crypt volume-2 below /home; 192.0.2.1:2049"
        );
    }

    #[test]
    fn what_installers_and_the_kernel_call_things_stays() {
        let mut found = Names::default();
        found.target("/dev/mapper/root");
        found.target("/dev/mapper/luks-0f8fad5b-d9cb-469f-a165-70867728950e");
        found.target("/dev/md127");
        let text = "run with root: /dev/mapper/root on /dev/md127";
        assert_eq!(hidden(&found, text), text);
        assert!(is_kernels("md127") && is_kernels("dm-0") && !is_kernels("mdata") && !is_kernels("tank"));
        assert!(
            is_name("nas.lan")
                && is_name("nas:2049")
                && !is_name("10.0.0.1:2049")
                && !is_name("[fe80::1]:2049")
        );
    }
}
