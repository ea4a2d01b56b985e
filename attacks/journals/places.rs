//! Journals whose text is genuine, in places, under owners and with rights that must not count.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use super::super::attack::{Attack, Class, Judge, Result};
use super::super::ground::{Ground, text};
use super::super::lab::{closed_directory, with_journal};
use super::super::narrows::Run;
use super::super::tool::{needs, shell};
use super::{genuine, must_change_nothing, proper_place, same_device, store};

/// A user without rights.
const SOMEBODY: u32 = 65_534;
const OWNER: &[&str] = &["own", "root"];
const MODE: &[&str] = &["mode", "permission", "0600", "0700", "others", "writable", "rights"];
const LINK: &[&str] = &["link", "names in place of one"];
const KIND: &[&str] =
    &["regular", "not a file", "fifo", "pipe", "special", "directory", "no journal", "device"];

/// All of them.
pub(super) fn attacks() -> Vec<Attack> {
    vec![
        placed("of a user without rights", OWNER, |path| Ok(chown(path, Some(SOMEBODY), None)?)).quick(),
        placed("that all may read", MODE, |path| mode(path, 0o644)).quick(),
        placed("that a group may write", MODE, |path| mode(path, 0o660)),
        placed("that all may write", MODE, |path| mode(path, 0o666)).quick(),
        placed("that a program's rights go with", MODE, |path| mode(path, 0o4600)),
        placed("in a directory that all may write", MODE, |path| mode(parent(path), 0o777)).quick(),
        placed("in a directory that all may read", MODE, |path| mode(parent(path), 0o755)),
        placed("in a sticky directory", MODE, |path| mode(parent(path), 0o1777)),
        placed("in a directory of a user without rights", OWNER, |path| {
            Ok(chown(parent(path), Some(SOMEBODY), None)?)
        })
        .quick(),
        placed("with a second name", LINK, |path| Ok(fs::hard_link(path, path.with_extension("2"))?)).quick(),
        placed("behind a link", LINK, |path| {
            let real = path.with_extension("real");
            fs::rename(path, &real)?;
            Ok(symlink(real, path)?)
        }),
        placed("in a directory behind a link", &["link", "journal"], |path| {
            let real = parent(path).with_extension("real");
            fs::rename(parent(path), &real)?;
            Ok(symlink(real, parent(path))?)
        }),
        special("is a pipe", KIND, |path| shell("mkfifo -m 0600 \"$1\"", &[text(path)?]).map(drop)),
        special("is a socket", KIND, |path| {
            std::os::unix::net::UnixListener::bind(path)?;
            Ok(())
        }),
        special("is a directory", KIND, |path| Ok(fs::create_dir(path)?)),
        special("is a device that never ends", KIND, |path| {
            shell("mknod -m 0600 \"$1\" c 1 5", &[text(path)?]).map(drop)
        }),
        special("is a terminal", KIND, |path| shell("mknod -m 0600 \"$1\" c 5 2", &[text(path)?]).map(drop)),
        special("is a file of 64 GiB", &["journal", "large", "long"], |path| {
            let file = fs::File::create(path)?;
            file.set_len(64 << 30)?;
            mode(path, 0o600)
        }),
        Attack::new(Class::Journal, "is another file of root's", other_file).quick(),
        Attack::new(Class::Journal, "planted in the usual place by a user", planted).quick(),
        Attack::new(Class::Journal, "made under umask 0", umask_zero).quick(),
        Attack::new(Class::Journal, "files of the user's under the names of scratch files", scratch_names),
    ]
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

fn mode(path: &Path, mode: u32) -> Result<()> {
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(mode))?)
}

