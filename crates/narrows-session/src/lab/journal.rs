//! What a lab writes down before it does anything, so that what it did can be undone whatever ends it.
//!
//! The file is only ever appended to. A line is JSON, and on stable storage before what it announces happens
//! ([`JournalFile`](super::JournalFile) sees to that, and to the seal of each line). A last line without its end announces
//! nothing, and a line that makes no sense widens nothing: what may be cleared is decided by what the devices show.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::names::{LabId, Names, partition};
use super::outcome::{Basis, CopySource, Outcome};
use super::recipe::Cell;
use super::slice::{PARTITION, SliceRecord};
use super::step::Step;
use narrows_load::guard::RunSecret;
use narrows_machine::block::is_numbered;

/// What the first line says of the format.
const FORMAT: &str = "narrows-lab/2";

/// How a device is found again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedDevice {
    /// The kernel name that it had.
    pub name: String,
    /// Major and minor number that it had.
    pub number: (u32, u32),
    /// Its size in bytes.
    pub bytes: u64,
    /// What tells it from all others: the serial number, or what stands for it.
    pub identity: String,
    /// Whether it is memory, so that nothing is left of it after a restart.
    pub volatile: bool,
    /// The number that the kernel gave the medium (`diskseq`), which no other has until the machine is started again.
    pub sequence: Option<u64>,
    /// Its worldwide name, where it has one beside a serial number.
    pub world_wide_name: Option<String>,
}

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub format: String,
    pub id: LabId,
    /// What nobody knows who cannot read this file: its marks are made of it.
    pub secret: RunSecret,
    /// The start of the machine on which it ran (`/proc/sys/kernel/random/boot_id`).
    pub boot: String,
    /// The kernel name that an array gets.
    pub array: String,
    /// The directory of scratch files, if that is what the devices are.
    pub scratch: Option<PathBuf>,
    /// The named devices; with scratch files none, until their loop devices are there.
    pub devices: Vec<NamedDevice>,
    /// What was typed, for `--resume`.
    pub typed: Vec<String>,
    /// What is copied to each file system, if anything is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<CopySource>,
}

impl Head {
    /// The head of a lab that begins.
    pub fn new(id: LabId, secret: RunSecret, boot: String, array: String) -> Self {
        let (format, devices, typed) = (FORMAT.to_owned(), Vec::new(), Vec::new());
        Self { format, id, secret, boot, array, scratch: None, devices, typed, copy: None }
    }

    /// The names of all that this lab may build, with the devices under these kernel names.
    pub fn names(&self, disks: Vec<String>) -> Names {
        let devices = disks.iter().map(|disk| partition(disk, PARTITION)).collect();
        let (array, scratch) = (self.array.clone(), self.scratch.clone());
        Names { id: self.id, secret: self.secret, disks, devices, array, scratch, zvol: None }
    }
}

/// One line after the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The loop devices over the scratch files.
    Devices(Vec<NamedDevice>),
    /// A step is about to be taken.
    Step(Step),
    /// The lab goes on after the machine was started again, or not.
    Boot(String),
    /// The slices are there, nothing but zeros in them; nothing was written to them before this line.
    Slices(Vec<SliceRecord>),
    /// The basis is known.
    Basis(Box<Basis>),
    /// A cell is about to be built.
    Cell(Cell),
    /// What came of a cell.
    Outcome(Box<Outcome>),
    /// What is behind a device changed, or others wrote to it: not all in the slices is the lab's.
    Behind,
    /// All steps but those of the ground are undone, and the devices are proven to be as they were.
    Clean,
    /// The ground is gone, too.
    Gone,
}

/// All that a journal says.
#[derive(Debug, Clone, PartialEq)]
pub struct Journal {
    /// The first line, with the devices as they are known last.
    pub head: Head,
    /// Steps that make the ground: directory, files, loop devices and slices.
    pub ground: Vec<Step>,
    /// The slices that were made, while they are part of the ground.
    pub slices: Vec<SliceRecord>,
    /// Steps since the devices were last proven to be as they were.
    pub steps: Vec<Step>,
    /// The basis, if it was measured.
    pub basis: Option<Basis>,
    /// What came of cells.
    pub outcomes: Vec<Outcome>,
    /// Lines that make no sense, those that say that others wrote behind a device, and whatever follows the last line with a whole seal. What they announced is not known.
    pub damaged: usize,
}

/// Why a text is no journal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoJournal {
    /// It has not even a first line: the lab was ended before it did anything.
    #[error("it has no first line")]
    Empty,
    /// It is something else, or of another version.
    #[error("it is no journal of `narrows lab`")]
    Other,
}

