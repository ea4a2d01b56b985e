//! What the kernel exports by itself: its NVMe target, its SCSI target (LIO) and the drives that it plays on USB.
//!
//! Sources: `drivers/nvme/target/configfs.c`, `drivers/target/target_core_configfs.c` and
//! `drivers/usb/gadget/function/f_mass_storage.c` of the kernel.

use super::class::Class;
use super::texts::{self, Backing};
use super::wanted::{HeldFile, Wanted};
use super::{Findings, How, Lead, lead};
use crate::mount;
use crate::root::Root;

/// Where it is mounted by everybody.
const USUAL: &str = "/sys/kernel/config";

/// A part of the kernel that is set up in configfs: its class, its module, and a symbol of it for kernels that have it
/// built in.
const DRIVERS: [(Class, &str, &str); 3] = [
    (Class::NvmeTarget, "nvmet", "nvmet_req_init"),
    (Class::ScsiTarget, "target_core_mod", "target_backend_unregister"),
    (Class::UsbGadget, "usb_f_mass_storage", "fsg_common_create_lun"),
];

/// Looks through everything that is exported.
pub(super) fn search(root: &Root, wanted: &Wanted, findings: &mut Findings) {
    let mut exports = Exports { root, wanted, findings };
    exports.legacy_gadgets();
    let mounts = mount::parse(root.text("/proc/self/mountinfo").value().map_or("", String::as_str));
    let mounted = mounts.into_iter().rev().find(|mount| mount.fstype == "configfs" && mount.root == "/");
    match mounted {
        Some(mount) => {
            exports.nvme(&mount.point);
            exports.scsi(&mount.point);
            exports.gadgets(&mount.point);
        }
        // The kernel makes the directory together with configfs.
        None if root.exists(USUAL) => exports.unmounted(),
        None => {}
    }
}

struct Exports<'a> {
    root: &'a Root,
    wanted: &'a Wanted,
    findings: &'a mut Findings,
}

/// One thing that is exported.
struct Export {
    class: Class,
    /// What the user calls it.
    name: String,
    /// Whether it is switched on: then what its path does not lead to is not known.
    is_on: bool,
}

