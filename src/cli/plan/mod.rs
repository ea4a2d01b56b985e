//! `narrows plan`: what should go where? Opens the site, reads the wishes, searches, ranks the layouts of the drives that are placed or
//! there, and shows what was found.

mod ground;

use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::{Args, ValueEnum};

use super::output::OutputArgs;
use super::values::{rate, word};
use super::{Failure, NOTHING_FOUND, output};
use ground::{Ground, boards};
use narrows_base::units::BytesPerSec;
use narrows_model::path::file::BuildError;
use narrows_model::plan::layout::{Aim, AimError, Cipher, Drives, Ranked, Resources, rank};
use narrows_model::plan::outcome::{DeviceOutcome, Outcome, Rates, outcome};
use narrows_model::plan::search::{Found, Parts, Prefer, Request, best, search};
use narrows_model::plan::site::Site;
use narrows_model::plan::wish::{self, Kind, Wish, WishError};
use narrows_model::plan::{search, site};
use narrows_report::plan::{Planned, PlannedLayouts, build, document};

/// The most devices that are placed at once.
const MOST_DEVICES: usize = 128;

/// What `plan` is asked.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct PlanArgs {
    /// What is planned for, in the place of this machine: a description (*.path.toml), a record, or pasted outputs; - is standard input
    #[arg(value_name = "WHAT", conflicts_with_all = ["board", "cpu"])]
    pub what: Vec<PathBuf>,

    /// The host of a description to plan for [default: the first]
    #[arg(long, value_name = "NAME", requires = "what")]
    pub host: Option<String>,

    /// Plan for a board: its id, such as asus-x99-a; list shows them all
    #[arg(long, value_name = "ID")]
    pub board: Option<String>,

    /// The processor of the board, where it decides on lanes: i7-5820K, 2xE5-2650, 1x
    #[arg(long, value_name = "NAME", requires = "board", value_parser = Fitted::parse)]
    pub cpu: Option<Fitted>,

    /// What is wanted, as often as needed: `[COUNTx]KIND[:PROPERTY…][@RATE]`. KIND is nvme, sata, nic, hca, hba, usb3card, gpu or card;
    /// PROPERTY a link (gen3x4), line rate (40g, 2x25g, edr), drive (sn770), connector (m2, u2), size (2280) or same-socket
    #[arg(long, value_name = "WISH")]
    pub want: Vec<String>,

    /// Move what is in the slots now, too
    #[arg(long = "move")]
    pub replace: bool,

    /// What counts most
    #[arg(long, value_name = "WHAT", default_value = "rate", value_parser = prefer())]
    pub prefer: Prefer,

    /// Use at most so many slots for cards
    #[arg(long, value_name = "N")]
    pub max_slots: Option<u8>,

    /// Plan without cards that have a PCIe switch
    #[arg(long)]
    pub no_switch_cards: bool,

    /// Whether slots are split: never, or also those of which it is not known (assume)
    #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true)]
    pub bifurcation: Option<Bifurcation>,

    /// What the drives are for, the first counts most: capacity, survive:N, `sequential[:RATE]`, `writes[:RATE]`, iops, encryption,
    /// endurance; what is given as survive, encryption or RATE must hold
    #[arg(long, value_name = "AIMS")]
    pub aim: Option<String>,

    /// What one core encrypts with AES-XTS, as `cryptsetup benchmark` says: cipher=2GB/s
    #[arg(long, value_name = "NAME=RATE", requires = "aim", value_parser = cipher)]
    pub ceiling: Option<BytesPerSec>,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Which processors are in the sockets of a board.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fitted {
    /// How many; all that fit where it is not said.
    pub count: Option<u8>,
    /// A part of the name of each.
    pub name: Option<String>,
}

impl Fitted {
    /// Reads `i7-5820K`, `2xE5-2650` or `1x`.
    fn parse(text: &str) -> Result<Self, String> {
        let counted = text.split_once('x').and_then(|(count, name)| Some((count.parse().ok()?, name)));
        let (count, name) = match counted {
            Some((count @ 1..=8, name)) => (Some(count), name),
            Some((count, _)) => return Err(format!("no board has {count} sockets")),
            None => (None, text),
        };
        Ok(Self { count, name: (!name.is_empty()).then(|| name.to_owned()) })
    }
}

/// Reads `cipher=2GB/s`.
fn cipher(text: &str) -> Result<BytesPerSec, String> {
    let stated =
        text.strip_prefix("cipher=").ok_or("a plan knows the ceiling `cipher` alone: cipher=2GB/s")?;
    rate(stated)
}

