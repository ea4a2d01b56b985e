//! What the user pays for cards: their own table.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cli::Failure;
use narrows_base::catalog::catalog;
use narrows_paste::capture::foreign::{self, Refusal};

/// The most bytes of such a table: some thousand lines.
const LARGEST: u64 = 1 << 20;

/// The highest price that is believed, in hundredths.
const HIGHEST: f64 = 1e12;

/// The prices in a file, by the names of cards, in hundredths.
///
/// # Errors
/// [`Failure`] when it cannot be read, or a line is not `name,price` of a card that is known.
pub(super) fn read(path: &Path) -> Result<BTreeMap<String, u64>, Failure> {
    let text = foreign::text(path, LARGEST).map_err(|error| {
        let hint = Refusal::of(&error).map(|why| why.hint().to_owned());
        Failure::new(format!("cannot read {}: {error}", path.display())).maybe_hint(hint)
    })?;
    let prices = parse(&text)
        .map_err(|(line, why)| Failure::new(format!("{}:{line}: {why}", path.display())).hint(hint()))?;
    if prices.is_empty() {
        return Err(Failure::new(format!("{} has no prices in it", path.display())).hint(hint()));
    }
    Ok(prices)
}

fn hint() -> String {
    let names: Vec<&str> = catalog().cards.iter().map(|card| card.name.as_str()).collect();
    format!(
        "write one line for each card, its name, a comma and what it costs; the cards are: {}",
        names.join("; ")
    )
}

/// The prices in a text: lines of a name, a comma and a number; empty lines, a heading `name,price` and what follows # are left out.
fn parse(text: &str) -> Result<BTreeMap<String, u64>, (usize, String)> {
    let mut prices = BTreeMap::new();
    for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let plain = line.split('#').next().unwrap_or_default().trim();
        if plain.is_empty() || (at == 0 && plain.to_ascii_lowercase().ends_with(",price")) {
            continue;
        }
        let refused = |why: &str| (at + 1, why.to_owned());
        let (name, price) =
            plain.rsplit_once(',').ok_or_else(|| refused("there is no comma in this line"))?;
        let name = name.trim().trim_matches('"').trim();
        let card = catalog().cards.iter().find(|card| card.name.eq_ignore_ascii_case(name));
        let card = card.ok_or_else(|| refused(&format!("no card is called `{name}`")))?;
        let cents = cents(price).ok_or_else(|| refused(&format!("`{}` is no price", price.trim())))?;
        if prices.insert(card.name.clone(), cents).is_some() {
            return Err(refused(&format!("`{name}` has a price already")));
        }
    }
    Ok(prices)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 10^12")]
fn cents(text: &str) -> Option<u64> {
    let number: f64 = text.trim().trim_matches('"').parse().ok()?;
    let cents = (number * 100.0).round();
    (0.0..=HIGHEST).contains(&cents).then_some(cents as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_name_and_a_price_in_each_line() {
        let text = "name,price\n# mine\nadapter for one M.2 drive, 9.99\n\"PEX 8748 card for four M.2 drives\",180\n";
        let prices = parse(text).expect("prices");
        assert_eq!(prices.get("adapter for one M.2 drive"), Some(&999));
        assert_eq!(prices.get("PEX 8748 card for four M.2 drives"), Some(&18_000));
    }

    #[test]
    fn what_is_no_price_is_refused_with_its_line() {
        let card = "adapter for one M.2 drive";
        for (text, line) in [
            (card.to_string(), 1),
            (format!("{card},x"), 1),
            (format!("{card},-1"), 1),
            (format!("{card},nan"), 1),
            (format!("{card},1e99"), 1),
            ("\na card that nobody sells,5".to_owned(), 2),
            (format!("{card},1\n{card},2"), 2),
        ] {
            assert_eq!(parse(&text).map_err(|(line, _)| line), Err(line), "{text}");
        }
    }
}
