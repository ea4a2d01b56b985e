//! What main memory carries, and how often a byte crosses it.
//!
//! The kernel does not state the bandwidth of memory. The firmware claims speed and width of each module (SMBIOS type 17): the sum over
//! all is what they could carry if each had a channel of its own, so it is an upper bound, and of a claim; two modules of one channel carry
//! what one does, and which share one the firmware does not tell. Programs get [`USUAL`] of what the
//! channels carry: 60 % where reads and writes mix on desktops, 85 % where servers only read (112 of 128 GB/s on a Xeon 8160, J. McCalpin). Neither is a ceiling of DMA: data that a device brings may end in a processor's cache (Intel DDIO), and a path's bytes
//! cross memory as often as [`crossings`] counts, beside all other work of the machine.

use serde::{Deserialize, Serialize};

use super::Ceilings;
use crate::path::{Hop, HopSpec, Path, RaidLevel};
use narrows_base::fact::Fact;
use narrows_base::lists::grouped;
use narrows_base::units::{BytesPerSec, human};
use narrows_machine::dmi::MemoryModule;

/// The part of the channels' rate that programs get.
pub const USUAL: [f64; 2] = [0.60, 0.85];

/// Main memory has no ceiling here: neither the kernel nor the firmware states its bandwidth, and channels times
/// transfer rate would be many times what data can use. Data that goes past the page cache crosses it once; data through
/// the page cache three times (DMA in, copy out: a read and a write).
pub fn of_memory() -> Ceilings {
    Ceilings::unknown(
        "memory bandwidth is not stated anywhere; direct I/O needs it once for each byte, buffered I/O three times",
    )
}

/// What the firmware claims of memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claim {
    /// What all modules could carry at once: an upper bound.
    #[serde(rename = "peak_bytes_per_second")]
    pub peak: BytesPerSec,
    /// What is likely of it where no two modules share a channel, from and to.
    #[serde(rename = "likely_bytes_per_second")]
    pub likely: [BytesPerSec; 2],
    /// How that was computed: `8 modules × 2666 MT/s × 8 bytes`.
    pub formula: String,
    /// Where the firmware claims it.
    pub source: String,
}

/// The claim of the firmware; `None` where it makes none.
pub fn claim(modules: &Fact<Vec<MemoryModule>>) -> Option<Claim> {
    let all = modules.value().filter(|all| !all.is_empty())?;
    let rate = |module: &MemoryModule| f64::from(module.megatransfers) * 1e6 * f64::from(module.width_bytes);
    let peak = BytesPerSec::new(all.iter().map(rate).sum());
    let kinds = grouped(all.iter().map(|module| (module, ())));
    let words = kinds.iter().map(|(module, alike)| {
        let count = human::counted(alike.len(), "module");
        format!("{count} × {} MT/s × {} bytes", module.megatransfers, module.width_bytes)
    });
    Some(Claim {
        peak,
        likely: USUAL.map(|part| peak * part),
        formula: words.collect::<Vec<_>>().join(" + "),
        source: modules.source().as_str().to_owned(),
    })
}

/// How often the bytes of a path cross memory, for one byte that the application moves.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Crossings {
    /// For one byte that is read.
    pub read: f64,
    /// For one byte that is written.
    pub write: f64,
    /// What each layer adds.
    pub layers: Vec<MemoryCrossing>,
}

/// What a layer adds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryCrossing {
    /// What crosses.
    pub name: String,
    /// For a byte that is read.
    pub read: f64,
    /// For a byte that is written.
    pub write: f64,
}

/// Counts what each layer of a path adds. `buffered` says that the application reads and writes through the page cache. Copies of a
/// network's protocol, compression and checksums are not counted: the count is the least there is.
pub fn crossings(path: &Path, buffered: bool) -> Crossings {
    let mut all = Crossings::default();
    let mut add = |name: String, read: f64, write: f64| {
        if read > 0.0 || write > 0.0 {
            all.read += read;
            all.write += write;
            all.layers.push(MemoryCrossing { name, read, write });
        }
    };
    let memory = path.hops.iter().rfind(|hop| matches!(hop.spec, HopSpec::Memory(_)));
    if let Some(memory) = memory {
        add("transfers of the devices".to_owned(), memory.traffic.read, memory.traffic.write);
    }
    for hop in &path.hops {
        let (read, write) = of_layer(hop);
        add(hop.name.clone(), read, write);
    }
    if buffered {
        // The processor reads the source of the copy and writes its destination.
        add("the copy of the page cache".to_owned(), 2.0, 2.0);
    }
    all
}

/// What a layer adds beside the transfers of devices.
fn of_layer(hop: &Hop) -> (f64, f64) {
    let (read, write) = (hop.traffic.read, hop.traffic.write);
    match &hop.spec {
        // dm-crypt reads what came and writes it back in place; what is written it reads, and writes into pages of its own
        // (drivers/md/dm-crypt.c, `crypt_alloc_buffer`).
        HopSpec::Crypt(_) => (2.0 * read, 2.0 * write),
        // Writes are copied into the stripe cache, a read and a write, and read once more for the parity, which is written
        // (drivers/md/raid5.c, `async_copy_data`, `ops_run_reconstruct5`). Aligned reads go to the members as they are.
        HopSpec::Raid(raid) => {
            let parity = raid.level.map_or(0, RaidLevel::parity);
            if parity == 0 {
                return (0.0, 0.0);
            }
            let parities = f64::from(parity);
            let data = (raid.members.len() as f64 - parities).max(1.0);
            (0.0, write * (2.0 + 1.0 + parities / data))
        }
        _ => (0.0, 0.0),
    }
}

