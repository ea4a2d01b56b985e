//! From a judged machine to what is compared between machines.

use std::collections::BTreeMap;

use crate::sanitize::inert;
use narrows_base::fact::Fact;
use narrows_machine::Machine;
use narrows_verdict::cohort::{Found, Host, Link, Model};
use narrows_verdict::{Finding, Subject, Verdict};

/// The most findings of one host that are kept, worst first; a machine has some dozens at most.
const MOST_FINDINGS: usize = 200;

/// The most links of one host that are kept.
const MOST_LINKS: usize = 500;

/// The most characters of a text that are kept.
const LONGEST: usize = 400;

/// What remains of a machine that was judged.
pub fn host(
    name: &str,
    machine: &Machine,
    subjects: &[Subject],
    verdict: &Verdict,
    notes: &[String],
) -> Host {
    let links = links(subjects);
    let by_hop: BTreeMap<&str, &Link> = links.iter().map(|(hop, link)| (hop.as_str(), link)).collect();
    let by_address: BTreeMap<&str, &Link> =
        links.values().map(|link| (link.address.as_str(), link)).collect();
    let mut notes: Vec<String> = notes.iter().map(|note| clean(note)).collect();
    if let Some(more @ 1..) = verdict.findings.len().checked_sub(MOST_FINDINGS) {
        notes.push(format!("{more} more findings are left out"));
    }
    let found = |finding: &Finding| {
        let hop = finding.hop.as_ref().and_then(|hop| by_hop.get(hop.as_str()));
        let link = hop.or_else(|| by_address.get(finding.subject.as_str())).copied();
        Found {
            code: finding.code,
            severity: finding.severity,
            confidence: finding.confidence,
            place: link.map_or_else(|| clean(&finding.subject), |link| link.place.clone()),
            subject: clean(&finding.subject),
            hop: finding.hop.as_ref().map(|hop| clean(hop.as_str())),
            state: link.and_then(Link::state),
            summary: clean(&finding.summary),
            advice: finding.advice.first().map(|advice| clean(&advice.action)),
        }
    };
    let findings = verdict.findings.iter().take(MOST_FINDINGS).map(found).collect();
    let dmi = &machine.dmi;
    Host {
        host: clean(name),
        model: Model {
            vendor: text(&dmi.system_vendor),
            product: text(&dmi.product),
            board: text(&dmi.board),
        },
        bios: text(&dmi.bios_version),
        kernel: text(&machine.kernel),
        cpu: text(&machine.cpus.model),
        memory_bytes: machine.cpus.memory.get(),
        paths: subjects.len(),
        failure: None,
        notes,
        findings,
        links: links.into_values().take(MOST_LINKS).collect(),
    }
}

/// A host of which nothing is known.
pub fn failed(name: &str, why: &str) -> Host {
    Host::failed(clean(name), clean(why))
}

/// The links that data crosses, by the id of their hop.
fn links(subjects: &[Subject]) -> BTreeMap<String, Link> {
    let hops = subjects.iter().flat_map(|subject| &subject.path.hops);
    let links = hops.filter_map(|hop| {
        // The numbers of one that is no wire say nothing.
        let link = hop.link().filter(|link| link.not_a_wire.is_none())?;
        let address = link.device.address.to_string();
        let slot = link.slot.as_deref().map(|slot| format!("slot {}", clean(slot)));
        let view = Link {
            place: slot.unwrap_or_else(|| address.clone()),
            device: link.device.id.value().map(ToString::to_string),
            width: link.state().width().map(|width| width.value.get()),
            speed: link.state().speed().map(|speed| speed.value.to_string()),
            address,
        };
        Some((hop.id.as_str().to_owned(), view))
    });
    links.collect()
}

fn text(fact: &Fact<String>) -> Option<String> {
    fact.value().map(|text| clean(text))
}

/// Inert, and no longer than what thousands of machines leave room for.
fn clean(text: &str) -> String {
    let text = inert(text);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
