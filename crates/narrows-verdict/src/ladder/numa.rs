//! The same load from the processors of each NUMA node.

use serde::{Deserialize, Serialize};

use super::super::finding::{Advice, Code, Evidence, Finding};
use super::{Rung, SIGNIFICANT, limit};
use narrows_base::units::{BytesPerSec, human};

/// The top of the ladder, read from one node.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeRun {
    /// The node whose processors read.
    pub node: u32,
    /// Whether it is the node that the path's controller is on; `None` where that is not known.
    pub local: Option<bool>,
    /// What was measured.
    pub bytes_per_second: BytesPerSec,
    /// A 95 % confidence interval of it.
    pub ci95: Option<[BytesPerSec; 2]>,
}

/// The slowest remote node against the local one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Numa {
    local: NodeRun,
    remote: NodeRun,
}

/// The difference between nodes; `None` where there is none that chance does not explain.
pub(super) fn judge(runs: &[NodeRun]) -> Option<Numa> {
    let local = *runs.iter().find(|run| run.local == Some(true))?;
    let remote = runs
        .iter()
        .filter(|run| run.local == Some(false))
        .min_by(|a, b| a.bytes_per_second.get().total_cmp(&b.bytes_per_second.get()))?;
    let high = remote.ci95.map_or(remote.bytes_per_second, |[_, high]| high);
    let low = local.ci95.map_or(local.bytes_per_second, |[low, _]| low);
    let lost = 1.0 - remote.bytes_per_second.fraction_of(local.bytes_per_second);
    (lost > SIGNIFICANT && high < low).then_some(Numa { local, remote: *remote })
}

impl Numa {
    /// The finding, about the target of `rung`.
    pub(super) fn finding(&self, rung: &Rung) -> Option<Finding> {
        let (local, remote) = (self.local, self.remote);
        let lost = 1.0 - remote.bytes_per_second.fraction_of(local.bytes_per_second);
        let target = &rung.subject.path.target;
        let summary = format!(
            "Processors of node {} read {target} at {}, {} less than those of node {}, where it is attached ({}).",
            remote.node,
            remote.bytes_per_second,
            human::percent(lost),
            local.node,
            local.bytes_per_second,
        );
        let action = format!("Run what reads it on node {} (numactl --cpunodebind).", local.node);
        let gain = local.bytes_per_second - remote.bytes_per_second;
        Some(
            limit(Code::NumaRemote, target, summary)
                .with_evidence([
                    Evidence::new(
                        format!("read from node {}", local.node),
                        local.bytes_per_second,
                        "the run",
                    ),
                    Evidence::new(
                        format!("read from node {}", remote.node),
                        remote.bytes_per_second,
                        "the run",
                    ),
                ])
                .with_advice([Advice::with_gain(action, Some(gain))]),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(node: u32, megabytes: f64) -> NodeRun {
        let rate = BytesPerSec::from_mb(megabytes);
        NodeRun {
            node,
            local: Some(node == 0),
            bytes_per_second: rate,
            ci95: Some([rate * 0.99, rate * 1.01]),
        }
    }

    #[test]
    fn a_remote_node_that_is_slower_is_named_and_one_that_is_not_is_silent() {
        assert_eq!(
            judge(&[run(0, 3000.0), run(1, 2400.0)]),
            Some(Numa { local: run(0, 3000.0), remote: run(1, 2400.0) })
        );
        assert_eq!(judge(&[run(0, 3000.0), run(1, 2950.0)]), None);
        assert_eq!(judge(&[run(0, 3000.0)]), None);
        let nowhere = |node| NodeRun { local: None, ..run(node, 1000.0 * f64::from(node + 1)) };
        assert_eq!(judge(&[nowhere(0), nowhere(1)]), None);
    }
}
