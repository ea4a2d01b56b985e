//! Several targets of one machine: which are measured, with what load, and what that takes.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::measure::Timing;
use crate::scene;
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_load::measurement::Pattern;
use narrows_load::preset::LoadSpec;
use narrows_machine::Machine;
use narrows_machine::block::BlockKind;
use narrows_machine::root::Root;
use narrows_machine::unfit::{self, Unfit};
use narrows_model::ceiling::{Basis, Direction};
use narrows_model::path::choice::Choice;
use narrows_model::path::{Path, Target, build};
use narrows_verdict::Subject;

/// What is read at once, and how many such reads are in flight: 8 MiB, in blocks of which a drive of 2 MB/s reads enough in three
/// seconds for its rate to be known.
pub const LOAD: LoadSpec = LoadSpec::reading(Pattern::Sequential, Bytes::from_kib(256), 32);

/// The targets that are measured, and those that are not with the reason.
#[derive(Debug, Default)]
pub struct Chosen {
    /// Those that are.
    pub subjects: Vec<Subject>,
    /// Those that are not.
    pub left_out: Vec<(String, String)>,
}

impl Chosen {
    /// Whether this target is among those that are measured.
    pub fn has(&self, path: &Path) -> bool {
        self.subjects.iter().any(|other| other.path.asked == path.asked)
    }

    /// Adds a target, or leaves it out for what speaks against reading a drive of it at full rate, which is answered then.
    pub fn add(
        &mut self,
        root: &Root,
        (machine, sleepers): (&Machine, &BTreeMap<String, Unfit>),
        path: Path,
    ) -> Option<&(String, String)> {
        let unfit = scene::drives(&path)
            .into_iter()
            .find_map(|drive| Some((unfit::of_drive(root, (machine, sleepers), &drive)?, drive)));
        let Some((why, drive)) = unfit else {
            self.subjects.push(Subject::of(path));
            return None;
        };
        let is_all = path.target.ends_with(&drive);
        let why = if is_all { why.to_string() } else { format!("{drive}: {why}") };
        self.left_out.push((path.target, why));
        self.left_out.last()
    }
}

/// The drives of a machine of which all choices hold, as somebody would name them; and the others by the reason.
pub fn drives(machine: &Machine, choices: &[Choice]) -> (Vec<String>, BTreeMap<String, Vec<String>>) {
    let (mut chosen, mut others) = (Vec::new(), BTreeMap::<String, Vec<String>>::new());
    for path in build::all(machine) {
        let Some(name) = drive_of(machine, &path) else { continue };
        match choices.iter().find_map(|choice| choice.objection(machine, name)) {
            None => chosen.push(path.target),
            Some(why) => others.entry(why).or_default().push(path.target),
        }
    }
    (chosen, others)
}

/// The kernel name of the drive that a path is of. What is in memory, or a file, is none.
fn drive_of<'p>(machine: &Machine, path: &'p Path) -> Option<&'p str> {
    let Target::Block(name) = &path.asked else { return None };
    let is_drive = |kind: &BlockKind| {
        !matches!(kind, BlockKind::Loop(_) | BlockKind::Zram | BlockKind::RamDisk | BlockKind::NullBlk)
    };
    let is_own = scene::drives(path) == [name.as_str()];
    (is_own && machine.block.get(name).is_some_and(|device| is_drive(&device.kind))).then_some(name)
}

/// How each target is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// How long the idle machine is watched first.
    pub idle: Duration,
    /// How long each run is.
    pub timing: Timing,
}

impl Plan {
    /// A look of seconds; each run for `duration`, if that was asked for.
    pub fn quick(duration: Option<Duration>) -> Self {
        Self::of([300, 500, 3000], duration)
    }

    /// A thorough one.
    pub fn full(duration: Option<Duration>) -> Self {
        Self::of([1000, 2000, 10_000], duration)
    }

    fn of(millis: [u64; 3], duration: Option<Duration>) -> Self {
        let [idle, warm_up, each] = millis.map(Duration::from_millis);
        Self { idle, timing: Timing::exactly(duration.unwrap_or(each), warm_up) }
    }

    /// What is run is said, before the first byte is read: each target alone, groups of them, and the first once more; and what
    /// more may be, to find groups that no topology shows.
    pub fn announcement(&self, subjects: &[Subject], groups: &[Vec<usize>]) -> Vec<String> {
        let (targets, runs) = (subjects.len(), subjects.len() + groups.len() + 1);
        let loaded = self.timing.warm_up + self.timing.longest();
        let whole = self.idle + loaded * u32::try_from(runs).unwrap_or(u32::MAX);
        let most = match most(subjects, groups, loaded) {
            Some(bytes) => format!("at most {} by the ceilings of their paths", human::bytes(bytes)),
            None => {
                "as many bytes as they give in that time: not all have a path of known ceiling".to_owned()
            }
        };
        let mut lines = vec![format!(
            "narrows: only reads {targets} targets, in {runs} runs of {} each, about {} in all; {most}",
            human::time(Nanos::from(loaded)),
            human::time(Nanos::from(whole)),
        )];
        if targets > 2 {
            let each = 3 * (f64::from(u32::try_from(targets).unwrap_or(u32::MAX))).log2().ceil() as usize;
            lines.push(format!(
                "narrows: where they give less together than alone and no known ceiling says why, about {each} more such runs for each group that shares a limit"
            ));
        }
        lines
    }
}

