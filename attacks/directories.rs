//! Directories and files of other users: root works in them, and what is not in them must not change.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use super::attack::{Attack, Class, Judge, Result};
use super::ground::{Ground, text};
use super::lab::closed_directory;
use super::narrows::{Answer, Run};
use super::tool::{Holder, needs, shell};

/// A user without rights.
const SOMEBODY: u32 = 65_534;
/// What an answer may say of a directory that others may change.
const OTHERS: &[&str] = &["other", "sticky", "writ", "own", "anybody"];
/// What it may say of a link that others may change.
const LINK: &[&str] = &["link", "other", "own"];

/// A command that works in a directory: `DIR` stands for it, `OUT` for a file in it, `SRC` for a directory to copy.
type Words = &'static [&'static str];

/// Every command that makes files in a directory that is typed.
const COMMANDS: &[(&str, Words)] = &[
    (
        "bench",
        &["bench", "DIR", "--preset", "peak", "--size", "16MiB", "--duration", "50ms", "--warm-up", "1ms"],
    ),
    (
        "sweep",
        &["sweep", "DIR", "--block-sizes", "4KiB", "--depths", "1", "--size", "16MiB", "--duration", "50ms"],
    ),
    (
        "ladder",
        &["ladder", "DIR", "--write-scratch", "--size", "16MiB", "--time", "100ms", "--warm-up", "1ms"],
    ),
    ("check --measure", &["check", "DIR", "--measure", "--duration", "100ms"]),
    ("check --scratch", &["check", "SRC", "--measure", "--duration", "100ms", "--scratch", "DIR"]),
    (
        "lab --scratch",
        &[
            "lab",
            "--scratch",
            "DIR",
            "--file-size",
            "96MiB",
            "--layout",
            "single",
            "--encryption",
            "plain",
            "--preset",
            "hdparm",
            "--size",
            "16MiB",
            "--duration",
            "50ms",
            "--journal",
            "JOURNAL",
        ],
    ),
    ("copy", &["copy", "SRC", "DIR/copied"]),
    (
        "lab --journal",
        &[
            "lab",
            "--scratch",
            "SRC",
            "--file-size",
            "96MiB",
            "--layout",
            "single",
            "--encryption",
            "plain",
            "--preset",
            "hdparm",
            "--size",
            "16MiB",
            "--duration",
            "50ms",
            "--journal",
            "DIR/lab.jsonl",
        ],
    ),
];

/// Every option that names a file to write.
const OUTPUTS: &[(&str, Words)] = &[
    ("snapshot -o", &["snapshot", "-o", "OUT"]),
    (
        "bench --save",
        &["bench", "SRC", "--preset", "hdparm", "--size", "16MiB", "--duration", "50ms", "--save", "OUT"],
    ),
    (
        "bench --hlog",
        &["bench", "SRC", "--preset", "hdparm", "--size", "16MiB", "--duration", "50ms", "--hlog", "OUT"],
    ),
    (
        "bench --emit-fio",
        &["bench", "SRC", "--preset", "hdparm", "--size", "16MiB", "--duration", "50ms", "--emit-fio", "OUT"],
    ),
    ("check --export", &["check", "SRC", "--export", "hwloc=OUT"]),
    ("check --to-path", &["check", "SRC", "--to-path", "OUT"]),
];

/// All of them.
pub(crate) fn attacks() -> Vec<Attack> {
    let mut all = Vec::new();
    for &(name, words) in COMMANDS {
        let everybodys = move |ground: &Ground, judge: &mut Judge| open_to_all(ground, judge, words);
        all.push(
            Attack::new(Class::Directory, &format!("{name} where everybody may write"), everybodys).quick(),
        );
    }
    for &(name, words) in &COMMANDS[..7] {
        let body = move |ground: &Ground, judge: &mut Judge| link_of_others(ground, judge, words);
        let attack = Attack::new(Class::Directory, &format!("{name} behind a link of somebody's"), body);
        all.push(if ["bench", "copy", "lab --scratch"].contains(&name) { attack.quick() } else { attack });
    }
    for &(name, words) in OUTPUTS {
        let body = move |ground: &Ground, judge: &mut Judge| planted_output(ground, judge, words);
        let attack = Attack::new(Class::Directory, &format!("{name} over a planted link"), body);
        all.push(if name == "snapshot -o" { attack.quick() } else { attack });
    }
    all.extend([
        Attack::new(Class::Directory, "root's own link is followed", own_link).quick(),
        Attack::new(
            Class::Directory,
            "links that are swapped in the place of scratch files",
            swapped_scratch,
        )
        .quick(),
        Attack::new(Class::Directory, "links that are swapped in the destination of a copy", swapped_copy)
            .quick(),
        Attack::new(Class::Directory, "a link in the destination of a copy", planted_in_copy).quick(),
        Attack::new(Class::Directory, "a manifest of a copy that somebody planted", planted_manifest),
        Attack::new(Class::Directory, "a snapshot with everything is closed to others", snapshot_mode)
            .quick(),
        Attack::new(Class::Directory, "programs of somebody's in the search path", search_path).quick(),
    ]);
    all
}

