//! A lab from its first line to its report.

use std::ops::ControlFlow;
use std::path::Path;

use nix::sched::{CloneFlags, unshare};

use super::args::LabArgs;
use super::{Bench, basis, copying, dry, ground, predicted, shown};
use crate::cli::bar::Bar;
use crate::cli::scene;
use crate::cli::signals::stop_on_signals;
use crate::cli::{FAILED, FINDINGS, Failure, NOTHING_FOUND, output};
use narrows_base::units::{Bytes, human};
use narrows_load::preset::LoadSpec;
use narrows_machine::activity::Sample;
use narrows_machine::root::Root;
use narrows_session::lab::journal::{Head, Journal, Line};
use narrows_session::lab::{
    self, BuildError, Call, Cell, FileSystem, JournalFile, On, Outcome, Step, Tools, Workshop, Written,
};
use narrows_session::trials::copying::Copying;
use narrows_session::trials::{Came, slice};

/// Runs a lab, or goes on with one whose journal was opened and which is undone.
///
/// # Errors
/// [`Failure`] when it cannot begin, or something is left to undo.
pub(super) fn run(root: &Root, args: &LabArgs, kept: Option<(JournalFile, Journal)>) -> Result<u8, Failure> {
    output::check_page(&args.output.shown)?;
    let stop = stop_on_signals()?;
    let (mut known, open) = match kept {
        Some((file, journal)) => (Some(journal), Some(file)),
        None => (None, None),
    };
    let mut head = known.as_ref().map_or_else(|| ground::head(root, args), |known| Ok(known.head.clone()))?;
    let count = if args.scratch.is_some() {
        usize::from(args.count)
    } else {
        head.devices = match &mut known {
            Some(known) => ground::again(root, args, known)?,
            None => ground::named(root, args)?,
        };
        head.devices.len()
    };
    let cells = args.cells(count);
    let fills = (cells.len() + count) as u64;
    let copying = copying::look(root, args, &head, &cells, stop.clone())?;
    let copies = copying.as_ref().map_or(Bytes::new(0), Copying::writes);
    let life = ground::life(args, head.devices.iter().map(|device| device.name.as_str()));
    let bench = Bench::new(&args.wish(), life, (fills, copies), (Bar::on_stderr, stop))?;
    announce(args, &head, &cells, &bench);
    if let Some(copying) = &copying {
        output::note(&copying.announcement());
        head.copy = Some(copying.about.clone());
    }
    let file = match open {
        Some(mut file) => {
            ground::go_on(root, &mut head, &mut file)?;
            file
        }
        None => JournalFile::create(args.journal.as_deref(), &head).map_err(|error| {
            let hint = error.hint().unwrap_or("name a place for it with --journal FILE").to_owned();
            Failure::new(error.to_string()).hint(hint)
        })?,
    };
    let mut workshop = ground::workshop(root, args, head, file)?;
    let copied = copying.as_ref().map_or(Bytes::new(0), Copying::needed);
    let needed = args.slice.unwrap_or_else(|| slice(bench.size, copied));
    if let Err(failure) = ground::slices(&mut workshop, args, needed.get(), &bench.stop) {
        if known.is_none_or(|known| known.outcomes.is_empty()) {
            workshop.journal.remove().map_err(|error| Failure::new(error.to_string()))?;
        }
        return Err(failure);
    }
    let mut session = Session { args, bench, copying, workshop };
    // Not before the loop devices are made: the path of a file whose mount is gone with its namespace says no more where it is.
    if cells.iter().any(|cell| cell.file_system != FileSystem::None)
        && let Err(failure) = leave_namespace(root)
    {
        let outcomes = known.map_or_else(Vec::new, |known| known.outcomes);
        return session.finish((shown::Lab::new(outcomes), Some(failure)));
    }
    let came = session.all(&cells, known);
    session.finish(came)
}

/// Says what will be built and written, before anything is.
fn announce(args: &LabArgs, head: &Head, cells: &[Cell], bench: &Bench) {
    let names: Vec<String> = head
        .devices
        .iter()
        .map(|device| {
            format!("{} ({}, {})", device.name, device.identity, human::bytes(Bytes::new(device.bytes)))
        })
        .collect();
    let place = match &args.scratch {
        Some(dir) => {
            let files = if args.count == 1 { "scratch file" } else { "scratch files" };
            format!("{} {files} in {}", args.count, dir.display())
        }
        None => names.join(", "),
    };
    let layouts = if cells.len() == 1 { "layout" } else { "layouts" };
    output::note(&format!("{} {layouts} on {place}:", cells.len()));
    let shown: Vec<String> = cells.iter().map(Cell::to_string).collect();
    output::note(&format!("  {}", shown.join("; ")));
    output::note(&bench.announcement("each device and each layout in turn"));
}

