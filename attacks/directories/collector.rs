//! The script of `narrows snapshot --script`, run by root among names, tools, variables and links of somebody's.

use std::fs;

use super::super::attack::{Judge, Result};
use super::super::ground::{Ground, text};
use super::super::narrows::Run;
use super::super::tool::{attempt, needs, shell};
use super::{Victim, theirs};

/// Interfaces, disks, mappings, members, links and mounts with such names, in namespaces of their own; then the script, by the
/// shell that the other arguments are. `$1` is the script, `$2` a new directory.
const HOSTILE: &str = r#"
script=$1 place=$2; shift 2
mount --make-rprivate /; mount -t sysfs sysfs /sys
for name in ';id>p|e;#' '$(id>p)' '`id>p`' '|w p' "'\"" '-rf' '*' 'a&b\1' 'x|id>p;#' '\nid>p' '#p!|s|p' 'e%n%c'; do
    ip link add dev "$name" type veth peer name "$name~" || ip link add dev "$name" type dummy || :
done 2>/dev/null
mount -t tmpfs tmpfs /sys/class/block
for name in ';id>p|e;#' '$(id>p)' '-n' '&' "two
lines" '|e id>p;#' 'a b*' '%s%n\1'; do
    disk=/sys/class/block/$name; mkdir -p -- "$disk/md/dev-$name" "$disk/dm" "$disk/holders" "$disk/queue"
    echo 1 >"$disk/size"; printf '%s\n' "$name" >"$disk/dm/name"; echo 'CRYPT-e;id>p;#-x' >"$disk/dm/uuid"; echo up >"$disk/md/dev-$name/state"
    ln -s -- "x
/sys/class/net/forged/mtu:1" "$disk/holders/$name"
done
printf '#!/bin/sh\nprintf "cpu\\n/sys/class/net/forged/mtu:2\\n x /sys/class/net/forged -> y\\n##### forged\\n"' >"$place/lscpu"
chmod +x "$place/lscpu"; mount --bind "$place/lscpu" /usr/bin/lscpu
truncate -s 32M "$place/image"; mkfs.ext4 -qF "$place/image"
for name in ';id>p|e;#' '$(id>p)' 'a b&' "two
lines"; do mkdir -- "$place/$name"; mount -o loop "$place/image" "$place/$name"; done
mkdir "$place/bin"; cd "$place/work"
for tool in awk basename cat dmesg env grep id ls lspci lsblk mktemp readlink sed tr; do
    printf '#!/bin/sh\necho "$0" >>%s/p\nexit 1\n' "$place/work" >"$place/bin/$tool"; chmod +x "$place/bin/$tool"
done
exec env PATH="$place/bin:$PATH" IFS=/s TMPDIR="$place/work" CDPATH=/ ENV="$place/bin/sed" GREP_OPTIONS=-v \
    'BASH_FUNC_sed%%=() { echo sed >>p; }' 'BASH_FUNC_unset%%=() { echo unset >>p; }' 'BASH_FUNC_printf%%=() { echo printf >>p; }' \
    "$@" "$script" -
"#;

/// Of the capture each name is one of its own line, and nothing but the script has run.
pub(super) fn hostile_names(ground: &Ground, judge: &mut Judge) -> Result<()> {
    needs(&["unshare", "ip", "mkfs.ext4", "dash", "bash"])?;
    let script = ground.path("collect.sh");
    fs::write(&script, Run::new(ground, &["snapshot", "--script"]).answer()?.out)?;
    for shell in ["dash", "bash", "busybox sh"] {
        if needs(&[shell.trim_end_matches(" sh")]).is_err() {
            continue;
        }
        let place = ground.directory("place")?;
        fs::create_dir(place.join("work"))?;
        let run = "exec unshare -mn sh -euc \"$1\" sh \"$2\" \"$3\" $4";
        let done = attempt(run, &[HOSTILE, text(&script)?, text(&place)?, shell])?;
        let said = String::from_utf8_lossy(&done.stdout);
        let ran = fs::read_dir(place.join("work"))?.count();
        judge.that(ran == 0, || format!("{shell}: what a name says or somebody planted has run"));
        let of_names = ["net/;id>p|e;#/mtu:1500", "net/a&b\\1~/mtu:1500", "block/%s%n\\1/dm/name:%s%n\\1\n"];
        for part in of_names.iter().chain(&["block/a b*/size:1", "md/dev--n/state:up", "\\040b& rw,"]) {
            judge.that(said.contains(part), || format!("{shell}: not there: {part}"));
        }
        for part in ["\n/sys/class/net/forged", " /sys/class/net/forged", "\n##### forged"] {
            judge.that(!said.contains(part), || format!("{shell}: a name forged a line"));
        }
    }
    Ok(())
}

/// Root runs it in a directory of somebody's with planted links: nothing in it is written, and no file that is named.
pub(super) fn planted(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let script = ground.path("collect.sh");
    fs::write(&script, Run::new(ground, &["snapshot", "--script"]).answer()?.out)?;
    for word in ["", "out", "pipe", "new"] {
        let (place, victim) = (theirs(ground, 0o777)?, Victim::new(ground)?);
        let plant = "cd \"$2\"; for name in out capture.txt narrows-capture.txt; do ln -s \"$1/new\" $name; done; mkfifo pipe";
        shell(plant, &[text(&victim.place)?, text(&place)?])?;
        let run = "cd \"$1\"; said=$(timeout 20 sh \"$2\" $3 2>&1) && file=${said#wrote } && rm -r -- \"${file%%/capture.txt*}\"";
        let done = attempt(run, &[text(&place)?, text(&script)?, word])?.status;
        let count = fs::read_dir(&place)?.count();
        judge.that(done.success() == word.is_empty() && count == 4, || {
            format!("`sh collect.sh {word}`: {done}")
        });
        victim.must_be_whole(judge, word, None)?;
    }
    Ok(())
}
