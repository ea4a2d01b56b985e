//! Devices and GPUs: where they meet, and what can be brought from one to the other.

use crate::document::{Block, Blocks, Cell, Column, Document, Place, Table, Tone, Width};
use crate::view::{CheckReport, PeerView};
use narrows_base::lists::{grouped, some_of};
use narrows_model::ceiling::peer::Both;
use narrows_model::path::peer::{Meeting, Way};

/// The shortest column of names.
const NAME: usize = 14;

/// All devices beside GPUs that a report speaks of, the ways to each GPU in a table.
pub(super) fn put(out: &mut Document, report: &CheckReport) {
    let peers = report.paths.iter().flat_map(|path| &path.peers);
    for (gpu, peers) in grouped(peers.map(|peer| (peer.gpu.as_str(), peer))) {
        out.section(Place::Data, format!("What goes to the GPU {gpu} at most"));
        out.add(Block::Table(table(gpu, &peers)));
        // Each reason once, with the devices that it is of.
        let indirect = peers.iter().filter(|peer| peer.way != Way::Direct);
        let reasons = grouped(indirect.map(|peer| (&peer.because, &peer.device))).into_iter();
        let said = reasons.map(|(why, devices)| format!("{}: {why}.", some_of(&devices, 4, ", ")));
        out.says(2, Tone::Faint, said);
    }
}

fn table(gpu: &str, peers: &[&PeerView]) -> Table {
    let columns = vec![
        Column::name("device", Width::Broad(NAME)),
        Column::left("meets the GPU", Width::Flex(12)),
        Column::left("peer to peer", Width::Fit(0, 14)),
        Column::number("direct"),
        Column::number("by memory"),
    ];
    let mut table = Table::new(format!("What goes to the GPU {gpu} at most"), 2, columns);
    for peer in peers {
        let way = match peer.way {
            Way::Direct => Cell::toned(Tone::Good, "direct"),
            Way::Redirected => Cell::toned(Tone::Warn, "redirected"),
            Way::RootComplex => Cell::text("not told"),
            Way::Unknown => Cell::text("not known"),
        };
        table.row(vec![
            Cell::text(&peer.device),
            Cell::text(meets(peer)),
            way,
            Cell::text(peer.direct.as_ref().map_or_else(|| "–".to_owned(), rate)),
            Cell::text(rate(&peer.through_memory)),
        ]);
    }
    table
}

fn meets(peer: &PeerView) -> String {
    match &peer.meets {
        Meeting::Switch(Some(at)) => format!("switch {at}"),
        Meeting::Switch(None) => "a switch".to_owned(),
        Meeting::Port(at) => format!("port {at}"),
        Meeting::HostBridge => "host bridge".to_owned(),
        Meeting::Node(_) => "NUMA node".to_owned(),
        Meeting::Nodes(_) => "other NUMA node".to_owned(),
        Meeting::Unknown(_) => "not known".to_owned(),
    }
}

/// What goes to the GPU.
fn rate(both: &Both) -> String {
    both.to_gpu.as_ref().map_or_else(|| "not known".to_owned(), |to| to.rate.to_string())
}
