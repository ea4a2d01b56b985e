//! `partial_input`: facts that need root could make the verdict surer. At most one finding for a machine.

use std::collections::{BTreeMap, BTreeSet};

use crate::machine::fact::Fact;
use crate::path::HopSpec;

use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::Context;

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let mut denied = Denied::default();
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
    let kinds: BTreeSet<&str> = denied.keys().map(|(kind, _)| *kind).collect();
    let needs: BTreeSet<&str> = denied.keys().map(|(_, need)| need.as_str()).collect();
    let kinds: Vec<&str> = kinds.into_iter().collect();
    let needs = needs.into_iter().collect::<Vec<_>>().join(", ");
    let summary = format!("Not read without {needs}: {}.", kinds.join("; "));
    vec![
        Finding::on(Code::PartialInput, Severity::Info, "this machine", summary)
            .with_confidence(Confidence::High)
            .with_evidence(denied.iter().map(|((kind, need), sources)| evidence(kind, need, sources)))
            .with_advice([Advice::new(format!("Run narrows with {needs} to read them."))]),
    ]
}

/// What was denied: the kind of fact and what it needs, with every place where it stands.
type Denied = BTreeMap<(&'static str, String), BTreeSet<String>>;

fn note<T>(fact: &Fact<T>, kind: &'static str, denied: &mut Denied) {
    if let Fact::Denied { source, need } = fact {
        denied.entry((kind, need.clone())).or_default().insert(source.as_str().to_owned());
    }
}

/// One line for each kind of fact, with one place as an example: the others only differ in an address.
fn evidence(kind: &str, need: &str, sources: &BTreeSet<String>) -> Evidence {
    let value = match sources.len() {
        0 | 1 => format!("needs {need}"),
        count => format!("{count} files need {need}, this one for example"),
    };
    Evidence::new(kind, value, sources.first().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use crate::machine::fact::{Fact, Source};
    use crate::verdict::testing::{Sketch, link};
    use crate::verdict::{Code, Severity};

    #[test]
    fn denied_facts_are_one_quiet_finding() {
        let denied = |end: &str| Fact::Denied {
            source: Source::new(format!("/sys/bus/pci/devices/{end}/config")),
            need: "root".to_owned(),
        };
        let mut link = link((3, 4), (3, 4), (3, 4));
        link.device.express = denied("0000:02:00.0");
        if let Some(port) = &mut link.port {
            port.express = denied("0000:00:1c.0");
        }
        let path = Sketch::drive(link);
        let findings = path.judge().findings;
        let partial: Vec<_> = findings.iter().filter(|finding| finding.code == Code::PartialInput).collect();
        assert_eq!((partial.len(), partial[0].severity), (1, Severity::Info));
        let [evidence] = partial[0].evidence.as_slice() else { panic!("{:?}", partial[0].evidence) };
        assert_eq!(evidence.value, "2 files need root, this one for example");
        assert_eq!(evidence.source, "/sys/bus/pci/devices/0000:00:1c.0/config");
    }

    #[test]
    fn absent_facts_are_not_denied_ones() {
        assert_eq!(Sketch::drive(link((3, 4), (3, 4), (3, 4))).finding(Code::PartialInput), None);
    }
}
