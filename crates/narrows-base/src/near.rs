//! How far what was typed is from a name that is known.

/// No longer name is typed by mistake; the cost grows with the square.
const LONGEST: usize = 256;

/// The least number of letters to insert, delete, replace or swap with the next to make one text of the other (Damerau
/// 1964, each letter changed once at most).
pub fn distance(one: &str, other: &str) -> usize {
    let letters = |text: &str| text.chars().take(LONGEST).collect::<Vec<char>>();
    let (one, other) = (letters(one), letters(other));
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (i, x) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in other.iter().enumerate() {
            let above = &rows[i];
            let mut best = (above[j] + usize::from(x != y)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == other[j - 1] && one[i - 1] == *y {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last()).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn distance_counts_single_letters() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("chekc", "check"), 1);
        assert_eq!(distance("nvem1", "nvme0"), 2);
    }

    proptest! {
        #[test]
        fn distance_is_symmetric_and_bounded(one in "[a-c]{0,9}", other in "[a-c]{0,9}") {
            let found = distance(&one, &other);
            prop_assert_eq!(found, distance(&other, &one));
            prop_assert!(found <= one.len().max(other.len()));
            prop_assert!(found >= one.len().abs_diff(other.len()));
        }
    }
}
