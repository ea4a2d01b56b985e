//! Hosts in network namespaces, each with a real OpenSSH server, on bridges that tc shapes. All of it is made here and gone with it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Programs that are needed beside the kernel.
const PROGRAMS: [&str; 5] =
    ["/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/ssh-keygen", "/usr/bin/fio", "/usr/sbin/ip"];

/// Hosts and a controller.
pub(crate) struct Lab {
    dir: TempDir,
    /// What the names of its namespaces begin with.
    prefix: String,
    hosts: Vec<String>,
    children: Vec<Child>,
    spaces: Vec<String>,
}

/// What a run left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) status: Option<i32>,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            status: output.status.code(),
        }
    }
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Says why this machine cannot run a test; `None` where it can.
pub(crate) fn unable() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("network namespaces need root".to_owned());
    }
    if let Some(missing) = PROGRAMS.iter().find(|program| !Path::new(program).exists()) {
        return Some(format!(
            "{missing} is not installed (packages openssh-server, openssh-client, fio, iproute2)"
        ));
    }
    static TRIED: OnceLock<Result<(), String>> = OnceLock::new();
    let tried = TRIED.get_or_init(tried).as_ref();
    tried.err().map(|why| format!("this kernel or container makes no network namespaces: {why}"))
}

/// Makes a namespace with what a lab has in its own, and removes it.
fn tried() -> Result<(), String> {
    let space = format!("nfprobe{}", std::process::id());
    let run = |words: &str| {
        let words = words.replace("SPACE", &space);
        let output = Command::new("ip").args(words.split_whitespace()).output().map_err(|e| e.to_string())?;
        let said = || format!("ip {words}: {}", String::from_utf8_lossy(&output.stderr).trim());
        if output.status.success() { Ok(()) } else { Err(said()) }
    };
    let steps = [
        "netns add SPACE",
        "-n SPACE link add br0 type bridge",
        "-n SPACE link add eth0 type veth peer name eth1",
        "netns exec SPACE tc qdisc add dev eth0 root tbf rate 1mbit burst 32k latency 20ms",
    ];
    let made = steps.into_iter().try_for_each(run);
    let _ = run("netns del SPACE");
    made
}

