//! Others who answer: a lock that somebody else has, hosts that lie, launchers that do not end.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::attack::{Attack, Class, Judge, Result};
use super::ground::{Ground, text};
use super::narrows::{Answer, Run};
use super::tool::{Holder, needs, shell, succeeds};

/// A user without rights.
const SOMEBODY: u32 = 65_534;

/// A launcher whose hosts are named after what they do. Its processes bear a mark in their environment.
const LAUNCHER: &str = "#!/bin/sh
stay() { trap '' HUP INT PIPE TERM; : >\"$ATTACK_MARK.stays\"; (cd /; sleep 1000) & while :; do sleep 1; done; }
host=$1; shift
case $host,$* in
good,*) exec \"$@\" ;;
silent,*) stay ;;
deaf,sh) echo send; stay ;;
stays,sh) echo 'refused as it says'; stay ;;
*,sh) echo 'refused as it says' ;;
out*,*) exec cat /dev/zero ;;
err,*) exec cat /dev/zero >&2 ;;
esac
";

/// All of them.
pub(crate) fn attacks() -> Vec<Attack> {
    let new =
        |name, body: fn(&Ground, &mut Judge) -> Result<()>| Attack::new(Class::Peer, name, body).beside();
    vec![
        new("the lock of an open file of another user", foreign_lock).quick(),
        new("a recorder of another PID namespace", outside).quick(),
        new("a request of another user", foreign_request).quick(),
        new("hosts that say too much", floods).quick(),
        new("a host that reads nothing", deaf),
        new("a launcher that does not end", |ground, judge| ended(ground, judge, "stays", None)).quick(),
        new("SIGTERM while a host is silent", |ground, judge| {
            ended(ground, judge, "silent", Some(Signal::SIGTERM))
        })
        .quick(),
        new("SIGKILL while a host is silent", |ground, judge| {
            ended(ground, judge, "silent", Some(Signal::SIGKILL))
        })
        .quick(),
    ]
}

/// `watch --accept` beside processes of root and of others, in a PID namespace.
fn accept(ground: &Ground, state: &str, meanwhile: &str) -> Result<Answer> {
    needs(&["unshare", "setpriv"])?;
    let script = format!(
        "exec unshare -pf --mount-proc --kill-child sh -euc '
        sleep 100 & own=$!
        setpriv --reuid {SOMEBODY} --regid {SOMEBODY} --clear-groups sleep 100 & other=$!
        {meanwhile}
        status=0; \"$NARROWS\" watch --accept --state \"$1\" || status=$?
        kill -0 $own && kill -0 $other && echo all live
        exit $status' sh \"$@\""
    );
    let holder = std::env::current_exe()?;
    Run::through(ground, &script, &[state]).within(30).with(|command| command.env("HOLDER", holder)).answer()
}

