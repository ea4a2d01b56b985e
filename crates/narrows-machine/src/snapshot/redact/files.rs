//! What is taken out of a file, by which file it is.

use super::{Redactor, binary};
use crate::root::PROBES;

/// Names of attributes whose whole content is a secret (kernel `Documentation/ABI`, `sysfs-block`, `sysfs-class-*`,
/// `drivers/nvme/host/sysfs.c`, `drivers/scsi/scsi_sysfs.c`, `drivers/infiniband/core/sysfs.c`).
const SECRETS: [&str; 23] = [
    "wwid",
    "wwn",
    "nguid",
    "uuid",
    "eui",
    "eui64",
    "unique_id",
    "sas_address",
    "port_name",
    "node_name",
    "fabric_name",
    "node_guid",
    "sys_image_guid",
    "machine-id",
    "boot_id",
    "hostid",
    "phys_switch_id",
    "phys_port_id",
    "product_uuid",
    "dhchap_secret",
    "dhchap_ctrl_secret",
    "tls_key",
    "asset_tag",
];

/// Files that hold the machine's own name.
const HOST_FILES: [&str; 4] =
    ["/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname", "/etc/hostname", "/narrows/probe/hostname"];

/// How such names end.
const SECRET_ENDINGS: [&str; 6] = ["_uuid", "_guid", "_wwn", "_wwid", "_secret", "_asset_tag"];

/// Keys of `KEY=value` and `Key : value` lines whose value is a secret, in lower case.
const SECRET_KEYS: [&str; 9] =
    ["serial", "uuid", "wwn", "wwid", "uniq", "guid", "partname", "fs_label", "id_model_enc"];

/// What stands before the number of a WWID.
const WWID_KINDS: [&str; 6] = ["naa.", "eui.", "uuid.", "t10.", "nvme.", "0x"];

impl Redactor {
    /// The content of a file without what identifies its owner.
    pub(super) fn content(&mut self, path: &str, content: &[u8]) -> Vec<u8> {
        let name = path.rsplit('/').next().unwrap_or_default();
        if let Some(bytes) = self.binary(path, name, content) {
            return bytes;
        }
        match std::str::from_utf8(content) {
            Ok(text) if !text.contains('\0') => self.file_text(path, name, text).into_bytes(),
            _ => {
                let mut bytes = content.to_vec();
                self.vault.erase(&mut bytes);
                bytes
            }
        }
    }

    fn binary(&mut self, path: &str, name: &str, content: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = content.to_vec();
        match name {
            "DMI" => binary::blank_smbios(&mut bytes, |secret| drop(self.vault.hide(secret))),
            "raw" if path.contains("/dmi/") => {
                binary::blank_smbios(&mut bytes, |secret| drop(self.vault.hide(secret)))
            }
            "config" if path.contains("/pci") => binary::blank_config(&mut bytes),
            "vpd" if path.contains("/pci") => bytes.fill(0),
            name if name.starts_with("vpd_pg") => {
                if let Some(serial) = binary::unit_serial(name, content) {
                    self.vault.hide(&serial);
                }
                binary::blank_vpd_page(name, &mut bytes);
            }
            _ => return None,
        }
        Some(bytes)
    }

