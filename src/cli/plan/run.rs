//! Opens the site, reads the wishes, searches, and shows what was found.

use super::PlanArgs;
use crate::catalog::{Board, Processor, catalog};
use crate::cli::args::ColorWhen;
use crate::cli::{FAILED, Failure, NOTHING_FOUND, facts, output};
use crate::machine::Machine;
use crate::plan::diagnose;
use crate::plan::layout::{Aim, AimError, Cipher, Ranked, Resources, rank};
use crate::plan::outcome::{Outcome, outcome};
use crate::plan::search::{Found, Parts, Request, best, search};
use crate::plan::site::{BoardOptions, Site, of_board, of_machine};
use crate::plan::wish::{self, Wish, WishError};
use crate::report::plan::{PlanReport, Planned, build, render};
use crate::report::sanitize::inert;
use crate::report::text::{Colour, Style};
use crate::units::BytesPerSec;

/// The most devices that are placed at once.
const MOST_DEVICES: usize = 128;

/// Plans: 0 when all wishes have a place, 2 when they have none.
///
/// # Errors
/// [`Failure`] when the machine or board is not known, or something that was typed is not understood.
pub(in crate::cli) fn run(args: &PlanArgs) -> Result<u8, Failure> {
    if args.board.as_deref() == Some("list") {
        output::data(&boards())?;
        return Ok(NOTHING_FOUND);
    }
    let (site, machine) = site(args)?;
    let request = request(args, &site)?;
    let searched = if args.replace { site.clone() } else { site.clone().with_occupied() };
    let found = (!request.wishes.is_empty()).then(|| search(&searched, &request));
    let outcomes: Vec<Outcome> = found
        .iter()
        .flat_map(|found| {
            found.placements.iter().map(|placement| outcome(&searched, &request, found, placement))
        })
        .collect();
    let impossible = match &found {
        Some(found) if found.placements.is_empty() => diagnose::impossible(&searched, &request),
        _ => Vec::new(),
    };
    let alternatives = alternatives(&searched, &request, found.as_ref());
    let layouts = layouts(args, &request, &site, machine.as_ref(), outcomes.first())?;
    let report = build(&Planned {
        site: &site,
        searched: &searched,
        request: &request,
        found: found.as_ref(),
        outcomes: &outcomes,
        alternatives: &alternatives,
        impossible: &impossible,
        layouts,
    });
    output::data(&shown(&report, args)?)?;
    if impossible.is_empty() {
        return Ok(NOTHING_FOUND);
    }
    let why = impossible.join("; ");
    output::failure(&Failure::new(format!("the wishes cannot all be placed: {why}")).hint(
        "ask for less, free a slot (--move counts what is in them, too), or allow more with --max-slots",
    ));
    Ok(FAILED)
}

fn shown(report: &PlanReport, args: &PlanArgs) -> Result<String, Failure> {
    if args.json {
        let json = serde_json::to_string_pretty(report)
            .map_err(|error| Failure::new(format!("cannot write the plan as JSON: {error}")))?;
        return Ok(json + "\n");
    }
    let colour = match args.color {
        ColorWhen::Auto => Colour::Auto,
        ColorWhen::Always => Colour::Always,
        ColorWhen::Never => Colour::Never,
    };
    Ok(render(report, &Style::detect(colour, args.plain)))
}

fn boards() -> String {
    let mut lines: Vec<String> =
        catalog().boards.iter().map(|board| format!("{:<40} {}\n", board.id(), board.name)).collect();
    lines.sort();
    lines.concat()
}

fn site(args: &PlanArgs) -> Result<(Site, Option<Machine>), Failure> {
    if let Some(typed) = &args.board {
        let board = catalog().board_named(typed).ok_or_else(|| unknown_board(typed))?;
        let options = BoardOptions {
            processor: args.cpu.as_deref().map(processor).transpose()?,
            processor_model: args.cpu.clone(),
            sockets: args.cpus,
            assume_splitting: args.assume_bifurcation,
        };
        return Ok((of_board(board, &options), None));
    }
    let facts = facts::open(&args.from)?;
    facts.notes.iter().for_each(|note| output::note(&inert(note)));
    let site = of_machine(&facts.machine, args.assume_bifurcation)
        .map_err(|error| Failure::new(inert(&error.to_string())).hint(error.hint()))?;
    Ok((site, Some(facts.machine)))
}

