//! Builds the guest's initramfs from three archives, which the kernel unpacks one after the other: the tools and
//! modules (compressed, kept by the hash of their contents), our binary, and the scenario.

#![expect(clippy::disallowed_methods, reason = "gathers files of the host")]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use super::command::{locate, output, shell};
use super::error::{Result, RigError};
use super::scenario::Scenario;

/// The programs of the guest, beside busybox.
const TOOLS: &[&str] = &[
    "blkdiscard",
    "cryptsetup",
    "dash",
    "dmsetup",
    "fallocate",
    "fio",
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

/// The modules that every guest has: the drives' drivers, and what the kernel loads by itself when tools ask.
const MODULES: &[&str] = &[
    "aes_generic",
    "aesni-intel",
    "af_alg",
    "ahci",
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

/// The kernel that `rig/setup.sh` has unpacked.
#[derive(Debug)]
pub(crate) struct Kernel {
    /// The bootable image.
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
        Ok(Self {
            image: directory.join("vmlinuz"),
            root: directory.join("root").display().to_string(),
            release: release.trim().to_owned(),
        })
    }

    /// The first of what is optional for a scenario that is not there: a release of Linux, a module, a program.
    pub(crate) fn lacks(&self, scenario: &Scenario) -> Option<String> {
        let machine = &scenario.machine;
        if let Some((major, minor)) = machine.optional_kernel
            && version(&self.release) < (major, minor)
        {
            return Some(format!("Linux {major}.{minor}"));
        }
        let module = machine.optional_modules.iter().find(|module| self.module_files(module).is_err());
        let tool = machine.optional_tools.iter().find(|tool| locate(tool).is_err());
        module.or(tool).cloned()
    }

    /// The files of a module and of what it depends on; none when it is built in.
    fn module_files(&self, module: &str) -> Result<Vec<String>> {
        let modprobe = locate("modprobe")?;
        let arguments = ["-C", "/dev/null", "-d", &self.root, "-S", &self.release, "--show-depends", module];
        let listing = output(&modprobe, &arguments)?;
        let inserted = listing.lines().filter_map(|line| line.strip_prefix("insmod "));
        Ok(inserted.filter_map(|rest| rest.split_whitespace().next()).map(str::to_owned).collect())
    }
}

/// The first two numbers of a release of Linux: 6 and 1 of `6.1.0-9-amd64`.
pub(crate) fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// The archives that all scenarios share.
#[derive(Debug)]
pub(crate) struct Base {
    tools: PathBuf,
    binary: Option<PathBuf>,
}

impl Base {
    /// Builds them, or takes them from an earlier run. `binary` is the narrows to test, if any.
    pub(crate) fn build(
        target: &Path,
        kernel: &Kernel,
        scenarios: &[Scenario],
        binary: Option<&Path>,
    ) -> Result<Self> {
        // Another run may be building the same ones.
        let _lock = lock(&target.join("lock"))?;
        let wanted = scenarios.iter().flat_map(|scenario| scenario.machine.module_names());
        let modules: BTreeSet<&str> = wanted.chain(MODULES.iter().copied()).collect();
        let mut module_files = BTreeSet::new();
        for module in modules {
            module_files.extend(kernel.module_files(module)?);
        }
        let mut programs = vec![locate("busybox")?];
        for tool in TOOLS {
            programs.push(locate(tool)?);
        }
        for scenario in scenarios.iter().filter(|scenario| kernel.lacks(scenario).is_none()) {
            for module in &scenario.machine.optional_modules {
                module_files.extend(kernel.module_files(module)?);
            }
            for tool in &scenario.machine.optional_tools {
                programs.push(locate(tool)?);
            }
        }
        let tools = cached(target, "tools", with_libraries(&programs)?, &module_files, Some(kernel))?;
        let binary = match binary {
            Some(path) => {
                // A copy, so that it is called `narrows` in the guest whatever --binary names.
                let copy = target.join("narrows");
                fs::copy(path, &copy).map_err(RigError::file(path))?;
                let files = with_libraries(&[copy.display().to_string()])?;
                Some(cached(target, "narrows", files, &BTreeSet::new(), None)?)
            }
            None => None,
        };
        Ok(Self { tools, binary })
    }

    /// Writes the initramfs of a scenario: `files` are paths in the guest and their contents.
    pub(crate) fn initramfs(&self, directory: &Path, files: &[(String, String)]) -> Result<PathBuf> {
        let tree = directory.join("tree");
        for (name, contents) in files {
            let path = tree.join(name);
            let parent = path.parent().unwrap_or(&tree);
            fs::create_dir_all(parent).map_err(RigError::file(parent))?;
            fs::write(&path, contents).map_err(RigError::file(&path))?;
        }
        let archive = directory.join("scenario.cpio");
        shell("chmod -R a+rx \"$1\"", &[&tree.display().to_string()])?;
        pack(&tree, &archive, "cat")?;
        let image = directory.join("initramfs");
        let mut writer = fs::File::create(&image).map_err(RigError::file(&image))?;
        for part in [Some(&self.tools), self.binary.as_ref(), Some(&archive)].into_iter().flatten() {
            let bytes = fs::read(part).map_err(RigError::file(part))?;
            // The kernel wants each archive at a multiple of four bytes.
            let padding = vec![0; bytes.len().next_multiple_of(4) - bytes.len()];
            writer
                .write_all(&bytes)
                .and_then(|()| writer.write_all(&padding))
                .map_err(RigError::file(&image))?;
        }
        Ok(image)
    }
}

fn lock(path: &Path) -> Result<Flock<fs::File>> {
    let file = fs::File::create(path).map_err(RigError::file(path))?;
    let locked = Flock::lock(file, FlockArg::LockExclusive);
    locked.map_err(|(_, error)| RigError::File { path: path.to_owned(), source: error.into() })
}

/// Programs and the shared libraries that `ldd` names for them.
fn with_libraries(programs: &[String]) -> Result<BTreeSet<String>> {
    let mut files: BTreeSet<String> = programs.iter().cloned().collect();
    for program in programs {
        let listing = shell("ldd \"$1\" 2>/dev/null || true", &[program])?;
        files.extend(listing.split_whitespace().filter(|word| word.starts_with('/')).map(str::to_owned));
    }
    Ok(files)
}

/// An archive of programs in `/bin`, libraries where the loader seeks them, and modules.
fn cached(
    target: &Path,
    name: &str,
    programs: BTreeSet<String>,
    modules: &BTreeSet<String>,
    kernel: Option<&Kernel>,
) -> Result<PathBuf> {
    let files: Vec<&str> = programs.iter().chain(modules).map(String::as_str).collect();
    let sums = output("sha256sum", &files)?;
    let hash = shell("printf %s \"$1$2\" | sha256sum", &[&sums, LAYOUT])?;
    let archive = target.join(format!("{name}-{}.cpio.zst", hash.get(..16).unwrap_or("unknown")));
    if archive.exists() {
        return Ok(archive);
    }
    remove_older(target, name)?;
    let tree = target.join(format!("{name}.tree"));
    let place = tree.display().to_string();
    shell("rm -rf \"$1\"; mkdir -p \"$1\"", &[&place])?;
    let arguments: Vec<&str> =
        [place.as_str()].into_iter().chain(programs.iter().map(String::as_str)).collect();
    shell(LAYOUT, &arguments)?;
    if let Some(kernel) = kernel {
        install_modules(&place, kernel, modules)?;
    }
    pack(&tree, &archive, "zstd -q -1 -T0")?;
    shell("rm -rf \"$1\"", &[&place])?;
    Ok(archive)
}

/// Lays out a tree: programs go to /bin, libraries to where they are on the host, and one name for each applet.
const LAYOUT: &str = r#"
tree=$1; shift
mkdir -p "$tree/bin"
for file; do
    case $file in
    *.so|*.so.*) mkdir -p "$tree${file%/*}"; cp -L "$file" "$tree$file" ;;
    *) cp -L "$file" "$tree/bin/" ;;
    esac
