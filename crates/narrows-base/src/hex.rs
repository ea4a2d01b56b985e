//! Bytes as hexadecimal digits.

/// Two digits for each byte.
pub fn digits<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> String {
    bytes.into_iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of which these are the digits.
pub fn bytes(digits: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| {
        let is_hex = pair.len() == 2 && pair.iter().all(u8::is_ascii_hexdigit);
        u8::from_str_radix(std::str::from_utf8(pair).ok().filter(|_| is_hex)?, 16).ok()
    };
    digits.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_as_they_are_written() {
        assert_eq!(digits(&[0, 0x1f, 0xff]), "001fff");
        assert_eq!(bytes("001fFF"), Some(vec![0, 0x1f, 0xff]));
        assert_eq!(bytes(""), Some(Vec::new()));
        for wrong in ["0", "0g", "+f", "é", "0 "] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