fn foreign_lock(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let state = ground.directory("state")?;
    chown(&state, Some(SOMEBODY), Some(SOMEBODY))?;
    let meanwhile = format!(
        "setpriv --reuid {SOMEBODY} --regid {SOMEBODY} --clear-groups \"$HOLDER\" --hold ofd-lock \"$1/lock\" \"$1/ready\" &
        i=0; until [ -e \"$1/ready\" ]; do [ $i -lt 200 ]; i=$((i+1)); sleep 0.05; done"
    );
    let answer = accept(ground, text(&state)?, &meanwhile)?;
    judge.that(answer.says(&["all live"]), || format!("something was sent to everybody: {}", answer.short()));
    judge.that(answer.status == Some(2) && !answer.says(&["took"]), || answer.short());
    Ok(())
}

/// A recorder of root's outside; its number is unknown within.
fn outside(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let (state, _recorder) = recorder(ground, 0o700)?;
    let answer = accept(ground, text(&state)?, "")?;
    judge.that(answer.says(&["all live"]), || {
        format!("something was sent to its own group: {}", answer.short())
    });
    judge.that(answer.status == Some(0), || answer.short());
    let journal = fs::read_to_string(state.join("journal.jsonl"))?;
    judge.that(!state.join("accept").exists() && !journal.is_empty(), || {
        "the request is still there".to_owned()
    });
    Ok(())
}

fn recorder(ground: &Ground, mode: u32) -> Result<(PathBuf, Holder)> {
    let state = ground.directory("state")?;
    fs::set_permissions(&state, fs::Permissions::from_mode(mode))?;
    let mut command = Command::new(&ground.binary);
    command
        .args(["watch", "--interval", "1h", "--state"])
        .arg(&state)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let holder = Holder::ready(&mut command, &state.join("journal.jsonl"))?;
    Ok((state, holder))
}

fn foreign_request(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let (state, _recorder) = recorder(ground, 0o1777)?;
    let request = state.join("accept");
    fs::write(&request, "")?;
    chown(&request, Some(SOMEBODY), Some(SOMEBODY))?;
    thread::sleep(Duration::from_millis(1500));
    judge.that(request.exists(), || "the recorder took a request of another user".to_owned());
    let answer = Run::new(ground, &["watch", "--accept", "--state", text(&state)?]).within(20).answer()?;
    judge.that(answer.status == Some(2) && answer.says(&["accept"]), || answer.short());
    Ok(())
}

/// `fleet check` of these hosts, and the mark of what it starts.
fn check(ground: &Ground, hosts: &str) -> Result<(Run, PathBuf)> {
    let launcher = ground.path("launcher");
    fs::write(&launcher, LAUNCHER)?;
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755))?;
    let command = format!("{} {{host}}", text(&launcher)?);
    let words = ["fleet", "check", "--hosts", hosts, "--launcher", &command];
    // Should it take all memory, it shall be none of the machine's.
    let run = Run::through(ground, "ulimit -v 3000000; exec \"$NARROWS\" \"$@\"", &words);
    Ok((run.with(|command| command.env("ATTACK_MARK", &launcher)), launcher))
}

fn floods(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let hosts: Vec<String> = (0..20).map(|number| format!("out{number}")).collect();
    let answer = check(ground, &format!("good,err,{}", hosts.join(",")))?.0.within(60).answer()?;
    answer.must_be_orderly(judge, "check");
    judge.that(answer.memory < 1 << 30, || format!("took {} MB", answer.memory / 1_000_000));
    let is_named =
        answer.says(&["out7: neither"]) && answer.says(&["err: neither"]) && answer.says(&["12 MiB"]);
    judge.that(is_named && answer.status == Some(2), || answer.short());
    judge.that(answer.says(&["21 of 22 hosts"]), || {
        format!("the host that does not lie is lost: {}", answer.said())
    });
    Ok(())
}

fn deaf(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let (run, launcher) = check(ground, "deaf,good")?;
    let answer = run.within(100).answer()?;
    end(&launcher)?;
    answer.must_be_orderly(judge, "check");
    judge.that(answer.says(&["deaf: it does not answer"]) && answer.says(&["1 of 2 hosts"]), || {
        answer.short()
    });
    Ok(())
}

/// Ends what the defence left of a launcher.
fn end(launcher: &Path) -> Result<()> {
    let script = "for p in $(grep -lazF \"ATTACK_MARK=$1\" /proc/[0-9]*/environ); do p=${p#/proc/}; kill -9 ${p%/environ} || true; done";
    shell(script, &[text(launcher)?]).map(drop)
}

/// What a fleet started ends with it, however that ends.
fn ended(ground: &Ground, judge: &mut Judge, host: &str, signal: Option<Signal>) -> Result<()> {
    let (run, launcher) = check(ground, host)?;
    let mark = format!("ATTACK_MARK={}", launcher.display());
    let lives =
        || succeeds("grep -lazF \"$1\" /proc/[0-9]*/environ 2>/dev/null | grep -qv /proc/self/", &[&mark]);
    let mut running = run.within(30).start()?;
    // A debug build takes seconds to know the checksum of itself.
    while !launcher.with_extension("stays").exists() && !running.wait(Duration::from_millis(20)) {}
    judge.that(lives(), || "set-up: no launcher runs".to_owned());
    signal.iter().for_each(|signal| running.signal(*signal));
    let ended = running.wait(Duration::from_secs(if signal.is_some() { 2 } else { 6 }));
    judge.that(ended, || "it does not end".to_owned());
    // What has no parent any more is left to the watchdog.
    let patience = if signal == Some(Signal::SIGKILL) { 3500 } else { 0 };
    thread::sleep(Duration::from_millis(patience));
    judge.that(!lives(), || "a launcher stays behind".to_owned());
    end(&launcher)?;
    drop(running.answer());
    Ok(())
}
