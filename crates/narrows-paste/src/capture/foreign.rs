//! The one door to files that a person names: captures, results, descriptions, saved runs.
//!
//! A name may lead anywhere: to a pipe that nobody writes to, to a terminal, to `/dev/zero`, to a file of the kernel that
//! blocks its reader or never ends. What is there is asked before it is opened, since opening some devices already does
//! something, and asked again of what was opened. Only files are read, and pipes: a shell hands the output of a command
//! over as one (`<(command)`). A pipe to which nothing writes, and whatever holds more than its bound, ends in an error that
//! says so.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::statfs::{self, FsType, fstatfs};

/// The most that is read of one file, in bytes: a log of fio of every I/O of some days.
pub const MOST_OF_FILE: u64 = 256 << 30;

/// The most that is read of standard input and of a pipe, in bytes: nobody can see their end coming.
pub const MOST_OF_STREAM: u64 = 16 << 30;

/// A pipe with a name, to which nothing wrote in this time, is given up: nobody may ever write to it.
const NAMED: Duration = Duration::from_secs(5);

/// The same of a pipe without a name, which a shell made and at whose other end a command is at work.
const HANDED_OVER: Duration = Duration::from_secs(600);

/// File systems whose files a kernel makes while they are read (`linux/magic.h`).
const KERNELS: [i64; 22] = [
    0x9fa0,      // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0x6265_6570, // configfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0xcafe_4a11, // bpf
    0xde5e_81e4, // efivarfs
    0x6573_5543, // fusectl
    0x4249_4e4d, // binfmt_misc
    0xf97c_ff8c, // selinuxfs
    0x4341_5d53, // smackfs
    0x0765_5821, // resctrl
    0x6e73_6673, // nsfs
    0x6e66_7364, // nfsd
    0x6759_6969, // rpc_pipefs
    0x9fa2,      // usbdevfs
    0xabba_1974, // xenfs
    0x1980_0202, // mqueue
    0x1cd1,      // devpts
];

/// Why something is not read although it can be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is no file.
    #[error("it is {0}, not a file")]
    NoFile(&'static str),
    /// The kernel makes its content.
    #[error("the kernel makes this file while it is read, and it may never end")]
    Kernels,
    /// Nothing came out of a pipe.
    #[error("nothing was written to this pipe for {} s", .0.as_secs())]
    Silent(Duration),
    /// It holds more than is read.
    #[error("it holds more than {}, and no more is read", size(*.0))]
    TooLarge(u64),
}

impl Refusal {
    /// What to do instead.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoFile("a block device") => "name the device itself: `narrows DEVICE`",
            Self::NoFile("a directory") => "name a file in it",
            Self::NoFile(_) => "name a file, or send the text to standard input: `… | narrows … -`",
            Self::Kernels => {
                "name a copy of it: `cat FILE > copy`; without a file narrows reads the kernel itself"
            }
            Self::Silent(_) => "let the writer begin first, or write to a file and name that",
            Self::TooLarge(_) => "name a part of it: `head -c`, or the one result that matters",
        }
    }

    /// The refusal that an error of reading is, if it is one.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        Self::new(ErrorKind::InvalidInput, refusal)
    }
}

/// `5 GiB`, `24 MiB`: bounds are round.
fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 30 => format!("{} GiB", bytes >> 30),
        _ if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        _ => format!("{bytes} bytes"),
    }
}

/// Opens what a person named, to read at most `most` bytes.
///
/// # Errors
/// What the operating system says, or a [`Refusal`] as an error.
pub fn open(path: &Path, most: u64) -> io::Result<Bounded<Opened>> {
    opened(path, 0).map(|opened| opened.bounded(most))
}

/// Opens an entry of a directory that a person named: a link is not followed.
///
/// # Errors
/// As [`open`].
pub(super) fn open_entry(path: &Path) -> io::Result<Bounded<Opened>> {
    opened(path, libc::O_NOFOLLOW).map(|opened| opened.bounded(MOST_OF_FILE))
}

/// The whole text of a file that a person named; bytes that are not UTF-8 are an error.
///
/// # Errors
/// As [`open`], and when it is no text or holds more than `most` bytes.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    io::read_to_string(open(path, most)?)
}

/// Whether a kernel answers at a path: its files may block, change, or never end.
pub fn is_live(path: &Path) -> bool {
    statfs::statfs(path).is_ok_and(|about| is_kernels(about.filesystem_type()))
}

fn is_kernels(kind: FsType) -> bool {
    // The width of the type differs between architectures.
    #[allow(clippy::unnecessary_cast, reason = "it is an i64 on some architectures only")]
    let kind = (kind.0 as i64) & 0xffff_ffff;
    KERNELS.contains(&kind)
}

#[expect(clippy::disallowed_methods, reason = "this is the door to files that a person named")]
fn opened(path: &Path, flags: i32) -> io::Result<Opened> {
    let about = if flags == 0 { fs::metadata(path)? } else { fs::symlink_metadata(path)? };
    refuse(about.file_type())?;
    let flags = flags | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // The name may lead somewhere else by now.
    let about = file.metadata()?.file_type();
    refuse(about)?;
    if !about.is_fifo() {
        let is_kernels = fstatfs(&file).is_ok_and(|about| is_kernels(about.filesystem_type()));
        return if is_kernels { Err(Refusal::Kernels.into()) } else { Ok(Opened { file, patience: None }) };
    }
    let has_name = fs::symlink_metadata(path).is_ok_and(|about| about.file_type().is_fifo());
    Ok(Opened { file, patience: Some(if has_name { NAMED } else { HANDED_OVER }) })
}