    fn file_text(&mut self, path: &str, name: &str, text: &str) -> String {
        if HOST_FILES.contains(&path) {
            return if text.trim().is_empty() { text.to_owned() } else { "host\n".to_owned() };
        }
        match name {
            _ if is_secret(name) => return self.secret_value(text),
            "mountinfo" => return self.mountinfo(text),
            "mounts" | "fstab" | "mtab" => return self.mount_table(text),
            "route" if path.ends_with("/net/route") => return self.addresses.routes_four(text),
            "ipv6_route" => return self.addresses.routes_six(text),
            "if_inet6" => return self.addresses.interfaces_six(text),
            "backing_file" => return self.backing_file(text),
            "id" if path.contains("/ata_") => return binary::blank_identify(text),
            "label" if path.contains("/bcache") || path.contains("/btrfs/") => {
                return self.on_trimmed(text, |redactor, label| redactor.vault.hide_here(label));
            }
            "uuid" if path.ends_with("/dm/uuid") => return self.mapping_uuid(text),
            "uevent" | "cpuinfo" => {
                let is_kernels = |line: &str| name == "cpuinfo" || line.starts_with("MODALIAS=");
                let lines = text.lines().map(|line| {
                    let hidden = self.key_line(line);
                    if is_kernels(line) { hidden } else { self.text(&hidden) }
                });
                let lines: Vec<String> = lines.collect();
                return lines.join("\n") + if text.ends_with('\n') { "\n" } else { "" };
            }
            // A target that another machine exports may have any name for its model.
            _ if name == "model" || path.contains("/ata-model/") => {
                let erased = self.erased(text);
                self.atoms.spared.extend(super::model_numbers(text).map(str::to_lowercase));
                return self.atoms.replace(&erased);
            }
            "vendor" | "rev" | "firmware_rev" | "osrelease" | "modalias" | "meminfo" | "scheduler" => {
                return self.erased(text);
            }
            // Bytes of a drive's log in hexadecimal.
            _ if path.starts_with(PROBES) && is_hex(text) => return self.erased(text),
            _ if path.contains("/dmi/id/") => return self.erased(text),
            _ => {}
        }
        let text = self.text(text);
        if path.starts_with("/sys/") { text } else { self.places.replace_in(&text) }
    }

    pub(super) fn erased(&self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        self.vault.erase(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn on_trimmed(&mut self, text: &str, replace: impl FnOnce(&mut Self, &str) -> String) -> String {
        let inner = text.trim();
        let start = text.find(inner).unwrap_or(0);
        let (before, after) = (text.get(..start), text.get(start + inner.len()..));
        format!("{}{}{}", before.unwrap_or_default(), replace(self, inner), after.unwrap_or_default())
    }

    /// A value that is a secret as a whole, but for the word before it that says of which kind it is.
    fn secret_value(&mut self, text: &str) -> String {
        self.on_trimmed(text, |redactor, value| {
            let kind = WWID_KINDS.iter().find(|kind| value.starts_with(**kind)).map_or("", |kind| kind);
            let secret = value.get(kind.len()..).unwrap_or_default();
            // A T10 identifier is made of vendor, model and serial number in columns.
            for part in secret.split_whitespace().skip(1) {
                redactor.vault.hide(part);
            }
            format!("{kind}{}", redactor.vault.hide(secret))
        })
    }

    /// `CRYPT-LUKS2-0f8f…-root`, `LVM-…`, `mpath-3600…`: the owner's prefix stays.
    fn mapping_uuid(&mut self, text: &str) -> String {
        let hidden = self.on_trimmed(text, |redactor, uuid| {
            let hide = |redactor: &mut Self, part: &str| match part.len() {
                16.. => redactor.vault.hide(part),
                _ => part.to_owned(),
            };
            match uuid.strip_prefix("mpath-") {
                Some(wwid) => format!("mpath-{}", redactor.vault.hide(wwid)),
                None => uuid.split('-').map(|part| hide(redactor, part)).collect::<Vec<_>>().join("-"),
            }
        });
        self.text(&hidden)
    }

    fn backing_file(&mut self, text: &str) -> String {
        self.on_trimmed(text, |redactor, file| {
            let (file, gone) =
                file.strip_suffix(" (deleted)").map_or((file, ""), |file| (file, " (deleted)"));
            format!("{}{gone}", redactor.places.place(file))
        })
    }

    fn key_line(&mut self, line: &str) -> String {
        let Some(at) = line.find(['=', ':']) else { return line.to_owned() };
        let (key, value) = (line.get(..at).unwrap_or_default(), line.get(at + 1..).unwrap_or_default());
        let key_word = key.trim().to_ascii_lowercase();
        if !SECRET_KEYS.iter().any(|secret| key_word.contains(secret)) {
            return line.to_owned();
        }
        let sign = line.get(at..=at).unwrap_or_default();
        let value = self.on_trimmed(value, |redactor, value| redactor.vault.hide(value));
        format!("{key}{sign}{value}")
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte.is_ascii_whitespace())
}

fn is_secret(name: &str) -> bool {
    name != "uuid" && SECRETS.contains(&name)
        || name.contains("serial")
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
}
