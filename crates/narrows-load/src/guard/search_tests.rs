use super::super::testing::Fake;
use super::*;
use narrows_base::units::human;
use proptest::prelude::*;

fn go(_: Step) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn searched(medium: &Fake) -> Searched {
    search(medium, None, 7, Instant::now(), &mut go).unwrap()
}

/// A search of each MiB, whatever the speed.
fn each_mib(medium: &Fake, count: u32) -> Searched {
    let mut search = Search::of(medium, None, 7);
    let plan = Plan { method: Method::EachMib(count), reads: medium.size >> 20, time: LONGEST };
    search.result.method = plan.method;
    // It ends early once there are data.
    let is_done = search.each_mib(count, &plan, &mut go).unwrap();
    assert!(is_done || search.is_over());
    search.result
}

fn text(searched: &Searched, medium: &Fake) -> String {
    let reasons = searched.reasons("sdb", medium);
    reasons.iter().map(|reason| format!("{reason}\n")).collect()
}

/// As mke2fs makes it: blocks of 4 KiB, 32768 in a group.
fn ext4() -> Vec<u8> {
    let mut block = vec![0; 4096];
    block[1024 + 0x18] = 2;
    block[1024 + 0x20..1024 + 0x24].copy_from_slice(&32768_u32.to_le_bytes());
    block[1080..1082].copy_from_slice(&[0x53, 0xEF]);
    block
}

#[test]
fn a_blank_medium_is_blank_however_it_is_searched() {
    let blank = Fake::with(100 << 20, Vec::new());
    let all = searched(&blank);
    assert_eq!((all.method, all.places, all.bound()), (Method::All, 25_600, None));
    assert_eq!(all.reasons("sdb", &blank), []);
    let each = each_mib(&blank, 1);
    assert_eq!((each.places, each.reasons("sdb", &blank).len()), (100, 0));
}

#[test]
fn a_lost_partition_table_is_named_wherever_the_file_system_begins() {
    for start in [1_u64 << 20, 63 * 512, 34 * 512, 64 << 10, 4 << 20, 8 << 20, 77 << 20] {
        for (name, piece) in
            [("ext2, ext3 or ext4", ext4()), ("XFS", b"XFSB".to_vec()), ("LUKS", b"LUKS\xba\xbe".to_vec())]
        {
            let medium = Fake::with(100 << 20, vec![(start, piece)]);
            let text = text(&searched(&medium), &medium);
            let begins = format!("what looks like {name}");
            assert!(text.contains(&begins) && text.contains("a lost partition table?"), "{start}: {text}");
            let place = human::block_size(Bytes::new(start));
            assert!(text.contains(&format!("begins at {place}:")), "{place}: {text}");
        }
    }
}

#[test]
fn magic_numbers_far_behind_the_beginning_are_found_where_partitions_begin() {
    // btrfs has its first superblock 64 KiB behind, md 1.2 its only one 4 KiB behind.
    for (name, at, magic) in [
        ("btrfs", (1 << 20) + (64 << 10) + 64, b"_BHRfS_M".to_vec()),
        ("Linux md 1.2", (5 << 20) + 4096, vec![0xfc, 0x4e, 0x2b, 0xa9]),
    ] {
        let medium = Fake::with(300 << 20, vec![(at, magic)]);
        let found = each_mib(&medium, 1);
        assert!(text(&found, &medium).contains(name), "{}", text(&found, &medium));
    }
}

#[test]
fn what_is_found_in_the_middle_of_data_is_listed_where_they_begin() {
    let begin = (50 << 20) + 100;
    let pieces = vec![(begin, b"PRECIOUS".repeat(1200)), (begin - 20_000, vec![1])];
    let medium = Fake::with(100 << 20, pieces);
    let mut search = Search::of(&medium, None, 7);
    let found = |at: u64| Found { at: Bytes::new(at), bytes: b"x".to_vec() };
    search.result.found = vec![found(begin + 5000), found(begin + 9000), found(begin - 20_000)];
    search.go_back().unwrap();
    let begins: Vec<u64> = search.result.found.iter().map(|found| found.at.get()).collect();
    assert_eq!(begins, [begin, begin - 20_000]);
}

