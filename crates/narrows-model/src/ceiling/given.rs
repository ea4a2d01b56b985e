//! What a hop carries that was given: in the description of a system, by whoever wrote it.
//!
//! No law: as good as what was written. The fact names the place.

use super::{Basis, Ceiling, Ceilings, FactRef, Limit};
use crate::path::GivenHop;
use narrows_base::fact::Fact;
use narrows_base::units::BytesPerSec;

/// The ceilings of a hop whose rate was given. Without one it passes on what others allow.
pub fn of_given(hop: &GivenHop) -> Ceilings {
    Ceilings { read: limit(hop, &hop.read), write: limit(hop, &hop.write) }
}

fn limit(hop: &GivenHop, rate: &Fact<BytesPerSec>) -> Ceiling {
    let Some(&value) = rate.value() else { return Ceiling::Transparent(hop.does.clone()) };
    let source = rate.source();
    Ceiling::Known(Limit {
        rate: value,
        raw: None,
        basis: Basis::Spec,
        formula: format!("{value}, given in {source}"),
        facts: vec![FactRef::new("given rate", value, source)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::HopKind;

    #[test]
    fn a_given_rate_is_the_ceiling_and_cites_its_place() {
        let hop = GivenHop {
            kind: HopKind::Memory,
            read: Fact::known(BytesPerSec::from_gb(60.0), "x99.path.toml:4"),
            write: Fact::default(),
            does: "main memory".to_owned(),
        };
        let ceilings = of_given(&hop);
        let limit = ceilings.read.limit().expect("given");
        assert_eq!(limit.formula, "60 GB/s, given in x99.path.toml:4");
        assert_eq!((limit.rate, limit.basis), (BytesPerSec::from_gb(60.0), Basis::Spec));
        assert_eq!(ceilings.write, Ceiling::Transparent("main memory".to_owned()));
    }
}
