//! How fast does this machine encrypt? The kernel's own cipher through AF_ALG, or a user-space estimate.
//!
//! The rate is that of one core and of requests of 64 KiB, which is what `cryptsetup benchmark` measures: dm-crypt asks
//! for one sector at a time, but through AF_ALG a request of one sector would measure system calls. The user-space
//! estimate encrypts sector by sector.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use aes::cipher::array::Array;
use aes::cipher::consts::U16;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, Key, KeyInit};
use aes::{Aes128, Aes256};
use serde::{Deserialize, Serialize};
use xts_mode::{Xts128, get_tweak_default};

use crate::block::CryptTable;
use crate::kernel::KernelCipher;
use crate::root::Root;
use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, BytesPerSec};

/// The rate of one cipher on one core.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CipherRate {
    /// The cipher in the kernel's notation, `xts(aes)`.
    pub cipher: String,
    /// The size of the key in bits.
    pub key_bits: u32,
    /// Bytes encrypted at a time.
    pub sector_size: Bytes,
    /// Decryption on one core.
    pub decrypt: BytesPerSec,
    /// Encryption on one core.
    pub encrypt: BytesPerSec,
    /// The kernel's driver (`xts-aes-aesni`), or `None` for the user-space estimate.
    pub driver: Option<String>,
}

/// A cipher as the kernel's crypto interface knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Algorithm {
    /// `xts(aes)`.
    name: String,
    /// The size of its initialisation vector in bytes.
    iv: usize,
}

/// Which way data goes through a cipher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Encrypt,
    Decrypt,
}

/// The size of a request, that of `cryptsetup benchmark`; more than AF_ALG takes at once is refused by some kernels.
const REQUEST: usize = 64 << 10;

/// How long one slice of a measurement takes, and how many there are: the fastest counts, so that a moment in which
/// another program had the core does not.
const SLICE: Duration = Duration::from_millis(7);
const SLICES: u32 = 5;

/// The largest key that any cipher of dm-crypt takes, in bits.
const MAX_KEY_BITS: u32 = 4096;

/// The rate of the cipher of `table` on this machine. A live machine is measured (at most 40 ms in each direction), and
/// what it answers is recorded as the probe `cipher/<name>/<key bits>/<sector size>`; a recorded one answers from there.
/// Many mappings with the same cipher are measured once.
/// Absent when the machine has no such cipher to ask; garbled when the table's cipher cannot be understood.
pub fn read(root: &Root, table: &CryptTable) -> Fact<CipherRate> {
    let known = algorithm(&table.cipher).filter(|_| is_key(table.key_bits));
    let Some(algorithm) = known else {
        let raw = format!("{} with a {} bit key", table.cipher, table.key_bits);
        return Fact::<String>::known(raw, "dm-crypt table").parse(|_| None);
    };
    let probe = format!("cipher/{}/{}/{}", algorithm.name, table.key_bits, table.sector_size.get());
    let answer = root.probe(&probe, || once(&probe, || measure(root, &algorithm, table)));
    answer.parse(|text| serde_json::from_str(text).ok())
}

/// The answer to a probe of this machine, measured the first time that this process asks.
fn once(probe: &str, measure: impl FnOnce() -> Option<CipherRate>) -> Option<String> {
    static ANSWERS: Mutex<BTreeMap<String, Option<String>>> = Mutex::new(BTreeMap::new());
    let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    answers
        .entry(probe.to_owned())
        .or_insert_with(|| measure().and_then(|rate| serde_json::to_string(&rate).ok()))
        .clone()
}

fn is_key(bits: u32) -> bool {
    (1..=MAX_KEY_BITS).contains(&bits) && bits.is_multiple_of(8)
}

/// What the cipher of `table` gives on so many cores of this machine at once, decrypting and encrypting; measured now
/// and never recorded. `None` when the cipher cannot be asked.
pub fn on_cores(table: &CryptTable, cores: u32) -> Option<(BytesPerSec, BytesPerSec)> {
    let algorithm = algorithm(&table.cipher).filter(|_| is_key(table.key_bits))?;
    let one = || Some(rates(&algorithm, table)?.0);
    let rates: Option<Vec<_>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores.max(1)).map(|_| scope.spawn(one)).collect();
        workers.into_iter().map(|worker| worker.join().ok().flatten()).collect()
    });
    let rates = rates?;
    Some((rates.iter().map(|rate| rate.0).sum(), rates.iter().map(|rate| rate.1).sum()))
}

