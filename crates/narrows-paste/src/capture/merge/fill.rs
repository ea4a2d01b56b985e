//! Filling what one source lacks from another.

use std::collections::{BTreeMap, BTreeSet};

use narrows_base::fact::{Asked, Fact};

/// How far the other source is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Than {
    /// As far as this one.
    Same,
    /// Less than this one.
    Less,
}

/// Something that can take from another of its kind what it lacks.
pub(super) trait Fill {
    /// Takes from `other` what is missing here.
    fn fill(&mut self, other: Self, than: Than);
}

impl<T> Fill for Fact<T> {
    fn fill(&mut self, other: Self, _: Than) {
        self.take_better(other, Asked::Elsewhere);
    }
}

impl<T> Fill for Option<T> {
    fn fill(&mut self, other: Self, _: Than) {
        if self.is_none() {
            *self = other;
        }
    }
}

impl Fill for String {
    fn fill(&mut self, other: Self, _: Than) {
        if self.is_empty() {
            *self = other;
        }
    }
}

/// A flag is set only where something says so.
impl Fill for bool {
    fn fill(&mut self, other: Self, _: Than) {
        *self |= other;
    }
}

/// A list whose order means something is taken whole.
impl<T> Fill for Vec<T> {
    fn fill(&mut self, other: Self, _: Than) {
        if self.is_empty() {
            *self = other;
        }
    }
}

impl<K: Ord, V: Fill> Fill for BTreeMap<K, V> {
    fn fill(&mut self, other: Self, than: Than) {
        if self.is_empty() {
            *self = other;
            return;
        }
        for (key, value) in other {
            match self.get_mut(&key) {
                Some(known) => known.fill(value, than),
                None => _ = self.insert(key, value),
            }
        }
    }
}

/// Adds what a list does not have yet.
pub(super) fn unite<T: Ord + Clone>(list: &mut Vec<T>, other: Vec<T>) {
    if list.is_empty() {
        *list = other;
        return;
    }
    let known: BTreeSet<T> = list.iter().cloned().collect();
    list.extend(other.into_iter().filter(|item| !known.contains(item)));
}

/// Makes a type fill itself field by field. Every field must be named: `fills` those that fill themselves, `unites`
/// lists that are sets, `keeps` those that are what the thing is known by.
macro_rules! fill_by_field {
    ($type:ident fills { $($field:ident),* $(,)? } unites { $($set:ident),* } keeps { $($key:ident),* }) => {
        impl Fill for $type {
            fn fill(&mut self, other: Self, than: Than) {
                let $type { $($field,)* $($set,)* $($key: _,)* } = other;
                $(self.$field.fill($field, than);)*
                $(unite(&mut self.$set, $set);)*
            }
        }
    };
}
pub(super) use fill_by_field;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_fact_beats_a_missing_one_and_a_reason_beats_none() {
        let denied =
            || Fact::Denied { source: narrows_base::fact::Source::new("a:1"), need: "root".to_owned() };
        let mut fact = Fact::<u32>::default();
        fact.fill(Fact::absent("b:1"), Than::Less);
        assert_eq!(fact, Fact::absent("b:1"));
        fact.fill(denied(), Than::Less);
        assert_eq!(fact, denied());
        fact.fill(Fact::absent("c:1"), Than::Same);
        assert_eq!(fact, denied());
        fact.fill(Fact::known(1, "d:1"), Than::Less);
        fact.fill(Fact::known(2, "e:1"), Than::Less);
        assert_eq!(fact, Fact::known(1, "d:1"));
    }

    #[test]
    fn sets_are_united_without_repeating_anything() {
        let mut list = vec!["a", "b"];
        unite(&mut list, vec!["b", "c"]);
        assert_eq!(list, ["a", "b", "c"]);
    }
}
