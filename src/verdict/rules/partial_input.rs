//! `partial_input`: facts that need root could make the verdict surer. At most one finding for a machine.

use std::collections::BTreeSet;

use crate::machine::fact::Fact;
use crate::path::HopSpec;

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::Context;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let mut denied = BTreeSet::new();
    note(&context.machine.slots, "slot table", &mut denied);
    for hop in context.judged.iter().flat_map(|judged| &judged.subject.path.hops) {
        match &hop.spec {
            HopSpec::Link(link) if link.not_a_wire.is_none() => {
                for end in std::iter::once(&link.device).chain(&link.port) {
                    note(&end.express, "link capabilities, payload sizes and target speed", &mut denied);
                }
            }
            HopSpec::Crypt(crypt) => note(&crypt.table, "cipher and key size", &mut denied),
            _ => {}
        }
    }
    if denied.is_empty() {
        return Vec::new();
    }
    let kinds: BTreeSet<&str> = denied.iter().map(|(kind, _, _)| *kind).collect();
    let needs: BTreeSet<&str> = denied.iter().map(|(_, _, need)| need.as_str()).collect();
    let needs: Vec<&str> = needs.into_iter().collect();
    let kinds: Vec<&str> = kinds.into_iter().collect();
    let needs = needs.join(", ");
    let summary = format!("Not read without {needs}: {}.", kinds.join("; "));
    vec![
        Finding::on(Code::PartialInput, Severity::Info, "this machine", summary)
            .with_confidence(Confidence::High)
            .with_evidence(
                denied
                    .iter()
                    .map(|(kind, source, need)| Evidence::new(*kind, format!("needs {need}"), source)),
            )
            .with_advice([Advice::new(format!("Run narrows with {needs} to read them."))]),
    ]
}

fn note<T>(fact: &Fact<T>, kind: &'static str, denied: &mut BTreeSet<(&'static str, String, String)>) {
    if let Fact::Denied { source, need } = fact {
        denied.insert((kind, source.as_str().to_owned(), need.clone()));
    }
}

#[cfg(test)]
mod tests {
    use crate::machine::fact::{Fact, Source};
    use crate::verdict::testing::{Sketch, link};
    use crate::verdict::{Code, Severity};

    #[test]
    fn denied_facts_are_one_quiet_finding() {
        let denied =
            || Fact::Denied { source: Source::new("/sys/bus/pci/devices/x/config"), need: "root".to_owned() };
        let mut link = link((3, 4), (3, 4), (3, 4));
        link.device.express = denied();
        if let Some(port) = &mut link.port {
            port.express = denied();
        }
        let path = Sketch::drive(link);
        let findings = path.judge().findings;
        let partial: Vec<_> = findings.iter().filter(|finding| finding.code == Code::PartialInput).collect();
        assert_eq!((partial.len(), partial[0].severity), (1, Severity::Info));
        assert_eq!(partial[0].evidence.len(), 1);
    }

    #[test]
    fn absent_facts_are_not_denied_ones() {
        assert_eq!(Sketch::drive(link((3, 4), (3, 4), (3, 4))).finding(Code::PartialInput), None);
    }
}