/// What must not change: a directory of root's with a secret, and nothing else in it.
struct Victim {
    place: PathBuf,
    before: String,
}

impl Victim {
    fn new(ground: &Ground) -> Result<Self> {
        let place = ground.directory("victim")?;
        fs::write(place.join("secret"), "root's\n".repeat(1000))?;
        fs::set_permissions(place.join("secret"), fs::Permissions::from_mode(0o600))?;
        let before = listing(&place)?;
        Ok(Self { place, before })
    }

    fn must_be_whole(&self, judge: &mut Judge, when: &str, answer: Option<&Answer>) -> Result<()> {
        let now = listing(&self.place)?;
        let said = answer.map(Answer::short).unwrap_or_default();
        judge.that(now == self.before, || format!("{when}: root's directory changed to {now:?}: {said}"));
        Ok(())
    }
}

/// Names, kinds, sizes, rights and checksums of all below a directory.
fn listing(place: &Path) -> Result<String> {
    shell(
        "cd \"$1\"; find . | sort | while read -r f; do stat -c '%n %F %a %u %h %s' \"$f\"; [ ! -f \"$f\" ] || cksum <\"$f\"; done",
        &[text(place)?],
    )
}

/// A directory of a user without rights, with these rights.
fn theirs(ground: &Ground, mode: u32) -> Result<PathBuf> {
    let place = ground.directory("theirs")?;
    chown(&place, Some(SOMEBODY), Some(SOMEBODY))?;
    fs::set_permissions(&place, fs::Permissions::from_mode(mode))?;
    Ok(place)
}

/// Runs a command with its places filled in.
fn run(ground: &Ground, words: Words, place: &Path, out: Option<&Path>) -> Result<Answer> {
    let source = ground.directory("source")?;
    fs::create_dir(source.join("sub"))?;
    fs::write(source.join("sub/file"), "to be copied\n".repeat(300))?;
    let journal = closed_directory(ground)?.join("lab.jsonl");
    let fill = |word: &&str| -> Result<String> {
        let word = word
            .replace("DIR", text(place)?)
            .replace("JOURNAL", text(&journal)?)
            .replace("SRC", text(&source)?);
        Ok(match out {
            Some(out) => word.replace("OUT", text(out)?),
            None => word,
        })
    };
    let words: Vec<String> = words.iter().map(fill).collect::<Result<_>>()?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Run::new(ground, &words).within(60).answer()
}

/// A directory in which everybody may rename and remove what anybody made.
fn open_to_all(ground: &Ground, judge: &mut Judge, words: Words) -> Result<()> {
    for owner in [0, SOMEBODY] {
        let place = theirs(ground, 0o777)?;
        chown(&place, Some(owner), None)?;
        let answer = run(ground, words, &place, None)?;
        answer.must_refuse(judge, &format!("a directory of user {owner}, 0777"), &[2], OTHERS);
        let left = fs::read_dir(&place)?.count();
        judge.that(left == 0, || format!("{left} files are left in it"));
    }
    Ok(())
}

/// The typed path goes through a link that somebody may change at any time: in a sticky directory, and in one of theirs.
fn link_of_others(ground: &Ground, judge: &mut Judge, words: Words) -> Result<()> {
    let sticky = ground.directory("sticky")?;
    fs::set_permissions(&sticky, fs::Permissions::from_mode(0o1777))?;
    for place in [sticky, theirs(ground, 0o755)?] {
        let victim = Victim::new(ground)?;
        let link = place.join("link");
        symlink(&victim.place, &link)?;
        std::os::unix::fs::lchown(&link, Some(SOMEBODY), Some(SOMEBODY))?;
        let answer = run(ground, words, &link, None)?;
        answer.must_refuse(judge, "a link of somebody's", &[2], LINK);
        victim.must_be_whole(judge, "a link of somebody's", Some(&answer))?;
    }
    Ok(())
}

