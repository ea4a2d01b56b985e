//! What every host is, without load: a record by the pushed program, or where that cannot run, the text of the POSIX collector.

use narrows_machine::root::Root;

use super::hosts::HostName;
use super::link::{Link, LinkError, Pushed, Reach, collect};
use super::local::Ground;
use super::script::Token;
use super::{each, fan_out};

/// How long a host keeps what was pushed, in seconds, if nobody takes it away.
const KEPT: u64 = 300;

/// The capture of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// The ending of its file.
    pub ending: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Why it is the collector's, where it is.
    pub collected_because: Option<String>,
}

/// Captures of hosts, in their order, and a directory that is gone with it.
pub struct Inventory {
    /// The capture of each host; or why there is none.
    pub hosts: Vec<(HostName, Result<Capture, LinkError>)>,
    /// A directory for them.
    pub ground: Ground,
}

/// Takes the inventory of all hosts. `collector` is the text of the POSIX collector.
///
/// # Errors
/// The controller's own directory cannot be made.
pub fn inventory(
    root: &Root,
    reach: &Reach,
    hosts: &[HostName],
    pushed: &Pushed,
    collector: &str,
) -> std::io::Result<Inventory> {
    let token = Token::random().map_err(std::io::Error::other)?;
    let ground = Ground::make(root, &token)?;
    let numbered: Vec<(usize, &HostName)> = hosts.iter().enumerate().collect();
    let captures = each(&numbered, fan_out(), |(number, host)| {
        let directory = ground
            .directory(&format!("h{number}"))
            .map_err(|error| LinkError::Refused(format!("cannot make a directory here: {error}")))?;
        let place = (directory.clone(), &token.of_host(*number));
        match Link::look_only(reach, host, place, (pushed, KEPT)) {
            Ok(mut link) => {
                let record = link.record();
                link.close();
                record.map(|bytes| Capture { ending: "tar.zst", bytes, collected_because: None })
            }
            Err(LinkError::Refused(why)) => {
                let bytes = collect(reach, host, &directory, collector)?;
                Ok(Capture { ending: "txt", bytes, collected_because: Some(why) })
            }
            Err(error) => Err(error),
        }
    });
    let hosts = hosts.iter().cloned().zip(captures).collect();
    Ok(Inventory { hosts, ground })
}
