//! Names of hosts, which may stand anywhere as a word of their own.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::Node;

/// Files that hold the machine's own name.
const HOST_FILES: [&str; 3] = ["/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname", "/etc/hostname"];

/// Names that say nothing, and words that are too common to be taken for a name wherever they stand.
const COMMON: [&str; 12] =
    ["localhost", "(none)", "none", "linux", "host", "root", "home", "boot", "data", "local", "vda", "sda"];

/// Words to replace wherever they stand, with what stands for them.
#[derive(Debug, Default)]
pub(super) struct Words(BTreeMap<String, String>);

/// Whether a file holds the machine's name.
pub(super) fn is_host_file(path: &str) -> bool {
    HOST_FILES.contains(&path) || path == "/narrows/probe/hostname"
}

impl Words {
    /// Learns the machine's name, if this is where it stands and if it is none of the `spared` words.
    pub(super) fn learn(&mut self, path: &str, node: &Node, spared: &BTreeSet<String>) {
        let Node::File(content) = node else { return };
        if is_host_file(path) {
            let name = String::from_utf8_lossy(content).trim().to_owned();
            let short = name.split('.').next().unwrap_or_default().to_owned();
            for name in [name, short].iter().filter(|name| !spared.contains(&name.to_ascii_lowercase())) {
                // Device-mapper doubles the dashes of a volume group's name.
                self.add(&name.replace('-', "--"), "host");
                self.add(name, "host");
            }
        }
    }

    /// The token for a server's name.
    pub(super) fn server(&mut self, name: &str) -> String {
        if let Some(token) = self.0.get(name) {
            return token.clone();
        }
        let token = format!("remote-{}", self.0.values().filter(|t| t.starts_with("remote-")).count() + 1);
        if !self.add(name, &token) {
            return name.to_owned();
        }
        token
    }

    fn add(&mut self, name: &str, token: &str) -> bool {
        let is_name = name.len() > 1 && !COMMON.contains(&name.to_ascii_lowercase().as_str());
        if is_name {
            self.0.entry(name.to_owned()).or_insert_with(|| token.to_owned());
        }
        is_name
    }

    /// `text` with every word replaced, longest first.
    pub(super) fn replace(&self, text: &str) -> String {
        let mut words: Vec<_> = self.0.iter().collect();
        words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
        words.into_iter().fold(text.to_owned(), |text, (word, token)| replace_word(&text, word, token))
    }
}

fn replace_word(text: &str, word: &str, token: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, from) = rest.split_at(at);
        let after = from.get(word.len()..).unwrap_or_default();
        let left = before.chars().next_back().or(out.chars().next_back().filter(|_| before.is_empty()));
        let is_word = !left.is_some_and(is_inner) && !after.chars().next().is_some_and(is_inner);
        out.push_str(before);
        out.push_str(if is_word { token } else { word });
        rest = after;
    }
    out + rest
}

fn is_inner(c: char) -> bool {
    c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_name_goes_wherever_it_is_a_word() {
        let mut words = Words::default();
        words.learn(
            "/proc/sys/kernel/hostname",
            &Node::File(b"tiger-7.example.org\n".to_vec()),
            &BTreeSet::new(),
        );
        assert_eq!(
            words.replace("/dev/mapper/tiger--7--vg-root tiger-7:0 tiger-7.example.org tiger-77"),
            "/dev/mapper/host--vg-root host:0 host tiger-77"
        );
    }

    #[test]
    fn a_host_with_a_common_name_takes_nothing_down() {
        let mut words = Words::default();
        words.learn("/etc/hostname", &Node::File(b"sda\n".to_vec()), &BTreeSet::new());
        assert_eq!(words.replace("/dev/sda"), "/dev/sda");
    }

    #[test]
    fn servers_are_numbered() {
        let mut words = Words::default();
        assert_eq!(words.server("nas.lan"), "remote-1");
        assert_eq!(words.server("backup"), "remote-2");
        assert_eq!(words.server("nas.lan"), "remote-1");
    }
}