fn measure(root: &Root, algorithm: &Algorithm, table: &CryptTable) -> Option<CipherRate> {
    // Asking the kernel comes before reading the driver: it loads the cipher's module.
    let ((decrypt, encrypt), is_kernel) = rates(algorithm, table)?;
    let driver = is_kernel.then(|| driver(root, &algorithm.name));
    Some(CipherRate {
        cipher: algorithm.name.clone(),
        key_bits: table.key_bits,
        sector_size: table.sector_size,
        decrypt,
        encrypt,
        driver,
    })
}

/// Decryption and encryption on one core, and whether by the kernel.
fn rates(algorithm: &Algorithm, table: &CryptTable) -> Option<((BytesPerSec, BytesPerSec), bool)> {
    let kernel = kernel_rates(algorithm, table.key_bits).map(|rates| (rates, true));
    kernel.or_else(|| Some((user_rates(algorithm, table.key_bits, table.sector_size)?, false)))
}

/// The driver that the kernel uses for a cipher, or the cipher's own name where `/proc/crypto` does not tell.
fn driver(root: &Root, name: &str) -> String {
    root.text("/proc/crypto")
        .value()
        .and_then(|text| parse_driver(text, name))
        .unwrap_or_else(|| name.to_owned())
}

/// The driver with the highest priority for a cipher in `/proc/crypto`; internal ones serve only other drivers.
fn parse_driver(crypto: &str, name: &str) -> Option<String> {
    let field = |block: &str, key: &str| {
        block.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            (found.trim() == key).then(|| value.trim().to_owned())
        })
    };
    crypto
        .split("\n\n")
        .filter(|block| field(block, "name").as_deref() == Some(name))
        .filter(|block| field(block, "internal").as_deref() != Some("yes"))
        .max_by_key(|block| field(block, "priority").and_then(|text| text.parse::<i64>().ok()))
        .and_then(|block| field(block, "driver"))
}

/// Turns a dm-crypt cipher specification into the kernel's notation: `aes-xts-plain64` and `capi:xts(aes)-plain64` are
/// `xts(aes)`, `aes-cbc-essiv:sha256` is `cbc(aes)`. `None` for authenticated modes, several keys and anything else.
fn algorithm(specification: &str) -> Option<Algorithm> {
    let plain = |text: &str| {
        !text.is_empty()
            && text.len() <= 24
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b',')
    };
    let (mode, cipher) = match specification.strip_prefix("capi:") {
        Some(rest) => rest.split_once(')')?.0.split_once('(')?,
        None => {
            let mut parts = specification.split('-');
            let cipher = parts.next()?;
            (parts.next()?, cipher)
        }
    };
    let iv = match mode {
        "ecb" => 0,
        "adiantum" => 32,
        "xts" | "cbc" | "ctr" | "lrw" | "pcbc" => 16,
        _ => return None,
    };
    plain(cipher).then(|| Algorithm { name: format!("{mode}({cipher})"), iv })
}

/// The kernel's name of the cipher that a dm-crypt table names, `xts(aes)`; `None` for one that narrows cannot rate.
pub fn kernel_name(specification: &str) -> Option<String> {
    algorithm(specification).map(|algorithm| algorithm.name)
}

/// The rate of `operation`, which works on `bytes` each time; `None` as soon as it fails.
fn rate_of(bytes: usize, mut operation: impl FnMut() -> Option<()>) -> Option<BytesPerSec> {
    operation()?;
    let mut best = BytesPerSec::new(0.0);
    for _ in 0..SLICES {
        let (start, mut done) = (Instant::now(), 0u64);
        while start.elapsed() < SLICE {
            operation()?;
            done = done.saturating_add(u64::try_from(bytes).ok()?);
        }
        best = best.max(Bytes::new(done).per(start.elapsed()));
    }
    (best.get() > 0.0).then_some(best)
}

