use super::super::{Attachment, DeviceKind, Engine, PartKind, Pattern, PublishedValue};
use super::quantity::{parse_quantity, short_size};
use super::*;
use proptest::prelude::*;

const HEAD: &str = "format = \"narrows/path/1\"\n[host.pc]\n[slot.s]\ngeneration = 3\nwidth = 4\n";

fn system(text: &str) -> System {
    parse("t.path.toml", &format!("{HEAD}{text}")).unwrap_or_else(|error| panic!("{error}"))
}

/// The first thing that is wrong with a file that begins as [`HEAD`] does, which has five lines.
fn wrong(text: &str) -> (String, String) {
    let error = parse("t.path.toml", &format!("{HEAD}{text}")).expect_err("is wrong");
    let first = error.problems.first().expect("says something");
    (first.to_string(), first.hint.clone().unwrap_or_default())
}

#[test]
fn a_part_is_read_with_its_place_and_copies_get_numbers() {
    let system = system(
        "[device.ssd]\ncount = 2\nin = \"s\"\nread = \"3.5 GB/s\"\nwrite = \"3 GB/s\"\n[raid.md0]\nlevel = \"raid0\"\nmembers = [\"ssd\"]\nchunk = \"512 KiB\"\n",
    );
    let names: Vec<&str> = system.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["pc", "s", "ssd0", "ssd1", "md0"]);
    let part = system.part(&"ssd1".into()).expect("is there");
    assert_eq!(part.given.as_str(), "t.path.toml:6");
    let PartKind::Device(device) = &part.kind else { panic!("{part:?}") };
    assert_eq!((device.kind, device.read.map(|rate| rate.get())), (DeviceKind::Nvme, Some(3.5e9)));
    let PartKind::Raid(raid) = &system.part(&"md0".into()).expect("is there").kind else {
        panic!("no array")
    };
    assert_eq!(raid.members, ["ssd0".into(), "ssd1".into()]);
}

#[test]
fn three_hosts_take_along_what_is_on_them_and_a_cluster_gathers_it() {
    let text = "format = \"narrows/path/1\"\n[host.node]\ncount = 3\n[slot.bay]\ncount = 2\ngeneration = 3\nwidth = 4\n[device.ssd]\ncount = 2\nin = \"bay\"\nclass = \"enterprise-tlc\"\n[cluster.pool]\nmembers = [\"ssd\"]\ncopies = 3\n";
    let system = parse("t", text).expect("is a system");
    let PartKind::Cluster(cluster) = &system.part(&"pool".into()).expect("is there").kind else { panic!() };
    assert_eq!(cluster.members.len(), 6);
    let PartKind::Device(last) = &system.part(&"ssd5".into()).expect("is there").kind else { panic!() };
    assert_eq!(last.upstream, "bay5".into());
    let PartKind::Slot(slot) = &system.part(&"bay5".into()).expect("is there").kind else { panic!() };
    assert_eq!(slot.on, Attachment::Socket { host: "node2".into(), socket: 0 });
}

#[test]
fn workloads_and_published_results_are_read() {
    let system = system(
        "[device.d]\nin = \"s\"\nclass = \"optane\"\n[workload.w]\ntarget = \"d\"\npattern = \"random\"\nblock_size = \"4 KiB\"\ndepth = 32\nread_share = 0.7\nengine = \"libaio\"\n[[published]]\nwhat = \"x\"\nworkload = \"w\"\nset = { \"s.width\" = 2, \"w.depth\" = 1 }\nvalue = \"373.60 MiB/s\"\n",
    );
    let workload = &system.workloads[0];
    assert_eq!((workload.pattern, workload.engine, workload.depth), (Pattern::Random, Engine::Libaio, 32));
    let row = &system.published[0];
    assert_eq!(row.set, [("s.width".to_owned(), "2".to_owned()), ("w.depth".to_owned(), "1".to_owned())]);
    assert!(matches!(row.value, PublishedValue::Rate(rate) if (rate.get() - 391_747_993.6).abs() < 1.0));
}

