//! What the kernel says of itself while it runs: events of devices (`NETLINK_KOBJECT_UEVENT`), and its log (`/dev/kmsg`).
//!
//! Both are queues of the kernel's that overflow when nobody reads. That is told ([`Heard::lost`]), since whoever listens has to
//! look at everything again then.
#![expect(clippy::disallowed_methods, reason = "/dev/kmsg is read message by message")]

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recvfrom, setsockopt, socket, sockopt,
};

/// The group of the messages that the kernel itself sends; udev uses the second (kernel `lib/kobject_uevent.c`).
const KERNEL_GROUP: u32 = 1;
/// An event has 2 KiB of variables at most (kernel `UEVENT_BUFFER_SIZE`), before which its path stands.
const LONGEST_EVENT: usize = 8 << 10;
/// A message of the log has at most this many bytes (kernel `PRINTK_MESSAGE_MAX`).
const LONGEST_MESSAGE: usize = 8 << 10;
/// So much is asked for the queue of events; the kernel gives an ordinary user `net.core.rmem_max`.
const QUEUE: usize = 4 << 20;
/// No more is taken at one time, so that a flood does not keep us.
const MOST: usize = 4096;

/// Hears both.
#[derive(Debug)]
pub struct Listener {
    events: Option<OwnedFd>,
    log: Option<File>,
}

/// What was heard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    /// How many events of devices that a storage path may have.
    pub events: usize,
    /// Messages of the log, in their order.
    pub messages: Vec<Message>,
    /// Which queue overflowed.
    pub lost: Option<&'static str>,
}

/// A message of the kernel's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// When, on the kernel's clock of its log, in microseconds.
    pub micros: u64,
    /// What it says.
    pub text: String,
}

impl Listener {
    /// Begins to listen, and says of what cannot be heard why.
    pub fn open() -> (Self, Vec<String>) {
        let mut unheard = Vec::new();
        let events = events().map_err(|error| unheard.push(format!("events of devices: {error}"))).ok();
        let log = log().map_err(|error| unheard.push(format!("the kernel's log, /dev/kmsg: {error}"))).ok();
        (Self { events, log }, unheard)
    }

    /// Waits for the first event or message, at most so long, and takes what is there. A signal ends the wait, too.
    pub fn wait(&mut self, most: Duration) -> Heard {
        let sources = [self.events.as_ref().map(AsFd::as_fd), self.log.as_ref().map(AsFd::as_fd)];
        let mut polled: Vec<PollFd<'_>> =
            sources.into_iter().flatten().map(|source| PollFd::new(source, PollFlags::POLLIN)).collect();
        let timeout = i32::try_from(most.as_millis()).unwrap_or(i32::MAX);
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::ZERO);
        match poll(&mut polled, timeout) {
            Ok(1..) => self.take(),
            _ => Heard::default(),
        }
    }

    /// Takes what is there.
    fn take(&mut self) -> Heard {
        let mut heard = Heard::default();
        if let Some(events) = &self.events {
            take_events(events, &mut heard);
        }
        if let Some(log) = &mut self.log
            && let Err(error) = take_messages(log, &mut heard)
            && error.kind() != ErrorKind::WouldBlock
        {
            // It will not answer again; polling it would never rest.
            self.log = None;
            heard.lost = Some("the kernel's log");
        }
        heard
    }
}

fn events() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let kind = SockProtocol::NetlinkKObjectUEvent;
    let events = socket(AddressFamily::Netlink, SockType::Datagram, flags, kind)?;
    // A longer queue is better and not needed.
    let _ = setsockopt(&events, sockopt::RcvBufForce, &QUEUE)
        .or_else(|_| setsockopt(&events, sockopt::RcvBuf, &QUEUE));
    bind(events.as_raw_fd(), &NetlinkAddr::new(0, KERNEL_GROUP))?;
    Ok(events)
}

