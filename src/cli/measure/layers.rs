//! `narrows measure --as layers`: the same load at every layer of a path, from the media up.
//!
//! The story: find the path and its layers, open each, measure the legs (engine, memory, cipher, and the network through iperf3), climb
//! (each layer alone, members at once before what joins them), judge, show. What cannot be opened is left out and named; an
//! interrupt keeps what was measured.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::Value;

use super::MeasureArgs;
use super::loads::{doubling, threads};
use super::site::{self, Runner};
use crate::cli::{Failure, output, status, target};
use narrows_base::units::peers::Peer;
use narrows_base::units::{BitsPerSec, Bytes, BytesPerSec};
use narrows_load::measurement::Pattern;
use narrows_load::preset::LoadSpec;
use narrows_machine::root::Root;
use narrows_machine::{cipher, program};
use narrows_model::path::layers::layers;
use narrows_model::path::{CryptHop, HopKind, HopSpec};
use narrows_report::view;
use narrows_runs::ladder::{self, LadderReport, LeftOut};
use narrows_runs::measure::Context;
use narrows_session::Teller;
use narrows_session::fleet::{LinkError, started};
use narrows_session::ladder::{self as climb, Ask, Climb, Opening};
use narrows_session::measure::{Command, memory_copy, nop_ceiling};
use narrows_session::scene::Scene;
use narrows_verdict::ladder::{Leg, LegKind, judge};

/// The measured time of each layer, unless another is asked for.
const TIME: Duration = Duration::from_secs(4);
/// What is run before each and not counted.
const WARM_UP: Duration = Duration::from_millis(500);
/// How long iperf3 sends.
const SECONDS: u64 = 5;
/// How long the far end may let it wait in all.
const PATIENCE: Duration = Duration::from_secs(4 * SECONDS);

/// Climbs the layers of a path and shows where its rate is lost.
///
/// # Errors
/// [`Failure`] when the target does not exist, has no layers, or none of them can be measured.
pub(super) fn run(args: &MeasureArgs) -> Result<u8, Failure> {
    let typed = args.one()?.ok_or_else(|| Failure::new("name a device, mount point, directory or file"))?;
    let scene = target::scene(typed)?;
    let layers = layers(&scene.machine, &scene.subject.path);
    if layers.is_empty() {
        return Err(Failure::new(format!("no layer of the path to `{typed}` can be read"))
            .hint("name a device, mount point, directory or file"));
    }
    let usual = (&[Bytes::from_mib(1)][..], &[8][..]);
    let loads = args.grid.loads(&threads(&args.grid), usual, Pattern::Sequential);
    let ask = ask(args, &loads);
    if !ask.read && (ask.write_scratch || !std::path::Path::new(typed).is_file()) {
        target::check_way(&scene.machine, typed, &scene.subject.path.asked)?;
    }
    let ceiling = Context::new(&scene.subject, Peer::None).ceilings.write;
    let ceiling = ceiling.map(|ceiling| ceiling.bytes_per_second);
    let writes = climb::writes(&scene, &layers, &loads, ask, ceiling)?;
    let writes = writes.map(|(writes, said)| {
        output::note(&said);
        writes
    });
    let runner = site::begin(Command::Ladder, &scene, writes)?;
    let opened = Opening::of(&layers, ask, &runner)?;
    if opened.is_empty() {
        return Err(opened.failure(typed));
    }
    for (hop, reason) in opened.left_out() {
        output::note(&format!("narrows: {hop} is not measured: {reason}"));
    }
    let legs = legs(&scene, &loads, args, &runner);
    let mut ladders = Vec::new();
    let mut reason = None;
    for load in &loads {
        let climb = Climb { scene: &scene, layers: &layers, opened: &opened, runner: &runner, ask };
        let climbed = climb.up(load)?;
        let verdict = judge(&scene.machine, &climbed.rungs, &climbed.numa);
        reason = climbed.trouble;
        ladders.push(ladder::ladder(load, &climbed.rungs, &verdict, climbed.numa));
        if reason.is_some() {
            break;
        }
    }
    let reason = reason.or_else(|| opened.reason());
    let left = |(hop, reason): (&str, &str)| LeftOut { hop: hop.to_owned(), reason: reason.to_owned() };
    let report = LadderReport {
        schema: ladder::SCHEMA.to_owned(),
        tool: view::tool(),
        machine: view::machine_view(&scene.machine),
        target: typed.to_owned(),
        duration_ns: ask.time.into(),
        legs,
        ladders,
        writes: runner.writes().map(|writes| writes.account(&scene.root)),
        left_out: opened.left_out().map(left).collect(),
        complete: reason.is_none(),
        reason,
    };
    let is_stopped = runner.is_stopped();
    drop(runner);
    output::report(&report, &args.shown(), ladder::document)?;
    if is_stopped {
        output::note("narrows: interrupted; the report holds what was measured until then");
    }
    Ok(status(report.complete && report.has_rates(), report.has_findings()))
}

