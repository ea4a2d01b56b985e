//! A fact knows where it came from; a missing fact knows why it is missing.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a fact that nobody looked for is not known.
pub const NOT_LOOKED_FOR: &str = "not looked for";

/// Where a fact was read: a path such as `/sys/block/sda/size`, or a probe such as `AF_ALG xts(aes)`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Source(String);

impl Source {
    /// Names a source.
    pub fn new(source: impl Into<String>) -> Self {
        Self(source.into())
    }

    /// The path or probe.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One thing that narrows asked the machine, with its answer or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact<T> {
    /// The machine answered.
    Known {
        /// The answer.
        value: T,
        /// Where it was read.
        source: Source,
    },
    /// The machine has no such thing, or this kernel does not tell.
    Absent {
        /// Where it was looked for.
        source: Source,
    },
    /// The machine has an answer that we may not read.
    Denied {
        /// Where it would have been read.
        source: Source,
        /// What is needed to read it, such as `root`.
        need: String,
    },
    /// The machine answered with something that cannot be understood.
    Garbled {
        /// Where it was read.
        source: Source,
        /// What stood there, at most 200 characters of it.
        raw: String,
    },
}

/// How a report shows a fact: its value or `null` (`#[serde(with = "fact::value")]`).
pub mod value {
    use super::{Deserialize, Fact, Serialize};

    /// Writes the value.
    ///
    /// # Errors
    /// Those of the serialiser.
    pub fn serialize<T: Serialize, S: serde::Serializer>(fact: &Fact<T>, to: S) -> Result<S::Ok, S::Error> {
        fact.value().serialize(to)
    }

    /// Reads it back; where it was read is lost.
    ///
    /// # Errors
    /// Those of the deserialiser.
    pub fn deserialize<'de, T, D>(from: D) -> Result<Fact<T>, D::Error>
    where
        T: Deserialize<'de>,
        D: serde::Deserializer<'de>,
    {
        Ok(Option::deserialize(from)?.map_or_else(Fact::default, |value| Fact::known(value, "")))
    }
}

/// How two answers to one question came about. It decides what a refusal is worth beside another answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Different sources were asked: a refusal tells what to do to learn the value, and the other source may just not have
    /// what was asked for.
    Elsewhere,
    /// The same tool was asked twice, and only the rights differ: what it says when it may is the answer.
    Again,
}

impl<T> Default for Fact<T> {
    fn default() -> Self {
        Self::Absent { source: Source::default() }
    }
}

impl<T> Fact<T> {
    /// A known value.
    pub fn known(value: T, source: impl Into<String>) -> Self {
        Self::Known { value, source: Source::new(source) }
    }

    /// A value that is not there.
    pub fn absent(source: impl Into<String>) -> Self {
        Self::Absent { source: Source::new(source) }
    }

    /// What was found in a source, if anything was.
    pub fn of(value: Option<T>, source: impl Into<String>) -> Self {
        match value {
            Some(value) => Self::known(value, source),
            None => Self::absent(source),
        }
    }

