//! Takes away what a lab built, whatever state it is in, and proves that its slices are as they were.
//!
//! What is to be undone is not remembered but looked for: mounts at the lab's mount point, everything that stands on the
//! slices, and what stands in them. The journal only says where slices were and that something may be there. So it does not
//! matter which step was the last, whether it was begun, or how often this runs.
//!
//! Nothing that is not the lab's is touched: not even looked at closer where it stands on the devices, and never stopped. A
//! slice is cleared as a whole only where nobody else can have written to it ([`doubt`]).

use std::thread;
use std::time::{Duration, Instant};

use super::journal::{Head, Journal};
use super::journal_file::JournalError;
use super::names::{Names, node};
use super::scratch;
use super::sight::{self, Today, Top};
use super::slice::{Counters, Doubt, Extent, SliceRecord};
use super::slices::{SlicePlace, Slices, sentence};
use super::step::{
    Call, Step, destroy_pool, detach, forget_partitions, list_pool, remove_directory, remove_mapping,
    remove_pool_nodes, stop_array, unmount,
};
use super::tool::{Key, Tools};
use crate::Failure;
use narrows_base::units::Bytes;
use narrows_load::LoadError;
use narrows_load::guard::{self, Mark, WriteError};
use narrows_machine::root::Root;

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
    /// Several devices are like a device of the journal, and none is known to be it.
    #[error("{} are all like {name} of the journal ({identity}), and none is known to be it", found.join(", "))]
    Twins {
        /// The kernel name that it had.
        name: String,
        /// What does not tell it from others.
        identity: String,
        /// Those that are there.
        found: Vec<String>,
    },
    /// Something that is not the lab's is built on the devices.
    #[error(
        "{0} stands on the lab's devices, and the lab did not build it; it was left as it is, and so was everything else"
    )]
    Foreign(String),
    /// The ground is not as the lab made it.
    #[error(transparent)]
    Scratch(Failure),
    /// Somebody else wrote to a device while the lab ran.
    #[error("{}; so nothing on it was cleared", sentence(.0, .1))]
    Others(String, Doubt),
    /// Something stands where the slice was that is not known to be the lab's.
    #[error("{}; it was left as it is", .0.join("; "))]
    Left(Vec<String>),
    /// A tool failed until patience was over.
    #[error(transparent)]
    Tool(#[from] Failure),
    /// A device could not be opened to be cleared.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A device may not be opened to be cleared.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// What was undone cannot be written down.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The kernel has no random numbers.
    #[error("no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}

/// With what to do.
impl From<UndoError> for Failure {
    fn from(error: UndoError) -> Self {
        Self::new(format!("not everything was undone: {error}")).hint(error.hint())
    }
}

impl UndoError {
    /// What to do next.
    pub fn hint(&self) -> String {
        const AGAIN: &str = "then `narrows lab --undo` again";
        let hint = match self {
            Self::Missing { .. } => "connect it again, then `narrows lab --undo`",
            Self::Twins { .. } => "disconnect those that the lab was not given, then `narrows lab --undo`",
            Self::Foreign(_) => "stop it yourself if it is not needed, then `narrows lab --undo`",
            Self::Scratch(error) => match error.hints.first() {
                Some(hint) => return format!("{hint}; {AGAIN}"),
                None => AGAIN,
            },
            Self::Others(..) => {
                "look at what came there and keep what is yours; `narrows lab --undo` then clears what bears the lab's mark, and \
                 names the rest"
            }
            Self::Left(_) => {
                "keep what is yours, and remove the journal then; if nothing of it is needed, `blkdiscard -z` of the device makes all \
                 of it zero; then `narrows lab --undo` again"
            }
            Self::Tool(error) => error.hints.first().map_or(AGAIN, String::as_str),
            Self::Load(_) | Self::Write(_) | Self::Random(_) | Self::Journal(_) => {
                return format!("what speaks against it has to be gone first; {AGAIN}");
            }
        };
        hint.to_owned()
    }

    /// Whether it may succeed when it is tried again.
    fn may_pass(&self) -> bool {
        match self {
            Self::Tool(_) | Self::Load(_) | Self::Write(WriteError::Open(_)) => true,
            Self::Write(WriteError::Refused(refusal)) => !refusal.stays(),
            _ => false,
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

/// What is to be undone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    /// The lab.
    pub(super) head: &'a Head,
    /// The steps that may have been taken.
    pub(super) steps: &'a [Step],
    /// The slices to which something may have been written.
    pub(super) records: &'a [SliceRecord],
    /// Whether more may have been done than is known.
    pub(super) is_damaged: bool,
    /// Whether the lab is over: then what bears its mark is cleared where others wrote, too.
    pub(super) is_later: bool,
}

impl<'a> Scope<'a> {
    /// That of a lab that still runs, and knows all that it did.
    pub(super) const fn of_running(head: &'a Head, steps: &'a [Step], records: &'a [SliceRecord]) -> Self {
        Self { head, steps, records, is_damaged: false, is_later: false }
    }
}

/// Undoes for one lab.
pub(super) struct Undoer<'a> {
    pub(super) root: &'a Root,
    pub(super) scope: Scope<'a>,
    tools: &'a mut Tools,
    pub(super) slices: &'a mut Slices,
    /// No tool that undoes needs a key; what it would get is random.
    key: Key,
    pub(super) is_same_boot: bool,
    done: Undone,
    pub(super) left: Vec<String>,
}

impl<'a> Undoer<'a> {
    /// Undoes what the lab of `scope` built in `slices`.
    ///
    /// # Errors
    /// The kernel has no random numbers.
    pub(super) fn new(
        root: &'a Root,
        scope: Scope<'a>,
        tools: &'a mut Tools,
        slices: &'a mut Slices,
    ) -> Result<Self, getrandom::Error> {
        let is_same_boot = sight::boot(root) == scope.head.boot;
        let (key, done) = (Key::random()?, Undone::default());
        Ok(Self { root, scope, tools, slices, key, is_same_boot, done, left: Vec::new() })
    }

    /// Takes away all that stands in the slices and clears them.
    ///
    /// # Errors
    /// [`UndoError`]; then something is left, and it can be tried again.
    pub(super) fn devices(&mut self) -> Result<(), UndoError> {
        let today = present(self.root, self.scope.head)?;
        let names =
            self.scope.head.names(today.iter().map(|name| name.clone().unwrap_or_default()).collect());
        let names = sight::on_slices(self.root, names);
        // Before anything is taken down.
        if let Some(what) = sight::foreign(self.root, &names) {
            return Err(UndoError::Foreign(what));
        }
        self.unmount(&names)?;
        let begin = Instant::now();
        loop {
            self.left.clear();
            let tried = self.once(&names, &today);
            match tried {
                Err(error) if error.may_pass() && begin.elapsed() < PATIENCE => thread::sleep(TICK),
                Ok(()) if !self.scope.is_later && !self.left.is_empty() => {
                    return Err(UndoError::Left(std::mem::take(&mut self.left)));
                }
                other => return other,
            }
        }
    }

    fn once(&mut self, names: &Names, today: &[Option<String>]) -> Result<(), UndoError> {
        self.take_down(names)?;
        if !self.scope.is_later {
            self.refuse_others()?;
        }
        let mark = mark(names);
        for record in self.scope.records {
            let device = self.scope.head.devices.get(record.index);
            let name = today.get(record.index).cloned().flatten();
            let (Some(device), Some(name)) = (device, name) else { continue };
            let restored = if self.slices.of(record.index).is_some() {
                self.clear_held(record, &mark)?
            } else {
                self.clear_gone(device, &name, record.extent, &mark)?
            };
            self.done.cleared = self.done.cleared + restored.cleared;
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
        let is_announced = self.scope.steps.iter().any(|step| matches!(step, Step::Array { .. }));
        if is_announced && self.is_same_boot && sight::has_empty_array(self.root, names) {
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
                let pool = names.pool();
                return Err(UndoError::Foreign(format!("the pool {pool}, which is on other devices, too,")));
            }
            self.call(&destroy_pool(names))?;
        }
        if self.root.exists(&names.pool_directory()) {
            remove_pool_nodes(names).iter().try_for_each(|call| self.call(call))?;
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
        match self.call(&remove_directory(&directory)) {
            // Where there is udev, it may have been first.
            Err(_) if !self.root.exists(&directory) => Ok(()),
            removed => removed,
        }
    }

    fn unmount(&mut self, names: &Names) -> Result<(), UndoError> {
        // A pool whose devices fail waits for them for ever.
        let is_shut = sight::is_mounted(self.root, names)
            && !sight::has_pool(self.root, names)
            && self.may_hold_others();
        if is_shut {
            self.slices.shut();
        }
        let begin = Instant::now();
        while sight::is_mounted(self.root, names) {
            match self.call(&unmount(names)) {
                Err(_) if begin.elapsed() < PATIENCE => thread::sleep(TICK),
                other => other?,
            }
        }
        if is_shut {
            self.slices.reopen()?;
        }
        let point = names.mount_point();
        if self.root.exists(&point) { self.call(&remove_directory(&point)) } else { Ok(()) }
    }

    /// Whether data of others may stand in a slice, over which a file system would write what it still keeps when it is
    /// unmounted.
    fn may_hold_others(&mut self) -> bool {
        let records = self.scope.records;
        records.iter().any(|record| {
            let Some(held) = self.slices.of(record.index) else { return false };
            let place = held.place.clone();
            held.slice.sync_disk().is_err() || self.settled(record, &place).is_err()
        })
    }

    /// Takes away slices, loop devices, scratch files and their directory. Where something is left, only the slices.
    ///
    /// # Errors
    /// [`UndoError`]; then something is left, and it can be tried again.
    pub(super) fn ground(&mut self) -> Result<(), UndoError> {
        let names = self.scope.head.names(Vec::new());
        for step in self.scope.steps.iter().rev() {
            match *step {
                Step::Slice { index, extent } => self.remove_slice(index, extent)?,
                _ if !self.left.is_empty() => {}
                Step::Loop { index } => self.detach(&names, index)?,
                Step::File { .. } | Step::Directory
                    if scratch::remove(*step, &names).map_err(UndoError::Scratch)? =>
                {
                    self.done.calls.extend(step.undo(&names).iter().map(Call::to_string));
                }
                _ => {}
            }
        }
        if self.left.is_empty() { Ok(()) } else { Err(UndoError::Left(std::mem::take(&mut self.left))) }
    }

    /// Removes a slice, and the partition of the rest. Whoever looks at new devices may have them open for a moment.
    fn remove_slice(&mut self, index: usize, extent: Extent) -> Result<(), UndoError> {
        let Some(device) = self.scope.head.devices.get(index) else { return Ok(()) };
        let today = present(self.root, self.scope.head)?;
        let Some(disk) = today.get(index).cloned().flatten() else { return Ok(()) };
        drop(self.slices.take(index));
        let names = self.scope.head.names(Vec::new());
        let begin = Instant::now();
        loop {
            let place = SlicePlace::find(self.root, &disk, &names, index);
            if !self.is_slice(index, &place, extent) {
                return Ok(());
            }
            let removed = match place.rest {
                Some(_) => {
                    let plan = place.plan(extent, device.bytes, names.key());
                    guard::remove_slice(&plan).map_err(UndoError::Load)
                }
                None => self.call(&remove_mapping(&names.slice_mapping(index))),
            };
            match removed {
                Err(error) if begin.elapsed() >= PATIENCE => return Err(error),
                Err(_) => thread::sleep(TICK),
                Ok(()) => {}
            }
        }
    }

    /// Whether what is where a slice was to be is that slice.
    fn is_slice(&self, index: usize, place: &SlicePlace, extent: Extent) -> bool {
        if !self.is_same_boot || place.extent(self.root) != Some(extent) {
            return false;
        }
        let Some(known) = sight::known(self.root, &place.slice) else { return false };
        match self.scope.records.iter().find(|record| record.index == index) {
            Some(record) => record.made.slice.is(&known),
            // The lab was ended before it wrote down what it had made, and so before anything was written through it.
            None => !self.scope.is_later || known.counters == Counters::default(),
        }
    }

    fn detach(&mut self, names: &Names, index: usize) -> Result<(), UndoError> {
        let Some(file) = names.scratch_file(index) else { return Ok(()) };
        let begin = Instant::now();
        // It is detached when the last who has it open closes it.
        while let Some(name) = self.loop_over(&file.display().to_string(), index) {
            if sight::has_partitions(self.root, &name) {
                // They would be there for the next file. One that somebody has open stays, and says so to whoever meets it.
                let _ = self.call(&forget_partitions(&node(&name)));
            }
            match self.call(&detach(&node(&name))) {
                Err(error) if begin.elapsed() >= PATIENCE => return Err(error),
                _ => self.wait_for_detached(&name),
            }
        }
        Ok(())
    }

    /// The loop device over a scratch file, told by the file's path, or by its medium where the path reads otherwise now.
    fn loop_over(&self, file: &str, index: usize) -> Option<String> {
        sight::loop_over(self.root, file).or_else(|| {
            let today = sight::find_devices(self.root, self.scope.head).into_iter().nth(index);
            let is_attached = |name: &String| self.root.exists(&format!("/sys/block/{name}/loop"));
            today.and_then(Today::name).filter(is_attached)
        })
    }

    /// The kernel forgets the file of a loop device before it is done with it. Somebody else may take it right then, so this
    /// waits for a moment only.
    fn wait_for_detached(&self, name: &str) {
        let begin = Instant::now();
        while self.root.exists(&format!("/sys/block/{name}/loop")) && begin.elapsed() < 20 * TICK {
            thread::sleep(TICK);
        }
    }

    fn call(&mut self, call: &Call) -> Result<(), UndoError> {
        self.tools.run(self.root, call, &self.key)?;
        self.done.calls.push(call.to_string());
        Ok(())
    }
}

/// The named devices with their names of today. Memory that did not outlive a restart needs nothing.
fn present(root: &Root, head: &Head) -> Result<Vec<Option<String>>, UndoError> {
    let is_same_boot = sight::boot(root) == head.boot;
    let mut found = Vec::new();
    for (device, today) in head.devices.iter().zip(sight::find_devices(root, head)) {
        let (name, identity) = (device.name.clone(), device.identity.clone());
        match today {
            Today::There(name) => found.push(Some(name)),
            Today::Absent if (device.volatile && !is_same_boot) || head.scratch.is_some() => found.push(None),
            Today::Absent => return Err(UndoError::Missing { name, identity }),
            Today::Twins(twins) => return Err(UndoError::Twins { name, identity, found: twins }),
        }
    }
    Ok(found)
}

/// How this lab marks its headers.
fn mark(names: &Names) -> Mark {
    let (id, pool) = (names.id, names.pool());
    let volume = id.volume(0).get(..30).unwrap_or_default().to_owned();
    Mark { uuid: id.bytes(), text: id.uuid(), volume, pool, key: names.key() }
}

/// Undoes everything that a journal says: what stands in the slices, and then the ground.
///
/// # Errors
/// [`UndoError`]; then something is left, and it can be tried again.
pub fn undo(root: &Root, journal: &Journal, tools: &mut Tools) -> Result<Undone, UndoError> {
    let head = &journal.head;
    let is_same_boot = sight::boot(root) == head.boot;
    let mut slices = Slices::again(root, &present(root, head)?, &journal.slices, head, is_same_boot);
    let steps = [&journal.ground[..], &journal.steps[..]].concat();
    let is_damaged = journal.damaged > 0;
    let scope = Scope { head, steps: &steps, records: &journal.slices, is_damaged, is_later: true };
    let mut undoer = Undoer::new(root, scope, tools, &mut slices)?;
    // A lab that had nothing on its slices when it was killed has them still: what others wrote to the devices is named.
    if !journal.steps.is_empty() || is_damaged || (is_same_boot && !journal.slices.is_empty()) {
        undoer.devices()?;
    }
    undoer.ground()?;
    Ok(undoer.done)
}
