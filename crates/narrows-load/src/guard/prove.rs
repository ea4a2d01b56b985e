//! Proves that a region holds nothing but zeros: reads all of it through the handle that is going to write.

use std::io;
use std::ops::ControlFlow;
use std::time::Instant;

use super::bulk::{Bulk, Piece};
use super::plan::LONGEST;
use super::search::{Found, sort};
use super::sentry::{Step, Watch};
use crate::marks::{DeviceKey, is_zero};
use crate::workload::Region;
use narrows_base::units::Bytes;

/// What is read in one go.
const CHUNK: u64 = 1 << 20;

/// Below so many bytes in a second a medium is read for no longer than [`LONGEST`].
const SLOW: f64 = 10e6;

/// What stands against a region.
#[derive(Debug, Default)]
pub(super) struct Proof {
    /// The first data of others, by place.
    pub(super) found: Option<Found>,
    /// The first place that bears our mark.
    pub(super) marked: Option<Bytes>,
    /// A place that cannot be read, and why.
    pub(super) unreadable: Option<(Bytes, String)>,
    /// Whether whoever watches broke it off.
    pub(super) is_broken_off: bool,
}

/// Reads every byte of a region. It is proven when nothing stands against it in what comes back.
///
/// # Errors
/// Memory is short, or the engine broke down. What cannot be read is a finding.
pub(super) fn prove(
    medium: &dyn Bulk,
    region: Region,
    key: Option<DeviceKey>,
    watch: Watch<'_>,
) -> io::Result<Proof> {
    let (start, length) = (region.start.get(), region.length.get());
    let mut proof = Proof::default();
    let (mut done, begin) = (0, Instant::now());
    let mut chunks = pieces(start, length);
    medium.read_all(CHUNK as u32, &mut chunks, &mut |piece, bytes| {
        let at = Bytes::new(piece.offset);
        match bytes {
            Ok(bytes) if is_zero(bytes) => {}
            Ok(bytes) => {
                let (foreign, ours) = sort(key, piece.offset, bytes);
                // Pieces come back in any order: the first is the one with the lowest place.
                if let Some(found) = foreign
                    && proof.found.as_ref().is_none_or(|before| found.at < before.at)
                {
                    proof.found = Some(found);
                }
                let ours = ours.map(Bytes::new);
                proof.marked = proof.marked.into_iter().chain(ours).min();
            }
            Err(error) => {
                proof.unreadable.get_or_insert((at, error.to_string()));
            }
        }
        done += u64::from(piece.length);
        let (elapsed, rate) = (begin.elapsed().as_secs_f64(), done as f64 / begin.elapsed().as_secs_f64());
        if elapsed > 4.0 && rate < SLOW && length as f64 / rate > LONGEST.as_secs_f64() {
            let why = format!(
                "it is too slow: {rate:.0} B/s for {length} bytes that may be written; ask for less (--size)"
            );
            proof.unreadable.get_or_insert((at, why));
        }
        proof.is_broken_off |= watch(Step::Proving { done: Bytes::new(done), of: region.length }).is_break();
        if proof.is_broken_off || proof.found.is_some() || proof.unreadable.is_some() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    if proof.found.is_none() && proof.unreadable.is_none() && !proof.is_broken_off && done != length {
        // Not all of it was shown, so nothing is proven.
        proof.unreadable = Some((region.start, format!("only {done} of {length} bytes were read")));
    }
    Ok(proof)
}

/// The pieces that make up a region, in order.
pub(super) fn pieces(start: u64, length: u64) -> impl Iterator<Item = Piece> + Send {
    (0..length.div_ceil(CHUNK)).map(move |index| {
        let at = index * CHUNK;
        Piece { offset: start + at, length: u32::try_from(CHUNK.min(length - at)).unwrap_or(0) }
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fake;
    use super::*;
    use proptest::prelude::*;

    fn region(start: u64, length: u64) -> Region {
        Region { start: Bytes::new(start), length: Bytes::new(length) }
    }

    fn proof(medium: &Fake, region: Region) -> Proof {
        prove(medium, region, None, &mut |_| ControlFlow::Continue(())).unwrap()
    }

    #[test]
    fn a_region_that_cannot_be_read_is_not_proven() {
        let medium = Fake { broken: Some(5 << 20), ..Fake::with(16 << 20, Vec::new()) };
        assert!(proof(&medium, region(1 << 20, 14 << 20)).unreadable.is_some());
        assert!(proof(&medium, region(6 << 20, 4 << 20)).unreadable.is_none(), "it is not in this region");
    }

    #[test]
    fn what_was_not_read_to_its_end_is_not_proven() {
        let medium = Fake::with(16 << 20, Vec::new());
        let proof = prove(&medium, region(1 << 20, 14 << 20), None, &mut |_| ControlFlow::Break(())).unwrap();
        assert!(proof.is_broken_off);
    }

    proptest! {
        #[test]
        fn any_byte_in_the_region_is_found_and_none_outside(mibs in 1_u64..13, at in 0_u64..16 << 20, byte in 1_u8..) {
            let medium = Fake::with(16 << 20, vec![(at, vec![byte])]);
            let proof = proof(&medium, region(1 << 20, mibs << 20));
            let is_inside = (1 << 20..(1 + mibs) << 20).contains(&at);
            prop_assert_eq!(proof.found.map(|found| found.at), is_inside.then_some(Bytes::new(at)));
        }
    }
}
