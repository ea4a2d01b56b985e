//! The table of a device-mapper device, as text and understood.

use narrows_base::units::{Bytes, Sectors512};

/// One line of a device-mapper table.
#[derive(Debug, Clone, PartialEq)]
pub struct DmTarget {
    /// Where it starts and how long it is, in bytes.
    pub start: Bytes,
    /// See [`DmTarget::start`].
    pub length: Bytes,
    /// What it does.
    pub kind: DmKind,
}

/// What a device-mapper target does.
#[derive(Debug, Clone, PartialEq)]
pub enum DmKind {
    /// One device, shifted.
    Linear {
        /// The device below, `major:minor`.
        device: (u32, u32),
        /// Where on it.
        offset: Bytes,
    },
    /// Several devices in stripes.
    Striped {
        chunk: Bytes,
        /// The devices below.
        devices: Vec<(u32, u32)>,
    },
    /// Encryption.
    Crypt(CryptTable),
    /// Anything else, by target name (`thin`, `cache`, `multipath`, `delay`, `flakey`, `raid`…).
    Other(String),
}

/// A dm-crypt table without its key (kernel `Documentation/admin-guide/device-mapper/dm-crypt.rst`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CryptTable {
    /// `aes-xts-plain64`.
    pub cipher: String,
    /// The size of the key in bits: 512 for AES-256 in XTS mode.
    pub key_bits: u32,
    /// Bytes encrypted at a time: 512 or 4096.
    pub sector_size: Bytes,
    pub no_read_workqueue: bool,
    pub no_write_workqueue: bool,
    pub same_cpu_crypt: bool,
    pub submit_from_crypt_cpus: bool,
}

/// Understands a table: for each target a line `start length type parameters`, in sectors. A target that is not known
/// here is [`DmKind::Other`]; `None` when a line is no target at all.
pub fn parse_table(text: &str) -> Option<Vec<DmTarget>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let targets: Vec<DmTarget> = lines.map(parse_line).collect::<Option<_>>()?;
    (!targets.is_empty()).then_some(targets)
}

fn parse_line(line: &str) -> Option<DmTarget> {
    let mut words = line.split_whitespace();
    let start = sectors(words.next()?)?;
    let length = sectors(words.next()?)?;
    let name = words.next()?;
    let parameters: Vec<&str> = words.collect();
    let kind = match name {
        "linear" => linear(&parameters)?,
        "delay" => undelayed(&parameters).unwrap_or_else(|| DmKind::Other(name.to_owned())),
        "striped" => striped(&parameters)?,
        "crypt" => DmKind::Crypt(crypt(&parameters)?),
        other => DmKind::Other(other.to_owned()),
    };
    Some(DmTarget { start, length, kind })
}

/// `<dev> <offset>` (`Documentation/admin-guide/device-mapper/linear.rst`).
fn linear(parameters: &[&str]) -> Option<DmKind> {
    let [device, offset, ..] = parameters else { return None };
    Some(DmKind::Linear { device: parse_number_pair(device)?, offset: sectors(offset)? })
}

/// `<dev> <offset> <delay>`, for reads or for all, then for writes, then for flushes (`…/delay.rst`). Without any delay, to one
/// device, it is a linear mapping; `None` for any other.
fn undelayed(parameters: &[&str]) -> Option<DmKind> {
    let (first, rest) = parameters.split_first_chunk::<3>()?;
    let is_same = rest.chunks(3).all(|further| further == first);
    (first[2] == "0" && is_same).then(|| linear(first))?
}

/// `<count> <chunk> [<dev> <offset>]…` (`…/striped.rst`).
fn striped(parameters: &[&str]) -> Option<DmKind> {
    let [count, chunk, members @ ..] = parameters else { return None };
    let count: usize = count.parse().ok()?;
    let devices: Vec<(u32, u32)> =
        members.chunks_exact(2).take(count).filter_map(|member| parse_number_pair(member.first()?)).collect();
    (devices.len() == count && count > 0).then_some(DmKind::Striped { chunk: sectors(chunk)?, devices })
}