/// What the climb is asked. Only the scratch file on the file system is ever written, and only where a load writes.
fn ask(args: &MeasureArgs, loads: &[LoadSpec]) -> Ask {
    Ask {
        read: args.read_only,
        write_scratch: loads.iter().any(LoadSpec::writes),
        size: args.size,
        max_writes: args.max_writes,
        time: args.duration.unwrap_or(TIME),
        warm_up: args.warm_up.unwrap_or(WARM_UP),
    }
}

/// Measures every leg that the path has. What cannot be measured says what would.
fn legs(scene: &Scene, loads: &[LoadSpec], args: &MeasureArgs, runner: &Runner<'_>) -> Vec<Leg> {
    runner.progress.phase("the legs alone", Duration::from_secs(2));
    let mut legs = Vec::new();
    legs.push(nop(loads.first().map_or(Bytes::from_mib(1), |load| load.block_size)));
    for cores in BTreeSet::from([1, runner.session.online()]) {
        legs.push(match memory_copy(cores) {
            Some(rate) => Leg::measured(LegKind::MemoryCopy, "memory copy", cores, rate, "bytes copied"),
            None => Leg::missing(LegKind::MemoryCopy, "memory copy", "no thread could be started"),
        });
        if runner.is_stopped() {
            return legs;
        }
    }
    for hop in &scene.subject.path.hops {
        if let HopSpec::Crypt(crypt) = &hop.spec {
            let of_mapping = ciphers(crypt, runner);
            // Mappings with one cipher are measured once.
            if of_mapping.first().is_some_and(|leg| !legs.iter().any(|other: &Leg| other.name == leg.name)) {
                legs.extend(of_mapping);
            }
        }
    }
    let is_remote =
        scene.subject.path.hops.iter().any(|hop| matches!(hop.kind(), HopKind::Network | HopKind::Remote));
    if is_remote || args.peer.is_some() {
        legs.extend(network_legs(args.peer.as_deref(), runner));
    }
    legs
}

fn nop(block: Bytes) -> Leg {
    match nop_ceiling() {
        // What the kernel granted the ring is in the results of the rungs.
        Ok(nop) => Leg::nop(nop.ns_per_io, block, nop.engine.name()),
        Err(error) => Leg::missing(LegKind::Nop, "I/O that does nothing", error.to_string()),
    }
}

