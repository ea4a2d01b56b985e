//! The legs of a path alone: engine, memory, cipher, network.

use std::time::Duration;

use super::args::LadderArgs;
use super::network;
use crate::cli::bench::runner::Runner;
use narrows_base::units::Bytes;
use narrows_load::preset::LoadSpec;
use narrows_machine::cipher;
use narrows_model::path::{CryptHop, HopKind, HopSpec};
use narrows_session::measure::{memory_copy, nop_ceiling};
use narrows_session::scene::Scene;
use narrows_verdict::ladder::{Leg, LegKind};

/// Measures every leg that the path has. What cannot be measured says what would.
pub(super) fn measure(scene: &Scene, loads: &[LoadSpec], args: &LadderArgs, runner: &Runner<'_>) -> Vec<Leg> {
    runner.progress.phase("the legs alone", Duration::from_secs(2));
    let mut legs = Vec::new();
    legs.push(nop(loads.first().map_or(Bytes::from_mib(1), |load| load.block_size)));
    for cores in doubling(runner.session.online())
        .into_iter()
        .filter(|cores| *cores == 1 || *cores == runner.session.online())
    {
        legs.push(match memory_copy(cores) {
            Some(rate) => Leg::measured(LegKind::MemoryCopy, "memory copy", cores, rate, "bytes copied"),
            None => Leg::missing(LegKind::MemoryCopy, "memory copy", "no thread could be started"),
        });
        if runner.is_stopped() {
            return legs;
        }
    }
    for hop in &scene.subject.path.hops {
        if let HopSpec::Crypt(crypt) = &hop.spec {
            let of_mapping = ciphers(crypt, runner);
            // Mappings with one cipher are measured once.
            if of_mapping.first().is_some_and(|leg| !legs.iter().any(|other: &Leg| other.name == leg.name)) {
                legs.extend(of_mapping);
            }
        }
    }
    let is_remote =
        scene.subject.path.hops.iter().any(|hop| matches!(hop.kind(), HopKind::Network | HopKind::Remote));
    if is_remote || args.peer.is_some() {
        legs.extend(network::legs(args.peer.as_deref(), runner));
    }
    legs
}

fn nop(block: Bytes) -> Leg {
    match nop_ceiling() {
        // What the kernel granted the ring is in the results of the rungs.
        Ok(nop) => Leg::nop(nop.ns_per_io, block, nop.engine.name()),
        Err(error) => Leg::missing(LegKind::Nop, "I/O that does nothing", error.to_string()),
    }
}

/// A cipher on one core and more, up to all of them.
fn ciphers(crypt: &CryptHop, runner: &Runner<'_>) -> Vec<Leg> {
    let (Some(table), Some(rate)) = (crypt.table.value(), crypt.cipher.value()) else {
        let missing = crypt.table.missing().or_else(|| crypt.cipher.missing()).unwrap_or_default();
        let reason = format!("{missing}; run as root, or see `cryptsetup benchmark`");
        return vec![Leg::missing(LegKind::Cipher, "cipher", reason)];
    };
    let name = format!("{} decrypting, {} bit key", rate.cipher, rate.key_bits);
    let means = rate
        .driver
        .as_deref()
        .map_or_else(|| "user space".to_owned(), |driver| format!("the kernel's {driver} through AF_ALG"));
    let mut legs = vec![Leg::measured(LegKind::Cipher, &name, 1, rate.decrypt, &means)];
    for cores in doubling(runner.session.online()).into_iter().skip(1) {
        if runner.is_stopped() {
            break;
        }
        legs.extend(
            cipher::on_cores(table, cores)
                .map(|(decrypt, _)| Leg::measured(LegKind::Cipher, &name, cores, decrypt, &means)),
        );
    }
    legs
}

/// 1, 2, 4 … and `most` itself.
fn doubling(most: u32) -> Vec<u32> {
    let powers = std::iter::successors(Some(1_u32), |count| count.checked_mul(2));
    powers.take_while(|count| *count < most).chain(std::iter::once(most)).collect()
}

#[cfg(test)]
mod tests {
    use super::doubling;

    #[test]
    fn cores_double_up_to_all() {
        assert_eq!(doubling(1), [1]);
        assert_eq!(doubling(6), [1, 2, 4, 6]);
    }
}
