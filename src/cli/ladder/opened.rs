//! Opens what load runs on at each layer: devices and files for reading, a scratch file on a file system.

use super::args::LadderArgs;
use super::runner::Runner;
use super::scratch;
use crate::cli::Failure;
use narrows_load::LoadError;
use narrows_load::target::Target;
use narrows_model::path::layers::{Entry, Layer};
use narrows_session::place::NoPlace;

/// What was opened at a layer, or why nothing was.
enum Open {
    Target(Target),
    Refused(String),
}

/// The layers with what was opened.
pub(super) struct Opening {
    hops: Vec<String>,
    opened: Vec<Open>,
    hint: Option<String>,
}

impl Opening {
    /// Opens every layer. One that refuses hides no other.
    ///
    /// # Errors
    /// A signal came.
    pub(super) fn of(layers: &[Layer], args: &LadderArgs, runner: &Runner<'_>) -> Result<Self, Failure> {
        let mut opening = Self { hops: Vec::new(), opened: Vec::new(), hint: None };
        for layer in layers {
            let opened = match open(&layer.entry, args, runner) {
                Err(NoPlace::Load(LoadError::Interrupted)) => {
                    return Err(Failure::new("interrupted before anything was measured"));
                }
                Err(NoPlace::Load(error)) => {
                    opening.hint = opening.hint.or_else(|| error.hint().map(str::to_owned));
                    Open::Refused(error.to_string())
                }
                Err(_) => Open::Refused("--read writes no scratch file; name a large file on it".to_owned()),
                Ok(target) => Open::Target(target),
            };
            opening.hops.push(layer.hop.to_string());
            opening.opened.push(opened);
        }
        Ok(opening)
    }

    /// What was opened at a layer.
    pub(super) fn target(&self, layer: usize) -> Option<&Target> {
        match self.opened.get(layer)? {
            Open::Target(target) => Some(target),
            Open::Refused(_) => None,
        }
    }

    /// Why nothing was opened at a layer.
    pub(super) fn refusal(&self, layer: usize) -> Option<&str> {
        match self.opened.get(layer)? {
            Open::Target(_) => None,
            Open::Refused(reason) => Some(reason),
        }
    }

    /// Whether nothing could be opened.
    pub(super) fn is_empty(&self) -> bool {
        (0..self.opened.len()).all(|layer| self.target(layer).is_none())
    }

    /// The layers that could not be opened, and why.
    pub(super) fn left_out(&self) -> impl Iterator<Item = (&str, &str)> {
        self.hops.iter().enumerate().filter_map(|(layer, hop)| Some((hop.as_str(), self.refusal(layer)?)))
    }

    /// Why the ladder is not complete, if it is not.
    pub(super) fn reason(&self) -> Option<String> {
        let missing = self.left_out().count();
        let there: Vec<&str> = self
            .hops
            .iter()
            .enumerate()
            .filter(|(layer, _)| self.target(*layer).is_some())
            .map(|(_, hop)| hop.as_str())
            .collect();
        let hint = self.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
        (missing > 0).then(|| {
            format!(
                "{missing} of {} layers could not be opened, {} could{hint}",
                self.hops.len(),
                there.join(", ")
            )
        })
    }

    /// The failure when nothing could be opened.
    pub(super) fn failure(&self, target: &str) -> Failure {
        let why: Vec<String> = self.left_out().map(|(hop, reason)| format!("{hop}: {reason}")).collect();
        Failure::new(format!("no layer of the path to `{target}` can be opened: {}", why.join("; "))).hint(
            "devices are readable by root; without root, name a directory that you may write: its file system is measured",
        )
    }
}

fn open(entry: &Entry, args: &LadderArgs, runner: &Runner<'_>) -> Result<Target, NoPlace> {
    let place = scratch::place_of(entry, args)?;
    Ok(match place.scratch() {
        Some(_) => scratch::make(&place, args, runner)?,
        None => place.open()?,
    })
}
