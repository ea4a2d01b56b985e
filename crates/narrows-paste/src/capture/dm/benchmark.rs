//! `cryptsetup benchmark`: `aes-xts   512b   2723.1 MiB/s   2465.0 MiB/s`, encryption before decryption (cryptsetup
//! `src/cryptsetup.c`, `action_benchmark`).

use crate::capture::Text;
use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, BytesPerSec};
use narrows_machine::Machine;
use narrows_machine::cipher::CipherRate;

/// What the benchmark encrypts at a time, in the kernel's AF_ALG interface (cryptsetup
/// `lib/crypto_backend/crypto_cipher_kernel.c`, `crypt_kernel` requests of 64 KiB).
const REQUEST: Bytes = Bytes::from_kib(64);

/// No benchmark has more ciphers.
const MOST: usize = 256;

/// Reads every cipher with a rate; whether there was one.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let rates = text.lines().filter_map(|(number, line)| Some(Fact::known(rate(line)?, text.source(number))));
    let before = machine.cipher_benchmarks.len();
    machine.cipher_benchmarks.extend(rates.take(MOST));
    machine.cipher_benchmarks.len() > before
}

fn rate(line: &str) -> Option<CipherRate> {
    let words: Vec<&str> = line.split_whitespace().filter(|word| *word != "|").collect();
    let [name, key, encrypt, unit_of_encrypt, decrypt, unit_of_decrypt] = words.as_slice() else {
        return None;
    };
    let (cipher, mode) = name.split_once('-')?;
    let is_name = |text: &str| {
        (2..=24).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_,".contains(&byte))
    };
    let key_bits = key.strip_suffix('b')?.parse().ok().filter(|bits| (1..=4096).contains(bits))?;
    (is_name(cipher) && is_name(mode)).then_some(())?;
    Some(CipherRate {
        cipher: format!("{mode}({cipher})"),
        key_bits,
        sector_size: REQUEST,
        decrypt: speed(decrypt, unit_of_decrypt)?,
        encrypt: speed(encrypt, unit_of_encrypt)?,
        // It is the kernel's; which of its drivers served is not said.
        driver: Some(format!("{mode}({cipher})")),
    })
}

fn speed(number: &str, unit: &str) -> Option<BytesPerSec> {
    let power = match unit {
        "KiB/s" => 1,
        "MiB/s" => 2,
        "GiB/s" => 3,
        _ => return None,
    };
    let number: f64 = number.replace(',', ".").parse().ok()?;
    let rate = number * 1024f64.powi(power);
    (rate > 0.0 && rate < 1e13).then(|| BytesPerSec::new(rate))
}