/// `<cipher> <key> <iv offset> <dev> <offset> [<count of options> <option>…]` (`…/dm-crypt.rst`).
fn crypt(parameters: &[&str]) -> Option<CryptTable> {
    let [cipher, key, _iv_offset, _device, _offset, options @ ..] = parameters else { return None };
    let options = options.get(1..).unwrap_or_default();
    let has = |name: &str| options.contains(&name);
    let sector_size = options.iter().find_map(|option| option.strip_prefix("sector_size:"));
    Some(CryptTable {
        cipher: (*cipher).to_owned(),
        key_bits: key_bytes(key)?.checked_mul(8)?,
        // Without the option dm-crypt works on 512-byte sectors.
        sector_size: Bytes::new(sector_size.map_or(Some(512), |size| size.parse().ok())?),
        no_read_workqueue: has("no_read_workqueue"),
        no_write_workqueue: has("no_write_workqueue"),
        same_cpu_crypt: has("same_cpu_crypt"),
        submit_from_crypt_cpus: has("submit_from_crypt_cpus"),
    })
}

/// The size of a key in bytes, from its field: hexadecimal, `:32:logon:name` for one in the keyring, `-` for none, or
/// what [`without_key`] makes of any of them. `None` for anything else, or no size that a key can have.
fn key_bytes(field: &str) -> Option<u32> {
    /// No cipher takes more; a larger number is garbage.
    const MOST: u32 = 1024;
    let size = match field.strip_prefix(':') {
        Some(keyring) => keyring.split(':').next()?.parse().ok()?,
        None if field == "-" => 0,
        None if field.len().is_multiple_of(2) && field.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            u32::try_from(field.len() / 2).ok()?
        }
        None => return None,
    };
    (size <= MOST).then_some(size)
}

/// What may be kept of a target's parameters. Of a key only its size is (`:64:-`); of targets that are not understood
/// nothing is, because some of them carry keys as well (dm-integrity, dm-verity, out-of-tree ones).
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only a kernel tells of keys"))]
pub(crate) fn without_key(target: &str, parameters: &str) -> String {
    match target {
        "linear" | "striped" | "delay" => parameters.to_owned(),
        "crypt" => {
            let mut words: Vec<&str> = parameters.split_whitespace().collect();
            let Some(key) = words.get_mut(1) else { return String::new() };
            // A field that is no key of a known form is dropped with everything else.
            let Some(size) = key_bytes(key) else { return String::new() };
            let size = format!(":{size}:-");
            *key = &size;
            words.join(" ")
        }
        _ => String::new(),
    }
}

fn sectors(text: &str) -> Option<Bytes> {
    text.parse().ok().map(|count| Bytes::from_sectors(Sectors512::new(count)))
}

