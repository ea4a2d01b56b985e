//! Whatever stands on a device, the scan of the write guard ends without a panic, reads only within the device, and
//! lets no data at its ends pass.
#![no_main]

use std::io;

use libfuzzer_sys::fuzz_target;
use narrows::load::guard::{EDGE, Medium, examine};
use narrows::units::Bytes;

struct Sparse<'a> {
    size: u64,
    offset: u64,
    content: &'a [u8],
}

impl Medium for Sparse<'_> {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        assert!(offset + into.len() as u64 <= self.size);
        for (at, place) in (offset..).zip(into) {
            let within = at.checked_sub(self.offset).and_then(|index| usize::try_from(index).ok());
            *place = within.and_then(|index| self.content.get(index)).copied().unwrap_or_default();
        }
        Ok(())
    }
}

fuzz_target!(|input: (u64, u64, &[u8])| {
    let (size, offset, content) = input;
    let size = size % (1 << 50);
    let medium = Sparse { size, offset: offset % size.max(1), content };
    let found = examine("fuzz", &medium);
    assert!(found.unreadable.is_none());
    let at_an_end = (medium.offset..size)
        .zip(content)
        .any(|(at, byte)| *byte != 0 && (at < EDGE.get() || at >= size.saturating_sub(EDGE.get())));
    assert!(!at_an_end || !found.signatures.is_empty());
    assert!(found.signatures.iter().flat_map(|found| &found.offsets).all(|offset| offset.get() < size));
});
