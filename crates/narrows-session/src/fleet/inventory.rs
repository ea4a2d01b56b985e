//! What every host is, without load: a record by the pushed program, or where that cannot run, the text of the POSIX collector.

use super::hosts::HostName;
use super::link::{Link, Pushed, Reach, collect};
use super::local::Ground;
use super::started::LinkError;
use super::{each, fan_out};

/// How long a host keeps what was pushed, in seconds, if nobody takes it away.
const KEPT: u64 = 300;

/// So many hosts at once: each may send the most that any may, which is in memory twice.
const AT_ONCE: usize = 16;

/// Takes the inventory of all hosts, in a directory of their own each below `ground`. `collector` is the text of the POSIX collector; `keep`
/// keeps a capture by the name of its file, so that none waits in memory for the others. Why it is the collector's, where it is, or why there is none.
pub fn inventory(
    ground: &Ground,
    reach: &Reach,
    hosts: &[HostName],
    (pushed, collector): (&Pushed, &str),
    keep: impl Fn(&str, &[u8]) -> Result<(), String> + Sync,
) -> Vec<Result<Option<String>, LinkError>> {
    let numbered: Vec<(usize, &HostName)> = hosts.iter().enumerate().collect();
    each(&numbered, fan_out().min(AT_ONCE), |(number, host)| {
        let directory = ground
            .directory(&format!("h{number}"))
            .map_err(|error| LinkError::Refused(format!("cannot make a directory here: {error}")))?;
        let place = (directory.clone(), &ground.token.of_host(*number));
        let (ending, bytes, why) = match Link::look_only(reach, host, place, (pushed, KEPT)) {
            Ok(mut link) => {
                let record = link.record();
                link.close();
                ("tar.zst", record?, None)
            }
            Err(LinkError::Refused(why)) => ("txt", collect(reach, host, &directory, collector)?, Some(why)),
            Err(error) => return Err(error),
        };
        keep(&format!("{host}.{ending}"), &bytes).map_err(LinkError::Refused)?;
        Ok(why)
    })
}