/// The platform whose name, or the names of whose models, contain this.
fn processor(typed: &str) -> Result<&'static Processor, Failure> {
    let wanted = typed.to_ascii_lowercase();
    let contains = |text: &String| text.to_ascii_lowercase().contains(&wanted);
    let contained = |text: &String| wanted.contains(&text.to_ascii_lowercase()) && text.len() > 5;
    let all = &catalog().processors;
    all.iter()
        .find(|known| contains(&known.name) || known.names.iter().any(contained))
        .or_else(|| ryzen(typed).and_then(|name| all.iter().find(|known| known.name == name)))
        .ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|known| known.name.as_str()).collect();
            Failure::new(format!("no processor is known as `{typed}`"))
                .hint(format!("known platforms: {}", names.join("; ")))
        })
}

/// A Ryzen's platform goes by the thousands of its number (`Ryzen 5 2600`).
fn ryzen(typed: &str) -> Option<String> {
    let (_, rest) = typed.split_once("Ryzen")?;
    let number = rest.split_whitespace().find(|word| word.len() >= 4)?;
    let thousands = number.chars().next().filter(char::is_ascii_digit)?;
    Some(format!("AMD Ryzen {thousands}000"))
}

fn unknown_board(typed: &str) -> Failure {
    const SHOWN: usize = 5;
    let wanted: Vec<char> = typed.to_ascii_lowercase().chars().collect();
    let mut near: Vec<(usize, String)> = catalog()
        .boards
        .iter()
        .map(|board: &Board| {
            let id = board.id();
            let within = id.contains(&typed.to_ascii_lowercase());
            (if within { 0 } else { distance(&wanted, &id.chars().collect::<Vec<_>>()) }, id)
        })
        .collect();
    near.sort();
    let names: Vec<String> = near.into_iter().take(SHOWN).map(|(_, id)| id).collect();
    Failure::new(format!("no board is known as `{}`", inert(typed))).hint(format!(
        "the nearest are {}; --board list shows all, and docs/adding-a-board.md says how to add one",
        names.join(", ")
    ))
}