fn refuse(kind: fs::FileType) -> Result<(), Refusal> {
    Err(Refusal::NoFile(match () {
        () if kind.is_file() || kind.is_fifo() => return Ok(()),
        () if kind.is_dir() => "a directory",
        () if kind.is_block_device() => "a block device",
        () if kind.is_char_device() => "a character device",
        () if kind.is_socket() => "a socket",
        () if kind.is_symlink() => "a symbolic link",
        () => "something else",
    }))
}

/// A file or pipe that was opened without waiting for anybody.
#[derive(Debug)]
pub struct Opened {
    file: File,
    /// How long a pipe may stay silent.
    patience: Option<Duration>,
}

impl Opened {
    fn bounded(self, most: u64) -> Bounded<Self> {
        let most = if self.patience.is_some() { most.min(MOST_OF_STREAM) } else { most };
        Bounded::new(self, most)
    }

    /// Waits until a pipe has something to read, or its writers are gone.
    fn wait(&self, patience: Duration) -> io::Result<()> {
        let begin = Instant::now();
        loop {
            let left = patience.saturating_sub(begin.elapsed());
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let mut asked = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
            match poll(&mut asked, timeout) {
                Ok(0) if begin.elapsed() >= patience => return Err(Refusal::Silent(patience).into()),
                Ok(0) | Err(nix::errno::Errno::EINTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Read for Opened {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(patience) = self.patience.filter(|_| !into.is_empty()) else { return self.file.read(into) };
        loop {
            self.wait(patience)?;
            match self.file.read(into) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                other => return other,
            }
        }
    }
}

/// A reader that fails, rather than ends, when there is more than it may give.
#[derive(Debug)]
pub struct Bounded<R> {
    inner: R,
    left: u64,
    most: u64,
}

impl<R> Bounded<R> {
    /// A reader of at most so many bytes.
    pub const fn new(inner: R, most: u64) -> Self {
        Self { inner, left: most, most }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        if self.left == 0 {
            return match self.inner.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(Refusal::TooLarge(self.most).into()),
            };
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        let got = self.inner.read(into.get_mut(..most).unwrap_or_default())?;
        self.left = self.left.saturating_sub(u64::try_from(got).unwrap_or(u64::MAX));
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "the tests make files")]

    use super::*;
    use std::os::unix::net::UnixListener;

    fn refusal(path: &Path) -> Refusal {
        let error = open(path, 100).expect_err("is refused");
        Refusal::of(&error).expect("is a refusal").clone()
    }

    #[test]
    fn what_is_no_file_is_refused_before_it_is_opened() {
        let dir = tempfile::tempdir().expect("a directory");
        let socket = dir.path().join("socket");
        let _listener = UnixListener::bind(&socket).expect("a socket");
        assert_eq!(refusal(&socket), Refusal::NoFile("a socket"));
        assert_eq!(refusal(dir.path()), Refusal::NoFile("a directory"));
        for device in ["/dev/zero", "/dev/null", "/dev/full"] {
            assert_eq!(refusal(Path::new(device)), Refusal::NoFile("a character device"), "{device}");
        }
    }

    #[test]
    fn files_of_the_kernel_are_refused() {
        for file in ["/proc/version", "/proc/self/maps"] {
            assert_eq!(refusal(Path::new(file)), Refusal::Kernels, "{file}");
        }
    }

    #[test]
    fn a_pipe_to_which_nothing_writes_is_given_up_and_one_with_a_writer_is_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("pipe");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let opened = opened(&path, 0).expect("opens at once");
        let short = Duration::from_millis(20);
        let error = Opened { patience: Some(short), ..opened }.read(&mut [0; 9]).expect_err("is silent");
        assert_eq!(Refusal::of(&error), Some(&Refusal::Silent(short)));

        let target = path.clone();
        let writer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            fs::write(target, "late")
        });
        assert_eq!(text(&path, 100).expect("is read"), "late");
        writer.join().expect("no panic").expect("is written");
    }

    #[test]
    fn a_pipe_that_a_shell_hands_over_is_read() {
        let (read, write) = nix::unistd::pipe().expect("a pipe");
        nix::unistd::write(&write, b"of a command").expect("is written");
        drop(write);
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&read));
        assert_eq!(text(Path::new(&path), 100).expect("is read"), "of a command");
    }

    #[test]
    fn more_than_the_bound_is_an_error_and_as_much_is_not() {
        let mut whole = Vec::new();
        assert_eq!(Bounded::new(&b"abc"[..], 3).read_to_end(&mut whole).expect("fits"), 3);
        let error = Bounded::new(&b"abcd"[..], 3).read_to_end(&mut whole).expect_err("does not fit");
        assert_eq!(error.to_string(), "it holds more than 3 bytes, and no more is read");
        assert!(!Refusal::TooLarge(5 << 30).hint().is_empty());
    }
}
