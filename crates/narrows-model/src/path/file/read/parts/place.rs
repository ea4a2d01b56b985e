//! Hosts and slots.

use super::super::keys::Keys;
use super::{HOST, link};
use crate::path::file::{Attachment, Host, Interconnect, Iommu, Name, Slot};
use narrows_base::catalog::{SlotForm, catalog};
use narrows_base::units::Lanes;

/// The words for what fits into a slot.
const FORMS: &[&str] = &["card", "m2", "u2", "oculink"];

pub(super) fn host(keys: &mut Keys<'_>) -> Host {
    let links = keys.count("interconnect_links", 1, 16);
    let link_rate = keys.rate("interconnect_rate");
    if links.is_some() != link_rate.is_some() {
        keys.wrong(
            if links.is_some() { "interconnect_links" } else { "interconnect_rate" },
            "half of the interconnect is given",
            "interconnect_links and interconnect_rate (of one link, one direction) go together",
        );
    }
    let links = links.and_then(|links| u8::try_from(links).ok());
    let host = Host {
        board: board(keys),
        processor: keys.text("processor"),
        cpu: keys.text("cpu"),
        sockets: keys.count("sockets", 1, 64).unwrap_or(1),
        reader_socket: keys.count("reader_socket", 0, 63),
        cores: keys.count("cores", 1, 65_536),
        interconnect: links.zip(link_rate).map(|(links, rate)| Interconnect { links, rate }),
        memory: keys.size("memory"),
        memory_rate: keys.rate("memory_rate"),
        core_iops: keys.iops("core_iops"),
        iommu: iommu(keys),
        iommu_pages: keys.size("iommu_pages"),
        decrypt: keys.rate("decrypt"),
        encrypt: keys.rate("encrypt"),
    };
    if let Some(name) = &host.processor
        && crate::path::file::build::processor_entry(name).is_none()
    {
        let hint =
            "data/processors.toml has the platforms; give interconnect_links and interconnect_rate instead";
        keys.wrong("processor", format!("the catalogue knows no processor `{name}`"), hint);
    }
    host
}

/// How the host translates addresses.
fn iommu(keys: &mut Keys<'_>) -> Option<Iommu> {
    let words = Iommu::ALL.map(Iommu::word);
    let word = keys.word("iommu", &words)?;
    Iommu::ALL.into_iter().find(|way| way.word() == word)
}

/// A board of the catalogue, as its id.
fn board(keys: &mut Keys<'_>) -> Option<String> {
    let typed = keys.text("board")?;
    let known = catalog().board_named(&typed);
    if known.is_none() {
        let hint = "`narrows plan --board list` shows the boards; leave the key out for another";
        keys.wrong("board", format!("the catalogue knows no board `{typed}`"), hint);
    }
    known.map(narrows_base::catalog::Board::id)
}

pub(super) fn slot(keys: &mut Keys<'_>, only_host: Option<&str>) -> Option<Slot> {
    let socket = keys.count("socket", 0, 63);
    let chipset = keys.name("chipset", &["chipset"]);
    let split = keys.name("slot", &["slot"]);
    let host = keys.name("host", HOST);
    let (link, connector) = (link(keys), keys.lanes("connector"));
    let (form, bifurcation) = (form(keys), bifurcation(keys));
    let ways = [chipset.is_some(), split.is_some(), host.is_some() || socket.is_some()];
    if ways.iter().filter(|way| **way).count() > 1 {
        let key = if chipset.is_some() { "chipset" } else { "slot" };
        keys.wrong(
            key,
            "its lanes come from two places",
            "name the chipset, the slot that is split, or host and socket",
        );
        return None;
    }
    for (key, missing) in [("generation", link.generation.is_none()), ("width", link.width.is_none())] {
        if missing && keys.raw(key).is_none() {
            keys.missing(key, if key == "width" { "4" } else { "3" });
        }
    }
    let on = match (chipset, split, host.or_else(|| only_host.map(Name::new))) {
        (Some(chipset), ..) => Attachment::Chipset(chipset),
        (None, Some(slot), _) => Attachment::Slot(slot),
        (None, None, Some(host)) => Attachment::Socket { host, socket: socket.unwrap_or(0) },
        (None, None, None) => {
            keys.missing("host", "\"NAME\", or chipset = \"NAME\"");
            return None;
        }
    };
    Some(Slot { on, link, connector, form, bifurcation })
}

/// What fits into a slot.
fn form(keys: &mut Keys<'_>) -> Option<SlotForm> {
    keys.word("form", FORMS).and_then(SlotForm::from_word)
}

/// How the firmware can split a slot: `["x8x8", "x4x4x4x4"]`, or `[]` when it cannot.
fn bifurcation(keys: &mut Keys<'_>) -> Option<Vec<String>> {
    keys.raw("bifurcation")?;
    let modes = keys.texts("bifurcation");
    let is_mode = |text: &str| {
        let links: Option<Vec<Lanes>> =
            text.strip_prefix('x').and_then(|rest| rest.split('x').map(Lanes::parse).collect());
        links.is_some_and(|links| links.len() > 1)
    };
    for (mode, _) in modes.iter().filter(|(mode, _)| !is_mode(mode)) {
        let hint = "write the widths in the order of its lanes: bifurcation = [\"x8x8\", \"x4x4x4x4\"]";
        keys.wrong("bifurcation", format!("`{mode}` is no way to split a slot"), hint);
    }
    Some(modes.into_iter().map(|(mode, _)| mode).collect())
}
