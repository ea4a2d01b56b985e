//! Places from which users cannot be seen: nothing may be written there, whether or not there is a user.

use super::super::attack::{Attack, Class, Judge, Result};
use super::super::ground::{Ground, text};
use super::super::tool::{Holder, needs, succeeds};
use super::{free, refused_through};

/// What an answer may say of what cannot be seen.
const UNSEEN: &[&str] = &["not seen", "cannot be seen", "namespace", "/proc", "hidden", "hidepid"];

/// All of them.
pub(super) fn attacks() -> Vec<Attack> {
    vec![
        place(
            "inside a PID namespace",
            "exec unshare --pid --fork --mount-proc --kill-child \"$NARROWS\" \"$@\"",
        ),
        place(
            "inside a PID namespace with the outer /proc",
            "exec unshare --pid --fork --kill-child \"$NARROWS\" \"$@\"",
        ),
        place(
            "no /proc",
            "exec unshare -m sh -c 'mount --make-rprivate / && umount -l /proc || { echo set-up: /proc stays >&2; exit 9; }; exec \"$NARROWS\" \"$@\"' sh \"$@\"",
        ),
        place(
            "an empty /proc",
            "exec unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs none /proc || { echo set-up: no tmpfs >&2; exit 9; }; exec \"$NARROWS\" \"$@\"' sh \"$@\"",
        ),
        place(
            "hidepid, without the right to trace",
            "exec unshare -m sh -c 'mount --make-rprivate / && mount -t proc -o hidepid=2 proc /proc || { echo set-up: no hidepid >&2; exit 9; }; exec setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace \"$NARROWS\" \"$@\"' sh \"$@\"",
        ),
        place(
            "without the right to trace",
            "exec setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace \"$NARROWS\" \"$@\"",
        ),
        place(
            "chroot without /sys",
            "exec unshare -m sh -c 'mount --make-rprivate /; r=$0; mount --rbind / \"$r\" && umount -l \"$r/sys\" || { echo set-up: no bind >&2; exit 9; }; exec chroot \"$r\" \"$NARROWS\" \"$@\"' \"$ATTACK_ROOT\" \"$@\"",
        ),
        place(
            "chroot without /proc",
            "exec unshare -m sh -c 'mount --make-rprivate /; r=$0; mount --rbind / \"$r\" && umount -l \"$r/proc\" || { echo set-up: no bind >&2; exit 9; }; exec chroot \"$r\" \"$NARROWS\" \"$@\"' \"$ATTACK_ROOT\" \"$@\"",
        ),
        Attack::new(Class::Use, "the holder's entry in /proc is covered", covered).quick().beside(),
        Attack::new(Class::Use, "a holder outside of the PID namespace", outside).quick().beside(),
        Attack::new(Class::Use, "a user without rights", no_rights).quick().beside(),
    ]
}

/// From here a user could not be seen, so that the device must be refused, although there is none.
fn place(name: &'static str, script: &'static str) -> Attack {
    let body = move |ground: &Ground, judge: &mut Judge| {
        needs(&["unshare", "setpriv", "chroot"])?;
        let device = free(ground)?;
        refused_through(ground, judge, &device, script, &[UNSEEN, &["/sys", "sysfs"]].concat())
    };
    Attack::new(Class::Use, name, body).quick().beside()
}

fn holder(ground: &Ground, node: &str) -> Result<Holder> {
    let ready = ground.path("ready");
    let script = "exec 3<>\"$1\"; : >\"$2\"; exec sleep 120";
    Holder::shell(script, &[node, text(&ready)?], &ready)
}

/// The directory of the process that holds the device is hidden below a mount.
fn covered(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let device = free(ground)?;
    let holder = holder(ground, device.node())?;
    let script = format!(
        "exec unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs none /proc/{} || {{ echo set-up: no tmpfs >&2; exit 9; }}; exec \"$NARROWS\" \"$@\"' sh \"$@\"",
        holder.id()
    );
    refused_through(ground, judge, &device, &script, &[UNSEEN, &["process"]].concat())
}

fn outside(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let device = free(ground)?;
    let _holder = holder(ground, device.node())?;
    let script = "exec unshare --pid --fork --mount-proc --kill-child \"$NARROWS\" \"$@\"";
    refused_through(ground, judge, &device, script, &[UNSEEN, &["process"]].concat())
}

/// A user who may write to the device, and sees only own processes' descriptors.
fn no_rights(ground: &Ground, judge: &mut Judge) -> Result<()> {
    needs(&["setpriv"])?;
    let device = free(ground)?;
    succeeds(
        "chmod 0666 \"$1\" \"$2\"; chmod a+rx \"$(dirname \"$2\")\"",
        &[device.node(), device.identity()],
    );
    let script = "exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$NARROWS\" \"$@\"";
    refused_through(ground, judge, &device, script, &["root", "permission", "not seen", "denied"])
}
