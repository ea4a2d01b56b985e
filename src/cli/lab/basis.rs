//! What predictions stand on: each device alone, all at once, each encryption above nothing, and the processor.

use super::Bench;
use super::args::LabArgs;
use super::ground;
use crate::cli::{Failure, output, scene};
use narrows_base::units::Bytes;
use narrows_load::guard::EDGE;
use narrows_load::target::Target;
use narrows_machine::block::CryptTable;
use narrows_machine::cipher;
use narrows_machine::root::Root;
use narrows_session::lab::{Basis, BuildError, CipherRate, Encryption, Mapping, On, Step, Workshop};
use narrows_session::scene::Scene;
use narrows_session::trials::Came;

/// Measures it. The slices are written between their first and their last MiB.
///
/// # Errors
/// A device cannot be opened, or a test on it failed.
pub(super) fn measure(workshop: &mut Workshop<'_>, args: &LabArgs, bench: &Bench) -> Result<Basis, Failure> {
    let devices = workshop.head.devices.clone();
    let (mut alone, mut paused) = (Vec::new(), Vec::new());
    let mut targets: Vec<Target> = Vec::new();
    let mut last = None;
    for index in 0..devices.len() {
        let opened = workshop.open_slice(index).map_err(|error| ground::build_failure(&error))?;
        let scene = scene::read(&workshop.names.device(index), None)?;
        let target = bench.fill(opened, &scene)?;
        let (measured, failed) = bench.alone(&scene, &target);
        if let Some(failed) = failed {
            return Err(failed.into());
        }
        paused.push(bench.after_pauses(&scene, &target, &measured)?);
        alone.push(measured);
        targets.push(target);
        last = Some(scene);
    }
    let together = match last {
        Some(scene) if targets.len() > 1 => {
            let (measured, failed) = bench.together(&scene, &targets);
            if let Some(failed) = failed {
                return Err(failed.into());
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
        paused,
        together,
        ciphers: ciphers(workshop.root, args),
        cores,
        ..Basis::default()
    })
}

/// The encryptions that were asked for above a target that takes no time, and that target itself.
pub(super) fn encryptions(args: &LabArgs) -> Vec<Encryption> {
    if !args.encrypts() {
        return Vec::new();
    }
    let mut all = vec![Encryption::Plain];
    for encryption in &args.encryption {
        if !all.contains(encryption) {
            all.push(*encryption);
        }
    }
    all
}

/// The steps by which an encryption comes to stand above a target that takes no time, on which `reach` can be used.
pub(super) fn over_nothing(encryption: Encryption, reach: Bytes) -> Vec<Step> {
    let bytes = reach + EDGE + EDGE;
    let zero = Step::Zero { sectors: bytes.get().div_ceil(512) };
    match encryption {
        Encryption::Plain => vec![zero],
        _ => vec![zero, Step::Mapping { on: On::Zero, encryption }],
    }
}

/// Measures each encryption above a target that takes no time, and undoes it. One that cannot be built is left out: then its
/// predictions take the rate of the cipher.
///
/// # Errors
/// A test failed, or something cannot be undone.
pub(super) fn mappings(
    workshop: &mut Workshop<'_>,
    args: &LabArgs,
    bench: &Bench,
) -> Result<Vec<Mapping>, Failure> {
    let encryptions = encryptions(args);
    if encryptions.is_empty() {
        return Ok(Vec::new());
    }
    let scene = scene::read(&workshop.names.device(0), None)?;
    let mut mappings = Vec::new();
    for encryption in encryptions {
        output::note(&format!("{} above a target that takes no time", encryption.name()));
        let came = over(workshop, encryption, bench, &scene);
        workshop.undo().map_err(|error| ground::undo_failure(&error))?;
        match came {
            Ok((tests, None)) => mappings.push(Mapping { encryption, tests }),
            Ok((_, Some(failed))) => return Err(failed.into()),
            Err(error) => output::note(&format!("not measured: {error}")),
        }
    }
    Ok(mappings)
}

fn over(
    workshop: &mut Workshop<'_>,
    encryption: Encryption,
    bench: &Bench,
    scene: &Scene,
) -> Result<Came, BuildError> {
    for step in over_nothing(encryption, bench.reach()) {
        workshop.take(step)?;
    }
    let top = if encryption == Encryption::Plain { On::Zero } else { On::Mapping };
    Ok(bench.over_nothing(scene, workshop.open_over_zero(top)?))
}

/// The rates of the ciphers that were asked for: one, AES-XTS with two keys of 256 bits, for all of them.
fn ciphers(root: &Root, args: &LabArgs) -> Vec<CipherRate> {
    if !args.encrypts() {
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
