//! The write guard against what real tools write: files and loop devices that mkfs, mkswap, mdadm, cryptsetup and others
//! have filled. Tools that are not installed are skipped, with a note.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "tests make files, run the tools and may panic"
)]

use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::devices::{self, Turn};
use narrows::load::guard::{
    Device, Examined, Identity, Medium, Permit, Reason, Region, Usage, WritableDevice, WriteError, decide,
    examine, open_for_writing,
};
use narrows::units::Bytes;

/// A sparse file, open nowhere.
struct Image(tempfile::TempPath);

impl Image {
    fn blank(mib: u64) -> Self {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.as_file().set_len(mib << 20).expect("a sparse file");
        Self(file.into_temp_path())
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a name in UTF-8")
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.0).expect("is readable")
    }
}

impl Medium for Image {
    fn size(&self) -> Bytes {
        Bytes::new(fs::metadata(&self.0).expect("is there").len())
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        File::open(&self.0)?.read_exact_at(into, offset)
    }
}

/// Size in MiB, the name that the guard gives, and a shell command that fills `$1`.
const TOOLS: &[(u64, &str, &str)] = &[
    (32, "ext2, ext3 or ext4", "mkfs.ext4 -q -F $1"),
    (32, "ext2, ext3 or ext4", "mkfs.ext2 -q -F $1"),
    (320, "XFS", "mkfs.xfs -q -f $1"),
    (128, "btrfs", "mkfs.btrfs -q -f $1"),
    (64, "F2FS", "mkfs.f2fs -q -f $1"),
    (16, "FAT", "mkfs.vfat $1"),
    (64, "FAT", "mkfs.vfat -F 32 $1"),
    (16, "exFAT", "mkfs.exfat $1"),
    (16, "NTFS", "mkfs.ntfs -q -F -Q $1"),
    (160, "NILFS2", "mkfs.nilfs2 -q -f $1"),
    (32, "JFS", "mkfs.jfs -q $1"),
    (64, "ReiserFS", "mkfs.reiserfs -q -f -f $1"),
    (64, "GFS2", "mkfs.gfs2 -O -q -p lock_nolock -j 1 $1"),
    (64, "OCFS2", "mkfs.ocfs2 -q -F -x -M local $1 </dev/null"),
    (16, "UDF", "mkudffs --new-file=no $1 || mkudffs $1"),
    (16, "Minix", "mkfs.minix $1"),
    (
        4,
        "cramfs",
        "mkdir -p $1.d && echo x >$1.d/x && mkfs.cramfs $1.d $1.c && dd if=$1.c of=$1 conv=notrunc || made=no; rm -rf $1.d $1.c; test -z \"$made\"",
    ),
    (
        16,
        "squashfs",
        "mkdir -p $1.d && echo x >$1.d/x && mksquashfs $1.d $1.s -quiet -no-progress && dd if=$1.s of=$1 conv=notrunc || made=no; rm -rf $1.d $1.s; test -z \"$made\"",
    ),
    (
        16,
        "ISO 9660",
        "mkdir -p $1.d && echo x >$1.d/x && genisoimage -quiet -o $1.i $1.d && dd if=$1.i of=$1 conv=notrunc || made=no; rm -rf $1.d $1.i; test -z \"$made\"",
    ),
    (16, "swap space", "mkswap $1"),
    (32, "LUKS", "printf k | cryptsetup -q luksFormat --type luks1 --pbkdf-force-iterations 1000 $1 -"),
    (
        32,
        "LUKS",
        "printf k | cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $1 -",
    ),
    (
        32,
        "secondary header of LUKS2",
        "printf k | cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $1 - \
         && dd if=/dev/zero of=$1 bs=4096 count=1 conv=notrunc",
    ),
    (16, "bcache", "make-bcache -B $1"),
    (16, "MBR partition table or boot sector", "echo ,, | sfdisk -q --label dos $1"),
    (16, "protective MBR", "echo ,, | sfdisk -q --label gpt $1"),
    (16, "GPT", "sgdisk -n 1 $1"),
    (16, "backup GPT", "sgdisk -n 1 $1 && dd if=/dev/zero of=$1 bs=1M count=1 conv=notrunc"),
    (16, "SGI disk label", "printf 'label: sgi\\n' | sfdisk -q $1"),
    (16, "Sun disk label", "printf 'label: sun\\n' | sfdisk -q $1"),
    (16, "BSD disklabel", "parted -s $1 mklabel bsd"),
    (16, "Apple partition map", "parted -s $1 mklabel mac"),
    (16, "Amiga partition table", "parted -s $1 mklabel amiga"),
    (
        64,
        "dm-verity",
        "veritysetup format $1 $1.h && dd if=$1.h of=$1 conv=notrunc || made=no; rm -f $1.h; test -z \"$made\"",
    ),
];