// The most that cores copy.
//
// What a RAM disk or the page cache gives is copied by a core, and no core of today stores more than `COPY_STORED` bytes in a cycle
// (uops.info: one store of 512 bits a cycle on Golden Cove and Zen 5, two of 256 bits at best) nor runs faster than `COPY_FASTEST`
// (ark.intel.com, Core i9-14900KS). Real copies are slower by far, so this bounds and estimates nothing.

/// Bytes that a core stores in a cycle, at most.
pub const COPY_STORED: f64 = 64.0;

/// The highest clock of a core that is sold, GHz.
pub const COPY_FASTEST: f64 = 6.2;

/// What so many cores copy at most.
pub fn most_copied(cores: u32) -> BytesPerSec {
    BytesPerSec::from_gb(COPY_STORED * COPY_FASTEST * f64::from(cores.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{CryptHop, HopId, HopKind, RaidHop, Target, Traffic};

    fn hop(name: &str, spec: HopSpec, traffic: Traffic) -> Hop {
        Hop {
            id: HopId::new(HopKind::Application, name),
            name: name.to_owned(),
            spec,
            traffic,
            against: Traffic::NONE,
            depth: 0,
            above: None,
            below: Vec::new(),
            shared_with: Vec::new(),
        }
    }

    fn path(layers: Vec<Hop>, memory: Traffic) -> Path {
        let mut hops = vec![hop("application", HopSpec::Application, Traffic::ONE)];
        hops.extend(layers);
        hops.push(hop("main memory", HopSpec::Memory(Fact::default()), memory));
        Path { target: "/dev/x".to_owned(), asked: Target::Block("x".to_owned()), hops }
    }

    fn raid(level: RaidLevel, members: usize) -> HopSpec {
        let members = (0..members).map(|at| format!("sd{at}")).collect();
        HopSpec::Raid(Box::new(RaidHop { level: Some(level), members, ..RaidHop::default() }))
    }

    #[test]
    fn what_modules_could_carry_is_a_claim_with_a_likely_part() {
        let module = |megatransfers| MemoryModule { megatransfers, width_bytes: 8 };
        let modules = Fact::known(vec![module(2666); 6], "DMI");
        let claim = claim(&modules).expect("six modules");
        // Six channels of DDR4-2666 carry 128 GB/s (Intel ark, Xeon 8160); McCalpin measured 112 for reads.
        assert!((claim.peak.get() / 128e9 - 1.0).abs() < 0.01, "{claim:?}");
        assert!(claim.likely[0].get() < 112e9 && (claim.likely[1].get() / 112e9 - 1.0).abs() < 0.04);
        assert_eq!(claim.formula, "6 modules × 2666 MT/s × 8 bytes");
        let mixed = super::claim(&Fact::known(vec![module(3200), module(2933)], "DMI")).expect("two");
        assert_eq!(mixed.formula, "1 module × 3200 MT/s × 8 bytes + 1 module × 2933 MT/s × 8 bytes");
        assert_eq!(super::claim(&Fact::known(Vec::new(), "DMI")), None);
        assert_eq!(super::claim(&Fact::default()), None);
    }

    #[test]
    fn direct_io_crosses_once_and_the_page_cache_three_times() {
        let plain = path(Vec::new(), Traffic::ONE);
        assert_eq!((crossings(&plain, false).read, crossings(&plain, true).read), (1.0, 3.0));
    }

    #[test]
    fn a_cipher_adds_two_and_a_mirror_is_read_twice_by_devices() {
        let crypt = || HopSpec::Crypt(Box::<CryptHop>::default());
        let mirror = path(
            vec![hop("crypt", crypt(), Traffic::ONE), hop("md0", raid(RaidLevel::Raid1, 2), Traffic::ONE)],
            Traffic { read: 1.0, write: 2.0 },
        );
        let counted = crossings(&mirror, false);
        assert_eq!((counted.read, counted.write), (3.0, 4.0));
        assert_eq!(counted.layers.len(), 2, "{counted:?}");
    }

    #[test]
    fn parity_is_made_of_copies() {
        let five = path(
            vec![hop("md0", raid(RaidLevel::Raid5, 5), Traffic::ONE)],
            Traffic { read: 1.0, write: 1.25 },
        );
        let counted = crossings(&five, false);
        // 1.25 by the devices, 2 for the copy, 1 to read for the parity, 0.25 for the parity itself.
        assert_eq!((counted.read, counted.write), (1.0, 4.5));
        let striped = path(vec![hop("md0", raid(RaidLevel::Raid0, 4), Traffic::ONE)], Traffic::ONE);
        assert_eq!(crossings(&striped, false).write, 1.0);
    }

    /// 64 bytes × 6.2 GHz.
    #[test]
    fn no_core_copies_more_than_it_stores() {
        assert!((most_copied(1).get() / 396.8e9 - 1.0).abs() < 1e-9);
        assert_eq!(most_copied(0), most_copied(1));
        assert!((most_copied(4).get() / most_copied(1).get() - 4.0).abs() < 1e-9);
    }
}
