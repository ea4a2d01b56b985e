//! `--export`: the machine with its findings in the format of another program.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use super::Failure;
use super::bench::save::write_new;
use super::output;
use narrows_base::shell;
use narrows_machine::Machine;
use narrows_report::hwloc;
use narrows_report::view::CheckReport;

/// What is written, and where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The file, which must not be there yet; `None` for standard output, in place of the report.
    file: Option<PathBuf>,
}

impl Export {
    /// Reads `hwloc`, `hwloc=-` or `hwloc=FILE`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (format, file) = text.split_once('=').map_or((text, None), |(format, file)| (format, Some(file)));
        match (format, file) {
            ("hwloc", None | Some("-")) => Ok(Self { file: None }),
            ("hwloc", Some(file)) if !file.is_empty() => Ok(Self { file: Some(file.into()) }),
            ("hwloc", _) => Err("name the file: hwloc=FILE".to_owned()),
            _ => Err("the format is hwloc".to_owned()),
        }
    }

    /// Whether it takes the place of the report.
    pub(super) const fn is_report(&self) -> bool {
        self.file.is_none()
    }

    /// Writes the machine.
    ///
    /// # Errors
    /// [`Failure`] when the file exists already or cannot be written.
    pub(super) fn write(&self, machine: &Machine, report: &CheckReport) -> Result<(), Failure> {
        let xml = hwloc::export(machine, report);
        match &self.file {
            Some(file) => {
                write_new(file, &xml)?;
                output::note(&format!("narrows: `lstopo -i {}` shows it", shell::path(file)));
                Ok(())
            }
            None if io::stdout().is_terminal() => Err(Failure::new("XML is no text for a terminal")
                .hint("name a file, --export hwloc=FILE, or send it on: `narrows --export hwloc | lstopo --if xml -i -`")),
            None => output::data(&xml),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_may_have_a_file() {
        assert_eq!(Export::parse("hwloc"), Ok(Export { file: None }));
        assert_eq!(Export::parse("hwloc=-"), Ok(Export { file: None }));
        assert_eq!(Export::parse("hwloc=a=b.xml"), Ok(Export { file: Some("a=b.xml".into()) }));
        assert!(Export::parse("hwloc=").is_err() && Export::parse("svg").is_err());
    }
}
