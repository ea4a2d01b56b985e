//! What a DMA of a given size gets of a PCI Express link, with every packet charged: data, headers, requests,
//! acknowledgements, flow control and skip sets.
//!
//! This is the published model of R. Neugebauer, G. Antichi, J. F. Zazo, Y. Audzevich, S. López-Buedo and A. W. Moore,
//! "Understanding PCIe performance for end host networking", SIGCOMM 2018 (`github.com/pcie-bench/pcie-model`), and is met
//! by construction for generations 1 to 5, 1 to 16 lanes and payloads of 128 to 512 bytes (a test compares all of
//! them). Acknowledgements and flow control are charged to the direction of the data, as often as PCI Express Base
//! Specification 5.0, tables 2-46 to 2-48 and 3-7 to 3-9, recommends.
//!
//! It is a lower end: drives at depth lie 5 to 8 % above it, where [`super::rate`] is right, for they use one
//! direction and the acknowledgements travel in the other. Cards that use both (network, accelerators) lie between the
//! two: 55.6 and 54.4 Gbit/s were measured at 8 GT/s x8 with 2048 bytes (`pcie-bench/data`), which is 53.6 and 52.9
//! here and 58.2 and 57.4 there. [`between`] takes the middle; expected error ±3 % for DMA of 512 bytes and more. Not
//! covered: DMA of less, where the engine's own rate of requests limits.

use super::rate;
use narrows_base::units::{Bytes, BytesPerSec, GtPerSec, Lanes, Nanos};

/// Bytes of an acknowledgement or flow control packet (DLLP) with its framing.
const DLLP: f64 = 8.0;

/// Bytes of a read request with a 64-bit address: framing, sequence number and LCRC (8), header (16).
pub const REQUEST: f64 = 24.0;

/// Bytes between acknowledgements (and between flow control updates) for Max_Payload_Size of 128, 256 and 512, one row
/// for 1, 2, 4, 8 and 16 lanes.
type Spacing = [[f64; 3]; 5];

const GEN1: Spacing = [
    [237.0, 416.0, 559.0],
    [128.0, 217.0, 289.0],
    [73.0, 118.0, 154.0],
    [67.0, 107.0, 86.0],
    [48.0, 72.0, 86.0],
];

const GEN2: Spacing = [
    [288.0, 467.0, 610.0],
    [179.0, 268.0, 340.0],
    [124.0, 169.0, 205.0],
    [118.0, 158.0, 137.0],
    [99.0, 123.0, 137.0],
];

const GEN3: Spacing = [
    [333.0, 512.0, 655.0],
    [224.0, 313.0, 385.0],
    [169.0, 214.0, 250.0],
    [163.0, 203.0, 182.0],
    [144.0, 168.0, 182.0],
];

/// A link with the sizes of its packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wire {
    /// The rate for packets: raw, less acknowledgements, flow control and skip sets.
    packets: f64,
    /// Max_Payload_Size.
    payload: f64,
    /// Max_Read_Request_Size.
    request: f64,
    /// The size of completions.
    completion: f64,
}

impl Wire {
    /// A link of `speed` and `width` with Max_Payload_Size `payload` and Max_Read_Request_Size `request`. Completions
    /// are of Max_Payload_Size. `None` for what the tables do not have: generation 6, odd widths, payloads above 512.
    pub fn new(speed: GtPerSec, width: Lanes, payload: Bytes, request: Bytes) -> Option<Self> {
        let raw = rate::raw(speed, width)?.get();
        let table = match speed.pcie_generation()? {
            1 => GEN1,
            2 => GEN2,
            3..=5 => GEN3,
            _ => return None,
        };
        let row = [1, 2, 4, 8, 16].iter().position(|&lanes| lanes == width.get())?;
        let column = [128, 256, 512].iter().position(|&size| size == payload.get())?;
        let spacing = *table.get(row)?.get(column)?;
        let (payload, request) = (payload.as_f64(), request.as_f64().max(64.0));
        let packets = raw * (rate::SKIP_FACTOR - 2.0 * DLLP / spacing);
        Some(Self { packets, payload, request, completion: payload })
    }

