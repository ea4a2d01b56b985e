//! Builds the guest's initramfs: the tools with their libraries, the modules, the narrows that is tested, and files of the rig.
//! All of it is in memory of the guest, so that no drive is there that a scenario does not know of; and only what its
//! scenarios need, as the kernel copies every byte.

#![expect(clippy::disallowed_methods, reason = "gathers files of the host")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::command::{locate, shell};
use super::cpio::Tree;
use super::error::{Result, RigError};
use super::kernel::Kernel;
use super::network;
use super::scenario::{Linux, Scenario};

/// The programs of the guest, beside busybox.
const TOOLS: &[&str] = &[
    "blkdiscard",
    "cryptsetup",
    "dash",
    "dmsetup",
    "fallocate",
    "ip",
    "iperf3",
    "iscsistart",
    "kmod",
    "losetup",
    "lvm",
    "make-bcache",
    "mdadm",
    "mke2fs",
    "mkfs.btrfs",
    "mkfs.exfat",
    "mkfs.f2fs",
    "mkfs.nilfs2",
    "mkfs.ntfs",
    "mkfs.vfat",
    "mkfs.xfs",
    "mkudffs",
    "nvme",
    "perl",
    "sfdisk",
    "sgdisk",
    "tc",
    "tcplay",
    "wipefs",
];

/// Programs that only those guests have whose scenarios name them. Debian's fio brings 80 MB of libraries for network storage.
const LARGE_TOOLS: &[&str] = &["fio"];

/// What guests have that are connected with others: what a load on many hosts is made with. Newer servers of OpenSSH are in parts,
/// which have fixed places.
const CONNECTED_TOOLS: &[&str] = &["fio", "ssh", "sshd"];
const CONNECTED_PARTS: &[&str] = &["/usr/lib/openssh/sshd-session", "/usr/lib/openssh/sshd-auth"];

/// Other names of tools.
const ALIASES: &[(&str, &str)] = &[
    // Not busybox's shell: it prefers its own applets, such as ip and tc, to the real tools.
    ("bin/sh", "dash"),
    ("bin/modprobe", "kmod"),
    ("bin/lsmod", "kmod"),
    ("bin/rmmod", "kmod"),
    ("sbin/modprobe", "/bin/kmod"),
    ("bin/mkfs.ext4", "mke2fs"),
    ("bin/pvcreate", "lvm"),
    ("bin/vgcreate", "lvm"),
    ("bin/lvcreate", "lvm"),
    ("bin/vgchange", "lvm"),
    ("bin/pvs", "lvm"),
    ("bin/vgs", "lvm"),
    ("bin/lvs", "lvm"),
];

/// Empty directories.
const DIRECTORIES: &[&str] =
    &["bin", "proc", "sys", "dev", "run", "tmp", "mnt", "root", "etc", "sbin", "var", "result", "rig"];

/// What guests are made of.
#[derive(Debug)]
pub(crate) struct Base {
    kernel: Kernel,
    busybox: Vec<String>,
    /// Each tool's files on the host.
    tools: BTreeMap<&'static str, BTreeSet<String>>,
    binary: Option<PathBuf>,
    build: PathBuf,
}

impl Base {
    /// Finds the tools. `binary` is the narrows to test, if any; `build` is cargo's target directory.
    pub(crate) fn find(kernel: Kernel, binary: Option<&Path>, build: &Path) -> Result<Self> {
        let applets = shell("\"$1\" --list", &[&locate("busybox")?])?;
        let mut tools = BTreeMap::new();
        for tool in TOOLS.iter().chain(LARGE_TOOLS).copied() {
            tools.insert(tool, with_libraries(&locate(tool)?)?);
        }
        tools.insert("busybox", with_libraries(&locate("busybox")?)?);
        let busybox = applets.lines().map(str::to_owned).collect();
        Ok(Self { kernel, busybox, tools, binary: binary.map(Path::to_owned), build: build.to_owned() })
    }

    /// What is booted.
    pub(crate) fn kernel(&self) -> &Path {
        &self.kernel.image
    }

    /// The release of Linux that guests boot.
    pub(crate) fn linux(&self) -> Linux {
        self.kernel.version()
    }

