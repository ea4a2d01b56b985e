//! The whole way of an alert: a link narrows, narrows exports it, the real node_exporter and Prometheus read it, and the alert fires
//! and resolves. All of it on loopback.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use narrows::machine::tree::Tree;
use serde_json::Value;

use super::watch::{Watcher, record};
use super::{run, scratch_dir, skip, text};

const NAME: &str = "an alert from end to end";

struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(command: &mut Command, log: &Path) -> Option<Service> {
    let log = std::fs::File::create(log).expect("is made");
    let errors = log.try_clone().expect("is cloned");
    command.stdin(Stdio::null()).stdout(log).stderr(errors).spawn().ok().map(Service)
}

/// A program that `scripts/test-tools.sh` unpacked, else the one that is installed.
pub(super) fn tool(name: &str) -> Command {
    let unpacked = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../tools/usr/bin").join(name);
    if unpacked.is_file() { Command::new(unpacked) } else { Command::new(name) }
}

/// A port of loopback that nobody uses now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a port");
    listener.local_addr().expect("is bound").port()
}

/// The body of an answer; `None` while nobody answers.
fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer.split_once("\r\n\r\n")?.1.to_owned())
}

fn json(port: u16, path: &str) -> Option<Value> {
    serde_json::from_str(&get(port, path)?).ok()
}

fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < Duration::from_secs(180), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// What the machine has beside its links: an array, temperatures, errors, and a drive's log.
fn furnished(tree: &mut Tree) {
    let drive = "/sys/devices/pci0000:00/0000:00:1c.4/0000:06:00.0";
    let md = "/sys/devices/virtual/block/md0";
    tree.file(&format!("{drive}/aer_dev_correctable"), "RxErr 3\nTOTAL_ERR_COR 3\n")
        .link("/sys/class/block/md0", "../../devices/virtual/block/md0")
        .file(&format!("{md}/dev"), "9:0\n")
        .file(&format!("{md}/size"), "2048\n")
        .file(&format!("{md}/md/level"), "raid1\n")
        .file(&format!("{md}/md/raid_disks"), "2\n")
        .file(&format!("{md}/md/degraded"), "0\n")
        .file(&format!("{md}/md/sync_action"), "idle\n");
    let mut log = [0_u8; 512];
    // 313 K, 100 % spare, warning below 10 %, 3 % used: SMART / Health Information, NVM Express 1.4, figure 196.
    (log[1], log[2], log[3], log[4], log[5]) = (0x39, 0x01, 100, 10, 3);
    let hex: String = log.iter().map(|byte| format!("{byte:02x}")).collect();
    tree.file("/narrows/probe/nvme-smart/nvme2", &hex);
}

/// What the recorder kept, as a record of the machine has it, and that data moved over the links since: nothing does on a record.
fn kept(tree: &mut Tree, state: &Path) {
    let baseline = std::fs::read_to_string(state.join("baseline.json")).expect("is kept");
    let mut baseline: Value = serde_json::from_str(&baseline).expect("is JSON");
    for link in baseline["links"].as_object_mut().expect("links").values_mut() {
        let text = |key: &str| link[key].as_str().expect("text").to_owned();
        let (address, identity) = (text("address"), text("identity"));
        tree.file(&format!("/narrows/probe/watch-identity/{address}"), &identity);
        for key in ["loaded_megatransfers", "last_loaded_megatransfers"] {
            link[key] = 5000.into();
        }
    }
    tree.file("/narrows/probe/watch-baseline", &baseline.to_string());
}

/// The baseline has the drive's link.
fn is_kept(state: &Path) -> bool {
    std::fs::read_to_string(state.join("baseline.json")).is_ok_and(|text| text.contains("0000:06:00.0"))
}

