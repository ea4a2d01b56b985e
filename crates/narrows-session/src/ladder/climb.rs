//! Climbs the layers with one load: each alone, and members at once before the layer that joins them.

use super::{Ask, Opening};
use crate::runner::Runner;
use crate::scene::Scene;
use crate::teller::Teller;
use narrows_load::LoadError;
use narrows_load::preset::LoadSpec;
use narrows_load::target::Target as Opened;
use narrows_model::path::layers::{Entry, Layer};
use narrows_model::path::{HopSpec, Target, build};
use narrows_verdict::ladder::{NodeRun, Rung};
use narrows_verdict::{Run, Subject};

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

/// A climb.
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
            if writes && !matches!(layer.entry, Entry::Mount(_)) {
                continue;
            }
            let members: Vec<usize> =
                layer.below.iter().filter_map(|below| places.get(*below).copied().flatten()).collect();
            let mut together = None;
            if members.len() > 1 && !self.is_over(&climbed) {
                together = Some(climbed.rungs.len());
                self.at_once(layer, &members, load, &mut climbed)?;
            }
            if let Some(place) = places.get_mut(index) {
                *place = Some(climbed.rungs.len());
            }
            self.alone(index, layer, (members, together), load, &mut climbed)?;
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

    fn alone(
        &self,
        index: usize,
        layer: &Layer,
        (members, together): (Vec<usize>, Option<usize>),
        load: &LoadSpec,
        climbed: &mut Climbed,
    ) -> Result<(), LoadError> {
        let mut rung = Rung {
            hop: layer.hop.clone(),
            at_once: false,
            subject: self.subject(layer),
            members,
            together,
            unmeasured: self.opened.refusal(index).map(str::to_owned),
        };
        if self.is_over(climbed) {
            rung.unmeasured.get_or_insert_with(|| "the climb ended before it".to_owned());
        } else if let Some(target) = self.opened.target(index) {
            self.measure(&mut rung, &layer.name, &[target], load, climbed)?;
        }
        climbed.rungs.push(rung);
        Ok(())
    }

    fn at_once(
        &self,
        layer: &Layer,
        members: &[usize],
        load: &LoadSpec,
        climbed: &mut Climbed,
    ) -> Result<(), LoadError> {
        let targets: Option<Vec<&Opened>> =
            layer.below.iter().map(|below| self.opened.target(*below)).collect();
        let mut rung = Rung {
            hop: layer.hop.clone(),
            at_once: true,
            subject: self.subject(layer),
            members: members.to_vec(),
            together: None,
            unmeasured: None,
        };
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
        self.keep(rung, run);
        Ok(())
    }

    fn keep(&self, rung: &mut Rung, run: Run) {
        rung.subject.runs = vec![run];
        rung.subject.settle_links();
    }

    /// The path to a layer with its ceilings.
    fn subject(&self, layer: &Layer) -> Subject {
        let machine = &self.scene.machine;
        let target = match &layer.entry {
            Entry::Block(name) => Target::Block(name.clone()),
            Entry::Mount(_) => return self.scene.subject.with_runs(Vec::new()),
            Entry::File(path) => match narrows_machine::target::mount_of(&machine.mounts, path) {
                Some(index) => Target::Mount { index, path: path.clone() },
                None => return self.scene.subject.with_runs(Vec::new()),
            },
        };
        let Some(path) = build::path(machine, &target) else {
            return self.scene.subject.with_runs(Vec::new());
        };
        Subject::of(path)
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
            let run = self.runner.rung(
                &label,
                &[top],
                load,
                (self.ask.time, self.ask.warm_up),
                Some(&node.cpus),
            )?;
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