pub(crate) fn shell(script: &str, argument: &str) -> bool {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let status = Command::new("sh").args(["-ec", script, "sh", argument]).env("PATH", path).output();
    status.is_ok_and(|output| output.status.success())
}

pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

#[test]
fn what_real_tools_write_is_named_and_stays_as_it_is() {
    let _turn = devices::turn(&ALONE);
    let mut checked = 0;
    for (mib, name, command) in TOOLS {
        let image = Image::blank(*mib);
        if !shell(command, image.path()) {
            note(&format!("skipped: `{command}` does not work here"));
            continue;
        }
        let before = image.bytes();
        let found = examine("image", &image);
        let names: Vec<&str> = found.signatures.iter().map(|signature| signature.name).collect();
        assert!(names.contains(name), "{command}: found {names:?}");
        assert!(before == image.bytes(), "{command}: the image changed");
        checked += 1;
    }
    // Every Debian has e2fsprogs and util-linux.
    assert!(checked >= 3, "only {checked} tools worked");
    note(&format!("{checked} of {} tools", TOOLS.len()));
}

#[test]
fn whatever_wipefs_sees_we_see() {
    let _turn = devices::turn(&ALONE);
    for (mib, _, command) in TOOLS {
        let image = Image::blank(*mib);
        if !shell(command, image.path()) {
            continue;
        }
        let found = examine("image", &image);
        let offsets: Vec<u64> = found
            .signatures
            .iter()
            .flat_map(|signature| &signature.offsets)
            .map(|offset| offset.get())
            .collect();
        let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
        let listing = Command::new("wipefs").args(["-n", "-p", image.path()]).env("PATH", path).output();
        let Ok(listing) = listing else { return note("skipped: no wipefs") };
        for line in String::from_utf8_lossy(&listing.stdout).lines().filter(|line| !line.starts_with('#')) {
            let offset = line.split(',').next().and_then(|text| text.strip_prefix("0x"));
            let offset = offset.and_then(|hex| u64::from_str_radix(hex, 16).ok()).expect("an offset");
            let near = offsets.iter().any(|ours| ours.abs_diff(offset) < 64);
            assert!(near, "{command}: wipefs sees `{line}`, we see {offsets:?}");
        }
    }
}

/// One test at a time: a child process that another test starts holds a copy of each open file, and with it the claim
/// on a device, between fork and exec.
pub(crate) static ALONE: Mutex<()> = Mutex::new(());

/// A loop device over a blank file of 16 MiB, detached when dropped.
struct Loop {
    device: PathBuf,
    image: Image,
    _turn: Turn,
}

impl Loop {
    /// `None`, with a note, where loop devices cannot be had.
    fn attach() -> Option<Self> {
        let turn = devices::turn(&ALONE);
        let image = Image::blank(16);
        let output = Command::new("losetup").args(["--find", "--show", image.path()]).output();
        match output {
            Ok(output) if output.status.success() => {
                let device: PathBuf = String::from_utf8_lossy(&output.stdout).trim().into();
                devices::forget_partitions(&device);
                Some(Self { device, image, _turn: turn })
            }
            _ => {
                note("skipped: no loop device here");
                None
            }
        }
    }

    fn name(&self) -> String {
        self.device.file_name().expect("a name").to_string_lossy().into_owned()
    }

    fn usage(&self, device: &Device) -> Usage {
        Usage {
            device: self.name(),
            number: Some(device.number()),
            size: Some(device.size()),
            read_only: Some(false),
            identity: Some(Identity { what: "backing file", text: self.image.path().to_owned() }),
            family: vec![self.name()],
            ..Usage::default()
        }
    }

