//! Verdicts from half the facts: what rests on a link of which a capture shows one end, or not its state, is less sure.

use std::collections::BTreeSet;

use narrows_machine::Machine;
use narrows_model::path::{Hop, HopId, HopSpec, Path};

use super::finding::{Confidence, Evidence, Finding};
use super::rules::Judged;

/// Lowers the confidence of findings about links that a captured machine shows half of, and says why.
pub(super) fn lower(machine: &Machine, judged: &[Judged<'_>], findings: &mut [Finding]) {
    if machine.captured.is_none() {
        return;
    }
    let hops = judged.iter().flat_map(|judged| &judged.subject.path.hops);
    let half: BTreeSet<&HopId> = hops.filter(|hop| is_half(hop)).map(|hop| &hop.id).collect();
    for finding in findings.iter_mut().filter(|f| f.hop.as_ref().is_some_and(|hop| half.contains(hop))) {
        finding.confidence = at_most_medium(finding.confidence);
        let evidence = Evidence::new(
            "the other end or the state of this link",
            "not in the capture",
            "sudo lspci -vvv shows both ends",
        );
        finding.evidence.push(evidence);
    }
}

/// How sure the narrowest hop of a path is.
pub(super) fn confidence(machine: &Machine, path: &Path, confidence: Confidence) -> Confidence {
    match machine.captured.is_some() && path.hops.iter().any(is_half) {
        true => at_most_medium(confidence),
        false => confidence,
    }
}

fn at_most_medium(confidence: Confidence) -> Confidence {
    confidence.max(Confidence::Medium)
}

/// Whether a hop is a link of which an end is missing, or what an end can do, or what the link does.
fn is_half(hop: &Hop) -> bool {
    let HopSpec::Link(link) = &hop.spec else { return false };
    let Some(port) = &link.port else { return link.not_a_wire.is_none() };
    let ends = [link.device.end(), port.end()];
    let runs = ends.iter().any(|end| end.state().is_some());
    link.not_a_wire.is_none() && !(runs && ends.iter().all(|end| end.most().is_some()))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Sketch, link};
    use crate::{Code, Confidence};
    use narrows_base::fact::Fact;
    use narrows_machine::captured::Captured;
    use narrows_model::ceiling::Direction;

    /// A drive of four lanes that has two, of which the port does not say how fast it could be.
    fn half(is_captured: bool) -> Sketch {
        let mut link = link((3, 2), (3, 4), (3, 4));
        if let Some(port) = &mut link.port {
            port.link.max_speed = Fact::default();
        }
        let mut sketch = Sketch::drive(link);
        sketch.machine.captured = is_captured.then(Captured::default);
        sketch
    }

    #[test]
    fn a_verdict_from_half_the_facts_is_less_sure_and_says_so() {
        let finding = half(true).finding(Code::LinkWidthDegraded).expect("lanes are missing");
        assert_eq!(finding.confidence, Confidence::Medium);
        let said = finding.evidence.iter().any(|evidence| evidence.value == "not in the capture");
        assert!(said, "{:?}", finding.evidence);
        let verdict = half(true).judge();
        assert!(verdict.paths[0].confidence.get(&Direction::Read) >= Some(&Confidence::Medium));
    }

    #[test]
    fn a_machine_that_answers_itself_has_no_halves() {
        let finding = half(false).finding(Code::LinkWidthDegraded).expect("lanes are missing");
        assert_eq!(finding.confidence, Confidence::High);
    }

    #[test]
    fn a_whole_link_of_a_capture_is_as_sure_as_any() {
        let mut sketch = Sketch::drive(link((3, 2), (3, 4), (3, 4)));
        sketch.machine.captured = Some(Captured::default());
        let finding = sketch.finding(Code::LinkWidthDegraded).expect("lanes are missing");
        assert_eq!(finding.confidence, Confidence::High);
    }
}
