//! Inputs that explode, never end, or speak to the terminal.

mod bombs;
mod endless;
mod slow;
mod terminal;
mod texts;

use super::attack::Attack;

/// All of them.
pub(crate) fn attacks() -> Vec<Attack> {
    [bombs::attacks(), endless::attacks(), slow::attacks(), terminal::attacks(), texts::attacks()]
        .into_iter()
        .flatten()
        .collect()
}
