//! The same load at every layer of a path, from the media up: what is opened at each, and the climb.

use std::path::{Path as FilePath, PathBuf};
use std::time::Duration;

use crate::measure::Timing;
use crate::place::{self, NoPlace, Place, Use};
use crate::runner::{Filling, Runner};
use crate::scene::{Scene, device};
use crate::writes::{Wanted, Writes};
use crate::{Failure, Teller};
use narrows_base::units::{Bytes, BytesPerSec};
use narrows_load::LoadError;
use narrows_load::preset::{LoadSpec, StopRule, Work};
use narrows_load::target::Target as Opened;
use narrows_model::path::layers::{Layer, LayerEntry};
use narrows_model::path::{HopSpec, Target, build};
use narrows_verdict::Subject;
use narrows_verdict::ladder::{NodeRun, Rung};

/// What is asked of a ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// Whether nothing is written: a file system is then measured through a file that is there.
    pub read: bool,
    /// Whether the load writes as well, to scratch files.
    pub write_scratch: bool,
    /// The size of a scratch file, if that was asked for.
    pub size: Option<Bytes>,
    /// The most that may be written, if that was asked for.
    pub max_writes: Option<Bytes>,
    /// How long each load runs.
    pub time: Duration,
    /// What is not counted.
    pub warm_up: Duration,
}

/// What a climb came to.
#[derive(Debug, Default)]
pub struct Climbed {
    /// A rung for each layer, and for members at once.
    pub rungs: Vec<Rung>,
    /// The top from the processors of each node.
    pub numa: Vec<NodeRun>,
    /// What ended it early.
    pub trouble: Option<String>,
}

pub struct Climb<'a, T: Teller> {
    /// The machine, and the path.
    pub scene: &'a Scene,
    /// The layers of the path.
    pub layers: &'a [Layer],
    /// What was opened at each.
    pub opened: &'a Opening,
    /// What runs the load.
    pub runner: &'a Runner<'a, T>,
    /// What was asked.
    pub ask: Ask,
}

