//! Paths that people choose: mount points, backing files, exported directories; and mount tables.

use std::collections::BTreeMap;

use super::Redactor;
use crate::mount::unescape;

/// Mount points that tell nothing about their owner.
const WELL_KNOWN: &[&str] = &[
    "/",
    "/boot",
    "/boot/efi",
    "/boot/firmware",
    "/efi",
    "/home",
    "/var",
    "/var/log",
    "/var/lib",
    "/var/tmp",
    "/var/cache",
    "/var/spool",
    "/usr",
    "/usr/local",
    "/tmp",
    "/srv",
    "/opt",
    "/mnt",
    "/media",
    "/data",
    "/root",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/storage",
    "/backup",
    "/scratch",
    "/export",
    "/nix",
    "/nix/store",
    "/snap",
    "/sysroot",
    "/@",
    "/@home",
    "/@root",
    "/@snapshots",
    "/@var",
    "/@log",
];

/// Trees whose names the system chooses.
const SYSTEM: [&str; 7] = ["/sys", "/proc", "/dev", "/narrows", "/etc", "/run/lock", "/run/user"];

/// Whether a path is in a tree whose names the system chooses.
pub(super) fn is_system(path: &str) -> bool {
    path == "/run" || SYSTEM.iter().any(|tree| path == *tree || is_below(path, tree))
}

fn is_below(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
}

/// Paths and what stands for them.
#[derive(Debug, Default)]
pub(super) struct Places(BTreeMap<String, String>);

impl Places {
    /// What stands for a mount point or an exported directory: itself when it is well known, else `/redacted-1`,
    /// `/redacted-2` and so on; one below another stays below it.
    pub(super) fn mount(&mut self, path: &str) -> String {
        self.replace(path, false)
    }

    /// What stands for any other path: as for a mount point, but it also stays below a well-known directory.
    pub(super) fn place(&mut self, path: &str) -> String {
        self.replace(path, true)
    }

    fn replace(&mut self, path: &str, below_known: bool) -> String {
        if WELL_KNOWN.contains(&path) || is_system(path) || !path.starts_with('/') {
            return path.to_owned();
        }
        if let Some(known) = self.0.get(path) {
            return known.clone();
        }
        let number = self.0.len() + 1;
        let above = self.above(path, below_known);
        let prefix = above.map(|dir| dir.trim_end_matches('/').to_owned()).unwrap_or_default();
        let token = format!("{prefix}/redacted-{number}");
        self.0.insert(path.to_owned(), token.clone());
        token
    }

    /// What stands for the nearest directory above that has a token or, with `below_known`, is well known.
    fn above<'a>(&'a self, path: &'a str, below_known: bool) -> Option<&'a str> {
        let mut dir = path;
        while let Some(end) = dir.rfind('/').filter(|end| *end > 0) {
            dir = path.get(..end)?;
            if let Some(token) = self.0.get(dir) {
                return Some(token);
            }
            if below_known && WELL_KNOWN.contains(&dir) {
                return Some(dir);
            }
        }
        None
    }

    /// `text` with every path that has a token replaced, longest first.
    pub(super) fn replace_in(&self, text: &str) -> String {
        let mut known: Vec<_> = self.0.iter().filter(|(path, _)| text.contains(path.as_str())).collect();
        known.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        known.into_iter().fold(text.to_owned(), |text, (path, token)| replace_path(&text, path, token))
    }
}

fn replace_path(text: &str, path: &str, token: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let (before, from) = rest.split_at(at);
        let after = from.get(path.len()..).unwrap_or_default();
        let inner = |c: char| c.is_alphanumeric() || "._-@".contains(c);
        let is_whole =
            !after.chars().next().is_some_and(inner) && !before.chars().next_back().is_some_and(inner);
        out.push_str(before);
        out.push_str(if is_whole { token } else { path });
        rest = after;
    }
    out + rest
}

/// Options whose value is a person or a secret (mount.cifs(8), mount.davfs(8), mount.ecryptfs(8)).
const PRIVATE_OPTIONS: [&str; 10] =
    ["username", "user", "domain", "dom", "workgroup", "password", "pass", "credentials", "cred", "fsname"];

/// The kinds of file system in a `mountinfo`.
pub(super) fn filesystems(table: &str) -> impl Iterator<Item = String> {
    let kinds = table.lines().filter_map(|line| line.split_once(" - ")?.1.split(' ').next());
    kinds.map(str::to_ascii_lowercase)
}

impl Redactor {
    /// `/proc/self/mountinfo` (kernel `Documentation/filesystems/proc.rst`, section 3.5).
    pub(super) fn mountinfo(&mut self, table: &str) -> String {
        // Shorter mount points first, so that what is mounted below another stays below it.
        let mut points: Vec<String> =
            table.lines().filter_map(|line| line.split(' ').nth(4)).map(unescape).collect();
        points.sort_by_key(String::len);
        points.iter().for_each(|point| drop(self.places.mount(point)));
        let lines = table.lines().map(|line| self.mountinfo_line(line));
        lines.fold(String::new(), |out, line| out + &line + "\n")
    }

