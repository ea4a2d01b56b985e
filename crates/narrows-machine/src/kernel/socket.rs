//! What the kernel answers through sockets: connections of TCP (`sock_diag(7)`), and its ciphers (`AF_ALG`).

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, RawFd};

use nix::errno::Errno;
use nix::libc::{ALG_OP_DECRYPT, ALG_OP_ENCRYPT};
use nix::sys::socket::sockopt::AlgSetKey;
use nix::sys::socket::{
    AddressFamily, AlgAddr, ControlMessage, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, accept4,
    bind, recv, sendmsg, sendto, setsockopt, socket,
};
use nix::unistd::close;

/// The parts of the answer to a request, the last of which `is_last` knows; none where the kernel does not answer. The kernel makes
/// the first part before `sendto` returns and each further one before `recv` does, so there is never a reason to wait.
pub(crate) fn diagnosed(request: &[u8], is_last: impl Fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
    ask(request, is_last).unwrap_or_default()
}

fn ask(request: &[u8], is_last: impl Fn(&[u8]) -> bool) -> nix::Result<Vec<Vec<u8>>> {
    /// The kernel fills no more than 32 KiB at a time (`net/netlink/af_netlink.c`, `netlink_recvmsg`).
    const ROOM: usize = 32 << 10;
    /// More parts than any machine has connections for; ends a dump that does not end itself.
    const MOST_PARTS: usize = 10_000;
    let flags = SockFlag::SOCK_CLOEXEC;
    let netlink = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkSockDiag)?;
    sendto(netlink.as_raw_fd(), request, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    let mut parts = Vec::new();
    let mut buffer = vec![0; ROOM];
    while parts.len() < MOST_PARTS {
        let length = recv(netlink.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT)?;
        let part = buffer.get(..length).unwrap_or_default().to_vec();
        let ends = length == 0 || is_last(&part);
        parts.push(part);
        if ends {
            break;
        }
    }
    Ok(parts)
}

/// The longest name that a socket address of the family holds, with its terminating zero (`struct sockaddr_alg`).
const MAX_NAME: usize = 64;

/// One open cipher of the kernel with its key.
#[derive(Debug)]
pub(crate) struct KernelCipher {
    operation: RawFd,
}

impl KernelCipher {
    /// # Errors
    /// The kernel lacks the interface or the cipher, or the cipher takes no such key.
    pub(crate) fn open(name: &str, key: &Vec<u8>) -> io::Result<Self> {
        if name.len() >= MAX_NAME {
            return Err(Errno::ENAMETOOLONG.into());
        }
        let transform = socket(AddressFamily::Alg, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None)?;
        bind(transform.as_raw_fd(), &AlgAddr::new("skcipher", name))?;
        setsockopt(&transform, AlgSetKey::default(), key)?;
        let operation = accept4(transform.as_raw_fd(), SockFlag::SOCK_CLOEXEC)?;
        Ok(Self { operation })
    }

    /// Sends `data` through the cipher and puts the result in its place; `None` when the kernel did not take or give all of it.
    pub(crate) fn run(&self, encrypts: bool, iv: &[u8], data: &mut [u8]) -> Option<()> {
        let operation = if encrypts { &ALG_OP_ENCRYPT } else { &ALG_OP_DECRYPT };
        let with_iv = [ControlMessage::AlgSetOp(operation), ControlMessage::AlgSetIv(iv)];
        let messages = if iv.is_empty() { &with_iv[..1] } else { &with_iv[..] };
        let none = MsgFlags::empty();
        let sent = sendmsg::<()>(self.operation, &[IoSlice::new(data)], messages, none, None).ok()?;
        let received = recv(self.operation, data, none).ok()?;
        (sent == data.len() && received == data.len()).then_some(())
    }
}

impl Drop for KernelCipher {
    fn drop(&mut self) {
        // The descriptor is ours alone and a socket of this family has nothing to flush.
        let _ = close(self.operation);
    }
}
