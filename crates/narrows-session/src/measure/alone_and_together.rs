//! Several targets: each alone, then groups of them at the same time, with the same load.

use super::engine::Engine;
use super::evidence::Witness;
use super::follow::Follower;
use super::session::{Asked, Seen, Session};
use narrows_load::error::LoadError;

/// What a round of runs has come to.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// What each target gave alone, in their order.
    pub(super) alone: Vec<Seen>,
    /// What each group gave at the same time, in their order.
    pub(super) together: Vec<Seen>,
    /// The run that ended the rest, if one did: nothing can be compared with it.
    pub(super) cut_short: Option<String>,
}

/// Runs a load on each target alone and then on each group of them at the same time, in that order. `ahead` is told which
/// targets come next. A run that is cut short or fails ends the rest and is not kept.
///
/// # Errors
/// Nothing could be measured at all.
pub(super) fn alone_and_together<W: Witness, E: Engine>(
    session: &Session<'_, W, E>,
    asked: &Asked,
    (targets, groups): (&[E::Target], &[Vec<usize>]),
    follower: &impl Follower,
    ahead: &dyn Fn(&[usize]),
) -> Result<Rounds, LoadError> {
    let mut rounds = Rounds::default();
    let singles: Vec<Vec<usize>> = (0..targets.len()).map(|index| vec![index]).collect();
    for members in singles.iter().chain(groups) {
        let those: Vec<&E::Target> = members.iter().filter_map(|index| targets.get(*index)).collect();
        ahead(members);
        let seen = match session.run(asked, &those, follower) {
            Ok(seen) => seen,
            Err(error) if rounds.alone.is_empty() => return Err(error),
            Err(error) => {
                rounds.cut_short = Some(error.to_string());
                break;
            }
        };
        let cut_short = seen.measurements.iter().find_map(|one| one.cut_short.clone());
        if cut_short.is_some() || session.is_stopped() {
            rounds.cut_short = cut_short.or_else(|| Some("interrupted".to_owned()));
            break;
        }
        let kept = if members.len() == 1 { &mut rounds.alone } else { &mut rounds.together };
        kept.push(seen);
    }
    Ok(rounds)
}
