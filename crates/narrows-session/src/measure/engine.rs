//! What carries out a run: the engine of `narrows-load`, or that of a test.

use narrows_load::control::Control;
use narrows_load::error::LoadError;
use narrows_load::measurement::{Measurement, Workload};
use narrows_load::run::{self, RunOptions};
use narrows_load::target::Target;

/// Carries out runs.
pub trait Engine: Sync {
    /// What it runs on.
    type Target: Sync;

    /// Runs a workload to its end and measures it. `control` is told where the run is; the session says that it is over.
    ///
    /// # Errors
    /// Nothing could be measured.
    fn run(
        &self,
        target: &Self::Target,
        workload: &Workload,
        options: &RunOptions,
        control: &Control,
    ) -> Result<Measurement, LoadError>;
}

/// The engine of `narrows-load`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kernel;

impl Engine for Kernel {
    type Target = Target;

    fn run(
        &self,
        target: &Target,
        workload: &Workload,
        options: &RunOptions,
        control: &Control,
    ) -> Result<Measurement, LoadError> {
        run::run(target, workload, options, control)
    }
}