impl Exports<'_> {
    /// Somebody may have unmounted configfs after the exports began.
    fn unmounted(&mut self) {
        let is_there = |module: &str| self.root.exists(&format!("/sys/module/{module}"));
        let symbols = || self.root.text("/proc/kallsyms").get().unwrap_or_default();
        let mut known = None;
        let mut is_built_in = |symbol: &str| {
            let symbols: &String = known.get_or_insert_with(symbols);
            symbols.lines().any(|line| line.split_whitespace().nth(2) == Some(symbol))
        };
        let classes: Vec<Class> = DRIVERS
            .into_iter()
            .filter(|(_, module, symbol)| is_there(module) || is_built_in(symbol))
            .map(|(class, ..)| class)
            .collect();
        if !classes.is_empty() {
            let why = format!("configfs is not mounted (`mount -t configfs none {USUAL}`)");
            self.findings.hide(&classes, why);
        }
    }

    fn text(&self, path: &str) -> String {
        self.root.text(path).get().unwrap_or_default()
    }

    fn is_on(&self, directory: &str) -> bool {
        self.text(&format!("{directory}/enable")) != "0"
    }

    fn nvme(&mut self, configfs: &str) {
        let subsystems = format!("{configfs}/nvmet/subsystems");
        for subsystem in self.root.list(&subsystems) {
            let spaces = format!("{subsystems}/{subsystem}/namespaces");
            let mut places: Vec<(String, String)> = self
                .root
                .list(&spaces)
                .into_iter()
                .map(|space| (format!("{spaces}/{space}"), format!("namespace {space} of {subsystem}")))
                .collect();
            places.push((format!("{subsystems}/{subsystem}/passthru"), subsystem.clone()));
            for (place, what) in places {
                let export = Export {
                    class: Class::NvmeTarget,
                    name: format!("the NVMe target ({what})"),
                    is_on: self.is_on(&place),
                };
                let path = self.text(&format!("{place}/device_path"));
                self.path(&export, &path);
            }
        }
    }

    fn scsi(&mut self, configfs: &str) {
        let core = format!("{configfs}/target/core");
        for plugin in self.root.list(&core) {
            for device in self.root.list(&format!("{core}/{plugin}")) {
                let place = format!("{core}/{plugin}/{device}");
                let export = Export {
                    class: Class::ScsiTarget,
                    name: format!("the SCSI target ({plugin}/{device})"),
                    is_on: self.is_on(&place),
                };
                self.scsi_device(&export, &place);
            }
        }
    }

    fn scsi_device(&mut self, export: &Export, place: &str) {
        let info = self.text(&format!("{place}/info"));
        let shown = self.text(&format!("{place}/udev_path"));
        match texts::backing(&info) {
            Some(Backing::Path(path)) => self.path(export, &path),
            Some(Backing::Number(major, minor)) if (major, minor) != (0, 0) => {
                let member = self.wanted.numbered((major, minor)).map(str::to_owned);
                self.held(export, member);
                // What a node leads to now is not what it led to then; a member that it names is one all the same.
                self.named(export, &shown);
            }
            Some(Backing::Address(address)) => {
                let members = self.wanted.names().find(|name| self.address(name) == Some(address));
                let member = members.cloned();
                self.held(export, member);
                self.named(export, &shown);
            }
            _ => self.path(export, &shown),
        }
    }

    /// The SCSI address of a disk: the last part of what `…/device` leads to, `1:0:0:0`.
    fn address(&self, name: &str) -> Option<[u32; 4]> {
        let text = self.root.link_name(&format!("/sys/class/block/{name}/device")).get()?;
        let parts: Vec<u32> = text.split(':').map_while(|part| part.parse().ok()).collect();
        parts.try_into().ok()
    }

    fn gadgets(&mut self, configfs: &str) {
        let base = format!("{configfs}/usb_gadget");
        for gadget in self.root.list(&base) {
            let functions = format!("{base}/{gadget}/functions");
            for function in self.root.list(&functions) {
                self.units(&format!("{functions}/{function}"), &gadget);
            }
        }
    }

    /// Gadgets of the modules that configfs took the place of (`g_mass_storage`).
    fn legacy_gadgets(&mut self) {
        for controller in self.root.list("/sys/class/udc") {
            let device = format!("/sys/class/udc/{controller}/device");
            for gadget in self.root.list(&device).iter().filter(|name| name.starts_with("gadget")) {
                self.units(&format!("{device}/{gadget}"), gadget);
            }
        }
    }

    fn units(&mut self, directory: &str, gadget: &str) {
        for unit in self.root.list(directory).iter().filter(|name| name.starts_with("lun")) {
            let export = Export {
                class: Class::UsbGadget,
                name: format!("the USB gadget {gadget} ({unit})"),
                is_on: true,
            };
            let path = self.text(&format!("{directory}/{unit}/file"));
            self.path(&export, &path);
        }
    }

    fn held(&mut self, export: &Export, member: Option<String>) {
        if let Some(member) = member {
            self.findings.note(&member, How::Exported(export.name.clone()));
        }
    }

    /// What a path names besides what is known of the export.
    fn named(&mut self, export: &Export, path: &str) {
        if let Lead::Member(HeldFile { device, .. }) = lead(self.root, self.wanted, path) {
            self.held(export, Some(device));
        }
    }

    fn path(&mut self, export: &Export, path: &str) {
        if path.is_empty() || path == "(null)" {
            return;
        }
        match lead(self.root, self.wanted, path) {
            Lead::Member(HeldFile { device, .. }) => self.held(export, Some(device)),
            Lead::Elsewhere => {}
            Lead::Nowhere if export.is_on => {
                let why = format!("`{path}`, which {} exports, leads nowhere; end that export", export.name);
                self.findings.hide(&[export.class], why);
            }
            Lead::Nowhere => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{SCSI, hows, machine};
    use super::super::{How, read};
    use super::*;
    use crate::tree::Tree;

    fn mounted() -> Tree {
        let mut tree = machine();
        tree.file(
            "/proc/999/mountinfo",
            "1 0 0:21 / /proc rw - proc proc rw\n2 0 0:30 / /sys/kernel/config rw - configfs none rw\n",
        )
        .file("/sys/kernel/config/nvmet/hosts", "");
        tree
    }

    fn exported(tree: Tree, by: &str) {
        let by = How::Exported(by.to_owned());
        assert_eq!(hows(tree, "sdc"), [("sdc".to_owned(), by)]);
    }

    #[test]
    fn a_namespace_of_the_nvme_target_is_found_by_what_its_path_leads_to() {
        for (path, told) in [("/dev/sdc", None), ("/tmp/node", Some("block 8:32")), ("/srv/link", None)] {
            let mut tree = mounted();
            tree.file(
                "/sys/kernel/config/nvmet/subsystems/nqn.a/namespaces/1/device_path",
                &format!("{path}\n"),
            )
            .file("/sys/kernel/config/nvmet/subsystems/nqn.a/namespaces/1/enable", "1\n")
            .link("/srv/link", "/dev/sdc");
            if let Some(told) = told {
                tree.file(&format!("/narrows/probe/stat{path}"), told);
            }
            exported(tree, "the NVMe target (namespace 1 of nqn.a)");
        }
    }

    #[test]
    fn a_path_that_leads_nowhere_hides_the_class_while_the_export_is_on() {
        for (on, hidden) in [("1\n", 1), ("0\n", 0)] {
            let mut tree = mounted();
            tree.file("/sys/kernel/config/nvmet/subsystems/nqn.a/namespaces/1/device_path", "/tmp/gone\n")
                .file("/sys/kernel/config/nvmet/subsystems/nqn.a/namespaces/1/enable", on);
            let usage = read(&Root::from_tree(tree), "sdc");
            assert_eq!((usage.uses.len(), usage.unseen.len()), (0, hidden), "{:?}", usage.unseen);
        }
        let mut tree = mounted();
        tree.file("/sys/kernel/config/nvmet/subsystems/nqn.a/namespaces/1/device_path", "sdc\n");
        let unseen = read(&Root::from_tree(tree), "sdc").unseen;
        assert!(
            unseen.iter().any(|what| what.contains("NVMe target") && what.contains("`sdc`")),
            "{unseen:?}"
        );
    }

    #[test]
    fn devices_of_the_scsi_target_are_found_by_number_file_address_and_path() {
        let core = "/sys/kernel/config/target/core";
        let mut tree = mounted();
        tree.file(
            &format!("{core}/iblock_0/disk/info"),
            "iBlock device: sdc  UDEV PATH: /gone  readonly: 0\n        Major: 8 Minor: 32  CLAIMED: IBLOCK\n",
        )
        .file(&format!("{core}/iblock_0/disk/udev_path"), "/gone\n");
        exported(tree, "the SCSI target (iblock_0/disk)");
        let mut tree = mounted();
        tree.file(
            &format!("{core}/fileio_1/disk/info"),
            "TCM FILEIO ID: 0        File: /dev/sdc  Size: 1073741824  Mode: Buffered-WCE Async: 0\n",
        );
        exported(tree, "the SCSI target (fileio_1/disk)");
        let mut tree = mounted();
        tree.file(
            &format!("{core}/pscsi_2/disk/info"),
            "        SCSI Device Bus Location: Channel ID: 0 Target ID: 0 LUN: 0 Host ID: 1\n",
        )
        .link(&format!("{SCSI}/sdc/device"), "../../../1:0:0:0");
        exported(tree, "the SCSI target (pscsi_2/disk)");
        let mut tree = mounted();
        tree.file(&format!("{core}/pscsi_2/disk/udev_path"), "/dev/sdc\n");
        exported(tree, "the SCSI target (pscsi_2/disk)");
    }

    #[test]
    fn a_usb_drive_that_this_machine_plays_is_found() {
        let mut tree = mounted();
        tree.file("/sys/kernel/config/usb_gadget/g1/functions/mass_storage.0/lun.0/file", "/dev/sdc\n");
        exported(tree, "the USB gadget g1 (lun.0)");
        let mut tree = machine();
        tree.file("/sys/class/udc/dummy_udc.0/device/gadget.0/lun0/file", "/dev/sdc\n");
        exported(tree, "the USB gadget gadget.0 (lun0)");
    }

    #[test]
    fn configfs_that_is_not_mounted_hides_what_is_set_up_in_it() {
        let unseen = |tree| read(&Root::from_tree(tree), "sdc").unseen;
        let mut tree = machine();
        tree.insert("/sys/kernel/config", crate::tree::Node::Dir);
        assert_eq!(unseen(tree.clone()), [] as [&str; 0], "the kernel has no target");
        tree.file("/proc/kallsyms", "0000000000000000 T nvmet_req_init\t[x]\n");
        assert_eq!(
            unseen(tree.clone()),
            [
                "NVMe target, hidden here because configfs is not mounted (`mount -t configfs none /sys/kernel/config`)"
            ]
        );
        tree.insert("/sys/module/target_core_mod", crate::tree::Node::Dir);
        assert!(unseen(tree)[0].starts_with("NVMe target and SCSI target, hidden here because"));
    }
}
