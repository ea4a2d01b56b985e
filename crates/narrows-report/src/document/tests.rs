use super::table::{Content, Width};
use super::*;
use narrows_base::units::BytesPerSec;
use narrows_verdict::{self as verdict, Code, Confidence, Evidence, Severity};
use unicode_width::UnicodeWidthStr;

const WIDE: Style = Style { colour: false, width: 100, unicode: true, plain: false, verbose: false };

fn finding(hostile: &str) -> verdict::Finding {
    verdict::Finding {
        code: Code::SlotLimited,
        severity: Severity::Fault,
        hop: None,
        subject: hostile.to_owned(),
        summary: format!("The slot of {hostile} limits it"),
        evidence: vec![Evidence::new("slot", hostile, "/sys")],
        advice: vec![verdict::Advice {
            action: format!("move {hostile}"),
            gain_bytes_per_second: Some(BytesPerSec::from_gb(1.0)),
        }],
        confidence: Confidence::High,
        not_so_when: Code::SlotLimited.not_so_when().to_owned(),
    }
}

/// A document with every kind of block, and a foreign text in each place that can hold one.
fn every_block(foreign: &str) -> Document {
    let mut out = Document::new("check", foreign, None);
    out.tool = foreign.to_owned();
    out.heading(foreign);
    out.say(2, Tone::Strong, foreign);
    out.gap();
    out.lead((Tone::Warn, &format!("{foreign}: ")), Tone::Normal, foreign);
    out.lead((Tone::Faint, "  - "), Tone::Normal, foreign);
    let mut table = Table::new(
        foreign,
        2,
        vec![
            Column::name("hop", Width::Flex(20)),
            Column::number("rate"),
            Column::number("of it").yields(1),
            Column::bar(8, 20),
            Column::left(foreign, Width::Rest(8)).wrapping(),
        ],
    );
    let branch = Content::Branch {
        first: "└─ ".to_owned(),
        rest: "   ".to_owned(),
        depth: 1,
        text: foreign.to_owned(),
    };
    let long = Content::Long { short: "1 GB/s".to_owned(), long: "2 GB/s raw → 1 GB/s".to_owned() };
    table.row(vec![
        Cell::of(branch),
        Cell::of(long),
        Cell::text("50 %"),
        Cell::bar(0.5),
        Cell::text(foreign),
    ]);
    table.row(vec![Cell::text("b"), Cell::toned(Tone::Faint, foreign).spanning()]);
    table.row(vec![Cell::of(Content::Names(vec![foreign.to_owned(), foreign.to_owned()]))]);
    let mut notes = Vec::new();
    notes.say(4, Tone::Faint, foreign);
    if let Some(row) = table.rows.last_mut() {
        row.notes = notes;
    }
    out.part(Place::Data, foreign);
    out.add(Block::Table(table));
    findings(&mut out, &[finding(foreign)]);
    out.part(Place::Folded, foreign);
    out.add(Block::Commands("The same with fio:", vec![foreign.to_owned()]));
    out.add(Block::Details(foreign.to_owned(), vec![Block::Heading(foreign.to_owned())]));
    let pairs = vec![(foreign.to_owned(), foreign.to_owned())];
    out.part(Place::Next, foreign);
    out.add(Block::Pairs(Pairs { margin: 2, width: 10, commands: true, pairs }));
    out
}

const HOSTILE: &str = "</style></title></table>\"'><script>alert(1)</script><img src=x onerror=alert(2)>`x` [a](http://b) \x1b[2J\u{202e}|";

#[test]
fn names_that_attack_are_text_in_every_place_of_a_page() {
    let page = page(&[every_block(HOSTILE)]);
    assert_eq!(page.matches("<style>").count() + page.matches("</style>").count(), 2);
    for foreign in ["<script", "<img", "\x1b", "\u{202e}", " style=", "url(", "@import"] {
        assert!(!page.contains(foreign), "{foreign}: {page}");
    }
    // Every place in which it was put.
    assert!(page.matches("&lt;script&gt;").count() > 15, "{page}");
    assert_eq!(page.matches("<table>").count(), page.matches("</table>").count());
}

