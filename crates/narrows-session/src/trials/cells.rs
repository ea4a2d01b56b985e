//! What predictions of a lab stand on, and its cells: built one after another, measured, copied to and undone.

use std::path::Path;

use super::copying::Copying;
use super::{Trials, reach};
use crate::lab::journal::{Journal, Line};
use crate::lab::{
    self, Basis, Cell, CipherRate, Encryption, FileSystem, Mapping, Measured, On, Outcome, Step, Workshop,
    Written,
};
use crate::scene::Scene;
use crate::{Failure, Teller, go_on_unless};
use narrows_base::lists::distinct;
use narrows_base::units::{Bytes, human};
use narrows_load::guard::EDGE;
use narrows_load::target::Target;
use narrows_machine::activity::Sample;
use narrows_machine::block::CryptTable;
use narrows_machine::cipher;
use narrows_machine::root::Root;

/// A lab, ready.
pub struct Lab<'a, T> {
    /// The tests.
    pub trials: Trials<T>,
    /// What is copied to each file system.
    pub copying: Option<Copying>,
    /// Where it builds.
    pub workshop: Workshop<'a>,
    /// The encryptions that were asked for.
    pub encryptions: &'a [Encryption],
    /// Whether it waits until an array is in step.
    pub waits: bool,
    /// Finds the path to what is named.
    pub scene: &'a dyn Fn(&str) -> Result<Scene, Failure>,
}

/// What a lab has come to.
#[derive(Debug, Default)]
pub struct Results {
    /// What was measured of each device alone.
    pub basis: Option<Basis>,
    /// The cells.
    pub outcomes: Vec<Outcome>,
}

impl Results {
    /// What an earlier part of the lab came to.
    pub fn of(known: Option<Journal>) -> Self {
        known.map_or_else(Self::default, |known| Self { basis: known.basis, outcomes: known.outcomes })
    }

    /// Whether a cell is in it.
    fn has(&self, cell: Cell) -> bool {
        self.outcomes.iter().any(|outcome| outcome.cell == cell)
    }

    /// Whether a cell failed, or a result is not to be trusted.
    pub fn has_doubts(&self) -> bool {
        self.outcomes.iter().any(|outcome| {
            outcome.failed.is_some()
                || outcome.measured.iter().any(|one| !one.trusted)
                || outcome.copied().is_some_and(|copied| !copied.trusted)
        })
    }
}

impl<T: Teller> Lab<'_, T> {
    /// Measures the basis and all cells that `results` have not yet, and adds them.
    ///
    /// # Errors
    /// Why that ended early; what was measured until then is added.
    pub fn all(&mut self, cells: &[Cell], results: &mut Results) -> Result<(), Failure> {
        let basis = match results.basis.clone() {
            Some(basis) => basis,
            None => results.basis.insert(self.basis()?).clone(),
        };
        for (index, cell) in cells.iter().enumerate() {
            if results.has(*cell) {
                continue;
            }
            if self.trials.is_over() {
                return Err(self.why_over());
            }
            self.trials.note(&format!("{} of {}: {cell}", index + 1, cells.len()));
            let mut outcome = self.foretold(*cell, &basis);
            let came = self.cell(&mut outcome);
            results.outcomes.push(outcome);
            came?;
        }
        Ok(())
    }

    fn why_over(&self) -> Failure {
        Failure::new(match self.workshop.alarm() {
            Some(alarm) => alarm,
            None if self.trials.is_stopped() => "interrupted".to_owned(),
            None => "no more may be written (--max-writes)".to_owned(),
        })
    }

    /// A cell before it is built.
    fn foretold(&mut self, cell: Cell, basis: &Basis) -> Outcome {
        let tests = self.trials.tests.iter();
        Outcome {
            cell,
            predicted: tests.map(|test| lab::predict(basis, &cell, &test.name, &test.load)).collect(),
            measured: Vec::new(),
            resyncing: false,
            written: Vec::new(),
            notes: lab::notes(cell, self.workshop.means()),
            failed: None,
            copy: None,
        }
    }

    /// Builds, measures and undoes one cell. An error says why nothing more can be done.
    fn cell(&mut self, outcome: &mut Outcome) -> Result<(), Failure> {
        let (before, sent) = (Sample::of_disks(self.workshop.root), self.trials.writes.budget().spent());
        let came = self.build(outcome);
        let undone = self.workshop.undo();
        let now = Sample::of_disks(self.workshop.root);
        outcome.written = written(&before, &now, &self.workshop.names.disks);
        // What tools and the kernel wrote: others have so much less.
        let most = outcome.written.iter().map(|written| written.bytes).max();
        self.trials.take_beside(most.unwrap_or(Bytes::new(0)), sent);
        outcome.failed = came.err().map(|failure| failure.to_string());
        if let Err(error) = undone {
            outcome.failed.get_or_insert_with(|| error.to_string());
            return Err(error.into());
        }
        if self.trials.is_over() && outcome.failed.is_some() {
            return Err(self.why_over());
        }
        self.workshop.record(&Line::Outcome(Box::new(outcome.clone())))
    }

    fn build(&mut self, outcome: &mut Outcome) -> Result<(), Failure> {
        let cell = outcome.cell;
        let devices = self.workshop.head.devices.len();
        let steps = lab::recipe(cell, devices, self.workshop.means()).map_err(Failure::new)?;
        self.workshop.record(&Line::Cell(cell))?;
        for step in steps {
            self.trials.go_on()?;
            self.workshop.take(step)?;
            if matches!(step, Step::Array { .. }) {
                self.settle(outcome)?;
            }
        }
        self.measure(cell, &mut outcome.measured)?;
        if let Some(copying) = &self.copying {
            let point = self.workshop.names.mount_point();
            let to = (cell, Path::new(&point));
            let (budget, teller) = (self.trials.writes.budget(), self.trials.teller);
            outcome.copy = Some(copying.to(self.workshop.root, to, budget, teller)?);
        }
        Ok(())
    }

    fn settle(&self, outcome: &mut Outcome) -> Result<(), Failure> {
        let follow = &mut |action: &str, done: Option<f64>| {
            let far = done.map_or_else(String::new, |done| format!(", {} done", human::percent(done)));
            (self.trials.teller)().name(&format!("waiting for the array: {action}{far}"));
            go_on_unless(self.trials.is_stopped())
        };
        let is_settled = self.workshop.settle(self.waits, follow);
        self.trials.go_on()?;
        outcome.resyncing = !is_settled;
        Ok(())
    }

    fn measure(&mut self, cell: Cell, measured: &mut Vec<Measured>) -> Result<(), Failure> {
        if cell.file_system != FileSystem::None {
            let point = self.workshop.names.mount_point();
            let scene = (self.scene)(&point)?;
            let target = self.trials.scratch(Path::new(&point), &scene)?;
            return self.trials.all(&scene, &target, measured);
        }
        let opened = match lab::top(cell) {
            On::Device(index) => self.workshop.open_slice(index)?,
            on => self.workshop.open(on)?,
        };
        let scene = (self.scene)(&opened.path().display().to_string())?;
        let target = self.trials.fill(opened, &scene)?;
        self.trials.all(&scene, &target, measured)
    }
}

