//! Users who swap and plant links and manifests where root copies, or makes scratch files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use super::super::attack::{Judge, Result, skip};
use super::super::ground::{Ground, kill_group, text};
use super::super::narrows::Run;
use super::super::tool::{Holder, command, needs};
use super::{COMMANDS, SOMEBODY, Victim, Words, run, theirs};

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
    let mut command = command(script, &[text(&binary)?, text(place)?, text(&ready)?]);
    command.env("ATTACK_VICTIM", &victim.place);
    Holder::ready(&mut command, &ready)
}

pub(super) fn swapped_scratch(ground: &Ground, judge: &mut Judge) -> Result<()> {
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

pub(super) fn swapped_copy(ground: &Ground, judge: &mut Judge) -> Result<()> {
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
pub(super) fn planted_in_copy(ground: &Ground, judge: &mut Judge) -> Result<()> {
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
pub(super) fn planted_manifest(ground: &Ground, judge: &mut Judge) -> Result<()> {
    // In a directory of theirs nothing is begun.
    let (place, victim) = (ground.directory("sticky")?, Victim::new(ground)?);
    fs::set_permissions(&place, fs::Permissions::from_mode(0o1777))?;
    let source = ground.directory("tree")?;
    for file in 0..400 {
        fs::write(source.join(format!("f{file}")), vec![b'x'; 200_000])?;
    }
    let target = place.join("copy");
    let words = ["copy", text(&source)?, text(&target)?];
    let mut running = Run::new(ground, &words).start()?;
    running.wait(std::time::Duration::from_millis(150));
    kill_group(running.id());
    running.answer()?;
    // Whatever lies beside the copy is the manifest.
    let entries: Vec<PathBuf> = fs::read_dir(&place)?.flatten().map(|entry| entry.path()).collect();
    let Some(manifest) = entries.iter().find(|path| path.is_file()) else {
        return skip("set-up: no manifest beside the copy");
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

/// A user copies what lies in a directory of root's that is closed to lists, to one of theirs that is.
pub(super) fn entered(ground: &Ground, judge: &mut Judge) -> Result<()> {
    needs(&["setpriv"])?;
    let (source, target) = (ground.directory("source")?, theirs(ground, 0o300)?);
    fs::create_dir(source.join("tree"))?;
    fs::write(source.join("tree/file"), "to be copied\n")?;
    fs::set_permissions(&source, fs::Permissions::from_mode(0o711))?;
    let binary = ground.path("narrows");
    fs::copy(&ground.binary, &binary)?;
    let script = "exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"";
    for name in ["tree", "tree/file"] {
        let (from, to) = (source.join(name), target.join(name.replace('/', "-")));
        let words = [text(&binary)?, "copy", text(&from)?, text(&to)?, "--resume"];
        for words in [&words[..4], &words] {
            let answer = Run::through(ground, script, words).answer()?;
            judge.that(answer.status == Some(0) && to.exists(), || format!("{name}: {}", answer.short()));
        }
    }
    Ok(())
}
