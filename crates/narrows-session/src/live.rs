//! What moves on a machine now, look by look, without a load of our own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use narrows_machine::Machine;
use narrows_machine::activity::{Activity, LinkState, Mover, Movers, Sample, asleep};
use narrows_machine::pci::PciAddress;
use narrows_machine::root::Root;
use narrows_model::path::{Target, build};
use narrows_verdict::live::{Lanes, Picture};

/// Links are asked this often: it is an access to their configuration space.
const LINKS_EVERY: Duration = Duration::from_secs(5);
/// Processes are looked at this often at most.
const MOVERS_EVERY: Duration = Duration::from_secs(2);
/// Looking at processes may take one part in so many of the time: with thousands of them it is done less often.
const MOVERS_SHARE: u32 = 1000;
/// So many processes are told.
const MOST_MOVERS: usize = 8;
/// A machine whose devices change is read anew this often at most.
const REREAD_EVERY: Duration = Duration::from_secs(5);

/// Follows the counters of a machine.
pub struct Follow<'a> {
    root: &'a Root,
    target: Option<Target>,
    machine: Machine,
    lanes: Lanes,
    last: Sample,
    read_at: Instant,
    shown: Look,
    links_asked: Option<Instant>,
    movers_due: Option<Instant>,
    movers: Movers,
    found: Vec<Mover>,
}

/// What one look shows.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// What crosses each lane.
    pub picture: Picture,
    /// The state of links, by the function below each.
    pub links: BTreeMap<PciAddress, LinkState>,
    /// Functions that sleep, whose links are not asked.
    pub asleep: BTreeSet<PciAddress>,
    /// Processes whose counters this user may not see.
    pub hidden: usize,
}

impl<'a> Follow<'a> {
    /// Follows the path to a target, or all. `machine` was read through `root`, which is to let devices sleep
    /// ([`Root::letting_sleep`]); `None` where no storage path leads to the target.
    pub fn begin(root: &'a Root, machine: Machine, target: Option<Target>) -> Option<Self> {
        let lanes = lanes(&machine, target.as_ref())?;
        Some(Self {
            movers: Movers::read(root),
            last: Sample::of_traffic(root),
            read_at: Instant::now(),
            root,
            target,
            machine,
            lanes,
            shown: Look::default(),
            links_asked: None,
            movers_due: None,
            found: Vec::new(),
        })
    }

    /// The lanes that are followed. They change when devices come or go.
    pub const fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    /// What happened since the last look.
    pub fn look(&mut self) -> Look {
        let mut sample = Sample::of_traffic(self.root);
        self.reread(&sample);
        sample.resyncs(self.root);
        self.ask_links();
        sample.links.clone_from(&self.shown.links);
        let activity = Activity::between(&self.last, &sample);
        self.last = sample;
        self.lanes.settle(&activity);
        self.ask_movers();
        self.shown.picture = self.lanes.now(&activity, &self.found);
        self.shown.hidden = self.movers.hidden;
        self.shown.clone()
    }

    /// Reads the machine anew where other devices are there than at the last look.
    fn reread(&mut self, sample: &Sample) {
        let is_same = sample.disks.keys().eq(self.last.disks.keys());
        if is_same || self.read_at.elapsed() < REREAD_EVERY {
            return;
        }
        self.read_at = Instant::now();
        let machine = Machine::read(self.root);
        // A target that is gone is shown as gone by its lanes, as they were.
        if let Some(lanes) = lanes(&machine, self.target.as_ref()) {
            (self.machine, self.lanes) = (machine, lanes);
            self.links_asked = None;
        }
    }

    fn ask_links(&mut self) {
        if self.links_asked.is_some_and(|asked| asked.elapsed() < LINKS_EVERY) {
            return;
        }
        let all: Vec<PciAddress> = self.lanes.links().collect();
        self.shown.asleep = asleep(self.root, all.iter());
        self.shown.links = Sample::links_of(self.root, all.iter());
        self.links_asked = Some(Instant::now());
    }

    fn ask_movers(&mut self) {
        let began = Instant::now();
        if self.movers_due.is_some_and(|due| began < due) {
            return;
        }
        let now = Movers::read(self.root);
        self.found = now.since(&self.movers, (self.root, &self.machine), MOST_MOVERS);
        self.movers = now;
        self.movers_due = Some(began + MOVERS_EVERY.max(began.elapsed() * MOVERS_SHARE));
    }
}

fn lanes(machine: &Machine, target: Option<&Target>) -> Option<Lanes> {
    let asked = target.map(|target| build::path(machine, target));
    // A target to which no path leads has no lanes.
    let asked = if let Some(path) = asked { Some(path?) } else { None };
    Some(Lanes::of(machine, &build::all(machine), asked.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_machine::tree::Tree;

    /// Two drives, of which one is read.
    fn tree(read_sectors: u64) -> Tree {
        let mut tree = Tree::new();
        for (name, number) in [("vda", "254:0"), ("vdb", "254:16")] {
            tree.file(&format!("/sys/class/block/{name}/dev"), number)
                .file(&format!("/sys/class/block/{name}/size"), "2097152")
                .file(&format!("/sys/class/block/{name}/queue/rotational"), "0");
        }
        tree.file(
            "/proc/diskstats",
            &format!(" 254 0 vda 10 0 {read_sectors} 40 0 0 0 0 0 0 0\n 254 16 vdb 0 0 0 0 0 0 0 0 0 0 0\n"),
        );
        tree
    }

    #[test]
    fn a_machine_is_followed_by_its_counters() {
        let root = Root::from_tree(tree(8)).letting_sleep();
        let mut follow = Follow::begin(&root, Machine::read(&root), None).expect("has paths");
        let names: Vec<&str> = follow.lanes().all().iter().map(|lane| lane.id.as_str()).collect();
        assert_eq!(names, ["device:vda", "device:vdb"]);
        let look = follow.look();
        assert_eq!(look.picture.lanes.len(), 2);
        assert_eq!(look.picture.sentence, "Nothing moves.");
    }

    #[test]
    fn a_target_that_no_path_leads_to_is_not_followed() {
        let root = Root::from_tree(tree(8));
        let target = Some(Target::Block("sdz".to_owned()));
        assert!(Follow::begin(&root, Machine::read(&root), target).is_none());
        let target = Some(Target::Block("vdb".to_owned()));
        let follow = Follow::begin(&root, Machine::read(&root), target).expect("is a path");
        assert_eq!(follow.lanes().all().len(), 1);
    }
}
