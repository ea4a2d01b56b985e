//! What the kernel tells through ioctl(2), or another system call that reads no file, only. All `unsafe` of this crate is here.

#![expect(
    unsafe_code,
    reason = "an ioctl, or a system call that no library wraps, is the only interface that tells it"
)]

pub(super) mod device_mapper;
mod socket;
mod stat;

pub(crate) use socket::{KernelCipher, diagnosed};
pub(crate) use stat::{changed, file_system, mount_id, stat};

use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::libc;
use nix::sys::stat::{Mode, fstat, major, minor};

use crate::root::FileId;
use crate::tree::Miss;
use crate::usage::Behind;

fn reason(error: Errno) -> Miss {
    match error {
        Errno::EACCES | Errno::EPERM => Miss::Denied,
        _ => Miss::Absent,
    }
}

// Asks a loop device what is behind it: `LOOP_GET_STATUS64` (kernel `include/uapi/linux/loop.h`). The kernel answers with
// the identity of the file that it holds, whatever became of the path in `loop/backing_file`.

/// `struct loop_info64`, 232 bytes without padding.
#[repr(C)]
#[derive(Debug)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    /// Numbers, flags, names and a key.
    rest: [u64; 24],
}

nix::ioctl_read_bad!(loop_get_status64, 0x4c05, LoopInfo);

/// What is behind the loop device with this kernel name, which must have this number.
pub(crate) fn behind_loop(name: &str, number: (u32, u32)) -> Result<Behind, Miss> {
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let device = open(format!("/dev/{name}").as_str(), flags, Mode::empty()).map_err(reason)?;
    let opened = fstat(&device).map_err(reason)?;
    let is_block = opened.st_mode & libc::S_IFMT == libc::S_IFBLK;
    if !is_block || (major(opened.st_rdev), minor(opened.st_rdev)) != (number.0.into(), number.1.into()) {
        return Err(Miss::Absent);
    }
    let mut status = LoopInfo { device: 0, inode: 0, rdevice: 0, offset: 0, size_limit: 0, rest: [0; 24] };
    // SAFETY: the kernel writes one `struct loop_info64`, whose size `LoopInfo` has (checked in the tests), and keeps no
    // pointer to it; `device` is open for the whole call. Of another driver the same number would be refused or be
    // unknown: the number of the device is that of the loop device which sysfs lists.
    unsafe { loop_get_status64(device.as_raw_fd(), &raw mut status) }.map_err(reason)?;
    Ok(decode_loop(&status))
}

fn decode_loop(status: &LoopInfo) -> Behind {
    let device = (status.rdevice != 0).then(|| huge(status.rdevice));
    Behind {
        file: FileId { device: huge(status.device), inode: status.inode },
        device,
        part: (status.offset, status.size_limit),
    }
}

/// The kernel's `huge_decode_dev` (`include/linux/kdev_t.h`).
fn huge(number: u64) -> (u32, u32) {
    let (major, minor) = ((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xf_ff00));
    (u32::try_from(major).unwrap_or(u32::MAX), u32::try_from(minor).unwrap_or(u32::MAX))
}

// Asks a ZFS volume which data set it is: `BLKZNAME` (OpenZFS `include/sys/fs/zfs.h`, `_IOR(0x12, 125, char[256])`). It
// stands in no file of `/sys` or `/proc`.

/// The longest name with its end (`ZFS_MAX_DATASET_NAME_LEN`).
const LONGEST: usize = 256;

nix::ioctl_read!(blkzname, 0x12, 125, [u8; LONGEST]);

/// The data set of the volume with this kernel name, which must be one of a ZFS volume: `zd0`.
pub(crate) fn data_set_of_zvol(kernel_name: &str) -> Option<String> {
    let digits = kernel_name.strip_prefix("zd")?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let device = open(format!("/dev/{kernel_name}").as_str(), flags, Mode::empty()).ok()?;
    let mut name = [0; LONGEST];
    // SAFETY: the kernel writes at most `LONGEST` bytes, which the request says and `name` has; it keeps no pointer, and
    // `device` is open for the whole call.
    unsafe { blkzname(device.as_raw_fd(), &raw mut name) }.ok()?;
    let end = name.iter().position(|byte| *byte == 0)?;
    String::from_utf8(name.get(..end)?.to_vec()).ok().filter(|name| !name.is_empty())
}

// Asks whether two tasks share one table of open files: `kcmp(2)` with `KCMP_FILES` (kernel
// `include/uapi/linux/kcmp.h`).

/// `KCMP_FILES` of `enum kcmp_type`.
const KCMP_FILES: libc::c_long = 2;

/// Whether both have the same table; `false` when they have not, or when the kernel does not tell.
pub(crate) fn same_files(one: u32, other: u32) -> bool {
    if one == other {
        return one != 0;
    }
    let (Ok(one), Ok(other)) = (libc::pid_t::try_from(one), libc::pid_t::try_from(other)) else {
        return false;
    };
    // SAFETY: for this type the kernel takes two process numbers and ignores the last two arguments; it is given no
    // pointer. Process 0 does not exist and is answered with an error.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_FILES, 0, 0) };
    order == 0
}

