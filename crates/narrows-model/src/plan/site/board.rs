//! A site of which only the board is known.

use super::{Attachment, Narrowed, Ports, Setting, Shared, Site, Slot, splitting};
use crate::ceiling::pcie;
use crate::plan::problem::WholeRate;
use narrows_base::catalog::{Aspect, Board, BoardSlot, Chipset, Gap, Processor, catalog};
use narrows_base::units::{Bytes, BytesPerSec, GtPerSec, Lanes};

/// What else is known of a machine with a board.
#[derive(Debug, Clone, Default)]
pub struct BoardOptions<'a> {
    /// Its processors, where somebody said.
    pub processor: Option<&'a Processor>,
    /// The name of the processor as it was read or typed.
    pub processor_model: Option<String>,
    /// How many there are; all that fit when nobody said.
    pub sockets: Option<u8>,
    /// Take slots of which nobody said whether the firmware can split them for ones that it can.
    pub assume_splitting: bool,
}

/// The site that a board makes.
pub fn of_board(board: &Board, options: &BoardOptions<'_>) -> Site {
    let usual = board.processor.as_deref().and_then(processor_named);
    let processor = options.processor.or(usual);
    let fits = if board.slots.iter().any(|slot| slot.attachment == "cpu2") { 2 } else { 1 };
    let sockets = options.sockets.unwrap_or(fits).clamp(1, fits);
    let slots: Vec<Slot> =
        board.slots.iter().map(|slot| of_slot(board, slot, processor, sockets, options)).collect();
    let chipset =
        board.chipset.as_deref().and_then(|name| catalog().chipsets.iter().find(|c| c.name == name));
    let mut notes = Vec::new();
    let hangs_on_chipset = board.slots.iter().any(|slot| slot.attachment == "chipset");
    if chipset.is_none() && hangs_on_chipset {
        notes.push(
            "The uplink of its chipset is not known; what is behind it is counted as if it had none."
                .to_owned(),
        );
    }
    if options.processor.is_none()
        && let Some(usual) = usual
    {
        notes.push(format!("Its processors are taken for {}, which such machines usually have.", usual.name));
    }
    let unknown = slots.iter().filter(|slot| slot.may_be_split()).count();
    if unknown > 0 && !options.assume_splitting {
        notes.push(format!(
            "Whether the firmware can split {unknown} of its slots is not known; they are taken for slots that it cannot."
        ));
    }
    let mut site = Site {
        name: board.name.clone(),
        source: board.source.clone(),
        processor: processor.map(|processor| processor.name.clone()),
        processor_model: options.processor_model.clone(),
        sockets,
        slots,
        chipset: chipset.map(uplink),
        interconnect: interconnect(processor, sockets),
        sata: ports(board),
        gaps: board.gaps().iter().filter(|gap| gap.aspect.matters()).map(told).collect(),
        notes,
    };
    site.gaps.extend(site.more_lanes_than_there_are());
    site
}

fn ports(board: &Board) -> Ports {
    let names = board.sata.iter().flat_map(|it| &it.ports).cloned().collect();
    let whole = board.gaps().iter().all(|gap| gap.aspect != Aspect::Sata);
    Ports { names, whole, used: 0 }
}

fn told(gap: &Gap) -> String {
    format!("{} (look at {})", gap.what, gap.aspect.place())
}

pub(super) fn processor_named(name: &str) -> Option<&'static Processor> {
    catalog().processors.iter().find(|processor| processor.name == name)
}

fn of_slot(
    board: &Board,
    slot: &BoardSlot,
    processor: Option<&Processor>,
    sockets: u8,
    options: &BoardOptions<'_>,
) -> Slot {
    let attachment = match slot.attachment.as_str() {
        "chipset" => Attachment::Chipset,
        "cpu2" => Attachment::Cpu(1),
        _ => Attachment::Cpu(0),
    };
    let few = processor.and_then(|processor| {
        let holds = |rule: &&narrows_base::catalog::ProcessorLanes| processor.pcie_lanes <= rule.at_most;
        slot.processor_lanes.iter().filter(holds).map(|rule| rule.lanes).min()
    });
    let lanes = Lanes::new(few.unwrap_or(slot.lanes));
    let dead = if attachment.socket() >= sockets {
        Some("needs the second processor".to_owned())
    } else if lanes.get() == 0 {
        Some("off with this processor".to_owned())
    } else {
        None
    };
    let place = |name: &String| board.slots.iter().position(|slot| slot.name == *name);
    let places = |names: &[String]| names.iter().filter_map(place).collect::<Vec<usize>>();
    let others = |names: &[String]| names.iter().filter(|name| place(name).is_none()).cloned().collect();
    let narrowed = slot
        .narrowed_by
        .iter()
        .map(|rule| Narrowed { by: places(&rule.by), lanes: Lanes::new(rule.lanes) })
        .collect();
    let setting = slot.option.as_ref().map(|option| Setting {
        menu: option.menu.clone(),
        value: option.value.clone(),
        default_lanes: Lanes::new(option.default_lanes),
        slots_off: places(&option.disables),
        connectors_off: others(&option.disables),
    });
    let speed = slot.speed().unwrap_or(GtPerSec::GEN1);
    let own = match attachment {
        Attachment::Chipset => None,
        Attachment::Cpu(_) => processor.and_then(|p| GtPerSec::from_pcie_generation(p.pcie_generation)),
    };
    let link = (Lanes::new(slot.connector), lanes, own.map_or(speed, |own| own.min(speed)));
    Slot {
        longest: slot.longest,
        splitting: splitting(slot.bifurcation.as_deref(), slot.form, lanes, options.assume_splitting),
        narrowed,
        setting,
        connectors_off: slot.disables.clone(),
        dead,
        shares: slot.shares.clone(),
        ..Slot::new(&slot.name, slot.form, link, attachment)
    }
}