    /// The value, when it is known.
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Known { value, .. } => Some(value),
            Self::Absent { .. } | Self::Denied { .. } | Self::Garbled { .. } => None,
        }
    }

    /// A copy of the value, when it is known.
    pub fn get(&self) -> Option<T>
    where
        T: Clone,
    {
        self.value().cloned()
    }

    /// Where the fact was read or looked for.
    pub const fn source(&self) -> &Source {
        match self {
            Self::Known { source, .. }
            | Self::Absent { source }
            | Self::Denied { source, .. }
            | Self::Garbled { source, .. } => source,
        }
    }

    /// How much a fact tells: the one order by which of two sources one is believed. A value is first, a place that was not
    /// looked at last.
    pub fn weight(&self, asked: Asked) -> u8 {
        match (self, asked) {
            (Self::Known { .. }, _) => 5,
            (Self::Denied { .. }, Asked::Elsewhere) => 4,
            (Self::Garbled { .. }, _) => 3,
            (Self::Absent { source }, _) if !source.as_str().is_empty() => 2,
            (Self::Denied { .. }, Asked::Again) => 1,
            (Self::Absent { .. }, _) => 0,
        }
    }

    /// Takes the other answer if it tells more. Of two that tell as much, the first stays.
    pub fn take_better(&mut self, other: Self, asked: Asked) {
        if other.weight(asked) > self.weight(asked) {
            *self = other;
        }
    }

    /// Turns a known value into another.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Fact<U> {
        self.with_source(|value, source| Fact::Known { value: f(value), source })
    }

    /// Asks a further question of a known value; the answer is a fact of its own.
    pub fn and_then<U>(self, f: impl FnOnce(T) -> Fact<U>) -> Fact<U> {
        self.with_source(|value, _| f(value))
    }

    fn with_source<U>(self, f: impl FnOnce(T, Source) -> Fact<U>) -> Fact<U> {
        match self {
            Self::Known { value, source } => f(value, source),
            Self::Absent { source } => Fact::Absent { source },
            Self::Denied { source, need } => Fact::Denied { source, need },
            Self::Garbled { source, raw } => Fact::Garbled { source, raw },
        }
    }

    /// Makes a value that only says "none" (`none`, `<unknown>`, `-1`) an absent one.
    pub fn absent_when(self, says_nothing: impl FnOnce(&T) -> bool) -> Self {
        match self {
            Self::Known { value, source } if says_nothing(&value) => Self::Absent { source },
            other => other,
        }
    }

    /// Why the value is not known, as a phrase for a person; `None` when it is known.
    pub fn missing(&self) -> Option<String> {
        match self {
            Self::Known { .. } => None,
            Self::Absent { source } if source.as_str().is_empty() => Some(NOT_LOOKED_FOR.to_owned()),
            Self::Absent { source } => Some(format!("`{source}` does not exist")),
            Self::Denied { source, need } => Some(format!("`{source}` needs {need}")),
            Self::Garbled { source, raw } => Some(format!("`{source}` says `{raw}`")),
        }
    }
}

impl Fact<String> {
    /// Understands a text with `parse`; a text that it refuses becomes [`Fact::Garbled`].
    pub fn parse<U>(self, parse: impl FnOnce(&str) -> Option<U>) -> Fact<U> {
        self.with_source(|value, source| match parse(&value) {
            Some(parsed) => Fact::Known { value: parsed, source },
            None => Fact::Garbled { source, raw: value.chars().take(200).collect() },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_cannot_be_parsed_is_garbled_and_keeps_what_stood_there() {
        let fact = Fact::known("bogus".to_owned(), "/sys/x").parse(|text| text.parse::<u32>().ok());
        assert_eq!(fact, Fact::Garbled { source: Source::new("/sys/x"), raw: "bogus".to_owned() });
        assert_eq!(fact.missing().as_deref(), Some("`/sys/x` says `bogus`"));
    }

    #[test]
    fn one_order_says_which_answer_is_believed() {
        let source = || Source::new("a:1");
        let known = || Fact::known(1, "a:1");
        let denied = || Fact::Denied { source: source(), need: "root".to_owned() };
        let garbled = || Fact::Garbled { source: source(), raw: "?".to_owned() };
        let ascending = |asked| match asked {
            Asked::Elsewhere => [Fact::default(), Fact::absent("a:1"), garbled(), denied(), known()],
            Asked::Again => [Fact::default(), denied(), Fact::absent("a:1"), garbled(), known()],
        };
        for asked in [Asked::Elsewhere, Asked::Again] {
            for (less, more) in ascending(asked).iter().zip(ascending(asked).iter().skip(1)) {
                for (first, second) in [(less, more), (more, less)] {
                    let mut fact = first.clone();
                    fact.take_better(second.clone(), asked);
                    assert_eq!(&fact, more, "{asked:?}");
                }
            }
        }
        let mut first = known();
        first.take_better(Fact::known(2, "b:1"), Asked::Again);
        assert_eq!(first, known());
    }

    #[test]
    fn a_missing_fact_says_why() {
        let denied: Fact<u32> = Fact::Denied { source: Source::new("/sys/y"), need: "root".into() };
        assert_eq!(denied.missing().as_deref(), Some("`/sys/y` needs root"));
        assert_eq!(Fact::<u32>::absent("/sys/z").missing().as_deref(), Some("`/sys/z` does not exist"));
        assert_eq!(Fact::known(1, "/sys/z").missing(), None);
    }
}