impl<T: Teller> Climb<'_, T> {
    /// Measures every layer that was opened. A load that writes only runs on file systems.
    ///
    /// # Errors
    /// A load cannot be run as it was asked.
    pub fn up(&self, load: &LoadSpec) -> Result<Climbed, LoadError> {
        let mut climbed = Climbed::default();
        // The rung of each layer.
        let mut places: Vec<Option<usize>> = vec![None; self.layers.len()];
        let writes = load.writes();
        for (index, layer) in self.layers.iter().enumerate() {
            if writes && !matches!(layer.entry, LayerEntry::Mount(_)) {
                continue;
            }
            let members: Vec<usize> =
                layer.below.iter().filter_map(|below| places.get(*below).copied().flatten()).collect();
            let (hop, subject) = (layer.hop.clone(), self.subject(layer));
            let mut rung = Rung { hop, at_once: false, subject, members, together: None, unmeasured: None };
            if rung.members.len() > 1 && !self.is_over(&climbed) {
                rung.together = Some(climbed.rungs.len());
                self.at_once(
                    layer,
                    Rung { at_once: true, together: None, ..rung.clone() },
                    load,
                    &mut climbed,
                )?;
            }
            if let Some(place) = places.get_mut(index) {
                *place = Some(climbed.rungs.len());
            }
            rung.unmeasured = self.opened.refusal(index).map(str::to_owned);
            if self.is_over(&climbed) {
                rung.unmeasured.get_or_insert_with(|| "the climb ended before it".to_owned());
            } else if let Some(target) = self.opened.target(index) {
                self.measure(&mut rung, &layer.name, &[target], load, &mut climbed)?;
            }
            climbed.rungs.push(rung);
        }
        if !self.is_over(&climbed) && !writes {
            self.nodes(load, &mut climbed)?;
        }
        if self.runner.is_stopped() {
            climbed.trouble = Some("interrupted; the layers above are not measured".to_owned());
        }
        Ok(climbed)
    }

    fn is_over(&self, climbed: &Climbed) -> bool {
        self.runner.is_stopped() || climbed.trouble.is_some()
    }

    /// What a layer joins, at the same time.
    fn at_once(
        &self,
        layer: &Layer,
        mut rung: Rung,
        load: &LoadSpec,
        climbed: &mut Climbed,
    ) -> Result<(), LoadError> {
        let targets: Option<Vec<&Opened>> =
            layer.below.iter().map(|below| self.opened.target(*below)).collect();
        match targets {
            Some(targets) => {
                let label = format!("{} at once, below {}", targets.len(), layer.name);
                self.measure(&mut rung, &label, &targets, load, climbed)?;
            }
            None => rung.unmeasured = Some("not all of them could be opened".to_owned()),
        }
        climbed.rungs.push(rung);
        Ok(())
    }

    /// Runs the load and keeps the run, unless a signal cut it short.
    fn measure(
        &self,
        rung: &mut Rung,
        label: &str,
        targets: &[&Opened],
        load: &LoadSpec,
        climbed: &mut Climbed,
    ) -> Result<(), LoadError> {
        let run = self.runner.rung(label, targets, load, (self.ask.time, self.ask.warm_up), None)?;
        if self.runner.is_stopped() {
            rung.unmeasured = Some("interrupted".to_owned());
            return Ok(());
        }
        if let Some(why) = &run.measurement.cut_short {
            climbed.trouble = Some(format!("{} was cut short: {why}", rung.hop));
        }
        rung.subject.runs = vec![run];
        rung.subject.settle_links();
        Ok(())
    }

    /// The path to a layer with its ceilings.
    fn subject(&self, layer: &Layer) -> Subject {
        let machine = &self.scene.machine;
        let target = match &layer.entry {
            LayerEntry::Block(name) => Some(Target::Block(name.clone())),
            LayerEntry::Mount(_) => None,
            LayerEntry::File(path) => narrows_machine::target::mount_of(&machine.mounts, path)
                .map(|index| Target::Mount { index, path: path.clone() }),
        };
        let path = target.and_then(|target| build::path(machine, &target));
        path.map_or_else(|| self.scene.subject.with_runs(Vec::new()), Subject::of)
    }

    /// The top from the processors of each node, on a machine with several.
    fn nodes(&self, load: &LoadSpec, climbed: &mut Climbed) -> Result<(), LoadError> {
        let nodes: Vec<_> =
            self.scene.machine.cpus.nodes.iter().filter(|node| !node.cpus.is_empty()).collect();
        let top = (0..self.layers.len()).rev().find_map(|index| self.opened.target(index));
        let Some(top) = top.filter(|_| nodes.len() > 1) else { return Ok(()) };
        let home = self.home();
        for node in nodes {
            let label = format!("read from node {}", node.id);
            let times = (self.ask.time, self.ask.warm_up);
            let run = self.runner.rung(&label, &[top], load, times, Some(&node.cpus))?;
            if self.runner.is_stopped() {
                return Ok(());
            }
            climbed.numa.push(NodeRun {
                node: node.id,
                local: home.map(|home| home == node.id),
                bytes_per_second: run.measurement.bytes_per_second,
                ci95: run.measurement.ci95,
            });
        }
        Ok(())
    }

    /// The node that all controllers of the path are on; `None` where they are on several, or it is not known.
    fn home(&self) -> Option<u32> {
        let mut homes = self.scene.subject.path.hops.iter().filter_map(|hop| match &hop.spec {
            HopSpec::Controller(controller) | HopSpec::Hba(controller) => controller.numa_node.get(),
            _ => None,
        });
        let first = homes.next()?;
        homes.all(|other| other == first).then_some(first)
    }
}

/// The layers with what was opened.
pub struct Opening {
    /// Each layer by its hop, with what was opened there, or why nothing was.
    layers: Vec<(String, Result<Opened, String>)>,
    hint: Option<String>,
}