/// What each disk wrote from one moment to another, by its own counter.
fn written(before: &Sample, after: &Sample, disks: &[String]) -> Vec<Written> {
    let written = |sample: &Sample, name: &str| {
        sample.disks.get(name).map(|disk| disk.written_bytes).unwrap_or_default()
    };
    let of = |name: &String| written(after, name).saturating_sub(written(before, name));
    disks.iter().map(|name| Written { device: name.clone(), bytes: of(name) }).collect()
}

/// The encryptions that are measured above a target that takes no time, and that target itself, where some are asked for.
pub fn encryptions(asked: &[Encryption]) -> Vec<Encryption> {
    if asked.iter().all(|encryption| *encryption == Encryption::Plain) {
        return Vec::new();
    }
    distinct(std::iter::once(Encryption::Plain).chain(asked.iter().copied()))
}

/// The steps by which an encryption comes to stand above a target that takes no time, on which `reach` can be used.
pub fn over_nothing(encryption: Encryption, reach: Bytes) -> Vec<Step> {
    let bytes = reach + EDGE + EDGE;
    let zero = Step::Zero { sectors: bytes.get().div_ceil(512) };
    match encryption {
        Encryption::Plain => vec![zero],
        _ => vec![zero, Step::Mapping { on: On::Zero, encryption }],
    }
}