/// A cipher on one core and more, up to all of them.
fn ciphers(crypt: &CryptHop, runner: &Runner<'_>) -> Vec<Leg> {
    let (Some(table), Some(rate)) = (crypt.table.value(), crypt.cipher.value()) else {
        let missing = crypt.table.missing().or_else(|| crypt.cipher.missing()).unwrap_or_default();
        let reason = format!("{missing}; run as root, or see `cryptsetup benchmark`");
        return vec![Leg::missing(LegKind::Cipher, "cipher", reason)];
    };
    let name = format!("{} decrypting, {} bit key", rate.cipher, rate.key_bits);
    let means = rate
        .driver
        .as_deref()
        .map_or_else(|| "user space".to_owned(), |driver| format!("the kernel's {driver} through AF_ALG"));
    let mut legs = vec![Leg::measured(LegKind::Cipher, &name, 1, rate.decrypt, &means)];
    for cores in doubling(runner.session.online()).skip(1) {
        if runner.is_stopped() {
            break;
        }
        legs.extend(
            cipher::on_cores(table, cores)
                .map(|(decrypt, _)| Leg::measured(LegKind::Cipher, &name, cores, decrypt, &means)),
        );
    }
    legs
}

/// Both directions to `peer`, or what would measure them.
fn network_legs(peer: Option<&str>, runner: &Runner<'_>) -> Vec<Leg> {
    let Some(peer) = peer else {
        let reason = "start `iperf3 --server` at the far end, if it is yours, and name it with --peer HOST";
        return vec![Leg::missing(LegKind::Network, "network", reason)];
    };
    [("network, receiving", true), ("network, sending", false)]
        .into_iter()
        .filter(|_| !runner.is_stopped())
        .map(|(name, receiving)| {
            runner.progress.phase(name, Duration::from_secs(SECONDS));
            match iperf(runner.root, (peer, receiving), &runner.session.stop) {
                Ok(rate) => Leg::measured(LegKind::Network, name, 0, rate, "iperf3, one connection"),
                Err(reason) => Leg::missing(LegKind::Network, name, reason),
            }
        })
        .collect()
}

fn iperf(root: &Root, (peer, receiving): (&str, bool), stop: &AtomicBool) -> Result<BytesPerSec, String> {
    let mut command = program::command(root, "iperf3").ok_or_else(not_installed)?;
    command.args(["--json", "--time", &SECONDS.to_string(), "--connect-timeout", "3000", "--client", peer]);
    if receiving {
        command.arg("--reverse");
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let done = started::output(&mut command, &[], PATIENCE, stop).map_err(|error| match error {
        LinkError::Unreachable(_) => not_installed(),
        error => format!("iperf3: {error}"),
    })?;
    parse(&String::from_utf8_lossy(&done.stdout))
}

fn not_installed() -> String {
    format!("iperf3 is not installed here ({}); it measures the network", program::places())
}

/// Reads `iperf3 --json`: what arrived, or its own error.
fn parse(text: &str) -> Result<BytesPerSec, String> {
    let report: Value =
        serde_json::from_str(text).map_err(|error| format!("iperf3 printed no JSON: {error}"))?;
    if let Some(error) = report.get("error").and_then(Value::as_str) {
        return Err(format!("iperf3: {error}"));
    }
    let rate = report.pointer("/end/sum_received/bits_per_second").and_then(Value::as_f64);
    let rate = rate.filter(|rate| rate.is_finite() && *rate > 0.0);
    rate.map(|rate| BitsPerSec::new(rate).bytes_per_sec()).ok_or_else(|| "iperf3 says no rate".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_arrived_is_the_rate() {
        let text =
            r#"{"end":{"sum_sent":{"bits_per_second":9.9e9},"sum_received":{"bits_per_second":9.4e9}}}"#;
        assert_eq!(parse(text), Ok(BytesPerSec::new(9.4e9 / 8.0)));
    }

    #[test]
    fn an_error_of_its_own_is_passed_on_and_nothing_is_no_rate() {
        let refused = r#"{"start":{},"end":{},"error":"unable to connect to server: Connection refused"}"#;
        assert!(parse(refused).unwrap_err().contains("Connection refused"));
        assert!(parse("{}").is_err() && parse("").is_err() && parse("[1]").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}") {
            let _ = parse(&text);
        }
    }
}