/// How the first line begins, as far as it tells a journal from any other text.
const BEGINNING: &[u8] = b"{\"format\":\"narrows-lab/";

/// What a text without a whole line is: a first line that was cut short, or something else.
fn without_line(text: &[u8]) -> NoJournal {
    let has_begun = BEGINNING.starts_with(text) || text.starts_with(BEGINNING);
    if has_begun { NoJournal::Empty } else { NoJournal::Other }
}

impl Journal {
    /// Understands a journal. Lines in between that make no sense are counted, and everything that might have been
    /// announced there has to be looked for.
    ///
    /// # Errors
    /// [`NoJournal`] when the first line is missing or another's.
    pub fn parse(text: &[u8]) -> Result<Self, NoJournal> {
        let mut lines =
            text.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"));
        let first = lines.next().ok_or_else(|| without_line(text))?;
        let head: Head = serde_json::from_slice(first).map_err(|_| NoJournal::Other)?;
        if head.format != FORMAT || !is_numbered(&head.array, "md") || !head.devices.iter().all(is_sane) {
            return Err(NoJournal::Other);
        }
        let (ground, slices, steps, outcomes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut journal = Self { head, ground, slices, steps, basis: None, outcomes, damaged: 0 };
        for line in lines {
            match serde_json::from_slice(line) {
                Ok(line) => journal.take(line),
                Err(_) => journal.damaged += 1,
            }
        }
        Ok(journal)
    }

    /// Gives results the names that devices have now, from pairs of the former and the present one.
    pub fn rename(&mut self, pairs: &[(String, String)]) {
        let rename = |name: &mut String| {
            if let Some((_, now)) = pairs.iter().find(|(before, _)| before == name) {
                now.clone_into(name);
            }
        };
        self.basis.iter_mut().flat_map(|basis| &mut basis.devices).for_each(rename);
        let written = self.outcomes.iter_mut().flat_map(|outcome| &mut outcome.written);
        written.for_each(|written| rename(&mut written.device));
    }

    /// What a text is that has not even a first line with its seal, or a first line of something else; `None` where it may be a
    /// journal.
    pub(super) fn without_head(text: &[u8]) -> Option<NoJournal> {
        let mut lines = text.split_inclusive(|byte| *byte == b'\n');
        let is_whole = |line: Option<&[u8]>| line.is_some_and(|line| line.ends_with(b"\n"));
        match is_whole(lines.next()) && is_whole(lines.next()) {
            true => (!text.starts_with(BEGINNING)).then_some(NoJournal::Other),
            false => Some(without_line(text)),
        }
    }

    /// Whether bytes begin as a journal does, whatever follows.
    pub(super) fn has_begun(text: &[u8]) -> bool {
        text.starts_with(BEGINNING)
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Devices(devices) if devices.iter().all(is_sane) => self.head.devices = devices,
            Line::Devices(_) => self.damaged += 1,
            Line::Step(step) if step.is_ground() => self.ground.push(step),
            Line::Step(step) => self.steps.push(step),
            Line::Boot(boot) => self.head.boot = boot,
            Line::Slices(slices) => self.slices = slices,
            Line::Basis(basis) => self.basis = Some(*basis),
            Line::Cell(_) => {}
            Line::Outcome(outcome) => self.outcomes.push(*outcome),
            Line::Behind => self.damaged += 1,
            Line::Clean => self.steps.clear(),
            Line::Gone => {
                self.ground.clear();
                self.slices.clear();
            }
        }
    }

    /// Whether something may be left that has to be undone.
    pub fn has_left(&self) -> bool {
        !self.steps.is_empty() || !self.ground.is_empty() || self.damaged > 0
    }
}

