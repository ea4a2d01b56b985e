//! Hosts of an allocation of Slurm, reached by `srun`: a controller, and a daemon in the namespace of each host.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::lab::{Lab, skip, unable};
use super::launcher::does_what_ssh_does;
use super::turn;

const PROGRAMS: [&str; 4] = ["/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/bin/srun", "/usr/bin/salloc"];

/// The configuration of Slurm for a lab with two hosts. All share this machine, so that nobody has to be authenticated.
fn configured(lab: &Lab) -> PathBuf {
    let machine = fs::read_to_string("/proc/sys/kernel/hostname").expect("has a name").trim().to_owned();
    let place = lab.path().join("slurm");
    fs::create_dir(&place).expect("is ours");
    let place = place.display();
    let node = |number: usize| {
        format!(
            "NodeName=h{number} NodeHostname={machine} NodeAddr=10.77.0.{} Port={} CPUs=1\n",
            number + 1,
            6820 + number
        )
    };
    let text = format!(
        "ClusterName=lab\nSlurmctldHost={machine}(10.77.0.1)\nSlurmUser=root\nAuthType=auth/none\nCredType=cred/none\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none\nReturnToService=2\n\
         StateSaveLocation={place}\nSlurmdSpoolDir={place}/%n\nSlurmctldPidFile={place}/ctl.pid\nSlurmdPidFile={place}/%n.pid\n\
         SlurmctldLogFile={place}/ctl.log\nSlurmdLogFile={place}/%n.log\nSlurmdParameters=config_overrides\n{}{}\
         PartitionName=all Nodes=ALL Default=YES State=UP\n",
        node(1),
        node(2)
    );
    // Nothing is put into control groups here; Slurm only wants to know of which kind they would be.
    fs::write(lab.path().join("cgroup.conf"), "CgroupPlugin=cgroup/v1\n").expect("is ours");
    for number in [1, 2] {
        fs::create_dir(lab.path().join(format!("slurm/h{number}"))).expect("is ours");
    }
    let config = lab.path().join("slurm.conf");
    fs::write(&config, text).expect("is ours");
    config
}

/// The number of an allocation of both hosts.
fn allocated(lab: &Lab, config: &Path) -> String {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let mut salloc = lab.within("ctl");
        salloc.env("SLURM_CONF", config).args([
            "salloc",
            "--no-shell",
            "--immediate=5",
            "-N2",
            "-w",
            "h[1-2]",
        ]);
        let output = salloc.output().expect("salloc runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let granted = said.lines().find_map(|line| line.split_once("Granted job allocation "));
        if let Some((_, number)) = granted {
            return number.trim().to_owned();
        }
        let log = || fs::read_to_string(lab.path().join("slurm/h1.log")).unwrap_or_default();
        assert!(Instant::now() < end, "no allocation: {said}\n{}", log());
    }
}

#[test]
fn srun_does_what_ssh_does_within_an_allocation() {
    let name = "srun_does_what_ssh_does_within_an_allocation";
    if let Some(why) = unable() {
        return skip(name, &why);
    }
    if let Some(missing) = PROGRAMS.iter().find(|program| !Path::new(program).exists()) {
        return skip(name, &format!("{missing} is not installed (packages slurmctld, slurmd, slurm-client)"));
    }
    let (_turn, mut lab) = (turn(), Lab::new(2));
    let config = configured(&lab);
    let file = config.display().to_string();
    lab.start("ctl", &["/usr/sbin/slurmctld", "-D", "-f", &file]);
    for host in ["h1", "h2"] {
        lab.start(host, &["/usr/sbin/slurmd", "-D", "-N", host, "-f", &file]);
    }
    let job = allocated(&lab, &config);
    let launcher = format!("env SLURM_CONF={file} SLURM_JOB_ID={job} srun --overlap -N1 -n1 -w {{host}}");
    does_what_ssh_does(&lab, "srun", &launcher);
}
