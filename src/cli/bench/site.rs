//! A target of a bench before it is opened: what it is, and what may be done there.

use super::args::BenchArgs;
use super::asked::{self, Terms};
use super::place;
use super::runner::Runner;
use crate::cli::{Failure, scene};
use narrows_load::preset::{Preset, StopRule, Work};
use narrows_load::target::Target as Opened;
use narrows_report::bench::BenchReport;
use narrows_session::place::Place;
use narrows_session::runner::Filling;
use narrows_session::scene::Scene;
use narrows_session::writes::{Wanted, Writes};

/// What is known of it.
pub(super) struct Site {
    pub(super) scene: Scene,
    pub(super) place: Place,
}

impl Site {
    /// Finds the target of `terms`.
    ///
    /// # Errors
    /// There is none, or it does not suit what else was asked.
    pub(super) fn of(args: &BenchArgs, terms: &Terms, kept: Option<&BenchReport>) -> Result<Self, Failure> {
        let scene = scene::read(&terms.typed)?;
        let place = place::of(&scene.subject.path, &args.common, terms.read_only)?;
        place::check_way(&place, &scene, &terms.typed)?;
        asked::check_place(&place, kept)?;
        Ok(Self { scene, place })
    }

    /// What these tests want to write.
    pub(super) fn wanted<'a>(
        &'a self,
        args: &BenchArgs,
        terms: &'a Terms,
        preset: &Preset,
        works: &'a [Work],
    ) -> Wanted<'a> {
        let is_device = matches!(self.place, Place::Owned { .. });
        Wanted {
            size: (terms.size.unwrap_or(preset.size), terms.size.is_some()),
            works,
            ..args.common.wanted(&self.scene, is_device, &terms.timing)
        }
    }

    /// Opens it, and fills what is written.
    ///
    /// # Errors
    /// It cannot be opened, made or filled.
    pub(super) fn open(
        &self,
        terms: &Terms,
        preset: &Preset,
        runner: &Runner<'_>,
    ) -> Result<Opened, Failure> {
        // A run that goes on needs the file as large as it was.
        let is_asked = terms.size.is_some() || preset.stop != StopRule::Precision;
        let filling = if is_asked { Filling::Whole } else { Filling::Quick };
        let size = runner.writes().map_or(preset.size, Writes::size);
        place::open(&self.place, size, filling, runner)
    }
}
