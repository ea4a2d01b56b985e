#![expect(clippy::disallowed_methods, reason = "tests make files")]

use super::*;
use crate::ring::Ring;

const BLOCK: u32 = 8192;
static GO: AtomicBool = AtomicBool::new(false);

fn silent(_: u64) {}

fn data(length: usize) -> Vec<u8> {
    (0..length).map(|at| ((at / 7) ^ (at / 4096)) as u8).collect()
}

fn file_of(data: &[u8]) -> File {
    let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    file.write_all_at(data, 0).unwrap();
    file
}

/// Runs `test` with every mover that this machine has, and its depth.
fn with_movers(test: impl Fn(&mut Mover<'_>, u32)) {
    test(&mut Mover::calls(Mover::memory(BLOCK, 1).unwrap()), 1);
    match Ring::open(4) {
        Ok(mut ring) => test(&mut Mover::ring(&mut ring, Mover::memory(BLOCK, 4).unwrap()), 4),
        Err(error) => println!("skipped: no io_uring here: {error}"),
    }
}

fn copy(
    (mover, depth): (&mut Mover<'_>, u32),
    (source, part): (&File, &File),
    size: u64,
    direct: bool,
) -> Result<Vec<Block>, Why> {
    let mut meter = Meter::start();
    let mut pipeline = Pipeline::new(mover, &mut meter, depth);
    let direct = direct && rustix::fs::fcntl_setfl(part, rustix::fs::OFlags::DIRECT).is_ok();
    let mut ends = (End { file: source, direct: false }, End { file: part, direct });
    let mut cursor = Cursor::new(None, 0, size, BLOCK);
    let mut blocks = Vec::new();
    while pipeline.copy((&mut ends.0, &mut ends.1), &mut cursor, &mut blocks, 5, (&GO, &silent))?
        == Progress::Part
    {}
    part.set_len(size).unwrap();
    Ok(blocks)
}

fn verify((mover, depth): (&mut Mover<'_>, u32), part: &File, blocks: &[Block]) -> Result<Progress, Why> {
    let mut meter = Meter::start();
    Pipeline::new(mover, &mut meter, depth).verify(
        &mut End { file: part, direct: false },
        blocks,
        (&GO, &silent),
    )
}

#[test]
fn what_is_copied_is_what_was_there_and_reads_back() {
    with_movers(|mover, depth| {
        for (length, direct) in [(0, false), (1, true), (100_000, false), (100_001, true), (131_072, true)] {
            let (source, part) = (file_of(&data(length)), file_of(b""));
            let mut blocks = copy((mover, depth), (&source, &part), length as u64, direct).unwrap();
            drop_direct(&part).unwrap();
            let mut copied = vec![0; length];
            part.read_exact_at(&mut copied, 0).unwrap();
            assert!(copied == data(length), "{length} bytes");
            assert_eq!(part.metadata().unwrap().len(), length as u64);
            blocks.sort_by_key(|block| block.offset);
            let covered: u64 = blocks.iter().map(|block| u64::from(block.length)).sum();
            assert_eq!(covered, length as u64);
            assert_eq!(verify((mover, depth), &part, &blocks), Ok(Progress::Whole));
        }
    });
}

#[test]
fn one_flipped_bit_is_found_and_its_block_named() {
    with_movers(|mover, depth| {
        let (source, part) = (file_of(&data(100_001)), file_of(b""));
        let blocks = copy((mover, depth), (&source, &part), 100_001, false).unwrap();
        for (at, offset, length) in [(0, 0, 8192), (20_000, 16_384, 8192), (100_000, 98_304, 1697)] {
            let mut byte = [0];
            part.read_exact_at(&mut byte, at).unwrap();
            part.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
            let (offset, length) = (Bytes::new(offset), Bytes::new(length));
            assert_eq!(verify((mover, depth), &part, &blocks), Err(Why::Mismatch { offset, length }));
            part.write_all_at(&byte, at).unwrap();
        }
        assert_eq!(verify((mover, depth), &part, &blocks), Ok(Progress::Whole));
        part.set_len(100_000).unwrap();
        assert_eq!(verify((mover, depth), &part, &blocks), Err(Why::Changed));
    });
}

#[test]
fn a_source_that_became_shorter_and_one_that_fails_are_faults_and_leave_nothing_in_flight() {
    with_movers(|mover, depth| {
        let (source, part) = (file_of(&data(50_000)), file_of(b""));
        assert_eq!(copy((mover, depth), (&source, &part), 60_000, false), Err(Why::Changed));
        let directory = File::open(env!("CARGO_MANIFEST_DIR")).unwrap();
        let failed = copy((mover, depth), (&directory, &part), 60_000, false).unwrap_err();
        assert_eq!(failed.code(), "io");
        // The same mover is as good as new.
        assert_eq!(copy((mover, depth), (&source, &part), 50_000, false).unwrap().len(), 7);
    });
}

#[test]
fn a_raised_flag_stops_between_blocks() {
    with_movers(|mover, depth| {
        let (source, part) = (file_of(&data(50_000)), file_of(b""));
        let mut meter = Meter::start();
        let mut pipeline = Pipeline::new(mover, &mut meter, depth);
        let mut ends = (End { file: &source, direct: false }, End { file: &part, direct: false });
        let mut cursor = Cursor::new(None, 0, 50_000, BLOCK);
        let mut blocks = Vec::new();
        let stop = AtomicBool::new(true);
        let progress =
            pipeline.copy((&mut ends.0, &mut ends.1), &mut cursor, &mut blocks, 99, (&stop, &silent));
        assert_eq!((progress, blocks.len()), (Ok(Progress::Part), 0));
    });
}