#[test]
fn a_name_with_ends_of_lines_begins_none_anywhere() {
    let document = every_block("a\nhint: run this\r\u{2028}hint: or this\x1b[2J");
    for width in [60, 100, usize::MAX] {
        let text = document.text(&Style { width, ..WIDE });
        assert!(!text.contains(['\r', '\u{2028}', '\x1b']), "{text}");
        // Where it wraps, a line may begin with any word; where it does not, all of the name stands in one.
        assert!(width < usize::MAX || !text.lines().any(|line| line.starts_with("hint:")), "{text}");
        assert!(text.contains("a\\nhint:"), "{text}");
    }
    let text = page(&[document]);
    assert!(!text.contains(['\r', '\u{2028}', '\x1b']), "{text}");
    assert!(!text.lines().any(|line| line.trim_start().starts_with("hint:")), "{text}");
}

#[test]
fn an_endless_name_is_cut_with_a_mark() {
    let endless = "x".repeat(10_000);
    let page = page(&[every_block(&endless)]);
    assert!(!page.contains(&"x".repeat(2001)) && page.contains("x…"));
    let mut out = Document::new("check", "", None);
    out.say(0, Tone::Normal, &endless);
    let text = out.text(&WIDE);
    assert_eq!(text.matches('x').count(), 2000);
    assert!(text.ends_with("…\n"), "{text}");
}

#[test]
fn the_page_allows_its_own_style_alone_and_names_no_address() {
    let page = page(&[every_block("sda")]);
    let style = page.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).expect("a style");
    use base64::Engine;
    use sha2::Digest;
    let hash = base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(style.as_bytes()));
    assert!(page.contains(&format!("default-src 'none'; style-src 'sha256-{hash}'")), "{page}");
    for foreign in ["http:", "https:", "src=", "href", "javascript:", "<link", "<script", " on", "NaN"] {
        let body = page.replace("style-src", "").replace("default-src", "");
        let found = body.contains(foreign) && foreign != " on";
        assert!(!found, "{foreign}");
    }
}

#[test]
fn the_same_documents_give_the_same_bytes_and_several_get_a_list() {
    assert_eq!(page(&[every_block("a")]), page(&[every_block("a")]));
    let both = page(&[every_block("first"), every_block("second")]);
    assert!(
        both.contains("<a href=\"#r1\">narrows check: second</a>") && both.contains("<article id=\"r1\"")
    );
    assert_eq!(both.matches("<h1>").count(), 1);
}

#[test]
fn parts_of_a_page_stand_in_its_order_and_those_of_a_terminal_as_they_were_added() {
    let mut out = Document::new("check", "", None);
    for (place, name) in [(Place::Next, "next"), (Place::Data, "data"), (Place::Findings, "found")] {
        out.part(place, name);
        out.say(0, Tone::Normal, format!("said {name}"));
    }
    assert_eq!(out.text(&WIDE), "said next\nsaid data\nsaid found\n");
    let page = page(&[out]);
    let at = |text: &str| page.find(text).expect("is there");
    assert!(at("said found") < at("said data") && at("said data") < at("said next"), "{page}");
}

#[test]
fn tables_have_headers_with_scope_and_can_be_reached() {
    let page = page(&[every_block("sda")]);
    assert!(page.contains("<th scope=\"col\"") && page.contains("<th scope=\"row\""), "{page}");
    assert!(page.contains("role=\"region\" aria-label=\"sda\" tabindex=\"0\""), "{page}");
    assert!(page.contains("<caption>sda</caption>"), "{page}");
}