    /// The same link behind a root port that cuts completions at `boundary` (RCB, most often 64 bytes).
    #[must_use]
    pub fn cut_at(self, boundary: Bytes) -> Self {
        Self { completion: boundary.as_f64().clamp(64.0, self.payload), ..self }
    }

    /// What is left for packets of any kind.
    pub fn packets(&self) -> BytesPerSec {
        BytesPerSec::new(self.packets)
    }

    /// Data that the device writes to host memory in pieces of `size` (a drive is read, a frame received).
    pub fn device_writes(&self, size: Bytes) -> BytesPerSec {
        BytesPerSec::new(self.packets * size.as_f64() / self.written(size))
    }

    /// Data that the device reads from host memory in pieces of `size` (a drive is written, a frame sent).
    pub fn device_reads(&self, size: Bytes) -> BytesPerSec {
        let (answered, asked) = (self.answered(size), self.asked(size));
        BytesPerSec::new(self.packets * size.as_f64() / answered.max(asked))
    }

    /// Data of each direction when the device writes and reads pieces of `size` at the same time.
    pub fn both(&self, size: Bytes) -> BytesPerSec {
        let away = self.written(size) + self.asked(size);
        BytesPerSec::new(self.packets * size.as_f64() / away.max(self.answered(size)))
    }

    /// Frames that a simple network card receives: each with a descriptor fetched and written back, an interrupt, and
    /// pointers read and written by the processor.
    pub fn frames_received(&self, frame: Bytes) -> BytesPerSec {
        let away = self.written(frame)
            + (16.0 + rate::WRITE_OVERHEAD)
            + (4.0 + rate::WRITE_OVERHEAD)
            + (4.0 + rate::COMPLETION_OVERHEAD);
        let back = (4.0 + rate::WRITE_OVERHEAD) + (16.0 + rate::COMPLETION_OVERHEAD) + REQUEST;
        BytesPerSec::new(self.packets * frame.as_f64() / away.max(back))
    }

    /// Frames that a simple network card sends, with what goes with each.
    pub fn frames_sent(&self, frame: Bytes) -> BytesPerSec {
        let back = self.answered(frame)
            + (4.0 + rate::WRITE_OVERHEAD)
            + (16.0 + rate::COMPLETION_OVERHEAD)
            + REQUEST;
        let away =
            REQUEST + self.asked(frame) + (4.0 + rate::WRITE_OVERHEAD) + (4.0 + rate::COMPLETION_OVERHEAD);
        BytesPerSec::new(self.packets * frame.as_f64() / away.max(back))
    }

    fn written(&self, size: Bytes) -> f64 {
        size.as_f64() + (size.as_f64() / self.payload).ceil() * rate::WRITE_OVERHEAD
    }

    fn answered(&self, size: Bytes) -> f64 {
        size.as_f64() + (size.as_f64() / self.completion).ceil() * rate::COMPLETION_OVERHEAD
    }

    fn asked(&self, size: Bytes) -> f64 {
        (size.as_f64() / self.request).ceil() * REQUEST
    }
}

/// What a card that moves data both ways gets, from what the model charges and what a drive gets: the middle.
pub fn between(charged: BytesPerSec, drive: BytesPerSec) -> BytesPerSec {
    (charged + drive) / 2.0
}

/// What reads are bound to by the requests that a device may have outstanding: `tags` of `request` bytes for each
/// `round_trip`. Five-bit tags (32) of 512 bytes and 1 µs leave 16 GB/s; eight-bit tags (256) never limit up to 5.0 x4.
pub fn outstanding(tags: u32, request: Bytes, round_trip: Nanos) -> BytesPerSec {
    let time = round_trip.as_secs_f64();
    if time > 0.0 {
        BytesPerSec::new(f64::from(tags) * request.as_f64() / time)
    } else {
        BytesPerSec::new(f64::MAX)
    }
}

