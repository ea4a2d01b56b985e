//! What an attack is, and what came of it.

use std::fmt;

use super::ground::Ground;

/// Which promise is attacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Something stands on the device.
    Contents,
    /// Something uses the device.
    Use,
    /// A journal that is not what it says.
    Journal,
    /// Things change while narrows works.
    Race,
    /// narrows or its tools are killed.
    Kill,
    /// How much is written, and what is left.
    Bytes,
    /// Directories and files of other users.
    Directory,
    /// Inputs that never end, explode, or speak to the terminal.
    Bounds,
    /// Hosts, launchers and users that answer as it suits them.
    Peer,
    /// Names that people gave, in what is made to be shared.
    Names,
}

impl Class {
    /// Its name in the table and for `--only`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Contents => "contents",
            Self::Use => "use",
            Self::Journal => "journal",
            Self::Race => "race",
            Self::Kill => "kill",
            Self::Bytes => "bytes",
            Self::Directory => "directory",
            Self::Bounds => "bounds",
            Self::Peer => "peer",
            Self::Names => "names",
        }
    }
}

/// Why an attack ended before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// This machine cannot run it. Never counts as held.
    Skip(String),
    /// The attack succeeded, or it could not be seen that it failed.
    Broken(String),
}

/// What most of an attack's functions return.
pub(crate) type Result<T> = std::result::Result<T, Stop>;

/// Ends an attack that this machine cannot run.
pub(crate) fn skip<T>(why: impl Into<String>) -> Result<T> {
    Err(Stop::Skip(why.into()))
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Skip(format!("the attack's own set-up: {error}"))
    }
}

/// What came of an attack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing broke in so many checks.
    Held(usize),
    /// What broke.
    Broken(Vec<String>),
    /// It could not be run.
    Skipped(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held(checks) => write!(f, "held ({checks} checks)"),
            Self::Broken(_) => f.write_str("BROKEN"),
            Self::Skipped(why) => write!(f, "skipped ({why})"),
        }
    }
}

/// Counts the checks of one attack, and keeps those that failed.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    checks: usize,
    broken: Vec<String>,
}

impl Judge {
    /// Checks that something holds; the text says what is wrong where it does not.
    pub(crate) fn that(&mut self, holds: bool, wrong: impl FnOnce() -> String) {
        self.checks += 1;
        if !holds {
            self.broken.push(wrong());
        }
    }

    /// Whether nothing broke so far.
    pub(crate) const fn is_content(&self) -> bool {
        self.broken.is_empty()
    }

    /// Takes over what another one checked.
    pub(crate) fn add(&mut self, other: Self) {
        self.checks += other.checks;
        self.broken.extend(other.broken);
    }

    /// The verdict of an attack that ended so.
    pub(crate) fn verdict(mut self, ended: Result<()>) -> Verdict {
        match ended {
            Err(Stop::Broken(what)) => self.broken.push(what),
            Err(Stop::Skip(why)) if self.broken.is_empty() => return Verdict::Skipped(why),
            Err(Stop::Skip(_)) | Ok(()) => {}
        }
        if !self.broken.is_empty() {
            return Verdict::Broken(self.broken);
        }
        match self.checks {
            0 => Verdict::Broken(vec!["the attack checked nothing".to_owned()]),
            checks => Verdict::Held(checks),
        }
    }
}

/// The body of an attack.
pub(crate) type Body = Box<dyn Fn(&Ground, &mut Judge) -> Result<()> + Send + Sync>;

/// What may run beside an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    Anything,
    /// What does not take turns with it: they share a ground, and what one made there the next one finds.
    Turns,
    Nothing,
}

/// One attack.
pub(crate) struct Attack {
    /// Its name: the class, and a few words.
    pub(crate) name: String,
    /// Which promise it attacks.
    pub(crate) class: Class,
    /// Whether it is quick enough for every test run.
    pub(crate) quick: bool,
    /// What may run meanwhile.
    pub(crate) company: Company,
    /// What it does.
    pub(crate) body: Body,
}

impl Attack {
    /// An attack for the long run only.
    pub(crate) fn new(
        class: Class,
        name: &str,
        body: impl Fn(&Ground, &mut Judge) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: format!("{}/{name}", class.name()),
            class,
            quick: false,
            company: Company::Nothing,
            body: Box::new(body),
        }
    }

    /// The same, beside others that do not need the machine for themselves.
    pub(crate) fn beside(self) -> Self {
        Self { company: Company::Anything, ..self }
    }

    /// The same, beside others, and on one ground with all that take turns.
    pub(crate) fn in_turn(self) -> Self {
        Self { company: Company::Turns, ..self }
    }

    /// The same, with the machine for itself.
    pub(crate) fn alone(self) -> Self {
        Self { company: Company::Nothing, ..self }
    }

    /// The same, also in the quick run.
    pub(crate) fn quick(self) -> Self {
        Self { quick: true, ..self }
    }
}

impl fmt::Debug for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
