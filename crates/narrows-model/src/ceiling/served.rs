//! What a file or block server makes of a network for large writes.
//!
//! A write waits for what a read need not: its acknowledgement, the round trip of an R2T, the page cache or the log of the
//! server. No key of a description tells these, so this is no model but what was published, over what the network carries
//! (`fabric.rs`): 0.44 and 0.63 (iSCSI), 0.67 and 0.85 (SMB) at 10 Gbit/s (github.com/XtremeOwnage/Web), 0.48
//! (xtremeownage.com), 0.87 over iSCSI at 1 Gbit/s (sobrelinux.info 672647), 0.93 over SMB (github.com/dperson/samba, issue 70)
//! and 0.42 over NFS to a board (github.com/armbian/build, pull 6368). [`WRITE_SHARE`] is their middle; each lies between 0.65
//! and 1.5 of it. Valid up to 10 Gbit/s and for writes that are not flushed one by one: above, 0.07 and 0.38 were published.

use narrows_base::units::BytesPerSec;

/// The share of a network that a server writes.
pub const WRITE_SHARE: f64 = 0.65;

/// What is written over a `network` that carries so much.
pub fn written(network: BytesPerSec) -> BytesPerSec {
    network * WRITE_SHARE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MB/s over 1177 at 10 Gbit/s, and over 117.7 at 1 Gbit/s.
    #[test]
    fn what_was_published_lies_around_the_middle_and_no_more_than_a_half_off() {
        let published = [
            (523.0, 1177.0),
            (742.0, 1177.0),
            (793.0, 1177.0),
            (998.0, 1177.0),
            (570.0, 1177.0),
            (102.0, 117.7),
            (110.0, 117.7),
            (49.5, 117.7),
        ];
        let off = published.map(|(got, network)| got / written(BytesPerSec::from_mb(network)).get() * 1e6);
        assert!(off.iter().all(|off| (0.6..1.5).contains(off)), "{off:?}");
        assert_eq!(off.iter().filter(|off| **off > 1.0).count(), 4, "{off:?}");
    }
}
