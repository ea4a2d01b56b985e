//! Lists in the order in which their items come: each once, alike ones together, the first of many.

/// Each item once.
pub fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for item in all {
        if !once.contains(&item) {
            once.push(item);
        }
    }
    once
}

/// What comes with the same key together.
pub fn grouped<K: PartialEq, V>(all: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in all {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// The first of some words, and how many more there are: `sda, sdb and 3 more`.
pub fn some_of(words: &[impl AsRef<str>], most: usize, between: &str) -> String {
    let shown: Vec<&str> = words.iter().take(most).map(AsRef::as_ref).collect();
    let shown = shown.join(between);
    match words.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// What is known of some things, in a line.
pub fn known_of(all: impl IntoIterator<Item = Option<String>>, between: &str) -> String {
    all.into_iter().flatten().collect::<Vec<_>>().join(between)
}

/// The least and the most; `None` of none.
pub fn ends<T: Copy + PartialOrd>(values: &[T]) -> Option<[T; 2]> {
    let least = values.iter().copied().reduce(|a, b| if b < a { b } else { a })?;
    let most = values.iter().copied().reduce(|a, b| if b > a { b } else { a })?;
    Some([least, most])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_their_order() {
        assert_eq!(distinct([3, 1, 3, 2, 1]), [3, 1, 2]);
        assert_eq!(grouped([("b", 1), ("a", 2), ("b", 3)]), [("b", vec![1, 3]), ("a", vec![2])]);
        assert_eq!(some_of(&["sda", "sdb"], 2, ", "), "sda, sdb");
        assert_eq!(some_of(&["sda", "sdb", "sdc"], 1, ", "), "sda and 2 more");
        assert_eq!(some_of(&[""; 0], 1, ", "), "");
        assert_eq!(known_of([Some("a".to_owned()), None, Some("b".to_owned())], "; "), "a; b");
    }
}
