//! Takes away what a lab built, whatever state it is in, and proves that the devices are as they were.
//!
//! What is to be undone is not remembered but looked for: mounts at the lab's mount point, everything that stands on the
//! named devices, and what stands in their headers. The journal only says which devices these are and that something may
//! be there. So it does not matter which step was the last, whether it was begun, or how often this runs.

use std::thread;
use std::time::{Duration, Instant};

use super::journal::{Head, Journal, NamedDevice};
use super::journal_file::JournalError;
use super::key::Key;
use super::names::{Names, node};
use super::scratch::{self, ScratchError};
use super::sight::{self, Top};
use super::step::{
    Call, Step, destroy_pool, detach, list_pool, remove_mapping, remove_pool_nodes, stop_array,
};
use super::tool::{ToolError, Tools};
use super::usage;
use crate::load::LoadError;
use crate::load::guard::{self, Device, Mark, RestoreError};
use crate::machine::root::Root;
use crate::units::Bytes;

/// How long something may still be busy: udev looks at every device that changes, and a killed process gives up its I/O
/// when the last of it has ended.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it is tried again.
const TICK: Duration = Duration::from_millis(100);

/// Why something could not be undone.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// A device of the journal is not there.
    #[error("{name} ({identity}) is not there, so it cannot be cleared")]
    Missing {
        /// The kernel name that it had.
        name: String,
        /// What tells it from others.
        identity: String,
    },
    /// Something that is not the lab's is built on the devices.
    #[error("{0} is built on the lab's devices, and the lab did not build it")]
    Foreign(String),
    /// The ground is not as the lab made it.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// A tool failed until patience was over.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A device could not be opened to be cleared.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A device was not cleared.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// What was undone cannot be written down.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The kernel has no random numbers.
    #[error("no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}

impl UndoError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Missing { .. } => "connect it again, then `narrows lab --undo`".to_owned(),
            Self::Foreign(_) => "stop it yourself if it is not needed, then `narrows lab --undo`".to_owned(),
            Self::Scratch(error) => match error.hint() {
                Some(hint) => format!("{hint}; then `narrows lab --undo` again"),
                None => "then `narrows lab --undo` again".to_owned(),
            },
            Self::Tool(error) => error.hint().unwrap_or_else(|| "then `narrows lab --undo` again".to_owned()),
            Self::Load(_) | Self::Restore(_) | Self::Random(_) | Self::Journal(_) => {
                "what speaks against it has to be gone first; then `narrows lab --undo` again".to_owned()
            }
        }
    }
}

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Undone {
    /// The command lines that were run.
    pub calls: Vec<String>,
    /// Bytes cleared, over all devices.
    pub cleared: Bytes,
}

/// Undoes for one lab.
pub struct Undoer<'a> {
    root: &'a Root,
    head: &'a Head,
    tools: &'a mut Tools,
    /// No tool that undoes needs a key; what it would get is random.
    key: Key,
    done: Undone,
}

impl<'a> Undoer<'a> {
    /// Undoes what the lab of `head` built.
    ///
    /// # Errors
    /// The kernel has no random numbers.
    pub fn new(root: &'a Root, head: &'a Head, tools: &'a mut Tools) -> Result<Self, getrandom::Error> {
        Ok(Self { root, head, tools, key: Key::random()?, done: Undone::default() })
    }

    /// Takes away all that stands on the devices and clears them. `cipher_text`: whether a cipher may have written at their
    /// beginning.
    ///
    /// # Errors
    /// [`UndoError`]; then something is left, and it can be tried again.
    pub fn devices(&mut self, cipher_text: bool) -> Result<(), UndoError> {
        let found = self.present()?;
        let names = self.head.names(found.iter().map(|(_, name)| name.clone()).collect());
        self.unmount(&names)?;
        let begin = Instant::now();
        loop {
            let tried = self.once(&names, &found, cipher_text);
            match tried {
                Err(UndoError::Tool(_) | UndoError::Load(_) | UndoError::Restore(_))
                    if begin.elapsed() < PATIENCE =>
                {
                    thread::sleep(TICK);
                }
                other => return other,
            }
        }
    }

    /// The named devices with their names of today. Memory that did not outlive a restart needs nothing.
    fn present(&self) -> Result<Vec<(NamedDevice, String)>, UndoError> {
        let today = sight::find_devices(self.root, self.head);
        let is_same_boot = sight::boot(self.root) == self.head.boot;
        let mut found = Vec::new();
        for (device, name) in self.head.devices.iter().zip(today) {
            match name {
                Some(name) => found.push((device.clone(), name)),
                None if device.volatile && !is_same_boot => {}
                None if self.head.scratch.is_some() => {}
                None => {
                    let (name, identity) = (device.name.clone(), device.identity.clone());
                    return Err(UndoError::Missing { name, identity });
                }
            }
        }
        Ok(found)
    }

    fn once(
        &mut self,
        names: &Names,
        found: &[(NamedDevice, String)],
        cipher_text: bool,
    ) -> Result<(), UndoError> {
        self.take_down(names)?;
        for (device, name) in found {
            let mark = mark(names, cipher_text);
            let opened = Device::open(node(name).as_ref())?;
            let usage = usage::of(self.root, name);
            let size = Bytes::new(device.bytes);
            let cleared = guard::restore(&opened, &usage, &device.identity, size, &mark)?;
            self.done.cleared = self.done.cleared + cleared;
        }
        Ok(())
    }