impl<T: Teller> Lab<'_, T> {
    /// Measures it, and writes it down. The slices are written between their first and their last MiB.
    pub(super) fn basis(&mut self) -> Result<Basis, Failure> {
        self.trials.note("each device alone, then all at once");
        let basis = self.devices();
        self.workshop.undo()?;
        let mut basis = basis?;
        basis.mappings = self.mappings()?;
        self.workshop.record(&Line::Basis(Box::new(basis.clone())))?;
        Ok(basis)
    }

    fn devices(&mut self) -> Result<Basis, Failure> {
        let devices = self.workshop.head.devices.clone();
        let (mut alone, mut paused) = (Vec::new(), Vec::new());
        let mut targets: Vec<Target> = Vec::new();
        let mut last = None;
        for index in 0..devices.len() {
            let opened = self.workshop.open_slice(index)?;
            let scene = (self.scene)(&self.workshop.names.device(index))?;
            let target = self.trials.fill(opened, &scene)?;
            let measured = self.trials.alone(&scene, &target)?;
            paused.push(self.trials.after_pauses(&scene, &target, &measured)?);
            alone.push(measured);
            targets.push(target);
            last = Some(scene);
        }
        let together = match last {
            Some(scene) if targets.len() > 1 => self.trials.together(&scene, &targets)?,
            _ => alone.first().cloned().unwrap_or_default(),
        };
        let cores = u32::try_from(std::thread::available_parallelism().map_or(1, usize::from)).unwrap_or(1);
        Ok(Basis {
            devices: devices.into_iter().map(|device| device.name).collect(),
            alone,
            paused,
            together,
            ciphers: ciphers(self.workshop.root, self.encryptions),
            cores,
            ..Basis::default()
        })
    }

    /// Each encryption above a target that takes no time, undone again. One that cannot be built is left out: then its
    /// predictions take the rate of the cipher.
    fn mappings(&mut self) -> Result<Vec<Mapping>, Failure> {
        let encryptions = encryptions(self.encryptions);
        if encryptions.is_empty() {
            return Ok(Vec::new());
        }
        let scene = (self.scene)(&self.workshop.names.device(0))?;
        let mut mappings = Vec::new();
        for encryption in encryptions {
            self.trials.note(&format!("{} above a target that takes no time", encryption.name()));
            let came = self.over(encryption, &scene);
            self.workshop.undo()?;
            match came {
                Ok(tests) => mappings.push(Mapping { encryption, tests: tests? }),
                Err(error) => self.trials.note(&format!("not measured: {error}")),
            }
        }
        Ok(mappings)
    }

    /// The outer error is that it cannot be built.
    fn over(
        &mut self,
        encryption: Encryption,
        scene: &Scene,
    ) -> Result<Result<Vec<Measured>, Failure>, Failure> {
        for step in over_nothing(encryption, reach(&self.trials.tests)) {
            self.workshop.take(step)?;
        }
        let top = if encryption == Encryption::Plain { On::Zero } else { On::Mapping };
        Ok(self.trials.over_nothing(scene, self.workshop.open_over_zero(top)?))
    }
}

/// The rates of the ciphers that were asked for: one, AES-XTS with two keys of 256 bits, for all of them.
fn ciphers(root: &Root, asked: &[Encryption]) -> Vec<CipherRate> {
    if encryptions(asked).is_empty() {
        return Vec::new();
    }
    let table = CryptTable {
        cipher: "aes-xts-plain64".to_owned(),
        key_bits: 512,
        sector_size: Bytes::new(512),
        ..CryptTable::default()
    };
    let rate = cipher::read(root, &table).get();
    let named = |rate| {
        let cipher::CipherRate { key_bits, encrypt, decrypt, driver, .. } = rate;
        CipherRate { cipher: table.cipher.clone(), key_bits, encrypt, decrypt, driver }
    };
    rate.into_iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{CellCopy, Layout};
    use narrows_machine::root::Root;
    use narrows_machine::tree::Tree;

    #[test]
    fn what_a_disk_wrote_is_told_by_its_own_counter() {
        let sample = |sectors: u64| {
            let mut tree = Tree::new();
            tree.file("/proc/diskstats", &format!("   8       0 sda 1 0 8 0 5 0 {sectors} 0 0 0 0\n"));
            Sample::of_disks(&Root::from_tree(tree))
        };
        let disks = ["sda".to_owned(), "sdb".to_owned()];
        let told: Vec<u64> =
            written(&sample(100), &sample(108), &disks).iter().map(|one| one.bytes.get()).collect();
        assert_eq!(told, [8 * 512, 0], "nobody counts what the second wrote");
    }

    #[test]
    fn a_cell_is_built_once_and_one_that_failed_leaves_doubts() {
        let cell = |layout| Cell { layout, encryption: Encryption::Plain, file_system: FileSystem::None };
        let outcome = |failed: Option<&str>| Outcome {
            cell: cell(Layout::Raid0),
            predicted: Vec::new(),
            measured: Vec::new(),
            resyncing: false,
            written: Vec::new(),
            notes: Vec::new(),
            failed: failed.map(str::to_owned),
            copy: Some(CellCopy::Not("it does not fit".to_owned())),
        };
        let results = |failed| Results { basis: None, outcomes: vec![outcome(failed)] };
        assert!(results(None).has(cell(Layout::Raid0)) && !results(None).has(cell(Layout::Raid1)));
        assert!(!results(None).has_doubts() && results(Some("it is gone")).has_doubts());
    }

    #[test]
    fn an_encryption_is_measured_once_beside_the_target_below_it() {
        use Encryption::{Luks2, Plain, VeraCrypt};
        assert!(encryptions(&[Plain]).is_empty() && encryptions(&[]).is_empty());
        assert_eq!(encryptions(&[Luks2, Plain, VeraCrypt, Luks2]), [Plain, Luks2, VeraCrypt]);
        assert_eq!(ciphers(&Root::from_tree(Tree::new()), &[Plain]), []);
    }

    #[test]
    fn the_target_that_takes_no_time_has_room_for_both_edges() {
        let [Step::Zero { sectors }] = over_nothing(Encryption::Plain, Bytes::new(1))[..] else {
            panic!("one step")
        };
        assert_eq!(sectors * 512, 2 * EDGE.get() + 512);
        let steps = over_nothing(Encryption::Luks2, Bytes::from_mib(16));
        assert!(matches!(steps[1], Step::Mapping { on: On::Zero, encryption: Encryption::Luks2 }));
    }
}