    fn mountinfo_line(&mut self, line: &str) -> String {
        let Some((mount, system)) = line.split_once(" - ") else { return String::new() };
        let mut mount: Vec<String> = mount.split(' ').map(str::to_owned).collect();
        for at in [3, 4] {
            if let Some(field) = mount.get_mut(at) {
                *field = self.places.mount(&unescape(field));
            }
        }
        let mut system: Vec<String> = system.split(' ').map(str::to_owned).collect();
        if let Some(source) = system.get_mut(1) {
            *source = self.mount_source(source);
        }
        if let Some(options) = system.get_mut(2) {
            *options = self.mount_options(options);
        }
        self.text(&format!("{} - {}", mount.join(" "), system.join(" ")))
    }

    /// `/proc/mounts`, `/etc/fstab` (fstab(5)).
    pub(super) fn mount_table(&mut self, table: &str) -> String {
        let mut out = String::new();
        for line in table.lines().filter(|line| !line.trim_start().starts_with('#')) {
            let mut fields: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            if let [source, point, _, rest @ ..] = fields.as_mut_slice() {
                *source = self.mount_source(source);
                *point = self.places.mount(&unescape(point));
                if let Some(options) = rest.first_mut() {
                    *options = self.mount_options(options);
                }
            }
            out.push_str(&self.text(&fields.join(" ")));
            out.push('\n');
        }
        out
    }

    /// What is mounted, if it is a path that a person chose; of all else the words are looked at.
    fn mount_source(&mut self, source: &str) -> String {
        let plain = unescape(source);
        if plain.starts_with('/') && !plain.starts_with("//") {
            self.places.mount(&plain)
        } else {
            source.to_owned()
        }
    }

    fn mount_options(&mut self, options: &str) -> String {
        let replaced = options.split(',').map(|option| match option.split_once('=') {
            Some((key, _)) if PRIVATE_OPTIONS.contains(&key) => format!("{key}=redacted"),
            Some((key, value)) if value.starts_with('/') => {
                let parts = value.split(':').map(|part| self.places.mount(&unescape(part)));
                format!("{key}={}", parts.collect::<Vec<_>>().join(":"))
            }
            _ => option.to_owned(),
        });
        replaced.collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_places_stay_and_others_are_numbered() {
        let mut places = Places::default();
        assert_eq!(places.mount("/"), "/");
        assert_eq!(places.mount("/boot/efi"), "/boot/efi");
        assert_eq!(places.mount("/sys/fs/cgroup"), "/sys/fs/cgroup");
        assert_eq!(places.mount("/mnt/alice"), "/redacted-1");
        assert_eq!(places.mount("/mnt/alice/photos"), "/redacted-1/redacted-2");
        assert_eq!(places.mount("/mnt/alice"), "/redacted-1");
    }

    #[test]
    fn a_file_stays_on_its_file_system() {
        let mut places = Places::default();
        places.mount("/pool");
        assert_eq!(places.place("/home/alice"), "/home/redacted-2");
        assert_eq!(places.place("/home/alice/x.img"), "/home/redacted-2/redacted-3");
        assert_eq!(places.place("/pool/x.img"), "/redacted-1/redacted-4");
    }

    #[test]
    fn a_path_is_replaced_in_text_but_not_within_another() {
        let mut places = Places::default();
        places.mount("/pool");
        assert_eq!(
            places.replace_in("statfs /pool/x, /pool2, /a/pool"),
            "statfs /redacted-1/x, /pool2, /a/pool"
        );
    }

    #[test]
    fn a_mount_table_keeps_its_shape_and_loses_its_names() {
        let table = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/mapper/luks-0f8fad5b-d9cb-469f-a165-70867728950e rw
40 22 0:41 /@alice /mnt/alice\\040photos rw shared:2 - btrfs /dev/sdb1 rw,subvol=/@alice
41 22 0:42 / /mnt/nas rw - nfs4 nas.qzx.com:/volume1/alice rw,vers=4.2,clientaddr=10.0.0.7,addr=10.0.0.9
42 22 0:43 / /media rw - cifs //10.0.0.9/Alice rw,username=alice,uid=0
43 22 0:44 / /tank rw - zfs tank/alice rw
";
        let after = Redactor::default().mountinfo(table);
        let lines: Vec<&str> = after.lines().collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(
            lines[0],
            "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/mapper/luks-00000000-0000-0000-0000-000000000001 rw"
        );
        assert!(lines[2].contains("nfs4 nas.name"), "{}", lines[2]);
        assert!(lines[2].contains("clientaddr=192.0.2.1,addr=192.0.2.2"), "{}", lines[2]);
        assert!(lines[3].contains("//192.0.2.2/name") && lines[3].contains("username=redacted,uid=0"));
        assert!(lines[4].contains(" zfs name"), "{}", lines[4]);
        for secret in ["alice", "Alice", "photos", "qzx", "tank", "10.0.0"] {
            assert!(!after.contains(secret), "{secret}: {after}");
        }
    }

    #[test]
    fn octal_escapes_are_undone() {
        assert_eq!(unescape("/mnt/a\\040b\\134"), "/mnt/a b\\");
        assert_eq!(unescape("a\\04"), "a\\04");
        assert_eq!(unescape("\\999\\"), "\\999\\");
    }
}
