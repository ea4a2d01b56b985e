//! Files that never end, and waits that nobody may make narrows wait.

use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::Signal;

use super::super::attack::{Attack, Class, Judge, Result, skip};
use super::super::device::Device;
use super::super::ground::{Ground, text};
use super::super::narrows::Run;
use super::super::tool::{needs, shell, succeeds};
use super::bombs::{EVERYTHING, run};

/// What an answer may say of a file that is none.
const KIND: &[&str] = &[
    "regular",
    "not a file",
    "pipe",
    "special",
    "device",
    "never ends",
    "terminal",
    "cannot",
    "no file",
    "kernel",
];

/// All of them.
pub(super) fn attacks() -> Vec<Attack> {
    vec![
        endless("a pipe that nobody writes to", |ground| {
            let path = ground.path("pipe");
            shell("mkfifo \"$1\"", &[text(&path)?])?;
            Ok(path)
        })
        .quick(),
        endless("/dev/zero", |_| Ok(PathBuf::from("/dev/zero"))).quick(),
        endless("/dev/urandom", |_| Ok(PathBuf::from("/dev/urandom"))),
        endless("the kernel's messages", |_| Ok(PathBuf::from("/proc/kmsg"))).quick(),
        endless("the kernel's trace", |_| {
            let path = PathBuf::from("/sys/kernel/tracing/trace_pipe");
            if path.exists() { Ok(path) } else { skip("tracefs is not mounted") }
        }),
        endless("a socket", |ground| {
            let path = ground.path("socket");
            drop(std::os::unix::net::UnixListener::bind(&path)?);
            Ok(path)
        }),
        endless("a link to /dev/zero", |ground| {
            let path = ground.path("results.json");
            std::os::unix::fs::symlink("/dev/zero", &path)?;
            Ok(path)
        }),
        Attack::new(Class::Bounds, "a pipe in a directory of captures", in_directory).quick(),
        Attack::new(Class::Bounds, "an ignored SIGHUP stays ignored", nohup).quick(),
        Attack::new(Class::Bounds, "SIGTERM while a mapping is suspended", suspended),
        Attack::new(Class::Bounds, "sixteen descriptors", sixteen).quick(),
        Attack::new(Class::Bounds, "a chroot whose root is no mount point", chroot),
    ]
}

fn endless(name: &str, find: impl Fn(&Ground) -> Result<PathBuf> + Send + Sync + 'static) -> Attack {
    Attack::new(Class::Bounds, name, move |ground: &Ground, judge: &mut Judge| {
        let path = find(ground)?;
        for words in EVERYTHING {
            let when = words.join(" ");
            let answer = run(ground, words, &path, 12)?;
            answer.must_be_orderly(judge, &when);
            judge.that(answer.memory < 1 << 29, || format!("{when}: took {} MB", answer.memory / 1_000_000));
            let is_clear = answer.status != Some(2) || answer.says(KIND);
            judge.that(is_clear, || format!("{when}: does not say what the file is: {}", answer.short()));
        }
        Ok(())
    })
}

fn in_directory(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let place = ground.directory("captures")?;
    shell(
        "mkfifo \"$1/dmesg.txt\"; ln -s /dev/zero \"$1/lspci.txt\"; ln -s . \"$1/again\"",
        &[text(&place)?],
    )?;
    for words in [&["FILE"][..], &["FILE", "--fleet"]] {
        let answer = run(ground, words, &place, 15)?;
        answer.must_be_orderly(judge, &words.join(" "));
    }
    Ok(())
}

