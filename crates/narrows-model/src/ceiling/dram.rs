//! What main memory carries, and what other sockets get of it.
//!
//! Channels × transfers a second × 8 bytes (JEDEC), of which reads get [`EFFICIENCY`]: 112 of 128 GB/s on a Xeon 8160 (J.
//! McCalpin), 80 to 90 % in STREAM results of servers. Through links between sockets data gets `efficiency` of links × GT/s ×
//! 2 bytes: 34 of 41.6 GB/s there ([`super::socket`]). Expected error ±8 %. Data that a program reads through the page cache
//! crosses memory three times (DMA, copy in, copy out), encrypted four times.

use narrows_base::units::BytesPerSec;

/// What reads get of the channels' rate.
pub const EFFICIENCY: f64 = 0.85;

/// What `channels` of `megatransfers` a second carry: reads of one socket.
pub fn local(channels: u32, megatransfers: u32) -> BytesPerSec {
    BytesPerSec::new(f64::from(channels) * f64::from(megatransfers) * 8e6 * EFFICIENCY)
}

/// What links between sockets carry in one direction.
pub fn remote(links: u32, gigatransfers: f64, efficiency: f64) -> BytesPerSec {
    BytesPerSec::from_gb(f64::from(links) * gigatransfers * 2.0 * efficiency)
}

/// What is left for I/O whose data crosses memory `times`.
pub fn for_io(memory: BytesPerSec, times: f64) -> BytesPerSec {
    memory / times.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_xeon_8160_was_measured() {
        assert!((local(6, 2666).get() / 112e9 - 1.0).abs() < 0.04);
        assert!((remote(2, 10.4, 0.8).get() / 34e9 - 1.0).abs() < 0.03);
        assert_eq!(for_io(BytesPerSec::from_gb(90.0), 3.0), BytesPerSec::from_gb(30.0));
    }

    proptest! {
        #[test]
        fn more_channels_and_links_carry_more(channels in 1u32..16, rate in 800u32..10_000, links in 1u32..6) {
            prop_assert!(local(channels + 1, rate) > local(channels, rate));
            prop_assert!(remote(links + 1, 10.4, 0.8) > remote(links, 10.4, 0.8));
        }
    }
}