done
[ -e "$tree/bin/busybox" ] || exit 0
# Not busybox's shell: it prefers its own applets, such as ip and tc, to the real tools.
ln -s dash "$tree/bin/sh"
for directory in proc sys dev run tmp mnt root etc sbin var result; do mkdir -p "$tree/$directory"; done
for applet in $("$tree/bin/busybox" --list); do
    [ -e "$tree/bin/$applet" ] || ln -s busybox "$tree/bin/$applet"
done
ln -sf kmod "$tree/bin/modprobe"; ln -sf kmod "$tree/bin/lsmod"; ln -sf kmod "$tree/bin/rmmod"
ln -sf /bin/modprobe "$tree/sbin/modprobe"
ln -sf mke2fs "$tree/bin/mkfs.ext4"
for command in pvcreate vgcreate lvcreate vgchange pvs vgs lvs; do ln -sf lvm "$tree/bin/$command"; done
"#;

fn install_modules(tree: &str, kernel: &Kernel, modules: &BTreeSet<String>) -> Result<()> {
    let fixed = [tree, kernel.root.as_str(), kernel.release.as_str()];
    let arguments: Vec<&str> = fixed.into_iter().chain(modules.iter().map(String::as_str)).collect();
    shell(
        r#"tree=$1 root=$2 release=$3; shift 3
        for file; do
            place=$tree${file#"$root"}
            mkdir -p "${place%/*}"; cp "$file" "$place"
        done
        cp "$root/lib/modules/$release"/modules.builtin* "$root/lib/modules/$release/modules.order" \
            "$tree/lib/modules/$release/"
        PATH=$PATH:/usr/sbin:/sbin depmod -b "$tree" "$release""#,
        &arguments,
    )
    .map(drop)
}

fn pack(tree: &Path, archive: &Path, compress: &str) -> Result<()> {
    let (tree, archive) = (tree.display().to_string(), archive.display().to_string());
    let line = format!(
        "cd \"$1\"; find . -print0 | cpio -0 -o -H newc -R 0:0 --quiet | {compress} >\"$2.part\"; mv \"$2.part\" \"$2\""
    );
    shell(&line, &[&tree, &archive]).map(drop)
}

/// Those of today may belong to another run that is under way.
fn remove_older(target: &Path, name: &str) -> Result<()> {
    let (directory, pattern) = (target.display().to_string(), format!("{name}-*.cpio.zst"));
    shell("find \"$1\" -maxdepth 1 -name \"$2\" -mtime +0 -delete", &[&directory, &pattern]).map(drop)
}