/// NVM Express Base Specification, Get Log Page.
const GET_LOG_PAGE: u8 = 0x02;
/// All namespaces: the log of the controller.
const EVERY_NAMESPACE: u32 = u32::MAX;
/// Log page 02h, SMART / Health Information.
const SMART: u32 = 0x02;
/// How long the controller may take. A healthy one answers within milliseconds.
const TIMEOUT_MS: u32 = 2_000;

/// The length of the SMART / Health Information log.
const SMART_LENGTH: usize = 512;

/// `struct nvme_passthru_cmd`, 72 bytes without padding.
#[repr(C)]
#[derive(Debug, Default)]
struct AdminCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    address: u64,
    metadata_length: u32,
    data_length: u32,
    cdw10: u32,
    cdw11: u32,
    cdw12: u32,
    cdw13: u32,
    cdw14: u32,
    cdw15: u32,
    timeout_ms: u32,
    result: u32,
}

nix::ioctl_readwrite!(
    /// `NVME_IOCTL_ADMIN_CMD`.
    nvme_admin_command,
    b'N',
    0x41,
    AdminCommand
);

/// The SMART / Health Information log of a controller such as `nvme0`.
pub(crate) fn smart_log(controller: &str) -> Result<Vec<u8>, Miss> {
    let path = format!("/dev/{controller}");
    let device: OwnedFd =
        open(path.as_str(), OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty()).map_err(reason)?;
    let mut answer = vec![0_u8; SMART_LENGTH];
    // Bits 31:16 are the number of 32-bit words, less one.
    let words = SMART_LENGTH as u32 / 4 - 1;
    let mut command = AdminCommand {
        opcode: GET_LOG_PAGE,
        namespace: EVERY_NAMESPACE,
        address: answer.as_mut_ptr() as u64,
        data_length: SMART_LENGTH as u32,
        cdw10: words << 16 | SMART,
        timeout_ms: TIMEOUT_MS,
        ..AdminCommand::default()
    };
    // SAFETY: `command` has the layout that the ioctl's number was made from (checked in the tests). The kernel writes
    // at most `data_length` bytes to `address`, which is the whole of `answer`; both live and are borrowed by nobody
    // else until the call returns, which waits for the command's end. The command only returns data.
    let status = unsafe { nvme_admin_command(device.as_raw_fd(), &raw mut command) }.map_err(reason)?;
    // A positive number is the controller's own status: it does not do this command.
    if status == 0 { Ok(answer) } else { Err(Miss::Absent) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_laid_out_as_the_kernel_header_says() {
        assert_eq!(size_of::<LoopInfo>(), 232);
        assert_eq!(
            (std::mem::offset_of!(LoopInfo, rdevice), std::mem::offset_of!(LoopInfo, offset)),
            (16, 24)
        );
        // MKDEV(253, 300), as `device_mapper` encodes it; and a small one.
        assert_eq!(huge(0x0010_fd2c), (253, 300));
        assert_eq!(huge(0x0811), (8, 17));
        let status =
            LoopInfo { device: 0x0801, inode: 77, rdevice: 0, offset: 512, size_limit: 1024, rest: [0; 24] };
        let part = (512, 1024);
        let file = FileId { device: (8, 1), inode: 77 };
        assert_eq!(decode_loop(&status), Behind { file, device: None, part });
        assert_eq!(
            decode_loop(&LoopInfo { rdevice: 0x0820, ..status }),
            Behind { file, device: Some((8, 32)), part }
        );
    }

    #[test]
    fn what_is_no_loop_device_does_not_answer() {
        assert_eq!(behind_loop("null", (1, 3)), Err(Miss::Absent));
        assert_eq!(behind_loop("no-such-device", (7, 0)), Err(Miss::Absent));
    }

    #[test]
    fn threads_share_their_files_until_one_no_longer_does() {
        let own = std::process::id();
        assert!(!same_files(own, 0) && !same_files(0, 0));
        let (shared, alone) = std::thread::spawn(move || {
            let thread = nix::unistd::gettid().as_raw().unsigned_abs();
            let shared = same_files(own, thread);
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_FILES).expect("a table of its own");
            (shared, same_files(own, thread))
        })
        .join()
        .expect("ends");
        // A kernel without `kcmp` never says yes.
        assert!(!alone);
        assert!(shared || !same_files(own, own));
    }

    #[test]
    fn the_command_is_laid_out_as_the_kernel_header_says() {
        assert_eq!(size_of::<AdminCommand>(), 72);
        assert_eq!(std::mem::offset_of!(AdminCommand, address), 24);
        assert_eq!(std::mem::offset_of!(AdminCommand, data_length), 36);
        assert_eq!(std::mem::offset_of!(AdminCommand, cdw10), 40);
        assert_eq!(std::mem::offset_of!(AdminCommand, timeout_ms), 64);
        // What a C compiler makes of `NVME_IOCTL_ADMIN_CMD` in the kernel's header.
        assert_eq!(nix::request_code_readwrite!(b'N', 0x41, size_of::<AdminCommand>()), 0xc048_4e41);
    }

    #[test]
    fn a_controller_that_is_not_there_or_is_none_does_not_answer() {
        assert_eq!(smart_log("no-such-controller"), Err(Miss::Absent));
    }
}
