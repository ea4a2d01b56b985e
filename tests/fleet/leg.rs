//! The network alone: one port on each server for the leg, for listed clients with the token.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::lab::{Lab, Ran};
use super::limits::{is_near, is_unable, lab};
use super::turn;

const RUN: &str = "run --hosts c[1-4] --servers s1 --ssh-config {dir}/ssh_config --target nbd://10.77.0.2 --block-size 64k --depth 4 \
    --order random --duration 2s --rate 60m --json --alone network --output {dir}/leg";

/// Ports of the server that were not there before, while something runs.
fn opened(lab: &Lab, before: &[String]) -> Option<String> {
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        if let Some(new) = lab.listening("s1").into_iter().find(|one| !before.contains(one)) {
            return Some(new);
        }
        thread::sleep(Duration::from_millis(10));
    }
    None
}

#[test]
fn the_network_alone_is_measured_through_one_port_that_closes() {
    if is_unable("the_network_alone_is_measured_through_one_port_that_closes") {
        return;
    }
    let (_turn, lab) = (turn(), lab(false, &["memory", "64M"]));
    lab.shape("s1", "eth0", "100mbit");
    let before = lab.listening("s1");
    let run = lab.fleet(RUN).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let port = opened(&lab, &before).expect("a port is opened");
    assert!(port.starts_with("10.77.0.2:"), "on the storage address alone: {port}");
    // One that is not listed, and one that is and knows no token: both hear nothing.
    let (address, number) = port.rsplit_once(':').expect("has a port");
    let knock =
        format!("exec 3<>/dev/tcp/{address}/{number} && printf %064d 0 >&3 && timeout 3 head -c 1 <&3");
    for stranger in ["ctl", "c2"] {
        let heard = lab.within(stranger).args(["bash", "-c", &knock]).output().expect("runs");
        assert_eq!(String::from_utf8_lossy(&heard.stdout), "", "{stranger}: {heard:?}");
    }
    let ran: Ran = run.wait_with_output().expect("ends").into();
    assert!(matches!(ran.status, Some(0 | 1)), "{ran:?}");
    let report = ran.json();
    let leg = &report["network_leg"];
    assert_eq!(leg["opened"].as_array().map(Vec::len), Some(1), "{leg}");
    assert_eq!(leg["hosts"].as_array().map(Vec::len), Some(4), "{leg}");
    let rate = leg["bytes_per_second"].as_f64().expect("is known") / 1e6;
    assert!(is_near(rate, 100.0), "{rate}: {leg}");
    assert_eq!(lab.listening("s1"), before, "the port is closed");
    assert_eq!(lab.left_after_a_while(), Vec::<String>::new());
    let public = lab.run("report {dir}/leg --plain").out;
    assert!(public.contains("network alone: ") && !public.contains("10.77"), "{public}");
}

#[test]
fn a_killed_controller_leaves_no_port() {
    if is_unable("a_killed_controller_leaves_no_port") {
        return;
    }
    let (_turn, lab) = (turn(), lab(false, &["memory", "64M"]));
    let before = lab.listening("s1");
    let mut run = lab.fleet(RUN).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
    let port = opened(&lab, &before);
    run.kill().expect("is there");
    let _ = run.wait();
    assert!(port.is_some(), "a port is opened");
    assert_eq!(lab.left_after_a_while(), Vec::<String>::new());
    assert_eq!(lab.listening("s1"), before);
}