/// Makes mounts our own: nobody else sees those that are made from now on, while those that others undo go here, too.
fn leave_namespace(root: &Root) -> Result<(), Failure> {
    let failed = |error: String| {
        Failure::new(format!("cannot have mounts of our own: {error}"))
            .hint("run it outside of containers, or with --file-system none")
    };
    unshare(CloneFlags::CLONE_NEWNS).map_err(|error| failed(error.to_string()))?;
    let key = lab::Key::random().map_err(|error| failed(error.to_string()))?;
    let call = Call::new("mount", ["--make-rslave", "/"]);
    Tools::new(root).run(root, &call, &key).map_err(|error| failed(error.to_string()))
}

struct Session<'a> {
    args: &'a LabArgs,
    bench: Bench,
    copying: Option<Copying>,
    workshop: Workshop<'a>,
}

impl Session<'_> {
    /// Measures the basis and all cells that are not known yet. What ends it early is beside the report.
    fn all(&mut self, cells: &[Cell], known: Option<Journal>) -> (shown::Lab, Option<Failure>) {
        let (basis, outcomes) = known.map_or((None, Vec::new()), |known| (known.basis, known.outcomes));
        let mut report = shown::Lab::new(outcomes);
        let basis = match basis {
            Some(basis) => basis,
            None => match self.basis() {
                Ok(basis) => basis,
                Err(failure) => return (report, Some(failure)),
            },
        };
        report.basis = Some(basis.clone());
        let tests: Vec<(String, LoadSpec)> =
            self.bench.tests.iter().map(|test| (test.name.clone(), test.load.clone())).collect();
        for (index, cell) in cells.iter().enumerate() {
            if report.has(*cell) {
                continue;
            }
            if self.bench.is_over() {
                return (report, Some(Failure::new(self.why_over())));
            }
            output::note(&format!("{} of {}: {cell}", index + 1, cells.len()));
            let mut outcome = Outcome {
                cell: *cell,
                predicted: predicted::of(&basis, *cell, &tests),
                measured: Vec::new(),
                resyncing: false,
                written: Vec::new(),
                notes: lab::notes(*cell, self.workshop.means()),
                failed: None,
                copy: None,
            };
            let trouble = self.cell(&mut outcome);
            report.outcomes.push(outcome);
            if let Some(trouble) = trouble {
                return (report, Some(trouble));
            }
        }
        (report, None)
    }

    fn why_over(&self) -> String {
        match self.workshop.alarm() {
            Some(alarm) => alarm,
            None if self.bench.is_stopped() => "interrupted".to_owned(),
            None => "no more may be written (--max-writes)".to_owned(),
        }
    }

    fn basis(&mut self) -> Result<lab::Basis, Failure> {
        output::note("each device alone, then all at once");
        let basis = basis::measure(&mut self.workshop, self.args, &self.bench);
        self.workshop.undo().map_err(|error| ground::undo_failure(&error))?;
        let mut basis = basis?;
        basis.mappings = basis::mappings(&mut self.workshop, self.args, &self.bench)?;
        let told = self.workshop.journal.append(&Line::Basis(Box::new(basis.clone())));
        told.map_err(|error| Failure::new(error.to_string()))?;
        Ok(basis)
    }

    /// Builds, measures and undoes one cell. The answer is why nothing more can be done.
    fn cell(&mut self, outcome: &mut Outcome) -> Option<Failure> {
        let (before, sent) = (Sample::of_disks(self.workshop.root), self.bench.budget().spent());
        let came = self.build(outcome);
        let undone = self.workshop.undo();
        outcome.written = self.written(&before);
        // What tools and the kernel wrote: others have so much less.
        let most = outcome.written.iter().map(|written| written.bytes).max();
        self.bench.take_beside(most.unwrap_or(Bytes::new(0)), sent);
        outcome.failed = came.err().map(|failure| failure.message().to_owned());
        if let Err(error) = undone {
            outcome.failed.get_or_insert_with(|| error.to_string());
            return Some(ground::undo_failure(&error));
        }
        if self.bench.is_over() && outcome.failed.is_some() {
            return Some(Failure::new(self.why_over()));
        }
        let told = self.workshop.journal.append(&Line::Outcome(Box::new(outcome.clone())));
        told.err().map(|error| Failure::new(error.to_string()))
    }

    fn build(&mut self, outcome: &mut Outcome) -> Result<(), Failure> {
        let cell = outcome.cell;
        let failed = |error: BuildError| ground::build_failure(&error);
        let devices = self.workshop.head.devices.len();
        let steps = lab::recipe(cell, devices, self.workshop.means()).map_err(Failure::new)?;
        self.workshop.journal.append(&Line::Cell(cell)).map_err(|error| Failure::new(error.to_string()))?;
        for step in dry::with_discards(steps, self.args, devices) {
            if self.bench.is_stopped() {
                return Err(Failure::new("interrupted"));
            }
            self.workshop.take(step).map_err(failed)?;
            if matches!(step, Step::Array { .. }) {
                self.settle(outcome)?;
            }
        }
        let (measured, trouble) = self.measure(cell)?;
        outcome.measured = measured;
        if let Some(trouble) = trouble {
            return Err(trouble.into());
        }
        if let Some(copying) = &self.copying {
            let point = self.workshop.names.mount_point();
            let to = (cell, Path::new(&*point));
            let copy = copying.to(self.workshop.root, to, self.bench.budget(), Bar::on_stderr)?;
            outcome.copy = Some(copy);
        }
        Ok(())
    }

    fn settle(&self, outcome: &mut Outcome) -> Result<(), Failure> {
        let follow = &mut |action: &str, done: Option<f64>| {
            let far = done.map_or_else(String::new, |done| format!(", {} done", human::percent(done)));
            Bar::on_stderr().name(&format!("waiting for the array: {action}{far}"));
            if self.bench.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let is_settled = self.workshop.settle(!self.args.no_wait, follow);
        if self.bench.is_stopped() {
            return Err(Failure::new("interrupted"));
        }
        outcome.resyncing = !is_settled;
        Ok(())
    }

    fn measure(&mut self, cell: Cell) -> Result<Came, Failure> {
        let failed = |error: BuildError| ground::build_failure(&error);
        if cell.file_system != FileSystem::None {
            let point = self.workshop.names.mount_point();
            let scene = scene::read(&point, None)?;
            let target = self.bench.scratch(Path::new(&point), &scene)?;
            return Ok(self.bench.all(&scene, &target));
        }
        match lab::top(cell) {
            On::Device(index) => {
                let opened = self.workshop.open_slice(index).map_err(failed)?;
                let scene = scene::read(&self.workshop.names.device(index), None)?;
                let target = self.bench.fill(opened, &scene)?;
                Ok(self.bench.all(&scene, &target))
            }
            on => {
                let opened = self.workshop.open(on).map_err(failed)?;
                let node = opened.path().display().to_string();
                let scene = scene::read(&node, None)?;
                let target = self.bench.fill(opened, &scene)?;
                Ok(self.bench.all(&scene, &target))
            }
        }
    }

    /// What each device wrote since `before`, by its own counter.
    fn written(&self, before: &Sample) -> Vec<Written> {
        let now = Sample::of_disks(self.workshop.root);
        let bytes = |sample: &Sample, name: &str| {
            sample.disks.get(name).map_or(Bytes::new(0), |disk| disk.written_bytes)
        };
        let of = |name: &String| Written {
            device: name.clone(),
            bytes: bytes(&now, name).saturating_sub(bytes(before, name)),
        };
        self.workshop.names.disks.iter().map(of).collect()
    }

    /// Undoes all, shows what was measured, and removes the journal when nothing in it is needed any more.
    fn finish(mut self, came: (shown::Lab, Option<Failure>)) -> Result<u8, Failure> {
        let (report, trouble) = came;
        // Also what was seen after the last layout was gone.
        let trouble = trouble.or_else(|| self.workshop.alarm().map(Failure::new));
        let left = self.workshop.leave();
        report.show(self.args, trouble.is_none())?;
        left.map_err(|error| ground::undo_failure(&error))?;
        let Some(trouble) = trouble else {
            let removed = self.workshop.journal.remove();
            removed.map_err(|error| Failure::new(error.to_string()))?;
            return Ok(if report.has_doubts() { FINDINGS } else { NOTHING_FOUND });
        };
        if report.outcomes.is_empty() {
            let removed = self.workshop.journal.remove();
            removed.map_err(|error| Failure::new(error.to_string()))?;
            return Err(trouble);
        }
        let path = self.workshop.journal.path().display().to_string();
        output::failure(&trouble);
        output::note(&format!("everything is undone; `narrows lab --resume --journal {path}` goes on"));
        Ok(FAILED)
    }
}
