//! The layouts of the drives that a plan places, or that are there.

use super::PlanArgs;
use super::ground::Ground;
use crate::cli::Failure;
use narrows_base::units::BytesPerSec;
use narrows_model::plan::layout::{Aim, AimError, Cipher, Resources, rank};
use narrows_model::plan::outcome::Outcome;
use narrows_model::plan::search::Request;
use narrows_model::plan::wish::{self, Wish};
use narrows_report::plan::PlannedLayouts;

/// The layouts ranked; `None` without aims.
///
/// # Errors
/// [`Failure`] when an aim or a rate is not understood, or there are no drives.
pub(super) fn layouts(
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
    let placed: Vec<_> = outcome
        .iter()
        .flat_map(|outcome| outcome.slots.iter().flat_map(|slot| &slot.devices))
        .filter(|device| device.kind.is_drive())
        .collect();
    let count = |wishes: &[Wish]| {
        wishes.iter().filter(|wish| wish.kind.is_drive()).map(|wish| wish.count).fold(0u8, u8::saturating_add)
    };
    let there = ground.site.occupants();
    let drives = match u8::try_from(placed.len()) {
        Ok(placed @ 1..) => placed,
        _ => match &ground.drives {
            Some(described) if request.wishes.is_empty() => {
                u8::try_from(described.names.len()).unwrap_or(u8::MAX)
            }
            _ => count(&request.wishes).max(count(&there)),
        },
    };
    if drives == 0 {
        return Err(Failure::new("--aim needs drives").hint("ask for some, such as --want 2xnvme:sn770"));
    }
    let least = |rates: &dyn Fn(usize) -> BytesPerSec| {
        (0..placed.len()).map(rates).reduce(BytesPerSec::min).unwrap_or_default()
    };
    let described = ground.drives.as_ref().filter(|_| request.wishes.is_empty());
    let (read, write, read_together, write_together) = if let Some(it) = described {
        (it.read, it.write, it.read_together, it.write_together)
    } else if placed.is_empty() {
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
    let cipher = cipher(args, ground)?;
    let resources = Resources { drives, read, write, read_together, write_together, cipher };
    let ranked = rank(&resources, &aims);
    Ok(Some(PlannedLayouts {
        aims: typed.clone(),
        drives,
        ranked: ranked.fitting,
        unfit: ranked.others,
        advice: ranked.advice,
    }))
}

/// What one core encrypts: as typed, or as it is known.
fn cipher(args: &PlanArgs, ground: &Ground) -> Result<Option<Cipher>, Failure> {
    let Some(typed) = &args.cipher else { return Ok(ground.cipher.clone()) };
    let rate = wish::rate(typed).ok_or_else(|| {
        Failure::new(format!("`{typed}` is not a rate")).hint("write it as 2.7GB/s or 2700MB/s")
    })?;
    Ok(Some(Cipher { decrypt: rate, encrypt: rate, cores: ground.cores, source: "--cipher".to_owned() }))
}