/// A name to be written is a link to root's file, in a sticky directory and in one of theirs.
fn planted_output(ground: &Ground, judge: &mut Judge, words: Words) -> Result<()> {
    let sticky = ground.directory("sticky")?;
    fs::set_permissions(&sticky, fs::Permissions::from_mode(0o1777))?;
    for place in [sticky, theirs(ground, 0o755)?] {
        let victim = Victim::new(ground)?;
        let out = place.join("out");
        symlink(victim.place.join("secret"), &out)?;
        std::os::unix::fs::lchown(&out, Some(SOMEBODY), Some(SOMEBODY))?;
        let answer = run(ground, words, &place, Some(&out))?;
        answer.must_refuse(
            judge,
            "a link to root's file",
            &[2],
            &["link", "exists", "there is", "other users"],
        );
        victim.must_be_whole(judge, "a link to root's file", Some(&answer))?;
        // One that leads to nothing yet.
        fs::remove_file(&out)?;
        symlink(victim.place.join("new"), &out)?;
        let answer = run(ground, words, &place, Some(&out))?;
        victim.must_be_whole(judge, "a link to a new file", Some(&answer))?;
    }
    Ok(())
}

/// A link of root's own in a directory of root's own is as good as its target: refusing everything is no defence.
fn own_link(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let place = ground.directory("own")?;
    let link = ground.path("own-link");
    symlink(&place, &link)?;
    for (name, words) in &COMMANDS[..2] {
        let answer = run(ground, words, &link, None)?;
        judge.that(answer.status.is_some_and(|status| status < 2), || format!("{name}: {}", answer.short()));
    }
    Ok(())
}

/// A user who owns the directory replaces whatever appears in it by a link to root's directory, or to a file there.
fn swapper(ground: &Ground, place: &Path, victim: &Victim) -> Result<Holder> {
    needs(&["setpriv"])?;
    let ready = ground.directory("ready")?;
    chown(&ready, Some(SOMEBODY), None)?;
    let ready = ready.join("ready");
    // The program itself may lie where others may not look; root opens it for them.
    let binary = ground.path("swapper");
    fs::copy(std::env::current_exe()?, &binary)?;
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755))?;
    let script = "exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$1\" --hold swap \"$2\" \"$3\"";
    let mut command = super::tool::command(script, &[text(&binary)?, text(place)?, text(&ready)?]);
    command.env("ATTACK_VICTIM", &victim.place);
    Holder::ready(&mut command, &ready)
}

fn swapped_scratch(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let place = theirs(ground, 0o755)?;
    let victim = Victim::new(ground)?;
    let _swapper = swapper(ground, &place, &victim)?;
    for round in 0..ground.rounds(100, 5) {
        for (name, words) in [COMMANDS[5], COMMANDS[0]] {
            let answer = run(ground, words, &place, None)?;
            victim.must_be_whole(judge, &format!("round {round}, {name}"), Some(&answer))?;
        }
        if !judge.is_content() {
            break;
        }
    }
    Ok(())
}

fn swapped_copy(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let place = theirs(ground, 0o755)?;
    let victim = Victim::new(ground)?;
    let _swapper = swapper(ground, &place, &victim)?;
    let source = ground.directory("tree")?;
    for directory in 0..20 {
        let sub = source.join(format!("d{directory}"));
        fs::create_dir(&sub)?;
        for file in 0..10 {
            fs::write(sub.join(format!("f{file}")), "copied\n")?;
        }
    }
    for round in 0..ground.rounds(100, 10) {
        let target = place.join(format!("copy{round}"));
        let answer = Run::new(ground, &["copy", text(&source)?, text(&target)?]).within(60).answer()?;
        victim.must_be_whole(judge, &format!("round {round}"), Some(&answer))?;
        if !judge.is_content() {
            break;
        }
    }
    Ok(())
}

/// A directory of the destination is a link to root's.
fn planted_in_copy(ground: &Ground, judge: &mut Judge) -> Result<()> {
    for resume in [false, true] {
        let (place, victim) = (theirs(ground, 0o755)?, Victim::new(ground)?);
        let target = place.join("copy");
        fs::create_dir(&target)?;
        symlink(&victim.place, target.join("sub"))?;
        chown(&target, Some(SOMEBODY), None)?;
        let words: Words = if resume { &["copy", "SRC", "DIR", "--resume"] } else { &["copy", "SRC", "DIR"] };
        let answer = run(ground, words, &target, None)?;
        answer.must_refuse(
            judge,
            "copy",
            &[2],
            &["link", "exists", "is there", "other", "not empty", "no directory", "not a directory"],
        );
        victim.must_be_whole(judge, "copy", Some(&answer))?;
    }
    Ok(())
}

