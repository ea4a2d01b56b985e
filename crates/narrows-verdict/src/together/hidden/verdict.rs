//! What was found of hidden groups, beside what the topology shows, and in words.

use serde::{Deserialize, Serialize};

use super::super::{GroupVerdict, Outcome};
use super::{Hidden, HiddenGroup};
use narrows_base::units::human;
use narrows_model::path::HopId;

/// A group, and the hops that explain it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FoundGroup {
    /// Its targets.
    pub targets: Vec<String>,
    /// The group.
    #[serde(flatten)]
    pub group: HiddenGroup,
    /// The hops that its members cross and no other target does; none where the topology hides what they share.
    pub hops: Vec<HopId>,
    /// In words.
    pub sentence: String,
}

/// The verdict on hidden sharing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HiddenVerdict {
    /// The groups that were found.
    pub groups: Vec<FoundGroup>,
    /// Targets that give less than alone, and of which nobody was found that they share with.
    pub unexplained: Vec<String>,
    /// How many runs were made beyond those alone and together.
    pub runs: usize,
    /// Why nothing is certain, where that is so.
    #[serde(rename = "reason", skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// All of it in words.
    pub sentence: String,
}

/// Whether a search says anything: why not, where the run of all says nothing.
///
/// # Errors
/// Why no search is made.
pub fn may_search(all: &GroupVerdict) -> Result<(), String> {
    match all.outcome {
        Outcome::NotKnown | Outcome::Generator => {
            Err("the runs alone and together tell nothing of who limits whom".to_owned())
        }
        Outcome::SharedLimit | Outcome::NoSharedLimit | Outcome::LimitEachOther => Ok(()),
    }
}

/// Judges what was found, or why nothing could be. `all` is the verdict on all at once.
pub fn judge<'a>(
    found: Result<Hidden, String>,
    all: &GroupVerdict,
    name: &dyn Fn(usize) -> &'a str,
) -> HiddenVerdict {
    let found = match found {
        Ok(found) => found,
        Err(why) => {
            let sentence = format!("Hidden groups were not found out: {}.", why.trim_end_matches('.'));
            return HiddenVerdict { doubt: Some(why), sentence, ..HiddenVerdict::default() };
        }
    };
    let groups: Vec<FoundGroup> = found.groups.into_iter().map(|group| explained(group, all, name)).collect();
    let mut sentences: Vec<String> = groups.iter().map(|one| one.sentence.clone()).collect();
    if groups.is_empty() && found.unexplained.is_empty() {
        let up_to = human::rate(all.together.bytes_per_second);
        sentences.push(format!("No group that shares a limit was seen up to {up_to}."));
    }
    let unexplained: Vec<String> = found.unexplained.iter().map(|at| name(*at).to_owned()).collect();
    if !unexplained.is_empty() {
        sentences.push(format!(
            "{} gives less than alone, and nobody was found that it shares a limit with.",
            unexplained.join(", ")
        ));
    }
    if let Some(drift) = &found.drifted {
        sentences.push(format!("None of this is certain: {drift}."));
    }
    HiddenVerdict {
        groups,
        unexplained,
        runs: found.runs,
        doubt: found.drifted,
        sentence: sentences.join(" "),
    }
}

fn explained<'a>(group: HiddenGroup, all: &GroupVerdict, name: &dyn Fn(usize) -> &'a str) -> FoundGroup {
    let hops: Vec<_> = all.hops.iter().filter(|hop| hop.members == group.members).collect();
    let who: Vec<&str> = group.members.iter().map(|at| name(*at)).collect();
    let place = match &hops[..] {
        [] => "no hop that the topology shows is crossed by exactly these".to_owned(),
        several => {
            let names: Vec<&str> = several.iter().map(|hop| hop.name.as_str()).collect();
            format!("exactly these cross {}", names.join(" and "))
        }
    };
    let doubt = if group.is_confirmed { "" } else { ", not confirmed by a run of these alone" };
    let sentence = format!(
        "{} share a limit of {} ({} in sum, each alone){doubt}: {place}.",
        who.join(" + "),
        human::rate(group.limit),
        human::rate(group.alone)
    );
    let targets = who.into_iter().map(str::to_owned).collect();
    FoundGroup { targets, hops: hops.iter().map(|hop| hop.id.clone()).collect(), group, sentence }
}
