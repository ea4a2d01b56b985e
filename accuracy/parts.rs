//! The parts of the accuracy scorer that can be tested without a table.

#![expect(dead_code, reason = "the scorer itself uses the rest; tests may panic")]

mod cover;
mod expected;
mod interval;
mod laws;
mod model;
mod network;
mod report;
mod score;
mod table;
mod text;
mod work;

mod of_table {
    use crate::table::parse;

    const HEADER: &str = "id,source_url,year,platform,device_model,devices,link_gen,link_width,topology,layers,fs,network,workload,measured_value,unit,note,confidence\n";

    #[test]
    fn quoted_fields_may_hold_commas_quotes_and_lines() {
        let row = "x1,url,2022,\"a, \"\"b\"\"\nc\",d,1,3,x4,cpu,none,raw,-,hdparm -t,373.60,MiB/s,\"n, m\",high\r\n";
        let rows = parse(&format!("{HEADER}{row}\n")).expect("a table");
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].platform.as_str(), rows[0].value), ("a, \"b\"\nc", 373.60));
        assert_eq!((rows[0].note.as_str(), rows[0].confidence.as_str()), ("n, m", "high"));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let wrong = |text: &str| parse(text).expect_err("wrong");
        assert_eq!(wrong(""), "it is empty");
        assert!(wrong("id,year\n").starts_with("line 1: no column"));
        let short = format!("{HEADER}a,b\n");
        assert_eq!(wrong(&short), "line 2: too few columns");
        let letters = format!("{HEADER}x,u,1,p,d,1,3,x4,cpu,none,raw,-,w,fast,MB/s,n,high\n");
        assert_eq!(wrong(&letters), "line 2: `fast` is no number");
        assert_eq!(wrong(&format!("{HEADER}\"a")), "line 2: a quotation mark is never closed");
    }
}

mod of_work {
    use crate::table::Row;
    use crate::work::*;
    use narrows::path::file::{Engine, Pattern};

    fn work(words: &str) -> Work {
        Work::of(&Row { workload: words.to_owned(), fs: "raw".to_owned(), ..Row::default() })
    }

    #[test]
    fn the_words_of_tools_are_understood() {
        type Want = (Pattern, u64, Option<u32>, Option<u32>, f64, Engine);
        let (seq, rand) = (Pattern::Sequential, Pattern::Random);
        let all: [(&str, Want); 10] = [
            ("KDiskMark seq 1MiB Q8T1 read", (seq, 1 << 20, Some(8), Some(1), 1.0, Engine::Libaio)),
            ("rand write 4k T4Q128", (rand, 4096, Some(128), Some(4), 0.0, Engine::Libaio)),
            ("hdparm -t", (seq, 2 << 20, Some(1), None, 1.0, Engine::Hdparm)),
            ("dd bs=1M buffered", (seq, 1 << 20, Some(1), None, 1.0, Engine::Buffered)),
            ("dd direct read 64k qd1", (seq, 65_536, Some(1), None, 1.0, Engine::Sync)),
            ("seq read 1M raw", (seq, 1 << 20, Some(1), None, 1.0, Engine::Buffered)),
            ("randrw 70/30 4k 40 jobs qd64 read part", (rand, 4096, Some(64), Some(40), 0.7, Engine::Libaio)),
            ("4k mixed 30% write 1 thread", (rand, 4096, None, Some(1), 0.7, Engine::Libaio)),
            ("iozone 16M seq write 2 GB", (seq, 16 << 20, Some(1), None, 0.0, Engine::Sync)),
            ("rand read 4k io_uring", (rand, 4096, None, None, 1.0, Engine::Uring)),
        ];
        for (words, want) in all {
            let it = work(words);
            let got = (it.pattern, it.block, it.depth, it.jobs, it.read_share, it.engine);
            assert_eq!(got, want, "{words}");
        }
        assert_eq!(work("randrw 70/30 4k 40 jobs qd64 read part").part, Part::Reads);
        assert!(work("seq write 16k sync fdatasync=1 qd1").flushed && !work("seq write 16k").flushed);
        assert_eq!(work("sustained seq write after SLC cache").fill, Fill::Beyond);
    }
}

mod of_network {
    use crate::network::Wire;
    use narrows::ceiling::fabric::Transport;

