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
}

impl Ground {
    /// Makes one.
    pub(super) fn make(root: &Root, token: &Token) -> io::Result<Self> {
        let shell = program::find(root, "sh").ok_or(io::ErrorKind::NotFound)?;
        // The name of a socket has 107 bytes at most, so that a long TMPDIR is of no use.
        let base = Path::new("/tmp");
        let name = format!("{PREFIX}{token}");
        let held = Held::open(base, Aim::Write).map_err(io::Error::other)?;
        held.maker().make_directory(name.as_bytes())?;
        let path = base.join(name);
        let mut command = program::cleared(shell);
        command.args(["-c", &script::here(), "sh"]).arg(&path).current_dir("/").process_group(0);
        let watchdog = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Self { path, watchdog })
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

/// What fio wrote in a directory: every regular file, by its name.
#[expect(clippy::disallowed_methods, reason = "files that our own fio wrote in our own directory")]
pub(super) fn files(directory: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            found.push((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?));
        }
    }
    found.sort();
    Ok(found)
}