/// Whether slots are split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Bifurcation {
    /// No slot is
    Never,
    /// Also those of which it is not known whether the firmware can
    Assume,
}

/// What counts most.
fn prefer() -> impl TypedValueParser<Value = Prefer> {
    word([
        ("rate", "What all devices move together; then few parts", Prefer::Rate),
        ("slots", "Few slots, as long as no device alone is slower for it", Prefer::Slots),
        ("parts", "Few parts to buy", Prefer::Parts),
    ])
}

impl PlanArgs {
    /// Whether slots are split of which it is not known whether the firmware can.
    fn assumes_splitting(&self) -> bool {
        self.bifurcation == Some(Bifurcation::Assume)
    }
}

/// Plans: 0 when all wishes have a place, 2 when they have none.
///
/// # Errors
/// [`Failure`] when the machine or board is not known, or something that was typed is not understood.
pub(super) fn run(args: &PlanArgs) -> Result<u8, Failure> {
    if args.board.as_deref() == Some("list") {
        output::data(&boards())?;
        return Ok(NOTHING_FOUND);
    }
    let mut ground = Ground::open(args)?;
    let (request, sata) = request(args, &ground.site)?;
    ground.site.ask_for(&request.wishes);
    let site = &ground.site;
    let searched = if args.replace { site.clone() } else { site.clone().with_occupied() };
    let found = (!request.wishes.is_empty()).then(|| search(&searched, &request));
    let outcomes = found.as_ref().map(|found| {
        found.placements.iter().map(|placement| outcome(&searched, &request, found, placement)).collect()
    });
    let outcomes: Vec<Outcome> = outcomes.unwrap_or_default();
    let has_none = found.as_ref().is_some_and(|found| found.placements.is_empty());
    let impossible = if has_none { search::impossible(&searched, &request) } else { Vec::new() };
    let sata = site::seat_on_sata(site, sata, outcomes.first());
    let alternatives = alternatives(&searched, &request, found.as_ref());
    let layouts = layouts(args, &request, &ground, outcomes.first())?;
    let report = build(Planned {
        site,
        request: &request,
        found: found.as_ref(),
        outcomes,
        alternatives: &alternatives,
        impossible: &impossible,
        sata: sata.clone(),
        layouts,
    });
    output::report(&report, &args.output, document)?;
    let of_sata = |why: fn(&site::SataSeated) -> Option<String>| sata.as_ref().and_then(why);
    let not_known =
        |why| Failure::new(format!("it is not known whether the wishes can all be placed: {why}"));
    if let Some(why) = of_sata(site::SataSeated::not_known).filter(|_| impossible.is_empty()) {
        return Err(not_known(why));
    }
    let why =
        impossible.into_iter().chain(of_sata(site::SataSeated::impossible)).collect::<Vec<_>>().join("; ");
    if why.is_empty() {
        return Ok(NOTHING_FOUND);
    }
    if !site.gaps.is_empty() {
        let hint = format!("of {} it is not known: {}", site.name, site.gaps.join("; "));
        return Err(not_known(format!("in the slots that are known, {why}")).hint(hint));
    }
    Err(Failure::new(format!("the wishes cannot all be placed: {why}")).hint(
        "ask for less, free a slot (--move counts what is in them, too), or allow more with --max-slots",
    ))
}

/// The wishes for slots, and how many drives are wanted on SATA ports.
fn request(args: &PlanArgs, site: &Site) -> Result<(Request, usize), Failure> {
    let wrong = |error: WishError| Failure::new(error.to_string()).hint(WishError::HINT);
    let wishes = args.want.iter().map(|text| wish::parse(text).map_err(wrong));
    let mut wishes: Vec<Wish> = wishes.collect::<Result<_, _>>()?;
    if args.replace {
        wishes.extend(site.occupants());
    }
    let sata = wishes.iter().filter(|wish| wish.kind == Kind::Sata).map(|wish| usize::from(wish.count)).sum();
    wishes.retain(|wish| wish.kind != Kind::Sata);
    let devices: usize = wishes.iter().map(|wish| usize::from(wish.count)).sum();
    if devices > MOST_DEVICES {
        return Err(Failure::new(format!("{devices} devices are more than {MOST_DEVICES}"))
            .hint("no machine has slots for so many; plan them in parts"));
    }
    let parts =
        Parts { switches: !args.no_switch_cards, splitting: args.bifurcation != Some(Bifurcation::Never) };
    let request = Request { wishes, prefer: args.prefer, max_slots: args.max_slots, parts };
    Ok((request, sata))
}