/// A genuine journal, which `spoil` makes one that must not count.
fn placed(
    name: &str,
    words: &'static [&'static str],
    spoil: impl Fn(&Path) -> Result<()> + Send + Sync + 'static,
) -> Attack {
    Attack::new(Class::Journal, name, move |ground: &Ground, judge: &mut Judge| {
        let text = genuine(ground)?;
        let device = same_device(ground)?;
        store(ground, &device)?;
        let journal = proper_place(ground, &text)?;
        spoil(&journal)?;
        must_change_nothing(ground, judge, &device, &journal, words)
    })
}

/// Something that is no regular file, or too much of one, where a journal is named.
fn special(
    name: &str,
    words: &'static [&'static str],
    make: impl Fn(&Path) -> Result<()> + Send + Sync + 'static,
) -> Attack {
    Attack::new(Class::Journal, name, move |ground: &Ground, judge: &mut Judge| {
        let path = closed_directory(ground)?.join("lab.jsonl");
        make(&path)?;
        for how in ["--undo", "--resume"] {
            let words_of = ["lab", how, "--journal", text(&path)?];
            let answer = Run::new(ground, &words_of).within(20).answer()?;
            answer.must_refuse(judge, how, &[2], words);
            judge.that(answer.memory < 1 << 29, || format!("{how}: took {} bytes of memory", answer.memory));
            judge.that(path.symlink_metadata().is_ok(), || format!("{how}: removed it"));
        }
        Ok(())
    })
    .quick()
}

/// A file that is no journal stays as it is, whatever its text.
fn other_file(ground: &Ground, judge: &mut Judge) -> Result<()> {
    for words in ["", "{", "{\"format\":\"narr", "lines\nof mine\n", "{\"format\":\"narrows-lab/", "\0\0\0"] {
        let path = proper_place(ground, words)?;
        for how in ["--undo", "--resume"] {
            let answer = with_journal(ground, how, &path)?;
            answer.must_be_orderly(judge, how);
            let is_beginning = words.starts_with("{\"format\":\"narrows-lab/");
            let left = fs::read_to_string(&path).ok();
            judge.that(is_beginning || left.as_deref() == Some(words), || {
                format!("{how}: {words:?} became {left:?}")
            });
        }
    }
    Ok(())
}

/// A script that gives narrows a /var/lib of its own.
const OWN_PLACE: &str = "exec unshare -m sh -euc 'mount --make-rprivate /; mount -t tmpfs none /var/lib; eval \"$ATTACK_PREPARE\"; exec \"$NARROWS\" \"$@\"' sh \"$@\"";

/// Where journals lie, a directory was left open to all, and a user put one there.
fn planted(ground: &Ground, judge: &mut Judge) -> Result<()> {
    needs(&["unshare"])?;
    let forged = proper_place(ground, &genuine(ground)?)?;
    let device = same_device(ground)?;
    store(ground, &device)?;
    for (prepare, words) in [
        (
            "install -d -m 0777 /var/lib/narrows; install -m 0600 -o 65534 \"$FORGED\" /var/lib/narrows/lab-0a0b0c0d.jsonl",
            OWNER,
        ),
        (
            "install -d -m 0777 /var/lib/narrows; install -m 0600 \"$FORGED\" /var/lib/narrows/lab-0a0b0c0d.jsonl",
            MODE,
        ),
        (
            "install -d -m 0700 -o 65534 /var/lib/narrows; install -m 0600 \"$FORGED\" /var/lib/narrows/lab-0a0b0c0d.jsonl",
            OWNER,
        ),
        (
            "install -d -m 0700 /var/lib/real; ln -s real /var/lib/narrows; install -m 0600 -o 65534 \"$FORGED\" /var/lib/real/lab-0a0b0c0d.jsonl",
            OWNER,
        ),
    ] {
        let before = device.sum()?;
        let answer = Run::through(ground, OWN_PLACE, &["lab", "--undo"])
            .with(|command| command.env("ATTACK_PREPARE", prepare).env("FORGED", &forged))
            .answer()?;
        answer.must_refuse(judge, prepare, &[2], words);
        let difference = before.difference(&device.sum()?);
        judge.that(difference.is_none(), || {
            format!("{prepare}: bytes changed: {}", difference.unwrap_or_default())
        });
    }
    Ok(())
}

