//! Asks an NVMe controller by an admin command: `NVME_IOCTL_ADMIN_CMD` on `/dev/nvmeN`, opened for reading (kernel
//! `include/uapi/linux/nvme_ioctl.h`). Of all commands only Get Log Page can be formed here, which
//! changes nothing.
#![expect(unsafe_code, reason = "an ioctl is the only interface for admin commands")]

use std::os::fd::{AsRawFd, OwnedFd};

use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;

use super::{Unanswered, reason};

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
pub(crate) fn smart_log(controller: &str) -> Result<Vec<u8>, Unanswered> {
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
    if status == 0 { Ok(answer) } else { Err(Unanswered::Absent) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(smart_log("no-such-controller"), Err(Unanswered::Absent));
    }
}
