//! Processes that hold a device, or the file behind it.

use std::path::{Path, PathBuf};

use super::super::attack::{Attack, Result};
use super::super::device::Device;
use super::super::ground::{Ground, text};
use super::super::holder;
use super::super::tool::{Holder, shell};
use super::held;

/// What an answer may say of a process.
const PROCESS: &[&str] = &["process", "pid "];
/// What it may say of a holder that no process shows.
const UNNAMED: &[&str] = &["process", "pid ", "ring", "io_uring", "descriptor", "not seen", "held"];

/// All of them.
pub(super) fn attacks() -> Vec<Attack> {
    vec![
        on_device("a process reads it", PROCESS, "read"),
        on_device("a process has it open for writing", PROCESS, "write"),
        on_device("a process claims it", &["process", "pid ", "claimed"], "claim"),
        on_device("mapped, and the descriptor closed", PROCESS, "map"),
        on_device("only an io_uring has it", UNNAMED, "ring"),
        // What is under way in a socket may be any device: beside others, it would refuse theirs too.
        on_device("a descriptor under way in a socket", UNNAMED, "in-flight").alone(),
        on_device("in the descriptor table of one thread", PROCESS, "thread"),
        on_device("held by a thread whose leader has ended", PROCESS, "leaderless"),
        held("a stopped process", PROCESS, |ground, device| {
            let holder = hold(ground, "write", Path::new(device.node()))?;
            super::super::ground::signal(holder.id(), nix::sys::signal::Signal::SIGSTOP);
            Ok(holder)
        }),
        held("open through another node", PROCESS, |ground, device| {
            let node = ground.path("node");
            shell("mknod \"$1\" b $(cat /sys/block/$2/dev | tr : ' ')", &[text(&node)?, device.name()])?;
            hold(ground, "write", &node)
        }),
        on_image("the file behind it is open", PROCESS, "write", Name::Same),
        on_image("the file behind it is mapped", PROCESS, "map", Name::Same),
        on_image("the file behind it is open under a hard link", PROCESS, "write", Name::Link),
        on_image("the file behind it is mapped under a hard link", PROCESS, "map", Name::Link),
        on_image("the file behind it is open through a bind mount", PROCESS, "write", Name::Bind),
        on_image("the file behind it is only in an io_uring", UNNAMED, "ring", Name::Link),
        held("a process of a user without rights", PROCESS, |ground, device| {
            shell("chmod 0666 \"$1\"", &[device.node()])?;
            let ready = ground.path("ready");
            let script = "exec setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'exec 3<>\"$1\"; sleep 120' sh \"$1\" & sleep 0.3; : >\"$2\"; wait";
            Holder::shell(script, &[device.node(), text(&ready)?], &ready)
        }),
        held("a process in a container of its own", PROCESS, |ground, device| {
            let ready = ground.path("ready");
            let script = "exec unshare --mount --pid --fork --net --ipc --uts --kill-child sh -c 'exec 3<>\"$1\"; : >\"$2\"; sleep 120' sh \"$1\" \"$2\"";
            Holder::shell(script, &[device.node(), text(&ready)?], &ready)
        }),
    ]
}

/// A process that holds a file in a way of [`holder`].
pub(super) fn hold(ground: &Ground, how: &str, file: &Path) -> Result<Holder> {
    let ready = ground.path("ready");
    Holder::ready(&mut holder::command(how, file, &ready)?, &ready)
}

fn on_device(name: &str, words: &'static [&'static str], how: &'static str) -> Attack {
    held(name, words, move |ground, device| hold(ground, how, Path::new(device.node())))
}

/// Under which name a file is taken.
#[derive(Debug, Clone, Copy)]
pub(super) enum Name {
    Same,
    Link,
    Bind,
}

impl Name {
    /// The path of the file behind a device under this name.
    pub(super) fn of(self, ground: &Ground, device: &Device) -> Result<PathBuf> {
        let image = device.image();
        match self {
            Self::Same => Ok(image.to_owned()),
            Self::Link => {
                let link = ground.path("link");
                std::fs::hard_link(image, &link)?;
                Ok(link)
            }
            Self::Bind => {
                let bound = ground.directory("bound")?;
                let file = bound.join("file");
                std::fs::write(&file, "")?;
                shell("mount --bind \"$1\" \"$2\"", &[text(image)?, text(&file)?])?;
                Ok(file)
            }
        }
    }
}

fn on_image(name: &str, words: &'static [&'static str], how: &'static str, as_name: Name) -> Attack {
    held(name, words, move |ground, device| hold(ground, how, &as_name.of(ground, device)?))
}
