//! `narrows plan`: what should go where? Opens the site, reads the wishes, searches, ranks the layouts of the drives that are placed or
//! there, and shows what was found.

mod ground;

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::output::OutputArgs;
use super::values::rate;
use super::{Failure, NOTHING_FOUND, output};
use ground::{Ground, boards};
use narrows_base::units::BytesPerSec;
use narrows_model::plan::layout::{Aim, AimError, Cipher, Ranked, Resources, rank};
use narrows_model::plan::outcome::{Outcome, Rates, outcome};
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
    /// Plan for a described system: a path file (*.path.toml, docs/path-files.md) instead of a machine
    #[arg(value_name = "FILE", conflicts_with_all = ["board", "from", "cpu"])]
    pub file: Option<PathBuf>,

    /// The host of FILE to plan for [default: the first]
    #[arg(long, value_name = "NAME", requires = "file")]
    pub host: Option<String>,

    /// Plan for a board instead of a machine: its id, such as asus-x99-a; list shows them all
    #[arg(long, value_name = "ID", conflicts_with = "from")]
    pub board: Option<String>,

    /// Plan for another machine: a record of `narrows snapshot`, or pasted outputs; - is standard input
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub from: Vec<PathBuf>,

    /// The processor of the board, where it decides how many lanes there are: part of its name, such as i7-5820K
    #[arg(long, value_name = "NAME")]
    pub cpu: Option<String>,

    /// How many processors are fitted [default: all that fit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=8), requires = "board")]
    pub cpus: Option<u8>,

    /// What is wanted, as often as needed: `[COUNTx]KIND[:PROPERTY…][@RATE]`
    ///
    /// KIND is nvme, sata, nic, hca, hba, usb3card, gpu or card. PROPERTY is a link (gen3x4), a line rate (40g, 2x25g, edr), a
    /// drive's model (sn770), connector (m2, u2) or M.2 size (2280, 22110), or same-socket. RATE is what each must get while all
    /// others with a rate get theirs. Examples: 4xnvme:gen3x4, nvme:sn770@3GB/s, nic:2x40g, hba:gen3x8.
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

    /// Kinds of device that must share a socket, such as nvme,nic
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub same_socket: Vec<String>,

    /// Plan without cards that have a PCIe switch
    #[arg(long)]
    pub no_switch_cards: bool,

    /// Plan without splitting slots
    #[arg(long)]
    pub no_bifurcation: bool,

    /// Take slots of which it is not known whether the firmware can split them for ones that it can
    #[arg(long, conflicts_with = "no_bifurcation")]
    pub assume_bifurcation: bool,

    /// What the drives are for: rank layouts (single, RAID, LVM, with and without LUKS), the first aim counts most
    ///
    /// Aims: capacity, survive:N, `sequential[:RATE]`, `writes[:RATE]`, iops, encryption, endurance, with commas. What is
    /// given as survive, encryption or RATE must hold.
    #[arg(long, value_name = "AIMS")]
    pub aim: Option<String>,

    /// What one core encrypts with AES-XTS, as `cryptsetup benchmark` says [default: what is known of the processor]
    #[arg(long, value_name = "RATE", requires = "aim", value_parser = rate)]
    pub cipher: Option<BytesPerSec>,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What counts most.
fn prefer() -> impl TypedValueParser<Value = Prefer> {
    PossibleValuesParser::new([
        PossibleValue::new("rate").help("What all devices move together; then few parts"),
        PossibleValue::new("slots").help("Few slots, as long as no device alone is slower for it"),
        PossibleValue::new("parts").help("Few parts to buy"),
    ])
    .map(|name| match name.as_str() {
        "slots" => Prefer::Slots,
        "parts" => Prefer::Parts,
        _ => Prefer::Rate,
    })
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
    for kind in &args.same_socket {
        let same = wishes.iter_mut().filter(|wish| wish.kind.word() == kind.trim());
        if same.map(|wish| wish.group = Some("--same-socket".to_owned())).count() == 0 {
            return Err(Failure::new(format!("--same-socket: no wish is a `{kind}`"))
                .hint("name kinds that are wanted, such as --same-socket nvme,nic"));
        }
    }
    let sata = wishes.iter().filter(|wish| wish.kind == Kind::Sata).map(|wish| usize::from(wish.count)).sum();
    wishes.retain(|wish| wish.kind != Kind::Sata);
    let devices: usize = wishes.iter().map(|wish| usize::from(wish.count)).sum();
    if devices > MOST_DEVICES {
        return Err(Failure::new(format!("{devices} devices are more than {MOST_DEVICES}"))
            .hint("no machine has slots for so many; plan them in parts"));
    }
    let parts = Parts { switches: !args.no_switch_cards, splitting: !args.no_bifurcation };
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
    let least = |rate: fn(&Rates) -> BytesPerSec| {
        placed.iter().map(|device| rate(&device.alone)).reduce(BytesPerSec::min).unwrap_or_default()
    };
    let described = ground.drives.as_ref().filter(|_| request.wishes.is_empty());
    let (drives, [read, write, read_together, write_together]) = if let Some(it) = described {
        (number(it.names.len()), [it.read, it.write, it.read_together, it.write_together])
    } else if placed.is_empty() {
        let is_drive = |wish: &&Wish| wish.kind.is_drive();
        let there = ground.site.occupants();
        let count = |wishes: &[Wish]| {
            wishes.iter().filter(is_drive).map(|wish| wish.count).fold(0u8, u8::saturating_add)
        };
        let drives = count(&request.wishes).max(count(&there));
        let all = request.wishes.iter().chain(&there).filter(is_drive);
        let read = all.map(|wish| wish.demand().rate()).reduce(BytesPerSec::min).unwrap_or_default();
        let together = read * f64::from(drives);
        (drives, [read, read, together, together])
    } else {
        let read_together = placed.iter().map(|device| device.together.read).sum();
        let write_together = placed.iter().map(|device| device.together.write).sum();
        let (read, write) = (least(|alone| alone.read), least(|alone| alone.write));
        (number(placed.len()), [read, write, read_together, write_together])
    };
    if drives == 0 {
        return Err(Failure::new("--aim needs drives").hint("ask for some, such as --want 2xnvme:sn770"));
    }
    let cores = ground.cores;
    let stated = |rate| Cipher { decrypt: rate, encrypt: rate, cores, source: "--cipher".to_owned() };
    let cipher = args.cipher.map(stated).or_else(|| ground.cipher.clone());
    let resources = Resources { drives, read, write, read_together, write_together, cipher };
    let Ranked { fitting: ranked, others: unfit, advice } = rank(&resources, &aims);
    Ok(Some(PlannedLayouts { aims: typed.clone(), drives, ranked, unfit, advice }))
}