#[test]
fn every_mistake_is_told_with_file_line_column_and_what_to_do() {
    for (text, message, hint) in [
        (
            "[slot.t]\ngeneration = 3\nwidth = 4\nwidht = 8\n",
            "t.path.toml:9:1: unknown key `widht` in [slot.t]",
            "did you mean `width`?",
        ),
        (
            "[slot.t]\ngeneration = 3\nwidth = -4\n",
            "t.path.toml:8:9: `width` is -4",
            "it is a whole number from 1 to 32",
        ),
        (
            "[slot.t]\ngeneration = 9\nwidth = 4\n",
            "t.path.toml:7:14: `generation` is 9",
            "it is a whole number from 1 to 6",
        ),
        (
            "[device.d]\nin = \"t\"\nclass = \"optane\"\n",
            "t.path.toml:7:6: [device.d] names `t`, and there is no such part",
            "did you mean `s`?",
        ),
        (
            "[device.d]\nin = \"s\"\nclass = \"optane\"\nread = 3500\n",
            "t.path.toml:9:8: `read`: a bare number has no unit",
            "write a number and its unit: read = \"3.5 GB/s\"",
        ),
        (
            "[device.d]\nin = \"s\"\nclass = \"optane\"\nread = \"3500 mb\"\n",
            "t.path.toml:9:8: `read`: `mb` is no unit",
            "write a number and its unit: read = \"3.5 GB/s\"",
        ),
        (
            "[device.d]\nin = \"s\"\nclass = \"optane\"\nread = \"80 us\"\n",
            "t.path.toml:9:8: `read`: `80 us` has the unit of something else",
            "write a number and its unit: read = \"3.5 GB/s\"",
        ),
        (
            "[device.d]\nin = \"s\"\nmodel = \"NoName 256\"\n",
            "t.path.toml:8:9: the catalogue knows no drive `NoName 256`, and no rates are given",
            "data/media.toml has the models; give a class, or read and write, instead",
        ),
        (
            "[raid.a]\nlevel = \"raid0\"\nmembers = [\"b\"]\n[raid.b]\nlevel = \"raid0\"\nmembers = [\"a\"]\n",
            "t.path.toml:6:7: `a` lies on itself",
            "follow what it is in or on: the way leads back to it",
        ),
        (
            "[device.d]\nin = \"s\"\nclass = \"optane\"\n[workload.d]\ntarget = \"d\"\nblock_size = \"4 KiB\"\n",
            "t.path.toml:9:11: the name `d` stands twice",
            "[device.d] has it at t.path.toml:6:9; --set could not tell them apart",
        ),
        (
            "[devise.d]\nin = \"s\"\n",
            "t.path.toml:6:9: [devise.…] is no kind of part",
            "did you mean [device.…]?",
        ),
        (
            "[raid.r]\nlevel = \"raid7\"\nmembers = [\"s\"]\n",
            "t.path.toml:7:9: `level` cannot be `raid7`",
            "did you mean `raid0`?",
        ),
        (
            "[crypt.c]\non = \"s\"\n",
            "t.path.toml:7:6: [crypt.c] names `s`, which is a slot",
            "it must be a device, raid, crypt, cache, volume, filesystem, remote, cluster, vm",
        ),
        ("[[slot]]\nwidth = 4\n", "", ""),
        (
            "[device]\nread = \"1 GB/s\"\n",
            "t.path.toml:7:1: [device] has no name",
            "write [device.NAME] and put `read` below it",
        ),
        ("[slot.s]\nwidth = 8\n", "", ""),
        ("[slot.\n", "", ""),
        (
            "[chipset.c]\nmodel = \"Intel X999\"\n",
            "t.path.toml:7:9: the catalogue knows no chipset `Intel X999`",
            "data/chipsets.toml has them; give generation and width of the uplink instead",
        ),
        (
            "[cache.c]\ncache = \"d\"\nbacking = \"d\"\nhit = 1.5\n[device.d]\nin = \"s\"\nclass = \"optane\"\n",
            "t.path.toml:9:7: `hit` is no share",
            "it is a number from 0.0 to 1.0",
        ),
        (
            "[device.\"a.b\"]\nin = \"s\"\nclass = \"optane\"\n",
            "t.path.toml:6:9: `a.b` is no name of a part",
            "letters, digits, `-` and `_`, at most 64 of them",
        ),
    ] {
        let (said, advised) = wrong(text);
        if message.is_empty() {
            // TOML itself refuses it; the words are those of its parser, the place is ours.
            assert!(said.starts_with("t.path.toml:"), "{text}: {said}");
            continue;
        }
        assert_eq!((said.as_str(), advised.as_str()), (message, hint), "{text}");
    }
}

