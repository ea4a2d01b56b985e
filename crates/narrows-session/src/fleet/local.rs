//! The controller's own directory, for its sockets and for what fio writes, and the watchdog that removes it.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use narrows_load::held::{Aim, Held, Readers};
use narrows_machine::program;
use narrows_machine::root::Root;

use super::script::{self, PREFIX, Token};

/// A directory for this user alone. It is gone soon after the controller, however that ends, and with it every process that works there.
pub struct Ground {
    path: PathBuf,
    watchdog: Child,
    /// With it begin the names of what belongs to it.
    pub(super) token: Token,
}

impl Ground {
    /// Makes one.
    ///
    /// # Errors
    /// It cannot be made, or there is no shell.
    pub fn make(root: &Root) -> io::Result<Self> {
        let token = Token::random().map_err(io::Error::other)?;
        let shell = program::find(root, "sh").ok_or(io::ErrorKind::NotFound)?;
        // The name of a socket has 107 bytes at most, so that a long TMPDIR is of no use.
        let base = Path::new("/tmp");
        let name = format!("{PREFIX}{token}");
        let held = Held::open(base, Aim::Write).map_err(io::Error::other)?;
        held.maker().make_directory(name.as_bytes())?;
        let path = base.join(name);
        let mut command = program::cleared(shell);
        let itself = format!("/proc/{}/exe", std::process::id());
        command.args(["-c", &script::here(), "sh"]).arg(&path).arg(itself).current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let watchdog = program::spawn(&mut command)?;
        Ok(Self { path, watchdog, token })
    }

    /// A directory of its own in it, short enough for a socket.
    ///
    /// # Errors
    /// What `mkdirat(2)` answers.
    pub fn directory(&self, name: &str) -> io::Result<PathBuf> {
        let held = Held::open(&self.path, Aim::Write).map_err(io::Error::other)?;
        held.maker().make_directory(name.as_bytes())?;
        Ok(self.path.join(name))
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // The end of its standard input is what the watchdog waits for.
        drop(self.watchdog.stdin.take());
        let _ = self.watchdog.wait();
    }
}

/// A directory of one run of one host: the job file, and the way to the socket.
pub(super) fn point_directory(host: &Path, name: &str, job: &str) -> io::Result<PathBuf> {
    let held = Held::open(host, Aim::Write).map_err(io::Error::other)?;
    held.maker().make_directory(name.as_bytes())?;
    let path = host.join(name);
    let held = Held::open(&path, Aim::Write).map_err(io::Error::other)?;
    held.write_new("job.fio".as_ref(), job.as_bytes(), Readers::Us)?;
    // fio puts the name of the server behind the names of its logs: it must have no slash.
    symlink("../s", path.join("s"))?;
    Ok(path)
}

/// What fio wrote in a directory: every regular file, by its name, with its length.
///
/// # Errors
/// It cannot be listed.
#[expect(clippy::disallowed_methods, reason = "files that our own fio wrote in our own directory")]
pub fn files(directory: &Path) -> io::Result<Vec<(String, u64)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let (name, meta) = entry.and_then(|entry| Ok((entry.file_name(), entry.metadata()?)))?;
        if meta.is_file() {
            found.push((name.to_string_lossy().into_owned(), meta.len()));
        }
    }
    found.sort();
    Ok(found)
}
