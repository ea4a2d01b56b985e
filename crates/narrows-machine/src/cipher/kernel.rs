//! The kernel's cipher through its socket interface (kernel `Documentation/crypto/userspace-if.rst`).

use std::io::IoSlice;
use std::os::fd::{AsRawFd, RawFd};

use nix::libc::{ALG_OP_DECRYPT, ALG_OP_ENCRYPT};
use nix::sys::socket::sockopt::AlgSetKey;
use nix::sys::socket::{
    AddressFamily, AlgAddr, ControlMessage, MsgFlags, SockFlag, SockType, accept4, bind, recv, sendmsg,
    setsockopt, socket,
};
use nix::unistd::close;

use super::{Algorithm, REQUEST, Way, rate_of};
use narrows_base::units::BytesPerSec;

/// The longest name that a socket address of the family holds, with its terminating zero (`struct sockaddr_alg`).
const MAX_NAME: usize = 64;

/// The rates of decryption and encryption on one core; `None` when the kernel lacks the interface or the cipher.
pub(super) fn rates(algorithm: &Algorithm, key_bits: u32) -> Option<(BytesPerSec, BytesPerSec)> {
    let session = Session::open(algorithm, &key(key_bits)?).ok()?;
    let iv = vec![0u8; algorithm.iv];
    let mut buffer = vec![0u8; REQUEST];
    let mut rate = |way| rate_of(REQUEST, || session.run(way, &iv, &mut buffer).ok());
    Some((rate(Way::Decrypt)?, rate(Way::Encrypt)?))
}

/// A key that no cipher calls weak: all its bytes differ where they can.
fn key(bits: u32) -> Option<Vec<u8>> {
    let length = usize::try_from(bits / 8).ok()?;
    Some((0..=u8::MAX).cycle().take(length).collect())
}

/// One open cipher with its key.
#[derive(Debug)]
struct Session {
    operation: RawFd,
}

impl Session {
    fn open(algorithm: &Algorithm, key: &Vec<u8>) -> nix::Result<Self> {
        if algorithm.name.len() >= MAX_NAME {
            return Err(nix::errno::Errno::ENAMETOOLONG);
        }
        let transform = socket(AddressFamily::Alg, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None)?;
        bind(transform.as_raw_fd(), &AlgAddr::new("skcipher", &algorithm.name))?;
        setsockopt(&transform, AlgSetKey::default(), key)?;
        let operation = accept4(transform.as_raw_fd(), SockFlag::SOCK_CLOEXEC)?;
        Ok(Self { operation })
    }

    /// Sends `data` through the cipher and puts the result in its place.
    fn run(&self, way: Way, iv: &[u8], data: &mut [u8]) -> nix::Result<()> {
        let operation = match way {
            Way::Encrypt => &ALG_OP_ENCRYPT,
            Way::Decrypt => &ALG_OP_DECRYPT,
        };
        let with_iv = [ControlMessage::AlgSetOp(operation), ControlMessage::AlgSetIv(iv)];
        let messages = if iv.is_empty() { &with_iv[..1] } else { &with_iv[..] };
        let sent = sendmsg::<()>(self.operation, &[IoSlice::new(data)], messages, MsgFlags::empty(), None)?;
        let received = recv(self.operation, data, MsgFlags::empty())?;
        if sent == data.len() && received == data.len() { Ok(()) } else { Err(nix::errno::Errno::EIO) }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The descriptor is ours alone and a socket of this family has nothing to flush.
        let _ = close(self.operation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::errno::Errno;

    /// IEEE Std 1619-2007, Annex B, vector 1.
    #[test]
    fn the_kernel_encrypts_vector_1_of_ieee_1619_and_decrypts_it_again() {
        let xts = Algorithm { name: "xts(aes)".to_owned(), iv: 16 };
        // A kernel in FIPS mode refuses a key with equal halves, as this vector has.
        let session = match Session::open(&xts, &vec![0; 32]) {
            Ok(session) => session,
            Err(errno @ (Errno::EAFNOSUPPORT | Errno::ENOENT | Errno::EINVAL)) => {
                println!("skipped: this kernel offers no AF_ALG xts(aes) ({errno})");
                return;
            }
            Err(errno) => panic!("{errno}"),
        };
        let mut data = vec![0u8; 32];
        session.run(Way::Encrypt, &[0; 16], &mut data).expect("encrypts");
        assert_eq!(data[..4], [0x91, 0x7c, 0xf6, 0x9e]);
        assert_eq!(data[28..], [0x2f, 0xbf, 0x92, 0x2e]);
        session.run(Way::Decrypt, &[0; 16], &mut data).expect("decrypts");
        assert_eq!(data, vec![0u8; 32]);
        let (decrypt, encrypt) = rates(&xts, 512).expect("a kernel that encrypts has a rate");
        println!("xts(aes) with 512 bits: decrypts {decrypt}, encrypts {encrypt}");
        assert!(decrypt.get() > 1e6 && encrypt.get() > 1e6);
    }

    #[test]
    fn a_cipher_that_does_not_exist_has_no_rate() {
        let long = "x".repeat(200);
        for name in ["xts(nonsense)", long.as_str()] {
            assert_eq!(rates(&Algorithm { name: name.to_owned(), iv: 16 }, 256), None);
        }
    }
}
