//! Drives on the SATA ports of a board: they take no slot, so no search is needed, only a count.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use super::site::Site;

/// Where drives on SATA ports go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Seated {
    /// How many are wanted.
    pub wanted: usize,
    /// The ports that there are for them, without those that a placement turns off. Where drives are on some of them already, so
    /// many fewer are free.
    pub ports: Vec<String>,
    /// How many of them are free.
    pub free: usize,
    /// Whether all ports of the board are known.
    #[serde(rename = "all_known")]
    pub whole: bool,
}

impl Seated {
    /// Whether all have a port.
    pub const fn fits(&self) -> bool {
        self.wanted <= self.free
    }

    /// Why they do not all have one; `None` when they have, or when it is not known.
    pub fn impossible(&self) -> Option<String> {
        (self.whole && !self.fits()).then(|| {
            format!(
                "{} SATA drives are wanted, and {} SATA ports are free: the others need an adapter (hba)",
                self.wanted, self.free
            )
        })
    }

    /// What is not known, when it is not known whether all have a port.
    pub fn not_known(&self) -> Option<String> {
        (!self.whole && !self.fits()).then(|| {
            format!(
                "{} SATA drives are wanted, and of its SATA ports {} are known to be free (look at the manual's page on SATA \
                 connectors)",
                self.wanted, self.free
            )
        })
    }
}

/// Where so many drives go beside what a placement turns off; `None` when none are wanted.
pub fn seat(site: &Site, wanted: usize, beside: Option<&Outcome>) -> Option<Seated> {
    let is_lost = |name: &String| {
        let lost = beside.map(|outcome| outcome.lost.as_slice()).unwrap_or_default();
        lost.iter().any(|lost| lost.strip_suffix(" (off)").unwrap_or(lost) == name)
    };
    let ports: Vec<String> = site.sata.names.iter().filter(|name| !is_lost(name)).cloned().collect();
    let free = ports.len().saturating_sub(site.sata.used);
    (wanted > 0).then_some(Seated { wanted, ports, free, whole: site.sata.whole })
}

#[cfg(test)]
mod tests {
    use super::super::site::{BoardOptions, of_board};
    use super::*;
    use narrows_base::catalog::catalog;

    fn site(id: &str) -> Site {
        of_board(catalog().board_named(id).expect("a known board"), &BoardOptions::default())
    }

    #[test]
    fn a_board_with_eight_ports_holds_eight_drives() {
        let mut board = site("supermicro-x11ssm-f");
        assert_eq!(seat(&board, 0, None), None);
        assert!(seat(&board, 8, None).is_some_and(|it| it.fits() && it.impossible().is_none()));
        let too_many = seat(&board, 9, None).expect("some are wanted");
        assert!(
            too_many.impossible().is_some_and(|why| why.contains("8 SATA ports are free")),
            "{too_many:?}"
        );
        board.sata.used = 3;
        assert!(seat(&board, 6, None).is_some_and(|it| it.free == 5 && !it.fits()));
    }

    #[test]
    fn of_ports_that_nobody_listed_nothing_is_said_to_be_impossible() {
        let unknown = seat(&site("dell-poweredge-r640"), 4, None).expect("some are wanted");
        assert!(unknown.impossible().is_none() && unknown.not_known().is_some(), "{unknown:?}");
    }

    #[test]
    fn a_port_that_a_placement_turns_off_holds_none() {
        let board = site("supermicro-x11ssm-f");
        let beside = Outcome { lost: vec!["SATA5 (off)".to_owned()], ..Outcome::default() };
        assert_eq!(seat(&board, 1, Some(&beside)).map(|it| it.ports.len()), Some(7));
    }
}
