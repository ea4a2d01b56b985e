//! A machine, and the results beside it, out of what was gathered.

use super::seen::Seen;
use narrows_machine::block::{BlockKind, DmKind};
use narrows_machine::root::Root;
use narrows_machine::tree::Tree;
use narrows_machine::{Machine, cipher, health, pci};
use narrows_paste::capture::{Gathered, Part, Rank};

/// The machine that was asked about.
pub struct Facts {
    /// Where it was read: the live machine, the tree of a record, or an empty tree for a machine of texts alone.
    pub root: Root,
    /// What was read.
    pub machine: Machine,
    /// The results of benchmarks that stand in the texts.
    pub seen: Seen,
    /// What its owner should know of the reading, beside the report.
    pub notes: Vec<String>,
    /// Whether something told of a machine, which may be this one.
    pub has_machine: bool,
}

impl Facts {
    /// A machine that answers itself, live or recorded.
    pub fn of_root(root: Root) -> Self {
        Self { machine: read(&root), root, notes: Vec::new(), seen: Seen::default(), has_machine: true }
    }

    /// What was gathered of texts and records, which `seen` saw, too.
    pub fn of(mut gathered: Gathered, mut seen: Seen) -> Self {
        gathered.merger.measured(seen.targets());
        // Logs without a result beside them become results only when all was seen.
        seen.complete();
        Self { seen, ..put_together(gathered) }
    }

    /// Whether neither a machine nor a result was recognised.
    pub const fn has_nothing(&self) -> bool {
        !self.has_machine && self.seen.results.is_empty()
    }

    /// What was left out of files in which nothing was recognised, or could not be read.
    pub fn limits(&self) -> impl Iterator<Item = String> {
        let notes = self.notes.iter().filter(|note| !note.starts_with(UNRECOGNISED)).cloned();
        notes.chain(self.seen.unread.iter().cloned())
    }
}

/// The machine of a single record is what it answers; anything more is merged.
fn put_together(gathered: Gathered) -> Facts {
    let notes = notes(&gathered);
    let Gathered { mut trees, mut merger, .. } = gathered;
    let has_machine = !trees.is_empty() || !merger.is_empty();
    if trees.len() == 1
        && merger.is_empty()
        && let Some((_, tree)) = trees.pop()
    {
        let root = Root::from_tree(tree);
        return Facts { notes, ..Facts::of_root(root) };
    }
    let mut first = None;
    for (name, tree) in trees {
        let root = Root::from_tree(tree);
        let name = if name.is_empty() { "sys, proc".to_owned() } else { name };
        let part = Part {
            kind: Some("files of /sys and /proc"),
            rank: Rank::Raw,
            machine: read(&root),
            gaps: Vec::new(),
        };
        merger.add(&name, part);
        first.get_or_insert(root);
    }
    let root = first.unwrap_or_else(|| Root::from_tree(Tree::new()));
    Facts { root, machine: merger.finish(), notes, seen: Seen::default(), has_machine }
}

/// How the note on texts in which nothing was recognised begins.
const UNRECOGNISED: &str = "nothing was recognised in";

/// What was left out or not recognised, in a few lines.
fn notes(gathered: &Gathered) -> Vec<String> {
    const MOST: usize = 5;
    let mut notes: Vec<String> = gathered.notes.iter().take(MOST).cloned().collect();
    if let Some(more @ 1..) = gathered.notes.len().checked_sub(MOST) {
        notes.push(format!("{more} more things could not be read"));
    }
    let names: Vec<String> = gathered.unrecognised.iter().take(3).map(|name| format!("`{name}`")).collect();
    let more = match gathered.unrecognised_count.saturating_sub(names.len()) {
        0 => String::new(),
        more => format!(" and {more} more files"),
    };
    if !names.is_empty() {
        notes.push(format!("{UNRECOGNISED} {}{more}", names.join(", ")));
    }
    notes
}

/// Reads the whole machine, with the cipher rate of each encrypted mapping and the health of NVMe drives.
pub fn read(root: &Root) -> Machine {
    let mut machine = Machine::read(root);
    pci::read_acs(root, &mut machine.pci);
    for (name, device) in &machine.block {
        let BlockKind::Dm(dm) = &device.kind else { continue };
        let targets = dm.table.value().map_or(&[][..], Vec::as_slice);
        let table = targets.iter().find_map(|target| match &target.kind {
            DmKind::Crypt(table) => Some(table),
            _ => None,
        });
        if let Some(table) = table {
            machine.ciphers.insert(name.clone(), cipher::read(root, table));
        }
    }
    // Last: a link may wake up for it, and it was to be seen as it was.
    machine.health = health::read(root, health::nvme_drives(&machine));
    machine
}
