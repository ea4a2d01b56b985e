//! Fields of binary answers: numbers in the order of this machine, at an offset.

/// `N` bytes from `at` on; `None` where there are fewer.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

pub(crate) fn short(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_ne_bytes)
}

pub(crate) fn long(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_ne_bytes)
}

pub(crate) fn wide(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_ne_bytes)
}

/// Writes a field, where there is room for it.
pub(crate) fn put(buffer: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(field) = buffer.get_mut(at..at + bytes.len()) {
        field.copy_from_slice(bytes);
    }
}
