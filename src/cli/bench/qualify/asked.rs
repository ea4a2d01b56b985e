//! What must be typed for a qualification, and what cannot go with it.

use std::time::Duration;

use super::super::args::{BenchArgs, EngineName};
use crate::cli::Failure;
use narrows_base::shell;
use narrows_base::units::{Bytes, human};
use narrows_load::latency_target::LatencyTarget;
use narrows_load::qualify::{LEAST, Plan};
use narrows_session::measure::Timing;
use narrows_session::qualify::Terms;
use narrows_session::writes::whole_gib;

/// How long a drive is left alone, unless --rest says so.
const REST: Duration = Duration::from_secs(60);

/// What a qualification was asked.
pub(super) struct Asked<'a> {
    /// The device as it was typed.
    pub(super) typed: &'a str,
    /// `--max-writes`.
    pub(super) max_writes: Bytes,
    /// `--target`.
    pub(super) target: Option<&'a LatencyTarget>,
    /// `--rest`.
    rest: Duration,
    /// The time of a round, and of each load that is not run until its rate is known.
    round: Duration,
}

/// A round of SNIA's test.
const ROUND: Duration = Duration::from_secs(60);

impl<'a> Asked<'a> {
    /// What was typed.
    ///
    /// # Errors
    /// Something that must be typed is not, or does not go with a qualification.
    pub(super) fn of(args: &'a BenchArgs) -> Result<Self, Failure> {
        let unfit = [
            (
                args.save.is_some() || args.resume.is_some(),
                "--save and --resume: the drive is blank again afterwards",
            ),
            (args.emit_fio.is_some(), "--emit-fio"),
            (args.engine != EngineName::Narrows, "--engine: the writes of others bear no marks"),
            (args.common.size.is_some(), "--size: it writes as much of the drive as --max-writes allows"),
            (args.samples.is_some() || args.sample_size.is_some(), "--samples and --sample-size"),
            (args.common.read_only, "--read-only"),
        ];
        if let Some((_, what)) = unfit.iter().find(|(is_typed, _)| *is_typed) {
            return Err(Failure::new(format!("a qualification takes no {what}")).hint("leave it out"));
        }
        let typed = args.target.as_deref().ok_or_else(|| Failure::new("name a device"))?;
        let writing = &args.common.writing;
        if !writing.write || writing.i_own.is_none() {
            return Err(Failure::new("a qualification writes all of a blank drive").hint(format!(
                "say that it is yours: narrows bench {} --preset qualify --write --i-own SERIAL --max-writes SIZE",
                shell::path(typed)
            )));
        }
        let Some(max_writes) = writing.max_writes else {
            return Err(Failure::new(
                "a qualification writes a drive several times over, so --max-writes must be typed",
            )
            .hint("all parts need about four and a third times the drive; less runs what fits into it"));
        };
        Ok(Self {
            typed,
            max_writes,
            target: args.common.latency_target.as_ref(),
            rest: args.rest.unwrap_or(REST),
            round: args.common.duration.unwrap_or(ROUND),
        })
    }

    /// The terms of its parts, whose loads run for so long.
    pub(super) fn terms(&self, timing: Timing) -> Terms {
        let Self { rest, round, .. } = *self;
        Terms { target: self.target.cloned(), rest, round, timing }
    }

    /// The time of a round in whole seconds, one at least.
    pub(super) fn round_seconds(&self) -> u32 {
        u32::try_from(self.round.as_secs()).unwrap_or(u32::MAX).max(1)
    }
}

/// What was typed is no block device.
pub(super) fn no_device(typed: &str) -> Failure {
    Failure::new(format!("`{typed}` is not a block device")).hint("a qualification takes a whole blank drive")
}

/// Not even the least region fits into what may be written.
pub(super) fn too_little(name: &str, capacity: Bytes, allowed: Bytes) -> Failure {
    let least = capacity.min(LEAST);
    let needed = Plan::new(capacity, Bytes::new(u64::MAX), false).map_or(least, |plan| plan.needed);
    Failure::new(format!(
        "--max-writes {} are too few for {name}: {} must be written and cleared again at the least",
        human::block_size(allowed),
        human::bytes(least)
    ))
    .hint(format!("all parts over the whole drive need --max-writes {}", whole_gib(needed)))
}