#[test]
fn what_data_look_like_is_said() {
    let noise: Vec<u8> = (1..513_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for (bytes, said) in [
        (b"PRECIOUSPRECIOUS".to_vec(), "text, `PRECIOUSPRECIOUS`"),
        (vec![0xff; 600], "bytes that are all 0xff"),
        (noise, "bytes without order"),
        (vec![1, 2, 3], "the bytes 01 02 03"),
    ] {
        let medium = Fake::with(100 << 20, vec![(50 << 20, bytes)]);
        let text = text(&searched(&medium), &medium);
        assert!(text.contains("holds data at byte 52428800: ") && text.contains(said), "{text}");
    }
}

#[test]
fn what_cannot_be_read_refuses() {
    let medium = Fake { broken: Some(60 << 20), ..Fake::with(100 << 20, Vec::new()) };
    let reasons = searched(&medium).reasons("sdb", &medium);
    assert!(matches!(reasons.as_slice(), [Reason::Unreadable { .. }]), "{reasons:?}");
}

#[test]
fn random_places_say_their_bound_and_too_few_of_them_refuse() {
    let medium = Fake::with(1 << 40, Vec::new());
    let mut search = Search::of(&medium, None, 7);
    search.result.method = Method::Random;
    let plan = Plan { method: Method::Random, reads: 40_000, time: Duration::from_millis(1) };
    search.at_random(&plan, &mut go).unwrap();
    let result = Searched { places: 40_000, ..search.result };
    // 3 of 40 000.
    assert_eq!(result.bound().map(human::small_percent).as_deref(), Some("0.0075 %"));
    assert_eq!(result.reasons("sdb", &medium), []);
    let few = Searched { places: 999, ..result };
    assert!(matches!(few.reasons("sdb", &medium).as_slice(), [Reason::Unsearched { .. }]));
}

#[test]
fn whoever_watches_ends_it() {
    let medium = Fake::with(1 << 40, Vec::new());
    let mut steps = 0;
    let ended = search(&medium, None, 7, Instant::now(), &mut |_| {
        steps += 1;
        ControlFlow::Break(())
    });
    assert!(ended.unwrap().is_broken_off && steps == 1);
}

#[test]
fn a_medium_that_becomes_slow_is_searched_at_random_places_instead() {
    let medium = Fake { delay: Duration::from_millis(3), ..Fake::with(1 << 40, Vec::new()) };
    let mut search = Search::of(&medium, None, 7);
    let plan = Plan { method: Method::EachMib(1), reads: 1 << 20, time: Duration::from_secs(10) };
    assert!(!search.each_mib(1, &plan, &mut go).unwrap(), "a million reads at 3 ms take too long");
    let speed = Speed { places: 300.0, bytes: 1e8 };
    assert_eq!(plan.instead(medium.size, speed).map(|plan| plan.method), Some(Method::Random));
}

#[test]
fn a_medium_that_was_slow_only_at_the_beginning_is_read_as_a_whole_after_all() {
    let between = (77 << 20) + 5000;
    let medium = Fake::with(100 << 20, vec![(between, b"foreign".to_vec())]);
    let mut search = Search::of(&medium, None, 7);
    search.result.method = Method::EachMib(1);
    search.whole_after_all(&mut go).unwrap();
    let found = search.result.found.first().map(|found| found.at);
    assert_eq!((search.result.method, found), (Method::All, Some(Bytes::new(between))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_byte_of_a_medium_that_is_read_as_a_whole_is_found(size in 3_u64 << 20..64 << 20, at: u64, byte in 1_u8..) {
        let (size, at) = (size / 512 * 512, at % (size / 512 * 512));
        let medium = Fake::with(size, vec![(at, vec![byte])]);
        let found = searched(&medium);
        prop_assert_eq!(found.found.first().map(|found| found.at), Some(Bytes::new(at)));
    }

    #[test]
    fn any_byte_in_the_first_4_kib_of_any_mib_is_found(index in 0_u64..5000, within in 0_u64..4096, byte in 1_u8..) {
        let at = (index << 20) + within;
        let found = each_mib(&Fake::with(5000 << 20, vec![(at, vec![byte])]), 1);
        prop_assert_eq!(found.found.first().map(|found| found.at), Some(Bytes::new(at)));
    }
}