fn log() -> io::Result<File> {
    let flags = nix::fcntl::OFlag::O_NONBLOCK.bits();
    let mut log = OpenOptions::new().read(true).custom_flags(flags).open("/dev/kmsg")?;
    // What was said before we listened is no news.
    log.seek(SeekFrom::End(0))?;
    Ok(log)
}

fn take_events(events: &OwnedFd, heard: &mut Heard) {
    let mut buffer = vec![0; LONGEST_EVENT];
    for _ in 0..MOST {
        match recvfrom::<NetlinkAddr>(events.as_raw_fd(), &mut buffer) {
            // Any process may send to us; only what the kernel sends counts.
            Ok((length, Some(from))) if from.pid() == 0 => {
                let event = buffer.get(..length).unwrap_or_default();
                heard.events += usize::from(is_of_interest(event));
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::ENOBUFS) => heard.lost = Some("events of devices"),
            Err(_) => return,
        }
    }
}

/// Whether an event is of a device that may be on a storage path: `add@/devices/…`, then variables, each with a zero behind.
fn is_of_interest(event: &[u8]) -> bool {
    const OF_INTEREST: [&[u8]; 6] = [
        b"SUBSYSTEM=pci",
        b"SUBSYSTEM=block",
        b"SUBSYSTEM=nvme",
        b"SUBSYSTEM=net",
        b"SUBSYSTEM=scsi",
        b"SUBSYSTEM=hwmon",
    ];
    event.split(|byte| *byte == 0).any(|variable| OF_INTEREST.contains(&variable))
}

fn take_messages(log: &mut File, heard: &mut Heard) -> io::Result<()> {
    let mut buffer = vec![0; LONGEST_MESSAGE];
    for _ in 0..MOST {
        match log.read(&mut buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => {
                let text = String::from_utf8_lossy(buffer.get(..length).unwrap_or_default());
                heard.messages.extend(parse_message(&text));
            }
            // Messages were overwritten before they were read; the next read goes on with the oldest that is there.
            Err(error) if error.raw_os_error() == Some(Errno::EPIPE as i32) => {
                heard.lost = Some("the kernel's log")
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // One that is longer than any can be.
            Err(error) if error.raw_os_error() == Some(Errno::EINVAL as i32) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads `6,339,5140900,-;pcieport 0000:00:1c.0: AER: …` (kernel `Documentation/ABI/testing/dev-kmsg`). Lines that begin
/// with a space say more of the same message and are left out.
pub fn parse_message(record: &str) -> Option<Message> {
    let (head, text) = record.split_once(';')?;
    let micros = head.split(',').nth(2)?.parse().ok()?;
    Some(Message { micros, text: text.lines().next().unwrap_or_default().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_has_its_time_and_its_first_line() {
        let record = "4,3221,83511917461,-;pcieport 0000:00:1c.0: AER: Corrected error\n SUBSYSTEM=pci\n DEVICE=+pci\n";
        let message = parse_message(record).expect("is one");
        assert_eq!(
            (message.micros, message.text.as_str()),
            (83_511_917_461, "pcieport 0000:00:1c.0: AER: Corrected error")
        );
        for text in ["", ";", "1,2;x", "1,2,x,-;text"] {
            assert_eq!(parse_message(text), None, "{text}");
        }
    }

    #[test]
    fn events_of_other_devices_are_none_of_ours() {
        assert!(is_of_interest(
            b"add@/devices/pci0000:00/0000:00:01.0\0ACTION=add\0SUBSYSTEM=pci\0SEQNUM=7\0"
        ));
        assert!(!is_of_interest(b"change@/devices/virtual/tty/tty1\0SUBSYSTEM=tty\0"));
        assert!(!is_of_interest(b"x\0SUBSYSTEM=pcix\0") && !is_of_interest(b""));
    }

    #[test]
    fn a_wait_ends_in_time() {
        let (mut listener, _) = Listener::open();
        let heard = listener.wait(Duration::from_millis(1));
        assert!(heard.messages.len() <= MOST);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(text in "\\PC{0,80}", bytes: Vec<u8>) {
            let _ = (parse_message(&text), is_of_interest(&bytes));
        }
    }
}
