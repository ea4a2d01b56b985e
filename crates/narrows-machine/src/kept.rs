//! The best state that `narrows watch` saw each link in, as it keeps it.
//!
//! A link is known by the place that it is wired to and by the device in it. Of a device only a salted hash is kept, and the
//! salt is readable for the one who watches (and root) alone: from the hash nobody learns a serial number.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::pci::PciAddress;
use crate::reading::{LinkPlace, find_links};
use crate::root::Root;
use crate::tree::Miss;
use narrows_base::fact::{Fact, Source};
use narrows_base::hex;

/// Where `narrows watch` keeps what it knows, unless another place is asked for.
pub const DIRECTORY: &str = "/var/lib/narrows-watch";
/// The name of the file with the best states.
pub const BASELINE: &str = "baseline.json";
/// The name of the file with the salt.
pub const SALT: &str = "salt";
/// How many bytes the salt has.
pub const SALT_BYTES: usize = 32;
/// What the file says that it is.
pub const SCHEMA: &str = "narrows/baseline/1";

/// The best states of all links.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    pub schema: String,
    /// By the place that a link is wired to ([`crate::reading::place_of`]).
    pub links: BTreeMap<String, BestLink>,
}

/// The best state of a link since its device was first seen there, or since `narrows watch --accept`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BestLink {
    /// Which device it is ([`identity`]).
    pub identity: String,
    /// The address of the device when it was last seen; numbers of buses change.
    pub address: String,
    /// The slot by name.
    pub slot: Option<String>,
    /// Vendor and device, `144d:a80a`.
    pub device: Option<String>,
    /// The most lanes that it ran with; width does not change with power state.
    pub lanes: u8,
    /// When, in UTC.
    pub lanes_at: String,
    /// The highest speed that was seen while data moved, in MT/s.
    pub loaded_megatransfers: Option<u32>,
    /// When, in UTC.
    pub loaded_at: Option<String>,
    /// The speed that was last seen while data moved, in MT/s.
    pub last_loaded_megatransfers: Option<u32>,
}

impl Baseline {
    /// Understands the file; `None` when it is none of this schema.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().filter(|baseline: &Self| baseline.schema == SCHEMA)
    }
}

/// What stands for a device: a hash of what it is and of its serial number, under a salt of this machine. A device without a
/// serial number is told from others of its kind by its place alone.
pub fn identity(salt: &[u8], place: &LinkPlace) -> String {
    let id = place.id.map(|id| id.to_string()).unwrap_or_default();
    let serial = place.serial.as_deref().unwrap_or_default();
    let mut hash = Sha256::new();
    for part in [salt, id.as_bytes(), b"\0", serial.as_bytes()] {
        hash.update(part);
    }
    hex::digits(hash.finalize().iter().take(16))
}

/// The best states of the links that are there with the devices they had, by the function at the lower end.
pub fn read(root: &Root) -> Fact<BTreeMap<PciAddress, BestLink>> {
    let baseline = ask_baseline(root);
    let Fact::Known { value: baseline, source } = baseline else { return baseline.map(|_| BTreeMap::new()) };
    let places = find_links(root);
    let kept = places.into_iter().filter_map(|(address, place)| {
        let best = baseline.links.get(&place.place)?;
        (ask_identity(root, address, &place)? == best.identity).then(|| (address, best.clone()))
    });
    Fact::Known { value: kept.collect(), source }
}

/// The file through a probe: a record keeps what stands in places of the system only.
fn ask_baseline(root: &Root) -> Fact<Baseline> {
    let path = format!("{DIRECTORY}/{BASELINE}");
    let answer = root.guarded_probe("watch-baseline", || match Root::live().text(&path) {
        Fact::Known { value, .. } => Ok(value),
        Fact::Denied { .. } => Err(Miss::Denied),
        Fact::Absent { .. } | Fact::Garbled { .. } => Err(Miss::Absent),
    });
    match answer {
        Fact::Known { value, .. } => Fact::known(value, path).parse(Baseline::parse),
        Fact::Denied { need, .. } => Fact::Denied { source: Source::new(path), need },
        _ => Fact::absent(path),
    }
}

