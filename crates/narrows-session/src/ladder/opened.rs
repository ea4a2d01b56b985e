//! Opens what load runs on at each layer: devices and files for reading, a scratch file on a file system.

use super::{Ask, scratch};
use crate::objection::Objection;
use crate::place::NoPlace;
use crate::runner::Runner;
use crate::teller::Teller;
use narrows_load::LoadError;
use narrows_load::target::Target;
use narrows_model::path::layers::{Entry, Layer};

/// What was opened at a layer, or why nothing was.
enum Open {
    Target(Target),
    Refused(String),
}

/// The layers with what was opened.
pub struct Opening {
    hops: Vec<String>,
    opened: Vec<Open>,
    hint: Option<String>,
}

impl Opening {
    /// Opens every layer. One that refuses hides no other.
    ///
    /// # Errors
    /// A signal came.
    pub fn of<T: Teller>(layers: &[Layer], ask: Ask, runner: &Runner<'_, T>) -> Result<Self, Objection> {
        let mut opening = Self { hops: Vec::new(), opened: Vec::new(), hint: None };
        for layer in layers {
            let opened = match open(&layer.entry, ask, runner) {
                Err(NoPlace::Load(LoadError::Interrupted)) => {
                    return Err(Objection::new("interrupted before anything was measured"));
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
    pub fn target(&self, layer: usize) -> Option<&Target> {
        match self.opened.get(layer)? {
            Open::Target(target) => Some(target),
            Open::Refused(_) => None,
        }
    }

    /// Why nothing was opened at a layer.
    pub fn refusal(&self, layer: usize) -> Option<&str> {
        match self.opened.get(layer)? {
            Open::Target(_) => None,
            Open::Refused(reason) => Some(reason),
        }
    }

    /// Whether nothing could be opened.
    pub fn is_empty(&self) -> bool {
        (0..self.opened.len()).all(|layer| self.target(layer).is_none())
    }

    /// The layers that could not be opened, and why.
    pub fn left_out(&self) -> impl Iterator<Item = (&str, &str)> {
        self.hops.iter().enumerate().filter_map(|(layer, hop)| Some((hop.as_str(), self.refusal(layer)?)))
    }

    /// Why the ladder is not complete, if it is not.
    pub fn reason(&self) -> Option<String> {
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
    pub fn failure(&self, target: &str) -> Objection {
        let why: Vec<String> = self.left_out().map(|(hop, reason)| format!("{hop}: {reason}")).collect();
        Objection::new(format!("no layer of the path to `{target}` can be opened: {}", why.join("; "))).with_hint(
            "devices are readable by root; without root, name a directory that you may write: its file system is measured",
        )
    }
}

fn open<T: Teller>(entry: &Entry, ask: Ask, runner: &Runner<'_, T>) -> Result<Target, NoPlace> {
    let place = scratch::place_of(entry, ask)?;
    Ok(match place.scratch() {
        Some(_) => scratch::make(&place, ask, runner)?,
        None => place.open()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_layer_that_refuses_is_named_and_hides_no_other() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(&[0; 4096]).expect("it is written");
        let target = Target::open_file_read(file.path()).expect("it opens");
        let refused = || Open::Refused("permission denied".to_owned());
        let opening = Opening {
            hops: vec!["sda".to_owned(), "md0".to_owned(), "fs".to_owned()],
            opened: vec![refused(), refused(), Open::Target(target)],
            hint: Some("run it as root".to_owned()),
        };
        assert!(!opening.is_empty() && opening.target(2).is_some() && opening.target(0).is_none());
        assert_eq!(
            opening.left_out().collect::<Vec<_>>(),
            [("sda", "permission denied"), ("md0", "permission denied")]
        );
        let reason = opening.reason().expect("it is not complete");
        assert_eq!(reason, "2 of 3 layers could not be opened, fs could; run it as root");
        let none = Opening { hops: vec!["sda".to_owned()], opened: vec![refused()], hint: None };
        assert!(none.is_empty());
        let failure = none.failure("/srv").to_string();
        assert_eq!(failure, "no layer of the path to `/srv` can be opened: sda: permission denied");
    }
}
