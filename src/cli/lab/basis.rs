//! What predictions stand on: each device alone, all at once, and the processor.

use super::args::LabArgs;
use super::ground;
use super::measure::Bench;
use crate::cli::Failure;
use crate::lab::{Basis, CipherRate, Encryption, Step, Workshop};
use crate::load::target::Target;
use crate::machine::block::CryptTable;
use crate::machine::cipher;
use crate::machine::root::Root;
use crate::units::Bytes;

/// Measures it. The devices are written between their first and their last MiB.
///
/// # Errors
/// A device cannot be opened, or a test on it failed.
pub(super) fn measure(workshop: &mut Workshop<'_>, args: &LabArgs, bench: &Bench) -> Result<Basis, Failure> {
    let devices = workshop.head.devices.clone();
    let mut alone = Vec::new();
    let mut targets: Vec<Target> = Vec::new();
    let mut last = None;
    for (index, device) in devices.iter().enumerate() {
        let own = ground::own(args, device).unwrap_or_default();
        workshop.take(Step::Load { index }).map_err(|error| ground::build_failure(&error))?;
        let scene = bench.scene(&workshop.names.device(index))?;
        let target = bench.named(workshop.root, &device.name, own, &scene)?;
        let (measured, failed) = bench.all(&scene, &target);
        if let Some(failed) = failed {
            return Err(failed);
        }
        alone.push(measured);
        targets.push(target);
        last = Some(scene);
    }
    let together = match last {
        Some(scene) if targets.len() > 1 => {
            let (measured, failed) = bench.together(&scene, &targets);
            if let Some(failed) = failed {
                return Err(failed);
            }
            measured
        }
        _ => alone.first().cloned().unwrap_or_default(),
    };
    let names = devices.into_iter().map(|device| device.name).collect();
    let cores = u32::try_from(std::thread::available_parallelism().map_or(1, usize::from)).unwrap_or(1);
    Ok(Basis {
        devices: names,
        alone,
        together,
        ciphers: ciphers(workshop.root, args),
        cores,
        ..Basis::default()
    })
}

/// The rates of the ciphers that were asked for: one, AES-XTS with two keys of 256 bits, for all of them.
fn ciphers(root: &Root, args: &LabArgs) -> Vec<CipherRate> {
    if args.encryption.iter().all(|encryption| *encryption == Encryption::Plain) {
        return Vec::new();
    }
    let table = CryptTable {
        cipher: "aes-xts-plain64".to_owned(),
        key_bits: 512,
        sector_size: Bytes::new(512),
        no_read_workqueue: false,
        no_write_workqueue: false,
        same_cpu_crypt: false,
        submit_from_crypt_cpus: false,
    };
    let rate = cipher::read(root, &table).get();
    let named = |rate: cipher::CipherRate| CipherRate {
        cipher: table.cipher.clone(),
        key_bits: rate.key_bits,
        encrypt: rate.encrypt,
        decrypt: rate.decrypt,
        driver: rate.driver,
    };
    rate.into_iter().map(named).collect()
}