#[test]
fn a_file_of_another_format_says_so() {
    let error = parse("t", "format = \"narrows/path/9\"\n").expect_err("is another");
    assert_eq!(error.to_string(), "t:1:10: this is `narrows/path/9`");
    let error = parse("t", "").expect_err("says nothing");
    assert_eq!(error.to_string(), "t:1:1: the head of the file has no `format`");
}

#[test]
fn a_value_can_be_changed_by_name_and_a_name_that_is_not_there_is_refused() {
    let text = format!("{HEAD}[device.ssd]\ncount = 2\nin = \"s\"\nclass = \"optane\"\n");
    let mut document = Document::parse("t", &text).expect("is a document");
    document.set_text("s.width=2").expect("is there");
    let system = document.system().expect("is a system");
    let PartKind::Slot(slot) = &system.part(&"s".into()).expect("is there").kind else { panic!() };
    assert_eq!(slot.link.width.map(|lanes| lanes.get()), Some(2));
    for (typed, hint) in [
        ("x.width=2", "did you mean `s`?"),
        ("ssd1.read=1", "`ssd` stands for all of its copies: ssd.read=1"),
        ("s.width", "write NAME.KEY=VALUE, such as slot3.width=4"),
    ] {
        let error = document.set_text(typed).expect_err("is refused");
        assert_eq!(error.problems[0].hint.as_deref(), Some(hint), "{typed}");
        assert_eq!(error.problems[0].at.origin, format!("--set {typed}"));
    }
    document.set_text("s.width=-1").expect("is there");
    let error = document.system().expect_err("is out of range");
    assert_eq!(error.to_string(), "--set s.width=-1: `width` is -1");
}

#[test]
fn drives_and_layers_can_be_added() {
    let text = format!(
        "{HEAD}[device.d]\nin = \"s\"\nmodel = \"SN770\"\n[workload.w]\ntarget = \"d\"\nblock_size = \"4 KiB\"\n"
    );
    let mut document = Document::parse("t", &text).expect("is a document");
    let added = document.add_device("nvme:sn770@s").expect("is a drive");
    let array = document.add_layer("raid0", &["d".into(), added]).expect("is a layer");
    let luks = document.add_layer("luks", &[array]).expect("is a layer");
    document.retarget(&"d".into(), &luks);
    let system = document.system().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(system.workloads[0].target, luks);
    assert!(document.add_layer("luks", &["d".into(), "e".into()]).is_err());
    assert!(document.add_layer("raid7", &["d".into()]).is_err());
    assert!(document.add_device("sn770").is_err());
}

/// Every file that ships reads back as the same from what is written of it.
#[test]
fn what_ships_is_written_and_read_back_as_the_same() {
    for (name, text) in crate::path::file::testing::SYSTEMS {
        let system = parse(name, text).unwrap_or_else(|error| panic!("{error}"));
        assert!(!system.workloads.is_empty() && !system.published.is_empty(), "{name}");
        let written = system.to_toml(&["a note".to_owned()]);
        let back = parse(name, &written).unwrap_or_else(|error| panic!("{name}: {error}\n{written}"));
        assert_eq!(without_places(back), without_places(system), "{name}");
    }
}