/// The same wishes by each means, where there are drives to choose means for.
fn alternatives(site: &Site, request: &Request, found: Option<&Found>) -> Vec<(String, Option<Outcome>)> {
    let drives = request.wishes.iter().filter(|wish| wish.kind.is_drive());
    if found.is_none() || drives.map(|wish| u32::from(wish.count)).sum::<u32>() < 2 {
        return Vec::new();
    }
    let of = request.parts;
    let with = |(means, switches, splitting): (&str, bool, bool)| {
        let parts = Parts { switches: switches && of.switches, splitting: splitting && of.splitting };
        let request = Request { parts, ..request.clone() };
        let found = best(site, &request);
        let outcome = found.placements.first().map(|placement| outcome(site, &request, &found, placement));
        (means.to_owned(), outcome)
    };
    let means =
        [("one drive a slot", false, false), ("bifurcation", false, true), ("switch cards", true, false)];
    means.map(with).into()
}

/// The layouts ranked; `None` without aims.
///
/// # Errors
/// [`Failure`] when an aim or a rate is not understood, or there are no drives.
fn layouts(
    args: &PlanArgs,
    request: &Request,
    ground: &Ground,
    outcome: Option<&Outcome>,
) -> Result<Option<PlannedLayouts>, Failure> {
    let Some(typed) = &args.aim else { return Ok(None) };
    let aims = Aim::parse_all(typed).map_err(|error| Failure::new(error.to_string()).hint(AimError::HINT))?;
    if aims.contains(&Aim::Copy) {
        return Err(Failure::new("no plan foresees what a copy of files will take")
            .hint("`narrows lab --copy SRC --aim copy` measures it on empty drives"));
    }
    let devices = outcome.iter().flat_map(|outcome| outcome.slots.iter().flat_map(|slot| &slot.devices));
    let placed: Vec<_> = devices.filter(|device| device.kind.is_drive()).collect();
    let number = |drives: usize| u8::try_from(drives).unwrap_or(u8::MAX);
    let described = ground.drives.as_ref().filter(|_| request.wishes.is_empty());
    let drives = if let Some(it) = described {
        Drives::Described(it.clone())
    } else if placed.is_empty() {
        let is_drive = |wish: &&Wish| wish.kind.is_drive();
        let there = ground.site.occupants();
        let count = |wishes: &[Wish]| {
            wishes.iter().filter(is_drive).map(|wish| wish.count).fold(0u8, u8::saturating_add)
        };
        let count = count(&request.wishes).max(count(&there));
        let all = request.wishes.iter().chain(&there).filter(is_drive);
        let each = all.map(|wish| wish.demand().rate()).reduce(BytesPerSec::min).unwrap_or_default();
        let times = |n: u8| Rates { read: each * f64::from(n), write: each * f64::from(n) };
        Drives::Rated { count, alone: times(1), together: times(count) }
    } else {
        let least = |of: fn(&DeviceOutcome) -> Rates| {
            let rates = placed.iter().map(|device| of(device));
            rates.reduce(|a, b| Rates { read: a.read.min(b.read), write: a.write.min(b.write) })
        };
        let count = number(placed.len());
        let [alone, slowest] = [least(|it| it.alone), least(|it| it.together)].map(Option::unwrap_or_default);
        // An array goes in the step of its slowest drive.
        let all = |rate: BytesPerSec| rate * f64::from(count);
        Drives::Rated { count, alone, together: Rates { read: all(slowest.read), write: all(slowest.write) } }
    };
    let count = drives.count();
    if count == 0 {
        return Err(Failure::new("--aim needs drives").hint("ask for some, such as --want 2xnvme:sn770"));
    }
    let cores = ground.cores;
    let stated = |rate| Cipher { decrypt: rate, encrypt: rate, cores, source: "--ceiling".to_owned() };
    let cipher = args.ceiling.map(stated).or_else(|| ground.cipher.clone());
    let refused = |error: BuildError| Failure::new(error.to_string());
    let Ranked { fitting: ranked, others: unfit, advice, not_known } =
        rank(&Resources { drives, cipher }, &aims).map_err(refused)?;
    Ok(Some(PlannedLayouts { aims: typed.clone(), drives: count, ranked, unfit, advice, not_known }))
}