/// The rates of decryption and encryption on one core; `None` when the kernel lacks the interface or the cipher.
fn kernel_rates(algorithm: &Algorithm, key_bits: u32) -> Option<(BytesPerSec, BytesPerSec)> {
    let cipher = KernelCipher::open(&algorithm.name, &key(key_bits)?).ok()?;
    let iv = vec![0u8; algorithm.iv];
    let mut buffer = vec![0u8; REQUEST];
    let mut rate = |way| rate_of(REQUEST, || cipher.run(way == Way::Encrypt, &iv, &mut buffer));
    Some((rate(Way::Decrypt)?, rate(Way::Encrypt)?))
}

/// A key that no cipher calls weak: all its bytes differ where they can.
fn key(bits: u32) -> Option<Vec<u8>> {
    let length = usize::try_from(bits / 8).ok()?;
    Some((0..=u8::MAX).cycle().take(length).collect())
}

// AES-XTS outside the kernel: an estimate where the kernel's cipher cannot be asked. It uses the processor's AES
// instructions when there are any, but not the widest ones that a recent kernel uses.

/// The rates of decryption and encryption on one core; `None` for anything but AES-XTS with 128 or 256 bits.
fn user_rates(
    algorithm: &Algorithm,
    key_bits: u32,
    sector_size: Bytes,
) -> Option<(BytesPerSec, BytesPerSec)> {
    if algorithm.name != "xts(aes)" {
        return None;
    }
    let sector = usize::try_from(sector_size.get()).ok().filter(|size| (16..=REQUEST).contains(size))?;
    let key: Vec<u8> = (0..u8::try_from(key_bits / 8).ok()?).collect();
    let (first, second) = key.split_at(key.len() / 2);
    match key_bits {
        256 => both(&cipher::<Aes128>(first, second)?, sector),
        512 => both(&cipher::<Aes256>(first, second)?, sector),
        _ => None,
    }
}

fn cipher<C>(first: &[u8], second: &[u8]) -> Option<Xts128<C>>
where
    C: KeyInit + BlockSizeUser<BlockSize = U16> + BlockCipherEncrypt + BlockCipherDecrypt,
{
    let key = |half: &[u8]| Key::<C>::try_from(half).ok().map(|key| C::new(&key));
    Some(Xts128::new(key(first)?, key(second)?))
}

fn both<C>(cipher: &Xts128<C>, sector: usize) -> Option<(BytesPerSec, BytesPerSec)>
where
    C: BlockSizeUser<BlockSize = U16> + BlockCipherEncrypt + BlockCipherDecrypt,
{
    let mut buffer = vec![0u8; REQUEST];
    let mut rate = |way| {
        rate_of(REQUEST, || {
            sectors(cipher, way, &mut buffer, sector, 0, get_tweak_default);
            Some(())
        })
    };
    Some((rate(Way::Decrypt)?, rate(Way::Encrypt)?))
}