    /// Why a scenario cannot run here: it asks for what this kernel or this machine does not have.
    pub(crate) fn lacks(&self, scenario: &Scenario) -> Option<String> {
        let machine = &scenario.machine;
        let module = machine.optional_modules.iter().find(|module| !self.kernel.has(module));
        let tool = machine.optional_tools.iter().find(|tool| locate(tool).is_err());
        let what = module.or(tool).map(String::as_str);
        let is_connected = !scenario.networks.is_empty();
        let connected = CONNECTED_TOOLS.iter().copied().find(|tool| is_connected && locate(tool).is_err());
        what.or(connected)
            .map(|what| format!("this machine has no {what} for the guest"))
            .or_else(|| is_connected.then(network::unable).flatten())
    }

    /// Writes the initramfs of a guest for these scenarios; `files` are paths in the guest and their contents.
    pub(crate) fn write(
        &self,
        image: &Path,
        scenarios: &[&Scenario],
        files: &[(String, String)],
    ) -> Result<()> {
        let mut tree = Tree::default();
        DIRECTORIES.iter().for_each(|directory| tree.directory(directory));
        let snippets = || files.iter().filter(|(path, _)| path.starts_with("rig/scenarios/"));
        let is_needed = |tool: &str| {
            !LARGE_TOOLS.contains(&tool) || snippets().any(|(_, snippet)| snippet.contains(tool))
        };
        for (_, files) in self.tools.iter().filter(|(tool, _)| is_needed(tool)) {
            add_all(&mut tree, files)?;
        }
        for machine in scenarios.iter().map(|scenario| &scenario.machine) {
            for tool in &machine.optional_tools {
                add_all(&mut tree, &with_libraries(&locate(tool)?)?)?;
            }
            if !machine.nics.is_empty() {
                add_connected(&mut tree)?;
            }
            for program in &machine.programs {
                add_all(&mut tree, &with_libraries(&self.program(program)?)?)?;
            }
        }
        for (alias, tool) in ALIASES {
            tree.link(alias, tool);
        }
        for applet in &self.busybox {
            tree.link(&format!("bin/{applet}"), "busybox");
        }
        if let Some(binary) = &self.binary {
            let files = with_libraries(&binary.display().to_string())?;
            add_all(&mut tree, &files)?;
            // Called so in the guest, whatever --binary names.
            tree.file("bin/narrows", read(binary)?);
        }
        self.kernel.install(&mut tree, scenarios)?;
        for (path, contents) in files {
            tree.file(path, contents.as_bytes());
        }
        fs::write(image, tree.archive()).map_err(RigError::file(image))
    }

    /// Where a program of the host is that a scenario names: below cargo's target directory, or relative to the package.
    fn program(&self, name: &str) -> Result<String> {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let path = match name.strip_prefix("target/") {
            Some(rest) => self.build.join(rest),
            None => package.join(name),
        };
        if path.is_file() {
            return Ok(path.display().to_string());
        }
        Err(RigError::Missing {
            what: format!("the program {}, which a scenario names", path.display()),
            hint: "`make rig` builds what is in cargo's target directory",
        })
    }
}

/// A program and the shared libraries that `ldd` names for it.
fn with_libraries(program: &str) -> Result<BTreeSet<String>> {
    let listing = shell("ldd \"$1\" 2>/dev/null || true", &[program])?;
    let libraries = listing.split_whitespace().filter(|word| word.starts_with('/')).map(str::to_owned);
    Ok(libraries.chain([program.to_owned()]).collect())
}

/// Adds what guests have that are connected with others.
fn add_connected(tree: &mut Tree) -> Result<()> {
    for tool in CONNECTED_TOOLS {
        add_all(tree, &with_libraries(&locate(tool)?)?)?;
    }
    for part in CONNECTED_PARTS.iter().filter(|part| Path::new(part).is_file()) {
        add_all(tree, &with_libraries(part)?)?;
        tree.file(part.trim_start_matches('/'), read(Path::new(part))?);
    }
    Ok(())
}

/// Programs go to /bin, libraries to where they are on the host.
fn add_all(tree: &mut Tree, files: &BTreeSet<String>) -> Result<()> {
    for file in files {
        let name = file.rsplit('/').next().unwrap_or(file);
        let place = match name.ends_with(".so") || name.contains(".so.") {
            true => file.trim_start_matches('/').to_owned(),
            false => format!("bin/{name}"),
        };
        tree.file(&place, read(Path::new(file))?);
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(RigError::file(path))
}
