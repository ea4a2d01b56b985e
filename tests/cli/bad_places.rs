//! Places that cannot be written to, and machines that hide what they are. Each stands in a mount namespace of its own,
//! which ends with the command.

use super::*;

/// Runs a shell script in a new mount namespace; `$1` is narrows and `$2` an empty directory of ours. `None`, said on
/// standard error, where that is not allowed.
fn in_namespace(test: &str, script: &str) -> Option<Ran> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(if is_root() { &["--mount"][..] } else { &["--mount", "--map-root-user"] });
        command
            .args(["sh", "-c", script, "sh"])
            .arg(crate::narrows_binary())
            .arg(dir.path())
            .env("LC_ALL", "C.UTF-8");
        command.output().ok().map(Ran::from)
    };
    if unshare("mount -t tmpfs none \"$2\"").is_none_or(|ran| ran.status != Some(0)) {
        skip(test, "no mount namespace can be made here");
        return None;
    }
    let ran = unshare(script);
    assert_eq!(names_in(&dir), Vec::<String>::new());
    ran
}

#[test]
fn a_full_file_system_is_left_as_it_is() {
    let script = "mount -t tmpfs -o size=8m none \"$2\" && head -c 9000000 /dev/zero 2>/dev/null >\"$2/x\"; \
                  \"$1\" measure \"$2\"; status=$?; ls \"$2\"; exit $status";
    let Some(ran) = in_namespace("a full file system", script) else { return };
    assert_eq!((ran.out.as_str(), ran.status), ("x\n", Some(2)), "{ran:?}");
    // Nothing is said of a file that is not written.
    assert!(ran.err.starts_with("narrows: no room for a scratch file in `/"), "{ran:?}");
    assert!(
        ran.err.contains(": 0 B free, of which ") && ran.err.contains("\nhint: free some space"),
        "{ran:?}"
    );
}

#[test]
fn a_read_only_mount_is_named_as_such() {
    // Like an image it has no room either, which is not what to tell its reader.
    let script = "mount -t tmpfs -o ro,size=1m none \"$2\" && exec \"$1\" measure \"$2\"";
    let Some(ran) = in_namespace("a read-only mount", script) else { return };
    assert_eq!((ran.out.as_str(), ran.status), ("", Some(2)), "{ran:?}");
    assert!(ran.err.starts_with("narrows: the file system of `/"), "{ran:?}");
    assert!(
        ran.err.ends_with(
            "` is mounted read-only\nhint: name a large file on it to read, or the block device below it\n"
        ),
        "{ran:?}"
    );
}

#[test]
fn a_container_without_sys_gets_what_can_be_said_and_why_it_is_little() {
    let why = "narrows: `/sys` is empty or missing: devices and their links cannot be seen\n\
               hint: in a container, give it `/sys` of the host; elsewhere: mount -t sysfs sysfs /sys\n";
    let hide = "mount -t tmpfs none /sys";
    let Some(ran) = in_namespace("a container without /sys", &format!("{hide} && exec \"$1\" / --json"))
    else {
        return;
    };
    assert_eq!((ran.err.as_str(), ran.status), (why, Some(2)));
    let hops = ran.json()["paths"][0]["hops"].as_array().expect("hops").len();
    assert!(hops >= 2, "application and file system at least: {}", ran.out);

    let ran =
        in_namespace("a container without /sys", &format!("{hide} && exec \"$1\"")).expect("worked before");
    assert!(ran.err.starts_with(why), "{ran:?}");
    assert_eq!(ran.status, Some(2), "{ran:?}");
}

#[test]
fn without_sys_and_proc_nothing_can_be_said_and_the_status_says_so() {
    let hide = "mount -t tmpfs none /sys && mount -t tmpfs none /proc";
    let name = "a container without /sys and /proc";
    let Some(ran) = in_namespace(name, &format!("{hide} && exec \"$1\" --json")) else { return };
    assert_eq!(ran.status, Some(2), "{ran:?}");
    assert_eq!(ran.json()["paths"], serde_json::json!([]));
    assert_eq!(ran.err.matches("narrows: ").count(), 2, "{ran:?}");
    assert_eq!(ran.err.matches("hint: ").count(), 2, "{ran:?}");

    let ran = in_namespace(name, &format!("{hide} && exec \"$1\" /")).expect("worked before");
    assert_eq!((ran.out.as_str(), ran.status), ("", Some(2)), "{ran:?}");
    assert!(
        ran.err.contains(
            "narrows: it is not known which device `/` is on: there is no /proc/self/mountinfo\nhint: "
        ),
        "{ran:?}"
    );
}