/// Reads a device number, `253:1`.
pub fn parse_number_pair(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn only(text: &str) -> DmKind {
        parse_table(text).expect("is a table").remove(0).kind
    }

    #[test]
    fn a_linear_volume_over_two_drives_has_two_targets() {
        let table = parse_table("0 8192 linear 8:0 2048\n8192 4096 linear 259:1 34\n").expect("is a table");
        assert_eq!(table.len(), 2);
        assert_eq!(table[1].start, Bytes::new(8192 * 512));
        assert_eq!(table[1].length, Bytes::new(4096 * 512));
        assert_eq!(table[1].kind, DmKind::Linear { device: (259, 1), offset: Bytes::new(34 * 512) });
    }

    #[test]
    fn a_delay_of_nothing_is_a_linear_mapping() {
        let linear = DmKind::Linear { device: (251, 0), offset: Bytes::from_mib(1) };
        assert_eq!(only("0 8192 delay 251:0 2048 0"), linear);
        assert_eq!(only("0 8192 delay 251:0 2048 0 251:0 2048 0"), linear);
        for other in ["251:0 2048 5", "251:0 2048 0 251:1 2048 0", "251:0 2048 0 251:0 2048 9", "251:0"] {
            assert_eq!(only(&format!("0 8192 delay {other}")), DmKind::Other("delay".to_owned()), "{other}");
        }
    }

    #[test]
    fn stripes_have_a_chunk_and_their_devices() {
        let striped = only("0 1024 striped 2 128 253:0 384 253:1 384");
        assert_eq!(
            striped,
            DmKind::Striped { chunk: Bytes::from_kib(64), devices: vec![(253, 0), (253, 1)] }
        );
        assert_eq!(parse_table("0 1024 striped 3 128 253:0 384 253:1 384"), None);
    }

    #[test]
    fn encryption_tells_cipher_key_size_and_options() {
        let hex = "00".repeat(64);
        let text = format!(
            "0 1000 crypt aes-xts-plain64 {hex} 0 8:2 32768 4 allow_discards no_read_workqueue \
             no_write_workqueue sector_size:4096"
        );
        let DmKind::Crypt(table) = only(&text) else { panic!("not crypt") };
        assert_eq!(table.cipher, "aes-xts-plain64");
        assert_eq!(table.key_bits, 512);
        assert_eq!(table.sector_size, Bytes::new(4096));
        assert!(table.no_read_workqueue && table.no_write_workqueue);
        assert!(!table.same_cpu_crypt && !table.submit_from_crypt_cpus);
    }

    #[test]
    fn a_key_in_the_keyring_states_its_size() {
        let text = "0 1000 crypt capi:xts(aes)-plain64 :64:logon:cryptsetup:0a1b-d0 0 8:2 32768";
        let DmKind::Crypt(table) = only(text) else { panic!("not crypt") };
        assert_eq!((table.key_bits, table.sector_size), (512, Bytes::new(512)));
    }

    #[test]
    fn an_unknown_target_is_named() {
        assert_eq!(only("0 100 thin 253:2 1"), DmKind::Other("thin".to_owned()));
        assert_eq!(parse_table("garbage"), None);
        assert_eq!(parse_table(""), None);
    }

    #[test]
    fn nothing_of_a_key_is_kept() {
        let key = "deadbeef".repeat(8);
        let kept = without_key("crypt", &format!("aes-xts-plain64 {key} 0 8:2 32768 1 allow_discards"));
        assert_eq!(kept, "aes-xts-plain64 :32:- 0 8:2 32768 1 allow_discards");
        let kept = without_key("crypt", "aes-xts-plain64 :64:logon:cryptsetup:secret-name 0 8:2 32768");
        assert_eq!(kept, "aes-xts-plain64 :64:- 0 8:2 32768");
        assert_eq!(without_key("crypt", "aes-xts-plain64 k3y! 0 8:2 32768"), "");
        assert_eq!(without_key("integrity", &format!("8:2 0 32 J 1 internal_hash:hmac(sha256):{key}")), "");
    }

    #[test]
    fn what_is_kept_says_the_same_as_the_table_itself() {
        let parameters = "aes-cbc-essiv:sha256 0123456789abcdef0123456789abcdef 0 8:2 4096 1 same_cpu_crypt";
        let whole = format!("0 1000 crypt {parameters}");
        let kept = format!("0 1000 crypt {}", without_key("crypt", parameters));
        assert_ne!(whole, kept);
        assert_eq!(parse_table(&whole), parse_table(&kept));
    }

    proptest! {
        #[test]
        fn no_table_panics(text in "\\PC{0,200}") {
            let _ = parse_table(&text);
        }

        #[test]
        fn no_near_table_panics(
            target in "(linear|striped|crypt|raid)",
            words in proptest::collection::vec("[0-9a-f:-]{0,24}", 0..10),
        ) {
            let words = words.join(" ");
            let _ = parse_table(&format!("0 18446744073709551615 {target} {words}"));
            let _ = without_key(&target, &words);
        }

        #[test]
        fn a_key_never_survives(key in "[0-9a-f]{16,128}") {
            let kept = without_key("crypt", &format!("aes-xts-plain64 {key} 0 8:2 32768"));
            prop_assert!(!kept.contains(&key));
        }
    }
}