/// What is read in runs of this time at most; `None` where that is not known of all.
fn most(subjects: &[Subject], groups: &[Vec<usize>], each: Duration) -> Option<Bytes> {
    let of = |(at, subject): (usize, &Subject)| {
        let rate = narrowest(subject)?.get();
        let often = 1 + groups.iter().filter(|group| group.contains(&at)).count() + usize::from(at == 0);
        Some(rate * each.as_secs_f64() * often as f64)
    };
    let bytes: Option<f64> = subjects.iter().enumerate().map(of).sum();
    bytes.map(|bytes| Bytes::new(bytes as u64))
}

/// The least that a hop allows the application to read, where that is known and no guess.
fn narrowest(subject: &Subject) -> Option<BytesPerSec> {
    let hops = subject.path.hops.iter().zip(&subject.ceilings);
    let rates = hops.filter_map(|(hop, ceilings)| {
        let limit = ceilings.of(Direction::Read).limit().filter(|limit| limit.basis != Basis::Guess)?;
        (hop.traffic.read > 0.0).then(|| limit.rate / hop.traffic.read)
    });
    rates.filter(|rate| rate.get().is_finite()).min_by(|a, b| a.get().total_cmp(&b.get()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_machine::tree::Tree;
    use narrows_model::ceiling::{Ceilings, Limit};

    /// A disk, a card that can be taken out, and what is in memory.
    fn root() -> Root {
        let mut tree = Tree::new();
        for (name, number, removable) in [("sda", "8:0", "0"), ("sdb", "8:16", "1"), ("ram0", "1:0", "0")] {
            let at = format!("/sys/class/block/{name}");
            tree.file(&format!("{at}/dev"), &format!("{number}\n"))
                .file(&format!("{at}/size"), "2097152\n")
                .file(&format!("{at}/removable"), &format!("{removable}\n"));
        }
        Root::from_tree(tree)
    }

    fn path(machine: &Machine, name: &str) -> Path {
        build::path(machine, &Target::Block(name.to_owned())).expect("is a device")
    }

    #[test]
    fn drives_of_a_machine_are_those_that_keep_data() {
        let machine = Machine::read(&root());
        let (all, others) = drives(&machine, &[]);
        assert_eq!((all, others.len()), (vec!["/dev/sda".to_owned(), "/dev/sdb".to_owned()], 0));
        let (none, others) = drives(&machine, &["nvme".parse().expect("is a kind")]);
        assert_eq!((none.len(), others.values().map(Vec::len).collect::<Vec<_>>()), (0, vec![2]));
    }

    #[test]
    fn what_had_better_not_be_read_is_left_out_with_the_reason() {
        let root = root();
        let machine = Machine::read(&root);
        let (mut chosen, sleepers) = (Chosen::default(), unfit::sleepers(&root));
        assert_eq!(chosen.add(&root, (&machine, &sleepers), path(&machine, "sda")), None);
        let left = chosen.add(&root, (&machine, &sleepers), path(&machine, "sdb")).expect("can be taken out");
        assert_eq!((left.0.as_str(), left.1.as_str()), ("/dev/sdb", "it is removable"));
        assert!(chosen.has(&path(&machine, "sda")) && !chosen.has(&path(&machine, "sdb")));
    }

    #[test]
    fn what_is_run_and_read_is_said_before() {
        let machine = Machine::read(&root());
        let limit = Limit {
            rate: BytesPerSec::from_mb(100.0),
            raw: None,
            basis: Basis::Spec,
            formula: String::new(),
            facts: Vec::new(),
        };
        let known = ["sda", "sdb"].map(|name| {
            let path = path(&machine, name);
            Subject { ceilings: vec![Ceilings::same(limit.clone()); path.hops.len()], ..Subject::of(path) }
        });
        let groups = [vec![0, 1]];
        // The first runs three times, the second twice, each for 3.5 s at 100 MB/s.
        let [line] = &Plan::quick(None).announcement(&known, &groups)[..] else { panic!("one line") };
        let said = "narrows: only reads 2 targets, in 4 runs of 3.5 s each, about 14.3 s in all; at most 1.75 GB by the ceilings of \
                    their paths";
        assert_eq!(line, said);
        let [a, b] = known.map(|subject| Subject { ceilings: Vec::new(), ..subject });
        let (unknown, groups) = ([a, b.clone(), b], [vec![0, 1, 2]]);
        let plan = Plan::full(Some(Duration::from_secs(1)));
        let [line, more] = &plan.announcement(&unknown, &groups)[..] else { panic!("two lines") };
        assert!(line.ends_with("not all have a path of known ceiling"), "{line}");
        assert!(more.contains("about 6 more such runs"), "{more}");
        assert_eq!(plan.timing.longest(), Duration::from_secs(1));
    }
}
