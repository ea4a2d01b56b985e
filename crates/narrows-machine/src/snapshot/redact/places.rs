//! Paths that people choose: mount points, backing files, exported directories.

use std::collections::BTreeMap;

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
}