    /// Takes away arrays and mappings, the highest first.
    fn take_down(&mut self, names: &Names) -> Result<(), UndoError> {
        loop {
            let tops = sight::tops(self.root, &names.devices, names);
            let Some(top) = tops.into_iter().next() else { break };
            match top {
                Top::Array(name) => self.call(&stop_array(&name))?,
                Top::Mapping(name) => self.call(&remove_mapping(&name))?,
                Top::Foreign(what) => return Err(UndoError::Foreign(what)),
            }
        }
        if sight::has_empty_array(self.root, names) {
            self.call(&stop_array(&names.array))?;
        }
        self.destroy_pool(names)?;
        self.unlink(names)
    }

    /// Destroys the pool of our name, if it is imported and stands on our nodes alone, and removes these.
    fn destroy_pool(&mut self, names: &Names) -> Result<(), UndoError> {
        if sight::has_pool(self.root, names) {
            let listing = self.tools.output(self.root, &list_pool(names), &self.key)?;
            if !sight::is_pool_ours(&listing, names) {
                return Err(UndoError::Foreign(format!(
                    "the pool {}, which is on other devices, too,",
                    names.pool()
                )));
            }
            self.call(&destroy_pool(names))?;
        }
        if self.root.exists(&names.pool_directory()) {
            self.calls(&remove_pool_nodes(names))?;
        }
        Ok(())
    }

    /// Takes away the directory of links that LVM makes below `/dev` where there is no udev: it is LVM that would, but it
    /// sees no volume any more.
    fn unlink(&mut self, names: &Names) -> Result<(), UndoError> {
        let directory = format!("/dev/{}", names.group());
        if !self.root.exists(&directory) {
            return Ok(());
        }
        self.call(&Call::new("rm", ["-f", "--", &format!("{directory}/{}", names.volume())]))?;
        match self.call(&Call::new("rmdir", ["--", &directory])) {
            // Where there is udev, it may have been first.
            Err(_) if !self.root.exists(&directory) => Ok(()),
            removed => removed,
        }
    }

    fn unmount(&mut self, names: &Names) -> Result<(), UndoError> {
        let (directory, point) = (Step::MountPoint.undo(names), names.mount_point());
        let begin = Instant::now();
        while sight::is_mounted(self.root, names) {
            match self.call(&Call::new("umount", ["--", &point])) {
                Err(_) if begin.elapsed() < PATIENCE => thread::sleep(TICK),
                other => other?,
            }
        }
        if self.root.exists(&point) {
            self.calls(&directory)?;
        }
        Ok(())
    }

    /// Takes away loop devices, scratch files and their directory.
    ///
    /// # Errors
    /// [`UndoError`]; then something is left, and it can be tried again.
    pub fn ground(&mut self, steps: &[Step]) -> Result<(), UndoError> {
        let names = self.head.names(Vec::new());
        for step in steps.iter().rev() {
            match *step {
                Step::Loop { index } => self.detach(&names, index)?,
                Step::File { .. } | Step::Directory => {
                    if scratch::remove(*step, &names)? {
                        self.done.calls.extend(step.undo(&names).iter().map(Call::to_string));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn detach(&mut self, names: &Names, index: usize) -> Result<(), UndoError> {
        let Some(file) = names.scratch_file(index) else { return Ok(()) };
        let begin = Instant::now();
        // It is detached when the last who has it open closes it.
        while let Some(name) = sight::loop_over(self.root, &file.display().to_string()) {
            match self.call(&detach(&node(&name))) {
                Err(error) if begin.elapsed() >= PATIENCE => return Err(error),
                _ => self.wait_for_detached(&name),
            }
        }
        Ok(())
    }

    /// The kernel forgets the file of a loop device before it is done with it. Somebody else may take it right then, so this
    /// waits for a moment only.
    fn wait_for_detached(&self, name: &str) {
        let begin = Instant::now();
        while self.root.exists(&format!("/sys/block/{name}/loop")) && begin.elapsed() < 20 * TICK {
            thread::sleep(TICK);
        }
    }

    fn calls(&mut self, calls: &[Call]) -> Result<(), UndoError> {
        calls.iter().try_for_each(|call| self.call(call))
    }

    fn call(&mut self, call: &Call) -> Result<(), UndoError> {
        self.tools.run(self.root, call, &self.key)?;
        self.done.calls.push(call.to_string());
        Ok(())
    }

    /// What was done.
    pub fn done(self) -> Undone {
        self.done
    }
}

/// How this lab marks its headers.
fn mark(names: &Names, cipher_text: bool) -> Mark {
    let (id, pool) = (names.id, names.pool());
    let volume = id.volume(0).get(..30).unwrap_or_default().to_owned();
    Mark { uuid: id.bytes(), text: id.uuid(), volume, pool, cipher_text }
}

/// Undoes everything that a journal says: what stands on the devices, and then the ground.
///
/// # Errors
/// [`UndoError`]; then something is left, and it can be tried again.
pub fn undo(root: &Root, journal: &Journal, tools: &mut Tools) -> Result<Undone, UndoError> {
    let mut undoer = Undoer::new(root, &journal.head, tools)?;
    if !journal.steps.is_empty() || journal.damaged > 0 {
        undoer.devices(journal.may_hold_cipher_text())?;
    }
    undoer.ground(&journal.ground)?;
    Ok(undoer.done())
}
