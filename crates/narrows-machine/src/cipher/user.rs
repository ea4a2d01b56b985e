//! AES-XTS outside the kernel: an estimate where the kernel's cipher cannot be asked. It uses the processor's AES
//! instructions when there are any, but not the widest ones that a recent kernel uses.

use aes::cipher::array::Array;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, Key, KeyInit, consts::U16};
use aes::{Aes128, Aes256};
use xts_mode::{Xts128, get_tweak_default};

use super::{Algorithm, REQUEST, Way, rate_of};
use narrows_base::units::{Bytes, BytesPerSec};

/// The rates of decryption and encryption on one core; `None` for anything but AES-XTS with 128 or 256 bits.
pub(super) fn rates(
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
        assert_eq!(rates(&serpent, 512, Bytes::new(512)), None);
        assert_eq!(rates(&xts, 384, Bytes::new(512)), None);
        assert_eq!(rates(&xts, 4096, Bytes::new(512)), None);
        assert_eq!(rates(&xts, 512, Bytes::new(0)), None);
        assert_eq!(rates(&xts, 512, Bytes::new(u64::MAX)), None);
    }
}