/// What the lab makes is closed to others whatever the umask.
fn umask_zero(ground: &Ground, judge: &mut Judge) -> Result<()> {
    needs(&["unshare"])?;
    let device = same_device(ground)?;
    let script = "exec unshare -m sh -euc 'mount --make-rprivate /; mount -t tmpfs none /var/lib; umask 0; \
        device=$1; own=$(cat /sys/block/${device##*/}/loop/backing_file); shift; \
        \"$NARROWS\" lab \"$device\" --i-own \"$own\" \"$@\" & lab=$!; \
        i=0; while [ $i -lt 600 ] && ! ls /var/lib/narrows/lab-* >/dev/null 2>&1; do sleep 0.02; i=$((i + 1)); done; sleep 0.1; \
        stat -c \"mode %a %U %F\" /var/lib/narrows /var/lib/narrows/lab-*; kill -INT $lab; wait $lab || true' sh \"$@\"";
    // In a namespace of its own the path of the file may read otherwise.
    let words = [device.node(), "--layout", "single", "--encryption", "plain"];
    let rest = ["--as", "hdparm", "--size", "16MiB", "--duration", "2s"];
    let answer = Run::through(ground, script, &[&words[..], &rest].concat()).answer()?;
    for expected in ["mode 700 root directory", "mode 600 root regular"] {
        judge.that(answer.out.contains(expected), || {
            format!("no {expected}: {} {}", answer.out.trim(), answer.short())
        });
    }
    Ok(())
}

/// A lab on scratch files is killed and undone; then somebody gives files of their own the same names.
fn scratch_names(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let place = ground.directory("scratch")?;
    let journal = closed_directory(ground)?.join("lab.jsonl");
    let words = ["lab", "--scratch", text(&place)?, "--files", "2x96MiB", "--layout", "single"];
    let rest = [
        "--encryption",
        "plain",
        "--as",
        "hdparm",
        "--size",
        "16MiB",
        "--duration",
        "2s",
        "--journal",
        text(&journal)?,
    ];
    let mut lab = Run::new(ground, &[&words[..], &rest].concat()).start()?;
    super::super::lab::wait_for_line(&mut lab, &journal, "devices");
    let names = tree(&place);
    super::super::ground::kill_group(lab.id());
    lab.answer()?;
    let saved = fs::read_to_string(&journal)?;
    let undone = with_journal(ground, "--undo", &journal)?;
    judge.that(undone.status == Some(0), || format!("a killed lab is not undone: {}", undone.short()));
    if names.is_empty() {
        return super::super::attack::skip("set-up: the lab made no files");
    }
    for (name, is_directory) in &names {
        if *is_directory {
            fs::create_dir_all(name)?;
        } else {
            fs::write(name, "mine\n")?;
        }
    }
    let before = tree(&place);
    let journal = proper_place(ground, &saved)?;
    for how in ["--undo", "--resume"] {
        let answer = with_journal(ground, how, &journal)?;
        answer.must_be_orderly(judge, how);
        judge.that(tree(&place) == before, || {
            format!("{how}: files of the user's are gone: {}", answer.short())
        });
        let whole = names.iter().filter(|(_, is_directory)| !is_directory);
        let whole =
            whole.clone().all(|(name, _)| fs::read_to_string(name).is_ok_and(|text| text == "mine\n"));
        judge.that(whole, || format!("{how}: files of the user's changed: {}", answer.short()));
    }
    Ok(())
}

/// What lies in a directory, and whether each is one itself; directories first.
fn tree(place: &Path) -> Vec<(PathBuf, bool)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_directory = path.is_dir();
        found.push((path.clone(), is_directory));
        if is_directory {
            found.extend(tree(&path));
        }
    }
    found
}