fn without_places(mut system: System) -> System {
    let nowhere = narrows_base::fact::Source::new("");
    system.parts.iter_mut().for_each(|part| part.given = nowhere.clone());
    system.workloads.iter_mut().for_each(|it| it.given = nowhere.clone());
    system.published.iter_mut().for_each(|it| it.given = nowhere.clone());
    system
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = parse("t", &text);
        let _ = parse("t", &format!("{HEAD}{text}"));
    }

    /// Lines of a real file, left out, doubled and out of order.
    #[test]
    fn no_mixture_of_lines_panics(order in prop::collection::vec(0usize..400, 0..60)) {
        let all: Vec<&str> = crate::path::file::testing::SYSTEMS.iter().flat_map(|(_, text)| text.lines()).collect();
        let text: Vec<&str> = order.iter().filter_map(|at| all.get(*at % all.len()).copied()).collect();
        let _ = parse("t", &text.join("\n"));
    }

    #[test]
    fn drives_of_any_figures_survive_being_written(
        read in 1.0f64..1e11, latency in 1u64..1_000_000_000, width in prop::sample::select(vec![1u8, 2, 4, 8, 12, 16, 32]), generation in 1u8..=6, size in 1u64..1 << 50
    ) {
        let mut system = system("[device.d]\nin = \"s\"\nclass = \"optane\"\n");
        for part in &mut system.parts {
            match &mut part.kind {
                PartKind::Device(device) => {
                    device.read = Some(narrows_base::units::BytesPerSec::new(read));
                    device.read_latency = Some(narrows_base::units::Nanos::new(latency));
                    device.size = Some(narrows_base::units::Bytes::new(size));
                }
                PartKind::Slot(slot) => {
                    slot.link.width = Some(narrows_base::units::Lanes::new(width));
                    slot.link.generation = Some(generation);
                }
                _ => {}
            }
        }
        let back = parse("t", &system.to_toml(&[])).unwrap_or_else(|error| panic!("{error}"));
        prop_assert_eq!(without_places(back), without_places(system));
    }
}

/// Every key of a slot's form, a board, translation and ZFS, and back again as it was.
#[test]
fn forms_boards_translation_and_zfs_are_read_written_and_refused() {
    let text = "format = \"narrows/path/1\"\nname = \"t\"\n[host.h]\nboard = \"asus-x99-a\"\niommu = \"strict\"\niommu_pages = \"2 MiB\"\n\
        [slot.s]\ngeneration = 3\nwidth = 8\nform = \"card\"\nbifurcation = [\"x4x4\"]\n[slot.t]\ngeneration = 3\nwidth = 4\n\
        form = \"m2\"\nbifurcation = []\n[device.d]\nin = \"t\"\nmodel = \"SN770\"\n[filesystem.f]\nkind = \"zfs\"\non = \"d\"\n\
        recordsize = \"16 KiB\"\ncompression = 1.5\narc = \"4 GiB\"\n";
    let system = parse("t", text).unwrap_or_else(|error| panic!("{error}"));
    let again = parse("t", &system.to_toml(&[])).unwrap_or_else(|error| panic!("{error}"));
    let kinds = |system: &System| system.parts.iter().map(|part| part.kind.clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&system), kinds(&again));
    for (from, to, said) in [
        ("asus-x99-a", "asus-x99-z", "knows no board"),
        ("\"strict\"", "\"strickt\"", "`iommu` cannot be"),
        ("\"card\"", "\"big\"", "`form` cannot be"),
        ("x4x4", "x4", "no way to split"),
        ("16 KiB", "100 KiB", "no record has this size"),
        ("= 1.5", "= 0.5", "no factor"),
        ("\"zfs\"", "\"ext4\"", "is of ZFS"),
    ] {
        let error = parse("t", &text.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(error.contains(said), "{to}: {error}");
    }
}