fn must(program: &str, words: &[&str]) {
    let output =
        Command::new(program).args(words).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Lab {
    /// So many hosts, `h1` and on, and the controller, on one bridge.
    pub(crate) fn new(hosts: usize) -> Self {
        let mut lab = Self::bare();
        lab.bridge("sw", "10.77.0.1");
        for number in 1..=hosts {
            lab.host(&format!("h{number}"), "sw", number + 1, &[]);
        }
        lab
    }

    /// The controller alone, with the keys of all.
    pub(crate) fn bare() -> Self {
        static LABS: AtomicU32 = AtomicU32::new(0);
        let number = LABS.fetch_add(1, Ordering::Relaxed);
        let dir = tempfile::tempdir_in("/dev/shm").expect("a directory in memory");
        let path = dir.path();
        // A lab of this process is told from those of others, and its parts from each other.
        let prefix = format!("nf{}-{number}", std::process::id() % 100_000);
        for key in ["host", "user"] {
            let file = path.join(key);
            must("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", file.to_str().expect("is text")]);
        }
        fs::create_dir_all("/run/sshd").expect("sshd wants it");
        let data = path.join("data");
        fs::create_dir(&data).expect("is ours");
        let config = format!(
            "Host *\nUser root\nIdentityFile {0}/user\nIdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n",
            path.display()
        );
        fs::write(path.join("ssh_config"), config).expect("is ours");
        // Debugging symbols would be pushed to every host.
        let stripped = path.join("narrows");
        let binary = assert_cmd::cargo::cargo_bin("narrows");
        let is_stripped = Command::new("strip").arg("-o").arg(&stripped).arg(&binary).status();
        if !is_stripped.is_ok_and(|status| status.success()) {
            fs::copy(&binary, &stripped).expect("is ours");
        }
        fs::set_permissions(&stripped, fs::Permissions::from_mode(0o755)).expect("is ours");
        Self { dir, prefix, hosts: Vec::new(), children: Vec::new(), spaces: Vec::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    pub(crate) fn space(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn add_space(&mut self, name: &str) -> String {
        let space = self.space(name);
        must("ip", &["netns", "add", &space]);
        self.spaces.push(space.clone());
        must("ip", &["-n", &space, "link", "set", "lo", "up"]);
        space
    }

    /// A bridge in a namespace of its own; the first one has the controller on it.
    pub(crate) fn bridge(&mut self, name: &str, controller: &str) {
        let space = self.add_space(name);
        must("ip", &["-n", &space, "link", "add", "br0", "type", "bridge"]);
        must("ip", &["-n", &space, "link", "set", "br0", "up"]);
        if !controller.is_empty() {
            self.add_space("ctl");
            self.cable("ctl", name, controller);
        }
    }

    /// A pair of interfaces between a host and a bridge: `eth0` on the host, the host's name on the bridge.
    fn cable(&self, host: &str, bridge: &str, address: &str) {
        let (near, far) = (self.space(host), self.space(bridge));
        must(
            "ip",
            &["-n", &near, "link", "add", "eth0", "type", "veth", "peer", "name", host, "netns", &far],
        );
        must("ip", &["-n", &near, "addr", "add", &format!("{address}/24"), "dev", "eth0"]);
        must("ip", &["-n", &near, "link", "set", "eth0", "up"]);
        must("ip", &["-n", &far, "link", "set", host, "master", "br0", "up"]);
    }

    /// Two bridges with a trunk between them.
    pub(crate) fn trunk(&self, one: &str, other: &str) {
        let (near, far) = (self.space(one), self.space(other));
        must(
            "ip",
            &["-n", &near, "link", "add", "trunk", "type", "veth", "peer", "name", "trunk", "netns", &far],
        );
        must("ip", &["-n", &near, "link", "set", "trunk", "master", "br0", "up"]);
        must("ip", &["-n", &far, "link", "set", "trunk", "master", "br0", "up"]);
    }

    /// A host with an OpenSSH server. `before` are shell commands in its own mount namespace.
    pub(crate) fn host(&mut self, name: &str, bridge: &str, number: usize, before: &[&str]) {
        self.add_space(name);
        let address = format!("10.77.0.{number}");
        self.cable(name, bridge, &address);
        let path = self.path().display().to_string();
        let config = format!(
            "ListenAddress {address}\nHostKey {path}/host\nAuthorizedKeysFile {path}/user.pub\nUsePAM no\nPidFile none\n\
             StrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\nMaxSessions 30\nUseDNS no\n"
        );
        let file = self.path().join(format!("sshd-{name}"));
        fs::write(&file, config).expect("is ours");
        let mut script = before.join("\n");
        script.push_str(&format!("\nexec /usr/sbin/sshd -D -e -f {}", file.display()));
        let log = fs::File::create(self.path().join(format!("sshd-{name}.log"))).expect("is ours");
        let mut server = self.within(name);
        server.args(["sh", "-c", &script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.children.push(server.spawn().expect("sshd starts"));
        let entry = format!("Host {name}\nHostName {address}\n");
        let config = fs::read_to_string(self.path().join("ssh_config")).expect("is ours");
        fs::write(self.path().join("ssh_config"), entry + &config).expect("is ours");
        self.hosts.push(name.to_owned());
        self.await_port(name, 22);
    }

    /// Starts a program on a host that ends with the lab; its process.
    pub(crate) fn start(&mut self, name: &str, words: &[&str]) -> u32 {
        let mut command = self.within(name);
        let child = command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = child.spawn().expect("starts");
        let process = child.id();
        self.children.push(child);
        process
    }

    /// Waits until something listens on a port of a host.
    pub(crate) fn await_port(&self, name: &str, port: u16) {
        let end = Instant::now() + Duration::from_secs(30);
        while !self.listening(name).iter().any(|one| one.ends_with(&format!(":{port}"))) {
            assert!(Instant::now() < end, "nothing listens on port {port} of {name}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The TCP and UDP sockets of a host that wait for others.
    pub(crate) fn listening(&self, name: &str) -> Vec<String> {
        let output = self.within(name).args(["ss", "-Hltun"]).output().expect("ss runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().filter_map(|line| line.split_whitespace().nth(4).map(str::to_owned)).collect()
    }

    /// Shapes what leaves an interface.
    pub(crate) fn shape(&self, name: &str, interface: &str, rate: &str) {
        self.shape_with(name, interface, rate, "20ms");
    }

    /// Shapes what leaves an interface, with a queue of so much time: a short one drops what a burst of clients sends, and the link
    /// stands still until that is sent again.
    pub(crate) fn shape_with(&self, name: &str, interface: &str, rate: &str, queue: &str) {
        let space = self.space(name);
        let words = ["netns", "exec", &space, "tc", "qdisc", "add", "dev", interface, "root"];
        let shaping = ["tbf", "rate", rate, "burst", "32k", "latency", queue];
        must("ip", &[&words[..], &shaping[..]].concat());
    }

    /// A command in a namespace.
    pub(crate) fn within(&self, name: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.space(name)]);
        command
    }

    /// `narrows fleet` on the controller; `{dir}` stands for the lab's directory.
    pub(crate) fn fleet(&self, words: &str) -> Command {
        let dir = self.path().display().to_string();
        let mut command = self.within("ctl");
        command.arg(self.path().join("narrows")).arg("fleet");
        command.args(words.split_whitespace().map(|word| word.replace("{dir}", &dir)));
        command.stdin(Stdio::null()).env("LC_ALL", "C.UTF-8").env_remove("XDG_RUNTIME_DIR");
        command
    }

    pub(crate) fn run(&self, words: &str) -> Ran {
        self.fleet(words).output().expect("narrows runs").into()
    }

    /// Processes that work in a directory of a run, and these directories: what a run may have left.
    pub(crate) fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        for place in ["/tmp", "/dev/shm", "/var/tmp"] {
            let entries = fs::read_dir(place).into_iter().flatten().flatten();
            let names = entries.map(|entry| entry.path().display().to_string());
            left.extend(names.filter(|name| name.contains("/narrows-fleet-")));
        }
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let cwd = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            if cwd.display().to_string().contains("/narrows-fleet-") {
                left.push(format!("{} in {}", entry.path().display(), cwd.display()));
            }
        }
        left
    }

    /// Waits until nothing is left, for 30 s at most; what is left then.
    pub(crate) fn left_after_a_while(&self) -> Vec<String> {
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            let left = self.left();
            if left.is_empty() || Instant::now() > end {
                return left;
            }
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// The processes of fio's server on a host: those that work in the directory of a run within its namespace.
    pub(crate) fn servers_of(&self, name: &str) -> Vec<i32> {
        let output = Command::new("ip").args(["netns", "pids", &self.space(name)]).output().expect("ip runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_server = |process: &i32| {
            fs::read(format!("/proc/{process}/cmdline"))
                .is_ok_and(|words| String::from_utf8_lossy(&words).contains("--server=sock:"))
        };
        text.lines().filter_map(|line| line.trim().parse().ok()).filter(is_server).collect()
    }

    /// Waits until a text is in a file that a run writes to.
    pub(crate) fn await_servers(&self, name: &str, more_than: usize) -> Vec<i32> {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let found = self.servers_of(name);
            if found.len() > more_than {
                return found;
            }
            assert!(Instant::now() < end, "fio's server does not run on {name}: {found:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        for space in &self.spaces {
            // Sessions of sshd outlive it.
            if let Ok(output) = Command::new("ip").args(["netns", "pids", space]).output() {
                for process in String::from_utf8_lossy(&output.stdout).lines() {
                    let _ = Command::new("kill").args(["-9", process.trim()]).stderr(Stdio::null()).status();
                }
            }
            let _ = Command::new("ip").args(["netns", "del", space]).stderr(Stdio::null()).status();
        }
    }
}

/// Says that a test does nothing here; libtest does not capture what is written like this.
pub(crate) fn skip(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}
