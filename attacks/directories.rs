//! Directories and files of other users: root works in them, and what is not in them must not change.

mod collector;
mod copies;
mod others;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use super::attack::{Attack, Class, Judge, Result};
use super::ground::{Ground, text};
use super::lab::closed_directory;
use super::narrows::{Answer, Run};
use super::tool::shell;

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
        &["measure", "DIR", "--as", "peak", "--size", "16MiB", "--duration", "50ms", "--warm-up", "1ms"],
    ),
    (
        "sweep",
        &[
            "measure",
            "--as",
            "sweep",
            "DIR",
            "--block-size",
            "4KiB",
            "--depth",
            "1",
            "--size",
            "16MiB",
            "--duration",
            "50ms",
        ],
    ),
    (
        "ladder",
        &[
            "measure",
            "--as",
            "layers",
            "DIR",
            "--mix",
            "100,0",
            "--size",
            "16MiB",
            "--duration",
            "100ms",
            "--warm-up",
            "1ms",
        ],
    ),
    ("measure", &["measure", "DIR", "--duration", "100ms"]),
    (
        "lab --scratch",
        &[
            "lab",
            "--scratch",
            "DIR",
            "--files",
            "2x96MiB",
            "--layout",
            "single",
            "--encryption",
            "plain",
            "--as",
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
            "--files",
            "2x96MiB",
            "--layout",
            "single",
            "--encryption",
            "plain",
            "--as",
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
        &["measure", "SRC", "--as", "hdparm", "--size", "16MiB", "--duration", "50ms", "--save", "OUT"],
    ),
    (
        "bench --emit-fio",
        &["measure", "SRC", "--as", "hdparm", "--size", "16MiB", "--duration", "50ms", "--emit-fio", "OUT"],
    ),
    (
        "sweep --save",
        &[
            "measure",
            "--as",
            "sweep",
            "SRC",
            "--block-size",
            "4KiB",
            "--depth",
            "1",
            "--size",
            "16MiB",
            "--duration",
            "50ms",
            "--save",
            "OUT",
        ],
    ),
    (
        "lab --html",
        &[
            "lab",
            "--scratch",
            "SRC",
            "--files",
            "2x96MiB",
            "--layout",
            "single",
            "--encryption",
            "plain",
            "--as",
            "hdparm",
            "--size",
            "16MiB",
            "--duration",
            "50ms",
            "--journal",
            "JOURNAL",
            "--html",
            "OUT",
        ],
    ),
    ("--to-path", &["SRC", "--to-path", "OUT"]),
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
            copies::swapped_scratch,
        )
        .quick(),
        Attack::new(
            Class::Directory,
            "links that are swapped in the destination of a copy",
            copies::swapped_copy,
        )
        .quick(),
        Attack::new(Class::Directory, "a link in the destination of a copy", copies::planted_in_copy).quick(),
        Attack::new(Class::Directory, "a manifest of a copy that somebody planted", copies::planted_manifest),
        Attack::new(Class::Directory, "hostile names around the collector", collector::hostile_names).quick(),
        Attack::new(Class::Directory, "planted outputs of the collector", collector::planted).quick(),
        Attack::new(Class::Directory, "a copy between directories that may only be entered", copies::entered)
            .quick(),
        Attack::new(
            Class::Directory,
            "a snapshot with everything is closed to others",
            others::snapshot_mode,
        )
        .quick(),
        Attack::new(Class::Directory, "programs of somebody's in the search path", others::search_path)
            .quick(),
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
