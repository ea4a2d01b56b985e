//! The kernel that `rig/setup.sh` has unpacked, and its modules.

#![expect(clippy::disallowed_methods, reason = "gathers files of the host")]

use std::fs;
use std::path::{Path, PathBuf};

use super::command::{locate, output};
use super::cpio::Tree;
use super::error::{Result, RigError};
use super::scenario::Scenario;

/// The modules that every guest has: the drives' drivers, and what the kernel loads by itself when tools ask.
const MODULES: &[&str] = &[
    "aes_generic",
    "aesni-intel",
    "af_alg",
    "algif_skcipher",
    "configfs",
    "crc32c-intel",
    "crc32c_generic",
    "dm-crypt",
    "dm-mod",
    "ext4",
    "nvme",
    "sd_mod",
    "sha256_generic",
    "virtio_blk",
    "virtio_pci",
    "xts",
];

/// What modprobe reads to find a module by its name or by what the kernel asks for.
const INDEXES: &[&str] =
    &["modules.alias.bin", "modules.builtin", "modules.builtin.bin", "modules.dep", "modules.dep.bin"];

/// The kernel.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// What is booted: uncompressed where `rig/setup.sh` could unpack it, as an emulated processor unpacks slowly.
    pub(crate) image: PathBuf,
    root: String,
    release: String,
}

impl Kernel {
    /// Finds it below `target/rig`: that of a package, or the usual one.
    pub(crate) fn find(target: &Path, package: Option<&str>) -> Result<Self> {
        let directory = target.join(package.unwrap_or("kernel"));
        let release = fs::read_to_string(directory.join("release")).map_err(|_| RigError::Missing {
            what: format!("a kernel in {}", directory.display()),
            hint: "`rig/setup.sh [PACKAGE]` fetches it; that needs apt and a network",
        })?;
        let unpacked = directory.join("vmlinux");
        Ok(Self {
            image: if unpacked.is_file() { unpacked } else { directory.join("vmlinuz") },
            root: directory.join("root").display().to_string(),
            release: release.trim().to_owned(),
        })
    }

    /// The first two numbers of its release.
    pub(crate) fn version(&self) -> (u32, u32) {
        version(&self.release)
    }

    /// Whether it has a module, built in or not.
    pub(crate) fn has(&self, module: &str) -> bool {
        self.module_files(module).is_ok()
    }

    /// Puts the modules that scenarios need into their guest, with all that those depend on.
    pub(crate) fn install(&self, tree: &mut Tree, scenarios: &[&Scenario]) -> Result<()> {
        let machines = scenarios.iter().map(|scenario| &scenario.machine);
        let optional =
            machines.clone().flat_map(|machine| machine.optional_modules.iter().map(String::as_str));
        let wanted = machines.flat_map(|machine| machine.module_names());
        for module in MODULES.iter().copied().chain(wanted).chain(optional) {
            for file in self.module_files(module)? {
                self.add(tree, &file)?;
            }
        }
        for index in INDEXES {
            let file = format!("{}/lib/modules/{}/{index}", self.root, self.release);
            if Path::new(&file).is_file() {
                self.add(tree, &file)?;
            }
        }
        // Where the modprobe of newer Debian looks for them.
        tree.link("usr/lib/modules", "/lib/modules");
        Ok(())
    }

    /// The files of a module and of what it depends on; none when it is built in.
    fn module_files(&self, module: &str) -> Result<Vec<String>> {
        let modprobe = locate("modprobe")?;
        let arguments = ["-C", "/dev/null", "-d", &self.root, "-S", &self.release, "--show-depends", module];
        let listing = output(&modprobe, &arguments)?;
        let inserted = listing.lines().filter_map(|line| line.strip_prefix("insmod "));
        Ok(inserted.filter_map(|rest| rest.split_whitespace().next()).map(str::to_owned).collect())
    }

    /// Packages have `lib/modules` or `usr/lib/modules`, and one is a link to the other here; guests have the first.
    fn add(&self, tree: &mut Tree, file: &str) -> Result<()> {
        let inside = file.strip_prefix(&self.root).unwrap_or(file).trim_start_matches('/');
        let place = inside.strip_prefix("usr/").unwrap_or(inside);
        tree.file(place, fs::read(file).map_err(RigError::file(Path::new(file)))?);
        Ok(())
    }
}

/// The first two numbers of a release of Linux: 6 and 1 of `6.1.0-9-amd64`.
pub(crate) fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
