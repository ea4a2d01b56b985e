//! A file tree in memory: what a snapshot or a fixture holds of a machine's `/sys`, `/proc` and `/dev`.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

/// The number of symbolic links after which a path is taken for a loop, as the kernel does (`MAXSYMLINKS`, 40).
const MAX_LINKS: usize = 40;

/// One entry of a [`Tree`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A file and its content.
    File(Vec<u8>),
    /// A symbolic link and its target, absolute or relative to the link's directory.
    Link(String),
    /// A directory.
    Dir,
    /// A file or directory that exists but could not be read.
    Denied,
}

/// What went wrong with a look-up in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Miss {
    /// Nothing is there, or links lead in a circle.
    Absent,
    /// It was there, and could not be read.
    Denied,
}

/// Absolute, normalised paths and what is there. Links are resolved inside the tree and never leave it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    nodes: BTreeMap<String, Node>,
    known: KnownPaths,
}

/// Where links lead, as far as it was asked: a tree of thousands of links that lead to each other would else be walked
/// again for every question. Two trees are the same whatever was asked of them.
#[derive(Debug, Clone, Default)]
struct KnownPaths(RefCell<HashMap<String, Led>>);

/// Where a link leads, and over how many links; or why nowhere.
type Led = Result<(String, usize), Miss>;

impl PartialEq for KnownPaths {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for KnownPaths {}

impl Tree {
    /// An empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts `node` at `path`, together with the directories above it. `.` and `..` are resolved within the tree.
    pub fn insert(&mut self, path: &str, node: Node) {
        self.known.0.get_mut().clear();
        let path = normalise(path);
        let mut above = parent(&path);
        while let Some(dir) = above {
            if self.nodes.contains_key(dir) {
                break;
            }
            let next = parent(dir);
            self.nodes.insert(dir.to_owned(), Node::Dir);
            above = next;
        }
        if node != Node::Dir || !self.nodes.contains_key(&path) {
            self.nodes.insert(path, node);
        }
    }

    /// Puts a text file at `path`.
    pub fn file(&mut self, path: &str, text: &str) -> &mut Self {
        self.insert(path, Node::File(text.as_bytes().to_vec()));
        self
    }

    /// Puts a symbolic link at `path`.
    pub fn link(&mut self, path: &str, target: &str) -> &mut Self {
        self.insert(path, Node::Link(target.to_owned()));
        self
    }

    /// Every entry, ordered by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.nodes.iter().map(|(path, node)| (path.as_str(), node))
    }

    /// The path with every link on the way resolved.
    ///
    /// # Errors
    /// [`Miss`] when the path leads nowhere, or through a directory that could not be read.
    pub fn resolve(&self, path: &str) -> Result<String, Miss> {
        let place = self.walk(String::new(), path, &mut 0)?;
        Ok(if place.is_empty() { "/".to_owned() } else { place })
    }

    /// Where `path` leads from `at`, a place without links. `links` counts those on the way.
    fn walk(&self, mut at: String, path: &str, links: &mut usize) -> Result<String, Miss> {
        let mut segments = path.split('/').filter(|s| !s.is_empty() && *s != ".").peekable();
        while let Some(segment) = segments.next() {
            if segment == ".." {
                at.truncate(at.rfind('/').unwrap_or(0));
                continue;
            }
            let above = at.len();
            at.push('/');
            at.push_str(segment);
            let mut node = self.nodes.get(&at).ok_or(Miss::Absent)?;
            if let Node::Link(target) = node {
                at = self.follow(at, above, target, links)?;
                node = self.nodes.get(&at).unwrap_or(&Node::Dir);
            }
            if *node == Node::Denied && segments.peek().is_some() {
                return Err(Miss::Denied);
            }
        }
        Ok(at)
    }

    /// Where the link at `link` leads, whose directory is its first `above` bytes.
    fn follow(&self, link: String, above: usize, target: &str, links: &mut usize) -> Result<String, Miss> {
        let known = self.known.0.borrow().get(&link).cloned();
        if let Some(known) = known {
            let (place, count) = known?;
            *links += count;
            return if *links > MAX_LINKS { Err(Miss::Absent) } else { Ok(place) };
        }
        let before = *links;
        *links += 1;
        if *links > MAX_LINKS {
            return Err(Miss::Absent);
        }
        let from = if target.starts_with('/') { "" } else { link.get(..above).unwrap_or_default() };
        let place = self.walk(from.to_owned(), target, links);
        // Whoever came here over other links may have had too few left.
        if place.is_ok() || before == 0 || *links <= MAX_LINKS {
            let led = place.clone().map(|place| (place, *links - before));
            self.known.0.borrow_mut().insert(link, led);
        }
        place
    }

    /// The content of the file at `path`, links followed.
    ///
    /// # Errors
    /// [`Miss`] when there is no readable file.
    pub fn read(&self, path: &str) -> Result<&[u8], Miss> {
        match self.nodes.get(&self.resolve(path)?) {
            Some(Node::File(content)) => Ok(content),
            Some(Node::Denied) => Err(Miss::Denied),
            _ => Err(Miss::Absent),
        }
    }

