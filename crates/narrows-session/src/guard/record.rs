//! The record of a run that writes to a device: the secret of its marks, on stable storage before the first of them is
//! written, and there until the last is cleared.

use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use nix::fcntl::{Flock, FlockArg};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::trust::{self, DIRECTORY};
use narrows_base::hex;
use narrows_base::units::Bytes;
use narrows_load::guard::{RunSecret, keyed_hash};
use narrows_load::held::Maker;

const FORMAT: &str = "narrows-run/1";
/// No record is longer.
const LONGEST: u64 = 64 << 10;

/// A record that nobody else has.
#[derive(Debug)]
pub(super) struct RunRecord {
    directory: File,
    name: String,
    _lock: Flock<File>,
}

#[derive(Serialize, Deserialize)]
struct Text {
    format: String,
    identity: String,
    bytes: u64,
    secret: RunSecret,
}

/// The file of the device with this identity and size.
fn name(identity: &str, size: Bytes) -> String {
    let hash = keyed_hash(&[0; 32], &[&size.get().to_le_bytes(), identity.as_bytes()]);
    format!("run-{}.json", hex::digits(hash.iter().take(16)))
}

fn lock(file: File) -> io::Result<Flock<File>> {
    let failed = |_| io::Error::other("another run on a device of this name has the record");
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| failed(error))
}

impl RunRecord {
    /// The record of an earlier run on this device, and its secret; `None` where there is none.
    ///
    /// # Errors
    /// It does not count, since others than root can have written it; or a run still has it.
    pub(super) fn open(identity: &str, size: Bytes) -> io::Result<Option<(Self, RunSecret)>> {
        let directory = match trust::directory(Path::new(DIRECTORY)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            directory => directory?,
        };
        let name = name(identity, size);
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let file = match Maker::of(&directory).open(name.as_bytes(), flags) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        trust::file(&Path::new(DIRECTORY).join(&name), &file)?;
        let lock = lock(file)?;
        let mut bytes = Vec::new();
        (&*lock).take(LONGEST).read_to_end(&mut bytes)?;
        // One that was cut short was not durable yet, and so nothing bears its marks.
        let text = serde_json::from_slice::<Text>(&bytes).ok();
        let text = text
            .filter(|text| text.format == FORMAT && text.identity == identity && text.bytes == size.get());
        Ok(text.map(|text| (Self { directory, name, _lock: lock }, text.secret)))
    }

    /// Makes it, durably, in the place of one of an earlier run.
    ///
    /// # Errors
    /// It cannot be made, or a run has it.
    pub(super) fn create(identity: &str, size: Bytes, secret: &RunSecret) -> io::Result<Self> {
        trust::make_directory(Path::new(DIRECTORY))?;
        // Whoever has it is asked first.
        drop(Self::open(identity, size)?);
        let directory = trust::directory(Path::new(DIRECTORY))?;
        let (name, maker) = (name(identity, size), Maker::of(&directory));
        maker.remove(name.as_bytes())?;
        let mut file = lock(maker.make_file(name.as_bytes(), OFlags::WRONLY)?)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        let (format, identity) = (FORMAT.to_owned(), identity.to_owned());
        let text = Text { format, identity, bytes: size.get(), secret: *secret };
        file.write_all(&serde_json::to_vec(&text)?)?;
        file.sync_all()?;
        directory.sync_all()?;
        Ok(Self { directory, name, _lock: file })
    }

    /// Removes it.
    pub(super) fn forget(&self) {
        // One that stays is that of a run of which nothing is left.
        let _ = Maker::of(&self.directory).remove(self.name.as_bytes());
    }
}