fn sectors<C>(
    cipher: &Xts128<C>,
    way: Way,
    data: &mut [u8],
    sector: usize,
    first: u128,
    tweak: fn(u128) -> Array<u8, U16>,
) where
    C: BlockSizeUser<BlockSize = U16> + BlockCipherEncrypt + BlockCipherDecrypt,
{
    match way {
        Way::Encrypt => cipher.encrypt_area(data, sector, first, tweak),
        Way::Decrypt => cipher.decrypt_area(data, sector, first, tweak),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use nix::errno::Errno;
    use proptest::prelude::*;

    fn table(cipher: &str, key_bits: u32) -> CryptTable {
        CryptTable {
            cipher: cipher.to_owned(),
            key_bits,
            sector_size: Bytes::new(4096),
            ..CryptTable::default()
        }
    }

    #[test]
    fn specifications_of_dm_crypt_become_the_kernels_notation() {
        for (specification, want) in [
            ("aes-xts-plain64", Some(("xts(aes)", 16))),
            ("capi:xts(aes)-plain64", Some(("xts(aes)", 16))),
            ("aes-cbc-essiv:sha256", Some(("cbc(aes)", 16))),
            ("serpent-xts-plain64", Some(("xts(serpent)", 16))),
            ("cipher_null-ecb", Some(("ecb(cipher_null)", 0))),
            ("xchacha12,aes-adiantum-plain64", Some(("adiantum(xchacha12,aes)", 32))),
            ("capi:authenc(hmac(sha256),xts(aes))-random", None),
            ("aes:64-cbc-lmk", None),
            ("aes", None),
            ("../../etc-xts-x", None),
            ("", None),
        ] {
            let got = algorithm(specification);
            assert_eq!(got.as_ref().map(|a| (a.name.as_str(), a.iv)), want, "{specification}");
        }
    }

    #[test]
    fn the_driver_is_the_one_with_the_highest_priority_that_is_not_internal() {
        let crypto = "name         : xts(aes)\ndriver       : xts-aes-aesni\nmodule       : aesni_intel\n\
                      priority     : 401\ninternal     : no\n\n\
                      name         : xts(aes)\ndriver       : xts(ecb(aes-generic))\npriority     : 100\n\n\
                      name         : xts(aes)\ndriver       : __xts-aes-vaes\npriority     : 900\ninternal     : yes\n\n\
                      name         : cbc(aes)\ndriver       : cbc-aes-aesni\npriority     : 400";
        assert_eq!(parse_driver(crypto, "xts(aes)").as_deref(), Some("xts-aes-aesni"));
        assert_eq!(parse_driver(crypto, "xts(camellia)"), None);
    }

    #[test]
    fn a_live_machine_is_measured_and_its_record_answers_the_same() {
        let live = Root::recording();
        let measured = read(&live, &table("aes-xts-plain64", 512));
        let rate = measured.value().expect("AES-XTS can be estimated anywhere");
        assert!(rate.encrypt.get() > 0.0 && rate.decrypt.get() > 0.0, "{rate:?}");
        assert_eq!((rate.cipher.as_str(), rate.key_bits), ("xts(aes)", 512));
        let again = Root::from_tree(live.into_record().expect("was recording"));
        assert_eq!(read(&again, &table("aes-xts-plain64", 512)), measured);
    }

    #[test]
    fn the_same_cipher_is_measured_once() {
        let first = read(&Root::live(), &table("aes-xts-plain64", 256));
        assert!(first.value().is_some());
        assert_eq!(read(&Root::live(), &table("capi:xts(aes)-plain64", 256)), first);
    }

    #[test]
    fn a_recorded_machine_is_never_measured() {
        let absent = read(&Root::from_tree(Tree::new()), &table("aes-xts-plain64", 512));
        assert!(matches!(absent, Fact::Absent { .. }), "{absent:?}");
    }

    #[test]
    fn a_cipher_or_record_that_cannot_be_understood_is_garbled() {
        let empty = Root::from_tree(Tree::new());
        assert!(matches!(read(&empty, &table("nonsense", 512)), Fact::Garbled { .. }));
        assert!(matches!(read(&empty, &table("aes-xts-plain64", 0)), Fact::Garbled { .. }));
        let mut broken = Tree::new();
        broken.file("/narrows/probe/cipher/xts(aes)/512/4096", "{}");
        let root = Root::from_tree(broken);
        assert!(matches!(read(&root, &table("aes-xts-plain64", 512)), Fact::Garbled { .. }));
    }

    proptest! {
        #[test]
        fn no_specification_panics_or_leaves_the_probe_folder(text in "\\PC{0,60}") {
            if let Some(algorithm) = algorithm(&text) {
                prop_assert!(!algorithm.name.contains(['/', '.']));
            }
        }

        #[test]
        fn no_crypto_listing_panics(text in "\\PC{0,200}") {
            let _ = parse_driver(&text, "xts(aes)");
        }
    }

    /// IEEE Std 1619-2007, Annex B, vector 1.
    #[test]
    fn the_kernel_encrypts_vector_1_of_ieee_1619_and_decrypts_it_again() {
        let xts = Algorithm { name: "xts(aes)".to_owned(), iv: 16 };
        // A kernel in FIPS mode refuses a key with equal halves, as this vector has.
        let cipher = match KernelCipher::open(&xts.name, &vec![0; 32]) {
            Ok(cipher) => cipher,
            Err(error) => {
                let known = [Errno::EAFNOSUPPORT, Errno::ENOENT, Errno::EINVAL];
                let is_known = known.iter().any(|errno| error.raw_os_error() == Some(*errno as i32));
                assert!(is_known, "{error}");
                println!("skipped: this kernel offers no AF_ALG xts(aes) ({error})");
                return;
            }
        };
        let mut data = vec![0u8; 32];
        cipher.run(true, &[0; 16], &mut data).expect("encrypts");
        assert_eq!(data[..4], [0x91, 0x7c, 0xf6, 0x9e]);
        assert_eq!(data[28..], [0x2f, 0xbf, 0x92, 0x2e]);
        cipher.run(false, &[0; 16], &mut data).expect("decrypts");
        assert_eq!(data, vec![0u8; 32]);
        let (decrypt, encrypt) = kernel_rates(&xts, 512).expect("a kernel that encrypts has a rate");
        println!("xts(aes) with 512 bits: decrypts {decrypt}, encrypts {encrypt}");
        assert!(decrypt.get() > 1e6 && encrypt.get() > 1e6);
    }

    #[test]
    fn a_cipher_that_does_not_exist_has_no_rate() {
        let long = "x".repeat(200);
        for name in ["xts(nonsense)", long.as_str()] {
            assert_eq!(kernel_rates(&Algorithm { name: name.to_owned(), iv: 16 }, 256), None);
        }
    }

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
        digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).expect("a byte")).collect()
    }

    /// IEEE Std 1619-2007, Annex B, vector 1: XTS-AES-128, keys and plain text of zeros, data unit 0.
    #[test]
    fn aes_128_encrypts_vector_1_of_ieee_1619_and_decrypts_it_again() {
        let cipher = cipher::<Aes128>(&[0; 16], &[0; 16]).expect("a key");
        let mut data = vec![0u8; 32];
        sectors(&cipher, Way::Encrypt, &mut data, 32, 0, get_tweak_default);
        assert_eq!(data, hex("917cf69ebd68b2ec9b9fe9a3eadda692cd43d2f59598ed858c02c2652fbf922e"));
        sectors(&cipher, Way::Decrypt, &mut data, 32, 0, get_tweak_default);
        assert_eq!(data, vec![0u8; 32]);
    }

    /// IEEE Std 1619-2007, Annex B, vector 10: XTS-AES-256, data unit 0xff, 512 bytes; the first 64 are compared.
    #[test]
    fn aes_256_encrypts_vector_10_of_ieee_1619_and_decrypts_it_again() {
        let first = hex("2718281828459045235360287471352662497757247093699959574966967627");
        let second = hex("3141592653589793238462643383279502884197169399375105820974944592");
        let cipher = cipher::<Aes256>(&first, &second).expect("a key");
        let plain: Vec<u8> = (0..=255).chain(0..=255).collect();
        let mut data = plain.clone();
        sectors(&cipher, Way::Encrypt, &mut data, 512, 0xff, get_tweak_default);
        let want = hex("1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b\
             5d31e276f8fe4a8d66b317f9ac683f44680a86ac35adfc3345befecb4bb188fd");
        assert_eq!(&data[..64], &want[..]);
        sectors(&cipher, Way::Decrypt, &mut data, 512, 0xff, get_tweak_default);
        assert_eq!(data, plain);
    }

    #[test]
    fn only_aes_xts_with_a_known_key_size_and_a_sane_sector_is_estimated() {
        let xts = Algorithm { name: "xts(aes)".to_owned(), iv: 16 };
        let serpent = Algorithm { name: "xts(serpent)".to_owned(), iv: 16 };
        assert_eq!(user_rates(&serpent, 512, Bytes::new(512)), None);
        assert_eq!(user_rates(&xts, 384, Bytes::new(512)), None);
        assert_eq!(user_rates(&xts, 4096, Bytes::new(512)), None);
        assert_eq!(user_rates(&xts, 512, Bytes::new(0)), None);
        assert_eq!(user_rates(&xts, 512, Bytes::new(u64::MAX)), None);
    }
}