/// What nobody knows is no part that carries everything.
#[test]
fn names_that_the_catalogue_lacks_are_refused() {
    let text = "format = \"narrows/path/1\"\nname = \"t\"\n[host.h]\ncpu = \"EPYC 7302P\"\nprocessor = \"EPYC 7302P\"\n\
        [slot.s]\ngeneration = 3\nwidth = 8\n[adapter.a]\nin = \"s\"\nmodel = \"SAS2008\"\n";
    let system = parse("t", text).unwrap_or_else(|error| panic!("{error}"));
    let host = system.parts.iter().find_map(|part| match &part.kind {
        crate::path::file::PartKind::Host(host) => host.platform(),
        _ => None,
    });
    assert_eq!(host.map(|platform| platform.name.as_str()), Some("AMD EPYC 7002 (Rome)"));
    for (from, to, said) in [
        ("cpu = \"EPYC 7302P\"", "cpu = \"Frobnicator 9000\"", "no cores of `Frobnicator 9000`"),
        ("processor = \"EPYC 7302P\"", "processor = \"Frobnicator\"", "no processor `Frobnicator`"),
        ("SAS2008", "FooRAID 12", "no adapter `FooRAID 12`"),
    ] {
        let error = parse("t", &text.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(error.contains(said), "{to}: {error}");
    }
    let rated = text.replacen("\"SAS2008\"", "\"FooRAID 12\"\nrate = \"4 GB/s\"", 1);
    assert!(parse("t", &rated).is_ok());
}

/// Parts are found by an index that is made once; what is changed afterwards is found all the same.
#[test]
fn a_part_is_found_after_the_parts_were_changed() {
    let mut system =
        system("[device.a]\nin = \"pc\"\nclass = \"optane\"\n[device.b]\nin = \"pc\"\nclass = \"optane\"\n");
    assert!(system.part(&"b".into()).is_some() && system.part(&"c".into()).is_none());
    let untouched = system.clone();
    let at = system.parts.iter().position(|part| part.name.as_str() == "a").expect("is there");
    let moved = system.parts.remove(at);
    system.parts.push(Part { name: "c".into(), ..moved });
    for (name, is_there) in [("a", false), ("b", true), ("c", true), ("pc", true)] {
        let found = system.part(&name.into());
        assert_eq!(found.map(|part| part.name.as_str()), is_there.then_some(name));
    }
    assert_ne!(system, untouched);
}

#[test]
fn what_no_machine_can_be_is_wrong_and_said_with_its_line() {
    let drives = "[device.d]\ncount = 4\nin = \"pc\"\nclass = \"optane\"\n";
    let of = |more: &str| wrong(&format!("{drives}{more}")).0;
    let level = "[raid.r]\nlevel = \"raid6\"\nmembers = [\"d0\", \"d1\"]\n";
    assert_eq!(of(level), "t.path.toml:10:7: `r`: it has 2 members, and its level needs 4");
    let again = "[raid.r]\nlevel = \"raid0\"\nmembers = [\"d0\", \"d1\", \"d0\"]\n";
    assert_eq!(of(again), "t.path.toml:10:7: `r`: `d0` is a member twice");
    let fits = format!("{drives}[raid.r]\nlevel = \"raidz2\"\nmembers = [\"d0\", \"d1\", \"d2\"]\n");
    assert!(parse("t", &format!("{HEAD}{fits}")).is_ok());
    let width = wrong("[slot.t]\ngeneration = 3\nwidth = 5\n");
    assert_eq!(width.0, "t.path.toml:8:9: no link has 5 lanes");
    let protocol = wrong("[network.n]\nrate = \"10 Gbit/s\"\nprotocol = \"banana\"\n");
    assert_eq!(protocol.0, "t.path.toml:8:12: `protocol` cannot be `banana`");
}

/// One wrong value is one problem: its siblings are known keys.
#[test]
fn a_wrong_value_does_not_make_its_siblings_unknown() {
    for text in [
        "[network.n]\nrate = \"10 bananas\"\nmtu = 9000\nprotocol = \"tcp\"\nlatency = \"10 us\"\n",
        "[device.d]\nin = \"pc\"\nclass = \"optane\"\n[raid.r]\nlevel = \"raid99\"\nmembers = [\"d\"]\nchunk = \"64 KiB\"\n",
    ] {
        let error = parse("t", &format!("{HEAD}{text}")).expect_err("is wrong");
        assert_eq!(error.problems.len(), 1, "{error}");
    }
}

#[test]
fn sizes_are_read_as_on_the_command_line() {
    let of = |size: &str| {
        let text = format!(
            "[device.d]\nin = \"pc\"\nclass = \"optane\"\n[workload.w]\ntarget = \"d\"\nblock_size = \"{size}\"\n"
        );
        system(&text).workloads[0].block_size.get()
    };
    assert_eq!((of("4k"), of("4 KiB"), of("1M")), (4096, 4096, 1 << 20));
}

#[test]
fn chipsets_are_found_by_the_names_that_people_write() {
    for (written, found) in [
        ("Z97", Some("Intel 9 series (Z97, H97)")),
        ("Intel Z97", Some("Intel 9 series (Z97, H97)")),
        ("intel c621 chipset", Some("Intel C620 (C621 to C628)")),
        ("AMD X470", Some("AMD 400 series")),
        ("B650", Some("AMD 600 or 800 series (Promontory 21)")),
        ("AMD B650", Some("AMD 600 or 800 series (Promontory 21)")),
        ("Intel B650", None),
        ("AMD", None),
        ("chipset", None),
    ] {
        let name = crate::path::file::build::find_chipset(written).map(|entry| entry.name.as_str());
        assert_eq!(name, found, "{written}");
    }
}

/// What a source blames is a kind of hop; it is read, written again, and anything else is wrong with its line.
#[test]
fn what_a_source_blames_is_a_kind_of_hop() {
    let rows = "[device.d]\nin = \"pc\"\nclass = \"optane\"\n[workload.w]\ntarget = \"d\"\nblock_size = \"1M\"\n\
                [[published]]\nwhat = \"x\"\nworkload = \"w\"\nvalue = \"1 GB/s\"\nlimited_by = ";
    let read = system(&format!("{rows}[\"link\", \"device\"]\n"));
    let kinds = [crate::path::HopKind::Link, crate::path::HopKind::Device];
    assert_eq!(read.published[0].limited_by, kinds);
    let again = parse("t", &read.to_toml(&[])).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.published[0].limited_by, kinds);
    assert!(wrong(&format!("{rows}[\"cable\"]\n")).0.ends_with("`cable` is no kind of hop"));
}