    #[test]
    fn wires_are_read_as_people_write_them() {
        let wire = |words| Wire::of(words).map(|it| (it.ports, it.gigabits, it.mtu.get(), it.transport));
        assert_eq!(wire("2x25GbE iWARP MTU1500"), Some((2, 25.0, 1500, Transport::Iwarp)));
        assert_eq!(wire("2.5GbE MTU1500"), Some((1, 2.5, 1500, Transport::Tcp)));
        assert_eq!(wire("10GbE MTU9000"), Some((1, 10.0, 9000, Transport::Tcp)));
        assert_eq!(wire("4x EDR").map(|it| (it.0, it.1)), Some((4, 100.0)));
        assert_eq!(wire("IB FDR").map(|it| it.3), Some(Transport::InfiniBand));
        assert_eq!(wire("2x25GbE RoCE").map(|it| it.3), Some(Transport::RoceV2));
        assert_eq!((wire("ethernet"), wire("-")), (None, None));
    }
}

mod of_expected {
    use crate::expected::hops;
    use narrows::path::HopKind;

    #[test]
    fn a_note_blames_a_hop_and_what_it_denies_does_not_count() {
        let first = |note| hops(note).map(|kinds| kinds[0]);
        assert_eq!(first("crypto limited: no gain from 2nd drive"), Some(HopKind::Crypt));
        assert_eq!(first("'800-850'; link limited 3.0 x1, not SATA (4x550)"), Some(HopKind::Link));
        assert_eq!(first("so resync is throttle limited not device limited"), Some(HopKind::Raid));
        assert_eq!(first("2700-3000: one 3.0 x4 drive is not limited by DMI3 x4"), None);
        assert_eq!(first("slow host, not link limited"), None);
        assert_eq!(first("aggregate over 3 nodes"), None);
    }
}

mod of_limiting {
    use crate::expected::{hops, kinds, of};
    use crate::table::{Row, parse};
    use narrows::path::HopKind;

    const TABLE: &str = include_str!("../tests/measurements.csv");

    #[test]
    fn a_cell_names_kinds_and_a_wrong_one_is_told_with_its_line() {
        assert_eq!(kinds("link"), Ok(vec![HopKind::Link]));
        assert_eq!(kinds("cpu | application"), Ok(vec![HopKind::Cpu, HopKind::Application]));
        assert_eq!(kinds(""), Ok(Vec::new()));
        let wrong = TABLE.replacen(",high,link", ",high,lnik", 1);
        let error = parse(&wrong).map(|rows| rows.len()).expect_err("wrong");
        assert!(error.starts_with("line ") && error.ends_with("`lnik` is no kind of hop"), "{error}");
    }

    #[test]
    fn a_table_without_the_column_is_read_by_its_words_and_an_empty_cell_blames_nobody() {
        let row = |limiting| Row { note: "crypto limited".to_owned(), limiting, ..Row::default() };
        assert_eq!(of(&row(None)), Some(vec![HopKind::Crypt]));
        assert_eq!(of(&row(Some(Vec::new()))), None);
        assert_eq!(of(&row(Some(vec![HopKind::Link]))), Some(vec![HopKind::Link]));
    }

    /// The column asks for no less than the words of the sources do: the same rows, and of each no kind that its words do
    /// not mean.
    #[test]
    fn the_column_is_never_more_lenient_than_the_words() {
        let rows = parse(TABLE).expect("a table");
        let mut named = 0;
        for row in &rows {
            let words = hops(&row.note);
            assert_eq!(of(row).is_some(), words.is_some(), "{}", row.id);
            for kind in of(row).unwrap_or_default() {
                assert!(words.is_some_and(|words| words.contains(&kind)), "{}: {}", row.id, kind.as_str());
            }
            named += usize::from(words.is_some());
        }
        assert!(named >= 50, "{named}");
    }
}

mod of_text {
    use crate::model::{kernel, wire};
    use crate::text::*;

    #[test]
    fn numbers_are_found_with_what_stands_around_them() {
        assert_eq!((behind("bs=8k qd=1 jobs=8", "jobs"), behind("vqd=1", "qd")), (Some(8.0), None));
        assert_eq!(before("rand read 4k 64+ jobs", &["jobs"]), Some(64.0));
        assert_eq!((block("seq read bs=8k"), block("8 gib files"), block("qd32")), (Some(8192), None, None));
        assert_eq!((chunk("raid10 n2 16k chunk"), chunk("raid5")), (Some(16_384), None));
        assert!(has_word("raid10 n2", "n2") && !has_word("raid10 n2", "raid1"));
        assert_eq!(kernel("Ryzen 5 2600 kernel 5.9.8 mitigations on"), Some(5.09));
        assert_eq!((kernel("Linux 5.10"), kernel("a Linux reference VM")), (Some(5.10), None));
        assert_eq!(wire("up3x16").and_then(|link| link.width).map(narrows::units::Lanes::get), Some(16));
        assert!(wire("uplink").is_none());
    }
}