    fn permit(&self) -> Result<narrows::load::guard::Permit, narrows::load::guard::Refusal> {
        let device = Device::open(&self.device).expect("opens");
        let usage = self.usage(&device);
        let examined: Vec<Examined> = vec![examine(&self.name(), &device)];
        decide(device, &usage, &examined, Some(self.image.path()))
    }

    fn narrows(&self, words: &[&str]) -> (Option<i32>, String) {
        let output = Command::new(crate::narrows_binary())
            .arg("guard")
            .arg(&self.device)
            .args(words)
            .output()
            .expect("runs");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}

/// Opens 14 of 16 MiB.
fn opened(permit: Permit) -> Result<WritableDevice, WriteError> {
    let region = Region { start: Bytes::from_mib(1), length: Bytes::from_mib(14) };
    open_for_writing(permit, region, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn a_blank_loop_device_can_be_written_with_a_permit() {
    let Some(blank) = Loop::attach() else { return };
    let writable = opened(blank.permit().expect("nothing speaks against it")).expect("opens");
    assert_eq!(writable.size(), Bytes::from_mib(16));
    assert!(Device::open(&blank.device).expect("opens").is_claimed(), "nobody else can claim it");
}

#[test]
fn what_comes_onto_a_device_after_the_decision_is_found_through_the_handle_that_writes() {
    let Some(blank) = Loop::attach() else { return };
    let permit = blank.permit().expect("nothing speaks against it");
    assert!(shell("mkfs.ext4 -q -F $1", &blank.device.to_string_lossy()));
    match opened(permit) {
        Err(WriteError::Refused(refusal)) => {
            assert!(refusal.to_string().contains("ext4 (file system) at byte 1080"), "{refusal}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_device_that_somebody_claims_after_the_decision_cannot_be_opened() {
    let Some(blank) = Loop::attach() else { return };
    let permit = blank.permit().expect("nothing speaks against it");
    let _claim = opened(blank.permit().expect("nobody claims it yet")).expect("opens");
    assert!(matches!(opened(permit), Err(WriteError::Open(_))));
    let refusal = blank.permit().expect_err("is claimed");
    assert_eq!(refusal.reasons, [Reason::Claimed { device: blank.name() }]);
}

#[test]
fn the_command_answers_with_its_exit_status_and_changes_nothing() {
    let Some(blank) = Loop::attach() else { return };
    let own = blank.image.path().to_owned();
    let before = blank.image.bytes();
    let (status, text) = blank.narrows(&["--i-own", &own]);
    assert_eq!(status, Some(0), "{text}");
    let (status, text) = blank.narrows(&[]);
    assert_eq!((status, text.contains("backing file was not typed")), (Some(1), true), "{text}");
    let (status, text) = blank.narrows(&["--i-own", "another"]);
    assert_eq!((status, text.contains("is not `another`")), (Some(1), true), "{text}");

    let mut holder = Command::new("sleep")
        .arg("60")
        .stdin(File::open(&blank.device).expect("opens"))
        .spawn()
        .expect("runs");
    let (status, json) = blank.narrows(&["--i-own", &own, "--json"]);
    holder.kill().and_then(|()| holder.wait()).expect("ends");
    let json: serde_json::Value = serde_json::from_str(&json).expect("is JSON");
    assert_eq!((status, &json["reasons"][0]["code"]), (Some(1), &serde_json::json!("in_use")), "{json}");
    assert!(json["reasons"][0]["summary"].as_str().is_some_and(|text| text.contains("(sleep)")), "{json}");
    assert!(before == blank.image.bytes(), "the device changed");
}

#[test]
fn a_link_to_a_device_is_that_device() {
    let Some(blank) = Loop::attach() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let link = directory.path().join("my-disk");
    std::os::unix::fs::symlink(&blank.device, &link).expect("a link");
    let device = Device::open(&link).expect("opens");
    assert_eq!(device.number(), Device::open(&blank.device).expect("opens").number());
    assert!(Device::open(Path::new("/dev/null")).is_err());
    assert!(Device::open(directory.path()).is_err());
}