/// How many letters must be added, dropped or changed (V. Levenshtein, 1966).
fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, theirs) in other.iter().enumerate() {
            let changed = diagonal + usize::from(letter != theirs);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

fn request(args: &PlanArgs, site: &Site) -> Result<Request, Failure> {
    let mut wishes: Vec<Wish> = args
        .want
        .iter()
        .map(|text| wish::parse(text))
        .collect::<Result<_, _>>()
        .map_err(|error: WishError| Failure::new(inert(&error.to_string())).hint(WishError::HINT))?;
    if args.replace {
        wishes.extend(site.occupants());
    }
    for kind in &args.same_socket {
        let mut any = false;
        for wish in wishes.iter_mut().filter(|wish| wish.kind.word() == kind.trim()) {
            wish.group = Some("--same-socket".to_owned());
            any = true;
        }
        if !any {
            return Err(Failure::new(format!("--same-socket: no wish is a `{}`", inert(kind)))
                .hint("name kinds that are wanted, such as --same-socket nvme,nic"));
        }
    }
    let devices: usize = wishes.iter().map(|wish| usize::from(wish.count)).sum();
    if devices > MOST_DEVICES {
        return Err(Failure::new(format!("{devices} devices are more than {MOST_DEVICES}"))
            .hint("no machine has slots for so many; plan them in parts"));
    }
    Ok(Request {
        wishes,
        prefer: args.prefer.into(),
        max_slots: args.max_slots,
        parts: Parts { switches: !args.no_switch_cards, splitting: !args.no_bifurcation },
    })
}

/// The same wishes by each means, where there are drives to choose means for.
fn alternatives(site: &Site, request: &Request, found: Option<&Found>) -> Vec<(String, Option<Outcome>)> {
    let drives: u32 =
        request.wishes.iter().filter(|wish| wish.kind.is_drive()).map(|wish| u32::from(wish.count)).sum();
    if found.is_none() || drives < 2 {
        return Vec::new();
    }
    let with = |means: &str, switches: bool, splitting: bool| {
        let parts = Parts {
            switches: switches && request.parts.switches,
            splitting: splitting && request.parts.splitting,
        };
        let request = Request { parts, ..request.clone() };
        let found = best(site, &request);
        let outcome = found.placements.first().map(|placement| outcome(site, &request, &found, placement));
        (means.to_owned(), outcome)
    };
    vec![
        with("one drive a slot", false, false),
        with("bifurcation", false, true),
        with("switch cards", true, false),
    ]
}

/// The layouts of the drives that are wanted, or that are there.
fn layouts(
    args: &PlanArgs,
    request: &Request,
    site: &Site,
    machine: Option<&Machine>,
    outcome: Option<&Outcome>,
) -> Result<Option<(String, u8, Ranked)>, Failure> {
    let Some(typed) = &args.aim else { return Ok(None) };
    let aims = Aim::parse_all(typed)
        .map_err(|error| Failure::new(inert(&error.to_string())).hint(AimError::HINT))?;
    let placed: Vec<_> = outcome
        .iter()
        .flat_map(|outcome| outcome.slots.iter().flat_map(|slot| &slot.devices))
        .filter(|device| device.kind.is_drive())
        .collect();
    let count = |wishes: &[Wish]| {
        wishes.iter().filter(|wish| wish.kind.is_drive()).map(|wish| wish.count).fold(0u8, u8::saturating_add)
    };
    let there = site.occupants();
    let drives = match u8::try_from(placed.len()) {
        Ok(placed @ 1..) => placed,
        _ => count(&request.wishes).max(count(&there)),
    };
    if drives == 0 {
        return Err(Failure::new("--aim needs drives").hint("ask for some, such as --want 2xnvme:sn770"));
    }
    let least = |rates: &dyn Fn(usize) -> BytesPerSec| {
        (0..placed.len()).map(rates).reduce(BytesPerSec::min).unwrap_or_default()
    };
    let (read, write, read_together, write_together) = if placed.is_empty() {
        let all = request.wishes.iter().chain(&there).filter(|wish| wish.kind.is_drive());
        let read = all.map(|wish| wish.demand().rate()).reduce(BytesPerSec::min).unwrap_or_default();
        (read, read, read * f64::from(drives), read * f64::from(drives))
    } else {
        (
            least(&|at| placed[at].alone.read),
            least(&|at| placed[at].alone.write),
            placed.iter().map(|device| device.together.read).sum(),
            placed.iter().map(|device| device.together.write).sum(),
        )
    };
    let cipher = cipher(args, site, machine)?;
    let resources = Resources { drives, read, write, read_together, write_together, cipher };
    Ok(Some((typed.clone(), drives, rank(&resources, &aims))))
}

fn cipher(args: &PlanArgs, site: &Site, machine: Option<&Machine>) -> Result<Option<Cipher>, Failure> {
    let cores = machine.and_then(|machine| machine.cpus.cores.get());
    if let Some(typed) = &args.cipher {
        let rate = wish::rate(typed).ok_or_else(|| {
            Failure::new(format!("`{}` is not a rate", inert(typed))).hint("write it as 2.7GB/s or 2700MB/s")
        })?;
        let source = "--cipher".to_owned();
        return Ok(Some(Cipher { decrypt: rate, encrypt: rate, cores, source }));
    }
    let asked =
        machine.into_iter().flat_map(|machine| machine.ciphers.values().chain(&machine.cipher_benchmarks));
    if let Some(known) = asked
        .filter_map(|fact| fact.value().map(|rate| (rate, fact.source())))
        .find(|(rate, _)| rate.cipher.contains("xts") && rate.cipher.contains("aes"))
    {
        let (rate, source) = known;
        let source = source.as_str().to_owned();
        return Ok(Some(Cipher { decrypt: rate.decrypt, encrypt: rate.encrypt, cores, source }));
    }
    let known = site.processor_model.as_deref().and_then(|model| catalog().cipher(model));
    Ok(known.map(|known| Cipher {
        decrypt: BytesPerSec::from_mb(known.decrypt_megabytes_per_second),
        encrypt: BytesPerSec::from_mb(known.encrypt_megabytes_per_second),
        cores: cores.or(known.cores),
        source: known.source.clone(),
    }))
}
