//! The log page "SMART / Health Information Extended" of drives for data centers: C0h, Open Compute Project, "Datacenter NVMe
//! SSD Specification" 2.0, section 4.8.6.

use narrows_base::units::Bytes;

/// The length of the log.
const LENGTH: usize = 512;
/// Its last 16 bytes, by which it is told from what other makers have in page C0h: AFD514C97C6F4F9CA4F2BFEA2810AFC5h.
const GUID: [u8; 16] = 0xafd5_14c9_7c6f_4f9c_a4f2_bfea_2810_afc5_u128.to_le_bytes();

/// Bytes written to the medium in the life of the drive, those for its own records included; `None` where the page is not
/// whole, or another.
pub(super) fn medium_written(log: &[u8]) -> Option<Bytes> {
    let log = log.get(..LENGTH)?;
    let (written, guid) = (log.first_chunk::<16>()?, log.last_chunk::<16>()?);
    let bytes = u64::try_from(u128::from_le_bytes(*written)).ok()?;
    (*guid == GUID).then_some(Bytes::new(bytes))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A log as a drive gives it, of which so many bytes were written to the medium.
    pub(in super::super) fn log(written: u64) -> Vec<u8> {
        let mut log = vec![0; LENGTH];
        log[..8].copy_from_slice(&written.to_le_bytes());
        // As in nvme-cli, plugins/ocp: scao_guid.
        log[496..].copy_from_slice(&[
            0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4, 0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14, 0xd5, 0xaf,
        ]);
        log
    }

    #[test]
    fn the_page_is_known_by_its_guid_and_length() {
        assert_eq!(medium_written(&log(7_000_000)), Some(Bytes::new(7_000_000)));
        let mut other = log(7);
        other[500] ^= 1;
        assert_eq!(medium_written(&other), None);
        assert_eq!(medium_written(&log(7)[..511]), None);
        let mut garbage = log(7);
        garbage[15] = 0xff;
        assert_eq!(medium_written(&garbage), None, "more bytes than there can be");
    }
}