#[test]
fn a_page_is_well_formed() {
    let page = page(&[every_block(HOSTILE), every_block("plain")]);
    let body = page.split_once("<body>").expect("a body").1.trim_end().trim_end_matches("</html>");
    let text = format!("<body>{body}");
    let mut reader = quick_xml::Reader::from_str(&text);
    let mut depth = 0_i32;
    loop {
        match reader.read_event().expect("is well formed") {
            quick_xml::events::Event::Start(_) => depth += 1,
            quick_xml::events::Event::End(_) => depth -= 1,
            quick_xml::events::Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(depth, 0);
}

#[test]
fn no_line_of_a_table_is_wider_than_the_terminal_and_plain_is_ascii() {
    for width in [60, 80, 100, 140] {
        let text = every_block("Samsung SSD 960 EVO 500GB").text(&Style { width, ..WIDE });
        let commands = |line: &&str| *line != "Samsung SSD 960 EVO 500GB";
        assert!(text.lines().filter(commands).all(|line| line.width() <= width), "{width}\n{text}");
    }
    assert!(every_block("磁盘 → ±").text(&Style::PLAIN).is_ascii());
}

#[test]
fn columns_give_way_by_their_turn_and_long_forms_where_names_lose() {
    let columns = || {
        vec![
            Column::name("name", Width::Flex(20)),
            Column::number("a"),
            Column::right("b", 30).yields(2),
            Column::right("c", 30).yields(1),
        ]
    };
    let mut table = Table::new("", 0, columns());
    let long = Content::Long { short: "short".to_owned(), long: "a long form of it".to_owned() };
    table.row(vec![Cell::text("x".repeat(30)), Cell::of(long), Cell::text("bbb"), Cell::text("ccc")]);
    let mut out = Document::default();
    out.add(Block::Table(table));
    let at = |width| out.text(&Style { width, ..WIDE });
    assert!(at(140).contains("a long form of it") && at(140).contains("ccc"), "{}", at(140));
    assert!(at(80).contains("short") && at(80).contains("bbb") && !at(80).contains("ccc"), "{}", at(80));
    assert!(!at(60).contains("bbb") || at(60).lines().all(|line| line.width() <= 60), "{}", at(60));
}

#[test]
fn what_is_known_by_its_form_is_scrubbed_everywhere() {
    let secret = "10.20.30.40 0f8fad5b-d9cb-469f-a165-70867728950e";
    let scrubbed = every_block(secret).scrubbed();
    for text in [scrubbed.text(&WIDE), page(std::slice::from_ref(&scrubbed))] {
        assert!(!text.contains("10.20.30.40") && !text.contains("0f8fad5b"), "{text}");
    }
}

#[test]
fn places_that_people_named_are_scrubbed_and_those_of_the_system_stay() {
    let text = "wrote /home/alice/Büro/x.img: dd of=/mnt/Company2/x on /dev/mapper/acme-payroll, /dev/sda, `/srv` and 3 GB/s (/proc/diskstats).";
    let scrubbed = every_block(text).scrubbed();
    for text in [scrubbed.text(&WIDE), page(std::slice::from_ref(&scrubbed))] {
        for secret in ["alice", "Büro", "Company2", "payroll"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        for known in ["/dev/sda", "/srv", "3 GB/s", "/proc/diskstats"] {
            assert!(text.contains(known), "{known}: {text}");
        }
    }
}

#[test]
fn what_goes_over_all_columns_stands_below_its_row_where_it_has_no_room() {
    const REASON: &str = "no hop of this path has a known ceiling";
    let text = |name: &str| {
        let mut out = Document::new("check", "x", None);
        let columns = vec![
            Column::name("on", Width::Flex(0)).wrapping(),
            Column::left("hop", Width::Flex(0)).wrapping(),
        ];
        let mut table = Table::new("Paths", 0, columns);
        table.row(vec![Cell::text(name), Cell::toned(Tone::Faint, REASON).spanning()]);
        out.add(Block::Table(table));
        out.text(&Style { colour: false, width: 60, unicode: false, plain: false, verbose: false })
    };
    let beside = text("md raid0, 8 members");
    assert!(beside.lines().any(|line| line.starts_with("md raid0, 8 members  no hop")), "{beside}");
    let below = text("md raid0, 8 members on 8 x Dell Express Flash NVMe");
    assert!(below.lines().any(|line| line == format!("  {REASON}")), "{below}");
}

#[test]
fn a_page_shows_what_stands_in_backquotes_as_code() {
    let mut out = Document::new("check", "", None);
    out.say(0, Tone::Normal, "Run `narrows /dev/sda --why <x>` there.");
    out.say(0, Tone::Normal, "One ` alone is a character.");
    let page = page(&[out]);
    assert!(page.contains("<p>Run <code>narrows /dev/sda --why &lt;x&gt;</code> there.</p>"), "{page}");
    assert!(page.contains("<p>One ` alone is a character.</p>"), "{page}");
}