/// A copy is killed; somebody replaces its manifest by one of theirs, and by a link to root's file.
fn planted_manifest(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let (place, victim) = (theirs(ground, 0o755)?, Victim::new(ground)?);
    let source = ground.directory("tree")?;
    for file in 0..400 {
        fs::write(source.join(format!("f{file}")), vec![b'x'; 200_000])?;
    }
    let target = place.join("copy");
    let words = ["copy", text(&source)?, text(&target)?];
    let mut running = Run::new(ground, &words).start()?;
    running.wait(std::time::Duration::from_millis(150));
    super::ground::kill_group(running.id());
    running.answer()?;
    // Whatever lies beside the copy is the manifest.
    let entries: Vec<PathBuf> = fs::read_dir(&place)?.flatten().map(|entry| entry.path()).collect();
    let Some(manifest) = entries.iter().find(|path| path.is_file()) else {
        return super::attack::skip("set-up: no manifest beside the copy");
    };
    let genuine = fs::read_to_string(manifest)?;
    for forged in [
        genuine.replace("f1", "../../victim/secret"),
        genuine.replace("\"f", "\"/etc/f"),
        format!("{genuine}garbage\n"),
        genuine.replace(text(&target)?, text(&victim.place)?),
    ] {
        fs::write(manifest, forged)?;
        chown(manifest, Some(SOMEBODY), None)?;
        let answer = Run::new(ground, &[&words[..], &["--resume"]].concat()).answer()?;
        answer.must_refuse(judge, "copy --resume", &[2], &["manifest", "own", "other"]);
        victim.must_be_whole(judge, "copy --resume", Some(&answer))?;
    }
    fs::remove_file(manifest)?;
    symlink(victim.place.join("secret"), manifest)?;
    let answer = Run::new(ground, &[&words[..], &["--resume"]].concat()).answer()?;
    victim.must_be_whole(judge, "a manifest that is a link", Some(&answer))
}

fn snapshot_mode(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let out = ground.path("snapshot.tar.zst");
    let script = "umask 0; exec \"$NARROWS\" \"$@\"";
    let answer = Run::through(ground, script, &["snapshot", "--no-redact", "-o", text(&out)?]).answer()?;
    answer.must_be_orderly(judge, "snapshot");
    let mode = fs::metadata(&out)?.permissions().mode() & 0o777;
    judge.that(mode == 0o600, || format!("serial numbers and addresses are open to others: {mode:o}"));
    Ok(())
}

/// Programs of somebody's stand first in root's search path.
fn search_path(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let (place, work) = (ground.directory("bin")?, ground.directory("work")?);
    let mark = ground.path("ran");
    for program in [
        "fio",
        "iperf3",
        "lsblk",
        "losetup",
        "mkfs.ext4",
        "mdadm",
        "lspci",
        "dmidecode",
        "nvme",
        "zpool",
        "smartctl",
        "udevadm",
    ] {
        let path = place.join(program);
        fs::write(&path, format!("#!/bin/sh\necho {program} >>{}\n", text(&mark)?))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    let bench = [
        "bench",
        text(&work)?,
        "--preset",
        "hdparm",
        "--size",
        "16MiB",
        "--duration",
        "50ms",
        "--engine",
        "fio",
    ];
    let lab = [
        "lab",
        "--scratch",
        text(&work)?,
        "--file-size",
        "320MiB",
        "--layout",
        "single,raid0",
        "--file-system",
        "ext4",
        "--dry-run",
    ];
    let ladder = [
        "ladder",
        text(&work)?,
        "--write-scratch",
        "--size",
        "16MiB",
        "--time",
        "50ms",
        "--peer",
        "127.0.0.1",
    ];
    for words in [&bench[..], &lab, &ladder, &["check"]] {
        let path = format!("{}:/usr/bin:/bin", place.display());
        Run::new(ground, words).with(|command| drop(command.env("PATH", path))).within(60).answer()?;
        let ran = fs::read_to_string(&mark).unwrap_or_default();
        judge.that(ran.is_empty(), || format!("{} ran as root: {}", words[0], ran.replace('\n', " ")));
        let _ = fs::remove_file(&mark);
    }
    Ok(())
}
