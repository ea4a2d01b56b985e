//! From one capture to what is compared.

use super::entries::Capture;
use crate::cli::{check, facts};
use narrows_report::fleet::build;
use narrows_verdict::cohort::Host;

/// Reads a capture and judges its machine as `narrows check --from` does. What is wrong with it is said in the host.
pub(super) fn host(capture: &Capture) -> Host {
    let path = match &capture.place {
        Ok(path) => path,
        Err(why) => return build::failed(&capture.host, why),
    };
    let facts = match facts::machine_of(path) {
        Ok(facts) => facts,
        Err(failure) => return build::failed(&capture.host, failure.message()),
    };
    let mut notes: Vec<String> =
        facts.notes.iter().map(|note| note.trim_start_matches("narrows: ").to_owned()).collect();
    notes.extend(facts::unseen(&facts).iter().map(|unseen| unseen.message().to_owned()));
    let (subjects, verdict) = check::judge(&facts.machine);
    build::host(&capture.host, &facts.machine, &subjects, &verdict, &notes)
}

/// A host whose capture narrows itself could not stand.
pub(super) fn broken(capture: &Capture) -> Host {
    build::failed(&capture.host, "narrows failed on this capture, which is a bug; please report it")
}
