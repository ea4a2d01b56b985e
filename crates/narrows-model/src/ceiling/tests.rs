//! Whole paths of known machines, folded to what limits them.

use super::{Basis, Limit, Narrow, rank, *};
use crate::path::{
    CryptHop, DeviceHop, Hop, HopId, HopKind, HopSpec, LinkHop, Path, RaidHop, RaidLevel, Target, Traffic,
    UplinkHop,
};
use narrows_base::catalog::catalog;
use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, GtPerSec, Lanes, human};
use narrows_machine::cipher::CipherRate;
use narrows_machine::pci::{LinkEnd, PciDevice};
use proptest::prelude::*;

fn hop(name: &str, spec: HopSpec, share: f64) -> Hop {
    Hop {
        id: HopId::new(spec.kind(), name),
        name: name.to_owned(),
        spec,
        traffic: Traffic { read: share, write: share },
        depth: 0,
        above: None,
        against: crate::path::Traffic::NONE,
        below: Vec::new(),
        shared_with: Vec::new(),
    }
}

fn path(hops: Vec<Hop>) -> Path {
    Path { target: "/dev/nvme0n1".to_owned(), asked: Target::Block("nvme0n1".to_owned()), hops }
}

/// The narrowest hop for reads, and the one after it.
struct Limits {
    limiting: Narrow,
    next: Option<Narrow>,
}

fn read_limit(path: &Path) -> Limits {
    let ceilings: Vec<Ceilings> = path.hops.iter().map(of_hop).collect();
    let mut ranked = rank(path, &ceilings, Direction::Read).into_iter();
    Limits { limiting: ranked.next().expect("some ceiling is known"), next: ranked.next() }
}

fn link(speed: GtPerSec, lanes: u8, device: (GtPerSec, u8)) -> HopSpec {
    let end = |max: (GtPerSec, u8)| PciDevice {
        link: LinkEnd {
            current_speed: Fact::known(speed, "current_link_speed"),
            current_width: Fact::known(Lanes::new(lanes), "current_link_width"),
            max_speed: Fact::known(max.0, "max_link_speed"),
            max_width: Fact::known(Lanes::new(max.1), "max_link_width"),
            ..LinkEnd::default()
        },
        ..PciDevice::default()
    };
    HopSpec::Link(Box::new(LinkHop {
        device: end(device),
        port: Some(end((speed, lanes))),
        ..LinkHop::default()
    }))
}

fn drive(model: &str) -> HopSpec {
    HopSpec::Device(DeviceHop { model: Fact::known(model.to_owned(), "model"), ..DeviceHop::default() })
}

fn x99() -> HopSpec {
    let chipset = catalog().chipset_by_id(0x8086, 0x8d47).cloned();
    HopSpec::Chipset(UplinkHop { name: "Intel X99".to_owned(), chipset, ..UplinkHop::default() })
}

/// gynvael.coldwind.pl/?id=749: hdparm read 373.6 MiB/s (392 MB/s) in the slot at x1 and 1243 MiB/s (1304 MB/s) at x4.
#[test]
fn a_drive_in_a_slot_at_x1_is_limited_by_its_link_and_at_x4_the_chipset_comes_next() {
    let machine = |lanes| {
        path(vec![
            hop("application", HopSpec::Application, 1.0),
            hop("nvme2n1", drive("Samsung SSD 960 EVO 1TB"), 1.0),
            hop("0000:02:00.0", link(GtPerSec::GEN2, lanes, (GtPerSec::GEN3, 4)), 1.0),
            hop("0000:00:1f.0", x99(), 1.0),
            hop("memory", HopSpec::Memory(Fact::default()), 1.0),
        ])
    };
    let before = read_limit(&machine(1));
    assert_eq!(before.limiting.hop, 2);
    assert!((0.38e9..0.45e9).contains(&before.limiting.rate.get()));
    assert!(before.limiting.rate.get() > 373.60 * 1_048_576.0);
    let after = read_limit(&machine(4));
    assert_eq!((after.limiting.hop, after.next.map(|next| next.hop)), (2, Some(3)));
    assert_eq!(after.next.map(|next| human::rate(next.rate)).as_deref(), Some("1.68 GB/s"));
    assert!(after.limiting.rate.get() > 1243.19 * 1_048_576.0);
}

/// delightlylinux.wordpress.com, 2023/04/10: two SN770 in a B450 board read 7200 MB/s as RAID-0 and 2465 under LUKS.
#[test]
fn striping_doubles_the_links_and_encryption_on_top_undoes_it() {
    let raid = RaidHop {
        level: Some(RaidLevel::Raid0),
        members: vec!["nvme1n1".into(), "nvme2n1".into()],
        ..RaidHop::default()
    };
    let gen3 = || link(GtPerSec::GEN3, 4, (GtPerSec::GEN4, 4));
    let mut hops = vec![
        hop("md2", HopSpec::Raid(Box::new(raid)), 1.0),
        hop("nvme1n1", drive("WD_BLACK SN770 2TB"), 0.5),
        hop("nvme2n1", drive("WD_BLACK SN770 2TB"), 0.5),
        hop("0000:01:00.0", gen3(), 0.5),
        hop("0000:02:00.0", gen3(), 0.5),
    ];
    let plain = read_limit(&path(hops.clone()));
    assert_eq!((plain.limiting.hop, human::rate(plain.limiting.rate).as_str()), (3, "7.18 GB/s"));
    let cipher = CipherRate {
        cipher: "xts(aes)".to_owned(),
        key_bits: 512,
        sector_size: Bytes::new(512),
        decrypt: BytesPerSec::from_mb(2723.0),
        encrypt: BytesPerSec::from_mb(2691.0),
        driver: Some("xts-aes-aesni".to_owned()),
    };
    let crypt = CryptHop { cipher: Fact::known(cipher, "probe"), cores: 6, ..CryptHop::default() };
    hops.insert(0, hop("dm-0", HopSpec::Crypt(Box::new(crypt)), 1.0));
    let encrypted = read_limit(&path(hops));
    assert_eq!(encrypted.limiting.hop, 0);
    let error = encrypted.limiting.rate.get() / 2465e6 - 1.0;
    assert!(error.abs() < 0.06, "{error:+.3}");
}