/// The uplink of a chipset, by the law of [`crate::ceiling::uplink`].
pub(super) fn uplink(chipset: &Chipset) -> Shared {
    let speed = GtPerSec::from_pcie_generation(chipset.generation).unwrap_or(GtPerSec::GEN1);
    let raw = pcie::raw(speed, Lanes::new(chipset.lanes)).unwrap_or_default();
    let payload = Bytes::new(u64::from(chipset.max_payload));
    Shared {
        name: format!("{} of the {}", chipset.uplink, chipset.name),
        rate: WholeRate::new(pcie::device_to_host(raw, payload)),
        write: WholeRate::new(pcie::host_to_device(raw, payload)),
    }
}

/// The connection between so many sockets, by the law of [`crate::ceiling::uplink`].
pub(super) fn interconnect(platform: Option<&Processor>, sockets: u8) -> Option<Shared> {
    let connection = platform?.interconnect.as_ref().filter(|_| sockets > 1)?;
    let links = BytesPerSec::from_gb(connection.gigabytes_per_second) * f64::from(connection.links);
    let rate = WholeRate::new(links * connection.efficiency);
    Some(Shared { name: connection.name.clone(), rate, write: rate })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::site::Splitting;

    fn site(name: &str, options: &BoardOptions<'_>) -> Site {
        of_board(catalog().board_named(name).expect("a known board"), options)
    }

    fn slot<'a>(site: &'a Site, name: &str) -> &'a Slot {
        site.slots.iter().find(|slot| slot.name == name).expect("a slot")
    }

    /// ASUS X99-A manual: x16/x16/x8 with 40 lanes, x16/x8/x4 with 28.
    #[test]
    fn a_processor_with_28_lanes_leaves_less() {
        let few = catalog().processors.iter().find(|p| p.name == "Intel Haswell-E with 28 lanes");
        let narrow = site("asus-x99-a", &BoardOptions { processor: few, ..BoardOptions::default() });
        let widths = |site: &Site| -> Vec<u8> {
            ["PCIEX16_1", "PCIEX16_3", "PCIEX16_4"].iter().map(|name| slot(site, name).lanes.get()).collect()
        };
        assert_eq!(widths(&narrow), [16, 8, 4]);
        assert_eq!(widths(&site("asus-x99-a", &BoardOptions::default())), [16, 16, 8]);
    }

    #[test]
    fn a_setting_names_the_slots_and_connectors_that_it_costs() {
        let site = site("asus-x99-a", &BoardOptions::default());
        let setting = slot(&site, "PCIEX16_2").setting.clone().expect("a setting");
        assert_eq!((setting.default_lanes, setting.value.as_str()), (Lanes::new(1), "X4 Mode"));
        assert_eq!(
            setting.slots_off.iter().map(|at| site.slots[*at].name.as_str()).collect::<Vec<_>>(),
            ["PCIEX1_1"]
        );
        assert_eq!(setting.connectors_off, ["USB3_E56"]);
        // DMI 2.0 with payloads of 128 bytes.
        assert_eq!(site.chipset.map(|uplink| uplink.rate.get() / 1_000_000), Some(1679));
    }

    #[test]
    fn a_site_has_the_gaps_of_its_board_that_matter_for_slots() {
        let gaps = |name: &str| site(name, &BoardOptions::default()).gaps;
        assert_eq!(gaps("friendlyelec-cm3588-nas"), [""; 0]);
        // Its SATA connectors are not known either, and no card goes there.
        assert_eq!(gaps("dell-poweredge-r720xd"), [""; 0]);
        let x99 = gaps("asus-x99-a");
        assert!(x99.len() == 1 && x99[0].starts_with("whether the firmware can split"), "{x99:?}");
        assert_eq!(gaps("dell-poweredge-r640").len(), 5);
    }

    #[test]
    fn slots_of_a_processor_that_is_not_there_are_dead() {
        let one =
            site("dell-poweredge-r720xd", &BoardOptions { sockets: Some(1), ..BoardOptions::default() });
        let dead = one.slots.iter().filter(|slot| slot.dead.is_some()).count();
        assert_eq!((dead, one.interconnect.is_some()), (4, false));
        let two = site("dell-poweredge-r720xd", &BoardOptions::default());
        let living = two
            .slots
            .iter()
            .filter(|slot| slot.form == narrows_base::catalog::SlotForm::Card && slot.dead.is_none())
            .count();
        assert_eq!((living, two.interconnect.is_some()), (6, true));
        assert!(two.slots.iter().all(|slot| slot.splitting == Splitting::Never));
    }

    #[test]
    fn a_slot_of_which_nobody_said_whether_it_splits_is_split_only_when_asked() {
        let board = site("dell-poweredge-r640", &BoardOptions::default());
        assert_eq!(slot(&board, "Slot 1").splitting, Splitting::Unknown);
        let options = BoardOptions { assume_splitting: true, ..BoardOptions::default() };
        let Splitting::Modes(modes) =
            &slot(&site("dell-poweredge-r640", &options), "Slot 1").splitting.clone()
        else {
            panic!("not split")
        };
        assert_eq!(modes.iter().map(ToString::to_string).collect::<Vec<_>>(), ["x4x4x4x4"]);
    }
}