/// Whether the kernel name is one: it ends up in paths.
fn is_sane(device: &NamedDevice) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_!-.".contains(c);
    !device.name.is_empty() && device.name != ".." && device.name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::super::recipe::{Encryption, FileSystem, Layout};
    use super::super::slice::Extent;
    use super::super::step::Level;
    use super::*;
    use crate::testing::moment;
    use proptest::prelude::*;

    const CELL: Cell =
        Cell { layout: Layout::Raid0, encryption: Encryption::Plain, file_system: FileSystem::None };

    fn head() -> Head {
        let mut head =
            Head::new(LabId::new([7; 16]), RunSecret::new([2; 32]), "boot".to_owned(), "md127".to_owned());
        head.devices.push(NamedDevice {
            name: "sdb".to_owned(),
            number: (8, 16),
            bytes: 1 << 30,
            identity: "SERIAL\n1".to_owned(),
            volatile: false,
            sequence: Some(3),
            world_wide_name: None,
        });
        head
    }

    fn line<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string(value)? + "\n")
    }

    fn text(lines: &[Line]) -> String {
        let rest: String = lines.iter().map(|one| line(one).unwrap()).collect();
        line(&head()).unwrap() + &rest
    }

    #[test]
    fn what_is_undone_is_forgotten_and_the_ground_stays() {
        let (array, ground) = (Step::Array { level: Level::Raid0 }, Step::Directory);
        let lines = [Line::Step(ground), Line::Cell(CELL), Line::Step(array)];
        let journal = Journal::parse(text(&lines).as_bytes()).unwrap();
        assert_eq!((journal.ground.clone(), journal.steps.clone()), (vec![ground], vec![array]));
        assert_eq!(journal.head, head());
        let lines = [lines.to_vec(), vec![Line::Clean]].concat();
        let journal = Journal::parse(text(&lines).as_bytes()).unwrap();
        assert!(journal.steps.is_empty() && journal.has_left());
        let journal = Journal::parse(text(&[lines, vec![Line::Gone]].concat()).as_bytes()).unwrap();
        assert!(!journal.has_left());
    }

    #[test]
    fn a_line_that_was_cut_short_announces_nothing() {
        let whole = text(&[Line::Step(Step::Group)]);
        let first = line(&head()).unwrap().len();
        for cut in first..whole.len() {
            assert!(!Journal::parse(&whole.as_bytes()[..cut]).unwrap().has_left(), "{cut}");
        }
        for cut in 0..first {
            assert_eq!(Journal::parse(&whole.as_bytes()[..cut]), Err(NoJournal::Empty));
        }
        assert_eq!(Journal::parse(whole.as_bytes()).unwrap().steps, [Step::Group]);
    }

    #[test]
    fn a_damaged_line_means_that_something_may_be_left() {
        let damaged = text(&[Line::Clean]) + "{\"step\":\n" + &line(&Line::Clean).unwrap();
        let journal = Journal::parse(damaged.as_bytes()).unwrap();
        assert_eq!(journal.damaged, 1);
        assert!(journal.has_left() && journal.steps.is_empty());
    }

    #[test]
    fn names_that_lead_elsewhere_are_no_names() {
        for name in ["../etc", "", "sd b", "..", "sdb;reboot"] {
            let mut head = head();
            head.devices[0].name = name.to_owned();
            assert_eq!(Journal::parse(line(&head).unwrap().as_bytes()), Err(NoJournal::Other), "{name}");
        }
        for array in ["md", "md/../sda", "sda", "--stop"] {
            let head = Head { array: array.to_owned(), ..head() };
            assert_eq!(Journal::parse(line(&head).unwrap().as_bytes()), Err(NoJournal::Other), "{array}");
        }
        let other = Head { format: "narrows-lab/1".to_owned(), ..head() };
        assert_eq!(Journal::parse(line(&other).unwrap().as_bytes()), Err(NoJournal::Other));
    }

    #[test]
    fn drives_that_swapped_their_names_keep_their_results() {
        let basis = Basis { devices: vec!["sdb".to_owned(), "sdc".to_owned()], ..Basis::default() };
        let mut journal = Journal::parse(text(&[Line::Basis(Box::new(basis))]).as_bytes()).unwrap();
        let pair = |before: &str, now: &str| (before.to_owned(), now.to_owned());
        journal.rename(&[pair("sdb", "sdc"), pair("sdc", "sdb")]);
        assert_eq!(journal.basis.map(|basis| basis.devices), Some(vec!["sdc".to_owned(), "sdb".to_owned()]));
    }

    #[test]
    fn slices_are_part_of_the_ground() {
        let (extent, made) = (Extent { start: 1 << 20, bytes: 1 << 20 }, moment(5, 0));
        let record = SliceRecord { index: 0, extent, made };
        let lines = vec![Line::Step(Step::Slice { index: 0, extent }), Line::Slices(vec![record])];
        let journal = Journal::parse(text(&lines).as_bytes()).unwrap();
        assert_eq!((journal.ground.len(), journal.slices), (1, vec![record]));
        let journal =
            Journal::parse(text(&[lines, vec![Line::Clean, Line::Gone]].concat()).as_bytes()).unwrap();
        assert!(journal.slices.is_empty() && !journal.has_left());
    }

    proptest! {
        #[test]
        fn no_text_panics(bytes: Vec<u8>, tail in "(\\{\"(step|cell|devices)\":[a-z0-9_{}\":,]{0,60}\\}\n){0,6}") {
            let _ = Journal::parse(&bytes);
            let mut long = line(&head()).unwrap().into_bytes();
            long.extend(tail.as_bytes());
            long.extend(bytes);
            let journal = Journal::parse(&long).unwrap();
            prop_assert!(journal.head.devices.iter().all(is_sane));
        }
    }
}