/// From a small read of host memory by a device to its answer: 413 to 512 ns were measured on thirteen Xeon systems of
/// 2012 to 2017, 66 to 107 ns more through another socket (`pcie-bench/data`); the middles. Expected error ±12 %.
pub const fn round_trip(remote: bool) -> Nanos {
    Nanos::new(if remote { 450 + 85 } else { 450 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PUBLISHED: &str = include_str!("../../../../../tests/data/pcie-model.csv");

    fn wire(generation: u8, lanes: u8, payload: u64) -> Wire {
        let speed = GtPerSec::from_pcie_generation(generation).expect("a generation");
        Wire::new(speed, Lanes::new(lanes), Bytes::new(payload), Bytes::new(512)).expect("in the tables")
    }

    /// The second source is the authors' own program, run for every combination.
    #[test]
    fn the_published_model_is_met_within_1_percent_everywhere() {
        let mut compared = 0;
        for line in PUBLISHED.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())) {
            let row: Vec<f64> = line.split(',').map(|field| field.parse().expect("a number")).collect();
            let [generation, lanes, payload, size, want @ ..] = row.as_slice() else { panic!("{line}") };
            let wire = wire(*generation as u8, *lanes as u8, *payload as u64);
            let (size, frame) = (Bytes::new(*size as u64), Bytes::new(1514));
            let got = [
                wire.packets(),
                wire.device_writes(size),
                wire.device_reads(size),
                wire.both(size),
                wire.frames_received(frame),
                wire.frames_sent(frame),
            ];
            assert_eq!(want.len(), got.len());
            for (want, got) in want.iter().zip(got) {
                assert!((got.get() / 1e6 / want - 1.0).abs() < 0.01, "{line}: {got}");
                compared += 1;
            }
        }
        assert_eq!(compared, 5 * 5 * 3 * 4 * 6);
    }

    #[test]
    fn a_card_at_8_gt_x8_lies_between_the_model_and_a_drive() {
        let raw = rate::raw(GtPerSec::GEN3, Lanes::new(8)).expect("a rate");
        let (size, mps) = (Bytes::new(2048), Bytes::new(256));
        let wire = wire(3, 8, 256);
        let writes = between(wire.device_writes(size), rate::device_to_host(raw, mps));
        let reads = between(wire.device_reads(size), rate::host_to_device(raw, mps));
        // Sandy Bridge-EP: 54.445 and 55.632 Gbit/s.
        assert!((writes.get() * 8.0 / 54.445e9 - 1.0).abs() < 0.03, "{writes}");
        assert!((reads.get() * 8.0 / 55.632e9 - 1.0).abs() < 0.03, "{reads}");
    }

    #[test]
    fn tags_limit_reads_only_when_they_are_few() {
        let rate = outstanding(32, Bytes::new(512), Nanos::new(1000));
        assert!((rate.get() / 16.384e9 - 1.0).abs() < 1e-9);
        assert!(outstanding(256, Bytes::new(512), round_trip(true)).get() > 63e9);
    }

    #[test]
    fn what_the_tables_do_not_have_is_none() {
        let none = |speed, lanes, payload| {
            Wire::new(speed, Lanes::new(lanes), Bytes::new(payload), Bytes::new(512)).is_none()
        };
        assert!(
            none(GtPerSec::GEN6, 4, 256) && none(GtPerSec::GEN3, 12, 256) && none(GtPerSec::GEN3, 4, 1024)
        );
    }

    proptest! {
        #[test]
        fn packets_never_exceed_the_wire_and_smaller_completions_never_help(
            generation in 1u8..=5, lane in 0usize..5, payload in 0usize..3, size in 64u64..65_536
        ) {
            let lanes = [1, 2, 4, 8, 16][lane];
            let wire = wire(generation, lanes, [128, 256, 512][payload]);
            let raw = rate::raw(GtPerSec::from_pcie_generation(generation).expect("known"), Lanes::new(lanes)).expect("known");
            let size = Bytes::new(size);
            prop_assert!(wire.packets() < raw && wire.device_writes(size) < wire.packets());
            prop_assert!(wire.cut_at(Bytes::new(64)).device_reads(size) <= wire.device_reads(size));
            prop_assert!(wire.both(size) <= wire.device_writes(size));
        }
    }
}
