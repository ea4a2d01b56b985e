//! What is typed.

use std::path::PathBuf;

/// How to use it.
pub(crate) const USAGE: &str = "\
Attacks on narrows: each tries to make it harm bytes that are not its own.

Usage: attacks [OPTIONS]

  --list             show the attacks, and run none
  --only PATTERN     only attacks whose name contains this (several times: any of them)
  --quick            only those for every test run, with fewer rounds
  --seed N           what decides chance [default: drawn, and printed]
  --binary FILE      the narrows to attack [default: the one that was built with this program]
  --place DIR        where the sparse files are made [default: the directory for temporary files]
  --summary FILE     also write the table as JSON
  --with FILE        count in the table that another run wrote with --summary (what ran in a virtual machine)
  --install FILE     copy this program there, for a virtual machine, and run nothing
  --keep             leave the directory of an attack that broke something

Without root all are skipped. Exit status: 0 all held or were skipped, 1 something broke, 2 it could not be done.";

/// The options.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) list: bool,
    pub(crate) help: bool,
    pub(crate) quick: bool,
    pub(crate) keep: bool,
    pub(crate) only: Vec<String>,
    pub(crate) seed: Option<u64>,
    pub(crate) binary: Option<PathBuf>,
    pub(crate) place: Option<PathBuf>,
    pub(crate) summary: Option<PathBuf>,
    pub(crate) with: Vec<PathBuf>,
    pub(crate) install: Option<PathBuf>,
}

impl Options {
    /// Understands the words of a command line.
    ///
    /// # Errors
    /// A word that is none of ours, as a sentence.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("`{word}` lacks its value"));
            match word.as_str() {
                "--list" => options.list = true,
                "--help" | "-h" => options.help = true,
                "--quick" => options.quick = true,
                "--keep" => options.keep = true,
                "--only" => options.only.push(value()?),
                "--seed" => {
                    let text = value()?;
                    options.seed = Some(text.parse().map_err(|_| format!("`{text}` is no seed"))?);
                }
                "--binary" => options.binary = Some(value()?.into()),
                "--place" => options.place = Some(value()?.into()),
                "--summary" => options.summary = Some(value()?.into()),
                "--install" => options.install = Some(value()?.into()),
                "--with" => options.with.push(value()?.into()),
                other => return Err(format!("`{other}` is no option")),
            }
        }
        Ok(options)
    }
}