#[test]
fn an_alert_fires_and_resolves_and_every_panel_has_data() {
    let place = scratch_dir();
    let path = |name: &str| place.path().join(name);
    let (machine, state, textfiles) = (path("machine.tar.zst"), path("state"), path("textfiles"));
    std::fs::create_dir(&textfiles).expect("is made");
    record(&machine, 4, furnished);
    let watcher = Watcher::start(&state, &machine);
    wait_for("the best states", || is_kept(&state).then_some(()));
    assert_eq!(watcher.end(), Some(0));

    let (metrics, prometheus) = (free_port(), free_port());
    let mut exporter = tool("prometheus-node-exporter");
    exporter.arg("--collector.disable-defaults").arg("--collector.textfile");
    exporter.arg(format!("--collector.textfile.directory={}", textfiles.display()));
    exporter.arg(format!("--web.listen-address=127.0.0.1:{metrics}"));
    let Some(_exporter) = start(&mut exporter, &path("exporter.log")) else {
        return skip(NAME, "prometheus-node-exporter (of that package) is not installed");
    };
    // The rules that are shipped, but for how long they wait.
    let rules =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/contrib/prometheus/narrows.rules.yml"));
    let rules = rules.expect("is there");
    let lines = rules.lines().map(|line| match line.trim_start().starts_with("for: ") {
        true => "        for: 1s",
        false => line,
    });
    std::fs::write(path("rules.yml"), lines.collect::<Vec<_>>().join("\n") + "\n").expect("is written");
    let config = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [{}]\nscrape_configs:\n  - job_name: node\n    \
         static_configs: [{{targets: ['127.0.0.1:{metrics}']}}]\n",
        path("rules.yml").display()
    );
    std::fs::write(path("prometheus.yml"), config).expect("is written");
    let mut server = tool("prometheus");
    server.arg(format!("--config.file={}", path("prometheus.yml").display()));
    server.arg(format!("--storage.tsdb.path={}", path("data").display()));
    server.arg(format!("--web.listen-address=127.0.0.1:{prometheus}"));
    let Some(_server) = start(&mut server, &path("prometheus.log")) else {
        return skip(NAME, "prometheus (of that package) is not installed");
    };

    let export = |lanes: u8| {
        record(&machine, lanes, |tree| {
            furnished(tree);
            kept(tree, &state);
        });
        let from = machine.to_str().expect("is text");
        let file = textfiles.join("narrows.prom");
        let ran = run(&["watch", "--export", file.to_str().expect("is text"), from]);
        assert_eq!(ran.status, Some(0), "{ran:?}");
    };
    let firing = || {
        let alerts = json(prometheus, "/api/v1/alerts")?;
        let alerts = alerts["data"]["alerts"].as_array()?.clone();
        let is_ours = |alert: &&Value| {
            alert["labels"]["alertname"] == "NarrowsLinkNarrowerThanBefore" && alert["state"] == "firing"
        };
        Some(alerts.iter().filter(is_ours).cloned().collect::<Vec<Value>>())
    };
    export(4);
    wait_for("a first scrape", || {
        let answer = json(prometheus, "/api/v1/query?query=narrows_build_info")?;
        (!answer["data"]["result"].as_array()?.is_empty()).then_some(())
    });
    assert_eq!(firing().expect("answers"), Vec::<Value>::new(), "nothing is wrong yet");
    export(1);
    let alert = wait_for("the alert", || firing()?.into_iter().next());
    assert_eq!(alert["labels"]["address"], "0000:06:00.0", "{alert}");
    assert_eq!(alert["labels"]["severity"], "critical");
    assert_panels(prometheus);
    export(4);
    wait_for("the end of the alert", || firing()?.is_empty().then_some(()));
    let log = std::fs::read_to_string(path("exporter.log")).unwrap_or_default();
    assert!(!log.contains("error"), "node_exporter complains: {log}\n{}", text(&place));
}

/// The query of every panel of the dashboard has series.
fn assert_panels(prometheus: u16) {
    let dashboard =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/contrib/grafana/narrows.json"));
    let dashboard: Value = serde_json::from_str(&dashboard.expect("is there")).expect("is JSON");
    let mut queries = 0;
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().expect("targets") {
            let query = target["expr"].as_str().expect("a query").replace("$instance", ".*");
            // Rates need two scrapes.
            wait_for(&format!("data for {}: {query}", panel["title"]), || {
                let answer = json(prometheus, &format!("/api/v1/query?query={}", encoded(&query)))?;
                (!answer["data"]["result"].as_array()?.is_empty()).then_some(())
            });
            queries += 1;
        }
    }
    assert!(queries > 10, "{queries} queries");
}

/// A query in a URL: everything but letters and digits is encoded (RFC 3986, section 2.1).
fn encoded(query: &str) -> String {
    let byte = |byte: u8| match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    query.bytes().map(byte).collect()
}
