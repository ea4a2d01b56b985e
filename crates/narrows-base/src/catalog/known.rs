//! What is known of a board, and what is not: a table with a gap must not be taken for the board.

use serde::{Deserialize, Serialize};

use super::entry::Board;

/// A part of what a plan has to know of a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// The slots for cards: all of them, under the names printed on the board, with lanes, generation and attachment.
    Slots,
    /// The M.2, U.2 and OCuLink connectors, likewise.
    Sockets,
    /// The SATA ports and what they hang on.
    Sata,
    /// What takes lanes of what, and what is off for it.
    Sharing,
    /// Into which links the firmware can split each slot of eight lanes or more.
    Bifurcation,
    /// The lanes of the processor socket and of the chipset in total, and what on the board uses them for good.
    Lanes,
}

impl Aspect {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Slots, Self::Sockets, Self::Sata, Self::Sharing, Self::Bifurcation, Self::Lanes];

    /// What is not known, when nothing more is said.
    const fn unknown(self) -> &'static str {
        match self {
            Self::Slots => "whether these are all of its slots",
            Self::Sockets => "its M.2, U.2 and OCuLink sockets",
            Self::Sata => "its SATA ports",
            Self::Sharing => "what its slots and sockets share",
            Self::Bifurcation => "into which links the firmware can split its slots",
            Self::Lanes => "how many lanes its processor socket and chipset have in total",
        }
    }

    /// Where it is found.
    pub const fn place(self) -> &'static str {
        match self {
            Self::Slots => "the manual's section on expansion slots, and the print on the board",
            Self::Sockets => "the manual's page on M.2 sockets, and the board itself",
            Self::Sata => "the manual's page on SATA connectors",
            Self::Sharing => "the notes below the manual's tables of slots, M.2 sockets and SATA connectors",
            Self::Bifurcation => {
                "the firmware's setup, where it has \"PCIe lanes\" or \"bifurcation\" of a slot, and its manual"
            }
            Self::Lanes => "the data sheets of the processor and the chipset",
        }
    }

    /// Whether not knowing it can change where cards and NVMe drives go.
    pub const fn matters(self) -> bool {
        !matches!(self, Self::Sata)
    }
}

/// One text for each [`Aspect`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByAspect {
    /// [`Aspect::Slots`].
    pub slots: Option<String>,
    /// [`Aspect::Sockets`].
    pub sockets: Option<String>,
    /// [`Aspect::Sata`].
    pub sata: Option<String>,
    /// [`Aspect::Sharing`].
    pub sharing: Option<String>,
    /// [`Aspect::Bifurcation`].
    pub bifurcation: Option<String>,
    /// [`Aspect::Lanes`].
    pub lanes: Option<String>,
}

impl ByAspect {
    /// The text for an aspect.
    pub fn of(&self, aspect: Aspect) -> Option<&str> {
        match aspect {
            Aspect::Slots => &self.slots,
            Aspect::Sockets => &self.sockets,
            Aspect::Sata => &self.sata,
            Aspect::Sharing => &self.sharing,
            Aspect::Bifurcation => &self.bifurcation,
            Aspect::Lanes => &self.lanes,
        }
        .as_deref()
    }
}

/// SATA ports that hang on the same controller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SataPorts {
    /// The names of the ports, as printed where that is known.
    pub ports: Vec<String>,
    /// `cpu` or `chipset`.
    pub attachment: String,
    /// The controller, where it is not the chipset's or processor's own; its lanes stand in [`Board::fixed`].
    pub controller: Option<String>,
}

/// Lanes that something soldered to the board uses, or a connector that takes no drive and no card.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fixed {
    /// What it is: `2.5GbE controller`.
    pub what: String,
    /// `cpu`, `cpu2` or `chipset`.
    pub attachment: String,
    pub lanes: u8,
}

/// PCIe lanes in total, whatever they lead to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// Of the processor socket, with the processor that has the most.
    pub cpu: u16,
    /// Of the second processor socket.
    #[serde(default)]
    pub cpu2: u16,
    #[serde(default)]
    pub chipset: u16,
}

/// Something about a board that is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// What it is about.
    pub aspect: Aspect,
    /// What is not known: `its M.2 sockets`.
    pub what: String,
}

impl Board {
    /// What is not known of it; empty exactly when its table is complete.
    pub fn gaps(&self) -> Vec<Gap> {
        let gap = |aspect: Aspect| {
            let what = match (self.missing.of(aspect), self.cites.of(aspect)) {
                (Some(what), _) => what,
                (None, Some(_)) if self.verified => return None,
                (None, _) => aspect.unknown(),
            };
            Some(Gap { aspect, what: what.to_owned() })
        };
        Aspect::ALL.into_iter().filter_map(gap).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cited(verified: bool) -> Board {
        let page = Some("a manual, page 12".to_owned());
        let cites = ByAspect {
            slots: page.clone(),
            sockets: page.clone(),
            sata: page.clone(),
            sharing: page.clone(),
            bifurcation: page.clone(),
            lanes: page,
        };
        Board { cites, verified, ..Board::default() }
    }

    #[test]
    fn a_board_is_known_when_each_aspect_is_cited() {
        assert_eq!(cited(true).gaps(), []);
        assert_eq!(Board { verified: true, ..Board::default() }.gaps().len(), Aspect::ALL.len());
    }

    #[test]
    fn what_is_from_memory_is_not_known() {
        assert_eq!(cited(false).gaps().len(), Aspect::ALL.len());
    }

    #[test]
    fn what_is_missing_is_said_in_the_words_of_the_entry() {
        let mut board = cited(true);
        board.missing.sharing = Some("what M2_3 turns off".to_owned());
        let gaps = board.gaps();
        assert_eq!(gaps, [Gap { aspect: Aspect::Sharing, what: "what M2_3 turns off".to_owned() }]);
        assert!(gaps.iter().all(|gap| gap.aspect.matters()));
        assert!(!Aspect::Sata.matters());
    }
}