/// `nohup narrows measure --as kdiskmark`: the terminal goes away, the bench goes on.
fn nohup(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let place = ground.directory("work")?;
    let words = [
        "measure",
        text(&place)?,
        "--as",
        "hdparm",
        "--size",
        "16MiB",
        "--duration",
        "1s",
        "--warm-up",
        "1ms",
    ];
    let mut running = Run::through(ground, "trap '' HUP; exec \"$NARROWS\" \"$@\"", &words).start()?;
    for _ in 0..4 {
        running.wait(Duration::from_millis(250));
        running.signal(Signal::SIGHUP);
    }
    let answer = running.answer()?;
    judge.that(answer.status.is_some_and(|status| status < 2), || answer.short());
    judge.that(!answer.says(&["interrupted"]), || answer.short());
    Ok(())
}

/// Reading a suspended mapping never ends; whoever looks at the machine must not be caught in it.
fn suspended(ground: &Ground, judge: &mut Judge) -> Result<()> {
    needs(&["dmsetup"])?;
    if !succeeds("dmsetup targets | grep -q linear", &[]) {
        return skip("this kernel has no device mapper");
    }
    let device = Device::blank(ground, 48)?;
    shell(
        "dmsetup create --noudevsync attack-hang --table \"0 65536 linear $1 0\"; dmsetup suspend --noudevsync attack-hang",
        &[device.node()],
    )?;
    let ended = (|| -> Result<()> {
        for words in [
            vec!["guard", device.node(), "--i-own", device.identity()],
            vec![
                "measure",
                "--as",
                "kdiskmark",
                device.node(),
                "--write",
                "--i-own",
                device.identity(),
                "--size",
                "16MiB",
            ],
            vec![],
            vec![device.node()],
            vec!["/dev/mapper/attack-hang"],
            vec!["snapshot", "-o", text(&ground.path("snapshot"))?],
        ] {
            let mut running = Run::new(ground, &words).within(30).start()?;
            let before = running.wait(Duration::from_secs(6));
            running.signal(Signal::SIGTERM);
            let ended = before || running.wait(Duration::from_millis(2500));
            judge.that(ended, || format!("{}: SIGTERM does not end it within 2 s", words.join(" ")));
            if !ended {
                succeeds("dmsetup resume attack-hang", &[]);
            }
            running.answer()?;
            succeeds("dmsetup suspend --noudevsync attack-hang", &[]);
        }
        Ok(())
    })();
    succeeds("dmsetup resume attack-hang; dmsetup remove --noudevsync --force attack-hang", &[]);
    ended
}

/// Where descriptors run out, that is the reason, and not io_uring.
fn sixteen(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let place = ground.directory("work")?;
    let words = ["measure", text(&place)?, "--as", "peak", "--size", "16MiB", "--duration", "50ms"];
    let answer = Run::through(ground, "ulimit -n 16; exec \"$NARROWS\" \"$@\"", &words).answer()?;
    answer.must_be_orderly(judge, "bench");
    let blames = answer.status == Some(2)
        && answer.says(&["io_uring"])
        && !answer.says(&["descriptor", "open files", "ulimit"]);
    judge.that(!blames, || format!("blames io_uring: {}", answer.short()));
    Ok(())
}

fn chroot(ground: &Ground, judge: &mut Judge) -> Result<()> {
    needs(&["unshare", "chroot"])?;
    let root = ground.directory("root")?;
    let script = "exec unshare -m sh -ec 'mount --make-rprivate /; r=$ATTACK_ROOT; mkdir -p $r/proc $r/sys $r/dev $r/work; \
        for d in /usr /lib /lib64 /bin; do [ ! -e $d ] || { if [ -L $d ]; then cp -d $d $r$d; else mkdir -p $r$d; mount --rbind $d $r$d; fi; }; done; \
        cp \"$NARROWS\" $r/narrows; mount --rbind /proc $r/proc; mount --rbind /sys $r/sys; mount --rbind /dev $r/dev; exec chroot $r sh -c \"cd /work; exec /narrows .\"' sh \"$@\"";
    let answer =
        Run::through(ground, script, &[]).with(|command| command.env("ATTACK_ROOT", &root)).answer()?;
    judge.that(answer.status.is_some_and(|status| status < 2), || answer.short());
    Ok(())
}
