//! How long the planner takes: `cargo bench --bench plan`.
//!
//! Sixteen slots and twenty-four devices of eight kinds, on two sockets, with slots that take lanes from each other and a
//! chipset whose uplink is too small for what hangs on it. The best placement must be proven in 1 s; the next best is
//! searched for as well and timed apart. Written to `target/bench/plan.json`.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark writes a file and prints a table"
)]

use std::error::Error;
use std::time::{Duration, Instant};

use narrows::catalog::SlotForm;
use narrows::plan::search::{Request, best, search};
use narrows::plan::site::{Attachment, Narrowed, Shared, Site, Slot, SplitMode, Splitting};
use narrows::plan::{WholeRate, wish};
use narrows::units::{BytesPerSec, GtPerSec, Lanes};

const ROUNDS: u32 = 5;

fn slot(at: usize, lanes: u8, speed: GtPerSec, attachment: Attachment) -> Slot {
    let splits = at.is_multiple_of(2) && lanes == 16;
    let link = (Lanes::new(lanes.max(8)), Lanes::new(lanes), speed);
    Slot {
        splitting: match SplitMode::parse("x4x4x4x4") {
            Some(mode) if splits => Splitting::Modes(vec![mode]),
            _ => Splitting::Never,
        },
        narrowed: match at {
            0 | 1 => vec![Narrowed { by: vec![at + 4], lanes: Lanes::new(8) }],
            _ => Vec::new(),
        },
        ..Slot::new(format!("S{at}"), SlotForm::Card, link, attachment)
    }
}

fn site() -> Site {
    let slots = (0..16).map(|at| match at {
        0..=3 => slot(at, 16, GtPerSec::GEN4, Attachment::Cpu(0)),
        4..=6 => slot(at, 8, GtPerSec::GEN4, Attachment::Cpu(0)),
        7..=9 => slot(at, 4, GtPerSec::GEN3, Attachment::Chipset),
        10..=12 => slot(at, 16, GtPerSec::GEN3, Attachment::Cpu(1)),
        _ => slot(at, 8, GtPerSec::GEN3, Attachment::Cpu(1)),
    });
    let shared = |name: &str, gigabytes: f64| {
        let rate = WholeRate::new(BytesPerSec::from_gb(gigabytes));
        Some(Shared { name: name.to_owned(), rate, write: rate })
    };
    Site {
        name: "sixteen slots".to_owned(),
        source: "made up".to_owned(),
        sockets: 2,
        slots: slots.collect(),
        chipset: shared("uplink", 3.5),
        interconnect: shared("UPI", 20.0),
        ..Site::default()
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let wishes = [
        "6xnvme:gen4x4",
        "5xnvme:gen3x4",
        "2xnvme:gen3x2",
        "3xnic:40g",
        "2xnic:10g",
        "2xhba:gen3x8",
        "2xusb3card",
        "2xcard:gen3x4",
    ];
    let wishes = wishes.iter().map(|text| wish::parse(text)).collect::<Result<_, _>>()?;
    let (site, request) = (site(), Request { wishes, ..Request::default() });
    let timed = |run: &dyn Fn() -> bool| {
        let times = (0..ROUNDS).map(|_| {
            let begin = Instant::now();
            (run(), begin.elapsed())
        });
        let (proven, times): (Vec<bool>, Vec<Duration>) = times.unzip();
        (proven.iter().all(|proven| *proven), median(times))
    };
    let (proven, first) = timed(&|| best(&site, &request).proof.complete);
    let (next_proven, both) = timed(&|| search(&site, &request).others.complete);
    let nodes = best(&site, &request).proof.nodes;
    println!("best of 16 slots x 24 devices   {first:?}, {nodes} nodes, proven: {proven}");
    println!("best and next best              {both:?}, proven: {next_proven}");
    std::fs::create_dir_all("target/bench")?;
    std::fs::write(
        "target/bench/plan.json",
        format!(
            "{{\"best_ns\": {}, \"best_and_next_ns\": {}, \"nodes\": {nodes}, \"proven\": {proven}, \"next_proven\": {next_proven}}}\n",
            first.as_nanos(),
            both.as_nanos()
        ),
    )?;
    if proven && first <= Duration::from_secs(1) { Ok(()) } else { Err("not proven within 1 s".into()) }
}
