//! Opens the site, reads the wishes, searches, and shows what was found.

use super::PlanArgs;
use super::ground::{Ground, boards};
use super::layouts::layouts;
use crate::cli::{FAILED, Failure, NOTHING_FOUND, output};
use narrows_model::plan::outcome::{Outcome, outcome};
use narrows_model::plan::search::{Found, Parts, Request, best, search};
use narrows_model::plan::site::Site;
use narrows_model::plan::wish::{self, Kind, Wish, WishError};
use narrows_model::plan::{search, site};
use narrows_report::plan::{Planned, build, document};

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
    let mut ground = Ground::open(args)?;
    let (request, sata) = request(args, &ground.site)?;
    ground.site.ask_for(&request.wishes);
    let site = &ground.site;
    let searched = if args.replace { site.clone() } else { site.clone().with_occupied() };
    let found = (!request.wishes.is_empty()).then(|| search(&searched, &request));
    let outcomes: Vec<Outcome> = found
        .iter()
        .flat_map(|found| {
            found.placements.iter().map(|placement| outcome(&searched, &request, found, placement))
        })
        .collect();
    let impossible = match &found {
        Some(found) if found.placements.is_empty() => search::impossible(&searched, &request),
        _ => Vec::new(),
    };
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
    if let Some(why) = of_sata(site::SataSeated::not_known).filter(|_| impossible.is_empty()) {
        output::failure(&Failure::new(format!(
            "it is not known whether the wishes can all be placed: {why}"
        )));
        return Ok(FAILED);
    }
    let impossible: Vec<String> =
        impossible.into_iter().chain(of_sata(site::SataSeated::impossible)).collect();
    if impossible.is_empty() {
        return Ok(NOTHING_FOUND);
    }
    let why = impossible.join("; ");
    if !site.gaps.is_empty() {
        let why = format!(
            "it is not known whether the wishes can all be placed: in the slots that are known, {why}"
        );
        let hint = format!("of {} it is not known: {}", site.name, site.gaps.join("; "));
        output::failure(&Failure::new(why).hint(hint));
        return Ok(FAILED);
    }
    output::failure(&Failure::new(format!("the wishes cannot all be placed: {why}")).hint(
        "ask for less, free a slot (--move counts what is in them, too), or allow more with --max-slots",
    ));
    Ok(FAILED)
}

/// The wishes for slots, and how many drives are wanted on SATA ports.
fn request(args: &PlanArgs, site: &Site) -> Result<(Request, usize), Failure> {
    let mut wishes: Vec<Wish> = args
        .want
        .iter()
        .map(|text| wish::parse(text))
        .collect::<Result<_, _>>()
        .map_err(|error: WishError| Failure::new(error.to_string()).hint(WishError::HINT))?;
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
    let request = Request { wishes, prefer: args.prefer.into(), max_slots: args.max_slots, parts };
    Ok((request, sata))
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