impl Opening {
    /// Opens every layer. One that refuses hides no other.
    ///
    /// # Errors
    /// A signal came.
    pub fn of<T: Teller>(layers: &[Layer], ask: Ask, runner: &Runner<'_, T>) -> Result<Self, Failure> {
        let mut opening = Self { layers: Vec::new(), hint: None };
        for layer in layers {
            let opened = match open(&layer.entry, ask, runner) {
                Err(NoPlace::Load(LoadError::Interrupted)) => {
                    return Err(Failure::new("interrupted before anything was measured"));
                }
                Err(NoPlace::Load(error)) => {
                    opening.hint = opening.hint.or_else(|| error.hint().map(str::to_owned));
                    Err(error.to_string())
                }
                Err(_) => Err("--read-only writes no scratch file; name a large file on it".to_owned()),
                Ok(target) => Ok(target),
            };
            opening.layers.push((layer.hop.to_string(), opened));
        }
        Ok(opening)
    }

    /// What was opened at a layer.
    pub fn target(&self, layer: usize) -> Option<&Opened> {
        self.layers.get(layer)?.1.as_ref().ok()
    }

    /// Why nothing was opened at a layer.
    pub fn refusal(&self, layer: usize) -> Option<&str> {
        self.layers.get(layer)?.1.as_ref().err().map(String::as_str)
    }

    /// Whether nothing could be opened.
    pub fn is_empty(&self) -> bool {
        self.layers.iter().all(|(_, opened)| opened.is_err())
    }

    /// The layers that could not be opened, and why.
    pub fn left_out(&self) -> impl Iterator<Item = (&str, &str)> {
        self.layers.iter().filter_map(|(hop, opened)| Some((hop.as_str(), opened.as_ref().err()?.as_str())))
    }

    /// Why the ladder is not complete, if it is not.
    pub fn reason(&self) -> Option<String> {
        let missing = self.left_out().count();
        let there = self.layers.iter().filter(|(_, opened)| opened.is_ok()).map(|(hop, _)| hop.as_str());
        let there = there.collect::<Vec<_>>().join(", ");
        let hint = self.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
        let all = self.layers.len();
        (missing > 0).then(|| format!("{missing} of {all} layers could not be opened, {there} could{hint}"))
    }

    /// The failure when nothing could be opened.
    pub fn failure(&self, target: &str) -> Failure {
        let why: Vec<String> = self.left_out().map(|(hop, reason)| format!("{hop}: {reason}")).collect();
        Failure::new(format!("no layer of the path to `{target}` can be opened: {}", why.join("; "))).hint(
            "devices are readable by root; without root, name a directory that you may write: its file system is measured",
        )
    }
}

fn open<T: Teller>(entry: &LayerEntry, ask: Ask, runner: &Runner<'_, T>) -> Result<Opened, NoPlace> {
    let size = runner.writes().map(Writes::size).unwrap_or_default();
    // A file that stays smaller than what is asked for says as much.
    let least = place::least(ask.size.unwrap_or(size), ask.size.is_some()).min(size);
    Ok(runner.open(&place_of(entry, ask)?, size, Filling::Layer(least))?)
}

/// The size of a scratch file, unless another is asked for.
const SIZE: Bytes = Bytes::from_mib(1024);

/// Where load runs at a layer.
///
/// # Errors
/// It is a directory, and nothing may be written.
fn place_of(entry: &LayerEntry, ask: Ask) -> Result<Place, NoPlace> {
    let files = match (ask.read, ask.write_scratch) {
        (true, _) => Use::Read,
        (false, true) => Use::Scratch,
        (false, false) => Use::ReadOrScratch,
    };
    match entry {
        LayerEntry::Block(name) => Ok(Place::Device(device(name))),
        LayerEntry::File(path) => Ok(Place::File(path.into())),
        LayerEntry::Mount(path) => Place::at(FilePath::new(path), files),
    }
}