/// Four 3.0 x4 drives need 14.4 GB/s; a PEX 8748 card in a x8 slot has 7.18 for them together, in a x16 slot as much.
#[test]
fn drives_on_a_switch_card_share_its_uplink() {
    let card = |lanes| {
        let mut hops = vec![hop("uplink", link(GtPerSec::GEN3, lanes, (GtPerSec::GEN3, 16)), 1.0)];
        hops.extend((0..4).map(|_| hop("drive", link(GtPerSec::GEN3, 4, (GtPerSec::GEN3, 4)), 0.25)));
        read_limit(&path(hops))
    };
    assert_eq!((card(8).limiting.hop, human::rate(card(8).limiting.rate).as_str()), (0, "7.18 GB/s"));
    assert_eq!(human::rate(card(16).limiting.rate), "14.4 GB/s");
    assert_eq!(card(16).next.map(|next| human::rate(next.rate)).as_deref(), Some("14.4 GB/s"));
}

#[test]
fn a_given_rate_is_the_ceiling_and_cites_its_place() {
    let hop = GivenHop {
        kind: HopKind::Memory,
        read: Fact::known(BytesPerSec::from_gb(60.0), "x99.path.toml:4"),
        write: Fact::default(),
        does: "main memory".to_owned(),
    };
    let ceilings = of_given(&hop);
    let limit = ceilings.read.limit().expect("given");
    assert_eq!(limit.formula, "60 GB/s, given in x99.path.toml:4");
    assert_eq!((limit.rate, limit.basis), (BytesPerSec::from_gb(60.0), Basis::Spec));
    assert_eq!(ceilings.write, Ceiling::Transparent("main memory".to_owned()));
}

fn ranked_hop(index: usize, traffic: Traffic) -> Hop {
    Hop {
        id: HopId::new(HopKind::Application, index),
        name: index.to_string(),
        spec: HopSpec::Application,
        traffic,
        depth: 0,
        above: None,
        against: crate::path::Traffic::NONE,
        below: Vec::new(),
        shared_with: Vec::new(),
    }
}

fn ceilings(megabytes: Option<f64>) -> Ceilings {
    megabytes.map_or_else(
        || Ceilings::unknown("not published"),
        |megabytes| {
            Ceilings::same(Limit {
                rate: BytesPerSec::from_mb(megabytes),
                raw: None,
                basis: Basis::Spec,
                formula: String::new(),
                facts: Vec::new(),
            })
        },
    )
}

fn ranked_path(hops: &[(Traffic, Option<f64>)]) -> (Path, Vec<Ceilings>) {
    let path = Path {
        target: "/dev/md0".to_owned(),
        asked: Target::Block("md0".to_owned()),
        hops: hops.iter().enumerate().map(|(index, (traffic, _))| ranked_hop(index, *traffic)).collect(),
    };
    (path, hops.iter().map(|(_, rate)| ceilings(*rate)).collect())
}

/// A two-way mirror whose members share an uplink: it carries every read once and every write twice.
#[test]
fn traffic_turns_the_ceiling_of_a_hop_into_one_of_the_path() {
    let member = Traffic { read: 0.5, write: 1.0 };
    let (path, ceilings) = ranked_path(&[
        (Traffic::ONE, None),
        (Traffic { read: 1.0, write: 2.0 }, Some(3592.0)),
        (member, Some(3000.0)),
        (member, Some(3000.0)),
    ]);
    let of = |direction| {
        let ranked = rank(&path, &ceilings, direction);
        ranked.iter().map(|narrow| (narrow.hop, narrow.rate.get() / 1e6)).collect::<Vec<_>>()
    };
    assert_eq!(of(Direction::Read), [(1, 3592.0), (2, 6000.0), (3, 6000.0)]);
    assert_eq!(of(Direction::Write), [(1, 1796.0), (2, 3000.0), (3, 3000.0)]);
}

#[test]
fn a_path_without_known_ceilings_has_no_limit_and_idle_hops_do_not_count() {
    let (unknown, none) = ranked_path(&[(Traffic::ONE, None)]);
    assert_eq!(rank(&unknown, &none, Direction::Read), []);
    let (idle, some) =
        ranked_path(&[(Traffic { read: 0.0, write: 1.0 }, Some(1.0)), (Traffic::ONE, Some(2.0))]);
    let ranked = rank(&idle, &some, Direction::Read);
    assert_eq!(ranked.iter().map(|narrow| narrow.hop).collect::<Vec<_>>(), [1]);
}

proptest! {
    #[test]
    fn every_known_hop_is_ranked_once_and_narrowest_first(
        hops in prop::collection::vec((0.01f64..4.0, prop::option::of(1.0f64..10_000.0)), 0..12)
    ) {
        let hops: Vec<_> =
            hops.into_iter().map(|(share, rate)| (Traffic { read: share, write: share }, rate)).collect();
        let (path, ceilings) = ranked_path(&hops);
        let ranked = rank(&path, &ceilings, Direction::Read);
        prop_assert_eq!(ranked.len(), hops.iter().filter(|(_, rate)| rate.is_some()).count());
        prop_assert!(ranked.windows(2).all(|pair| pair[0].rate <= pair[1].rate));
    }
}