#[test]
fn a_number_with_its_unit_is_a_quantity() {
    assert_eq!(parse_quantity("3.5 GB/s"), Ok((3.5e9, Unit::Rate)));
    assert_eq!(parse_quantity("373.60 MiB/s"), Ok((373.60 * 1_048_576.0, Unit::Rate)));
    assert_eq!(parse_quantity("512KiB"), Ok((524_288.0, Unit::Size)));
    assert_eq!(parse_quantity("80 us"), Ok((80_000.0, Unit::Time)));
    assert_eq!(parse_quantity("80.9 µs"), Ok((80_900.0, Unit::Time)));
    assert_eq!(parse_quantity("640k IOPS"), Ok((640_000.0, Unit::Iops)));
    assert_eq!(parse_quantity("10 Gbit/s"), Ok((10e9, Unit::BitRate)));
}

#[test]
fn a_bare_number_a_wrong_unit_and_a_sign_are_refused() {
    assert_eq!(parse_quantity("3500"), Err("`3500` has no unit".to_owned()));
    assert_eq!(parse_quantity("3500 mb"), Err("`mb` is no unit".to_owned()));
    assert_eq!(parse_quantity("-1 GB/s"), Err("`-1 GB/s` begins with no number".to_owned()));
    for text in ["", "GB/s", "1e9 B/s", "1..2 GB", "NaN GB/s", "inf GB", "99999999999 PB"] {
        assert!(parse_quantity(text).is_err(), "{text}");
    }
}

#[test]
fn sizes_may_be_typed_as_on_the_command_line() {
    for (text, want) in [("4k", 4096), ("1M", 1 << 20), ("2 g", 2 << 30), ("1t", 1_u64 << 40)] {
        assert_eq!(short_size(text), Some(want as f64), "{text}");
    }
    for text in ["", "k", "-1k", "1.5G", "4kB", "4", "99999999999999T", "µ"] {
        assert_eq!(short_size(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn no_quantity_panics(text in "\\PC{0,30}") {
        let _ = (parse_quantity(&text), short_size(&text));
    }
}