/// The directory in which a layer needs a scratch file.
fn directory(entry: &LayerEntry, ask: Ask) -> Option<PathBuf> {
    place_of(entry, ask).ok()?.scratch().map(FilePath::to_owned)
}

/// What the ladder may write at most at the `ceiling` of its path, and what is said before it does; `None` where it needs no
/// scratch file.
///
/// # Errors
/// That is less than the files.
pub fn writes(
    scene: &Scene,
    layers: &[Layer],
    loads: &[LoadSpec],
    ask: Ask,
    ceiling: Option<BytesPerSec>,
) -> Result<Option<(Writes, String)>, Failure> {
    let places: Vec<PathBuf> = layers.iter().filter_map(|layer| directory(&layer.entry, ask)).collect();
    let Some(first) = places.first() else { return Ok(None) };
    let is_run = |load: &LoadSpec, layer: &Layer| !load.writes() || directory(&layer.entry, ask).is_some();
    let each = loads.iter().flat_map(|load| {
        layers.iter().filter(move |layer| is_run(load, layer)).map(move |_| Work::Load(load.clone()))
    });
    let works: Vec<Work> = each.collect();
    let stop = StopRule::Seconds(u32::try_from(ask.time.as_secs()).unwrap_or(u32::MAX));
    let timing = Timing { stop, ..Timing::exactly(ask.time, ask.warm_up) };
    let count = places.len() as u64;
    let size = Bytes::new(ask.size.unwrap_or(SIZE).get().saturating_mul(count));
    let writes = Writes::of(&Wanted {
        size: (size, ask.size.is_some()),
        works: &works,
        ceiling,
        ..Wanted::of(scene, ask.max_writes, false, &timing)
    })?;
    let place = match count {
        1 => format!("a scratch file in {}", first.display()),
        _ => format!("{count} scratch files"),
    };
    let said = writes.announcement(&place);
    Ok(Some((writes.in_parts(count).holding_bytes(), said)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_layer_is_a_device_a_file_or_a_directory_for_a_scratch_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let ask = Ask {
            read: false,
            write_scratch: false,
            size: None,
            max_writes: None,
            time: Duration::from_secs(1),
            warm_up: Duration::ZERO,
        };
        let layer = |entry| place_of(&entry, ask).expect("something can be read");
        let at = dir.path().to_owned();
        assert_eq!(layer(LayerEntry::Mount(at.display().to_string())), Place::Scratch(at));
        assert_eq!(layer(LayerEntry::File("/srv/data".to_owned())), Place::File("/srv/data".into()));
        assert_eq!(
            layer(LayerEntry::Block("cciss!c0d0".to_owned())),
            Place::Device("/dev/cciss/c0d0".into())
        );
    }

    #[test]
    fn a_layer_that_refuses_is_named_and_hides_no_other() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(&[0; 4096]).expect("it is written");
        let target = Opened::open_file_read(file.path()).expect("it opens");
        let refused = || Err("permission denied".to_owned());
        let opening = Opening {
            layers: vec![
                ("sda".to_owned(), refused()),
                ("md0".to_owned(), refused()),
                ("fs".to_owned(), Ok(target)),
            ],
            hint: Some("run it as root".to_owned()),
        };
        assert!(!opening.is_empty() && opening.target(2).is_some() && opening.target(0).is_none());
        assert_eq!(
            opening.left_out().collect::<Vec<_>>(),
            [("sda", "permission denied"), ("md0", "permission denied")]
        );
        let reason = opening.reason().expect("it is not complete");
        assert_eq!(reason, "2 of 3 layers could not be opened, fs could; run it as root");
        let none = Opening { layers: vec![("sda".to_owned(), refused())], hint: None };
        assert!(none.is_empty());
        let failure = none.failure("/srv").to_string();
        assert_eq!(failure, "no layer of the path to `/srv` can be opened: sda: permission denied");
    }
}