    /// The names in the directory at `path`, links followed, in order.
    ///
    /// # Errors
    /// [`Miss`] when there is no readable directory.
    pub fn list(&self, path: &str) -> Result<Vec<String>, Miss> {
        let dir = self.resolve(path)?;
        match self.nodes.get(&dir) {
            Some(Node::Dir) => {}
            Some(Node::Denied) => return Err(Miss::Denied),
            None if dir == "/" => {}
            _ => return Err(Miss::Absent),
        }
        let prefix = if dir == "/" { dir } else { format!("{dir}/") };
        let below = self.nodes.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix));
        Ok(below
            .map(|(path, _)| &path[prefix.len()..])
            .filter(|name| !name.is_empty() && !name.contains('/'))
            .map(str::to_owned)
            .collect())
    }

    /// The target of the link at `path`, as written.
    ///
    /// # Errors
    /// [`Miss`] when there is no link.
    pub fn read_link(&self, path: &str) -> Result<&str, Miss> {
        let path = normalise(path);
        let at = match parent(&path) {
            Some(dir) => format!("{}/{}", self.resolve(dir)?.trim_end_matches('/'), file_name(&path)),
            None => path,
        };
        match self.nodes.get(&at) {
            Some(Node::Link(target)) => Ok(target),
            _ => Err(Miss::Absent),
        }
    }
}

fn parent(path: &str) -> Option<&str> {
    match path.rfind('/') {
        Some(0) | None => None,
        Some(end) => Some(&path[..end]),
    }
}

fn file_name(path: &str) -> &str {
    &path[path.rfind('/').map_or(0, |at| at + 1)..]
}

/// An absolute path without `.`, `..` and doubled slashes; `..` never climbs above the root.
pub fn normalise(path: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    for segment in path.split('/').filter(|s| !s.is_empty() && *s != ".") {
        if segment == ".." {
            out.pop();
        } else {
            out.push(segment);
        }
    }
    format!("/{}", out.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Tree {
        let mut tree = Tree::new();
        tree.file("/sys/devices/pci0000:00/0000:00:02.0/class", "0x010802\n")
            .link("/sys/bus/pci/devices/0000:00:02.0", "../../../devices/pci0000:00/0000:00:02.0")
            .link("/loop", "/loop")
            .link("/out", "../../../../etc/passwd");
        tree
    }

    #[test]
    fn links_are_followed_inside_the_tree() {
        let tree = sample();
        assert_eq!(tree.read("/sys/bus/pci/devices/0000:00:02.0/class"), Ok(&b"0x010802\n"[..]));
        assert_eq!(
            tree.resolve("/sys/bus/pci/devices/0000:00:02.0/..").as_deref(),
            Ok("/sys/devices/pci0000:00")
        );
        assert_eq!(tree.list("/sys/bus/pci/devices"), Ok(vec!["0000:00:02.0".to_owned()]));
        assert_eq!(
            tree.read_link("/sys/bus/pci/devices/0000:00:02.0"),
            Ok("../../../devices/pci0000:00/0000:00:02.0")
        );
    }

    #[test]
    fn a_link_never_leads_out_of_the_tree_or_in_circles() {
        let tree = sample();
        assert_eq!(tree.read("/out"), Err(Miss::Absent));
        assert_eq!(tree.read("/loop"), Err(Miss::Absent));
        assert_eq!(tree.read("/../../etc/passwd"), Err(Miss::Absent));
    }

    #[test]
    fn a_path_over_more_links_than_the_kernel_follows_leads_nowhere_wherever_it_is_entered() {
        let mut tree = Tree::new();
        for number in 0..100 {
            tree.link(&format!("/l{number}"), &format!("l{}", number + 1));
        }
        tree.file("/l100/x", "end");
        // From the end and from the beginning: what is remembered of one changes nothing of another.
        for number in (0..100).rev().chain(0..100) {
            let end = if 100 - number <= MAX_LINKS { Ok(&b"end"[..]) } else { Err(Miss::Absent) };
            assert_eq!(tree.read(&format!("/l{number}/x")), end, "{number}");
        }
        tree.file("/l99", "new");
        assert_eq!(tree.read("/l98"), Ok(&b"new"[..]));
    }

    #[test]
    fn what_is_above_a_link_is_above_where_it_leads() {
        let mut tree = sample();
        tree.link("/a/b", "/sys/devices").insert("/shut", Node::Denied);
        tree.link("/c", "/shut");
        assert_eq!(tree.resolve("/a/b/..").as_deref(), Ok("/sys"));
        assert_eq!((tree.read("/c/x"), tree.read("/c")), (Err(Miss::Denied), Err(Miss::Denied)));
        assert_eq!(tree.resolve("/a/b/../..").as_deref(), Ok("/"));
    }

    #[test]
    fn a_directory_lists_only_its_own_entries() {
        let mut tree = sample();
        tree.file("/sys/devices/pci0000:00/0000:00:02.0/block/vda/size", "1");
        tree.file("/sys/devices/pci0000:00/0000:00:02.0.1", "1");
        assert_eq!(tree.list("/sys/devices/pci0000:00/0000:00:02.0").expect("is there"), ["block", "class"]);
        assert!(tree.list("/").expect("is there").contains(&"sys".to_owned()));
    }

    #[test]
    fn what_could_not_be_read_stays_denied() {
        let mut tree = sample();
        tree.insert("/sys/firmware/dmi/tables/DMI", Node::Denied);
        assert_eq!(tree.read("/sys/firmware/dmi/tables/DMI"), Err(Miss::Denied));
    }
}