/// The identity through a probe: a record has the hash and never the salt.
fn ask_identity(root: &Root, address: PciAddress, place: &LinkPlace) -> Option<String> {
    let ask = || {
        let salt = Root::live().bytes(&format!("{DIRECTORY}/{SALT}")).get()?;
        Some(identity(&salt, place))
    };
    root.probe(&format!("watch-identity/{address}"), ask).get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::redact::redacted;
    use crate::tree::Tree;

    const DRIVE: &str = "/sys/devices/pci0000:00/0000:00:1c.4/0000:06:00.0";

    fn machine(baseline: &str, identity: &str) -> Root {
        Root::from_tree(tree(baseline, identity))
    }

    fn tree(baseline: &str, identity: &str) -> Tree {
        let mut tree = Tree::new();
        for (dir, class) in [("/sys/devices/pci0000:00/0000:00:1c.4", "0x060400"), (DRIVE, "0x010802")] {
            let name = dir.rsplit('/').next().expect("a name");
            tree.link(&format!("/sys/bus/pci/devices/{name}"), dir)
                .file(&format!("{dir}/class"), class)
                .file(&format!("{dir}/current_link_width"), "1");
        }
        tree.file("/narrows/probe/watch-baseline", baseline)
            .file("/narrows/probe/watch-identity/0000:06:00.0", identity);
        tree
    }

    fn baseline() -> String {
        let best = BestLink { identity: "ab12".to_owned(), lanes: 4, ..BestLink::default() };
        let links = BTreeMap::from([("0000:1c.4/00.0".to_owned(), best)]);
        serde_json::to_string(&Baseline { schema: SCHEMA.to_owned(), links }).expect("has a form in JSON")
    }

    #[test]
    fn a_best_state_is_that_of_the_same_device_in_the_same_place() {
        let kept = read(&machine(&baseline(), "ab12")).get().expect("is known");
        assert_eq!(kept.values().map(|best| best.lanes).collect::<Vec<_>>(), [4]);
        assert!(read(&machine(&baseline(), "another")).get().expect("is known").is_empty());
        let moved = baseline().replace("1c.4", "1c.5");
        assert!(read(&machine(&moved, "ab12")).get().expect("is known").is_empty());
    }

    #[test]
    fn a_record_that_is_made_to_be_shared_knows_the_best_state_and_not_the_hash() {
        let hash = "0123456789abcdef0123456789abcdef";
        let shared = redacted(&tree(&baseline().replace("ab12", hash), hash));
        let text =
            shared.read("/narrows/probe/watch-baseline").map(String::from_utf8_lossy).expect("is there");
        assert!(!text.contains(hash), "{text}");
        assert_eq!(read(&Root::from_tree(shared)).get().map(|kept| kept.len()), Some(1));
    }

    #[test]
    fn a_file_of_another_kind_is_garbled_and_none_is_absent() {
        assert!(matches!(read(&machine("{}", "")), Fact::Garbled { .. }));
        assert!(matches!(
            read(&machine(&baseline().replace("baseline/1", "other/1"), "")),
            Fact::Garbled { .. }
        ));
        assert!(matches!(read(&machine("denied", "")), Fact::Denied { .. }));
        assert!(matches!(read(&Root::from_tree(Tree::new())), Fact::Absent { .. }));
    }

    #[test]
    fn a_hash_depends_on_salt_kind_and_serial_and_shows_none_of_them() {
        let place = |serial: &str| LinkPlace { serial: Some(serial.to_owned()), ..LinkPlace::default() };
        let one = identity(b"salt", &place("S6P1NS0T"));
        assert_eq!(one.len(), 32);
        assert_ne!(one, identity(b"other", &place("S6P1NS0T")));
        assert_ne!(one, identity(b"salt", &place("S6P1NS0U")));
        assert!(!one.contains("S6P1"));
    }
}
