//! What predictions stand on: each device alone, all at once, each encryption above nothing, and the processor.

use super::cells::Lab;
use super::{Came, Trials};
use crate::lab::journal::Line;
use crate::lab::{Basis, BuildError, CipherRate, Encryption, Mapping, On, Step, Workshop};
use crate::objection::Objection;
use crate::scene::Scene;
use crate::teller::Teller;
use narrows_base::units::Bytes;
use narrows_load::guard::EDGE;
use narrows_load::target::Target;
use narrows_machine::block::CryptTable;
use narrows_machine::cipher;
use narrows_machine::root::Root;

/// The encryptions that are measured above a target that takes no time, and that target itself, where some are asked for.
pub fn encryptions(asked: &[Encryption]) -> Vec<Encryption> {
    if !asked.iter().any(|encryption| *encryption != Encryption::Plain) {
        return Vec::new();
    }
    let mut all = vec![Encryption::Plain];
    for encryption in asked {
        if !all.contains(encryption) {
            all.push(*encryption);
        }
    }
    all
}

/// The steps by which an encryption comes to stand above a target that takes no time, on which `reach` can be used.
pub fn over_nothing(encryption: Encryption, reach: Bytes) -> Vec<Step> {
    let bytes = reach + EDGE + EDGE;
    let zero = Step::Zero { sectors: bytes.get().div_ceil(512) };
    match encryption {
        Encryption::Plain => vec![zero],
        _ => vec![zero, Step::Mapping { on: On::Zero, encryption }],
    }
}

impl<T: Teller> Lab<'_, T> {
    /// Measures it, and writes it down. The slices are written between their first and their last MiB.
    pub(super) fn basis(&mut self) -> Result<Basis, Objection> {
        self.trials.note("each device alone, then all at once");
        let basis = self.devices();
        self.workshop.undo()?;
        let mut basis = basis?;
        basis.mappings = self.mappings()?;
        self.record(&Line::Basis(Box::new(basis.clone())))?;
        Ok(basis)
    }

    fn devices(&mut self) -> Result<Basis, Objection> {
        let devices = self.workshop.head.devices.clone();
        let (mut alone, mut paused) = (Vec::new(), Vec::new());
        let mut targets: Vec<Target> = Vec::new();
        let mut last = None;
        for index in 0..devices.len() {
            let opened = self.workshop.open_slice(index)?;
            let scene = (self.scene)(&self.workshop.names.device(index))?;
            let target = self.trials.fill(opened, &scene)?;
            let measured = whole(self.trials.alone(&scene, &target))?;
            paused.push(self.trials.after_pauses(&scene, &target, &measured)?);
            alone.push(measured);
            targets.push(target);
            last = Some(scene);
        }
        let together = match last {
            Some(scene) if targets.len() > 1 => whole(self.trials.together(&scene, &targets))?,
            _ => alone.first().cloned().unwrap_or_default(),
        };
        let cores = u32::try_from(std::thread::available_parallelism().map_or(1, usize::from)).unwrap_or(1);
        Ok(Basis {
            devices: devices.into_iter().map(|device| device.name).collect(),
            alone,
            paused,
            together,
            ciphers: ciphers(self.workshop.root, self.encryptions),
            cores,
            ..Basis::default()
        })
    }

    /// Each encryption above a target that takes no time, undone again. One that cannot be built is left out: then its
    /// predictions take the rate of the cipher.
    fn mappings(&mut self) -> Result<Vec<Mapping>, Objection> {
        let encryptions = encryptions(self.encryptions);
        if encryptions.is_empty() {
            return Ok(Vec::new());
        }
        let scene = (self.scene)(&self.workshop.names.device(0))?;
        let mut mappings = Vec::new();
        for encryption in encryptions {
            self.trials.note(&format!("{} above a target that takes no time", encryption.name()));
            let came = over(&mut self.workshop, encryption, &self.trials, &scene);
            self.workshop.undo()?;
            match came {
                Ok(came) => mappings.push(Mapping { encryption, tests: whole(came)? }),
                Err(error) => self.trials.note(&format!("not measured: {error}")),
            }
        }
        Ok(mappings)
    }
}

/// All tests, or why there are not all.
fn whole<M>((measured, trouble): (M, Option<Objection>)) -> Result<M, Objection> {
    trouble.map_or(Ok(measured), Err)
}

fn over<T: Teller>(
    workshop: &mut Workshop<'_>,
    encryption: Encryption,
    trials: &Trials<T>,
    scene: &Scene,
) -> Result<Came, BuildError> {
    for step in over_nothing(encryption, trials.reach()) {
        workshop.take(step)?;
    }
    let top = if encryption == Encryption::Plain { On::Zero } else { On::Mapping };
    Ok(trials.over_nothing(scene, workshop.open_over_zero(top)?))
}

/// The rates of the ciphers that were asked for: one, AES-XTS with two keys of 256 bits, for all of them.
fn ciphers(root: &Root, asked: &[Encryption]) -> Vec<CipherRate> {
    if encryptions(asked).is_empty() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_machine::tree::Tree;

    #[test]
    fn an_encryption_is_measured_once_beside_the_target_below_it() {
        use Encryption::{Luks2, Plain, VeraCrypt};
        assert!(encryptions(&[Plain]).is_empty() && encryptions(&[]).is_empty());
        assert_eq!(encryptions(&[Luks2, Plain, VeraCrypt, Luks2]), [Plain, Luks2, VeraCrypt]);
        assert_eq!(ciphers(&Root::from_tree(Tree::new()), &[Plain]), []);
    }

    #[test]
    fn the_target_that_takes_no_time_has_room_for_both_edges() {
        let [Step::Zero { sectors }] = over_nothing(Encryption::Plain, Bytes::new(1))[..] else {
            panic!("one step")
        };
        assert_eq!(sectors * 512, 2 * EDGE.get() + 512);
        let steps = over_nothing(Encryption::Luks2, Bytes::from_mib(16));
        assert!(matches!(steps[1], Step::Mapping { on: On::Zero, encryption: Encryption::Luks2 }));
    }
}
